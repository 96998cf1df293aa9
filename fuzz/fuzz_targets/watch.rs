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
        // What looks compressed may be damaged, a header of CSV wrong, a first time not one.
        Err(WatchError::Read { .. } | WatchError::NoTime(_)) => None,
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
    // What nobody reads may hold anything, so that not every line that is no JSON is malformed; but no more than there are lines.
    if !referee_fuzz::is_compressed(log) {
        let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() as u64;
        assert!(summary.counts.malformed <= lines, "{} of {lines}", summary.counts.malformed);
    }
});
