//! The monitors of Definition 7 as actors, and their steps in any order (FMSD'15, Sections 2 and 5).
//!
//! An actor is an expression and a mailbox. The expressions are those that Definition 7, `Mon` and `mLoop` can
//! become, named after what is left to do; each step of an actor is one of theirs. Process identifiers are paths, the
//! n-th child of `p` being `p.n`, so that the same actors have the same names whatever the order of steps.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, ActionPattern, Formula};

/// i: a process identifier.
pub type Pid = Vec<u8>;

/// x_env: which monitor each formula variable stands for. ⟦φ⟧ is kept as φ.
pub type Environment = Vec<(String, Formula)>;

/// What an actor is about to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expression {
    /// ⟦φ⟧(env).
    Apply(Formula, Environment),
    /// fail!
    Fail,
    /// ⟦φ₁∧φ₂⟧ after `y₁ = spw(…)`: the second is still to be spawned.
    SpawnSecond(Formula, Environment),
    /// `fork(y₁, y₂)`: `rcv z → y₁!z, y₂!z end` and again.
    Fork,
    /// `fork` after `y₁!z`.
    ForkSecond(Action),
    /// `rcv tr(α) → ⟦φ⟧(env); _ → stop end`.
    Receive(ActionPattern, Formula, Environment),
    /// `mLoop(x)`: `rcv z → x!z end` and again.
    Loop,
    /// Done.
    Stop,
}

/// i[e / q].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Actor {
    /// e.
    pub expression: Expression,
    /// q: messages not yet read, the oldest first.
    pub mailbox: Vec<Action>,
}

/// Actors in parallel.
pub type Actors = BTreeMap<Pid, Actor>;

/// A step of some actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// τ, and what the actors become.
    Silent(Actors),
    /// fail!
    Fail,
}

fn child(pid: &Pid, number: u8) -> Pid {
    [&pid[..], &[number]].concat()
}

fn spawn(actors: &mut Actors, pid: Pid, formula: &Formula, environment: &Environment) {
    let expression = Expression::Apply(formula.clone(), environment.clone());
    actors.insert(pid, Actor { expression, mailbox: Vec::new() });
}

/// i[Mon(φ) / tr(s)], after `z = spw(⟦φ⟧(nil))`.
#[must_use]
pub fn monitor(formula: &Formula, trace: &[Action]) -> Actors {
    let mut actors = Actors::new();
    spawn(&mut actors, vec![0], formula, &Vec::new());
    actors.insert(Vec::new(), Actor { expression: Expression::Loop, mailbox: trace.to_vec() });
    actors
}

/// What the actor `pid` can do next; at most one thing.
fn step(actors: &Actors, pid: &Pid) -> Option<Step> {
    let Actor { expression, mailbox } = &actors[pid];
    let mut after = actors.clone();
    let (become_, read) = match expression {
        Expression::Stop => return None,
        Expression::Fail => return Some(Step::Fail),
        Expression::Apply(formula, environment) => (
            match formula {
                Formula::Ff => Expression::Fail,
                // No rule of the paper's; nothing is ever to be flagged.
                Formula::Tt => Expression::Stop,
                Formula::And(left, right) => {
                    spawn(&mut after, child(pid, 1), left, environment);
                    Expression::SpawnSecond((**right).clone(), environment.clone())
                }
                Formula::Necessity(action, next) => {
                    Expression::Receive(action.clone(), (**next).clone(), environment.clone())
                }
                Formula::Max(name, body) => {
                    let extended = [&[(name.clone(), (**body).clone())], &environment[..]].concat();
                    Expression::Apply((**body).clone(), extended)
                }
                Formula::Variable(name) => {
                    // lookUp: the innermost of this name; without one, the actor exits.
                    let found = environment.iter().find(|(known, _)| known == name);
                    match found {
                        Some((_, body)) => Expression::Apply(body.clone(), environment.clone()),
                        None => Expression::Stop,
                    }
                }
            },
            false,
        ),
        Expression::SpawnSecond(formula, environment) => {
            spawn(&mut after, child(pid, 2), formula, environment);
            (Expression::Fork, false)
        }
        Expression::Fork => {
            let message = mailbox.first()?.clone();
            after.get_mut(&child(pid, 1))?.mailbox.push(message.clone());
            (Expression::ForkSecond(message), true)
        }
        Expression::ForkSecond(message) => {
            after.get_mut(&child(pid, 2))?.mailbox.push(message.clone());
            (Expression::Fork, false)
        }
        Expression::Receive(pattern, next, environment) => {
            let message = mailbox.first()?;
            let expression = match pattern.matches(message) {
                Some(sigma) => Expression::Apply(next.with(&sigma), environment.clone()),
                None => Expression::Stop,
            };
            (expression, true)
        }
        Expression::Loop => {
            let message = mailbox.first()?.clone();
            after.get_mut(&vec![0])?.mailbox.push(message);
            (Expression::Loop, true)
        }
    };
    let actor = after.get_mut(pid)?;
    actor.expression = become_;
    if read {
        actor.mailbox.remove(0);
    }
    // A stopped actor reads nothing more; what it is sent makes no difference.
    after.values_mut().filter(|actor| actor.expression == Expression::Stop).for_each(|a| a.mailbox.clear());
    Some(Step::Silent(after))
}

/// Everything that can happen next, in any order.
#[must_use]
pub fn steps(actors: &Actors) -> Vec<Step> {
    actors.keys().filter_map(|pid| step(actors, pid)).collect()
}

/// All B with `actors` ⇒ B, each with whether it can do fail! at once, and where it leads.
#[must_use]
pub fn reachable(actors: &Actors) -> BTreeMap<Actors, (bool, Vec<Actors>)> {
    let mut all = BTreeMap::new();
    let mut pending = vec![actors.clone()];
    while let Some(actors) = pending.pop() {
        if all.contains_key(&actors) {
            continue;
        }
        let mut fails = false;
        let mut next = Vec::new();
        for step in steps(&actors) {
            match step {
                Step::Fail => fails = true,
                Step::Silent(after) => next.push(after),
            }
        }
        pending.extend(next.iter().cloned());
        all.insert(actors, (fails, next));
    }
    all
}

/// Of all B with `actors` ⇒ B, those with B =fail!⇒.
#[must_use]
pub fn failing(all: &BTreeMap<Actors, (bool, Vec<Actors>)>) -> BTreeSet<&Actors> {
    let mut failing: BTreeSet<&Actors> =
        all.iter().filter(|(_, (fails, _))| *fails).map(|(actors, _)| actors).collect();
    loop {
        let more: Vec<&Actors> = all
            .iter()
            .filter(|(actors, (_, next))| {
                !failing.contains(actors) && next.iter().any(|next| failing.contains(next))
            })
            .map(|(actors, _)| actors)
            .collect();
        if more.is_empty() {
            return failing;
        }
        failing.extend(more);
    }
}
