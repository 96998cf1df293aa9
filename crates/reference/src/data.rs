//! Recursion data, literally: one environment that everybody sees, and a tree that is unfolded as it says.
//!
//! `rec X [n = e] { G }` gives `n` the value of `e` and goes on as `G`; `continue X [e]` inside `G` gives `n` the
//! value of `e` and goes on as `G` again. A message is right if its assertion holds with its fields bound, and if what must hold of
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
    /// `rec X [n = e] { G }`, where `refinement` must hold of `n`.
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
    values: BTreeMap<&'static str, i64>,
    /// The definitions around.
    definitions: BTreeMap<&'static str, Global>,
}

impl Run {
    /// The beginning; whether the initial values are right.
    #[must_use]
    pub fn new(global: &Global) -> (Self, bool) {
        let mut run = Self { at: global.clone(), values: BTreeMap::new(), definitions: BTreeMap::new() };
        let right = run.unfold();
        (run, right)
    }

    /// The run after the message `label` with `value` in its field, and whether it is right; `None` if there is no
    /// such message now.
    #[must_use]
    pub fn step(&self, label: &str, value: i64) -> Option<(Self, bool)> {
        let Global::Choice(messages) = &self.at else { return None };
        let message = messages.iter().find(|message| message.label == label)?;
        let mut next = self.clone();
        next.values.extend(message.field.map(|field| (field, value)));
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
            _ => Vec::new(),
        }
    }

    fn value(&self, expr: &Expr) -> i64 {
        match expr {
            Expr::Number(number) => *number,
            Expr::Variable(name) => self.values[name],
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
            let (definition, given) = match &self.at {
                Global::End | Global::Choice(_) => return right,
                Global::Rec { name, initial, .. } => {
                    self.definitions.insert(name, self.at.clone());
                    (self.at.clone(), Some(self.value(initial)))
                }
                Global::Continue { name, value } => {
                    (self.definitions[name].clone(), value.as_ref().map(|value| self.value(value)))
                }
            };
            let Global::Rec { variable, refinement, body, .. } = definition else { return right };
            if let Some(given) = given {
                self.values.insert(variable, given);
                right &= refinement.as_ref().is_none_or(|expr| self.value(expr) != 0);
            }
            self.at = *body;
        }
    }
}
