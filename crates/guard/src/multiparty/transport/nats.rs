//! The transport over a NATS broker with JetStream: no monitor has to reach another one, only the broker.
//!
//! Fragments of peer messages are stored in a stream of the protocol, one subject for each session, sender and receiver.
//! The stream keeps them over restarts of the broker and delivers them in order. What it delivers twice is deduplicated,
//! and what it never delivers is retransmitted (`retransmit`): four times a second each monitor publishes a *heartbeat*,
//! outside the stream, with the next number it expects.

mod heartbeat;
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

use super::authenticator::{Authenticator, Fragment, fragment_content, session_of, split};
use super::handshake::random;
use super::{CONGESTION_POLL_INTERVAL, Receiver, Transport, WARN_SILENT_AFTER};
use crate::metrics::lock;
use crate::multiparty::retransmit::{Deduplicator, Receipt, RetransmitQueue};
use crate::multiparty::state_log::{Change, Snapshot, StateLog};

pub(in crate::multiparty) use plan::NatsPlan;

/// Another process of the same role is accepted when the one before has been silent for this long.
const TAKEOVER_AFTER: Duration = Duration::from_secs(2);
/// Unacknowledged fragments are retransmitted after this long.
const RETRANSMIT_AFTER: Duration = Duration::from_secs(2);
/// How long the broker may take to store a fragment.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause before a failed request to the broker is repeated.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The longest pause before reconnecting to a broker that was connected.
const MAX_RECONNECT_DELAY: Duration = Duration::from_millis(250);
/// The longest pause before trying a broker again that was never usable.
const MAX_CONNECT_RETRY_INTERVAL: Duration = Duration::from_secs(8);
const NO_JETSTREAM: &str = "it has no JetStream, which keeps peer messages: start it with `nats-server -js`, or switch it on for this account";
/// Fragments in flight to the broker for each pair of roles.
const MAX_BATCH_FRAGMENTS: usize = 128;
/// Bytes of one fragment: brokers accept 1 MiB at once unless they are configured otherwise.
const MAX_FRAGMENT_BYTES: usize = 256 << 10;
/// The shortest and the longest retention of the stream.
const RETENTION_RANGE: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(3600)];

/// The link from a local role to a remote one: what is to be sent.
struct PeerLink {
    from: Role,
    to: Role,
    queue: Mutex<RetransmitQueue>,
    more: Notify,
}

/// The link from a remote role to a local one: what was received.
#[derive(Clone, Default)]
struct Incoming {
    dedup: Deduplicator,
    /// The fragments so far of an incomplete peer message.
    message: Vec<u8>,
    /// The sequence number after the last whole peer message, which is what may be acknowledged: later fragments would be
    /// lost with this process.
    whole: u64,
}

/// The monitor of a remote role.
#[derive(Default)]
struct RemotePeer {
    /// The instance number of its process.
    instance: Option<u128>,
    /// When its last heartbeat arrived.
    last_seen: Option<Instant>,
    /// Whether it was reported as lost.
    lost: bool,
    /// Whether its silence was logged.
    quiet: bool,
    /// Whether its sessions survive a crash (it has a state log).
    survives: bool,
    /// Indexed by local role.
    incoming: Vec<Incoming>,
    /// Whether its refusal was logged.
    warned: bool,
    /// Indexed by local role: since when it has sent more than arrived, and the number expected then.
    behind: Vec<Option<(Instant, u64)>>,
}

/// The transport of one process.
pub(in crate::multiparty) struct Nats {
    plan: Arc<NatsPlan>,
    authenticator: Authenticator,
    instance: u128,
    links: Vec<Arc<PeerLink>>,
    /// Indexed by role.
    peers: Vec<Mutex<RemotePeer>>,
    receiver: Weak<dyn Receiver>,
    connected: Arc<AtomicBool>,
    /// Since when the broker is connected.
    since: Arc<Mutex<Instant>>,
    /// Counts connections to the broker; readers start again when it changes.
    connections: watch::Sender<u64>,
    /// Publish a heartbeat at once.
    news: Notify,
    started: Instant,
    /// The write-ahead log of a process whose sessions survive a crash.
    state_log: Option<Arc<StateLog>>,
    /// Whether an unauthenticated publisher was logged.
    warned: AtomicBool,
}

impl Nats {
    pub(in crate::multiparty) fn start(
        plan: &Arc<NatsPlan>,
        receiver: Weak<dyn Receiver>,
        state_log: Option<Arc<StateLog>>,
    ) -> io::Result<Arc<Self>> {
        let topology = &plan.topology;
        let roles = || (0..).take(topology.names.len());
        let snapshot =
            state_log.as_ref().map(|state_log| state_log.read(Snapshot::clone)).unwrap_or_default();
        let instance = match snapshot.instance {
            Some(instance) => instance,
            None => u128::from_le_bytes(random()?),
        };
        if let Some(state_log) = &state_log {
            state_log.append(Change::Instance(instance));
            state_log.commit();
        }
        let link = |from: Role, to: Role| {
            let queue = snapshot.queues.get(&(from.0, to.0)).cloned().unwrap_or_default();
            Arc::new(PeerLink { from, to, queue: Mutex::new(queue), more: Notify::new() })
        };
        let others = || topology.remote.iter().copied();
        let elsewhere = |peer: u16| {
            let incoming = |own: u16| {
                let whole = snapshot.taken.get(&(peer, own)).copied().unwrap_or(0);
                Incoming { dedup: Deduplicator::from(whole), message: Vec::new(), whole }
            };
            let instance = snapshot.peers.get(&peer).copied();
            RemotePeer {
                instance,
                // A peer that was there before the crash must announce itself from now on.
                last_seen: instance.map(|_| Instant::now()),
                incoming: roles().map(incoming).collect(),
                behind: roles().map(|_| None).collect(),
                ..RemotePeer::default()
            }
        };
        let transport = Arc::new(Self {
            authenticator: Authenticator::new(topology.key.as_deref()),
            instance,
            links: topology.local.iter().flat_map(|from| others().map(|to| link(*from, to))).collect(),
            peers: roles().map(|role| Mutex::new(elsewhere(role))).collect(),
            state_log,
            receiver,
            connected: Arc::default(),
            since: Arc::new(Mutex::new(Instant::now())),
            connections: watch::Sender::default(),
            news: Notify::new(),
            warned: AtomicBool::new(false),
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

    /// Connects to the broker, until it succeeds, then starts the senders and the heartbeat.
    async fn run(self: Arc<Self>) {
        let (mut client, mut said, mut pause) = (None, String::new(), RETRY_INTERVAL * 5);
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
            pause = (pause * 2).min(MAX_CONNECT_RETRY_INTERVAL);
        };
        for link in &self.links {
            tokio::spawn(Arc::clone(&self).send_loop(Arc::clone(link), context.clone()));
        }
        tokio::spawn(Arc::clone(&self).heartbeat(client));
    }

    /// Subscribes to fragments and heartbeats, over the connection `kept` of an earlier attempt.
    async fn connect(
        self: &Arc<Self>,
        kept: &mut Option<Client>,
    ) -> Result<(Client, jetstream::Context), async_nats::Error> {
        let client = match kept {
            Some(client) => client.clone(),
            None => kept.insert(self.client().await?).clone(),
        };
        let context = jetstream::new(client.clone());
        let mut messages = Vec::new();
        for role in &self.plan.topology.local {
            let last = self.stream(&context).await?.get_info().await?.state.last_sequence;
            let known = self
                .state_log
                .as_ref()
                .and_then(|state_log| state_log.read(|snapshot| snapshot.sequence.get(&role.0).copied()));
            messages.push((*role, known.unwrap_or(last + 1)));
        }
        for (role, _) in &messages {
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
        let mut heartbeats = client.subscribe(self.plan.heartbeats("*")).await?;
        client.flush().await?;
        for (role, next) in messages {
            tokio::spawn(Arc::clone(self).receive_loop(role, context.clone(), next));
        }
        let transport = Arc::clone(self);
        tokio::spawn(async move {
            while let Some(message) = heartbeats.next().await {
                transport.hear_beat(&message.subject, &message.payload);
            }
        });
        Ok((client, context))
    }

    async fn client(&self) -> Result<Client, async_nats::Error> {
        let (connected, connections) = (Arc::clone(&self.connected), self.connections.clone());
        let since = Arc::clone(&self.since);
        let again = |attempts: usize| Duration::from_millis(1 << attempts.min(8)).min(MAX_RECONNECT_DELAY);
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

    /// The protocol's stream, which the first monitor creates.
    async fn stream(&self, context: &jetstream::Context) -> Result<stream::Stream, async_nats::Error> {
        let peer_timeout = self.plan.topology.peer_timeout.saturating_mul(2);
        let config = stream::Config {
            name: format!("referee-{}", self.plan.token),
            description: Some("peer messages between the monitors of one protocol".to_owned()),
            subjects: vec![format!("referee.{}.>", self.plan.token)],
            max_age: peer_timeout.clamp(RETENTION_RANGE[0], RETENTION_RANGE[1]),
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

    /// Reads the fragments to `to` from stream sequence `next`, as long as there is a runtime.
    async fn receive_loop(self: Arc<Self>, to: Role, context: jetstream::Context, mut next: u64) {
        while self.receiver.strong_count() > 0 {
            if let Err(error) = self.receive_until_lost(to, &context, &mut next).await {
                tracing::debug!(%error, "the stream of peer messages is read anew");
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    async fn receive_until_lost(
        &self,
        to: Role,
        context: &jetstream::Context,
        next: &mut u64,
    ) -> Result<(), async_nats::Error> {
        let mut connections = self.connections.subscribe();
        let reader = async {
            let stream = self.stream(context).await?;
            // A stream that was created again counts from the beginning; fragments have their own numbers.
            if stream.get_info().await?.state.last_sequence + 1 < *next {
                *next = 1;
            }
            let config = OrderedConfig {
                deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: *next },
                // Any session and sender.
                filter_subject: format!("referee.{}.*.*.{}", self.plan.token, self.plan.role(to)),
                ..OrderedConfig::default()
            };
            Ok::<_, async_nats::Error>(stream.create_consumer(config).await?.messages().await?)
        };
        let mut messages = tokio::time::timeout(STORE_TIMEOUT, reader).await??;
        loop {
            let message = tokio::select! {
                message = messages.next() => message,
                // A restarted broker has forgotten this consumer.
                _ = connections.changed() => None,
            };
            let Some(message) = message else { return Ok(()) };
            let message = message?;
            while self.receiver.upgrade().is_some_and(|receiver| receiver.is_congested()) {
                tokio::time::sleep(CONGESTION_POLL_INTERVAL).await;
            }
            *next = message.info()?.stream_sequence + 1;
            self.take(to, &message.subject, &message.payload, *next);
        }
    }

    /// Accepts a fragment to `to` if it is the next; the one after it has at least this `sequence` in the stream.
    fn take(&self, to: Role, subject: &str, signed: &Bytes, sequence: u64) {
        let from = subject.rsplit('.').nth(1).and_then(|part| self.plan.find(part));
        let part = self.authenticator.verify(subject, signed).and_then(|body| Fragment::read(&body));
        let (Some(from), Some(part)) = (from, part) else {
            return self.warn_unauthenticated(subject);
        };
        let mut known = lock(&self.peers[from.index()]);
        // Addressed to an earlier process here, or sent by an earlier one there.
        if part.to != self.instance || known.instance != Some(part.from) {
            return;
        }
        let Incoming { dedup, message, whole } = &mut known.incoming[to.index()];
        let Some((last, bytes)) = fragment_content(&part.content) else { return };
        // After a gap everything from there on is retransmitted.
        if dedup.take(part.number) != Receipt::New {
            return;
        }
        message.extend(bytes);
        if message.len() > self.plan.topology.max_peer_message_bytes {
            tracing::error!(subject, "a peer message from another monitor is too long");
            message.clear();
        } else if last {
            *whole = dedup.expected();
            if let Some(state_log) = &self.state_log {
                let link = (from.0, to.0);
                state_log.append(Change::Received { link, expected: *whole, sequence });
            }
            let message = std::mem::take(message);
            // Under the lock, to keep the order.
            self.with_receiver(|receiver| receiver.peer_message(from, to, message.into()));
        }
    }

    /// Logged once: who can publish must not be able to fill the log.
    fn warn_unauthenticated(&self, subject: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(subject, "somebody who does not know the key writes as a monitor");
        }
    }

    /// Publishes what is queued on `link`, and retransmits what is not acknowledged.
    async fn send_loop(self: Arc<Self>, link: Arc<PeerLink>, context: jetstream::Context) {
        let peer = &self.peers[link.to.index()];
        let mut waiting = None;
        while self.receiver.strong_count() > 0 {
            let more = link.more.notified();
            let Some(to) = lock(peer).instance else {
                let _ = tokio::time::timeout(RETRANSMIT_AFTER, more).await;
                continue;
            };
            let batch: Vec<(u64, Bytes)> = {
                let mut queue = lock(&link.queue);
                std::iter::from_fn(|| queue.next_unsent()).take(MAX_BATCH_FRAGMENTS).collect()
            };
            if batch.is_empty() {
                let quiet = tokio::time::timeout(RETRANSMIT_AFTER, more).await.is_err();
                let mut queue = lock(&link.queue);
                let oldest = (queue.len() > 0).then(|| queue.first());
                // Not acknowledged in time.
                if quiet && oldest.is_some() && oldest == waiting {
                    let _ = queue.restart_from(0);
                }
                waiting = oldest;
                continue;
            }
            let mut stored = Vec::with_capacity(batch.len());
            let mut failed = false;
            for (number, content) in batch {
                let session = session_of(&content).to_string();
                let subject = self.plan.messages(&session, link.from, link.to);
                let part = Fragment { from: self.instance, to, number, content };
                let signed = self.authenticator.sign(&subject, &part.write());
                match tokio::time::timeout(STORE_TIMEOUT, context.publish(subject, signed)).await {
                    Ok(Ok(acknowledgement)) => stored.push(acknowledgement),
                    _ => failed = true,
                }
            }
            for acknowledgement in stored {
                let stored = tokio::time::timeout(STORE_TIMEOUT, acknowledgement.into_future()).await;
                failed |= !matches!(stored, Ok(Ok(_)));
            }
            if failed {
                tracing::warn!(
                    peer = self.plan.topology.name(link.to),
                    "the broker did not store a peer message: once more"
                );
                tokio::time::sleep(RETRY_INTERVAL).await;
                let _ = lock(&link.queue).restart_from(0);
            }
        }
    }
}

impl Transport for Nats {
    fn send(&self, from: Role, to: Role, message: Bytes) {
        if let Some(link) = self.links.iter().find(|link| link.from == from && link.to == to) {
            let mut queue = lock(&link.queue);
            for part in split(&message, MAX_FRAGMENT_BYTES) {
                if let Some(state_log) = &self.state_log {
                    state_log.append(Change::Sent { link: (from.0, to.0), content: part.clone() });
                }
                queue.push(part);
            }
            link.more.notify_one();
        }
    }

    fn unsent(&self) -> usize {
        let there = |link: &&Arc<PeerLink>| {
            let known = lock(&self.peers[link.to.index()]);
            known.instance.is_some() && !known.lost
        };
        self.links.iter().filter(there).map(|link| lock(&link.queue).len()).sum()
    }

    fn describe(&self) -> Value {
        let broker = self.connected.load(Ordering::Relaxed);
        let link = |link: &Arc<PeerLink>| {
            let last_seen = lock(&self.peers[link.to.index()]).last_seen;
            json!({
                "from": self.plan.topology.name(link.from),
                "to": self.plan.topology.name(link.to),
                "connected": broker && last_seen.is_some_and(|last_seen| last_seen.elapsed() < WARN_SILENT_AFTER),
                "unacknowledged": lock(&link.queue).len(),
            })
        };
        self.links.iter().map(link).collect()
    }
}
