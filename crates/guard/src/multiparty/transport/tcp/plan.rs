//! The configuration of the framed transport, and which peers it accepts.

use arc_swap::ArcSwap;
use referee_theory::Role;
use tokio_rustls::TlsAcceptor;

use crate::config::{Address, TlsIn, TlsOut};
use crate::multiparty::transport::handshake::Hello;
use crate::multiparty::transport::topology::Topology;
use crate::tls::{self, ClientSide};

/// The configuration of the framed transport.
pub(in crate::multiparty) struct TcpPlan {
    pub(in crate::multiparty) listen: Address,
    /// Indexed by role: the address of its monitor, and the name on its certificate.
    pub(in crate::multiparty) peers: Vec<Option<(Address, String)>>,
    /// Renewed when certificates change.
    pub(in crate::multiparty) tls: Option<ArcSwap<TlsPlan>>,
    pub(in crate::multiparty) topology: Topology,
}

/// TLS as server and as client.
pub(in crate::multiparty) struct TlsPlan {
    pub(super) accept: TlsAcceptor,
    /// Indexed by role.
    pub(super) dial: Vec<Option<ClientSide>>,
}

impl TcpPlan {
    /// TLS from the configurations `accept` and `dial`, towards `peers`.
    pub(in crate::multiparty) fn tls(
        accept: &TlsIn,
        dial: &TlsOut,
        peers: &[Option<(Address, String)>],
    ) -> Result<ArcSwap<TlsPlan>, String> {
        let side = |peer: &Option<(Address, String)>| {
            let Some((_, name)) = peer else { return Ok(None) };
            tls::client(&TlsOut { server_name: Some(name.clone()), ..dial.clone() }, None).map(Some)
        };
        let dial = peers.iter().map(side).collect::<Result<_, String>>()?;
        Ok(ArcSwap::from_pointee(TlsPlan { accept: TlsAcceptor::from(tls::server(accept)?), dial }))
    }

    /// New connections are made with the certificates of `other`.
    pub(in crate::multiparty) fn renew(&self, other: &Self) {
        if let (Some(tls), Some(new)) = (&self.tls, &other.tls) {
            tls.store(new.load_full());
        }
    }

    /// The address of the remote role's monitor.
    pub(in crate::multiparty) fn endpoint(&self, role: Role) -> Option<&Address> {
        self.peers.get(role.index())?.as_ref().map(|(address, _)| address)
    }

    pub(in crate::multiparty) fn in_words(&self) -> &'static str {
        match (&self.tls, &self.topology.key) {
            (Some(_), _) => " (TLS with certificates from both sides)",
            (None, Some(_)) => " (with a shared key)",
            (None, None) => " (on this machine only)",
        }
    }

    /// The two roles of a connection, if its `hello` is acceptable.
    pub(super) fn welcomes(&self, hello: &Hello) -> Result<(Role, Role), String> {
        let Hello { from, to, .. } = hello;
        let own = self.topology.role(to).filter(|role| self.topology.local.contains(role));
        let to_role = own.ok_or_else(|| format!("`{to}` does not run here"))?;
        let from_role = self.topology.role(from).filter(|role| self.endpoint(*role).is_some());
        let from_role = from_role.ok_or_else(|| format!("`{from}` is not expected here"))?;
        if hello.fingerprint != self.topology.fingerprint {
            return Err("it follows another protocol, or another version of it".to_owned());
        }
        self.topology.check_compatible(from_role, &hello.codec, hello.limits, to_role)?;
        Ok((from_role, to_role))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::multiparty::transport::topology::PeerLimits;

    /// Otherwise whoever is in between could send a monitor its own hello, and have it prove to itself that it is the other.
    #[test]
    fn nobody_answers_for_a_role_of_another_process() {
        let [a, b] = [Role(0), Role(1)];
        let topology = Topology {
            key: Some("0123456789abcdef".to_owned()),
            fingerprint: 7,
            codecs: vec![Some("json".to_owned()), None],
            talks: vec![vec![true; 2]; 2],
            peer_timeout: Duration::MAX,
            handshake: Duration::MAX,
            limits: PeerLimits::default(),
            max_peer_message_bytes: 0,
            names: vec!["a".to_owned(), "b".to_owned()],
            local: vec![a],
            remote: vec![b],
        };
        let address = |port: u16| Address::Tcp(format!("127.0.0.1:{port}"));
        let peers = vec![None, Some((address(2), "b".to_owned()))];
        let plan = TcpPlan { listen: address(1), peers, tls: None, topology };
        let hello = |from: &str, to: &str| Hello {
            fingerprint: 7,
            instance: 1,
            from: from.to_owned(),
            to: to.to_owned(),
            codec: "json".to_owned(),
            limits: PeerLimits::default(),
        };
        assert_eq!(plan.welcomes(&hello("b", "a")), Ok((b, a)));
        for (from, to) in [("a", "b"), ("a", "a"), ("b", "b"), ("c", "a"), ("b", "c")] {
            assert!(plan.welcomes(&hello(from, to)).is_err(), "{from} {to}");
        }
    }
}
