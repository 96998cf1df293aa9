//! Why a verdict was given is said alike by every way in which instances are kept.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use std::sync::Arc;

use referee_monitor::property::PropertyMonitor;
use referee_syntax::Content;
use referee_theory::property::{EventKind, EventView, Fields, Property, Term};

const SECOND: i64 = 1_000_000_000;

fn property(text: &str) -> Arc<Property> {
    let Content::Properties(file) = referee_syntax::hml::parse(text).content else { panic!("{text}") };
    Arc::clone(file.properties.first().unwrap_or_else(|| panic!("{text}")))
}

/// What is said about events with these members `k` and `v`, a second apart.
fn said(text: &str, events: &[(i64, i64)], few: usize) -> String {
    let monitor = PropertyMonitor::new(property(text)).unwrap().indexed_beyond(few);
    let keys: Vec<_> = events.iter().map(|(k, v)| [("k", Term::Int(*k)), ("v", Term::Int(*v))]).collect();
    let view = |(keys, number)| EventView {
        keys: Fields::Terms(keys),
        time: Some(number * SECOND),
        ..EventView::new(EventKind::Exchange)
    };
    let events: Vec<EventView<'_>> = keys.iter().map(|keys| keys.as_slice()).zip(0..).map(view).collect();
    let (mut memory, mut instance) = (monitor.memory(), monitor.begin(&events[0]).unwrap());
    let mut given = None;
    for event in &events {
        assert!(given.is_none(), "{text}: the last event gives the verdict");
        given = monitor.step(&mut memory, &mut instance, event, usize::MAX);
    }
    given = given.or(monitor.advance(&mut memory, &mut instance, i64::MAX));
    assert!(given.is_some(), "{text}: a verdict");
    memory.take_reason().unwrap_or_else(|| panic!("{text}: a reason")).sentence
}

#[test]
fn every_engine_says_why() {
    for (text, events, expected) in [
        ("max X.([{k: 3}]ff and [_]X)", [(0, 1), (1, 2), (3, 0)], "`{k: 3}` came"),
        (
            "max X.([{v: a}]max Y.([{k: b} when b > a + 1 || b == 9]ff and [_]Y) and [_]X)",
            [(0, 1), (1, 5), (3, 7)],
            "`{k: 3}` came; `b` is 3, `a` is 1",
        ),
        (
            "([_]ff or [{k: a}][{k: a}]ff) and [_][_][{k: b} when b - 1 == 2]ff",
            [(0, 1), (1, 5), (3, 7)],
            "`{k: 3}` came; `b` is 3",
        ),
        (
            "max X.([{k: g, v: a} at t when count([{k: g}] in 2s) > 1 && a * 2 >= 14]ff and [_]X)",
            [(3, 1), (3, 5), (3, 7)],
            "`{k: 3, v: 7}` came; `count([{k: 3}] in 2s)` is 2, `a` is 7",
        ),
        (
            "[_][{v: a}]never [{k: g} when g > a] for 1.5s",
            [(0, 0), (1, 1), (3, 7)],
            "`{k: 3}` came 1 s after event 1; none is allowed for 1500 ms; `g` is 3, `a` is 1",
        ),
        (
            "[_][_][{v: a}]expect [{k: a}] within a * 1s",
            [(0, 0), (1, 1), (3, 7)],
            "no `{k: 7}` came within 7 s of event 2",
        ),
    ] {
        for few in [0, 16] {
            assert_eq!(said(text, &events, few), expected, "{text}");
        }
    }
}
