//! The bytes between the two sides of a session: read, shown to the engine, forwarded, held or discarded.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use referee_session::{Action, Engine, Unreadable};
use referee_wire::{Scratch, Sender};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::endpoint::Endpoint;
use super::gauges::Gauges;
use super::timing::{Look, Timing};
use super::{DriverOptions, MAX_READ, ThreadBuffers};
use crate::clock;
use crate::metrics::Meter;
use crate::report::EndReason;

/// How many bytes are read of what a side sends while its session is closed, so that it sees the end instead of a reset.
const MAX_LINGER_BYTES: usize = 256 << 10;

/// Both sides, and what is between them.
pub(super) struct Relay<S> {
    pub(super) endpoints: [Endpoint<S>; 2],
    pub(super) meter: Meter,
    pub(super) gauges: Arc<Gauges>,
    observe: bool,
    /// What a side sent before its connection broke is still read.
    salvage: bool,
    /// How many bytes are read at a time, at most.
    max_read: usize,
    /// How many bytes may wait to be judged when nothing waits to be sent.
    max_backlog: usize,
    pub(super) bytes: [u64; 2],
    pub(super) discarded: u64,
    pub(super) closing: Option<EndReason>,
    /// What broke a connection.
    error: Option<(Sender, io::Error)>,
    /// Bytes that were read from both sides while the session was closed.
    linger_bytes: usize,
    pub(super) is_active: bool,
    /// The session is over, and its sides have what they were sent.
    pub(super) is_finished: bool,
    /// The guard takes no more connections.
    pub(super) is_draining: bool,
    is_inspecting: bool,
    pub(super) buffered: u64,
    /// Where times matter.
    pub(super) timing: Option<Box<Timing>>,
}

impl<S: AsyncRead + AsyncWrite + Look + Unpin> Relay<S> {
    pub(super) fn new(
        [client, server]: [S; 2],
        meter: Meter,
        gauges: Arc<Gauges>,
        options: DriverOptions,
    ) -> Self {
        Self {
            endpoints: [Endpoint::new(client), Endpoint::new(server)],
            meter,
            gauges,
            observe: options.observe,
            salvage: options.salvage,
            max_read: MAX_READ.min(options.max_buffer),
            max_backlog: options.max_message.saturating_add(options.max_buffer),
            bytes: [0; 2],
            discarded: 0,
            closing: None,
            error: None,
            linger_bytes: 0,
            is_active: false,
            is_finished: false,
            is_draining: false,
            is_inspecting: true,
            buffered: 0,
            timing: None,
        }
    }

    /// `sender` has sent `unread` before.
    pub(super) fn preload(&mut self, sender: Sender, unread: Vec<u8>) {
        self.source(sender).inbox = unread;
    }

    pub(super) fn close(&mut self, why: EndReason) {
        tracing::debug!(%why, "closing");
        self.closing.get_or_insert(why);
    }

    /// Does all that can be done now, until the session is to be closed. The reason for the end, once everything is done.
    pub(super) fn advance<E: Engine>(
        &mut self,
        cx: &mut Context<'_>,
        engine: &mut E,
        buffers: &mut ThreadBuffers,
    ) -> Option<EndReason> {
        while self.closing.is_none() {
            let mut moved = false;
            for sender in Sender::BOTH {
                // Nobody sees the close before what there is to report is handed over.
                moved |= self.closing.is_none() && self.pump(cx, sender, engine, buffers);
            }
            if self.closing.is_none() && self.endpoints.iter().all(Endpoint::is_done) {
                return Some(engine.end_reason());
            }
            if !moved {
                if self.is_draining && engine.is_idle() && self.is_quiet() {
                    self.close(EndReason::Drained);
                    continue;
                }
                return None;
            }
        }
        // First what there is to report is handed over.
        None
    }

    /// Closes the session: what was accepted is still delivered, what comes now is not even looked at. The reason for the
    /// end, once both sides have it.
    pub(super) fn finish(&mut self, cx: &mut Context<'_>, buffers: &mut ThreadBuffers) -> Option<EndReason> {
        let mut finished = true;
        for (sender, endpoint) in Sender::BOTH.into_iter().zip(&mut self.endpoints) {
            endpoint.finish();
            endpoint.flush(cx);
            let before = self.linger_bytes;
            endpoint.discard(cx, &mut buffers.bytes, &mut self.linger_bytes, MAX_LINGER_BYTES);
            let count = self.linger_bytes - before;
            self.discarded += count as u64;
            self.meter.note_discarded(sender, count);
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
        let is_flushed = self.sink(sender).flush(cx);
        self.note_handed(sender, engine);
        if !is_flushed {
            self.block(sender);
            return moved;
        }
        if self.sink(sender).is_gone() {
            if self.salvage && !self.sink(sender).has_ended() {
                // Its end is read after what it has sent.
                return moved;
            }
            let error = self.sink(sender).take_error();
            self.lose(sender.other(), error, engine);
            return true;
        }
        moved |= self.release(cx, sender, engine);
        moved |= !self.observe && self.look_again(cx, sender, engine, buffers);
        while self.may_read(sender, engine) && !self.is_first(sender.other(), engine) {
            let mut buffer = ReadBuf::new(buffers.bytes.get_mut(..self.max_read).unwrap_or_default());
            let before = self.timing.as_ref().map(|_| clock::now());
            match Pin::new(&mut self.source(sender).stream).poll_read(cx, &mut buffer) {
                Poll::Pending => break,
                Poll::Ready(Err(error)) if engine.read_ahead(sender) > 0 => {
                    self.source(sender).note_break(error);
                    moved = true;
                    break;
                }
                Poll::Ready(Err(error)) => {
                    self.read_failed(sender, error, engine);
                    return true;
                }
                Poll::Ready(Ok(())) => {}
            }
            let read = buffer.filled().len();
            moved = true;
            if read == 0 {
                tracing::debug!(from = ?sender, "end of stream");
                self.source(sender).note_end();
                break;
            }
            self.is_active = true;
            if let Some(before) = before {
                self.note_read(sender, before, (read, read < self.max_read), engine);
            }
            self.take(cx, sender, read, engine, buffers);
        }
        if self.timing.is_some() && !self.source(sender).has_ended() && !self.may_read(sender, engine) {
            self.block(sender);
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
            self.note_handed(sender, engine);
        }
        if self.source(sender).inbox.is_empty() {
            let decided = self.decide(cx, sender, bytes, engine, scratch);
            let rest = bytes.get(decided..).unwrap_or_default();
            self.source(sender).inbox.extend_from_slice(rest);
            if let Some(timing) = &mut self.timing {
                timing.note_decided(sender, rest.len());
            }
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
        if is_closing || !source.has_ended() {
            return false;
        }
        if source.is_held() {
            engine.end_while_held(sender, &source.inbox);
            return false;
        }
        if source.is_worth_a_look(engine.progress()) {
            return false;
        }
        if let Some(error) = source.take_break() {
            self.read_failed(sender, error, engine);
            return true;
        }
        self.expire(engine);
        let source = self.source(sender);
        let inbox = std::mem::take(&mut source.inbox);
        if let Err(why) = engine.end(sender, &inbox) {
            self.send_close_messages(engine);
            self.close(why);
            return true;
        }
        self.sink(sender).finish()
    }

    /// Nothing more can be read from `sender`.
    fn read_failed<E: Engine>(&mut self, sender: Sender, error: io::Error, engine: &mut E) {
        if !unreadable(&error).is_some_and(|what| engine.unreadable(sender, &what)) {
            self.lose(sender, Some(error), engine);
        } else if !self.source(sender).has_ended() {
            self.source(sender).note_end();
        }
    }

    /// The connection with `who` broke.
    fn lose<E: Engine>(&mut self, who: Sender, error: Option<io::Error>, engine: &mut E) {
        tracing::debug!(from = ?who, ?error, "the connection broke");
        if self.error.is_none() {
            self.error = error.map(|error| (who, error));
        }
        self.expire(engine);
        let endpoint = self.source(who);
        endpoint.note_gone();
        let inbox = std::mem::take(&mut endpoint.inbox);
        match engine.broken(who, &inbox) {
            Err(why) => {
                self.send_close_messages(engine);
                self.close(why);
            }
            Ok(()) => self.close(EndReason::Reset),
        }
    }

    pub(super) fn may_read<E: Engine>(&mut self, sender: Sender, engine: &E) -> bool {
        let has_room = self.sink(sender).is_flushed();
        let (observe, is_closing) = (self.observe, self.closing.is_some());
        let source = self.source(sender);
        !source.has_ended()
            && !is_closing
            && has_room
            && (observe || !source.is_held() || source.inbox.len() < engine.read_ahead(sender))
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

    /// Sends on what `sender` has sent before, if the engine has kept it and it may go on now.
    fn release<E: Engine>(&mut self, cx: &mut Context<'_>, sender: Sender, engine: &mut E) -> bool {
        let released = if self.closing.is_none() { engine.released(sender) } else { None };
        if let Some(bytes) = &released {
            self.forward(cx, sender, bytes);
        }
        released.is_some()
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
        let undecided = source.inbox.len();
        if let Some(timing) = self.timing.as_mut().filter(|_| decided > 0) {
            timing.note_decided(sender, undecided);
        }
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
            if let Some(timing) = &self.timing {
                engine.note_arrival(sender, timing.arrival(sender, unread.len(), at == 0));
            }
            let decision = engine.receive(sender, unread, scratch, cx.waker());
            tracing::trace!(from = ?sender, unread = unread.len(), action = ?decision.action);
            self.meter.note_message(decision.message);
            match decision.action {
                Action::Forward(count) => {
                    at += count;
                    if count > 0 && self.is_first(sender.other(), engine) {
                        break;
                    }
                }
                Action::ForwardAll => at = bytes.len(),
                Action::Keep(count) => {
                    self.accept(cx, sender, bytes.get(from..at).unwrap_or_default());
                    at += count;
                    from = at;
                }
                Action::Discard(count) => {
                    self.accept(cx, sender, bytes.get(from..at).unwrap_or_default());
                    self.note_discarded(sender, count);
                    at += count;
                    from = at;
                }
                Action::Refuse(count) => {
                    self.accept(cx, sender, bytes.get(from..at).unwrap_or_default());
                    self.note_discarded(sender, count);
                    at += count;
                    from = at;
                    let (receiver, reply) = engine.take_reply();
                    self.source(receiver).reply(cx, &reply);
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
            if let Some(released) = engine.released(sender) {
                self.accept(cx, sender, bytes.get(from..at).unwrap_or_default());
                from = at;
                self.forward(cx, sender, &released);
            }
        }
        if engine.judged() > judged {
            self.meter.note_decisions(engine.judged() - judged, began.elapsed());
        }
        self.accept(cx, sender, bytes.get(from..at).unwrap_or_default());
        self.note_handed(sender, engine);
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
        if let Some(timing) = &mut self.timing {
            timing.note_write(sender);
        }
        self.sink(sender).send(cx, bytes);
    }

    /// What broke a connection: the reason for the end, or what was found out meanwhile.
    pub(super) fn take_error(&mut self) -> Option<(Sender, io::Error)> {
        let mut failed = Sender::BOTH.into_iter().zip(&mut self.endpoints);
        let later = failed.find_map(|(sender, endpoint)| Some((sender, endpoint.take_error()?)));
        self.error.take().or(later)
    }

    /// Each side is told what it can understand, unless it is in the middle of a message.
    pub(super) fn send_close_messages<E: Engine>(&mut self, engine: &E) {
        for receiver in Sender::BOTH {
            self.source(receiver).queue(engine.close_message(receiver));
        }
    }

    /// Gives back memory that is not needed, and counts what is.
    pub(super) fn settle(&mut self, is_inspecting: bool) {
        if std::mem::replace(&mut self.is_inspecting, is_inspecting) && !is_inspecting {
            self.meter.note_unchecked();
        }
        let mut buffered = 0;
        for (side, endpoint) in self.endpoints.iter_mut().enumerate() {
            let (undecided, unsent) = endpoint.settle();
            self.gauges.set(side, undecided, unsent);
            buffered += (undecided + unsent) as u64;
        }
        if buffered != self.buffered {
            self.meter.note_buffered(self.buffered, buffered);
            self.buffered = buffered;
        }
    }

    /// Whether nothing waits, neither to be decided nor to be sent.
    pub(super) fn is_quiet(&self) -> bool {
        self.endpoints.iter().all(|endpoint| endpoint.inbox.is_empty() && endpoint.is_flushed())
    }

    fn note_discarded(&mut self, sender: Sender, count: usize) {
        self.discarded += count as u64;
        self.meter.note_discarded(sender, count);
    }

    fn source(&mut self, sender: Sender) -> &mut Endpoint<S> {
        &mut self.endpoints[sender.index()]
    }

    fn sink(&mut self, sender: Sender) -> &mut Endpoint<S> {
        &mut self.endpoints[sender.other().index()]
    }
}

/// What came that ends the reading, if that is why it failed.
fn unreadable(error: &io::Error) -> Option<Unreadable> {
    match error.kind() {
        io::ErrorKind::InvalidData => Some(Unreadable::Malformed(error.to_string())),
        io::ErrorKind::FileTooLarge => Some(Unreadable::TooLong),
        _ => None,
    }
}
