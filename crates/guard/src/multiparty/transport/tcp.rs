//! The framed transport: over TCP or Unix sockets, with TLS or a shared key.
//!
//! Each role here connects to the monitor of each role elsewhere and sends its letters there; what comes back on that
//! connection are acknowledgements only. A connection that breaks is made again, and what was not acknowledged is sent
//! again (`link`).

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use referee_theory::Role;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::sync::{Notify, Semaphore};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::census::Census;
use super::frame::Kind;
use super::handshake::{self, Hello};
use super::{Receiver, Transport, UNHEARD};
use crate::config::{Address, TlsIn, TlsOut};
use crate::listen::{Acceptor, Listener};
use crate::metrics::lock;
use crate::multiparty::link::{Inbox, Outbox, Taking};
use crate::stream::{Socket, Stream};
use crate::tls::{self, ClientSide};

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
/// Who is not known yet, at the same time.
const STRANGERS: usize = 256;
/// Bytes that are written at once.
const BATCH: usize = 64 << 10;

/// What the transport needs to know.
pub(in crate::multiparty) struct TcpPlan {
    pub(in crate::multiparty) listen: Address,
    /// By role: where its monitor is, and the name on its certificate.
    pub(in crate::multiparty) peers: Vec<Option<(Address, String)>>,
    pub(in crate::multiparty) tls: Option<TlsPlan>,
    pub(in crate::multiparty) census: Census,
}

/// TLS on either side.
pub(in crate::multiparty) struct TlsPlan {
    accept: TlsAcceptor,
    /// By role.
    dial: Vec<Option<ClientSide>>,
}

impl TcpPlan {
    /// TLS as `accept` and `dial` say, towards `peers`.
    pub(in crate::multiparty) fn tls(
        accept: &TlsIn,
        dial: &TlsOut,
        peers: &[Option<(Address, String)>],
    ) -> Result<TlsPlan, String> {
        let side = |peer: &Option<(Address, String)>| {
            let Some((_, name)) = peer else { return Ok(None) };
            tls::client(&TlsOut { server_name: Some(name.clone()), ..dial.clone() }, None).map(Some)
        };
        let dial = peers.iter().map(side).collect::<Result<_, String>>()?;
        Ok(TlsPlan { accept: TlsAcceptor::from(tls::server(accept)?), dial })
    }

    /// Where the monitor of `role` is, if another process runs it.
    pub(in crate::multiparty) fn place(&self, role: Role) -> Option<&Address> {
        self.peers.get(role.index())?.as_ref().map(|(address, _)| address)
    }

    pub(in crate::multiparty) fn in_words(&self) -> &'static str {
        match (&self.tls, &self.census.key) {
            (Some(_), _) => " (TLS with certificates from both sides)",
            (None, Some(_)) => " (with a shared key)",
            (None, None) => " (on this machine only)",
        }
    }

    /// Whether who says `hello` may be heard.
    fn welcomes(&self, hello: &Hello) -> Result<(Role, Role), String> {
        let Hello { from, to, .. } = hello;
        let own = self.census.role(to).filter(|role| self.census.own.contains(role));
        let to_role = own.ok_or_else(|| format!("`{to}` does not run here"))?;
        let from_role = self.census.role(from).filter(|role| self.place(*role).is_some());
        let from_role = from_role.ok_or_else(|| format!("`{from}` is not expected here"))?;
        if hello.fingerprint != self.census.fingerprint {
            return Err("it follows another protocol, or another version of it".to_owned());
        }
        self.census.understand(from_role, &hello.codec, to_role)?;
        Ok((from_role, to_role))
    }
}

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
    inboxes: Vec<Inbox>,
}

/// The framed transport.
pub(in crate::multiparty) struct Tcp {
    plan: Arc<TcpPlan>,
    instance: u128,
    lines: Vec<Arc<Line>>,
    elsewhere: Vec<Mutex<Elsewhere>>,
    receiver: std::sync::Weak<dyn Receiver>,
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
        let inboxes = || vec![Inbox::default(); plan.census.names.len()];
        let transport = Arc::new(Self {
            instance: u128::from_le_bytes(handshake::random()?),
            lines,
            elsewhere: everyone()
                .map(|_| Mutex::new(Elsewhere { inboxes: inboxes(), ..Elsewhere::default() }))
                .collect(),
            plan: Arc::clone(plan),
            receiver,
        });
        tokio::spawn(Arc::clone(&transport).listen(Acceptor::new(listener)?));
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
        known.inboxes.fill(Inbox::default());
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
        let (mut was_up, mut told, mut complained) = (false, false, false);
        loop {
            let patience = self.plan.census.patience;
            let left = patience.saturating_sub(line.silent()).max(RETRYING);
            let time = if was_up && !told { GREETING.min(left) } else { GREETING };
            let attempt = tokio::time::timeout(time, self.connect(&line)).await;
            let failure = match attempt.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok((stream, known)) => {
                    tracing::info!(role = from, peer, "connected to the other monitor");
                    (was_up, told, complained) = (true, false, false);
                    line.connected.store(true, Ordering::Relaxed);
                    *lock(&line.heard) = Instant::now();
                    self.with_receiver(|receiver| receiver.found(line.to));
                    let ended = self.pump(&line, stream, known).await;
                    line.connected.store(false, Ordering::Relaxed);
                    down_since = Instant::now();
                    tracing::warn!(role = from, peer, error = %ended, "the connection to the other monitor broke");
                    continue;
                }
                Err(failure) => failure,
            };
            if self.receiver.strong_count() == 0 {
                return;
            }
            let refused = failure.kind() == io::ErrorKind::PermissionDenied;
            let absent = matches!(failure.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound);
            if refused && !complained {
                complained = true;
                tracing::error!(role = from, peer, "the other monitor refuses this one: {failure}");
            }
            let given_up = if absent { down_since.elapsed() >= GONE } else { line.silent() >= patience };
            if !told && (refused || (was_up && given_up)) {
                told = true;
                let why =
                    if refused { format!("it refuses this one: {failure}") } else { failure.to_string() };
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

    async fn listen(self: Arc<Self>, acceptor: Acceptor) {
        let room = Arc::new(Semaphore::new(STRANGERS));
        while self.receiver.strong_count() > 0 {
            let Ok(accepted) = acceptor.accept().await else {
                tokio::time::sleep(RETRYING).await;
                continue;
            };
            let (Ok((socket, source)), Ok(permit)) = (accepted.open(), Arc::clone(&room).try_acquire_owned())
            else {
                continue;
            };
            let transport = Arc::clone(&self);
            tokio::spawn(async move {
                let greeted = tokio::time::timeout(GREETING, transport.greet(socket)).await;
                drop(permit);
                let ended = match greeted {
                    Ok(Ok((stream, known, from, to))) => {
                        let ended = transport.hear(stream, known, from, to).await;
                        lock(&transport.elsewhere[from.index()]).live -= 1;
                        ended
                    }
                    Ok(Err(error)) => {
                        tracing::warn!(%source, %error, "somebody who is no monitor of this network connected");
                        return;
                    }
                    Err(_) => return,
                };
                tracing::debug!(%source, error = %ended, "a connection of another monitor ended");
            });
        }
    }

    /// Gets to know who connected. From then on it counts as a live connection of its role.
    async fn greet(&self, socket: Socket) -> io::Result<(Stream, handshake::Known, Role, Role)> {
        let (mut stream, shown) = match &self.plan.tls {
            Some(tls) => {
                let stream = tls.accept.accept(socket).await?;
                let shown: Option<Vec<_>> =
                    stream.get_ref().1.peer_certificates().map(|chain| {
                        chain.iter().map(|certificate| certificate.clone().into_owned()).collect()
                    });
                (Stream::TlsServer(Box::new(stream)), shown)
            }
            None => (Stream::Plain(socket), None),
        };
        let mut parties = None;
        let welcome = |hello: &Hello| {
            let (from, to) = self.plan.welcomes(hello)?;
            if self.plan.tls.is_some() {
                let name = self.plan.peers[from.index()].as_ref().map_or("", |(_, name)| name);
                if !tls::bears_name(shown.as_deref(), name) {
                    return Err(format!("its certificate does not bear the name `{name}`"));
                }
            }
            parties = Some((from, to));
            Ok(())
        };
        let (mut known, _) =
            handshake::accept(&mut stream, self.instance, self.plan.census.key.as_deref(), welcome).await?;
        let Some((from, to)) = parties else { return Err(io::ErrorKind::InvalidData.into()) };
        // Only now is it known to be who it says.
        let taken = {
            let elsewhere = lock(&self.elsewhere[from.index()]);
            elsewhere.live > 0 && elsewhere.instance.is_some_and(|instance| instance != known.instance)
        };
        if taken {
            let why = format!("there is another monitor of `{}`", self.name(from));
            return Err(handshake::refuse(&mut stream, known.out, &why).await);
        }
        self.meet(from, known.instance);
        let expected = {
            let mut elsewhere = lock(&self.elsewhere[from.index()]);
            elsewhere.live += 1;
            elsewhere.inboxes[to.index()].expected()
        };
        if let Err(error) = known.out.send(&mut stream, Kind::Welcome, &[&expected.to_le_bytes()]).await {
            lock(&self.elsewhere[from.index()]).live -= 1;
            return Err(error);
        }
        Ok((stream, known, from, to))
    }

    /// Takes letters until the connection breaks.
    async fn hear(&self, stream: Stream, known: handshake::Known, from: Role, to: Role) -> io::Error {
        let handshake::Known { mut out, mut back, instance } = known;
        let (reader, mut writer) = tokio::io::split(stream);
        let mut reader = BufReader::with_capacity(BATCH, reader);
        let wrong = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        loop {
            let frame =
                tokio::time::timeout(SILENCE, back.receive(&mut reader, self.plan.census.longest)).await;
            let (kind, body) = match frame {
                Ok(Ok(frame)) => frame,
                Ok(Err(error)) => return error,
                Err(_) => return io::ErrorKind::TimedOut.into(),
            };
            let mut expected = None;
            match kind {
                Kind::Ping => {}
                Kind::Letter => {
                    let (number, letter) = match handshake::split_letter(body) {
                        Ok(parts) => parts,
                        Err(error) => return error,
                    };
                    let taking = {
                        let mut elsewhere = lock(&self.elsewhere[from.index()]);
                        if elsewhere.instance != Some(instance) {
                            return wrong("a newer process has taken its place");
                        }
                        let inbox = &mut elsewhere.inboxes[to.index()];
                        let taking = inbox.take(number);
                        expected = Some(inbox.expected());
                        // Under the lock, so that two connections cannot mix the order.
                        if taking == Taking::Take {
                            self.with_receiver(|receiver| receiver.letter(from, to, letter));
                        }
                        taking
                    };
                    if taking == Taking::Gap {
                        return wrong("a letter is missing");
                    }
                }
                _ => return wrong("this is not said here"),
            }
            // One acknowledgement for all that has arrived.
            if reader.buffer().is_empty() {
                let expected = expected
                    .unwrap_or_else(|| lock(&self.elsewhere[from.index()]).inboxes[to.index()].expected());
                if let Err(error) = out.send(&mut writer, Kind::Expected, &[&expected.to_le_bytes()]).await {
                    return error;
                }
            }
        }
    }
}

impl Transport for Tcp {
    fn send(&self, from: Role, to: Role, letter: Bytes) {
        if let Some(line) = self.lines.iter().find(|line| line.from == from && line.to == to) {
            lock(&line.outbox).push(letter);
            line.more.notify_one();
        }
    }

    fn unsent(&self) -> usize {
        self.lines.iter().map(|line| lock(&line.outbox).len()).sum()
    }

    fn describe(&self) -> Value {
        let line = |line: &Arc<Line>| {
            json!({
                "from": self.name(line.from),
                "to": self.name(line.to),
                "connected": line.connected.load(Ordering::Relaxed),
                "unacknowledged": lock(&line.outbox).len(),
            })
        };
        self.lines.iter().map(line).collect()
    }
}
