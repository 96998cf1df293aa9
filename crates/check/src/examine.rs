//! One bound: explore, then ask every property of the graph.

use std::sync::OnceLock;

use crate::explore::faulty::Faulty;
use crate::explore::full::Full;
use crate::explore::paper::Paper;
use crate::explore::parallel::explore_parallel;
use crate::explore::sound::Sound;
use crate::explore::{Explored, Limits, Observer, Stop, explore};
use crate::graph::Graph;
use crate::model::{Model, StateKind};
use crate::properties::{
    Chained, Safety, chained_input, exhaustivity, output_independence, safety, stability, strong_input,
};
use crate::reach::{Components, StateSet};

/// Which part of TS_k is explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Reduction {
    /// The repaired reduction: persistent sets with a cycle proviso.
    #[default]
    Sound,
    /// Algorithm 1 of CAV'19 to the letter.
    Paper,
    /// All of TS_k.
    None,
}

/// Up to this many configurations one thread explores alone.
const SMALL: usize = 50_000;
/// How many pairs k-CIBI may look at, per configuration of the graph and in all.
const CHAIN_FACTOR: usize = 64;
const CHAIN_LEAST: usize = 1 << 20;
/// Bytes of such a pair: in a table that is there twice while it grows, and on the agenda.
const CHAIN_BYTES: usize = 48;
/// Bytes per configuration that the search for a witness needs, and the sets of those that violate properties.
const WITNESS: usize = 16;
const SETS: usize = 1;

/// An explored bound with, for each property, the configurations that violate it.
#[derive(Debug)]
pub(crate) struct Examined<'m> {
    pub(crate) graph: Graph<'m>,
    pub(crate) reduction: Reduction,
    pub(crate) stopped: Option<Stop>,
    /// Whether the graph tells k-safety and k-exhaustivity of TS_k: a reduced one does only under the premises
    /// of Theorem 6. (Algorithm 1 as printed is taken at its word.)
    pub(crate) telling: bool,
    /// `None` when the exploration was stopped: nothing follows from a part of the graph.
    pub(crate) answers: Option<Answers>,
}

impl Examined<'_> {
    /// Bytes held. What one thread gave back the others do not get: with several, so is what it took to ask.
    pub(crate) fn memory(&self, limits: &Limits<'_>) -> usize {
        let answers = self.answers.as_ref().map_or(0, |answers| {
            let needed = if limits.threads > 1 { answers.components.needed(&self.graph) } else { 0 };
            answers.components.memory() + self.graph.states() as usize * SETS + needed
        });
        self.graph.memory() + answers
    }
}

/// What is asked of a graph besides k-safety.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Questions {
    /// The premises of Theorem 5.
    Premises,
    /// Nothing: they cannot hold.
    SafetyOnly,
    /// Nothing: two receptions of one role are enabled at once within a smaller bound already, so neither k-SIBI nor
    /// k-CIBI holds.
    Race,
}

/// The configurations that violate each property.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) components: Components,
    bottoms: OnceLock<Vec<bool>>,
    /// `None` unless asked for.
    pub(crate) independence: Option<Independence>,
    /// Whether it is known that neither k-SIBI nor k-CIBI holds, although that was not asked.
    pub(crate) race: bool,
    /// The largest queue if no send is ever blocked; outer `None` unless the graph is all of TS_k.
    pub(crate) largest_queue: Option<Option<u32>>,
    pub(crate) reception: StateSet,
    pub(crate) progress: StateSet,
    /// `None` unless it was asked for.
    pub(crate) stable: Option<StateSet>,
}

/// The configurations that violate the premises of Theorem 5.
#[derive(Debug)]
pub(crate) struct Independence {
    pub(crate) output: StateSet,
    pub(crate) strong: StateSet,
    /// `None` when k-SIBI holds, since it implies k-CIBI.
    pub(crate) chained: Option<Chained>,
    pub(crate) exhaustive: StateSet,
}

impl Answers {
    /// Asks `questions` of `graph`, which `reduction` made; half of it in another thread if there may be several.
    /// `None` if that needs more memory than `limits` leave.
    pub(crate) fn of(
        graph: &Graph<'_>,
        questions: Questions,
        reduction: Reduction,
        limits: Limits<'_>,
    ) -> Option<Self> {
        let premises = questions == Questions::Premises;
        let full = reduction == Reduction::None;
        let states = graph.states() as usize;
        let room = limits.memory.checked_sub(graph.memory() + states * (WITNESS + SETS))?;
        let along_paths = || {
            let components = Components::new(graph, limits.threads, room)?;
            let strong = premises.then(|| strong_input(graph, &components));
            let safety = safety(graph, &components);
            let stable = (limits.stability && full).then(|| stability(graph, &components));
            Some((components, strong, safety, stable))
        };
        let at_each = || (full.then(|| largest_queue(graph)), premises.then(|| output_independence(graph)));
        let (paths, (largest_queue, output)) =
            if limits.threads < 2 { (along_paths(), at_each()) } else { rayon::join(along_paths, at_each) };
        let (components, strong, Safety { reception, progress, silent }, stable) = paths?;
        let room = room.saturating_sub(components.memory());
        let independence = match strong.zip(output) {
            None => None,
            Some((strong, output)) => {
                let exhaustive = if output.is_empty() && moves_tell_exhaustivity(graph, reduction) {
                    silent
                } else {
                    exhaustivity::exhaustivity(graph, room)?
                };
                let most = states.saturating_mul(CHAIN_FACTOR).max(CHAIN_LEAST).min(room / CHAIN_BYTES);
                let chained = if strong.is_empty() { None } else { Some(chained_input(graph, most)) };
                Some(Independence { output, strong, chained, exhaustive })
            }
        };
        let race = questions == Questions::Race;
        let bottoms = OnceLock::new();
        Some(Self { components, bottoms, independence, race, largest_queue, reception, progress, stable })
    }

    pub(crate) fn is_output_independent(&self) -> Option<bool> {
        self.independence.as_ref().map(|found| found.output.is_empty())
    }

    pub(crate) fn is_exhaustive(&self) -> Option<bool> {
        self.independence.as_ref().map(|found| found.exhaustive.is_empty())
    }

    /// k-SIBI.
    pub(crate) fn is_strong(&self) -> Option<bool> {
        match &self.independence {
            Some(found) => Some(found.strong.is_empty()),
            None => self.race.then_some(false),
        }
    }

    /// k-CIBI; `None` when it was too much, or was not asked for.
    pub(crate) fn is_chained(&self) -> Option<bool> {
        match &self.independence {
            None => self.race.then_some(false),
            Some(found) => match &found.chained {
                None => Some(true),
                Some(Chained::Decided(bad)) => Some(bad.is_empty()),
                Some(Chained::TooMany) => None,
            },
        }
    }

    /// Whether nothing leads out of the component of `state`.
    pub(crate) fn is_bottom(&self, graph: &Graph<'_>, state: u32) -> bool {
        self.bottoms.get_or_init(|| self.components.bottoms(graph))[self.components.of(state)]
    }

    /// Whether everything there is was explored: see [`largest_queue`](Self::largest_queue).
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.largest_queue, Some(Some(_)))
    }

    pub(crate) fn is_safe(&self) -> bool {
        self.reception.is_empty() && self.progress.is_empty()
    }
}

/// Explores `model` under `bound` and asks `questions`.
pub(crate) fn examine<'m>(
    model: &'m Model,
    bound: u32,
    reduction: Reduction,
    questions: Questions,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Examined<'m> {
    let Explored { graph, mut stopped } = search(model, bound, None, reduction, limits, observer);
    let answers = if stopped.is_none() { Answers::of(&graph, questions, reduction, limits) } else { None };
    if answers.is_none() {
        stopped = stopped.or(Some(Stop::Memory));
    }
    Examined { graph, reduction, stopped, telling: true, answers }
}

/// Whether under k-OBI a role that is about to send can make each of its sends before it moves iff it moves again
/// ([`Safety::silent`]): all moves of a role are fired together, and in no state are there receptions beside sends.
fn moves_tell_exhaustivity(graph: &Graph<'_>, reduction: Reduction) -> bool {
    let model = graph.model;
    reduction != Reduction::Paper
        && model.faults.is_none()
        && model.locals.iter().all(|local| local.kind != StateKind::Mixed)
}

/// The most messages in one queue, or `None` if some send is blocked by the bound (`docs/checking.md`, "Complete
/// exploration").
pub(crate) fn largest_queue(graph: &Graph<'_>) -> Option<u32> {
    if !is_complete(graph) {
        return None;
    }
    let channels = graph.model.channels.len();
    let longest = |state: u32| {
        let words = &graph.words(state);
        (0..channels).map(|channel| graph.layout.length(words, channel)).max().unwrap_or(0)
    };
    Some((0..graph.states()).map(longest).max().unwrap_or(0))
}

/// Whether `graph`, all of TS_k, is all there is under any bound.
pub(crate) fn is_complete(graph: &Graph<'_>) -> bool {
    !(0..graph.states()).any(|state| has_blocked_send(graph, state))
}

/// Whether a role stands before a full channel it wants to send on.
pub(crate) fn has_blocked_send(graph: &Graph<'_>, state: u32) -> bool {
    blocked_send(graph, state).is_some()
}

/// A channel that is full and on which a role could send at `state`, and the role.
pub(crate) fn blocked_send(graph: &Graph<'_>, state: u32) -> Option<(usize, u32)> {
    let words = &graph.words(state);
    (0..graph.model.role_count()).find_map(|role| {
        let mut groups = graph.model.groups_of(role, graph.layout.local(words, role)).iter();
        let blocked = groups.find(|group| {
            group.sends
                && graph.model.channels[group.channel as usize].usable
                && !graph.layout.has_room(words, group.channel)
        })?;
        Some((role, blocked.channel))
    })
}

/// Explores with the selection that `reduction` names.
pub(crate) fn search<'m>(
    model: &'m Model,
    bound: u32,
    start: Option<&[u64]>,
    reduction: Reduction,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Explored<'m> {
    if model.faults.is_some() {
        return explore(model, bound, start, &mut Faulty::default(), limits, observer);
    }
    let alone = |limits: Limits<'_>, observer: &mut dyn Observer| match reduction {
        Reduction::None => explore(model, bound, start, &mut Full::default(), limits, observer),
        Reduction::Paper => explore(model, bound, start, &mut Paper::default(), limits, observer),
        Reduction::Sound => {
            explore(model, bound, start, &mut Sound::new(model.role_count()), limits, observer)
        }
    };
    if limits.threads < 2 || start.is_some() || reduction == Reduction::Paper {
        return alone(limits, observer);
    }
    // Threads are not worth their while on a small graph: most are seen to be small at once.
    let small = alone(limits.at_most(SMALL), observer);
    if small.stopped != Some(Stop::States) || limits.states <= SMALL {
        return small;
    }
    drop(small);
    explore_parallel(model, bound, reduction == Reduction::Sound, limits, observer)
}
