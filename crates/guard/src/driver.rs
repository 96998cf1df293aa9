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
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use referee_session::{Action, Engine, SessionVerdict, Timeouts};
use referee_wire::{Scratch, Sender};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};

use crate::metrics::{Meter, lock};
use crate::report::EndReason;
use endpoint::Endpoint;

/// What one read may bring, in bytes.
const MAX_READ: usize = 64 << 10;
/// How long a side may take to receive what was accepted before, once the session is to be closed.
const LINGER_TIMEOUT: Duration = Duration::from_secs(2);
/// How many bytes that a side sends meanwhile are read, so that it sees the end instead of a reset.
const MAX_LINGER_BYTES: usize = 256 << 10;
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
}

/// Both sides, and what is between them.
struct Relay<S> {
    endpoints: [Endpoint<S>; 2],
    meter: Meter,
    observe: bool,
    /// How many bytes are read at a time, at most.
    max_read: usize,
    /// How many bytes may wait to be judged when nothing waits to be sent.
    max_backlog: usize,
    bytes: [u64; 2],
    closing: Option<EndReason>,
    /// What broke a connection.
    error: Option<(Sender, io::Error)>,
    /// Bytes that were read from both sides while the session was closed.
    linger_bytes: usize,
    is_active: bool,
    is_inspecting: bool,
    buffered: u64,
}

/// How a session ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) why: EndReason,
    /// Bytes that went on, from the client and from the server.
    pub(crate) bytes: [u64; 2],
    /// What broke a connection, and whose.
    pub(crate) error: Option<(Sender, io::Error)>,
}

enum Turn {
    Report(Vec<SessionVerdict>),
    Done(EndReason),
}

impl<S: AsyncRead + AsyncWrite + Unpin, E: Engine> Driver<S, E> {
    /// A session of `engine` between `client` and `server`.
    pub(crate) fn new(
        engine: Arc<Mutex<E>>,
        [client, server]: [S; 2],
        meter: Meter,
        options: DriverOptions,
    ) -> Self {
        let relay = Relay {
            endpoints: [Endpoint::new(client), Endpoint::new(server)],
            meter,
            observe: options.observe,
            max_read: MAX_READ.min(options.max_buffer),
            max_backlog: options.max_message.saturating_add(options.max_buffer),
            bytes: [0; 2],
            closing: None,
            error: None,
            linger_bytes: 0,
            is_active: false,
            is_inspecting: true,
            buffered: 0,
        };
        Self { engine, relay, timeouts: Timeouts::new(options.idle, options.total) }
    }

    /// Carries the session to its end. `emit` is called with reports as they are made, and nothing is read before it has
    /// taken them.
    pub(crate) async fn run<F: Future<Output = ()>>(
        mut self,
        emit: impl Fn(Vec<SessionVerdict>) -> F,
    ) -> Outcome {
        let began = Instant::now();
        let deadline = |timeouts: &Timeouts| began + timeouts.deadline().unwrap_or(NO_TIMEOUT);
        let mut timer = pin!(sleep_until(deadline(&self.timeouts)));
        let why = loop {
            let turn = poll_fn(|cx| {
                loop {
                    let turn = self.poll(cx);
                    if std::mem::take(&mut self.relay.is_active) {
                        self.timeouts.note_activity(began.elapsed());
                    }
                    if turn.is_ready() {
                        return turn;
                    }
                    if timer.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    match (self.relay.closing, self.timeouts.expired(began.elapsed())) {
                        (Some(why), _) => return Poll::Ready(Turn::Done(why)),
                        // Something has happened since the timer was set.
                        (None, None) => timer.as_mut().reset(deadline(&self.timeouts)),
                        (None, Some(why)) => {
                            self.relay.close(why);
                            timer.as_mut().reset(Instant::now() + LINGER_TIMEOUT);
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
        Outcome { why, bytes: self.relay.bytes, error }
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
            if engine.has_reports() || (self.relay.closing.is_some() && !was_closing) {
                return Poll::Ready(Turn::Report(engine.take_reports()));
            }
            done.map_or(Poll::Pending, |why| Poll::Ready(Turn::Done(why)))
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Relay<S> {
    fn close(&mut self, why: EndReason) {
        self.closing.get_or_insert(why);
    }

    /// Does all that can be done now, until the session is to be closed. The reason for the end, once everything is done.
    fn advance<E: Engine>(
        &mut self,
        cx: &mut Context<'_>,
        engine: &mut E,
        buffers: &mut ThreadBuffers,
    ) -> Option<EndReason> {
        while self.closing.is_none() {
            let mut moved = false;
            for sender in Sender::BOTH {
                moved |= self.pump(cx, sender, engine, buffers);
            }
            if self.closing.is_none() && self.endpoints.iter().all(Endpoint::is_done) {
                return Some(engine.end_reason());
            }
            if !moved {
                return None;
            }
        }
        // First what there is to report is handed over.
        None
    }

    /// Closes the session: what was accepted is still delivered, what comes now is not even looked at. The reason for the
    /// end, once both sides have it.
    fn finish(&mut self, cx: &mut Context<'_>, buffers: &mut ThreadBuffers) -> Option<EndReason> {
        let mut finished = true;
        for endpoint in &mut self.endpoints {
            endpoint.finish();
            endpoint.flush(cx);
            endpoint.discard(cx, &mut buffers.bytes, &mut self.linger_bytes, MAX_LINGER_BYTES);
            finished &= endpoint.is_gone() || (endpoint.is_delivered() && endpoint.has_ended());
        }
        self.closing.filter(|_| finished)
    }

    /// Moves what can be moved from `sender` to the other side. Whether anything was.
    fn pump<E: Engine>(
        &mut self,
        cx: &mut Context<'_>,
        sender: Sender,
        engine: &mut E,
        buffers: &mut ThreadBuffers,
    ) -> bool {
        // What was passed on already is judged whether or not there is room for more.
        let mut moved = self.observe && self.look_again(cx, sender, engine, buffers);
        if !self.sink(sender).flush(cx) {
            return moved;
        }
        if self.sink(sender).is_gone() {
            let error = self.sink(sender).take_error();
            self.lose(sender.other(), error, engine);
            return true;
        }
        moved |= !self.observe && self.look_again(cx, sender, engine, buffers);
        while self.may_read(sender) && !self.is_first(sender.other(), engine) {
            let mut buffer = ReadBuf::new(buffers.bytes.get_mut(..self.max_read).unwrap_or_default());
            match Pin::new(&mut self.source(sender).stream).poll_read(cx, &mut buffer) {
                Poll::Pending => break,
                Poll::Ready(Err(error)) => {
                    self.lose(sender, Some(error), engine);
                    return true;
                }
                Poll::Ready(Ok(())) => {}
            }
            let read = buffer.filled().len();
            moved = true;
            if read == 0 {
                self.source(sender).note_end();
                break;
            }
            self.is_active = true;
            self.take(cx, sender, read, engine, buffers);
        }
        moved | self.handle_end(sender, engine)
    }

    /// Decides about the `read` bytes of `sender` that are in the thread's buffer.
    fn take<E: Engine>(
        &mut self,
        cx: &mut Context<'_>,
        sender: Sender,
        read: usize,
        engine: &mut E,
        buffers: &mut ThreadBuffers,
    ) {
        let ThreadBuffers { bytes, scratch } = buffers;
        let bytes = bytes.get(..read).unwrap_or_default();
        if self.observe {
            self.forward(cx, sender, bytes);
        }
        if self.source(sender).inbox.is_empty() {
            let decided = self.decide(cx, sender, bytes, engine, scratch);
            let rest = bytes.get(decided..).unwrap_or_default();
            self.source(sender).inbox.extend_from_slice(rest);
        } else {
            self.source(sender).inbox.extend_from_slice(bytes);
            self.reconsider(cx, sender, engine, buffers);
        }
        if self.observe && engine.is_inspecting() && self.source(sender).inbox.len() > self.max_backlog {
            engine.stop_inspecting("too much was sent ahead");
            self.source(sender).inbox = Vec::new();
        }
    }

    /// `sender` has ended: once all it said is decided, it is judged for that, and the other side is half-closed.
    fn handle_end<E: Engine>(&mut self, sender: Sender, engine: &mut E) -> bool {
        let is_closing = self.closing.is_some();
        let source = self.source(sender);
        if is_closing || !source.has_ended() || source.is_worth_a_look(engine.progress()) || source.is_held()
        {
            return false;
        }
        let inbox = std::mem::take(&mut source.inbox);
        if let Err(why) = engine.end(sender, &inbox) {
            self.send_close_messages(engine);
            self.close(why);
            return true;
        }
        self.sink(sender).finish()
    }

    /// The connection with `who` broke.
    fn lose<E: Engine>(&mut self, who: Sender, error: Option<io::Error>, engine: &mut E) {
        if self.error.is_none() {
            self.error = error.map(|error| (who, error));
        }
        let endpoint = self.source(who);
        endpoint.note_gone();
        let inbox = std::mem::take(&mut endpoint.inbox);
        match engine.end(who, &inbox) {
            Err(why) => {
                self.send_close_messages(engine);
                self.close(why);
            }
            Ok(()) => self.close(EndReason::Reset),
        }
    }

    fn may_read(&mut self, sender: Sender) -> bool {
        let has_room = self.sink(sender).is_flushed();
        let (observe, is_closing) = (self.observe, self.closing.is_some());
        let source = self.source(sender);
        !source.has_ended() && !is_closing && has_room && (observe || !source.is_held())
    }

    /// Looks again at what `sender` has sent before, if that is worth it.
    fn look_again<E: Engine>(
        &mut self,
        cx: &mut Context<'_>,
        sender: Sender,
        engine: &mut E,
        buffers: &mut ThreadBuffers,
    ) -> bool {
        self.closing.is_none()
            && self.source(sender).is_worth_a_look(engine.progress())
            && self.reconsider(cx, sender, engine, buffers)
    }

    fn reconsider<E: Engine>(
        &mut self,
        cx: &mut Context<'_>,
        sender: Sender,
        engine: &mut E,
        buffers: &mut ThreadBuffers,
    ) -> bool {
        let inbox = std::mem::take(&mut self.source(sender).inbox);
        let decided = self.decide(cx, sender, &inbox, engine, &mut buffers.scratch);
        let source = self.source(sender);
        source.inbox = inbox;
        source.inbox.drain(..decided);
        decided > 0
    }

    /// Decides about the messages at the beginning of `bytes`; says how many bytes that were.
    fn decide<E: Engine>(
        &mut self,
        cx: &mut Context<'_>,
        sender: Sender,
        bytes: &[u8],
        engine: &mut E,
        scratch: &mut Scratch,
    ) -> usize {
        let (began, judged) = (Instant::now(), engine.judged());
        let (mut from, mut at) = (0, 0);
        self.source(sender).show_always();
        let mut close = None;
        while at < bytes.len() {
            let unread = bytes.get(at..).unwrap_or_default();
            let decision = engine.receive(sender, unread, scratch, cx.waker());
            self.meter.note_message(decision.message);
            match decision.action {
                Action::Forward(count) => {
                    at += count;
                    if count > 0 && self.is_first(sender.other(), engine) {
                        break;
                    }
                }
                Action::ForwardAll => at = bytes.len(),
                Action::Discard(count) => {
                    self.accept(cx, sender, bytes.get(from..at).unwrap_or_default());
                    at += count;
                    from = at;
                }
                Action::Hold(until) => {
                    self.source(sender).hold(until, engine.progress());
                    break;
                }
                Action::Close(why) => {
                    close = Some(why);
                    break;
                }
                // What an engine of two parties does not do.
                _ => {
                    debug_assert!(false, "{decision:?}");
                    break;
                }
            }
        }
        if engine.judged() > judged {
            self.meter.note_decisions(engine.judged() - judged, began.elapsed());
        }
        self.accept(cx, sender, bytes.get(from..at).unwrap_or_default());
        if let Some(why) = close {
            self.send_close_messages(engine);
            self.close(why);
        }
        at
    }

    /// Whether something that `who` has sent is to be judged before anything more of the other side. Where everything goes
    /// on at once, what the other side says next may answer it.
    fn is_first<E: Engine>(&mut self, who: Sender, engine: &E) -> bool {
        self.observe && self.source(who).is_to_be_judged(engine.progress())
    }

    fn accept(&mut self, cx: &mut Context<'_>, sender: Sender, bytes: &[u8]) {
        if !self.observe {
            self.forward(cx, sender, bytes);
        }
    }

    fn forward(&mut self, cx: &mut Context<'_>, sender: Sender, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.bytes[sender.index()] += bytes.len() as u64;
        self.meter.note_forwarded(sender, bytes.len());
        self.sink(sender).send(cx, bytes);
    }

    /// What broke a connection: the reason for the end, or what was found out meanwhile.
    fn take_error(&mut self) -> Option<(Sender, io::Error)> {
        let mut failed = Sender::BOTH.into_iter().zip(&mut self.endpoints);
        let later = failed.find_map(|(sender, endpoint)| Some((sender, endpoint.take_error()?)));
        self.error.take().or(later)
    }

    /// Each side is told what it can understand, unless it is in the middle of a message.
    fn send_close_messages<E: Engine>(&mut self, engine: &E) {
        for receiver in Sender::BOTH {
            self.source(receiver).queue(engine.close_message(receiver));
        }
    }

    /// Gives back memory that is not needed, and counts what is.
    fn settle(&mut self, is_inspecting: bool) {
        if std::mem::replace(&mut self.is_inspecting, is_inspecting) && !is_inspecting {
            self.meter.note_unchecked();
        }
        let buffered: usize = self.endpoints.iter_mut().map(Endpoint::settle).sum();
        let buffered = buffered as u64;
        if buffered != self.buffered {
            self.meter.note_buffered(self.buffered, buffered);
            self.buffered = buffered;
        }
    }

    fn source(&mut self, sender: Sender) -> &mut Endpoint<S> {
        &mut self.endpoints[sender.index()]
    }

    fn sink(&mut self, sender: Sender) -> &mut Endpoint<S> {
        &mut self.endpoints[sender.other().index()]
    }
}
