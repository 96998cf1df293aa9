//! What properties mean on timed traces, rule by rule: section 2 of `docs/time.md`. A prefix is some events and a time before which
//! all events are known. Windows are counted anew for every event.

use referee_theory::expr::Dialect;
use referee_theory::property::{
    Aggregate, EventPattern, EventView, Formula, FormulaId, Modality, Property, TimeBound, Window, WindowSpan,
};

use crate::guard::{Datum, Slots, holds, matches, value};

/// The nanoseconds of a day.
const DAY: i64 = 86_400_000_000_000;

/// Events with their times, in order, and the time before which all are known.
#[derive(Clone, Copy, Debug)]
pub struct Prefix<'a> {
    /// The events so far; each has a time.
    pub events: &'a [EventView<'a>],
    /// Where the instance begins.
    pub start: i64,
    /// All events before this time are known.
    pub now: i64,
}

impl Prefix<'_> {
    fn time(&self, event: usize) -> i64 {
        self.events[event].time.unwrap_or_default()
    }
}

/// Whether `prefix` violates `property`.
#[must_use]
pub fn violates(property: &Property, prefix: Prefix<'_>) -> bool {
    from(property, prefix, property.root(), 0, prefix.start, &Slots::new())
}

/// Whether `prefix` violates the formula at `node` from (`consumed`, `since`).
fn from(
    property: &Property,
    prefix: Prefix<'_>,
    node: FormulaId,
    consumed: usize,
    since: i64,
    slots: &Slots,
) -> bool {
    let part = |node: FormulaId| from(property, prefix, node, consumed, since, slots);
    match property.node(node) {
        Formula::False => true,
        Formula::True => false,
        Formula::And(parts) => parts.iter().any(|node| part(*node)),
        Formula::Or(parts) => parts.iter().all(|node| part(*node)),
        Formula::Fixpoint { body, .. } => part(*body),
        Formula::Call { target } => part(*target),
        Formula::Modal { modality: Modality::Possibility, .. } => false,
        Formula::Modal { pattern, next, .. } => {
            consumed < prefix.events.len()
                && matched(property.pattern(*pattern), prefix, consumed, slots).is_some_and(|slots| {
                    from(property, prefix, *next, consumed + 1, prefix.time(consumed), &slots)
                })
        }
        Formula::Timed { bound, pattern, duration } => {
            let length = match value(Dialect::Native, duration, slots) {
                Some(Datum::Duration(length)) if length >= 0 => length,
                _ => return false,
            };
            let end = since + length;
            let some = (consumed..prefix.events.len()).any(|event| {
                prefix.time(event) <= end
                    && matched(property.pattern(*pattern), prefix, event, slots).is_some()
            });
            match bound {
                TimeBound::Expect => prefix.now > end && !some,
                TimeBound::Never => some,
            }
        }
    }
}

/// What the event at `index` binds if it matches.
fn matched(pattern: &EventPattern, prefix: Prefix<'_>, index: usize, slots: &Slots) -> Option<Slots> {
    let bare = EventPattern { guard: None, except: Box::default(), ..pattern.clone() };
    let mut known = matches(&bare, &prefix.events[index], slots)?;
    if let Some(slot) = pattern.at {
        known.insert(slot.0, Datum::Time(prefix.time(index)));
    }
    let mut asked = known.clone();
    for (slot, window) in &pattern.windows {
        if let Some(value) = recount(window, prefix, index, &known) {
            asked.insert(slot.0, value);
        }
    }
    pattern.guard.as_ref().is_none_or(|guard| holds(guard, &asked)).then_some(())?;
    let excepted = pattern.except.iter().any(|other| matches(other, &prefix.events[index], &known).is_some());
    (!excepted).then_some(known)
}

/// The value of `window` at the event `index`, from its definition.
fn recount(window: &Window, prefix: Prefix<'_>, index: usize, slots: &Slots) -> Option<Datum> {
    let now = prefix.time(index);
    let all: Vec<usize> = (0..=index).collect();
    let last = |events: Vec<usize>, count: u64| {
        let skipped = events.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
        events[skipped..].to_vec()
    };
    let inside: Vec<usize> = match &window.span {
        WindowSpan::Duration(length) => {
            all.into_iter().filter(|event| prefix.time(*event) > now - length).collect()
        }
        WindowSpan::Last(count) => last(all, *count),
        WindowSpan::LastOf(count, of) => {
            let counted =
                all.into_iter().filter(|event| matches(of, &prefix.events[*event], slots).is_some());
            last(counted.collect(), *count)
        }
        WindowSpan::Day => all
            .into_iter()
            .filter(|event| prefix.time(*event).div_euclid(DAY) == now.div_euclid(DAY))
            .collect(),
    };
    let found: Vec<Slots> = inside
        .into_iter()
        .filter_map(|event| matches(&window.pattern, &prefix.events[event], slots))
        .collect();
    let count = i64::try_from(found.len()).ok()?;
    if window.aggregate == Aggregate::Count {
        return Some(Datum::Int(count.to_string()));
    }
    let slot = window.value?;
    let values: Vec<Datum> = found.iter().filter_map(|slots| slots.get(&slot.0).cloned()).collect();
    if window.aggregate == Aggregate::Distinct {
        let mut different: Vec<Datum> = Vec::new();
        for value in values {
            if !different.contains(&value) {
                different.push(value);
            }
        }
        return Some(Datum::Int(different.len().to_string()));
    }
    let number = |value: &Datum| match value {
        Datum::Int(digits) => digits.parse::<f64>().ok(),
        Datum::Float(value) => Some(*value),
        _ => None,
    };
    let numbers: Vec<f64> = values.iter().map(number).collect::<Option<_>>()?;
    let whole: Option<Vec<i64>> = values
        .iter()
        .map(|value| match value {
            Datum::Int(digits) => digits.parse().ok(),
            _ => None,
        })
        .collect();
    let extreme = |better: fn(&f64, &f64) -> bool| {
        // The last of equal ones.
        let mut best: Option<usize> = None;
        for (at, number) in numbers.iter().enumerate() {
            if best.is_none_or(|best| !better(&numbers[best], number)) {
                best = Some(at);
            }
        }
        best.and_then(|best| values.get(best).cloned())
    };
    match window.aggregate {
        Aggregate::Sum => Some(match whole {
            Some(whole) => Datum::Int(whole.iter().sum::<i64>().to_string()),
            None => Datum::Float(numbers.iter().sum()),
        }),
        Aggregate::Avg if numbers.is_empty() => None,
        Aggregate::Avg => Some(Datum::Float(numbers.iter().sum::<f64>() / numbers.len() as f64)),
        Aggregate::Min => extreme(|best, new| best < new),
        _ => extreme(|best, new| best > new),
    }
}
