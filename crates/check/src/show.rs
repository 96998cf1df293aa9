//! Showing a violation: an execution goes on from the point of no return until its last configuration shows the mistake, or
//! until those that could help go round a loop.
//!
//! Where the graph tells all that can follow, the execution ends in a bottom component. Where only the over-approximation does
//! ([`Ground::NothingHelps`]), the obstacle stays whatever follows: any configuration that shows it will do, within the bound or
//! with a little more room. If none is found, the execution ends where the obstacle begins (`docs/checking.md`, "Witnesses").

use rustc_hash::FxHashMap;

use crate::bystanders::Shown;
use crate::examine::{Answers, Questions, Reduction, search};
use crate::explain::Words;
use crate::explore::Limits;
use crate::find::Finder;
use crate::graph::Graph;
use crate::layout::Layout;
use crate::model::Model;
use crate::obstacle::{Future, Obstacle, obstacles};
use crate::reach::StateSet;
use crate::verdict::Ground;
use crate::witness::{Fact, Failure, Violation, Witness, step_of, steps_of};

/// How many configurations after the point of no return are searched for one that shows the mistake.
const MAX_NEARBY_STATES: usize = 300;
/// From how many of them a loop is searched for.
const MAX_LOOP_STARTS: usize = 30;
/// With how much more room than the bound has they are prolonged where nothing within the bound shows the mistake …
const MORE_ROOM: [u32; 3] = [1, 2, 4];
/// … and how many configurations that may take.
const MAX_STATES_BEYOND: usize = 500;

/// Where on an execution safety is violated.
#[derive(Clone, Copy)]
pub(crate) struct Violated<'a> {
    /// After so many of its steps.
    pub(crate) after: usize,
    /// The configurations from which a full channel can keep somebody from sending.
    pub(crate) blocked: &'a StateSet,
}

impl Finder<'_> {
    /// The violations at `state`, which `labels` lead to, each of another kind or role.
    pub(crate) fn shown(
        &self,
        labels: &[u32],
        state: u32,
        ground: Option<Ground>,
        violated: Violated<'_>,
    ) -> Vec<Witness> {
        let all = match ground {
            Some(Ground::NothingHelps) => self.shown_under_any_bound(labels, state, violated),
            _ => self.shown_in_bottom(labels, state, ground, violated),
        };
        let mut witnesses: Vec<Witness> = Vec::new();
        for witness in all {
            if !witnesses.iter().any(|known| known.tells_of_same(&witness)) {
                witnesses.push(witness);
            }
        }
        witnesses
    }

    /// What is wrong in the nearest bottom component.
    fn shown_in_bottom(
        &self,
        labels: &[u32],
        state: u32,
        ground: Option<Ground>,
        violated: Violated<'_>,
    ) -> Vec<Witness> {
        let is_bottom = |at| self.answers.is_bottom(self.graph, at);
        let Some((more, end)) = self.graph.path_from(state, is_bottom) else { return Vec::new() };
        let future = Future::within(self.graph, &self.reachable(end));
        let goes_on = !self.graph.row(end).is_empty();
        let mut witnesses = Vec::new();
        for mut obstacle in obstacles(self.graph, end, &future, goes_on) {
            let mut path = [labels, &more].concat();
            if obstacle.violation == Violation::Starved {
                // INVARIANT: there is one, for who moves after `end` does so in its component.
                let Some(cycle) = self.cycle(end, &obstacle.others) else { continue };
                obstacle.facts.push(Fact::Loop { first: path.len() });
                path.extend(cycle);
            }
            witnesses.push(self.violation_witness(obstacle, ground, &path, violated, end));
        }
        witnesses
    }

    /// What is wrong at `state` even if channels had room for everything, each where it is plain.
    fn shown_under_any_bound(&self, labels: &[u32], state: u32, violated: Violated<'_>) -> Vec<Witness> {
        let ground = Some(Ground::NothingHelps);
        let (mut open, mut plain) = (self.hopeless(state), Vec::<(Obstacle, u32)>::new());
        let mut unblocked = None;
        let nearby = Nearby::of(self.graph, state, |at| {
            if self.full && !violated.blocked.contains(at) {
                unblocked = Some(at);
                return false;
            }
            let here = self.hopeless(at);
            // A message beside which its receiver now waits is told of together with what is waited for.
            open.retain(|known| here.iter().any(|other| other.failure == known.failure && !other.is_plain()));
            for obstacle in here.into_iter().filter(Obstacle::is_plain) {
                if !plain.iter().any(|(known, _)| known.failure == obstacle.failure) {
                    plain.push((obstacle, at));
                }
            }
            !open.is_empty()
        });
        let path_to = |at: u32| [labels, &nearby.path_to(at)].concat();
        plain.sort_by_key(|(obstacle, _)| obstacle.order());
        let tell = |(obstacle, at)| self.violation_witness(obstacle, ground, &path_to(at), violated, at);
        let mut witnesses: Vec<Witness> = plain.into_iter().map(tell).collect();
        if let Some(at) = unblocked {
            // From here on the graph tells all that can follow.
            for witness in self.shown_in_bottom(&path_to(at), at, Some(Ground::NothingBlocked), violated) {
                if !witnesses.iter().any(|known| known.failure == witness.failure) {
                    witnesses.push(witness);
                }
            }
            return witnesses;
        }
        for Obstacle { failure, others, .. } in open {
            let looped = self.loop_of(&nearby, &others).and_then(|(first, turn, end)| {
                let mut starved = self.hopeless(end).into_iter().find(|other| other.failure == failure)?;
                starved.violation = Violation::Starved;
                let mut path = path_to(first);
                starved.facts.push(Fact::Loop { first: path.len() });
                path.extend(turn);
                Some(self.violation_witness(starved, ground, &path, violated, end))
            });
            witnesses.extend(looped.or_else(|| self.shown_from_beginning(labels, &failure, violated)));
        }
        witnesses
    }

    /// An obstacle that nothing behind the end of `labels` shows: from the first configuration on the way that has it more may be
    /// reachable. If nothing there shows it either, that is the end.
    fn shown_from_beginning(
        &self,
        labels: &[u32],
        failure: &Failure,
        violated: Violated<'_>,
    ) -> Option<Witness> {
        let is_it = |obstacle: &Obstacle| obstacle.failure == *failure;
        let mut state = 0;
        for (count, label) in labels.iter().enumerate() {
            if self.hopeless(state).iter().any(is_it) {
                let violated = Violated { after: count, ..violated };
                let mut all = self.shown_under_any_bound(&labels[..count], state, violated).into_iter();
                return all.find(|witness| tells_of(witness, failure));
            }
            state = self.graph.all_edges(state).find(|(other, _)| other == label)?.1;
        }
        let obstacle = self.hopeless(state).into_iter().find(is_it)?;
        let more_room = MORE_ROOM.into_iter().filter(|_| self.beyond && self.graph.model.faults.is_none());
        let shown = more_room.into_iter().find_map(|more| {
            let mut shown = self.shown_with_more_room(state, more, failure)?;
            shown.precede(steps_of(self.graph.model, labels));
            // Whether a larger bound has a shorter execution was not looked at.
            shown.shortest = false;
            if shown.point_of_no_return == labels.len() {
                self.return_earlier(&mut shown);
            }
            Some(shown)
        });
        shown.or_else(|| {
            let ground = Some(Ground::NothingHelps);
            Some(self.violation_witness(obstacle, ground, labels, violated, state))
        })
    }

    /// The obstacle where an execution from `state` with room for `more` messages shows it.
    fn shown_with_more_room(&self, state: u32, more: u32, failure: &Failure) -> Option<Witness> {
        let model = self.graph.model;
        let bound = self.graph.layout.bound() + more;
        let start = self.graph.layout.moved(&self.graph.words(state), &Layout::new(model, bound), model);
        beyond(model, bound, Some(&start), self.limits, |finder| {
            let all = finder.shown_under_any_bound(&[], 0, Violated { after: 0, blocked: &finder.blocks() });
            all.into_iter().find(|witness| tells_of(witness, failure) && witness.is_shown())
        })
    }

    /// Looks at the beginning of `witness`, which was shown with more room, with as much room: its mistake may be certain earlier.
    fn return_earlier(&self, witness: &mut Witness) {
        let model = self.graph.model;
        let point = beyond(model, witness.bound, None, self.limits, |finder| {
            let (mut labels, mut state) = (Vec::new(), 0);
            for step in &witness.steps {
                let is_it = |&(label, _): &(u32, u32)| step_of(&model.moves[label as usize]) == *step;
                let (label, target) = finder.graph.edges(state).find(is_it)?;
                labels.push(label);
                state = target;
            }
            let before = finder.first_unsafe(&labels);
            Some(finder.no_return(&labels, before, &witness.failure, witness.ground, &finder.blocks()))
        });
        witness.point_of_no_return =
            point.map_or(witness.point_of_no_return, |point| point.min(witness.point_of_no_return));
    }

    /// What is wrong at `state` even if channels had room for everything.
    pub(crate) fn hopeless(&self, state: u32) -> Vec<Obstacle> {
        obstacles(self.graph, state, &Future::ever(self.saturation(state)), false)
    }

    /// Steps from `state` back to it one of which is by one of `roles`.
    fn cycle(&self, state: u32, roles: &[u32]) -> Option<Vec<u32>> {
        let moves = |label: u32| roles.contains(&self.graph.model.moves[label as usize].role);
        let (mut labels, at) =
            self.graph.path_from(state, |at| self.graph.edges(at).any(|(label, _)| moves(label)))?;
        let (label, target) = self.graph.edges(at).find(|&(label, _)| moves(label))?;
        labels.push(label);
        labels.extend(self.graph.path_from(target, |at| at == state)?.0);
        Some(labels)
    }

    /// Steps among `nearby` configurations that can be repeated for ever, the first by one of `roles`; where they begin and
    /// end. They lead back to where they begin, but for more in channels from which none of them takes.
    fn loop_of(&self, nearby: &Nearby, roles: &[u32]) -> Option<(u32, Vec<u32>, u32)> {
        let (graph, moves) = (self.graph, &self.graph.model.moves);
        let mut unread = vec![true; graph.model.channels.len()];
        for (label, _) in nearby.order.iter().flat_map(|&at| graph.edges(at)) {
            let step = &moves[label as usize];
            unread[step.channel as usize] &= step.sends;
        }
        // The same while nobody takes what such a role sends.
        let own = roles.iter().map(|&role| {
            let sends = moves.iter().filter(|step| step.sends && step.role == role);
            sends.fold(unread.clone(), |mut unread, step| {
                unread[step.channel as usize] = true;
                unread
            })
        });
        std::iter::once(unread.clone()).chain(own).find_map(|growing| {
            let starts = nearby.order.iter().take(MAX_LOOP_STARTS);
            starts.into_iter().find_map(|&first| self.turn(nearby, first, roles, &growing))
        })
    }

    /// Such steps that begin at `first` and take nothing from channels `growing`.
    fn turn(
        &self,
        nearby: &Nearby,
        first: u32,
        roles: &[u32],
        growing: &[bool],
    ) -> Option<(u32, Vec<u32>, u32)> {
        let (graph, moves) = (self.graph, &self.graph.model.moves);
        let rest = |at: u32| {
            let mut words = graph.words(at);
            for channel in (0..growing.len()).filter(|&channel| growing[channel]) {
                graph.layout.clear(&mut words, channel);
            }
            words
        };
        let takes = |label: u32| {
            let step = &moves[label as usize];
            !step.sends && growing[step.channel as usize]
        };
        let begins = rest(first);
        let wanted = |&(label, _): &(u32, u32)| roles.contains(&moves[label as usize].role) && !takes(label);
        graph.edges(first).filter(wanted).find_map(|(label, target)| {
            let mut end = None;
            let turn = Nearby::along(
                graph,
                target,
                |label| !takes(label),
                |at| {
                    if nearby.contains(at) && rest(at) == begins {
                        end = Some(at);
                    }
                    end.is_none()
                },
            );
            let end = end?;
            Some((first, [vec![label], turn.path_to(end)].concat(), end))
        })
    }

    fn violation_witness(
        &self,
        obstacle: Obstacle,
        ground: Option<Ground>,
        labels: &[u32],
        violated: Violated<'_>,
        state: u32,
    ) -> Witness {
        let all = labels.len();
        let shown = Shown { labels: labels.to_vec(), state, obstacle, ground };
        let Shown { labels, state, obstacle, ground } = self.without_bystanders(shown, violated.blocked);
        let Obstacle { violation, property, failure, facts, .. } = obstacle;
        let mut witness = self.witness(property, failure, &labels, state);
        let model = self.graph.model;
        let words = Words { system: model.system(), semantics: model.semantics() };
        witness.violation = Some(violation);
        witness.ground = ground;
        witness.facts = facts;
        if witness.is_shown() {
            let Violated { after, blocked } = violated;
            let before = if labels.len() == all { after } else { self.first_unsafe(&labels) };
            witness.point_of_no_return = self.no_return(&labels, before, &witness.failure, ground, blocked);
            // What violates safety earlier is another mistake.
            witness.shortest &= witness.point_of_no_return == after;
        }
        witness.explanation = words.violation(violation, &witness);
        witness
    }
}

/// What `tell` finds in everything that can follow `start` with room for `bound` messages, if that is not too much.
fn beyond<T>(
    model: &Model,
    bound: u32,
    start: Option<&[u64]>,
    limits: Limits<'_>,
    tell: impl FnOnce(&Finder<'_>) -> Option<T>,
) -> Option<T> {
    if limits.cancelled() {
        return None;
    }
    let limits = Limits {
        memory: usize::MAX,
        threads: 1,
        stability: false,
        keep_edges: true,
        ..limits.at_most(MAX_STATES_BEYOND)
    };
    let after = search(model, bound, start, Reduction::None, limits, &mut ());
    if after.stopped.is_some() {
        return None;
    }
    let answers = Answers::of(&after.graph, Questions::SafetyOnly, Reduction::None, limits)?;
    tell(&Finder { graph: &after.graph, answers: &answers, full: true, beyond: false, limits })
}

/// Whether `witness` is about `failure`: itself, or that the receiver of that message now waits beside it.
fn tells_of(witness: &Witness, failure: &Failure) -> bool {
    let waits = |to| witness.failure == Failure::Stuck { role: to };
    witness.failure == *failure || matches!(*failure, Failure::Unreceived { to, .. } if waits(to))
}

/// Configurations that can follow one, breadth first.
struct Nearby {
    order: Vec<u32>,
    /// From where each is reached, and by which label.
    before: FxHashMap<u32, Option<(u32, u32)>>,
}

impl Nearby {
    /// Those after `start`, without further faults, as long as `go_on` says so; at most [`MAX_NEARBY_STATES`].
    fn of(graph: &Graph<'_>, start: u32, go_on: impl FnMut(u32) -> bool) -> Self {
        Self::along(graph, start, |_| true, go_on)
    }

    /// The same along labels that `follow` chooses.
    fn along(
        graph: &Graph<'_>,
        start: u32,
        follow: impl Fn(u32) -> bool,
        mut go_on: impl FnMut(u32) -> bool,
    ) -> Self {
        let mut nearby = Self { order: vec![start], before: FxHashMap::from_iter([(start, None)]) };
        let mut next = 0;
        while let Some(&at) = nearby.order.get(next) {
            next += 1;
            if !go_on(at) {
                break;
            }
            for (label, target) in graph.edges(at).filter(|&(label, _)| follow(label)) {
                if nearby.order.len() < MAX_NEARBY_STATES && !nearby.contains(target) {
                    nearby.before.insert(target, Some((at, label)));
                    nearby.order.push(target);
                }
            }
        }
        nearby
    }

    fn contains(&self, state: u32) -> bool {
        self.before.contains_key(&state)
    }

    /// The labels on the way to `state`.
    fn path_to(&self, mut state: u32) -> Vec<u32> {
        let mut labels = Vec::new();
        while let Some(&Some((from, label))) = self.before.get(&state) {
            labels.push(label);
            state = from;
        }
        labels.reverse();
        labels
    }
}
