//! `[multiparty]`, compiled: the topology, the transport and the state log.

use std::path::PathBuf;

use referee_theory::Role;

use super::{NO_TIMEOUT, PlanBuilder};
use crate::config::{Address, Problem, TlsIn, TlsOut, TransportName};
use crate::multiparty::protocol::CheckedProtocol;
use crate::multiparty::transport::{NatsPlan, PeerLimits, TcpPlan, Topology};
use crate::tls;

/// Shorter keys can be guessed.
const MIN_KEY_CHARS: usize = 16;

impl PlanBuilder<'_, '_> {
    /// The folder of the state log.
    pub(super) fn state(&mut self) -> Option<(PathBuf, bool)> {
        let resume = self.config.roles.iter().find_map(|role| role.get_ref().resume.as_ref());
        match (&self.config.state, resume) {
            (None, Some(resume)) if *resume.get_ref() => {
                let problem = Problem::new("nothing is remembered to go on from", resume.span());
                self.reader
                    .refusal
                    .problems
                    .push(problem.with_help("say in which folder with `multiparty.state`"));
                None
            }
            (Some(folder), _) if self.config.transport != TransportName::Nats => {
                self.problem(folder.span(), "sessions survive this process only with `transport = \"nats\"`");
                None
            }
            (folder, _) => Some((self.reader.resolve(folder.as_ref()?.get_ref()), self.config.state_sync)),
        }
    }

    /// The topology.
    pub(super) fn topology(
        &mut self,
        checked: &CheckedProtocol,
        own: Vec<Role>,
        kinds: &[(Role, String)],
    ) -> Topology {
        let vocabulary = checked.network.vocabulary();
        if let Some(key) = self.config.key.as_ref().filter(|key| key.get_ref().len() < MIN_KEY_CHARS) {
            let message = format!("a key of fewer than {MIN_KEY_CHARS} characters can be guessed");
            self.problem(key.span(), message);
        }
        for (name, peer) in &self.config.peers {
            let message = match vocabulary.find_role(name) {
                Some(role) if own.contains(&role) => format!("`{name}` runs here, so it is no peer"),
                Some(_) => continue,
                None => format!("the protocol has no role `{name}`"),
            };
            self.problem(peer.address.span(), message);
        }
        Topology {
            key: self.config.key.as_ref().map(|key| key.get_ref().clone()),
            fingerprint: checked.fingerprint(),
            codecs: vocabulary
                .roles()
                .map(|role| kinds.iter().find(|(own, _)| *own == role).map(|(_, kind)| kind.clone()))
                .collect(),
            talks: checked.talks(),
            peer_timeout: self.config.limits.partition.0.unwrap_or(NO_TIMEOUT),
            max_peer_message_bytes: self.config.limits.message.0.saturating_mul(6).saturating_add(1 << 20),
            handshake: self.config.limits.handshake.0.unwrap_or(NO_TIMEOUT),
            limits: PeerLimits {
                message: self.config.limits.message.0 as u64,
                window: self.config.limits.window as u64,
                buffer: self.config.limits.buffer.0 as u64,
            },
            names: vocabulary.roles().map(|role| vocabulary.role_name(role).to_owned()).collect(),
            remote: vocabulary
                .roles()
                .filter(|role| checked.takes_part(*role) && !own.contains(role))
                .collect(),
            local: own,
        }
    }

    /// The NATS transport.
    pub(super) fn nats(&mut self, checked: &CheckedProtocol, topology: Topology) -> Option<NatsPlan> {
        let needless = [
            self.config.listen.as_ref().map(|listen| ("listen", listen.span())),
            self.config.tls.as_ref().map(|tls| ("tls", tls.span())),
            self.config.peers.values().next().map(|peer| ("peer", peer.address.span())),
        ];
        for (name, span) in needless.into_iter().flatten() {
            let message = format!("over NATS monitors reach only the broker: there is no `{name}`");
            self.problem(span, message);
        }
        let Some(written) = &self.config.broker else {
            let message = "which broker? Say so with `broker = \"nats://HOST:4222\"`";
            self.problem(self.config.protocol.span(), message);
            return None;
        };
        let broker: Result<Vec<async_nats::ServerAddr>, _> =
            written.get_ref().split(',').map(|endpoint| endpoint.trim().parse()).collect();
        let Ok(broker) = broker else {
            let message = format!("`{}` is no broker: write `nats://HOST:4222`", written.get_ref());
            self.problem(written.span(), message);
            return None;
        };
        let here = |address: &async_nats::ServerAddr| {
            Address::Tcp(format!("{}:{}", address.host(), address.port())).is_local()
        };
        if topology.key.is_none() && !broker.iter().all(here) {
            let problem = Problem::new("whoever reaches the broker could speak for any role", written.span());
            self.reader.refusal.problems.push(problem.with_help("set a `key` that all monitors share"));
        }
        let token = NatsPlan::token(&checked.name, topology.fingerprint);
        Some(NatsPlan { broker, token, topology })
    }

    /// The framed transport.
    pub(super) fn tcp(&mut self, checked: &CheckedProtocol, topology: Topology) -> Option<TcpPlan> {
        let vocabulary = checked.network.vocabulary();
        if let Some(broker) = &self.config.broker {
            self.problem(broker.span(), "there is a broker only with `transport = \"nats\"`");
        }
        let mut peers: Vec<Option<(Address, String)>> = vocabulary.roles().map(|_| None).collect();
        for (name, peer) in &self.config.peers {
            if let Some(role) = vocabulary.find_role(name) {
                let known_as = peer.certificate_name.clone().unwrap_or_else(|| name.clone());
                peers[role.index()] = Some((peer.address.get_ref().clone(), known_as));
            }
        }
        for role in topology.remote.iter().filter(|role| peers[role.index()].is_none()) {
            let name = vocabulary.role_name(*role);
            let message = format!("where is the monitor of `{name}`? Say so in `[multiparty.peer.{name}]`");
            self.problem(self.config.protocol.span(), message);
        }
        let Some(listen) = &self.config.listen else {
            self.problem(
                self.config.protocol.span(),
                "where do other monitors connect? Say so with `listen`",
            );
            return None;
        };
        let local =
            listen.get_ref().is_local() && peers.iter().flatten().all(|(address, _)| address.is_local());
        if topology.key.is_none() && self.config.tls.is_none() && !local {
            let problem = Problem::new("others than this machine could speak for any role", listen.span());
            let help =
                "set `tls`, or a `key` that all monitors share, or let all monitors listen on 127.0.0.1";
            self.reader.refusal.problems.push(problem.with_help(help));
        }
        let tls = self.config.tls.as_ref().and_then(|tls| {
            let (span, tls) = (tls.span(), tls.get_ref());
            let [certificate, key, ca] =
                [&tls.certificate, &tls.key, &tls.ca].map(|path| self.reader.certificate(path));
            // Peers trust the same authorities.
            let accepted = tls::is_accepted(&certificate, &ca);
            let made = TcpPlan::tls(
                &TlsIn { certificate: certificate.clone(), key: key.clone(), client_ca: Some(ca.clone()) },
                &TlsOut { server_name: None, ca: Some(ca), certificate: Some(certificate), key: Some(key) },
                &peers,
            );
            made.and_then(|made| accepted.map(|()| made)).map_err(|message| self.problem(span, message)).ok()
        });
        Some(TcpPlan { listen: listen.get_ref().clone(), peers, tls, topology })
    }
}
