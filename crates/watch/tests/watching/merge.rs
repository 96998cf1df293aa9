//! Several inputs are merged by time: merging is sorting, streams or not, however they are cut.

use std::io::Cursor;

use referee_watch::{Input, MergeMode, Options, WatchError};

use crate::support::{Slow, monitor, run};

const PING: &str = "protocol P(role pinger, role ponger) {
    rec X { Ping() from pinger to ponger; Pong() from ponger to pinger; continue X; }
}";

fn input(name: &str, text: &str) -> Input {
    Input::stream(name, Cursor::new(text.to_owned().into_bytes()))
}

fn event(label: &str, time: i64) -> String {
    let from = if label == "Ping" { "pinger" } else { "ponger" };
    format!("{{\"from\":\"{from}\",\"label\":\"{label}\",\"time\":{time}}}\n")
}

/// The places of all events, in the order in which they are judged: each is wrong.
fn order(inputs: &[Vec<i64>], options: Options) -> Vec<(usize, usize)> {
    let monitor = monitor(PING, "pinger");
    let text = |times: &Vec<i64>| times.iter().map(|time| event("Nonsense", *time)).collect::<String>();
    let inputs = inputs.iter().enumerate();
    let inputs = inputs.map(|(n, times)| {
        let reader = Slow { inner: Cursor::new(text(times).into_bytes()), step: 7 };
        Input::stream(&n.to_string(), reader)
    });
    let (told, _) = run(&monitor, inputs.collect(), Options { all: true, ..options }).unwrap();
    let place = |told: &String| {
        let (file, rest) = told.split_once(':').unwrap();
        (file.parse().unwrap(), rest.split_once(' ').unwrap().0.parse().unwrap())
    };
    told.iter().map(place).collect()
}

/// Sorted by time; an event has no earlier time than the one before it in its input, and of equal times the first
/// input's comes first.
fn sorted(inputs: &[Vec<i64>]) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for (n, times) in inputs.iter().enumerate() {
        let mut latest = i64::MIN;
        for (line, time) in times.iter().enumerate() {
            latest = latest.max(*time);
            all.push((latest, n, line + 1));
        }
    }
    all.sort_unstable();
    all.into_iter().map(|(_, n, line)| (n, line)).collect()
}

fn sequences(length: usize) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for at in 0..length {
        let last: Vec<Vec<i64>> = all.iter().filter(|sequence| sequence.len() == at).cloned().collect();
        all.extend(last.iter().flat_map(|before| (1..4).map(|time| [&before[..], &[time]].concat())));
    }
    all
}

#[test]
fn merging_is_sorting() {
    let mut cases = 0;
    for left in sequences(3) {
        for right in sequences(3).into_iter().step_by(3) {
            for (n, third) in [vec![], vec![2, 2], vec![3, 1]].into_iter().enumerate() {
                let inputs = [left.clone(), right.clone(), third];
                let chunk = [64, 100, 1 << 18][n];
                let options = Options { chunk, threads: 1 + n, ..Options::default() };
                assert_eq!(order(&inputs, options), sorted(&inputs), "{inputs:?}");
                cases += 1;
            }
        }
    }
    assert!(cases > 1000);
}

#[test]
fn a_log_for_each_service_is_one_run() {
    let monitor = monitor(PING, "pinger");
    let pings: String = (0..3600).map(|n| event("Ping", 1_700_000_000 + n)).collect();
    let pongs: String =
        (0..3600).map(|n| event("Pong", 1_700_000_000 + n).replace("}\n", ",\"x\":1}\n")).collect();
    let logs = || vec![input("pings", &pings), input("pongs", &pongs)];
    for reorder in [None, Some(std::time::Duration::from_secs(5))] {
        let (told, sums) = run(&monitor, logs(), Options { reorder, ..Options::default() }).unwrap();
        assert!(told.is_empty(), "{told:?}");
        assert_eq!((sums.counts.events, sums.ties), (7200, 3600));
    }
    let apart = Options { merge: MergeMode::Never, ..Options::default() };
    assert!(!run(&monitor, logs(), apart).unwrap().0.is_empty());
}

#[test]
fn without_times_inputs_follow_one_another_unless_they_must_be_merged() {
    let monitor = monitor(PING, "pinger");
    let plain = "{\"from\":\"pinger\",\"label\":\"Ping\"}\n";
    let inputs = || vec![input("a", plain), input("b", &event("Pong", 7))];
    assert!(run(&monitor, inputs(), Options::default()).unwrap().0.is_empty());
    let always = Options { merge: MergeMode::Always, ..Options::default() };
    let error = run(&monitor, inputs(), always.clone()).unwrap_err();
    assert!(matches!(&error, WatchError::NoTime(name) if name == "a"), "{error}");
    assert!(error.to_string().contains("RFC 3339"), "{error}");
    let vague = event("Ping", 7).replace(":7", ":\"yesterday\"");
    assert!(run(&monitor, vec![input("a", &vague)], always).is_err());
}

#[test]
fn csv_is_merged_with_the_columns_of_each_input() {
    let monitor = monitor(PING, "pinger");
    let format = referee_watch::EventsFormat::Csv;
    let a = "time,from,label\n1,pinger,Ping\n3,pinger,Ping\n";
    let b = "label,from,time\nPong,ponger,2\nPing,ponger,4\n";
    let options = Options { format, ..Options::default() };
    let (told, sums) = run(&monitor, vec![input("a", a), input("b", b)], options).unwrap();
    assert_eq!(sums.counts.events, 4);
    assert!(told.len() == 1 && told[0].starts_with("b:3 "), "{told:?}");
}

/// What nobody reads does not move an event to another place.
#[test]
fn a_line_that_is_no_text_keeps_its_time() {
    let monitor = monitor(PING, "pinger");
    let ping = event("Ping", 1) + &event("Ping", 3);
    for junk in [&b"\"\xff\""[..], b"\"\\xff\"", b"NaN"] {
        let mut pong = event("Pong", 2).into_bytes();
        let second = event("Pong", 4);
        pong.extend(b"{\"agent\":");
        pong.extend(junk);
        pong.extend(format!(",{}", &second[1..]).bytes());
        let inputs = vec![input("pings", &ping), Input::stream("pongs", Cursor::new(pong))];
        let (told, sums) = run(&monitor, inputs, Options::default()).unwrap();
        assert!(told.is_empty() && sums.counts.events == 4, "{told:?}");
    }
}
