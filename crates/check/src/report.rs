//! What a check answers.

use crate::csa::Shape;
use crate::examine::{Examined, Reduction};
use crate::explore::Stop;
use crate::model::Semantics;
use crate::verdict::{Completeness, Verdict};

/// What was found at one bound. A property that was not computed is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundReport {
    /// The bound.
    pub k: u32,
    /// The reduction that was really used: [`Reduction::None`] where the system does not justify one.
    pub reduction: Reduction,
    /// Configurations explored, themselves or by a representative.
    pub states: usize,
    /// Their transitions.
    pub transitions: usize,
    /// How many of them were looked at, where one stands for all that differ only by which of several identical roles is
    /// which.
    pub representatives: Option<usize>,
    /// Bytes held at the end.
    pub memory: usize,
    /// (Reduced) k-OBI.
    pub obi: Option<bool>,
    /// (Reduced) k-SIBI.
    pub sibi: Option<bool>,
    /// (Reduced) k-CIBI; implied by k-SIBI.
    pub cibi: Option<bool>,
    /// k-exhaustivity.
    pub exhaustive: Option<bool>,
    /// Eventual reception within the bound.
    pub eventual_reception: Option<bool>,
    /// Progress within the bound.
    pub progress: Option<bool>,
    /// The stable property within the bound; only where all of TS_k was explored.
    pub stable: Option<bool>,
    /// Whether no send is blocked in any reachable configuration, so that this is all there is under any bound;
    /// only where all of TS_k was explored.
    pub complete: Option<bool>,
    /// The most messages that are ever in one queue; only where complete.
    pub largest_queue: Option<u32>,
    /// Why the exploration ended early, if it did.
    pub stopped: Option<Stop>,
}

impl BoundReport {
    /// k-safety: eventual reception and progress.
    #[must_use]
    pub fn safe(&self) -> Option<bool> {
        Some(self.eventual_reception? && self.progress?)
    }

    /// Of an exploration that was interrupted at the bound `k` after so many configurations and transitions.
    pub(crate) fn interrupted(k: u32, states: usize, transitions: usize, memory: usize) -> Self {
        Self {
            k,
            reduction: Reduction::None,
            states,
            transitions,
            representatives: None,
            memory,
            obi: None,
            sibi: None,
            cibi: None,
            exhaustive: None,
            eventual_reception: None,
            progress: None,
            stable: None,
            complete: None,
            largest_queue: None,
            stopped: Some(Stop::Cancelled),
        }
    }

    pub(crate) fn of(examined: &Examined<'_>) -> Self {
        let graph = &examined.graph;
        let answers = examined.answers.as_ref();
        let telling = answers.filter(|_| examined.telling);
        Self {
            k: graph.layout.bound(),
            reduction: examined.reduction,
            states: graph.states() as usize,
            transitions: graph.transitions(),
            representatives: None,
            memory: graph.memory(),
            obi: answers.and_then(|a| a.is_output_independent()),
            sibi: answers.and_then(|a| a.is_strong()),
            cibi: answers.and_then(|a| a.is_chained()),
            exhaustive: telling.and_then(|a| a.is_exhaustive()),
            eventual_reception: telling.map(|a| a.reception.is_empty()),
            progress: telling.map(|a| a.progress.is_empty()),
            stable: answers.and_then(|a| a.stable.as_ref()).map(|bad| bad.is_empty()),
            complete: answers.and_then(|a| a.largest_queue).map(|largest| largest.is_some()),
            largest_queue: answers.and_then(|a| a.largest_queue).flatten(),
            stopped: examined.stopped,
        }
    }
}

/// Everything a check answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What holds of the machines whatever the bound.
    pub shape: Shape,
    /// How messages travelled.
    pub semantics: Semantics,
    /// What was found at each bound tried.
    pub bounds: Vec<BoundReport>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Set where everything there is was explored.
    pub complete: Option<Completeness>,
    /// The limit that ended an exploration, and at which bound.
    pub limit: Option<(Stop, u32)>,
}

impl Report {
    /// The least bound tried that shows the system to be safe, if one did.
    #[must_use]
    pub fn least_k(&self) -> Option<u32> {
        match self.verdict {
            Verdict::Safe { k, .. } => Some(k),
            _ => None,
        }
    }
}
