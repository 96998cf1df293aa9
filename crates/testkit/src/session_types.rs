//! Session types: all small ones and random larger ones.
//!
//! The *size* of a type is the number of its branches plus the number of its definitions.

use referee_reference::automaton::Step;
use referee_reference::session::Tree;

use crate::choices::{Choices, for_each};

/// The steps a type may be made of.
#[derive(Clone, Debug)]
pub struct Alphabet {
    steps: Vec<Step>,
}

impl Alphabet {
    /// Sending and receiving each of `labels` to and from each of `peers`.
    #[must_use]
    pub fn new(peers: &[&str], labels: &[&str]) -> Self {
        let mut steps = Vec::new();
        for sends in [true, false] {
            for peer in peers {
                for label in labels {
                    let (peer, label) = ((*peer).to_owned(), (*label).to_owned());
                    steps.push(Step { sends, peer, label, payload: String::new() });
                }
            }
        }
        Self { steps }
    }

    /// Every closed, guarded, deterministic type of at most `size` (branches in alphabetical order).
    #[must_use]
    pub fn all(&self, size: usize) -> Vec<Tree> {
        let mut all = Vec::new();
        let describe = |mut choices: &mut dyn FnMut(usize) -> usize| {
            let mut left = size;
            self.tree(&mut choices, &mut left, &[], &[])
        };
        for_each(describe, |tree| all.push(tree));
        all
    }

    fn tree(
        &self,
        choices: &mut impl Choices,
        left: &mut usize,
        guarded: &[String],
        pending: &[String],
    ) -> Tree {
        let most_branches = (*left).min(self.steps.len());
        let answer = choices.choose(1 + guarded.len() + (*left).min(1) + most_branches);
        if answer == 0 {
            return Tree::End;
        }
        if let Some(name) = guarded.get(answer - 1) {
            return Tree::Call(name.clone());
        }
        if answer == 1 + guarded.len() {
            *left -= 1;
            let name = format!("X{}", guarded.len() + pending.len());
            let pending = [pending, std::slice::from_ref(&name)].concat();
            return Tree::Rec(name, Box::new(self.tree(choices, left, guarded, &pending)));
        }
        let branches = answer - 1 - guarded.len();
        *left -= branches;
        let guarded = [guarded, pending].concat();
        let mut steps = Vec::new();
        let mut from = 0;
        for still_to_come in (0..branches).rev() {
            let step = from + choices.choose(self.steps.len() - still_to_come - from);
            steps.push(self.steps[step].clone());
            from = step + 1;
        }
        let branch = |step| (step, self.tree(choices, left, &guarded, &[]));
        Tree::Choice(steps.into_iter().map(branch).collect())
    }

    /// A random closed, guarded, deterministic type of at most `size`, its branches in any order.
    pub fn random(&self, size: usize, choices: &mut impl Choices) -> Tree {
        self.random_tree(size, choices, &[], &[])
    }

    fn random_tree(
        &self,
        size: usize,
        choices: &mut impl Choices,
        guarded: &[String],
        pending: &[String],
    ) -> Tree {
        if size == 0 || choices.chance(1, 12) {
            return match choices.choose(1 + guarded.len() * 2) {
                0 => Tree::End,
                answer => Tree::Call(guarded[(answer - 1) % guarded.len()].clone()),
            };
        }
        if choices.chance(1, 4) {
            let name = format!("X{}", guarded.len() + pending.len());
            let pending = [pending, std::slice::from_ref(&name)].concat();
            return Tree::Rec(name, Box::new(self.random_tree(size - 1, choices, guarded, &pending)));
        }
        let guarded = [guarded, pending].concat();
        let branches = 1 + choices.choose(size.min(self.steps.len()).min(3));
        let mut steps = self.steps.clone();
        let mut left = size - branches;
        let mut added = Vec::new();
        for _ in 0..branches {
            let step = steps.remove(choices.choose(steps.len()));
            let share = choices.choose(left + 1);
            left -= share;
            added.push((step, self.random_tree(share, choices, &guarded, &[])));
        }
        Tree::Choice(added)
    }
}

/// Another way to write `tree`: up to three definitions unfolded, some parts wrapped into definitions that
/// are never called, branches in another order. `tree` must be closed.
pub fn rewritten(tree: &Tree, choices: &mut impl Choices) -> Tree {
    rewritten_in(tree, choices, &mut 3)
}

fn rewritten_in(tree: &Tree, choices: &mut impl Choices, unfoldings: &mut usize) -> Tree {
    let new = match tree {
        Tree::End | Tree::Call(_) => tree.clone(),
        // Only a closed part may be unfolded by substitution.
        Tree::Rec(..) if *unfoldings > 0 && tree.free_variables().is_empty() && choices.chance(1, 2) => {
            *unfoldings -= 1;
            rewritten_in(&tree.unfold(), choices, unfoldings)
        }
        Tree::Rec(name, body) => Tree::Rec(name.clone(), Box::new(rewritten_in(body, choices, unfoldings))),
        Tree::Choice(branches) => {
            let branch =
                |(step, next): &(Step, Tree)| (step.clone(), rewritten_in(next, choices, unfoldings));
            let mut branches: Vec<_> = branches.iter().map(branch).collect();
            let by = choices.choose(branches.len().max(1));
            branches.rotate_left(by);
            Tree::Choice(branches)
        }
    };
    if choices.chance(1, 8) { Tree::Rec("Unused".to_owned(), Box::new(new)) } else { new }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_types_of_each_size() {
        let binary = Alphabet::new(&["b"], &["l", "m"]);
        let counts: Vec<usize> = (0..=4).map(|size| binary.all(size).len()).collect();
        assert_eq!(counts, [1, 6, 41, 322, 2_792]);
    }
}
