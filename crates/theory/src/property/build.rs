//! Building a property node by node, and refusing recursion without a modality in between.

use std::sync::Arc;

use super::verdict::Outcomes;
use super::{Again, EventPattern, Formula, FormulaId, PatternId, Property, Scope, Slot, Variable};
use crate::unfold;
use crate::vocabulary::Origin;

/// Why a property is ill formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyError {
    /// A definition is called again before any event has been consumed.
    Unguarded {
        /// The definition.
        definition: Origin,
        /// What is passed from the definition down to the call, both included.
        path: Vec<Origin>,
    },
}

/// Builds a [`Property`] node by node.
#[derive(Clone, Debug, Default)]
pub struct PropertyBuilder {
    nodes: Vec<Formula>,
    origins: Vec<Origin>,
    patterns: Vec<EventPattern>,
    slots: Vec<Variable>,
}

impl PropertyBuilder {
    /// No nodes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A node with this content.
    pub fn add(&mut self, formula: Formula, origin: Origin) -> FormulaId {
        self.nodes.push(formula);
        self.origins.push(origin);
        FormulaId(narrow(self.nodes.len() - 1))
    }

    /// A node to refer to before its content is known; until [`set`](Self::set) it is `tt`.
    pub fn reserve(&mut self, origin: Origin) -> FormulaId {
        self.add(Formula::True, origin)
    }

    /// Gives `node` its content.
    pub fn set(&mut self, node: FormulaId, formula: Formula) {
        self.nodes[node.index()] = formula;
    }

    /// A new data variable.
    pub fn slot(&mut self, name: Arc<str>, origin: Origin) -> Slot {
        self.slots.push(Variable { name, origin });
        Slot(narrow(self.slots.len() - 1))
    }

    /// A new event pattern.
    pub fn pattern(&mut self, pattern: EventPattern) -> PatternId {
        self.patterns.push(pattern);
        PatternId(narrow(self.patterns.len() - 1))
    }

    /// The formula at `root` as a property called `name`.
    ///
    /// # Errors
    /// Every recursion without a modality in between.
    pub fn finish(
        self,
        name: Arc<str>,
        documentation: Arc<str>,
        origin: Origin,
        scope: Scope,
        root: FormulaId,
    ) -> Result<Property, Vec<PropertyError>> {
        let Self { nodes, origins, patterns, slots } = self;
        let errors = unguarded(&nodes, &origins);
        if !errors.is_empty() {
            return Err(errors);
        }
        let unfolded = unfolded(&nodes);
        let outcomes = Outcomes::of(&nodes);
        Ok(Property {
            name,
            documentation,
            origin,
            scope,
            again: Again::Never,
            nodes,
            origins,
            patterns,
            slots,
            root,
            unfolded,
            outcomes,
        })
    }
}

/// Tables hold fewer than 2³² entries: source text is limited to 4 GiB.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Where evaluation goes from `formula` before an event is consumed.
fn silent(formula: &Formula) -> &[FormulaId] {
    match formula {
        Formula::Modal { .. } | Formula::Timed { .. } | Formula::True | Formula::False => &[],
        Formula::And(parts) | Formula::Or(parts) => parts,
        Formula::Fixpoint { body, .. } => std::slice::from_ref(body),
        Formula::Call { target } => std::slice::from_ref(target),
    }
}

/// Every cycle of silent steps, once per call that closes it.
fn unguarded(nodes: &[Formula], origins: &[Origin]) -> Vec<PropertyError> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut errors = Vec::new();
    let mut marks = vec![Mark::New; nodes.len()];
    let mut path: Vec<(FormulaId, usize)> = Vec::new();
    for start in 0..nodes.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        path.push((FormulaId(narrow(start)), 0));
        while let Some((node, next)) = path.last_mut() {
            let Some(&below) = silent(&nodes[node.index()]).get(*next) else {
                marks[node.index()] = Mark::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match marks[below.index()] {
                Mark::New => {
                    marks[below.index()] = Mark::Open;
                    path.push((below, 0));
                }
                Mark::Open => {
                    let first = path.iter().position(|(node, _)| *node == below).unwrap_or(0);
                    let path = path[first..].iter().map(|(node, _)| origins[node.index()]).collect();
                    errors.push(PropertyError::Unguarded { definition: origins[below.index()], path });
                }
                Mark::Done => {}
            }
        }
    }
    errors
}

/// What every node stands for once definitions and calls are followed.
fn unfolded(nodes: &[Formula]) -> Vec<FormulaId> {
    let ends = unfold::ends(nodes.len(), |at| match &nodes[at] {
        Formula::Fixpoint { body, .. } => Some(body.index()),
        Formula::Call { target } => Some(target.index()),
        _ => None,
    });
    ends.into_iter().map(|end| FormulaId(narrow(end))).collect()
}
