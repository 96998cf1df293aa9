//! The point of no return is that of the mistake it stands beside: from there on every execution ends in it, and one step
//! before either safety was not violated yet or something else could still come (`docs/checking.md`, "Witnesses").

use referee_check::{Failure, Options, Verdict, Violation, Witness, check};
use referee_reference::kmc::{self, TransitionSystem};
use referee_testkit::corpus::read_types;
use referee_theory::{Action, System};

use crate::support::{Within, ends_of, is_visible, show, witnesses};
use crate::{all_pairs, all_triples, sampled};

#[derive(Default, Debug)]
struct Tally {
    /// Points that are those of the mistake.
    true_points: usize,
    /// Those before which another mistake violated safety already, while this one could be avoided.
    later: usize,
}

/// Whether `holds` of a configuration that can be reached from each, by configuration.
fn can_reach(ts: &TransitionSystem, holds: &dyn Fn(usize) -> bool) -> Vec<bool> {
    let mut found: Vec<bool> = (0..ts.states.len()).map(holds).collect();
    loop {
        let step = |state: usize| !found[state] && ts.edges[state].iter().any(|(_, to)| found[*to]);
        let more: Vec<usize> = (0..found.len()).filter(|&state| step(state)).collect();
        if more.is_empty() {
            return found;
        }
        more.into_iter().for_each(|state| found[state] = true);
    }
}

/// Whether whatever follows `start`, one can only come to where the mistake of `witness` is there for good.
fn is_inevitable(system: &System, witness: &Witness, start: &kmc::Configuration) -> bool {
    let ts = kmc::transition_system_from(system, witness.bound as usize, start.clone());
    let helps = can_reach(&ts, &|state| {
        ts.edges[state].iter().any(|(act, _)| match witness.failure {
            Failure::Stuck { role } => act.role == role,
            Failure::Unreceived { from, to, .. } => {
                act.action == Action::Receive && (act.peer, act.role) == (from, to)
            }
            _ => panic!("{witness:?}"),
        })
    });
    let is_there = |at: &kmc::Configuration| match witness.failure {
        Failure::Stuck { role } => {
            let moves = kmc::outgoing(system, role, at.locals[role.index()]);
            !moves.is_empty() && moves.iter().all(|(act, _)| act.action == Action::Receive)
        }
        Failure::Unreceived { from, to, message } => {
            let head = at.channels.get(&(from, to)).and_then(|queue| queue.front());
            head.is_some_and(|head| system.vocabulary().same_signature(*head, message))
        }
        _ => false,
    };
    let ends = can_reach(&ts, &|state| !helps[state] && is_there(&ts.states[state]));
    ends.iter().all(|ends| *ends)
}

fn points(system: &System, tally: &mut Tally) {
    let verdict = check(system, &Options { max_k: 2, ..Options::default() }, None, &mut ()).verdict;
    let may_wait = system.machines().iter().any(|machine| !machine.accepting_states().is_empty());
    for witness in witnesses(&verdict).into_iter().filter(|witness| witness.bound <= 2 && is_visible(witness))
    {
        let point = witness.point_of_no_return;
        let starts = ends_of(system, witness, witness.bound, point);
        let inevitable = starts.iter().any(|start| is_inevitable(system, witness, start));
        assert!(inevitable, "it can be avoided: {witness:?}\n{}", show(system));
        tally.true_points += 1;
        let Some(before) = point.checked_sub(1) else { continue };
        let earlier = ends_of(system, witness, witness.bound, before);
        if !Within::new(system, witness.bound).violates_safety(&earlier) {
            continue;
        }
        // Where a full channel matters the over-approximation speaks, which may see later what the bound shows earlier.
        let room = |k: u32| kmc::transition_system_from(system, k as usize, earlier[0].clone()).states.len();
        let same_room = matches!(verdict, Verdict::Unsafe { k, .. } if k == witness.bound);
        if same_room && !may_wait && earlier.len() == 1 && room(witness.bound) == room(witness.bound + 1) {
            let avoidable = !is_inevitable(system, witness, &earlier[0]);
            assert!(avoidable, "not the first: {witness:?}\n{}", show(system));
            tally.later += 1;
        }
    }
}

#[test]
fn each_mistake_has_its_own_point_of_no_return() {
    let mut tally = Tally::default();
    all_pairs(1, 3, |system| points(system, &mut tally));
    all_triples(9_973, |system| points(system, &mut tally));
    sampled(3, 2, 3, 150, 1_900, |system| points(system, &mut tally));
    sampled(4, 1, 2, 60, 1_901, |system| points(system, &mut tally));
    assert!(tally.true_points > 300 && tally.later > 20, "{tally:?}");
}

/// `junk` is never received; whether `C` gets into trouble is decided only by what `A` does next.
#[test]
fn another_mistake_before_it_is_not_its_point() {
    let system = read_types("A: B!junk; {C!hi; end, C!ho; end}  B: end  C: A?hi; end").unwrap();
    let Verdict::Unsafe { witness, others, .. } = check(&system, &Options::default(), None, &mut ()).verdict
    else {
        panic!()
    };
    let mut found: Vec<_> = std::iter::once(&*witness)
        .chain(&others)
        .map(|witness| (witness.violation.unwrap(), witness.point_of_no_return))
        .collect();
    found.sort();
    assert_eq!(found, [(Violation::UnexpectedMessage, 2), (Violation::OrphanMessage, 1)]);
}

/// What is shown with more room than the verdict needs has its point on the way there, too.
#[test]
fn more_room_makes_no_later_point() {
    let system = read_types("A: B!d; B!c; B?c; end  B: A!d; A?c; A!c; end").unwrap();
    let verdict = check(&system, &Options::default(), None, &mut ()).verdict;
    let Verdict::Unsafe { k, .. } = verdict else { panic!() };
    // Within k a full channel matters, and the over-approximation may see it later.
    let with_more: Vec<_> = witnesses(&verdict).into_iter().filter(|witness| witness.bound > k).collect();
    assert_eq!(with_more.len(), 1);
    for witness in with_more {
        let bound = witness.bound;
        let starts = |after: usize| ends_of(&system, witness, bound, after);
        let first = (0..=witness.steps.len()).find(|&after| {
            Within::new(&system, bound).violates_safety(&starts(after))
                && starts(after).iter().any(|start| is_inevitable(&system, witness, start))
        });
        assert_eq!(Some(witness.point_of_no_return), first, "{witness:?}");
    }
}
