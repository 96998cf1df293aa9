//! The transport over a NATS broker with JetStream: no monitor has to reach another one, only the broker.
//!
//! Letters are stored in a stream of the protocol, one subject for each session, sender and receiver. The stream keeps
//! them over restarts of the broker and hands them on in order; what it hands on twice is not taken twice, and what it
//! never hands on is sent again (`link`): every quarter of a second each monitor says, past the stream, that it is there and
//! which number it expects (a *beat*).

mod beats;
mod plan;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use async_nats::jetstream::context::CreateStreamErrorKind;
use async_nats::jetstream::{self, ErrorCode, stream};
use async_nats::{Client, ConnectOptions, Event};
use futures_util::StreamExt as _;
use hyper::body::Bytes;
use referee_theory::Role;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use super::handshake::random;
use super::seal::{Part, Seal, piece, session_of, split};
use super::{Receiver, Transport, UNHEARD};
use crate::metrics::lock;
use crate::multiparty::diary::{Change, Diary, Memory};
use crate::multiparty::link::{Inbox, Outbox, Taking};

pub(in crate::multiparty) use plan::NatsPlan;

/// Another process of the same role is believed when the one before has said nothing for this long.
const SUCCESSION: Duration = Duration::from_secs(2);
/// What was sent and not taken for this long is sent again.
const RESENDING: Duration = Duration::from_secs(2);
/// How long the broker may take to store something.
const STORING: Duration = Duration::from_secs(2);
/// How long to wait before asking the broker again.
const RETRYING: Duration = Duration::from_millis(200);
/// How long to wait at most before connecting to it again.
const RECONNECTING: Duration = Duration::from_millis(250);
/// … and at most, where it could not be used from the start.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
const NO_JETSTREAM: &str = "it has no JetStream, which keeps letters: start it with `nats-server -js`, or switch it on for this account";
/// Parts that are under way to the broker at a time, for each pair of roles.
const BATCH: usize = 128;
/// Bytes of one part: a broker takes 1 MiB at once unless it is told otherwise.
const LONGEST_PART: usize = 256 << 10;
/// How long letters are kept in the stream, at least and at most.
const KEPT: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(3600)];

/// The letters of one role here to one elsewhere.
struct Line {
    from: Role,
    to: Role,
    outbox: Mutex<Outbox>,
    more: Notify,
}

/// What came from one role elsewhere for one here.
#[derive(Clone, Default)]
struct Incoming {
    inbox: Inbox,
    /// The letter of which not all parts have been taken.
    letter: Vec<u8>,
    /// The part after the last whole letter: what came after it would be lost with this process.
    whole: u64,
}

/// What is known of the monitor of another role.
#[derive(Default)]
struct Elsewhere {
    /// The process it is.
    instance: Option<u128>,
    /// When it last said something.
    heard: Option<Instant>,
    /// Whether it was given up.
    lost: bool,
    /// Whether it was said that nothing is heard of it.
    quiet: bool,
    /// Whether its sessions survive it.
    survives: bool,
    /// By role here.
    inboxes: Vec<Incoming>,
    /// What was said against it, once.
    complained: bool,
    /// By role here: since when it has sent more than has come, and the part that was expected then.
    behind: Vec<Option<(Instant, u64)>>,
}

/// The transport of one process.
pub(in crate::multiparty) struct Nats {
    plan: Arc<NatsPlan>,
    seal: Seal,
    instance: u128,
    lines: Vec<Arc<Line>>,
    /// By role.
    elsewhere: Vec<Mutex<Elsewhere>>,
    receiver: Weak<dyn Receiver>,
    connected: Arc<AtomicBool>,
    /// Since when.
    since: Arc<Mutex<Instant>>,
    /// How often there was a new connection to the broker.
    connections: watch::Sender<u64>,
    /// Beat now.
    news: Notify,
    started: Instant,
    /// What survives a kill.
    diary: Option<Arc<Diary>>,
    /// Whether it was said that a stranger writes here.
    complained: AtomicBool,
}

impl Nats {
    pub(in crate::multiparty) fn start(
        plan: &Arc<NatsPlan>,
        receiver: Weak<dyn Receiver>,
        diary: Option<Arc<Diary>>,
    ) -> io::Result<Arc<Self>> {
        let census = &plan.census;
        let roles = || (0..).take(census.names.len());
        let memory = diary.as_ref().map(|diary| diary.recall(Memory::clone)).unwrap_or_default();
        let instance = match memory.instance {
            Some(instance) => instance,
            None => u128::from_le_bytes(random()?),
        };
        if let Some(diary) = &diary {
            diary.note(Change::Instance(instance));
            diary.commit();
        }
        let line = |from: Role, to: Role| {
            let outbox = memory.outboxes.get(&(from.0, to.0)).cloned().unwrap_or_default();
            Arc::new(Line { from, to, outbox: Mutex::new(outbox), more: Notify::new() })
        };
        let others = || census.elsewhere.iter().copied();
        let elsewhere = |peer: u16| {
            let incoming = |own: u16| {
                let whole = memory.taken.get(&(peer, own)).copied().unwrap_or(0);
                Incoming { inbox: Inbox::from(whole), letter: Vec::new(), whole }
            };
            let instance = memory.peers.get(&peer).copied();
            Elsewhere {
                instance,
                // Whoever was there is missed from now on.
                heard: instance.map(|_| Instant::now()),
                inboxes: roles().map(incoming).collect(),
                behind: roles().map(|_| None).collect(),
                ..Elsewhere::default()
            }
        };
        let transport = Arc::new(Self {
            seal: Seal::new(census.key.as_deref()),
            instance,
            lines: census.own.iter().flat_map(|from| others().map(|to| line(*from, to))).collect(),
            elsewhere: roles().map(|role| Mutex::new(elsewhere(role))).collect(),
            diary,
            receiver,
            connected: Arc::default(),
            since: Arc::new(Mutex::new(Instant::now())),
            connections: watch::Sender::default(),
            news: Notify::new(),
            complained: AtomicBool::new(false),
            started: Instant::now(),
            plan: Arc::clone(plan),
        });
        tokio::spawn(Arc::clone(&transport).run());
        Ok(transport)
    }

    fn with_receiver(&self, tell: impl FnOnce(&dyn Receiver)) {
        if let Some(receiver) = self.receiver.upgrade() {
            tell(&*receiver);
        }
    }

    /// Goes on until everything that must be there before the first beat is there.
    async fn run(self: Arc<Self>) {
        let (mut client, mut said, mut pause) = (None, String::new(), RETRYING * 5);
        let (client, context) = loop {
            match self.connect(&mut client).await {
                Ok(connected) => break connected,
                Err(error) => {
                    let error = error.to_string();
                    if error != said {
                        tracing::warn!(
                            error,
                            "the broker cannot be used yet: it is tried again until it can"
                        );
                        said = error;
                    }
                }
            }
            if self.receiver.strong_count() == 0 {
                return;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
        for line in &self.lines {
            tokio::spawn(Arc::clone(&self).pump(Arc::clone(line), context.clone()));
        }
        tokio::spawn(Arc::clone(&self).beat(client));
    }

    /// Begins to hear letters and beats, over the connection that was `kept` of an earlier attempt.
    async fn connect(
        self: &Arc<Self>,
        kept: &mut Option<Client>,
    ) -> Result<(Client, jetstream::Context), async_nats::Error> {
        let client = match kept {
            Some(client) => client.clone(),
            None => kept.insert(self.client().await?).clone(),
        };
        let context = jetstream::new(client.clone());
        let mut letters = Vec::new();
        for role in &self.plan.census.own {
            let last = self.stream(&context).await?.get_info().await?.state.last_sequence;
            let known = self
                .diary
                .as_ref()
                .and_then(|diary| diary.recall(|memory| memory.sequence.get(&role.0).copied()));
            letters.push((*role, known.unwrap_or(last + 1)));
        }
        for (role, _) in &letters {
            let mut questions = client.subscribe(self.plan.here(*role, self.instance)).await?;
            let client = client.clone();
            tokio::spawn(async move {
                while let Some(question) = questions.next().await {
                    if let Some(reply) = question.reply {
                        let _ = client.publish(reply, Bytes::new()).await;
                    }
                }
            });
        }
        let mut beats = client.subscribe(self.plan.beats("*")).await?;
        client.flush().await?;
        for (role, next) in letters {
            tokio::spawn(Arc::clone(self).hear(role, context.clone(), next));
        }
        let transport = Arc::clone(self);
        tokio::spawn(async move {
            while let Some(message) = beats.next().await {
                transport.hear_beat(&message.subject, &message.payload);
            }
        });
        Ok((client, context))
    }

    async fn client(&self) -> Result<Client, async_nats::Error> {
        let (connected, connections) = (Arc::clone(&self.connected), self.connections.clone());
        let since = Arc::clone(&self.since);
        let again = |attempts: usize| Duration::from_millis(1 << attempts.min(8)).min(RECONNECTING);
        let options = ConnectOptions::new().name("referee guard").reconnect_delay_callback(again);
        let options = options.event_callback(move |event| {
            connected.store(matches!(event, Event::Connected), Ordering::Relaxed);
            if matches!(event, Event::Connected) {
                *lock(&since) = Instant::now();
                connections.send_modify(|count| *count += 1);
            }
            async move {
                match event {
                    Event::Connected => tracing::info!("connected to the broker"),
                    other => tracing::warn!(event = %other, "the connection to the broker"),
                }
            }
        });
        Ok(options.connect(self.plan.broker.clone()).await?)
    }

    /// The stream of letters, which the first monitor makes.
    async fn stream(&self, context: &jetstream::Context) -> Result<stream::Stream, async_nats::Error> {
        let patience = self.plan.census.patience.saturating_mul(2);
        let config = stream::Config {
            name: format!("referee-{}", self.plan.token),
            description: Some("letters between the monitors of one protocol".to_owned()),
            subjects: vec![format!("referee.{}.>", self.plan.token)],
            max_age: patience.clamp(KEPT[0], KEPT[1]),
            ..stream::Config::default()
        };
        context.get_or_create_stream(config).await.map_err(|error| match error.kind() {
            CreateStreamErrorKind::JetStreamUnavailable => NO_JETSTREAM.into(),
            CreateStreamErrorKind::JetStream(error)
                if [ErrorCode::JETSTREAM_NOT_ENABLED, ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT]
                    .contains(&error.error_code()) =>
            {
                NO_JETSTREAM.into()
            }
            _ => error.into(),
        })
    }

    /// Takes the letters to `to`, from number `next` of the stream, for as long as there is an office.
    async fn hear(self: Arc<Self>, to: Role, context: jetstream::Context, mut next: u64) {
        while self.receiver.strong_count() > 0 {
            if let Err(error) = self.hear_until_lost(to, &context, &mut next).await {
                tracing::debug!(%error, "the stream of letters is read anew");
            }
            tokio::time::sleep(RETRYING).await;
        }
    }

    async fn hear_until_lost(
        &self,
        to: Role,
        context: &jetstream::Context,
        next: &mut u64,
    ) -> Result<(), async_nats::Error> {
        let mut connections = self.connections.subscribe();
        let reader = async {
            let stream = self.stream(context).await?;
            // One that was made anew counts from the beginning; what is taken is told by the numbers of the letters.
            if stream.get_info().await?.state.last_sequence + 1 < *next {
                *next = 1;
            }
            let config = OrderedConfig {
                deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: *next },
                // Of any session and sender.
                filter_subject: format!("referee.{}.*.*.{}", self.plan.token, self.plan.role(to)),
                ..OrderedConfig::default()
            };
            Ok::<_, async_nats::Error>(stream.create_consumer(config).await?.messages().await?)
        };
        let mut messages = tokio::time::timeout(STORING, reader).await??;
        loop {
            let message = tokio::select! {
                message = messages.next() => message,
                // A broker that was started anew knows nothing of this reader.
                _ = connections.changed() => None,
            };
            let Some(message) = message else { return Ok(()) };
            let message = message?;
            *next = message.info()?.stream_sequence + 1;
            self.take(to, &message.subject, &message.payload, *next);
        }
    }

    /// Takes a part of a letter to `to`, if it is the next; the next one has this `sequence` in the stream, or a later one.
    fn take(&self, to: Role, subject: &str, sealed: &Bytes, sequence: u64) {
        let from = subject.rsplit('.').nth(1).and_then(|part| self.plan.find(part));
        let part = self.seal.open(subject, sealed).and_then(|body| Part::read(&body));
        let (Some(from), Some(part)) = (from, part) else {
            return self.stranger(subject);
        };
        let mut known = lock(&self.elsewhere[from.index()]);
        // What was meant for an earlier process here, or is from one there, belongs to no session.
        if part.to != self.instance || known.instance != Some(part.from) {
            return;
        }
        let Incoming { inbox, letter, whole } = &mut known.inboxes[to.index()];
        let Some((last, bytes)) = piece(&part.content) else { return };
        // After a gap everything from there on is sent again.
        if inbox.take(part.number) != Taking::Take {
            return;
        }
        letter.extend(bytes);
        if letter.len() > self.plan.census.longest {
            tracing::error!(subject, "a letter from another monitor is too long");
            letter.clear();
        } else if last {
            *whole = inbox.expected();
            if let Some(diary) = &self.diary {
                let link = (from.0, to.0);
                diary.note(Change::Taken { link, expected: *whole, sequence });
            }
            let letter = std::mem::take(letter);
            // Under the lock, so that nothing can mix the order.
            self.with_receiver(|receiver| receiver.letter(from, to, letter.into()));
        }
    }

    /// Said once: who can write to the broker must not be able to fill the log.
    fn stranger(&self, subject: &str) {
        if !self.complained.swap(true, Ordering::Relaxed) {
            tracing::warn!(subject, "somebody who does not know the key writes as a monitor");
        }
    }

    /// Sends what there is to send on `line`.
    async fn pump(self: Arc<Self>, line: Arc<Line>, context: jetstream::Context) {
        let peer = &self.elsewhere[line.to.index()];
        let mut waiting = None;
        while self.receiver.strong_count() > 0 {
            let more = line.more.notified();
            let Some(to) = lock(peer).instance else {
                let _ = tokio::time::timeout(RESENDING, more).await;
                continue;
            };
            let batch: Vec<(u64, Bytes)> = {
                let mut outbox = lock(&line.outbox);
                std::iter::from_fn(|| outbox.give()).take(BATCH).collect()
            };
            if batch.is_empty() {
                let quiet = tokio::time::timeout(RESENDING, more).await.is_err();
                let mut outbox = lock(&line.outbox);
                let oldest = (outbox.len() > 0).then(|| outbox.first());
                // Not taken although there was time enough.
                if quiet && oldest.is_some() && oldest == waiting {
                    let _ = outbox.connected(0);
                }
                waiting = oldest;
                continue;
            }
            let mut stored = Vec::with_capacity(batch.len());
            let mut failed = false;
            for (number, content) in batch {
                let session = session_of(&content).to_string();
                let subject = self.plan.letters(&session, line.from, line.to);
                let part = Part { from: self.instance, to, number, content };
                let sealed = self.seal.seal(&subject, &part.write());
                match tokio::time::timeout(STORING, context.publish(subject, sealed)).await {
                    Ok(Ok(acknowledgement)) => stored.push(acknowledgement),
                    _ => failed = true,
                }
            }
            for acknowledgement in stored {
                let stored = tokio::time::timeout(STORING, acknowledgement.into_future()).await;
                failed |= !matches!(stored, Ok(Ok(_)));
            }
            if failed {
                tracing::warn!(
                    peer = self.plan.census.name(line.to),
                    "the broker did not store a letter: once more"
                );
                tokio::time::sleep(RETRYING).await;
                let _ = lock(&line.outbox).connected(0);
            }
        }
    }
}

impl Transport for Nats {
    fn send(&self, from: Role, to: Role, letter: Bytes) {
        if let Some(line) = self.lines.iter().find(|line| line.from == from && line.to == to) {
            let mut outbox = lock(&line.outbox);
            for part in split(&letter, LONGEST_PART) {
                if let Some(diary) = &self.diary {
                    diary.note(Change::Sent { link: (from.0, to.0), content: part.clone() });
                }
                outbox.push(part);
            }
            line.more.notify_one();
        }
    }

    fn unsent(&self) -> usize {
        let there = |line: &&Arc<Line>| {
            let known = lock(&self.elsewhere[line.to.index()]);
            known.instance.is_some() && !known.lost
        };
        self.lines.iter().filter(there).map(|line| lock(&line.outbox).len()).sum()
    }

    fn describe(&self) -> Value {
        let broker = self.connected.load(Ordering::Relaxed);
        let line = |line: &Arc<Line>| {
            let heard = lock(&self.elsewhere[line.to.index()]).heard;
            json!({
                "from": self.plan.census.name(line.from),
                "to": self.plan.census.name(line.to),
                "connected": broker && heard.is_some_and(|heard| heard.elapsed() < UNHEARD),
                "unacknowledged": lock(&line.outbox).len(),
            })
        };
        self.lines.iter().map(line).collect()
    }
}
