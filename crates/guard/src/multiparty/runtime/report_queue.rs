//! Reports on their way to the report sink. Sessions change under a lock, where nobody can wait; so reports are queued here, and
//! whoever would cause more of them waits while too many are queued (backpressure): nothing is lost, and memory is bounded.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::metrics::lock;
use crate::report::Report;
use crate::report_sink::ReportSink;

/// While more reports are queued, nothing more is read from components and other monitors.
const MAX_QUEUED_REPORTS: usize = 1024;
/// How long a process that stops waits for the sink.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Reports that the sink has not accepted yet.
pub(super) struct ReportQueue {
    sink: ReportSink,
    reports: Mutex<VecDeque<Report>>,
    /// Those in the queue, and the one that is being handed over.
    outstanding: AtomicUsize,
    more: Notify,
    room: Notify,
}

impl ReportQueue {
    pub(super) fn new(sink: ReportSink) -> Self {
        Self {
            sink,
            reports: Mutex::default(),
            outstanding: AtomicUsize::new(0),
            more: Notify::new(),
            room: Notify::new(),
        }
    }

    /// Whether anybody wants to hear of the ends of sessions without violation.
    pub(super) fn wants_ends(&self) -> bool {
        self.sink.wants_ends()
    }

    pub(super) fn push(&self, report: Report) {
        self.outstanding.fetch_add(1, Ordering::Relaxed);
        lock(&self.reports).push_back(report);
        self.more.notify_one();
    }

    pub(super) fn is_full(&self) -> bool {
        self.outstanding.load(Ordering::Relaxed) > MAX_QUEUED_REPORTS
    }

    /// Waits while the queue is full.
    pub(super) async fn has_room(&self) {
        self.at_most(MAX_QUEUED_REPORTS).await;
    }

    async fn at_most(&self, count: usize) {
        loop {
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            if self.outstanding.load(Ordering::Relaxed) <= count {
                return;
            }
            room.await;
        }
    }

    /// Hands reports over to the sink, in order, for ever.
    pub(super) async fn work(&self) {
        loop {
            let next = lock(&self.reports).pop_front();
            let Some(report) = next else {
                self.more.notified().await;
                continue;
            };
            self.sink.emit(vec![report]).await;
            self.outstanding.fetch_sub(1, Ordering::Relaxed);
            self.room.notify_waiters();
        }
    }

    /// Waits until the sink has everything. If it does not take it in time, what it has no room for is dropped, and counted.
    pub(super) async fn flush(&self) {
        if tokio::time::timeout(FLUSH_TIMEOUT, self.at_most(0)).await.is_err() {
            lock(&self.reports).drain(..).for_each(|report| self.sink.emit_now(report));
        }
    }
}
