//! One bound: explore, then ask every property of the graph.

use crate::explore::full::Full;
use crate::explore::paper::Paper;
use crate::explore::parallel::explore_parallel;
use crate::explore::sound::Sound;
use crate::explore::{Explored, Limits, Observer, Stop, explore};
use crate::graph::Graph;
use crate::model::Model;
use crate::properties::{
    Chained, chained_input, exhaustivity, output_independence, safety, stability, strong_input,
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

/// The configurations that violate each property.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) components: Components,
    pub(crate) output: StateSet,
    pub(crate) strong: StateSet,
    /// `None` when k-SIBI holds, since it implies k-CIBI.
    pub(crate) chained: Option<Chained>,
    pub(crate) exhaustive: StateSet,
    pub(crate) reception: StateSet,
    pub(crate) progress: StateSet,
    /// `None` unless it was asked for.
    pub(crate) stable: Option<StateSet>,
}

impl Answers {
    /// Asks everything of `graph`; half of it in another thread if there may be several.
    pub(crate) fn of(graph: &Graph<'_>, with_stability: bool, threads: usize) -> Self {
        let along_paths = || {
            let components = Components::new(graph);
            let strong = strong_input(graph, &components);
            let (reception, progress) = safety(graph, &components);
            let stable = with_stability.then(|| stability(graph, &components));
            (components, strong, reception, progress, stable)
        };
        let at_each = || (output_independence(graph), exhaustivity(graph));
        let ((components, strong, reception, progress, stable), (output, exhaustive)) =
            if threads < 2 { (along_paths(), at_each()) } else { rayon::join(along_paths, at_each) };
        let most = (graph.states() as usize).saturating_mul(CHAIN_FACTOR).max(CHAIN_LEAST);
        let chained = if strong.is_empty() { None } else { Some(chained_input(graph, most)) };
        Self { components, output, strong, chained, exhaustive, reception, progress, stable }
    }

    pub(crate) fn is_output_independent(&self) -> bool {
        self.output.is_empty()
    }

    /// k-SIBI or k-CIBI, either of which gives IBI (Lemma 2).
    pub(crate) fn is_input_independent(&self) -> bool {
        self.strong.is_empty() || self.is_chained() == Some(true)
    }

    /// k-CIBI; `None` when it was too much.
    pub(crate) fn is_chained(&self) -> Option<bool> {
        match &self.chained {
            None => Some(true),
            Some(Chained::Decided(bad)) => Some(bad.is_empty()),
            Some(Chained::TooMany) => None,
        }
    }

    pub(crate) fn is_safe(&self) -> bool {
        self.reception.is_empty() && self.progress.is_empty()
    }
}

/// Explores `model` under `bound` and asks everything.
pub(crate) fn examine<'m>(
    model: &'m Model,
    bound: u32,
    reduction: Reduction,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Examined<'m> {
    let Explored { graph, stopped } = search(model, bound, None, reduction, limits, observer);
    let stability = limits.stability && reduction == Reduction::None;
    let answers = stopped.is_none().then(|| Answers::of(&graph, stability, limits.threads));
    Examined { graph, reduction, stopped, telling: true, answers }
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
    let alone = |limits: Limits<'_>, observer: &mut dyn Observer| match reduction {
        Reduction::None => explore(model, bound, start, Full::default(), limits, observer),
        Reduction::Paper => explore(model, bound, start, Paper::default(), limits, observer),
        Reduction::Sound => explore(model, bound, start, Sound::new(model.role_count()), limits, observer),
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
