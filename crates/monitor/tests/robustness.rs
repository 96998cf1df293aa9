//! Whatever arrives: no panic, no growth, and every verdict can be explained and every session saved.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test may say no")]

#[path = "laws/support/random.rs"]
mod random;

use std::sync::Arc;

use random::Random;
use referee_monitor::{
    Argument, Event, EventLabel, FieldValue, LabelId, Monitor, Party, Payload, Policy, Registry, Report,
    Verdict,
};
use referee_syntax::{Content, Language};
use referee_theory::expr::{Signature, Value};
use referee_theory::{Role, Type};

const EVERYTHING: &str = r#"
external fn strange(string, list<int>) -> bool;
protocol Everything(role client, role server, role log) {
  rec X {
    Set(b: bool, i: int, f: float, t: string, o: bytes, u: unit, l: list<int>, p: (int, string), r: {x: int, y: list<string>}, q: Thing) from client to server
      where i / 7 < 100 || t.matches("^(a|b)*$");
    choice at server {
      Same(i2: int, t2: string, q2: Thing, l2: list<int>) from server to client
        where i + i2 > 0 && (t == t2 || q == q2) && l2[i2] == l[i];
      Note(t3: string) from client to log where t3 != t;
      continue X;
    } or {
      Strange(s: string) from server to client where strange(s + t, l) || size(s) > 3;
      Note(t3: string) from client to log;
      continue X;
    } or {
      Bye() from server to client;
      Bye() from client to log;
    }
  }
}"#;

fn monitors() -> Vec<Monitor> {
    let mut registry = Registry::new();
    let signature =
        Signature { parameters: [Type::String, Type::list(Type::Int)].into(), result: Type::Bool };
    registry.register("strange", signature, |args| match args {
        [Argument::Text(text), Argument::List(list)] if text.len() > list.len() => {
            Ok(Value::Bool(text.contains('a')))
        }
        _ => Err("no answer".to_owned()),
    });
    let document = referee_syntax::parse(EVERYTHING, Language::Scr);
    let said: Vec<_> = document.diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(said.is_empty(), "{said:?}");
    let Content::Global(protocols) = document.content else { panic!() };
    let global = protocols[0].global.as_ref().unwrap();
    let monitor = |role| {
        let machine = global.project(role).unwrap();
        Monitor::synthesise(&machine, global.vocabulary(), &registry).unwrap()
    };
    global.vocabulary().roles().map(monitor).collect()
}

const TEXTS: [&str; 12] = [
    "",
    "a",
    "abab",
    "Set",
    "Same",
    "Strange",
    "Note",
    "Bye",
    "\0\u{202e}",
    "💥",
    "toString",
    "a\nb\r\"'`\\",
];

fn text(random: &mut Random) -> &'static str {
    TEXTS[random.below(TEXTS.len())]
}

/// Some value, hostile more often than not. It lives as long as the test.
fn value(random: &mut Random, depth: usize) -> FieldValue<'static> {
    match random.below(if depth == 0 { 8 } else { 11 }) {
        0 => FieldValue::Unit,
        1 => FieldValue::Bool(random.chance(1, 2)),
        2 | 3 => FieldValue::Int(*random.pick(&[0, 1, -1, 2, i64::MAX, i64::MIN])),
        4 => FieldValue::Float(*random.pick(&[0.0, f64::NAN, f64::INFINITY, -1e300])),
        5 | 6 => FieldValue::Str(text(random)),
        7 => *random.pick(&[FieldValue::Bytes(b"\xff\xfe"), FieldValue::Malformed("broken")]),
        8 | 9 => {
            let length = random.below(4);
            FieldValue::List(Vec::leak((0..length).map(|_| value(random, depth - 1)).collect()))
        }
        _ => {
            let length = random.below(4);
            let names = ["x", "y", "x", ""];
            let field = |index: usize| (names[index], value(random, depth - 1));
            FieldValue::Record(Vec::leak((0..length).map(field).collect()))
        }
    }
}

/// A value of `ty`, most of the time.
fn value_of(random: &mut Random, ty: &Type) -> FieldValue<'static> {
    if random.chance(1, 40) {
        return value(random, 3);
    }
    match ty {
        Type::Unit => FieldValue::Unit,
        Type::Bool => FieldValue::Bool(random.chance(1, 2)),
        Type::Int => FieldValue::Int(*random.pick(&[0, 1, 2, 3, i64::MAX])),
        Type::Float => FieldValue::Float(0.5),
        Type::String => FieldValue::Str(text(random)),
        Type::Bytes => FieldValue::Bytes(b"bytes"),
        Type::List(element) => {
            let length = random.below(5);
            FieldValue::List(Vec::leak((0..length).map(|_| value_of(random, element)).collect()))
        }
        Type::Tuple(types) => {
            FieldValue::List(Vec::leak(types.iter().map(|ty| value_of(random, ty)).collect()))
        }
        Type::Record(fields) => FieldValue::Record(Vec::leak(
            fields
                .iter()
                .map(|(name, ty)| (&*String::leak(name.to_string()), value_of(random, ty)))
                .collect(),
        )),
        Type::Opaque(_) => value(random, 2),
    }
}

/// What the monitor expects, or anything else.
fn event(random: &mut Random, monitor: &Monitor, session: &referee_monitor::Session) -> Event<'static> {
    let expected = monitor.expected(session);
    let party = |random: &mut Random| match random.below(6) {
        0 => Party::Process,
        1 => Party::Environment,
        2 => Party::Stranger,
        _ => Party::Role(Role(u16::try_from(random.below(5)).unwrap())),
    };
    if expected.is_empty() || random.chance(1, 10) {
        let fields: Vec<_> = (0..random.below(12)).map(|_| value(random, 3)).collect();
        let payload = match random.below(4) {
            0 => Payload::Malformed("garbled"),
            1 => Payload::Named(Vec::leak(fields.into_iter().map(|v| (text(random), v)).collect())),
            _ => Payload::Positional(Vec::leak(fields)),
        };
        let label = match random.below(6) {
            0 => EventLabel::Malformed("no label"),
            1 => EventLabel::Known(LabelId::UNKNOWN),
            2 => EventLabel::Known(monitor.label("Set")),
            _ => EventLabel::Text(text(random)),
        };
        return Event { from: party(random), to: party(random), label, payload };
    }
    let transition = random.pick(expected);
    let vocabulary = monitor.vocabulary();
    let spec = vocabulary.spec(transition.message);
    let values: Vec<_> = spec.fields.iter().map(|field| value_of(random, &field.ty)).collect();
    let (own, peer) = (Party::Role(monitor.machine().role()), Party::Role(transition.peer));
    let (from, to) = match transition.action {
        referee_theory::Action::Send => (own, peer),
        referee_theory::Action::Receive => (peer, own),
    };
    let label = EventLabel::Text(String::leak(vocabulary.label_of(transition.message).to_owned()));
    let payload = if random.chance(1, 2) {
        Payload::Positional(Vec::leak(values))
    } else {
        let name = |f: &referee_theory::Field| &*String::leak(f.name.as_deref().unwrap_or("").to_owned());
        let mut named: Vec<_> = spec.fields.iter().map(name).zip(values).collect();
        if random.chance(1, 2) {
            named.reverse();
        }
        Payload::Named(Vec::leak(named))
    };
    Event { from, to, label, payload }
}

#[test]
fn arbitrary_events_neither_panic_nor_grow() {
    let monitors = monitors();
    let mut forwarded = [0; 3];
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let (index, monitor) = ((seed % 3) as usize, &monitors[(seed % 3) as usize]);
        let mut session = monitor.session();
        for _ in 0..100 {
            let event = event(&mut random, monitor, &session);
            let before = monitor.save(&session);
            let events = session.events();
            let verdict = monitor.step(&mut session, &event);
            match verdict {
                Verdict::Forward => forwarded[index] += 1,
                Verdict::Early => assert_eq!(monitor.save(&session), before),
                Verdict::Violation(violation) => {
                    let text = monitor.explain(&session, &violation, &event).to_string();
                    assert!(!text.is_empty());
                    *seen.entry(violation.kind).or_insert(0) += 1;
                }
                Verdict::Fault(fault) => {
                    let _ = monitor.explain_fault(&session, &fault, &event);
                }
            }
            assert!(session.events() - events <= 1);
            assert!(session.allocated() < 2_000, "{}", session.allocated());
            let saved = monitor.save(&session);
            session = monitor.restore(&saved).unwrap();
            assert_eq!(monitor.save(&session), saved);
            if random.chance(1, 30) {
                let who = *random.pick(&[
                    Party::Process,
                    Party::Environment,
                    Party::Role(Role(2)),
                    Party::Stranger,
                ]);
                if let Verdict::Violation(violation) = monitor.end(&mut session, who) {
                    let _ = monitor.explain_end(&session, &violation, who).to_string();
                    *seen.entry(violation.kind).or_insert(0) += 1;
                }
            }
        }
    }
    assert!(forwarded.iter().all(|&count| count > 500), "{forwarded:?}");
    assert_eq!(seen.len(), 7, "every kind of violation occurs: {seen:?}");
}

/// A mistake of the caller's, but no reason to crash.
#[test]
fn sessions_and_verdicts_of_another_monitor_are_nonsense_not_panics() {
    let monitors = monitors();
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut session = monitors[0].session();
        for _ in 0..60 {
            let monitor = &monitors[random.below(monitors.len())];
            let event = event(&mut random, monitor, &session);
            if let Verdict::Violation(violation) = monitor.step(&mut session, &event) {
                for monitor in &monitors {
                    let _ = monitor.explain(&session, &violation, &event).to_string();
                }
            }
            monitors.iter().for_each(|monitor| drop(monitor.save(&session)));
        }
    }
}

#[test]
fn arbitrary_bytes_are_no_session() {
    let monitors = monitors();
    let monitor = &monitors[0];
    let mut accepted = 0;
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let mut session = monitor.session();
        let first = event(&mut random, monitor, &session);
        let _ = monitor.step(&mut session, &first);
        let mut bytes = monitor.save(&session);
        for _ in 0..=random.below(4) {
            match random.below(3) {
                0 => bytes.truncate(random.below(bytes.len() + 1)),
                1 => bytes.extend((0..random.below(20)).map(|_| random.below(256) as u8)),
                _ if bytes.len() > 9 => {
                    let at = 9 + random.below(bytes.len() - 9);
                    bytes[at] = random.below(256) as u8;
                }
                _ => {}
            }
        }
        if let Ok(session) = monitor.restore(&bytes) {
            accepted += 1;
            assert_eq!(monitor.save(&session), bytes);
        }
    }
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn deeply_nested_values_are_values_of_no_type() {
    let mut vocabulary = referee_theory::Vocabulary::new();
    let (a, b) = (vocabulary.add_role("a"), vocabulary.add_role("b"));
    let label = vocabulary.add_label("M");
    let fields = Arc::new([referee_theory::Field { name: Some("x".into()), ty: Type::opaque("T") }]);
    let message = vocabulary.add_message(referee_theory::MessageSpec::new(label, fields, None));
    let mut machine = referee_theory::MachineBuilder::new(a);
    let (start, end) = (machine.add_state(), machine.add_state());
    let (action, origin) = (referee_theory::Action::Send, referee_theory::Origin::NONE);
    let transition = referee_theory::Transition { action, peer: b, message, target: end, origin };
    machine.add_transition(start, transition);
    let monitor = Monitor::synthesise(&machine.finish(), &Arc::new(vocabulary), &Registry::new()).unwrap();
    let mut deep = FieldValue::Unit;
    for _ in 0..100_000 {
        deep = FieldValue::List(Vec::leak(vec![deep]));
    }
    let values = [deep];
    let event = Event::new(a, b, "M", Payload::Positional(&values));
    let ruling = monitor.supervise(Policy::Halt, &mut monitor.session(), &event);
    let Some(Report::Violation { violation, .. }) = ruling.report else { panic!("{ruling:?}") };
    let explanation = monitor.explain(&monitor.session(), &violation, &event).to_string();
    assert!(explanation.contains('…') && explanation.len() < 1_000);
}
