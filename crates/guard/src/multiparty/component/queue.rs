//! The queue of what is to be written to one component.

use std::collections::VecDeque;
use std::io;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use hyper::body::Bytes;
use referee_verdict::EndReason;
use tokio::io::ReadBuf;
use tokio::sync::Notify;

use super::{CLOSE_TIMEOUT, session_over};
use crate::metrics::lock;

/// An entry of a [`ComponentQueue`].
enum QueueItem {
    Message {
        bytes: Bytes,
        /// It was counted as delivered before, on another connection.
        is_repeated: bool,
    },
    /// Half-close: nothing more will be delivered.
    HalfClose,
    /// The connection is to be closed.
    Close,
}

#[derive(Default)]
struct Inner {
    items: VecDeque<QueueItem>,
    /// How many bytes of the first message were read.
    read: usize,
    /// Messages of which the first byte was read, for the codec.
    outgoing: Vec<Bytes>,
    /// Messages, and their bytes, that were read and may not have been written to the component yet.
    handed: (u32, usize),
    /// A message of the component that had to wait may be offered again.
    is_woken: bool,
    /// Why the session is over, and the close message.
    close: Option<(EndReason, Bytes)>,
    /// Whether the session is over.
    is_closed: bool,
    /// Nothing is read: the component's connection is over, and another may follow.
    is_paused: bool,
    /// Whether the half-close was read.
    is_half_closed: bool,
    /// Of the driver's task. It stays, so that no event is lost between two polls.
    waker: Option<Waker>,
}

/// The queue of what is to be written to one component.
#[derive(Default)]
pub(in crate::multiparty) struct ComponentQueue {
    inner: Mutex<Inner>,
    more: Notify,
    /// Notified when the session is over.
    closed: Notify,
}

impl ComponentQueue {
    pub(in crate::multiparty) fn deliver(&self, bytes: Bytes) {
        self.change(|inner| inner.items.push_back(QueueItem::Message { bytes, is_repeated: false }));
    }

    pub(in crate::multiparty) fn half_close(&self) {
        self.change(|inner| inner.items.push_back(QueueItem::HalfClose));
    }

    pub(in crate::multiparty) fn close(&self, why: EndReason, close_message: Option<Bytes>) {
        self.change(|inner| {
            inner.items.push_back(QueueItem::Close);
            inner.close = Some((why, close_message.unwrap_or_default()));
            (inner.is_closed, inner.is_woken) = (true, true);
        });
        self.closed.notify_one();
    }

    /// A message of the component that had to wait may be offered again.
    pub(in crate::multiparty) fn wake(&self) {
        self.change(|inner| inner.is_woken = true);
    }

    pub(super) fn take_wake(&self) -> bool {
        std::mem::take(&mut lock(&self.inner).is_woken)
    }

    pub(super) fn take_outgoing(&self) -> Vec<Bytes> {
        std::mem::take(&mut lock(&self.inner).outgoing)
    }

    pub(super) fn take_handed(&self) -> (u32, usize) {
        std::mem::take(&mut lock(&self.inner).handed)
    }

    /// Nothing more is read until messages are [repeated](Self::repeat) on another connection.
    pub(super) fn pause(&self) {
        lock(&self.inner).is_paused = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.inner).is_closed
    }

    pub(super) fn take_close(&self) -> (EndReason, Bytes) {
        lock(&self.inner).close.take().unwrap_or((EndReason::Over, Bytes::new()))
    }

    /// Waits for an entry; whether it is a message.
    pub(super) async fn has_output(&self) -> bool {
        loop {
            match lock(&self.inner).items.front() {
                Some(QueueItem::Message { .. }) => return true,
                Some(_) => return false,
                None => {}
            }
            self.more.notified().await;
        }
    }

    /// Waits until the session is over and the component has had time to read the close message.
    pub(super) async fn close_timed_out(&self) {
        self.closed.notified().await;
        // For the next caller.
        self.closed.notify_one();
        let is_half_closed = lock(&self.inner).is_half_closed;
        if !is_half_closed {
            tokio::time::sleep(CLOSE_TIMEOUT).await;
        }
    }

    /// Puts `messages`, which were written to a connection that is gone, before all others. Returns what is to be counted as delivered.
    pub(super) fn repeat(&self, messages: Vec<Bytes>) -> (u32, usize) {
        let mut inner = lock(&self.inner);
        inner.is_paused = false;
        if std::mem::take(&mut inner.read) > 0
            && let Some(QueueItem::Message { bytes, is_repeated }) = inner.items.pop_front()
            && !is_repeated
        {
            inner.count(bytes.len());
        }
        for bytes in messages.into_iter().rev() {
            inner.items.push_front(QueueItem::Message { bytes, is_repeated: true });
        }
        std::mem::take(&mut inner.handed)
    }

    /// Another connection reads from it: what was left of the one before, a message in part or its half-close, is not for this one.
    pub(super) fn attach(&self) {
        self.repeat(Vec::new());
        let mut inner = lock(&self.inner);
        inner.is_half_closed = false;
        while let Some(QueueItem::HalfClose) = inner.items.front() {
            inner.items.pop_front();
        }
    }

    /// Fills `buffer` with whole messages and parts of long ones.
    pub(super) fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut inner = lock(&self.inner);
        if !inner.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            inner.waker = Some(cx.waker().clone());
            if inner.is_woken {
                cx.waker().wake_by_ref();
            }
        }
        if inner.is_paused {
            return Poll::Ready(Ok(()));
        }
        while buffer.remaining() > 0 {
            match inner.items.front() {
                Some(QueueItem::Message { bytes, is_repeated }) => {
                    let (bytes, is_repeated) = (bytes.clone(), *is_repeated);
                    inner.read_message(bytes, is_repeated, buffer);
                }
                Some(_) if !buffer.filled().is_empty() => break,
                Some(QueueItem::HalfClose) => {
                    inner.items.pop_front();
                    inner.is_half_closed = true;
                    return Poll::Ready(Ok(()));
                }
                Some(QueueItem::Close) => {
                    inner.items.pop_front();
                    return Poll::Ready(Err(session_over()));
                }
                None => break,
            }
        }
        if buffer.filled().is_empty() { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = lock(&self.inner);
        change(&mut inner);
        if let Some(waker) = &inner.waker {
            waker.wake_by_ref();
        }
        drop(inner);
        self.more.notify_one();
    }
}

impl Inner {
    /// Reads on in the first message.
    fn read_message(&mut self, bytes: Bytes, is_repeated: bool, buffer: &mut ReadBuf<'_>) {
        if self.read == 0 {
            self.outgoing.push(bytes.clone());
        }
        let rest = bytes.get(self.read..).unwrap_or_default();
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(rest.get(..count).unwrap_or_default());
        self.read += count;
        if self.read == bytes.len() {
            self.read = 0;
            self.items.pop_front();
            if !is_repeated {
                self.count(bytes.len());
            }
        }
    }

    fn count(&mut self, bytes: usize) {
        self.handed.0 += 1;
        self.handed.1 += bytes;
    }
}
