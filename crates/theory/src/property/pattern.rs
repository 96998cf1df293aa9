//! Patterns over events and terms, and what it means to match one.
//!
//! Matching here is the plain definition (FMSD'15, Definition 1, `vmtch`, with guards). Engines may do it in any
//! way that gives the same answer.

use std::sync::Arc;

use super::Slot;
use super::event::{EventKind, EventView, Key};
use super::guard::Guard;
use super::window::Window;
use crate::value::{Fields, Items, Term, Value};
use crate::vocabulary::Origin;

/// A pattern over a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `_`: anything, also nothing.
    Any,
    /// Exactly this.
    Literal(Value),
    /// Anything, and the slot takes it.
    Bind(Slot),
    /// What the slot holds.
    Test(Slot),
    /// A tuple of as many elements.
    Tuple(Box<[Pattern]>),
    /// A list.
    List {
        /// How it begins.
        front: Box<[Pattern]>,
        /// What the list of the remaining elements must match; `None` if none may remain.
        tail: Option<Box<Pattern>>,
    },
    /// A record that has these members, and maybe others.
    Record(Box<[(Arc<str>, Pattern)]>),
    /// The fields of a message. A record has its members as fields, in the order of the text; a list or tuple its
    /// elements, without names; null and nothing have none; any other payload is itself the only field.
    Fields {
        /// The first fields, by position.
        positions: Box<[Pattern]>,
        /// Fields by name.
        names: Box<[(Arc<str>, Pattern)]>,
        /// Whether there may be fields that no pattern mentions. Always so if some are given by name.
        open: bool,
    },
}

/// A pattern over an event, with a guard: `α` of `[α]φ`.
#[derive(Clone, Debug, PartialEq)]
pub struct EventPattern {
    /// What must have happened; `None` if anything may.
    pub kind: Option<EventKind>,
    /// Who.
    pub subject: Pattern,
    /// To whom.
    pub object: Pattern,
    /// The label.
    pub label: Pattern,
    /// The payload.
    pub payload: Pattern,
    /// Members of the line: each must be there and match.
    pub keys: Box<[(Key, Pattern)]>,
    /// `at x`: the slot that takes the time of the event.
    pub at: Option<Slot>,
    /// What must hold of the variables bound so far.
    pub guard: Option<Guard>,
    /// The windows that the guard asks, and the slots in which it finds their values.
    pub windows: Box<[(Slot, Arc<Window>)]>,
    /// `except q, r`: no event that matches one of these does. What they bind is theirs alone; they ask no windows and take no time.
    pub except: Box<[EventPattern]>,
    /// Where it stands in the text.
    pub origin: Origin,
}

/// The bindings an event pattern made: each slot at most once.
pub type Bound<'a> = Vec<(Slot, Term<'a>)>;

/// The values of the slots before a match.
pub trait Environment {
    /// What `slot` holds.
    fn get(&self, slot: Slot) -> Option<Term<'_>>;
}

impl Environment for [Option<Value>] {
    fn get(&self, slot: Slot) -> Option<Term<'_>> {
        <[_]>::get(self, slot.index())?.as_ref().map(Value::view)
    }
}

impl Environment for Vec<Option<Value>> {
    fn get(&self, slot: Slot) -> Option<Term<'_>> {
        Environment::get(self.as_slice(), slot)
    }
}

/// An environment and what the match in progress has added to it.
struct Extended<'e, 'a> {
    environment: &'e dyn Environment,
    bound: &'e [(Slot, Term<'a>)],
}

impl Environment for Extended<'_, '_> {
    fn get(&self, slot: Slot) -> Option<Term<'_>> {
        let new = self.bound.iter().find(|(known, _)| *known == slot);
        new.map_or_else(|| self.environment.get(slot), |(_, term)| Some(*term))
    }
}

impl EventPattern {
    /// A pattern that every event matches.
    #[must_use]
    pub fn any() -> Self {
        Self {
            kind: None,
            subject: Pattern::Any,
            object: Pattern::Any,
            label: Pattern::Any,
            payload: Pattern::Any,
            keys: Box::default(),
            at: None,
            guard: None,
            windows: Box::default(),
            except: Box::default(),
            origin: Origin::NONE,
        }
    }

    /// The pattern itself, its exceptions, and the patterns of the windows that its guard asks.
    pub fn with_inner(&self) -> impl Iterator<Item = &Self> {
        let windows = self.windows.iter().flat_map(|(_, window)| window.patterns());
        std::iter::once(self).chain(&self.except).chain(windows)
    }

    /// What `event` binds if it matches under `environment`. A guard that has no value does not hold, and one that asks a window
    /// has none here, where only one event is seen.
    #[must_use]
    pub fn matches<'a>(&self, event: &EventView<'a>, environment: &dyn Environment) -> Option<Bound<'a>> {
        if self.kind.is_some_and(|kind| kind != event.kind) {
            return None;
        }
        let mut bound = Vec::new();
        let parts = [
            (&self.subject, event.subject),
            (&self.object, event.object),
            (&self.label, event.label),
            (&self.payload, event.payload),
        ];
        for (pattern, term) in parts {
            pattern.matches(term, environment, &mut bound).then_some(())?;
        }
        for (key, pattern) in &self.keys {
            pattern.matches(event.key(key)?, environment, &mut bound).then_some(())?;
        }
        if let Some(slot) = self.at {
            bound.push((slot, Term::Time(event.time?)));
        }
        let extended = Extended { environment, bound: &bound };
        if let Some(guard) = &self.guard {
            guard.holds(&extended).then_some(())?;
        }
        let excepted = self.except.iter().any(|pattern| pattern.matches(event, &extended).is_some());
        (!excepted).then_some(bound)
    }

    /// The patterns of its parts, in the order in which they are matched.
    pub fn parts(&self) -> impl Iterator<Item = &Pattern> {
        [&self.subject, &self.object, &self.label, &self.payload]
            .into_iter()
            .chain(self.keys.iter().map(|(_, pattern)| pattern))
    }

    /// The slots it binds, in the order in which they are bound.
    #[must_use]
    pub fn binds(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        self.parts().for_each(|part| {
            part.each(&mut |pattern| {
                if let Pattern::Bind(slot) = pattern {
                    slots.push(*slot);
                }
            })
        });
        slots.extend(self.at);
        slots
    }

    /// The slots it reads and does not bind, in guard or patterns, sorted.
    #[must_use]
    pub fn reads(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        self.parts().for_each(|part| {
            part.each(&mut |pattern| {
                if let Pattern::Test(slot) = pattern {
                    slots.push(*slot);
                }
            })
        });
        if let Some(guard) = &self.guard {
            guard.slots(&mut slots);
        }
        slots.extend(self.windows.iter().flat_map(|(_, window)| &*window.outer));
        slots.extend(self.except.iter().flat_map(Self::reads));
        let bound = self.binds();
        let windows = |slot: &Slot| self.windows.iter().any(|(own, _)| own == slot);
        slots.retain(|slot| !bound.contains(slot) && !windows(slot));
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}

impl Pattern {
    /// Whether `term` matches; adds what it binds to `bound`.
    fn matches<'a>(&self, term: Term<'a>, environment: &dyn Environment, bound: &mut Bound<'a>) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(literal) => *literal == term,
            Self::Bind(_) if matches!(term, Term::Absent) => false,
            Self::Bind(slot) => {
                bound.push((*slot, term));
                true
            }
            Self::Test(slot) => Extended { environment, bound }.get(*slot).is_some_and(|value| value == term),
            Self::Tuple(parts) => match term {
                Term::Tuple(items) => {
                    items.len() == parts.len() && all(parts, items.iter(), environment, bound)
                }
                _ => false,
            },
            Self::List { front, tail } => match term {
                Term::List(items) if items.len() >= front.len() => {
                    all(front, items.iter(), environment, bound)
                        && match tail {
                            None => items.len() == front.len(),
                            Some(tail) => {
                                tail.matches(Term::List(items.skip(front.len())), environment, bound)
                            }
                        }
                }
                _ => false,
            },
            Self::Record(parts) => match term {
                Term::Record(members) => named(parts, members, environment, bound),
                _ => false,
            },
            Self::Fields { positions, names, open } => {
                let fields = PayloadFields::of(term);
                let enough = fields.count() >= positions.len();
                let exact = *open || !names.is_empty() || fields.count() == positions.len();
                let members = match term {
                    Term::Record(members) => members,
                    _ => Fields::default(),
                };
                enough
                    && exact
                    && positions.iter().enumerate().all(|(index, pattern)| {
                        fields.get(index).is_some_and(|term| pattern.matches(term, environment, bound))
                    })
                    && named(names, members, environment, bound)
            }
        }
    }

    /// Visits this pattern and those in it, in the order in which they are matched.
    pub fn each(&self, visit: &mut dyn FnMut(&Self)) {
        visit(self);
        match self {
            Self::Any | Self::Literal(_) | Self::Bind(_) | Self::Test(_) => {}
            Self::Tuple(parts) => parts.iter().for_each(|part| part.each(visit)),
            Self::List { front, tail } => {
                front.iter().chain(tail.as_deref()).for_each(|part| part.each(visit))
            }
            Self::Record(parts) => parts.iter().for_each(|(_, part)| part.each(visit)),
            Self::Fields { positions, names, .. } => {
                positions.iter().chain(names.iter().map(|(_, part)| part)).for_each(|part| part.each(visit));
            }
        }
    }
}

fn all<'a>(
    patterns: &[Pattern],
    terms: impl Iterator<Item = Term<'a>>,
    environment: &dyn Environment,
    bound: &mut Bound<'a>,
) -> bool {
    patterns.iter().zip(terms).all(|(pattern, term)| pattern.matches(term, environment, bound))
}

fn named<'a>(
    patterns: &[(Arc<str>, Pattern)],
    members: Fields<'a>,
    environment: &dyn Environment,
    bound: &mut Bound<'a>,
) -> bool {
    patterns.iter().all(|(name, pattern)| {
        members.get(name).is_some_and(|term| pattern.matches(term, environment, bound))
    })
}

/// A payload seen as fields by position: a scalar is one field, nothing is none.
#[derive(Clone, Copy, Debug)]
pub enum PayloadFields<'a> {
    /// No payload.
    None,
    /// A scalar.
    One(Term<'a>),
    /// A list or a tuple.
    Items(Items<'a>),
    /// A record.
    Members(Fields<'a>),
}

impl<'a> PayloadFields<'a> {
    /// The fields of `payload`.
    #[must_use]
    pub fn of(payload: Term<'a>) -> Self {
        match payload {
            Term::Absent | Term::Null => Self::None,
            Term::List(items) | Term::Tuple(items) => Self::Items(items),
            Term::Record(members) => Self::Members(members),
            scalar => Self::One(scalar),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
            Self::Items(items) => items.len(),
            Self::Members(members) => members.len(),
        }
    }

    /// The field at `index`.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Term<'a>> {
        match self {
            Self::None => None,
            Self::One(term) => (index == 0).then_some(*term),
            Self::Items(items) => items.get(index),
            Self::Members(members) => members.at(index).map(|(_, term)| term),
        }
    }
}
