//! Any events, in any order, over monitors of several shapes: no panic, no growth beyond what is bound, a violation
//! leaves the session where it was, and a session that was saved and restored is told the same.

#![no_main]

use std::sync::LazyLock;

use referee_fuzz::{Bytes, PROTOCOLS, monitors};
use referee_monitor::{
    Early, Event, EventLabel, FieldValue, Monitor, Party, Payload, Policy, Session, Verdict,
};

static MONITORS: LazyLock<Vec<Monitor>> = LazyLock::new(|| monitors(PROTOCOLS));

/// What comes with a message.
enum Content<'a> {
    Positional(Vec<FieldValue<'a>>),
    Named(Vec<(&'a str, FieldValue<'a>)>),
    Malformed(&'a str),
}

impl<'a> Content<'a> {
    fn take(bytes: &mut Bytes<'a>) -> Self {
        let count = usize::from(bytes.byte() % 6);
        match bytes.byte() % 8 {
            0 => Self::Malformed(bytes.text()),
            1..4 => Self::Named((0..count).map(|_| (bytes.word(), value(bytes))).collect()),
            _ => Self::Positional((0..count).map(|_| value(bytes)).collect()),
        }
    }

    fn payload(&self) -> Payload<'_> {
        match self {
            Self::Positional(values) => Payload::Positional(values),
            Self::Named(values) => Payload::Named(values),
            Self::Malformed(why) => Payload::Malformed(why),
        }
    }
}

fn value<'a>(bytes: &mut Bytes<'a>) -> FieldValue<'a> {
    match bytes.byte() % 8 {
        0 => FieldValue::Unit,
        1 => FieldValue::Bool(bytes.byte() & 1 == 1),
        2 => FieldValue::Int(i64::from(bytes.byte().cast_signed())),
        3 => FieldValue::Int(bytes.number().cast_signed()),
        4 => FieldValue::Float(f64::from_bits(bytes.number())),
        5 => FieldValue::Bytes(bytes.text().as_bytes()),
        6 => FieldValue::Str(bytes.word()),
        _ => FieldValue::Str(bytes.text()),
    }
}

fn party(monitor: &Monitor, byte: u8) -> Party {
    match byte % 6 {
        0 => Party::Process,
        1 => Party::Environment,
        2 => Party::Stranger,
        role => monitor.party(["a", "b", "c"][usize::from(role - 3)]),
    }
}

/// What of a session must not change with a violation: everything but the count of events.
fn unmoved(monitor: &Monitor, session: &Session) -> Vec<u8> {
    let mut bytes = monitor.save(session);
    // See `Monitor::save`: version, fingerprint, state, ended, mark, violations, then 8 bytes of events.
    bytes[17..25].fill(0);
    bytes
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let monitor = &MONITORS[usize::from(bytes.byte()) % MONITORS.len()];
    let mut session = monitor.session();
    let mut supervised = monitor.session();
    let mut early: Early<(Party, Party, &str)> = Early::new(4).within(64, |message| message.2.len());
    let policy = [Policy::Halt, Policy::Drop, Policy::Observe][usize::from(bytes.byte()) % 3];
    let mut bound = 0;
    while !bytes.0.is_empty() {
        let (from, to) = (party(monitor, bytes.byte()), party(monitor, bytes.byte()));
        let content = Content::take(&mut bytes);
        let label = match bytes.byte() {
            0 => EventLabel::Malformed("noise"),
            1 => EventLabel::Known(monitor.label(bytes.word())),
            2 => EventLabel::Text(bytes.text()),
            _ => EventLabel::Text(bytes.word()),
        };
        let event = Event { from, to, label, payload: content.payload() };
        let before = unmoved(monitor, &session);
        let mut restored = monitor.restore(&monitor.save(&session)).expect("what was saved is restored");
        let verdict = if matches!(label, EventLabel::Malformed(_)) && bytes.byte() & 1 == 0 {
            assert_eq!(monitor.end(&mut restored, from), monitor.end(&mut session, from));
            continue;
        } else {
            monitor.step(&mut session, &event)
        };
        assert_eq!(monitor.step(&mut restored, &event), verdict);
        match verdict {
            Verdict::Forward => {}
            Verdict::Early => assert_eq!(before, unmoved(monitor, &session)),
            Verdict::Violation(violation) => {
                assert_eq!(before, unmoved(monitor, &session));
                assert!(!monitor.explain(&session, &violation, &event).to_string().is_empty());
            }
            Verdict::Fault(fault) => {
                assert!(!monitor.explain_fault(&session, &fault, &event).to_string().is_empty());
            }
        }
        assert_eq!(monitor.save(&restored), monitor.save(&session));
        bound += data.len();
        assert!(session.allocated() <= 4096 + 4 * bound.min(8 * data.len()), "{} bytes", session.allocated());
        if let EventLabel::Text(text) = label {
            let lend = |message: &(Party, Party, &str), look: &mut dyn FnMut(&Event<'_>)| {
                look(&Event::new(message.0, message.1, message.2, Payload::Positional(&[])));
            };
            let message = (from, to, text);
            monitor.supervise_in_order(
                policy,
                &mut supervised,
                &mut early,
                message,
                &lend,
                &mut |_, _, _| {},
            );
            assert!(early.len() <= 4);
        }
    }
});
