//! The authentication protocol of ECOOP'21 (Examples 3 to 12 and 22) from both sides.

use referee_monitor::{Event, FieldValue, Kind, Party, Payload, Rejection, Side, Verdict};

use crate::support::{AUTH, event, kind, monitor, s, send};

#[test]
fn a_session_that_follows_the_protocol_is_forwarded_and_ends() {
    for role in ["client", "server"] {
        let monitor = monitor(AUTH, role);
        let mut session = monitor.session();
        let mut forward = |from: &str, label: &str, values: &[FieldValue<'_>]| {
            assert_eq!(send(&monitor, &mut session, from, label, values), Verdict::Forward, "{label}");
        };
        forward("client", "Auth", &[s("bob"), s("pwd")]);
        forward("server", "Fail", &[FieldValue::Int(401)]);
        forward("client", "Auth", &[s("bob"), s("secret")]);
        forward("server", "Succ", &[s("t1")]);
        forward("client", "Get", &[s("/a"), s("t1")]);
        forward("server", "Res", &[s("content")]);
        forward("client", "Rvk", &[s("t1")]);
        assert!(monitor.is_over(&session));
        assert_eq!(session.events(), 7);
        assert_eq!(session.allocated(), 0);
    }
}

#[test]
fn an_unknown_label_is_blamed_as_in_the_design() {
    let monitor = monitor(AUTH, "client");
    let mut session = monitor.session();
    assert_eq!(send(&monitor, &mut session, "client", "Auth", &[s("bob"), s("x")]), Verdict::Forward);
    assert_eq!(send(&monitor, &mut session, "server", "Succ", &[s("t")]), Verdict::Forward);
    let event = event(&monitor, ("client", "server"), "Put", &[]);
    let Verdict::Violation(violation) = monitor.step(&mut session, &event) else { panic!() };
    let explanation = monitor.explain(&session, &violation, &event);
    assert_eq!(explanation.kind.name(), "label");
    assert_eq!(explanation.blame.as_deref(), Some("client"));
    assert_eq!(explanation.rejection, Rejection::NoP);
    let expected: Vec<_> = explanation.expected.iter().map(|e| e.label.as_str()).collect();
    assert_eq!(expected, ["Get", "Rvk"]);
    assert_eq!(explanation.got.as_deref(), Some("Put"));
    assert_eq!(
        explanation.to_string(),
        "client sent `Put`, which it never sends; expected `Get(resource: string, reqTok: string)` from client \
         or `Rvk(rvkTok: string)` from client"
    );
}

/// Example 12: `Login` instead of `Auth`; Figure 7b: `Res` instead of `Succ` or `Fail`.
#[test]
fn each_way_to_be_wrong_has_its_kind_and_its_side() {
    let client = monitor(AUTH, "client");
    let server = monitor(AUTH, "server");
    let cases: &[(&str, &str, &[FieldValue<'_>], Kind)] = &[
        ("client", "Login", &[s("Bob")], Kind::Label),
        ("client", "Get", &[s("/"), s("t")], Kind::Order),
        ("server", "Succ", &[s("t")], Kind::Order),
        ("client", "Auth", &[s("bob")], Kind::Type),
        ("client", "Auth", &[s("bob"), s("x"), s("y")], Kind::Type),
        ("client", "Auth", &[s("bob"), FieldValue::Int(1)], Kind::Type),
        ("client", "Auth", &[s("bob"), FieldValue::Malformed("not UTF-8")], Kind::Malformed),
        ("client", "Auth", &[s("Bob"), s("x")], Kind::Assertion),
    ];
    for (from, label, values, expected) in cases {
        for (monitor, own) in [(&client, "client"), (&server, "server")] {
            let mut session = monitor.session();
            let verdict = send(monitor, &mut session, from, label, values);
            let Verdict::Violation(violation) = verdict else { panic!("{label}: {verdict:?}") };
            assert_eq!(violation.kind, *expected, "{label}");
            let side = if *from == own { Side::Process } else { Side::Environment };
            assert_eq!(violation.side, side, "{label}");
            let name = match (side, expected) {
                (Side::Process, Kind::Assertion) => "noP^A",
                (Side::Process, _) => "noP",
                (Side::Environment, Kind::Assertion) => "noE^A",
                (Side::Environment, _) => "noE",
            };
            assert_eq!(violation.rejection().name(), name);
            // A violation moves nothing.
            assert_eq!(session.state().0, 0);
            assert_eq!(send(monitor, &mut session, "client", "Auth", &[s("bob"), s("x")]), Verdict::Forward);
        }
    }
}

#[test]
fn assertions_read_what_was_bound_and_say_which_part_is_false() {
    let monitor = monitor(AUTH, "server");
    let mut session = monitor.session();
    assert_eq!(send(&monitor, &mut session, "client", "Auth", &[s("bob"), s("x")]), Verdict::Forward);
    let bad = [FieldValue::Int(700)];
    let event_fail = event(&monitor, ("server", "client"), "Fail", &bad);
    let Verdict::Violation(violation) = monitor.step(&mut session, &event_fail) else { panic!() };
    let explanation = monitor.explain(&session, &violation, &event_fail);
    let assertion = explanation.assertion.as_ref().unwrap();
    assert_eq!((assertion.failing.as_str(), assertion.error.as_deref()), ("code < 600", None));
    assert_eq!(
        explanation.to_string(),
        "server sent `Fail`, for which `code < 600` does not hold: `code` is 700"
    );
    assert_eq!(send(&monitor, &mut session, "server", "Succ", &[s("t1")]), Verdict::Forward);
    let get = [s("/a"), s("t2")];
    let event_get = event(&monitor, ("client", "server"), "Get", &get);
    let Verdict::Violation(violation) = monitor.step(&mut session, &event_get) else { panic!() };
    let explanation = monitor.explain(&session, &violation, &event_get);
    assert_eq!(
        explanation.to_string(),
        "client sent `Get`, for which `reqTok == tok` does not hold: `reqTok` is \"t2\", `tok` is \"t1\""
    );
    assert_eq!(send(&monitor, &mut session, "client", "Get", &[s("/a"), s("t1")]), Verdict::Forward);
}

#[test]
fn ends_and_what_comes_after() {
    let monitor = monitor(AUTH, "client");
    let mut session = monitor.session();
    assert_eq!(send(&monitor, &mut session, "client", "Auth", &[s("bob"), s("x")]), Verdict::Forward);
    let mut ended = session.clone();
    let verdict = monitor.end(&mut ended, monitor.party("server"));
    let Verdict::Violation(violation) = verdict else { panic!("{verdict:?}") };
    assert_eq!((violation.kind, violation.side), (Kind::PrematureEnd, Side::Environment));
    let explanation = monitor.explain_end(&ended, &violation, Party::Environment);
    assert_eq!(
        explanation.to_string(),
        "server ended before the session was over; expected `Succ(tok: string)` from server or `Fail(code: int)` \
         from server"
    );
    assert_eq!(monitor.end(&mut ended, Party::Environment), Verdict::Forward, "ending twice is nothing");
    assert_eq!(kind(send(&monitor, &mut ended, "server", "Succ", &[s("t")])), Kind::AfterEnd);
    assert_eq!(kind(monitor.end(&mut session.clone(), Party::Process)), Kind::PrematureEnd);

    assert_eq!(send(&monitor, &mut session, "server", "Succ", &[s("t")]), Verdict::Forward);
    assert_eq!(send(&monitor, &mut session, "client", "Rvk", &[s("t")]), Verdict::Forward);
    let over = monitor.step(&mut session, &event(&monitor, ("client", "server"), "Rvk", &[s("t")]));
    assert_eq!(kind(over), Kind::AfterEnd);
    assert_eq!(kind(send(&monitor, &mut session, "server", "Nonsense", &[])), Kind::AfterEnd);
    assert_eq!(monitor.end(&mut session, Party::Process), Verdict::Forward);
    assert_eq!(monitor.end(&mut session, Party::Environment), Verdict::Forward);
}

#[test]
fn names_and_sides_may_be_given_instead_of_positions_and_roles() {
    let monitor = monitor(AUTH, "client");
    let mut session = monitor.session();
    let fields = [("pwd", s("x")), ("uname", s("bob"))];
    let named = Event::new(Party::Process, Party::Environment, "Auth", Payload::Named(&fields));
    assert_eq!(monitor.step(&mut session, &named), Verdict::Forward);
    for wrong in [&fields[..1], &[("pwd", s("x")), ("user", s("bob"))], &[("pwd", s("x")), ("pwd", s("x"))]] {
        let mut session = monitor.session();
        let named = Event::new(Party::Process, Party::Environment, "Auth", Payload::Named(wrong));
        assert_eq!(kind(monitor.step(&mut session, &named)), Kind::Type);
    }
    let label = monitor.label("Succ");
    let channel = monitor.channel(Party::Environment, Party::Process);
    let token = [s("t")];
    assert_eq!(
        monitor.step_interned(&mut session, channel, label, Payload::Positional(&token)),
        Verdict::Forward
    );
}
