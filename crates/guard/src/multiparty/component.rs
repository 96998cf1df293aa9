//! A component's connection for one session: decodes its bytes, offers its messages to the session table, and writes the
//! bytes of messages for it unchanged.

mod open_requests;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use referee_wire::{Codec, Connection, Fields, Limits, Reading, Scratch, Sender, Step};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::Notify;

use open_requests::{OpenRequests, ServiceClose};

use super::payload::{Payload, write_fields};
use super::peer_message::SessionId;
use super::plan::{Endpoint, RolePlan};
use super::runtime::Runtime;
use super::session_table::Offer;
use crate::metrics::lock;
use crate::stream::Stream;

/// How long a component may take to read the close message.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const READ_CHUNK_BYTES: usize = 16 << 10;
/// Messages are written in batches of about this size.
const MAX_BATCH_BYTES: usize = 64 << 10;
/// Bytes that are read ahead from a component whose message has to wait.
pub(super) const MAX_READ_AHEAD_BYTES: usize = 64 << 10;

/// An entry of a [`ComponentQueue`].
enum QueueItem {
    Bytes(Bytes),
    /// Half-close: nothing more will be delivered.
    HalfClose,
    /// The close message, if there is one; then the connection is closed.
    Close(Option<Bytes>),
}

/// The queue of what is to be written to one component.
#[derive(Default)]
pub(super) struct ComponentQueue {
    items: Mutex<VecDeque<QueueItem>>,
    more: Notify,
    /// Notified when a waiting message of the component may be offered again.
    wake: Notify,
    /// Notified when the session is over.
    closed: Notify,
}

impl ComponentQueue {
    pub(super) fn deliver(&self, bytes: Bytes) {
        self.push(QueueItem::Bytes(bytes));
    }

    pub(super) fn half_close(&self) {
        self.push(QueueItem::HalfClose);
    }

    pub(super) fn close(&self, close_message: Option<Bytes>) {
        self.push(QueueItem::Close(close_message));
        self.closed.notify_one();
        self.wake();
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Waits for an entry; whether it is a message.
    async fn has_output(&self) -> bool {
        loop {
            match lock(&self.items).front() {
                Some(QueueItem::Bytes(_)) => return true,
                Some(_) => return false,
                None => {}
            }
            self.more.notified().await;
        }
    }

    /// The next batch of messages, and the half-close or close after it. Small messages are batched; a long one is not copied.
    fn take(&self) -> (Vec<Bytes>, Option<QueueItem>) {
        let mut items = lock(&self.items);
        let (mut batch, mut size) = (Vec::new(), 0);
        while let Some(QueueItem::Bytes(bytes)) = items.front() {
            if size > 0 && size + bytes.len() > MAX_BATCH_BYTES {
                return (batch, None);
            }
            size += bytes.len();
            batch.push(bytes.clone());
            items.pop_front();
        }
        (batch, items.pop_front())
    }

    fn push(&self, item: QueueItem) {
        lock(&self.items).push_back(item);
        self.more.notify_one();
    }
}

/// A connection of a component, and the bytes read from it so far.
pub(super) struct IncomingComponent {
    pub(super) stream: Stream,
    pub(super) unread: Vec<u8>,
}

/// The result of reading one message.
enum ReadOutcome {
    Payload(Payload),
    /// Undecodable bytes; nothing after them can be decoded.
    Wrong(String),
    /// The message exceeds `limits.message`.
    TooLong,
    End,
    /// The connection is broken, both ways.
    Reset,
}

/// A component's connection for one session.
struct ComponentConnection<'a> {
    runtime: &'a Runtime,
    slot: usize,
    id: SessionId,
    plan: &'a RolePlan,
    queue: &'a ComponentQueue,
    /// The codec's state of both directions.
    codec_state: Mutex<Connection>,
    /// Notified when something was written to the component: an answer may be decodable now.
    answered: Notify,
    requests: Mutex<OpenRequests>,
    /// Whether the connection was shut down for writing.
    over: AtomicBool,
    /// Whether the component shut down its own direction and still reads.
    half_closed: AtomicBool,
}

/// Serves the component of session `id` of the role at `slot` until its connection ends.
pub(super) async fn serve_component(
    runtime: Arc<Runtime>,
    slot: usize,
    id: SessionId,
    incoming: IncomingComponent,
    queue: Arc<ComponentQueue>,
) {
    let plan = runtime.plan(slot);
    let component = ComponentConnection {
        runtime: &runtime,
        slot,
        id,
        plan: &plan,
        queue: &queue,
        codec_state: Mutex::new(plan.codec.endpoint(Limits { message: plan.message })),
        answered: Notify::new(),
        requests: Mutex::default(),
        over: AtomicBool::new(false),
        half_closed: AtomicBool::new(false),
    };
    runtime.connected_components.fetch_add(1, Ordering::Relaxed);
    let mut next = Some(incoming);
    while let Some(incoming) = next {
        let (mut reader, mut writer) = tokio::io::split(incoming.stream);
        next = tokio::select! {
            () = component.read(&mut reader, incoming.unread) => component.reconnect().await,
            () = component.write(&mut writer) => {
                let _ = tokio::time::timeout(CLOSE_TIMEOUT, drain(&mut reader)).await;
                None
            }
            () = component.close_timed_out() => None,
        };
    }
    runtime.connected_components.fetch_sub(1, Ordering::Relaxed);
    runtime.component_gone(slot, id);
}

/// Reads until the other side closes: closing with unread bytes would reset the connection and discard the close message.
pub(super) async fn drain(reader: &mut (impl AsyncRead + Unpin)) {
    let mut rest = [0; 4096];
    while reader.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}

impl ComponentConnection<'_> {
    /// The component's side of the codec.
    fn side(&self) -> Sender {
        match self.plan.endpoint {
            Endpoint::Listen(_) => Sender::Client,
            Endpoint::Connect(_) => Sender::Server,
        }
    }

    /// Whether the component is a service that may close its connection between exchanges.
    fn returns(&self) -> bool {
        matches!(self.plan.endpoint, Endpoint::Connect(_)) && self.plan.codec.has_requests()
    }

    /// Connects again to a service that closed its connection between exchanges; `None` if it is gone.
    async fn reconnect(&self) -> Option<IncomingComponent> {
        let Endpoint::Connect(address) = &self.plan.endpoint else { return None };
        if !self.returns() || self.over.load(Ordering::Relaxed) {
            return None;
        }
        let closing = lock(&self.requests).on_close(self.plan.codec.is_idle(&lock(&self.codec_state)));
        match closing {
            // Reconnect at once to see whether it is still there; but not to a service that closes unused connections.
            ServiceClose::Idle { used: true } | ServiceClose::Crossed => {}
            ServiceClose::Idle { used: false } => {
                if !self.queue.has_output().await {
                    return None;
                }
            }
            ServiceClose::Unknown => {
                let name = &self.plan.name;
                let sentence = format!("`{name}` closed its connection while a request was on its way");
                self.runtime.fault(self.slot, self.id, sentence);
                return None;
            }
            ServiceClose::Gone => return None,
        }
        let connected = tokio::time::timeout(self.plan.handshake, self.plan.setup.connect(address)).await;
        let mut stream = connected.ok()?.ok()?;
        *lock(&self.codec_state) = self.plan.codec.endpoint(Limits { message: self.plan.message });
        let (again, count) = lock(&self.requests).reset();
        if !again.is_empty() {
            self.write_messages(&again, count, &mut stream).await.ok()?;
        }
        Some(IncomingComponent { stream, unread: Vec::new() })
    }

    /// Waits until the session is over and [`CLOSE_TIMEOUT`] has passed.
    async fn close_timed_out(&self) {
        self.queue.closed.notified().await;
        // For the next caller.
        self.queue.closed.notify_one();
        tokio::time::sleep(CLOSE_TIMEOUT).await;
    }

    /// Writes `messages` to the component, the last `count` of which have not been counted as delivered.
    async fn write_messages(
        &self,
        messages: &[Bytes],
        count: u32,
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        messages.iter().for_each(|bytes| self.observe_output(bytes));
        if self.returns() {
            lock(&self.requests).sent(messages, count);
        }
        match messages {
            [one] => writer.write_all(one).await?,
            several => writer.write_all(&several.concat()).await?,
        }
        let _ = writer.flush().await;
        lock(&self.requests).delivered();
        self.answered.notify_one();
        // Repeated messages were counted before.
        let bytes = messages.iter().rev().take(count as usize).map(Bytes::len).sum();
        self.runtime.delivered(self.slot, self.id, (count, bytes));
        Ok(())
    }

    /// Offers what the component sends until it closes. Never returns once the session is over: the writer closes the
    /// connection then.
    async fn read(&self, reader: &mut ReadHalf<Stream>, mut unread: Vec<u8>) {
        loop {
            self.runtime.has_room_for_reports().await;
            match self.next(reader, &mut unread).await {
                ReadOutcome::Payload(payload) => self.offer(payload, reader, &mut unread).await,
                ReadOutcome::Wrong(why) => {
                    self.offer(Payload::malformed(&why), reader, &mut unread).await;
                    return std::future::pending().await;
                }
                ReadOutcome::TooLong => {
                    let limit = self.plan.message;
                    let name = &self.plan.name;
                    let sentence = format!("a message of `{name}` has more than {limit} bytes");
                    self.runtime.fault(self.slot, self.id, sentence);
                    return std::future::pending().await;
                }
                ReadOutcome::Reset => return,
                ReadOutcome::End => {
                    // A WebSocket has no half-close, and a service is connected to again.
                    let both = self.returns() || self.plan.setup.has_pings();
                    if both || !self.runtime.half_close(self.slot, self.id) {
                        return;
                    }
                    self.half_closed.store(true, Ordering::Relaxed);
                    return std::future::pending().await;
                }
            }
        }
    }

    /// Offers a message until it is accepted. Meanwhile the connection is read ahead, to answer WebSocket pings and to notice
    /// that the component has left.
    async fn offer(&self, mut payload: Payload, reader: &mut ReadHalf<Stream>, unread: &mut Vec<u8>) {
        let pings = self.plan.setup.has_pings();
        let (mut listens, most) = (true, if pings { MAX_READ_AHEAD_BYTES } else { 1 });
        loop {
            match self.runtime.offer(self.slot, self.id, payload) {
                Offer::Taken => return,
                Offer::Later(again) => payload = again,
                Offer::Over => return std::future::pending().await,
            }
            loop {
                let reads = listens && unread.len() < most;
                // Reserved only where something is read, so that memory does not grow with each message that waits.
                unread.reserve(if reads { READ_CHUNK_BYTES } else { 0 });
                tokio::select! {
                    biased;
                    () = self.queue.wake.notified() => break,
                    // The next read returns the end again.
                    read = reader.read_buf(unread), if reads => {
                        listens = matches!(read, Ok(1..));
                        if !listens && unread.is_empty() && !pings && !self.returns() {
                            self.runtime.half_close_after(self.slot, self.id, &payload);
                        }
                    }
                }
            }
        }
    }

    /// Reads the next message with its body.
    async fn next(&self, reader: &mut ReadHalf<Stream>, unread: &mut Vec<u8>) -> ReadOutcome {
        /// The result of one decoding step.
        enum Decoded {
            More(usize),
            Wait,
            Found(Payload, usize, bool),
            Wrong(String),
            TooLong,
        }
        let codec: &Codec = &self.plan.codec;
        loop {
            let decoded = {
                let (scratch, mut fields) = (Scratch::new(), Fields::new());
                let mut codec_state = lock(&self.codec_state);
                match codec.decode(
                    &mut codec_state,
                    self.side(),
                    unread,
                    Reading::anything(),
                    &scratch,
                    &mut fields,
                ) {
                    Step::More { at_least } => Decoded::More(at_least),
                    Step::Wait => Decoded::Wait,
                    Step::Message(message) => {
                        let payload = Payload {
                            label: Ok(codec.name(message.label).into()),
                            fields: write_fields(&fields),
                            bytes: Bytes::copy_from_slice(unread.get(..message.bytes).unwrap_or_default()),
                        };
                        codec.take(&mut codec_state, self.side(), message.after, true);
                        lock(&self.requests).note_answer(codec.is_idle(&codec_state));
                        Decoded::Found(payload, message.bytes, message.has_body)
                    }
                    Step::Malformed(malformed) if malformed.too_long => Decoded::TooLong,
                    Step::Malformed(malformed) => Decoded::Wrong(malformed.to_string()),
                    Step::Body { .. } | Step::Transparent => {
                        Decoded::Wrong("something that cannot be read".to_owned())
                    }
                }
            };
            match decoded {
                Decoded::Found(payload, bytes, has_body) => {
                    unread.drain(..bytes);
                    if payload.is_unwieldy(self.plan.message) {
                        return ReadOutcome::TooLong;
                    }
                    return if has_body {
                        self.body(payload, reader, unread).await
                    } else {
                        ReadOutcome::Payload(payload)
                    };
                }
                Decoded::More(at_least) => match self.fill(reader, unread, at_least).await {
                    Ok(true) => {}
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        return ReadOutcome::Wrong(error.to_string());
                    }
                    Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return ReadOutcome::TooLong,
                    Ok(false) => return self.end(unread),
                    Err(_) => {
                        return match self.end(unread) {
                            ReadOutcome::End => ReadOutcome::Reset,
                            wrong => wrong,
                        };
                    }
                },
                Decoded::Wait => self.answered.notified().await,
                Decoded::Wrong(why) => return ReadOutcome::Wrong(why),
                Decoded::TooLong => return ReadOutcome::TooLong,
            }
        }
    }

    /// Reads the body of a message.
    async fn body(
        &self,
        mut payload: Payload,
        reader: &mut ReadHalf<Stream>,
        unread: &mut Vec<u8>,
    ) -> ReadOutcome {
        let codec: &Codec = &self.plan.codec;
        let mut bytes = payload.bytes.to_vec();
        loop {
            let step = {
                let (scratch, mut fields) = (Scratch::new(), Fields::new());
                let mut codec_state = lock(&self.codec_state);
                let step = codec.decode(
                    &mut codec_state,
                    self.side(),
                    unread,
                    Reading::anything(),
                    &scratch,
                    &mut fields,
                );
                match step {
                    Step::Body { bytes, last } => Ok((usize::try_from(bytes).unwrap_or(usize::MAX), last)),
                    Step::More { at_least } => Err(at_least),
                    _ => return ReadOutcome::Wrong("a body that cannot be read".to_owned()),
                }
            };
            let wanted = match step {
                Ok((count, _)) => count,
                Err(at_least) => at_least,
            };
            if bytes.len().saturating_add(wanted) > self.plan.message {
                return ReadOutcome::TooLong;
            }
            if !matches!(self.fill(reader, unread, wanted).await, Ok(true)) {
                return self.end(unread);
            }
            if let Ok((count, last)) = step {
                bytes.extend(unread.drain(..count));
                if last {
                    payload.bytes = bytes.into();
                    return ReadOutcome::Payload(payload);
                }
            }
        }
    }

    /// Reads until `at_least` bytes are there; false if the connection ends before.
    async fn fill(
        &self,
        reader: &mut ReadHalf<Stream>,
        unread: &mut Vec<u8>,
        at_least: usize,
    ) -> io::Result<bool> {
        while unread.len() < at_least {
            unread.reserve(READ_CHUNK_BYTES);
            if reader.read_buf(unread).await? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn end(&self, unread: &[u8]) -> ReadOutcome {
        match self.plan.codec.end(&mut lock(&self.codec_state), self.side(), unread) {
            Ok(()) => ReadOutcome::End,
            Err(malformed) => ReadOutcome::Wrong(malformed.to_string()),
        }
    }

    /// Writes queued messages to the component until the connection is to be closed.
    async fn write(&self, writer: &mut WriteHalf<Stream>) {
        loop {
            let (batch, last) = self.queue.take();
            let count = u32::try_from(batch.len()).unwrap_or(u32::MAX);
            if count > 0 && self.write_messages(&batch, count, writer).await.is_err() {
                if self.returns() {
                    // It has closed the connection; the reader handles that.
                    return std::future::pending().await;
                }
                return;
            }
            match last {
                Some(QueueItem::Close(words)) => {
                    let closing = async {
                        if let Some(words) = words {
                            let _ = writer.write_all(&words).await;
                        }
                        let _ = writer.shutdown().await;
                    };
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
                    return;
                }
                Some(QueueItem::HalfClose) => {
                    self.over.store(true, Ordering::Relaxed);
                    let _ = writer.shutdown().await;
                    if self.half_closed.load(Ordering::Relaxed) {
                        return;
                    }
                }
                _ if count == 0 => self.queue.more.notified().await,
                _ => {}
            }
        }
    }

    /// Lets the codec see what the component is sent: it may need the request to decode the answer.
    fn observe_output(&self, bytes: &[u8]) {
        let codec: &Codec = &self.plan.codec;
        let (scratch, mut fields) = (Scratch::new(), Fields::new());
        let mut codec_state = lock(&self.codec_state);
        let side = self.side().other();
        let mut rest = bytes;
        loop {
            let step = codec.decode(&mut codec_state, side, rest, Reading::anything(), &scratch, &mut fields);
            let (count, after) = match step {
                Step::Message(message) => (message.bytes, Some((message.after, message.has_body))),
                Step::Body { bytes, last } if !last => (usize::try_from(bytes).unwrap_or(usize::MAX), None),
                _ => return,
            };
            rest = rest.get(count..).unwrap_or_default();
            if let Some((after, has_body)) = after {
                codec.take(&mut codec_state, side, after, true);
                if !has_body {
                    return;
                }
            }
        }
    }
}
