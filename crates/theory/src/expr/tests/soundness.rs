//! Well-typed expressions do not go wrong: every operator and built-in on values of every type.

use super::super::{Scope, check};
use super::*;
use crate::payload::Type;

/// Values of every type, the awkward ones among them.
fn samples() -> Vec<(Type, Value)> {
    vec![
        (Type::Unit, Value::Unit),
        (Type::Bool, Value::Bool(false)),
        (Type::Bool, Value::Bool(true)),
        (Type::Int, Value::Int(0)),
        (Type::Int, Value::Int(-1)),
        (Type::Int, Value::Int(i64::MIN)),
        (Type::Int, Value::Int(i64::MAX)),
        (Type::Float, Value::Float(-0.0)),
        (Type::Float, Value::Float(1e300)),
        (Type::Float, Value::Float(f64::NAN)),
        (Type::String, Value::string("")),
        (Type::String, Value::string("12")),
        (Type::Bytes, Value::Bytes([].into())),
        (Type::Bytes, Value::Bytes(b"\xff".as_slice().into())),
        (Type::list(Type::Int), Value::List([].into())),
        (Type::list(Type::Int), Value::List([Value::Int(0), Value::Int(-1)].into())),
        (Type::list(Type::String), Value::List([Value::string("12")].into())),
        (Type::list(Type::opaque("T")), Value::List([Value::Opaque("t".into())].into())),
        (
            Type::Tuple([Type::Int, Type::String].into()),
            Value::Tuple([Value::Int(1), Value::string("a")].into()),
        ),
        (Type::Record([("f".into(), Type::Int)].into()), Value::Record([("f".into(), Value::Int(1))].into())),
        (Type::opaque("T"), Value::Opaque("t".into())),
        (Type::opaque("U"), Value::Opaque("t".into())),
    ]
}

#[derive(Default)]
struct Tally {
    sound: usize,
    rejected: usize,
}

impl Tally {
    /// Checks and runs `expr` with `a`, `b`, `c` bound to `operands`. What is ill-typed must also go wrong
    /// unless `lenient` says that its meaning is wider than its type.
    fn run(&mut self, expr: &Expr, operands: &[&(Type, Value)], lenient: bool) {
        let mut scope = Scope::new();
        let mut bound = Bound::new();
        for (name, (ty, value)) in ["a", "b", "c"].into_iter().zip(operands) {
            assert!(value.has_type(ty));
            scope.bind(name, ty.clone());
            bound.insert(name.into(), value.clone());
        }
        let result = value_in(expr, &bound);
        let ill = matches!(result, Err(EvalErrorKind::IllTyped { .. } | EvalErrorKind::Unbound { .. }));
        match check(expr, &scope) {
            Ok(checked) => {
                assert!(!ill, "{expr} with {operands:?}: {result:?}");
                if let Ok(value) = result {
                    assert!(value.has_type(&checked.ty), "{expr}: {value} is no {}", checked.ty);
                }
                self.sound += 1;
            }
            Err(errors) => {
                assert_eq!(errors.len(), 1, "{expr} with {operands:?}: {errors:?}");
                assert!(ill || lenient, "{expr} with {operands:?}: {errors:?}, but {result:?}");
                self.rejected += 1;
            }
        }
    }
}

#[test]
fn every_operator_on_every_pair() {
    let samples = samples();
    let [a, b] = ["a", "b"].map(Expr::variable);
    let mut tally = Tally::default();
    for left in &samples {
        for operator in [UnaryOperator::Not, UnaryOperator::Negate] {
            tally.run(&unary(operator, a.clone()), &[left], false);
        }
        tally.run(&make(Node::Member(Box::new(a.clone()), "f".into())), &[left], false);
        for right in &samples {
            for operator in Operator::ALL {
                // Values of different types are unequal, and lists of different types can be joined: the
                // checker calls either a mistake.
                let lists = matches!((&left.0, &right.0), (Type::List(_), Type::List(_)));
                let lenient = matches!(operator, Operator::Equal | Operator::NotEqual | Operator::In)
                    || operator == Operator::Add && lists;
                tally.run(&binary(operator, a.clone(), b.clone()), &[left, right], lenient);
            }
            // The index of a tuple or a record has to be a constant only for the sake of its type.
            tally.run(&index(a.clone(), b.clone()), &[left, right], true);
            tally.run(&make(Node::List([a.clone(), b.clone()].into())), &[left, right], true);
            for chosen in [true, false] {
                let parts = [boolean(chosen), a.clone(), b.clone()];
                tally.run(&make(Node::Conditional(Box::new(parts))), &[left, right], true);
            }
        }
    }
    // Vacuity guard: both sides of the law are met often.
    assert!(tally.sound > 500 && tally.rejected > 4000, "{} {}", tally.sound, tally.rejected);
}

#[test]
fn every_built_in_on_every_argument() {
    let samples = samples();
    let [a, b, c] = ["a", "b", "c"].map(Expr::variable);
    let (string, number) = ((Type::String, Value::string("1")), (Type::Int, Value::Int(1)));
    let mut tally = Tally::default();
    for function in Function::ALL {
        tally.run(&call(function, &[]), &[], false);
        // One wrong argument at a time, beside arguments that are right.
        let good = if function.is_method() { &string } else { &number };
        for sample in &samples {
            if function == Function::Matches {
                tally.run(&call(function, &[a.clone(), text("^1")]), &[sample], false);
            } else if function.arity().admits(1) {
                tally.run(&call(function, std::slice::from_ref(&a)), &[sample], false);
            } else {
                tally.run(&call(function, &[a.clone(), b.clone()]), &[good, sample], false);
            }
            if function.arity().admits(3) {
                tally.run(&call(function, &[a.clone(), b.clone(), c.clone()]), &[good, good, sample], false);
            }
        }
    }
    assert!(tally.sound > 50 && tally.rejected > 150, "{} {}", tally.sound, tally.rejected);
}
