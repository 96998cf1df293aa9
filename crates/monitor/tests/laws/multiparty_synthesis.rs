//! The monitors of a well-formed global type are those of Algorithm 2 (RV'23, Definitions 8 and 9) with its line
//! for D′ corrected, up to renaming of recursion variables and the order of branches; and their network is
//! safe, but for types whose order across pairs depends on a choice that a role does not learn of.
//!
//! Hypotheses: well formed (Definition 7); the generators build types and the law keeps the well-formed ones.

use referee_check::{Options, Verdict};
use referee_monitor::multiparty::{Network, draft};
use referee_reference::global::{Tree, call, exchange, message, rec};
use referee_reference::relamon::monitor::{Lines, of_role};
use referee_reference::relative::is_well_formed;
use referee_syntax::{Content, Language};
use referee_testkit::choices::{Random, law_seeds, law_size};
use referee_testkit::global_types::{self, ROLES, Universe};

use crate::networks;

#[derive(Debug, Default)]
struct Seen {
    well_formed: usize,
    monitors: usize,
    informed: usize,
    learning_twice: usize,
    following: usize,
    not_the_first: usize,
    safe: usize,
    unknown: usize,
    /// Types whose network deadlocks whichever branch is followed.
    hopeless: usize,
}

impl Seen {
    fn check(&mut self, tree: &Tree, roles: usize) {
        let roles = &ROLES[..roles];
        if !is_well_formed(tree) {
            return;
        }
        self.well_formed += 1;
        let participants = tree.participants();
        for global in [tree.to_theory(roles).unwrap(), tree.to_shared_theory(roles).unwrap()] {
            let relative = global.relative_all().unwrap();
            for monitor in draft(&global, &relative) {
                let role = global.vocabulary().role_name(monitor.role());
                if participants.contains(role) {
                    let expected = of_role(tree, role, Lines::CORRECTED).canonical();
                    let found = networks::tree(&monitor);
                    assert_eq!(found, expected, "{tree}: {role}: {found}, not {expected}");
                    let text = found.to_string();
                    self.monitors += 1;
                    self.informed += usize::from(ROLES.iter().any(|r| text.contains(&format!("!{{{r}"))));
                    self.learning_twice += usize::from(text.contains("error"));
                }
            }
        }
        self.network(tree, roles);
    }

    fn network(&mut self, tree: &Tree, roles: &[&str]) {
        let global = tree.to_theory(roles).unwrap();
        let relative = global.relative_all().unwrap();
        let network = Network::synthesise(&global, &relative, &Options::default(), None, &mut ());
        let followed: Vec<_> = network.monitors().iter().flat_map(|m| m.followed()).collect();
        self.following += usize::from(!followed.is_empty());
        self.not_the_first += usize::from(followed.iter().any(|followed| followed.branch > 0));
        match &network.report().verdict {
            Verdict::Safe { .. } => self.safe += 1,
            Verdict::Unknown { .. } => self.unknown += 1,
            Verdict::Unsafe { witness, .. } => {
                self.hopeless += 1;
                assert!(!followed.is_empty(), "{tree}: {}", witness.explanation);
                assert!(network.deployable().is_err());
            }
        }
    }
}

#[test]
fn every_small_type() {
    let mut seen = Seen::default();
    let universe = Universe { roles: 3, labels: 2, payloads: &[""] };
    universe.for_each(4 + law_size(), |tree| seen.check(tree, 3));
    let universe = Universe { roles: 4, labels: 2, payloads: &[""] };
    universe.for_each(4 + law_size(), |tree| seen.check(tree, 4));
    println!("multiparty synthesis: {seen:?}");
    assert!(seen.monitors > 10_000 && seen.informed > 1_000 && seen.learning_twice > 300, "{seen:?}");
    assert!(seen.hopeless == 0 && seen.safe > 10 * seen.unknown, "{seen:?}");
}

#[test]
fn random_large_types() {
    let mut seen = Seen::default();
    for seed in law_seeds(600) {
        let choices = &mut Random::new(seed);
        let universe = Universe { roles: 4, labels: 2, payloads: &["", "T"] };
        seen.check(&global_types::random(universe, 10, choices), 4);
        seen.check(&global_types::random(Universe { roles: 3, ..universe }, 14, choices), 3);
        seen.check(&global_types::independent(universe, 5, choices), 4);
    }
    println!("multiparty synthesis: {seen:?}");
    assert!(seen.monitors > 2_000 && seen.learning_twice > 300, "{seen:?}");
}

/// `s→r{1. r→p:a. p→t:c. t→r:b, 2. t→r:b. r→p:a. p→t:c}` with more exchanges between t and r, u in each branch.
fn crossing(first: fn(Tree) -> Tree, second: fn(Tree) -> Tree) -> Tree {
    let one = message("b", "c", "m", message("c", "d", "n", message("d", "b", "o", first(Tree::End))));
    let two = message("d", "b", "o", message("b", "c", "m", message("c", "d", "n", second(Tree::End))));
    exchange("a", "b", vec![("l1", "", one), ("l2", "", two)])
}

/// "Arbitrary k" deadlocks: d follows the first branch, a picks the second. The second works for both.
#[test]
fn a_branch_that_works_is_found() {
    let tree = crossing(|next| next, |next| next);
    let mut seen = Seen::default();
    seen.check(&tree, 4);
    assert!(seen.following == 1 && seen.not_the_first == 1 && seen.safe == 1, "{seen:?}");
}

/// With one more role there is a type for which no branch works.
#[test]
fn where_no_branch_works_nothing_is_deployed() {
    let tree = crossing(
        |next| message("d", "b", "p", message("b", "e", "q", message("e", "d", "r", next))),
        |next| message("b", "e", "q", message("e", "d", "r", message("d", "b", "p", next))),
    );
    let mut seen = Seen::default();
    seen.check(&tree, 5);
    assert!(seen.following == 1 && seen.hopeless == 1, "{seen:?}");
}

/// Teeth: the line for D′ as printed gives other monitors (RV'23's own Example 10).
#[test]
fn the_printed_line_says_something_else() {
    let inner = rec("X", exchange("a", "c", vec![("l1", "", call("X")), ("l2", "", Tree::End)]));
    let tree = message("a", "b", "l", inner);
    Seen::default().check(&tree, 3);
    let printed = Lines { project_definition: false, ..Lines::CORRECTED };
    assert_ne!(of_role(&tree, "a", printed), of_role(&tree, "a", Lines::CORRECTED));
    let text = of_role(&tree, "a", Lines::CORRECTED).to_string();
    assert_eq!(text, "a!b{l<>.a!{}(l).mu X.a!c{l1<>.a!{}(l1).X, l2<>.a!{}(l2).end}}");
}

/// Nested choices are shared, not copied: time and size are those of the protocol.
#[test]
fn nested_choices_are_linear() {
    let mut tree = Tree::End;
    for level in 0..12 {
        let (p, q) = (ROLES[level % 3], ROLES[(level + 1) % 3]);
        tree = exchange(p, q, vec![("l1", "", tree.clone()), ("l2", "", tree)]);
    }
    let global = tree.to_shared_theory(&ROLES[..3]).unwrap();
    assert!(global.node_count() < 20);
    let monitors = draft(&global, &global.relative_all().unwrap());
    assert!(monitors.iter().all(|monitor| monitor.root().index() < 40));
}

/// The monitors of the original tool's protocols, as its authors' algorithm gives them once corrected.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test may read files")]
fn the_corpus() {
    let Some(corpus) = referee_testkit::corpus::corpus_root() else {
        return println!("skipped: there is no corpus beside the repository");
    };
    let expected = std::fs::read_to_string(corpus.join("gt/expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let mut compared = 0;
    for (name, answer) in expected.as_object().unwrap() {
        let Some(monitors) = answer["monitors"].as_object() else { continue };
        let (path, language) = match name.split_once('/') {
            Some(("gt", rest)) if !rest.contains('(') => (format!("gt/{rest}.gt"), Language::Gt),
            Some(("Protocols", rest)) => (format!("gt/json/{rest}.json"), Language::GtJson),
            _ => continue,
        };
        let document = referee_syntax::parse(&std::fs::read_to_string(corpus.join(path)).unwrap(), language);
        let Content::Global(protocols) = &document.content else { panic!("{name} is global") };
        let global = protocols[0].global.as_ref().unwrap();
        for monitor in draft(global, &global.relative_all().unwrap()) {
            let role = global.vocabulary().role_name(monitor.role());
            let text = monitors[role].as_str().unwrap();
            assert_eq!(networks::tree(&monitor), networks::parse(text), "{name}: {role}");
            assert!(monitor.followed().is_empty());
            assert_eq!(networks::parse(&monitor.to_text()), networks::parse(text), "{name}: {role}");
            compared += 1;
        }
    }
    assert!(compared >= 60, "only {compared} monitors compared");
}
