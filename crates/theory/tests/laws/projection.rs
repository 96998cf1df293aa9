//! A role's machine under projection with full merging behaves as the coinductive definition says, and is
//! defined wherever the textbook's inductive projection is, with the same behaviour (POPL'19, projection and
//! full merging).
//!
//! Hypotheses: closed, guarded, one receiver per choice, distinct labels; the generators build such types.

use referee_reference::automaton::Automaton;
use referee_reference::global::{Tree, call, exchange, message, rec};
use referee_reference::local;
use referee_testkit::choices::{Random, law_seeds, law_size};
use referee_testkit::global_types::{self, ROLES, Universe};

/// How often each case arose.
#[derive(Debug, Default)]
struct Seen {
    types: usize,
    defined: usize,
    undefined: usize,
    /// Defined by us, not by the textbook.
    beyond_the_textbook: usize,
}

impl Seen {
    fn check(&mut self, tree: &Tree, roles: usize) {
        self.types += 1;
        let roles = &ROLES[..roles];
        let global = tree.to_theory(roles).unwrap_or_else(|errors| panic!("{tree}: {errors:?}"));
        for role in roles {
            let projected = global.project(global.vocabulary().find_role(role).unwrap());
            let inductive = local::project(tree, role);
            assert_eq!(projected.is_ok(), local::merges(tree, role), "{tree} onto {role}: {projected:?}");
            let Ok(machine) = projected else {
                self.undefined += 1;
                let choice = projected.err().and_then(|error| error.choice);
                let choice = choice.unwrap_or_else(|| panic!("{tree} onto {role}: no choice is blamed"));
                assert_ne!(global.vocabulary().role_name(choice.sender), *role, "{tree} onto {role}");
                assert_ne!(choice.left, choice.right, "{tree} onto {role}");
                assert_eq!(inductive, None, "the textbook projects {tree} onto {role}");
                continue;
            };
            self.defined += 1;
            let machine = Automaton::from_theory(&machine, global.vocabulary());
            let expected = local::behaviour(tree, role);
            assert!(machine.bisimilar(&expected), "{tree} onto {role}: {machine:?}, not {expected:?}");
            match inductive {
                Some(inductive) => {
                    let same = machine.bisimilar(&inductive.automaton());
                    assert!(same, "{tree} onto {role}: {machine:?}, not {inductive}");
                }
                None => self.beyond_the_textbook += 1,
            }
        }
    }
}

#[test]
fn every_small_type() {
    let mut seen = Seen::default();
    let universe = Universe { roles: 4, labels: 3, payloads: &[""] };
    universe.for_each(4 + law_size(), |tree| seen.check(tree, 4));
    let universe = Universe { roles: 3, labels: 2, payloads: &["", "T"] };
    universe.for_each(3 + law_size(), |tree| seen.check(tree, 3));
    println!("projection: {seen:?}");
    assert!(seen.types >= 21_088 && seen.undefined > 4_000 && seen.beyond_the_textbook > 50, "{seen:?}");
}

#[test]
fn random_large_types() {
    let mut seen = Seen::default();
    let seeds = law_seeds(500);
    println!("projection: seeds {seeds:?}");
    for seed in seeds {
        let choices = &mut Random::new(seed);
        let universe = Universe { roles: 4, labels: 3, payloads: &["", "T"] };
        seen.check(&global_types::random(universe, 12, choices), 4);
        seen.check(&global_types::random(Universe { roles: 3, ..universe }, 25, choices), 3);
    }
    println!("projection: {seen:?}");
    assert!(seen.defined > 1_000 && seen.undefined > 1_000 && seen.beyond_the_textbook > 50, "{seen:?}");
}

/// Where choices are announced to all roles, projections exist by the textbook, and so do ours.
#[test]
fn types_built_to_have_projections() {
    let mut seen = Seen::default();
    for seed in law_seeds(400) {
        let choices = &mut Random::new(seed);
        let universe = Universe { roles: 4, labels: 3, payloads: &["", "T"] };
        let tree = global_types::informed(universe, 12, choices);
        for role in &ROLES[..4] {
            assert!(local::project(&tree, role).is_some(), "seed {seed}: {tree} onto {role}");
        }
        seen.check(&tree, 4);
    }
    println!("projection, informed: {seen:?}");
    assert!(
        seen.undefined == 0 && seen.beyond_the_textbook == 0 && seen.defined == 4 * seen.types,
        "{seen:?}"
    );
}

/// Stored cases where the coinductive reading goes beyond the inductive one: the first differs only by
/// unfolding, the second by the name of a variable, the third waits behind a loop that it does not see.
#[test]
fn beyond_the_textbook() {
    let unfolded = exchange(
        "a",
        "b",
        vec![
            ("l1", "", rec("X", message("b", "c", "m", call("X")))),
            ("l2", "", message("b", "c", "m", rec("X", message("b", "c", "m", call("X"))))),
        ],
    );
    let loop_of = |name| rec(name, message("b", "c", "m", call(name)));
    let renamed = exchange("a", "b", vec![("l1", "", loop_of("X")), ("l2", "", loop_of("Y"))]);
    let silent_loop = rec(
        "X",
        exchange("a", "b", vec![("l1", "", call("X")), ("l2", "", message("b", "c", "m", Tree::End))]),
    );
    for tree in [unfolded, renamed, silent_loop] {
        assert_eq!(local::project(&tree, "c"), None, "{tree}");
        let mut seen = Seen::default();
        seen.check(&tree, 3);
        assert_eq!(seen.undefined, 0, "{tree}");
    }
}

/// Teeth: what must stay undefined, one for each way to disagree.
#[test]
fn disagreements() {
    let choice = |left, right| exchange("a", "b", vec![("l1", "", left), ("l2", "", right)]);
    let end = || Tree::End;
    let cases = [
        choice(message("b", "c", "m", end()), end()),
        choice(message("b", "c", "m", end()), message("a", "c", "m", end())),
        choice(message("c", "b", "m", end()), message("c", "b", "n", end())),
        choice(message("c", "b", "m", end()), message("b", "c", "m", end())),
        choice(exchange("b", "c", vec![("m", "T", end())]), exchange("b", "c", vec![("m", "U", end())])),
        // One side may send more than the other, on either side.
        choice(exchange("c", "b", vec![("m", "", end()), ("n", "", end())]), message("c", "b", "m", end())),
        choice(message("c", "b", "m", end()), exchange("c", "b", vec![("m", "", end()), ("n", "", end())])),
        // The disagreement shows only after a common message.
        choice(message("b", "c", "m", message("b", "c", "n", end())), message("b", "c", "m", end())),
    ];
    for tree in cases {
        assert!(!local::merges(&tree, "c"), "{tree}");
        Seen::default().check(&tree, 3);
    }
}
