//! A network of monitored components that satisfy a global type follows it and reaches no error (RV'23, Theorems 17
//! and 46): from wherever it gets, it can go on to a network whose monitors are those of a global type that
//! the first one leads to, with empty buffers.
//!
//! Hypotheses: well formed (Definition 7), monitors of Algorithm 2 as corrected, no role follows a branch in an order
//! of its own (docs/differences.md), components that satisfy the type (Definition 13); the law builds components that
//! do what their monitors allow, checks satisfaction, and explores with two messages of one sender per buffer.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use referee_reference::global::{Tree, exchange, message};
use referee_reference::relamon::monitor::{Lines, Monitor, gt2mon, of_role};
use referee_reference::relamon::network::{Action, Blackbox, Message, Monitored, Network};
use referee_reference::relamon::satisfaction::satisfies;
use referee_reference::relative::is_well_formed;
use referee_testkit::choices::{Random, law_seeds, law_size};
use referee_testkit::global_types::{self, Universe};

const MOST_QUEUED: usize = 2;
const MOST_STATES: usize = 20_000;

/// The networks that can be reached, and who leads to whom.
struct Explored {
    states: Vec<Network>,
    predecessors: Vec<Vec<usize>>,
    stuck: Vec<usize>,
    complete: bool,
}

fn explore(start: Network) -> Explored {
    let mut number = HashMap::from([(start.clone(), 0)]);
    let mut explored =
        Explored { states: vec![start], predecessors: vec![Vec::new()], stuck: Vec::new(), complete: true };
    let mut next = 0;
    while let Some(state) = explored.states.get(next).cloned() {
        let steps = state.steps();
        if steps.is_empty() {
            explored.stuck.push(next);
        }
        for (_, _, reached) in steps {
            if reached.longest_queue() > MOST_QUEUED {
                continue;
            }
            let fresh = explored.states.len();
            let index = *number.entry(reached.clone()).or_insert(fresh);
            if index == fresh {
                explored.states.push(reached);
                explored.predecessors.push(Vec::new());
            }
            explored.predecessors[index].push(next);
        }
        next += 1;
        if explored.states.len() > MOST_STATES {
            explored.complete = false;
            break;
        }
    }
    explored
}

/// Every global type that `g` leads to (Definition 16), as the monitors of all its participants.
fn monitors_of_reachable(g: &Tree) -> BTreeSet<BTreeMap<String, Monitor>> {
    let participants = g.participants();
    let mut seen = BTreeSet::from([g.unfold()]);
    let mut pending = vec![g.unfold()];
    let mut all = BTreeSet::new();
    while let Some(g) = pending.pop() {
        let monitor = |p: &String| {
            let others = participants.iter().filter(|q| *q != p).cloned().collect();
            (p.clone(), gt2mon(&g, p, &others, Lines::CORRECTED).unfold().canonical())
        };
        all.insert(participants.iter().map(monitor).collect());
        if let Tree::Exchange { branches, .. } = &g {
            for branch in branches {
                let next = branch.next.unfold();
                if seen.insert(next.clone()) {
                    pending.push(next);
                }
            }
        }
    }
    all
}

fn network(g: &Tree, lines: Lines) -> Network {
    Network::new(g.participants().iter().map(|p| {
        let monitor = of_role(g, p, lines);
        Monitored::new(p, Blackbox::following(&monitor), &monitor)
    }))
}

#[derive(Debug, Default)]
struct Seen {
    types: usize,
    networks: usize,
    finished: usize,
    satisfactions: usize,
    large: usize,
}

impl Seen {
    fn check(&mut self, g: &Tree) {
        if !is_well_formed(g) || g.participants().len() < 2 {
            return;
        }
        let start = network(g, Lines::CORRECTED);
        for part in start.parts.values() {
            let found = satisfies(part, g);
            assert!(found.is_ok(), "{g}: {}: {found:?}", part.component.role);
            self.satisfactions += 1;
        }
        let explored = explore(start);
        for state in &explored.states {
            assert!(state.error.is_none(), "{g}: an error is reached");
            self.finished += usize::from(state.is_finished());
        }
        if !explored.complete {
            self.large += 1;
            return;
        }
        self.types += 1;
        self.networks += explored.states.len();
        for &stuck in &explored.stuck {
            assert!(explored.states[stuck].is_finished(), "{g}: stuck in {:?}", explored.states[stuck]);
        }
        let expected = monitors_of_reachable(g);
        let follows = |state: &Network| {
            let empty = |part: &Monitored| part.buffer.is_empty() && part.component.buffer.is_empty();
            let monitors = state.parts.iter().map(|(p, part)| {
                let finished = part.monitor == Monitor::Finished;
                (p.clone(), if finished { Monitor::End } else { part.monitor.canonical() })
            });
            state.parts.values().all(empty) && expected.contains(&monitors.collect())
        };
        let mut good: Vec<bool> = explored.states.iter().map(follows).collect();
        let mut pending: Vec<usize> = (0..good.len()).filter(|&index| good[index]).collect();
        while let Some(state) = pending.pop() {
            for &before in &explored.predecessors[state] {
                if !std::mem::replace(&mut good[before], true) {
                    pending.push(before);
                }
            }
        }
        assert!(good.iter().all(|good| *good), "{g}: a network that follows no global type any more");
    }
}

#[test]
fn every_small_type() {
    let mut seen = Seen::default();
    let universe = Universe { roles: 3, labels: 2, payloads: &[""] };
    universe.for_each(3 + law_size(), |tree| seen.check(tree));
    let universe = Universe { roles: 4, labels: 2, payloads: &[""] };
    universe.for_each(3 + law_size(), |tree| seen.check(tree));
    println!("multiparty soundness: {seen:?}");
    assert!(seen.types > 500 && seen.networks > 10_000 && seen.satisfactions > 1_500, "{seen:?}");
    assert!(seen.finished > 300, "{seen:?}");
}

#[test]
fn random_larger_types() {
    let mut seen = Seen::default();
    for seed in law_seeds(25) {
        let choices = &mut Random::new(seed);
        let universe = Universe { roles: 3, labels: 2, payloads: &["", "T"] };
        seen.check(&global_types::random(universe, 6, choices));
    }
    println!("multiparty soundness: {seen:?}");
    assert!(seen.types > 10 && seen.networks > 3_000, "{seen:?}");
}

/// Teeth: with the line for D′ as printed, well-formed types reach an error, a deadlock or left-over messages.
#[test]
fn the_printed_line_goes_wrong() {
    let printed = Lines { project_definition: false, ..Lines::CORRECTED };
    let (mut differ, mut wrong) = (0, 0);
    for seed in law_seeds(400) {
        if wrong >= 3 {
            break;
        }
        let universe = Universe { roles: 3, labels: 2, payloads: &[""] };
        let g = global_types::random(universe, 6, &mut Random::new(seed));
        if !is_well_formed(&g) {
            continue;
        }
        // `μX.X`: a monitor that has nothing to do and never gets to the end.
        if !g.participants().iter().all(|p| of_role(&g, p, printed).is_guarded()) {
            wrong += 1;
            continue;
        }
        if network(&g, printed) == network(&g, Lines::CORRECTED) {
            continue;
        }
        differ += 1;
        let explored = explore(network(&g, printed));
        let stays = |&stuck: &usize| !explored.states[stuck].is_finished();
        wrong += usize::from(
            explored.states.iter().any(|state| state.error.is_some()) || explored.stuck.iter().any(stays),
        );
    }
    println!("multiparty soundness: as printed {differ} networks differ, {wrong} of them go wrong");
    assert!(wrong > 0, "{differ} differ");
}

/// Teeth: with "arbitrary k" a well-formed type deadlocks (docs/differences.md), although each component satisfies it.
#[test]
fn an_arbitrary_branch_goes_wrong() {
    let one = message("b", "c", "m", message("c", "d", "n", message("d", "b", "o", Tree::End)));
    let two = message("d", "b", "o", message("b", "c", "m", message("c", "d", "n", Tree::End)));
    let g = exchange("a", "b", vec![("l1", "", one), ("l2", "", two)]);
    assert!(is_well_formed(&g));
    let explored = explore(network(&g, Lines::CORRECTED));
    assert!(explored.stuck.iter().any(|&stuck| !explored.states[stuck].is_finished()));
    let explored = explore(network(&g, Lines { k: 1, ..Lines::CORRECTED }));
    assert!(explored.stuck.iter().all(|&stuck| explored.states[stuck].is_finished()));
}

/// Teeth: a component with one wrong action does not satisfy its type, and its network reaches an error.
#[test]
fn a_wrong_component_is_found() {
    let mut checked = 0;
    let universe = Universe { roles: 3, labels: 2, payloads: &[""] };
    universe.for_each(2 + law_size(), |g| {
        if !is_well_formed(g) {
            return;
        }
        let start = network(g, Lines::CORRECTED);
        for (p, part) in &start.parts {
            let states = part.component.blackbox.transitions.len();
            for state in 0..states {
                for action in [Action::Output("b".to_owned(), Message::data("wrong", "")), Action::End] {
                    let mut blackbox = (*part.component.blackbox).clone();
                    let ended = blackbox.transitions[state].is_empty();
                    if ended || blackbox.transitions[state].iter().any(|(a, _)| *a == action) {
                        continue;
                    }
                    blackbox.transitions[state] = vec![(action.clone(), states)];
                    blackbox.transitions.push(Vec::new());
                    let wrong = Monitored::new(p, blackbox, &of_role(g, p, Lines::CORRECTED));
                    assert!(satisfies(&wrong, g).is_err(), "{g}: {p} in {state}: {action:?}");
                    let mut network = start.clone();
                    network.parts.insert(p.clone(), wrong);
                    let explored = explore(network);
                    let reached = explored
                        .states
                        .iter()
                        .any(|state| state.error.as_ref().is_some_and(|roles| roles.contains(p)));
                    assert!(reached, "{g}: {p} in {state}: {action:?}");
                    checked += 1;
                }
            }
        }
    });
    println!("multiparty soundness: {checked} wrong components");
    assert!(checked > 100, "{checked}");
}
