//! The driver of a session: it reads from either side, shows what came to the session's engine, and does what the engine
//! says.
//!
//! One task carries both directions. Bytes are read into a buffer that all sessions of a thread share and are
//! written from there; a session owns memory only for what could not be decided or written at once, and gives it
//! back when that is done. Backpressure: a side is not read from while the other has not taken what it was sent, so whoever is
//! slow slows down the other side and nobody else.
//!
//! It is generic over the streams and over the engine, so that it is tested with pipes in memory and a paused clock
//! (`driver/tests.rs`).

mod endpoint;
mod gauges;
mod pulse;
mod relay;
#[cfg(test)]
mod tests;
mod timing;

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use referee_monitor::Moment;
use referee_session::{Engine, SessionVerdict, Timeouts};
use referee_wire::{Scratch, Sender};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::clock;
use crate::metrics::{Meter, lock};
use crate::report::EndReason;
pub(crate) use gauges::Gauges;
use pulse::Pulse;
use relay::Relay;
pub(crate) use timing::Look;
use timing::Timing;

/// What one read may bring, in bytes.
const MAX_READ: usize = 64 << 10;
/// How long a side may take to receive what was accepted before, once the session is to be closed; and how long the sides of a
/// session that is over may take to close it themselves.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
/// When a deadline is looked at again that has passed and could not be decided, in nanoseconds.
const LOOK_AGAIN: i64 = 50_000_000;
/// Where no time limit is set.
const NO_TIMEOUT: Duration = Duration::from_secs(86400 * 365);

/// What all sessions of a thread share.
struct ThreadBuffers {
    bytes: Box<[u8]>,
    scratch: Scratch,
}

thread_local! {
    static BUFFERS: RefCell<ThreadBuffers> =
        RefCell::new(ThreadBuffers { bytes: vec![0; MAX_READ].into(), scratch: Scratch::new() });
}

/// What a driver is told besides the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverOptions {
    /// Everything goes on at once, and is judged afterwards.
    pub(crate) observe: bool,
    /// What a side sent before its connection broke is still judged.
    pub(crate) salvage: bool,
    /// How many bytes are read from a side before the other has taken them.
    pub(crate) max_buffer: usize,
    /// How many bytes a message may have that must be kept as a whole.
    pub(crate) max_message: usize,
    pub(crate) idle: Option<Duration>,
    pub(crate) total: Option<Duration>,
}

/// A session under way.
pub(crate) struct Driver<S, E> {
    engine: Arc<Mutex<E>>,
    relay: Relay<S>,
    timeouts: Timeouts,
    /// When a session that is over is closed, if its sides do not close it.
    close_at: Option<Instant>,
    /// When the engine wants to be asked.
    wake: Option<i64>,
}

/// How a session ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) why: EndReason,
    /// Bytes that went on, from the client and from the server.
    pub(crate) bytes: [u64; 2],
    /// Bytes of either side that did not go on.
    pub(crate) discarded: u64,
    /// What broke a connection, and whose.
    pub(crate) error: Option<(Sender, io::Error)>,
}

enum Turn {
    Report(Vec<SessionVerdict>),
    Done(EndReason),
}

impl<S: AsyncRead + AsyncWrite + Look + Unpin, E: Engine> Driver<S, E> {
    /// A session of `engine` between `client` and `server`.
    pub(crate) fn new(
        engine: Arc<Mutex<E>>,
        [client, server]: [S; 2],
        (meter, gauges): (Meter, Arc<Gauges>),
        options: DriverOptions,
    ) -> Self {
        let relay = Relay::new([client, server], meter, gauges, options);
        let timeouts = Timeouts::new(options.idle, options.total);
        Self { engine, relay, timeouts, close_at: None, wake: None }
    }

    /// The session began when `began` says: where times matter, they count from there.
    pub(crate) fn began(mut self, began: Moment) -> Self {
        if lock(&self.engine).is_timed() {
            self.relay.timing = Some(Box::new(Timing::new(began)));
        }
        self
    }

    /// It matters since when the thread is at work. Within its runtime.
    pub(crate) fn with_pulse(mut self) -> Self {
        if let Some(timing) = &mut self.relay.timing {
            timing.pulse = Some(Pulse::start());
        }
        self
    }

    /// `sender` has sent `unread` before the session was given to its driver.
    pub(crate) fn preload(&mut self, sender: Sender, unread: Vec<u8>) {
        self.relay.preload(sender, unread);
    }

    /// Carries the session to its end. `emit` is called with reports as they are made, and nothing is read before it has
    /// taken them. Once `draining` holds, the session is closed as soon as it is idle.
    pub(crate) async fn run<F: Future<Output = ()>>(
        mut self,
        draining: watch::Receiver<bool>,
        emit: impl Fn(Vec<SessionVerdict>) -> F,
    ) -> Outcome {
        let began = Instant::now();
        let mut timer = pin!(sleep_until(self.deadline(began)));
        let mut drained = draining.clone();
        let mut drained = pin!(drained.wait_for(|draining| *draining));
        let mut is_registered = false;
        // What the timer is set to by the clock of deadlines, if that is sooner than anything else; and a deadline that has passed is
        // not looked at before.
        let (mut armed, mut look_at) = (i64::MAX, i64::MIN);
        let why = loop {
            let turn = poll_fn(|cx| {
                loop {
                    // Polled once, for a task has one waker, and then when there is something new.
                    if !self.relay.is_draining && (!is_registered || draining.has_changed().unwrap_or(false))
                    {
                        self.relay.is_draining = drained.as_mut().poll(cx).is_ready();
                        is_registered = true;
                    }
                    let turn = self.poll(cx);
                    if std::mem::take(&mut self.relay.is_active) {
                        let elapsed = began.elapsed();
                        self.timeouts.note_activity(elapsed);
                        self.relay.gauges.note_activity(elapsed);
                    }
                    if turn.is_ready() {
                        return turn;
                    }
                    if self.relay.is_finished && self.close_at.is_none() {
                        self.close_at = Some(Instant::now() + LINGER_TIMEOUT);
                        timer.as_mut().reset(self.deadline(began));
                        armed = i64::MAX;
                    }
                    if let Some(wake) = self.wake
                        && wake.max(look_at) < armed
                    {
                        armed = wake.max(look_at);
                        let after = u64::try_from(armed.saturating_sub(clock::now())).unwrap_or(0);
                        let at = Instant::now() + Duration::from_nanos(after).min(NO_TIMEOUT);
                        timer.as_mut().reset(at.min(self.deadline(began)));
                    }
                    if timer.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    armed = i64::MAX;
                    if let Some(wake) = self.wake.filter(|wake| *wake <= clock::now()) {
                        look_at = clock::now().saturating_add(LOOK_AGAIN);
                        if let Some(reports) = self.wake_engine(wake) {
                            return Poll::Ready(Turn::Report(reports));
                        }
                    }
                    let (now, elapsed) = (Instant::now(), began.elapsed());
                    let is_due = self.close_at.is_some_and(|at| now >= at);
                    let due = is_due.then_some(EndReason::Over).or(self.timeouts.expired(elapsed));
                    match (self.relay.closing, due) {
                        (Some(why), _) => return Poll::Ready(Turn::Done(why)),
                        // Something has happened since the timer was set.
                        (None, None) => timer.as_mut().reset(self.deadline(began)),
                        (None, Some(why)) => {
                            self.relay.close(why);
                            timer.as_mut().reset(now + LINGER_TIMEOUT);
                        }
                    }
                }
            })
            .await;
            match turn {
                Turn::Report(reports) => {
                    emit(reports).await;
                    if self.relay.closing.is_some() {
                        timer.as_mut().reset(Instant::now() + LINGER_TIMEOUT);
                    }
                }
                Turn::Done(why) => break why,
            }
        };
        self.relay.meter.note_buffered(self.relay.buffered, 0);
        let error = self.relay.take_error();
        Outcome { why, bytes: self.relay.bytes, discarded: self.relay.discarded, error }
    }

    /// When the session, which `began` then, is closed if nothing happens.
    fn deadline(&self, began: Instant) -> Instant {
        let deadline = began + self.timeouts.deadline().unwrap_or(NO_TIMEOUT);
        self.close_at.map_or(deadline, |close_at| close_at.min(deadline))
    }

    /// Asks the engine about a deadline. What there is to report.
    fn wake_engine(&mut self, wake: i64) -> Option<Vec<SessionVerdict>> {
        let mut engine = lock(&self.engine);
        if self.relay.closing.is_some() {
            return None;
        }
        if let Err(why) = self.relay.wake(wake, &mut *engine) {
            self.relay.send_close_messages(&*engine);
            self.relay.close(why);
        }
        engine.has_reports().then(|| engine.take_reports())
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Turn> {
        BUFFERS.with_borrow_mut(|buffers| {
            let mut engine = lock(&self.engine);
            let was_closing = self.relay.closing.is_some();
            let done = if was_closing {
                self.relay.finish(cx, buffers)
            } else {
                self.relay.advance(cx, &mut *engine, buffers)
            };
            self.relay.settle(engine.is_inspecting());
            self.relay.is_finished = engine.is_finished() && self.relay.is_quiet();
            if self.relay.timing.is_some() {
                self.wake = engine.wake_at().filter(|_| self.relay.closing.is_none());
            }
            if engine.has_reports() || (self.relay.closing.is_some() && !was_closing) {
                return Poll::Ready(Turn::Report(engine.take_reports()));
            }
            done.map_or(Poll::Pending, |why| Poll::Ready(Turn::Done(why)))
        })
    }
}
