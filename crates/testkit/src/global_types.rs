//! Global types: all small ones, random larger ones, and ones built to have projections.
//!
//! The *size* of a type is the number of its branches plus the number of its definitions. How many there are
//! of each size, up to renaming of roles and labels and the order of branches, is asserted in the tests here.

use referee_reference::global::{Branch, Tree, rec};

use crate::choices::{Choices, for_each};

/// The names of roles, in the order in which they are used first.
pub const ROLES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const LABELS: [&str; 6] = ["l1", "l2", "l3", "l4", "l5", "l6"];
const VARIABLES: [&str; 4] = ["X", "Y", "Z", "W"];

/// What the types to enumerate are made of.
#[derive(Clone, Copy, Debug)]
pub struct Universe {
    /// At most this many roles.
    pub roles: usize,
    /// At most this many labels, and so branches per exchange.
    pub labels: usize,
    /// The payload types a message may have; `""` is none.
    pub payloads: &'static [&'static str],
}

impl Universe {
    /// Calls `visit` with every closed, guarded global type of at most `size` with distinct labels per
    /// exchange, once up to renaming of roles, labels and recursion variables and the order of branches
    /// (names and branches come in the order of their first use). Says how many there were.
    pub fn for_each(self, size: usize, mut visit: impl FnMut(&Tree)) -> usize {
        let describe = |choices: &mut dyn FnMut(usize) -> usize| {
            Description { universe: self, choices, size, roles: 0, labels: 0 }.tree(&[], &[])
        };
        for_each(describe, |tree| visit(&tree))
    }
}

struct Description<'a> {
    universe: Universe,
    choices: &'a mut dyn FnMut(usize) -> usize,
    /// What is left of the size.
    size: usize,
    /// How many roles and labels were used so far.
    roles: usize,
    labels: usize,
}

impl Description<'_> {
    /// A type in which `guarded` may be called here, and `pending` after the next exchange.
    fn tree(&mut self, guarded: &[String], pending: &[String]) -> Tree {
        let most_branches = self.size.min(self.universe.labels);
        let definitions = self.size.min(1);
        let answer = (self.choices)(1 + guarded.len() + definitions + most_branches);
        if answer == 0 {
            return Tree::End;
        }
        if let Some(name) = guarded.get(answer - 1) {
            return Tree::Call(name.clone());
        }
        if answer == 1 + guarded.len() {
            self.size -= 1;
            let name = format!("X{}", guarded.len() + pending.len());
            let pending = [pending, std::slice::from_ref(&name)].concat();
            return rec(&name, self.tree(guarded, &pending));
        }
        let branches = answer - 1 - guarded.len();
        self.exchange(branches, &[guarded, pending].concat())
    }

    fn exchange(&mut self, branches: usize, guarded: &[String]) -> Tree {
        self.size -= branches;
        let sender = self.role(None);
        let receiver = self.role(Some(sender));
        let mut labels = Vec::new();
        for still_to_come in (0..branches).rev() {
            // Ascending, with at most one new label at a time, and enough left for the rest.
            let from = labels.last().map_or(0, |last| last + 1);
            let to = self.labels.min(self.universe.labels - 1 - still_to_come);
            let label = from + (self.choices)(to + 1 - from);
            self.labels = self.labels.max(label + 1);
            labels.push(label);
        }
        let payloads: Vec<&str> = labels
            .iter()
            .map(|_| self.universe.payloads[(self.choices)(self.universe.payloads.len())])
            .collect();
        let branches = labels
            .into_iter()
            .zip(payloads)
            .map(|(label, payload)| Branch::new(LABELS[label], payload, self.tree(guarded, &[])))
            .collect();
        Tree::Exchange { sender: ROLES[sender].to_owned(), receiver: ROLES[receiver].to_owned(), branches }
    }

    /// A role used before, or the next new one.
    fn role(&mut self, but: Option<usize>) -> usize {
        let highest = self.roles.min(self.universe.roles - 1);
        let mut role = (self.choices)(highest + 1 - but.map_or(0, |_| 1));
        if but.is_some_and(|but| role >= but) {
            role += 1;
        }
        self.roles = self.roles.max(role + 1);
        role
    }
}

/// A random closed, guarded type of at most `size`, with distinct labels per exchange. The names of its
/// recursion variables are drawn too, shadowing included.
pub fn random(universe: Universe, size: usize, choices: &mut impl Choices) -> Tree {
    let tree = random_tree(universe, size, choices, &[], &[]);
    rename_variables(&tree, choices)
}

fn random_tree(
    universe: Universe,
    size: usize,
    choices: &mut impl Choices,
    guarded: &[String],
    pending: &[String],
) -> Tree {
    if size == 0 || choices.chance(1, 16) {
        return random_leaf(choices, guarded);
    }
    if choices.chance(1, 6) {
        let name = format!("X{}", guarded.len() + pending.len());
        let pending = [pending, std::slice::from_ref(&name)].concat();
        return rec(&name, random_tree(universe, size - 1, choices, guarded, &pending));
    }
    let guarded = [guarded, pending].concat();
    let most = size.min(universe.labels);
    let branches = if choices.chance(1, 2) { 1 } else { 1 + choices.choose(most) };
    let (sender, receiver) = random_pair(universe, choices);
    let shares = shares(size - branches, branches, choices);
    let branches = random_labels(universe, branches, choices)
        .into_iter()
        .zip(shares)
        .map(|(label, share)| {
            let payload = pick_payload(universe, choices);
            Branch::new(label, payload, random_tree(universe, share, choices, &guarded, &[]))
        })
        .collect();
    Tree::Exchange { sender, receiver, branches }
}

fn random_leaf(choices: &mut impl Choices, guarded: &[String]) -> Tree {
    match choices.choose(1 + guarded.len() * 2) {
        0 => Tree::End,
        answer => Tree::Call(guarded[(answer - 1) % guarded.len()].clone()),
    }
}

fn random_pair(universe: Universe, choices: &mut impl Choices) -> (String, String) {
    let sender = choices.choose(universe.roles);
    let receiver = (sender + 1 + choices.choose(universe.roles - 1)) % universe.roles;
    (ROLES[sender].to_owned(), ROLES[receiver].to_owned())
}

fn random_labels(universe: Universe, count: usize, choices: &mut impl Choices) -> Vec<&'static str> {
    let mut left = LABELS[..universe.labels].to_vec();
    (0..count).map(|_| left.remove(choices.choose(left.len()))).collect()
}

fn pick_payload(universe: Universe, choices: &mut impl Choices) -> &'static str {
    universe.payloads[choices.choose(universe.payloads.len())]
}

/// `total` split into `parts`.
fn shares(total: usize, parts: usize, choices: &mut impl Choices) -> Vec<usize> {
    let mut shares = vec![0; parts];
    for _ in 0..total {
        shares[choices.choose(parts)] += 1;
    }
    shares
}

/// A type in which whoever makes a choice tells every role at once which one: it has a projection onto every
/// role, by the textbook's definition. At most about `size` choices and messages.
pub fn informed(universe: Universe, size: usize, choices: &mut impl Choices) -> Tree {
    let tree = random_tree(universe, size, choices, &[], &[]);
    rename_variables(&announce(&tree, universe), choices)
}

fn announce(tree: &Tree, universe: Universe) -> Tree {
    match tree {
        Tree::End | Tree::Call(_) => tree.clone(),
        Tree::Rec(name, body) => rec(name, announce(body, universe)),
        Tree::Exchange { sender, receiver, branches } => {
            let is_choice = branches.len() > 1;
            let others = ROLES[..universe.roles].iter().filter(|role| *role != sender && *role != receiver);
            let announced = |branch: &Branch<Tree>| {
                let mut next = announce(&branch.next, universe);
                for other in others.clone().filter(|_| is_choice) {
                    let branches = vec![Branch::new(&branch.label, "", next)];
                    next = Tree::Exchange { sender: sender.clone(), receiver: (*other).to_owned(), branches };
                }
                Branch::new(&branch.label, &branch.payload, next)
            };
            Tree::Exchange {
                sender: sender.clone(),
                receiver: receiver.clone(),
                branches: branches.iter().map(announced).collect(),
            }
        }
    }
}

/// A type in which a choice between two roles changes nothing for pairs of others: after a prefix that
/// differs from branch to branch, and in which one of the two always takes part, all branches go on alike
/// (but with recursion variables of other names). All pairs have a relative projection.
///
/// `size` bounds the number of exchanges on a path. As a tree such a type is exponential in the number of
/// choices on a path; it has at most four. As a graph with shared parts it is small.
pub fn independent(universe: Universe, size: usize, choices: &mut impl Choices) -> Tree {
    let tree = independent_tree(universe, size, 4, choices, &[], &[]);
    rename_variables(&tree, choices)
}

fn independent_tree(
    universe: Universe,
    size: usize,
    forks: usize,
    choices: &mut impl Choices,
    guarded: &[String],
    pending: &[String],
) -> Tree {
    if size == 0 {
        return random_leaf(choices, guarded);
    }
    if choices.chance(1, 4) {
        let name = format!("X{}", guarded.len() + pending.len());
        let pending = [pending, std::slice::from_ref(&name)].concat();
        return rec(&name, independent_tree(universe, size - 1, forks, choices, guarded, &pending));
    }
    let guarded = [guarded, pending].concat();
    let (sender, receiver) = random_pair(universe, choices);
    let fork = forks > 0 && choices.chance(1, 2);
    let next = independent_tree(universe, size - 1, forks - usize::from(fork), choices, &guarded, &[]);
    let count = if fork { 2.min(universe.labels) } else { 1 };
    let branches = random_labels(universe, count, choices)
        .into_iter()
        .map(|label| {
            let mut next = next.clone();
            for _ in 0..choices.choose(if fork { 3 } else { 1 }) {
                next = message_of_either(universe, [&sender, &receiver], next, choices);
            }
            Branch::new(label, pick_payload(universe, choices), next)
        })
        .collect();
    Tree::Exchange { sender, receiver, branches }
}

/// A message between one of `two` and any other role.
fn message_of_either(universe: Universe, two: [&str; 2], next: Tree, choices: &mut impl Choices) -> Tree {
    let me = *choices.pick(&two);
    let others: Vec<&str> = ROLES[..universe.roles].iter().copied().filter(|role| *role != me).collect();
    let other = *choices.pick(&others);
    let (sender, receiver) = if choices.chance(1, 2) { (me, other) } else { (other, me) };
    let label = *choices.pick(&LABELS[..universe.labels]);
    Tree::Exchange {
        sender: sender.to_owned(),
        receiver: receiver.to_owned(),
        branches: vec![Branch::new(label, pick_payload(universe, choices), next)],
    }
}

/// The same type with other names for its recursion variables, from a small pool so that names are reused
/// and shadowed.
pub fn rename_variables(tree: &Tree, choices: &mut impl Choices) -> Tree {
    rename_in(tree, choices, &mut Vec::new())
}

fn rename_in(tree: &Tree, choices: &mut impl Choices, scope: &mut Vec<(String, String)>) -> Tree {
    let renamed = |scope: &[(String, String)], name: &str| {
        scope
            .iter()
            .rev()
            .find(|(old, _)| old == name)
            .map_or_else(|| name.to_owned(), |(_, new)| new.clone())
    };
    match tree {
        Tree::End => Tree::End,
        Tree::Call(name) => Tree::Call(renamed(scope, name)),
        Tree::Rec(name, body) => {
            // Free variables must not be captured.
            let taken: Vec<String> = tree.free_variables().iter().map(|free| renamed(scope, free)).collect();
            let free: Vec<&str> =
                VARIABLES.into_iter().filter(|name| !taken.iter().any(|taken| taken == name)).collect();
            let fresh = format!("V{}", scope.len());
            let new = if free.is_empty() { &fresh } else { *choices.pick(&free) };
            scope.push((name.clone(), new.to_owned()));
            let body = rename_in(body, choices, scope);
            scope.pop();
            rec(new, body)
        }
        Tree::Exchange { sender, receiver, branches } => {
            let branch =
                |b: &Branch<Tree>| Branch::new(&b.label, &b.payload, rename_in(&b.next, choices, scope));
            Tree::Exchange {
                sender: sender.clone(),
                receiver: receiver.clone(),
                branches: branches.iter().map(branch).collect(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::choices::Random;

    #[test]
    fn the_number_of_types_of_each_size() {
        let universe = Universe { roles: 3, labels: 2, payloads: &[""] };
        let counts: Vec<usize> = (0..=5).map(|size| universe.for_each(size, |_| {})).collect();
        assert_eq!(counts, [1, 3, 20, 267, 4_114, 65_476]);
        let universe = Universe { roles: 4, ..universe };
        let counts: Vec<usize> = (0..=4).map(|size| universe.for_each(size, |_| {})).collect();
        assert_eq!(counts, [1, 3, 22, 436, 11_319]);
        let universe = Universe { roles: 3, labels: 2, payloads: &["", "T"] };
        let counts: Vec<usize> = (0..=4).map(|size| universe.for_each(size, |_| {})).collect();
        assert_eq!(counts, [1, 4, 63, 1_732, 50_793]);
    }

    #[test]
    fn no_type_is_given_twice_and_all_are_well_scoped() {
        let universe = Universe { roles: 3, labels: 2, payloads: &[""] };
        let mut all = BTreeSet::new();
        universe.for_each(4, |tree| {
            assert!(tree.to_theory(&ROLES[..3]).is_ok(), "{tree}");
            assert!(all.insert(tree.clone()), "{tree}");
        });
    }

    #[test]
    fn random_types_are_closed_guarded_and_large() {
        let universe = Universe { roles: 4, labels: 3, payloads: &["", "T"] };
        let mut large = 0;
        for seed in 0..2_000 {
            let random_choices = &mut Random::new(seed);
            for tree in [
                random(universe, 30, random_choices),
                informed(universe, 15, random_choices),
                independent(universe, 12, random_choices),
            ] {
                let global =
                    tree.to_theory(&ROLES[..4]).unwrap_or_else(|errors| panic!("{tree}: {errors:?}"));
                large += usize::from(global.node_count() > 20);
            }
        }
        assert!(large > 3_000, "{large}");
    }
}
