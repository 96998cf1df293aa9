//! One end of a session: its stream, what came from it and is not decided, what goes to it and is not sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite as _;

use crate::stream::Stream;

/// One end of a session.
pub(super) struct End {
    pub(super) stream: Stream,
    /// What it has sent and nobody has decided about.
    pub(super) inbox: Vec<u8>,
    look: When,
    /// What it is to be sent, from `sent` on.
    outbox: Vec<u8>,
    sent: usize,
    /// Something written may still be in the stream's own buffer.
    dirty: bool,
    /// It sends nothing more.
    pub(super) ended: bool,
    /// It takes nothing more.
    pub(super) gone: bool,
    finishing: bool,
    finished: bool,
}

/// When the inbox is worth a look.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// With so many bytes.
    Length(usize),
    /// After the judge's version has changed from this.
    Version(u64),
    /// Whenever the task is woken.
    Woken,
}

impl End {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            inbox: Vec::new(),
            look: When::Always,
            outbox: Vec::new(),
            sent: 0,
            dirty: false,
            ended: false,
            gone: false,
            finishing: false,
            finished: false,
        }
    }

    pub(super) fn look_again(&mut self) {
        self.look = When::Always;
    }

    pub(super) fn need(&mut self, length: usize) {
        self.look = When::Length(length);
    }

    pub(super) fn hold(&mut self, version: u64) {
        self.look = When::Version(version);
    }

    pub(super) fn hold_until_woken(&mut self) {
        self.look = When::Woken;
    }

    pub(super) fn is_worth_a_look(&self, version: u64) -> bool {
        !self.inbox.is_empty()
            && match self.look {
                When::Always | When::Woken => true,
                When::Length(length) => self.inbox.len() >= length,
                When::Version(held) => held != version,
            }
    }

    /// Like [`is_worth_a_look`](Self::is_worth_a_look), where a look can be had at once.
    pub(super) fn is_to_be_judged(&self, version: u64) -> bool {
        !matches!(self.look, When::Woken) && self.is_worth_a_look(version)
    }

    /// Whether something waits for the other side.
    pub(super) fn is_held(&self) -> bool {
        !self.inbox.is_empty() && matches!(self.look, When::Version(_) | When::Woken)
    }

    /// Sends as much as the stream takes now and keeps the rest.
    pub(super) fn send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) {
        if !self.is_flushed() {
            return self.queue(bytes);
        }
        let mut rest = bytes;
        while !rest.is_empty() && !self.gone {
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(written)) if written > 0 => {
                    rest = rest.get(written..).unwrap_or_default();
                    self.dirty = !matches!(self.stream, Stream::Plain(_));
                }
                Poll::Ready(_) => self.gone = true,
                Poll::Pending => break,
            }
        }
        if !rest.is_empty() {
            self.queue(rest);
        }
        if self.dirty {
            self.flush(cx);
        }
    }

    /// Keeps `bytes` to be sent when there is room.
    pub(super) fn queue(&mut self, bytes: &[u8]) {
        if !self.gone && !self.finished {
            self.outbox.extend_from_slice(bytes);
        }
    }

    /// Sends what waits. Whether nothing does any more.
    pub(super) fn flush(&mut self, cx: &mut Context<'_>) -> bool {
        while !self.gone && self.sent < self.outbox.len() {
            let rest = self.outbox.get(self.sent..).unwrap_or_default();
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Ready(Ok(written)) if written > 0 => {
                    self.sent += written;
                    self.dirty = true;
                }
                Poll::Ready(_) => self.gone = true,
                Poll::Pending => return false,
            }
        }
        (self.outbox, self.sent) = (Vec::new(), 0);
        if self.dirty && !self.gone {
            match Pin::new(&mut self.stream).poll_flush(cx) {
                Poll::Ready(Ok(())) => self.dirty = false,
                Poll::Ready(Err(_)) => self.gone = true,
                Poll::Pending => return false,
            }
        }
        if self.finishing && !self.finished && !self.gone {
            match Pin::new(&mut self.stream).poll_shutdown(cx) {
                // A peer that has closed already needs not be told.
                Poll::Ready(_) => self.finished = true,
                Poll::Pending => return false,
            }
        }
        true
    }

    pub(super) fn is_flushed(&self) -> bool {
        self.outbox.is_empty() && !self.dirty
    }

    /// Nothing more is sent to it after what waits.
    pub(super) fn finish(&mut self) {
        self.finishing = true;
    }

    pub(super) fn is_finishing(&self) -> bool {
        self.finishing
    }

    /// All that it was to be sent is sent, the end included.
    pub(super) fn is_delivered(&self) -> bool {
        self.finished && self.is_flushed()
    }

    pub(super) fn is_done(&self) -> bool {
        self.ended && self.inbox.is_empty() && self.is_delivered()
    }

    /// Gives back memory that is not needed; says how much is in use.
    pub(super) fn settle(&mut self) -> usize {
        if self.inbox.is_empty() && self.inbox.capacity() > 0 {
            self.inbox = Vec::new();
        }
        self.inbox.len() + self.outbox.len()
    }
}
