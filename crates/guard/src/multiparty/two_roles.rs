//! A law: a network of two roles in one process gives the verdicts of a two-party guard without pipelining, and hands on the same
//! bytes. On all protocols of two roles up to a depth, and all short streams of both sides; what differs is in `docs/semantics.md`.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use hyper::body::Bytes;
use referee_monitor::Policy;
use referee_pipeline::{Packages, Parsed, Source};
use referee_session::role::payload::Payload;
use referee_session::{
    Action, Engine, HoldUntil, Offer, Options, RoleEngine, RoleHost, TwoParty, TwoPartyRules,
};
use referee_verdict::{EndReason, VerdictRecord};
use referee_wire::{Scratch, Sender, Table};

use super::peer_message::SessionId;
use super::plan::{MultipartyPlan, RolePlan};
use super::session_table::{SessionAction, SessionTable};
use super::violation;
use crate::config::{Config, Scrutiny};
use crate::plan::PlanReader;
use crate::protocol::{Protocol, Wanted};

const ROLES: [&str; 2] = ["a", "b"];
const ID: SessionId = SessionId(1);

/// Lines, one for each message of `protocol`.
fn codec(protocol: &str) -> String {
    let labels = ["x", "y"].into_iter().filter(|label| protocol.contains(&format!("{label}()")));
    labels.fold("kind = 'text'\n".to_owned(), |text, label| text + &format!("messages.{label} = '{label}'\n"))
}

/// What one side does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Says(&'static str),
    Ends,
}

type Stream = Vec<(usize, Does)>;

/// Who is to blame for what, for each verdict; and what each role was given.
#[derive(Debug, PartialEq, Eq)]
struct Observed {
    verdicts: Vec<(Option<String>, &'static str, Option<String>)>,
    given: [String; 2],
}

fn observed(verdicts: &[VerdictRecord], given: &[Vec<u8>; 2]) -> Observed {
    let kind = |v: &VerdictRecord| match v.kind.as_str() {
        // What only the other role sends has no label on a two-party connection, and the wrong direction in a network.
        "label" | "order" => "label or order",
        "after-end" => "after-end",
        "premature-end" => "premature-end",
        other => panic!("{other}"),
    };
    let verdict = |v: &VerdictRecord| (v.blame.clone(), kind(v), v.got.clone());
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    Observed { verdicts: verdicts.iter().map(verdict).collect(), given: [text(&given[0]), text(&given[1])] }
}

/// Shows `engine` what each side does, as a driver does: what is held is shown again after everything that happens.
struct Sides<E> {
    inbox: [Vec<u8>; 2],
    ended: [bool; 2],
    engines: Vec<E>,
}

impl<E: Engine> Sides<E> {
    fn new(engines: Vec<E>) -> Self {
        Self { inbox: Default::default(), ended: [false; 2], engines }
    }

    /// Does `does`; `forward` is told what goes on from whom. Whose connection is to be closed, if one is.
    fn happens(
        &mut self,
        who: usize,
        does: Does,
        side: impl Fn(usize) -> (usize, Sender),
        forward: &mut dyn FnMut(usize, &[u8]),
    ) -> Option<usize> {
        match does {
            Does::Says(label) => self.inbox[who].extend(format!("{label}\n").bytes()),
            Does::Ends => self.ended[who] = true,
        }
        // What one side was held for, the other may have said.
        for sender in [who, 1 - who, who] {
            let (engine, side) = side(sender);
            let engine = &mut self.engines[engine];
            while !self.inbox[sender].is_empty() {
                let unread = &self.inbox[sender];
                match engine.receive(side, unread, &mut Scratch::new(), Waker::noop()).action {
                    Action::Forward(count) => {
                        forward(sender, &unread[..count]);
                        self.inbox[sender].drain(..count);
                    }
                    Action::ForwardAll => {
                        forward(sender, unread);
                        self.inbox[sender].clear();
                    }
                    Action::Discard(count) => drop(self.inbox[sender].drain(..count)),
                    Action::Hold(HoldUntil::Length(_)) => break,
                    Action::Hold(_) => break,
                    Action::Close(_) => return Some(sender),
                    other => panic!("{other:?}"),
                }
            }
            if self.ended[sender] && self.inbox[sender].is_empty() && engine.end(side, &[]).is_err() {
                return Some(sender);
            }
        }
        None
    }
}

fn two_party(rules: &Arc<TwoPartyRules>, stream: &[(usize, Does)]) -> Observed {
    let mut sides = Sides::new(vec![TwoParty::new(rules, None)]);
    let mut given = [Vec::new(), Vec::new()];
    let client = rules.roles()[0].clone();
    let side = |who: usize| (0, if ROLES[who] == client { Sender::Client } else { Sender::Server });
    for (who, does) in stream {
        let mut forward = |from: usize, bytes: &[u8]| given[1 - from].extend_from_slice(bytes);
        if sides.happens(*who, *does, side, &mut forward).is_some() {
            break;
        }
    }
    let verdicts: Vec<VerdictRecord> =
        sides.engines[0].take_reports().into_iter().map(|verdict| verdict.record).collect();
    observed(&verdicts, &given)
}

/// Two session tables that hand peer messages over at once, and components that read at once.
struct Network {
    tables: Vec<SessionTable>,
    plans: Vec<Arc<RolePlan>>,
    given: [Vec<u8>; 2],
    woken: [bool; 2],
    over: [bool; 2],
    verdicts: Vec<VerdictRecord>,
    now: Duration,
}

impl Network {
    fn act(&mut self, at: usize, act: impl FnOnce(&mut SessionTable, Duration, &mut Vec<SessionAction>)) {
        let (now, mut actions) = (self.now, Vec::new());
        act(&mut self.tables[at], now, &mut actions);
        let mut open: VecDeque<_> = actions.drain(..).map(|action| (at, action)).collect();
        while let Some((at, action)) = open.pop_front() {
            let mut there = at;
            match action {
                SessionAction::Send(_, message) => {
                    there = 1 - at;
                    let from = self.plans[at].engine.role();
                    self.tables[there].peer_message(from, message, now, &mut actions);
                }
                SessionAction::FindComponent(id) => {
                    self.tables[at].component_found(id, None, now, &mut actions);
                }
                SessionAction::Deliver(id, _, bytes) => {
                    self.given[at].extend_from_slice(&bytes);
                    self.tables[at].delivered(id, (1, bytes.len()), now, &mut actions);
                }
                SessionAction::Wake(_) => self.woken[at] = true,
                SessionAction::Ended(..) => self.over[at] = true,
                SessionAction::Report(_, found) if found.is_own => {
                    self.verdicts.push(violation::record(&found.notice, self.plans[at].engine.vocabulary()));
                }
                SessionAction::Report(..) | SessionAction::HalfClose(_) | SessionAction::Redeliver(..) => {}
            }
            open.extend(actions.drain(..).map(|action| (there, action)));
        }
    }
}

struct Component {
    network: Arc<Mutex<Network>>,
    at: usize,
}

impl Component {
    fn act<T: Default>(
        &self,
        act: impl FnOnce(&mut SessionTable, Duration, &mut Vec<SessionAction>) -> T,
    ) -> T {
        let mut answer = T::default();
        self.network.lock().unwrap().act(self.at, |table, now, out| answer = act(table, now, out));
        answer
    }
}

impl RoleHost for Component {
    fn offer(&self, payload: Payload) -> Offer {
        self.act(|table, now, out| Some(table.offer(ID, 0, payload, now, out))).unwrap()
    }

    fn take_wake(&self) -> bool {
        std::mem::take(&mut self.network.lock().unwrap().woken[self.at])
    }

    fn is_congested(&self) -> bool {
        false
    }

    fn half_close(&self) -> bool {
        self.act(|table, now, out| table.half_close(ID, now, out))
    }

    fn half_close_after(&self, last: &Payload) {
        self.act(|table, now, out| table.half_close_after(ID, last, now, out));
    }

    fn fault(&self, sentence: String) {
        self.act(|table, now, out| table.fault(ID, sentence, now, out));
    }

    fn take_outgoing(&self) -> Vec<Bytes> {
        Vec::new()
    }

    fn pause(&self) {}

    fn close(&self) -> (EndReason, Bytes) {
        (EndReason::Over, Bytes::new())
    }
}

fn network(plans: &[Arc<RolePlan>], stream: &[(usize, Does)]) -> Observed {
    let tables = plans.iter().map(|plan| SessionTable::new(Arc::clone(plan))).collect();
    let network = Arc::new(Mutex::new(Network {
        tables,
        plans: plans.to_vec(),
        given: Default::default(),
        woken: [false; 2],
        over: [false; 2],
        verdicts: Vec::new(),
        now: Duration::ZERO,
    }));
    let engine = |(at, plan): (usize, &Arc<RolePlan>)| {
        RoleEngine::new(&plan.main.rules, Arc::new(Component { network: Arc::clone(&network), at }))
    };
    let mut sides = Sides::new(plans.iter().enumerate().map(engine).collect());
    let initiator = plans.iter().position(|plan| plan.engine.role() == plan.initiator).unwrap();
    network.lock().unwrap().act(initiator, |table, now, out| table.begin(ID, None, None, now, out).unwrap());
    for (who, does) in stream {
        if network.lock().unwrap().over[*who] {
            continue;
        }
        let closed = sides.happens(*who, *does, |who| (who, Sender::Client), &mut |_, _| {});
        if let Some(gone) = closed {
            // As the runtime says.
            network.lock().unwrap().act(gone, |table, now, out| table.component_gone(ID, now, out));
        }
    }
    let network = network.lock().unwrap();
    observed(&network.verdicts, &network.given)
}

/// All ways to go on for at most `depth` steps, as text.
fn continuations(depth: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    if depth == 0 {
        return all;
    }
    let next = continuations(depth - 1);
    for (from, to) in [("a", "b"), ("b", "a")] {
        for first in &next {
            all.push(format!("x() from {from} to {to}; {first}"));
            for second in &next {
                let mut text = format!("choice at {from} {{ x() from {from} to {to}; {first} }} ");
                let _ = write!(text, "or {{ y() from {from} to {to}; {second} }}");
                all.push(text);
            }
        }
    }
    all
}

fn protocols(depth: usize) -> Vec<String> {
    let finite = continuations(depth).into_iter().filter(|text| !text.is_empty());
    let endless = continuations(1).into_iter().filter(|text| !text.is_empty() && !text.contains("choice"));
    let endless = endless.map(|text| format!("rec X {{ {text} x() from b to a; continue X; }}"));
    let either =
        ["rec X { choice at a { x() from a to b; continue X; } or { y() from a to b; } }".to_owned()];
    finite
        .chain(endless)
        .chain(either)
        .map(|text| format!("protocol P(role a, role b) {{ {text} }}"))
        .collect()
}

/// All streams of `length` steps in which nobody says anything after its end.
fn streams(length: usize) -> Vec<Stream> {
    let mut all = vec![Stream::new()];
    for _ in 0..length {
        all = all
            .iter()
            .flat_map(|stream| {
                let steps = [Does::Says("x"), Does::Says("y"), Does::Says("z"), Does::Ends];
                [0, 1].into_iter().flat_map(move |who| {
                    let is_gone = stream.contains(&(who, Does::Ends));
                    steps.into_iter().filter(move |_| !is_gone).map(move |does| {
                        let mut longer = stream.clone();
                        longer.push((who, does));
                        longer
                    })
                })
            })
            .collect();
    }
    all
}

fn rules(protocol: &str, client: &str, policy: Policy) -> Arc<TwoPartyRules> {
    let wanted = Wanted {
        name: None,
        client: Some(client),
        scrutiny: Scrutiny::Both,
        modules: &[],
        table: None,
        calls: referee_monitor::KeyLimits { inflight: 4, ended: 4 },
    };
    let table = Table::parse(&codec(protocol)).unwrap();
    let mut nothing = |_: &Path| Ok(None);
    let mut packages = Packages::new(Path::new("p.scr"), protocol, &[], &mut nothing);
    let parsed = Parsed::load(Source::new("p.scr", protocol), None, &mut packages).unwrap();
    let protocol = Protocol::read(parsed, &wanted).unwrap();
    let rules = TwoPartyRules::compile(protocol.monitor, protocol.client, &table).unwrap();
    Arc::new(rules.with_options(Options { pipelining: [false; 2], policy, ..Options::default() }))
}

fn plans(protocol: &str, policy: &str) -> Vec<Arc<RolePlan>> {
    let mut text = format!("[multiparty]\nprotocol = '''{protocol}'''\n");
    for role in ROLES {
        let _ = write!(
            text,
            "[[multiparty.role]]\nname = \"{role}\"\nlisten = \"127.0.0.1:0\"\npolicy = \"{policy}\"\n[multiparty.role.codec]\n{}",
            codec(protocol)
        );
    }
    let config = Config::read(&text, &|_| None).unwrap();
    let mut reader = PlanReader::new(Path::new("."));
    let plan = MultipartyPlan::make(config.multiparty.unwrap().get_ref(), &mut reader);
    plan.unwrap_or_else(|| panic!("{protocol}: {:?}", reader.refusal.problems)).roles
}

/// Where the two differ: who leaves before the first message, or may yet say something but need not, is blamed in a network alone. A
/// two-party guard lets it go. Until then they agree.
fn is_known_difference(rules: &Arc<TwoPartyRules>, stream: &[(usize, Does)], network: &Observed) -> bool {
    let [(Some(blame), "premature-end", _)] = &network.verdicts[..] else { return false };
    let has_left = |(who, does): &(usize, Does)| *does == Does::Ends && ROLES[*who] == blame;
    stream.iter().position(has_left).is_some_and(|at| {
        let before = two_party(rules, &stream[..=at]);
        before.verdicts.is_empty() && before.given == network.given
    })
}

#[test]
fn a_network_of_two_roles_is_a_two_party_guard() {
    let (mut compared, mut wrong, mut known, mut different) = (0, 0, 0, Vec::new());
    let streams: Vec<Stream> = (1..=3).flat_map(streams).collect();
    for protocol in protocols(2) {
        let plans = plans(&protocol, "halt");
        let client = plans.iter().find(|plan| plan.engine.role() == plan.initiator).unwrap();
        let rules = rules(&protocol, &client.name, Policy::Halt);
        for stream in &streams {
            let (guard, network) = (two_party(&rules, stream), network(&plans, stream));
            let is_different = network != guard;
            let is_known = is_different && is_known_difference(&rules, stream, &network);
            known += usize::from(is_known);
            if is_different && !is_known {
                different.push(format!("{protocol} {stream:?}\n  network {network:?}\n  guard   {guard:?}"));
            }
            compared += 1;
            wrong += usize::from(!guard.verdicts.is_empty());
        }
    }
    let some = different.iter().take(12).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(different.is_empty(), "{} of {compared} differ:\n{some}", different.len());
    assert!(compared > 10_000 && wrong > 5_000 && known < compared / 5, "{compared} {wrong} {known}");
}
