//! What a terminal shows while a check takes its time.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use referee::check::{Observer, Progress};

/// A line on the terminal once the check takes longer than a second.
pub(super) struct ProgressLine {
    bar: Option<ProgressBar>,
    label: String,
    started: Instant,
}

impl ProgressLine {
    pub(super) fn new(label: &str) -> Self {
        Self { bar: None, label: label.to_owned(), started: Instant::now() }
    }

    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for ProgressLine {
    fn progress(&mut self, progress: Progress) {
        let elapsed = self.started.elapsed();
        if elapsed < Duration::from_secs(1) || !std::io::stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{spinner} {msg}").ok();
            let bar = ProgressBar::new_spinner();
            if let Some(style) = style {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let rate = progress.states as f64 / elapsed.as_secs_f64();
        bar.set_message(format!(
            "{}: k = {}, {} configurations, {} transitions, {}/s, {}",
            self.label,
            progress.bound,
            HumanCount(progress.states as u64),
            HumanCount(progress.transitions as u64),
            HumanCount(rate as u64),
            HumanBytes(progress.memory as u64),
        ));
    }
}
