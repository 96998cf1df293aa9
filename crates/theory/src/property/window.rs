//! Windows: how often or how much, over the latest events of an instance.
//!
//! A guard reads the value of a window as it reads a variable: each window has a slot, which has its value while the guard is
//! evaluated. A window is over the instance's own trace, up to and including the current event. Variables bound outside occur
//! in its pattern only as equalities, so that what is kept can be grouped by them, once, whoever asks.

use super::pattern::EventPattern;
use super::{Pattern, Slot};

/// What is computed of the matches in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// How many there are.
    Count,
    /// How many different values there are.
    Distinct,
    /// The sum of the values; 0 of none.
    Sum,
    /// The least value; none of none.
    Min,
    /// The greatest value; none of none.
    Max,
    /// The mean of the values; none of none.
    Avg,
}

impl Aggregate {
    /// Every aggregate.
    pub const ALL: [Self; 6] = [Self::Count, Self::Distinct, Self::Sum, Self::Min, Self::Max, Self::Avg];

    /// Its name in the text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Distinct => "distinct",
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
            Self::Avg => "avg",
        }
    }
}

/// Which events are in a window.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowSpan {
    /// `in D`: those with a time in (t − D, t], where t is that of the current event; in nanoseconds.
    Duration(i64),
    /// `in last n`: the last n events of the instance.
    Last(u64),
    /// `in last n of [q]`: the last n that q matches.
    LastOf(u64, Box<EventPattern>),
    /// `in day`: those of the calendar day of the current event, in UTC.
    Day,
}

/// `count([p] in 60s)`, `sum(x of [p] in day)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// What is computed.
    pub aggregate: Aggregate,
    /// What matches. It binds no slot of the property outside, and tests `outer` only.
    pub pattern: EventPattern,
    /// The variable of the pattern whose values are taken; none for `count`.
    pub value: Option<Slot>,
    /// Which events are looked at.
    pub span: WindowSpan,
    /// The variables bound outside, in the order in which the pattern tests them.
    pub outer: Box<[Slot]>,
}

/// What stands for the window with this number in an expression: no user writes this letter.
#[must_use]
pub fn placeholder(number: usize) -> String {
    format!("\u{2b7}{number}")
}

impl Window {
    /// What matches, and the `q` of `in last n of [q]`.
    pub fn patterns(&self) -> impl Iterator<Item = &EventPattern> {
        let counted = match &self.span {
            WindowSpan::LastOf(_, pattern) => Some(&**pattern),
            WindowSpan::Duration(_) | WindowSpan::Last(_) | WindowSpan::Day => None,
        };
        std::iter::once(&self.pattern).chain(counted)
    }

    /// The pattern with a binder in place of each test of a variable bound outside: what it binds is the group.
    #[must_use]
    pub fn grouping(&self) -> EventPattern {
        let mut pattern = self.pattern.clone();
        let (outer, seen) = (&self.outer, &mut Vec::new());
        for part in [&mut pattern.subject, &mut pattern.object, &mut pattern.label, &mut pattern.payload] {
            bind(part, outer, seen);
        }
        pattern.keys.iter_mut().for_each(|(_, part)| bind(part, outer, seen));
        pattern
    }
}

/// The first test of each variable becomes its binder; later ones test what it bound.
fn bind(pattern: &mut Pattern, outer: &[Slot], seen: &mut Vec<Slot>) {
    match pattern {
        Pattern::Test(slot) if outer.contains(slot) && !seen.contains(slot) => {
            seen.push(*slot);
            *pattern = Pattern::Bind(*slot);
        }
        Pattern::Any | Pattern::Literal(_) | Pattern::Bind(_) | Pattern::Test(_) => {}
        Pattern::Tuple(parts) => parts.iter_mut().for_each(|part| bind(part, outer, seen)),
        Pattern::List { front, tail } => {
            front.iter_mut().chain(tail.as_deref_mut()).for_each(|part| bind(part, outer, seen));
        }
        Pattern::Record(parts) => parts.iter_mut().for_each(|(_, part)| bind(part, outer, seen)),
        Pattern::Fields { positions, names, .. } => {
            positions
                .iter_mut()
                .chain(names.iter_mut().map(|(_, part)| part))
                .for_each(|part| bind(part, outer, seen));
        }
    }
}
