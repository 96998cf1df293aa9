//! The guards of properties mean what `docs/expressions.md` says, in both dialects: compared with
//! `referee_reference::guard` on every operator and function over all pairs of a set of values that has each kind and each
//! corner, on every connective over every truth value and none, and on random trees.

use referee_reference::guard::{Datum, Slots, value};
use referee_testkit::choices::{Choices, Random, law_seeds};
use referee_theory::expr::{
    CompiledPattern, Dialect, Function as F, Node as C, Operator as Op, Place, UnaryOperator,
};
use referee_theory::property::guard::Condition;
use referee_theory::property::{Guard, Slot, Value};

const DIALECTS: [Dialect; 2] = [Dialect::Native, Dialect::Erlang];

const OPERATORS: [Op; 20] = [
    Op::Equal,
    Op::NotEqual,
    Op::Identical,
    Op::NotIdentical,
    Op::Less,
    Op::LessEqual,
    Op::Greater,
    Op::GreaterEqual,
    Op::In,
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::Divide,
    Op::FloatDivide,
    Op::IntDivide,
    Op::Remainder,
    Op::StrictAnd,
    Op::StrictOr,
    Op::StrictXor,
    Op::Append,
];

const FUNCTIONS: [F; 27] = [
    F::Size,
    F::Length,
    F::TupleSize,
    F::Head,
    F::Tail,
    F::Element,
    F::StartsWith,
    F::EndsWith,
    F::Contains,
    F::Int,
    F::Round,
    F::Float,
    F::String,
    F::Abs,
    F::Min,
    F::Max,
    F::IsAtom,
    F::IsBoolean,
    F::IsText,
    F::IsRecord,
    F::IsInteger,
    F::IsFloat,
    F::IsNumber,
    F::IsList,
    F::IsTuple,
    F::IsPid,
    F::IsReference,
];

fn terms() -> Vec<Value> {
    let int = Value::Int;
    let text = |text: &str| Value::String(text.into());
    let list = |items: &[Value]| Value::List(items.into());
    let record = |members: &[(&str, Value)]| {
        Value::Record(members.iter().map(|(name, term)| ((*name).into(), term.clone())).collect())
    };
    let mut terms = vec![Value::Unit, Value::Bool(true), Value::Bool(false)];
    terms.extend([0, 1, -1, 2, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN].map(int));
    // 2⁶⁴, its neighbours, what 128 bits just hold, and what they do not.
    let big = [(1_i128 << 64) - 1, 1 << 64, (1 << 64) + 1, -(1 << 64) - 1, i128::MAX, i128::MIN];
    terms.extend(big.map(Value::integer));
    terms.extend(["1", "-1"].map(|sign| Value::Big(format!("{sign}{}", "0".repeat(400)).into())));
    let floats =
        [0.0, -0.0, 1.0, -1.5, 0.5, 2.5, 9_007_199_254_740_992.0, 9_223_372_036_854_775_807.0, 1e300, 5e-324];
    terms.extend(floats.into_iter().chain([18_446_744_073_709_551_616.0]).map(Value::Float));
    terms.extend(["", "a", "ab", "é", "1", "1.5", "true", "inf", "ok"].map(text));
    terms.extend(["ok", "a", "zz"].map(Value::atom));
    terms.extend(["<0.9.0>", "<0.10.0>"].map(|name| Value::Pid(name.into())));
    terms.push(Value::Reference("#Ref<0.1.2.3>".into()));
    terms.extend([0, 1_500_000_000, i64::MAX, i64::MIN].map(Value::Time));
    terms.extend([0, 1, -1, 5_000_000_000, i64::MAX, i64::MIN].map(Value::Duration));
    terms.extend([
        Value::Tuple([].into()),
        Value::Tuple([int(1)].into()),
        Value::Tuple([Value::Float(1.0), text("a")].into()),
        Value::Tuple([int(1), Value::atom("a")].into()),
        list(&[]),
        list(&[int(1)]),
        list(&[Value::Float(1.0)]),
        list(&[Value::atom("a"), list(&[int(2)])]),
        record(&[]),
        record(&[("a", int(1))]),
        record(&[("a", Value::Float(1.0)), ("ok", text("x"))]),
        record(&[("ok", text("x")), ("a", int(1))]),
        record(&[("b", int(1))]),
    ]);
    terms
}

fn arity(function: F) -> usize {
    match function {
        F::Element | F::StartsWith | F::EndsWith | F::Contains | F::Min | F::Max => 2,
        _ => 1,
    }
}

fn condition(node: C<Slot>) -> Condition {
    Condition::new(node, Place::NONE).unwrap()
}

fn constant(term: &Value) -> Condition {
    condition(C::Literal(term.clone()))
}

/// What is equal to itself in every way that guards can see.
fn is(found: Option<&Datum>, condition: &Condition, dialect: Dialect, environment: &[Option<Value>]) {
    // The value is seen through guards only: it is the constant it should be, and of the same kind.
    let holds = |condition: Condition| Guard { dialect, condition }.holds(&environment.to_vec());
    let same = |datum: &Datum| {
        let pair = Box::new([condition.clone(), constant(&term(datum))]);
        self::condition(C::Binary(Op::Identical, pair))
    };
    match found {
        Some(datum) => {
            assert!(holds(same(datum)), "{dialect:?} {condition:?} is {datum:?} under {environment:?}")
        }
        // Without a value, it equals nothing and differs from nothing.
        None => {
            let null = || Box::new([condition.clone(), constant(&Value::Unit)]);
            let either = [Op::Identical, Op::NotIdentical].map(|op| self::condition(C::Binary(op, null())));
            assert!(
                !either.into_iter().any(holds),
                "{dialect:?} {condition:?} has a value under {environment:?}"
            );
        }
    }
}

fn term(datum: &Datum) -> Value {
    let all = |items: &[Datum]| items.iter().map(term).collect();
    match datum {
        Datum::Null => Value::Unit,
        Datum::Bool(value) => Value::Bool(*value),
        Datum::Int(digits) => match digits.parse() {
            Ok(value) => Value::Int(value),
            Err(_) => Value::Big(digits.as_str().into()),
        },
        Datum::Float(value) => Value::Float(*value),
        Datum::Text(text) => Value::String(text.as_str().into()),
        Datum::Atom(name) => Value::Atom(name.as_str().into()),
        Datum::Pid(name) => Value::Pid(name.as_str().into()),
        Datum::Reference(name) => Value::Reference(name.as_str().into()),
        Datum::Tuple(items) => Value::Tuple(all(items)),
        Datum::List(items) => Value::List(all(items)),
        Datum::Time(nanoseconds) => Value::Time(*nanoseconds),
        Datum::Duration(nanoseconds) => Value::Duration(*nanoseconds),
        Datum::Record(members) => {
            Value::Record(members.iter().map(|(name, value)| (name.as_str().into(), term(value))).collect())
        }
    }
}

/// Compares both readings; whether there was a value.
fn check(condition: &Condition, environment: &[Option<Value>]) -> [bool; 2] {
    let known = environment.iter().enumerate();
    let slots: Slots =
        known.filter_map(|(slot, term)| Some((slot as u32, Datum::of(term.as_ref()?.view())?))).collect();
    DIALECTS.map(|dialect| {
        let expected = value(dialect, condition, &slots);
        is(expected.as_ref(), condition, dialect, environment);
        expected.is_some()
    })
}

/// Counts cases with a value and without, so that neither is all there is.
#[derive(Default)]
struct Tally {
    with: usize,
    without: usize,
}

impl Tally {
    fn check(&mut self, condition: &Condition, environment: &[Option<Value>]) {
        for has_value in check(condition, environment) {
            *(if has_value { &mut self.with } else { &mut self.without }) += 1;
        }
    }

    fn at_least(&self, with: usize, without: usize) {
        assert!(self.with >= with && self.without >= without, "{} with, {} without", self.with, self.without);
    }
}

#[test]
fn every_operator_on_every_pair() {
    let (terms, mut tally) = (terms(), Tally::default());
    for operator in OPERATORS {
        for left in &terms {
            for right in &terms {
                let pair = Box::new([constant(left), constant(right)]);
                tally.check(&condition(C::Binary(operator, pair)), &[]);
            }
        }
    }
    tally.at_least(50_000, 20_000);
}

#[test]
fn every_function_on_every_pair_and_alone() {
    let (terms, mut tally) = (terms(), Tally::default());
    for function in FUNCTIONS {
        for first in &terms {
            let pairs = arity(function) == 2;
            if !pairs {
                tally.check(&condition(C::Call(function, [constant(first)].into())), &[]);
            }
            for second in terms.iter().filter(|_| pairs) {
                let args = [constant(first), constant(second)].into();
                tally.check(&condition(C::Call(function, args)), &[]);
            }
        }
    }
    tally.at_least(5_000, 10_000);
}

#[test]
fn every_place_in_every_value() {
    let (terms, mut tally) = (terms(), Tally::default());
    let pattern = CompiledPattern::new("^a|é").unwrap();
    for container in &terms {
        for node in [
            C::Unary(UnaryOperator::Not, Box::new(constant(container))),
            C::Unary(UnaryOperator::Negate, Box::new(constant(container))),
            C::Member(Box::new(constant(container)), "a".into()),
            C::Matches(Box::new(constant(container)), pattern.clone()),
            C::List([constant(container)].into()),
            C::Tuple([constant(container), condition(C::Variable(Slot(7)))].into()),
        ] {
            tally.check(&condition(node), &[]);
        }
        for index in &terms {
            tally.check(&condition(C::Index(Box::new([constant(container), constant(index)]))), &[]);
        }
    }
    tally.at_least(200, 2_000);
}

#[test]
fn every_connective_of_every_truth_and_none() {
    let mut tally = Tally::default();
    let none = condition(C::Call(F::Head, [constant(&Value::List([].into()))].into()));
    let missing = condition(C::Variable(Slot(0)));
    let leaves = [
        constant(&Value::Bool(true)),
        constant(&Value::Bool(false)),
        constant(&Value::Int(1)),
        none,
        missing,
    ];
    for a in &leaves {
        for b in &leaves {
            for c in &leaves {
                let all = || Box::new([a.clone(), b.clone(), c.clone()]);
                for node in
                    [C::And(all()), C::Or(all()), C::AndAlso(all()), C::OrElse(all()), C::Conditional(all())]
                {
                    tally.check(&condition(node), &[None]);
                }
            }
        }
    }
    tally.at_least(200, 300);
}

#[test]
fn random_trees_over_slots() {
    let (terms, mut tally) = (terms(), Tally::default());
    for seed in law_seeds(4_000) {
        let random = &mut Random::new(seed);
        let environment: Vec<_> =
            (0..3).map(|_| random.chance(4, 5).then(|| random.pick(&terms).clone())).collect();
        let tree = tree(random, &terms, 4);
        tally.check(&tree, &environment);
    }
    tally.at_least(1_000, 1_000);
}

fn tree(random: &mut Random, terms: &[Value], depth: usize) -> Condition {
    let part = |random: &mut Random| tree(random, terms, depth - 1);
    condition(match random.choose(if depth == 0 { 2 } else { 10 }) {
        0 => C::Literal(random.pick(terms).clone()),
        1 => C::Variable(Slot(random.choose(3) as u32)),
        2 | 3 => C::Binary(*random.pick(&OPERATORS), Box::new([part(random), part(random)])),
        4 | 5 => {
            let function = *random.pick(&FUNCTIONS);
            let args = (0..arity(function)).map(|_| part(random)).collect();
            C::Call(function, args)
        }
        6 => {
            let parts: Box<[Condition]> = [part(random), part(random)].into();
            [C::And, C::Or, C::AndAlso, C::OrElse][random.choose(4)](parts)
        }
        7 => C::Conditional(Box::new([part(random), part(random), part(random)])),
        8 => C::Unary(UnaryOperator::Not, Box::new(part(random))),
        _ => C::List([part(random)].into()),
    })
}
