//! Weak bisimilarity of one role's projections of two transition systems (CAV'19, Definition 14 and
//! Theorem 3): the greatest fixed point, pair by pair.

use std::collections::BTreeSet;

use referee_theory::Role;

use super::{Act, TransitionSystem};

/// π_p(left) ≈ π_p(right).
#[must_use]
pub fn weakly_bisimilar(left: &TransitionSystem, right: &TransitionSystem, role: Role) -> bool {
    let left = Weak::of(left, role);
    let right = Weak::of(right, role);
    let mut related: BTreeSet<(usize, usize)> =
        (0..left.silent.len()).flat_map(|s| (0..right.silent.len()).map(move |t| (s, t))).collect();
    loop {
        let kept: BTreeSet<(usize, usize)> = related
            .iter()
            .copied()
            .filter(|&(s, t)| {
                left.simulated(s, &right, t, |u, v| related.contains(&(u, v)))
                    && right.simulated(t, &left, s, |v, u| related.contains(&(u, v)))
            })
            .collect();
        if kept.len() == related.len() {
            return related.contains(&(0, 0));
        }
        related = kept;
    }
}

/// A transition system with the actions of all roles but one hidden.
struct Weak {
    strong: Vec<Vec<(Option<Act>, usize)>>,
    /// s ⇒ t by silent steps.
    silent: Vec<BTreeSet<usize>>,
}

impl Weak {
    fn of(ts: &TransitionSystem, role: Role) -> Self {
        let strong: Vec<Vec<(Option<Act>, usize)>> = ts
            .edges
            .iter()
            .map(|row| row.iter().map(|(act, t)| ((act.role == role).then_some(*act), *t)).collect())
            .collect();
        let silent = (0..strong.len())
            .map(|s| {
                let mut seen = BTreeSet::from([s]);
                let mut agenda = vec![s];
                while let Some(t) = agenda.pop() {
                    for (act, u) in &strong[t] {
                        if act.is_none() && seen.insert(*u) {
                            agenda.push(*u);
                        }
                    }
                }
                seen
            })
            .collect();
        Self { strong, silent }
    }

    fn weak(&self, s: usize, act: Option<Act>) -> BTreeSet<usize> {
        if act.is_none() {
            return self.silent[s].clone();
        }
        let mut targets = BTreeSet::new();
        for &t in &self.silent[s] {
            for (other, u) in &self.strong[t] {
                if *other == act {
                    targets.extend(&self.silent[*u]);
                }
            }
        }
        targets
    }

    /// Whether each strong step of `s` is matched by a weak step of `t` in `other`.
    fn simulated(&self, s: usize, other: &Self, t: usize, related: impl Fn(usize, usize) -> bool) -> bool {
        self.strong[s].iter().all(|(act, u)| other.weak(t, *act).into_iter().any(|v| related(*u, v)))
    }
}

/// Whether one role's projections of two transition systems have the same weak traces: the subset
/// construction on both at once.
#[must_use]
pub fn same_weak_traces(left: &TransitionSystem, right: &TransitionSystem, role: Role) -> bool {
    let left = Weak::of(left, role);
    let right = Weak::of(right, role);
    let start = (left.silent[0].clone(), right.silent[0].clone());
    let mut seen = BTreeSet::from([start.clone()]);
    let mut agenda = vec![start];
    while let Some((s, t)) = agenda.pop() {
        let actions: BTreeSet<Act> = left.visible(&s).chain(right.visible(&t)).collect();
        for act in actions {
            let next = (left.after(&s, act), right.after(&t, act));
            if next.0.is_empty() != next.1.is_empty() {
                return false;
            }
            if seen.insert(next.clone()) {
                agenda.push(next);
            }
        }
    }
    true
}

impl Weak {
    fn visible<'a>(&'a self, states: &'a BTreeSet<usize>) -> impl Iterator<Item = Act> + 'a {
        states.iter().flat_map(|&s| self.strong[s].iter().filter_map(|(act, _)| *act))
    }

    fn after(&self, states: &BTreeSet<usize>, act: Act) -> BTreeSet<usize> {
        states.iter().flat_map(|&s| self.weak(s, Some(act))).collect()
    }
}
