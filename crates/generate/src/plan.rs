//! All decisions about an endpoint that do not depend on the language it is written in.

pub(crate) mod naming;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use referee_monitor::{Monitor, Registry};
use referee_theory::expr::{self, Expr, NoExternals, Node, Signature, Value};
use referee_theory::{
    Action, Field, Label, Machine, Origin, State, Transition, Type, Update, Vocabulary, timing,
};

use crate::names::{Scope, upper_camel};
use crate::pattern::Table;
use crate::plan::naming::{TYPES, name_states, type_names};
use crate::typing::Types;

/// What endpoints are made of.
pub struct Subject<'a> {
    /// The name of the protocol.
    pub protocol: &'a str,
    /// The name of the file it is in.
    pub file: &'a str,
    /// Its names.
    pub vocabulary: &'a Arc<Vocabulary>,
    /// The machines of the roles that want an endpoint.
    pub machines: &'a [&'a Machine],
    /// The predicates that assertions call, with their signatures.
    pub predicates: BTreeMap<Arc<str>, Signature>,
    /// What the protocol's text says about a place in it, line by line.
    pub comment: &'a dyn Fn(Origin) -> Vec<String>,
    /// What it says about the protocol.
    pub about: Vec<String>,
}

/// Why there is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsupported {
    /// The role has no monitor either.
    NoMonitor(String),
    /// It may send and receive in one state.
    Mixed {
        /// What can happen there.
        state: String,
    },
    /// A regular expression has no table.
    Pattern {
        /// The expression.
        pattern: String,
    },
    /// The value of recursion data before the first message cannot be computed.
    Initial {
        /// The variable.
        variable: String,
    },
    /// A tuple has more parts than endpoints have types for.
    Tuple {
        /// The label.
        label: String,
    },
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMonitor(why) => f.write_str(why),
            Self::Mixed { state } => {
                write!(f, "the role may send and receive at once ({state}): no type can say whose turn it is")
            }
            Self::Pattern { pattern } => write!(
                f,
                "the regular expression `{pattern}` is too large for a table, or has Unicode word boundaries, which no table \
                 can say (`(?-u:\\b)` it can)"
            ),
            Self::Initial { variable } => {
                write!(f, "`{variable}` has no value before the first message that could be computed")
            }
            Self::Tuple { label } => write!(f, "`{label}` has a tuple of more than 8 parts"),
        }
    }
}

impl std::error::Error for Unsupported {}

/// Endpoints of some roles, before they are written down.
pub struct Plan {
    pub(crate) protocol: String,
    pub(crate) file: String,
    pub(crate) about: Vec<String>,
    pub(crate) messages: Vec<MessagePlan>,
    pub(crate) records: Vec<RecordPlan>,
    pub(crate) roles: Vec<RolePlan>,
    pub(crate) predicates: BTreeMap<Arc<str>, Signature>,
    /// Each pattern that is matched with its table.
    pub(crate) patterns: Vec<(Arc<str>, Table)>,
}

/// A message as it travels.
pub(crate) struct MessagePlan {
    pub(crate) label: String,
    /// `Auth`.
    pub(crate) name: String,
    pub(crate) fields: Vec<FieldPlan>,
}

pub(crate) struct FieldPlan {
    /// The payload variable, if the protocol names it.
    pub(crate) variable: Option<Arc<str>>,
    /// What it is called on the wire.
    pub(crate) wire: String,
    pub(crate) ty: Type,
}

/// A record type: the fields say which.
pub(crate) struct RecordPlan {
    pub(crate) name: String,
    pub(crate) fields: Arc<[(Arc<str>, Type)]>,
}

pub(crate) struct RolePlan {
    pub(crate) name: String,
    pub(crate) peers: Vec<String>,
    pub(crate) states: Vec<StatePlan>,
    /// The values of the kept variables of the first state.
    pub(crate) initial: Vec<(Arc<str>, Value)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sends,
    Receives,
    End,
}

pub(crate) struct StatePlan {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The variables that it keeps, with their types.
    pub(crate) kept: Vec<(Arc<str>, Type)>,
    pub(crate) steps: Vec<StepPlan>,
    /// How long one of its messages may take, in nanoseconds, where all of them have a time and it is a constant.
    pub(crate) within: Option<u64>,
}

pub(crate) struct StepPlan {
    /// An index of the role's peers.
    pub(crate) peer: usize,
    /// An index of the messages.
    pub(crate) message: usize,
    /// The label, with the peer where another step of the state has the same.
    pub(crate) name: String,
    pub(crate) assertion: Option<Arc<Expr>>,
    pub(crate) updates: Arc<[Update]>,
    /// An index of the states.
    pub(crate) target: usize,
    pub(crate) comment: Vec<String>,
}

impl StepPlan {
    /// Whether anything is computed before it may happen.
    pub(crate) fn is_checked(&self) -> bool {
        self.assertion.is_some() || !self.updates.is_empty()
    }

    /// What must hold, in the protocol's own words.
    pub(crate) fn condition(&self) -> String {
        let updates = self.updates.iter().map(ToString::to_string);
        let parts: Vec<String> = self.assertion.iter().map(ToString::to_string).chain(updates).collect();
        parts.join("; ")
    }
}

impl Plan {
    /// Decides what the endpoints of `subject` look like.
    ///
    /// # Errors
    /// A role has no endpoint.
    pub fn new(subject: &Subject<'_>) -> Result<Self, Unsupported> {
        let mut plan = Self {
            protocol: subject.protocol.to_owned(),
            file: subject.file.to_owned(),
            about: subject.about.clone(),
            messages: Vec::new(),
            records: Vec::new(),
            roles: Vec::new(),
            predicates: subject.predicates.clone(),
            patterns: Vec::new(),
        };
        let mut numbers = BTreeMap::new();
        let mut names = Scope::with(&["Self"]);
        for machine in subject.machines {
            for transition in machine.all_transitions() {
                plan.add_message(subject.vocabulary, transition, &mut numbers, &mut names)?;
            }
        }
        let mut types = Scope::with(&TYPES);
        for machine in subject.machines {
            let role = plan.role(subject, machine, &numbers)?;
            role.states.iter().flat_map(type_names).for_each(|name| types.reserve(&name));
            plan.roles.push(role);
        }
        plan.name_records(&mut types);
        Ok(plan)
    }

    /// What happens in the state of `role` at `at`, in a sentence.
    pub(crate) fn about_state(&self, role: &RolePlan, at: usize) -> String {
        let state = &role.states[at];
        let place = if at == 0 { "The beginning" } else { "A state" };
        let labels = |preposition: &str| {
            let one = |step: &StepPlan| {
                format!("`{}` {preposition} {}", self.messages[step.message].label, role.peers[step.peer])
            };
            state.steps.iter().map(one).collect::<Vec<_>>().join(" or ")
        };
        match state.kind {
            Kind::Sends => format!("{place}: `{}` sends {}.", role.name, labels("to")),
            Kind::Receives => format!("{place}: `{}` receives {}.", role.name, labels("from")),
            Kind::End => format!("The end of the session for `{}`.", role.name),
        }
    }

    fn add_message(
        &mut self,
        vocabulary: &Vocabulary,
        transition: &Transition,
        numbers: &mut Numbers,
        names: &mut Scope,
    ) -> Result<(), Unsupported> {
        let spec = vocabulary.spec(transition.message);
        let key = key(spec.label, &spec.fields);
        if numbers.contains_key(&key) {
            return Ok(());
        }
        numbers.insert(key, self.messages.len());
        let label = vocabulary.label_name(spec.label).to_owned();
        if spec.fields.iter().any(|field| has_long_tuple(&field.ty)) {
            return Err(Unsupported::Tuple { label });
        }
        let field = |(at, field): (usize, &Field)| FieldPlan {
            variable: field.name.clone(),
            wire: field.name.as_deref().map_or_else(|| at.to_string(), str::to_owned),
            ty: field.ty.clone(),
        };
        let fields = spec.fields.iter().enumerate().map(field).collect();
        self.messages.push(MessagePlan { name: names.claim(&upper_camel(&label)), label, fields });
        Ok(())
    }

    fn role(
        &mut self,
        subject: &Subject<'_>,
        machine: &Machine,
        numbers: &Numbers,
    ) -> Result<RolePlan, Unsupported> {
        let vocabulary = subject.vocabulary;
        let mut registry = Registry::new();
        for (name, signature) in &subject.predicates {
            registry.register(name, signature.clone(), |_| Err("there is only its signature".to_owned()));
        }
        let monitor = Monitor::synthesise(machine, vocabulary, &registry)
            .map_err(|error| Unsupported::NoMonitor(error.to_string()))?;
        let view = monitor.view();
        let mut peers: Vec<String> = Vec::new();
        for transition in machine.all_transitions() {
            let peer = vocabulary.role_name(transition.peer);
            if !peers.iter().any(|known| known == peer) {
                peers.push(peer.to_owned());
            }
        }
        let mut states = Vec::new();
        for (state, view) in machine.states().zip(view.states) {
            let kind = kind(machine, state, vocabulary)?;
            let mut steps = Vec::new();
            for transition in machine.transitions(state) {
                let spec = vocabulary.spec(transition.message);
                let peer = vocabulary.role_name(transition.peer);
                steps.push(StepPlan {
                    peer: peers.iter().position(|known| known == peer).unwrap_or_default(),
                    message: numbers.get(&key(spec.label, &spec.fields)).copied().unwrap_or_default(),
                    name: String::new(),
                    assertion: spec.assertion.clone(),
                    updates: Arc::clone(&spec.updates),
                    target: transition.target.index(),
                    comment: (subject.comment)(transition.origin),
                });
            }
            self.name_steps(kind, &peers, &mut steps);
            let within = (kind == Kind::Receives).then(|| within(machine, state, vocabulary)).flatten();
            states.push(StatePlan { name: String::new(), kind, kept: view.kept, steps, within });
        }
        name_states(machine, vocabulary, &mut states);
        let role = RolePlan {
            name: vocabulary.role_name(machine.role()).to_owned(),
            peers,
            initial: initial(vocabulary.initial_values(machine.role()), &states)?,
            states,
        };
        self.add_patterns(&role)?;
        Ok(role)
    }

    fn add_patterns(&mut self, role: &RolePlan) -> Result<(), Unsupported> {
        for step in role.states.iter().flat_map(|state| &state.steps) {
            let values = step.updates.iter().map(|update| &update.value);
            let mut pending: Vec<&Expr> = step.assertion.iter().chain(values).map(|expr| &**expr).collect();
            while let Some(expr) = pending.pop() {
                pending.extend(expr.node().children());
                let pattern: Arc<str> = match expr.node() {
                    Node::Matches(_, pattern) => pattern.text().into(),
                    Node::Call(expr::Function::Matches, args) => match args.get(1).map(Expr::node) {
                        Some(Node::Literal(Value::String(pattern))) => Arc::clone(pattern),
                        _ => continue,
                    },
                    _ => continue,
                };
                if self.patterns.iter().all(|(known, _)| *known != pattern) {
                    let table = Table::new(&pattern)
                        .ok_or_else(|| Unsupported::Pattern { pattern: pattern.to_string() })?;
                    self.patterns.push((pattern, table));
                }
            }
        }
        Ok(())
    }

    /// The types of what the expressions of a step may refer to: its own fields, and what its state keeps.
    pub(crate) fn types(&self, state: &StatePlan, step: &StepPlan) -> Types<'_> {
        let mut variables: BTreeMap<Arc<str>, Type> = state.kept.iter().cloned().collect();
        let own = self.messages[step.message].fields.iter();
        variables.extend(own.filter_map(|field| Some((field.variable.clone()?, field.ty.clone()))));
        Types { variables, predicates: &self.predicates }
    }

    /// The number of the table of a regular expression, from 1.
    pub(crate) fn pattern_number(&self, pattern: &str) -> usize {
        self.patterns.iter().position(|(known, _)| **known == *pattern).unwrap_or_default() + 1
    }

    pub(crate) fn record_name(&self, fields: &Arc<[(Arc<str>, Type)]>) -> &str {
        self.records.iter().find(|record| record.fields == *fields).map_or("Record", |record| &record.name)
    }
}

/// Messages that look alike on the wire have one number.
type Numbers = BTreeMap<(u32, String), usize>;

fn key(label: Label, fields: &[Field]) -> (u32, String) {
    let mut text = String::new();
    for field in fields {
        text.push_str(&format!("{}:{};", field.name.as_deref().unwrap_or_default(), field.ty));
    }
    (label.0, text)
}

fn has_long_tuple(ty: &Type) -> bool {
    match ty {
        Type::Tuple(parts) => parts.len() > 8 || parts.iter().any(has_long_tuple),
        Type::List(element) => has_long_tuple(element),
        Type::Record(fields) => fields.iter().any(|(_, ty)| has_long_tuple(ty)),
        _ => false,
    }
}

fn kind(machine: &Machine, state: State, vocabulary: &Vocabulary) -> Result<Kind, Unsupported> {
    let transitions = machine.transitions(state);
    let sends = transitions.iter().filter(|transition| transition.action == Action::Send).count();
    match (transitions.len(), sends) {
        (0, _) => Ok(Kind::End),
        (all, sends) if all == sends => Ok(Kind::Sends),
        (_, 0) => Ok(Kind::Receives),
        _ => {
            let shown = transitions
                .iter()
                .map(|transition| {
                    let (action, label) =
                        (transition.action.symbol(), vocabulary.label_of(transition.message));
                    format!("{}{action}{label}", vocabulary.role_name(transition.peer))
                })
                .collect::<Vec<_>>();
            Err(Unsupported::Mixed { state: shown.join(", ") })
        }
    }
}

/// The latest of the times of the transitions of `state`, if all have one that is a constant.
fn within(machine: &Machine, state: State, vocabulary: &Vocabulary) -> Option<u64> {
    let length = |transition: &Transition| {
        let timing = vocabulary.spec(transition.message).timing.as_ref()?;
        u64::try_from(timing::known(&timing.within.as_ref()?.length)?).ok()
    };
    machine.transitions(state).iter().map(length).collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// What the first state keeps, computed now.
fn initial(values: &[Update], states: &[StatePlan]) -> Result<Vec<(Arc<str>, Value)>, Unsupported> {
    let nothing: std::collections::HashMap<Arc<str>, Value> = std::collections::HashMap::new();
    let kept = states.first().map_or(&[][..], |state| &state.kept);
    let value = |(name, _): &(Arc<str>, Type)| {
        let update = values.iter().find(|update| update.variable == *name);
        let value = update
            .and_then(|update| expr::eval(&update.value, &nothing, &NoExternals).ok())
            .filter(is_constant);
        let unknown = || Unsupported::Initial { variable: expr::written_name(name).to_owned() };
        value.map(|value| (Arc::clone(name), value)).ok_or_else(unknown)
    };
    kept.iter().map(value).collect()
}

/// Whether every target can write `value` down.
fn is_constant(value: &Value) -> bool {
    match value {
        Value::Unit
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Opaque(_) => true,
        Value::List(values) | Value::Tuple(values) => values.iter().all(is_constant),
        Value::Record(_)
        | Value::Big(_)
        | Value::Atom(_)
        | Value::Pid(_)
        | Value::Reference(_)
        | Value::Time(_)
        | Value::Duration(_) => false,
    }
}
