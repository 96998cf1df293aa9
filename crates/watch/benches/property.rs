//! Property monitors: events per second of one processor, on decoded events, from JSON lines and from detectEr's log;
//! how the cost grows with keys, and with properties that an event does not concern.
//!
//! `cargo xtask bench property`. Times are processor times of this thread, so that they mean something on a busy machine;
//! each figure is the best of several rounds, the spread beside it.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "a benchmark")]

use std::fmt::Write as _;
use std::io::Cursor;
use std::sync::Arc;

use referee_monitor::property::{PropertyFamily, PropertyMonitor};
use referee_syntax::{Content, Language, parse};
use referee_theory::property::{EventKind, EventView, Items, Term};
use referee_watch::{EventsFormat, Input, Notice, Observer, Options, Progress, watch_properties};

/// detectEr's worker property: a request is answered once; with its overlapping conjunction.
const LITERAL: &str = "[wrk?{req,C,N}]max X.([C!{rply,N}][C!{rply,N}]ff and [C!{rply,N}][wrk?{req,C,_}]X)";
/// The same, factored: at most one modality takes an event.
const FACTORED: &str = "[wrk?{req,C,N}]max X.([C!{rply,N}]([C!{rply,N}]ff and [wrk?{req,C,_}]X))";
/// Client and number bound afresh in every round, in both conjuncts.
const FRESH: &str = "max X.([wrk?{req,C,N}][C!{rply,N}][C!{rply,N}]ff and [wrk?{req,C,N}][C!{rply,N}]X)";

const ROUNDS: usize = 5;
/// Nanoseconds of a round, at least.
const LONG: f64 = 5e8;

fn monitors(text: &str) -> Vec<Arc<PropertyMonitor>> {
    let Content::Properties(file) = parse(text, Language::Hml).content else { return Vec::new() };
    assert!(!file.properties.is_empty(), "{text}");
    file.properties
        .iter()
        .map(|property| Arc::new(PropertyMonitor::new(Arc::clone(property)).unwrap()))
        .collect()
}

/// Nanoseconds that this thread has had on a processor.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0.0)
}

/// Prints the rate of `run`, which takes `events` events; nanoseconds per event.
fn rate(what: &str, events: usize, mut run: impl FnMut()) -> f64 {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        // The system counts in steps of some milliseconds: a round is long enough for that not to matter.
        let (before, mut runs) = (processor(), 0);
        while processor() - before < LONG {
            run();
            runs += 1;
        }
        times.push((processor() - before) / (events * runs) as f64);
    }
    times.sort_by(f64::total_cmp);
    let (best, worst) = (times[0], times[times.len() - 1]);
    println!("{what:<58} {:>7.2} M events/s   {best:>7.1} to {worst:.1} ns", 1e3 / best);
    best
}

fn step_all(family: &PropertyFamily, events: &[EventView<'_>], expected: usize) {
    let mut memories = family.memories();
    let mut bundle = family.begin(&mut memories, &events[0]).unwrap();
    let mut verdicts = 0;
    for event in events {
        verdicts += family.step(&mut memories, &mut bundle, event, usize::MAX / 4).verdicts.len();
    }
    assert_eq!(verdicts, expected);
}

/// Requests and replies, decoded; a client called `c1` and a number, which is always the same or counts up.
fn decoded() {
    const PAIRS: usize = 1_000_000;
    let arena = bumpalo::Bump::new();
    for (name, text, fresh) in
        [("literal", LITERAL, false), ("factored", FACTORED, false), ("fresh", FRESH, true)]
    {
        let mut events = Vec::with_capacity(2 * PAIRS);
        for pair in 0..PAIRS {
            let number = Term::Int(if fresh { pair as i64 } else { 7 });
            let request = arena.alloc([Term::Atom("req"), Term::Atom("c1"), number]);
            let reply = arena.alloc([Term::Atom("rply"), number]);
            let (wrk, client) = (Term::Atom("wrk"), Term::Atom("c1"));
            let payload = Term::Tuple(Items::Terms(request));
            events.push(EventView { subject: wrk, payload, ..EventView::new(EventKind::Receive) });
            let payload = Term::Tuple(Items::Terms(reply));
            events.push(EventView { object: client, payload, ..EventView::new(EventKind::Send) });
        }
        let family = PropertyFamily::new(monitors(text));
        rate(&format!("decoded events, worker property, {name}"), events.len(), || {
            step_all(&family, &events, 0)
        });
        // It does watch: one more reply is a violation.
        events.push(events[events.len() - 1]);
        step_all(&family, &events, 1);
    }
}

struct Count(usize);

impl Observer for Count {
    fn notice(&mut self, notice: Notice) -> std::io::Result<()> {
        self.0 += usize::from(matches!(notice, Notice::Property(_)));
        assert!(!matches!(notice, Notice::Malformed(..)), "{notice:?}");
        Ok(())
    }

    fn progress(&mut self, _: &Progress) -> std::io::Result<()> {
        Ok(())
    }
}

/// Watches `text` on this thread; every line is an event.
fn lines(
    what: &str,
    property: &str,
    format: EventsFormat,
    text: &Arc<[u8]>,
    events: usize,
    expected: usize,
) -> f64 {
    let monitors = monitors(property);
    rate(what, events, || {
        let mut told = Count(0);
        let options = Options { format, threads: 1, ..Options::default() };
        let input = Input::stream("log", Cursor::new(Arc::clone(text)));
        let summary = watch_properties(monitors.clone(), vec![input], options, &mut told).unwrap();
        assert_eq!((summary.counts.events as usize, told.0), (events, expected));
    })
}

fn from_text() {
    const PAIRS: usize = 300_000;
    let (mut json, mut log) = (String::new(), String::new());
    for pair in 0..PAIRS {
        let _ = write!(
            json,
            "{{\"session\":\"s1\",\"from\":\"client\",\"to\":\"worker\",\"label\":\"Request\",\"payload\":{{\"id\":{pair}}},\"time\":{pair}}}\n\
             {{\"session\":\"s1\",\"from\":\"worker\",\"to\":\"client\",\"label\":\"Reply\",\"payload\":{{\"id\":{pair}}},\"time\":{pair}}}\n"
        );
        let _ =
            write!(log, "recv(<0.81.0>,{{req,<0.82.0>,{pair}}})\nsend(<0.81.0>,<0.82.0>,{{rply,{pair}}})\n");
    }
    let over_json = "max X.([client -> worker : Request(id)]\
         ([worker -> client : Reply(id)]([worker -> client : Reply(id)]ff and X)))";
    let over_log = "max X.([W ? {req,C,N}][W : C ! {rply,N}]([W : C ! {rply,N}]ff and X))";
    let bytes = json.len() / PAIRS / 2;
    let json: Arc<[u8]> = json.into_bytes().into();
    lines(&format!("JSON lines of {bytes} bytes"), over_json, EventsFormat::JsonLines, &json, 2 * PAIRS, 0);
    let bytes = log.len() / PAIRS / 2;
    let log: Arc<[u8]> = log.into_bytes().into();
    lines(
        &format!("detectEr's log, lines of {bytes} bytes"),
        over_log,
        EventsFormat::Detecter,
        &log,
        2 * PAIRS,
        0,
    );
}

/// One instance per key, keys in random order.
fn keys() {
    const EVENTS: usize = 3_000_000;
    let property = "property p for each \"/payload/id\" { \
         max X.([_ -> _ : Request(_, n)]([_ -> _ : Request(_, n)]ff and [_ -> _ : Request]X)) }";
    let mut base = 0.0;
    for count in [10_u64, 1_000, 100_000, 1_000_000] {
        let mut text = String::new();
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        for event in 0..EVENTS {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let _ = writeln!(
                text,
                "{{\"from\":\"a\",\"to\":\"b\",\"label\":\"Request\",\"payload\":{{\"id\":{},\"n\":{event}}}}}",
                1_000_000 + seed % count
            );
        }
        let text: Arc<[u8]> = text.into_bytes().into();
        let what = format!("JSON lines, one instance for each of {count} keys");
        let cost = lines(&what, property, EventsFormat::JsonLines, &text, EVENTS, 0);
        if count == 10 {
            base = cost;
        } else {
            println!("{:>58} {:.2} times the cost at 10 keys", "", cost / base);
        }
    }
}

/// A thousand properties, of which each event concerns one; and all of which concern it.
fn properties() {
    let mut one = 0.0;
    for count in [1, 10, 100, 1_000] {
        let mut text = String::new();
        for index in 0..count {
            let _ = writeln!(
                text,
                "property p{index} {{ max X.([a -> b : L{index}(n)][b -> a : L{index}(n)]ff and [_]X) }}"
            );
        }
        let family = PropertyFamily::new(monitors(&text));
        let labels: Vec<String> = (0..1_000).map(|index| format!("L{index}")).collect();
        let arena = bumpalo::Bump::new();
        let events: Vec<EventView<'_>> = (0..200_000_usize)
            .map(|event| EventView {
                subject: Term::Text("a"),
                object: Term::Text("b"),
                label: Term::Text(&labels[event * 7 % count]),
                payload: Term::List(Items::Terms(arena.alloc([Term::Int(event as i64)]))),
                ..EventView::new(EventKind::Exchange)
            })
            .collect();
        let what = format!("decoded events, {count} properties, each event concerns one");
        let cost = rate(&what, events.len(), || step_all(&family, &events, 0));
        if count == 1 {
            one = cost;
        } else {
            println!("{:>58} {:.2} times the cost of one", "", cost / one);
        }
    }
}

fn main() {
    println!("load average: {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let parts: [(&str, fn()); 4] =
        [("decoded", decoded), ("text", from_text), ("properties", properties), ("keys", keys)];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            part();
        }
    }
}
