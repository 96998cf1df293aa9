//! Who may connect: from which networks, and how often at the same time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use crate::config::Network;
use crate::metrics::lock;

/// The limits of one listening address, and the connections that count against them.
#[derive(Debug)]
pub(crate) struct SourceLimits {
    /// Networks from which connections are accepted; `None`: all.
    allow: Option<Vec<Network>>,
    connections_per_source: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// One connection that counts against [`SourceLimits`] until it is dropped.
#[derive(Debug)]
pub(crate) struct SourcePermit {
    limits: Arc<SourceLimits>,
    ip: Option<IpAddr>,
}

impl SourceLimits {
    pub(crate) fn new(allow: Option<Vec<Network>>, connections_per_source: usize) -> Self {
        Self { allow, connections_per_source, open: Mutex::default() }
    }

    /// Admits a connection from `ip`, if it has one.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn admit(self: &Arc<Self>, ip: Option<IpAddr>) -> Result<SourcePermit, &'static str> {
        if let (Some(networks), Some(ip)) = (&self.allow, ip)
            && !networks.iter().any(|network| network.contains(ip))
        {
            return Err("its address is not in `allow`");
        }
        let ip = ip.filter(|_| self.connections_per_source < usize::MAX);
        if let Some(ip) = ip {
            let mut open = lock(&self.open);
            let count = open.entry(ip).or_insert(0);
            if *count >= self.connections_per_source {
                return Err("its address has `limits.connections-per-source` connections already");
            }
            *count += 1;
        }
        Ok(SourcePermit { limits: Arc::clone(self), ip })
    }
}

impl Drop for SourcePermit {
    fn drop(&mut self) {
        let Some(ip) = self.ip else { return };
        let mut open = lock(&self.limits.open);
        match open.get_mut(&ip) {
            Some(count @ 2..) => *count -= 1,
            _ => drop(open.remove(&ip)),
        }
    }
}
