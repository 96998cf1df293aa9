//! External predicates: Example 22, what is missing, and what fails.

use std::sync::Arc;

use referee_monitor::{
    Argument, Event, FaultKind, FieldValue, Handling, Kind, Monitor, Party, Payload, Policy, Registry,
    Report, Ruling, SynthesisProblem, Verdict,
};
use referee_theory::expr::{Signature, Value};
use referee_theory::{Machine, Type, Vocabulary};

use crate::support::{event, kind, s, send};

const AUTH_ST: &str = "S_auth=rec Y.(!Auth(uname: String, pwd: String)[util.validateUname(uname)].&{
    ?Succ(origTok: String)[util.validateTok(origTok, uname)].rec X.(+{
        !Get(resource: String, reqTok: String).&{ ?Res(content: String)[origTok==reqTok].X, ?Timeout().Y },
        !Rvk(rvkTok: String)[origTok==rvkTok].end}),
    ?Fail(code: Int).end
})";

fn machine() -> (Machine, Arc<Vocabulary>) {
    let document = referee_syntax::parse(AUTH_ST, referee_syntax::Language::St);
    let referee_syntax::Content::Binary(protocol) = document.content else { panic!() };
    (protocol.session.unwrap().machine(), protocol.vocabulary)
}

fn predicate(parameters: &[Type], result: Type) -> Signature {
    Signature { parameters: parameters.into(), result }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register("util.validateUname", predicate(&[Type::String], Type::Bool), |args| match args {
        [Argument::Text("broken")] => Err("the directory is down".to_owned()),
        [Argument::Text("odd")] => Ok(Value::Int(1)),
        [Argument::Text(name)] => Ok(Value::Bool(name.starts_with(char::is_alphabetic))),
        _ => Err("not called as declared".to_owned()),
    });
    let signature = predicate(&[Type::String, Type::String], Type::Bool);
    registry.register("util.validateTok", signature, |args| match args {
        [Argument::Text(token), Argument::Text(name)] => Ok(Value::Bool(token.contains(name))),
        _ => Err("not called as declared".to_owned()),
    });
    registry
}

#[test]
fn predicates_decide_and_fail() {
    let (machine, vocabulary) = machine();
    let monitor = Monitor::synthesise(&machine, &vocabulary, &registry()).unwrap();
    let (p, e) = (Party::Process, Party::Environment);
    let mut session = monitor.session();
    let [bad, down, odd, good] = ["1bob", "broken", "odd", "bob"].map(|name| [s(name), s("")]);
    let auth = |values| Event::new(p, e, "Auth", Payload::Positional(values));
    assert_eq!(kind(monitor.step(&mut session, &auth(&bad))), Kind::Assertion);
    for (event, reason) in [
        (auth(&down), "`util.validateUname` failed: the directory is down"),
        (auth(&odd), "`util.validateUname` failed: it answered with a int instead of `bool`"),
    ] {
        let Verdict::Fault(fault) = monitor.step(&mut session, &event) else { panic!() };
        assert_eq!(fault.kind, FaultKind::Predicate);
        let explanation = monitor.explain_fault(&session, &fault, &event);
        let sentence = explanation.to_string();
        assert!(
            sentence.starts_with(&format!("`util.validateUname(uname)` has no value: {reason}; ")),
            "{sentence}"
        );
        assert_eq!(explanation.assertion.unwrap().error.as_deref(), Some(reason));
    }
    assert_eq!(monitor.step(&mut session, &auth(&good)), Verdict::Forward);
    let wrong = [s("nobody's")];
    let succ = Event::new(e, p, "Succ", Payload::Positional(&wrong));
    assert_eq!(kind(monitor.step(&mut session, &succ)), Kind::Assertion);
    let right = [s("for bob")];
    let succ = Event::new(e, p, "Succ", Payload::Positional(&right));
    assert_eq!(monitor.step(&mut session, &succ), Verdict::Forward);
}

/// The sides have gone on from a message that could not be judged: whoever follows the protocol after it would be
/// blamed by a monitor that stayed behind.
#[test]
fn after_a_fault_nobody_is_judged() {
    let (machine, vocabulary) = machine();
    let monitor = Monitor::synthesise(&machine, &vocabulary, &registry()).unwrap();
    let (p, e) = (Party::Process, Party::Environment);
    let (down, token) = ([s("broken"), s("")], [s("for broken")]);
    let auth = Event::new(p, e, "Auth", Payload::Positional(&down));
    let succ = Event::new(e, p, "Succ", Payload::Positional(&token));
    for (policy, handling) in [
        (Policy::Halt, Handling::Close),
        (Policy::Drop, Handling::Close),
        (Policy::Observe, Handling::Forward),
    ] {
        let mut session = monitor.session();
        let ruling = monitor.supervise(policy, &mut session, &auth);
        assert_eq!(ruling.handling, handling);
        assert!(matches!(ruling.report, Some(Report::Fault(_))), "{policy:?}");
        assert_eq!((session.is_lost(), session.is_tainted()), (policy == Policy::Observe, false));
        session = monitor.restore(&monitor.save(&session)).unwrap();
        let nothing = Ruling { handling, report: None };
        assert_eq!(monitor.supervise(policy, &mut session, &succ), nothing);
        assert_eq!(monitor.supervise_end(policy, &mut session, p), nothing);
        assert_eq!(session.violations(), 0);
    }
}

#[test]
fn everything_missing_is_listed_with_its_signature() {
    let (machine, vocabulary) = machine();
    let error = Monitor::synthesise(&machine, &vocabulary, &Registry::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "external predicate `util.validateUname(string): bool` is not registered; \
         external predicate `util.validateTok(string, string): bool` is not registered"
    );
}

#[test]
fn a_wrong_signature_is_refused() {
    let (machine, vocabulary) = machine();
    let mut wrong = registry();
    wrong.register("util.validateUname", predicate(&[Type::Int], Type::Bool), |_| Ok(Value::Bool(true)));
    let error = Monitor::synthesise(&machine, &vocabulary, &wrong).unwrap_err();
    assert!(matches!(error.problems(), [SynthesisProblem::IllTyped { .. }]), "{error}");
    wrong.declare("util.validateUname", predicate(&[Type::String], Type::Bool));
    let error = Monitor::synthesise(&machine, &vocabulary, &wrong).unwrap_err();
    assert!(matches!(error.problems(), [SynthesisProblem::Signature { .. }]), "{error}");
}

#[test]
fn what_fails_beside_a_settled_operand_is_no_fault() {
    let text = "external fn down(int) -> bool;
        protocol P(role client, role server) { M(x: int) from client to server where x > 0 || down(x); }";
    let document = referee_syntax::parse(text, referee_syntax::Language::Scr);
    let said: Vec<_> = document.diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(said.is_empty(), "{said:?}");
    let referee_syntax::Content::Global(protocols) = document.content else { panic!() };
    let global = protocols[0].global.as_ref().unwrap();
    let machine = global.project(global.vocabulary().find_role("client").unwrap()).unwrap();
    let mut registry = Registry::new();
    registry.register("down", predicate(&[Type::Int], Type::Bool), |_| Err("down".to_owned()));
    let monitor = Monitor::synthesise(&machine, global.vocabulary(), &registry).unwrap();
    let int = FieldValue::Int;
    assert_eq!(send(&monitor, &mut monitor.session(), "client", "M", &[int(1)]), Verdict::Forward);
    let values = [int(0)];
    let event = event(&monitor, ("client", "server"), "M", &values);
    assert!(matches!(monitor.step(&mut monitor.session(), &event), Verdict::Fault(_)));
}
