//! Processes are killed at any step and go on from their state logs: sessions end as if nothing had happened.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::body::Bytes;

use super::super::{SessionAction, SessionTable};
use super::{ROLES, Wired, id, payload};
use crate::multiparty::peer_message::SessionId;
use crate::multiparty::state_log::StateLog;
use crate::multiparty::state_log::tests::Folder;

/// What a component knows of its session.
#[derive(Default)]
struct Component {
    sent: u64,
    received: u64,
    /// Received and not used yet.
    unread: Vec<Bytes>,
}

struct Killed {
    wired: Wired,
    components: BTreeMap<(usize, SessionId), Component>,
    folder: Folder,
    kills: usize,
    repeats: usize,
}

impl Killed {
    fn new(limits: &str, seed: u64) -> Self {
        let limits = format!("transport = \"nats\"\nstate = \"state\"\n{limits}");
        let mut wired = Wired::with_roles(&limits, "resume = true", seed);
        let folder = Folder::new();
        wired.state_logs = ROLES.map(|role| StateLog::open(&folder.0, role, false).unwrap()).into();
        Self { wired, components: BTreeMap::new(), folder, kills: 0, repeats: 0 }
    }

    /// The process of a role is killed: its session table is gone, and any part of what was written to components arrives.
    fn kill(&mut self, at: usize) {
        self.kills += 1;
        let plan = Arc::clone(&self.wired.tables[at].plan);
        self.wired.tables[at] = SessionTable::new(plan);
        let reopened = {
            // The lock goes with the process.
            let other = StateLog::open(&self.folder.0, "nobody", false).unwrap();
            drop(std::mem::replace(&mut self.wired.state_logs[at], other));
            StateLog::open(&self.folder.0, ROLES[at], false).unwrap()
        };
        let sessions = reopened.read(|snapshot| snapshot.sessions.clone());
        self.wired.state_logs[at] = reopened;
        let lost: Vec<_> = self.wired.given.keys().filter(|endpoint| endpoint.0 == at).copied().collect();
        for endpoint in lost {
            let given = self.wired.given.remove(&endpoint).unwrap();
            let incoming = self.wired.random(given.len() + 1);
            let component = self.components.entry(endpoint).or_default();
            component.received += incoming as u64;
            component.unread.extend(given.into_iter().take(incoming));
        }
        for ((_, id), kept) in sessions {
            self.wired.act(at, |table, now, out| {
                assert!(table.restore(id, &kept.session, kept.given, now, out));
            });
            if self.wired.tables[at].awaits(id).is_some() {
                self.wired.away.insert((at, id));
            }
        }
    }

    /// A component that is away comes back.
    fn resume(&mut self, at: usize, id: SessionId) {
        if !self.wired.away.remove(&(at, id)) {
            return;
        }
        let component = self.components.entry((at, id)).or_default();
        let (sent, received) = (component.sent, component.received);
        assert_eq!(self.wired.tables[at].awaits(id), Some(sent), "what it sent was taken exactly once");
        self.wired.act(at, |table, now, out| table.resume(id, Some(received), now, out).unwrap());
        self.repeats += self.wired.given.get(&(at, id)).map_or(0, Vec::len);
    }

    /// What the component has received and not used.
    fn read(&mut self, at: usize, id: SessionId) -> Vec<Bytes> {
        let new =
            if self.wired.given.contains_key(&(at, id)) { self.wired.given(at, id) } else { Vec::new() };
        let component = self.components.entry((at, id)).or_default();
        component.received += new.len() as u64;
        component.unread.extend(new);
        std::mem::take(&mut component.unread)
    }

    fn has(&self, at: usize, id: SessionId) -> bool {
        let unread = self.components.get(&(at, id)).is_some_and(|component| !component.unread.is_empty());
        unread || self.wired.given.contains_key(&(at, id))
    }

    fn offer(&mut self, at: usize, id: SessionId, label: &str, value: Option<i64>) -> bool {
        let taken = !self.wired.away.contains(&(at, id)) && self.wired.offer(at, id, payload(label, value));
        self.components.entry((at, id)).or_default().sent += u64::from(taken);
        taken
    }
}

#[test]
fn sessions_survive_kills_at_any_step() {
    let (mut kills, mut repeats) = (0, 0);
    for seed in 0..40 {
        let mut network = Killed::new(if seed % 2 == 0 { "" } else { "limits.window = 2" }, seed);
        let sessions: Vec<SessionId> = (0..3).map(|number| id(number + 1)).collect();
        sessions.iter().for_each(|id| network.wired.begin(*id));
        let mut loops = vec![3; sessions.len()];
        let mut waits = vec![false; sessions.len()];
        // What a component still has to say.
        let mut replies: BTreeMap<(usize, SessionId), usize> = BTreeMap::new();
        for _ in 0..2500 {
            let which = network.wired.random(sessions.len());
            let id = sessions[which];
            match network.wired.random(7) {
                0 if !waits[which] => {
                    let (label, value) = if loops[which] > 0 { ("login", Some(1)) } else { ("quit", None) };
                    waits[which] = network.offer(0, id, label, value);
                    loops[which] -= i32::from(waits[which]);
                }
                at @ (1 | 2) => {
                    let last_seen = network.read(at, id).iter().filter(|bytes| *bytes != "quit").count();
                    let due = replies.entry((at, id)).or_default();
                    *due += last_seen;
                    if *due > 0 {
                        let (label, value) = if at == 1 { ("pwd", 2) } else { ("succ", 3) };
                        *due -= usize::from(network.offer(at, id, label, Some(value)));
                    }
                }
                3 if network.has(0, id) => {
                    network.read(0, id);
                    waits[which] = false;
                }
                4 if network.wired.random(10) == 0 => {
                    let at = network.wired.random(3);
                    network.kill(at);
                }
                5 => {
                    let at = network.wired.random(3);
                    network.resume(at, id);
                }
                _ => {
                    network.wired.deliver_one();
                }
            }
        }
        network.wired.settle();
        for id in &sessions {
            for at in 0..3 {
                network.resume(at, *id);
                network.read(at, *id);
                network.wired.act(at, |table, now, out| table.component_gone(*id, now, out));
            }
        }
        network.wired.settle();
        assert!(network.wired.notices.is_empty(), "seed {seed}: {:?}", network.wired.notices);
        let over = network.wired.ended.iter().filter(|(.., why)| *why == "over").count();
        assert_eq!(over, 9, "seed {seed}: {:?}", network.wired.ended);
        assert!(loops.iter().all(|left| *left < 0), "seed {seed}: not all loops were run: {loops:?}");
        assert!(
            network
                .wired
                .state_logs
                .iter()
                .all(|state_log| state_log.read(|snapshot| snapshot.sessions.is_empty()))
        );
        kills += network.kills;
        repeats += network.repeats;
    }
    assert!(kills > 500 && repeats > 50, "{kills} kills, {repeats} messages given again");
}

/// However much of what was given had arrived, room for messages is neither lost nor gained.
#[test]
fn what_is_given_again_makes_no_room() {
    for received in 0..=5 {
        let mut network = Killed::new("", 1);
        network.wired.begin(id(1));
        let table = &mut network.wired.tables[0];
        let (plan, now, mut out) = (Arc::clone(&table.plan), network.wired.now, Vec::new());
        (0..5).for_each(|_| table.sessions.get_mut(&id(1)).unwrap().give(&"x".into(), &plan));
        table.delivered(id(1), (3, 0), now, &mut out);
        table.sessions.get_mut(&id(1)).unwrap().away = Some(now);
        table.resume(id(1), Some(received), now, &mut out).unwrap();
        let again = out.iter().filter(|action| matches!(action, SessionAction::Redeliver(..))).count();
        assert_eq!(again as u64, 5 - received);
        table.delivered(id(1), (u32::try_from(again).unwrap(), 0), now, &mut out);
        let session = &table.sessions[&id(1)];
        assert_eq!(
            (session.owed, session.undelivered, session.repeated),
            (5, 0, 0),
            "{received} had arrived"
        );
    }
}

#[test]
fn who_comes_back_is_checked() {
    let mut network = Killed::new("limits.window = 2", 1);
    network.wired.begin(id(1));
    let table = &mut network.wired.tables[0];
    let (plan, now, mut out) = (Arc::clone(&table.plan), network.wired.now, Vec::new());
    (0..5).for_each(|_| table.sessions.get_mut(&id(1)).unwrap().give(&"x".into(), &plan));
    table.delivered(id(1), (5, 0), now, &mut out);
    table.sessions.get_mut(&id(1)).unwrap().give(&"y".into(), &plan);
    assert_eq!(table.resume(id(1), Some(5), now, &mut out), Err("the component is here already"));
    table.sessions.get_mut(&id(1)).unwrap().away = Some(now);
    assert_eq!(table.resume(id(2), Some(5), now, &mut out), Err("there is no such session"));
    assert_eq!(
        table.resume(id(1), Some(7), now, &mut out),
        Err("it says that it was given more than it was")
    );
    assert_eq!(
        table.resume(id(1), Some(2), now, &mut out),
        Err("what it did not receive is not kept any more")
    );
    assert_eq!(table.resume(id(1), Some(4), now, &mut out), Ok(()));
}
