//! Recursion data, literally: one environment that everybody sees, and a tree that is unfolded as it says.
//!
//! `rec X [n = e] { G } H` gives `n` the value of `e` and goes on as `G`; `continue X [e]` inside `G` gives `n` the
//! value of `e` and goes on as `G` again; at the end of `G` the protocol goes on as `H`. Inside `G` the name `n` means these data. Outside,
//! it means the last field of that name, as before. A message is right if its assertion holds with its fields bound, and if what must hold of
//! the data holds for all values given before the next message. Everything is an integer.

use std::collections::BTreeMap;

/// An expression; truth is not 0.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A number.
    Number(i64),
    /// A variable.
    Variable(&'static str),
    /// The sum.
    Plus(Box<Expr>, Box<Expr>),
    /// The difference.
    Minus(Box<Expr>, Box<Expr>),
    /// `<`.
    Less(Box<Expr>, Box<Expr>),
    /// `==`.
    Equal(Box<Expr>, Box<Expr>),
}

/// A protocol.
#[derive(Clone, Debug)]
pub enum Global {
    /// It is over.
    End,
    /// One of these, told apart by their labels.
    Choice(Vec<Message>),
    /// One of these, each of which begins with a choice of its own, or a recursion that does: what may be sent first.
    Branches(Vec<Self>),
    /// `rec X [n = e] { G } H`, where `refinement` must hold of `n`.
    Rec {
        /// `X`.
        name: &'static str,
        /// `n`.
        variable: &'static str,
        /// `e`.
        initial: Expr,
        /// What must hold.
        refinement: Option<Expr>,
        /// `G`.
        body: Box<Global>,
        /// `H`.
        behind: Box<Global>,
    },
    /// `continue X [e]`; without `e` the value stays.
    Continue {
        /// `X`.
        name: &'static str,
        /// `e`.
        value: Option<Expr>,
    },
}

/// A message and how the protocol goes on.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its label.
    pub label: &'static str,
    /// Its field, if it has one.
    pub field: Option<&'static str>,
    /// What must hold.
    pub assertion: Option<Expr>,
    /// How it goes on.
    pub next: Global,
}

/// Where a run stands.
#[derive(Clone, Debug)]
pub struct Run {
    at: Global,
    /// What the last field of each name was.
    fields: BTreeMap<&'static str, i64>,
    /// The recursions around, the innermost last.
    around: Vec<Around>,
}

/// A recursion that the run is in.
#[derive(Clone, Debug)]
struct Around {
    definition: Global,
    /// Its data.
    value: i64,
}

impl Run {
    /// The beginning; whether the initial values are right.
    #[must_use]
    pub fn new(global: &Global) -> (Self, bool) {
        let mut run = Self { at: global.clone(), fields: BTreeMap::new(), around: Vec::new() };
        let right = run.unfold();
        (run, right)
    }

    /// The run after the message `label` with `value` in its field, and whether it is right; `None` if there is no
    /// such message now.
    #[must_use]
    pub fn step(&self, label: &str, value: i64) -> Option<(Self, bool)> {
        let messages = match &self.at {
            Global::Choice(messages) => messages,
            Global::Branches(_) => {
                let step = |(run, right): (Self, bool)| {
                    let (next, holds) = run.step(label, value)?;
                    Some((next, holds && right))
                };
                return self.branches().into_iter().find_map(step);
            }
            _ => return None,
        };
        let message = messages.iter().find(|message| message.label == label)?;
        let mut next = self.clone();
        next.fields.extend(message.field.map(|field| (field, value)));
        let holds = message.assertion.as_ref().is_none_or(|expr| next.value(expr) != 0);
        next.at = message.next.clone();
        let right = next.unfold();
        Some((next, holds && right))
    }

    /// The labels that may come, each with whether it has a field.
    #[must_use]
    pub fn labels(&self) -> Vec<(&'static str, bool)> {
        match &self.at {
            Global::Choice(messages) => messages.iter().map(|m| (m.label, m.field.is_some())).collect(),
            Global::Branches(_) => self.branches().iter().flat_map(|(run, _)| run.labels()).collect(),
            _ => Vec::new(),
        }
    }

    /// The run in each of the branches, and whether what must hold where it begins does.
    fn branches(&self) -> Vec<(Self, bool)> {
        let Global::Branches(branches) = &self.at else { return Vec::new() };
        let enter = |branch: &Global| {
            let mut run = Self { at: branch.clone(), ..self.clone() };
            let right = run.unfold();
            (run, right)
        };
        branches.iter().map(enter).collect()
    }

    fn value(&self, expr: &Expr) -> i64 {
        match expr {
            Expr::Number(number) => *number,
            Expr::Variable(name) => {
                let is_it = |around: &&Around| matches!(around.definition, Global::Rec { variable, .. } if variable == *name);
                self.around.iter().rev().find(is_it).map_or_else(|| self.fields[name], |around| around.value)
            }
            Expr::Plus(left, right) => self.value(left) + self.value(right),
            Expr::Minus(left, right) => self.value(left) - self.value(right),
            Expr::Less(left, right) => i64::from(self.value(left) < self.value(right)),
            Expr::Equal(left, right) => i64::from(self.value(left) == self.value(right)),
        }
    }

    /// Goes on to the next message or the end; whether what must hold of the data does.
    fn unfold(&mut self) -> bool {
        let mut right = true;
        loop {
            match self.at.clone() {
                Global::Choice(_) | Global::Branches(_) => return right,
                Global::End => match self.around.pop() {
                    None => return right,
                    Some(Around { definition: Global::Rec { behind, .. }, .. }) => self.at = *behind,
                    Some(_) => unreachable!("only recursions are around"),
                },
                Global::Rec { ref initial, .. } => {
                    let value = self.value(initial);
                    self.around.push(Around { definition: self.at.clone(), value });
                    right &= self.enter(true);
                }
                Global::Continue { name, value } => {
                    let value = value.map(|value| self.value(&value));
                    let is_it = |around: &Around| matches!(around.definition, Global::Rec { name: known, .. } if known == name);
                    let Some(at) = self.around.iter().rposition(is_it) else {
                        unreachable!("it is called in its body only")
                    };
                    self.around.truncate(at + 1);
                    if let Some(value) = value {
                        self.around[at].value = value;
                    }
                    right &= self.enter(value.is_some());
                }
            }
        }
    }

    /// Goes on as the body of the innermost recursion; whether what must hold of its data does, if they have `changed`.
    fn enter(&mut self, changed: bool) -> bool {
        let Some(Around { definition: Global::Rec { body, refinement, .. }, .. }) = self.around.last() else {
            unreachable!("only recursions are around")
        };
        let holds = !changed || refinement.as_ref().is_none_or(|expr| self.value(expr) != 0);
        self.at = Global::clone(body);
        holds
    }
}
