//! Which verdicts a formula can give, and the rules by which it gives them.
//!
//! A stream *violates* a formula by Definition 3 of FMSD'15, with the disjunction that its rules extend to: both
//! sides must be violated along the one stream. It *satisfies* one by the dual rules. What has been seen never
//! refutes `<α>φ`, for the system might have done `α`, and never proves `[α]φ`, for it might still do `α`; so
//!
//! | | violated by `s` | satisfied by `s` |
//! |---|---|---|
//! | `ff` | always | never |
//! | `tt` | never | always |
//! | `φ and ψ` | `φ` or `ψ` is | `φ` and `ψ` are |
//! | `φ or ψ` | `φ` and `ψ` are | `φ` or `ψ` is |
//! | `[α]φ` | `s` is `e·t`, `e` matches `α`, `t` violates `φ` | never |
//! | `<α>φ` | never | `s` is `e·t`, `e` matches `α`, `t` satisfies `φ` |
//! | `max X.φ`, `min X.φ` | the unfolding is | the unfolding is |
//! | `expect p within D` | its time is over, and no event in it matched | never |
//! | `never p for D` | an event in its time matches | never |
//!
//! Both are least relations. No formula can be violated by one stream and satisfied by another (by induction on the two
//! derivations: a conjunction or disjunction that could do both has a part that could, a modality never can,
//! and `ff` and `tt` cannot), so a property has a [`Polarity`] or can give no verdict at all.

use super::guard::Condition;
use super::{EventPattern, Formula, FormulaId, Modality, Property, TimeBound};

/// The kind of verdict a property gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Polarity {
    /// Some streams violate it.
    Violation,
    /// Some streams satisfy it.
    Satisfaction,
}

/// What is possible at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    violation: bool,
    satisfaction: bool,
}

impl Outcomes {
    /// The least solution of the table above with patterns taken to be matchable, for all `nodes`.
    pub(super) fn of(nodes: &[Formula]) -> Vec<Self> {
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (user, formula) in (0u32..).zip(nodes) {
            formula.children().iter().for_each(|child| users[child.index()].push(user));
            if let Formula::Call { target } = formula {
                users[target.index()].push(user);
            }
        }
        let mut outcomes = vec![Self::default(); nodes.len()];
        // For each node, how many parts are not yet known to have the outcome.
        let mut missing: Vec<[usize; 2]> = nodes.iter().map(|node| [node.children().len(); 2]).collect();
        let mut pending = Vec::new();
        for (at, formula) in (0u32..).zip(nodes) {
            match formula {
                Formula::False | Formula::Timed { .. } => pending.push((at, Polarity::Violation)),
                Formula::True => pending.push((at, Polarity::Satisfaction)),
                _ => {}
            }
        }
        while let Some((at, polarity)) = pending.pop() {
            if std::mem::replace(outcomes[at as usize].flag(polarity), true) {
                continue;
            }
            for &user in &users[at as usize] {
                let waiting = &mut missing[user as usize][polarity as usize];
                *waiting = waiting.saturating_sub(1);
                let reached = match (&nodes[user as usize], polarity) {
                    (Formula::And(_), Polarity::Violation) | (Formula::Or(_), Polarity::Satisfaction) => true,
                    (Formula::And(_) | Formula::Or(_), _) => *waiting == 0,
                    (Formula::Modal { modality, .. }, _) => *modality == polarity.modality(),
                    _ => true,
                };
                if reached {
                    pending.push((user, polarity));
                }
            }
        }
        outcomes
    }

    fn flag(&mut self, polarity: Polarity) -> &mut bool {
        match polarity {
            Polarity::Violation => &mut self.violation,
            Polarity::Satisfaction => &mut self.satisfaction,
        }
    }
}

impl Polarity {
    /// The modality that can lead to such a verdict.
    #[must_use]
    pub fn modality(self) -> Modality {
        match self {
            Self::Violation => Modality::Necessity,
            Self::Satisfaction => Modality::Possibility,
        }
    }
}

/// What a node of a judged property asks for, whichever verdict it gives. Definitions and calls are followed.
#[derive(Clone, Copy, Debug)]
pub enum Rule<'a> {
    /// No stream leads to the verdict from here: drop it.
    Never,
    /// The verdict is given.
    Now,
    /// As soon as one of these gives it. Parts that never do are among them.
    Any(&'a [FormulaId]),
    /// As soon as all of these have given it; each may do so at an event of its own.
    All(&'a [FormulaId]),
    /// After an event that matches, from `next` on; if the next event does not match, never.
    After {
        /// What must match.
        pattern: &'a EventPattern,
        /// Its number in the property.
        id: super::PatternId,
        /// What then remains.
        next: FormulaId,
    },
    /// When its time is over without a match, or when there is a match in it.
    Timed {
        /// Which of the two.
        bound: TimeBound,
        /// What matches.
        pattern: &'a EventPattern,
        /// How long its time is.
        duration: &'a Condition,
    },
}

/// A property together with the verdict it gives.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    property: &'a Property,
    polarity: Polarity,
}

impl Property {
    /// Whether a stream can lead from `node` to the verdict `polarity`.
    #[must_use]
    pub fn can(&self, node: FormulaId, polarity: Polarity) -> bool {
        let outcomes = self.outcomes[node.index()];
        match polarity {
            Polarity::Violation => outcomes.violation,
            Polarity::Satisfaction => outcomes.satisfaction,
        }
    }

    /// The verdict this property gives; `None` if it can never give one.
    #[must_use]
    pub fn polarity(&self) -> Option<Polarity> {
        [Polarity::Violation, Polarity::Satisfaction]
            .into_iter()
            .find(|polarity| self.can(self.root, *polarity))
    }

    /// The property as rules for the verdict it gives; `None` if it can never give one.
    #[must_use]
    pub fn judged(&self) -> Option<Judged<'_>> {
        self.polarity().map(|polarity| Judged { property: self, polarity })
    }
}

impl<'a> Judged<'a> {
    /// The property.
    #[must_use]
    pub fn property(self) -> &'a Property {
        self.property
    }

    /// The verdict it gives.
    #[must_use]
    pub fn polarity(self) -> Polarity {
        self.polarity
    }

    /// The rule at `node`.
    #[must_use]
    pub fn node(self, node: FormulaId) -> Rule<'a> {
        if !self.property.can(node, self.polarity) {
            return Rule::Never;
        }
        match (self.property.node(self.property.unfold(node)), self.polarity) {
            (Formula::And(parts), Polarity::Violation) | (Formula::Or(parts), Polarity::Satisfaction) => {
                Rule::Any(parts)
            }
            (Formula::And(parts), Polarity::Satisfaction) | (Formula::Or(parts), Polarity::Violation) => {
                Rule::All(parts)
            }
            (Formula::Modal { pattern, next, .. }, _) => {
                Rule::After { pattern: self.property.pattern(*pattern), id: *pattern, next: *next }
            }
            (Formula::Timed { bound, pattern, duration }, _) => {
                Rule::Timed { bound: *bound, pattern: self.property.pattern(*pattern), duration }
            }
            // Of the two constants only the one of this polarity can lead to the verdict, and `unfold` leaves
            // neither fixpoints nor calls.
            _ => Rule::Now,
        }
    }
}
