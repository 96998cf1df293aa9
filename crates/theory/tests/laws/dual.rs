//! The dual of the dual is the type itself (ECOOP'21, Figure 3), and its machine is the mirror image.

use std::sync::Arc;

use referee_reference::session::{Tree, branch};
use referee_testkit::choices::{Random, law_seeds, law_size};
use referee_testkit::session_types::Alphabet;
use referee_theory::session::SessionType;
use referee_theory::{Machine, Vocabulary};

fn vocabulary(alphabet_labels: &[&str]) -> Arc<Vocabulary> {
    let mut vocabulary = Vocabulary::new();
    for role in ["a", "b"] {
        vocabulary.add_role(role);
    }
    for label in alphabet_labels {
        vocabulary.add_plain_message(label);
    }
    Arc::new(vocabulary)
}

/// For a binary type of `a` with peer `b`, by the tree and by the product.
fn check(tree: &Tree, vocabulary: &Arc<Vocabulary>) {
    let session = tree.to_theory(vocabulary, "a").unwrap();
    let (a, b) = (session.role(), vocabulary.find_role("b").unwrap());
    let dual = session.dual(b);
    assert_eq!(dual.role(), b, "{tree}");
    assert!(same_terms(&dual.dual(a), &session), "dual of dual of {tree}");
    let expected = tree.dual("a").to_theory(vocabulary, "b").unwrap();
    assert!(same_terms(&dual, &expected), "dual of {tree}");
    assert!(mirrors(&session.machine(), &dual.machine()), "machine of the dual of {tree}");
}

/// Node by node.
fn same_terms(left: &SessionType, right: &SessionType) -> bool {
    left.role() == right.role()
        && left.root() == right.root()
        && left.node_count() == right.node_count()
        && (0..left.node_count() as u32).all(|index| {
            let node = referee_theory::session::TermId(index);
            left.node(node) == right.node(node)
        })
}

/// State by state: the same messages, the other way round.
fn mirrors(left: &Machine, right: &Machine) -> bool {
    left.state_count() == right.state_count()
        && left.states().all(|state| {
            let (ours, theirs) = (left.transitions(state), right.transitions(state));
            ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(|(t, u)| {
                    t.action == u.action.dual()
                        && t.message == u.message
                        && t.target == u.target
                        && t.peer == right.role()
                        && u.peer == left.role()
                })
        })
}

#[test]
fn every_small_type() {
    let labels = ["l", "m"];
    let vocabulary = vocabulary(&labels);
    let all = Alphabet::new(&["b"], &labels).all(4 + law_size());
    for tree in &all {
        check(tree, &vocabulary);
    }
    println!("dual: {} types", all.len());
    assert!(all.len() >= 2_792);
}

#[test]
fn random_large_types() {
    let labels = ["l", "m", "n"];
    let vocabulary = vocabulary(&labels);
    let alphabet = Alphabet::new(&["b"], &labels);
    let seeds = law_seeds(1_000);
    println!("dual: seeds {seeds:?}");
    for seed in seeds {
        check(&alphabet.random(60, &mut Random::new(seed)), &vocabulary);
    }
}

/// Teeth: the law needs a binary type. With a second peer, the dual forgets who it was.
#[test]
fn a_type_with_two_peers_is_not_its_double_dual() {
    let mut names = Vocabulary::new();
    for role in ["a", "b", "c"] {
        names.add_role(role);
    }
    names.add_plain_message("l");
    let names = Arc::new(names);
    let (to_b, to_c) = (names.find_role("b").unwrap(), branch(true, "c", "l", Tree::End));
    let tree = Tree::Choice(vec![branch(true, "b", "l", Tree::Choice(vec![to_c]))]);
    let session = tree.to_theory(&names, "a").unwrap();
    assert!(!same_terms(&session.dual(to_b).dual(session.role()), &session));
}
