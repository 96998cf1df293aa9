//! Rosters of three roles in threads that Shuttle schedules at random: as in an office, each roster behind a lock, and
//! around it those who read from components, write to them, carry letters, look for late sessions and look on.
//!
//! Whoever is told to come back later sleeps until it is woken. If a wake were missing in some order of events,
//! everyone would sleep in the end, which Shuttle calls a deadlock.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::Bytes;
use referee_monitor::FieldValue;
use shuttle::sync::mpsc::{Receiver, Sender, channel};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use super::super::letter::{Letter, SessionId};
use super::super::parcel::{Parcel, write_fields};
use super::super::plan::{Findings, MultipartyPlan, RolePlan};
use super::{Offer, Order, Roster};
use crate::config::Config;

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
    let mut findings = Findings::default();
    let table = config.multiparty.unwrap();
    let plan = MultipartyPlan::make(table.get_ref(), Path::new("."), &mut findings);
    plan.unwrap_or_else(|| panic!("{:?}", findings.problems)).roles
}

/// What waits for one component, as in an outlet.
#[derive(Default)]
struct Waiting {
    items: VecDeque<Bytes>,
    woken: bool,
    over: bool,
}

#[derive(Default)]
struct Outlet {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Outlet {
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
struct Desk {
    roster: Roster,
    outlets: HashMap<SessionId, Arc<Outlet>>,
    ended: Vec<&'static str>,
}

struct Network {
    desks: Vec<Mutex<Desk>>,
    /// By sender and receiver; `None` is the last.
    lines: Vec<Vec<Sender<Option<Bytes>>>>,
    /// Components that were started.
    components: Mutex<Vec<thread::JoinHandle<()>>>,
    loops: i64,
    /// Whether wakes are lost, to see that it matters.
    deaf: bool,
}

impl Network {
    /// Lets something happen at a role, and does what follows from it.
    fn with<T>(
        self: &Arc<Self>,
        at: usize,
        act: impl FnOnce(&mut Roster, Instant, &mut Vec<Order>) -> T,
    ) -> T {
        let (answer, seats) = self.alone(at, act);
        for id in seats {
            self.seat(at, id, &|roster, now, out| roster.seated(id, None, now, out));
        }
        answer
    }

    /// The same, without finding components for sessions: which need one is the answer.
    fn alone<T>(
        &self,
        at: usize,
        act: impl FnOnce(&mut Roster, Instant, &mut Vec<Order>) -> T,
    ) -> (T, Vec<SessionId>) {
        let mut orders = Vec::new();
        let mut seats = Vec::new();
        let mut desk = self.desks[at].lock().unwrap();
        let answer = act(&mut desk.roster, Instant::now(), &mut orders);
        for order in orders {
            match order {
                Order::Letter(to, letter) => {
                    self.lines[at][to.index()].send(Some(letter.write())).unwrap();
                }
                Order::Seat(id) => seats.push(id),
                Order::Deliver(id, bytes) => {
                    desk.outlets[&id].change(|waiting| waiting.items.push_back(bytes))
                }
                Order::Wake(id) if !self.deaf => {
                    if let Some(outlet) = desk.outlets.get(&id) {
                        outlet.change(|waiting| waiting.woken = true);
                    }
                }
                Order::Ended(id, end) => {
                    desk.ended.push(end.why);
                    if let Some(outlet) = desk.outlets.remove(&id) {
                        outlet.change(|waiting| (waiting.over, waiting.woken) = (true, true));
                    }
                }
                Order::Over(id) => desk.outlets[&id].change(|waiting| waiting.over = true),
                Order::Notice(_, _, notice, _) => panic!("everyone is right: {notice}"),
                Order::Again(..) => panic!("nobody was away"),
                Order::Wake(_) => {}
            }
        }
        (answer, seats)
    }

    /// The component of session `id`, which takes part as `join` says, and who writes to it.
    fn seat(
        self: &Arc<Self>,
        at: usize,
        id: SessionId,
        join: &dyn Fn(&mut Roster, Instant, &mut Vec<Order>),
    ) {
        let outlet = Arc::new(Outlet::default());
        self.desks[at].lock().unwrap().outlets.insert(id, Arc::clone(&outlet));
        self.alone(at, join);
        let (into, inbox) = channel();
        let writer = {
            let (network, outlet) = (Arc::clone(self), Arc::clone(&outlet));
            thread::spawn(move || {
                while let Some(bytes) = outlet.await_change(|waiting| match waiting.items.pop_front() {
                    Some(bytes) => Some(Some(bytes)),
                    None => waiting.over.then_some(None),
                }) {
                    let _ = into.send(String::from_utf8(bytes.to_vec()).unwrap());
                    network.with(at, |roster, now, out| roster.delivered(id, (1, 0), now, out));
                }
            })
        };
        let reader = {
            let network = Arc::clone(self);
            thread::spawn(move || {
                network.play(at, id, &outlet, &inbox);
                network.with(at, |roster, now, out| roster.component_gone(id, now, out));
            })
        };
        self.components.lock().unwrap().extend([writer, reader]);
    }

    /// What a component does, which need not know how often it is asked.
    fn play(self: &Arc<Self>, at: usize, id: SessionId, outlet: &Outlet, inbox: &Receiver<String>) {
        let say = |label: &str, value: Option<i64>| self.say(at, id, outlet, label, value);
        match ROLES[at] {
            "s" => {
                for n in 0..self.loops {
                    say("m", Some(n));
                    if self.answers() {
                        assert_eq!(inbox.recv().unwrap(), format!("r {n}"));
                    }
                }
                say("quit", None);
            }
            "c" => {
                for n in 0..self.loops {
                    assert_eq!(inbox.recv().unwrap(), format!("m {n}"));
                    say("p", Some(n));
                }
                assert_eq!(inbox.recv().unwrap(), "quit");
            }
            _ => {
                for n in 0..self.loops {
                    assert_eq!(inbox.recv().unwrap(), format!("p {n}"));
                    if self.answers() {
                        say("r", Some(n));
                    }
                }
            }
        }
        // Until it is told that nothing more comes.
        assert!(inbox.recv().is_err());
    }

    fn answers(&self) -> bool {
        self.desks[0].lock().unwrap().roster.plan.engine.vocabulary().find_label("r").is_some()
    }

    /// Offers a message until it is taken.
    fn say(self: &Arc<Self>, at: usize, id: SessionId, outlet: &Outlet, label: &str, value: Option<i64>) {
        let values: Vec<FieldValue<'_>> = value.into_iter().map(FieldValue::Int).collect();
        let bytes = value.map_or_else(|| label.to_owned(), |value| format!("{label} {value}"));
        let mut parcel =
            Parcel { label: Ok(label.into()), fields: write_fields(&values), bytes: bytes.into() };
        loop {
            match self.with(at, |roster, now, out| roster.offer(id, parcel, now, out)) {
                Offer::Taken => return,
                Offer::Later(again) => parcel = again,
                Offer::Over => panic!("over before {label}"),
            }
            outlet.await_change(|waiting| std::mem::take(&mut waiting.woken).then_some(()));
        }
    }
}

/// One network from beginning to end.
fn network(plans: &[Arc<RolePlan>], sessions: u128, loops: i64, deaf: bool) {
    let (mut lines, mut ends) = (Vec::new(), Vec::new());
    for from in 0..ROLES.len() {
        let (senders, receivers): (Vec<_>, Vec<_>) = ROLES.iter().map(|_| channel()).unzip();
        ends.extend(receivers.into_iter().enumerate().map(|(to, receiver)| (from, to, receiver)));
        lines.push(senders);
    }
    let desk = |plan: &Arc<RolePlan>| {
        Mutex::new(Desk { roster: Roster::new(Arc::clone(plan)), outlets: HashMap::new(), ended: Vec::new() })
    };
    let desks = plans.iter().map(desk).collect();
    let network = Arc::new(Network { desks, lines, components: Mutex::new(Vec::new()), loops, deaf });
    let mut carriers = Vec::new();
    for (from, to, letters) in ends {
        let (network, role) = (Arc::clone(&network), plans[from].engine.role());
        carriers.push(thread::spawn(move || {
            while let Ok(Some(letter)) = letters.recv() {
                let letter = Letter::read(&letter).unwrap();
                network.with(to, |roster, now, out| roster.letter(role, letter, now, out));
            }
        }));
    }
    let onlooker = {
        let network = Arc::clone(&network);
        thread::spawn(move || {
            for at in 0..ROLES.len() {
                network.desks[at].lock().unwrap().roster.describe(10, Instant::now());
                network.with(at, |roster, now, out| roster.tick(now, out));
            }
        })
    };
    for number in 0..sessions {
        let id = SessionId(number);
        network.seat(0, id, &|roster, now, out| roster.begin(id, None, now, out).unwrap());
    }
    // Those of the others are started by the letters.
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
    for line in network.lines.iter().flatten() {
        line.send(None).unwrap();
    }
    carriers.into_iter().for_each(|carrier| carrier.join().unwrap());
    onlooker.join().unwrap();
    for desk in &network.desks {
        let desk = desk.lock().unwrap();
        assert_eq!(desk.ended, vec!["over"; usize::try_from(sessions).unwrap()]);
        assert_eq!((desk.roster.len(), desk.outlets.len()), (0, 0));
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
