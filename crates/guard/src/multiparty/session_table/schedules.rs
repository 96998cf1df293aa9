//! Session tables of three roles in threads that Shuttle schedules at random: as in an runtime, each session table behind a lock, and
//! around it those who read from components, write to them, carry peer messages, look for late sessions and look on.
//!
//! Whoever is told to come back later sleeps until it is woken. If a wake were missing in some order of events,
//! everyone would sleep in the end, which Shuttle calls a deadlock.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use referee_monitor::FieldValue;
use shuttle::sync::mpsc::{Receiver, Sender, channel};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use super::super::peer_message::{PeerMessage, SessionId};
use super::super::plan::{MultipartyPlan, RolePlan};
use super::{SessionAction, SessionTable};
use crate::config::Config;
use crate::plan::PlanReader;
use referee_session::Offer;
use referee_session::role::payload::{Payload, write_fields};

const ROLES: [&str; 3] = ["s", "c", "a"];

/// In turns: whoever sends waits for what comes of it.
const AUTH: &str = "protocol Auth(role s, role c, role a) { rec X { choice at s { m(n: int) from s to c; p(n: int) from c to a; r(n: int) from a to s; continue X; } or { quit() from s to c; } } }";
/// Without: whoever sends goes on sending.
const FLOOD: &str = "protocol Flood(role s, role c, role a) { rec X { choice at s { m(n: int) from s to c; p(n: int) from c to a; continue X; } or { quit() from s to c; } } }";

fn plans(protocol: &str, limits: &str) -> Vec<Arc<RolePlan>> {
    let mut text = format!("[multiparty]\nprotocol = '''{protocol}\n'''\nlimits = {{ {limits} }}\n");
    for role in ROLES {
        text += &format!(
            "[[multiparty.role]]\nname = \"{role}\"\nlisten = \"127.0.0.1:0\"\ncodec.kind = \"json\"\n"
        );
    }
    let config = Config::read(&text, &|_| None).unwrap();
    let mut reader = PlanReader::new(Path::new("."));
    let table = config.multiparty.unwrap();
    let plan = MultipartyPlan::make(table.get_ref(), &mut reader);
    plan.unwrap_or_else(|| panic!("{:?}", reader.refusal.problems)).roles
}

/// What waits for one component, as in an queue.
#[derive(Default)]
struct Waiting {
    items: VecDeque<Bytes>,
    woken: bool,
    over: bool,
}

#[derive(Default)]
struct ComponentQueue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl ComponentQueue {
    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.waiting.lock().unwrap());
        self.changed.notify_all();
    }

    /// Sleeps until `look` finds something.
    fn await_change<T>(&self, look: impl Fn(&mut Waiting) -> Option<T>) -> T {
        let mut waiting = self.waiting.lock().unwrap();
        loop {
            match look(&mut waiting) {
                Some(found) => return found,
                None => waiting = self.changed.wait(waiting).unwrap(),
            }
        }
    }
}

/// One role here.
struct RoleState {
    table: SessionTable,
    queues: HashMap<SessionId, Arc<ComponentQueue>>,
    ended: Vec<&'static str>,
}

struct Network {
    slots: Vec<Mutex<RoleState>>,
    /// By sender and receiver; `None` is the last.
    links: Vec<Vec<Sender<Option<Bytes>>>>,
    /// Components that were started.
    components: Mutex<Vec<thread::JoinHandle<()>>>,
    loops: i64,
    /// Whether wakes are lost, to see that it matters.
    unreachable: bool,
}

impl Network {
    /// Lets something happen at a role, and does what follows from it.
    fn with<T>(
        self: &Arc<Self>,
        at: usize,
        act: impl FnOnce(&mut SessionTable, Duration, &mut Vec<SessionAction>) -> T,
    ) -> T {
        let (answer, sessions) = self.alone(at, act);
        for id in sessions {
            self.session(at, id, &|table, now, out| table.component_found(id, None, now, out));
        }
        answer
    }

    /// The same, without finding components for sessions: which need one is the answer.
    fn alone<T>(
        &self,
        at: usize,
        act: impl FnOnce(&mut SessionTable, Duration, &mut Vec<SessionAction>) -> T,
    ) -> (T, Vec<SessionId>) {
        let mut actions = Vec::new();
        let mut sessions = Vec::new();
        let mut slot = self.slots[at].lock().unwrap();
        let answer = act(&mut slot.table, Duration::ZERO, &mut actions);
        for action in actions {
            match action {
                SessionAction::Send(to, message) => {
                    self.links[at][to.index()].send(Some(message.write())).unwrap();
                }
                SessionAction::FindComponent(id) => sessions.push(id),
                SessionAction::Deliver(id, _, bytes) => {
                    slot.queues[&id].change(|waiting| waiting.items.push_back(bytes))
                }
                SessionAction::Wake(id) if !self.unreachable => {
                    if let Some(queue) = slot.queues.get(&id) {
                        queue.change(|waiting| waiting.woken = true);
                    }
                }
                SessionAction::Ended(id, end) => {
                    slot.ended.push(end.why.name());
                    if let Some(queue) = slot.queues.remove(&id) {
                        queue.change(|waiting| (waiting.over, waiting.woken) = (true, true));
                    }
                }
                SessionAction::HalfClose(id) => slot.queues[&id].change(|waiting| waiting.over = true),
                SessionAction::Report(_, found) => panic!("everyone is right: {}", found.notice),
                SessionAction::Redeliver(..) => panic!("nobody was away"),
                SessionAction::Wake(_) => {}
            }
        }
        (answer, sessions)
    }

    /// The component of session `id`, which takes part as `join` says, and who writes to it.
    fn session(
        self: &Arc<Self>,
        at: usize,
        id: SessionId,
        join: &dyn Fn(&mut SessionTable, Duration, &mut Vec<SessionAction>),
    ) {
        let queue = Arc::new(ComponentQueue::default());
        self.slots[at].lock().unwrap().queues.insert(id, Arc::clone(&queue));
        self.alone(at, join);
        let (into, dedup) = channel();
        let writer = {
            let (network, queue) = (Arc::clone(self), Arc::clone(&queue));
            thread::spawn(move || {
                while let Some(bytes) = queue.await_change(|waiting| match waiting.items.pop_front() {
                    Some(bytes) => Some(Some(bytes)),
                    None => waiting.over.then_some(None),
                }) {
                    let _ = into.send(String::from_utf8(bytes.to_vec()).unwrap());
                    network.with(at, |table, now, out| table.delivered(id, (1, 0), now, out));
                }
            })
        };
        let reader = {
            let network = Arc::clone(self);
            thread::spawn(move || {
                network.play(at, id, &queue, &dedup);
                network.with(at, |table, now, out| table.component_gone(id, now, out));
            })
        };
        self.components.lock().unwrap().extend([writer, reader]);
    }

    /// What a component does, which need not know how often it is asked.
    fn play(self: &Arc<Self>, at: usize, id: SessionId, queue: &ComponentQueue, dedup: &Receiver<String>) {
        let say = |label: &str, value: Option<i64>| self.say(at, id, queue, label, value);
        match ROLES[at] {
            "s" => {
                for n in 0..self.loops {
                    say("m", Some(n));
                    if self.answers() {
                        assert_eq!(dedup.recv().unwrap(), format!("r {n}"));
                    }
                }
                say("quit", None);
            }
            "c" => {
                for n in 0..self.loops {
                    assert_eq!(dedup.recv().unwrap(), format!("m {n}"));
                    say("p", Some(n));
                }
                assert_eq!(dedup.recv().unwrap(), "quit");
            }
            _ => {
                for n in 0..self.loops {
                    assert_eq!(dedup.recv().unwrap(), format!("p {n}"));
                    if self.answers() {
                        say("r", Some(n));
                    }
                }
            }
        }
        // Until it is told that nothing more comes.
        assert!(dedup.recv().is_err());
    }

    fn answers(&self) -> bool {
        self.slots[0].lock().unwrap().table.plan.engine.vocabulary().find_label("r").is_some()
    }

    /// Offers a message until it is taken.
    fn say(
        self: &Arc<Self>,
        at: usize,
        id: SessionId,
        queue: &ComponentQueue,
        label: &str,
        value: Option<i64>,
    ) {
        let values: Vec<FieldValue<'_>> = value.into_iter().map(FieldValue::Int).collect();
        let bytes = value.map_or_else(|| label.to_owned(), |value| format!("{label} {value}"));
        let mut payload =
            Payload { label: Ok(label.into()), fields: write_fields(&values), bytes: bytes.into() };
        loop {
            match self.with(at, |table, now, out| table.offer(id, 0, payload, now, out)) {
                Offer::Taken => return,
                Offer::Later(again) => payload = again,
                Offer::Over => panic!("over before {label}"),
            }
            queue.await_change(|waiting| std::mem::take(&mut waiting.woken).then_some(()));
        }
    }
}

/// One network from beginning to end.
fn network(plans: &[Arc<RolePlan>], sessions: u128, loops: i64, unreachable: bool) {
    let (mut links, mut ends) = (Vec::new(), Vec::new());
    for from in 0..ROLES.len() {
        let (senders, receivers): (Vec<_>, Vec<_>) = ROLES.iter().map(|_| channel()).unzip();
        ends.extend(receivers.into_iter().enumerate().map(|(to, receiver)| (from, to, receiver)));
        links.push(senders);
    }
    let slot = |plan: &Arc<RolePlan>| {
        Mutex::new(RoleState {
            table: SessionTable::new(Arc::clone(plan)),
            queues: HashMap::new(),
            ended: Vec::new(),
        })
    };
    let slots = plans.iter().map(slot).collect();
    let network = Arc::new(Network { slots, links, components: Mutex::new(Vec::new()), loops, unreachable });
    let mut carriers = Vec::new();
    for (from, to, messages) in ends {
        let (network, role) = (Arc::clone(&network), plans[from].engine.role());
        carriers.push(thread::spawn(move || {
            while let Ok(Some(message)) = messages.recv() {
                let message = PeerMessage::read(&message).unwrap();
                network.with(to, |table, now, out| table.peer_message(role, message, now, out));
            }
        }));
    }
    let onlooker = {
        let network = Arc::clone(&network);
        thread::spawn(move || {
            for at in 0..ROLES.len() {
                network.slots[at].lock().unwrap().table.describe(10, Duration::ZERO);
                network.with(at, |table, now, out| table.tick(now, out));
            }
        })
    };
    for number in 0..sessions {
        let id = SessionId(number);
        network.session(0, id, &|table, now, out| table.begin(id, None, None, now, out).unwrap());
    }
    // Those of the others are started by the peer messages.
    let all = usize::try_from(sessions).unwrap() * ROLES.len() * 2;
    let mut ended = 0;
    while ended < all {
        let started = std::mem::take(&mut *network.components.lock().unwrap());
        if started.is_empty() {
            thread::yield_now();
        }
        ended += started.len();
        started.into_iter().for_each(|component| component.join().unwrap());
    }
    for link in network.links.iter().flatten() {
        link.send(None).unwrap();
    }
    carriers.into_iter().for_each(|transport| transport.join().unwrap());
    onlooker.join().unwrap();
    for slot in &network.slots {
        let slot = slot.lock().unwrap();
        assert_eq!(slot.ended, vec!["over"; usize::try_from(sessions).unwrap()]);
        assert_eq!((slot.table.len(), slot.queues.len()), (0, 0));
    }
}

/// The narrowest windows are where most has to wait.
const LIMITS: [&str; 3] = ["window = 1", "window = 2", "window = 8, buffer = \"16B\""];

#[test]
fn nobody_sleeps_for_ever() {
    for protocol in [AUTH, FLOOD] {
        for limits in LIMITS {
            let plans = plans(protocol, limits);
            let again = plans.clone();
            shuttle::check_random(move || network(&plans, 2, 3, false), 400);
            shuttle::check_pct(move || network(&again, 1, 4, false), 400, 3);
        }
    }
}

#[test]
#[should_panic(expected = "deadlock")]
fn without_wakes_somebody_does() {
    let plans = plans(FLOOD, LIMITS[0]);
    shuttle::check_random(move || network(&plans, 1, 4, true), 60);
}
