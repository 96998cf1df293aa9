//! The framed transport: over TCP or Unix sockets, with TLS or a shared key.
//!
//! Each role here connects to the monitor of each role elsewhere and sends its letters there; what comes back on that
//! connection are acknowledgements only. A connection that breaks is made again, and what was not acknowledged is sent
//! again (`link`).

mod hear;
mod parts;
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

use super::frame::Kind;
use super::handshake::{self, Hello};
use super::{Receiver, Transport, UNHEARD};
use crate::listen::{Acceptor, Listener};
use crate::metrics::lock;
use crate::multiparty::complaints::Complaints;
use crate::multiparty::link::{Inbox, Outbox};
use crate::stream::{Socket, Stream};
use parts::Assembly;

pub(in crate::multiparty) use plan::TcpPlan;

/// How long connecting and getting to know each other may take.
const GREETING: Duration = Duration::from_secs(5);
/// How often somebody who says nothing else says that it is there.
const PINGING: Duration = Duration::from_millis(400);
/// A connection on which nothing was heard for this long is broken.
const SILENCE: Duration = Duration::from_secs(5);
/// How long to wait before trying again.
const RETRYING: Duration = Duration::from_millis(50);
/// When nobody listens for this long where there was a monitor, its process has ended.
const GONE: Duration = Duration::from_millis(300);
/// … and at most, after connections that broke at once.
const LONGEST_PAUSE: Duration = Duration::from_millis(400);
/// Bytes that are written at once.
const BATCH: usize = 64 << 10;

/// The letters of one role here to one elsewhere.
struct Line {
    from: Role,
    to: Role,
    outbox: Mutex<Outbox>,
    more: Notify,
    connected: AtomicBool,
    /// When the other was last heard.
    heard: Mutex<Instant>,
}

impl Line {
    /// For how long nothing was heard.
    fn silent(&self) -> Duration {
        lock(&self.heard).elapsed()
    }
}

/// What is known of the monitor of another role.
#[derive(Default)]
struct Elsewhere {
    /// The process it is.
    instance: Option<u128>,
    /// Its connections here.
    live: usize,
    /// By role here.
    inboxes: Vec<Incoming>,
    /// When something last came from it.
    heard: Option<Instant>,
    /// Whether it was given up because nothing comes from it.
    deaf: bool,
}

/// What came from one role elsewhere for one here.
#[derive(Clone, Default)]
struct Incoming {
    inbox: Inbox,
    letter: Assembly,
}

/// The framed transport.
pub(in crate::multiparty) struct Tcp {
    plan: Arc<TcpPlan>,
    instance: u128,
    lines: Vec<Arc<Line>>,
    elsewhere: Vec<Mutex<Elsewhere>>,
    receiver: std::sync::Weak<dyn Receiver>,
    complaints: Mutex<Complaints>,
}

impl Tcp {
    /// Listens, and connects to everyone.
    pub(in crate::multiparty) fn start(
        plan: &Arc<TcpPlan>,
        listener: Listener,
        receiver: std::sync::Weak<dyn Receiver>,
    ) -> io::Result<Arc<Self>> {
        let everyone =
            || (0..plan.census.names.len()).filter_map(|index| u16::try_from(index).ok().map(Role));
        let mut lines = Vec::new();
        for from in &plan.census.own {
            for to in everyone().filter(|role| plan.place(*role).is_some()) {
                lines.push(Arc::new(Line {
                    from: *from,
                    to,
                    outbox: Mutex::default(),
                    more: Notify::new(),
                    connected: AtomicBool::new(false),
                    heard: Mutex::new(Instant::now()),
                }));
            }
        }
        let inboxes = || vec![Incoming::default(); plan.census.names.len()];
        let transport = Arc::new(Self {
            instance: u128::from_le_bytes(handshake::random()?),
            lines,
            elsewhere: everyone()
                .map(|_| Mutex::new(Elsewhere { inboxes: inboxes(), ..Elsewhere::default() }))
                .collect(),
            plan: Arc::clone(plan),
            receiver,
            complaints: Mutex::default(),
        });
        tokio::spawn(Arc::clone(&transport).listen(Acceptor::new(listener)?));
        tokio::spawn(Arc::clone(&transport).mind());
        for line in &transport.lines {
            tokio::spawn(Arc::clone(&transport).keep(Arc::clone(line)));
        }
        Ok(transport)
    }

    fn name(&self, role: Role) -> &str {
        self.plan.census.name(role)
    }

    fn with_receiver(&self, tell: impl FnOnce(&dyn Receiver)) {
        if let Some(receiver) = self.receiver.upgrade() {
            tell(&*receiver);
        }
    }

    /// The monitor of `peer` is the process `instance`. If it was another before, everything that was known of that one
    /// is forgotten, by both sides.
    fn meet(&self, peer: Role, instance: u128) {
        let mut known = lock(&self.elsewhere[peer.index()]);
        let before = known.instance.replace(instance);
        if before == Some(instance) {
            return;
        }
        known.inboxes.fill(Incoming::default());
        if before.is_some() {
            for line in self.lines.iter().filter(|line| line.to == peer) {
                lock(&line.outbox).forget();
            }
        }
        drop(known);
        if before.is_some() {
            tracing::warn!(peer = self.name(peer), "another monitor was started anew");
            self.with_receiver(|receiver| receiver.lost(peer, "it was started anew"));
        }
    }

    /// Keeps a connection for `line`.
    async fn keep(self: Arc<Self>, line: Arc<Line>) {
        let (from, peer) = (self.name(line.from).to_owned(), self.name(line.to).to_owned());
        let mut down_since = Instant::now();
        let (mut was_up, mut told) = (false, false);
        let (mut said, mut pause) = (String::new(), RETRYING);
        loop {
            let patience = self.plan.census.patience;
            let left = patience.saturating_sub(line.silent()).max(RETRYING);
            let time = if was_up && !told { GREETING.min(left) } else { GREETING };
            let attempt = tokio::time::timeout(time, self.connect(&line)).await;
            let failure = match attempt.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok((stream, known)) => {
                    tracing::info!(role = from, peer, "connected to the other monitor");
                    (was_up, told) = (true, false);
                    said.clear();
                    line.connected.store(true, Ordering::Relaxed);
                    let (up_since, first) = (Instant::now(), lock(&line.outbox).first());
                    *lock(&line.heard) = up_since;
                    self.with_receiver(|receiver| receiver.found(line.to));
                    let ended = self.pump(&line, stream, known).await;
                    line.connected.store(false, Ordering::Relaxed);
                    down_since = Instant::now();
                    tracing::warn!(role = from, peer, error = %ended, "the connection to the other monitor broke");
                    // What broke at once and got nothing through is likely to do so again.
                    if up_since.elapsed() > LONGEST_PAUSE || lock(&line.outbox).first() > first {
                        pause = RETRYING;
                    } else {
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                    continue;
                }
                Err(failure) => failure,
            };
            if self.receiver.strong_count() == 0 {
                return;
            }
            let refused = failure.kind() == io::ErrorKind::PermissionDenied;
            let absent = matches!(failure.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound);
            let why = if refused { format!("it refuses this one: {failure}") } else { failure.to_string() };
            // Monitors are started one after the other: who is there in a moment is not worth a word.
            if why != said && (refused || down_since.elapsed() >= UNHEARD) {
                tracing::warn!(role = from, peer, "the other monitor cannot be reached: {why}");
                said.clone_from(&why);
            }
            let given_up = match (was_up, absent) {
                (true, true) => down_since.elapsed() >= GONE,
                (true, false) => line.silent() >= patience,
                (false, _) => down_since.elapsed() >= self.plan.census.handshake,
            };
            if !told && (refused || given_up) {
                told = true;
                if lock(&self.elsewhere[line.to.index()]).instance.is_none() {
                    // Who was never there need not hear of sessions that never began.
                    lock(&line.outbox).forget();
                }
                self.with_receiver(|receiver| receiver.lost(line.to, &why));
            }
            tokio::time::sleep(if told { RETRYING * 5 } else { RETRYING }).await;
        }
    }

    async fn connect(&self, line: &Line) -> io::Result<(Stream, handshake::Known)> {
        let Some(address) = self.plan.place(line.to) else { return Err(io::ErrorKind::NotFound.into()) };
        let socket = Socket::connect(address).await?;
        let mut stream = match self.plan.tls.as_ref().map(|tls| &tls.dial[line.to.index()]) {
            Some(Some((config, name))) => {
                let connector = TlsConnector::from(Arc::clone(config));
                Stream::TlsClient(Box::new(connector.connect(name.clone(), socket).await?))
            }
            Some(None) => return Err(io::ErrorKind::NotFound.into()),
            None => Stream::Plain(socket),
        };
        let hello = Hello {
            fingerprint: self.plan.census.fingerprint,
            instance: self.instance,
            from: self.name(line.from).to_owned(),
            to: self.name(line.to).to_owned(),
            codec: self.plan.census.codecs[line.from.index()].clone().unwrap_or_default(),
            limits: self.plan.census.limits,
        };
        let (known, expected) = handshake::dial(&mut stream, &hello, self.plan.census.key.as_deref()).await?;
        self.meet(line.to, known.instance);
        let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "it claims letters that were never sent");
        lock(&line.outbox).connected(expected).map_err(wrong)?;
        Ok((stream, known))
    }

    /// Sends what there is to send until the connection breaks.
    async fn pump(&self, line: &Arc<Line>, stream: Stream, known: handshake::Known) -> io::Error {
        let handshake::Known { mut out, mut back, .. } = known;
        let (reader, mut writer) = tokio::io::split(stream);
        // Whoever is impatient must notice sooner.
        let silence = SILENCE.min(self.plan.census.patience).max(PINGING * 2);
        let reading = {
            let (line, peer) = (Arc::clone(line), self.name(line.to));
            async move {
                let mut reader = BufReader::new(reader);
                loop {
                    let mut frame = std::pin::pin!(back.receive(&mut reader, 64));
                    let frame = match tokio::time::timeout(UNHEARD, frame.as_mut()).await {
                        Ok(frame) => Ok(frame),
                        Err(_) => {
                            tracing::warn!(peer, "nothing is heard of another monitor: sessions wait for it");
                            tokio::time::timeout(silence.saturating_sub(UNHEARD), frame).await
                        }
                    };
                    let (kind, body) = frame.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
                    *lock(&line.heard) = Instant::now();
                    if kind != Kind::Expected {
                        return Err(io::Error::new(io::ErrorKind::InvalidData, "no acknowledgement"));
                    }
                    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "never sent");
                    lock(&line.outbox).acknowledged(handshake::read_expected(&body)?).map_err(wrong)?;
                }
            }
        };
        let writing = async {
            let mut bytes = Vec::new();
            loop {
                bytes.clear();
                let more = line.more.notified();
                while bytes.len() < BATCH
                    && let Some((number, letter)) = lock(&line.outbox).give()
                {
                    out.write(Kind::Letter, &[&number.to_le_bytes(), &letter], &mut bytes);
                }
                if bytes.is_empty() {
                    if tokio::time::timeout(PINGING, more).await.is_ok() {
                        continue;
                    }
                    out.write(Kind::Ping, &[], &mut bytes);
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
    fn send(&self, from: Role, to: Role, letter: Bytes) {
        if let Some(line) = self.lines.iter().find(|line| line.from == from && line.to == to) {
            let mut outbox = lock(&line.outbox);
            parts::split(&letter).for_each(|part| outbox.push(part));
            line.more.notify_one();
        }
    }

    fn unsent(&self) -> usize {
        let connected = self.lines.iter().filter(|line| line.connected.load(Ordering::Relaxed));
        connected.map(|line| lock(&line.outbox).len()).sum()
    }

    fn describe(&self) -> Value {
        let line = |line: &Arc<Line>| {
            let heard = lock(&self.elsewhere[line.to.index()]).heard;
            json!({
                "from": self.name(line.from),
                "to": self.name(line.to),
                "connected": line.connected.load(Ordering::Relaxed),
                "heard": heard.is_some_and(|heard| heard.elapsed() < SILENCE),
                "unacknowledged": lock(&line.outbox).len(),
            })
        };
        self.lines.iter().map(line).collect()
    }
}
