//! Beats: each monitor says, past the stream, that it is there, what it has taken and what it has sent; and notices who does
//! not.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use async_nats::{Client, RequestErrorKind};
use hyper::body::Bytes;
use referee_theory::Role;

use super::{Incoming, Line, Nats, SUCCESSION};
use crate::metrics::lock;
use crate::multiparty::diary::Change;
use crate::multiparty::transport::UNHEARD;
use crate::multiparty::transport::seal::{Beat, Standing};

/// How often a monitor says that it is there.
const BEATING: Duration = Duration::from_millis(250);
/// How often in between it looks who else is.
const LOOKS: u32 = 2;
/// Whoever misses a beat by so much may be gone: the broker knows.
const OVERDUE: Duration = Duration::from_millis(350);
/// How long the broker may take to say so, and what is left to somebody who is just coming back.
const ASKING: Duration = Duration::from_millis(200);
/// When the broker is back, others may be as late as this.
const RETURNING: Duration = Duration::from_secs(2);
/// What another monitor says to have sent does not take longer to come.
const COMING: Duration = Duration::from_secs(2);

impl Nats {
    /// Says that everyone here is there, and looks who else is.
    pub(super) async fn beat(self: Arc<Self>, client: Client) {
        while self.receiver.strong_count() > 0 {
            for role in &self.plan.census.own {
                let subject = self.plan.beats(&self.plan.role(*role));
                let payload = self.seal.seal(&subject, &self.own_beat(*role).write());
                // What cannot be sent now is out of date when it can.
                let _ = tokio::time::timeout(BEATING, client.publish(subject, payload)).await;
            }
            for _ in 0..LOOKS {
                let news = tokio::time::timeout(BEATING / LOOKS, self.news.notified()).await.is_ok();
                let looks = self.plan.census.elsewhere.iter().map(|role| self.look_for(&client, *role));
                futures_util::future::join_all(looks).await;
                if news {
                    break;
                }
            }
        }
    }

    /// Looks whether the monitor of `role` is there.
    async fn look_for(&self, client: &Client, role: Role) {
        if self.is_overdue(role) && self.has_ended(client, role).await {
            let mut known = lock(&self.elsewhere[role.index()]);
            if !known.survives {
                known.lost = true;
                drop(known);
                self.with_receiver(|receiver| receiver.lost(role, "its process has ended"));
            } else if !std::mem::replace(&mut known.quiet, true) {
                let peer = self.plan.census.name(role);
                tracing::warn!(peer, "the process of another monitor has ended: sessions wait for it");
            }
        }
    }

    /// Whether the broker is to be asked for the monitor of `role`. One that is silent for too long is given up.
    fn is_overdue(&self, role: Role) -> bool {
        let mut known = lock(&self.elsewhere[role.index()]);
        if known.lost {
            return false;
        }
        let Some(silence) = known.heard.map(|heard| heard.elapsed()) else {
            let waited = self.started.elapsed();
            let peer = self.plan.census.name(role);
            if waited > UNHEARD && !std::mem::replace(&mut known.quiet, true) {
                tracing::warn!(peer, "nothing has been heard yet of another monitor");
            }
            if waited > self.plan.census.handshake {
                known.lost = true;
                drop(known);
                if self.diary.is_none() {
                    // Who was never there need not hear of sessions that never began.
                    let lines = self.lines.iter().filter(|line| line.to == role);
                    lines.for_each(|line| lock(&line.outbox).forget());
                }
                self.with_receiver(|receiver| receiver.lost(role, "nothing has been heard of it yet"));
            }
            return false;
        };
        if silence > self.plan.census.patience {
            known.lost = true;
            drop(known);
            let reachable = self.connected.load(Ordering::Relaxed);
            let why = if reachable { "nothing is heard of it" } else { "the broker is out of reach" };
            self.with_receiver(|receiver| receiver.lost(role, why));
            return false;
        }
        if silence > UNHEARD && !std::mem::replace(&mut known.quiet, true) {
            let peer = self.plan.census.name(role);
            tracing::warn!(peer, "nothing is heard of another monitor: sessions wait for it");
        }
        silence > OVERDUE
    }

    /// Whether the broker says, twice, that the monitor of `role` is not connected. Then its process is gone, and nothing more is
    /// to be waited for than its start.
    async fn has_ended(&self, client: &Client, role: Role) -> bool {
        for pause in [Duration::ZERO, ASKING] {
            tokio::time::sleep(pause).await;
            let since = *lock(&self.since);
            let asked = {
                let known = lock(&self.elsewhere[role.index()]);
                let Some((instance, heard)) = known.instance.zip(known.heard) else { return false };
                let returning = heard < since && since.elapsed() < RETURNING;
                if heard.elapsed() <= OVERDUE || returning || known.lost || (known.survives && known.quiet) {
                    return false;
                }
                client.request(self.plan.here(role, instance), Bytes::new())
            };
            match tokio::time::timeout(ASKING, asked).await {
                Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {}
                _ => return false,
            }
        }
        true
    }

    fn own_beat(&self, role: Role) -> Beat {
        let standings = self.plan.census.elsewhere.iter().filter_map(|peer| {
            let line = self.lines.iter().find(|line| line.from == role && line.to == *peer);
            let sent = line.map_or(0, |line| lock(&line.outbox).sent());
            let known = lock(&self.elsewhere[peer.index()]);
            let expected = known.inboxes[role.index()].whole;
            Some(Standing { role: peer.0, process: known.instance?, expected, sent })
        });
        Beat {
            instance: self.instance,
            codec: self.plan.census.codecs[role.index()].clone().unwrap_or_default(),
            limits: self.plan.census.limits,
            survives: self.diary.is_some(),
            standings: standings.collect(),
        }
    }

    pub(super) fn hear_beat(&self, subject: &str, sealed: &Bytes) {
        let role = subject.rsplit('.').next().and_then(|part| self.plan.find(part));
        let beat = self.seal.open(subject, sealed).and_then(|body| Beat::read(&body));
        let (Some(role), Some(beat)) = (role, beat) else {
            return self.stranger(subject);
        };
        if beat.instance == self.instance || !self.meet(role, &beat) {
            return;
        }
        for line in self.lines.iter().filter(|line| line.to == role) {
            let here =
                |standing: &&Standing| standing.role == line.from.0 && standing.process == self.instance;
            for standing in beat.standings.iter().filter(here) {
                let known = lock(&line.outbox).acknowledged(standing.expected);
                if known.is_err() {
                    self.out_of_date(line, standing.expected);
                } else if let Some(diary) = &self.diary {
                    diary.acknowledged((line.from.0, line.to.0), standing.expected);
                }
                self.compare(role, line.from, standing.sent);
            }
        }
    }

    /// The monitor of `from` has sent everything before part `sent` to `to`. If that does not come, the stream is read anew:
    /// a reader may be deaf without anybody noticing.
    fn compare(&self, from: Role, to: Role, sent: u64) {
        let mut known = lock(&self.elsewhere[from.index()]);
        let expected = known.inboxes[to.index()].inbox.expected();
        let behind = &mut known.behind[to.index()];
        match behind {
            _ if expected >= sent => *behind = None,
            Some((since, then)) if *then == expected => {
                if since.elapsed() >= COMING {
                    *behind = None;
                    tracing::debug!(peer = self.plan.census.name(from), "what was sent does not come");
                    self.connections.send_modify(|count| *count += 1);
                }
            }
            _ => *behind = Some((Instant::now(), expected)),
        }
    }

    /// The other end of `line` has taken what was never sent, as far as is known here: what is remembered here is older
    /// than what happened, so no session that both are part of can go on.
    fn out_of_date(&self, line: &Line, expected: u64) {
        lock(&line.outbox).skip_to(expected);
        if let Some(diary) = &self.diary {
            diary.note(Change::First { link: (line.from.0, line.to.0), number: expected });
        }
        let peer = self.plan.census.name(line.to);
        tracing::error!(peer, "another monitor has letters from here that are not remembered here");
        self.with_receiver(|receiver| {
            receiver.lost(line.to, "it has letters that are not remembered here");
            receiver.found(line.to);
        });
    }

    /// Whether the monitor of `role` is who says `beat`. If it was another process before, everything that was known of
    /// that one is forgotten.
    fn meet(&self, role: Role, beat: &Beat) -> bool {
        let census = &self.plan.census;
        let mut known = lock(&self.elsewhere[role.index()]);
        let other = known.instance.is_some_and(|instance| instance != beat.instance);
        let alive = !known.lost && known.heard.is_some_and(|heard| heard.elapsed() < SUCCESSION);
        let problem = if census.own.contains(&role) || (other && alive) {
            Some(format!("there is another monitor of `{}`", census.name(role)))
        } else {
            census.own.iter().find_map(|own| census.understand(role, &beat.codec, beat.limits, *own).err())
        };
        if let Some(problem) = problem {
            if !std::mem::replace(&mut known.complained, true) {
                tracing::warn!(peer = census.name(role), "a monitor is not heard: {problem}");
            }
            return false;
        }
        let before = known.instance.replace(beat.instance);
        known.heard = Some(Instant::now());
        known.survives = beat.survives;
        let returned = std::mem::replace(&mut known.lost, false);
        if std::mem::replace(&mut known.quiet, false) {
            tracing::info!(peer = census.name(role), "another monitor is heard again");
        }
        if before == Some(beat.instance) {
            drop(known);
            if returned {
                self.with_receiver(|receiver| receiver.found(role));
            }
            return true;
        }
        known.inboxes.fill(Incoming::default());
        known.complained = false;
        if let Some(diary) = &self.diary {
            diary.note(Change::Met { peer: role.0, instance: beat.instance });
        }
        if before.is_some() {
            // Under the lock: nothing that was meant for the old process is given to the new one.
            for line in self.lines.iter().filter(|line| line.to == role) {
                lock(&line.outbox).forget();
            }
        }
        drop(known);
        if before.is_some() {
            tracing::warn!(peer = census.name(role), "another monitor was started anew");
            self.with_receiver(|receiver| receiver.lost(role, "it was started anew"));
        } else {
            tracing::info!(peer = census.name(role), "the other monitor is there");
        }
        self.with_receiver(|receiver| receiver.found(role));
        if let Some(diary) = &self.diary {
            diary.commit();
        }
        for line in self.lines.iter().filter(|line| line.to == role) {
            line.more.notify_one();
        }
        self.news.notify_one();
        true
    }
}
