//! `[multiparty]`, compiled: the protocol's monitors, checked together, and one plan for each local role.

mod codecs;
mod network;
mod template;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use referee_functions::{Functions, Limits, NoMonitor, with_functions};
use referee_monitor::multiparty::{Dependencies, Engine, Notice, Settings, Turn};
use referee_monitor::{Policy, Registry};
use referee_pipeline::{Packages, Parsed, Projected, Source};
use referee_session::RoleRules;
use referee_session::role::payload::Payload;
use referee_syntax::Diagnostic;
use referee_theory::{Label, Role, State};
use referee_wire::Sender;

use super::connection_setup::ConnectionSetup;
use super::protocol::{self, CheckedProtocol, ProtocolError};
use super::transport::{NatsPlan, TcpPlan};
use super::violation;
use crate::config::ProxyIn;
use crate::config::{Address, DependenciesName, Multiparty, PolicyName, Problem, RoleTable, TransportName};
use crate::metrics::{MessageCounters, Meter};
use crate::plan::{is_inline, load_modules, read_and_note};
use crate::protocol::unmonitorable;
use crate::source_limits::SourceLimits;

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
    pub(super) endpoint: Endpoint,
    pub(super) setup: ConnectionSetup,
    pub(super) sources: Arc<SourceLimits>,
    pub(super) proxy_in: ProxyIn,
    /// How a component's connection is read.
    pub(super) rules: Arc<RoleRules>,
    /// Whether fields are redacted: then nobody is shown what was sent.
    pub(super) redacts: bool,
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

/// Problems of `[multiparty]`, and the files it was read from.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) problems: Vec<Problem>,
    pub(crate) protocols: Vec<(Source, Vec<Diagnostic>)>,
    pub(crate) files: Vec<PathBuf>,
    /// Those that may change while it runs.
    pub(crate) certificates: Vec<PathBuf>,
}

impl MultipartyPlan {
    /// Compiles `config`; files are relative to `folder`.
    pub(crate) fn make(config: &Multiparty, folder: &Path, findings: &mut Findings) -> Option<Self> {
        let mut maker = PlanBuilder { config, folder, findings };
        let mut checked = maker.protocol()?;
        checked.modules = maker.modules()?;
        let before = maker.findings.problems.len();
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
        (maker.findings.problems.len() == before).then(|| Self {
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
            let endpoint = match &plan.endpoint {
                Endpoint::Listen(address) => format!("whose component connects to {address}"),
                Endpoint::Connect(address) => format!("whose component is at {address}"),
            };
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
            format!(
                "{}: the monitor of {}, {endpoint}{}; {} begins sessions; the other monitors: {}{}",
                self.name,
                plan.name,
                plan.setup.in_words(),
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
    /// New counters for the connections of its components.
    pub(super) fn meter(&self) -> Meter {
        let known = self.rules.codec.messages().iter();
        let labels = known.map(|known| (known.sender.index(), Arc::clone(&known.name))).collect();
        Meter::new(&Arc::default(), &Arc::new(MessageCounters::new(labels, 1)), 0)
    }

    pub(super) fn hides(&self) -> bool {
        self.engine.settings().dependencies == Dependencies::Hide
    }

    /// Whether the component has something to send before it is given anything.
    pub(super) fn speaks_first(&self) -> bool {
        matches!(self.engine.turn(&self.engine.run::<Payload>(0)), Turn::Component)
    }

    /// The receiver of `label` if the component sends it in `state`; out of turn, its only receiver in any state.
    pub(super) fn receiver(&self, state: State, label: &str) -> Option<Role> {
        let is_it = |sent: &&(Box<str>, Role)| *sent.0 == *label;
        let here = self.sends.get(state.index()).and_then(|sends| sends.iter().find(is_it));
        here.map(|(_, to)| *to).or_else(|| {
            let mut elsewhere = self.sends.iter().flatten().filter(is_it).map(|(_, to)| *to);
            let first = elsewhere.next()?;
            elsewhere.all(|to| to == first).then_some(first)
        })
    }

    /// The text that tells the component that `label` was chosen.
    pub(super) fn dependency(&self, from: Role, label: Label) -> Bytes {
        let vocabulary = self.engine.vocabulary();
        let template = self.dependency.as_deref().unwrap_or_default();
        let words = [("from", vocabulary.role_name(from)), ("label", vocabulary.label_name(label))];
        let text = self.setup.frame(&template::fill(template, &words));
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
            self.setup.frame(&template::fill(template, &words)).is_none()
        };
        vocabulary.messages().map(|message| vocabulary.label_of(message)).find(is_unwritable)
    }

    /// The close message after a violation.
    pub(super) fn close_message(&self, notice: &Notice) -> Option<Bytes> {
        let vocabulary = self.engine.vocabulary();
        let notice = &violation::for_reader(notice, self.engine.role(), vocabulary);
        let blame: Vec<&str> = notice.blamed.iter().map(|role| vocabulary.role_name(*role)).collect();
        // One line, whatever was sent.
        let link = |text: &str| text.replace(|c: char| c.is_control(), " ");
        let (blame, message) = (blame.join(", "), link(&notice.sentence));
        let json = violation::to_json(notice, vocabulary).to_string();
        let kind = notice.breach.name();
        let words = [("blame", &*blame), ("kind", kind), ("message", &message), ("json", &json)];
        self.setup.frame(&template::fill(self.violation.as_ref()?, &words))
    }
}

struct PlanBuilder<'a> {
    config: &'a Multiparty,
    folder: &'a Path,
    findings: &'a mut Findings,
}

impl<'a> PlanBuilder<'a> {
    fn problem(&mut self, span: std::ops::Range<usize>, message: impl Into<String>) {
        self.findings.problems.push(Problem::new(message, span));
    }

    fn file(&mut self, path: &Path) -> PathBuf {
        let path = self.folder.join(path);
        self.findings.files.push(path.clone());
        path
    }

    /// A file with a certificate or a key.
    fn certificate(&mut self, path: &Path) -> PathBuf {
        let path = self.folder.join(path);
        self.findings.certificates.push(path.clone());
        path
    }

    fn protocol(&mut self) -> Option<CheckedProtocol> {
        let (named, span) = (self.config.protocol.get_ref(), self.config.protocol.span());
        let (text, file) = if is_inline(named) {
            (named.clone(), "protocol.scr".to_owned())
        } else {
            let path = self.file(Path::new(named));
            match std::fs::read_to_string(&path) {
                Ok(text) => (text, named.clone()),
                Err(error) => {
                    self.problem(span, format!("cannot read `{}`: {error}", path.display()));
                    return None;
                }
            }
        };
        let folders = self.config.import_path.iter().map(|folder| self.folder.join(folder));
        let folders: Vec<PathBuf> = folders.collect();
        let files = &mut self.findings.files;
        let mut read = |path: &Path| read_and_note(path, files);
        let mut packages = Packages::new(&self.folder.join(&file), &text, &folders, &mut read);
        let parsed = match Parsed::load(Source::new(&file, &text), None, &mut packages) {
            Ok(parsed) => parsed,
            Err(error) => {
                self.problem(span, error.to_string());
                return None;
            }
        };
        match protocol::read(parsed, self.config.protocol_name.as_deref()) {
            Ok(checked) => Some(checked),
            Err(ProtocolError::Errors(source, diagnostics)) => {
                self.findings.protocols.push((source, diagnostics));
                None
            }
            Err(ProtocolError::Other(message)) => {
                self.problem(span, message);
                None
            }
        }
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
        let endpoint = self.endpoint(role == initiator, table)?;
        let dependencies = match table.dependencies {
            DependenciesName::Hide => Dependencies::Hide,
            DependenciesName::Deliver => Dependencies::Deliver,
            DependenciesName::DeliverOnce => Dependencies::DeliverOnce,
        };
        if dependencies != Dependencies::Hide && table.dependency.is_none() {
            let message = "how are dependencies written to the component? Say so with `dependency`";
            self.problem(table.name.span(), message);
        }
        self.check_templates(table);
        let settings = Settings {
            policy: match table.policy {
                PolicyName::Halt => Policy::Halt,
                PolicyName::Drop => Policy::Drop,
                PolicyName::Observe => Policy::Observe,
            },
            dependencies,
            // Dependencies do not wait for credit, so there may be more than the window.
            capacity: limits.window as usize * 2,
        };
        let engine = self.engine(checked, role, settings)?;
        let sends = self.sends(checked, role, table);
        let codec = self.codec(checked, role, table, &endpoint)?;
        let setup = ConnectionSetup::make(table, &endpoint, limits.message.0, |path| self.certificate(path));
        let setup = setup.map_err(|(span, message)| self.problem(span, message)).ok()?;
        let vocabulary = checked.network.vocabulary();
        let others =
            vocabulary.roles().filter(|other| *other != role && checked.takes_part(*other)).collect();
        let redacts = self.redacts(table, &codec);
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
        let plan = RolePlan {
            name,
            engine,
            projected: Arc::clone(&checked.projected),
            sends,
            initiator,
            others,
            endpoint,
            setup,
            sources: Arc::new(SourceLimits::new(table.allow.clone(), limits.connections_per_source)),
            proxy_in: table.proxy_in,
            redacts,
            rules,
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

    /// Where the component of `table` connects or is; one that `begins` sessions must connect.
    fn endpoint(&mut self, begins: bool, table: &RoleTable) -> Option<Endpoint> {
        let name = table.name.get_ref();
        let endpoint = match (&table.listen, &table.upstream) {
            (Some(address), None) => Endpoint::Listen(address.get_ref().clone()),
            (None, Some(address)) => Endpoint::Connect(address.get_ref().clone()),
            (Some(_), Some(connect)) => {
                self.problem(connect.span(), "either `listen` or `upstream`, not both");
                return None;
            }
            (None, None) => {
                self.problem(
                    table.name.span(),
                    format!("where is the component of `{name}`? Say `listen` or `upstream`"),
                );
                return None;
            }
        };
        if begins && matches!(endpoint, Endpoint::Connect(_)) {
            let message = format!("`{name}` begins sessions, so its component must connect: use `listen`");
            self.problem(table.name.span(), message);
        }
        let for_listeners = table.allow.is_some() || table.proxy_in == ProxyIn::Required;
        if for_listeners && matches!(endpoint, Endpoint::Connect(_)) {
            let message = "`allow` and `proxy-in` are for components that connect: use `listen`";
            self.problem(table.name.span(), message);
        }
        Some(endpoint)
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

    /// The modules of functions, or `None` if one cannot be used.
    fn modules(&mut self) -> Option<Vec<Functions>> {
        let Some(files) = &self.config.functions else { return Some(Vec::new()) };
        let limits = Limits { fuel: self.config.functions_fuel, memory: self.config.functions_memory.0 };
        let modules = load_modules(&files.get_ref().0, limits, |path| self.file(path));
        modules
            .map_err(|wrong| wrong.into_iter().for_each(|message| self.problem(files.span(), message)))
            .ok()
    }
}
