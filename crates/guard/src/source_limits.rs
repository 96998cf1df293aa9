//! Who may connect: from which networks, and how often at the same time.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use ahash::AHashMap;

use crate::config::Network;
use crate::metrics::lock;

/// How many connections each address has open.
#[derive(Debug, Default)]
pub(crate) struct OpenBySource(Mutex<AHashMap<IpAddr, usize>>);

impl OpenBySource {
    /// Whether `ip` has fewer than `limit` open. If so, and with `beyond` in any case, one more is counted.
    pub(crate) fn enter(&self, ip: IpAddr, limit: usize, beyond: bool) -> bool {
        let mut open = lock(&self.0);
        let count = open.entry(ip).or_insert(0);
        let within = *count < limit;
        *count += usize::from(within || beyond);
        within
    }

    /// One of those that were counted is closed.
    pub(crate) fn leave(&self, ip: IpAddr) {
        let mut open = lock(&self.0);
        match open.get_mut(&ip) {
            Some(count @ 2..) => *count -= 1,
            _ => drop(open.remove(&ip)),
        }
    }
}

/// Whether `allow` has `ip`. Without `allow` everyone is let in, and so is who has no address.
pub(crate) fn is_allowed(allow: Option<&[Network]>, ip: Option<IpAddr>) -> bool {
    let (Some(networks), Some(ip)) = (allow, ip) else { return true };
    networks.iter().any(|network| network.contains(ip))
}

/// The limits of one listening address, and the connections that count against them.
#[derive(Debug)]
pub(crate) struct SourceLimits {
    /// Networks from which connections are accepted; `None`: all.
    allow: Option<Vec<Network>>,
    connections_per_source: usize,
    open: OpenBySource,
}

/// One connection that counts against [`SourceLimits`] until it is dropped.
#[derive(Debug)]
pub(crate) struct SourcePermit {
    limits: Arc<SourceLimits>,
    ip: Option<IpAddr>,
}

impl SourceLimits {
    pub(crate) fn new(allow: Option<Vec<Network>>, connections_per_source: usize) -> Self {
        Self { allow, connections_per_source, open: OpenBySource::default() }
    }

    /// Admits a connection from `ip`, if it has one.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn admit(self: &Arc<Self>, ip: Option<IpAddr>) -> Result<SourcePermit, &'static str> {
        if !is_allowed(self.allow.as_deref(), ip) {
            return Err("its address is not in `allow`");
        }
        let ip = ip.filter(|_| self.connections_per_source < usize::MAX);
        if ip.is_some_and(|ip| !self.open.enter(ip, self.connections_per_source, false)) {
            return Err("its address has `limits.connections-per-source` connections already");
        }
        Ok(SourcePermit { limits: Arc::clone(self), ip })
    }
}

impl Drop for SourcePermit {
    fn drop(&mut self) {
        if let Some(ip) = self.ip {
            self.limits.open.leave(ip);
        }
    }
}
