//! The accepting side of the framed transport: handshakes, then fragments in and acknowledgements out.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use referee_theory::Role;
use tokio::io::BufReader;
use tokio::task::AbortHandle;

use super::fragment::MAX_FRAME_BODY_BYTES;
use super::{HANDSHAKE_TIMEOUT, Incoming, MAX_BATCH_BYTES, READ_TIMEOUT, RETRY_INTERVAL, Tcp};
use crate::listen::Acceptor;
use crate::metrics::lock;
use crate::multiparty::retransmit::Receipt;
use crate::multiparty::transport::CONGESTION_POLL_INTERVAL;
use crate::multiparty::transport::frame::FrameKind;
use crate::multiparty::transport::handshake::{self, Hello};
use crate::stream::{Socket, Stream};
use crate::tls;
use crate::tls_records::TlsSocket;

/// Unauthenticated peers at the same time. Beyond that the oldest is disconnected: monitors authenticate at once.
const MAX_UNAUTHENTICATED: usize = 256;
/// An acknowledgement is sent at least this often while fragments keep coming.
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// How often silent peers are looked for.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Counts a live connection of the peer `role` until it is dropped.
struct LiveConnection {
    transport: Arc<Tcp>,
    role: Role,
}

impl LiveConnection {
    fn new(transport: &Arc<Tcp>, role: Role) -> Self {
        lock(&transport.peers[role.index()]).live_connections += 1;
        Self { transport: Arc::clone(transport), role }
    }
}

impl Drop for LiveConnection {
    fn drop(&mut self) {
        lock(&self.transport.peers[self.role.index()]).live_connections -= 1;
    }
}

impl Tcp {
    pub(super) async fn listen(self: Arc<Self>, acceptor: Acceptor) {
        let mut unauthenticated: VecDeque<AbortHandle> = VecDeque::new();
        while self.receiver.strong_count() > 0 {
            let Ok(accepted) = acceptor.accept().await else {
                tokio::time::sleep(RETRY_INTERVAL).await;
                continue;
            };
            let Ok((socket, source)) = accepted.open() else { continue };
            let transport = Arc::clone(&self);
            let warn_unauthenticated = tokio::spawn(async move {
                let authenticated =
                    tokio::time::timeout(HANDSHAKE_TIMEOUT, transport.authenticate(socket)).await;
                let error = match authenticated {
                    Ok(Ok((stream, known, live_connection, to))) => {
                        // On a task of its own, which is not aborted with unauthenticated ones.
                        tokio::spawn(async move {
                            let ended = transport.receive_loop(stream, known, &live_connection, to).await;
                            let peer = transport.name(live_connection.role);
                            tracing::debug!(%source, peer, error = %ended, "a connection of another monitor ended");
                        });
                        return;
                    }
                    Ok(Err(error)) => error,
                    Err(_) => io::ErrorKind::TimedOut.into(),
                };
                if let Some(untold) = lock(&transport.warnings).admit(Instant::now()) {
                    tracing::warn!(%source, %error, untold, "somebody who is no monitor of this network connected");
                }
            });
            unauthenticated.push_back(warn_unauthenticated.abort_handle());
            if unauthenticated.len() > MAX_UNAUTHENTICATED {
                unauthenticated.retain(|warn_unauthenticated| !warn_unauthenticated.is_finished());
            }
            if unauthenticated.len() > MAX_UNAUTHENTICATED
                && let Some(oldest) = unauthenticated.pop_front()
            {
                oldest.abort();
            }
        }
    }

    /// Reports peers from which nothing arrives, although what is sent to them may arrive.
    pub(super) async fn watch_peers(self: Arc<Self>) {
        while self.receiver.strong_count() > 0 {
            tokio::time::sleep(CHECK_INTERVAL).await;
            for role in &self.plan.topology.remote {
                let mut known = lock(&self.peers[role.index()]);
                let silent = known
                    .last_seen
                    .is_some_and(|last_seen| last_seen.elapsed() > self.plan.topology.peer_timeout);
                if silent && !std::mem::replace(&mut known.unreachable, true) {
                    drop(known);
                    self.with_receiver(|receiver| receiver.peer_lost(*role, "nothing is heard of it"));
                }
            }
        }
    }

    /// A frame arrived from the process `instance` of `from`. Whether that is still its monitor.
    fn note_seen(&self, from: Role, instance: u128) -> bool {
        let mut known = lock(&self.peers[from.index()]);
        if known.instance != Some(instance) {
            return false;
        }
        known.last_seen = Some(Instant::now());
        if std::mem::replace(&mut known.unreachable, false) {
            drop(known);
            self.with_receiver(|receiver| receiver.peer_found(from));
        }
        true
    }

    /// Whether another process than `instance` is connected as the monitor of `role`, in either direction.
    fn is_taken(&self, role: Role, instance: u128) -> bool {
        let known = lock(&self.peers[role.index()]);
        let is_other = known.instance.is_some_and(|known| known != instance);
        let accepted = known.live_connections > 0;
        drop(known);
        let dialled = self.links.iter().any(|link| link.to == role && link.connected.load(Ordering::Relaxed));
        is_other && (accepted || dialled)
    }

    /// Authenticates who connected. From then on it counts as a live connection of its role.
    async fn authenticate(
        self: &Arc<Self>,
        socket: Socket,
    ) -> io::Result<(Stream, handshake::Established, LiveConnection, Role)> {
        let (mut stream, shown) = match &self.plan.tls {
            Some(tls) => {
                let stream = tls.load_full().accept.accept(TlsSocket::new(socket)).await?;
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
            handshake::accept(&mut stream, self.instance, self.plan.topology.key.as_deref(), welcome).await?;
        let Some((from, to)) = parties else { return Err(io::ErrorKind::InvalidData.into()) };
        // Only now is it authenticated.
        if self.is_taken(from, known.instance) {
            let why = format!("there is another monitor of `{}`", self.name(from));
            return Err(handshake::refuse(&mut stream, known.out, &why).await);
        }
        self.meet(from, known.instance);
        self.note_seen(from, known.instance);
        let live_connection = LiveConnection::new(self, from);
        let expected = lock(&self.peers[from.index()]).incoming[to.index()].dedup.expected();
        known.out.send(&mut stream, FrameKind::Welcome, &[&expected.to_le_bytes()]).await?;
        Ok((stream, known, live_connection, to))
    }

    /// Accepts a fragment of the process `instance` if it is the next. Returns the next number expected.
    fn take_fragment(&self, (from, to): (Role, Role), instance: u128, body: Bytes) -> io::Result<u64> {
        let wrong = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let (number, content) = handshake::split_fragment(body)?;
        let mut peer = lock(&self.peers[from.index()]);
        if peer.instance != Some(instance) {
            return wrong("a newer process has taken its place");
        }
        let Incoming { dedup, message } = &mut peer.incoming[to.index()];
        let taking = dedup.take(number);
        let expected = dedup.expected();
        // Under the lock, so that two connections cannot reorder.
        if taking == Receipt::New {
            match message.add(content, self.plan.topology.max_peer_message_bytes) {
                Ok(None) => {}
                Ok(Some(message)) => {
                    self.with_receiver(|receiver| receiver.peer_message(from, to, message));
                }
                Err(_) => {
                    let peer = self.name(from);
                    tracing::error!(peer, "a peer message from another monitor is too long");
                }
            }
        }
        if taking == Receipt::Gap { wrong("a peer message is missing") } else { Ok(expected) }
    }

    /// Receives fragments until the connection breaks. It takes the whole [`LiveConnection`], because a task that names only
    /// its role would not keep it.
    async fn receive_loop(
        &self,
        stream: Stream,
        known: handshake::Established,
        &LiveConnection { role: from, .. }: &LiveConnection,
        to: Role,
    ) -> io::Error {
        let handshake::Established { mut out, mut back, instance } = known;
        let (reader, mut writer) = tokio::io::split(stream);
        let mut reader = BufReader::with_capacity(MAX_BATCH_BYTES, reader);
        let wrong = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        let mut acknowledged = Instant::now();
        loop {
            // Whoever waits for this process hears that it lives.
            while self.receiver.upgrade().is_some_and(|receiver| receiver.is_congested()) {
                tokio::time::sleep(CONGESTION_POLL_INTERVAL).await;
                if acknowledged.elapsed() > MAX_ACK_DELAY {
                    acknowledged = Instant::now();
                    let expected = lock(&self.peers[from.index()]).incoming[to.index()].dedup.expected();
                    let expected = expected.to_le_bytes();
                    if let Err(error) = out.send(&mut writer, FrameKind::Acknowledgement, &[&expected]).await
                    {
                        return error;
                    }
                    self.note_seen(from, instance);
                }
            }
            let frame =
                tokio::time::timeout(READ_TIMEOUT, back.receive(&mut reader, MAX_FRAME_BODY_BYTES)).await;
            let (kind, body) = match frame {
                Ok(Ok(frame)) => frame,
                Ok(Err(error)) => return error,
                Err(_) => return io::ErrorKind::TimedOut.into(),
            };
            let mut expected = None;
            if !self.note_seen(from, instance) {
                return wrong("another process has taken its place");
            }
            match kind {
                FrameKind::Ping => {}
                FrameKind::Fragment => match self.take_fragment((from, to), instance, body) {
                    Ok(next) => expected = Some(next),
                    Err(error) => return error,
                },
                _ => return wrong("this is not said here"),
            }
            // One acknowledgement for all that has arrived, but not too late where more keeps coming.
            if reader.buffer().is_empty() || acknowledged.elapsed() > MAX_ACK_DELAY {
                acknowledged = Instant::now();
                let expected = expected
                    .unwrap_or_else(|| lock(&self.peers[from.index()]).incoming[to.index()].dedup.expected());
                if let Err(error) =
                    out.send(&mut writer, FrameKind::Acknowledgement, &[&expected.to_le_bytes()]).await
                {
                    return error;
                }
            }
        }
    }
}
