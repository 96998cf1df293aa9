//! `[multiparty]`, compiled: where the component of a role is. It has one endpoint, and may have further ones for the messages with some
//! of the other roles, if all of them speak HTTP: then a connection is one of many, and its end is not the component's.

use std::ops::Range;
use std::sync::Arc;

use referee_session::RoleRules;
use referee_theory::{Role, State};
use referee_wire::{Kind, Sender, Table};
use toml::Spanned;

use super::{Endpoint, PlanBuilder, RolePlan};
use crate::config::{Address, EndpointTable, Network, ProxyIn, RoleTable, TlsIn, TlsOut};
use crate::metrics::{MessageCounters, Meter};
use crate::multiparty::connection_setup::ConnectionSetup;
use crate::multiparty::protocol::CheckedProtocol;
use crate::source_limits::SourceLimits;

/// One endpoint of a role's component.
#[derive(Debug)]
pub(in crate::multiparty) struct EndpointPlan {
    /// The role; of a further endpoint, and whom it is with.
    pub(in crate::multiparty) name: String,
    /// The roles whose messages go over it; the first endpoint has all others.
    peers: Vec<Role>,
    pub(in crate::multiparty) endpoint: Endpoint,
    pub(in crate::multiparty) setup: ConnectionSetup,
    pub(in crate::multiparty) sources: Arc<SourceLimits>,
    pub(in crate::multiparty) proxy_in: ProxyIn,
    /// How its connections are read.
    pub(in crate::multiparty) rules: Arc<RoleRules>,
}

impl EndpointPlan {
    /// New counters for its connections.
    pub(in crate::multiparty) fn meter(&self) -> Meter {
        let known = self.rules.codec.messages().iter();
        let labels = known.map(|known| (known.sender.index(), Arc::clone(&known.name))).collect();
        Meter::new(&Arc::default(), &Arc::new(MessageCounters::new(labels, 1)), 0)
    }
}

impl RolePlan {
    /// Its endpoints, the first first.
    pub(in crate::multiparty) fn endpoints(&self) -> impl Iterator<Item = &EndpointPlan> {
        std::iter::once(&self.main).chain(&self.further)
    }

    /// The endpoint of this number.
    pub(in crate::multiparty) fn endpoint(&self, number: usize) -> &EndpointPlan {
        number.checked_sub(1).and_then(|at| self.further.get(at)).unwrap_or(&self.main)
    }

    /// The number of the endpoint for messages with `peer`.
    pub(in crate::multiparty) fn endpoint_with(&self, peer: Role) -> usize {
        self.further.iter().position(|endpoint| endpoint.peers.contains(&peer)).map_or(0, |at| at + 1)
    }

    /// The receiver of `label` if the component sends it over endpoint `number` in `state`; out of turn, its only receiver in any state.
    pub(in crate::multiparty) fn receiver(&self, number: usize, state: State, label: &str) -> Option<Role> {
        let is_it = |sent: &&(Box<str>, Role)| *sent.0 == *label && self.endpoint_with(sent.1) == number;
        let here = self.sends.get(state.index()).and_then(|sends| sends.iter().find(is_it));
        here.map(|(_, to)| *to).or_else(|| {
            let mut elsewhere = self.sends.iter().flatten().filter(is_it).map(|(_, to)| *to);
            let first = elsewhere.next()?;
            elsewhere.all(|to| to == first).then_some(first)
        })
    }
}

/// The keys that say where a component is, of a role or of a further endpoint.
pub(in crate::multiparty) struct EndpointKeys<'t> {
    span: Range<usize>,
    listen: Option<&'t Spanned<Address>>,
    upstream: Option<&'t Spanned<Address>>,
    pub(in crate::multiparty) tls: Option<&'t Spanned<TlsIn>>,
    pub(in crate::multiparty) upstream_tls: Option<&'t Spanned<TlsOut>>,
    pub(in crate::multiparty) path: Option<&'t Spanned<String>>,
    pub(in crate::multiparty) codec: &'t Spanned<Table>,
    pub(in crate::multiparty) resume: Option<&'t Spanned<bool>>,
    allow: Option<&'t Vec<Network>>,
    proxy_in: ProxyIn,
}

impl<'t> From<&'t RoleTable> for EndpointKeys<'t> {
    fn from(table: &'t RoleTable) -> Self {
        Self {
            span: table.name.span(),
            listen: table.listen.as_ref(),
            upstream: table.upstream.as_ref(),
            tls: table.tls.as_ref(),
            upstream_tls: table.upstream_tls.as_ref(),
            path: table.path.as_ref(),
            codec: &table.codec,
            resume: table.resume.as_ref(),
            allow: table.allow.as_ref(),
            proxy_in: table.proxy_in,
        }
    }
}

impl<'t> From<&'t EndpointTable> for EndpointKeys<'t> {
    fn from(table: &'t EndpointTable) -> Self {
        Self {
            span: table.with.span(),
            listen: table.listen.as_ref(),
            upstream: table.upstream.as_ref(),
            tls: table.tls.as_ref(),
            upstream_tls: table.upstream_tls.as_ref(),
            path: None,
            codec: &table.codec,
            resume: None,
            allow: table.allow.as_ref(),
            proxy_in: table.proxy_in,
        }
    }
}

impl PlanBuilder<'_, '_> {
    /// The endpoints of the component of `role`, the first first.
    pub(super) fn endpoints(
        &mut self,
        checked: &CheckedProtocol,
        role: Role,
        table: &RoleTable,
    ) -> Option<(EndpointPlan, Vec<EndpointPlan>)> {
        let name = table.name.get_ref();
        let peers: Vec<Vec<Role>> =
            table.endpoints.iter().map(|further| self.peers(checked, role, further.get_ref())).collect();
        for (index, further) in table.endpoints.iter().enumerate() {
            let twice = |peer: &&Role| peers[..index].iter().flatten().any(|other| other == *peer);
            if let Some(peer) = peers[index].iter().find(twice) {
                let peer = checked.network.vocabulary().role_name(*peer);
                let message = format!("messages with `{peer}` go over another endpoint already");
                self.problem(further.get_ref().with.span(), message);
            }
        }
        let is_rest = |peer: &Role| *peer != role && !peers.iter().flatten().any(|other| other == peer);
        let rest: Vec<Role> = checked.network.vocabulary().roles().filter(is_rest).collect();
        let main = self.endpoint(checked, role, &table.into(), name.clone(), rest);
        let further: Vec<Option<EndpointPlan>> = table
            .endpoints
            .iter()
            .zip(peers)
            .map(|(further, peers)| {
                let name = format!("{name} with {}", further.get_ref().with.get_ref().join(", "));
                self.endpoint(checked, role, &further.get_ref().into(), name, peers)
            })
            .collect();
        let codecs =
            std::iter::once(&table.codec).chain(table.endpoints.iter().map(|it| &it.get_ref().codec));
        if let Some(other) = codecs.clone().find(|codec| codec.get_ref().kind != Kind::Http)
            && !table.endpoints.is_empty()
        {
            let message = "a role with several endpoints speaks HTTP at all of them: otherwise the end of one connection could not be told from the component's";
            self.problem(other.span(), message);
        }
        if let Some(resume) =
            table.resume.as_ref().filter(|resume| *resume.get_ref() && !table.endpoints.is_empty())
        {
            self.problem(resume.span(), "a component with several endpoints cannot resume its session");
        }
        Some((main?, further.into_iter().collect::<Option<_>>()?))
    }

    /// The roles that a further endpoint of `role` is for.
    fn peers(&mut self, checked: &CheckedProtocol, role: Role, table: &EndpointTable) -> Vec<Role> {
        let (vocabulary, talks) = (checked.network.vocabulary(), checked.talks());
        let mut peers = Vec::new();
        for name in table.with.get_ref() {
            match vocabulary.find_role(name).filter(|peer| talks[role.index()][peer.index()]) {
                Some(peer) => peers.push(peer),
                None => {
                    let own = vocabulary.role_name(role);
                    self.problem(table.with.span(), format!("`{own}` exchanges nothing with `{name}`"));
                }
            }
        }
        if peers.is_empty() {
            self.problem(table.with.span(), "whose messages go over this endpoint?");
        }
        peers
    }

    fn endpoint(
        &mut self,
        checked: &CheckedProtocol,
        role: Role,
        keys: &EndpointKeys<'_>,
        name: String,
        peers: Vec<Role>,
    ) -> Option<EndpointPlan> {
        let endpoint = match (keys.listen, keys.upstream) {
            (Some(address), None) => Endpoint::Listen(address.get_ref().clone()),
            (None, Some(address)) => Endpoint::Connect(address.get_ref().clone()),
            (Some(_), Some(connect)) => {
                self.problem(connect.span(), "either `listen` or `upstream`, not both");
                return None;
            }
            (None, None) => {
                let message = format!("where is the component of `{name}`? Say `listen` or `upstream`");
                self.problem(keys.span.clone(), message);
                return None;
            }
        };
        let for_listeners = keys.allow.is_some() || keys.proxy_in == ProxyIn::Required;
        if for_listeners && matches!(endpoint, Endpoint::Connect(_)) {
            let message = "`allow` and `proxy-in` are for components that connect: use `listen`";
            self.problem(keys.span.clone(), message);
        }
        let codec = self.codec(checked, role, keys.codec, &endpoint, &peers)?;
        let limits = &self.config.limits;
        let setup =
            ConnectionSetup::make(keys, &endpoint, limits.message.0, |path| self.reader.certificate(path));
        let setup = setup.map_err(|(span, message)| self.problem(span, message)).ok()?;
        let rules = Arc::new(RoleRules {
            name: name.clone(),
            codec,
            side: match endpoint {
                Endpoint::Listen(_) => Sender::Client,
                Endpoint::Connect(_) => Sender::Server,
            },
            max_message: limits.message.0,
            has_pings: setup.has_pings(),
        });
        let sources = SourceLimits::new(keys.allow.cloned(), limits.connections_per_source);
        let (sources, proxy_in) = (Arc::new(sources), keys.proxy_in);
        Some(EndpointPlan { name, peers, endpoint, setup, sources, proxy_in, rules })
    }
}
