//! Properties over events: every format, keys, processes, limits, threads, and the defects of detectEr.

use std::sync::Arc;

use referee_monitor::property::PropertyMonitor;
use referee_syntax::{Content, Language, parse};
use referee_watch::{EventsFormat, Input, Options, Summary, watch_properties};

use crate::support::{Slow, Told};

fn monitors(text: &str) -> Vec<Arc<PropertyMonitor>> {
    let Content::Properties(file) = parse(text, Language::Hml).content else { panic!("{text}") };
    let monitor = |property| Arc::new(PropertyMonitor::new(property).unwrap());
    file.properties.into_iter().map(monitor).collect()
}

fn watch(property: &str, events: &str, options: Options) -> (Vec<String>, Summary) {
    let mut told = Told::default();
    let reader = Slow { inner: std::io::Cursor::new(events.as_bytes().to_vec()), step: 4096 };
    let input = Input::stream("log", reader);
    let summary = watch_properties(monitors(property), vec![input], options, &mut told).unwrap();
    (told.0, summary)
}

fn format(format: EventsFormat) -> Options {
    Options { format, ..Options::default() }
}

fn told(property: &str, events: &str, kind: EventsFormat) -> Vec<String> {
    watch(property, events, format(kind)).0
}

const ONCE: &str = "property once { max X.([a -> b : Q(n)][b -> a : A(n)][b -> a : A(n)]ff and [_]X) }";

#[test]
fn each_session_has_its_instance() {
    let line = |session: &str, from: &str, to: &str, label: &str| {
        format!(
            "{{\"session\":{session},\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\"payload\":[7]}}\n"
        )
    };
    let mut events = String::new();
    for session in ["1", "\"x\""] {
        events += &line(session, "a", "b", "Q");
        events += &line(session, "b", "a", "A");
    }
    assert!(told(ONCE, &events, EventsFormat::JsonLines).is_empty());
    events += &line("\"x\"", "b", "a", "A");
    assert_eq!(told(ONCE, &events, EventsFormat::JsonLines), ["log:5 x event 2 once violation"]);
    let (explained, _) = watch(ONCE, &events, Options { history: 100, ..Options::default() });
    assert_eq!(explained, ["log:5 x event 2 once violation because"]);
}

#[test]
fn one_bad_line_does_not_disarm_properties() {
    let property = "property ok for each \"/key\" again each time { max X.([{event: \"bad\"}]ff and [_]X) }";
    let event = |key: u32| format!("{{\"key\":{key},\"event\":\"bad\"}}\n");
    let junk = "\u{1}what was this?\n";
    let count = |log: &str, threads: usize, chunk: usize| {
        let (told, summary) = watch(property, log, Options { threads, chunk, ..Options::default() });
        (told, summary.counts.violated, summary.counts.uncertain)
    };
    // What was lost may have been of one instance: which has no verdict that is certain from there on.
    for (log, violated, uncertain) in [
        (event(1) + junk, 1, 0),
        (junk.to_owned() + &event(1) + &event(1), 0, 2),
        (junk.to_owned() + &event(1) + &event(2), 1, 1),
        (event(1) + junk + &event(1) + &event(2) + junk + &event(3) + &event(4), 3, 2),
    ] {
        let (_, found, open) = count(&log, 1, 1 << 20);
        assert_eq!((found, open), (violated, uncertain), "{log}");
    }
    let line = |number: u32| if number % 7 == 3 { junk.to_owned() } else { event(number * number % 50) };
    let log: String = (0..300).map(line).collect();
    let one = count(&log, 1, 1 << 20);
    assert!(one.1 > 0 && one.2 > 0, "{one:?}");
    for (threads, chunk) in [(2, 100), (4, 1000)] {
        assert_eq!(count(&log, threads, chunk), one);
    }
}

#[test]
fn rows_of_csv_are_events() {
    let rows = "session,status,path\n1,200,/a\n1,503,/b\n2,500,/a\n";
    let property = "property ok { max X.([{status >= 500, status < 503}]ff and [_]X) }";
    assert_eq!(told(property, rows, EventsFormat::Csv), ["log:4 2 event 0 ok violation"]);
}

#[test]
fn keys_make_slices_of_the_stream() {
    let property = "property twice for each \"/payload/id\" { [_][_]ff }";
    let events = "{\"session\":1,\"payload\":{\"id\":\"k\"}}\n{\"payload\":{}}\n{\"session\":2,\"payload\":{\"id\":\"l\"}}\n\
                  {\"session\":3,\"payload\":{\"id\":\"k\"}}\n{\"session\":3,\"payload\":{\"id\":\"k\"}}\n";
    assert_eq!(told(property, events, EventsFormat::JsonLines), ["log:4 k event 1 twice violation"]);
}

#[test]
fn what_is_decided_at_once_is_told_once() {
    assert_eq!(told("ff", "", EventsFormat::Actions), ["- - event -1 property violation"]);
    assert_eq!(told("ff", "a?b\na?b\n", EventsFormat::Actions), ["- - event -1 property violation"]);
}

#[test]
fn satisfaction_is_told_and_is_no_violation() {
    let (told, summary) =
        watch("min X.(<b!done>tt or <_>X)", "a?x\nb!done\nb!done\n", format(EventsFormat::Actions));
    assert_eq!(told, ["log:2 - event 1 property satisfaction"]);
    assert_eq!((summary.counts.satisfied, summary.counts.violations()), (1, 0));
}

/// Every value is remembered, so the monitor grows until it may not.
#[test]
fn a_limit_gives_a_verdict_and_not_silence() {
    let property = "max X.([p?V](max Y.([q!V]ff and [p?_]Y)) and [p?_]X)";
    let mut events: String = (0..100).map(|n| format!("p?{n}\n")).collect();
    events += "q!3\n";
    let options = |max_instances| Options { max_instances, ..format(EventsFormat::Actions) };
    assert_eq!(watch(property, &events, options(1000)).0, ["log:101 - event 100 property violation"]);
    let (told, summary) = watch(property, &events, options(50));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with("resource-limit"), "{told:?}");
    assert_eq!((summary.counts.limited, summary.counts.violations()), (1, 0));
    let keyed = "property one for each label { [_][_]ff }";
    let events: String = (0..20).map(|n| format!("{{\"label\":\"L{}\"}}\n", n % 10)).collect();
    let (told, summary) = watch(keyed, &events, Options { max_instances: 4, ..Options::default() });
    assert_eq!(told.iter().filter(|line| line.ends_with("resource-limit")).count(), 1, "{told:?}");
    assert_eq!((summary.counts.violated, summary.counts.unjudged), (4, 12));
}

const WORKER: &str = "with srv:loop(_) check max X.([{W ? {req,C,N}}]([{W2 : C2 ! {rply,N2} when C2 =:= C, N2 =:= N}]\
     ([{W3 : C3 ! {rply,N3} when C3 =:= C, N3 =:= N}]ff and [{_ ? {tick}}]X))).";

/// Events of a child that come before its fork, or without one, are judged all the same: an instance starts with the
/// process's own init. detectEr loses such events when it runs on two schedulers.
#[test]
fn a_child_may_overtake_its_fork() {
    let child = "init(<0.2.0>,<0.1.0>,{srv,loop,[1]})\nrecv(<0.2.0>,{req,<0.9.0>,7})\n\
                 send(<0.2.0>,<0.9.0>,{rply,7})\nsend(<0.2.0>,<0.9.0>,{rply,7}) delayed by 3\n";
    let fork = "fork(<0.1.0>,<0.2.0>,{srv,loop,[1]})\n";
    let property = WORKER.replace("check max X.(", "check [{_ <- _, srv:loop(_)}]max X.(");
    for events in [format!("{fork}{child}"), format!("{child}{fork}"), child.to_owned()] {
        let told = told(&property, &events, EventsFormat::Detecter);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("<0.2.0> event 3") && told[0].ends_with("violation"), "{told:?}");
    }
}

/// detectEr takes the first branch that matches and misses what the others say.
#[test]
fn all_overlapping_branches_are_followed() {
    let property = "[a?x]tt and [a?V][a?V]ff and [a?_][b!_]ff";
    assert_eq!(told(property, "a?x\na?x\n", EventsFormat::Actions), ["log:2 - event 1 property violation"]);
    assert_eq!(told(property, "a?x\nb!y\n", EventsFormat::Actions), ["log:2 - event 1 property violation"]);
}

/// An event of another process, and a line that is no event, change nothing; detectEr's monitor ends.
#[test]
fn what_is_not_the_processs_does_not_end_its_monitor() {
    let property = "with m:f() check [{_ <- _, m:f()}][{P ? go}]ff.";
    let events =
        "init(<0.2.0>,<0.1.0>,{m,f,[]})\nrecv(<0.3.0>,other)\nnonsense(\n% remark\n\nrecv(<0.2.0>,go)\n";
    let told = told(property, events, EventsFormat::Detecter);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("log:3 malformed"), "{told:?}");
    assert!(told[1].starts_with("log:6 <0.2.0> event 1"), "{told:?}");
}

#[test]
fn threads_and_chunks_change_nothing() {
    let properties = format!(
        "{ONCE}\nproperty keyed for each label, \"/payload/0\" {{ max X.([_ -> b : _][_ -> a : _]ff and [_]X) }}\n\
         property seen {{ min X.(<_ -> _ : Z>tt or <_>X) }}"
    );
    let mut seed = 7_u64;
    let mut random = move |bound: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % bound
    };
    let mut events = String::new();
    for _ in 0..20_000 {
        let (session, label) = (random(300), ["Q", "A", "A", "Z"][random(4) as usize]);
        let (from, to) = if random(2) == 0 { ("a", "b") } else { ("b", "a") };
        if random(50) == 0 {
            events += "{\"broken\n";
        }
        events += &format!(
            "{{\"session\":{session},\"from\":\"{from}\",\"to\":\"{to}\",\"label\":\"{label}\",\"payload\":[{}]}}\n",
            random(3)
        );
    }
    let (expected, _) = watch(&properties, &events, Options::default());
    assert!(expected.len() > 500, "{}", expected.len());
    for (threads, chunk) in [(2, 1 << 16), (3, 1000), (8, 1 << 12)] {
        let (told, _) = watch(&properties, &events, Options { threads, chunk, ..Options::default() });
        let differ = told.iter().zip(&expected).find(|(told, expected)| told != expected);
        assert_eq!(differ, None, "{threads} threads, chunks of {chunk}");
        assert_eq!(told.len(), expected.len());
    }
}

/// T8 of docs/time.md.
#[test]
fn threads_and_chunks_change_nothing_about_time() {
    let properties = "
        property reply for each id { max X.([{e: 1}]expect [{e: 2}] within 2s and [_]X) }
        property calm for each id { max X.([{e: 0}]never [{e: 0}] for 300ms and [_]X) }
        property rare for each id { max X.([{e: 3} when count([{e: 3}] in 5s) > 2]ff and [_]X) }
        property all { max X.([{e: 1, id: n}]expect [{e: 2, id: n}] within 4s and [_]X) }
        property alone { max X.([{e: 0} at t][{e: 0} at u when u - t < 1ms]ff and [_]X) }";
    let mut seed = 11_u64;
    let mut random = move |bound: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % bound
    };
    let (mut events, mut time) = (String::new(), 1_770_000_000_000_u64);
    for _ in 0..20_000 {
        time += random(8);
        // Some are late, some have no time that can be read.
        let when = match random(400) {
            0 => "\"yesterday\"".to_owned(),
            1 => (time - 3).to_string(),
            _ => time.to_string(),
        };
        events += &format!("{{\"time\":{when},\"e\":{},\"id\":{}}}\n", random(5), random(700));
    }
    let (expected, summary) = watch(properties, &events, Options::default());
    for name in ["reply", "calm", "rare", "all", "malformed"] {
        let count = expected.iter().filter(|line| line.contains(name)).count();
        assert!(count > 0, "no {name} in {} lines", expected.len());
    }
    assert!(summary.pending > 0 && expected.len() > 500, "{} {}", summary.pending, expected.len());
    for (threads, chunk) in [(1, 50), (2, 1 << 16), (3, 1000), (8, 1 << 12)] {
        let (told, same) = watch(properties, &events, Options { threads, chunk, ..Options::default() });
        let differ = told.iter().zip(&expected).find(|(told, expected)| told != expected);
        assert_eq!(differ, None, "{threads} threads, chunks of {chunk}");
        assert_eq!((told.len(), same.pending), (expected.len(), summary.pending));
    }
}

#[test]
fn what_has_no_time_is_said_to_be_unjudged() {
    let events = "{\"time\":1,\"e\":1,\"x\":\"soon\"}\n{\"time\":2,\"e\":1,\"x\":-3}\n\
                  {\"time\":3,\"e\":1,\"x\":5}\n{\"time\":20,\"e\":0}\n";
    let why = "a guard or duration that computes with times has no value here, or a duration is negative: what \
               depends on it is not judged";
    let reads = "property p { max X.([{e: 1, x: x} at t when t - time(x) > 5s]ff and [_]X) }";
    assert_eq!(told(reads, events, EventsFormat::JsonLines), [format!("log:1 malformed: {why}")]);
    let lasts = "property p { max X.([{e: 1, x: x}]expect [{e: 2}] within x * 1s and [_]X) }";
    let expected = [
        format!("log:1 malformed: {why}"),
        format!("log:2 malformed: {why}"),
        "log:4 - event 2 p violation".to_owned(),
    ];
    assert_eq!(told(lasts, events, EventsFormat::JsonLines), expected);
}

#[test]
fn instances_begin_anew() {
    let events = |times: &[(u32, &str)]| -> String {
        let line =
            |(time, user): &(u32, &str)| format!("{{\"host\":\"h\",\"user\":\"{user}\",\"time\":{time}}}\n");
        times.iter().map(line).collect()
    };
    let rule = "max X.([{user: \"root\"}]ff and [_]X)";
    let all = events(&[(0, "bob"), (10, "root"), (12, "root"), (70, "root"), (75, "eve"), (140, "root")]);
    let told = |again: &str| {
        let property = format!("property no_root for each host {again} {{ {rule} }}");
        let told = told(&property, &all, EventsFormat::JsonLines);
        told.into_iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(""), ["log:2"]);
    assert_eq!(told("again each time"), ["log:2", "log:3", "log:4", "log:6"]);
    // Exactly a minute later is late enough.
    assert_eq!(told("again after 1m"), ["log:2", "log:4", "log:6"]);
    assert_eq!(told("again after 61s"), ["log:2", "log:6"]);
    // What an instance knew is forgotten: two in a row are needed each time.
    let twice = "property twice for each host again each time { max X.([{user: \"root\"}][{user: \"root\"}]ff and [_]X) }";
    let (told, summary) = watch(twice, &all, Options::default());
    assert_eq!(told, ["log:3 h event 2 twice violation"]);
    assert_eq!((summary.counts.violated, summary.open), (1, 1));
    // Properties that begin anew and others, of the same keys.
    let both = format!(
        "property one for each host {{ {rule} }}\nproperty many for each host again each time {{ {rule} }}"
    );
    let (told, _) = watch(&both, &all, Options::default());
    assert_eq!(told.len(), 5, "{told:?}");
}

#[test]
fn a_deadline_that_was_missed_is_expected_anew() {
    let rule = "property reply for each id again after 10s { max X.([{event: \"request\"}]expect [{event: \"reply\"}] within 5s and [_]X) }";
    let line = |time: u32, event: &str| format!("{{\"time\":{time},\"event\":\"{event}\",\"id\":1}}\n");
    let log: String = [(0, "request"), (6, "request"), (30, "request"), (40, "other")]
        .map(|(time, event)| line(time, event))
        .concat();
    let (told, summary) = watch(rule, &log, Options::default());
    // The deadline of the first passed at 5: what comes before 15 is not observed.
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(summary.counts.violated, 2);
}

/// A misspelt name finds nothing. That no event has an `error` is no mistake.
#[test]
fn names_and_kinds_that_no_event_has_are_said() {
    let log = "{\"session\":\"1\",\"method\":\"GET\",\"status\":500}\n{\"session\":\"1\",\"method\":\"PUT\",\"status\":200}\n";
    let judged = |pattern: &str| {
        let property = format!("property p {{ max X.([{pattern}]ff and [_]X) }}");
        let (_, summary) = watch(&property, log, Options::default());
        let unseen = summary.unseen.iter().map(|unseen| {
            let compared = unseen.compared.as_ref().map(|(with, was)| format!("{with}/{was}"));
            format!(
                "{} {} {}",
                unseen.kind.name(),
                unseen.name,
                compared.or(unseen.alike.clone()).unwrap_or_default()
            )
        });
        (unseen.collect::<Vec<_>>(), summary.is_blind)
    };
    assert_eq!(judged("{metod: \"GET\"}"), (vec!["member metod method".to_owned()], true));
    assert_eq!(judged("{method: \"DELETE\"}"), (vec![], false));
    assert_eq!(judged("{error: e}"), (vec![], false));
    assert_eq!(judged("{status: \"500\"}"), (vec!["member status a text/a number".to_owned()], true));
    assert_eq!(
        judged("{status: s} when s == \"500\""),
        (vec!["member status a text/a number".to_owned()], true)
    );
    assert_eq!(judged("{status: s} when s >= 501"), (vec![], false));
    assert_eq!(judged("{status: s} when s != \"500\""), (vec![], false));
    let two = "property p { max X.([{metod: \"GET\"}]ff and [_]X) }\nproperty q { max X.([{status: 404}]ff and [_]X) }";
    let (_, summary) = watch(two, log, Options::default());
    assert_eq!((summary.unseen.len(), summary.is_blind), (1, false));
}

/// Lines that no pattern asks for are passed over while an instance is at rest. Lines that are kept for explanations are all
/// stepped over, so that both ways can be compared: what is told, of which event, and what is said of it.
#[test]
fn events_that_nobody_asks_for_change_nothing() {
    let formulas = [
        "max X.([{event: \"a\"} when count([{event: \"a\"}] in 5s) > 2]ff and [_]X)",
        "max X.([{event: \"a\"}]expect [{event: \"b\"}] within 3s and [_]X)",
        "max X.([{event: \"a\"}]never [{event: \"a\"}] for 2s and [_]X)",
        "[{event: \"a\"} at t]max X.([{event: \"b\"} at u when u - t > 4s]ff and [_]X)",
        "[{event: \"a\"}][{event: \"b\"} when count([{event: \"b\"}] in 9s) > 0]ff",
        "max X.([{event: \"a\"}][{event: \"b\"}]expect [{event: \"c\"}] within 1s and [_]X)",
        "max X.([{event: \"a\"}]expect [{event: \"b\"}] within 1s and [{event: \"c\"}]never [{event: \"a\"}] for 2s and [_]X)",
        "max X.([{event: \"a\"}][{event: \"b\"}]never [{event: \"c\"}] for 2s and [{event: \"x\"}]X and [{event: \"b\"}]X)",
        "max X.([{event: \"a\"}][_]expect [{event: \"b\"}] within 1s and [_]X)",
        "max X.([{event: \"a\"} when count([{event: \"a\"}] in last 4) > 2]ff and [_]X)",
        "max X.([{event: \"a\", n: n}]expect [{event: \"b\", n: n}] within 3s and [_]X)",
        "max X.([{event: \"a\"}](expect [{event: \"b\"}] within 2s or never [{event: \"c\"}] for 4s) and [_]X)",
        "max X.([{event: \"a\"} when sum(n of [{event: \"a\", n: n}] in day) > 9]ff and [_]X)",
        "max X.([_ at t]X and [{event: \"a\"}]expect [{event: \"b\"}] within 3s)",
    ];
    let names = ["\"a\"", "\"b\"", "\"c\"", "\"x\"", "\"other\"", "\"\\u0061\"", "1", "null", "[\"a\"]"];
    let mut seed = 7_u64;
    let mut next = move |options: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % options
    };
    let (mut verdicts, mut passed) = (0, 0);
    for round in 0..600 {
        let again = ["", "again each time ", "again after 3s "][round % 3];
        let property = format!("property p for each k {again}{{ {} }}", formulas[round % formulas.len()]);
        let (mut log, mut time) = (String::new(), 1_770_000_000);
        for _ in 0..30 {
            time += next(3);
            let (key, name, n) = (1 + next(2), names[next(names.len())], next(4));
            log += &match next(8) {
                0 => format!("{{\"time\":{time},\"k\":{key},\"n\":{n}}}\n"),
                1 => format!("{{\"time\":{time},\"k\":{key},\"event\":{name},\"n\":{n},\"label\":\"L\"}}\n"),
                2 => format!("{{\"time\":{time},\"k\":{key},\"event\":\"x\",\"event\":{name},\"n\":{n}}}\n"),
                _ => format!("{{\"time\":{time},\"k\":{key},\"event\":{name},\"n\":{n}}}\n"),
            };
        }
        let until = Some((time as i64 + 2) * 1_000_000_000);
        let all = Options { until, history: 100, ..Options::default() };
        let (quick, sums) =
            watch(&property, &log, Options { until, threads: 1 + round % 2, ..Options::default() });
        let (stepped, all_sums) = watch(&property, &log, all);
        let plain: Vec<String> = stepped.iter().map(|line| line.replace(" because", "")).collect();
        assert_eq!(quick, plain, "{property}\n{log}");
        assert_eq!(
            (sums.counts.events, sums.counts.malformed),
            (all_sums.counts.events, all_sums.counts.malformed)
        );
        verdicts += quick.len();
        passed += log.matches("other").count();
    }
    assert!(verdicts > 500 && passed > 500, "{verdicts} {passed}");
}
