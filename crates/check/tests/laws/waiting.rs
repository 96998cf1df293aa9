//! Where waiting is fine (`docs/checking.md`): progress weakened in marked states, against a transcription of its
//! definition; and what is called safe so is safe so under larger bounds.

use referee_check::{Model, Options, Reduction, Semantics, Verdict, check, examine_bound};
use referee_reference::kmc::{self, properties};
use referee_testkit::corpus::read_types;
use referee_theory::{State, System};

use crate::support::show;
use crate::{all_pairs, sampled};

/// `system` with every state marked whose number is in `states`.
fn marked(system: &System, states: &[u32]) -> System {
    let machines = system.machines().iter().map(|machine| {
        let known = states.iter().filter(|state| (**state as usize) < machine.state_count());
        known.fold(machine.clone(), |machine, &state| machine.accepting(State(state)))
    });
    System::new(std::sync::Arc::clone(system.vocabulary()), machines.collect::<Vec<_>>())
}

#[derive(Debug, Default)]
struct Tally {
    excused: usize,
    not: usize,
    safe: usize,
}

fn agree(system: &System, states: &[u32], tally: &mut Tally) {
    let marked = marked(system, states);
    let model = Model::new(&marked, Semantics::PeerToPeer);
    for k in 1..=2 {
        let ts = kmc::transition_system(&marked, k as usize);
        let expected = properties::progress_or_may_wait(&marked, &ts).is_empty();
        let report = examine_bound(&model, k, Reduction::None);
        assert_eq!(report.progress, Some(expected), "{}", show(system));
        let plain = properties::progress(system, &ts).is_empty();
        assert!(expected || !plain);
        tally.excused += usize::from(expected && !plain);
        tally.not += usize::from(!expected);
    }
    if let Verdict::Safe { k, .. } =
        check(&marked, &Options { max_k: 2, ..Options::default() }, None, &mut ()).verdict
    {
        tally.safe += 1;
        for n in k..k + 2 {
            let ts = kmc::transition_system(&marked, n as usize);
            assert!(properties::progress_or_may_wait(&marked, &ts).is_empty(), "{n}: {}", show(system));
            assert!(properties::eventual_reception(&ts).is_empty());
        }
    }
}

#[test]
fn all_small_systems() {
    let mut tally = Tally::default();
    all_pairs(1, 3, |system| agree(system, &[0], &mut tally));
    all_pairs(1, 2, |system| agree(system, &[0, 1], &mut tally));
    for seed in 0..3 {
        sampled(3, 2, 3, 150, 70 + seed, |system| agree(system, &[0, 2], &mut tally));
    }
    println!("{tally:?}");
    assert!(tally.excused > 100 && tally.not > 1_000 && tally.safe > 100, "{tally:?}");
}

fn verdict(text: &str, roles: &[&str]) -> &'static str {
    let system = read_types(text).unwrap();
    let machines: Vec<_> = system
        .machines()
        .iter()
        .map(|machine| match roles.contains(&system.vocabulary().role_name(machine.role())) {
            true => machine.clone().accepting(machine.initial()),
            false => machine.clone(),
        })
        .collect();
    let system = System::new(std::sync::Arc::clone(system.vocabulary()), machines);
    check(&system, &Options::default(), None, &mut ()).verdict.name()
}

#[test]
fn a_server_may_outlive_its_client() {
    let text = "C: S!req; S?ans; end  S: rec x. C?req; C!ans; x";
    assert_eq!(
        (verdict(text, &[]), verdict(text, &["S"]), verdict(text, &["C"])),
        ("unsafe", "safe", "unsafe")
    );
}

/// Teeth: a cycle is a violation whatever may wait, and so is a message that comes and is not taken.
#[test]
fn what_is_never_excused() {
    assert_eq!(verdict("A: B?x; B!y; end  B: A?y; A!x; end", &["A", "B"]), "unsafe");
    assert_eq!(verdict("A: B!n; end  B: A?m; end", &["B"]), "unsafe");
    assert_eq!(verdict("A: end  B: A?m; end", &["B"]), "safe");
}
