//! Projection of a global type onto one role, with full merging, twice.
//!
//! [`project`] is the textbook's inductive definition (POPL'19): projections are terms, and the merge of two
//! terms follows their syntax. [`merges`] and [`behaviour`] are its coinductive reading: what is merged is
//! behaviour, looked at through unfolding, and a loop that the role does not see contributes nothing. The
//! product implements the second, which is defined wherever the first is.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use crate::automaton::{Automaton, Step};
use crate::global::{Branch, Tree};
use crate::session;

/// `G ↾ r` by induction, or `None` where the textbook leaves it undefined.
#[must_use]
pub fn project(g: &Tree, role: &str) -> Option<session::Tree> {
    match g {
        Tree::End => Some(session::Tree::End),
        Tree::Call(x) => Some(session::Tree::Call(x.clone())),
        // (μX.G)↾r = μX.(G↾r) if r takes part in G or μX.G is not closed; end otherwise.
        Tree::Rec(x, body) => {
            if body.participants().contains(role) || !g.free_variables().is_empty() {
                Some(session::Tree::Rec(x.clone(), Box::new(project(body, role)?)))
            } else {
                Some(session::Tree::End)
            }
        }
        Tree::Exchange { sender, receiver, branches } => {
            let mut projected = Vec::new();
            for Branch { label, payload, next } in branches {
                projected.push((label, payload, project(next, role)?));
            }
            if role == sender || role == receiver {
                let sends = role == sender;
                let peer = if sends { receiver } else { sender };
                let branch = |(label, payload, next): (&String, &String, session::Tree)| {
                    let (peer, label, payload) = (peer.clone(), label.clone(), payload.clone());
                    (Step { sends, peer, label, payload }, next)
                };
                return Some(session::Tree::Choice(projected.into_iter().map(branch).collect()));
            }
            // The merge of all branches.
            let mut all = projected.into_iter().map(|(_, _, next)| next);
            let first = all.next()?;
            all.try_fold(first, |merged, next| merge(&merged, &next))
        }
    }
}

/// Full merging, `S ⊓ S'`.
#[must_use]
pub fn merge(left: &session::Tree, right: &session::Tree) -> Option<session::Tree> {
    use session::Tree::{Call, Choice, End, Rec};
    match (left, right) {
        (End, End) => Some(End),
        (Call(x), Call(y)) if x == y => Some(Call(x.clone())),
        (Rec(x, s), Rec(y, t)) if x == y => Some(Rec(x.clone(), Box::new(merge(s, t)?))),
        (Choice(a), Choice(b)) => {
            let (sends, peer) = (a.first()?.0.sends, &a.first()?.0.peer);
            let alike = |(step, _): &(Step, session::Tree)| step.sends == sends && step.peer == *peer;
            if !b.iter().all(alike) {
                return None;
            }
            let mut merged = Vec::new();
            for (step, s) in a {
                match b.iter().find(|(other, _)| other.label == step.label) {
                    Some((other, t)) if other.payload == step.payload => {
                        merged.push((step.clone(), merge(s, t)?));
                    }
                    // One label with two payloads.
                    Some(_) => return None,
                    // p!{…}⊓p!{…}: the same labels; p?{…}⊓p?{…}: those of one side are kept.
                    None if sends => return None,
                    None => merged.push((step.clone(), s.clone())),
                }
            }
            for (step, t) in b {
                if !a.iter().any(|(other, _)| other.label == step.label) {
                    if sends {
                        return None;
                    }
                    merged.push((step.clone(), t.clone()));
                }
            }
            Some(Choice(merged))
        }
        _ => None,
    }
}

/// What a role can see first of a global type, whichever way others choose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Visible {
    End,
    /// It sends or receives, with these continuations (closed types).
    Act(BTreeMap<Step, Tree>),
}

/// All that `role` can see first of the closed type `g`. A loop in which it sees nothing adds nothing.
fn visible(g: &Tree, role: &str) -> BTreeSet<Visible> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut pending = vec![g.unfold()];
    while let Some(g) = pending.pop() {
        if !seen.insert(g.clone()) {
            continue;
        }
        match &g {
            Tree::Exchange { sender, receiver, branches } if role == sender || role == receiver => {
                let sends = role == sender;
                let peer = if sends { receiver } else { sender };
                let step = |Branch { label, payload, next }: &Branch<Tree>| {
                    let (peer, label, payload) = (peer.clone(), label.clone(), payload.clone());
                    (Step { sends, peer, label, payload }, next.clone())
                };
                found.insert(Visible::Act(branches.iter().map(step).collect()));
            }
            Tree::Exchange { branches, .. } => pending.extend(branches.iter().map(|b| b.next.unfold())),
            Tree::End | Tree::Rec(..) | Tree::Call(_) => {
                found.insert(Visible::End);
            }
        }
    }
    found
}

/// [`visible`], remembered for each type.
struct Sights<'a> {
    role: &'a str,
    known: HashMap<Tree, Rc<BTreeSet<Visible>>>,
}

impl<'a> Sights<'a> {
    fn of(role: &'a str) -> Self {
        Self { role, known: HashMap::new() }
    }

    fn visible(&mut self, g: &Tree) -> Rc<BTreeSet<Visible>> {
        if let Some(known) = self.known.get(g) {
            return Rc::clone(known);
        }
        let sights = Rc::new(visible(g, self.role));
        self.known.insert(g.clone(), Rc::clone(&sights));
        sights
    }
}

/// Whether two first sights of a role can be merged, continuations apart: both are ends; or both receive
/// from one sender, common labels with one payload; or both send exactly the same.
fn agree(left: &Visible, right: &Visible) -> bool {
    let (Visible::Act(a), Visible::Act(b)) = (left, right) else { return left == right };
    let first = |steps: &BTreeMap<Step, Tree>| steps.keys().next().map(|s| (s.sends, s.peer.clone()));
    if first(a) != first(b) {
        return false;
    }
    if a.keys().any(|step| step.sends) {
        return a.keys().eq(b.keys());
    }
    a.keys().all(|s| b.keys().all(|t| s.label != t.label || s.payload == t.payload))
}

/// Whether the projection of the closed type `g` onto `role` is defined: no two places that the role cannot
/// tell apart disagree.
///
/// Places the role cannot tell apart are those that the same steps lead to; all pairs of them are visited.
/// Looking at pairs is enough: a set of first sights can be merged if any two of them can.
#[must_use]
pub fn merges(g: &Tree, role: &str) -> bool {
    let mut sights = Sights::of(role);
    let mut seen = HashSet::new();
    let mut pending = vec![(g.clone(), g.clone())];
    while let Some((left, right)) = pending.pop() {
        if !seen.insert((left.clone(), right.clone())) {
            continue;
        }
        let (lefts, rights) = (sights.visible(&left), sights.visible(&right));
        for a in lefts.iter() {
            for b in rights.iter() {
                if !agree(a, b) {
                    return false;
                }
                if let (Visible::Act(a), Visible::Act(b)) = (a, b) {
                    let common = a.iter().filter_map(|(step, g)| Some((g.clone(), b.get(step)?.clone())));
                    pending.extend(common);
                }
            }
        }
    }
    true
}

/// The behaviour of `role` where the projection is defined: after each sequence of its steps, all that it
/// may see next.
#[must_use]
pub fn behaviour(g: &Tree, role: &str) -> Automaton {
    let mut sights = Sights::of(role);
    Automaton::explore(BTreeSet::from([g.clone()]), |places: &BTreeSet<Tree>| {
        let mut next: BTreeMap<Step, BTreeSet<Tree>> = BTreeMap::new();
        for place in places {
            for sight in sights.visible(place).iter() {
                let Visible::Act(steps) = sight else { continue };
                for (step, continuation) in steps {
                    next.entry(step.clone()).or_default().insert(continuation.clone());
                }
            }
        }
        next.into_iter().collect()
    })
}
