//! Agreement of the engine with the reference: on all small systems, on random ones, and in every witness.
//!
//! Exhaustive: all systems of two roles with at most three states each over one label and with at most two
//! over two labels. Sampled, with seeds: two roles with three states over two labels, three roles with two
//! states. The systems here are communicating session automata; [`beyond`] has the others.

#[path = "support/replay.rs"]
mod support;

use referee_check::{BoundReport, Options, Reduction, Verdict, check, generate};
use referee_reference::kmc::{self, Act, properties};
use referee_testkit::corpus::read_types;
use referee_testkit::systems::{all_pairs, sampled};
use referee_theory::{Action, System};
use support::{agree, replay};

#[test]
fn all_two_role_systems_with_three_states_over_one_label() {
    all_pairs(1, 3, |system| (1..=3).for_each(|k| agree(system, k)));
}

#[test]
fn all_two_role_systems_with_two_states_over_two_labels() {
    all_pairs(2, 2, |system| (1..=2).for_each(|k| agree(system, k)));
}

#[test]
fn two_role_systems_with_three_states_over_two_labels() {
    sampled(2, 2, 3, 3_000, 1, |system| (1..=2).for_each(|k| agree(system, k)));
}

#[test]
fn three_role_systems_with_two_states() {
    sampled(3, 1, 2, 4_000, 2, |system| agree(system, 1));
    sampled(3, 2, 2, 2_000, 3, |system| agree(system, 1));
    sampled(3, 1, 3, 1_000, 4, |system| agree(system, 2));
}

/// The reference's sets of configurations that violate safety are what a search from each configuration finds.
#[test]
fn the_reference_agrees_with_a_search_from_each_configuration() {
    let (mut holds, mut fails) = (0, 0);
    let mut visit = |system: &System| {
        let ts = kmc::transition_system(system, 1);
        let can = |start: &kmc::Configuration, wanted: &dyn Fn(&Act) -> bool| {
            kmc::can_happen(system, 1, start, usize::MAX, wanted).unwrap()
        };
        let received = |s: &kmc::Configuration| {
            s.channels.iter().all(|(&channel, held)| {
                let wanted = |act: &Act| act.action == Action::Receive && act.message == held[0];
                can(s, &|act| act.channel() == channel && wanted(act))
            })
        };
        let proceeds = |s: &kmc::Configuration| {
            system.roles().all(|role| {
                properties::kind(system, role, s.locals[role.index()]) != properties::Kind::Receiving
                    || can(s, &|act| act.role == role && act.action == Action::Receive)
            })
        };
        let failing = |good: &dyn Fn(&kmc::Configuration) -> bool| -> Vec<usize> {
            (0..ts.states.len()).filter(|&s| !good(&ts.states[s])).collect()
        };
        let (unreceived, stuck) = (failing(&received), failing(&proceeds));
        assert_eq!(properties::eventual_reception(&ts), unreceived, "{}", support::show(system));
        assert_eq!(properties::progress(system, &ts), stuck, "{}", support::show(system));
        fails += unreceived.len() + stuck.len();
        holds += 2 * ts.states.len() - unreceived.len() - stuck.len();
    };
    all_pairs(1, 2, &mut visit);
    sampled(3, 2, 3, 300, 8, &mut visit);
    assert!(holds > 1_000 && fails > 1_000, "{holds} hold, {fails} fail");
}

/// Every verdict's witness is an execution of the unreduced system, ends as described, and the property
/// really fails there.
#[test]
fn every_witness_replays() {
    let mut seen = [0_usize; 3];
    let mut visit = |system: &System| {
        for reduction in [Reduction::Sound, Reduction::None, Reduction::Paper] {
            let options = Options { max_k: 2, reduction, ..Options::default() };
            let report = check(system, &options, None, &mut ());
            seen[match report.verdict {
                Verdict::Safe { .. } => 0,
                Verdict::Unsafe { .. } => 1,
                Verdict::Unknown { .. } => 2,
            }] += 1;
            if let Some(witness) = report.verdict.witness() {
                replay(system, witness);
            }
        }
    };
    all_pairs(1, 3, &mut visit);
    sampled(2, 2, 3, 500, 5, &mut visit);
    sampled(3, 1, 2, 500, 6, &mut visit);
    sampled(3, 2, 3, 300, 7, &mut visit);
    assert!(seen.iter().all(|&count| count > 100), "too few of some verdict: {seen:?}");
}

/// What several threads find is what one finds, with and without reduction, also where the proviso is needed.
#[test]
fn threads_agree() {
    for (system, k) in
        [(generate::pipeline(5, 2), 1), (generate::exchange(4, 2, 2), 2), (generate::ring(8, 4, 3), 2)]
    {
        let options = Options { reduction: Reduction::None, stable: true, ..Options::exactly(k) };
        same_with_threads(&system, &options);
    }
    let beside = generate::beside(&generate::pipeline(2, 1), &generate::exchange(9, 3, 1));
    for (system, k) in [(generate::exchange(9, 3, 1), 3), (beside, 3)] {
        same_with_threads(&system, &Options::exactly(k));
    }
}

fn same_with_threads(system: &System, options: &Options) {
    let [one, two, three] =
        [1, 2, 3].map(|threads| check(system, &Options { threads, ..*options }, None, &mut ()));
    assert!(one.bounds[0].states > 50_000, "{}", one.bounds[0].states);
    for several in [two, three] {
        let memory = one.bounds[0].memory;
        assert_eq!(one.bounds[0], BoundReport { memory, ..several.bounds[0].clone() });
        assert_eq!(one.verdict, several.verdict);
    }
}

/// Channels whose contents need more than one word: thirty messages of five kinds.
#[test]
fn long_channels() {
    let steps = |peer: &str, symbol: char| -> String {
        (0..30).map(|at| format!("{peer}{symbol}m{}; ", at * at % 5)).collect()
    };
    let text = format!("A: {}end  B: {}end", steps("B", '!'), steps("A", '?'));
    let system = read_types(&text).unwrap();
    for k in [7, 21, 22, 30] {
        agree(&system, k);
    }
    let wrong = read_types(&text.replacen("A?m4", "A?m3", 1)).unwrap();
    agree(&wrong, 30);
    let Verdict::Unsafe { witness, .. } = check(&wrong, &Options::exactly(30), None, &mut ()).verdict else {
        panic!("the third message is never received")
    };
    replay(&wrong, &witness);
}
