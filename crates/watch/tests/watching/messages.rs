//! Messages of a stream: what is found with which message is a function of the stream, however the messages come.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use referee_watch::{Input, Messages, Notice, Observer, Options, Progress, Summary, watch};

use crate::support::{Told, monitor};

/// Messages, some at a time.
struct Batches {
    lines: Vec<String>,
    next: usize,
    size: usize,
}

impl Messages for Batches {
    fn next(&mut self, text: &mut Vec<u8>, numbers: &mut Vec<u64>) -> io::Result<bool> {
        let end = self.lines.len().min(self.next + self.size);
        for (number, line) in (1..).zip(&self.lines).take(end).skip(self.next) {
            text.extend_from_slice(line.as_bytes());
            numbers.push(number);
        }
        Ok(std::mem::replace(&mut self.next, end) < end)
    }
}

/// What was told, with the message with which it was found.
#[derive(Default)]
struct Found {
    message: u64,
    through: u64,
    all: Vec<(u64, String)>,
}

impl Observer for Found {
    fn reached(&mut self, message: u64) {
        self.message = message;
    }

    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        let mut told = Told::default();
        told.notice(notice)?;
        assert!(self.message > self.through, "what was found with earlier messages is out");
        self.all.extend(told.0.pop().map(|text| (self.message, text)));
        Ok(())
    }

    fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        self.through = progress.through.unwrap_or(self.through);
        Ok(())
    }
}

fn judged(lines: &[String], size: usize, reorder: Option<u64>) -> (Found, Summary) {
    let monitor = monitor(
        "protocol P(role client, role server) { rec X {
            A() from client to server; B() from server to client within 5s; continue X; } }",
        "client",
    );
    let input = Input::messages("stream", Batches { lines: lines.to_vec(), next: 0, size });
    let options = Options { reorder: reorder.map(Duration::from_secs), all: true, ..Options::default() };
    let mut found = Found::default();
    let summary = watch(Arc::clone(&monitor), &[], vec![input], options, &mut found).unwrap();
    (found, summary)
}

fn event(session: usize, label: &str, time: u64) -> String {
    let from = if label == "A" { "client" } else { "server" };
    format!("{{\"session\":{session},\"from\":\"{from}\",\"label\":\"{label}\",\"time\":{time}}}\n")
}

#[test]
fn what_is_found_has_the_message_with_which_it_was() {
    // The deadlines of both sessions pass with the third message.
    let lines = [event(1, "A", 100), event(2, "A", 101), event(3, "A", 200)];
    for size in 1..=3 {
        let (found, _) = judged(&lines, size, None);
        assert_eq!(found.all.iter().map(|(message, _)| *message).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(found.through, 3);
        // Put in order, nothing is known yet.
        let (found, summary) = judged(&lines, size, Some(10));
        assert_eq!((found.all.len(), found.through, summary.held), (0, 3, 1));
    }
}

#[test]
fn messages_are_put_in_order_by_later_messages_alone() {
    let mut seed = 3_u64;
    let mut next = |bound: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % bound
    };
    let mut lines = Vec::new();
    for number in 0..600 {
        let session = next(20) as usize;
        let label = if next(2) == 0 { "A" } else { "B" };
        // Up to three seconds late, now and then more.
        let late = if next(40) == 0 { 9 } else { next(4) };
        lines.push(event(session, label, 1_000 + number - late));
        if next(50) == 0 {
            lines.push("no event\n".to_owned());
        }
    }
    let (expected, sums) = judged(&lines, lines.len(), Some(3));
    assert!(expected.all.len() > 100 && sums.held > 0 && sums.late > 0, "{}", expected.all.len());
    assert!(expected.all.is_sorted_by_key(|(message, _)| *message));
    for size in [1, 2, 7, 100] {
        let (found, other) = judged(&lines, size, Some(3));
        assert_eq!(found.all, expected.all, "{size} at a time");
        assert_eq!((found.through, other.held, other.counts), (expected.through, sums.held, sums.counts));
    }
}
