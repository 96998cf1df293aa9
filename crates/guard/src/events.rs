//! A running guard as a stream of server-sent events on the admin listener: its sessions, rates, verdicts and ends
//! (`/events`), and one session message by message (`/sessions/ID/events`).
//!
//! Nothing here makes a session wait. Who looks is told of sessions twice a second (less often of many), by a task that reads what is there anyway;
//! verdicts and ends go through a bounded broadcast, after the journal. A reader that is too slow misses some, and is told how
//! many. What is shown is redacted as in the log. While nobody looks, all this costs one relaxed load for each session.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use crate::guard::{Followed, Guard, Known};
use crate::report::Report;

/// Those who look at the same time.
const MAX_STREAMS: usize = 32;
/// How many verdicts and ends may wait for a reader; a slower one misses the oldest.
const MAX_QUEUED: usize = 1024;
/// How many frames may wait to be written.
const MAX_FRAMES: usize = 8;
/// How often sessions and rates are looked at, and how much later for each session that changed: what it costs is bounded.
const LIST_INTERVAL: Duration = Duration::from_millis(500);
const LISTED_INTERVAL: Duration = Duration::from_micros(500);
/// How often a session is looked at that somebody follows.
const SESSION_INTERVAL: Duration = Duration::from_millis(100);
/// A reader that takes nothing for so long is given up.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Where no message comes, it is looked at this many times less often.
const STILL_TICKS: u32 = 5;
/// Where nothing is said for so long, an empty line is, so that a reader that is gone is noticed.
const QUIET_TICKS: u32 = 30;
/// Sessions in a list.
const MAX_LISTED: usize = 5_000;

/// Verdicts and ends of sessions, for all who look.
pub(crate) struct EventHub {
    sender: broadcast::Sender<Arc<Report>>,
    watchers: AtomicUsize,
}

impl Default for EventHub {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(MAX_QUEUED), watchers: AtomicUsize::new(0) }
    }
}

impl EventHub {
    /// Whether anybody looks.
    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    /// Tells those who look of `report`, which is in the journal.
    pub(crate) fn publish(&self, report: &Report) {
        if self.is_watched() && !matches!(report, Report::Message(_)) {
            let _ = self.sender.send(Arc::new(report.clone()));
        }
    }

    /// One more who looks, unless there are too many.
    fn enter(self: &Arc<Self>) -> Option<Watcher> {
        let watcher = Watcher(Arc::clone(self));
        let others = self.watchers.fetch_add(1, Ordering::Relaxed);
        // Dropped, it is not counted any more.
        (others < MAX_STREAMS).then_some(watcher)
    }
}

/// Somebody who looks.
struct Watcher(Arc<EventHub>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of a response that is written as things happen.
pub(crate) struct EventBody(mpsc::Receiver<Bytes>);

impl Body for EventBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Why there is no stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoStream {
    TooMany,
    NoSession,
}

/// All that happens at `guard`. Within a runtime.
pub(crate) fn overview(guard: Arc<Guard>) -> Result<EventBody, NoStream> {
    let watcher = guard.hub().enter().ok_or(NoStream::TooMany)?;
    let (writer, body) = Writer::new();
    tokio::spawn(async move {
        let _ = write_overview(&guard, writer).await;
        drop(watcher);
    });
    Ok(body)
}

/// What happens in the session `id` of `guard`. Within a runtime.
pub(crate) fn session(guard: Arc<Guard>, id: &str) -> Result<EventBody, NoStream> {
    let watcher = guard.hub().enter().ok_or(NoStream::TooMany)?;
    let followed = guard.follow(id).ok_or(NoStream::NoSession)?;
    let id = id.to_owned();
    let (writer, body) = Writer::new();
    tokio::spawn(async move {
        let _ = write_session(&guard, &followed, &id, writer).await;
        drop(watcher);
    });
    Ok(body)
}

/// The reader is gone, or too slow.
struct Gone;

struct Writer(mpsc::Sender<Bytes>);

impl Writer {
    fn new() -> (Self, EventBody) {
        let (sender, receiver) = mpsc::channel(MAX_FRAMES);
        (Self(sender), EventBody(receiver))
    }

    async fn write(&self, text: String) -> Result<(), Gone> {
        match timeout(WRITE_TIMEOUT, self.0.send(text.into())).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Gone),
        }
    }

    async fn event(&self, name: &str, data: &impl serde::Serialize) -> Result<(), Gone> {
        self.json(name, &serde_json::to_string(data).unwrap_or_default()).await
    }

    /// JSON as it is written here has no line feeds.
    async fn json(&self, name: &str, data: &str) -> Result<(), Gone> {
        self.write(format!("event: {name}\ndata: {data}\n\n")).await
    }

    async fn report(&self, report: &Report) -> Result<(), Gone> {
        match report {
            Report::Verdict(verdict) => self.event("verdict", verdict).await,
            Report::SessionEnd(end) => self.event("end", end).await,
            Report::Message(_) => Ok(()),
        }
    }
}

async fn write_overview(guard: &Guard, writer: Writer) -> Result<(), Gone> {
    let mut reports = guard.hub().sender.subscribe();
    writer.event("hello", &guard.introduce()).await?;
    let mut next = Instant::now();
    let mut known = Known::default();
    loop {
        tokio::select! {
            () = sleep_until(next) => {
                let (changes, count) = guard.changes(&mut known, MAX_LISTED);
                writer.json("sessions", &changes).await?;
                writer.event("rates", &guard.totals()).await?;
                let count = u32::try_from(count).unwrap_or(u32::MAX);
                next = Instant::now() + LIST_INTERVAL + LISTED_INTERVAL.saturating_mul(count);
            }
            report = reports.recv() => match report {
                Ok(report) => writer.report(&report).await?,
                Err(RecvError::Lagged(count)) => writer.event("dropped", &json!({ "events": count })).await?,
                Err(RecvError::Closed) => return Ok(()),
            },
        }
    }
}

/// Whether `report` is about session `id`.
fn is_about(report: &Report, id: &str) -> bool {
    let [session, network] = match report {
        Report::Verdict(verdict) => [&verdict.record.session, &verdict.record.network_session],
        Report::SessionEnd(end) => [&end.session, &end.network_session],
        Report::Message(_) => return false,
    };
    // The roles of a network number their sessions on their own.
    network.as_ref().or(session.as_ref()).is_some_and(|known| known == id)
}

async fn write_session(guard: &Guard, followed: &Followed, id: &str, writer: Writer) -> Result<(), Gone> {
    let mut reports = guard.hub().sender.subscribe();
    let mut tick = interval(SESSION_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next = vec![0; followed.taps().len()];
    let (mut last, mut quiet) = (Value::Null, 0_u32);
    let (mut counts, mut ticks) = ((0, 0), 0_u32);
    loop {
        tokio::select! {
            _ = tick.tick() => {
                let mut is_new = write_messages(followed, &mut next, &writer).await?;
                ticks = ticks.wrapping_add(1);
                if followed.is_still(&mut counts) && !is_new && ticks % STILL_TICKS != 0 {
                    continue;
                }
                let view = guard.describe_followed(followed);
                let Some(mut view) = view else {
                    // What came last was reported before the session left the list.
                    while let Ok(report) = reports.try_recv() {
                        if is_about(&report, id) {
                            writer.report(&report).await?;
                        }
                    }
                    return writer.event("gone", &json!({ "session": id })).await;
                };
                let shown = view.clone();
                still(&mut view);
                is_new |= view != last;
                last = view;
                quiet = if is_new { 0 } else { quiet + 1 };
                if is_new {
                    writer.event("state", &shown).await?;
                } else if quiet % QUIET_TICKS == 0 {
                    writer.write(":\n\n".to_owned()).await?;
                }
            }
            report = reports.recv() => match report {
                Ok(report) if is_about(&report, id) => {
                    // First what led to it.
                    write_messages(followed, &mut next, &writer).await?;
                    writer.report(&report).await?;
                }
                Ok(_) => {}
                Err(RecvError::Lagged(count)) => writer.event("dropped", &json!({ "events": count })).await?,
                Err(RecvError::Closed) => return Ok(()),
            },
        }
    }
}

/// Takes out of `view` what changes with the clock alone.
fn still(view: &mut Value) {
    match view {
        Value::Object(fields) => {
            for clock in ["milliseconds", "idle_milliseconds", "seconds"] {
                fields.remove(clock);
            }
            fields.values_mut().for_each(still);
        }
        Value::Array(values) => values.iter_mut().for_each(still),
        _ => {}
    }
}

/// Writes the messages of each role that are new. Whether there were any.
async fn write_messages(followed: &Followed, next: &mut [u64], writer: &Writer) -> Result<bool, Gone> {
    let mut is_new = false;
    for ((role, tap), next) in followed.taps().into_iter().zip(next) {
        let messages = tap.since(*next);
        if let Some(last) = messages.last() {
            // Where the reader was too slow, or came later, the first number says how many it has not seen.
            *next = last.number + 1;
            is_new = true;
            writer.event("messages", &json!({ "role": role, "messages": messages })).await?;
        }
    }
    Ok(is_new)
}
