//! What each operator and built-in computes, at the edges.

use super::super::Externals;
use super::*;

fn overflows(operation: &'static str) -> Result<Value, EvalErrorKind> {
    Err(EvalErrorKind::Overflow { operation })
}

#[test]
fn integers() {
    let apply = |operator, left, right| value_of(&binary(operator, int(left), int(right)));
    assert_eq!(apply(Operator::Add, 2, 3), Ok(Value::Int(5)));
    assert_eq!(apply(Operator::Add, i64::MAX, 1), overflows("+"));
    assert_eq!(apply(Operator::Subtract, 2, 3), Ok(Value::Int(-1)));
    assert_eq!(apply(Operator::Subtract, i64::MIN, 1), overflows("-"));
    assert_eq!(apply(Operator::Multiply, -2, 3), Ok(Value::Int(-6)));
    assert_eq!(apply(Operator::Multiply, i64::MAX, 2), overflows("*"));
    assert_eq!(apply(Operator::Divide, -7, 2), Ok(Value::Int(-3)));
    assert_eq!(apply(Operator::Divide, i64::MIN, -1), overflows("/"));
    assert_eq!(apply(Operator::Divide, 1, 0), Err(EvalErrorKind::DivisionByZero));
    assert_eq!(apply(Operator::Remainder, -7, 2), Ok(Value::Int(-1)));
    assert_eq!(apply(Operator::Remainder, i64::MIN, -1), overflows("%"));
    assert_eq!(apply(Operator::Remainder, 1, 0), Err(EvalErrorKind::DivisionByZero));
    assert_eq!(value_of(&unary(UnaryOperator::Negate, int(5))), Ok(Value::Int(-5)));
    assert_eq!(value_of(&unary(UnaryOperator::Negate, int(i64::MIN))), overflows("-"));
    assert_eq!(value_of(&unary(UnaryOperator::Not, boolean(true))), Ok(Value::Bool(false)));
}

#[test]
fn floats() {
    let bound = bind([("nan", Value::Float(f64::NAN)), ("x", Value::Float(1.5)), ("o", Value::Float(0.0))]);
    let apply = |operator, left, right| {
        value_in(&binary(operator, Expr::variable(left), Expr::variable(right)), &bound)
    };
    assert_eq!(apply(Operator::Add, "x", "x"), Ok(Value::Float(3.0)));
    assert_eq!(apply(Operator::Subtract, "o", "x"), Ok(Value::Float(-1.5)));
    assert_eq!(apply(Operator::Multiply, "x", "x"), Ok(Value::Float(2.25)));
    assert_eq!(apply(Operator::Divide, "x", "o"), Ok(Value::Float(f64::INFINITY)));
    for operator in Operator::ALL.into_iter().take(6) {
        let expected = Ok(Value::Bool(operator == Operator::NotEqual));
        assert_eq!(apply(operator, "nan", "nan"), expected, "{operator:?}");
        assert_eq!(apply(operator, "nan", "x"), expected, "{operator:?}");
    }
}

#[test]
fn order_and_equality() {
    /// The results of `==`, `!=`, `<`, `<=`, `>` and `>=`.
    fn holds(left: &Value, right: &Value) -> [bool; 6] {
        let bound = bind([("l", left.clone()), ("r", right.clone())]);
        let holds = |operator| {
            let expr = binary(operator, Expr::variable("l"), Expr::variable("r"));
            value_in(&expr, &bound) == Ok(Value::Bool(true))
        };
        std::array::from_fn(|i| holds(Operator::ALL[i]))
    }
    let ascending = [
        [Value::Bool(false), Value::Bool(true)],
        [Value::Int(-1), Value::Int(1)],
        [Value::Float(-0.5), Value::Float(0.5)],
        [Value::string("Z"), Value::string("a")],
        // By code point, where UTF-16 would say otherwise.
        [Value::string("\u{ff5e}"), Value::string("\u{1f600}")],
        [Value::string("a"), Value::string("ab")],
        [Value::Bytes([1].as_slice().into()), Value::Bytes([1, 0].as_slice().into())],
    ];
    for [low, high] in &ascending {
        assert_eq!(holds(low, high), [false, true, true, true, false, false], "{low} {high}");
        assert_eq!(holds(high, low), [false, true, false, false, true, true], "{high} {low}");
        assert_eq!(holds(low, low), [true, false, false, true, false, true], "{low}");
    }
    let token = |text: &str| Value::Opaque(text.into());
    assert_eq!(holds(&token("a"), &token("a"))[..2], [true, false]);
    assert_eq!(holds(&token("a"), &token("b"))[..2], [false, true]);
    assert_eq!(holds(&Value::Float(0.0), &Value::Float(-0.0))[..2], [true, false]);
    assert_eq!(holds(&Value::Int(1), &Value::Float(1.0))[..2], [false, true]);
}

#[test]
fn containers() {
    let list = make(Node::List([int(10), int(20)].into()));
    assert_eq!(value_of(&binary(Operator::In, int(20), list.clone())), Ok(Value::Bool(true)));
    assert_eq!(value_of(&binary(Operator::In, int(30), list.clone())), Ok(Value::Bool(false)));
    assert_eq!(value_of(&index(list.clone(), int(1))), Ok(Value::Int(20)));
    for at in [2, -1, i64::MIN] {
        let expected = Err(EvalErrorKind::IndexOutOfRange { index: at, length: 2 });
        assert_eq!(value_of(&index(list.clone(), int(at))), expected);
    }
    let sum = binary(Operator::Add, list, make(Node::List([int(30)].into())));
    assert_eq!(value_of(&call(Function::Size, &[sum])), Ok(Value::Int(3)));
    assert_eq!(value_of(&binary(Operator::Add, text("a"), text("b"))), Ok(Value::string("ab")));
    let record = Value::Record([("n".into(), Value::Int(7))].into());
    let bound = bind([("r", record), ("t", Value::Tuple([Value::Unit, Value::Int(8)].into()))]);
    let member = make(Node::Member(Box::new(Expr::variable("r")), "n".into()));
    assert_eq!(value_in(&member, &bound), Ok(Value::Int(7)));
    assert_eq!(value_in(&index(Expr::variable("r"), text("n")), &bound), Ok(Value::Int(7)));
    assert_eq!(value_in(&index(Expr::variable("t"), int(1)), &bound), Ok(Value::Int(8)));
    let choice = |condition| make(Node::Conditional(Box::new([boolean(condition), int(1), int(2)])));
    assert_eq!(value_of(&choice(true)), Ok(Value::Int(1)));
    assert_eq!(value_of(&choice(false)), Ok(Value::Int(2)));
}

#[test]
fn strings() {
    let holds = |function, left, right| value_of(&call(function, &[text(left), text(right)]));
    assert_eq!(holds(Function::StartsWith, "abc", "ab"), Ok(Value::Bool(true)));
    assert_eq!(holds(Function::StartsWith, "abc", "bc"), Ok(Value::Bool(false)));
    assert_eq!(holds(Function::EndsWith, "abc", "bc"), Ok(Value::Bool(true)));
    assert_eq!(holds(Function::EndsWith, "abc", "ab"), Ok(Value::Bool(false)));
    assert_eq!(holds(Function::Contains, "abc", "b"), Ok(Value::Bool(true)));
    assert_eq!(holds(Function::Contains, "abc", "ac"), Ok(Value::Bool(false)));
    // Anywhere in the string, unless the pattern is anchored.
    assert_eq!(holds(Function::Matches, "1a2", "[a-z]"), Ok(Value::Bool(true)));
    assert_eq!(holds(Function::Matches, "1a2", "^[a-z]+$"), Ok(Value::Bool(false)));
    assert_eq!(value_of(&call(Function::Size, &[text("aé😀")])), Ok(Value::Int(3)));
    let bytes = Expr::literal(Literal::Bytes("é".as_bytes().into()));
    assert_eq!(value_of(&call(Function::Size, &[bytes])), Ok(Value::Int(2)));
}

#[test]
fn conversions() {
    let apply = |function, value| value_in(&call(function, &[Expr::variable("x")]), &bind([("x", value)]));
    let fails = |function: Function, value: Value| {
        let expected = EvalErrorKind::Conversion { function: function.name(), value: value.clone() };
        // NaN is unequal to itself, so the texts are compared.
        let expected = format!("{:?}", Err::<Value, _>(expected));
        assert_eq!(format!("{:?}", apply(function, value)), expected);
    };
    assert_eq!(apply(Function::Int, Value::Float(-1.9)), Ok(Value::Int(-1)));
    assert_eq!(apply(Function::Int, Value::string("-42")), Ok(Value::Int(-42)));
    assert_eq!(apply(Function::Int, Value::Int(3)), Ok(Value::Int(3)));
    assert_eq!(apply(Function::Int, Value::Float(-9_223_372_036_854_775_808.0)), Ok(Value::Int(i64::MIN)));
    fails(Function::Int, Value::Float(9_223_372_036_854_775_808.0));
    fails(Function::Int, Value::Float(f64::NAN));
    fails(Function::Int, Value::string("1.5"));
    fails(Function::Int, Value::string(""));
    assert_eq!(apply(Function::Float, Value::Int(2)), Ok(Value::Float(2.0)));
    assert_eq!(apply(Function::Float, Value::string("2.5")), Ok(Value::Float(2.5)));
    fails(Function::Float, Value::string("x"));
    assert_eq!(apply(Function::String, Value::Int(-2)), Ok(Value::string("-2")));
    assert_eq!(apply(Function::String, Value::Bool(true)), Ok(Value::string("true")));
    assert_eq!(apply(Function::String, Value::Float(0.1)), Ok(Value::string("0.1")));
    assert_eq!(apply(Function::String, Value::Bytes(b"ab".as_slice().into())), Ok(Value::string("ab")));
    fails(Function::String, Value::Bytes(b"\xff".as_slice().into()));
}

#[test]
fn numbers() {
    assert_eq!(value_of(&call(Function::Abs, &[int(-3)])), Ok(Value::Int(3)));
    assert_eq!(value_of(&call(Function::Abs, &[int(i64::MIN)])), overflows("abs"));
    assert_eq!(value_of(&call(Function::Min, &[int(2), int(1), int(3)])), Ok(Value::Int(1)));
    assert_eq!(value_of(&call(Function::Max, &[int(2), int(1), int(3)])), Ok(Value::Int(3)));
    let bound = bind([("nan", Value::Float(f64::NAN)), ("x", Value::Float(-1.5)), ("y", Value::Float(2.0))]);
    let apply = |function, args: &[&str]| {
        let args: Vec<_> = args.iter().map(|name| Expr::variable(name)).collect();
        value_in(&call(function, &args), &bound)
    };
    assert_eq!(apply(Function::Abs, &["x"]), Ok(Value::Float(1.5)));
    assert_eq!(apply(Function::Min, &["y", "x"]), Ok(Value::Float(-1.5)));
    assert_eq!(apply(Function::Max, &["x", "nan", "y"]), Ok(Value::Float(2.0)));
    assert!(matches!(apply(Function::Min, &["nan", "x"]), Ok(Value::Float(value)) if value.is_nan()));
}

#[test]
fn externals() {
    struct Longer;
    impl Externals for Longer {
        fn call(&self, name: &str, args: &[Value]) -> Result<Value, String> {
            match (name, args) {
                ("util.longer", [Value::String(left), Value::String(right)]) => {
                    Ok(Value::Bool(left.len() > right.len()))
                }
                _ => Err("no such predicate".to_owned()),
            }
        }
    }
    let applied = |name: &str| {
        let args = [text("abc"), text("ab")].into();
        Expr::new(Node::External { name: name.into(), args }, Place::new(3, 4)).unwrap()
    };
    assert_eq!(eval(&applied("util.longer"), &Bound::new(), &Longer), Ok(Value::Bool(true)));
    let error = eval(&applied("util.shorter"), &Bound::new(), &Longer).unwrap_err();
    assert_eq!(error.place, Place::new(3, 4));
    assert_eq!(error.to_string(), "`util.shorter` failed: no such predicate");
    assert!(eval(&applied("util.longer"), &Bound::new(), &NoExternals).is_err());
}

#[test]
fn errors_name_the_innermost_place() {
    let quotient = Node::Binary(Operator::Divide, Box::new([int(1), int(0)]));
    let quotient = Expr::new(quotient, Place::new(10, 15)).unwrap();
    let error = eval(&binary(Operator::Equal, quotient, int(1)), &Bound::new(), &NoExternals).unwrap_err();
    assert_eq!(error, EvalError { kind: EvalErrorKind::DivisionByZero, place: Place::new(10, 15) });
    let unbound = value_of(&Expr::variable("x"));
    assert_eq!(unbound, Err(EvalErrorKind::Unbound { name: "x".into() }));
}
