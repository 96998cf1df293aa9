//! One side of a session: its stream, what came from it and is not decided, what goes to it and is not sent.
//!
//! ```text
//!   receiving:  Open ── end of stream, or the connection breaks ──▶ Ended
//!
//!   sending:    Open ── finish ──▶ Finishing ── all is sent, half-closed ──▶ Finished
//!                  └──────────────────┴── the connection breaks ──▶ Failed
//! ```

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use referee_session::HoldUntil;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// One side of a session.
pub(super) struct Endpoint<S> {
    pub(super) stream: S,
    /// What it has sent and nobody has decided about.
    pub(super) inbox: Vec<u8>,
    show: Show,
    receiving: Receiving,
    sending: Sending,
    /// What it is to be sent, from `sent` on.
    outbox: Vec<u8>,
    sent: usize,
    /// Something written may still be in the stream's own buffer.
    is_dirty: bool,
    error: Option<io::Error>,
    /// What broke the connection while the inbox was held.
    broken: Option<io::Error>,
}

/// When the inbox is to be shown to the engine.
#[derive(Clone, Copy)]
enum Show {
    Always,
    /// With so many bytes.
    Length(usize),
    /// After the engine's progress has changed from this.
    Progress(u64),
    /// Whenever the task is woken.
    Woken,
}

/// Whether anything more comes from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiving {
    Open,
    Ended,
}

/// Whether anything more can be sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    Open,
    /// Nothing after what is in the outbox.
    Finishing,
    /// It was told that nothing more comes.
    Finished,
    /// It takes nothing more.
    Failed,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Endpoint<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            inbox: Vec::new(),
            show: Show::Always,
            receiving: Receiving::Open,
            sending: Sending::Open,
            outbox: Vec::new(),
            sent: 0,
            is_dirty: false,
            error: None,
            broken: None,
        }
    }

    pub(super) fn show_always(&mut self) {
        self.show = Show::Always;
    }

    /// Keeps the inbox as the engine says; `progress` is its progress now.
    pub(super) fn hold(&mut self, until: HoldUntil, progress: u64) {
        self.show = match until {
            HoldUntil::Length(length) => Show::Length(length),
            HoldUntil::Progress => Show::Progress(progress),
            HoldUntil::Woken => Show::Woken,
        };
    }

    pub(super) fn is_worth_a_look(&self, progress: u64) -> bool {
        !self.inbox.is_empty()
            && match self.show {
                Show::Always | Show::Woken => true,
                Show::Length(length) => self.inbox.len() >= length,
                Show::Progress(held) => held != progress,
            }
    }

    /// Like [`is_worth_a_look`](Self::is_worth_a_look), where a look can be had at once.
    pub(super) fn is_to_be_judged(&self, progress: u64) -> bool {
        !matches!(self.show, Show::Woken) && self.is_worth_a_look(progress)
    }

    /// Whether something waits for the other side.
    pub(super) fn is_held(&self) -> bool {
        !self.inbox.is_empty() && matches!(self.show, Show::Progress(_) | Show::Woken)
    }

    /// It sends nothing more.
    pub(super) fn note_end(&mut self) {
        debug_assert_eq!(self.receiving, Receiving::Open, "a second end");
        self.receiving = Receiving::Ended;
    }

    /// The connection broke while the inbox was held, which is to be decided first.
    pub(super) fn note_break(&mut self, error: io::Error) {
        self.note_end();
        self.broken = Some(error);
    }

    pub(super) fn take_break(&mut self) -> Option<io::Error> {
        self.broken.take()
    }

    /// The connection broke, both ways.
    pub(super) fn note_gone(&mut self) {
        (self.receiving, self.sending) = (Receiving::Ended, Sending::Failed);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.receiving == Receiving::Ended
    }

    /// Whether it takes nothing more.
    pub(super) fn is_gone(&self) -> bool {
        self.sending == Sending::Failed
    }

    /// Why it takes nothing more.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    fn fail(&mut self, result: io::Result<usize>) {
        let closed = || io::Error::new(io::ErrorKind::WriteZero, "the connection takes nothing more");
        self.error.get_or_insert(result.err().unwrap_or_else(closed));
        self.sending = Sending::Failed;
    }

    /// Sends as much as the stream takes now and keeps the rest.
    pub(super) fn send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) {
        debug_assert!(!matches!(self.sending, Sending::Finished), "more to send after the end");
        if !self.is_flushed() {
            return self.queue(bytes);
        }
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_gone() {
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(written)) if written > 0 => {
                    rest = rest.get(written..).unwrap_or_default();
                    self.is_dirty = true;
                }
                Poll::Ready(result) => self.fail(result),
                Poll::Pending => break,
            }
        }
        if !rest.is_empty() {
            self.queue(rest);
        }
        if self.is_dirty {
            self.flush(cx);
        }
    }

    /// Sends what the other side did not say, unless it has said that nothing more comes.
    pub(super) fn reply(&mut self, cx: &mut Context<'_>, bytes: &[u8]) {
        if self.sending == Sending::Open {
            self.send(cx, bytes);
        }
    }

    /// Keeps `bytes` to be sent when there is room.
    pub(super) fn queue(&mut self, bytes: &[u8]) {
        if matches!(self.sending, Sending::Open | Sending::Finishing) {
            self.outbox.extend_from_slice(bytes);
        }
    }

    /// Sends what waits. Whether nothing does any more.
    pub(super) fn flush(&mut self, cx: &mut Context<'_>) -> bool {
        while !self.is_gone() && self.sent < self.outbox.len() {
            let rest = self.outbox.get(self.sent..).unwrap_or_default();
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(written)) if written > 0 => {
                    self.sent += written;
                    self.is_dirty = true;
                }
                Poll::Ready(result) => self.fail(result),
                Poll::Pending => return false,
            }
        }
        (self.outbox, self.sent) = (Vec::new(), 0);
        if self.is_dirty && !self.is_gone() {
            match Pin::new(&mut self.stream).poll_flush(cx) {
                Poll::Ready(Ok(())) => self.is_dirty = false,
                Poll::Ready(Err(error)) => self.fail(Err(error)),
                Poll::Pending => return false,
            }
        }
        if self.sending == Sending::Finishing {
            match Pin::new(&mut self.stream).poll_shutdown(cx) {
                // A peer that has closed already needs not be told.
                Poll::Ready(_) => self.sending = Sending::Finished,
                Poll::Pending => return false,
            }
        }
        true
    }

    pub(super) fn is_flushed(&self) -> bool {
        self.outbox.is_empty() && !self.is_dirty
    }

    /// Nothing more is sent to it after what waits. Whether that is news.
    pub(super) fn finish(&mut self) -> bool {
        let is_open = self.sending == Sending::Open;
        if is_open {
            self.sending = Sending::Finishing;
        }
        is_open
    }

    /// All that it was to be sent is sent, the end included.
    pub(super) fn is_delivered(&self) -> bool {
        self.sending == Sending::Finished && self.is_flushed()
    }

    pub(super) fn is_done(&self) -> bool {
        self.has_ended() && self.inbox.is_empty() && self.is_delivered()
    }

    /// Reads and forgets what comes, until its end or until there are more than `most` bytes in `count`.
    pub(super) fn discard(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
        count: &mut usize,
        most: usize,
    ) {
        while !self.has_ended() {
            let mut buffer = ReadBuf::new(buffer);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) => {
                    *count += buffer.filled().len();
                    if buffer.filled().is_empty() || *count > most {
                        self.receiving = Receiving::Ended;
                    }
                }
                Poll::Ready(Err(_)) => self.receiving = Receiving::Ended,
                Poll::Pending => break,
            }
        }
    }

    /// Gives back memory that is not needed; says how many bytes are not decided, and how many not sent.
    pub(super) fn settle(&mut self) -> (usize, usize) {
        if self.inbox.is_empty() && self.inbox.capacity() > 0 {
            self.inbox = Vec::new();
        }
        (self.inbox.len(), self.outbox.len() - self.sent)
    }
}
