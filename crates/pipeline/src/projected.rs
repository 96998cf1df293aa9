//! The third stage: one protocol, whatever language it is written in, and a machine for each role.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use referee_monitor::{Registry, Side};
use referee_syntax::diagnostics::suggest;
use referee_syntax::document::Demands;
use referee_syntax::source::Span;
use referee_syntax::{
    BinaryProtocol, Content, Diagnostic, External, GlobalProtocol, LocalSystem, Origins, Position,
    ProjectedProtocol, ill_formed,
};
use referee_theory::calls::{Calls, Stages};
use referee_theory::expr::Signature;
use referee_theory::relative::{RelativeError, RelativeType};
use referee_theory::{Action, GlobalType, Machine, Origin, Role, State, System, Vocabulary};

use crate::monitorable::{Monitorable, MonitorableCall};
use crate::parsed::Analysed;
use crate::source::{Extent, Source};

/// A well-formed protocol with its projections.
#[derive(Clone, Debug)]
pub struct Projected {
    source: Source,
    origins: Arc<Origins>,
    kind: SubjectKind,
    name: Option<Arc<str>>,
    vocabulary: Arc<Vocabulary>,
    global: Option<Arc<GlobalType>>,
    externals: Vec<External>,
    /// By role.
    machines: Vec<Result<Machine, NoProjection>>,
}

/// What kind of text a protocol comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// A global protocol.
    Global {
        /// Whether its language means it to be run through relative types.
        relative_first: bool,
    },
    /// A session type.
    Binary {
        /// The role whose view it is.
        process: Role,
    },
    /// A system: each role has a machine of its own, and they need not fit together.
    System,
}

/// Why a text has no such protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoProtocol {
    /// It has no protocol of that name, or none at all.
    Unknown {
        /// The name, if one was asked for.
        wanted: Option<String>,
        /// The names of its protocols.
        known: Vec<Arc<str>>,
    },
    /// It holds properties.
    Properties,
}

impl fmt::Display for NoProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { wanted: Some(wanted), known } => {
                write!(f, "there is no protocol `{wanted}`; there are {}", known.join(", "))
            }
            Self::Unknown { wanted: None, .. } => f.write_str("there is no protocol"),
            Self::Properties => f.write_str("these are properties, not a protocol"),
        }
    }
}

impl std::error::Error for NoProtocol {}

/// Why a role has no machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoProjection {
    why: String,
}

impl fmt::Display for NoProjection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for NoProjection {}

/// There is no role of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRole {
    wanted: String,
    close: Option<String>,
    known: Vec<String>,
}

impl fmt::Display for UnknownRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no role `{}`; ", self.wanted)?;
        match &self.close {
            Some(close) => write!(f, "did you mean `{close}`?"),
            None => write!(f, "the roles are {}", self.known.join(", ")),
        }
    }
}

impl std::error::Error for UnknownRole {}

/// A protocol has so many roles that one must be named, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoDefaultRole {
    /// The roles.
    pub known: Vec<String>,
}

impl fmt::Display for NoDefaultRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known.len() {
            0 => f.write_str("the protocol has no roles"),
            count => write!(f, "the protocol has {count} roles ({})", self.known.join(", ")),
        }
    }
}

impl std::error::Error for NoDefaultRole {}

impl Projected {
    /// The protocol called `wanted` of a text without errors, or the first that is not only a part of others.
    pub(crate) fn of(analysed: &Analysed, wanted: Option<&str>) -> Result<Self, NoProtocol> {
        match &analysed.document().content {
            Content::Global(protocols) => {
                let found = protocols.iter().find(|candidate| match wanted {
                    Some(wanted) => candidate.name.as_deref() == Some(wanted),
                    None => !candidate.auxiliary && !candidate.is_keyed(),
                });
                let found = found.or(protocols.first().filter(|_| wanted.is_none()));
                let known = |found: &GlobalProtocol| {
                    let global = found.global.as_ref()?;
                    analysed.analysis().protocols.iter().find(|known| Arc::ptr_eq(&known.global, global))
                };
                let origins = Arc::new(analysed.document().origins.clone());
                let found = found.and_then(|found| Self::of_global(analysed, found, known(found), &origins));
                found.ok_or_else(|| NoProtocol::Unknown {
                    wanted: wanted.map(str::to_owned),
                    known: protocols.iter().filter_map(|protocol| protocol.name.clone()).collect(),
                })
            }
            Content::Binary(_) | Content::System(_) => {
                let unknown = NoProtocol::Unknown { wanted: None, known: Vec::new() };
                Self::all(analysed).next().ok_or(unknown)
            }
            Content::Properties(_) => Err(NoProtocol::Properties),
        }
    }

    /// Every protocol of a text without errors that is not only a part of others.
    pub(crate) fn all(analysed: &Analysed) -> std::vec::IntoIter<Self> {
        let all: Vec<Self> = match &analysed.document().content {
            Content::Global(protocols) => {
                let origins = Arc::new(analysed.document().origins.clone());
                let projected = analysed.analysis().protocols.iter();
                let known: HashMap<_, _> =
                    projected.map(|known| (Arc::as_ptr(&known.global), known)).collect();
                let whole = protocols.iter().filter(|protocol| !protocol.auxiliary);
                let of = |protocol: &GlobalProtocol| {
                    let known = known.get(&Arc::as_ptr(protocol.global.as_ref()?)).copied();
                    Self::of_global(analysed, protocol, known, &origins)
                };
                whole.filter_map(of).collect()
            }
            Content::Binary(binary) => Self::of_binary(analysed, binary).into_iter().collect(),
            Content::System(local) => Self::of_system(analysed, local).into_iter().collect(),
            Content::Properties(_) => Vec::new(),
        };
        all.into_iter()
    }

    /// `found`, of which `known` was found out already. All protocols of a text share its `origins`.
    fn of_global(
        analysed: &Analysed,
        found: &GlobalProtocol,
        known: Option<&ProjectedProtocol>,
        origins: &Arc<Origins>,
    ) -> Option<Self> {
        let global = found.global.clone()?;
        let machines = match known.map(|known| &known.local) {
            Some(Ok(system)) => system.machines().iter().cloned().map(Ok).collect(),
            Some(Err(_)) | None => {
                let project = |role| {
                    global.project(role).map_err(|error| {
                        let diagnostic =
                            ill_formed::projection(&error, &found.vocabulary, origins, found.span);
                        NoProjection { why: diagnostic.message }
                    })
                };
                found.vocabulary.roles().map(project).collect()
            }
        };
        Some(Self {
            source: analysed.source().clone(),
            origins: Arc::clone(origins),
            kind: SubjectKind::Global { relative_first: found.demands == Demands::Relative },
            name: found.name.clone(),
            vocabulary: Arc::clone(&found.vocabulary),
            global: Some(global),
            externals: found.externals.clone(),
            machines,
        })
    }

    fn of_binary(analysed: &Analysed, binary: &BinaryProtocol) -> Option<Self> {
        let session = binary.session.as_ref()?;
        let mut machines = vec![session.machine(), session.dual(binary.environment).machine()];
        machines.sort_by_key(Machine::role);
        Some(Self {
            source: analysed.source().clone(),
            origins: Arc::new(analysed.document().origins.clone()),
            kind: SubjectKind::Binary { process: binary.process },
            name: Some(Arc::clone(&binary.name)),
            vocabulary: Arc::clone(&binary.vocabulary),
            global: session.global(binary.environment).map(Arc::new),
            externals: binary.externals.clone(),
            machines: machines.into_iter().map(Ok).collect(),
        })
    }

    fn of_system(analysed: &Analysed, local: &LocalSystem) -> Option<Self> {
        let system = local.system.as_ref()?;
        Some(Self {
            source: analysed.source().clone(),
            origins: Arc::new(analysed.document().origins.clone()),
            kind: SubjectKind::System,
            name: None,
            vocabulary: Arc::clone(&local.vocabulary),
            global: None,
            externals: Vec::new(),
            machines: system.machines().iter().cloned().map(Ok).collect(),
        })
    }

    /// The text it comes from.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// `auth.scr:12:7`, if `origin` is a place in the text.
    #[must_use]
    pub fn location(&self, origin: Origin) -> Option<String> {
        (origin != Origin::NONE).then(|| self.source.location(self.origins.span(origin).start))
    }

    /// The line and column of `origin`; the start of the text for an origin that has no place.
    #[must_use]
    pub fn position(&self, origin: Origin) -> Position {
        self.source.position(self.origins.span(origin).start)
    }

    /// Where the text of each of `origins` that is a place in the text begins and ends.
    pub fn extents(&self, origins: impl IntoIterator<Item = Origin>) -> Vec<(Origin, Extent<'_>)> {
        let known = origins.into_iter().filter(|origin| *origin != Origin::NONE);
        let spans = known.map(|origin| (origin, self.origins.span(origin)));
        let spans = spans.filter(|(_, span)| span.end > span.start);
        let extent = |span: Span| {
            let file = self.source.file(span.start);
            let find = |offset: u32| self.source.position(offset);
            Extent {
                imported: (file.start > 0).then_some(file.name),
                start: find(span.start),
                end: find(span.end),
            }
        };
        spans.map(|(origin, span)| (origin, extent(span))).collect()
    }

    /// The comment directly above `origin` in the text, line by line.
    #[must_use]
    pub fn comment(&self, origin: Origin) -> Vec<String> {
        if origin == Origin::NONE {
            return Vec::new();
        }
        let offset = self.origins.span(origin).start;
        let file = self.source.file(offset);
        file.text.get(..(offset - file.start) as usize).map(comment_above).unwrap_or_default()
    }

    /// The comment directly above the protocol itself.
    #[must_use]
    pub fn about(&self) -> Vec<String> {
        let text = self.source.text();
        let is_head = |line: &str| {
            let line = line.trim_start();
            let line = line.strip_prefix("global ").unwrap_or(line).trim_start();
            let rest = line.strip_prefix("protocol ").map(str::trim_start);
            let rest = rest.and_then(|rest| rest.strip_prefix(self.name.as_deref()?));
            rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
        };
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            if is_head(line) {
                return comment_above(&text[..offset]);
            }
            offset += line.len();
        }
        Vec::new()
    }

    /// What kind of text it comes from.
    #[must_use]
    pub fn kind(&self) -> SubjectKind {
        self.kind
    }

    /// What the text calls it, if it does.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Its names.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The names of its roles.
    #[must_use]
    pub fn role_names(&self) -> Vec<&str> {
        self.vocabulary.roles().map(|role| self.vocabulary.role_name(role)).collect()
    }

    /// The role called `name`.
    ///
    /// # Errors
    /// There is none; the error names one that is spelt alike, or all.
    pub fn role(&self, name: &str) -> Result<Role, UnknownRole> {
        self.vocabulary.find_role(name).ok_or_else(|| UnknownRole {
            wanted: name.to_owned(),
            close: suggest::closest(name, self.role_names()).map(str::to_owned),
            known: self.role_names().into_iter().map(str::to_owned).collect(),
        })
    }

    /// The role under scrutiny where none is named: the one whose session type it is, or the first of two.
    ///
    /// # Errors
    /// There are more than two roles, or none.
    pub fn default_role(&self) -> Result<Role, NoDefaultRole> {
        let mut roles = self.vocabulary.roles();
        match (self.kind, roles.len(), roles.next()) {
            (SubjectKind::Binary { process }, ..) => Ok(process),
            (_, 1 | 2, Some(first)) => Ok(first),
            _ => {
                let known = self.role_names().into_iter().map(str::to_owned).collect();
                Err(NoDefaultRole { known })
            }
        }
    }

    /// The whole protocol, where the text describes more than single machines.
    #[must_use]
    pub fn global(&self) -> Option<&Arc<GlobalType>> {
        self.global.as_ref()
    }

    /// The relative types of all pairs of roles.
    ///
    /// # Errors
    /// The pairs that have none; there are no pairs if there is no whole protocol.
    pub fn relative_types(&self) -> Result<Vec<RelativeType>, Vec<Diagnostic>> {
        let Some(global) = &self.global else { return Err(Vec::new()) };
        global.relative_all().map_err(|errors| errors.iter().map(|error| self.explain(error)).collect())
    }

    /// What is wrong with a pair of roles, in the user's words.
    #[must_use]
    pub fn explain(&self, error: &RelativeError) -> Diagnostic {
        ill_formed::relative(error, &self.vocabulary, &self.origins)
    }

    /// Predicates that its assertions call and the text does not define.
    #[must_use]
    pub fn externals(&self) -> &[External] {
        &self.externals
    }

    /// The predicates that its assertions call, declared and not yet defined.
    #[must_use]
    pub fn registry(&self) -> Registry {
        let mut registry = Registry::new();
        for external in &self.externals {
            let parameters = external.parameters.clone().into();
            registry.declare(&external.name, Signature { parameters, result: external.result.clone() });
        }
        registry
    }

    /// The machine of `role`.
    ///
    /// # Errors
    /// The protocol has no projection onto it.
    pub fn machine(&self, role: Role) -> Result<&Machine, &NoProjection> {
        // INVARIANT: there is an entry for each role of the vocabulary, and roles come from the vocabulary.
        debug_assert!(role.index() < self.machines.len());
        match self.machines.get(role.index()) {
            Some(machine) => machine.as_ref(),
            None => Err(const { &NoProjection { why: String::new() } }),
        }
    }

    /// The machines of all roles, in their order.
    pub fn machines(&self) -> impl ExactSizeIterator<Item = Result<&Machine, &NoProjection>> {
        self.machines.iter().map(Result::as_ref)
    }

    /// The machines of all roles, if every role has one.
    #[must_use]
    pub fn system(&self) -> Option<System> {
        let machines: Vec<Machine> = self.machines.iter().flatten().cloned().collect();
        (machines.len() == self.machines.len()).then(|| System::new(Arc::clone(&self.vocabulary), machines))
    }

    /// The machine of `role`, to be given its predicates and monitored.
    ///
    /// # Errors
    /// The protocol has no projection onto it, or opens sub-sessions, which are monitored between two roles only.
    pub fn monitorable(&self, role: Role) -> Result<Monitorable, NoProjection> {
        if self.opens_calls() {
            let why = "the protocol opens sub-sessions, which are watched and guarded between two roles only";
            return Err(NoProjection { why: why.to_owned() });
        }
        let machine = self.machine(role).map_err(Clone::clone)?;
        Ok(Monitorable::new(machine.clone(), Arc::clone(&self.vocabulary), self.registry()))
    }

    /// The machine of `role` for a monitor between the two roles of the protocol, which sees what both say: it checks
    /// what either of them can. With more roles, or none that keeps something from the other, the same as
    /// [`monitorable`](Self::monitorable).
    ///
    /// # Errors
    /// The protocol has no projection onto the role, or opens sub-sessions and does not have the same two roles as they.
    pub fn monitorable_between(&self, role: Role) -> Result<Monitorable, NoProjection> {
        if let Some((global, calls)) = self.global.as_ref().and_then(|global| Some((global, global.calls()?)))
        {
            return self.keyed_between(global, calls, role);
        }
        let own = self.monitorable(role)?;
        let Some(seen) = self.global.as_ref().and_then(|global| global.as_seen_between()) else {
            return Ok(own);
        };
        match seen.project(role) {
            Ok(machine) => Ok(Monitorable::new(machine, Arc::clone(seen.vocabulary()), self.registry())),
            Err(_) => Ok(own),
        }
    }
}

impl Projected {
    /// Whether the protocol opens sub-sessions.
    #[must_use]
    pub fn opens_calls(&self) -> bool {
        self.global.as_ref().is_some_and(|global| global.calls().is_some())
    }

    /// As [`monitorable_between`](Self::monitorable_between), of a protocol that opens sub-sessions.
    fn keyed_between(
        &self,
        global: &GlobalType,
        calls: &Calls,
        role: Role,
    ) -> Result<Monitorable, NoProjection> {
        let name = self.vocabulary.role_name(role);
        let (parent, stages) = self.seen_between(global, name, Some(calls))?;
        let one = |(index, sub): (usize, &referee_theory::calls::SubProtocol)| {
            let two = |global: &GlobalType| global.vocabulary().roles().len() == 2;
            let (Some(keyed), true) = (sub.global.keyed(), two(global) && two(&sub.global)) else {
                let why = format!(
                    "the protocol opens `{}`, and there are monitors of sub-sessions between two roles only",
                    sub.signature()
                );
                return Err(NoProjection { why });
            };
            let vocabulary = sub.global.vocabulary();
            let side = |sender: Role| match vocabulary.role_name(sender) == name {
                true => Side::Process,
                false => Side::Environment,
            };
            let (monitorable, _) = self.seen_between(&sub.global, name, None)?;
            let first = monitorable.machine().transitions(State(0)).first().map(|first| first.action);
            Ok(MonitorableCall {
                name: sub.signature(),
                key: Arc::clone(&keyed.field),
                opener: if first == Some(Action::Send) { Side::Process } else { Side::Environment },
                interrupt: keyed
                    .interrupt
                    .map(|interrupt| (vocabulary.label_of(interrupt.message).into(), side(interrupt.sender))),
                stages: stages.iter().map(|stages| stages[index]).collect(),
                monitorable,
            })
        };
        let subs = calls.subs.iter().enumerate().map(one).collect::<Result<_, _>>()?;
        Ok(parent.with_calls(subs))
    }

    /// The machine of the role called `name` in `global`, as somebody between its two roles follows it; with what is open in each state.
    fn seen_between(
        &self,
        global: &GlobalType,
        name: &str,
        calls: Option<&Calls>,
    ) -> Result<(Monitorable, Vec<Stages>), NoProjection> {
        let seen = global.as_seen_between();
        let global = seen.as_ref().unwrap_or(global);
        let role = global.vocabulary().find_role(name);
        let machine = role.and_then(|role| global.project(role).ok()).ok_or_else(|| NoProjection {
            why: format!("`{name}` has no machine of its own in the protocol, or in what it opens"),
        })?;
        let (machine, stages) = match calls {
            Some(calls) => calls.stages(&machine),
            None => (machine, Vec::new()),
        };
        let vocabulary = Arc::clone(global.vocabulary());
        Ok((Monitorable::new(machine, vocabulary, self.registry()), stages))
    }
}

/// The comment that ends in the last whole line of `text`. Several lines belong together; an empty one parts them.
fn comment_above(text: &str) -> Vec<String> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let comment = |line: &str| {
        let rest = line.trim().strip_prefix("//")?;
        Some(rest.trim_start_matches(['/', '!']).trim().to_owned())
    };
    let mut lines: Vec<String> = whole.lines().rev().map_while(comment).collect();
    lines.reverse();
    lines
}
