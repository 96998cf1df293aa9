//! Without fairness of choices (`docs/checking.md`): the answer against the definition, on every set of transitions that an
//! execution can make for ever; the loop of each witness, transition by transition; and what is called safe is safe under larger
//! bounds. Then Scribble's own way of asking, which is implied and not equal.

use referee_check::{Fact, Ground, Options, Verdict, Witness, check};
use referee_reference::kmc::{self, Act, fairness, properties};
use referee_testkit::corpus::read_types;
use referee_theory::{Action, MachineBuilder, State, System};

use crate::support::{act, show};
use crate::{all_pairs, all_triples, sampled};

/// The most transitions of which every set is looked at.
const MOST: usize = 10;

#[derive(Debug, Default)]
struct Tally {
    decided: usize,
    starved: usize,
    safe: usize,
    lifted: usize,
    only_in_scribble: usize,
}

fn unfair(max_k: u32) -> Options {
    Options { max_k, fair: false, ..Options::default() }
}

fn agree(system: &System, max_k: u32, tally: &mut Tally) {
    let fair = check(system, &Options { fair: true, ..unfair(max_k) }, None, &mut ());
    let report = check(system, &unfair(max_k), None, &mut ());
    match &report.verdict {
        Verdict::Safe { k, .. } => {
            tally.safe += 1;
            assert_eq!(fair.verdict.name(), "safe", "{}", show(system));
            for n in *k..k + 2 {
                let ts = kmc::transition_system(system, n as usize);
                if let Some(starved) = fairness::some_execution_starves(system, &ts, true, MOST) {
                    assert!(!starved, "{n}: {}", show(system));
                    tally.lifted += usize::from(n > *k && report.complete.is_none());
                }
            }
            assert!(scribble_accepts(system, *k as usize), "{}", show(system));
        }
        Verdict::Unsafe { ground: Ground::Repeated, witness, .. } => {
            tally.starved += 1;
            assert_ne!(fair.verdict.name(), "unsafe", "{}", show(system));
            is_a_loop(system, witness);
            let accepted = scribble_accepts(system, witness.bound as usize);
            tally.only_in_scribble += usize::from(accepted);
        }
        other => assert_eq!(other, &fair.verdict, "{}", show(system)),
    }
    // With room for all that is ever sent, the answer is what the definition says.
    let ts = kmc::transition_system(system, max_k as usize);
    if fair.verdict.name() == "safe"
        && properties::blocked(system, &ts).is_empty()
        && let Some(starved) = fairness::some_execution_starves(system, &ts, false, MOST)
    {
        tally.decided += 1;
        assert_eq!(report.verdict.name(), if starved { "unsafe" } else { "safe" }, "{}", show(system));
    }
}

/// The last steps of `witness` lead back to where they began, are fair whatever the room, and starve somebody.
fn is_a_loop(system: &System, witness: &Witness) {
    let first = witness.facts.iter().find_map(|fact| match fact {
        Fact::Loop { first } => Some(*first),
        _ => None,
    });
    let ts = kmc::transition_system(system, witness.bound as usize);
    let mut at = 0;
    let mut edges = Vec::new();
    for (number, step) in witness.steps.iter().enumerate() {
        let message = system.vocabulary().wire_signature(step.message);
        let wanted = Act { message, ..act(step) };
        let next = ts.edges[at].iter().find(|(act, target)| {
            *act == wanted && ts.states[*target].locals[step.role.index()] == step.target
        });
        let (act, target) = *next.unwrap_or_else(|| panic!("step {number}: {}", show(system)));
        if first.is_some_and(|first| number >= first) {
            edges.push((at, act, target));
        }
        at = target;
    }
    assert_eq!(edges.first().map(|edge| edge.0), Some(at), "{}", show(system));
    assert!(fairness::is_strongly_connected(&edges));
    assert!(fairness::is_fair(system, &ts, &edges, true), "{witness:?}\n{}", show(system));
    assert!(fairness::starves(system, &ts, &edges), "{witness:?}\n{}", show(system));
}

/// Scribble's way: each state in which its role chooses what to send makes one of its choices and keeps to it; each such
/// system is to be safe.
fn scribble_accepts(system: &System, bound: usize) -> bool {
    let choices: Vec<(usize, State, usize)> = system
        .machines()
        .iter()
        .flat_map(|machine| machine.states().map(move |state| (machine, state)))
        .filter_map(|(machine, state)| {
            let transitions = machine.transitions(state);
            let sends = transitions.iter().all(|transition| transition.action == Action::Send);
            (sends && transitions.len() > 1).then_some((machine.role().index(), state, transitions.len()))
        })
        .collect();
    let count: usize = choices.iter().map(|choice| choice.2).product();
    (0..count).all(|mut number| {
        let mut kept: Vec<(usize, State, usize)> = Vec::new();
        for &(role, state, of) in &choices {
            kept.push((role, state, number % of));
            number /= of;
        }
        let machines = system.machines().iter().map(|machine| {
            let mut builder = MachineBuilder::with_states_of(machine.role(), machine);
            for state in machine.states() {
                let only = kept.iter().find(|choice| (choice.0, choice.1) == (machine.role().index(), state));
                for (at, transition) in machine.transitions(state).iter().enumerate() {
                    if only.is_none_or(|choice| choice.2 == at) {
                        builder.add_transition(state, *transition);
                    }
                }
            }
            builder.finish_from(machine.initial())
        });
        let system = System::new(std::sync::Arc::clone(system.vocabulary()), machines.collect::<Vec<_>>());
        let ts = kmc::transition_system(&system, bound);
        properties::eventual_reception(&ts).is_empty() && properties::progress(&system, &ts).is_empty()
    })
}

#[test]
fn all_small_systems() {
    let mut tally = Tally::default();
    all_pairs(1, 3, |system| agree(system, 2, &mut tally));
    all_pairs(2, 2, |system| agree(system, 2, &mut tally));
    all_triples(4_999, |system| agree(system, 2, &mut tally));
    println!("{tally:?}");
    assert!(
        tally.safe > 1_000 && tally.starved > 50 && tally.lifted > 500 && tally.decided > 100,
        "{tally:?}"
    );
}

#[test]
fn systems_of_three_roles() {
    let mut tally = Tally::default();
    for seed in 0..12 {
        sampled(3, 2, 3, 400, 4_000 + seed, |system| agree(system, 2, &mut tally));
    }
    println!("{tally:?}");
    assert!(tally.starved + tally.safe > 2, "{tally:?}");
}

fn verdict(text: &str, fair: bool) -> &'static str {
    check(&read_types(text).unwrap(), &Options { fair, ..Options::default() }, None, &mut ()).verdict.name()
}

/// Teeth: for ever the same is not all that can be chosen for ever. `B` tells `C` of two alike in a row; keeping to one
/// choice therefore helps `C`, and alternating does not.
#[test]
fn alternating_is_a_choice_too() {
    let text = "A: rec x. {B!l; x, B!r; x}
                B: rec n. {A?l; rec l. {A?l; C!go; n, A?r; {A?l; l, A?r; C!go; n}}, A?r; {A?r; C!go; n, A?l; {A?r; n, A?l; C!go; n}}}
                C: rec z. B?go; z";
    let system = read_types(text).unwrap();
    assert!(scribble_accepts(&system, 1));
    assert_eq!((verdict(text, true), verdict(text, false)), ("safe", "unsafe"));
}

/// Teeth: who can send does so in the end; only what it sends is its own choice.
#[test]
fn nobody_stands_still() {
    let text = "A: rec x. B!a; x  B: rec y. A?a; y  C: D!c; end  D: C?c; end";
    assert_eq!((verdict(text, true), verdict(text, false)), ("safe", "safe"));
}

/// Teeth: with room for one message `A` never gets to `stop`, and a loop goes on beside it; that is the bound's doing.
#[test]
fn a_full_channel_is_no_choice() {
    let text = "A: B!a; B!a; C!stop; end  B: C?done; A?a; A?a; end
                C: rec x. {D!turn; D?ok; x, D!over; A?stop; B!done; end}  D: rec y. {C?turn; C!ok; y, C?over; end}";
    let report = check(&read_types(text).unwrap(), &unfair(1), None, &mut ());
    assert_ne!(report.verdict.name(), "safe", "{:?}", report.verdict);
}
