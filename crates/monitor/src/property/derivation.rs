//! Why a verdict was given: a derivation of Definition 3, and its check.
//!
//! Finding one and checking one share nothing with the engine, and nothing with each other but the rules of the
//! definition ([`Judged::node`]) and of matching ([`EventPattern::matches`](referee_theory::property::EventPattern)).
//! Both are slow and simple. A derivation is written in preorder: how many premises a step has is told by its rule.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use referee_theory::property::{
    EventView, FormulaId, Judged, LiveSlots, Property, Rule, Scope, Slot, Term, Value,
};

use super::PropertyVerdict;

/// A derivation of a verdict over some events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivation {
    /// The steps, each before its premises.
    pub steps: Vec<DerivationStep>,
}

/// The use of one rule, at a node of the formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivationStep {
    /// The node.
    pub node: FormulaId,
    /// The rule.
    pub rule: DerivationRule,
}

/// A rule of the definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DerivationRule {
    /// The verdict itself; no premise.
    Verdict,
    /// One part of a connective suffices: this one is the premise.
    Part(usize),
    /// All parts of a connective are premises.
    All,
    /// The event with this number matches; what remains is the premise.
    Event {
        /// Which event.
        event: usize,
        /// What it binds, each value as it is shown.
        bound: Vec<(Slot, String)>,
    },
}

/// Why a derivation is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivationFlaw {
    /// The step that is wrong.
    pub step: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for DerivationFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step, self.what)
    }
}

impl std::error::Error for DerivationFlaw {}

type Environment = Vec<Option<Value>>;

/// The variables that have values before the first event is consumed; `None` if the events start no instance.
fn start(property: &Property, events: &[EventView<'_>]) -> Option<Environment> {
    let mut environment: Environment = vec![None; property.slots().len()];
    if let Scope::PerProcess(scope) = property.scope() {
        for (slot, term) in scope.start.matches(events.first()?, &Environment::new())? {
            *environment.get_mut(slot.index())? = Some(term.to_owned());
        }
    }
    Some(environment)
}

/// A derivation may have this many steps.
const MOST_STEPS: usize = 1 << 22;

impl Derivation {
    /// A derivation of the verdict of `property` over `events`, if they lead to it.
    #[must_use]
    pub fn find(property: &Property, events: &[EventView<'_>]) -> Option<Self> {
        let judged = property.judged()?;
        let start = start(property, events)?;
        let mut graph = Graph {
            judged,
            live: LiveSlots::of(property),
            vertices: Vec::new(),
            users: Vec::new(),
            levels: Vec::new(),
        };
        let mut known = HashMap::new();
        let root = graph.vertex(&mut known, property.root(), &start, 0);
        for at in 0..=events.len() {
            let mut later = HashMap::new();
            let mut done = 0;
            while let Some(&index) = graph.levels.get(at).and_then(|level| level.get(done)) {
                graph.expand(index, events.get(at), &mut known, &mut later);
                done += 1;
            }
            known = later;
        }
        graph.prove();
        graph.preorder(root)
    }

    /// Checks that this derives the verdict of `property` over `events`, all of them needed.
    ///
    /// # Errors
    /// The first step that follows by no rule.
    pub fn check(
        &self,
        property: &Property,
        events: &[EventView<'_>],
    ) -> Result<PropertyVerdict, DerivationFlaw> {
        let flaw = |step, what| DerivationFlaw { step, what };
        let judged = property.judged().ok_or(flaw(0, "the property gives no verdict"))?;
        let start = start(property, events).ok_or(flaw(0, "the events start no instance"))?;
        let mut goals = vec![(property.root(), start, 0)];
        let mut consumed = 0;
        for (index, step) in self.steps.iter().enumerate() {
            let flaw = |what| flaw(index, what);
            let (node, environment, at) = goals.pop().ok_or(flaw("nothing is left to derive"))?;
            if step.node != node {
                return Err(flaw("it is about another part of the formula"));
            }
            match (&step.rule, judged.node(node)) {
                (DerivationRule::Verdict, Rule::Now) => {}
                (DerivationRule::Part(part), Rule::Any(parts)) => {
                    let part = parts.get(*part).ok_or(flaw("there is no such part"))?;
                    goals.push((*part, environment, at));
                }
                (DerivationRule::All, Rule::All(parts)) => {
                    goals.extend(parts.iter().rev().map(|part| (*part, environment.clone(), at)));
                }
                (DerivationRule::Event { event, bound }, Rule::After { pattern, next, .. }) => {
                    if *event != at {
                        return Err(flaw("it consumes another event than the next"));
                    }
                    let event = events.get(at).ok_or(flaw("there is no such event"))?;
                    let matched =
                        pattern.matches(event, &environment).ok_or(flaw("the event does not match"))?;
                    let same = |((slot, term), (known, shown)): (&(Slot, Term<'_>), &(Slot, String))| {
                        slot == known && *shown == term.to_string()
                    };
                    if matched.len() != bound.len() || !matched.iter().zip(bound).all(same) {
                        return Err(flaw("the event binds other values"));
                    }
                    let mut environment = environment;
                    for (slot, term) in matched {
                        if let Some(place) = environment.get_mut(slot.index()) {
                            *place = Some(term.to_owned());
                        }
                    }
                    consumed = consumed.max(at + 1);
                    goals.push((next, environment, at + 1));
                }
                _ => return Err(flaw("the rule does not apply here")),
            }
        }
        let end = self.steps.len();
        match goals.is_empty() {
            true if consumed == events.len() => Ok(judged.polarity().into()),
            true => Err(flaw(end, "the verdict was due before the last event")),
            false => Err(flaw(end, "the derivation is not finished")),
        }
    }
}

/// What could be derived: nodes with environments at each number of consumed events, and what each follows from.
struct Graph<'a> {
    judged: Judged<'a>,
    live: LiveSlots,
    vertices: Vec<Vertex>,
    /// For each vertex, what might follow from it.
    users: Vec<Vec<usize>>,
    /// The vertices by how many events are consumed.
    levels: Vec<Vec<usize>>,
}

struct Vertex {
    node: FormulaId,
    environment: Arc<Environment>,
    at: usize,
    premises: Vec<usize>,
    bound: Vec<(Slot, String)>,
    /// The premises by which it was proved; all that were needed.
    proof: Option<Vec<usize>>,
}

type Known = HashMap<(FormulaId, Environment), usize>;

impl Graph<'_> {
    fn vertex(&mut self, known: &mut Known, node: FormulaId, environment: &Environment, at: usize) -> usize {
        // What nobody reads again does not tell two vertices apart.
        let mut live: Environment = vec![None; environment.len()];
        for slot in self.live.at(node) {
            if let (Some(place), Some(value)) = (live.get_mut(slot.index()), environment.get(slot.index())) {
                place.clone_from(value);
            }
        }
        *known.entry((node, live)).or_insert_with_key(|(_, live)| {
            self.vertices.push(Vertex {
                node,
                environment: Arc::new(live.clone()),
                at,
                premises: Vec::new(),
                bound: Vec::new(),
                proof: None,
            });
            self.users.push(Vec::new());
            if self.levels.len() <= at {
                self.levels.resize_with(at + 1, Vec::new);
            }
            let index = self.vertices.len() - 1;
            self.levels[at].push(index);
            index
        })
    }

    fn expand(&mut self, index: usize, event: Option<&EventView<'_>>, known: &mut Known, later: &mut Known) {
        let Some(vertex) = self.vertices.get(index) else { return };
        let (node, environment, at) = (vertex.node, Arc::clone(&vertex.environment), vertex.at);
        let (premises, bound) = match self.judged.node(node) {
            // Derivations are about events alone: there is none of a verdict by time.
            Rule::Never | Rule::Now | Rule::Timed { .. } => return,
            Rule::Any(parts) | Rule::All(parts) => {
                let each = parts.iter().map(|part| self.vertex(known, *part, &environment, at));
                (each.collect(), Vec::new())
            }
            Rule::After { pattern, next, .. } => {
                let Some(bound) = event.and_then(|event| pattern.matches(event, &*environment)) else {
                    return;
                };
                let mut after = (*environment).clone();
                for &(slot, term) in &bound {
                    if let Some(place) = after.get_mut(slot.index()) {
                        *place = Some(term.to_owned());
                    }
                }
                let bound = bound.into_iter().map(|(slot, term)| (slot, term.to_string())).collect();
                (vec![self.vertex(later, next, &after, at + 1)], bound)
            }
        };
        let premises: Vec<usize> = premises;
        for premise in &premises {
            if let Some(users) = self.users.get_mut(*premise) {
                users.push(index);
            }
        }
        if let Some(vertex) = self.vertices.get_mut(index) {
            vertex.premises = premises;
            vertex.bound = bound;
        }
    }

    /// Proves what follows, from the verdicts on.
    fn prove(&mut self) {
        let now = |vertex: &Vertex| matches!(self.judged.node(vertex.node), Rule::Now);
        let mut pending: Vec<usize> = (0..self.vertices.len()).filter(|v| now(&self.vertices[*v])).collect();
        for index in &pending {
            self.vertices[*index].proof = Some(Vec::new());
        }
        while let Some(proved) = pending.pop() {
            for user in std::mem::take(&mut self.users[proved]) {
                if self.vertices[user].proof.is_some() {
                    continue;
                }
                let proof = match self.judged.node(self.vertices[user].node) {
                    Rule::All(_) => {
                        let premises = &self.vertices[user].premises;
                        if !premises.iter().all(|premise| self.vertices[*premise].proof.is_some()) {
                            continue;
                        }
                        premises.clone()
                    }
                    _ => vec![proved],
                };
                self.vertices[user].proof = Some(proof);
                pending.push(user);
            }
        }
    }

    fn preorder(&self, root: usize) -> Option<Derivation> {
        let mut steps = Vec::new();
        let mut pending = vec![root];
        while let Some(index) = pending.pop() {
            let vertex = self.vertices.get(index)?;
            let proof = vertex.proof.as_ref()?;
            let rule = match self.judged.node(vertex.node) {
                Rule::Any(_) => {
                    let chosen = proof.first()?;
                    DerivationRule::Part(vertex.premises.iter().position(|premise| premise == chosen)?)
                }
                Rule::All(_) => DerivationRule::All,
                Rule::After { .. } => DerivationRule::Event { event: vertex.at, bound: vertex.bound.clone() },
                Rule::Now | Rule::Never | Rule::Timed { .. } => DerivationRule::Verdict,
            };
            steps.push(DerivationStep { node: vertex.node, rule });
            if steps.len() > MOST_STEPS {
                return None;
            }
            pending.extend(proof.iter().rev());
        }
        Some(Derivation { steps })
    }
}
