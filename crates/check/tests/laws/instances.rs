//! Copies of a role (`docs/checking.md`, "Copies of a role"): one copy is the system itself; with more, every copy does what the role
//! does, and the others deal with each: against the same systems written out. What is safe where copies have their turns is
//! safe in any order.

use referee_check::{
    Model, Options, Reduction, Rounds, Semantics, check, check_instances, examine_bound, generate,
    waits_for_rounds,
};
use referee_testkit::corpus::read_types;
use referee_theory::{Role, System};

use crate::{all_pairs, all_triples, sampled};

fn instances(system: &System, role: Role, count: u16, rounds: Rounds) -> System {
    referee_check::instances(system, role, count, rounds).unwrap()
}

fn verdict(system: &System) -> &'static str {
    check(system, &Options::default(), None, &mut ()).verdict.name()
}

fn size(system: &System) -> (usize, usize, Option<bool>) {
    let report = examine_bound(&Model::new(system, Semantics::PeerToPeer), 1, Reduction::None);
    (report.states, report.transitions, report.safe())
}

#[test]
fn one_copy_is_the_system() {
    for seed in 0..4 {
        sampled(3, 2, 3, 60, seed, |system| {
            for rounds in [Rounds::AnyOrder, Rounds::InTurn] {
                assert_eq!(size(system), size(&instances(system, Role(1), 1, rounds)));
            }
        });
    }
}

#[test]
fn copies_are_as_written_out() {
    let one = read_types("C: W!task; W?done; L!end; end  W: C?task; C!done; end  L: C?end; end").unwrap();
    let worker = |name: &str| format!("{name}: C?task; C!done; end ");
    let three = format!(
        "C: W!task; W2!task; W3!task; W?done; W2?done; W3?done; L!end; end L: C?end; end {}{}{}",
        worker("W"),
        worker("W2"),
        worker("W3")
    );
    assert_eq!(size(&instances(&one, Role(1), 3, Rounds::InTurn)), size(&read_types(&three).unwrap()));
    let two = format!(
        "C: {{W!task; W2!task; {0}, W2!task; W!task; {0}}} L: C?end; end {1}{2}",
        "{W?done; W2?done; L!end; end, W2?done; W?done; L!end; end}",
        worker("W"),
        worker("W2")
    );
    // Terms are trees: what is the same after either order is written twice.
    let smallest = |system: &System| {
        let vocabulary = system.vocabulary();
        System::new(vocabulary.clone(), system.machines().iter().map(|machine| machine.minimised(vocabulary)))
    };
    let two = smallest(&read_types(&two).unwrap());
    assert_eq!(size(&smallest(&instances(&one, Role(1), 2, Rounds::AnyOrder))), size(&two));
    // A choice of C is told to every copy.
    let choice = "C: {W!go; end, W!stop; end}  W: {C?go; end, C?stop; end}";
    for count in 1..=5 {
        let system = instances(&read_types(choice).unwrap(), Role(1), count, Rounds::AnyOrder);
        assert_eq!(verdict(&system), "safe");
    }
    // A choice of the copies is not one choice.
    let votes = read_types("C: {W?yes; end, W?no; end}  W: {C!yes; end, C!no; end}").unwrap();
    let votes = |count| verdict(&instances(&votes, Role(1), count, Rounds::AnyOrder));
    assert_eq!((votes(1), votes(2)), ("safe", "unsafe"));
}

/// The theorem: where who waits for the role waits for nothing else, what is safe in turn is safe in any order.
#[test]
fn safe_in_turn_is_safe_in_any_order() {
    let options = Options { max_k: 2, max_witnesses: 1, ..Options::default() };
    let verdict = |system: &System| check(system, &options, None, &mut ()).verdict.name();
    let mut tally = std::collections::BTreeMap::<&str, usize>::new();
    let mut visit = |system: &System| {
        let in_turn = instances(system, Role(1), 2, Rounds::InTurn);
        if waits_for_rounds(system, Role(1)) && verdict(&in_turn) == "safe" {
            let found = verdict(&instances(system, Role(1), 2, Rounds::AnyOrder));
            assert_ne!(found, "unsafe", "{system:?}");
            *tally.entry(found).or_default() += 1;
            let found = check_instances(system, Role(1), 2, &options, None, &mut ()).unwrap();
            assert_eq!(found.1.verdict.name(), "safe");
        }
    };
    all_pairs(1, 2, &mut visit);
    all_triples(1_999, &mut visit);
    println!("{tally:?}");
    assert!(tally["safe"] >= 16 && tally["unknown"] >= 11, "{tally:?}");
}

/// A stream into a sink is safe whatever the order, though no bound is enough to explore it in any order.
#[test]
fn turns_answer_what_races_hide() {
    let stream = read_types("C: rec x. W?data; x  W: rec y. C!data; y").unwrap();
    assert_eq!(verdict(&instances(&stream, Role(1), 2, Rounds::AnyOrder)), "unknown");
    let found = check_instances(&stream, Role(1), 2, &Options::default(), None, &mut ()).unwrap();
    assert_eq!(found.1.verdict.name(), "safe");
    // With mailboxes messages of the second copy may come first: turns are no answer there.
    let tasks = read_types("C: W!task; W?done; end  W: C?task; C!done; end").unwrap();
    let options = Options { semantics: Semantics::Mailbox, ..Options::default() };
    let in_turn = instances(&tasks, Role(1), 2, Rounds::InTurn);
    assert_eq!(check(&in_turn, &options, None, &mut ()).verdict.name(), "unsafe");
    let found = check_instances(&tasks, Role(1), 2, &options, None, &mut ()).unwrap();
    assert_eq!(found.1.verdict.name(), "safe");
}

/// Copies are alike: one of each class of configurations is looked at.
#[test]
fn copies_are_explored_once() {
    let tasks = read_types("C: W!task; W?done; end  W: C?task; C!done; end").unwrap();
    let family = instances(&tasks, Role(1), 5, Rounds::AnyOrder);
    let explored = |symmetry_from| {
        let options = Options { semantics: Semantics::Mailbox, symmetry_from, ..Options::default() };
        let report = check(&family, &options, None, &mut ());
        (report.verdict.name(), report.bounds[0].states, report.bounds[0].representatives)
    };
    let (all, once) = (explored(usize::MAX), explored(0));
    assert_eq!((all.0, all.1), (once.0, once.1));
    assert!(once.2.is_some_and(|representatives| representatives * 15 < once.1), "{once:?} {all:?}");
}

/// The family of stars that `generate` knows is one of these.
#[test]
fn names_do_not_clash() {
    let system = read_types("W: W2!a; end  W2: W?a; end").unwrap();
    let doubled = instances(&system, Role(0), 2, Rounds::AnyOrder);
    let names: Vec<&str> = doubled.roles().map(|role| doubled.vocabulary().role_name(role)).collect();
    assert_eq!(names, ["W", "W2", "W2_"]);
    assert_eq!(
        size(&instances(&generate::star(2, 1), Role(0), 1, Rounds::AnyOrder)),
        size(&generate::star(2, 1))
    );
}
