//! Faults (`docs/checking.md`): configurations, safety without further faults, completeness and witnesses, against a transcription
//! of the definition; and protocols whose answers are known.

use std::sync::Arc;

use referee_check::{
    Fault, Faults, Ground, Judgement, Options, SafeGround, Verdict, check_properties, check_under,
};
use referee_reference::kmc::faults::{self as reference, CRASHED, FaultySystem};
use referee_syntax::{Content, hml};
use referee_testkit::corpus::{read_automata, read_types};
use referee_theory::{Action, Role, System};

use crate::support::{show, witnesses};
use crate::{all_pairs, sampled};

#[derive(Debug, Default)]
struct Tally {
    safe: usize,
    bounded: usize,
    is_unsafe: usize,
    unknown: usize,
    unsafe_by_faults: usize,
}

fn literal(faults: &Faults) -> reference::Faults {
    reference::Faults {
        at_most: faults.at_most as usize,
        crash: faults.crash.clone(),
        lossy: faults.lossy.clone(),
        duplicate: faults.duplicate.clone(),
        reorder: faults.reorder.clone(),
    }
}

/// All kinds of faults, one by one and together, on the channels between the first two roles.
fn kinds(at_most: u32) -> Vec<Faults> {
    let (a, b) = (Role(0), Role(1));
    let none = Faults { at_most, ..Faults::default() };
    vec![
        Faults { crash: vec![a], ..none.clone() },
        Faults { lossy: vec![(a, b)], ..none.clone() },
        Faults { duplicate: vec![(b, a), (a, b)], ..none.clone() },
        Faults { reorder: vec![(a, b)], ..none.clone() },
        Faults {
            crash: vec![a, b],
            lossy: vec![(b, a)],
            duplicate: vec![(a, b)],
            reorder: vec![(a, b)],
            ..none
        },
    ]
}

/// Where the steps of a witness may lead.
fn ends(system: &System, ts: &FaultySystem, steps: &[referee_check::Step]) -> Vec<usize> {
    let mut at = vec![0];
    for step in steps {
        let is_fault = step.fault.is_some_and(|fault| fault != Fault::Undeliverable);
        let received = (step.action == Action::Receive && step.fault != Some(Fault::Crash))
            .then_some((step.peer, step.role));
        let local = if step.fault == Some(Fault::Crash) { CRASHED } else { step.target };
        let mut next = Vec::new();
        for state in at {
            for (fault, channel, target) in &ts.edges[state] {
                let reached = ts.states[*target].configuration.locals[step.role.index()] == local;
                if *fault == is_fault && *channel == received && reached && !next.contains(target) {
                    next.push(*target);
                }
            }
        }
        assert!(!next.is_empty(), "{step:?} is not possible\n{}", show(system));
        at = next;
    }
    at
}

fn agree(system: &System, faults: &Faults, k: u32, tally: &mut Tally) {
    let ts = reference::transition_system(system, &literal(faults), k as usize);
    let report = check_under(system, Some(faults), &Options::exactly(k), None, &mut ());
    let bound = &report.bounds[0];
    let shown = || format!("{faults:?} at {k}\n{}", show(system));
    assert_eq!(bound.states, ts.states.len(), "{}", shown());
    assert_eq!(bound.transitions, ts.edges.iter().map(Vec::len).sum::<usize>(), "{}", shown());
    assert_eq!(bound.safe(), Some(ts.is_safe(system)), "{}", shown());
    assert_eq!(bound.complete, Some(!ts.blocked), "{}", shown());
    match &report.verdict {
        Verdict::Safe { ground: SafeGround::Complete, .. } => {
            tally.safe += 1;
            assert!(!ts.blocked && ts.is_safe(system));
            let more = reference::transition_system(system, &literal(faults), k as usize + 2);
            assert_eq!(more.states.len(), ts.states.len(), "{}", shown());
        }
        Verdict::Safe { ground, .. } => {
            tally.bounded += 1;
            assert!(*ground == SafeGround::Bounded && ts.blocked && ts.is_safe(system), "{}", shown());
        }
        Verdict::Unsafe { .. } => {
            tally.is_unsafe += 1;
            let without = reference::transition_system(system, &reference::Faults::default(), k as usize);
            tally.unsafe_by_faults += usize::from(without.is_safe(system));
            // What is wrong is wrong under larger bounds too.
            for n in [k, k + 2] {
                let ts = reference::transition_system(system, &literal(faults), n as usize);
                for witness in witnesses(&report.verdict) {
                    let ends = ends(system, &ts, &witness.steps);
                    assert!(
                        ends.iter().any(|end| !ts.is_safe_at(system, *end)),
                        "{n}: {witness:?}\n{}",
                        shown()
                    );
                }
            }
        }
        Verdict::Unknown { .. } => {
            tally.unknown += 1;
            assert!(ts.blocked && !ts.is_safe(system), "{}", shown());
        }
    }
}

#[test]
fn all_small_systems() {
    let mut tally = Tally::default();
    let mut number = 0;
    all_pairs(1, 2, |system| {
        for faults in kinds(1 + number % 2) {
            agree(system, &faults, 1 + number / 2 % 2, &mut tally);
        }
        number += 1;
    });
    all_pairs(1, 3, |system| {
        number += 1;
        if number % 7 == 0 {
            agree(system, &kinds(1)[number as usize % 5], 2, &mut tally);
        }
    });
    sampled(2, 2, 4, 300, 5, |system| {
        number += 1;
        agree(system, &kinds(2)[number as usize % 5], 2, &mut tally);
    });
    sampled(3, 2, 3, 150, 6, |system| {
        number += 1;
        agree(system, &kinds(1)[number as usize % 5], 1, &mut tally);
    });
    println!("{tally:?}");
    let Tally { safe, bounded, is_unsafe, unknown, unsafe_by_faults } = tally;
    assert!(
        safe > 10 && bounded > 50 && is_unsafe > 1_000 && unknown < 5 && unsafe_by_faults > 50,
        "{tally:?}"
    );
}

fn roles(system: &System, from: &str, to: &str) -> (Role, Role) {
    let find = |name| system.vocabulary().find_role(name).unwrap();
    (find(from), find(to))
}

/// The alternating bit: S sends `d0` until `a0` comes, then `d1` until `a1` comes; R answers what it gets.
const ALTERNATING: &str = "
    .name S .outputs .state graph
    s0 R ! d0 w0   w0 R ! d0 w0   w0 R ? a1 w0   w0 R ? a0 s1
    s1 R ! d1 w1   w1 R ! d1 w1   w1 R ? a0 w1   w1 R ? a1 s0
    .marking s0 .end
    .name R .outputs .state graph
    r0 S ? d0 x0   x0 U ! item y0  y0 S ! a0 r1   r0 S ? d1 z0   z0 S ! a1 r0
    r1 S ? d1 x1   x1 U ! item y1  y1 S ! a1 r0   r1 S ? d0 z1   z1 S ! a0 r1
    .marking r0 .end
    .name U .outputs .state graph u R ? item u .marking u .end";

fn automata(text: &str) -> System {
    let document = referee_syntax::fsm::parse(text);
    let Content::System(found) = &document.content else { panic!() };
    found.system.clone().unwrap_or_else(|| panic!("{:?}", document.diagnostics))
}

#[test]
fn the_alternating_bit_is_safe_over_lossy_channels() {
    let system = automata(ALTERNATING);
    let (data, answers) = (roles(&system, "S", "R"), roles(&system, "R", "S"));
    for k in 1..=3 {
        for at_most in 0..=3 {
            let faults = Faults { at_most, lossy: vec![data, answers], ..Faults::default() };
            let report = check_under(&system, Some(&faults), &Options::exactly(k), None, &mut ());
            assert_eq!(report.verdict, Verdict::Safe { k, ground: SafeGround::Bounded }, "{k} {at_most}");
        }
    }
}

/// Between two different items sent, one is delivered: never two, never none. Without the bit a copy that is sent again after a
/// loss is delivered as if it were new.
#[test]
fn without_the_bit_a_property_is_violated() {
    let property = |text: &str| {
        let Content::Properties(file) = hml::parse(text).content else { panic!() };
        Arc::clone(&file.properties[0])
    };
    let with = automata(ALTERNATING);
    // Of each item one copy is delivered before the next is sent, and one only.
    let exactly_once = property(
        "property once { max X.(
            [R -> U : item](max Y.([R -> U : item]ff and [S -> R : d1]Z1 and [_ -> S : _]Y and [S -> R : d0]Y))
            and [S -> R : d0]X and [_ -> S : _]X) }"
            .replace("Z1", "tt")
            .as_str(),
    );
    let without = automata(
        "
        .name S .outputs .state graph s0 R ! d0 w0  w0 R ! d0 w0  w0 R ? ok s1  s1 R ! d1 w1  w1 R ! d1 w1  w1 R ? ok s0
        .marking s0 .end
        .name R .outputs .state graph
        r S ? d0 x  r S ? d1 x  x U ! item y  y S ! ok r .marking r .end
        .name U .outputs .state graph u R ? item u .marking u .end",
    );
    let judged = |system: &System, at_most| {
        let faults = Faults {
            at_most,
            lossy: vec![roles(system, "S", "R"), roles(system, "R", "S")],
            ..Faults::default()
        };
        let options = Options { max_k: 2, ..Options::default() };
        let asked = [Arc::clone(&exactly_once)];
        check_properties(system, &asked, Some(&faults), &options, None, &mut ()).remove(0).judgement
    };
    assert_eq!(judged(&with, 2).name(), "unknown", "none within the bound");
    let Judgement::Violated(execution) = judged(&without, 1) else { panic!("{:?}", judged(&without, 1)) };
    let items = execution.steps.iter().filter(|step| step.role == Role(1) && step.peer == Role(2));
    assert_eq!(items.count(), 2);
}

/// Two-phase commit is safe, and blocks when the coordinator crashes before it has told its decision.
#[test]
fn two_phase_commit_blocks_when_the_coordinator_crashes() {
    let voter = |name: &str| {
        format!("{name}: C?prepare; {{C!yes; {{C?commit; end, C?abort; end}}, C!no; C?abort; end}}")
    };
    let decide = "P?yes; {Q?yes; P!commit; Q!commit; end, Q?no; P!abort; Q!abort; end}, \
                  P?no; {Q?yes; P!abort; Q!abort; end, Q?no; P!abort; Q!abort; end}";
    let text = format!("C: P!prepare; Q!prepare; {{{decide}}}  {}  {}", voter("P"), voter("Q"));
    let system = read_types(&text).unwrap();
    let verdict =
        |faults: &Faults| check_under(&system, Some(faults), &Options::default(), None, &mut ()).verdict;
    let none = Faults { at_most: 1, ..Faults::default() };
    assert_eq!(verdict(&none), Verdict::Safe { k: 1, ground: SafeGround::Complete });
    let crash = Faults { crash: vec![Role(0)], ..none };
    let Verdict::Unsafe { witness, others, .. } = verdict(&crash) else { panic!() };
    let said: Vec<&str> =
        std::iter::once(&*witness).chain(&others).map(|witness| witness.explanation.as_str()).collect();
    assert!(said.iter().any(|said| said.contains("which has crashed")), "{said:?}");
    assert!(witness.end.standings[0].crashed);
    assert!(witness.steps.iter().any(|step| step.fault == Some(Fault::Crash)));
}

/// Nobody may rely on a fault: `B` gets a second message only if one is delivered twice.
#[test]
fn a_fault_does_not_help() {
    let system = read_types("A: B!a; end  B: A?a; A?a; end").unwrap();
    let faults = Faults { at_most: 1, duplicate: vec![(Role(0), Role(1))], ..Faults::default() };
    let report = check_under(&system, Some(&faults), &Options::default(), None, &mut ());
    assert_eq!(report.verdict.name(), "unsafe");
}

/// The channel swaps, the receiver does not choose: it is not saved by what it could take in the other order.
#[test]
fn a_channel_that_reorders_is_no_selective_receive() {
    let faults = Faults { at_most: 1, reorder: vec![(Role(0), Role(1))], ..Faults::default() };
    let verdict = |text: &str| {
        check_under(&read_types(text).unwrap(), Some(&faults), &Options::default(), None, &mut ()).verdict
    };
    let Verdict::Unsafe { witness, .. } = verdict("A: B!a; B!b; end  B: A?a; A?b; end") else { panic!() };
    assert_eq!(witness.steps.iter().filter(|step| step.fault == Some(Fault::Reorder)).count(), 1);
    let either = "A: B!a; B!b; end  B: {A?a; A?b; end, A?b; A?a; end}";
    assert_eq!(verdict(either), Verdict::Safe { k: 2, ground: SafeGround::Complete });
}

/// The sentence says what went wrong, not only what is left.
#[test]
fn a_duplicate_is_told() {
    let system = read_types("A: B!pay; end  B: A?pay; end").unwrap();
    let faults = Faults { at_most: 1, duplicate: vec![(Role(0), Role(1))], ..Faults::default() };
    let verdict = check_under(&system, Some(&faults), &Options::default(), None, &mut ()).verdict;
    let said = &verdict.witness().unwrap().explanation;
    assert!(said.ends_with("; before that `pay` from `A` to `B` was duplicated"), "{said}");
}

/// Messages to a role that has crashed carry no obligation, and do not fill a channel.
#[test]
fn who_has_crashed_is_owed_nothing() {
    let system = read_types("A: rec x. B!a; x  B: rec y. A?a; y").unwrap();
    let faults = Faults { at_most: 1, crash: vec![Role(1)], ..Faults::default() };
    let report = check_under(&system, Some(&faults), &Options::default(), None, &mut ());
    assert_eq!(report.verdict, Verdict::Safe { k: 4, ground: SafeGround::Bounded });
    let fsm = ".outputs .state graph q0 1 ! a q1 .marking q0 .end .outputs .state graph q0 0 ? a q1 .marking q0 .end";
    let report = check_under(&read_automata(fsm).unwrap(), Some(&faults), &Options::default(), None, &mut ());
    assert_eq!(report.verdict, Verdict::Safe { k: 1, ground: SafeGround::Complete });
}

/// A message to one that has ended is left for good, with whatever room and whether a fault happened or not.
#[test]
fn a_receiver_that_has_ended_is_no_matter_of_the_bound() {
    let system = read_types("A: rec x. B!a; x  B: A?a; end").unwrap();
    for lossy in [(Role(0), Role(1)), (Role(1), Role(0))] {
        let faults = Faults { at_most: 1, lossy: vec![lossy], ..Faults::default() };
        let verdict = check_under(&system, Some(&faults), &Options::default(), None, &mut ()).verdict;
        let Verdict::Unsafe { ground, witness, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!((ground, witness.steps.len()), (Ground::NothingHelps, 3));
    }
}
