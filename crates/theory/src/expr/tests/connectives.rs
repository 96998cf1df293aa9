//! CEL's `&&` and `||`, where a decisive operand outweighs an error: every combination.

use super::super::Externals;
use super::*;

/// What an operand does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    True,
    False,
    DivideByZero,
    Overflow,
}

use Does::{DivideByZero, False, Overflow, True};

const ALL: [Does; 4] = [True, False, DivideByZero, Overflow];

impl Does {
    fn operand(self) -> Expr {
        let zero = int(0);
        match self {
            True => boolean(true),
            False => boolean(false),
            DivideByZero => binary(Operator::Equal, binary(Operator::Divide, int(1), zero.clone()), zero),
            Overflow => binary(Operator::Equal, binary(Operator::Add, int(i64::MAX), int(1)), zero),
        }
    }

    fn result(self) -> Result<Value, EvalErrorKind> {
        match self {
            True => Ok(Value::Bool(true)),
            False => Ok(Value::Bool(false)),
            DivideByZero => Err(EvalErrorKind::DivisionByZero),
            Overflow => Err(EvalErrorKind::Overflow { operation: "+" }),
        }
    }
}

fn and(operands: &[Does]) -> Result<Value, EvalErrorKind> {
    value_of(&make(Node::And(operands.iter().map(|does| does.operand()).collect())))
}

fn or(operands: &[Does]) -> Result<Value, EvalErrorKind> {
    value_of(&make(Node::Or(operands.iter().map(|does| does.operand()).collect())))
}

/// CEL's tables, written out.
#[test]
fn pairs() {
    let conjunctions = [
        (True, True, True),
        (True, False, False),
        (True, DivideByZero, DivideByZero),
        (True, Overflow, Overflow),
        (False, True, False),
        (False, False, False),
        (False, DivideByZero, False),
        (False, Overflow, False),
        (DivideByZero, True, DivideByZero),
        (DivideByZero, False, False),
        (DivideByZero, DivideByZero, DivideByZero),
        (DivideByZero, Overflow, DivideByZero),
        (Overflow, True, Overflow),
        (Overflow, False, False),
        (Overflow, DivideByZero, Overflow),
        (Overflow, Overflow, Overflow),
    ];
    for (left, right, result) in conjunctions {
        assert_eq!(and(&[left, right]), result.result(), "{left:?} && {right:?}");
    }
    let disjunctions = [
        (True, True, True),
        (True, False, True),
        (True, DivideByZero, True),
        (True, Overflow, True),
        (False, True, True),
        (False, False, False),
        (False, DivideByZero, DivideByZero),
        (False, Overflow, Overflow),
        (DivideByZero, True, True),
        (DivideByZero, False, DivideByZero),
        (DivideByZero, DivideByZero, DivideByZero),
        (DivideByZero, Overflow, DivideByZero),
        (Overflow, True, True),
        (Overflow, False, Overflow),
        (Overflow, DivideByZero, Overflow),
        (Overflow, Overflow, Overflow),
    ];
    for (left, right, result) in disjunctions {
        assert_eq!(or(&[left, right]), result.result(), "{left:?} || {right:?}");
    }
}

/// Any decisive operand, else the first error, else what all operands say.
#[test]
fn triples() {
    for a in ALL {
        for b in ALL {
            for c in ALL {
                for (chain, decisive) in [(and as fn(&[Does]) -> _, False), (or, True)] {
                    let all = [a, b, c];
                    let expected = all
                        .into_iter()
                        .find(|does| *does == decisive)
                        .or_else(|| all.into_iter().find(|does| does.result().is_err()))
                        .unwrap_or(a);
                    assert_eq!(chain(&all), expected.result(), "{all:?}, decisive: {decisive:?}");
                }
            }
        }
    }
}

#[test]
fn what_is_settled_is_not_evaluated() {
    struct Never;
    impl Externals for Never {
        fn call(&self, name: &str, _args: &[Value]) -> Result<Value, String> {
            panic!("{name} is called")
        }
    }
    let external = make(Node::External { name: "f".into(), args: [].into() });
    let exprs = [
        (make(Node::And([boolean(false), external.clone()].into())), false),
        (make(Node::Or([boolean(true), external.clone()].into())), true),
        (make(Node::Conditional(Box::new([boolean(true), boolean(false), external]))), false),
    ];
    for (expr, expected) in exprs {
        assert_eq!(eval(&expr, &Bound::new(), &Never), Ok(Value::Bool(expected)), "{expr}");
    }
}

#[test]
fn operands_that_are_no_truth_values_are_errors_like_others() {
    let ill = EvalErrorKind::IllTyped { operation: "&&", found: vec!["int"] };
    assert_eq!(value_of(&make(Node::And([int(1), boolean(true)].into()))), Err(ill));
    assert_eq!(value_of(&make(Node::And([int(1), boolean(false)].into()))), Ok(Value::Bool(false)));
}
