//! Session tables of three roles joined in one process, peer messages delivered in every order that keeps each pair's own.

mod crashes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use referee_monitor::FieldValue;
use referee_theory::Role;

use super::super::peer_message::{MessageKind, PeerMessage, SessionId};
use super::super::plan::MultipartyPlan;
use super::super::role_session::Phase;
use super::super::state_log::{Change, StateLog};
use super::{SessionAction, SessionTable};
use crate::config::Config;
use crate::plan::PlanReader;
use referee_session::Offer;
use referee_session::role::payload::{Payload, write_fields};

const ROLES: [&str; 3] = ["s", "c", "a"];

struct Wired {
    tables: Vec<SessionTable>,
    /// By sender and receiver.
    under_way: BTreeMap<(usize, usize), VecDeque<PeerMessage>>,
    given: BTreeMap<(usize, SessionId), Vec<Bytes>>,
    /// Where no component is to be given anything to.
    away: BTreeSet<(usize, SessionId)>,
    /// By role: what survives when its process is killed.
    state_logs: Vec<Arc<StateLog>>,
    notices: Vec<(usize, SessionId, String, Vec<Role>)>,
    ended: Vec<(usize, SessionId, &'static str)>,
    has_components: bool,
    now: Duration,
    random: u64,
}

fn id(number: u128) -> SessionId {
    SessionId(number)
}

fn payload(label: &str, value: Option<i64>) -> Payload {
    let values: Vec<FieldValue<'_>> = value.into_iter().map(FieldValue::Int).collect();
    Payload { label: Ok(label.into()), fields: write_fields(&values), bytes: label.to_owned().into() }
}

impl Wired {
    fn new(limits: &str, seed: u64) -> Self {
        Self::with_roles(limits, "", seed)
    }

    fn with_roles(limits: &str, each: &str, seed: u64) -> Self {
        Self::speaking(
            "protocol Auth(role s, role c, role a) { rec X { choice at s { login(n: int) from s to c; pwd(m: int) from c to a; succ(k: int) from a to s; continue X; } or { quit() from s to c; } } }\n",
            limits,
            each,
            seed,
        )
    }

    fn speaking(protocol: &str, limits: &str, each: &str, seed: u64) -> Self {
        let mut text = format!("[multiparty]\nprotocol = '''{protocol}'''\n{limits}\n");
        for role in ROLES {
            // Where components are connected to, all are but the one that begins.
            let (listen, each) = match (each.contains("connect ="), role) {
                (true, "s") => ("listen = \"127.0.0.1:0\"", ""),
                (true, _) => ("", each),
                (false, _) => ("listen = \"127.0.0.1:0\"", each),
            };
            text +=
                &format!("[[multiparty.role]]\nname = \"{role}\"\n{listen}\ncodec.kind = \"json\"\n{each}\n");
        }
        let config = Config::read(&text, &|_| None).unwrap();
        let mut reader = PlanReader::new(Path::new("."));
        let table = config.multiparty.unwrap();
        let plan = MultipartyPlan::make(table.get_ref(), &mut reader);
        let plan = plan.unwrap_or_else(|| panic!("{:?}", reader.refusal.problems));
        let tables = plan.roles.iter().map(|plan| SessionTable::new(Arc::clone(plan))).collect();
        Self {
            tables,
            under_way: BTreeMap::new(),
            given: BTreeMap::new(),
            away: BTreeSet::new(),
            state_logs: Vec::new(),
            notices: Vec::new(),
            ended: Vec::new(),
            has_components: true,
            now: Duration::ZERO,
            random: seed,
        }
    }

    fn random(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.random >> 33).unwrap() % below
    }

    fn act(&mut self, at: usize, act: impl FnOnce(&mut SessionTable, Duration, &mut Vec<SessionAction>)) {
        let mut actions = Vec::new();
        act(&mut self.tables[at], self.now, &mut actions);
        self.perform(at, actions);
        self.write_down(at);
    }

    /// As the runtime does.
    fn write_down(&mut self, at: usize) {
        let changed = std::mem::take(&mut self.tables[at].changed);
        let Some(state_log) = self.state_logs.get(at) else { return };
        let role = self.tables[at].plan.engine.role().0;
        for id in changed {
            state_log.append(match self.tables[at].save(id) {
                Some((kept, bytes)) => Change::Session { at: (role, id), kept, bytes },
                None => Change::Ended((role, id)),
            });
        }
        state_log.commit();
    }

    fn perform(&mut self, at: usize, actions: Vec<SessionAction>) {
        let mut component_found = Vec::new();
        for action in actions {
            match action {
                SessionAction::Send(to, message) => {
                    // As it travels.
                    let message = PeerMessage::read(&message.write()).unwrap();
                    self.under_way.entry((at, to.index())).or_default().push_back(message);
                }
                SessionAction::FindComponent(id) => component_found.push(id),
                SessionAction::Deliver(id, _, bytes) => {
                    let role = self.tables[at].plan.engine.role().0;
                    if let Some(state_log) = self.state_logs.get(at) {
                        state_log.append(Change::Delivered { at: (role, id), bytes: bytes.clone() });
                    }
                    if !self.away.contains(&(at, id)) {
                        self.given.entry((at, id)).or_default().push(bytes);
                    }
                }
                SessionAction::Redeliver(id, bytes) => self.given.entry((at, id)).or_default().push(bytes),
                SessionAction::Report(id, found) => {
                    let notice = found.notice;
                    self.notices.push((at, id, notice.breach.name().to_owned(), notice.blamed.to_vec()));
                }
                SessionAction::Ended(id, end) => self.ended.push((at, id, end.why.name())),
                SessionAction::Wake(_) | SessionAction::HalfClose(_) => {}
            }
        }
        for id in component_found {
            let mut actions = Vec::new();
            if self.has_components {
                self.tables[at].component_found(id, None, self.now, &mut actions);
            } else {
                self.tables[at].vacant(id, "nobody there", self.now, &mut actions);
            }
            self.perform(at, actions);
        }
    }

    /// Delivers one peer message of a pair that is picked at random.
    fn deliver_one(&mut self) -> bool {
        let pairs: Vec<_> =
            self.under_way.iter().filter(|(_, q)| !q.is_empty()).map(|(pair, _)| *pair).collect();
        if pairs.is_empty() {
            return false;
        }
        let pair = pairs[self.random(pairs.len())];
        let message = self.under_way.get_mut(&pair).unwrap().pop_front().unwrap();
        let from = self.tables[pair.0].plan.engine.role();
        self.act(pair.1, |table, now, out| table.peer_message(from, message, now, out));
        true
    }

    fn settle(&mut self) {
        while self.deliver_one() {}
    }

    fn offer(&mut self, at: usize, id: SessionId, payload: Payload) -> bool {
        let mut taken = false;
        self.act(at, |table, now, out| taken = matches!(table.offer(id, 0, payload, now, out), Offer::Taken));
        taken
    }

    /// What the component at `at` was given, which it has read now.
    fn given(&mut self, at: usize, id: SessionId) -> Vec<Bytes> {
        let given = self.given.remove(&(at, id)).unwrap_or_default();
        let count = u32::try_from(given.len()).unwrap();
        self.act(at, |table, now, out| table.delivered(id, (count, 0), now, out));
        given
    }

    fn begin(&mut self, id: SessionId) {
        self.act(0, |table, now, out| table.begin(id, None, None, now, out).unwrap());
    }
}

/// A component that leaves while its last message has to wait is missed at once if it would have to send another after that,
/// and not if it may have said all.
#[test]
fn who_leaves_while_its_message_has_to_wait() {
    let protocol = "protocol Flood(role s, role c, role a) { rec X { choice at s { m(n: int) from s to c; continue X; } or { quit() from s to c; n() from c to a; } } }\n";
    for (last, missed) in [(payload("m", Some(2)), true), (payload("quit", None), false)] {
        let mut wired = Wired::speaking(protocol, "limits.window = 1", "", 7);
        wired.begin(id(1));
        wired.settle();
        assert!(wired.offer(0, id(1), payload("m", Some(1))));
        assert!(!wired.offer(0, id(1), last.clone()), "the window is full");
        wired.act(0, |table, now, out| table.half_close_after(id(1), &last, now, out));
        assert_eq!(wired.ended.contains(&(0, id(1), "violation")), missed, "{last:?}");
        wired.settle();
        if missed {
            let blamed = (0..3)
                .all(|at| wired.notices.contains(&(at, id(1), "premature-end".to_owned(), vec![Role(0)])));
            assert!(blamed && wired.notices.len() == 3, "{:?}", wired.notices);
        } else {
            wired.given(1, id(1));
            wired.settle();
            assert!(wired.offer(0, id(1), last));
            assert!(wired.notices.is_empty(), "{:?}", wired.notices);
        }
    }
}

/// While others talk nobody is idle; and when nobody does, the monitor whose component is awaited says so.
#[test]
fn idle_is_a_matter_of_the_whole_session() {
    let protocol = "protocol Talk(role s, role c, role a) { rec X { choice at s { ask() from s to c; ok() from c to s; continue X; } or { quit() from s to c; bye() from c to a; } } }\n";
    let mut wired = Wired::speaking(protocol, "limits.idle = \"9s\"", "", 7);
    let wait = |wired: &mut Wired, seconds: usize| {
        for _ in 0..seconds {
            wired.now += Duration::from_secs(1);
            for at in 0..3 {
                wired.act(at, |table, now, out| {
                    table.tick(now, out);
                });
            }
            wired.settle();
        }
    };
    wired.begin(id(1));
    wired.settle();
    for _ in 0..20 {
        for (from, to, label) in [(0, 1, "ask"), (1, 0, "ok")] {
            assert!(wired.offer(from, id(1), payload(label, None)));
            wired.settle();
            wired.given(to, id(1));
        }
        wait(&mut wired, 8);
    }
    assert!(wired.notices.is_empty(), "{:?}", wired.notices);
    assert!(wired.offer(0, id(1), payload("ask", None)));
    wired.settle();
    wired.given(1, id(1));
    wait(&mut wired, 8);
    assert!(wired.notices.is_empty(), "{:?}", wired.notices);
    wait(&mut wired, 1);
    let faults: Vec<(usize, &str)> =
        wired.notices.iter().map(|(at, _, kind, _)| (*at, kind.as_str())).collect();
    assert!(faults.len() == 3 && faults[0] == (1, "fault"), "{faults:?}");
    assert!(wired.ended.iter().all(|(_, _, why)| *why == "fault"), "{:?}", wired.ended);
}

/// A service that keeps state in its connection has lost it when its monitor was killed: that is nobody's fault.
#[test]
fn a_service_that_is_connected_to_again_is_not_blamed() {
    let limits = "transport = \"nats\"\nstate = \"state\"";
    for closes in [true, false] {
        let mut wired = Wired::with_roles(limits, "resume = true\nconnect = \"127.0.0.1:1\"", 7);
        wired.begin(id(1));
        wired.settle();
        assert!(wired.offer(0, id(1), payload("login", Some(1))));
        wired.settle();
        wired.given(1, id(1));
        let (_, saved) = wired.tables[1].save(id(1)).unwrap();
        let plan = Arc::clone(&wired.tables[1].plan);
        wired.tables[1] = SessionTable::new(plan);
        wired.act(1, |table, now, out| assert!(table.restore(id(1), &saved, VecDeque::new(), now, out)));
        if closes {
            wired.act(1, |table, now, out| table.component_gone(id(1), now, out));
        } else {
            assert!(wired.offer(1, id(1), payload("nonsense", None)));
        }
        wired.settle();
        let all = (0..3).map(|at| (at, id(1), "fault".to_owned(), Vec::new()));
        let mut notices = wired.notices.clone();
        notices.sort();
        assert_eq!(notices, all.collect::<Vec<_>>());
        assert_eq!(wired.ended.iter().map(|end| end.2).collect::<Vec<_>>(), ["fault"; 3]);
    }
}

/// Many sessions, each a few loops long, everything in random order: all of them end as they should.
#[test]
fn sessions_in_every_order() {
    for seed in 0..200 {
        let mut wired = Wired::new("", seed);
        let sessions: Vec<SessionId> = (0..4).map(|n| id(n + 1)).collect();
        sessions.iter().for_each(|id| wired.begin(*id));
        let mut loops = vec![3; sessions.len()];
        let mut waits: Vec<bool> = vec![false; sessions.len()];
        for _ in 0..2000 {
            let which = wired.random(sessions.len());
            let id = sessions[which];
            match wired.random(4) {
                0 if !waits[which] && loops[which] > 0 => {
                    if wired.offer(0, id, payload("login", Some(1))) {
                        waits[which] = true;
                        loops[which] -= 1;
                    }
                }
                0 if !waits[which] => waits[which] = wired.offer(0, id, payload("quit", None)),
                1 if wired
                    .given
                    .get(&(1, id))
                    .is_some_and(|given| given.last().is_some_and(|b| b == "login")) =>
                {
                    wired.given(1, id);
                    assert!(wired.offer(1, id, payload("pwd", Some(2))));
                }
                2 if wired.given.contains_key(&(2, id)) => {
                    wired.given(2, id);
                    assert!(wired.offer(2, id, payload("succ", Some(3))));
                }
                3 if wired.given.contains_key(&(0, id)) => {
                    wired.given(0, id);
                    waits[which] = false;
                }
                _ => {
                    wired.deliver_one();
                }
            }
        }
        wired.settle();
        for id in &sessions {
            for at in 0..3 {
                wired.given(at, *id);
                wired.act(at, |table, now, out| table.component_gone(*id, now, out));
            }
        }
        wired.settle();
        assert!(wired.notices.is_empty(), "seed {seed}: {:?}", wired.notices);
        assert_eq!(wired.ended.iter().filter(|(.., why)| *why == "over").count(), 12, "seed {seed}");
        assert!(wired.tables.iter().all(|table| table.len() == 0));
    }
}

#[test]
fn a_letter_is_taken_once_and_a_missing_one_is_noticed() {
    let mut wired = Wired::new("", 1);
    wired.begin(id(1));
    wired.settle();
    assert!(wired.offer(0, id(1), payload("login", Some(1))));
    let messages: Vec<PeerMessage> = wired.under_way[&(0, 1)].iter().cloned().collect();
    let s = wired.tables[0].plan.engine.role();
    for _ in 0..3 {
        let again = messages[0].clone();
        wired.act(1, |table, now, out| table.peer_message(s, again, now, out));
    }
    assert_eq!(wired.given[&(1, id(1))].len(), 1);
    let ahead = PeerMessage { number: messages[0].number + 5, ..messages[0].clone() };
    wired.act(1, |table, now, out| table.peer_message(s, ahead, now, out));
    wired.settle();
    let faults =
        wired.notices.iter().filter(|(.., kind, blamed)| kind == "fault" && blamed.is_empty()).count();
    assert_eq!((faults, wired.notices.len()), (3, 3), "{:?}", wired.notices);
}

#[test]
fn who_cannot_take_part_says_so_and_nothing_is_left() {
    let mut wired = Wired::new("", 1);
    wired.has_components = false;
    wired.begin(id(1));
    wired.settle();
    assert!(wired.tables.iter().all(|table| table.len() == 0));
    assert_eq!(wired.notices.len(), 1);
    // And who never answers is given up.
    let mut wired = Wired::new("", 1);
    wired.begin(id(1));
    wired.under_way.clear();
    wired.now += Duration::from_secs(11);
    wired.act(0, |table, now, out| _ = table.tick(now, out));
    assert_eq!(wired.ended, [(0, id(1), "fault")]);
}

/// Components that leave before anything was said are replaced, whatever their monitor has heard of the others by then.
#[test]
fn who_leaves_before_the_session_begins_is_replaced() {
    let mut awaited = 0;
    for seed in 0..300 {
        let mut wired = Wired::new("", seed);
        wired.begin(id(1));
        let (mut empty, mut sent) = (BTreeSet::new(), false);
        for _ in 0..40 {
            let at = 1 + wired.random(2);
            let phase = wired.tables[at].sessions.get(&id(1)).map(|session| session.phase);
            match wired.random(3) {
                0 if phase == Some(Phase::Ready) => {
                    let mut actions = Vec::new();
                    wired.tables[at].component_gone(id(1), wired.now, &mut actions);
                    assert!(matches!(actions[..], [SessionAction::FindComponent(_)]), "{actions:?}");
                    empty.insert(at);
                }
                1 if empty.remove(&at) => {
                    awaited += usize::from(phase == Some(Phase::AwaitingComponent));
                    wired.act(at, |table, now, out| table.component_found(id(1), None, now, out));
                }
                _ => {
                    // The first may send as soon as it has heard of all others.
                    sent = sent || wired.offer(0, id(1), payload("login", Some(1)));
                    wired.deliver_one();
                }
            }
        }
        for at in empty {
            wired.act(at, |table, now, out| table.component_found(id(1), None, now, out));
        }
        wired.settle();
        assert!(sent || wired.offer(0, id(1), payload("login", Some(1))));
        wired.settle();
        assert!(
            wired.tables.iter().all(|table| table.sessions[&id(1)].phase == Phase::Running),
            "seed {seed}"
        );
        assert_eq!(wired.given(1, id(1)), ["login"], "seed {seed}");
        assert!(wired.notices.is_empty(), "seed {seed}: {:?}", wired.notices);
    }
    assert!(awaited > 50, "{awaited}");
}

/// Whoever knows who is missing says so; who only waits leaves it the time.
#[test]
fn who_is_missing_is_said_by_those_who_know() {
    let mut wired = Wired::new("", 1);
    wired.begin(id(1));
    wired.under_way.get_mut(&(0, 2)).unwrap().clear();
    wired.settle();
    wired.now += Duration::from_secs(10);
    wired.act(1, |table, now, out| _ = table.tick(now, out));
    assert_eq!(wired.tables[1].len(), 1);
    wired.act(0, |table, now, out| {
        table.tick(now, out);
        let said = out.iter().find_map(|action| match action {
            SessionAction::Report(_, found) if found.is_own => Some(found.notice.sentence.clone()),
            _ => None,
        });
        assert_eq!(said.as_deref(), Some("a did not join in time"));
    });
    wired.settle();
    assert!(wired.tables.iter().all(|table| table.len() == 0));
}

/// A process that is about to stop joins nothing, and tells everyone when it stops.
#[test]
fn who_stops_says_so() {
    let mut wired = Wired::new("", 1);
    wired.begin(id(1));
    wired.settle();
    wired.tables[1].draining = true;
    wired.begin(id(2));
    wired.settle();
    assert!(wired.tables.iter().all(|table| table.len() == 1), "the first goes on, and no other");
    wired.act(1, |table, now, out| table.leave(now, out));
    wired.settle();
    let told = |at| wired.notices.iter().any(|notice| *notice == (at, id(1), "fault".to_owned(), Vec::new()));
    assert!((0..3).all(told), "{:?}", wired.notices);
    assert!(wired.tables.iter().all(|table| table.len() == 0));
}

/// Who looks only when it was told to finds every session in time, and does not look where there is none.
#[test]
fn looking_when_told_to_is_enough() {
    for (limits, handshake, idle) in [
        ("limits = { handshake = \"10s\", idle = \"60s\" }", 10, Some(60)),
        ("limits = { handshake = \"10s\", idle = \"3s\" }", 10, Some(3)),
        ("limits = { handshake = \"10s\", idle = \"none\" }", 10, None),
    ] {
        for joined in [false, true] {
            let mut wired = Wired::new(limits, 3);
            assert_eq!(wired.tables[0].tick(wired.now, &mut Vec::new()), None);
            // Begun between two looks, of which the first had something else to look at.
            wired.begin(id(1));
            wired.settle();
            let (began, mut next) = (wired.now, None);
            wired.act(0, |table, now, out| next = table.tick(now, out));
            wired.now += Duration::from_secs(1);
            wired.begin(id(2));
            if joined {
                wired.settle();
            } else {
                wired.under_way.clear();
            }
            let mut looks = 0;
            while let Some(at) = next
                && at < began + Duration::from_secs(200)
            {
                assert!(at > wired.now - Duration::from_secs(1), "{limits}: no progress");
                wired.now = at;
                wired.act(0, |table, now, out| next = table.tick(now, out));
                looks += 1;
                let late = wired.tables[0].sessions.values().find(|session| {
                    let since = |then| wired.now.saturating_sub(then).as_secs();
                    (session.phase != Phase::Running && since(session.begun) > handshake)
                        || idle.is_some_and(|idle| since(session.last_activity) > idle)
                });
                assert!(late.is_none(), "{limits}: {late:?}");
            }
            assert!(looks < 40, "{limits}: looked {looks} times");
            let both = idle.is_some();
            assert_eq!(
                wired.tables[0].sessions.len(),
                usize::from(!both) + usize::from(!both && joined),
                "{limits} {joined}"
            );
        }
    }
}

/// One monitor gives a session up, and the news overtakes another's invitation to it: no component is asked to wait.
#[test]
fn nobody_joins_what_is_over() {
    let mut wired = Wired::new("", 1);
    wired.begin(id(1));
    let invitation = wired.under_way.get_mut(&(0, 2)).unwrap().pop_front().unwrap();
    assert_eq!(invitation.kind, MessageKind::Join(None));
    wired.settle();
    wired.act(1, |table, now, out| table.fault(id(1), "given up".to_owned(), now, out));
    wired.settle();
    let s = wired.tables[0].plan.engine.role();
    wired.act(2, |table, now, out| table.peer_message(s, invitation, now, out));
    assert!(wired.tables.iter().all(|table| table.len() == 0));
    assert!(wired.ended.iter().all(|(at, ..)| *at != 2), "{:?}", wired.ended);
}

/// A process that ended after its part was over takes nothing with it; one that had more to do ends the session.
#[test]
fn a_monitor_that_is_gone_matters_to_those_who_need_it() {
    for over in [false, true] {
        let mut wired = Wired::new("", 1);
        wired.begin(id(1));
        wired.settle();
        if over {
            assert!(wired.offer(0, id(1), payload("quit", None)));
            wired.settle();
            wired.act(2, |table, now, out| table.component_gone(id(1), now, out));
            wired.settle();
        }
        let a = wired.tables[2].plan.engine.role();
        wired.act(0, |table, now, out| table.peer_lost(a, "gone", now, out));
        assert_eq!(wired.notices.is_empty(), over);
        // Nobody begins a session with it, until it is back.
        assert!(wired.tables[0].begin(id(2), None, None, wired.now, &mut Vec::new()).is_err());
        wired.tables[0].peer_found(a);
        assert!(wired.tables[0].begin(id(2), None, None, wired.now, &mut Vec::new()).is_ok());
    }
}

/// A monitor that takes no heed of the window is cut off, and a notice speaks for nobody but its sender.
#[test]
fn other_monitors_are_not_believed_everything() {
    let mut wired = Wired::new("limits.window = 2", 1);
    wired.begin(id(1));
    wired.settle();
    let c = wired.tables[1].plan.engine.role();
    for number in 1..20 {
        let kind = MessageKind::Message(payload("pwd", Some(1)));
        let message = PeerMessage { session: id(1), number, state: 0, kind };
        wired.act(2, |table, now, out| table.peer_message(c, message, now, out));
    }
    assert!(wired.ended.contains(&(2, id(1), "fault")), "{:?} {:?}", wired.ended, wired.notices);
    let mut wired = Wired::new("", 1);
    wired.begin(id(1));
    wired.settle();
    let json = r#"{"reporter":"a","blame":["s"],"kind":"label","message":"x","halted":true}"#;
    let message =
        PeerMessage { session: id(1), number: 0, state: 0, kind: MessageKind::Violation(json.into()) };
    wired.act(2, |table, now, out| {
        table.peer_message(c, message, now, out);
        let said = out.iter().find_map(|action| match action {
            SessionAction::Report(_, found) if !found.is_own => Some(found.notice.reporter),
            _ => None,
        });
        assert_eq!(said, Some(c));
    });
}
