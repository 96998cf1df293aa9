//! Linear conditions: what can hold, against trying all values.

use std::sync::Arc;

use referee_testkit::choices::{Choices as _, Random};
use referee_theory::Type;
use referee_theory::expr::{Expr, Literal, NoExternals, Node, Operator, Place, UnaryOperator, Value, eval};
use referee_theory::linear::{Answer, Condition};

fn make(node: Node) -> Expr {
    Expr::new(node, Place::NONE).expect("shallow")
}

fn binary(operator: Operator, left: Expr, right: Expr) -> Expr {
    make(Node::Binary(operator, Box::new([left, right])))
}

fn int(value: i64) -> Expr {
    Expr::literal(Literal::Int(value))
}

fn between(name: &str, low: i64, high: i64) -> Expr {
    let above = binary(Operator::GreaterEqual, Expr::variable(name), int(low));
    make(Node::And([above, binary(Operator::LessEqual, Expr::variable(name), int(high))].into()))
}

/// Comparisons of small sums of x and y.
fn atoms() -> Vec<Expr> {
    let mut atoms =
        vec![Expr::variable("t"), make(Node::Unary(UnaryOperator::Not, Box::new(Expr::variable("t"))))];
    for operator in
        [Operator::Less, Operator::LessEqual, Operator::Equal, Operator::NotEqual, Operator::Greater]
    {
        for (a, b) in [(1, 0), (1, 1), (1, -1), (2, -1), (2, 3)] {
            for c in [-1, 1] {
                let term = |factor, name: &str| binary(Operator::Multiply, int(factor), Expr::variable(name));
                let sum = binary(Operator::Add, term(a, "x"), term(b, "y"));
                atoms.push(binary(operator, sum, int(c)));
            }
        }
    }
    for (operator, by, value) in [
        (Operator::Equal, 2, 0),
        (Operator::Equal, 2, 1),
        (Operator::NotEqual, 3, 0),
        (Operator::Less, 3, 0),
        (Operator::Equal, -3, -2),
        (Operator::Equal, 4, 3),
    ] {
        for (a, b) in [(1, 0), (1, 1), (2, -1), (3, 2)] {
            let term = |factor, name: &str| binary(Operator::Multiply, int(factor), Expr::variable(name));
            let sum = binary(Operator::Add, term(a, "x"), term(b, "y"));
            atoms.push(binary(operator, binary(Operator::Remainder, sum, int(by)), int(value)));
        }
    }
    atoms
}

const RANGE: std::ops::RangeInclusive<i64> = -3..=3;

/// Whether `expr` holds for some values of the range; of t, with `t` as given.
fn tried(expr: &Expr) -> bool {
    let mut found = false;
    for x in RANGE {
        for y in RANGE {
            for t in [false, true] {
                let values: std::collections::HashMap<Arc<str>, Value> = [
                    (Arc::from("x"), Value::Int(x)),
                    (Arc::from("y"), Value::Int(y)),
                    (Arc::from("t"), Value::Bool(t)),
                ]
                .into();
                found |= eval(expr, &values, &NoExternals) == Ok(Value::Bool(true));
            }
        }
    }
    found
}

/// All conjunctions and disjunctions of two comparisons, one of them perhaps negated, in a small range.
#[test]
fn what_can_hold_can_be_found() {
    let types = |name: &str| Some(if name == "t" { Type::Bool } else { Type::Int });
    let (mut yes, mut no, mut undecided) = (0, 0, 0);
    let atoms = atoms();
    for left in &atoms {
        for right in &atoms {
            for both in [true, false] {
                let right = make(Node::Unary(UnaryOperator::Not, Box::new(right.clone())));
                let operands = [left.clone(), right].into();
                let joined = make(if both { Node::And(operands) } else { Node::Or(operands) });
                let expr = make(Node::And([between("x", -3, 3), between("y", -3, 3), joined].into()));
                match (Condition::of(&expr, &types).expect("linear").can_hold(), tried(&expr)) {
                    (Answer::Yes, true) => yes += 1,
                    (Answer::No, false) => no += 1,
                    (Answer::Undecided, _) => undecided += 1,
                    (answer, tried) => panic!("{answer:?}, but {tried}: {expr}"),
                }
            }
        }
    }
    assert!(yes > 2000 && no > 50 && undecided < yes, "{yes} {no} {undecided}");
}

/// What must hold of x for some y is what trying all y says, and its opposite is the opposite.
#[test]
fn eliminating_a_variable_is_exact() {
    let types = |name: &str| Some(if name == "t" { Type::Bool } else { Type::Int });
    let mut exact = 0;
    for atom in atoms() {
        let expr = make(Node::And([between("y", -3, 3), atom].into()));
        let Ok(of_x) = Condition::of(&expr, &types).expect("linear").without(&["y".into(), "t".into()])
        else {
            continue;
        };
        // The opposite of many cases is too large.
        let Ok(opposite) = of_x.not() else { continue };
        exact += 1;
        for x in RANGE {
            let is_x = Condition::of(&between("x", x, x), &types).expect("linear");
            let fixed = make(Node::And([between("x", x, x), expr.clone()].into()));
            let expected = if tried(&fixed) { (Answer::Yes, Answer::No) } else { (Answer::No, Answer::Yes) };
            let found = [&of_x, &opposite].map(|condition| condition.and(&is_x).expect("small").can_hold());
            assert_eq!((found[0], found[1]), expected, "{expr} at {x}");
        }
    }
    assert!(exact > 20, "{exact}");
}

/// Remainders are decided for integers of any size, not for those of a range only.
#[test]
fn remainders_are_decided() {
    let types = |_: &str| Some(Type::Int);
    let rest = |name: &str, by| binary(Operator::Remainder, Expr::variable(name), int(by));
    let is = |left, right| binary(Operator::Equal, left, right);
    let sum = |left, right| binary(Operator::Add, left, right);
    let all = |operands: Vec<Expr>| make(Node::And(operands.into()));
    let twice = |name: &str| binary(Operator::Multiply, int(2), Expr::variable(name));
    for (expr, answer) in [
        (all(vec![is(rest("x", 2), int(0)), is(rest("x", 2), int(1))]), Answer::No),
        (all(vec![is(rest("x", 2), int(0)), is(rest("x", 3), int(2))]), Answer::Yes),
        (all(vec![is(rest("x", 4), int(1)), is(rest("x", 6), int(2))]), Answer::No),
        (all(vec![is(rest("x", 4), int(1)), is(rest("x", 6), int(3))]), Answer::Yes),
        // A remainder has the sign of what is divided.
        (all(vec![is(rest("x", 5), int(-2)), between("x", 0, 1000)]), Answer::No),
        (all(vec![is(rest("x", 5), int(-2)), between("x", -1000, 0)]), Answer::Yes),
        (is(rest("x", 5), int(5)), Answer::No),
        // Of an even and an odd number the sum is odd.
        (
            all(vec![
                is(rest("x", 2), int(0)),
                is(rest("y", 2), int(1)),
                is(sum(Expr::variable("x"), Expr::variable("y")), twice("z")),
            ]),
            Answer::No,
        ),
        (
            all(vec![
                is(rest("x", 2), int(0)),
                is(rest("y", 2), int(0)),
                is(sum(Expr::variable("x"), Expr::variable("y")), twice("z")),
            ]),
            Answer::Yes,
        ),
    ] {
        assert_eq!(Condition::of(&expr, &types).expect("linear").can_hold(), answer, "{expr}");
    }
    // Too many remainders are not looked at.
    assert!(Condition::of(&is(rest("x", 100_000), int(1)), &types).is_err());
    assert!(Condition::of(&is(rest("x", 0), int(1)), &types).is_err());
}

/// Sums, also of multiples of the divisor, with remainders on one side: what is decided is what trying all values says.
#[test]
fn remainders_of_sums_are_decided_right() {
    let types = |_: &str| Some(Type::Int);
    let term = |factor, name: &str| binary(Operator::Multiply, int(factor), Expr::variable(name));
    let sum = |(a, b, c)| binary(Operator::Add, binary(Operator::Add, term(a, "x"), term(b, "y")), int(c));
    let operators = [
        Operator::Less,
        Operator::LessEqual,
        Operator::Equal,
        Operator::NotEqual,
        Operator::Greater,
        Operator::GreaterEqual,
    ];
    let mut random = Random::new(4);
    let (mut yes, mut no, mut undecided) = (0, 0, 0);
    for _ in 0..4000 {
        let mut linear = |most: usize| {
            let mut draw = || random.choose(2 * most + 1) as i64 - most as i64;
            (draw(), draw(), draw())
        };
        // Remainders repeat: what holds anywhere where they stand against a constant holds within the range.
        let (left, (by, ..), right) = (linear(4), linear(5), (0, 0, linear(3).2));
        if by == 0 {
            continue;
        }
        let remainder = binary(Operator::Remainder, sum(left), int(by));
        let expr = binary(*random.pick(&operators), remainder, sum(right));
        let holds = (-10..=10).any(|x| (-10..=10).any(|y| holds_at(&expr, x, y)));
        let range = make(Node::And([between("x", -10, 10), between("y", -10, 10), expr.clone()].into()));
        for condition in [&expr, &range] {
            let Ok(condition) = Condition::of(condition, &types) else { continue };
            match condition.can_hold() {
                Answer::Undecided => undecided += 1,
                Answer::Yes if holds => yes += 1,
                Answer::No if !holds => no += 1,
                answer => panic!("{expr}: {answer:?}"),
            }
        }
        // For which x there is some y.
        if let Ok(of_x) = Condition::of(&range, &types).and_then(|condition| condition.without(&["y".into()]))
        {
            for x in [-3, 0, 4] {
                let is_x = Condition::of(&between("x", x, x), &types).expect("linear");
                let expected = (-10..=10).any(|y| holds_at(&expr, x, y));
                let found = of_x.and(&is_x).expect("small").can_hold();
                assert!(
                    found == Answer::Undecided || (found == Answer::Yes) == expected,
                    "{expr} at {x}: {found:?}"
                );
            }
        }
    }
    assert!(yes > 3000 && no > 300 && undecided < 300, "{yes} {no} {undecided}");
}

fn holds_at(expr: &Expr, x: i64, y: i64) -> bool {
    let values: std::collections::HashMap<Arc<str>, Value> =
        [("x".into(), Value::Int(x)), ("y".into(), Value::Int(y))].into();
    eval(expr, &values, &NoExternals) == Ok(Value::Bool(true))
}

/// Equality of truth values: both hold, or neither. Every pair of conditions over numbers and truth values.
#[test]
fn truth_values_may_be_equal() {
    let types = |name: &str| Some(if matches!(name, "t" | "u") { Type::Bool } else { Type::Int });
    let not = |expr: Expr| make(Node::Unary(UnaryOperator::Not, Box::new(expr)));
    let mut truths = vec![Expr::variable("t"), Expr::variable("u"), Expr::literal(Literal::Bool(true))];
    truths.extend([
        binary(Operator::Greater, Expr::variable("x"), int(1)),
        binary(Operator::Equal, Expr::variable("x"), int(2)),
        make(Node::And([Expr::variable("t"), binary(Operator::Less, Expr::variable("x"), int(2))].into())),
    ]);
    truths.extend(truths.clone().into_iter().map(not));
    let equalities: Vec<Expr> = truths
        .iter()
        .flat_map(|left| truths.iter().map(move |right| (left, right)))
        .flat_map(|(left, right)| {
            [Operator::Equal, Operator::NotEqual].map(|is| binary(is, left.clone(), right.clone()))
        })
        .collect();
    let (mut yes, mut no) = (0, 0);
    for (at, left) in equalities.iter().enumerate() {
        for right in equalities.iter().skip(at % 7).step_by(7) {
            for other in [right.clone(), binary(Operator::Equal, right.clone(), left.clone())] {
                let expr = make(Node::And([between("x", 0, 3), left.clone(), other].into()));
                let found = tried_with(&expr);
                let answer = Condition::of(&expr, &types).expect("decided").can_hold();
                assert_eq!(answer, if found { Answer::Yes } else { Answer::No }, "{expr}");
                if found { yes += 1 } else { no += 1 }
            }
        }
    }
    assert!(yes > 1000 && no > 200, "{yes} {no}");
    // Each part is looked at once, however deep they are.
    let deep = (0..60).fold(Expr::variable("t"), |inner, _| {
        binary(Operator::Equal, make(Node::And([inner, Expr::variable("t")].into())), Expr::variable("t"))
    });
    assert_ne!(Condition::of(&deep, &types).map(|all| all.can_hold()), Ok(Answer::No));
}

/// Whether `expr` holds for some x from 0 to 3 and some t and u.
fn tried_with(expr: &Expr) -> bool {
    let both = [false, true];
    let values = (0..=3).flat_map(|x| both.map(|t| (x, t))).flat_map(|(x, t)| both.map(|u| (x, t, u)));
    values.into_iter().any(|(x, t, u)| {
        let values: std::collections::HashMap<Arc<str>, Value> =
            [("x".into(), Value::Int(x)), ("t".into(), Value::Bool(t)), ("u".into(), Value::Bool(u))].into();
        eval(expr, &values, &NoExternals) == Ok(Value::Bool(true))
    })
}
