//! Cases of terms, matching, guards, verdicts and live slots.

use std::sync::Arc;

use super::guard::Condition;
use super::*;
use crate::expr::{Dialect, Function, Node as C, Operator as Op, Place, UnaryOperator};
use crate::value::erlang_order;
use crate::vocabulary::Origin;

const NONE: Origin = Origin::NONE;

fn atom(name: &str) -> Value {
    Value::atom(name)
}

fn condition(node: C<Slot>) -> Condition {
    Condition::new(node, Place::NONE).unwrap()
}

fn constant(term: Value) -> Condition {
    condition(C::Literal(term))
}

fn binary(op: Op, left: Condition, right: Condition) -> Condition {
    condition(C::Binary(op, Box::new([left, right])))
}

fn holds(dialect: Dialect, condition: Condition) -> bool {
    Guard { dialect, condition }.holds(&Vec::new())
}

fn receive(subject: Pattern, payload: Pattern) -> EventPattern {
    EventPattern { kind: Some(EventKind::Receive), subject, payload, ..EventPattern::any() }
}

#[test]
fn equality_is_exact_and_agrees_with_the_hash() {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let hash = |term: &Value| {
        let mut hasher = DefaultHasher::new();
        term.hash(&mut hasher);
        hasher.finish()
    };
    let record =
        |names: [&str; 2]| Value::Record(names.map(|name| (name.into(), Value::string(name))).into());
    let equal = [
        (Value::Float(0.0), Value::Float(-0.0)),
        (record(["a", "b"]), record(["b", "a"])),
        (Value::integer(7), Value::Int(7)),
    ];
    for (left, right) in equal {
        assert_eq!(left, right);
        assert_eq!(hash(&left), hash(&right));
    }
    let different = [
        (Value::Int(1), Value::Float(1.0)),
        (Value::string("ok"), atom("ok")),
        (record(["a", "b"]), record(["a", "c"])),
        (Value::List([].into()), Value::Tuple([].into())),
    ];
    for (left, right) in different {
        assert_ne!(left, right);
    }
}

#[test]
fn numbers_compare_by_value_however_large() {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let big = Value::integer(i128::from(i64::MAX) + 1);
    let cases = [
        (Term::Int(1), Term::Float(1.0), Equal),
        (Term::Int(i64::MAX), Term::Float(i64::MAX as f64), Less),
        (Term::Int(-1), Term::Float(-1.5), Greater),
        (Term::Int(i64::MAX), big.view(), Less),
        (Term::Big("-99999999999999999999"), Term::Int(i64::MIN), Less),
        (Term::Big("-99999999999999999999"), Term::Big("-100000000000000000000"), Greater),
        (Term::Atom("z"), Term::Int(9), Greater),
        (Term::Pid("<0.9.0>"), Term::Pid("<0.10.0>"), Less),
    ];
    for (left, right, order) in cases {
        assert_eq!(erlang_order(left, right), order, "{left} {right}");
        assert_eq!(erlang_order(right, left), order.reverse(), "{right} {left}");
    }
}

#[test]
fn a_variable_repeated_in_a_pattern_must_match_equal_terms() {
    let pair = receive(
        Pattern::Literal(atom("p")),
        Pattern::Tuple([Pattern::Bind(Slot(0)), Pattern::Test(Slot(0))].into()),
    );
    let event = |left, right| {
        let payload = Value::Tuple([Value::Int(left), Value::Int(right)].into());
        let (subject, payload) = (Term::Atom("p"), payload.view());
        let event = EventView { subject, payload, ..EventView::new(EventKind::Receive) };
        pair.matches(&event, &Vec::new()).map(|bound| bound.len())
    };
    assert_eq!(event(1, 1), Some(1));
    assert_eq!(event(1, 2), None);
}

#[test]
fn fields_are_found_by_position_and_by_name() {
    let name: Arc<str> = "id".into();
    let by_position = |count, open| Pattern::Fields {
        positions: vec![Pattern::Any; count].into(),
        names: Box::default(),
        open,
    };
    let by_name =
        Pattern::Fields { positions: Box::default(), names: [(name, Pattern::Any)].into(), open: true };
    let matches = |pattern: &Pattern, payload: Term<'_>| {
        let pattern = EventPattern { payload: pattern.clone(), ..EventPattern::any() };
        let event = EventView { payload, ..EventView::new(EventKind::Exchange) };
        pattern.matches(&event, &Vec::new()).is_some()
    };
    let members = [("id", Term::Int(1)), ("text", Term::Null)];
    let record = Term::Record(Fields::Terms(&members));
    let list = Term::List(Items::Terms(&[Term::Int(1)]));
    assert!(matches(&by_position(2, false), record));
    assert!(!matches(&by_position(1, false), record));
    assert!(matches(&by_position(1, true), record));
    assert!(matches(&by_name, record));
    assert!(matches(&by_position(1, false), list) && !matches(&by_name, list));
    assert!(matches(&by_position(1, false), Term::Text("scalar")));
    assert!(matches(&by_position(0, false), Term::Null) && matches(&by_position(0, false), Term::Absent));
    assert!(!matches(&by_position(0, false), list));
}

#[test]
fn keys_are_members_pointers_and_parts() {
    let user = [("id", Term::Int(7))];
    let tags = [Term::Text("x")];
    let keys = [
        ("status", Term::Int(500)),
        ("user", Term::Record(Fields::Terms(&user))),
        ("tags", Term::List(Items::Terms(&tags))),
    ];
    let event = EventView {
        subject: Term::Text("client"),
        keys: Fields::Terms(&keys),
        ..EventView::new(EventKind::Exchange)
    };
    let at = |key: Key| event.key(&key).map(|term| term.to_string());
    assert_eq!(at(Key::name("status")).as_deref(), Some("500"));
    assert_eq!(at(Key::pointer("/user/id").unwrap()).as_deref(), Some("7"));
    assert_eq!(at(Key::pointer("/tags/0").unwrap()).as_deref(), Some("\"x\""));
    assert_eq!(at(Key::pointer("/tags/00").unwrap()), None);
    assert_eq!(at(Key::name("from")).as_deref(), Some("\"client\""));
    assert_eq!(at(Key::name("to")), None);
    assert_eq!(Key::pointer("no"), None);
    assert_eq!(Key::pointer("/a~2"), None);
    assert_eq!(Key::pointer("/a~1b/~0").unwrap().to_string(), "/a~1b/~0");
}

#[test]
fn the_dialects_differ_where_their_languages_do() {
    let int = |value| constant(Value::Int(value));
    let wrong = || binary(Op::Less, int(1), constant(Value::string("a")));
    let yes = || constant(Value::Bool(true));
    // CEL lets an operand that decides do so, Erlang goes from left to right.
    assert!(holds(Dialect::Native, condition(C::Or([wrong(), yes()].into()))));
    let failing = condition(C::Call(Function::Head, [constant(Value::List([].into()))].into()));
    let failing = || binary(Op::Equal, failing.clone(), int(1));
    assert!(!holds(Dialect::Erlang, condition(C::OrElse([failing(), yes()].into()))));
    assert!(holds(Dialect::Erlang, condition(C::OrElse([yes(), failing()].into()))));
    assert!(holds(Dialect::Erlang, condition(C::Or([failing(), yes()].into()))));
    // Numbers and strings have no order in CEL, and one in Erlang.
    assert!(!holds(Dialect::Native, wrong()));
    assert!(holds(Dialect::Erlang, binary(Op::Less, int(1), constant(atom("a")))));
    // 1 == 1.0, but not 1 =:= 1.0.
    let one = || constant(Value::Float(1.0));
    assert!(holds(Dialect::Erlang, binary(Op::Equal, int(1), one())));
    assert!(!holds(Dialect::Erlang, binary(Op::Identical, int(1), one())));
    // Sums of 64-bit integers do not overflow.
    let sum = || binary(Op::Add, int(i64::MAX), int(i64::MAX));
    assert!(holds(Dialect::Native, binary(Op::Greater, sum(), int(i64::MAX))));
    let big = constant(Value::integer(2 * i128::from(i64::MAX)));
    assert!(holds(Dialect::Erlang, binary(Op::Identical, sum(), big)));
    // A guard without a value does not hold, nor does its negation.
    let zero = || binary(Op::Equal, binary(Op::Divide, int(1), int(0)), int(1));
    assert!(!holds(Dialect::Native, zero()));
    assert!(!holds(Dialect::Native, condition(C::Unary(UnaryOperator::Not, Box::new(zero())))));
}

#[test]
fn mistakes_in_guards_are_found_once() {
    let int = |value| constant(Value::Int(value));
    let slot = || condition(C::Variable(Slot(0)));
    let mistakes = |condition| Guard { dialect: Dialect::Native, condition }.mistakes(&[]).len();
    assert_eq!(mistakes(slot()), 0);
    assert_eq!(mistakes(int(1)), 1);
    assert_eq!(mistakes(binary(Op::Less, slot(), int(1))), 0);
    assert_eq!(mistakes(binary(Op::Less, constant(Value::string("a")), int(1))), 1);
    assert_eq!(mistakes(binary(Op::Add, slot(), slot())), 1, "a sum is no condition");
    assert_eq!(mistakes(condition(C::And([slot(), int(1)].into()))), 1);
}

/// `[.]`, `<.>`, …, over a pattern that everything matches.
fn property(build: impl FnOnce(&mut PropertyBuilder) -> FormulaId) -> Result<Property, Vec<PropertyError>> {
    let mut builder = PropertyBuilder::new();
    let root = build(&mut builder);
    builder.finish("p".into(), "".into(), NONE, Scope::Stream, root)
}

fn modal(builder: &mut PropertyBuilder, modality: Modality, next: FormulaId) -> FormulaId {
    let pattern = builder.pattern(EventPattern::any());
    builder.add(Formula::Modal { modality, pattern, next }, NONE)
}

#[test]
fn a_property_gives_one_kind_of_verdict_or_none() {
    use Modality::{Necessity, Possibility};
    let polarity = |build: fn(&mut PropertyBuilder) -> FormulaId| property(build).unwrap().polarity();
    assert_eq!(polarity(|b| b.add(Formula::False, NONE)), Some(Polarity::Violation));
    assert_eq!(polarity(|b| b.add(Formula::True, NONE)), Some(Polarity::Satisfaction));
    let necessity = |b: &mut PropertyBuilder| {
        let ff = b.add(Formula::False, NONE);
        modal(b, Necessity, ff)
    };
    let possibility = |b: &mut PropertyBuilder| {
        let tt = b.add(Formula::True, NONE);
        modal(b, Possibility, tt)
    };
    let both = |b: &mut PropertyBuilder| [necessity(b), possibility(b)].into();
    assert_eq!(
        property(|b| {
            let parts = both(b);
            b.add(Formula::And(parts), NONE)
        })
        .unwrap()
        .polarity(),
        Some(Polarity::Violation)
    );
    assert_eq!(
        property(|b| {
            let parts = both(b);
            b.add(Formula::Or(parts), NONE)
        })
        .unwrap()
        .polarity(),
        Some(Polarity::Satisfaction)
    );
    let never = |b: &mut PropertyBuilder| {
        let next = possibility(b);
        modal(b, Necessity, next)
    };
    assert_eq!(property(never).unwrap().polarity(), None);
}

#[test]
fn recursion_without_an_event_in_between_is_refused() {
    let silent = property(|b| {
        let definition = b.reserve(Origin(1));
        let call = b.add(Formula::Call { target: definition }, Origin(3));
        let ff = b.add(Formula::False, Origin(4));
        let body = b.add(Formula::And([call, ff].into()), Origin(2));
        b.set(definition, Formula::Fixpoint { fixpoint: Fixpoint::Greatest, name: "X".into(), body });
        definition
    });
    let path = vec![Origin(1), Origin(2), Origin(3)];
    let errors = silent.unwrap_err();
    assert_eq!(errors, [PropertyError::Unguarded { definition: Origin(1), path }]);
}

#[test]
fn a_long_formula_is_no_deep_recursion_and_keeps_only_live_slots() {
    let long = property(|b| {
        let slot = b.slot("v".into(), NONE);
        let mut next = b.add(Formula::False, NONE);
        let test = b.pattern(receive(Pattern::Test(slot), Pattern::Any));
        next = b.add(Formula::Modal { modality: Modality::Necessity, pattern: test, next }, NONE);
        for _ in 0..100_000 {
            next = modal(b, Modality::Necessity, next);
        }
        let bind = b.pattern(receive(Pattern::Bind(slot), Pattern::Any));
        b.add(Formula::Modal { modality: Modality::Necessity, pattern: bind, next }, NONE)
    })
    .unwrap();
    assert_eq!(long.polarity(), Some(Polarity::Violation));
    let live = LiveSlots::of(&long);
    assert_eq!(live.at(long.root()).count(), 0);
    assert_eq!(live.at(FormulaId(0)).count(), 0, "ff reads nothing");
    assert_eq!(live.at(FormulaId(5)).collect::<Vec<_>>(), [Slot(0)]);
}
