//! Values of every type: checked, kept, and read by later assertions.

use referee_monitor::{Event, FieldValue, Kind, Payload, Verdict};

use crate::support::{kind, monitor, s, send};

const ALL: &str = r#"
protocol All(role client, role server) {
  Set(b: bool, i: int, f: float, t: string, o: bytes, u: unit, l: list<int>, p: (int, string), r: {x: int, y: list<string>}, q: Thing) from client to server;
  choice at server {
    Same(b2: bool, i2: int, f2: float, t2: string, o2: bytes, u2: unit, l2: list<int>, p2: (int, string), r2: {x: int, y: list<string>}, q2: Thing) from server to client
      where b == b2 && i == i2 && f == f2 && t == t2 && o == o2 && u == u2 && l == l2 && p == p2 && r == r2 && q == q2;
  } or {
    At(k: int) from server to client where l[k] == i && r.x == p[0] && size(r.y) > 0 && p[1] in r.y;
  }
}"#;

fn fields<'a>(
    values: &'a [FieldValue<'a>],
    strings: &'a [FieldValue<'a>],
    record: &'a [(&'a str, FieldValue<'a>)],
) -> Vec<FieldValue<'a>> {
    vec![
        FieldValue::Bool(true),
        FieldValue::Int(-7),
        FieldValue::Float(1.5),
        s("text"),
        FieldValue::Bytes(b"\xff\x00"),
        FieldValue::Unit,
        FieldValue::List(values),
        FieldValue::List(strings),
        FieldValue::Record(record),
        s("thing"),
    ]
}

#[test]
fn every_type_is_kept_and_compared() {
    let monitor = monitor(ALL, "client");
    let ints = [FieldValue::Int(3), FieldValue::Int(-7)];
    let pair = [FieldValue::Int(9), s("name")];
    let names = [s("other"), s("name")];
    let record = [("y", FieldValue::List(&names)), ("x", FieldValue::Int(9))];
    let turned = [("x", FieldValue::Int(9)), ("y", FieldValue::List(&names))];
    let all = fields(&ints, &pair, &record);
    let mut session = monitor.session();
    assert_eq!(send(&monitor, &mut session, "client", "Set", &all), Verdict::Forward);
    let saved = monitor.save(&session);
    assert_eq!(monitor.save(&monitor.restore(&saved).unwrap()), saved);
    let session = monitor.restore(&saved).unwrap();
    assert!(session.allocated() > 0);

    // The order of a record's fields does not matter; an int is a float where one is expected.
    let same = fields(&ints, &pair, &turned);
    assert_eq!(send(&monitor, &mut session.clone(), "server", "Same", &same), Verdict::Forward);
    let others = [FieldValue::Int(3), FieldValue::Int(8)];
    let different = [
        (0, FieldValue::Bool(false)),
        (1, FieldValue::Int(7)),
        (2, FieldValue::Int(1)),
        (3, s("Text")),
        (4, FieldValue::Bytes(b"\xff")),
        (6, FieldValue::List(&others)),
        (7, FieldValue::List(&[FieldValue::Int(9), FieldValue::Str("nam")])),
        (9, s("other thing")),
    ];
    for (at, value) in different {
        let mut values = same.clone();
        values[at] = value;
        let verdict = send(&monitor, &mut session.clone(), "server", "Same", &values);
        assert_eq!(kind(verdict), Kind::Assertion, "{at}");
    }
    for at in 0..9 {
        let mut values = same.clone();
        values[at] = FieldValue::Record(&[]);
        assert_eq!(kind(send(&monitor, &mut session.clone(), "server", "Same", &values)), Kind::Type, "{at}");
    }

    assert_eq!(send(&monitor, &mut session.clone(), "server", "At", &[FieldValue::Int(1)]), Verdict::Forward);
    for wrong in [0, 2, -1, i64::MAX] {
        let verdict = send(&monitor, &mut session.clone(), "server", "At", &[FieldValue::Int(wrong)]);
        assert_eq!(kind(verdict), Kind::Assertion, "{wrong}");
    }
    let mut done = session.clone();
    assert_eq!(send(&monitor, &mut done, "server", "At", &[FieldValue::Int(1)]), Verdict::Forward);
    assert_eq!(done.allocated(), 0, "a session that is over keeps nothing");
}

#[test]
fn an_error_in_an_assertion_is_the_senders() {
    let text = "protocol P(role client, role server) {
        A(x: int) from client to server; B(y: int) from server to client where 10 / y + x > 0; }";
    let monitor = monitor(text, "client");
    let mut session = monitor.session();
    assert_eq!(send(&monitor, &mut session, "client", "A", &[FieldValue::Int(i64::MAX)]), Verdict::Forward);
    for (y, reason) in [(0, "division by zero"), (1, "`+` overflows")] {
        let values = [FieldValue::Int(y)];
        let event = crate::support::event(&monitor, ("server", "client"), "B", &values);
        let Verdict::Violation(violation) = monitor.step(&mut session, &event) else { panic!() };
        assert_eq!(violation.rejection().name(), "noE^A");
        let explanation = monitor.explain(&session, &violation, &event);
        assert_eq!(explanation.assertion.unwrap().error.as_deref(), Some(reason));
    }
}

#[test]
fn long_values_do_not_stay() {
    let text = "protocol P(role client, role server) {
        rec X { A(x: string) from client to server; B(y: string) from server to client where x == y; continue X; } }";
    let monitor = monitor(text, "client");
    let mut session = monitor.session();
    let long = "x".repeat(1 << 20);
    for text in [&*long, "x", &long, "y"] {
        assert_eq!(send(&monitor, &mut session, "client", "A", &[s(text)]), Verdict::Forward);
        assert!(session.allocated() >= text.len());
        assert_eq!(send(&monitor, &mut session, "server", "B", &[s(text)]), Verdict::Forward);
        assert!(session.allocated() < 1024, "{}", session.allocated());
    }
}

/// `unit` is no value: whether it is there or not says nothing.
#[test]
fn a_unit_may_be_absent() {
    let text = "protocol P(role client, role server) {
      m(n: int, u: unit) from client to server;
      k(v: unit) from server to client where v == u;
    }";
    let monitor = monitor(text, "client");
    let mut session = monitor.session();
    assert_eq!(kind(send(&monitor, &mut session, "client", "m", &[])), Kind::Type);
    assert_eq!(kind(send(&monitor, &mut session, "client", "m", &[FieldValue::Unit])), Kind::Type);
    let too_many = [FieldValue::Int(1), FieldValue::Unit, FieldValue::Unit];
    assert_eq!(kind(send(&monitor, &mut session, "client", "m", &too_many)), Kind::Type);
    assert_eq!(send(&monitor, &mut session, "client", "m", &[FieldValue::Int(1)]), Verdict::Forward);
    assert_eq!(send(&monitor, &mut session, "server", "k", &[]), Verdict::Forward);
}

#[test]
fn a_unit_may_be_absent_among_named_fields() {
    let text = "protocol P(role client, role server) { m(u: unit, n: int) from client to server; }";
    let monitor = monitor(text, "client");
    let step = |fields: &[(&str, FieldValue<'_>)]| {
        let (from, to) = (monitor.party("client"), monitor.party("server"));
        monitor.step(&mut monitor.session(), &Event::new(from, to, "m", Payload::Named(fields)))
    };
    assert_eq!(step(&[("n", FieldValue::Int(1))]), Verdict::Forward);
    assert_eq!(step(&[("n", FieldValue::Int(1)), ("u", FieldValue::Unit)]), Verdict::Forward);
    assert_eq!(kind(step(&[("n", FieldValue::Int(1)), ("x", FieldValue::Int(1))])), Kind::Type);
    assert_eq!(kind(step(&[("u", FieldValue::Unit)])), Kind::Type);
}
