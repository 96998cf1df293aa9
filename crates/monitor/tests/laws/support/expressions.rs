//! Well-typed expressions over a fixed set of variables: all small ones and random larger ones, and values.

use std::sync::Arc;

use referee_monitor::{Argument, FieldValue, Registry};
use referee_theory::expr::{
    Expr, Externals, Function, Literal, Node, Operator, Place, Signature, UnaryOperator, Value,
};
use referee_theory::{Field, Type};

use crate::random::Random;

/// The types that occur.
pub(crate) fn types() -> [Type; 9] {
    [
        Type::Bool,
        Type::Int,
        Type::Float,
        Type::String,
        Type::Bytes,
        list(),
        Type::Tuple([Type::Int, Type::String].into()),
        Type::Record([("x".into(), Type::Int), ("y".into(), list())].into()),
        Type::opaque("Thing"),
    ]
}

fn list() -> Type {
    Type::list(Type::Int)
}

/// Two variables of each type, as the fields of one message.
pub(crate) fn variables() -> Arc<[Field]> {
    let field = |(index, ty): (usize, Type)| {
        [0, 1].map(|twin| Field { name: Some(format!("v{index}_{twin}").into()), ty: ty.clone() })
    };
    types().into_iter().enumerate().flat_map(field).collect()
}

/// Values of each type, as the evaluator and as an event have them.
pub(crate) struct Pools(Vec<Vec<(Value, FieldValue<'static>)>>);

impl Pools {
    pub(crate) fn new() -> Self {
        let ints = [0, 1, -1, 2, 3, i64::MAX, i64::MIN].map(Value::Int).to_vec();
        let floats = [0.0, -0.0, 1.5, -2.0, 1e300, f64::NAN, f64::INFINITY].map(Value::Float).to_vec();
        let texts = ["", "a", "ab", "é", "12", "x", "ba\0"].map(Value::string).to_vec();
        let bytes = [&b""[..], b"a", b"ab", b"\xff"].map(|bytes| Value::Bytes(bytes.into())).to_vec();
        let lists: Vec<Value> = [&[][..], &[1], &[0, 1, 2], &[i64::MAX, 3]]
            .map(|ints| Value::List(ints.iter().copied().map(Value::Int).collect()))
            .to_vec();
        let tuples = [(1, "a"), (0, ""), (i64::MIN, "x")]
            .map(|(int, text)| Value::Tuple([Value::Int(int), Value::string(text)].into()))
            .to_vec();
        let record = |(int, list): (i64, &Value)| {
            Value::Record([("x".into(), Value::Int(int)), ("y".into(), list.clone())].into())
        };
        let records = [(1, &lists[0]), (1, &lists[2]), (2, &lists[2])].map(record).to_vec();
        let things = ["a", "b", "a b"].map(|text| Value::Opaque(text.into())).to_vec();
        let bools = [false, true].map(Value::Bool).to_vec();
        let all = [bools, ints, floats, texts, bytes, lists, tuples, records, things];
        Self(all.map(|pool| pool.into_iter().map(|value| (value.clone(), leak(&value))).collect()).into())
    }

    /// A value for each of [`variables`].
    pub(crate) fn assignment(&self, random: &mut Random) -> (Vec<Value>, Vec<FieldValue<'static>>) {
        let twins = self.0.iter().flat_map(|pool| [pool, pool]);
        twins.map(|pool| random.pick(pool).clone()).unzip()
    }
}

/// For the few values of the pools, which live as long as the test.
fn leak(value: &Value) -> FieldValue<'static> {
    match value {
        Value::Unit => FieldValue::Unit,
        Value::Bool(value) => FieldValue::Bool(*value),
        Value::Int(value) => FieldValue::Int(*value),
        Value::Float(value) => FieldValue::Float(*value),
        Value::String(text) | Value::Opaque(text) => FieldValue::Str(String::leak(text.to_string())),
        Value::Bytes(bytes) => FieldValue::Bytes(Vec::leak(bytes.to_vec())),
        Value::List(values) | Value::Tuple(values) => {
            FieldValue::List(Vec::leak(values.iter().map(leak).collect()))
        }
        Value::Record(fields) => {
            let field = |(name, value): &(Arc<str>, Value)| (&*String::leak(name.to_string()), leak(value));
            // The other way round: an event need not keep the order of the declaration.
            FieldValue::Record(Vec::leak(fields.iter().rev().map(field).collect()))
        }
        other => panic!("no declared type has {other}"),
    }
}

/// Two predicates: `even(int)` always answers, `known(string)` fails for `x` and the empty string.
pub(crate) fn registry() -> Registry {
    let signature = |ty| Signature { parameters: [ty].into(), result: Type::Bool };
    let mut registry = Registry::new();
    registry.register("even", signature(Type::Int), |args| match args {
        [Argument::Int(value)] => even(*value),
        _ => Err("not an int".to_owned()),
    });
    registry.register("known", signature(Type::String), |args| match args {
        [Argument::Text(text)] => known(text),
        _ => Err("not a string".to_owned()),
    });
    registry
}

fn even(value: i64) -> Result<Value, String> {
    Ok(Value::Bool(value % 2 == 0))
}

fn known(text: &str) -> Result<Value, String> {
    if matches!(text, "x" | "") { Err("no answer".to_owned()) } else { Ok(Value::Bool(text.len() > 1)) }
}

/// The same predicates for the evaluator.
pub(crate) struct Predicates;

impl Externals for Predicates {
    fn call(&self, name: &str, args: &[Value]) -> Result<Value, String> {
        match (name, args) {
            ("even", [Value::Int(value)]) => even(*value),
            ("known", [Value::String(text)]) => known(text),
            _ => Err("no such predicate".to_owned()),
        }
    }
}

pub(crate) fn make(node: Node) -> Expr {
    Expr::new(node, Place::NONE).unwrap()
}

fn binary(operator: Operator, left: Expr, right: Expr) -> Expr {
    make(Node::Binary(operator, Box::new([left, right])))
}

fn leaves(ty: &Type) -> Vec<Expr> {
    let index = types().iter().position(|known| known == ty).unwrap();
    let mut leaves = vec![Expr::variable(&format!("v{index}_0")), Expr::variable(&format!("v{index}_1"))];
    let int = |value| Expr::literal(Literal::Int(value));
    match ty {
        Type::Bool => leaves.extend([true, false].map(|value| Expr::literal(Literal::Bool(value)))),
        Type::Int => leaves.extend([0, 1, i64::MAX].map(int)),
        Type::Float => leaves.extend([0.0, 1.5].map(|f| Expr::literal(Literal::Float(f)))),
        Type::String => leaves.extend(["", "a"].map(|text| Expr::literal(Literal::String(text.into())))),
        Type::Bytes => leaves.push(Expr::literal(Literal::Bytes(b"a"[..].into()))),
        Type::List(_) => {
            leaves.push(make(Node::List([int(1), Expr::variable("v1_0")].into())));
        }
        _ => {}
    }
    leaves
}

/// Makes an expression of what it is given for each operand's type.
type Make = Box<Operation>;
type Operation = dyn Fn(&mut dyn FnMut(&Type) -> Expr) -> Expr;

/// Every way to make an expression of type `ty` by one operation.
fn operations(ty: &Type) -> Vec<Make> {
    let mut all: Vec<Make> = Vec::new();
    let this = ty.clone();
    all.push(Box::new(move |give| {
        let parts = [give(&Type::Bool), give(&this), give(&this)];
        make(Node::Conditional(Box::new(parts)))
    }));
    use Operator::{
        Add, Divide, Equal, Greater, GreaterEqual, In, Less, LessEqual, Multiply, NotEqual, Remainder,
        Subtract,
    };
    match ty {
        Type::Bool => {
            for operand in types() {
                between(&mut all, &[Equal, NotEqual], operand);
            }
            for operand in [Type::Bool, Type::Int, Type::Float, Type::String, Type::Bytes] {
                between(&mut all, &[Less, LessEqual, Greater, GreaterEqual], operand);
            }
            all.push(Box::new(|give| binary(In, give(&Type::Int), give(&list()))));
            all.push(Box::new(|give| {
                let elements = [give(&Type::String), give(&Type::String), give(&Type::String)];
                binary(In, give(&Type::String), make(Node::List(elements.into())))
            }));
            all.push(Box::new(|give| make(Node::Unary(UnaryOperator::Not, Box::new(give(&Type::Bool))))));
            all.push(Box::new(|give| make(Node::And([give(&Type::Bool), give(&Type::Bool)].into()))));
            all.push(Box::new(|give| make(Node::Or([give(&Type::Bool), give(&Type::Bool)].into()))));
            for function in [Function::StartsWith, Function::EndsWith, Function::Contains] {
                all.push(Box::new(move |give| {
                    make(Node::Call(function, [give(&Type::String), give(&Type::String)].into()))
                }));
            }
            all.push(Box::new(|give| {
                let pattern = Expr::literal(Literal::String("^[a-z]+$".into()));
                make(Node::Call(Function::Matches, [give(&Type::String), pattern].into()))
            }));
            all.push(Box::new(|give| {
                make(Node::External { name: "even".into(), args: [give(&Type::Int)].into() })
            }));
            all.push(Box::new(|give| {
                make(Node::External { name: "known".into(), args: [give(&Type::String)].into() })
            }));
        }
        Type::Int => {
            between(&mut all, &[Add, Subtract, Multiply, Divide, Remainder], Type::Int);
            all.push(Box::new(|give| make(Node::Unary(UnaryOperator::Negate, Box::new(give(&Type::Int))))));
            all.push(Box::new(|give| make(Node::Index(Box::new([give(&list()), give(&Type::Int)])))));
            all.push(Box::new(|give| make(Node::Member(Box::new(give(&types()[7])), "x".into()))));
            all.push(Box::new(|give| {
                make(Node::Index(Box::new([give(&types()[6]), Expr::literal(Literal::Int(0))])))
            }));
            for of in [Type::String, Type::Bytes, list()] {
                all.push(Box::new(move |give| make(Node::Call(Function::Size, [give(&of)].into()))));
            }
            for of in [Type::Int, Type::Float, Type::String] {
                all.push(Box::new(move |give| make(Node::Call(Function::Int, [give(&of)].into()))));
            }
            all.push(Box::new(|give| make(Node::Call(Function::Abs, [give(&Type::Int)].into()))));
            for function in [Function::Min, Function::Max] {
                all.push(Box::new(move |give| {
                    make(Node::Call(function, [give(&Type::Int), give(&Type::Int), give(&Type::Int)].into()))
                }));
            }
        }
        Type::Float => {
            between(&mut all, &[Add, Subtract, Multiply, Divide], Type::Float);
            all.push(Box::new(|give| make(Node::Unary(UnaryOperator::Negate, Box::new(give(&Type::Float))))));
            for of in [Type::Int, Type::Float, Type::String] {
                all.push(Box::new(move |give| make(Node::Call(Function::Float, [give(&of)].into()))));
            }
            all.push(Box::new(|give| make(Node::Call(Function::Abs, [give(&Type::Float)].into()))));
            for function in [Function::Min, Function::Max] {
                all.push(Box::new(move |give| {
                    make(Node::Call(function, [give(&Type::Float), give(&Type::Float)].into()))
                }));
            }
        }
        Type::String => {
            between(&mut all, &[Add], Type::String);
            for of in [Type::Bool, Type::Int, Type::Float, Type::String, Type::Bytes] {
                all.push(Box::new(move |give| make(Node::Call(Function::String, [give(&of)].into()))));
            }
            all.push(Box::new(|give| {
                make(Node::Index(Box::new([give(&types()[6]), Expr::literal(Literal::Int(1))])))
            }));
        }
        Type::Bytes => between(&mut all, &[Add], Type::Bytes),
        Type::List(_) => {
            between(&mut all, &[Add], list());
            all.push(Box::new(|give| make(Node::List([give(&Type::Int), give(&Type::Int)].into()))));
            let field = || Expr::literal(Literal::String("y".into()));
            all.push(Box::new(move |give| make(Node::Index(Box::new([give(&types()[7]), field()])))));
        }
        _ => {}
    }
    all
}

/// Each of `operators` between two operands of type `ty`.
fn between(all: &mut Vec<Make>, operators: &[Operator], ty: Type) {
    for &operator in operators {
        let ty = ty.clone();
        all.push(Box::new(move |give| {
            let left = give(&ty);
            binary(operator, left, give(&ty))
        }));
    }
}

/// Every boolean made of at most two operations, the inner one on the left: all operations on all leaves,
/// and all comparisons of those with a leaf.
pub(crate) fn small() -> Vec<Expr> {
    let mut all = Vec::new();
    for ty in types() {
        for operation in operations(&ty) {
            for made in applications(&*operation) {
                if ty == Type::Bool {
                    all.push(made);
                } else {
                    all.extend(
                        leaves(&ty)
                            .into_iter()
                            .take(3)
                            .map(|leaf| binary(Operator::Equal, made.clone(), leaf)),
                    );
                }
            }
        }
    }
    all
}

/// `operation` applied to all leaves: counts through the choices it asks for.
fn applications(operation: &Operation) -> Vec<Expr> {
    let mut made = Vec::new();
    let mut choices: Vec<(usize, usize)> = Vec::new();
    loop {
        let mut position = 0;
        made.push(operation(&mut |ty| {
            let leaves = leaves(ty);
            if position == choices.len() {
                choices.push((0, leaves.len()));
            }
            position += 1;
            leaves[choices[position - 1].0].clone()
        }));
        loop {
            match choices.pop() {
                None => return made,
                Some((choice, options)) if choice + 1 < options => {
                    choices.push((choice + 1, options));
                    break;
                }
                Some(_) => {}
            }
        }
    }
}

/// A random expression of type `ty`, at most `depth` operations deep.
pub(crate) fn random(random_: &mut Random, ty: &Type, depth: usize) -> Expr {
    if depth == 0 || random_.chance(1, 5) {
        return random_.pick(&leaves(ty)).clone();
    }
    let operations = operations(ty);
    let operation = &operations[random_.below(operations.len())];
    operation(&mut |ty| random(random_, ty, depth - 1))
}
