//! Properties: formulas over events (FMSD'15, Section 3), with data.
//!
//! A [`Property`] is one named formula of Hennessy-Milner logic with recursion: an arena of [`Formula`] nodes,
//! the [`EventPattern`]s that its modalities consume events with, and the [`Slot`]s that patterns fill. There is
//! no text here, and no engine: what a formula means on a stream is a dozen rules over [`Judged::node`], and
//! everything that runs formulas, fast or slow, is built on these.
//!
//! **The contract between whoever reads properties and whoever runs them**
//!
//! - Closed and guarded: every call has its definition, and between a definition and a call of it lies a
//!   modality. Following definitions and calls ([`Property::unfold`]) therefore ends.
//! - No names are left to resolve. Each data variable is a slot. A pattern either *binds* a slot or *tests* it;
//!   within a pattern, parts are matched in the order subject, object, label, payload, keys, and within
//!   each from left to right, so that what tests a slot comes after what binds it. A guard is evaluated last and
//!   reads slots only.
//! - Slots follow lexical scope. A slot that is bound inside the body of a fixpoint is bound afresh at each
//!   unfolding; one bound outside keeps its value. So an environment is a flat array, a new binding overwrites,
//!   and the slots worth keeping at a node are [`LiveSlots::at`].
//! - A property gives one kind of verdict, or none: see [`Polarity`]. [`Property::judged`] presents the formula
//!   so that an engine needs to know one kind only.
//!
//! Reading order: [`crate::value`] and [`event`] (what is observed), [`pattern`] and [`guard`] (what is asked of it),
//! [`build`], [`verdict`], [`live`], [`growth`].

pub mod build;
pub mod event;
pub mod growth;
pub mod guard;
pub mod live;
pub mod pattern;
#[cfg(test)]
mod tests;
pub mod verdict;
pub mod window;

use std::sync::Arc;

pub use build::{PropertyBuilder, PropertyError};
pub use event::{EventKind, EventView, Key};
pub use growth::Growth;
pub use guard::Guard;
pub use live::LiveSlots;
pub use pattern::{EventPattern, Pattern, PayloadFields};
pub use verdict::{Judged, Polarity, Rule};
pub use window::{Aggregate, Window, WindowSpan};

pub use crate::value::{self as term, Fields, Items, Term, Value};
use crate::vocabulary::Origin;

/// A node of a [`Property`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormulaId(pub u32);

/// One of the event patterns of a [`Property`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatternId(pub u32);

/// A data variable of a [`Property`]: an index into its environments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

impl FormulaId {
    /// This node as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl PatternId {
    /// This pattern as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Slot {
    /// This variable as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Box or diamond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Modality {
    /// `[α]φ`: after every `α`, `φ`.
    Necessity,
    /// `<α>φ`: after some `α`, `φ`.
    Possibility,
}

/// Which fixpoint a recursive formula stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fixpoint {
    /// `max X.(φ)`.
    Greatest,
    /// `min X.(φ)`.
    Least,
}

/// What is said about the events of some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeBound {
    /// `expect p within D`: one of them matches.
    Expect,
    /// `never p for D`: none of them matches.
    Never,
}

/// What can stand at a node of a property.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// `tt`.
    True,
    /// `ff`.
    False,
    /// `φ and ψ and …`: two or more.
    And(Box<[FormulaId]>),
    /// `φ or ψ or …`: two or more.
    Or(Box<[FormulaId]>),
    /// `[α]φ` or `<α>φ`.
    Modal {
        /// Box or diamond.
        modality: Modality,
        /// `α`.
        pattern: PatternId,
        /// `φ`.
        next: FormulaId,
    },
    /// `max X.(φ)` or `min X.(φ)`.
    Fixpoint {
        /// Which of the two.
        fixpoint: Fixpoint,
        /// What the formula calls the variable.
        name: Arc<str>,
        /// `φ`.
        body: FormulaId,
    },
    /// `expect p within D` or `never p for D`: it ends here, one way or the other.
    Timed {
        /// Which of the two.
        bound: TimeBound,
        /// `p`.
        pattern: PatternId,
        /// `D`, over the variables in scope.
        duration: Arc<guard::Condition>,
    },
    /// `X`.
    Call {
        /// The [`Formula::Fixpoint`] that is called.
        target: FormulaId,
    },
}

impl Formula {
    /// The nodes directly below; the definition a call leads to is not below it.
    #[must_use]
    pub fn children(&self) -> &[FormulaId] {
        match self {
            Self::True | Self::False | Self::Timed { .. } | Self::Call { .. } => &[],
            Self::And(parts) | Self::Or(parts) => parts,
            Self::Modal { next, .. } => std::slice::from_ref(next),
            Self::Fixpoint { body, .. } => std::slice::from_ref(body),
        }
    }
}

/// How many instances of a property run over a stream, and which events each of them sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Scope {
    /// One instance, which sees every event.
    Stream,
    /// `for each KEY, …`: one instance per tuple of values, created on first sight. It sees the events that have
    /// all keys, with these values; events that lack one of them are seen by no instance.
    PerKey(Box<[Key]>),
    /// detectEr's `with m:f(args) when G`: one instance per process that is started as this function. It is created
    /// by the process's own `init` event, which is the first it sees, and sees the events of which the process is
    /// the subject. The variables of the arguments keep their values in the formula.
    PerProcess(Box<ProcessScope>),
}

/// Which processes detectEr's `with` selects.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessScope {
    /// Matches the `init` event of a process that gets an instance, its guard included.
    pub start: EventPattern,
    /// The function as the user wrote it, `m:f`, for messages.
    pub function: Arc<str>,
}

/// What is known about a data variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the formula. Two slots may share one, in different scopes.
    pub name: Arc<str>,
    /// Where it is bound.
    pub origin: Origin,
}

/// Whether an instance that has given its verdict begins anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Again {
    /// It gives one verdict.
    #[default]
    Never,
    /// With the next event.
    EachTime,
    /// With the first event that is so many nanoseconds later than the verdict.
    After(i64),
}

/// A named formula whose recursion is closed and guarded; only [`PropertyBuilder::finish`] makes one.
#[derive(Clone, Debug)]
pub struct Property {
    name: Arc<str>,
    documentation: Arc<str>,
    origin: Origin,
    scope: Scope,
    again: Again,
    nodes: Vec<Formula>,
    // INVARIANT: as long as `nodes`.
    origins: Vec<Origin>,
    patterns: Vec<EventPattern>,
    slots: Vec<Variable>,
    root: FormulaId,
    /// For each node, what stands there once definitions and calls are followed.
    // INVARIANT: as long as `nodes`; no entry is a fixpoint or a call.
    unfolded: Vec<FormulaId>,
    /// For each node, whether a stream can violate it, and whether one can satisfy it.
    outcomes: Vec<verdict::Outcomes>,
}

impl Property {
    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What its author wrote about it, without comment signs; empty if nothing.
    #[must_use]
    pub fn documentation(&self) -> &Arc<str> {
        &self.documentation
    }

    /// Where it is defined.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Its instances.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Whether an instance that has given its verdict begins anew.
    #[must_use]
    pub fn again(&self) -> Again {
        self.again
    }

    /// The property whose instances begin anew as `again` says.
    #[must_use]
    pub fn beginning(self, again: Again) -> Self {
        Self { again, ..self }
    }

    /// The whole formula.
    #[must_use]
    pub fn root(&self) -> FormulaId {
        self.root
    }

    /// How many nodes there are; node numbers are below this.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// What stands at `node`.
    #[must_use]
    pub fn node(&self, node: FormulaId) -> &Formula {
        &self.nodes[node.index()]
    }

    /// Where the text of `node` stands.
    #[must_use]
    pub fn node_origin(&self, node: FormulaId) -> Origin {
        self.origins[node.index()]
    }

    /// What stands at `node` once definitions and calls are followed: never a fixpoint, never a call.
    #[must_use]
    pub fn unfold(&self, node: FormulaId) -> FormulaId {
        self.unfolded[node.index()]
    }

    /// The event pattern `pattern`.
    #[must_use]
    pub fn pattern(&self, pattern: PatternId) -> &EventPattern {
        &self.patterns[pattern.index()]
    }

    /// Every event pattern.
    #[must_use]
    pub fn patterns(&self) -> &[EventPattern] {
        &self.patterns
    }

    /// Whether it speaks of time, so that it can be judged only where events have times.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        let bounds = self.nodes.iter().any(|node| matches!(node, Formula::Timed { .. }));
        bounds || self.patterns.iter().any(|pattern| pattern.at.is_some() || !pattern.windows.is_empty())
    }

    /// Whether it says what has to happen, or must not, for some time after an event.
    #[must_use]
    pub fn has_deadlines(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, Formula::Timed { .. }))
    }

    /// The data variables: one per slot.
    #[must_use]
    pub fn slots(&self) -> &[Variable] {
        &self.slots
    }
}
