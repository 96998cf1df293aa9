//! The framed transport: over TCP or Unix sockets, with TLS or a pre-shared key.
//!
//! Each local role connects to the monitor of each remote role and sends its fragments there; acknowledgements come back
//! on that connection. A broken connection is made again, and unacknowledged fragments are retransmitted (`retransmit`).

mod accept;
mod fragment;
mod plan;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use referee_theory::Role;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;

use super::frame::FrameKind;
use super::handshake::{self, Hello};
use super::{Receiver, Transport, WARN_SILENT_AFTER};
use crate::listen::{Acceptor, Listener};
use crate::metrics::lock;
use crate::multiparty::rate_limit::RateLimitedWarning;
use crate::multiparty::retransmit::{Deduplicator, RetransmitQueue};
use crate::stream::{Socket, Stream};
use crate::tls_records::TlsSocket;
use fragment::Reassembly;

pub(in crate::multiparty) use plan::TcpPlan;

/// How long connecting and the handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// A heartbeat is sent where nothing else was sent for this long.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(400);
/// A connection that is silent for this long is broken.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause before connecting again.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// A peer whose address refuses connections for this long has ended.
const PROCESS_GONE_AFTER: Duration = Duration::from_millis(300);
/// The longest pause before connecting again, after connections that broke at once.
const MAX_RETRY_INTERVAL: Duration = Duration::from_millis(400);
/// Frames are written in batches of about this size.
const MAX_BATCH_BYTES: usize = 64 << 10;

/// The link from a local role to a remote one: what is to be sent.
struct PeerLink {
    from: Role,
    to: Role,
    queue: Mutex<RetransmitQueue>,
    more: Notify,
    connected: AtomicBool,
    /// When the last acknowledgement arrived.
    last_seen: Mutex<Instant>,
}

impl PeerLink {
    /// The time since the last acknowledgement.
    fn silent(&self) -> Duration {
        lock(&self.last_seen).elapsed()
    }
}

/// The monitor of a remote role.
#[derive(Default)]
struct RemotePeer {
    /// The instance number of its process.
    instance: Option<u128>,
    /// The number of its connections to this process.
    live_connections: usize,
    /// Indexed by local role.
    incoming: Vec<Incoming>,
    /// When its last frame arrived.
    last_seen: Option<Instant>,
    /// Whether it was reported as lost because nothing arrives from it.
    unreachable: bool,
}

/// The link from a remote role to a local one: what was received.
#[derive(Clone, Default)]
struct Incoming {
    dedup: Deduplicator,
    message: Reassembly,
}

/// The framed transport.
pub(in crate::multiparty) struct Tcp {
    plan: Arc<TcpPlan>,
    instance: u128,
    links: Vec<Arc<PeerLink>>,
    peers: Vec<Mutex<RemotePeer>>,
    receiver: std::sync::Weak<dyn Receiver>,
    warnings: Mutex<RateLimitedWarning>,
}

impl Tcp {
    /// Starts listening, and connecting to every peer.
    pub(in crate::multiparty) fn start(
        plan: &Arc<TcpPlan>,
        listener: Listener,
        receiver: std::sync::Weak<dyn Receiver>,
    ) -> io::Result<Arc<Self>> {
        let everyone =
            || (0..plan.topology.names.len()).filter_map(|index| u16::try_from(index).ok().map(Role));
        let mut links = Vec::new();
        for from in &plan.topology.local {
            for to in everyone().filter(|role| plan.endpoint(*role).is_some()) {
                links.push(Arc::new(PeerLink {
                    from: *from,
                    to,
                    queue: Mutex::default(),
                    more: Notify::new(),
                    connected: AtomicBool::new(false),
                    last_seen: Mutex::new(Instant::now()),
                }));
            }
        }
        let incoming = || vec![Incoming::default(); plan.topology.names.len()];
        let transport = Arc::new(Self {
            instance: u128::from_le_bytes(handshake::random()?),
            links,
            peers: everyone()
                .map(|_| Mutex::new(RemotePeer { incoming: incoming(), ..RemotePeer::default() }))
                .collect(),
            plan: Arc::clone(plan),
            receiver,
            warnings: Mutex::default(),
        });
        tokio::spawn(Arc::clone(&transport).listen(Acceptor::new(listener)?));
        tokio::spawn(Arc::clone(&transport).watch_peers());
        for link in &transport.links {
            tokio::spawn(Arc::clone(&transport).maintain(Arc::clone(link)));
        }
        Ok(transport)
    }

    fn name(&self, role: Role) -> &str {
        self.plan.topology.name(role)
    }

    fn with_receiver(&self, tell: impl FnOnce(&dyn Receiver)) {
        if let Some(receiver) = self.receiver.upgrade() {
            tell(&*receiver);
        }
    }

    /// `peer` is the process `instance`. If it was another before, both sides forget the state of the links with that one.
    fn meet(&self, peer: Role, instance: u128) {
        let mut known = lock(&self.peers[peer.index()]);
        let before = known.instance.replace(instance);
        if before == Some(instance) {
            return;
        }
        known.incoming.fill(Incoming::default());
        if before.is_some() {
            for link in self.links.iter().filter(|link| link.to == peer) {
                lock(&link.queue).clear();
            }
        }
        drop(known);
        if before.is_some() {
            tracing::warn!(peer = self.name(peer), "another monitor was started anew");
            self.with_receiver(|receiver| receiver.peer_lost(peer, "it was started anew"));
        }
    }

    /// Keeps `link` connected.
    async fn maintain(self: Arc<Self>, link: Arc<PeerLink>) {
        let (from, peer) = (self.name(link.from).to_owned(), self.name(link.to).to_owned());
        let mut down_since = Instant::now();
        let (mut was_up, mut told) = (false, false);
        let (mut said, mut pause) = (String::new(), RETRY_INTERVAL);
        loop {
            let peer_timeout = self.plan.topology.peer_timeout;
            let left = peer_timeout.saturating_sub(link.silent()).max(RETRY_INTERVAL);
            let time = if was_up && !told { HANDSHAKE_TIMEOUT.min(left) } else { HANDSHAKE_TIMEOUT };
            let attempt = tokio::time::timeout(time, self.connect(&link)).await;
            let failure = match attempt.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok((stream, known)) => {
                    tracing::info!(role = from, peer, "connected to the other monitor");
                    (was_up, told) = (true, false);
                    said.clear();
                    link.connected.store(true, Ordering::Relaxed);
                    let (up_since, first) = (Instant::now(), lock(&link.queue).first());
                    *lock(&link.last_seen) = up_since;
                    self.with_receiver(|receiver| receiver.peer_found(link.to));
                    let ended = self.send_loop(&link, stream, known).await;
                    link.connected.store(false, Ordering::Relaxed);
                    down_since = Instant::now();
                    tracing::warn!(role = from, peer, error = %ended, "the connection to the other monitor broke");
                    // A connection that broke at once, without progress, is likely to break again.
                    if up_since.elapsed() > MAX_RETRY_INTERVAL || lock(&link.queue).first() > first {
                        pause = RETRY_INTERVAL;
                    } else {
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(MAX_RETRY_INTERVAL);
                    }
                    continue;
                }
                Err(failure) => failure,
            };
            if self.receiver.strong_count() == 0 {
                return;
            }
            // A wrong key, a certificate that is not accepted, or no monitor at all: waiting does not help.
            let refused =
                matches!(failure.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidData);
            let absent = matches!(failure.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound);
            let why = if refused { format!("it refuses this one: {failure}") } else { failure.to_string() };
            // Monitors are started one after the other: a short absence is not logged.
            if why != said && (refused || down_since.elapsed() >= WARN_SILENT_AFTER) {
                tracing::warn!(role = from, peer, "the other monitor cannot be reached: {why}");
                said.clone_from(&why);
            }
            let given_up = match (was_up, absent) {
                (true, true) => down_since.elapsed() >= PROCESS_GONE_AFTER,
                (true, false) => link.silent() >= peer_timeout,
                (false, _) => down_since.elapsed() >= self.plan.topology.handshake,
            };
            if !told && (refused || given_up) {
                told = true;
                if lock(&self.peers[link.to.index()]).instance.is_none() {
                    // A peer that never connected need not be told of sessions that never began.
                    lock(&link.queue).clear();
                }
                self.with_receiver(|receiver| receiver.peer_lost(link.to, &why));
            }
            tokio::time::sleep(if told { RETRY_INTERVAL * 5 } else { RETRY_INTERVAL }).await;
        }
    }

    async fn connect(&self, link: &PeerLink) -> io::Result<(Stream, handshake::Established)> {
        let Some(address) = self.plan.endpoint(link.to) else { return Err(io::ErrorKind::NotFound.into()) };
        let socket = Socket::connect(address).await?;
        let mut stream = match self.plan.tls.as_ref().map(|tls| tls.load().dial[link.to.index()].clone()) {
            Some(Some((config, name))) => {
                let connector = TlsConnector::from(config);
                Stream::TlsClient(Box::new(connector.connect(name, TlsSocket::new(socket)).await?))
            }
            Some(None) => return Err(io::ErrorKind::NotFound.into()),
            None => Stream::Plain(socket),
        };
        let hello = Hello {
            fingerprint: self.plan.topology.fingerprint,
            instance: self.instance,
            from: self.name(link.from).to_owned(),
            to: self.name(link.to).to_owned(),
            codec: self.plan.topology.codecs[link.from.index()].clone().unwrap_or_default(),
            limits: self.plan.topology.limits,
        };
        let (known, expected) =
            handshake::dial(&mut stream, &hello, self.plan.topology.key.as_deref()).await?;
        self.meet(link.to, known.instance);
        let agrees = lock(&link.queue).resume_from(expected);
        if !agrees {
            // One of the two has met another process in the place of the other, and has forgotten this link since.
            let peer = self.name(link.to);
            tracing::warn!(peer, "the other monitor does not remember what was sent to it: its sessions end");
            self.with_receiver(|receiver| receiver.peer_lost(link.to, "it has lost what was sent to it"));
        }
        Ok((stream, known))
    }

    /// Sends queued fragments and heartbeats until the connection breaks.
    async fn send_loop(
        &self,
        link: &Arc<PeerLink>,
        stream: Stream,
        known: handshake::Established,
    ) -> io::Error {
        let handshake::Established { mut out, mut back, .. } = known;
        let (reader, mut writer) = tokio::io::split(stream);
        // With a short `partition`, silence must be noticed sooner.
        let silence = READ_TIMEOUT.min(self.plan.topology.peer_timeout).max(HEARTBEAT_INTERVAL * 2);
        let reading = {
            let (link, peer) = (Arc::clone(link), self.name(link.to));
            async move {
                let mut reader = BufReader::new(reader);
                loop {
                    let mut frame = std::pin::pin!(back.receive(&mut reader, 64));
                    let frame = match tokio::time::timeout(WARN_SILENT_AFTER, frame.as_mut()).await {
                        Ok(frame) => Ok(frame),
                        Err(_) => {
                            tracing::warn!(peer, "nothing is heard of another monitor: sessions wait for it");
                            tokio::time::timeout(silence.saturating_sub(WARN_SILENT_AFTER), frame).await
                        }
                    };
                    let (kind, body) = frame.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
                    *lock(&link.last_seen) = Instant::now();
                    if kind != FrameKind::Acknowledgement {
                        return Err(io::Error::new(io::ErrorKind::InvalidData, "no acknowledgement"));
                    }
                    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "never sent");
                    lock(&link.queue).acknowledged(handshake::read_acknowledgement(&body)?).map_err(wrong)?;
                }
            }
        };
        let writing = async {
            let mut bytes = Vec::new();
            loop {
                bytes.clear();
                let more = link.more.notified();
                while bytes.len() < MAX_BATCH_BYTES
                    && let Some((number, message)) = lock(&link.queue).next_unsent()
                {
                    out.write(FrameKind::Fragment, &[&number.to_le_bytes(), &message], &mut bytes);
                }
                if bytes.is_empty() {
                    if tokio::time::timeout(HEARTBEAT_INTERVAL, more).await.is_ok() {
                        continue;
                    }
                    out.write(FrameKind::Ping, &[], &mut bytes);
                }
                writer.write_all(&bytes).await?;
                writer.flush().await?;
            }
        };
        let ended: io::Result<()> = tokio::select! {
            ended = reading => ended,
            ended = writing => ended,
        };
        ended.err().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

impl Transport for Tcp {
    fn send(&self, from: Role, to: Role, message: Bytes) {
        if let Some(link) = self.links.iter().find(|link| link.from == from && link.to == to) {
            let mut queue = lock(&link.queue);
            fragment::split(&message).for_each(|part| queue.push(part));
            link.more.notify_one();
        }
    }

    fn unsent(&self) -> usize {
        let connected = self.links.iter().filter(|link| link.connected.load(Ordering::Relaxed));
        connected.map(|link| lock(&link.queue).len()).sum()
    }

    fn describe(&self) -> Value {
        let link = |link: &Arc<PeerLink>| {
            let last_seen = lock(&self.peers[link.to.index()]).last_seen;
            json!({
                "from": self.name(link.from),
                "to": self.name(link.to),
                "connected": link.connected.load(Ordering::Relaxed),
                "heard": last_seen.is_some_and(|last_seen| last_seen.elapsed() < READ_TIMEOUT),
                "unacknowledged": lock(&link.queue).len(),
            })
        };
        self.links.iter().map(link).collect()
    }
}
