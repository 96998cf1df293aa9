//! What is told is the same for any number of threads, any chunks and any split of the input.

use std::io::Cursor;

use referee_watch::{Input, Options};

use crate::support::{AUTH, Slow, bytes, log, monitor, run, text};

#[test]
fn the_number_of_threads_changes_nothing() {
    let monitor = monitor(AUTH, "client");
    let log = log(50, 20_000);
    let (expected, sums) = text(&monitor, &log, Options { all: true, ..Options::default() });
    assert!(expected.len() > 500, "only {} notices", expected.len());
    assert!(sums.counts.malformed > 100 && sums.counts.ended > 20 && sums.counts.violated > 20, "{sums:?}");
    for threads in 1..=4 {
        for chunk in [100, 4096, 1 << 20] {
            let options = Options { all: true, threads, chunk, ..Options::default() };
            let (told, found) = text(&monitor, &log, options);
            assert!(told == expected, "{threads} threads, chunks of {chunk}");
            assert_eq!((found.counts, found.open), (sums.counts, sums.open));
        }
    }
}

#[test]
fn forgetting_does_not_depend_on_threads() {
    let monitor = monitor(AUTH, "server");
    let log = log(300, 20_000);
    for (idle_sessions, ended_sessions) in [(Some(20), 5), (Some(1), 0), (None, 3), (Some(100_000), 64)] {
        let options =
            |threads| Options { idle_sessions, ended_sessions, threads, chunk: 2000, ..Options::default() };
        let (expected, sums) = text(&monitor, &log, options(1));
        for threads in 2..=4 {
            let (told, found) = text(&monitor, &log, options(threads));
            assert!(told == expected, "{threads} threads, {idle_sessions:?}, {ended_sessions}");
            assert_eq!((found.counts, found.open), (sums.counts, sums.open));
        }
    }
}

#[test]
fn every_split_of_the_input_is_the_same() {
    let monitor = monitor(AUTH, "client");
    let log = log(5, 60);
    let (expected, sums) = text(&monitor, &log, Options::default());
    for split in 1..log.len() {
        let (left, right) = log.as_bytes().split_at(split);
        let reader = std::io::Read::chain(Cursor::new(left.to_vec()), Cursor::new(right.to_vec()));
        let options = Options { chunk: 1 + split % 700, ..Options::default() };
        let (told, found) = run(&monitor, vec![Input::live("log", reader)], options).unwrap();
        assert!(told == expected && found.counts == sums.counts, "split at {split}");
    }
    for step in 1..200 {
        let reader = Slow { inner: Cursor::new(log.clone().into_bytes()), step };
        let options = Options { threads: 1 + step % 2, ..Options::default() };
        let (told, _) = run(&monitor, vec![Input::live("log", reader)], options).unwrap();
        assert!(told == expected, "{step} bytes at a time");
    }
}

#[test]
fn the_last_line_needs_no_end_and_carriage_returns_do_not_matter() {
    let monitor = monitor(AUTH, "client");
    let log = log(5, 60);
    let (expected, sums) = text(&monitor, &log, Options::default());
    for other in [
        log.trim_end().to_owned(),
        log.replace('\n', "\r\n"),
        format!("\u{feff}{log}\n\n"),
        log.replace("}\n", "} \t\n"),
    ] {
        let (told, found) = bytes(&monitor, other.as_bytes(), Options::default());
        assert_eq!(told, expected);
        assert_eq!(found.counts, sums.counts);
    }
}
