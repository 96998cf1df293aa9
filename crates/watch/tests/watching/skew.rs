//! Inputs whose clocks differ, against every interleaving that the definition in `docs/uncertainty.md` allows.

use std::io::Cursor;
use std::time::Duration;

use referee_watch::{Input, MergeMode, Notice, Observer, Options, Progress, Summary, watch};

use crate::support::monitor;

const PING: &str = "protocol P(role a, role b) {
    rec X { Ping() from a to b; Pong() from b to a; continue X; }
}";
const SECOND: i64 = 1;

/// An event: a `Ping` or a `Pong`, and the second in which it was.
type Event = (bool, i64);

#[derive(Default)]
struct Blames(Vec<(String, Option<String>)>);

impl Observer for Blames {
    fn notice(&mut self, notice: Notice) -> std::io::Result<()> {
        if let Notice::Violation(report) = notice
            && !report.consequence
        {
            self.0.push((report.kind.to_string(), report.blame));
        }
        Ok(())
    }

    fn progress(&mut self, _: &Progress) -> std::io::Result<()> {
        Ok(())
    }
}

fn log(events: &[Event], session: &str) -> String {
    let line = |(ping, second): &Event| {
        let (from, label) = if *ping { ("a", "Ping") } else { ("b", "Pong") };
        format!(
            "{{\"session\":\"{session}\",\"from\":\"{from}\",\"label\":\"{label}\",\"time\":\"2026-01-01T00:00:{second:02}Z\"}}\n"
        )
    };
    events.iter().map(line).collect()
}

fn judged(inputs: &[Vec<Event>], skew: u64, max_orders: usize) -> (Blames, Summary) {
    let whole = judged_in(inputs, skew, max_orders, 4096);
    // However the input is cut, what waits for its order beyond the end of a chunk included.
    let cut = judged_in(inputs, skew, max_orders, 1);
    assert_eq!((&whole.0.0, whole.1.counts), (&cut.0.0, cut.1.counts), "{inputs:?}");
    whole
}

fn judged_in(inputs: &[Vec<Event>], skew: u64, max_orders: usize, chunk: usize) -> (Blames, Summary) {
    let stream = |(number, events): (usize, &Vec<Event>)| {
        Input::stream(&format!("log{number}"), Cursor::new(log(events, "s").into_bytes()))
    };
    let inputs = inputs.iter().enumerate().map(stream).collect();
    let options = Options {
        merge: MergeMode::Always,
        skew: Some(Duration::from_secs(skew)),
        max_orders,
        chunk,
        ..Options::default()
    };
    let mut blames = Blames::default();
    let summary = watch(monitor(PING, "a"), &[], inputs, options, &mut blames).unwrap();
    (blames, summary)
}

/// The first violation of an order: the window it is in, and whether the pinger is to blame for it.
type First = (usize, bool);

/// The window of each event.
fn windows(inputs: &[Vec<Event>], skew: i64) -> Vec<Vec<usize>> {
    let mut all: Vec<(i64, usize, usize)> = Vec::new();
    for (input, events) in inputs.iter().enumerate() {
        all.extend(events.iter().enumerate().map(|(at, event)| (event.1, input, at)));
    }
    all.sort_unstable();
    let mut windows: Vec<Vec<usize>> = inputs.iter().map(|events| vec![0; events.len()]).collect();
    let mut window = 0;
    for (place, (_, input, at)) in all.iter().enumerate() {
        windows[*input][*at] = window;
        let (before, after) = all.split_at(place + 1);
        let ordered =
            |e: &(i64, usize, usize), f: &(i64, usize, usize)| e.1 == f.1 || f.0 - e.0 > SECOND + skew;
        window += usize::from(before.iter().all(|e| after.iter().all(|f| ordered(e, f))));
    }
    windows
}

/// The first violation of every order, `None` for one without.
fn orders(inputs: &[Vec<Event>], skew: i64) -> Vec<Option<First>> {
    let precedes = |e: &Event, f: &Event| f.1 - e.1 > SECOND + skew;
    let windows = windows(inputs, skew);
    let mut found = Vec::new();
    let mut stack = vec![(vec![0_usize; inputs.len()], true, None)];
    while let Some((cut, expects_ping, first)) = stack.pop() {
        let mut is_end = true;
        for (input, events) in inputs.iter().enumerate() {
            let Some(event) = events.get(cut[input]) else { continue };
            is_end = false;
            let waits = inputs.iter().zip(&cut).enumerate().any(|(other, (events, taken))| {
                other != input && events[*taken..].iter().any(|before| precedes(before, event))
            });
            if waits {
                continue;
            }
            let window = windows[input][cut[input]];
            let mut after = cut.clone();
            after[input] += 1;
            let is_right = event.0 == expects_ping;
            let first = first.or((!is_right).then_some((window, event.0)));
            stack.push((after, if is_right { !expects_ping } else { expects_ping }, first));
        }
        if is_end {
            found.push(first);
        }
    }
    found
}

fn agrees(inputs: &[Vec<Event>], skew: u64) -> bool {
    let (told, summary) = judged(inputs, skew, 10_000);
    let orders = orders(inputs, skew as i64);
    let expected = orders.iter().all(Option::is_some);
    assert_eq!(!told.0.is_empty(), expected, "{inputs:?} skew {skew}: {:?}", told.0);
    assert_eq!(summary.counts.unjudged, 0, "{inputs:?}");
    if let [(_, Some(blame))] = &*told.0 {
        // Of the orders that were right until then, all blame the same.
        let last = orders.iter().flatten().map(|(window, _)| *window).max().unwrap();
        let mut others = orders.iter().flatten().filter(|(window, _)| *window == last);
        assert!(others.all(|(_, pinger)| *pinger == (blame == "a")), "{inputs:?} skew {skew}: {blame}");
    }
    let turned: Vec<Vec<Event>> = inputs.iter().rev().cloned().collect();
    assert_eq!(judged(&turned, skew, 10_000).0.0, told.0, "{inputs:?} skew {skew}");
    expected
}

/// All sequences of `length` events whose seconds do not go back.
fn sequences(length: usize, seconds: &[i64]) -> Vec<Vec<Event>> {
    let mut all: Vec<Vec<Event>> = vec![Vec::new()];
    for _ in 0..length {
        let extend = |events: Vec<Event>| {
            let from = events.last().map_or(i64::MIN, |(_, second)| *second);
            let next = seconds.iter().filter(move |second| **second >= from);
            let both = next.flat_map(|second| [(true, *second), (false, *second)]);
            both.map(|event| [events.clone(), vec![event]].concat()).collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(extend).collect();
    }
    all
}

#[test]
fn a_violation_is_one_in_every_order() {
    let (mut cases, mut wrong) = (0, 0);
    let mut check = |inputs: &[Vec<Event>], skew: u64| {
        cases += 1;
        wrong += u64::from(agrees(inputs, skew));
    };
    for (left, right, seconds) in
        [(1, 1, &[0, 1, 2, 3][..]), (2, 1, &[0, 1, 2, 4]), (2, 2, &[0, 2, 3]), (3, 2, &[0, 1, 3])]
    {
        for first in sequences(left, seconds) {
            for second in sequences(right, seconds) {
                check(&[first.clone(), second.clone()], 0);
                check(&[first.clone(), second], 1);
            }
        }
    }
    for first in sequences(1, &[0, 1, 3]) {
        for second in sequences(1, &[0, 1, 3]) {
            for third in sequences(1, &[0, 1, 3]) {
                check(&[first.clone(), second.clone(), third], 1);
            }
        }
    }
    assert!(wrong > 500 && cases - wrong > 500, "{wrong} of {cases}");
}

#[test]
fn what_all_orders_agree_on_is_said() {
    // One ping, two pongs: whichever was first, the ponger sent one too many.
    let (told, _) = judged(&[vec![(true, 5)], vec![(false, 5), (false, 5)]], 0, 10_000);
    assert_eq!(told.0, [("order".to_owned(), Some("b".to_owned()))]);
    // A ping before, then two and a pong in one second: whatever their order, there is one ping too many.
    let (told, _) = judged(&[vec![(true, 1), (true, 5), (true, 5)], vec![(false, 5)]], 0, 10_000);
    assert_eq!(told.0, [("order".to_owned(), Some("a".to_owned()))]);
    // Two pings, three pongs: always one too many, but who is wrong first depends on their order.
    let (told, _) =
        judged(&[vec![(true, 5), (true, 5)], vec![(false, 5), (false, 5), (false, 5)]], 0, 10_000);
    assert_eq!(told.0, [("order".to_owned(), None)]);
}

#[test]
fn too_many_orders_are_not_judged() {
    let events: Vec<Event> = (0..8).map(|at| (at % 2 == 0, 5)).collect();
    let wrong = vec![(true, 5); 8];
    let (told, summary) = judged(&[events.clone(), wrong.clone()], 0, 3);
    assert_eq!((told.0.len(), summary.counts.unjudged), (0, 16));
    assert!(summary.counts.is_incomplete());
    let (told, summary) = judged(&[events, wrong], 0, 10_000);
    assert_eq!((told.0.len(), summary.counts.unjudged), (1, 0));
}

/// Everything that is told of these inputs.
fn told(protocol: &str, inputs: &[&[(&str, &str, &str)]]) -> (Vec<referee_watch::Report>, Summary) {
    struct Reports(Vec<referee_watch::Report>);
    impl Observer for Reports {
        fn notice(&mut self, notice: Notice) -> std::io::Result<()> {
            if let Notice::Violation(report) = notice {
                self.0.push(*report);
            }
            Ok(())
        }

        fn progress(&mut self, _: &Progress) -> std::io::Result<()> {
            Ok(())
        }
    }
    let line = |(from, label, time): &(&str, &str, &str)| {
        format!(
            "{{\"session\":\"1\",\"from\":\"{from}\",\"label\":\"{label}\",\"time\":\"2026-01-01T10:00:{time}Z\"}}\n"
        )
    };
    let input = |(number, events): (usize, &&[(&str, &str, &str)])| {
        let text: String = events.iter().map(line).collect();
        Input::stream(&format!("log{number}"), Cursor::new(text.into_bytes()))
    };
    let inputs = inputs.iter().enumerate().map(input).collect();
    let options = Options { merge: MergeMode::Always, skew: Some(Duration::ZERO), ..Options::default() };
    let mut reports = Reports(Vec::new());
    let summary = watch(monitor(protocol, "a"), &[], inputs, options, &mut reports).unwrap();
    (reports.0, summary)
}

/// An order that is wrong while another that takes the same events is right has its first violation there: whoever is wrong in the other one
/// later is not to blame in both.
#[test]
fn an_order_that_was_wrong_before_is_not_forgotten() {
    let protocol = "protocol R(role a, role b) {
        choice at b {
            Y() from b to a;
            choice at b { Z() from b to a; Y() from b to a; } or { Y() from b to a; Z() from b to a; }
        } or { Z() from b to a; Y() from b to a; C() from a to b; }
    }";
    let (b, a) = ([("b", "Y", "00"), ("b", "Y", "00"), ("a", "C", "00")], [("b", "Z", "00")]);
    for inputs in [[&b[..], &a[..]], [&a[..], &b[..]]] {
        let (reports, _) = told(protocol, &inputs);
        let [report] = &reports[..] else { panic!("{reports:?}") };
        // `Z`, `Y`, `Y` is wrong before `C` is.
        assert_eq!((report.blame.as_deref(), report.got.as_deref()), (None, None), "{report:?}");
        assert!(report.sentence.contains("is wrong in every order"), "{}", report.sentence);
    }
}

/// Events of one input have an order, however exactly each of their times is written: what is after the second of them is after the first.
#[test]
fn times_of_one_input_may_be_written_more_or_less_exactly() {
    let protocol = "protocol R(role a, role b) {
        choice at b { X() from b to a; Z() from b to a; Y() from b to a; } or { Z() from b to a; }
    }";
    for first in ["05", "05.000"] {
        let (reports, summary) =
            told(protocol, &[&[("b", "Z", first), ("b", "Y", "05.398")], &[("b", "X", "05.924")]]);
        assert_eq!(reports.len(), 1, "{first}: {summary:?}");
        assert_eq!(reports[0].kind.to_string(), "after-end", "{first}");
    }
}

/// What is said speaks of what happened: everything was read, and nobody ended.
#[test]
fn what_is_said_of_open_orders_is_true() {
    // Two answers to one request in one second, then another request and answer too many.
    let protocol = "protocol R(role a, role b) {
        Go() from a to b;
        choice at b { X() from b to a; Y() from b to a; Z() from b to a; } or { Y() from b to a; X() from b to a; W() from b to a; }
    }";
    let (reports, summary) =
        told(protocol, &[&[("a", "Go", "00"), ("b", "X", "05"), ("b", "Q", "20")], &[("b", "Y", "05")]]);
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(!reports[0].sentence.contains("could not be read"), "{}", reports[0].sentence);
    let (_, other) = told(
        "protocol P(role a, role b) { rec X { Ping() from a to b; Pong() from b to a; continue X; } }",
        &[
            &[("a", "Ping", "05"), ("a", "Ping", "05")],
            &[("b", "Pong", "05"), ("b", "Pong", "05"), ("b", "Pong", "05")],
        ],
    );
    for summary in [summary, other] {
        let labels = summary.labels.sorted();
        assert!(labels.iter().all(|(label, _)| *label != "(end)"), "{labels:?}");
    }
}

/// What is told, and in which order, depends neither on threads nor on how the input is cut: with whole seconds most sessions have a window now and
/// then, with milliseconds few.
#[test]
fn neither_threads_nor_chunks_change_what_is_told() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |bound: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % bound
    };
    for resolution in [1000, 1] {
        let mut texts = [String::new(), String::new(), String::new()];
        for at in 0..3000_u64 {
            let (session, ping) = (random(40), random(2) == 0);
            let (from, label) = if ping { ("a", "Ping") } else { ("b", "Pong") };
            let time = at * 20 / resolution * resolution;
            let (second, millisecond) = (time / 1000, time % 1000);
            let exact = if resolution == 1 { format!(".{millisecond:03}") } else { String::new() };
            let text = &mut texts[random(3) as usize];
            match random(200) {
                0 => *text += "{\"session\":\"broken\n",
                1 => {
                    *text +=
                        &format!("{{\"session\":\"{session}\",\"from\":\"a\",\"label\":7,\"time\":[]}}\n")
                }
                _ => {
                    let (minute, second) = (second / 60, second % 60);
                    *text += &format!(
                        "{{\"session\":\"{session}\",\"from\":\"{from}\",\"label\":\"{label}\",\"time\":\"2026-01-01T00:{minute:02}:{second:02}{exact}Z\"}}\n"
                    );
                }
            }
        }
        let run = |threads: usize, chunk: usize| {
            let input = |(number, text): (usize, &String)| {
                Input::stream(&format!("log{number}"), Cursor::new(text.clone().into_bytes()))
            };
            let inputs = texts.iter().enumerate().map(input).collect();
            let skew = Some(Duration::from_millis(30));
            let options = Options { all: true, skew, threads, chunk, history: 3, ..Options::default() };
            crate::support::run(&monitor(PING, "a"), inputs, options).unwrap()
        };
        let (expected, sums) = run(1, 1 << 20);
        assert!(expected.len() > 100, "{}", expected.len());
        assert_eq!(sums.counts.events + sums.counts.malformed, 3000);
        for (threads, chunk) in [(1, 1), (1, 700), (2, 4096), (4, 300), (3, 1 << 20)] {
            let (told, found) = run(threads, chunk);
            let first = told.iter().zip(&expected).position(|(told, expected)| told != expected);
            let context = |all: &[String]| {
                all.iter()
                    .skip(first.unwrap_or_default().saturating_sub(1))
                    .take(4)
                    .cloned()
                    .collect::<Vec<_>>()
            };
            assert!(
                told == expected,
                "{threads} threads, chunks of {chunk}, {resolution} ms: {:#?}, and not {:#?}",
                context(&told),
                context(&expected)
            );
            assert_eq!(found.counts, sums.counts, "{threads} threads, chunks of {chunk}");
        }
    }
}

/// Inputs that are followed are merged too: whichever is read first, and although one is silent.
#[test]
fn followed_inputs_are_merged() {
    let folder = std::env::temp_dir().join(format!("referee-followed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let paths = ["a.jsonl", "b.jsonl", "c.jsonl"].map(|name| folder.join(name));
    let now = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        since.as_millis() as i64
    };
    let append = |path: &std::path::Path, label: &str, time: i64| {
        use std::io::Write as _;
        let from = if label == "Ping" { "a" } else { "b" };
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(file, "{{\"from\":\"{from}\",\"label\":\"{label}\",\"time\":{time}}}").unwrap();
    };
    // What is in the files at first: answers are in the file that is read first.
    let start = now() - 60_000;
    for round in 0..1000 {
        append(&paths[0], "Pong", start + 20 * round + 10);
        append(&paths[1], "Ping", start + 20 * round);
    }
    std::fs::write(&paths[2], "").unwrap();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let options = Options {
        follow: true,
        skew: Some(Duration::ZERO),
        stop: std::sync::Arc::clone(&stop),
        chunk: 1000,
        reorder: None,
        ..Options::default()
    };
    let inputs = paths.iter().map(|path| Input::file(path.as_path())).collect();
    let (told, sums) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| crate::support::run(&monitor(PING, "a"), inputs, options).unwrap());
        std::thread::sleep(Duration::from_millis(400));
        // Then as it happens: an answer is written before its request, and one too many at the end.
        let time = now();
        append(&paths[0], "Pong", time + 5);
        std::thread::sleep(Duration::from_millis(300));
        append(&paths[1], "Ping", time);
        append(&paths[0], "Pong", time + 20);
        std::thread::sleep(Duration::from_millis(2500));
        // Much too late to be judged.
        append(&paths[2], "Ping", start);
        std::thread::sleep(Duration::from_millis(1500));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        watching.join().unwrap()
    });
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((sums.counts.events, sums.counts.violated, sums.counts.malformed), (2003, 1, 1), "{told:?}");
    assert!(told[0].contains("a.jsonl:1002") && told[0].contains("order by b"), "{told:?}");
    assert!(told[1].contains("c.jsonl:1 malformed: too late"), "{told:?}");
}
