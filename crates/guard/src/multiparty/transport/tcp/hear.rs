//! The side that accepts connections: who connects is asked who it is, and then its letters are taken.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use referee_theory::Role;
use tokio::io::BufReader;
use tokio::task::AbortHandle;

use super::parts::FRAME;
use super::{BATCH, GREETING, Incoming, RETRYING, SILENCE, Tcp};
use crate::listen::Acceptor;
use crate::metrics::lock;
use crate::multiparty::link::Taking;
use crate::multiparty::transport::frame::Kind;
use crate::multiparty::transport::handshake::{self, Hello};
use crate::stream::{Socket, Stream};
use crate::tls;

/// Who is not known yet, at the same time. When there are more, the oldest must go: a monitor shows at once who it is.
const STRANGERS: usize = 256;
/// How long an acknowledgement may take.
const ACKNOWLEDGING: Duration = Duration::from_millis(200);
/// How often is looked whether everyone is heard.
const LOOKING: Duration = Duration::from_millis(100);

/// A connection of the monitor of `role`, for as long as it lasts.
struct Live {
    transport: Arc<Tcp>,
    role: Role,
}

impl Live {
    fn new(transport: &Arc<Tcp>, role: Role) -> Self {
        lock(&transport.elsewhere[role.index()]).live += 1;
        Self { transport: Arc::clone(transport), role }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        lock(&self.transport.elsewhere[self.role.index()]).live -= 1;
    }
}

impl Tcp {
    pub(super) async fn listen(self: Arc<Self>, acceptor: Acceptor) {
        let mut strangers: VecDeque<AbortHandle> = VecDeque::new();
        while self.receiver.strong_count() > 0 {
            let Ok(accepted) = acceptor.accept().await else {
                tokio::time::sleep(RETRYING).await;
                continue;
            };
            let Ok((socket, source)) = accepted.open() else { continue };
            let transport = Arc::clone(&self);
            let stranger = tokio::spawn(async move {
                let greeted = tokio::time::timeout(GREETING, transport.greet(socket)).await;
                let error = match greeted {
                    Ok(Ok((stream, known, live, to))) => {
                        // On a task of its own, which is no stranger's.
                        tokio::spawn(async move {
                            let from = live.role;
                            let ended = transport.hear(stream, known, from, to).await;
                            let peer = transport.name(from);
                            tracing::debug!(%source, peer, error = %ended, "a connection of another monitor ended");
                        });
                        return;
                    }
                    Ok(Err(error)) => error,
                    Err(_) => io::ErrorKind::TimedOut.into(),
                };
                if let Some(untold) = lock(&transport.complaints).tell(Instant::now()) {
                    tracing::warn!(%source, %error, untold, "somebody who is no monitor of this network connected");
                }
            });
            strangers.push_back(stranger.abort_handle());
            if strangers.len() > STRANGERS {
                strangers.retain(|stranger| !stranger.is_finished());
            }
            if strangers.len() > STRANGERS
                && let Some(oldest) = strangers.pop_front()
            {
                oldest.abort();
            }
        }
    }

    /// Looks whether everyone who was heard still is. Letters may come through in one direction only.
    pub(super) async fn mind(self: Arc<Self>) {
        while self.receiver.strong_count() > 0 {
            tokio::time::sleep(LOOKING).await;
            for role in &self.plan.census.elsewhere {
                let mut known = lock(&self.elsewhere[role.index()]);
                let silent = known.heard.is_some_and(|heard| heard.elapsed() > self.plan.census.patience);
                if silent && !std::mem::replace(&mut known.deaf, true) {
                    drop(known);
                    self.with_receiver(|receiver| receiver.lost(*role, "nothing is heard of it"));
                }
            }
        }
    }

    /// Something came from the monitor of `from`.
    fn heard(&self, from: Role) {
        let mut known = lock(&self.elsewhere[from.index()]);
        known.heard = Some(Instant::now());
        if std::mem::replace(&mut known.deaf, false) {
            drop(known);
            self.with_receiver(|receiver| receiver.found(from));
        }
    }

    /// Gets to know who connected. From then on it counts as a live connection of its role.
    async fn greet(self: &Arc<Self>, socket: Socket) -> io::Result<(Stream, handshake::Known, Live, Role)> {
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
        self.heard(from);
        let live = Live::new(self, from);
        let expected = lock(&self.elsewhere[from.index()]).inboxes[to.index()].inbox.expected();
        known.out.send(&mut stream, Kind::Welcome, &[&expected.to_le_bytes()]).await?;
        Ok((stream, known, live, to))
    }

    /// Takes letters until the connection breaks.
    async fn hear(&self, stream: Stream, known: handshake::Known, from: Role, to: Role) -> io::Error {
        let handshake::Known { mut out, mut back, instance } = known;
        let (reader, mut writer) = tokio::io::split(stream);
        let mut reader = BufReader::with_capacity(BATCH, reader);
        let wrong = |what| io::Error::new(io::ErrorKind::InvalidData, what);
        let mut acknowledged = Instant::now();
        loop {
            let frame = tokio::time::timeout(SILENCE, back.receive(&mut reader, FRAME)).await;
            let (kind, body) = match frame {
                Ok(Ok(frame)) => frame,
                Ok(Err(error)) => return error,
                Err(_) => return io::ErrorKind::TimedOut.into(),
            };
            let mut expected = None;
            self.heard(from);
            match kind {
                Kind::Ping => {}
                Kind::Letter => {
                    let (number, part) = match handshake::split_letter(body) {
                        Ok(parts) => parts,
                        Err(error) => return error,
                    };
                    let taking = {
                        let mut elsewhere = lock(&self.elsewhere[from.index()]);
                        if elsewhere.instance != Some(instance) {
                            return wrong("a newer process has taken its place");
                        }
                        let Incoming { inbox, letter } = &mut elsewhere.inboxes[to.index()];
                        let taking = inbox.take(number);
                        expected = Some(inbox.expected());
                        // Under the lock, so that two connections cannot mix the order.
                        if taking == Taking::Take {
                            match letter.add(part, self.plan.census.longest) {
                                Ok(None) => {}
                                Ok(Some(letter)) => {
                                    self.with_receiver(|receiver| receiver.letter(from, to, letter));
                                }
                                Err(_) => {
                                    let peer = self.name(from);
                                    tracing::error!(peer, "a letter from another monitor is too long");
                                }
                            }
                        }
                        taking
                    };
                    if taking == Taking::Gap {
                        return wrong("a letter is missing");
                    }
                }
                _ => return wrong("this is not said here"),
            }
            // One acknowledgement for all that has arrived, but not too late where there is always more.
            if reader.buffer().is_empty() || acknowledged.elapsed() > ACKNOWLEDGING {
                acknowledged = Instant::now();
                let expected = expected.unwrap_or_else(|| {
                    lock(&self.elsewhere[from.index()]).inboxes[to.index()].inbox.expected()
                });
                if let Err(error) = out.send(&mut writer, Kind::Expected, &[&expected.to_le_bytes()]).await {
                    return error;
                }
            }
        }
    }
}
