//! Equality up to unfolding is an equivalence, and is bisimilarity of the machines (ECOOP'21, Section 2.3:
//! types are equi-recursive); minimising gives the smallest bisimilar machine; terms and machines say the
//! same.
//!
//! Hypotheses: closed, guarded and, where terms are compared, deterministic; the generators build such types.

use std::sync::Arc;

use referee_reference::automaton::Automaton;
use referee_reference::session::{Tree, branch};
use referee_testkit::choices::{Random, law_cases, law_seeds, law_size};
use referee_testkit::machines;
use referee_testkit::session_types::{Alphabet, rewritten};
use referee_theory::session::SessionType;
use referee_theory::{Machine, Vocabulary};

const LABELS: [&str; 2] = ["l", "m"];

fn alphabet() -> Alphabet {
    Alphabet::new(&["b"], &LABELS)
}

fn vocabulary() -> Arc<Vocabulary> {
    let mut vocabulary = Vocabulary::new();
    vocabulary.add_role("a");
    vocabulary.add_role("b");
    for label in LABELS {
        vocabulary.add_plain_message(label);
    }
    Arc::new(vocabulary)
}

struct Case {
    tree: Tree,
    session: SessionType,
    machine: Machine,
}

impl Case {
    fn new(tree: Tree, vocabulary: &Arc<Vocabulary>) -> Self {
        let session = tree.to_theory(vocabulary, "a").unwrap();
        let machine = session.machine();
        Self { tree, session, machine }
    }
}

/// All pairs: the product's two answers agree with the reference, and the relation is an equivalence.
#[test]
fn every_pair_of_small_types() {
    let vocabulary = vocabulary();
    let all: Vec<Case> = alphabet().all(3).into_iter().map(|tree| Case::new(tree, &vocabulary)).collect();
    let mut equal = vec![vec![false; all.len()]; all.len()];
    for (i, left) in all.iter().enumerate() {
        for (j, right) in all.iter().enumerate() {
            equal[i][j] = left.session.same_behaviour(&right.session);
            if j > i {
                continue;
            }
            let expected = left.tree.equal_up_to_unfolding(&right.tree);
            assert_eq!(equal[i][j], expected, "{} and {}", left.tree, right.tree);
            let bisimilar = left.machine.bisimilar(&right.machine, &vocabulary);
            assert_eq!(bisimilar, expected, "machines of {} and {}", left.tree, right.tree);
        }
    }
    let mut pairs = 0;
    for i in 0..all.len() {
        assert!(equal[i][i], "reflexive: {}", all[i].tree);
        for j in 0..all.len() {
            assert_eq!(equal[i][j], equal[j][i], "symmetric: {} and {}", all[i].tree, all[j].tree);
            if equal[i][j] {
                pairs += usize::from(i != j);
                // Transitive, given symmetry: related types are related to the same types.
                assert_eq!(equal[i], equal[j], "transitive: {} and {}", all[i].tree, all[j].tree);
            }
        }
    }
    println!("equality: {} types, {} pairs, {pairs} of them equal", all.len(), all.len() * all.len());
    assert!(all.len() == 322 && pairs > 500, "{pairs}");
}

/// Larger types: a type and another way to write it are equal; two random ones hardly ever are.
#[test]
fn random_large_types() {
    let vocabulary = vocabulary();
    let (alphabet, seeds) = (alphabet(), law_seeds(1_500));
    println!("equality: seeds {seeds:?}");
    let (mut equal, mut different) = (0, 0);
    let check = |left: &Case, right: &Case| {
        let expected = left.tree.automaton().bisimilar(&right.tree.automaton());
        assert_eq!(left.session.same_behaviour(&right.session), expected, "{} and {}", left.tree, right.tree);
        assert_eq!(right.session.same_behaviour(&left.session), expected, "{} and {}", right.tree, left.tree);
        let bisimilar = left.machine.bisimilar(&right.machine, &vocabulary);
        assert_eq!(bisimilar, expected, "machines of {} and {}", left.tree, right.tree);
        expected
    };
    for seed in seeds {
        let choices = &mut Random::new(seed);
        let tree = alphabet.random(12, choices);
        let other = Case::new(rewritten(&tree, choices), &vocabulary);
        let third = Case::new(alphabet.random(4, choices), &vocabulary);
        let case = Case::new(tree, &vocabulary);
        assert!(check(&case, &other), "seed {seed}: {} and {}", case.tree, other.tree);
        equal += usize::from(case.tree != other.tree);
        different += usize::from(!check(&case, &third));
    }
    assert!(equal > 1_000 && different > 1_000, "{equal} {different}");
}

/// Checks one machine: minimising keeps the behaviour, leaves no two bisimilar states, and repeated changes
/// nothing.
fn check_minimised(machine: &Machine, vocabulary: &Vocabulary) -> usize {
    let minimal = machine.minimised(vocabulary);
    let (before, after) =
        (Automaton::from_theory(machine, vocabulary), Automaton::from_theory(&minimal, vocabulary));
    assert!(before.bisimilar(&after), "{machine:?} to {minimal:?}");
    assert!(machine.bisimilar(&minimal, vocabulary), "{machine:?} to {minimal:?}");
    for (i, row) in after.bisimilarity(&after).into_iter().enumerate() {
        let same: Vec<usize> = (0..row.len()).filter(|&j| row[j]).collect();
        assert_eq!(same, [i], "bisimilar states left in {minimal:?}");
    }
    let again = minimal.minimised(vocabulary);
    assert_eq!(again.state_count(), minimal.state_count());
    assert_eq!(again.all_transitions(), minimal.all_transitions(), "numbered differently: {minimal:?}");
    machine.state_count() - minimal.state_count()
}

/// Term → machine → term → machine, each with the behaviour of the term.
#[test]
fn every_small_type_round_trip() {
    let vocabulary = vocabulary();
    let (mut types, mut smaller) = (0, 0);
    for tree in alphabet().all(4 + law_size()) {
        types += 1;
        let case = Case::new(tree, &vocabulary);
        round_trip(&case, &vocabulary);
        smaller += usize::from(check_minimised(&case.machine, &vocabulary) > 0);
    }
    println!("equality: {types} round trips, {smaller} of them minimised to fewer states");
    assert!(types >= 2_792 && smaller > 100, "{smaller}");
}

fn round_trip(case: &Case, vocabulary: &Arc<Vocabulary>) {
    let expected = case.tree.automaton();
    let tree = &case.tree;
    assert!(Automaton::from_theory(&case.machine, vocabulary).bisimilar(&expected), "machine of {tree}");
    let again = case.machine.session_type(vocabulary, 10_000).unwrap();
    assert!(again.same_behaviour(&case.session), "{tree} became {}", Tree::from_theory(&again));
    let again_tree = Tree::from_theory(&again);
    assert!(again_tree.free_variables().is_empty(), "{tree} became {again_tree}");
    assert!(again_tree.automaton().bisimilar(&expected), "{tree} became {again_tree}");
    assert!(again.machine().bisimilar(&case.machine, vocabulary), "{tree} became {again_tree}");
}

#[test]
fn random_types_round_trip() {
    let vocabulary = vocabulary();
    for seed in law_seeds(500) {
        let tree = alphabet().random(25, &mut Random::new(seed));
        round_trip(&Case::new(tree, &vocabulary), &vocabulary);
    }
}

/// Machines that are no terms: nondeterministic, with states entered from several sides.
#[test]
fn random_machines() {
    let vocabulary = machines::vocabulary();
    let (mut smaller, mut bisimilar, mut nondeterministic, mut terms) = (0, 0, 0, 0);
    let cases = law_cases(3_000);
    for seed in law_seeds(3_000) {
        let choices = &mut Random::new(seed);
        let left = machines::random(&vocabulary, 2 + seed as usize % 9, choices);
        let right = machines::random(&vocabulary, 2 + seed as usize % 4, choices);
        nondeterministic += usize::from(left.first_nondeterminism(&vocabulary).is_some());
        smaller += usize::from(check_minimised(&left, &vocabulary) > 0);
        let (a, b) =
            (Automaton::from_theory(&left, &vocabulary), Automaton::from_theory(&right, &vocabulary));
        let expected = a.bisimilar(&b);
        bisimilar += usize::from(expected);
        assert_eq!(left.bisimilar(&right, &vocabulary), expected, "seed {seed}: {left:?} and {right:?}");
        if let Some(term) = left.session_type(&vocabulary, 2_000) {
            terms += 1;
            let same = Automaton::from_theory(&term.machine(), &vocabulary).bisimilar(&a);
            assert!(same, "seed {seed}: {left:?} became {term:?}");
        }
    }
    println!(
        "equality: {cases} machines, {nondeterministic} nondeterministic, {smaller} minimised, {bisimilar} bisimilar pairs, {terms} as terms"
    );
    assert!(
        nondeterministic > cases / 3 && smaller > cases / 10 && bisimilar > cases / 100 && terms > cases / 2
    );
}

/// Teeth: `same_behaviour` is for deterministic types only. These are bisimilar, as nondeterminism lists the
/// same branch twice, and not equal as terms.
#[test]
fn a_repeated_branch() {
    let vocabulary = vocabulary();
    let once = Case::new(Tree::Choice(vec![branch(true, "b", "l", Tree::End)]), &vocabulary);
    let twice = vec![branch(true, "b", "l", Tree::End), branch(true, "b", "l", Tree::End)];
    let twice = Case::new(Tree::Choice(twice), &vocabulary);
    assert!(!once.session.same_behaviour(&twice.session));
    assert!(once.machine.bisimilar(&twice.machine, &vocabulary));
}

/// A choice between nothing is an end.
#[test]
fn an_empty_choice() {
    let vocabulary = vocabulary();
    let [end, none] = [Tree::End, Tree::Choice(Vec::new())].map(|tree| Case::new(tree, &vocabulary));
    assert!(end.session.same_behaviour(&none.session) && none.session.same_behaviour(&end.session));
    assert!(end.machine.bisimilar(&none.machine, &vocabulary));
}
