//! What the framed transport needs to know, and whom it hears.

use referee_theory::Role;
use tokio_rustls::TlsAcceptor;

use crate::config::{Address, TlsIn, TlsOut};
use crate::multiparty::transport::census::Census;
use crate::multiparty::transport::handshake::Hello;
use crate::tls::{self, ClientSide};

/// What the transport needs to know.
pub(in crate::multiparty) struct TcpPlan {
    pub(in crate::multiparty) listen: Address,
    /// By role: where its monitor is, and the name on its certificate.
    pub(in crate::multiparty) peers: Vec<Option<(Address, String)>>,
    pub(in crate::multiparty) tls: Option<TlsPlan>,
    pub(in crate::multiparty) census: Census,
}

/// TLS on either side.
pub(in crate::multiparty) struct TlsPlan {
    pub(super) accept: TlsAcceptor,
    /// By role.
    pub(super) dial: Vec<Option<ClientSide>>,
}

impl TcpPlan {
    /// TLS as `accept` and `dial` say, towards `peers`.
    pub(in crate::multiparty) fn tls(
        accept: &TlsIn,
        dial: &TlsOut,
        peers: &[Option<(Address, String)>],
    ) -> Result<TlsPlan, String> {
        let side = |peer: &Option<(Address, String)>| {
            let Some((_, name)) = peer else { return Ok(None) };
            tls::client(&TlsOut { server_name: Some(name.clone()), ..dial.clone() }, None).map(Some)
        };
        let dial = peers.iter().map(side).collect::<Result<_, String>>()?;
        Ok(TlsPlan { accept: TlsAcceptor::from(tls::server(accept)?), dial })
    }

    /// Where the monitor of `role` is, if another process runs it.
    pub(in crate::multiparty) fn place(&self, role: Role) -> Option<&Address> {
        self.peers.get(role.index())?.as_ref().map(|(address, _)| address)
    }

    pub(in crate::multiparty) fn in_words(&self) -> &'static str {
        match (&self.tls, &self.census.key) {
            (Some(_), _) => " (TLS with certificates from both sides)",
            (None, Some(_)) => " (with a shared key)",
            (None, None) => " (on this machine only)",
        }
    }

    /// Whether who says `hello` may be heard.
    pub(super) fn welcomes(&self, hello: &Hello) -> Result<(Role, Role), String> {
        let Hello { from, to, .. } = hello;
        let own = self.census.role(to).filter(|role| self.census.own.contains(role));
        let to_role = own.ok_or_else(|| format!("`{to}` does not run here"))?;
        let from_role = self.census.role(from).filter(|role| self.place(*role).is_some());
        let from_role = from_role.ok_or_else(|| format!("`{from}` is not expected here"))?;
        if hello.fingerprint != self.census.fingerprint {
            return Err("it follows another protocol, or another version of it".to_owned());
        }
        self.census.understand(from_role, &hello.codec, hello.limits, to_role)?;
        Ok((from_role, to_role))
    }
}
