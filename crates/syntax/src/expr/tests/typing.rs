//! Every kind of type error from text, with its place; and what the types of good expressions are.

use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::{
    Arity, Expected, Fix, Place, Position, Scope, Signature, TypeError, TypeErrorKind, check, check_assertion,
};

use super::super::{Dialect, parse};

/// One variable of each type, called by its first letter, and one declared predicate.
fn scope() -> Scope {
    let mut scope = Scope::new();
    let record: Arc<[(Arc<str>, Type)]> = [("name".into(), Type::String), ("age".into(), Type::Int)].into();
    scope.bind("u", Type::Unit);
    scope.bind("b", Type::Bool);
    scope.bind("i", Type::Int);
    scope.bind("f", Type::Float);
    scope.bind("s", Type::String);
    scope.bind("y", Type::Bytes);
    scope.bind("l", Type::list(Type::Int));
    scope.bind("t", Type::Tuple([Type::Int, Type::String].into()));
    scope.bind("r", Type::Record(record));
    scope.bind("o", Type::opaque("Token"));
    scope.bind("p", Type::opaque("Other"));
    let parameters = [Type::opaque("Token"), Type::list(Type::Int)].into();
    scope.declare("util.valid", Signature { parameters, result: Type::Int });
    scope
}

#[track_caller]
fn types(text: &str, expected: &str) {
    let expr = parse(text, 0, Dialect::Cel).unwrap();
    match check(&expr, &scope()) {
        Ok(checked) => assert_eq!(checked.ty.to_string(), expected, "{text}"),
        Err(errors) => panic!("{text}: {errors:?}"),
    }
}

#[track_caller]
fn errors(text: &str) -> Vec<TypeError> {
    check(&parse(text, 0, Dialect::Cel).unwrap(), &scope()).expect_err(text)
}

/// `text` has one mistake, at the bytes of the last `at` in it.
#[track_caller]
fn fails(text: &str, at: &str, kind: TypeErrorKind) {
    let start = u32::try_from(text.rfind(at).unwrap()).unwrap();
    let end = start + u32::try_from(at.len()).unwrap();
    assert_eq!(errors(text), [TypeError { kind, place: Place::new(start, end) }], "{text}");
}

#[test]
fn good_expressions() {
    types("i + 1 < 3 && f * 2.0 >= 1.5 || s + \"x\" == s", "bool");
    types("y + b\"x\"", "bytes");
    types("l + [1] + []", "list<int>");
    types("[] + l", "list<int>");
    types("[] == l && l != []", "bool");
    types("[[], [1]]", "list<list<int>>");
    types("i in [] || i in l", "bool");
    types("b ? [] : l", "list<int>");
    types("b ? l : []", "list<int>");
    types("t[1]", "string");
    types("r.age + r[\"age\"] + l[i]", "int");
    types("-f", "float");
    types("i % 2", "int");
    types("size(s) + y.size() + size(l)", "int");
    types("min(f, 1.0, abs(f))", "float");
    types("string(i) + string(b) + string(f) + string(y)", "string");
    types("int(s) + int(f) + int(i)", "int");
    types("double(i) + double(s)", "float");
    types("s.matches(\"^a+$\")", "bool");
    types("util.valid(o, [])", "int");
    types("o == o && o in [o] && (b ? o : o) != o", "bool");
    types("u == u && t == t && r == r && b < true && y <= y", "bool");
}

fn name(text: &str) -> Arc<str> {
    text.into()
}

#[test]
fn names() {
    let variables = ["u", "b", "i", "f", "s", "y", "l", "t", "r", "o", "p"].map(name).to_vec();
    fails("i == x", "x", TypeErrorKind::UnknownVariable { name: name("x"), candidates: variables });
    let candidates: Vec<_> = ["util.valid", "size", "startsWith", "endsWith", "contains", "matches", "int"]
        .into_iter()
        .chain(["double", "string", "abs", "min", "max"])
        .map(name)
        .collect();
    fails(
        "b && util.vald(o)",
        "util.vald(o)",
        TypeErrorKind::UnknownFunction { name: name("util.vald"), candidates },
    );
    let record = Type::Record([("name".into(), Type::String), ("age".into(), Type::Int)].into());
    let candidates = vec![name("name"), name("age")];
    let kind = TypeErrorKind::UnknownField { field: name("nam"), record, candidates };
    fails("r.nam", "r.nam", kind.clone());
    fails("r[\"nam\"]", "r[\"nam\"]", kind);
    fails("s.f", "s.f", TypeErrorKind::NotARecord { field: name("f"), found: Type::String });
}

#[test]
fn calls() {
    let arity = |function: &str, expected, found| TypeErrorKind::WrongArity {
        function: name(function),
        expected,
        found,
    };
    fails("size()", "size()", arity("size", Arity::Exactly(1), 0));
    fails("s.contains(s, s)", "s.contains(s, s)", arity("contains", Arity::Exactly(2), 3));
    fails("max(i)", "max(i)", arity("max", Arity::AtLeast(2), 1));
    fails("util.valid(o)", "util.valid(o)", arity("util.valid", Arity::Exactly(2), 1));
    let argument = |function: &str, position, expected, found| TypeErrorKind::WrongArgument {
        function: name(function),
        position,
        expected,
        found,
    };
    fails("1 + size(i)", "i", argument("size", 0, Expected::Sized, Type::Int));
    fails("s.startsWith(y)", "y", argument("startsWith", 1, Expected::Type(Type::String), Type::Bytes));
    fails("int(b)", "b", argument("int", 0, Expected::Numeral, Type::Bool));
    fails("string(l)", "l", argument("string", 0, Expected::Printable, Type::list(Type::Int)));
    fails("abs(s)", "s", argument("abs", 0, Expected::Number, Type::String));
    fails("min(1, f)", "f", argument("min", 1, Expected::Type(Type::Int), Type::Float));
    let token = || Expected::Type(Type::opaque("Token"));
    fails("util.valid(p, l)", "p", argument("util.valid", 0, token(), Type::opaque("Other")));
}

#[test]
fn patterns() {
    fails("s.matches(s + \"a\")", "s + \"a\"", TypeErrorKind::NonLiteralPattern);
    let pattern = |pattern: &str, reason: &str| TypeErrorKind::BadPattern {
        pattern: name(pattern),
        reason: reason.to_owned(),
    };
    fails("s.matches(\"(a\")", "\"(a\"", pattern("(a", "unclosed group"));
    let look_around = "look-around, including look-ahead and look-behind, is not supported";
    fails("s.matches(\"(?=a)\")", "\"(?=a)\"", pattern("(?=a)", look_around));
    let large = "the pattern compiles to more than 1048576 bytes";
    fails("s.matches(\"(a{999}){999}\")", "\"(a{999}){999}\"", pattern("(a{999}){999}", large));
    let kind = TypeErrorKind::WrongArgument {
        function: name("matches"),
        position: 1,
        expected: Expected::Type(Type::String),
        found: Type::Int,
    };
    fails("s.matches(i)", "i", kind);
}

#[test]
fn operands() {
    let operand = |operator, expected, found| TypeErrorKind::WrongOperand { operator, expected, found };
    let list = || Type::list(Type::Int);
    fails("i < l", "l", operand("<", Expected::Ordered, list()));
    fails("b + 1", "b", operand("+", Expected::Addable, Type::Bool));
    fails("1 - s", "s", operand("-", Expected::Number, Type::String));
    fails("s * 2", "s", operand("*", Expected::Number, Type::String));
    fails("i / b", "b", operand("/", Expected::Number, Type::Bool));
    fails("f % 2.0", "f", operand("%", Expected::Type(Type::Int), Type::Float));
    fails("-s", "s", operand("-", Expected::Number, Type::String));
    fails("i in s", "s", operand("in", Expected::List, Type::String));
    let unequal = |operator, left, right| TypeErrorKind::UnequalOperands { operator, left, right };
    fails("i == s", "i == s", unequal("==", Type::Int, Type::String));
    fails("b && s < y", "s < y", unequal("<", Type::String, Type::Bytes));
    fails("s in l", "s in l", unequal("in", Type::String, list()));
    fails("l + [s]", "l + [s]", unequal("+", list(), Type::list(Type::String)));
}

#[test]
fn opaque_values_are_only_compared_and_passed() {
    let (token, other) = (Type::opaque("Token"), Type::opaque("Other"));
    let kind = TypeErrorKind::UnequalOperands { operator: "==", left: token.clone(), right: other };
    fails("o == p", "o == p", kind);
    let kind = TypeErrorKind::UnequalOperands { operator: "!=", left: token.clone(), right: Type::String };
    fails("o != s", "o != s", kind);
    for text in
        ["o < o", "o + o", "o - o", "-o", "!o", "size(o)", "string(o)", "int(o)", "o.x", "o[0]", "o in o"]
    {
        assert_eq!(errors(text).len(), 1, "{text}");
    }
}

#[test]
fn numbers_do_not_mix() {
    let mixed = |text: &str, at: &str, operator, left, right, replacement: &str| {
        let start = u32::try_from(text.rfind(at).unwrap()).unwrap();
        let place = Place::new(start, start + u32::try_from(at.len()).unwrap());
        let fix = Fix { place, replacement: replacement.to_owned() };
        fails(text, text, TypeErrorKind::MixedNumbers { operator, left, right, fix });
    };
    mixed("f > 1", "1", ">", Type::Float, Type::Int, "1.0");
    mixed("-1 == f", "-1", "==", Type::Int, Type::Float, "-1.0");
    mixed("i < 1.5", "i", "<", Type::Int, Type::Float, "double(i)");
    mixed("f * (i + 1)", "i + 1", "*", Type::Float, Type::Int, "double(i + 1)");
    let large = "9007199254740993";
    mixed(&format!("f == {large}"), large, "==", Type::Float, Type::Int, &format!("double({large})"));
}

#[test]
fn truth_values() {
    let not = |position, found| TypeErrorKind::NotBoolean { position, found };
    fails("b && i", "i", not(Position::And, Type::Int));
    fails("s || b", "s", not(Position::Or, Type::String));
    fails("!i", "i", not(Position::Not, Type::Int));
    fails("l ? 1 : 2", "l", not(Position::Condition, Type::list(Type::Int)));
    let expr = parse("i + 1", 0, Dialect::Cel).unwrap();
    let kind = not(Position::Assertion, Type::Int);
    assert_eq!(check_assertion(&expr, &scope()), Err(vec![TypeError { kind, place: Place::new(0, 5) }]));
    let expr = parse("i > 1", 0, Dialect::Cel).unwrap();
    assert_eq!(check_assertion(&expr, &scope()), Ok(Vec::new()));
}

#[test]
fn indices_lists_and_branches() {
    fails("s[0]", "s[0]", TypeErrorKind::NotIndexable { found: Type::String });
    let tuple = Type::Tuple([Type::Int, Type::String].into());
    let wrong = |container, expected, found| TypeErrorKind::WrongIndex { container, expected, found };
    fails("l[s]", "s", wrong(Type::list(Type::Int), Type::Int, Type::String));
    fails("t[\"0\"]", "\"0\"", wrong(tuple.clone(), Type::Int, Type::String));
    fails("t[i]", "i", TypeErrorKind::NonLiteralIndex { container: tuple });
    let record = Type::Record([("name".into(), Type::String), ("age".into(), Type::Int)].into());
    fails("r[0]", "0", wrong(record.clone(), Type::String, Type::Int));
    fails("r[s]", "s", TypeErrorKind::NonLiteralIndex { container: record });
    fails("t[2]", "2", TypeErrorKind::IndexOutOfRange { index: 2, length: 2 });
    fails("t[-1]", "-1", TypeErrorKind::IndexOutOfRange { index: -1, length: 2 });
    let branches = TypeErrorKind::UnequalBranches { then: Type::Int, otherwise: Type::Float };
    fails("b ? 1 : 2.0", "b ? 1 : 2.0", branches);
    let elements = TypeErrorKind::UnequalElements { first: Type::Int, found: Type::String };
    fails("[1, s, 2]", "s", elements);
    fails("b && size([]) == 0", "[]", TypeErrorKind::EmptyList);
    assert_eq!(errors("[] == []").len(), 1);
    assert_eq!(errors("x == []").len(), 1);
}

#[test]
fn one_run_reports_every_mistake_in_order() {
    let kinds: Vec<_> = errors("x > 1 && i == s || size(q) == f && max(1) == 1")
        .into_iter()
        .map(|error| error.to_string())
        .collect();
    assert_eq!(
        kinds,
        [
            "unknown variable `x`",
            "`==` between `int` and `string`",
            "`==` between `int` and `float` needs a conversion",
            "unknown variable `q`",
            "`max` takes at least 2 arguments, not 1",
        ]
    );
}

#[test]
fn undeclared_predicates_are_inferred() {
    let scope = scope().inferring();
    let check_text = |text| check(&parse(text, 0, Dialect::Scala).unwrap(), &scope);
    let checked = check_text("util.f(s, i) && util.g() && util.f(s, 2) && util.valid(o, l) > 0").unwrap();
    let inferred: Vec<_> =
        checked.inferred.iter().map(|external| format!("{}{}", external.name, external.signature)).collect();
    assert_eq!(inferred, ["util.f(string, int): bool", "util.g(): bool"]);

    let errors = check_text("util.f(s) && util.f(i)").unwrap_err();
    let kind = TypeErrorKind::UnequalCalls {
        function: name("util.f"),
        first: [Type::String].into(),
        found: [Type::Int].into(),
    };
    assert_eq!(errors, [TypeError { kind, place: Place::new(13, 22) }]);

    // What one assertion implies binds the next.
    let mut scope = scope.clone();
    scope.adopt(checked.inferred);
    let expr = parse("util.f(i, i)", 0, Dialect::Scala).unwrap();
    assert_eq!(check(&expr, &scope).unwrap_err().len(), 1);
}
