//! One component's connection, for one session: its bytes become messages, and messages for it are written as the bytes
//! that their sender wrote.

mod errand;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use referee_wire::{Codec, Connection, Fields, Limits, Reading, Scratch, Sender, Step};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::Notify;

use errand::{Closing, Errand};

use super::letter::SessionId;
use super::office::Office;
use super::parcel::{Parcel, write_fields};
use super::plan::{Place, RolePlan};
use super::roster::Offer;
use crate::metrics::lock;
use crate::stream::Stream;

/// How long a component may take to hear the last words.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);
const CHUNK: usize = 16 << 10;
/// What is written to a component at once.
const TOGETHER: usize = 64 << 10;
/// What is read of a component that has to wait.
pub(super) const AHEAD: usize = 64 << 10;

/// What is to be written to a component.
enum Item {
    Bytes(Bytes),
    /// Nothing more will come.
    Over,
    /// These are the last words.
    Close(Option<Bytes>),
}

/// Where things for one component wait.
#[derive(Default)]
pub(super) struct Outlet {
    items: Mutex<VecDeque<Item>>,
    more: Notify,
    /// Told when a message of the component may be judged.
    wake: Notify,
    /// Told when the session is over.
    closed: Notify,
}

impl Outlet {
    pub(super) fn deliver(&self, bytes: Bytes) {
        self.push(Item::Bytes(bytes));
    }

    pub(super) fn over(&self) {
        self.push(Item::Over);
    }

    pub(super) fn close(&self, last_words: Option<Bytes>) {
        self.push(Item::Close(last_words));
        self.closed.notify_one();
        self.wake();
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// When there is something to be written, or the end. Whether it is something.
    async fn wants(&self) -> bool {
        loop {
            match lock(&self.items).front() {
                Some(Item::Bytes(_)) => return true,
                Some(_) => return false,
                None => {}
            }
            self.more.notified().await;
        }
    }

    /// What is to be written next, together, and what comes after it if it is the end. Many small messages are written
    /// at once; a long one is not copied.
    fn take(&self) -> (Vec<Bytes>, Option<Item>) {
        let mut items = lock(&self.items);
        let (mut batch, mut size) = (Vec::new(), 0);
        while let Some(Item::Bytes(bytes)) = items.front() {
            if size > 0 && size + bytes.len() > TOGETHER {
                return (batch, None);
            }
            size += bytes.len();
            batch.push(bytes.clone());
            items.pop_front();
        }
        (batch, items.pop_front())
    }

    fn push(&self, item: Item) {
        lock(&self.items).push_back(item);
        self.more.notify_one();
    }
}

/// A component that has connected, and what it has said so far.
pub(super) struct Arrived {
    pub(super) stream: Stream,
    pub(super) unread: Vec<u8>,
}

/// How far reading has got.
enum Read {
    Parcel(Parcel),
    /// No message, and nothing after it can be read.
    Wrong(String),
    /// The monitor's own limit.
    TooLong,
    End,
    /// The connection is broken, both ways.
    Reset,
}

/// One component's connection.
struct Attendance<'a> {
    office: &'a Office,
    desk: usize,
    id: SessionId,
    plan: &'a RolePlan,
    outlet: &'a Outlet,
    /// What the codec knows of both directions.
    connection: Mutex<Connection>,
    /// Told when something was written to the component: an answer may be readable now.
    answered: Notify,
    errand: Mutex<Errand>,
    /// Whether the component was told that nothing more comes.
    over: AtomicBool,
    /// Whether it said that nothing more comes of it, and stays.
    hushed: AtomicBool,
}

/// Carries the component of session `id` at `desk` until it ends.
pub(super) async fn attend(
    office: Arc<Office>,
    desk: usize,
    id: SessionId,
    arrived: Arrived,
    outlet: Arc<Outlet>,
) {
    let plan = office.plan(desk);
    let attendance = Attendance {
        office: &office,
        desk,
        id,
        plan: &plan,
        outlet: &outlet,
        connection: Mutex::new(plan.codec.endpoint(Limits { message: plan.message })),
        answered: Notify::new(),
        errand: Mutex::default(),
        over: AtomicBool::new(false),
        hushed: AtomicBool::new(false),
    };
    office.attending.fetch_add(1, Ordering::Relaxed);
    let mut next = Some(arrived);
    while let Some(arrived) = next {
        let (mut reader, mut writer) = tokio::io::split(arrived.stream);
        next = tokio::select! {
            () = attendance.read(&mut reader, arrived.unread) => attendance.reconnect().await,
            () = attendance.write(&mut writer) => {
                let _ = tokio::time::timeout(FAREWELL, hear_out(&mut reader)).await;
                None
            }
            () = attendance.overdue() => None,
        };
    }
    office.attending.fetch_sub(1, Ordering::Relaxed);
    office.component_gone(desk, id);
}

/// Reads until the other side ends: who closes while there is something to be read takes the last words back.
pub(super) async fn hear_out(reader: &mut (impl AsyncRead + Unpin)) {
    let mut rest = [0; 4096];
    while reader.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}

impl Attendance<'_> {
    /// The side that the component is.
    fn side(&self) -> Sender {
        match self.plan.place {
            Place::Listen(_) => Sender::Client,
            Place::Connect(_) => Sender::Server,
        }
    }

    /// Whether it is a service that may close its connection between exchanges.
    fn returns(&self) -> bool {
        matches!(self.plan.place, Place::Connect(_)) && self.plan.codec.has_requests()
    }

    /// Another connection to a service that has closed the one there was, as it may; none if it is gone.
    async fn reconnect(&self) -> Option<Arrived> {
        let Place::Connect(address) = &self.plan.place else { return None };
        if !self.returns() || self.over.load(Ordering::Relaxed) {
            return None;
        }
        let closing = lock(&self.errand).closes(self.plan.codec.is_idle(&lock(&self.connection)));
        match closing {
            // To see at once whether it is still there. One that lets nobody stay is not asked for nothing.
            Closing::Idle { used: true } | Closing::Crossed => {}
            Closing::Idle { used: false } => {
                if !self.outlet.wants().await {
                    return None;
                }
            }
            Closing::Unknown => {
                let name = &self.plan.name;
                let sentence = format!("`{name}` closed its connection while a request was on its way");
                self.office.fault(self.desk, self.id, sentence);
                return None;
            }
            Closing::Gone => return None,
        }
        let connected = tokio::time::timeout(self.plan.handshake, self.plan.entrance.connect(address)).await;
        let mut stream = connected.ok()?.ok()?;
        *lock(&self.connection) = self.plan.codec.endpoint(Limits { message: self.plan.message });
        let (again, count) = lock(&self.errand).anew();
        if !again.is_empty() {
            self.give(&again, count, &mut stream).await.ok()?;
        }
        Some(Arrived { stream, unread: Vec::new() })
    }

    /// When the session is over, and the component has had its time to read what is left.
    async fn overdue(&self) {
        self.outlet.closed.notified().await;
        // Whoever asks again is told again.
        self.outlet.closed.notify_one();
        tokio::time::sleep(FAREWELL).await;
    }

    /// Writes `messages` to the component, of which so many are then delivered.
    async fn give(
        &self,
        messages: &[Bytes],
        count: u32,
        writer: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        messages.iter().for_each(|bytes| self.note(bytes));
        if self.returns() {
            lock(&self.errand).asks(messages, count);
        }
        match messages {
            [one] => writer.write_all(one).await?,
            several => writer.write_all(&several.concat()).await?,
        }
        let _ = writer.flush().await;
        lock(&self.errand).counted();
        self.answered.notify_one();
        // What is given again was delivered before.
        let bytes = messages.iter().rev().take(count as usize).map(Bytes::len).sum();
        self.office.delivered(self.desk, self.id, (count, bytes));
        Ok(())
    }

    /// Judges what the component sends until it ends. Never returns once the session is over: the other direction
    /// has the last word.
    async fn read(&self, reader: &mut ReadHalf<Stream>, mut unread: Vec<u8>) {
        loop {
            match self.next(reader, &mut unread).await {
                Read::Parcel(parcel) => self.offer(parcel, reader, &mut unread).await,
                Read::Wrong(why) => {
                    self.offer(Parcel::malformed(&why), reader, &mut unread).await;
                    return std::future::pending().await;
                }
                Read::TooLong => {
                    let limit = self.plan.message;
                    let name = &self.plan.name;
                    let sentence = format!("a message of `{name}` has more than {limit} bytes");
                    self.office.fault(self.desk, self.id, sentence);
                    return std::future::pending().await;
                }
                Read::Reset => return,
                Read::End => {
                    // A WebSocket closes both ways, and a service that closes is connected to again.
                    let both = self.returns() || self.plan.entrance.has_pings();
                    if both || !self.office.hushes(self.desk, self.id) {
                        return;
                    }
                    self.hushed.store(true, Ordering::Relaxed);
                    return std::future::pending().await;
                }
            }
        }
    }

    /// Offers a message until it is taken. Meanwhile it is read on: the pings of a WebSocket want answers, and whether a
    /// component has left is to be known.
    async fn offer(&self, mut parcel: Parcel, reader: &mut ReadHalf<Stream>, unread: &mut Vec<u8>) {
        let pings = self.plan.entrance.has_pings();
        let (mut listens, most) = (true, if pings { AHEAD } else { 1 });
        loop {
            match self.office.offer(self.desk, self.id, parcel) {
                Offer::Taken => return,
                Offer::Later(again) => parcel = again,
                Offer::Over => return std::future::pending().await,
            }
            loop {
                let reads = listens && unread.len() < most;
                // Only for what is read: whatever is reserved before grows with each message that waits.
                unread.reserve(if reads { CHUNK } else { 0 });
                tokio::select! {
                    biased;
                    () = self.outlet.wake.notified() => break,
                    // How it ended is said again when it is asked for.
                    read = reader.read_buf(unread), if reads => {
                        listens = matches!(read, Ok(1..));
                        if !listens && unread.is_empty() && !pings && !self.returns() {
                            self.office.hushes_after(self.desk, self.id, &parcel);
                        }
                    }
                }
            }
        }
    }

    /// The next message, with its body.
    async fn next(&self, reader: &mut ReadHalf<Stream>, unread: &mut Vec<u8>) -> Read {
        /// What a look at the bytes says.
        enum Look {
            More(usize),
            Wait,
            Found(Parcel, usize, bool),
            Wrong(String),
            TooLong,
        }
        let codec: &Codec = &self.plan.codec;
        loop {
            let look = {
                let (scratch, mut fields) = (Scratch::new(), Fields::new());
                let mut connection = lock(&self.connection);
                match codec.decode(
                    &mut connection,
                    self.side(),
                    unread,
                    Reading::anything(),
                    &scratch,
                    &mut fields,
                ) {
                    Step::More { at_least } => Look::More(at_least),
                    Step::Wait => Look::Wait,
                    Step::Message(message) => {
                        let parcel = Parcel {
                            label: Ok(codec.name(message.label).into()),
                            fields: write_fields(&fields),
                            bytes: Bytes::copy_from_slice(unread.get(..message.bytes).unwrap_or_default()),
                        };
                        codec.take(&mut connection, self.side(), message.after, true);
                        lock(&self.errand).answers(codec.is_idle(&connection));
                        Look::Found(parcel, message.bytes, message.has_body)
                    }
                    Step::Malformed(malformed) if malformed.too_long => Look::TooLong,
                    Step::Malformed(malformed) => Look::Wrong(malformed.to_string()),
                    Step::Body { .. } | Step::Transparent => {
                        Look::Wrong("something that cannot be read".to_owned())
                    }
                }
            };
            match look {
                Look::Found(parcel, bytes, has_body) => {
                    unread.drain(..bytes);
                    if parcel.is_unwieldy(self.plan.message) {
                        return Read::TooLong;
                    }
                    return if has_body {
                        self.body(parcel, reader, unread).await
                    } else {
                        Read::Parcel(parcel)
                    };
                }
                Look::More(at_least) => match self.fill(reader, unread, at_least).await {
                    Ok(true) => {}
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        return Read::Wrong(error.to_string());
                    }
                    Err(error) if error.kind() == io::ErrorKind::FileTooLarge => return Read::TooLong,
                    Ok(false) => return self.end(unread),
                    Err(_) => {
                        return match self.end(unread) {
                            Read::End => Read::Reset,
                            wrong => wrong,
                        };
                    }
                },
                Look::Wait => self.answered.notified().await,
                Look::Wrong(why) => return Read::Wrong(why),
                Look::TooLong => return Read::TooLong,
            }
        }
    }

    /// The rest of a message that has a body.
    async fn body(&self, mut parcel: Parcel, reader: &mut ReadHalf<Stream>, unread: &mut Vec<u8>) -> Read {
        let codec: &Codec = &self.plan.codec;
        let mut bytes = parcel.bytes.to_vec();
        loop {
            let step = {
                let (scratch, mut fields) = (Scratch::new(), Fields::new());
                let mut connection = lock(&self.connection);
                let step = codec.decode(
                    &mut connection,
                    self.side(),
                    unread,
                    Reading::anything(),
                    &scratch,
                    &mut fields,
                );
                match step {
                    Step::Body { bytes, last } => Ok((usize::try_from(bytes).unwrap_or(usize::MAX), last)),
                    Step::More { at_least } => Err(at_least),
                    _ => return Read::Wrong("a body that cannot be read".to_owned()),
                }
            };
            let wanted = match step {
                Ok((count, _)) => count,
                Err(at_least) => at_least,
            };
            if bytes.len().saturating_add(wanted) > self.plan.message {
                return Read::TooLong;
            }
            if !matches!(self.fill(reader, unread, wanted).await, Ok(true)) {
                return self.end(unread);
            }
            if let Ok((count, last)) = step {
                bytes.extend(unread.drain(..count));
                if last {
                    parcel.bytes = bytes.into();
                    return Read::Parcel(parcel);
                }
            }
        }
    }

    /// Reads until there are `at_least` bytes. Whether there are.
    async fn fill(
        &self,
        reader: &mut ReadHalf<Stream>,
        unread: &mut Vec<u8>,
        at_least: usize,
    ) -> io::Result<bool> {
        while unread.len() < at_least {
            unread.reserve(CHUNK);
            if reader.read_buf(unread).await? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn end(&self, unread: &[u8]) -> Read {
        match self.plan.codec.end(&mut lock(&self.connection), self.side(), unread) {
            Ok(()) => Read::End,
            Err(malformed) => Read::Wrong(malformed.to_string()),
        }
    }

    /// Writes what there is for the component until its last words.
    async fn write(&self, writer: &mut WriteHalf<Stream>) {
        loop {
            let (batch, last) = self.outlet.take();
            let count = u32::try_from(batch.len()).unwrap_or(u32::MAX);
            if count > 0 && self.give(&batch, count, writer).await.is_err() {
                if self.returns() {
                    // It has closed the connection, which is seen where it is read from.
                    return std::future::pending().await;
                }
                return;
            }
            match last {
                Some(Item::Close(words)) => {
                    let farewell = async {
                        if let Some(words) = words {
                            let _ = writer.write_all(&words).await;
                        }
                        let _ = writer.shutdown().await;
                    };
                    let _ = tokio::time::timeout(FAREWELL, farewell).await;
                    return;
                }
                Some(Item::Over) => {
                    self.over.store(true, Ordering::Relaxed);
                    let _ = writer.shutdown().await;
                    if self.hushed.load(Ordering::Relaxed) {
                        return;
                    }
                }
                _ if count == 0 => self.outlet.more.notified().await,
                _ => {}
            }
        }
    }

    /// Lets the codec know what the component is given: it may have to tell an answer by its question.
    fn note(&self, bytes: &[u8]) {
        let codec: &Codec = &self.plan.codec;
        let (scratch, mut fields) = (Scratch::new(), Fields::new());
        let mut connection = lock(&self.connection);
        let side = self.side().other();
        let mut rest = bytes;
        loop {
            let step = codec.decode(&mut connection, side, rest, Reading::anything(), &scratch, &mut fields);
            let (count, after) = match step {
                Step::Message(message) => (message.bytes, Some((message.after, message.has_body))),
                Step::Body { bytes, last } if !last => (usize::try_from(bytes).unwrap_or(usize::MAX), None),
                _ => return,
            };
            rest = rest.get(count..).unwrap_or_default();
            if let Some((after, has_body)) = after {
                codec.take(&mut connection, side, after, true);
                if !has_body {
                    return;
                }
            }
        }
    }
}
