//! ECOOP'21, Theorem 19: a closed process without dead code that is not well typed gets stuck on some trace,
//! with something left to do, and not because of the environment. The trace is found and shown.
//!
//! As printed it needs one hypothesis more: that the process is not well typed when its recursion is unfolded
//! either. Figure 4 gives a process variable one type for all its uses, so that some processes have no type
//! although they do what it says; see the last test.

use std::collections::BTreeMap;

use referee_reference::stmonitor::composite::{Action, Composite};
use referee_reference::stmonitor::monitor::Monitor;
use referee_reference::stmonitor::process::Process;
use referee_reference::stmonitor::session::{Branch, Session};
use referee_reference::stmonitor::synthesis::synthesise;
use referee_reference::stmonitor::typing::{is_typed, is_typed_unfolded};
use referee_reference::stmonitor::value::{Atom, Base, Predicate, Value};

use crate::terms::{Tally, messages, processes, sessions};

/// A trace after which ⟨P; ⟦S⟧⟩ is stuck with something left to do, and M′ ≠ noE.
fn witness(process: &Process, session: &Session) -> Option<(Vec<Action>, Composite)> {
    let messages = messages();
    let mut seen = std::collections::BTreeSet::new();
    let start = Composite::new(process.clone(), synthesise(session));
    let mut pending = std::collections::VecDeque::from([(Vec::new(), start)]);
    while let Some((trace, composite)) = pending.pop_front() {
        if composite.monitor == Monitor::NoE || !seen.insert(composite.clone()) {
            continue;
        }
        let steps = composite.steps(&messages);
        let done = composite.process == Process::Nil && composite.monitor == Monitor::Nil;
        if steps.is_empty() && !done {
            return Some((trace, composite));
        }
        for (action, after) in steps {
            let mut trace = trace.clone();
            trace.extend(Some(action).filter(|action| *action != Action::Silent));
            pending.push_back((trace, after));
        }
    }
    None
}

/// The cases that the paper lists after the theorem.
fn case(end: &Composite) -> &'static str {
    match (&end.process, &end.monitor) {
        (_, Monitor::NoP) => "1: rejected",
        (Process::Receive(_), Monitor::Receive(_)) => "2a: both wait",
        (Process::Nil, Monitor::Receive(_)) => "2b: ended instead of sending",
        (Process::Receive(_), Monitor::Send(..)) => "3a: label not supported",
        (Process::Send(..), Monitor::Send(..)) => "3b: sends instead of receiving",
        (Process::Nil, Monitor::Send(..)) => "3c: ended instead of receiving",
        (Process::Send(..) | Process::Receive(_), Monitor::Nil) => "4: goes on after the end",
        (Process::If(..), _) => "5: ill-typed expression",
        other => panic!("not a case of the paper: {other:?}"),
    }
}

#[test]
fn all_small_processes_and_types() {
    let messages = messages();
    let (sessions, processes) = (sessions(2), processes(3));
    let alive: Vec<_> = processes.iter().filter(|process| process.has_no_dead_code(&messages)).collect();
    let mut tally = Tally::default();
    let mut cases: BTreeMap<&str, usize> = BTreeMap::new();
    for session in &sessions {
        for process in alive.iter().filter(|process| !is_typed(process, session)) {
            let found = witness(process, session);
            if is_typed_unfolded(process, session) {
                assert_eq!(found, None, "{process:?} : {session:?}");
                tally.count("ill typed by Figure 4 alone");
                continue;
            }
            let (_, end) = found.unwrap_or_else(|| panic!("no trace: {process:?} : {session:?}"));
            *cases.entry(case(&end)).or_default() += 1;
            tally.count("ill typed");
        }
    }
    println!("{cases:#?}");
    assert_eq!(cases.len(), 8, "every case of the paper occurs: {cases:?}");
    tally.at_least("ill typed", 20_000);
    tally.at_least("ill typed by Figure 4 alone", 5);
}

/// Typing by unfolding accepts what Figure 4 accepts.
#[test]
fn unfolding_accepts_more() {
    let mut tally = Tally::default();
    for session in sessions(2) {
        for process in processes(3).iter().filter(|process| is_typed(process, &session)) {
            assert!(is_typed_unfolded(process, &session), "{process:?} : {session:?}");
            tally.count("well typed");
        }
    }
    tally.at_least("well typed", 100);
}

/// Teeth: with dead code the law fails (Example 17), and with predicates that inspect types (Remark 4's isB in
/// a process), for which both branches live but one of them never under the monitor.
#[test]
fn without_its_premises_the_law_fails() {
    let select = |next| {
        let assertion = Predicate::Constant(true);
        let (label, variable, base) = ("l1", "x", Base::Int);
        Session::Select(vec![Branch { label, variable, base, assertion, next }])
    };
    let send = |label| Box::new(Process::Send(label, Atom::Value(Value::Int(1)), Box::new(Process::Nil)));
    let dead = Process::If(1, Predicate::Constant(true), send("l1"), send("l2"));
    let session = select(Session::End);
    assert!(!is_typed(&dead, &session) && !dead.has_no_dead_code(&messages()));
    assert_eq!(witness(&dead, &session), None);

    let inspects = Predicate::Is(Base::Int, Atom::Variable("x"));
    let conditional = Process::If(1, inspects, send("l1"), send("l2"));
    let inspecting = Process::Receive(vec![("a", "x", conditional)]);
    let assertion = Predicate::Constant(true);
    let asks = Branch { label: "a", variable: "x", base: Base::Int, assertion, next: session };
    let session = Session::Branch(vec![asks]);
    assert!(!is_typed(&inspecting, &session) && inspecting.has_no_dead_code(&messages()));
    assert_eq!(witness(&inspecting, &session), None);
}

/// The counterexample to the theorem as printed: μX.▷{a(x).0, b(x).X} against ?b(Int).?a(Int).end.
#[test]
fn a_process_whose_variable_would_need_two_types() {
    let branch = |label, next| {
        let assertion = Predicate::Constant(true);
        Session::Branch(vec![Branch { label, variable: "x", base: Base::Int, assertion, next }])
    };
    let session = branch("b", branch("a", Session::End));
    let body = Process::Receive(vec![("a", "x", Process::Nil), ("b", "x", Process::Variable("X"))]);
    let process = Process::Rec("X", Box::new(body));
    assert!(process.has_no_dead_code(&messages()));
    assert!(!is_typed(&process, &session) && is_typed_unfolded(&process, &session));
    assert_eq!(witness(&process, &session), None);
}
