//! A protocol in another language: what `referee convert` writes.
//!
//! Between global types and machines lie projection and synthesis ([`referee_theory::synthesis`]); the texts are the
//! printers' ([`crate::print`]). What a language cannot say is refused with the reason. What is kept: who sends what
//! to whom, in which order and under which condition; `.kmc` and `.fsm` drop conditions and names of fields, `.fsm` the
//! names of roles, `.gt` the names of fields. Converting back gives the same behaviour: bisimilar machines.

use std::sync::Arc;

use referee_theory::session::{Session, SessionBranch, SessionType, SessionTypeBuilder, TermId};
use referee_theory::synthesis::NoGlobalType;
use referee_theory::{
    Field, Global, GlobalType, Machine, MachineBuilder, MessageSpec, Role, State, System, Transition,
    Vocabulary,
};

use crate::analysis::Analysis;
use crate::document::{BinaryProtocol, Content, Document, External};
use crate::language::Language;
use crate::parse;
use crate::print::{self, Inexpressible};

/// A language that protocols are converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// `.scr`: Scribble's text, with Referee's `where`.
    Scr,
    /// `.nuscr`: what nuScr itself reads, with refinements.
    NuScr,
    /// `.gt`: RelaMon's global types.
    Gt,
    /// `.gt.json`: the same as JSON.
    GtJson,
    /// `.st`: STMonitor's binary session types, one side of a session of two.
    St,
    /// `.kmc`: KMC's session types, one for each role.
    Kmc,
    /// `.fsm`: KMC's automata.
    Fsm,
}

impl Target {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 7] =
        [Self::Scr, Self::NuScr, Self::Gt, Self::GtJson, Self::St, Self::Kmc, Self::Fsm];

    /// What `--to` calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scr => "scr",
            Self::NuScr => "nuscr",
            Self::Gt => "gt",
            Self::GtJson => "gt.json",
            Self::St => "st",
            Self::Kmc => "kmc",
            Self::Fsm => "fsm",
        }
    }

    /// How its texts are read.
    fn language(self) -> Language {
        match self {
            Self::Scr | Self::NuScr => Language::Scr,
            Self::Gt => Language::Gt,
            Self::GtJson => Language::GtJson,
            Self::St => Language::St,
            Self::Kmc => Language::Kmc,
            Self::Fsm => Language::Fsm,
        }
    }

    /// The target called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }
}

/// What is to be converted, out of a document that has no errors.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// A global protocol, its name, and the predicates it calls.
    Global(&'a str, &'a GlobalType, &'a [External]),
    /// One side of a session of two.
    Binary(&'a BinaryProtocol),
    /// One machine for each role.
    System(&'a System),
}

/// What a protocol is called that its language does not name.
const UNNAMED: &str = "Protocol";

impl<'a> Subject<'a> {
    /// The protocol of `document` called `wanted`, or its first that stands on its own.
    #[must_use]
    pub fn of(document: &'a Document, wanted: Option<&str>) -> Option<Self> {
        match &document.content {
            Content::Global(protocols) => {
                let is_wanted = |name: Option<&str>| wanted.is_none() || name == wanted;
                let mut found = protocols.iter().filter(|protocol| {
                    !protocol.auxiliary && protocol.global.is_some() && is_wanted(protocol.name.as_deref())
                });
                let protocol = found.clone().find(|protocol| !protocol.is_keyed()).or(found.next())?;
                let name = protocol.name.as_deref().unwrap_or(UNNAMED);
                Some(Self::Global(name, protocol.global.as_ref()?, &protocol.externals))
            }
            Content::Binary(protocol) => protocol.session.as_ref().map(|_| Self::Binary(protocol)),
            Content::System(system) => system.system.as_ref().map(Self::System),
            Content::Properties(_) => None,
        }
    }

    /// This protocol in the language of `target`. `role` is whose side a `.st` text takes; without it, the first role's.
    ///
    /// # Errors
    /// When it cannot be expressed there, with the reason.
    pub fn convert(&self, target: Target, role: Option<&str>) -> Result<String, Inexpressible> {
        let name = match *self {
            Self::Global(name, ..) => name,
            Self::Binary(protocol) => &protocol.name,
            Self::System(_) => UNNAMED,
        };
        let externals = match *self {
            Self::Global(_, _, externals) => externals,
            Self::Binary(protocol) => &protocol.externals[..],
            Self::System(_) => &[],
        };
        if !matches!(target, Target::Scr | Target::Fsm)
            && let Some(role) = self.waits_for_ever()
        {
            return Err(Inexpressible::new(format!(
                "`{role}` may wait for ever, which cannot be said there"
            )));
        }
        let text = match target {
            Target::Scr => print::scr(name, &*self.global()?, externals),
            Target::NuScr => print::nuscr(name, &*self.global()?),
            Target::Gt => print::gt(self.with_messages()?.as_ref()),
            Target::GtJson => print::gt_json(self.with_messages()?.as_ref()),
            Target::Kmc => print::kmc_system(&self.system()?),
            Target::Fsm => print::fsm(&self.system()?),
            Target::St => match self {
                Self::Binary(protocol) if role.is_none() => print::st(protocol),
                _ => print::st(&self.side(name, role)?),
            },
        }?;
        // A language may refuse what it can write down, as `.gt` does where a pair of roles has no relative type.
        let read = Analysis::of(parse(&text, target.language()));
        match read.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
            None => Ok(text),
            Some(error) => Err(Inexpressible::new(format!(
                "that language refuses it with {}: {}",
                error.code.id, error.message
            ))),
        }
    }

    /// A role that may wait for ever: for a message, or to be connected to.
    fn waits_for_ever(&self) -> Option<&'a str> {
        match *self {
            Self::Global(_, global, _) => {
                let invited = global.vocabulary().roles().find(|role| global.is_connected_to(*role));
                let optional = global.nodes().find_map(|(_, node)| match node {
                    Global::Exchange(exchange) => {
                        exchange.branches.iter().find(|branch| global.is_optional(branch.origin))
                    }
                    _ => None,
                });
                let role = invited.or_else(|| optional.map(|branch| branch.receiver))?;
                Some(global.vocabulary().role_name(role))
            }
            Self::Binary(_) => None,
            Self::System(system) => {
                let waiting =
                    system.machines().iter().find(|machine| !machine.accepting_states().is_empty())?;
                Some(system.vocabulary().role_name(waiting.role()))
            }
        }
    }

    fn global(&self) -> Result<std::borrow::Cow<'a, GlobalType>, Inexpressible> {
        use std::borrow::Cow;
        match *self {
            Self::Global(_, global, _) => Ok(Cow::Borrowed(global)),
            Self::Binary(protocol) => {
                let global =
                    protocol.session.as_ref().and_then(|session| session.global(protocol.environment));
                let reason = "in one of its choices both sides may speak";
                global.map(Cow::Owned).ok_or_else(|| Inexpressible::new(reason))
            }
            Self::System(system) => system
                .global_type()
                .map(Cow::Owned)
                .map_err(|reason| no_global_type(&reason, system.vocabulary())),
        }
    }

    /// The protocol, unless nothing is sent: `.gt` knows roles by what they send and receive.
    fn with_messages(&self) -> Result<std::borrow::Cow<'a, GlobalType>, Inexpressible> {
        let global = self.global()?;
        if global.participants().is_empty() {
            return Err(Inexpressible::new("nothing is sent, and there roles are known by their messages"));
        }
        Ok(global)
    }

    fn system(&self) -> Result<System, Inexpressible> {
        if let Self::System(system) = self {
            return Ok((*system).clone());
        }
        let global = self.global()?;
        print::without_calls(&global)?;
        if global.vocabulary().roles().len() == 0 {
            return Err(Inexpressible::new("it has no roles"));
        }
        global.project_all().map_err(|errors| {
            let role = errors.first().map_or("?", |error| global.vocabulary().role_name(error.role));
            Inexpressible::new(format!(
                "`{role}` has no projection: it is not told what to do in every branch (`referee check` says where)"
            ))
        })
    }

    /// One side of a session of two.
    fn side(&self, name: &str, role: Option<&str>) -> Result<BinaryProtocol, Inexpressible> {
        let system = self.system()?;
        let vocabulary = system.vocabulary();
        if vocabulary.messages().any(|message| !vocabulary.spec(message).updates.is_empty())
            || vocabulary.roles().any(|role| !vocabulary.initial_values(role).is_empty())
        {
            return Err(Inexpressible::new("its recursion carries data"));
        }
        let roles: Vec<Role> = system
            .machines()
            .iter()
            .filter(|machine| !machine.all_transitions().is_empty())
            .map(Machine::role)
            .collect();
        let &[first, second] = &roles[..] else {
            let reason = format!("a session there has two sides, but {} roles take part", roles.len());
            return Err(Inexpressible::new(reason));
        };
        let (process, environment) = match role {
            None => (first, second),
            Some(role) if vocabulary.role_name(first) == role => (first, second),
            Some(role) if vocabulary.role_name(second) == role => (second, first),
            Some(role) => {
                return Err(Inexpressible::new(format!("there is no role `{role}` that does anything")));
            }
        };
        let (ours, theirs) = (system.machine(process), system.machine(environment));
        if !dual(ours, environment).bisimilar(theirs, vocabulary) {
            return Err(Inexpressible::new(format!(
                "`{}` is not the other side of `{}`: it does not send and receive, in the same order, what the other \
                 receives and sends",
                vocabulary.role_name(environment),
                vocabulary.role_name(process),
            )));
        }
        let session = ours.session_type(vocabulary, print::MOST_NODES);
        let session = named_fields(&session.ok_or_else(Inexpressible::too_large)?);
        let vocabulary = Arc::clone(session.vocabulary());
        let externals = Vec::new();
        Ok(BinaryProtocol {
            name: name.into(),
            session: Some(session),
            vocabulary,
            process,
            environment,
            externals,
        })
    }
}

/// What `peer` does if it does the opposite of `machine` at every step.
fn dual(machine: &Machine, peer: Role) -> Machine {
    let mut builder = MachineBuilder::new(peer);
    let states: Vec<State> = machine.states().map(|_| builder.add_state()).collect();
    for state in machine.states() {
        for transition in machine.transitions(state) {
            let (action, peer) = (transition.action.dual(), machine.role());
            let target = states[transition.target.index()];
            builder.add_transition(states[state.index()], Transition { action, peer, target, ..*transition });
        }
    }
    builder.finish()
}

/// `session` with a name for every field: `.st` wants them, and they change nothing. The new names are nobody's: a
/// condition further on still means the field that it meant.
fn named_fields(session: &SessionType) -> SessionType {
    let mut vocabulary = Vocabulary::new();
    let old = session.vocabulary();
    for role in old.roles() {
        vocabulary.add_role(old.role_name(role));
    }
    let prefix = free_prefix(old);
    let mut builder = SessionTypeBuilder::new();
    let nodes: Vec<TermId> = (0..session.node_count()).map(|_| builder.reserve()).collect();
    let mut message = |message| {
        let spec = old.spec(message);
        let name = |(index, field): (usize, &Field)| Field {
            name: Some(field.name.clone().unwrap_or_else(|| format!("{prefix}{}", index + 1).into())),
            ty: field.ty.clone(),
        };
        let fields = spec.fields.iter().enumerate().map(name).collect();
        let label = vocabulary.add_label(old.label_name(spec.label));
        vocabulary.add_message(MessageSpec { label, fields, ..spec.clone() })
    };
    for (index, node) in nodes.iter().enumerate() {
        let content = match session.node(TermId(u32::try_from(index).unwrap_or(u32::MAX))) {
            Session::Choice(branches) => {
                let renamed = |branch: &SessionBranch| SessionBranch {
                    message: message(branch.message),
                    next: nodes[branch.next.index()],
                    ..*branch
                };
                Session::Choice(branches.iter().map(renamed).collect())
            }
            Session::Rec { name, body, origin } => {
                Session::Rec { name: name.clone(), body: nodes[body.index()], origin: *origin }
            }
            Session::Call { target, origin } => {
                Session::Call { target: nodes[target.index()], origin: *origin }
            }
            Session::End => continue,
        };
        builder.set(*node, content);
    }
    let root = nodes[session.root().index()];
    builder.finish(Arc::new(vocabulary), session.role(), root).unwrap_or_else(|_| session.clone())
}

/// What new names of fields begin with: `x`, or `x_` and so on where a field is called `x1`.
fn free_prefix(vocabulary: &Vocabulary) -> String {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_taken = |prefix: &str| {
        let mut fields = vocabulary.messages().flat_map(|message| vocabulary.spec(message).fields.iter());
        fields.any(|field| {
            field.name.as_deref().and_then(|name| name.strip_prefix(prefix)).is_some_and(is_number)
        })
    };
    let mut prefix = String::from("x");
    while is_taken(&prefix) {
        prefix.push('_');
    }
    prefix
}

fn no_global_type(reason: &NoGlobalType, vocabulary: &Vocabulary) -> Inexpressible {
    let name = |role: &Role| format!("`{}`", vocabulary.role_name(*role));
    Inexpressible::new(match reason {
        NoGlobalType::Stuck { roles } => {
            let roles: Vec<String> = roles.iter().map(name).collect();
            format!("one message at a time, {} come to wait for one another", roles.join(", "))
        }
        NoGlobalType::MixedChoice { role } => {
            format!("{} may both send and receive in one of its states", name(role))
        }
        NoGlobalType::Nondeterministic { role } => {
            format!("{} may send one label in two ways in one of its states", name(role))
        }
        NoGlobalType::Differs { role } => {
            format!("no global type was found that tells {} what its machine does", name(role))
        }
        NoGlobalType::TooLarge => return Inexpressible::too_large(),
    })
}
