//! Laws C4 to C6 of `docs/concurrency.md`: keyed sub-sessions, against the definition of *right* traces.
//!
//! - Completeness: what goes on is right, and the first message after which no right trace is possible is blamed or waits.
//! - Soundness: whoever is blamed is not right whatever the other side said meanwhile.
//! - Independence: the verdicts of a key do not depend on other keys.
//!
//! All traces up to a length, with up to three keys, for every parent and every kind of call below.

use std::sync::Arc;

use referee_monitor::{
    Key, KeyLimits, KeyedMonitor, KeyedSession, KeyedVerdict, Kind, Monitor, Payload, Registry, Side, Stage,
    SubProtocol,
};
use referee_reference::keyed::{Event, Machine, Place, Protocol};
use referee_theory::{Action, MachineBuilder, Origin, State, Transition, Vocabulary};

use crate::terms::Tally;

const NO_LIMITS: KeyLimits = KeyLimits { inflight: usize::MAX, ended: usize::MAX };

fn side(client: bool) -> Side {
    if client { Side::Process } else { Side::Environment }
}

/// The monitor of the client; states keep their numbers because all are found in that order.
fn monitor(machine: &Machine) -> Arc<Monitor> {
    let mut vocabulary = Vocabulary::new();
    let (client, server) = (vocabulary.add_role("client"), vocabulary.add_role("server"));
    let mut builder = MachineBuilder::new(client);
    let states: Vec<State> = machine.iter().map(|_| builder.add_state()).collect();
    for (from, steps) in machine.iter().enumerate() {
        for (sends, label, to) in steps {
            let message = vocabulary.add_plain_message(label);
            let action = if *sends { Action::Send } else { Action::Receive };
            let step =
                Transition { action, peer: server, message, target: states[*to], origin: Origin::NONE };
            builder.add_transition(states[from], step);
        }
    }
    let machine = builder.finish();
    Arc::new(Monitor::synthesise(&machine, &Arc::new(vocabulary), &Registry::new()).unwrap())
}

fn keyed(protocol: &Protocol, limits: KeyLimits) -> KeyedMonitor {
    let stage = |place: &Place| match place {
        Place::Closed => Stage::Closed,
        Place::Open => Stage::Open,
        Place::Closing => Stage::Closing,
        Place::Ended => Stage::Ended,
    };
    let stages = protocol.places.iter().map(stage).collect();
    let interrupt = protocol.interrupted_by.map(|(client, label)| (label, side(client)));
    let opener = side(protocol.call[0][0].0);
    let sub = SubProtocol::new(("Call", "id"), monitor(&protocol.call), opener, interrupt, stages);
    KeyedMonitor::new(monitor(&protocol.parent), vec![sub], limits)
}

/// Every parent of the examples, with every kind of call.
fn protocols() -> Vec<Protocol> {
    use Place::{Closed, Closing, Ended, Open};
    let (client, server) = (true, false);
    let parents: Vec<(Machine, Vec<Place>)> = vec![
        // Hello from either side; open P; Bye from either side.
        (vec![vec![(client, "Hello", 1)], vec![(client, "Bye", 2)], vec![]], vec![Closed, Open, Ended]),
        (vec![vec![(server, "Hello", 1)], vec![(server, "Bye", 2)], vec![]], vec![Closed, Open, Ended]),
        // open P; A from the server; close P; Bye from the client.
        (vec![vec![(server, "A", 1)], vec![(client, "Bye", 2)], vec![]], vec![Open, Closing, Closed]),
        // Hello; open P: the parent rests.
        (vec![vec![(client, "Hello", 1)], vec![]], vec![Closed, Open]),
    ];
    let request = |rest: Machine| [vec![vec![(client, "Request", 1)]], rest].concat();
    let calls: Vec<(Machine, Option<(bool, &'static str)>)> = vec![
        (request(vec![vec![(server, "Result", 2), (server, "Error", 2)], vec![]]), None),
        (request(vec![vec![(server, "Result", 2)], vec![]]), Some((client, "Cancel"))),
        (
            request(vec![vec![(server, "Ack", 2)], vec![(server, "Result", 3)], vec![]]),
            Some((client, "Cancel")),
        ),
        // The server asks back, and may break off.
        (
            request(vec![
                vec![(server, "Ask", 2)],
                vec![(client, "Tell", 3)],
                vec![(server, "Result", 4)],
                vec![],
            ]),
            Some((server, "Abort")),
        ),
        (vec![vec![(server, "Request", 1)], vec![(client, "Result", 2)], vec![]], Some((server, "Cancel"))),
    ];
    let mut all = Vec::new();
    for (parent, places) in &parents {
        for (call, interrupted_by) in &calls {
            // Who opens sends the message behind `close`.
            if !(call[0][0].0 == server && places.contains(&Closing)) {
                let (parent, places, call) = (parent.clone(), places.clone(), call.clone());
                all.push(Protocol { parent, places, call, interrupted_by: *interrupted_by });
            }
        }
    }
    all
}

/// All messages of a protocol, with `keys` keys, and one that only the other side may send.
fn alphabet(protocol: &Protocol, keys: u8) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::new();
    let mut add = |event: Event| {
        if !all.contains(&event) {
            all.push(event);
        }
    };
    for (client, label, _) in protocol.parent.iter().flatten() {
        add((*client, label, None));
    }
    for key in 0..keys {
        for (client, label, _) in protocol.call.iter().flatten() {
            add((*client, label, Some(key)));
        }
        if let Some((client, label)) = protocol.interrupted_by {
            add((client, label, Some(key)));
        }
    }
    all
}

fn judge(monitor: &KeyedMonitor, session: &mut KeyedSession, (client, label, key): Event) -> KeyedVerdict {
    let key = key.map(|key| Key::from(i64::from(key)));
    monitor.judge(session, side(client), label, key.as_ref(), Payload::Positional(&[]))
}

/// Whether `event` is right behind `trace` and at most three messages of the other side. A key in flight is not opened again ahead of what
/// finishes its call, nobody answers ahead of what opens one, and who owes a message of a call does not leave it to the other side to interrupt it:
/// nobody can have seen that.
fn right_later(
    protocol: &Protocol,
    alphabet: &[Event],
    trace: &mut Vec<Event>,
    event: Event,
    more: usize,
) -> bool {
    trace.push(event);
    let right = protocol.right(trace);
    trace.pop();
    if right {
        return true;
    }
    let opens = |event: &Event| protocol.call[0].iter().any(|step| (step.0, step.1) == (event.0, event.1));
    let may_come = |other: &&Event| {
        let same_key = event.2.is_some() && other.2 == event.2;
        let interrupts = protocol.interrupted_by == Some((other.0, other.1));
        other.0 != event.0 && !interrupts && !(same_key && (opens(&event) || opens(other)))
    };
    more > 0
        && alphabet.iter().filter(may_come).any(|&other| {
            trace.push(other);
            let found = protocol.right(trace) && right_later(protocol, alphabet, trace, event, more - 1);
            trace.pop();
            found
        })
}

struct Walk<'a> {
    protocol: &'a Protocol,
    monitor: &'a KeyedMonitor,
    alphabet: &'a [Event],
    tally: Tally,
}

impl Walk<'_> {
    fn go(&mut self, session: &KeyedSession, trace: &mut Vec<Event>, left: usize) {
        if left == 0 {
            return;
        }
        for &event in self.alphabet {
            let mut next = session.clone();
            let verdict = judge(self.monitor, &mut next, event);
            trace.push(event);
            let right = self.protocol.right(trace);
            trace.pop();
            let about = || format!("{:?} {trace:?} {event:?}: {verdict:?}", self.protocol);
            match verdict {
                KeyedVerdict::Forward if right => {
                    self.tally.count("right");
                    trace.push(event);
                    self.go(&next, trace, left - 1);
                    trace.pop();
                }
                // Certain, and sent ahead: it stands where its turn comes.
                KeyedVerdict::Forward => {
                    let about = about();
                    let later = right_later(self.protocol, self.alphabet, trace, event, 3);
                    assert!(later, "{about}");
                    self.tally.count("ahead");
                }
                KeyedVerdict::Early => {
                    assert!(!right, "{}", about());
                    self.tally.count("early");
                }
                KeyedVerdict::Violation(violation, _) => {
                    assert!(violation.side == side(event.0), "{}", about());
                    let about = about();
                    let later = right_later(self.protocol, self.alphabet, trace, event, 3);
                    assert!(!later, "innocent: {about}");
                    self.tally.count("wrong");
                }
                KeyedVerdict::Fault(_) | KeyedVerdict::Uncertain => panic!("{}", about()),
            }
        }
    }
}

#[test]
fn what_goes_on_is_right_and_who_is_blamed_is_not() {
    for (keys, length) in [(1, 7), (2, 5), (3, 4)] {
        let mut tally = Tally::default();
        for protocol in protocols() {
            let monitor = keyed(&protocol, NO_LIMITS);
            let alphabet = alphabet(&protocol, keys);
            let mut walk = Walk { protocol: &protocol, monitor: &monitor, alphabet: &alphabet, tally };
            walk.go(&monitor.session(), &mut Vec::new(), length);
            tally = walk.tally;
        }
        tally.at_least("right", 500);
        tally.at_least("wrong", 1_000);
        tally.at_least("early", 100);
    }
}

/// The verdicts of a key are those of the trace without the other keys.
#[test]
fn keys_do_not_depend_on_one_another() {
    let mut compared = 0;
    for protocol in protocols() {
        let monitor = keyed(&protocol, NO_LIMITS);
        let alphabet = alphabet(&protocol, 2);
        let mut pending = vec![(monitor.session(), monitor.session(), 0)];
        while let Some((both, alone, length)) = pending.pop() {
            for &event in &alphabet {
                let (mut both, mut alone) = (both.clone(), alone.clone());
                let verdict = judge(&monitor, &mut both, event);
                if event.2 != Some(1) {
                    let expected = judge(&monitor, &mut alone, event);
                    // The parent's messages behind `close` wait for all keys.
                    if event.2 == Some(0) {
                        assert_eq!(verdict, expected, "{protocol:?} {event:?}");
                        compared += 1;
                    } else if verdict != expected {
                        continue;
                    }
                }
                if verdict == KeyedVerdict::Forward && length < 4 {
                    pending.push((both, alone, length + 1));
                }
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

/// The table of examples in the document.
#[test]
fn examples() {
    let all = protocols();
    let cancel = |parent: usize| &all[parent * 5 + 1];
    let run = |protocol: &Protocol, limits: KeyLimits, trace: &[Event]| {
        let monitor = keyed(protocol, limits);
        let mut session = monitor.session();
        let verdicts: Vec<KeyedVerdict> =
            trace.iter().map(|event| judge(&monitor, &mut session, *event)).collect();
        (verdicts.last().copied().unwrap(), monitor.kept(&session))
    };
    let (hello, bye) = ((true, "Hello", None), (true, "Bye", None));
    let request = |key| (true, "Request", Some(key));
    let result = |key| (false, "Result", Some(key));
    let cancelled = |key| (true, "Cancel", Some(key));
    let blamed = |verdict: KeyedVerdict| match verdict {
        KeyedVerdict::Violation(violation, _) => Some((violation.side, violation.kind)),
        _ => None,
    };
    let rpc = cancel(0);
    let last = |trace: &[Event]| run(rpc, NO_LIMITS, trace);
    assert_eq!(last(&[hello, request(1), request(2), result(2), result(1)]), (KeyedVerdict::Forward, 0));
    let server = Some((Side::Environment, Kind::Order));
    let client = Some((Side::Process, Kind::Order));
    assert_eq!(blamed(last(&[hello, request(1), result(1), result(1)]).0), server);
    assert_eq!(blamed(last(&[hello, request(1), request(1)]).0), client);
    assert_eq!(blamed(last(&[hello, result(9)]).0), server);
    assert_eq!(last(&[hello, request(7), cancelled(7), result(7)]), (KeyedVerdict::Forward, 0));
    assert_eq!(blamed(last(&[hello, request(7), cancelled(7), request(7)]).0), client);
    assert_eq!(last(&[hello, request(7), result(7), cancelled(7), cancelled(9)]), (KeyedVerdict::Forward, 0));
    assert_eq!(blamed(last(&[request(1)]).0), client);
    assert_eq!(run(cancel(1), NO_LIMITS, &[request(1)]).0, KeyedVerdict::Early);
    assert_eq!(last(&[hello, request(1), bye, result(1)]), (KeyedVerdict::Forward, 0));
    assert_eq!(blamed(last(&[hello, bye, request(1)]).0), Some((Side::Process, Kind::AfterEnd)));
    let crossed = [(false, "Hello", None), (false, "Bye", None), request(1), result(1)];
    assert_eq!(run(cancel(1), NO_LIMITS, &crossed), (KeyedVerdict::Forward, 0));
    let closing = cancel(2);
    let a = (false, "A", None);
    assert_eq!(run(closing, NO_LIMITS, &[a, request(1), result(1), bye]), (KeyedVerdict::Forward, 0));
    assert_eq!(run(closing, NO_LIMITS, &[a, request(1), bye]), (KeyedVerdict::Early, 1));
    assert_eq!(run(closing, NO_LIMITS, &[request(1), cancelled(1), a, bye]), (KeyedVerdict::Forward, 1));
    // A bound on keys: the next opening waits, and answers go on.
    let one = KeyLimits { inflight: 1, ended: 1 };
    assert_eq!(run(rpc, one, &[hello, request(1), request(2)]).0, KeyedVerdict::Early);
    assert_eq!(
        run(rpc, one, &[hello, request(1), request(2), result(1), request(2)]).0,
        KeyedVerdict::Forward
    );
    // Interrupted calls are forgotten, the oldest first; then an answer to nothing may be theirs, and a call that goes wrong too.
    let forgotten = [hello, request(1), cancelled(1), request(2), cancelled(2)];
    let then = |event: Event| run(rpc, one, &[&forgotten[..], &[event]].concat());
    assert_eq!(then(result(2)), (KeyedVerdict::Forward, 0));
    assert_eq!(then(result(1)), (KeyedVerdict::Uncertain, 1));
    assert_eq!(then(result(9)), (KeyedVerdict::Uncertain, 1));
    assert_eq!(then(request(1)), (KeyedVerdict::Forward, 2));
    let acked = &all[2];
    let again = [
        hello,
        request(7),
        (false, "Ack", Some(7)),
        cancelled(7),
        request(8),
        cancelled(8),
        request(7),
        result(7),
    ];
    assert_eq!(run(acked, one, &again).0, KeyedVerdict::Uncertain);
}

/// An opening does not overtake what its sender has said ahead in the parent: it waits, and is wrong behind the end.
#[test]
fn openings_stay_behind_what_was_sent_ahead() {
    let parent = vec![vec![(false, "A", 1)], vec![(true, "Bye", 2)], vec![]];
    let protocol =
        Protocol { parent, places: vec![Place::Open, Place::Open, Place::Ended], ..protocols()[0].clone() };
    let monitor = keyed(&protocol, NO_LIMITS);
    let mut session = monitor.session();
    let request = (true, "Request", Some(1));
    assert_eq!(judge(&monitor, &mut session, (true, "Bye", None)), KeyedVerdict::Forward);
    assert_eq!(judge(&monitor, &mut session, request), KeyedVerdict::Early);
    assert_eq!(judge(&monitor, &mut session, (false, "A", None)), KeyedVerdict::Forward);
    let verdict = judge(&monitor, &mut session, request);
    assert!(matches!(verdict, KeyedVerdict::Violation(violation, _) if violation.kind == Kind::AfterEnd));
}

/// Under a policy that lets wrong messages through, their key is not judged any more, and nobody is blamed for the answer.
#[test]
fn what_was_let_through_taints_its_key() {
    let all = protocols();
    let monitor = keyed(&all[1], KeyLimits { inflight: 8, ended: 2 });
    let mut session = monitor.session();
    assert!(matches!(judge(&monitor, &mut session, (true, "Request", Some(1))), KeyedVerdict::Violation(..)));
    monitor.taint(&mut session, Side::Process, "Request", Some(&Key::from(1)));
    assert_eq!(judge(&monitor, &mut session, (false, "Result", Some(1))), KeyedVerdict::Forward);
    assert_eq!(judge(&monitor, &mut session, (true, "Hello", None)), KeyedVerdict::Forward);
    assert_eq!(judge(&monitor, &mut session, (true, "Request", Some(2))), KeyedVerdict::Forward);
    assert!(matches!(judge(&monitor, &mut session, (true, "Request", Some(2))), KeyedVerdict::Violation(..)));
    // Tainted keys are kept as interrupted ones are.
    for key in 3..6 {
        monitor.taint(&mut session, Side::Process, "Request", Some(&Key::from(key)));
    }
    assert_eq!((monitor.kept(&session), monitor.in_flight(&session, 0)), (3, 1));
    assert_eq!(judge(&monitor, &mut session, (false, "Result", Some(1))), KeyedVerdict::Uncertain);
}

/// Random schedules of many calls: none of them is blamed, and nothing is kept of those that are over.
#[test]
fn many_calls_in_flight() {
    let all = protocols();
    let monitor = keyed(&all[1], NO_LIMITS);
    let mut random = crate::random::Random::new(7);
    for _ in 0..50 {
        let mut session = monitor.session();
        assert_eq!(judge(&monitor, &mut session, (true, "Hello", None)), KeyedVerdict::Forward);
        let mut open: Vec<u8> = Vec::new();
        for _ in 0..500 {
            if open.len() < 64 && random.below(2) == 0 {
                let key = (0..=255).find(|key| !open.contains(key)).unwrap();
                assert_eq!(
                    judge(&monitor, &mut session, (true, "Request", Some(key))),
                    KeyedVerdict::Forward
                );
                open.push(key);
            } else if !open.is_empty() {
                let key = open.swap_remove(random.below(open.len()));
                if random.below(4) == 0 {
                    assert_eq!(
                        judge(&monitor, &mut session, (true, "Cancel", Some(key))),
                        KeyedVerdict::Forward
                    );
                }
                assert_eq!(
                    judge(&monitor, &mut session, (false, "Result", Some(key))),
                    KeyedVerdict::Forward
                );
            }
            assert_eq!(monitor.in_flight(&session, 0), open.len());
        }
        assert_eq!(monitor.kept(&session), open.len());
    }
}
