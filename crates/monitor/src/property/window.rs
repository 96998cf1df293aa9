//! Windows over the events of one instance: what guards ask about how often, or how much.
//!
//! A window keeps one entry for each match that is in it, grouped by the values of the variables that are bound outside. Entries
//! have positions: their time, or the number of their event. What has a position up to the cutoff has left the window.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};

use referee_theory::property::{Aggregate, EventView, Slot, Term, Window, WindowSpan};
use referee_theory::time::DAY;
use referee_theory::value::number_order;
use smallvec::SmallVec;

use super::datum::Datum;
use super::levels::Levels;
use super::matcher::{Bound, Matcher};

/// A window, ready to be kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WindowProgram {
    aggregate: Aggregate,
    matcher: Matcher,
    /// Where, among what the matcher binds, the values of the group are.
    group: SmallVec<[usize; 2]>,
    /// And where the value is that is taken.
    value: Option<usize>,
    span: Span,
}

#[derive(Clone, Debug, PartialEq)]
enum Span {
    Duration(i64),
    Last(u64),
    LastOf(u64, Box<Matcher>),
    Day,
}

impl WindowProgram {
    pub(crate) fn new(window: &Window, levels: &Levels) -> Self {
        let pattern = window.grouping();
        let binds = pattern.binds();
        let place = |slot: &Slot| binds.iter().position(|bound| bound == slot);
        Self {
            aggregate: window.aggregate,
            matcher: Matcher::new(&pattern, &[], levels),
            group: window.outer.iter().filter_map(place).collect(),
            value: window.value.as_ref().and_then(place),
            span: match &window.span {
                WindowSpan::Duration(length) => Span::Duration(*length),
                WindowSpan::Last(count) => Span::Last(*count),
                WindowSpan::LastOf(count, pattern) => {
                    Span::LastOf(*count, Box::new(Matcher::new(pattern, &[], levels)))
                }
                WindowSpan::Day => Span::Day,
            },
        }
    }
}

impl WindowProgram {
    /// What matches, if only time decides what is in it.
    pub(crate) fn by_time(&self) -> Option<&Matcher> {
        matches!(self.span, Span::Duration(_) | Span::Day).then_some(&self.matcher)
    }
}

/// The windows of one instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    /// Most properties have one at most, which then is where the instance is.
    all: SmallVec<[State; 1]>,
    /// How many events there were.
    events: u64,
    /// How many entries there are.
    held: usize,
    /// Whether something about times had no value.
    pub(crate) fault: Cell<bool>,
}

#[derive(Clone, Debug)]
struct State {
    aggregate: Aggregate,
    /// Whether what leaves leaves all at once, so that sums are enough.
    by_day: bool,
    /// The only group, where nothing is grouped.
    single: Group,
    groups: Option<Box<Groups>>,
    /// What has this position or an earlier one has left; of a day, the day before.
    cutoff: i64,
    /// How many events the pattern of `in last n of` has matched.
    counted: u64,
}

#[derive(Clone, Debug, Default)]
struct Groups {
    by_key: HashMap<SmallVec<[Datum; 1]>, Group>,
    /// With more groups than this, empty ones are dropped.
    sweep_beyond: usize,
}

/// The matches of one group that are in the window.
#[derive(Clone, Debug, Default)]
struct Group {
    /// In order. Empty where only sums are kept.
    positions: VecDeque<i64>,
    /// The number of matches, and their day, where only sums are kept.
    count: u64,
    day: i64,
    values: Option<Box<Values>>,
}

#[derive(Clone, Debug, Default)]
struct Values {
    /// One for each position.
    all: VecDeque<Datum>,
    /// Of the integers among them.
    sum: i128,
    /// Of all numbers, from left to right, where nothing leaves by itself.
    float_sum: f64,
    floats: usize,
    /// How many are no numbers.
    odd: usize,
    /// Candidates for the extreme: each is better than all that come after it.
    best: VecDeque<(i64, Datum)>,
    distinct: HashMap<Datum, u32>,
}

impl Windows {
    pub(crate) fn new(programs: &[WindowProgram]) -> Self {
        let state = |program: &WindowProgram| State {
            aggregate: program.aggregate,
            by_day: program.span == Span::Day,
            single: Group::default(),
            groups: (!program.group.is_empty()).then(Box::default),
            cutoff: i64::MIN,
            counted: 0,
        };
        Self { all: programs.iter().map(state).collect(), events: 0, held: 0, fault: Cell::new(false) }
    }

    /// Reads what is far away in memory.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let positions = self.all.first().map(|state| &state.single.positions);
        positions.and_then(VecDeque::front).map_or(0, |first| *first as u64)
    }

    /// How many entries there are.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Takes `event` in, which happened at `time`.
    #[inline]
    pub(crate) fn update(&mut self, programs: &[WindowProgram], event: &EventView<'_>, time: i64) {
        self.events += 1;
        for (program, state) in programs.iter().zip(&mut self.all) {
            state.update(program, event, (time, self.events), &mut self.held);
        }
    }

    /// The value of the window with this number, of the group `group`.
    pub(crate) fn value(&self, window: usize, group: &[Term<'_>]) -> Option<Term<'static>> {
        let state = self.all.get(window)?;
        let found = match &state.groups {
            Some(groups) => {
                let key: SmallVec<[Datum; 1]> = group.iter().map(|term| Datum::of(*term)).collect();
                match groups.by_key.get(&key) {
                    Some(group) => group,
                    None => return Group::default().value(state.aggregate, state.by_day),
                }
            }
            None => &state.single,
        };
        if found.is_stale(state.cutoff, state.by_day) {
            // The current event is not of this group, so that nobody has looked at what has left it.
            let mut group = found.clone();
            group.expire(state.aggregate, state.cutoff, state.by_day, &mut 0);
            return group.value(state.aggregate, state.by_day);
        }
        found.value(state.aggregate, state.by_day)
    }
}

impl State {
    #[inline]
    fn update(
        &mut self,
        program: &WindowProgram,
        event: &EventView<'_>,
        (time, events): (i64, u64),
        held: &mut usize,
    ) {
        let index = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let position = match &program.span {
            Span::Duration(length) => {
                self.cutoff = time.saturating_sub(*length);
                time
            }
            Span::Last(count) => {
                self.cutoff = index(events).saturating_sub(index(*count));
                index(events)
            }
            Span::LastOf(count, of) => {
                if !of.matches(event, &[], &mut Bound::new()) {
                    return;
                }
                self.counted += 1;
                self.cutoff = index(self.counted).saturating_sub(index(*count));
                index(self.counted)
            }
            Span::Day => {
                let day = time.div_euclid(DAY);
                self.cutoff = day - 1;
                day
            }
        };
        self.single.expire(self.aggregate, self.cutoff, self.by_day, held);
        let mut bound = Bound::new();
        if !program.matcher.matches(event, &[], &mut bound) {
            return;
        }
        let value = program.value.and_then(|place| bound.get(place)).map(|term| Datum::of(*term));
        let Self { single, groups, aggregate, cutoff, by_day, .. } = self;
        let group = match groups {
            Some(groups) => {
                if groups.by_key.len() > groups.sweep_beyond {
                    groups.sweep((*aggregate, *cutoff, *by_day), held);
                }
                let at = |place: &usize| bound.get(*place).map(|term| Datum::of(*term));
                groups.by_key.entry(program.group.iter().filter_map(at).collect()).or_default()
            }
            None => single,
        };
        group.expire(*aggregate, *cutoff, *by_day, held);
        group.push(*aggregate, position, value, *by_day, held);
    }
}

impl Groups {
    #[cold]
    fn sweep(&mut self, (aggregate, cutoff, by_day): (Aggregate, i64, bool), held: &mut usize) {
        self.by_key.retain(|_, group| {
            group.expire(aggregate, cutoff, by_day, held);
            group.count > 0 || !group.positions.is_empty()
        });
        self.sweep_beyond = (2 * self.by_key.len()).max(64);
    }
}

impl Group {
    /// Whether something in it has left the window.
    fn is_stale(&self, cutoff: i64, by_day: bool) -> bool {
        match by_day {
            true => self.count > 0 && self.day <= cutoff,
            false => self.positions.front().is_some_and(|position| *position <= cutoff),
        }
    }

    /// Forgets what has left the window.
    #[inline]
    fn expire(&mut self, aggregate: Aggregate, cutoff: i64, by_day: bool, held: &mut usize) {
        if by_day {
            if self.day <= cutoff && self.count > 0 {
                *self = Self::default();
                *held = held.saturating_sub(1);
            }
            return;
        }
        while self.positions.front().is_some_and(|position| *position <= cutoff) {
            self.positions.pop_front();
            *held = held.saturating_sub(1);
            if let Some(values) = &mut self.values {
                values.leave(aggregate);
            }
        }
        if let Some(values) = &mut self.values {
            while values.best.front().is_some_and(|(position, _)| *position <= cutoff) {
                values.best.pop_front();
            }
        }
    }

    #[inline]
    fn push(
        &mut self,
        aggregate: Aggregate,
        position: i64,
        value: Option<Datum>,
        by_day: bool,
        held: &mut usize,
    ) {
        if by_day {
            *held += usize::from(self.count == 0);
            self.count += 1;
            self.day = position;
        } else {
            *held += 1;
            self.positions.push_back(position);
        }
        if let (Some(value), true) = (value, aggregate != Aggregate::Count) {
            self.values.get_or_insert_default().enter(aggregate, position, value, by_day);
        }
    }

    fn value(&self, aggregate: Aggregate, by_day: bool) -> Option<Term<'static>> {
        let count = if by_day { self.count } else { self.positions.len() as u64 };
        let int = |count: u64| i64::try_from(count).ok().map(Term::Int);
        let nothing = Values::default();
        let values = self.values.as_deref().unwrap_or(&nothing);
        match aggregate {
            Aggregate::Count => int(count),
            Aggregate::Distinct => int(values.distinct.len() as u64),
            // What is no number leaves the whole without a value.
            _ if values.odd > 0 => None,
            Aggregate::Sum if values.floats == 0 => i64::try_from(values.sum).ok().map(Term::Int),
            Aggregate::Sum => finite(values.float_sum(by_day)),
            Aggregate::Avg if count == 0 => None,
            Aggregate::Avg if values.floats == 0 => finite(values.sum as f64 / count as f64),
            Aggregate::Avg => finite(values.float_sum(by_day) / count as f64),
            Aggregate::Min | Aggregate::Max => match values.best.front()?.1.view() {
                Term::Int(value) => Some(Term::Int(value)),
                Term::Float(value) => Some(Term::Float(value)),
                _ => None,
            },
        }
    }
}

fn finite(value: f64) -> Option<Term<'static>> {
    value.is_finite().then_some(Term::Float(value))
}

impl Values {
    fn enter(&mut self, aggregate: Aggregate, position: i64, value: Datum, by_day: bool) {
        if aggregate == Aggregate::Distinct {
            *self.distinct.entry(value.clone()).or_default() += 1;
            if !by_day {
                self.all.push_back(value);
            }
            return;
        }
        match value.view() {
            Term::Int(whole) => {
                self.sum += i128::from(whole);
                self.float_sum += whole as f64;
            }
            Term::Float(number) => {
                self.floats += 1;
                self.float_sum += number;
            }
            _ => self.odd += 1,
        }
        if matches!(aggregate, Aggregate::Min | Aggregate::Max) {
            let better = |old: &(i64, Datum)| {
                let order = number_order(value.view(), old.1.view());
                order.is_some_and(|order| match aggregate {
                    Aggregate::Min => order.is_le(),
                    _ => order.is_ge(),
                })
            };
            while self.best.back().is_some_and(better) {
                self.best.pop_back();
            }
            if number_order(value.view(), value.view()).is_some() {
                self.best.push_back((position, value.clone()));
            }
        }
        if !by_day {
            self.all.push_back(value);
        }
    }

    /// The earliest value leaves.
    fn leave(&mut self, aggregate: Aggregate) {
        let Some(value) = self.all.pop_front() else { return };
        if aggregate == Aggregate::Distinct {
            if let Some(count) = self.distinct.get_mut(&value) {
                *count -= 1;
                if *count == 0 {
                    self.distinct.remove(&value);
                }
            }
            return;
        }
        match value.view() {
            Term::Int(whole) => self.sum -= i128::from(whole),
            Term::Float(_) => self.floats -= 1,
            _ => self.odd -= 1,
        }
    }

    /// From left to right: a running sum would drift when values leave it.
    fn float_sum(&self, by_day: bool) -> f64 {
        if by_day {
            return self.float_sum;
        }
        let float = |value: &Datum| match value.view() {
            Term::Int(whole) => whole as f64,
            Term::Float(number) => number,
            _ => 0.0,
        };
        self.all.iter().map(float).sum()
    }
}
