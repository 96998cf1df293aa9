//! The point of no return of one mistake: from where on an execution it can no longer be avoided.
//!
//! Safety may be violated before, by another mistake. Within the explored graph a mistake is inevitable where every bottom
//! component that can be reached has it; under any bound also where the over-approximation says that it is there already.

use rustc_hash::FxHashSet;

use crate::find::Finder;
use crate::obstacle::{Future, Obstacle, obstacles};
use crate::reach::StateSet;
use crate::verdict::Ground;
use crate::witness::{Fact, Failure};

/// How many configurations are looked at for it; then it is said to be later than it may be.
const MAX_STATES: usize = 1 << 20;

impl Finder<'_> {
    /// After how many of `labels`, but not less than `before`, `failure` can no longer be avoided: it is there at the end.
    /// `blocked`: from where a full channel can keep somebody from sending, where that matters for `ground`.
    pub(crate) fn no_return(
        &self,
        labels: &[u32],
        before: usize,
        failure: &Failure,
        ground: Option<Ground>,
        blocked: &StateSet,
    ) -> usize {
        let mut path = vec![0];
        for label in labels {
            let at = path[path.len() - 1];
            let Some((_, target)) = self.graph.all_edges(at).find(|(other, _)| other == label) else {
                return labels.len();
            };
            path.push(target);
        }
        let any_bound = matches!(ground, Some(Ground::NothingHelps | Ground::NothingBlocked));
        let mut known = Known { seen: StateSet::new(self.graph.states()), count: 0 };
        let mut point = labels.len();
        while point > before {
            let state = path[point - 1];
            let tells = any_bound && blocked.contains(state);
            let stays = match tells {
                true => self.hopeless(state).iter().any(|obstacle| is_about(obstacle, failure)),
                false => self.always_ends_in(state, failure, &mut known),
            };
            if !stays {
                break;
            }
            point -= 1;
        }
        point
    }

    /// Whether all bottom components that can be reached from `state`, apart from those `known` to, have `failure`.
    fn always_ends_in(&self, state: u32, failure: &Failure, known: &mut Known) -> bool {
        if !known.seen.insert(state) {
            return true;
        }
        let mut agenda = vec![state];
        while let Some(at) = agenda.pop() {
            known.count += 1;
            if known.count > MAX_STATES {
                return false;
            }
            if self.answers.is_bottom(self.graph, at) {
                let component = self.component(at);
                let future = Future::among(self.graph, component.iter().copied());
                let goes_on = !self.graph.row(at).is_empty();
                let here = obstacles(self.graph, at, &future, goes_on);
                if !here.iter().any(|obstacle| is_about(obstacle, failure)) {
                    return false;
                }
                component.into_iter().for_each(|other| {
                    known.seen.insert(other);
                });
                continue;
            }
            agenda.extend(self.graph.edges(at).map(|(_, target)| target).filter(|&to| known.seen.insert(to)));
        }
        true
    }

    /// All that can be reached from `state`, which is in a bottom component.
    fn component(&self, state: u32) -> FxHashSet<u32> {
        let mut seen = FxHashSet::from_iter([state]);
        let mut agenda = vec![state];
        while let Some(at) = agenda.pop() {
            agenda
                .extend(self.graph.edges(at).map(|(_, target)| target).filter(|&target| seen.insert(target)));
        }
        seen
    }
}

/// The configurations from which the mistake is known to be inevitable, and how many were looked at.
struct Known {
    seen: StateSet,
    count: usize,
}

/// Whether `obstacle` is `failure`: itself, or that the receiver of that very message waits beside it.
fn is_about(obstacle: &Obstacle, failure: &Failure) -> bool {
    let beside = |sender, receiver, left| {
        obstacle.failure == Failure::Stuck { role: receiver }
            && obstacle.facts.iter().any(|fact| {
                matches!(fact, Fact::Next { from, message, .. } if (*from, *message) == (sender, left))
            })
    };
    obstacle.failure == *failure
        || matches!(*failure, Failure::Unreceived { from, to, message } if beside(from, to, message))
}
