//! Section 2 of `docs/time.md`: the monitor of a property that speaks of time gives the verdict of the definition at every prefix (u, T),
//! T between events included; what was said is never taken back; how often it is told what time it is does not matter; without
//! times it is Definition 3; and a window is what a recount gives.

use std::sync::Arc;

use referee_monitor::property::{PropertyMonitor, PropertyVerdict};
use referee_reference::property::first_verdict;
use referee_reference::timed::{Prefix, violates};
use referee_syntax::hml::{parse, print};
use referee_theory::property::{EventKind, EventView, Fields, Polarity, Property, Term};

use crate::random::Random;

const SECOND: i64 = 1_000_000_000;

fn property(text: &str) -> Arc<Property> {
    let document = parse(text);
    let errors: Vec<_> = document.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    assert!(errors.is_empty(), "{text}: {errors:?}");
    let referee_syntax::Content::Properties(file) = document.content else { panic!("{text}") };
    Arc::clone(file.properties.first().unwrap_or_else(|| panic!("{text}")))
}

/// All formulas with up to `size` operators, over two patterns and two durations.
fn formulas(size: usize) -> Vec<String> {
    let patterns = ["{k: 0}", "_"];
    if size == 0 {
        let mut leaves = vec!["ff".to_owned(), "[_ at t][_ at u when u - t > 1s]ff".to_owned()];
        for pattern in patterns {
            for length in ["0s", "2s"] {
                leaves.push(format!("expect [{pattern}] within {length}"));
                leaves.push(format!("never [{pattern}] for {length}"));
            }
        }
        return leaves;
    }
    let mut all = Vec::new();
    for inner in formulas(size - 1) {
        for pattern in patterns {
            all.push(format!("[{pattern}]({inner})"));
            all.push(format!("max X.([{pattern}]X and ({inner}))"));
        }
    }
    for left in 0..size {
        for first in formulas(left) {
            for second in formulas(size - 1 - left) {
                all.push(format!("(({first}) and ({second}))"));
                all.push(format!("(({first}) or ({second}))"));
            }
        }
    }
    all
}

/// All traces of `length` events with `k` 0 or 1 and times of a grid.
fn traces(length: usize) -> Vec<Vec<(i64, i64)>> {
    let mut all = vec![Vec::new()];
    for _ in 0..length {
        let longer = |trace: &Vec<(i64, i64)>| {
            let from = trace.last().map_or(0, |(_, time)| *time);
            (from..=3)
                .flat_map(move |time| [0, 1].map(|k| (k, time)))
                .map(|event| [trace.as_slice(), &[event]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn views<'a>(keys: &'a [[(&'a str, Term<'a>); 2]], times: &[i64]) -> Vec<EventView<'a>> {
    let view = |(keys, time): (&'a [(&'a str, Term<'a>); 2], &i64)| EventView {
        keys: Fields::Terms(keys),
        time: Some(*time),
        ..EventView::new(EventKind::Exchange)
    };
    keys.iter().zip(times).map(view).collect()
}

/// How often the definition said what, so that a law over nothing is noticed.
#[derive(Default)]
struct Tally {
    violated: usize,
    kept: usize,
}

impl Tally {
    /// Follows `events`, asking at each of `ask` between them and after them.
    fn follow(&mut self, text: &str, events: &[EventView<'_>], ask: i64, end: i64) {
        let property = property(text);
        let Ok(monitor) = PropertyMonitor::new(Arc::clone(&property)) else { return };
        let mut memory = monitor.memory();
        let mut instance = monitor.begin(&events[0]).unwrap();
        let mut given = monitor.verdict_at_start();
        let start = events[0].time.unwrap();
        let mut said = false;
        for count in 0..=events.len() {
            if count > 0 {
                let verdict = monitor.step(&mut memory, &mut instance, &events[count - 1], usize::MAX);
                given = given.or(verdict);
            }
            let from = events[..count].last().map_or(start, |event| event.time.unwrap());
            let to = events.get(count).map_or(end, |event| event.time.unwrap());
            let mut now = from;
            while now <= to {
                given = given.or(monitor.advance(&mut memory, &mut instance, now));
                let expected = violates(&property, Prefix { events: &events[..count], start, now });
                assert!(expected || !said, "{text} is irrevocable: {events:?} at {now}");
                said = expected;
                let found = given == Some(PropertyVerdict::Violation);
                assert_eq!(found, expected, "{text}: {count} of {events:?} at {now}");
                *if expected { &mut self.violated } else { &mut self.kept } += 1;
                now += ask;
            }
        }
        // Told once, at the end, it says the same.
        let mut once = monitor.begin(&events[0]).unwrap();
        let mut given = monitor.verdict_at_start();
        for event in events {
            given = given.or(monitor.step(&mut memory, &mut once, event, usize::MAX));
        }
        given = given.or(monitor.advance(&mut memory, &mut once, end));
        assert_eq!(given == Some(PropertyVerdict::Violation), said, "{text}: {events:?}, told once");
    }
}

#[test]
fn every_small_formula_on_every_small_timed_trace() {
    let mut tally = Tally::default();
    let formulas: Vec<String> = (0..=2).flat_map(formulas).collect();
    for trace in traces(3) {
        let keys: Vec<_> = trace.iter().map(|(k, _)| [("k", Term::Int(*k)), ("v", Term::Null)]).collect();
        let times: Vec<i64> = trace.iter().map(|(_, time)| time * SECOND).collect();
        let events = views(&keys, &times);
        // The largest formulas on every 29th trace: all of them would take minutes.
        for (number, text) in formulas.iter().enumerate() {
            if number < 60 || (number + trace[0].1 as usize + 2 * trace[1].1 as usize).is_multiple_of(29) {
                tally.follow(text, &events, SECOND / 2, 6 * SECOND);
            }
        }
    }
    assert!(tally.violated > 20_000 && tally.kept > 20_000, "{} {}", tally.violated, tally.kept);
}

#[test]
fn what_is_printed_is_read_back() {
    let windows = [
        "max X.([{k: g} when count([{k: g}] in 3s) > 2]ff and [_]X)",
        "[_ when sum(x of [{v: x, k: 1}] in last 4 of [{k: 1}]) >= 1.5]ff",
        "[{k: g} when distinct(x of [{v: x, k: g}] in day) > 2 && min(g, 3) < 3]ff",
    ];
    for text in formulas(1).into_iter().chain(windows.map(str::to_owned)) {
        let first = property(&text);
        let printed = print(&[Arc::clone(&first)]);
        assert_eq!(print(&[property(&printed)]), printed, "{text}");
    }
}

#[test]
fn without_times_it_is_definition_3() {
    let texts = ["max X.([{k: 0}]ff and [_]X)", "[{k: 0}][{k: 1}]ff or [_]ff"];
    for trace in traces(3) {
        let keys: Vec<_> = trace.iter().map(|(k, _)| [("k", Term::Int(*k)), ("v", Term::Null)]).collect();
        let times: Vec<i64> = trace.iter().map(|(_, time)| time * SECOND).collect();
        let events = views(&keys, &times);
        for text in texts {
            let property = property(text);
            let first = first_verdict(&property, Polarity::Violation, &[], &events);
            let prefix = Prefix { events: &events, start: times[0], now: i64::MAX };
            assert_eq!(violates(&property, prefix), first.is_some(), "{text}");
        }
    }
}

#[test]
fn a_window_is_a_recount() {
    let spans = ["3s", "last 3", "last 2 of [{k: 1}]", "day", "0s"];
    let aggregates = [
        "count([{k: g}] in SPAN) > 2",
        "count([{k: 0}] in SPAN) == 1",
        "sum(x of [{k: g, v: x}] in SPAN) > 4",
        "sum(x of [{v: x}] in SPAN) == 0",
        "avg(x of [{k: 1, v: x}] in SPAN) >= 1.5",
        "min(x of [{k: g, v: x}] in SPAN) > 0",
        "max(x of [{v: x}] in SPAN) < 3",
        "distinct(x of [{k: g, v: x}] in SPAN) > 2",
    ];
    let mut tally = Tally::default();
    for seed in 0..60 {
        let random = &mut Random::new(seed);
        let mut time = 0;
        let (mut keys, mut times) = (Vec::new(), Vec::new());
        for _ in 0..16 {
            let value = match random.below(12) {
                0 => Term::Text("none"),
                1..=3 => Term::Float(random.below(5) as f64 / 2.0),
                _ => Term::Int(random.below(5) as i64 - 1),
            };
            keys.push([("k", Term::Int(random.below(2) as i64)), ("v", value)]);
            time += *random.pick(&[0, 0, 1, 1, 2, 40_000]) * SECOND;
            times.push(time);
        }
        let events = views(&keys, &times);
        for span in spans {
            for aggregate in aggregates {
                let guard = aggregate.replace("SPAN", span);
                let text = format!("max X.([{{k: g}} when {guard}]ff and [_]X)");
                tally.follow(&text, &events, i64::MAX / 2, time);
            }
        }
    }
    assert!(tally.violated > 5_000 && tally.kept > 5_000, "{} {}", tally.violated, tally.kept);
}

/// Many that wait at once are found by their values and by their deadlines.
#[test]
fn many_that_wait_are_each_met_or_missed() {
    let texts = [
        "max X.([{k: g}]expect [{v: g}] within 20s and [_]X)",
        "max X.([{k: g}]expect [{v: g, k: h} when h != g] within (g + 8) * 1s and [_]X)",
        "max X.([{k: g}]never [{v: g}] for 3s and [_]X)",
        "max X.([{k: g, v: w}](expect [{v: g}] within 9s or never [{k: w}] for 9s) and [_]X)",
        "max X.([{k: g, v: w}](expect [{v: g}] within 30s and never [{k: w, v: g}] for 9s) and [_]X)",
    ];
    let mut tally = Tally::default();
    for seed in 0..24 {
        let random = &mut Random::new(seed);
        let (mut keys, mut times, mut time) = (Vec::new(), Vec::new(), 0);
        for number in 0..48_i64 {
            // A value is asked for, and mostly comes within 18 events.
            let answered =
                if random.below(40) == 0 { number + 100 } else { number - random.below(18) as i64 };
            keys.push([("k", Term::Int(number)), ("v", Term::Int(answered.max(-1)))]);
            times.push(time * SECOND);
            time += random.below(2) as i64;
        }
        let events = views(&keys, &times);
        for text in texts {
            tally.follow(text, &events, SECOND / 2, times[47] + 12 * SECOND);
        }
    }
    assert!(tally.violated > 500 && tally.kept > 500, "{} {}", tally.violated, tally.kept);
}
