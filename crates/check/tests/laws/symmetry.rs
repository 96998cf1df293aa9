//! Symmetry (`docs/checking.md`, "Symmetry"): one representative of each class of configurations tells k-safety and
//! completeness of TS_k, the classes have as many members as TS_k has configurations and transitions, and the verdict
//! is that of the full search, with a witness that replays.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use referee_check::{
    Model, Observer, Options, Progress, Reduction, Semantics, Stop, Verdict, check, examine_bound,
    examine_classes, generate,
};
use referee_testkit::corpus::read_types;
use referee_testkit::systems::{Alphabet, Rng};
use referee_theory::{Machine, MachineBuilder, Role, System, Transition};

use crate::support::{replay, show};

#[derive(Default, Debug)]
struct Tally {
    symmetric: usize,
    fewer: usize,
    safe: usize,
    unsafe_ones: usize,
}

/// `machine` with every role called by what is `by` further on, of `roles`.
fn rotated(machine: &Machine, by: usize, roles: usize) -> Machine {
    let rotate = |role: Role| Role(((role.index() + by) % roles) as u16);
    let mut builder = MachineBuilder::new(rotate(machine.role()));
    machine.states().for_each(|_| _ = builder.add_state());
    for state in machine.states() {
        for t in machine.transitions(state) {
            builder.add_transition(state, Transition { peer: rotate(t.peer), ..*t });
        }
    }
    builder.finish()
}

/// As many copies of `machine` as there are roles, in a ring.
fn ring_of(alphabet: &Alphabet, machine: &Machine, roles: usize) -> System {
    alphabet.system((0..roles).map(|by| rotated(machine, by, roles)))
}

fn compare(system: &System, k: u32, semantics: Semantics, tally: &mut Tally) {
    let model = Model::new(system, semantics);
    let Some(classes) = examine_classes(&model, k) else { return };
    let full = examine_bound(&model, k, Reduction::None);
    tally.symmetric += 1;
    let text = || format!("k = {k}, {semantics:?}\n{classes:?}\n{full:?}\n{}", show(system));
    let counts = |states, transitions| (states, transitions);
    assert_eq!(
        counts(classes.states, classes.transitions),
        counts(full.states, full.transitions),
        "counts: {}",
        text()
    );
    assert_eq!(
        (classes.eventual_reception, classes.progress, classes.complete, classes.largest_queue),
        (full.eventual_reception, full.progress, full.complete, full.largest_queue),
        "answers: {}",
        text()
    );
    tally.fewer += usize::from(classes.representatives.unwrap() < full.states);
    let options = Options { semantics, max_k: k, symmetry_from: usize::MAX, ..Options::default() };
    let plain = check(system, &options, None, &mut ());
    let report = check(system, &Options { symmetry_from: 0, ..options }, None, &mut ());
    assert_eq!(report.verdict.name(), plain.verdict.name(), "verdict: {}", text());
    tally.safe += usize::from(report.verdict.name() == "safe");
    tally.unsafe_ones += usize::from(report.verdict.name() == "unsafe");
    // The reference, which replays, explores everything from every configuration.
    let small = semantics == Semantics::PeerToPeer && full.states < 500;
    if let Some(witness) = report.verdict.witness().filter(|_| small) {
        replay(system, witness);
    }
}

fn both(system: &System, k: u32, tally: &mut Tally) {
    compare(system, k, Semantics::PeerToPeer, tally);
    compare(system, k, Semantics::Mailbox, tally);
}

/// All rings of identical machines: of two roles over two labels, of three over one.
#[test]
fn all_small_rings_of_one_machine() {
    let mut tally = Tally::default();
    for (roles, labels, states) in [(2, 1, 3), (2, 2, 2), (3, 1, 2)] {
        let alphabet = Alphabet::new(roles, labels);
        for machine in alphabet.machines(0, states) {
            (1..=2).for_each(|k| both(&ring_of(&alphabet, &machine, roles), k, &mut tally));
        }
    }
    assert!(tally.symmetric > 500 && tally.fewer > 300, "{tally:?}");
    assert!(tally.safe > 50 && tally.unsafe_ones > 300, "{tally:?}");
}

#[test]
fn random_rings_of_one_machine() {
    let mut tally = Tally::default();
    for (roles, labels, states, count) in [(3, 2, 3, 40), (4, 1, 2, 30)] {
        let alphabet = Alphabet::new(roles, labels);
        let mut rng = Rng::new(roles as u64);
        for _ in 0..count {
            let machine = alphabet.random_machine(0, states, 3, &mut rng);
            both(&ring_of(&alphabet, &machine, roles), 1, &mut tally);
        }
    }
    assert!(tally.symmetric > 100 && tally.fewer > 50, "{tally:?}");
}

/// Classes of any number of alike roles around others, and rings of different roles.
#[test]
fn stars_and_philosophers() {
    let mut tally = Tally::default();
    for clients in 2..=4 {
        (1..=2).for_each(|k| both(&generate::open_star(clients, 2), k, &mut tally));
    }
    for count in 2..=3 {
        both(&generate::philosophers(count, false), 1, &mut tally);
    }
    assert!(tally.symmetric == 16 && tally.fewer == 16, "{tally:?}");
    let model = |system| Model::new(&system, Semantics::PeerToPeer);
    assert!(examine_classes(&model(generate::philosophers(3, true)), 1).is_none());
    assert!(examine_classes(&model(generate::pipeline(3, 1)), 1).is_none());
    // As many clients as make more renamings than are made use of.
    let many = examine_classes(&model(generate::open_star(7, 1)), 1).unwrap();
    let full = examine_bound(&model(generate::open_star(7, 1)), 1, Reduction::None);
    assert_eq!((many.states, many.safe()), (full.states, full.safe()));
    assert!(many.representatives.unwrap() * 40 < full.states, "{many:?}");
}

/// Large graphs are explored by representatives on their own accord, and the report says so.
#[test]
fn large_graphs_are_explored_by_representatives() {
    let system = generate::philosophers(5, false);
    let report = check(&system, &Options::default(), None, &mut ());
    let bound = &report.bounds[0];
    assert_eq!((bound.states, bound.representatives), (104_806, Some(20_966)), "{bound:?}");
    let full = check(&system, &Options { symmetry_from: usize::MAX, ..Options::default() }, None, &mut ());
    assert_eq!(full.bounds[0].representatives, None);
    assert_eq!(report.verdict.name(), "unsafe");
    let [one, other] = [&report, &full].map(|report| report.verdict.witness().unwrap());
    assert_eq!(one.point_of_no_return, other.point_of_no_return);
    assert_eq!(one.violation, other.violation);
}

/// Sets a flag when it is told for the n-th time how far an exploration has come.
struct CancelAt<'a> {
    left: usize,
    flag: &'a AtomicBool,
}

impl Observer for CancelAt<'_> {
    fn progress(&mut self, _: Progress) {
        self.left = self.left.saturating_sub(1);
        self.flag.fetch_or(self.left == 0, Ordering::Relaxed);
    }
}

/// What is said of an interrupted search is how far it came, not how far the next one would have come at its first look at the clock.
#[test]
fn an_interrupted_search_says_how_far_it_came() {
    let system = generate::philosophers(5, false);
    let options = Options { semantics: Semantics::Mailbox, symmetry_from: 0, ..Options::default() };
    let mut before = 0;
    for left in [2, 8, 32] {
        let flag = AtomicBool::new(false);
        let report = check(&system, &options, Some(&flag), &mut CancelAt { left, flag: &flag });
        let bound = report.bounds.last().unwrap();
        let seen = bound.representatives.unwrap();
        assert!(before < seen && seen < bound.states, "{bound:?}");
        before = seen;
        assert_eq!((bound.stopped, report.limit), (Some(Stop::Cancelled), Some((Stop::Cancelled, 1))));
        let Verdict::Unknown { explanation, .. } = &report.verdict else { panic!("{:?}", report.verdict) };
        assert!(explanation.contains(&format!("after {} configurations", bound.states)), "{explanation}");
    }
}

/// Whoever asks for an end gets it, also while roles that are alike are found and compared.
#[test]
#[expect(clippy::disallowed_types, reason = "how long it takes to end is what is tested")]
fn many_identical_roles_end_when_asked_to() {
    use std::time::Instant;

    let pair = |number| {
        format!(
            "A{number}: rec x. B{number}!a; B{number}?b; x  B{number}: rec x. A{number}?a; A{number}!b; x  "
        )
    };
    let system = read_types(&(0..120).map(pair).collect::<String>()).unwrap();
    let options = Options { semantics: Semantics::Mailbox, symmetry_from: 1_000, ..Options::default() };
    let cancel = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            cancel.store(true, Ordering::Relaxed);
        });
        let started = Instant::now();
        let report = check(&system, &options, Some(&cancel), &mut ());
        assert!(matches!(report.verdict, Verdict::Unknown { .. }));
        assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    });
}
