//! `[multiparty]`, compiled: the protocol's monitors, checked together, and one plan for each local role.

mod codecs;
mod endpoints;
mod network;
mod template;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use referee_functions::{Limits, NoMonitor, with_functions};
use referee_monitor::Registry;
use referee_monitor::multiparty::{Dependencies, Engine, Judging, Notice, Settings, Turn};
use referee_pipeline::Projected;
use referee_session::role::payload::Payload;
use referee_session::{Deadlines, Properties};
use referee_theory::{Label, Role, time};
use referee_wire::Codec;

use super::peer_message::SessionId;
use super::protocol::{self, CheckedProtocol, ProtocolError};
use super::transport::{NatsPlan, TcpPlan};
use super::violation;
use crate::config::{Address, DependenciesName, Multiparty, PolicyName, Problem, RoleTable, TransportName};
use crate::plan::PlanReader;
use crate::protocol::unmonitorable;

pub(super) use endpoints::{EndpointKeys, EndpointPlan};

const NO_TIMEOUT: Duration = Duration::from_secs(u32::MAX as u64);

/// `[multiparty]`, checked and compiled.
pub(crate) struct MultipartyPlan {
    pub(super) name: String,
    pub(super) roles: Vec<Arc<RolePlan>>,
    /// The transport to other processes; `None` where all roles are local.
    pub(super) transport: Option<TransportPlan>,
    /// The folder of the state log, and whether it is synced.
    pub(super) state: Option<(PathBuf, bool)>,
}

/// The configuration of a transport.
#[derive(Clone)]
pub(super) enum TransportPlan {
    Tcp(Arc<TcpPlan>),
    Nats(Arc<NatsPlan>),
}

/// Where a component connects, or is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Listen(Address),
    Connect(Address),
}

/// One local role.
#[derive(Debug)]
pub(super) struct RolePlan {
    pub(super) name: String,
    pub(super) engine: Engine,
    /// The protocol, for verdicts that point into its text.
    pub(super) projected: Arc<Projected>,
    /// Indexed by state: the labels that the component may send, and to whom.
    sends: Vec<Vec<(Box<str>, Role)>>,
    pub(super) initiator: Role,
    /// The other roles that take part.
    pub(super) others: Vec<Role>,
    /// Where its component is, and further places where it is.
    pub(super) main: EndpointPlan,
    further: Vec<EndpointPlan>,
    /// Whether fields are redacted: then nobody is shown what was sent.
    pub(super) redacts: bool,
    /// Whether requests to the component say which span they are made in.
    pub(super) gives_trace_context: bool,
    /// Properties of the messages that the component sends and is given.
    pub(super) properties: Option<Properties>,
    dependency: Option<String>,
    violation: Option<String>,
    /// Messages and bytes of a session that may be in flight to one peer.
    pub(super) window: (u32, usize),
    pub(super) sessions: usize,
    pub(super) handshake: Duration,
    pub(super) idle: Option<Duration>,
    /// Whether the component resumes its session after a crash of this process.
    pub(super) resumes: bool,
    /// How long it may take to resume.
    pub(super) peer_timeout: Duration,
}

impl MultipartyPlan {
    /// Compiles `config`.
    pub(crate) fn make(config: &Multiparty, reader: &mut PlanReader<'_>) -> Option<Self> {
        let mut maker = PlanBuilder { config, reader };
        let mut checked = maker.protocol()?;
        let limits = Limits { fuel: config.functions_fuel, memory: config.functions_memory.0 };
        checked.modules = maker.reader.modules(config.functions.as_ref(), limits)?;
        let before = maker.reader.refusal.count();
        let initiator = maker.initiator(&checked)?;
        maker.secrets();
        let own = maker.own(&checked);
        let roles: Vec<_> =
            own.iter().filter_map(|(role, table)| maker.role(&checked, *role, table, initiator)).collect();
        let own: Vec<Role> = own.into_iter().map(|(role, _)| role).collect();
        let kinds = maker.codec_kinds(&checked);
        let topology = maker.topology(&checked, own, &kinds);
        let transport = match topology {
            topology if topology.remote.is_empty() => None,
            topology if config.transport == TransportName::Nats => {
                maker.nats(&checked, topology).map(|plan| TransportPlan::Nats(Arc::new(plan)))
            }
            topology => maker.tcp(&checked, topology).map(|plan| TransportPlan::Tcp(Arc::new(plan))),
        };
        let state = maker.state();
        (maker.reader.refusal.count() == before).then(|| Self {
            name: checked.name.clone(),
            roles: roles.into_iter().map(Arc::new).collect(),
            transport,
            state,
        })
    }

    /// What is monitored, in plain words: one line for each role.
    pub(crate) fn in_words(&self) -> Vec<String> {
        let describe = |plan: &Arc<RolePlan>| {
            let vocabulary = plan.engine.vocabulary();
            let place = |endpoint: &EndpointPlan| match &endpoint.endpoint {
                Endpoint::Listen(address) => format!("connects to {address}"),
                Endpoint::Connect(address) => format!("is at {address}"),
            };
            let further = plan.further.iter().map(|it| format!(" and, {}, {}", it.name, place(it)));
            let endpoint = format!("whose component {}{}", place(&plan.main), further.collect::<String>());
            let others: Vec<String> = plan
                .others
                .iter()
                .map(|role| {
                    let name = vocabulary.role_name(*role);
                    match &self.transport {
                        Some(TransportPlan::Tcp(tcp)) => match tcp.endpoint(*role) {
                            Some(address) => format!("{name} at {address}"),
                            None => format!("{name} here"),
                        },
                        Some(TransportPlan::Nats(nats)) if nats.topology.remote.contains(role) => {
                            name.to_owned()
                        }
                        _ => format!("{name} here"),
                    }
                })
                .collect();
            let properties = match plan.properties.as_ref().map_or(0, Properties::count) {
                0 => String::new(),
                1 => "; 1 property is observed".to_owned(),
                count => format!("; {count} properties are observed"),
            };
            let times = match plan.engine.settings().judging.filter(|_| plan.judges_times()) {
                None => String::new(),
                Some(Judging { tolerance, enforces }) => format!(
                    "; deadlines are {} (tolerance {})",
                    if enforces { "enforced" } else { "reported" },
                    if tolerance == i64::MAX { "none".to_owned() } else { time::show_duration(tolerance) }
                ),
            };
            format!(
                "{}: the monitor of {}, {endpoint}{}{properties}{times}; {} begins sessions; the other monitors: {}{}",
                self.name,
                plan.name,
                plan.main.setup.in_words(),
                vocabulary.role_name(plan.initiator),
                others.join(", "),
                match &self.transport {
                    None => String::new(),
                    Some(TransportPlan::Tcp(tcp)) => tcp.in_words().to_owned(),
                    Some(TransportPlan::Nats(nats)) => nats.in_words(),
                },
            )
        };
        self.roles.iter().map(describe).collect()
    }
}

impl RolePlan {
    /// Whether the component's times are judged.
    pub(super) fn judges_times(&self) -> bool {
        self.engine.is_timed()
    }

    pub(super) fn hides(&self) -> bool {
        self.engine.settings().dependencies == Dependencies::Hide
    }

    /// Whether the component has something to send before it is given anything.
    pub(super) fn speaks_first(&self) -> bool {
        matches!(self.engine.turn(&self.engine.run::<Payload>(0)), Turn::Component)
    }

    /// The text that tells the component that `label` was chosen.
    pub(super) fn dependency(&self, from: Role, label: Label) -> Bytes {
        let vocabulary = self.engine.vocabulary();
        let template = self.dependency.as_deref().unwrap_or_default();
        let words = [("from", vocabulary.role_name(from)), ("label", vocabulary.label_name(label))];
        let text = self.main.setup.frame(&template::fill(template, &words));
        debug_assert!(text.is_some(), "every dependency was tried when the plan was made");
        text.unwrap_or_default()
    }

    /// A label whose dependency is too long for the component's framing.
    fn unwritable_dependency(&self) -> Option<&str> {
        let (template, vocabulary) = (self.dependency.as_deref()?, self.engine.vocabulary());
        let longest =
            self.others.iter().map(|role| vocabulary.role_name(*role)).max_by_key(|name| name.len());
        let is_unwritable = |label: &&str| {
            let words = [("from", longest.unwrap_or_default()), ("label", *label)];
            self.main.setup.frame(&template::fill(template, &words)).is_none()
        };
        vocabulary.messages().map(|message| vocabulary.label_of(message)).find(is_unwritable)
    }

    /// The close message after a violation in `session`.
    pub(super) fn close_message(&self, notice: &Notice, session: Option<SessionId>) -> Option<Bytes> {
        let vocabulary = self.engine.vocabulary();
        let notice = &violation::for_reader(notice, self.engine.role(), vocabulary);
        let blame: Vec<&str> = notice.blamed.iter().map(|role| vocabulary.role_name(*role)).collect();
        // One line, whatever was sent.
        let link = |text: &str| text.replace(|c: char| c.is_control(), " ");
        let (blame, message) = (blame.join(", "), link(&notice.sentence));
        let json = violation::to_json(notice, vocabulary, session).to_string();
        let kind = notice.breach.name();
        let words = [("blame", &*blame), ("kind", kind), ("message", &message), ("json", &json)];
        self.main.setup.frame(&template::fill(self.violation.as_ref()?, &words))
    }
}

struct PlanBuilder<'a, 'f> {
    config: &'a Multiparty,
    reader: &'a mut PlanReader<'f>,
}

impl<'a> PlanBuilder<'a, '_> {
    fn problem(&mut self, span: std::ops::Range<usize>, message: impl Into<String>) {
        self.reader.problem(span, message);
    }

    fn protocol(&mut self) -> Option<CheckedProtocol> {
        let protocol = &self.config.protocol;
        let text = self.reader.protocol_text(protocol)?;
        let parsed = self.reader.parse(&text, &self.config.import_path, protocol.span())?;
        match protocol::read(parsed, self.config.protocol_name.as_deref()) {
            Ok(checked) => {
                return Some(checked);
            }
            Err(ProtocolError::Errors(source, diagnostics)) => {
                self.reader.refusal.protocols.push((source, diagnostics));
            }
            Err(ProtocolError::Other(message)) => self.problem(protocol.span(), message),
        }
        None
    }

    fn initiator(&mut self, checked: &CheckedProtocol) -> Option<Role> {
        let vocabulary = checked.network.vocabulary();
        match &self.config.initiator {
            None => match checked.first() {
                Some(role) => Some(role),
                None => {
                    self.problem(self.config.protocol.span(), "nobody ever sends anything in this protocol");
                    None
                }
            },
            Some(name) => {
                let role = vocabulary.find_role(name.get_ref()).filter(|role| checked.takes_part(*role));
                if role.is_none() {
                    self.problem(name.span(), format!("there is no role `{}`", name.get_ref()));
                }
                role
            }
        }
    }

    /// Refuses secrets that would not be used.
    fn secrets(&mut self) {
        if let (Some(tls), Some(_), TransportName::Framed) =
            (&self.config.tls, &self.config.key, self.config.transport)
        {
            let message =
                "either `tls` or `key`, not both: certificates say who a monitor is, and the key is not used";
            self.problem(tls.span(), message);
        }
        let named = self.config.peers.values().find(|peer| peer.certificate_name.is_some());
        if let (None, Some(peer)) = (&self.config.tls, named) {
            let message = "a `certificate-name` without `tls`: nobody shows a certificate";
            self.problem(peer.address.span(), message);
        }
    }

    /// The local roles.
    fn own(&mut self, checked: &CheckedProtocol) -> Vec<(Role, &'a RoleTable)> {
        let mut own: Vec<(Role, &RoleTable)> = Vec::new();
        for table in &self.config.roles {
            let (table, name) = (table.get_ref(), &table.get_ref().name);
            match checked.network.vocabulary().find_role(name.get_ref()) {
                Some(role) if own.iter().any(|(other, _)| *other == role) => {
                    self.problem(name.span(), format!("`{}` is here twice", name.get_ref()));
                }
                Some(role) if checked.takes_part(role) => own.push((role, table)),
                Some(_) => {
                    let message = format!("`{}` has nothing to do in this protocol", name.get_ref());
                    self.problem(name.span(), message);
                }
                None => {
                    let vocabulary = checked.network.vocabulary();
                    let known: Vec<&str> = vocabulary.roles().map(|r| vocabulary.role_name(r)).collect();
                    let message = format!(
                        "the protocol has no role `{}`; its roles are {}",
                        name.get_ref(),
                        known.join(", ")
                    );
                    self.problem(name.span(), message);
                }
            }
        }
        if self.config.roles.is_empty() {
            let message = "there is no `[[multiparty.role]]`: whose monitor is this?";
            self.problem(self.config.protocol.span(), message);
        }
        own
    }

    fn role(
        &mut self,
        checked: &CheckedProtocol,
        role: Role,
        table: &RoleTable,
        initiator: Role,
    ) -> Option<RolePlan> {
        let limits = &self.config.limits;
        let name = table.name.get_ref().clone();
        let (main, further) = self.endpoints(checked, role, table)?;
        if role == initiator && matches!(main.endpoint, Endpoint::Connect(_)) {
            let message = format!("`{name}` begins sessions, so its component must connect: use `listen`");
            self.problem(table.name.span(), message);
        }
        let dependencies = match table.dependencies {
            DependenciesName::Hide => Dependencies::Hide,
            DependenciesName::Deliver => Dependencies::Deliver,
            DependenciesName::DeliverOnce => Dependencies::DeliverOnce,
        };
        if dependencies != Dependencies::Hide && table.dependency.is_none() {
            let message = "how are dependencies written to the component? Say so with `dependency`";
            self.problem(table.name.span(), message);
        }
        if table.policy == PolicyName::Reject {
            let message = "a role of a network refuses nothing: nobody answers for another component";
            self.problem(table.name.span(), message);
        }
        self.check_templates(table);
        let settings = Settings {
            policy: table.policy.into(),
            dependencies,
            // Dependencies do not wait for credit, so there may be more than the window.
            capacity: limits.window as usize * 2,
            judging: self.judging(table, checked, &further),
        };
        let is_asked = |endpoint: &EndpointPlan| endpoint.rules.is_service();
        if table.trace_context && !std::iter::once(&main).chain(&further).any(is_asked) {
            let message = "`trace-context` is given in requests: with `upstream` and an `http` codec";
            self.problem(table.name.span(), message);
        }
        let engine = self.engine(checked, role, settings)?;
        let sends = self.sends(checked, role, table);
        let vocabulary = checked.network.vocabulary();
        let others =
            vocabulary.roles().filter(|other| *other != role && checked.takes_part(*other)).collect();
        let codecs: Vec<&Codec> = std::iter::once(&main).chain(&further).map(|it| &it.rules.codec).collect();
        let redacts = self.redacts(table, &codecs);
        let properties = self.properties(table);
        let plan = RolePlan {
            name,
            engine,
            projected: Arc::clone(&checked.projected),
            sends,
            initiator,
            others,
            main,
            further,
            redacts,
            properties,
            gives_trace_context: table.trace_context,
            dependency: table.dependency.as_ref().map(|text| text.get_ref().clone()),
            violation: table.close_message.as_ref().map(|text| text.get_ref().clone()),
            window: (limits.window, limits.buffer.0),
            sessions: limits.sessions,
            handshake: limits.handshake.0.unwrap_or(NO_TIMEOUT),
            idle: limits.idle.0,
            resumes: table.resume.as_ref().is_some_and(|resume| *resume.get_ref()),
            peer_timeout: limits.partition.0.unwrap_or(NO_TIMEOUT),
        };
        if let (Some(label), Some(written)) = (plan.unwritable_dependency(), &table.dependency) {
            let message = format!("the dependency `{label}` is too long for the component's `framing`");
            self.problem(written.span(), message);
        }
        Some(plan)
    }

    /// How the times of the role of `table` are judged.
    fn judging(
        &mut self,
        table: &RoleTable,
        checked: &CheckedProtocol,
        further: &[EndpointPlan],
    ) -> Option<Judging> {
        let chosen = table.deadlines.map_or(Deadlines::Report, Deadlines::from);
        let is_timed = checked.network.vocabulary().is_timed();
        if let (false, Deadlines::Enforce) = (is_timed, chosen) {
            let message = "the protocol has no times (`within`, `after`) to enforce";
            self.reader.warnings.push(Problem::new(message, table.name.span()));
        }
        if chosen == Deadlines::Off || !is_timed {
            return None;
        }
        if !further.is_empty() || self.config.state.is_some() {
            let why = if further.is_empty() { "sessions that are remembered" } else { "several endpoints" };
            let message = format!("the times of `{}` are not judged: it has {why}", table.name.get_ref());
            let problem = Problem::new(message, table.name.span());
            self.reader.warnings.push(problem.with_help("`deadlines = \"off\"` says so too"));
            return None;
        }
        let enforces = chosen == Deadlines::Enforce;
        Some(Judging { tolerance: table.tolerance.nanoseconds(), enforces })
    }

    /// The properties of `table`.
    fn properties(&mut self, table: &RoleTable) -> Option<Properties> {
        let files = table.properties.as_ref()?;
        if let Some(state) = &self.config.state {
            let message =
                "properties are not remembered: where sessions survive this process there can be none";
            self.problem(state.span(), message);
        }
        let properties = self.reader.properties(files, self.config.limits.instances)?;
        if properties.is_timed() {
            let message =
                "properties that speak of time are not judged by the monitors of networks: watch them";
            self.problem(files.span(), message);
        }
        Some(properties)
    }

    /// Texts to the component have no placeholders that nothing is put in for.
    fn check_templates(&mut self, table: &RoleTable) {
        let templates =
            [(&table.dependency, template::DEPENDENCY), (&table.close_message, template::VIOLATION)];
        for (written, known) in templates {
            if let Some(written) = written
                && let Some(word) = template::unknown(written.get_ref(), known)
            {
                let known: Vec<String> = known.iter().map(|word| format!("`{{{word}}}`")).collect();
                let message = format!("nothing is put in for `{{{word}}}`; there are {}", known.join(", "));
                self.problem(written.span(), message);
            }
        }
    }

    /// The monitor of `role`.
    fn engine(&mut self, checked: &CheckedProtocol, role: Role, settings: Settings) -> Option<Engine> {
        let (network, modules) = (&checked.network, &checked.modules);
        let make = |registry: &Registry| Engine::new(network, role, registry, settings);
        let (key, message) = match with_functions(&checked.externals, modules, make) {
            Ok(engine) => return Some(engine),
            Err(NoMonitor::Functions(error)) => ("functions", error.to_string()),
            Err(NoMonitor::Synthesis(error)) => unmonitorable(&error, modules),
        };
        let functions = self.config.functions.as_ref().filter(|_| key == "functions");
        let span = functions.map_or_else(|| self.config.protocol.span(), toml::Spanned::span);
        self.problem(span, message);
        None
    }
}
