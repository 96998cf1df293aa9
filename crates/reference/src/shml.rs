//! sHML as FMSD'15 defines it: formulas (Section 3), matching (Definition 1), satisfaction of a system (Definition 2),
//! violation along a trace (Definition 3), and the synthesis of monitors as actors (Definition 7, in [`monitor`]).
//!
//! Where the paper has actions, formulas here have patterns of actions, as its implementation has. Scope is lexical:
//! [`Formula::resolve`] tells the occurrences that bind from those that use, and from then on substitution is the
//! ordinary one.

pub mod monitor;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// v: what messages carry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// a.
    Atom(String),
    /// An integer.
    Int(i64),
    /// {v, …, v}.
    Tuple(Vec<Value>),
    /// A list.
    List(Vec<Value>),
}

/// p: a pattern of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pattern {
    /// `_`.
    Any,
    /// x, not yet known to bind or to use.
    Variable(String),
    /// x, which takes a value.
    Bind(String),
    /// x, which has the value that an enclosing pattern gave it.
    Use(String),
    /// Exactly this.
    Value(Value),
    /// {p, …, p}.
    Tuple(Vec<Pattern>),
    /// A list of as many elements.
    List(Vec<Pattern>),
}

/// Whether something is received or sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// i?v.
    Input,
    /// i!v.
    Output,
}

/// α: what a system does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Action {
    /// Received or sent.
    pub direction: Direction,
    /// i.
    pub process: Value,
    /// v.
    pub value: Value,
}

/// A pattern of actions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActionPattern {
    /// Received or sent.
    pub direction: Direction,
    /// i.
    pub process: Pattern,
    /// v.
    pub value: Pattern,
}

/// φ.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Formula {
    /// ff.
    Ff,
    /// tt, which the paper leaves out: nothing violates it.
    Tt,
    /// φ ∧ ψ.
    And(Box<Formula>, Box<Formula>),
    /// `[α]φ`.
    Necessity(ActionPattern, Box<Formula>),
    /// max(X, φ).
    Max(String, Box<Formula>),
    /// X.
    Variable(String),
}

/// σ.
pub type Substitution = BTreeMap<String, Value>;

/// vmtch(p, v), Definition 1.
#[must_use]
pub fn vmtch(pattern: &Pattern, value: &Value) -> Option<Substitution> {
    let empty = Some(Substitution::new());
    match (pattern, value) {
        (Pattern::Any, _) => empty,
        (Pattern::Value(expected), value) if expected == value => empty,
        (Pattern::Bind(name), value) => Some([(name.clone(), value.clone())].into()),
        (Pattern::Tuple(parts), Value::Tuple(values)) | (Pattern::List(parts), Value::List(values))
            if parts.len() == values.len() =>
        {
            let matched = parts.iter().zip(values).map(|(part, value)| vmtch(part, value));
            matched.fold(empty, union)
        }
        _ => None,
    }
}

/// σ₁ ⊎ σ₂.
fn union(left: Option<Substitution>, right: Option<Substitution>) -> Option<Substitution> {
    let (left, right) = (left?, right?);
    let agree = left.iter().all(|(name, value)| right.get(name).is_none_or(|other| other == value));
    agree.then(|| left.into_iter().chain(right).collect())
}

impl ActionPattern {
    /// σ if `action` matches.
    #[must_use]
    pub fn matches(&self, action: &Action) -> Option<Substitution> {
        let process = (self.direction == action.direction).then(|| vmtch(&self.process, &action.process))?;
        union(process, vmtch(&self.value, &action.value))
    }
}

impl Pattern {
    fn resolve(&self, bound: &BTreeSet<String>, binds: &mut BTreeSet<String>) -> Self {
        let all = |parts: &[Self], binds: &mut BTreeSet<String>| -> Vec<Self> {
            parts.iter().map(|part| part.resolve(bound, binds)).collect()
        };
        match self {
            Self::Variable(name) if bound.contains(name) => Self::Use(name.clone()),
            Self::Variable(name) => {
                binds.insert(name.clone());
                Self::Bind(name.clone())
            }
            Self::Tuple(parts) => Self::Tuple(all(parts, binds)),
            Self::List(parts) => Self::List(all(parts, binds)),
            other => other.clone(),
        }
    }

    fn binders(&self, names: &mut BTreeSet<String>) {
        match self {
            Self::Bind(name) => {
                names.insert(name.clone());
            }
            Self::Tuple(parts) | Self::List(parts) => parts.iter().for_each(|part| part.binders(names)),
            _ => {}
        }
    }

    fn substitute(&self, sigma: &Substitution) -> Self {
        match self {
            Self::Use(name) => {
                sigma.get(name).map_or_else(|| self.clone(), |value| Self::Value(value.clone()))
            }
            Self::Tuple(parts) => Self::Tuple(parts.iter().map(|part| part.substitute(sigma)).collect()),
            Self::List(parts) => Self::List(parts.iter().map(|part| part.substitute(sigma)).collect()),
            other => other.clone(),
        }
    }
}

impl Formula {
    /// The formula with every data variable marked as one that binds or one that uses.
    #[must_use]
    pub fn resolve(&self) -> Self {
        self.resolve_under(&BTreeSet::new())
    }

    fn resolve_under(&self, bound: &BTreeSet<String>) -> Self {
        match self {
            Self::And(left, right) => {
                Self::And(left.resolve_under(bound).into(), right.resolve_under(bound).into())
            }
            Self::Necessity(action, next) => {
                let mut binds = BTreeSet::new();
                let process = action.process.resolve(bound, &mut binds);
                let value = action.value.resolve(bound, &mut binds);
                let bound = bound.union(&binds).cloned().collect();
                let direction = action.direction;
                Self::Necessity(
                    ActionPattern { direction, process, value },
                    next.resolve_under(&bound).into(),
                )
            }
            Self::Max(name, body) => Self::Max(name.clone(), body.resolve_under(bound).into()),
            other => other.clone(),
        }
    }

    /// φσ, for data.
    #[must_use]
    pub fn with(&self, sigma: &Substitution) -> Self {
        match self {
            Self::And(left, right) => Self::And(left.with(sigma).into(), right.with(sigma).into()),
            Self::Necessity(action, next) => {
                let process = action.process.substitute(sigma);
                let value = action.value.substitute(sigma);
                // What this pattern binds is another variable of the same name.
                let mut own = BTreeSet::new();
                action.process.binders(&mut own);
                action.value.binders(&mut own);
                let mut inner = sigma.clone();
                inner.retain(|name, _| !own.contains(name));
                let direction = action.direction;
                Self::Necessity(ActionPattern { direction, process, value }, next.with(&inner).into())
            }
            Self::Max(name, body) => Self::Max(name.clone(), body.with(sigma).into()),
            other => other.clone(),
        }
    }

    /// φ{ψ/X}.
    #[must_use]
    pub fn replace(&self, variable: &str, formula: &Self) -> Self {
        match self {
            Self::And(left, right) => {
                Self::And(left.replace(variable, formula).into(), right.replace(variable, formula).into())
            }
            Self::Necessity(action, next) => {
                Self::Necessity(action.clone(), next.replace(variable, formula).into())
            }
            Self::Max(name, body) if name != variable => {
                Self::Max(name.clone(), body.replace(variable, formula).into())
            }
            Self::Variable(name) if name == variable => formula.clone(),
            other => other.clone(),
        }
    }
}

/// A: a system as its transitions, `None` for τ.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// For each state, what it does and where that leads. State 0 is where it starts.
    pub states: Vec<Vec<(Option<Action>, usize)>>,
}

impl System {
    /// The system that can perform the traces of `traces` and their prefixes, as a tree.
    #[must_use]
    pub fn of_traces(traces: &[Vec<Action>]) -> Self {
        let mut states: Vec<Vec<(Option<Action>, usize)>> = vec![Vec::new()];
        for trace in traces {
            let mut at = 0;
            for action in trace {
                let known = states[at].iter().find(|(known, _)| known.as_ref() == Some(action));
                at = match known {
                    Some((_, target)) => *target,
                    None => {
                        states.push(Vec::new());
                        let target = states.len() - 1;
                        states[at].push((Some(action.clone()), target));
                        target
                    }
                };
            }
        }
        Self { states }
    }

    /// The states B with A ⇒ B.
    #[must_use]
    pub fn silently(&self, state: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([state]);
        let mut pending = vec![state];
        while let Some(state) = pending.pop() {
            for (action, target) in &self.states[state] {
                if action.is_none() && reached.insert(*target) {
                    pending.push(*target);
                }
            }
        }
        reached
    }

    /// The states B with A =α⇒ B.
    #[must_use]
    pub fn after(&self, state: usize, action: &Action) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        for before in self.silently(state) {
            for (known, target) in &self.states[before] {
                if known.as_ref() == Some(action) {
                    reached.extend(self.silently(*target));
                }
            }
        }
        reached
    }
}

/// A ⊨ₛ φ, Definition 2: the largest satisfaction relation, found by starting from all pairs that matter and striking
/// out those that break a clause until none does.
#[must_use]
pub fn satisfies(system: &System, formula: &Formula) -> bool {
    let start = (0, formula.clone());
    let mut pairs: BTreeMap<(usize, Formula), Vec<(usize, Formula)>> = BTreeMap::new();
    let mut pending = vec![start.clone()];
    while let Some(pair) = pending.pop() {
        if pairs.contains_key(&pair) {
            continue;
        }
        let (state, formula) = &pair;
        let needs = match formula {
            Formula::Ff | Formula::Tt | Formula::Variable(_) => Vec::new(),
            Formula::And(left, right) => vec![(*state, (**left).clone()), (*state, (**right).clone())],
            Formula::Necessity(pattern, next) => {
                let actions: BTreeSet<&Action> =
                    system.states.iter().flatten().filter_map(|(action, _)| action.as_ref()).collect();
                let mut needs = Vec::new();
                for action in actions {
                    if let Some(sigma) = pattern.matches(action) {
                        let after = system.after(*state, action);
                        needs.extend(after.into_iter().map(|state| (state, next.with(&sigma))));
                    }
                }
                needs
            }
            Formula::Max(name, body) => vec![(*state, body.replace(name, formula))],
        };
        pending.extend(needs.iter().cloned());
        pairs.insert(pair, needs);
    }
    let mut related: BTreeSet<(usize, Formula)> = pairs.keys().cloned().collect();
    loop {
        let broken: Vec<_> = related
            .iter()
            .filter(|pair| pair.1 == Formula::Ff || pairs[*pair].iter().any(|need| !related.contains(need)))
            .cloned()
            .collect();
        if broken.is_empty() {
            return related.contains(&start);
        }
        broken.iter().for_each(|pair| {
            related.remove(pair);
        });
    }
}

/// A, s ⊨ᵥ φ, Definition 3: the least relation, so a chain of unfoldings that comes back to itself is no derivation.
#[must_use]
pub fn violates(system: &System, trace: &[Action], formula: &Formula) -> bool {
    derivation(system, 0, trace, formula, &mut BTreeSet::new())
}

/// `open`: what is being derived with the same trace.
fn derivation(
    system: &System,
    state: usize,
    trace: &[Action],
    formula: &Formula,
    open: &mut BTreeSet<Formula>,
) -> bool {
    match formula {
        Formula::Ff => true,
        Formula::Tt | Formula::Variable(_) => false,
        Formula::And(left, right) => {
            derivation(system, state, trace, left, open) || derivation(system, state, trace, right, open)
        }
        Formula::Necessity(pattern, next) => match trace {
            [] => false,
            [action, rest @ ..] => pattern.matches(action).is_some_and(|sigma| {
                let next = next.with(&sigma);
                let after = system.after(state, action);
                after.into_iter().any(|state| derivation(system, state, rest, &next, &mut BTreeSet::new()))
            }),
        },
        Formula::Max(name, body) => {
            if !open.insert(formula.clone()) {
                return false;
            }
            let derived = derivation(system, state, trace, &body.replace(name, formula), open);
            open.remove(formula);
            derived
        }
    }
}

/// The event at which `trace`, of a system that can perform it, first violates `formula`: −1 before any.
#[must_use]
pub fn first_violation(system: &System, trace: &[Action], formula: &Formula) -> Option<i64> {
    (0..=trace.len())
        .find(|length| violates(system, &trace[..*length], formula))
        .map(|length| i64::try_from(length).unwrap_or(i64::MAX) - 1)
}

fn separated<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    open: char,
    parts: &[T],
    close: char,
) -> fmt::Result {
    let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    write!(f, "{open}{}{close}", parts.join(","))
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Atom(name) => f.write_str(name),
            Self::Int(value) => write!(f, "{value}"),
            Self::Tuple(parts) => separated(f, '{', parts, '}'),
            Self::List(parts) => separated(f, '[', parts, ']'),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("_"),
            Self::Variable(name) | Self::Bind(name) | Self::Use(name) => f.write_str(name),
            Self::Value(value) => value.fmt(f),
            Self::Tuple(parts) => separated(f, '{', parts, '}'),
            Self::List(parts) => separated(f, '[', parts, ']'),
        }
    }
}

impl Direction {
    fn symbol(self) -> char {
        match self {
            Self::Input => '?',
            Self::Output => '!',
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.process, self.direction.symbol(), self.value)
    }
}

impl fmt::Display for ActionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.process, self.direction.symbol(), self.value)
    }
}

/// In the plain form, which `.hml` files accept.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ff => f.write_str("ff"),
            Self::Tt => f.write_str("tt"),
            Self::And(left, right) => write!(f, "({left} and {right})"),
            Self::Necessity(action, next) => write!(f, "[{action}]{next}"),
            Self::Max(name, body) => write!(f, "max {name}.({body})"),
            Self::Variable(name) => f.write_str(name),
        }
    }
}
