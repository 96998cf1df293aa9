//! Liveness without fairness of choices (`docs/checking.md`, "Without fairness"): is there a loop in which everybody
//! who can move does, every reception that is possible is made, and yet one role waits, or one message is left, for ever?
//!
//! Such a loop is a strongly connected part of TS_k with two Streett conditions; it is found by taking components apart
//! until nothing in one of them is passed over.

use referee_theory::Role;
use rustc_hash::FxHashSet;

use crate::check::Checker;
use crate::examine::{Reduction, search};
use crate::explain::Words;
use crate::explore::Stop;
use crate::graph::Graph;
use crate::model::{Model, Move, StateKind};
use crate::properties::Property;
use crate::reach::components_of;
use crate::unknown::{explored_in_part, only_within};
use crate::verdict::{Ground, Verdict};
use crate::witness::{Fact, Failure, Violation, Witness, situation, step_of, steps_of};

impl Checker<'_> {
    /// What `verdict`, which is under fairness, comes to without: all of TS_k is looked at for loops.
    pub(crate) fn without_fairness(&mut self, verdict: Verdict) -> Verdict {
        let from = match verdict {
            Verdict::Unsafe { .. } => return verdict,
            Verdict::Safe { k, .. } => k,
            Verdict::Unknown { .. } => self.options.min_k,
        };
        let mut within = None;
        for k in from..=self.options.max_k {
            let mut explored = search(self.model, k, None, Reduction::None, self.limits, self.observer);
            if explored.stopped.is_none() && needed(&explored.graph) > self.limits.memory {
                explored.stopped = Some(Stop::Memory);
            }
            if let Some(stop) = explored.stopped {
                self.limit = Some((stop, k));
                return match verdict {
                    Verdict::Safe { .. } => explored_in_part(k, &explored),
                    other => other,
                };
            }
            if let Some(witness) = starvation(&explored.graph, Room::Any) {
                let witness = Box::new(Witness { ground: Some(Ground::Repeated), ..witness });
                return Verdict::Unsafe { k, ground: Ground::Repeated, witness, others: Vec::new() };
            }
            within = starvation(&explored.graph, Room::Bounded);
            if let (Verdict::Safe { ground, .. }, None) = (&verdict, &within) {
                return Verdict::Safe { k, ground: *ground };
            }
        }
        match (verdict, within) {
            (Verdict::Safe { .. }, Some(witness)) => only_within(witness, self.options.semantics),
            (other, _) => other,
        }
    }
}

/// Bytes that the graph and the search for a loop in it need at most.
fn needed(graph: &Graph<'_>) -> usize {
    const STATE: usize = 64;
    const TRANSITION: usize = 24;
    graph.memory() + graph.states() as usize * STATE + graph.transitions() * TRANSITION
}

/// Who counts as able to move.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    /// Whoever can within the bound.
    Bounded,
    /// Also who stands before a full channel: what is found then is so whatever the bound.
    Any,
}

/// What a loop may leave out for ever.
#[derive(Clone, Copy)]
enum Question {
    /// A role waits.
    Waits(usize),
    /// The head of a channel stays.
    Stays(usize),
}

/// A shortest execution to a loop, and the loop, which leaves a role waiting or a message unread although it is fair to
/// everybody. `graph` is all of TS_k, and under fairness nothing is wrong in it.
fn starvation(graph: &Graph<'_>, room: Room) -> Option<Witness> {
    let roles = (0..graph.model.role_count()).map(Question::Waits);
    let channels = (0..graph.model.channels.len()).map(Question::Stays);
    roles.chain(channels).find_map(|question| Search { graph, room, question }.witness())
}

/// One question to one graph.
struct Search<'a> {
    graph: &'a Graph<'a>,
    room: Room,
    question: Question,
}

impl Search<'_> {
    fn model(&self) -> &Model {
        self.graph.model
    }

    /// Whether the role waits in `state`, or the channel holds something.
    fn concerns(&self, state: u32) -> bool {
        match self.question {
            Question::Waits(role) => {
                let local = self.model().local(role, self.graph.local(state, role));
                local.kind == StateKind::Receiving && !(local.accepting && self.nothing_for(state, role))
            }
            Question::Stays(channel) => self.graph.layout.length(&self.graph.words(state), channel) > 0,
        }
    }

    fn nothing_for(&self, state: u32, role: usize) -> bool {
        let words = &self.graph.words(state);
        let incoming = self.model().channels.iter().enumerate().filter(|(_, to)| to.to.index() == role);
        incoming.map(|(channel, _)| self.graph.layout.length(words, channel)).all(|length| length == 0)
    }

    /// Whether a loop may make this move: it is not the one that is waited for.
    fn leaves_out(&self, step: &Move) -> bool {
        match self.question {
            Question::Waits(role) => step.role as usize != role,
            Question::Stays(channel) => step.sends || step.channel as usize != channel,
        }
    }

    /// The first thing possible in `state` that a loop passes over which makes the moves of `made`.
    fn passed_over(&self, state: u32, made: &Made) -> Option<Wanted> {
        let model = self.model();
        let possible = self.graph.edges(state).find_map(|(label, _)| {
            let step = &model.moves[label as usize];
            let wanted = if step.sends { Wanted::MoveOf(step.role) } else { Wanted::Label(label) };
            (!made.has(wanted)).then_some(wanted)
        });
        possible.or_else(|| {
            if self.room == Room::Bounded {
                return None;
            }
            let sends = |role: &u32| {
                let moves = model.moves_of(*role as usize, self.graph.local(state, *role as usize));
                moves.iter().any(|step| step.sends && model.channels[step.channel as usize].usable)
            };
            let mut sending = (0..model.role_count() as u32).filter(sends).map(Wanted::MoveOf);
            sending.find(|&wanted| !made.has(wanted))
        })
    }

    /// A strongly connected part that passes nothing over.
    fn component(&self) -> Option<Vec<u32>> {
        const OUTSIDE: u32 = u32::MAX;
        let states: Vec<u32> = (0..self.graph.states()).filter(|&state| self.concerns(state)).collect();
        let mut agenda = vec![states];
        let mut number = vec![OUTSIDE; self.graph.states() as usize];
        while let Some(states) = agenda.pop() {
            states.iter().zip(0..).for_each(|(&state, at)| number[state as usize] = at);
            let mut starts = Vec::with_capacity(states.len() + 1);
            let mut targets = Vec::new();
            let mut labels = Vec::new();
            for &state in &states {
                starts.push(targets.len());
                for (label, target) in self.graph.edges(state) {
                    let inside = number[target as usize] != OUTSIDE;
                    if inside && self.leaves_out(&self.model().moves[label as usize]) {
                        targets.push(number[target as usize]);
                        labels.push(label);
                    }
                }
            }
            starts.push(targets.len());
            states.iter().for_each(|&state| number[state as usize] = OUTSIDE);
            let row = |at: u32| starts[at as usize]..starts[at as usize + 1];
            let of = components_of(states.len() as u32, row, |edge| targets[edge]);
            let mut order: Vec<u32> = (0..states.len() as u32).collect();
            order.sort_by_key(|&at| of[at as usize]);
            for part in order.chunk_by(|one, other| of[*one as usize] == of[*other as usize]) {
                let mut made = Made::default();
                for &at in part {
                    let inner = row(at).filter(|&edge| of[targets[edge] as usize] == of[at as usize]);
                    inner.for_each(|edge| made.add(self.model(), labels[edge]));
                }
                if made.labels.is_empty() {
                    continue;
                }
                let part = part.iter().map(|&at| states[at as usize]);
                let (fair, _): (Vec<u32>, Vec<u32>) =
                    part.clone().partition(|&state| self.passed_over(state, &made).is_none());
                if fair.len() == part.len() {
                    return Some(fair);
                }
                if !fair.is_empty() {
                    agenda.push(fair);
                }
            }
        }
        None
    }

    /// A walk through `part` from `start` and back that passes nothing over.
    fn walk(&self, part: &FxHashSet<u32>, start: u32) -> Vec<u32> {
        let mut labels = Vec::new();
        let mut made = Made::default();
        let mut visited = vec![start];
        let mut wanted = Some(Wanted::Anything);
        while let Some(next) = wanted {
            let at = visited.last().copied().unwrap_or(start);
            for (label, state) in self.path(part, at, next, start) {
                labels.push(label);
                made.add(self.model(), label);
                visited.push(state);
            }
            wanted = visited.iter().find_map(|&state| self.passed_over(state, &made));
            if wanted.is_none() && visited.last() != Some(&start) {
                wanted = Some(Wanted::TheStart);
            }
        }
        labels
    }

    /// Shortest steps within `part` from `from` that end with a move that is wanted.
    fn path(&self, part: &FxHashSet<u32>, from: u32, wanted: Wanted, start: u32) -> Vec<(u32, u32)> {
        let mut seen = FxHashSet::from_iter([from]);
        // State, and the steps before it: where they came from, and by which move.
        let mut order: Vec<(u32, usize, u32)> = vec![(from, 0, 0)];
        let mut at = 0;
        while let Some(&(state, ..)) = order.get(at) {
            for (label, target) in self.graph.edges(state) {
                let step = &self.model().moves[label as usize];
                if !part.contains(&target) || !self.leaves_out(step) {
                    continue;
                }
                let found = match wanted {
                    Wanted::Anything => true,
                    Wanted::TheStart => target == start,
                    Wanted::MoveOf(role) => step.role == role,
                    Wanted::Label(wanted) => label == wanted,
                };
                if found {
                    let mut steps = vec![(label, target)];
                    while at > 0 {
                        let (state, before, label) = order[at];
                        steps.push((label, state));
                        at = before;
                    }
                    steps.reverse();
                    return steps;
                }
                if seen.insert(target) {
                    order.push((target, at, label));
                }
            }
            at += 1;
        }
        debug_assert!(false, "a strongly connected part has a path to each of its moves");
        Vec::new()
    }

    fn witness(&self) -> Option<Witness> {
        let part = FxHashSet::from_iter(self.component()?);
        let (before, start) = self.graph.shortest(|state| part.contains(&state))?;
        let turns = self.walk(&part, start);
        let (graph, model) = (self.graph, self.model());
        let (property, failure, fact) = match self.question {
            Question::Waits(role) => {
                let offers = model.moves_of(role, graph.local(start, role)).iter().map(step_of).collect();
                let role = Role(role as u16);
                (Property::Progress, Failure::Stuck { role }, Fact::Waits { role, offers })
            }
            Question::Stays(channel) => {
                let symbol = graph.layout.symbol(&graph.words(start), channel, 0);
                let to = model.channels[channel].to;
                let mailbox = model.channels[channel].from.is_none();
                let (from, message) = model.channels[channel].symbols[symbol as usize];
                let failure = Failure::Unreceived { from, to, message };
                (Property::EventualReception, failure, Fact::Next { from, to, message, mailbox })
            }
        };
        let facts = vec![fact, Fact::Loop { first: before.len() }];
        let mut witness = Witness {
            property,
            bound: graph.layout.bound(),
            steps: steps_of(model, &[&before[..], &turns].concat()),
            point_of_no_return: before.len(),
            shortest: false,
            violation: Some(Violation::Starved),
            ground: None,
            facts,
            failure,
            end: situation(graph, start),
            explanation: String::new(),
        };
        let words = Words { system: model.system(), semantics: model.semantics() };
        witness.explanation = words.passed_over(&witness);
        Some(witness)
    }
}

/// What a walk is to come to next.
#[derive(Clone, Copy)]
enum Wanted {
    Anything,
    TheStart,
    MoveOf(u32),
    Label(u32),
}

/// The moves of a loop.
#[derive(Default)]
struct Made {
    labels: FxHashSet<u32>,
    roles: FxHashSet<u32>,
}

impl Made {
    fn add(&mut self, model: &Model, label: u32) {
        self.labels.insert(label);
        self.roles.insert(model.moves[label as usize].role);
    }

    fn has(&self, wanted: Wanted) -> bool {
        match wanted {
            Wanted::MoveOf(role) => self.roles.contains(&role),
            Wanted::Label(label) => self.labels.contains(&label),
            Wanted::Anything | Wanted::TheStart => true,
        }
    }
}
