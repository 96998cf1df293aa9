//! Laws C1 and C2 of `docs/concurrency.md`: the machine of a role is the shuffle of its blocks' machines, followed by what
//! follows; `par` with one block is the block, and `par` is associative and commutative up to bisimulation.
//!
//! Hypotheses: labels of blocks are disjoint (the generators number them), and every role has a projection.

use referee_reference::automaton::Automaton;
use referee_reference::par::{Traces, Tree, message, par};
use referee_theory::GlobalError;
use referee_theory::project::Conflict;

const ROLES: [&str; 3] = ["a", "b", "c"];

/// Longer traces are not compared.
const LONGEST: usize = 7;

/// Every channel between two of the roles.
fn channels() -> Vec<(&'static str, &'static str)> {
    let pairs = ROLES.into_iter().flat_map(|from| ROLES.into_iter().map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).collect()
}

/// Blocks of up to two messages, choices, and loops, with labels that begin with `name`.
fn blocks(name: &str, with_pairs: bool) -> Vec<Tree> {
    let label = |number: usize| format!("{name}{number}");
    let one = |(from, to), number, next| message(from, to, &label(number), next);
    let mut all = Vec::new();
    for channel in channels() {
        all.push(one(channel, 1, Tree::End));
        let (sender, receiver) = channel;
        let again = Tree::Exchange {
            sender,
            receiver,
            branches: vec![(label(1), Tree::Call(name.to_owned())), (label(2), Tree::End)],
        };
        all.push(Tree::Rec(name.to_owned(), Box::new(again)));
        for second in channels() {
            if with_pairs {
                all.push(one(channel, 1, one(second, 2, Tree::End)));
            }
            let branches = vec![(label(1), one(second, 3, Tree::End)), (label(2), one(second, 4, Tree::End))];
            all.push(Tree::Exchange { sender, receiver, branches });
        }
    }
    all
}

fn followers() -> Vec<Tree> {
    vec![Tree::End, message("a", "b", "k", Tree::End), message("c", "a", "k", Tree::End)]
}

/// The automaton of each role that has one.
fn automata(tree: &Tree) -> Option<[Option<Automaton>; 3]> {
    let global = match tree.to_theory(&ROLES) {
        Ok(global) => global,
        // Rules, not projection.
        Err(errors) => {
            assert!(
                errors.iter().all(|e| matches!(e, GlobalError::NeverJoins { .. })),
                "{tree:?} {errors:?}"
            );
            return None;
        }
    };
    Some(ROLES.map(|role| {
        let machine = global.project(global.vocabulary().find_role(role).unwrap()).ok()?;
        Some(Automaton::from_theory(&machine, global.vocabulary()))
    }))
}

#[test]
fn the_machine_of_a_par_is_the_shuffle_of_its_blocks() {
    let (mut compared, mut undefined) = (0, 0);
    for left in blocks("x", true) {
        for right in blocks("y", false) {
            for next in followers() {
                let tree = par(vec![left.clone(), right.clone()], next);
                let Some(automata) = automata(&tree) else { continue };
                for (role, automaton) in ROLES.iter().zip(automata) {
                    let Some(automaton) = automaton else {
                        undefined += 1;
                        continue;
                    };
                    assert_eq!(
                        Traces::of(&automaton, LONGEST),
                        tree.traces(role, LONGEST),
                        "{tree:?} {role}"
                    );
                    compared += 1;
                }
            }
        }
    }
    println!("par: {compared} machines compared, {undefined} undefined");
    assert!(compared > 20_000 && undefined > 500, "{compared} {undefined}");
}

#[test]
fn three_blocks_and_nested_ones() {
    let mut compared = 0;
    let single = |name: &str| channels().into_iter().map(|(a, b)| message(a, b, name, Tree::End)).collect();
    let singles: [Vec<Tree>; 3] = ["x", "y", "z"].map(single);
    for x in &singles[0] {
        for y in &singles[1] {
            for z in &singles[2] {
                for next in followers() {
                    let [x, y, z] = [x, y, z].map(Clone::clone);
                    let flat = par(vec![x.clone(), y.clone(), z.clone()], next.clone());
                    let left = par(vec![par(vec![x.clone(), y.clone()], Tree::End), z.clone()], next.clone());
                    let right =
                        par(vec![x.clone(), par(vec![y.clone(), z.clone()], Tree::End)], next.clone());
                    let turned = par(vec![z.clone(), x.clone(), y.clone()], next.clone());
                    let behind = par(vec![par(vec![x, y], z)], next);
                    let [flat, left, right, turned] =
                        [flat, left, right, turned].map(|tree| automata(&tree).unwrap().map(Option::unwrap));
                    for (index, flat) in flat.iter().enumerate() {
                        for other in [&left, &right, &turned] {
                            assert!(flat.bisimilar(&other[index]));
                        }
                        compared += 1;
                    }
                    for (role, automaton) in ROLES.iter().zip(automata(&behind).unwrap()) {
                        let found = Traces::of(&automaton.unwrap(), LONGEST);
                        assert_eq!(found, behind.traces(role, LONGEST), "{behind:?} {role}");
                    }
                }
            }
        }
    }
    assert_eq!(compared, 6 * 6 * 6 * 3 * 3);
}

#[test]
fn one_block_is_the_block_and_order_does_not_matter() {
    let (mut alone, mut turned) = (0, 0);
    for left in blocks("x", true) {
        let Some(block) = automata(&left) else { continue };
        let one = automata(&par(vec![left.clone()], Tree::End)).unwrap();
        for (block, one) in block.iter().zip(&one) {
            assert_eq!(block.is_some(), one.is_some(), "{left:?}");
            if let (Some(block), Some(one)) = (block, one) {
                assert!(block.bisimilar(one), "{left:?}");
                alone += 1;
            }
        }
        for right in blocks("y", false) {
            let [forth, back] = [[&left, &right], [&right, &left]]
                .map(|blocks| automata(&par(blocks.map(Clone::clone).to_vec(), Tree::End)).unwrap());
            for (forth, back) in forth.iter().zip(&back) {
                assert_eq!(forth.is_some(), back.is_some(), "{left:?} {right:?}");
                if let (Some(forth), Some(back)) = (forth, back) {
                    assert!(forth.bisimilar(back), "{left:?} {right:?}");
                    turned += 1;
                }
            }
        }
    }
    assert!(alone > 100 && turned > 5_000, "{alone} {turned}");
}

/// A choice that `c` does not see leads to the same blocks in both branches, in either order of the text.
fn hidden(left: Tree, right: Tree) -> Tree {
    let branches = vec![("l".to_owned(), left), ("r".to_owned(), right)];
    Tree::Exchange { sender: "a", receiver: "b", branches }
}

#[test]
fn forks_are_merged_region_by_region() {
    let x = || message("b", "c", "x", Tree::End);
    let y = || message("c", "b", "y", Tree::End);
    let after = |label: &str| message("b", "c", label, Tree::End);
    // As if the choice were not there; in the order of the text `x, x` would pass.
    let tree = hidden(par(vec![x(), y()], after("k")), par(vec![y(), x()], after("l")));
    let automaton = automata(&tree).unwrap()[2].clone().unwrap();
    assert_eq!(Traces::of(&automaton, LONGEST), tree.traces("c", LONGEST));
    let conflict = |tree: &Tree| {
        let global = tree.to_theory(&ROLES).unwrap();
        global.project(global.vocabulary().find_role("c").unwrap()).unwrap_err().conflict
    };
    // A fork merges with nothing else,
    assert_eq!(conflict(&hidden(par(vec![x(), y()], Tree::End), x())), Conflict::BlocksOrAction);
    assert_eq!(conflict(&hidden(par(vec![x(), y()], Tree::End), Tree::End)), Conflict::BlocksOrAction);
    // and regions correspond one to one.
    let z = || message("c", "b", "z", Tree::End);
    assert_eq!(
        conflict(&hidden(par(vec![x(), y()], Tree::End), par(vec![x(), z()], Tree::End))),
        Conflict::DifferentBlocks
    );
    let both = || message("b", "c", "x", message("c", "b", "y", Tree::End));
    assert_eq!(
        conflict(&hidden(par(vec![x(), y()], Tree::End), par(vec![both(), z()], Tree::End))),
        Conflict::DifferentBlocks
    );
}

/// Teeth: each rule's counterexample is refused.
#[test]
fn rules() {
    let m = |label: &str, next| message("a", "b", label, next);
    let endless = || Tree::Rec("X".to_owned(), Box::new(m("x", Tree::Call("X".to_owned()))));
    let first = |tree: Tree| tree.to_theory(&ROLES).unwrap_err().remove(0);
    let same = par(vec![m("x", Tree::End), m("y", m("x", Tree::End))], Tree::End);
    assert!(matches!(first(same), GlobalError::LabelInTwoBlocks { .. }));
    let nested =
        par(vec![m("x", Tree::End), par(vec![m("y", Tree::End), m("x", Tree::End)], Tree::End)], Tree::End);
    assert!(matches!(first(nested), GlobalError::LabelInTwoBlocks { .. }));
    let out = Tree::Rec(
        "X".to_owned(),
        Box::new(par(vec![m("x", Tree::Call("X".to_owned())), m("y", Tree::End)], Tree::End)),
    );
    assert!(matches!(first(out), GlobalError::LeavesBlock { .. }));
    assert!(matches!(
        first(par(vec![m("x", Tree::End), Tree::End], Tree::End)),
        GlobalError::EmptyBlock { block: 1, .. }
    ));
    let follows = par(vec![endless(), m("y", Tree::End)], m("k", Tree::End));
    assert!(matches!(first(follows), GlobalError::NeverJoins { .. }));
    // Without anything behind it, a block may go on for ever; so may one that a nested `par` ends with.
    assert!(par(vec![endless(), m("y", Tree::End)], Tree::End).to_theory(&ROLES).is_ok());
    let inner =
        par(vec![par(vec![endless(), m("y", Tree::End)], Tree::End), m("z", Tree::End)], m("k", Tree::End));
    assert!(matches!(first(inner), GlobalError::NeverJoins { .. }));
}

#[test]
fn states_multiply_up_to_a_limit() {
    let label = |number: usize| format!("m{number}");
    let wide = |blocks: usize| {
        let blocks = (0..blocks).map(|number| message("a", "b", &label(number), Tree::End));
        par(blocks.collect(), Tree::End).to_theory(&ROLES).unwrap()
    };
    let ten = wide(10);
    let role = ten.vocabulary().find_role("a").unwrap();
    assert_eq!(ten.project(role).unwrap().state_count(), 1 << 10);
    let error = wide(30).project(role).unwrap_err();
    assert_eq!((error.conflict, error.role), (Conflict::TooManyInterleavings, role));
    // Who takes part in none of them does not mind.
    let other = ten.vocabulary().find_role("c").unwrap();
    assert_eq!(wide(30).project(other).unwrap().state_count(), 1);
    let mut deep = message("a", "b", "m", Tree::End);
    for number in 0..100 {
        deep = par(vec![deep, message("a", "b", &label(number), Tree::End)], Tree::End);
    }
    let errors = deep.to_theory(&ROLES).unwrap_err();
    assert!(matches!(errors[0], GlobalError::ParTooLarge { .. }), "{errors:?}");
}
