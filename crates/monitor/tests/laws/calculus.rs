//! The compiled monitor is the paper's: on every trace up to a length, for every session type up to a size,
//! `Monitor::step` forwards, or blames as ⟦S⟧ of Definition 9 (with Section 5.1) does. Where the calculus has no
//! transition because it is the other side's turn, the compiled monitor blames the sender (kind order, or
//! label for an unknown one); after the end, likewise (after-end), as Remark 20 proposes.

use std::collections::BTreeMap;
use std::sync::Arc;

use referee_monitor::{
    Event, FieldValue, Kind, Monitor, Party, Payload, Registry, Rejection, Session, Side, Verdict,
};
use referee_reference::stmonitor::monitor as calculus;
use referee_reference::stmonitor::session as types;
use referee_reference::stmonitor::synthesis::synthesise_with_assertions;
use referee_reference::stmonitor::value::{Atom, Base, Predicate, Value};
use referee_reference::stmonitor::{Label, Name};
use referee_theory::expr::{Expr, Literal, Node, Operator, Place, UnaryOperator};
use referee_theory::session::{Session as Term, SessionBranch, SessionTypeBuilder, TermId};
use referee_theory::{Action, Field, MessageSpec, Origin, Role, Type, Vocabulary};

use crate::random::Random;
use crate::terms::{Tally, messages, random_session, sessions};

/// A type of the paper as a term of `referee-theory`, compiled.
fn compiled(session: &types::Session) -> Monitor {
    let mut lowering = Lowering {
        vocabulary: Vocabulary::new(),
        builder: SessionTypeBuilder::new(),
        definitions: BTreeMap::new(),
    };
    let process = lowering.vocabulary.add_role("process");
    let environment = lowering.vocabulary.add_role("environment");
    let root = lowering.term(session, environment);
    let vocabulary = Arc::new(lowering.vocabulary);
    let session = lowering.builder.finish(Arc::clone(&vocabulary), process, root).unwrap();
    Monitor::synthesise(&session.machine(), &vocabulary, &Registry::new()).unwrap()
}

struct Lowering {
    vocabulary: Vocabulary,
    builder: SessionTypeBuilder,
    definitions: BTreeMap<Name, TermId>,
}

impl Lowering {
    fn term(&mut self, session: &types::Session, peer: Role) -> TermId {
        match session {
            types::Session::End => self.builder.add(Term::End),
            types::Session::Variable(name) => {
                self.builder.add(Term::Call { target: self.definitions[name], origin: Origin::NONE })
            }
            types::Session::Rec(name, body) => {
                let node = self.builder.reserve();
                self.definitions.insert(name, node);
                let body = self.term(body, peer);
                self.builder.set(node, Term::Rec { name: (*name).into(), body, origin: Origin::NONE });
                node
            }
            types::Session::Select(branches) => self.choice(branches, Action::Send, peer),
            types::Session::Branch(branches) => self.choice(branches, Action::Receive, peer),
        }
    }

    fn choice(&mut self, branches: &[types::Branch], action: Action, peer: Role) -> TermId {
        let mut lowered = Vec::new();
        for branch in branches {
            let ty = match branch.base {
                Base::Int => Type::Int,
                Base::Str => Type::String,
                Base::Bool => Type::Bool,
            };
            let label = self.vocabulary.add_label(branch.label);
            let fields = Arc::new([Field { name: Some(branch.variable.into()), ty }]);
            let assertion = Some(Arc::new(expression(&branch.assertion)));
            let message = self.vocabulary.add_message(MessageSpec::new(label, fields, assertion));
            let next = self.term(&branch.next, peer);
            lowered.push(SessionBranch { action, peer, message, next, origin: Origin::NONE });
        }
        self.builder.add(Term::Choice(lowered))
    }
}

fn expression(predicate: &Predicate) -> Expr {
    let atom = |atom: &Atom| match atom {
        Atom::Variable(name) => Expr::variable(name),
        Atom::Value(Value::Int(value)) => Expr::literal(Literal::Int(*value)),
        Atom::Value(Value::Str(text)) => Expr::literal(Literal::String((*text).into())),
        Atom::Value(Value::Bool(value)) => Expr::literal(Literal::Bool(*value)),
    };
    let node = match predicate {
        Predicate::Constant(value) => Node::Literal(Literal::Bool(*value)),
        Predicate::Equal(a, b) => Node::Binary(Operator::Equal, Box::new([atom(a), atom(b)])),
        Predicate::AtLeast(a, b) => Node::Binary(Operator::GreaterEqual, Box::new([atom(a), atom(b)])),
        Predicate::And(a, b) => Node::And([expression(a), expression(b)].into()),
        Predicate::Not(a) => Node::Unary(UnaryOperator::Not, Box::new(expression(a))),
        Predicate::Is(..) => panic!("not an assertion"),
    };
    Expr::new(node, Place::NONE).unwrap()
}

/// What the calculus says to a message.
#[derive(Debug, PartialEq)]
enum Answer {
    /// Forwarded; the monitor afterwards.
    Forward(calculus::Monitor),
    Rejects(Rejection),
    /// There is no transition: the other side's turn, or the end.
    Blocked,
}

fn answer(monitor: &calculus::Monitor, side: Side, label: Label, value: Value) -> Answer {
    let settle = |mut monitor: calculus::Monitor| {
        while let Some(next) = monitor.silent() {
            monitor = next;
        }
        monitor
    };
    let monitor = settle(monitor.clone());
    let taken = match side {
        Side::Process => monitor.receive(label, value),
        Side::Environment => monitor.input(label, value),
    };
    let Some(taken) = taken else { return Answer::Blocked };
    match settle(taken) {
        calculus::Monitor::NoP => Answer::Rejects(Rejection::NoP),
        calculus::Monitor::NoE => Answer::Rejects(Rejection::NoE),
        calculus::Monitor::NoPA => Answer::Rejects(Rejection::NoPA),
        calculus::Monitor::NoEA => Answer::Rejects(Rejection::NoEA),
        other => Answer::Forward(other.out().or_else(|| other.send()).unwrap().2),
    }
}

/// Every trace of at most `length` messages that is forwarded up to its last one.
fn compare(
    reference: &calculus::Monitor,
    monitor: &Monitor,
    session: &Session,
    length: usize,
    tally: &mut Tally,
) {
    if length == 0 {
        return;
    }
    for side in [Side::Process, Side::Environment] {
        for (label, value) in messages() {
            let expected = answer(reference, side, label, value);
            let field = [match value {
                Value::Int(value) => FieldValue::Int(value),
                Value::Str(text) => FieldValue::Str(text),
                Value::Bool(value) => FieldValue::Bool(value),
            }];
            let (from, to) = match side {
                Side::Process => (Party::Process, Party::Environment),
                Side::Environment => (Party::Environment, Party::Process),
            };
            let mut after = session.clone();
            let found = monitor.step(&mut after, &Event::new(from, to, label, Payload::Positional(&field)));
            match (expected, found) {
                (Answer::Forward(next), Verdict::Forward) => {
                    tally.count("forward");
                    // A saved session is the same session.
                    let saved = monitor.save(&after);
                    assert_eq!(monitor.save(&monitor.restore(&saved).unwrap()), saved);
                    compare(&next, monitor, &after, length - 1, tally);
                }
                (Answer::Rejects(rejection), Verdict::Violation(violation)) => {
                    assert_eq!(violation.rejection(), rejection);
                    let kind = match rejection {
                        Rejection::NoPA | Rejection::NoEA => violation.kind == Kind::Assertion,
                        _ => matches!(violation.kind, Kind::Label | Kind::Order | Kind::Type),
                    };
                    assert!(kind, "{violation:?} for {rejection}");
                    tally.count(rejection.name());
                }
                (Answer::Blocked, Verdict::Violation(violation)) => {
                    assert_eq!(violation.side, side);
                    let over = monitor.is_over(session);
                    let kind = match violation.kind {
                        Kind::AfterEnd => over,
                        Kind::Order | Kind::Label => !over,
                        _ => false,
                    };
                    assert!(kind, "{violation:?}");
                    tally.count("blocked");
                }
                (expected, found) => panic!("{label}({value:?}) by {side:?}: {expected:?}, but {found:?}"),
            }
        }
    }
}

#[test]
fn every_trace_of_every_small_type() {
    let mut tally = Tally::default();
    for session in sessions(4) {
        let monitor = compiled(&session);
        compare(&synthesise_with_assertions(&session), &monitor, &monitor.session(), 4, &mut tally);
    }
    for name in ["noP", "noE", "blocked", "forward"] {
        tally.at_least(name, 10_000);
    }
}

#[test]
fn random_larger_types_with_assertions() {
    let mut tally = Tally::default();
    for seed in 0..800 {
        let session = random_session(&mut Random::new(seed), 7, true);
        let monitor = compiled(&session);
        compare(&synthesise_with_assertions(&session), &monitor, &monitor.session(), 4, &mut tally);
    }
    for name in ["noP", "noE", "noP^A", "noE^A", "blocked", "forward"] {
        tally.at_least(name, 1_000);
    }
}

/// Teeth: the comparison notices a monitor of another type.
#[test]
fn the_comparison_can_fail() {
    let all = sessions(1);
    let (one, other) = (&all[1], &all[2]);
    let differs = std::panic::catch_unwind(|| {
        let monitor = compiled(one);
        let mut tally = Tally::default();
        compare(&synthesise_with_assertions(other), &monitor, &monitor.session(), 2, &mut tally);
    });
    assert!(differs.is_err());
}
