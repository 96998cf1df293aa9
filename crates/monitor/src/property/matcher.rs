//! Event patterns, compiled: slots are places in a submonitor's environment or in what the match has bound.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use referee_theory::property::pattern::Environment;
use referee_theory::property::{
    EventKind, EventPattern, EventView, Fields, Guard, Items, Key, Pattern, PayloadFields, Slot, Term, Value,
    Window,
};
use rustc_hash::FxHasher;
use smallvec::SmallVec;

use super::datum::{Datum, same_text};
use super::levels::Levels;
use super::window::Windows;

/// What the patterns that match an event bind, one after the other.
pub(crate) type Bound<'a> = SmallVec<[Term<'a>; 8]>;

/// An event pattern over environments with given slots.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matcher {
    kind: Option<EventKind>,
    parts: Box<[(Part, Node)]>,
    guard: Option<Box<Guarded>>,
    /// No event that one of these matches does; they know what is bound here.
    except: Box<[Matcher]>,
    /// What it binds, in order, as the program calls it.
    pub(crate) binds: Box<[Slot]>,
    /// Where values must be constants or the environment's, as far as that is easily reached.
    pub(crate) demands: Box<[(Access, Demand)]>,
    /// Whether what matches depends on the environment.
    pub(crate) is_dependent: bool,
}

/// A guard and the variables it may read, as it calls them.
#[derive(Clone, Debug, PartialEq)]
struct Guarded {
    guard: Guard,
    /// What each place of an environment is.
    kept: Box<[Slot]>,
    /// What the match binds, in order.
    binds: Box<[Slot]>,
    /// Whether it computes with times: then it must have a value.
    about_time: bool,
    /// The windows it asks: the slot of each, its number, and the variables that name the group.
    windows: Box<[Asked]>,
}

/// A window that a guard asks.
#[derive(Clone, Debug, PartialEq)]
struct Asked {
    slot: Slot,
    window: usize,
    outer: Box<[Slot]>,
}

/// A part of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Subject,
    Object,
    Label,
    Payload,
    /// A member of the line; it must be there.
    Key(Key),
    /// When it happened.
    Time,
}

impl Part {
    #[inline]
    pub(crate) fn of<'a>(&self, event: &EventView<'a>) -> Option<Term<'a>> {
        match self {
            Self::Subject => Some(event.subject),
            Self::Object => Some(event.object),
            Self::Label => Some(event.label),
            Self::Payload => Some(event.payload),
            Self::Key(key) => event.key(key),
            Self::Time => event.time.map(Term::Time),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Any,
    Int(i64),
    Atom(Arc<str>),
    Text(Arc<str>),
    Literal(Value),
    Bind,
    /// The value at this place of the environment.
    Kept(u32),
    /// What was bound as this one in the same match.
    Bound(u32),
    Tuple(Box<[Node]>),
    List(Box<[Node]>, Option<Box<Node>>),
    Record(Box<[(Arc<str>, Node)]>),
    Fields {
        positions: Box<[Node]>,
        names: Box<[(Arc<str>, Node)]>,
        open: bool,
    },
}

impl Matcher {
    /// `pattern` over environments whose places hold `slots`.
    pub(crate) fn new(pattern: &EventPattern, slots: &[Slot], levels: &Levels) -> Self {
        Self::within(pattern, slots, levels, Vec::new())
    }

    /// `pattern` where `binds` is bound before it.
    fn within(pattern: &EventPattern, slots: &[Slot], levels: &Levels, mut binds: Vec<Slot>) -> Self {
        let mut parts = Vec::new();
        let fixed = [
            (Part::Subject, &pattern.subject),
            (Part::Object, &pattern.object),
            (Part::Label, &pattern.label),
            (Part::Payload, &pattern.payload),
        ];
        for (part, pattern) in fixed {
            let node = compile(pattern, slots, &mut binds);
            if node != Node::Any {
                parts.push((part, node));
            }
        }
        for (key, pattern) in &pattern.keys {
            parts.push((Part::Key(key.clone()), compile(pattern, slots, &mut binds)));
        }
        if let Some(slot) = pattern.at {
            binds.push(slot);
            parts.push((Part::Time, Node::Bind));
        }
        let mut demands = Vec::new();
        for (part, node) in &parts {
            node.demands(&mut Access { part: part.clone(), steps: SmallVec::new() }, &mut demands);
        }
        let kept = |node: &Node| node.any(&|node| matches!(node, Node::Kept(_)));
        let mut read = Vec::new();
        pattern.guard.iter().for_each(|guard| guard.slots(&mut read));
        let inner = |except| Self::within(except, slots, levels, binds.clone());
        let except: Box<[Self]> = pattern.except.iter().map(inner).collect();
        let is_dependent = parts.iter().any(|(_, node)| kept(node))
            || read.iter().any(|slot| !binds.contains(slot))
            || except.iter().any(|except| except.is_dependent);
        Self {
            kind: pattern.kind,
            parts: parts.into(),
            except,
            guard: pattern.guard.clone().map(|guard| {
                Box::new(Guarded {
                    about_time: guard.is_about_time(pattern.at.as_slice()),
                    guard,
                    kept: slots.into(),
                    binds: binds.as_slice().into(),
                    windows: Box::default(),
                })
            }),
            binds: binds.into_iter().map(|slot| levels.level(slot)).collect(),
            demands: demands.into(),
            is_dependent,
        }
    }

    /// Tells the guard of the windows it asks, which `number` numbers.
    pub(crate) fn ask(&mut self, windows: &[(Slot, Arc<Window>)], mut number: impl FnMut(&Window) -> usize) {
        if let Some(guarded) = &mut self.guard {
            let asked = |(slot, window): &(Slot, Arc<Window>)| Asked {
                slot: *slot,
                window: number(window),
                outer: window.outer.clone(),
            };
            guarded.windows = windows.iter().map(asked).collect();
        }
    }

    /// The values of the windows that the guard asks, where the match has bound `bound`.
    pub(crate) fn asked(
        &self,
        environment: &[Datum],
        bound: &[Term<'_>],
        windows: &Windows,
    ) -> Vec<(Slot, Value)> {
        let Some(guarded) = self.guard.as_deref() else { return Vec::new() };
        let asking = Asking { own: Variables { guarded, environment, bound }, windows };
        let value = |asked: &Asked| Some((asked.slot, asking.get(asked.slot)?.to_owned()));
        guarded.windows.iter().filter_map(value).collect()
    }

    /// As [`matches`](Self::matches), with a guard that may ask `windows`.
    #[inline]
    pub(crate) fn matches_in<'a>(
        &self,
        event: &EventView<'a>,
        environment: &[Datum],
        bound: &mut Bound<'a>,
        windows: &Windows,
    ) -> bool {
        let start = bound.len();
        let matched = self.fits(event, environment, start, bound);
        let holds = |guard: &Guarded| {
            let own = Variables { guarded: guard, environment, bound: &bound[start..] };
            let truth = match guard.windows.is_empty() {
                true => guard.guard.truth(&own),
                false => guard.guard.truth(&Asking { own, windows }),
            };
            if truth.is_none() && guard.about_time {
                windows.fault.set(true);
            }
            truth == Some(true)
        };
        if matched
            && self.guard.as_deref().is_none_or(holds)
            && !self.is_excepted(event, environment, start, bound)
        {
            return true;
        }
        bound.truncate(start);
        false
    }

    /// Whether an exception matches, where what is bound from `start` on is known to it.
    #[inline]
    fn is_excepted<'a>(
        &self,
        event: &EventView<'a>,
        environment: &[Datum],
        start: usize,
        bound: &mut Bound<'a>,
    ) -> bool {
        let outer = bound.len();
        self.except.iter().any(|except| {
            let found = except.fits(event, environment, start, bound)
                && except.guard.as_ref().is_none_or(|guard| guard.holds(environment, &bound[start..]));
            bound.truncate(outer);
            found
        })
    }

    #[inline(always)]
    fn fits<'a>(
        &self,
        event: &EventView<'a>,
        environment: &[Datum],
        start: usize,
        bound: &mut Bound<'a>,
    ) -> bool {
        self.kind.is_none_or(|kind| kind == event.kind)
            && self.parts.iter().all(|(part, node)| {
                part.of(event).is_some_and(|term| node.matches(term, environment, start, bound))
            })
    }

    /// Whether `event` matches under `environment`; appends what it binds to `bound`.
    #[inline]
    pub(crate) fn matches<'a>(
        &self,
        event: &EventView<'a>,
        environment: &[Datum],
        bound: &mut Bound<'a>,
    ) -> bool {
        if self.kind.is_some_and(|kind| kind != event.kind) {
            return false;
        }
        let start = bound.len();
        let matched = self.parts.iter().all(|(part, node)| {
            part.of(event).is_some_and(|term| node.matches(term, environment, start, bound))
        });
        if matched
            && self.guard.as_ref().is_none_or(|guard| guard.holds(environment, &bound[start..]))
            && !self.is_excepted(event, environment, start, bound)
        {
            return true;
        }
        bound.truncate(start);
        false
    }

    /// The text that the member `key` must be, if that is all it asks for.
    pub(crate) fn only_text(&self, key: &Key) -> Option<&str> {
        let is_more = self.kind.is_some() || self.guard.is_some() || !self.except.is_empty();
        match &*self.parts {
            [(Part::Key(own), Node::Text(text))] if own == key && !is_more => Some(text),
            _ => None,
        }
    }

    /// Whether every event matches.
    pub(crate) fn is_any(&self) -> bool {
        self.kind.is_none() && self.parts.is_empty() && self.guard.is_none() && self.except.is_empty()
    }

    /// Equal matchers have equal fingerprints.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = FxHasher::default();
        (self.kind, &self.binds).hash(&mut hasher);
        for (access, demand) in &self.demands {
            access.hash(&mut hasher);
            match demand {
                Demand::Constant(constant) => constant.hash(&mut hasher),
                Demand::Kept(place) => place.hash(&mut hasher),
            }
        }
        hasher.finish()
    }

    /// The kind of event it takes, if only one.
    pub(crate) fn kind(&self) -> Option<EventKind> {
        self.kind
    }
}

/// What must be at some place of an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Demand {
    Constant(Value),
    /// What this place of the environment holds.
    Kept(u32),
}

/// A place in an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Access {
    part: Part,
    steps: SmallVec<[Step; 2]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// An element of a tuple or list.
    Element(usize),
    Member(Arc<str>),
    /// A field of a payload by position.
    Field(usize),
}

impl Access {
    /// The member of the line that it is, if it is one as a whole.
    pub(crate) fn member(&self) -> Option<&Key> {
        match &self.part {
            Part::Key(key) if self.steps.is_empty() => Some(key),
            _ => None,
        }
    }

    /// What `event` has there.
    #[inline]
    pub(crate) fn of<'a>(&self, event: &EventView<'a>) -> Option<Term<'a>> {
        let start = self.part.of(event)?;
        self.steps.iter().try_fold(start, |term, step| match (step, term) {
            (Step::Element(index), Term::Tuple(items) | Term::List(items)) => items.get(*index),
            (Step::Member(name), Term::Record(members)) => members.get(name),
            (Step::Field(index), term) => PayloadFields::of(term).get(*index),
            _ => None,
        })
    }
}

impl Guarded {
    #[inline(never)]
    fn holds(&self, environment: &[Datum], bound: &[Term<'_>]) -> bool {
        self.guard.holds(&Variables { guarded: self, environment, bound })
    }
}

struct Variables<'v, 'a> {
    guarded: &'v Guarded,
    environment: &'v [Datum],
    bound: &'v [Term<'a>],
}

impl Environment for Variables<'_, '_> {
    fn get(&self, slot: Slot) -> Option<Term<'_>> {
        if let Some(place) = self.guarded.binds.iter().position(|bound| *bound == slot) {
            return self.bound.get(place).copied();
        }
        let place = self.guarded.kept.iter().position(|kept| *kept == slot)?;
        self.environment.get(place).map(Datum::view)
    }
}

/// Variables, and windows by their slots.
struct Asking<'v, 'a> {
    own: Variables<'v, 'a>,
    windows: &'v Windows,
}

impl Environment for Asking<'_, '_> {
    fn get(&self, slot: Slot) -> Option<Term<'_>> {
        let Some(asked) = self.own.guarded.windows.iter().find(|asked| asked.slot == slot) else {
            return self.own.get(slot);
        };
        let group = asked.outer.iter().map(|slot| self.own.get(*slot));
        self.windows.value(asked.window, &group.collect::<Option<SmallVec<[Term<'_>; 2]>>>()?)
    }
}

fn compile(pattern: &Pattern, slots: &[Slot], binds: &mut Vec<Slot>) -> Node {
    let place = |found: Option<usize>| found.map(|place| place as u32);
    let all = |patterns: &[Pattern], binds: &mut Vec<Slot>| -> Box<[Node]> {
        patterns.iter().map(|pattern| compile(pattern, slots, binds)).collect()
    };
    let named = |patterns: &[(Arc<str>, Pattern)], binds: &mut Vec<Slot>| -> Box<[(Arc<str>, Node)]> {
        patterns.iter().map(|(name, pattern)| (Arc::clone(name), compile(pattern, slots, binds))).collect()
    };
    match pattern {
        Pattern::Any => Node::Any,
        Pattern::Literal(Value::Int(value)) => Node::Int(*value),
        Pattern::Literal(Value::Atom(name)) => Node::Atom(Arc::clone(name)),
        Pattern::Literal(Value::String(text)) => Node::Text(Arc::clone(text)),
        Pattern::Literal(literal) => Node::Literal(literal.clone()),
        Pattern::Bind(slot) => {
            binds.push(*slot);
            Node::Bind
        }
        Pattern::Test(slot) => {
            let bound = place(binds.iter().position(|bound| bound == slot)).map(Node::Bound);
            // A slot that is neither bound nor kept has no value, and nothing equals it.
            let kept = || place(slots.iter().position(|kept| kept == slot)).map(Node::Kept);
            bound.or_else(kept).unwrap_or(Node::Bound(u32::MAX))
        }
        Pattern::Tuple(parts) => Node::Tuple(all(parts, binds)),
        Pattern::List { front, tail } => {
            let front = all(front, binds);
            Node::List(front, tail.as_ref().map(|tail| Box::new(compile(tail, slots, binds))))
        }
        Pattern::Record(parts) => Node::Record(named(parts, binds)),
        Pattern::Fields { positions, names, open } => {
            let positions = all(positions, binds);
            Node::Fields { positions, names: named(names, binds), open: *open }
        }
    }
}

impl Node {
    // A match is a few of these, and each a few instructions.
    #[inline(always)]
    fn matches<'a>(
        &self,
        term: Term<'a>,
        environment: &[Datum],
        start: usize,
        bound: &mut Bound<'a>,
    ) -> bool {
        match self {
            Self::Any => true,
            Self::Int(literal) => matches!(term, Term::Int(value) if value == *literal),
            Self::Atom(literal) => {
                matches!(term, Term::Atom(name) if same_text(name.as_bytes(), literal.as_bytes()))
            }
            Self::Text(literal) => {
                matches!(term, Term::Text(text) if same_text(text.as_bytes(), literal.as_bytes()))
            }
            Self::Bind => {
                bound.push(term);
                !matches!(term, Term::Absent)
            }
            Self::Kept(place) => environment.get(*place as usize).is_some_and(|datum| datum.is(term)),
            Self::Tuple(parts) => match term {
                Term::Tuple(items) => {
                    items.len() == parts.len() && all(parts, items, environment, start, bound)
                }
                _ => false,
            },
            other => other.matches_rarely(term, environment, start, bound),
        }
    }

    #[inline(never)]
    fn matches_rarely<'a>(
        &self,
        term: Term<'a>,
        environment: &[Datum],
        start: usize,
        bound: &mut Bound<'a>,
    ) -> bool {
        match self {
            Self::Literal(literal) => *literal == term,
            Self::Bound(place) => start
                .checked_add(*place as usize)
                .and_then(|place| bound.get(place))
                .is_some_and(|value| *value == term),
            Self::List(front, tail) => match term {
                Term::List(items) if items.len() >= front.len() => {
                    all(front, items, environment, start, bound)
                        && match tail {
                            None => items.len() == front.len(),
                            Some(tail) => {
                                tail.matches(Term::List(items.skip(front.len())), environment, start, bound)
                            }
                        }
                }
                _ => false,
            },
            Self::Record(parts) => match term {
                Term::Record(members) => named(parts, members, environment, start, bound),
                _ => false,
            },
            Self::Fields { positions, names, open } => {
                let fields = PayloadFields::of(term);
                let members = match term {
                    Term::Record(members) => members,
                    _ => Fields::default(),
                };
                fields.count() >= positions.len()
                    && (*open || !names.is_empty() || fields.count() == positions.len())
                    && positions.iter().enumerate().all(|(index, node)| {
                        fields.get(index).is_some_and(|term| node.matches(term, environment, start, bound))
                    })
                    && named(names, members, environment, start, bound)
            }
            other => other.matches(term, environment, start, bound),
        }
    }

    fn any(&self, test: &dyn Fn(&Self) -> bool) -> bool {
        test(self)
            || match self {
                Self::Tuple(parts) => parts.iter().any(|part| part.any(test)),
                Self::List(front, tail) => front.iter().chain(tail.as_deref()).any(|part| part.any(test)),
                Self::Record(parts) => parts.iter().any(|(_, part)| part.any(test)),
                Self::Fields { positions, names, .. } => {
                    positions.iter().chain(names.iter().map(|(_, part)| part)).any(|part| part.any(test))
                }
                _ => false,
            }
    }

    fn demands(&self, at: &mut Access, demands: &mut Vec<(Access, Demand)>) {
        let constant = match self {
            Self::Int(value) => Some(Value::Int(*value)),
            Self::Atom(name) => Some(Value::Atom(Arc::clone(name))),
            Self::Text(text) => Some(Value::String(Arc::clone(text))),
            Self::Literal(literal) => Some(literal.clone()),
            _ => None,
        };
        let mut inside = |step: Step, node: &Self| {
            at.steps.push(step);
            node.demands(at, demands);
            at.steps.pop();
        };
        match self {
            Self::Tuple(parts) | Self::List(parts, _) => {
                parts.iter().enumerate().for_each(|(index, part)| inside(Step::Element(index), part));
            }
            Self::Record(parts) => {
                parts.iter().for_each(|(name, part)| inside(Step::Member(Arc::clone(name)), part));
            }
            Self::Fields { positions, names, .. } => {
                positions.iter().enumerate().for_each(|(index, part)| inside(Step::Field(index), part));
                names.iter().for_each(|(name, part)| inside(Step::Member(Arc::clone(name)), part));
            }
            Self::Kept(place) => demands.push((at.clone(), Demand::Kept(*place))),
            _ => demands.extend(constant.map(|constant| (at.clone(), Demand::Constant(constant)))),
        }
    }
}

#[inline(never)]
fn all<'a>(
    nodes: &[Node],
    items: Items<'a>,
    environment: &[Datum],
    start: usize,
    bound: &mut Bound<'a>,
) -> bool {
    match items {
        Items::Terms(terms) => {
            nodes.iter().zip(terms).all(|(node, term)| node.matches(*term, environment, start, bound))
        }
        Items::Owned(terms) => {
            nodes.iter().zip(terms).all(|(node, term)| node.matches(term.view(), environment, start, bound))
        }
    }
}

fn named<'a>(
    nodes: &[(Arc<str>, Node)],
    members: Fields<'a>,
    environment: &[Datum],
    start: usize,
    bound: &mut Bound<'a>,
) -> bool {
    nodes.iter().all(|(name, node)| {
        members.get(name).is_some_and(|term| node.matches(term, environment, start, bound))
    })
}
