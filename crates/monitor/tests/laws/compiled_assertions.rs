//! Compiled assertions mean what `referee_theory::expr::eval` says, for variables of the message itself and
//! for variables that earlier messages left: a step is forwarded if the value is true, is a violation if it is
//! false or has none, and is a fault if a predicate failed. Asked of an expression and of its negation, so
//! that *false* and *no value* are told apart too.

use std::collections::HashMap;
use std::sync::Arc;

use referee_monitor::{Event, FieldValue, Kind, Monitor, Party, Payload, Verdict};
use referee_theory::expr::{EvalErrorKind, Expr, Node, UnaryOperator, Value, check_assertion, eval};
use referee_theory::{Action, Field, MachineBuilder, MessageSpec, Origin, Transition, Type, Vocabulary};

use crate::expressions::{Pools, Predicates, make, random, registry, small, variables};
use crate::random::Random;
use crate::terms::Tally;

/// `!Bind(fields).!Check()[expr]` if `kept`, else `!Bind().!Check(fields)[expr]`.
fn monitor(expr: &Expr, fields: &Arc<[Field]>, kept: bool) -> Monitor {
    let mut vocabulary = Vocabulary::new();
    let (process, environment) = (vocabulary.add_role("process"), vocabulary.add_role("environment"));
    let none: Arc<[Field]> = Arc::new([]);
    let (first, second) = if kept { (fields, &none) } else { (&none, fields) };
    let mut message = |label: &str, fields: &Arc<[Field]>, assertion| {
        let label = vocabulary.add_label(label);
        vocabulary.add_message(MessageSpec::new(label, Arc::clone(fields), assertion))
    };
    let bind = message("Bind", first, None);
    let check = message("Check", second, Some(Arc::new(expr.clone())));
    let mut machine = MachineBuilder::new(process);
    let states = [machine.add_state(), machine.add_state(), machine.add_state()];
    for (message, (source, target)) in [(bind, (states[0], states[1])), (check, (states[1], states[2]))] {
        let (action, peer, origin) = (Action::Send, environment, Origin::NONE);
        machine.add_transition(source, Transition { action, peer, message, target, origin });
    }
    Monitor::synthesise(&machine.finish(), &Arc::new(vocabulary), &registry()).unwrap()
}

fn step(monitor: &Monitor, kept: bool, values: &[FieldValue<'_>]) -> Verdict {
    let mut session = monitor.session();
    let (first, second) = if kept { (values, &[][..]) } else { (&[][..], values) };
    let event =
        |label, values| Event::new(Party::Process, Party::Environment, label, Payload::Positional(values));
    assert_eq!(monitor.step(&mut session, &event("Bind", first)), Verdict::Forward);
    let restored = monitor.restore(&monitor.save(&session)).unwrap();
    assert_eq!(monitor.save(&restored), monitor.save(&session));
    monitor.step(&mut session, &event("Check", second))
}

/// Compares the verdicts with the values of `expr` under `assignments`.
fn compare(
    expr: &Expr,
    fields: &Arc<[Field]>,
    assignments: &[(Vec<Value>, Vec<FieldValue<'_>>)],
    tally: &mut Tally,
) {
    for (negated, expr) in
        [(false, expr), (true, &make(Node::Unary(UnaryOperator::Not, Box::new(expr.clone()))))]
    {
        for kept in [false, true] {
            let monitor = monitor(expr, fields, kept);
            for (values, given) in assignments {
                let bindings: HashMap<Arc<str>, Value> =
                    fields.iter().zip(values).map(|(f, v)| (f.name.clone().unwrap(), v.clone())).collect();
                let name = match eval(expr, &bindings, &Predicates).map_err(|error| error.kind) {
                    Ok(Value::Bool(true)) => "true",
                    Ok(_) => "false",
                    Err(EvalErrorKind::External { .. }) => "fault",
                    Err(_) => "no value",
                };
                let found = step(&monitor, kept, given);
                let agrees = match found {
                    Verdict::Forward => name == "true",
                    Verdict::Violation(violation) => {
                        violation.kind == Kind::Assertion && matches!(name, "false" | "no value")
                    }
                    Verdict::Fault(_) => name == "fault",
                    Verdict::Early => false,
                };
                assert!(agrees, "{expr} is {name} for {bindings:?}, but {found:?}");
                if !negated {
                    tally.count(name);
                }
            }
        }
    }
}

#[test]
fn every_operation_on_every_leaf() {
    let (fields, pools) = (variables(), Pools::new());
    let mut random = Random::new(1);
    let mut tally = Tally::default();
    let all = small();
    println!("{} expressions", all.len());
    for expr in &all {
        let assignments: Vec<_> = (0..6).map(|_| pools.assignment(&mut random)).collect();
        compare(expr, &fields, &assignments, &mut tally);
    }
    for name in ["true", "false", "no value", "fault"] {
        tally.at_least(name, 10);
    }
}

#[test]
fn random_larger_expressions() {
    let (fields, pools) = (variables(), Pools::new());
    let mut scope = referee_theory::expr::Scope::new().inferring();
    fields.iter().for_each(|field| scope.bind(field.name.as_ref().unwrap(), field.ty.clone()));
    let mut tally = Tally::default();
    for seed in 0..1_500 {
        let mut numbers = Random::new(seed);
        let expr = random(&mut numbers, &Type::Bool, 4);
        assert!(check_assertion(&expr, &scope).is_ok(), "seed {seed}: {expr}");
        let assignments: Vec<_> = (0..4).map(|_| pools.assignment(&mut numbers)).collect();
        compare(&expr, &fields, &assignments, &mut tally);
    }
    for name in ["true", "false", "no value", "fault"] {
        tally.at_least(name, 50);
    }
}

/// Teeth: CEL's commutative errors are seen. With `&&` that stops at the first error, this would not agree.
#[test]
fn an_error_beside_a_false_operand_is_false() {
    let fields = variables();
    let text = "1 / v1_0 == 1 && v0_0";
    let division = make(Node::Binary(
        referee_theory::expr::Operator::Divide,
        Box::new([Expr::literal(referee_theory::expr::Literal::Int(1)), Expr::variable("v1_0")]),
    ));
    let one = Expr::literal(referee_theory::expr::Literal::Int(1));
    let equal = make(Node::Binary(referee_theory::expr::Operator::Equal, Box::new([division, one])));
    let both = make(Node::And([equal, Expr::variable("v0_0")].into()));
    assert_eq!(both.to_string(), text);
    let negated = make(Node::Unary(UnaryOperator::Not, Box::new(both)));
    let monitor = monitor(&negated, &fields, false);
    let (_, mut values) = Pools::new().assignment(&mut Random::new(1));
    values[2] = FieldValue::Int(0);
    values[0] = FieldValue::Bool(false);
    assert_eq!(step(&monitor, false, &values), Verdict::Forward);
    values[0] = FieldValue::Bool(true);
    assert!(matches!(step(&monitor, false, &values), Verdict::Violation(_)));
}
