//! Any bytes as a log, in any form and with any options: no panic; what is told does not depend on how the input is cut
//! or on the number of threads; and no line that is not JSON is taken for an event.

#![no_main]

use std::io::{self, Cursor};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use referee_fuzz::{PROTOCOLS, monitors};
use referee_monitor::Monitor;
use referee_watch::{
    EventsFormat, Input, Notice, Observer, Options, Pointer, Progress, Summary, WatchError, watch,
};

static MONITORS: LazyLock<Vec<Arc<Monitor>>> =
    LazyLock::new(|| monitors(PROTOCOLS).into_iter().map(Arc::new).collect());

#[derive(Default)]
struct Told(Vec<String>);

impl Observer for Told {
    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        self.0.push(format!("{notice:?}"));
        Ok(())
    }

    fn progress(&mut self, _: &Progress) -> io::Result<()> {
        Ok(())
    }
}

fn run(monitor: &Arc<Monitor>, log: &[u8], options: Options) -> Option<(Vec<String>, Summary)> {
    let mut told = Told::default();
    let input = Input::stream("log", Cursor::new(log.to_vec()));
    match watch(Arc::clone(monitor), &[], vec![input], options, &mut told) {
        Ok(summary) => Some((told.0, summary)),
        // What looks compressed may be damaged, and a header of CSV wrong.
        Err(WatchError::Read { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some(([which, flags, small], log)) = data.split_first_chunk() else { return };
    let monitor = &MONITORS[usize::from(*which) % MONITORS.len()];
    let flag = |bit: u8| flags & (1 << bit) != 0;
    let mut options = Options { all: flag(0), history: if flag(1) { 3 } else { 0 }, ..Options::default() };
    if flag(2) {
        options.format = EventsFormat::Csv;
    }
    if flag(3) {
        options.reorder = Some(Duration::from_millis(5));
    }
    if flag(4) {
        options.idle_sessions = Some(2);
        options.ended_sessions = 2;
    }
    if flag(5) {
        options.shape.payload = Pointer::parse("").expect("a pointer");
    }
    if flag(6) {
        options.max_line = 64;
    }
    let whole = run(monitor, log, options.clone());
    let cut = Options { chunk: usize::from(*small).max(1), ..options.clone() };
    let several = Options { threads: if flag(7) { 2 } else { 1 }, ..cut };
    let parts = run(monitor, log, several);
    let (Some((told, summary)), Some((told_again, summary_again))) = (&whole, &parts) else {
        assert_eq!(whole.is_some(), parts.is_some());
        return;
    };
    assert_eq!(told, told_again);
    assert_eq!(summary.counts, summary_again.counts);
    assert_eq!((summary.open, summary.late), (summary_again.open, summary_again.late));
    if !flag(2) && !log.starts_with(b"\xef") {
        let is_shallow = |line: &[u8]| line.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() < 100;
        let is_wrong = |line: &&[u8]| {
            !line.trim_ascii().is_empty()
                && is_shallow(line)
                && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err()
        };
        let wrong = log.split(|byte| *byte == b'\n').filter(is_wrong).count() as u64;
        if !referee_fuzz::is_compressed(log) {
            assert!(summary.counts.malformed >= wrong, "{} of {wrong}", summary.counts.malformed);
        }
    }
});
