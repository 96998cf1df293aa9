//! Heartbeats: each monitor publishes, outside the stream, what it expects and what it has sent, and detects peers that
//! do not.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use async_nats::{Client, RequestErrorKind};
use hyper::body::Bytes;
use referee_theory::Role;

use super::{Incoming, Nats, PeerLink, TAKEOVER_AFTER};
use crate::metrics::lock;
use crate::multiparty::state_log::Change;
use crate::multiparty::transport::WARN_SILENT_AFTER;
use crate::multiparty::transport::authenticator::{Heartbeat, LinkStatus};

/// The interval between heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(250);
/// How often within the interval peers are checked.
const CHECKS_PER_HEARTBEAT: u32 = 2;
/// A peer whose heartbeat is this late may have ended: the broker is asked.
const HEARTBEAT_OVERDUE_AFTER: Duration = Duration::from_millis(350);
/// How long the broker may take to answer, and the grace for a peer that is reconnecting.
const PRESENCE_TIMEOUT: Duration = Duration::from_millis(200);
/// After a reconnection of the broker, heartbeats may be this late.
const RECONNECT_GRACE: Duration = Duration::from_secs(2);
/// A reader that makes no progress for this long, although a peer has sent more, is started again.
const STREAM_STALL_AFTER: Duration = Duration::from_secs(2);

impl Nats {
    /// Publishes the heartbeats of the local roles and checks the remote ones.
    pub(super) async fn heartbeat(self: Arc<Self>, client: Client) {
        while self.receiver.strong_count() > 0 {
            for role in &self.plan.topology.local {
                let subject = self.plan.heartbeats(&self.plan.role(*role));
                let payload = self.authenticator.sign(&subject, &self.own_beat(*role).write());
                // A heartbeat that cannot be published now is stale later.
                let _ = tokio::time::timeout(HEARTBEAT_INTERVAL, client.publish(subject, payload)).await;
            }
            for _ in 0..CHECKS_PER_HEARTBEAT {
                let news =
                    tokio::time::timeout(HEARTBEAT_INTERVAL / CHECKS_PER_HEARTBEAT, self.news.notified())
                        .await
                        .is_ok();
                let checks = self.plan.topology.remote.iter().map(|role| self.check_peer(&client, *role));
                futures_util::future::join_all(checks).await;
                if news {
                    break;
                }
            }
        }
    }

    /// Reports the peer `role` if its process has ended.
    async fn check_peer(&self, client: &Client, role: Role) {
        if self.is_overdue(role) && self.has_ended(client, role).await {
            let mut known = lock(&self.peers[role.index()]);
            if !known.survives {
                known.lost = true;
                drop(known);
                self.with_receiver(|receiver| receiver.peer_lost(role, "its process has ended"));
            } else if !std::mem::replace(&mut known.quiet, true) {
                let peer = self.plan.topology.name(role);
                tracing::warn!(peer, "the process of another monitor has ended: sessions wait for it");
            }
        }
    }

    /// Whether the broker is to be asked for the peer `role`. One that is silent for `partition` is given up.
    fn is_overdue(&self, role: Role) -> bool {
        let mut known = lock(&self.peers[role.index()]);
        if known.lost {
            return false;
        }
        let Some(silence) = known.last_seen.map(|last_seen| last_seen.elapsed()) else {
            let waited = self.started.elapsed();
            let peer = self.plan.topology.name(role);
            if waited > WARN_SILENT_AFTER && !std::mem::replace(&mut known.quiet, true) {
                tracing::warn!(peer, "nothing has been heard yet of another monitor");
            }
            if waited > self.plan.topology.handshake {
                known.lost = true;
                drop(known);
                if self.state_log.is_none() {
                    // A peer that never connected need not be told of sessions that never began.
                    let links = self.links.iter().filter(|link| link.to == role);
                    links.for_each(|link| lock(&link.queue).clear());
                }
                self.with_receiver(|receiver| receiver.peer_lost(role, "nothing has been heard of it yet"));
            }
            return false;
        };
        if silence > self.plan.topology.peer_timeout {
            known.lost = true;
            drop(known);
            let reachable = self.connected.load(Ordering::Relaxed);
            let why = if reachable { "nothing is heard of it" } else { "the broker is out of reach" };
            self.with_receiver(|receiver| receiver.peer_lost(role, why));
            return false;
        }
        if silence > WARN_SILENT_AFTER && !std::mem::replace(&mut known.quiet, true) {
            let peer = self.plan.topology.name(role);
            tracing::warn!(peer, "nothing is heard of another monitor: sessions wait for it");
        }
        silence > HEARTBEAT_OVERDUE_AFTER
    }

    /// Whether the broker says, twice, that nobody answers for the peer `role`: its process has ended.
    async fn has_ended(&self, client: &Client, role: Role) -> bool {
        for pause in [Duration::ZERO, PRESENCE_TIMEOUT] {
            tokio::time::sleep(pause).await;
            let since = *lock(&self.since);
            let asked = {
                let known = lock(&self.peers[role.index()]);
                let Some((instance, last_seen)) = known.instance.zip(known.last_seen) else { return false };
                let returning = last_seen < since && since.elapsed() < RECONNECT_GRACE;
                if last_seen.elapsed() <= HEARTBEAT_OVERDUE_AFTER
                    || returning
                    || known.lost
                    || (known.survives && known.quiet)
                {
                    return false;
                }
                client.request(self.plan.here(role, instance), Bytes::new())
            };
            match tokio::time::timeout(PRESENCE_TIMEOUT, asked).await {
                Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {}
                _ => return false,
            }
        }
        true
    }

    fn own_beat(&self, role: Role) -> Heartbeat {
        let links = self.plan.topology.remote.iter().filter_map(|peer| {
            let link = self.links.iter().find(|link| link.from == role && link.to == *peer);
            let sent = link.map_or(0, |link| lock(&link.queue).next_number());
            let known = lock(&self.peers[peer.index()]);
            let expected = known.incoming[role.index()].whole;
            Some(LinkStatus { role: peer.0, process: known.instance?, expected, sent })
        });
        Heartbeat {
            instance: self.instance,
            codec: self.plan.topology.codecs[role.index()].clone().unwrap_or_default(),
            limits: self.plan.topology.limits,
            survives: self.state_log.is_some(),
            links: links.collect(),
        }
    }

    pub(super) fn hear_beat(&self, subject: &str, signed: &Bytes) {
        let role = subject.rsplit('.').next().and_then(|part| self.plan.find(part));
        let heartbeat = self.authenticator.verify(subject, signed).and_then(|body| Heartbeat::read(&body));
        let (Some(role), Some(heartbeat)) = (role, heartbeat) else {
            return self.warn_unauthenticated(subject);
        };
        if heartbeat.instance == self.instance || !self.meet(role, &heartbeat) {
            return;
        }
        for link in self.links.iter().filter(|link| link.to == role) {
            let here = |status: &&LinkStatus| status.role == link.from.0 && status.process == self.instance;
            for status in heartbeat.links.iter().filter(here) {
                let known = lock(&link.queue).acknowledged(status.expected);
                if known.is_err() {
                    self.state_outdated(link, status.expected);
                } else if let Some(state_log) = &self.state_log {
                    state_log.acknowledged((link.from.0, link.to.0), status.expected);
                }
                self.check_stream_progress(role, link.from, status.sent);
            }
        }
    }

    /// `from` has sent `to` everything before number `sent`. If that does not arrive, the consumer is created again: it may have
    /// stalled.
    fn check_stream_progress(&self, from: Role, to: Role, sent: u64) {
        let mut known = lock(&self.peers[from.index()]);
        let expected = known.incoming[to.index()].dedup.expected();
        let behind = &mut known.behind[to.index()];
        match behind {
            _ if expected >= sent => *behind = None,
            Some((since, then)) if *then == expected => {
                if since.elapsed() >= STREAM_STALL_AFTER {
                    *behind = None;
                    tracing::debug!(peer = self.plan.topology.name(from), "what was sent does not come");
                    self.connections.send_modify(|count| *count += 1);
                }
            }
            _ => *behind = Some((Instant::now(), expected)),
        }
    }

    /// The other end of `link` acknowledges what this state log does not have: the log is older than what happened, and no
    /// session of both can go on.
    fn state_outdated(&self, link: &PeerLink, expected: u64) {
        lock(&link.queue).skip_to(expected);
        if let Some(state_log) = &self.state_log {
            state_log.append(Change::Numbering { link: (link.from.0, link.to.0), number: expected });
        }
        let peer = self.plan.topology.name(link.to);
        tracing::error!(peer, "another monitor has peer messages from here that are not remembered here");
        self.with_receiver(|receiver| {
            receiver.peer_lost(link.to, "it has peer messages that are not remembered here");
            receiver.peer_found(link.to);
        });
    }

    /// Whether `heartbeat` is accepted as the peer `role`. If that was another process before, the state of its links is
    /// forgotten.
    fn meet(&self, role: Role, heartbeat: &Heartbeat) -> bool {
        let topology = &self.plan.topology;
        let mut known = lock(&self.peers[role.index()]);
        let other = known.instance.is_some_and(|instance| instance != heartbeat.instance);
        let alive =
            !known.lost && known.last_seen.is_some_and(|last_seen| last_seen.elapsed() < TAKEOVER_AFTER);
        let problem = if topology.local.contains(&role) || (other && alive) {
            Some(format!("there is another monitor of `{}`", topology.name(role)))
        } else {
            topology.local.iter().find_map(|own| {
                topology.check_compatible(role, &heartbeat.codec, heartbeat.limits, *own).err()
            })
        };
        if let Some(problem) = problem {
            if !std::mem::replace(&mut known.warned, true) {
                tracing::warn!(peer = topology.name(role), "a monitor is not heard: {problem}");
            }
            return false;
        }
        let before = known.instance.replace(heartbeat.instance);
        known.last_seen = Some(Instant::now());
        known.survives = heartbeat.survives;
        let returned = std::mem::replace(&mut known.lost, false);
        if std::mem::replace(&mut known.quiet, false) {
            tracing::info!(peer = topology.name(role), "another monitor is heard again");
        }
        if before == Some(heartbeat.instance) {
            drop(known);
            if returned {
                self.with_receiver(|receiver| receiver.peer_found(role));
            }
            return true;
        }
        known.incoming.fill(Incoming::default());
        known.warned = false;
        if let Some(state_log) = &self.state_log {
            state_log.append(Change::Identified { peer: role.0, instance: heartbeat.instance });
        }
        if before.is_some() {
            // Under the lock: nothing addressed to the old process is sent to the new one.
            for link in self.links.iter().filter(|link| link.to == role) {
                lock(&link.queue).clear();
            }
        }
        drop(known);
        if before.is_some() {
            tracing::warn!(peer = topology.name(role), "another monitor was started anew");
            self.with_receiver(|receiver| receiver.peer_lost(role, "it was started anew"));
        } else {
            tracing::info!(peer = topology.name(role), "the other monitor is there");
        }
        self.with_receiver(|receiver| receiver.peer_found(role));
        if let Some(state_log) = &self.state_log {
            state_log.commit();
        }
        for link in self.links.iter().filter(|link| link.to == role) {
            link.more.notify_one();
        }
        self.news.notify_one();
        true
    }
}
