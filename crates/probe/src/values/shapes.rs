//! Values that an assertion asks for by their shape: texts and lists of a length, texts with a beginning or an end, numbers that comparisons bound,
//! parts of records that are something known.

use std::collections::HashMap;
use std::sync::Arc;

use referee_theory::expr::{Expr, Function, NoExternals, Node, Operator, eval};
use referee_theory::{Type, Value};

use super::parts;

/// Texts and lists are not made longer than this.
const MAX_LENGTH: i64 = 1 << 12;

type Known = HashMap<Arc<str>, Value>;

/// Texts of the lengths that `assertion` speaks of, with what it wants at their beginning, within, and at their end.
pub(super) fn texts(assertion: &Expr, known: &Known) -> Vec<Value> {
    let (mut before, mut within, mut after) = (String::new(), String::new(), String::new());
    parts(assertion, &mut |part| {
        let Node::Call(function, arguments) = part.node() else { return };
        let Some(Ok(Value::String(text))) = arguments.get(1).map(|text| eval(text, known, &NoExternals))
        else {
            return;
        };
        match function {
            Function::StartsWith if before.is_empty() => before.push_str(&text),
            Function::Contains if within.is_empty() => within.push_str(&text),
            Function::EndsWith if after.is_empty() => after.push_str(&text),
            _ => {}
        }
    });
    let made = |length: usize| {
        let missing =
            length.saturating_sub([&before, &within, &after].map(|text| text.chars().count()).iter().sum());
        Value::string(&format!("{before}{within}{}{after}", "a".repeat(missing)))
    };
    let lengths = lengths(assertion, known);
    let plain = (!before.is_empty() || !within.is_empty() || !after.is_empty()).then(|| made(0));
    lengths.into_iter().map(made).chain(plain).collect()
}

/// Lists of the lengths that `assertion` speaks of.
pub(super) fn lists(assertion: &Expr, known: &Known, element: &Value) -> Vec<Value> {
    let list = |length: usize| Value::List(std::iter::repeat_n(element.clone(), length).collect());
    lengths(assertion, known).into_iter().map(list).collect()
}

/// Bytes of the lengths that `assertion` speaks of.
pub(super) fn bytes(assertion: &Expr, known: &Known) -> Vec<Value> {
    lengths(assertion, known).into_iter().map(|length| Value::Bytes(vec![b'a'; length].into())).collect()
}

/// The integers in `assertion`, one more and one less, where it asks for a size.
fn lengths(assertion: &Expr, known: &Known) -> Vec<usize> {
    let (mut lengths, mut asks) = (Vec::new(), false);
    parts(assertion, &mut |part| {
        asks |= matches!(part.node(), Node::Call(Function::Size, _));
        let Ok(Value::Int(number @ 0..MAX_LENGTH)) = eval(part, known, &NoExternals) else { return };
        for length in [Some(number), Some(number + 1), number.checked_sub(1)].into_iter().flatten() {
            lengths.extend(usize::try_from(length).ok().filter(|length| !lengths.contains(length)));
        }
    });
    if asks { lengths } else { Vec::new() }
}

/// Where the two sides of the comparisons in `assertion` meet if `name` alone is unknown and both sides grow evenly with it; and, for floats, what is
/// between two such numbers.
pub(super) fn bounds(assertion: &Expr, known: &Known, name: &Arc<str>, ty: &Type) -> Vec<Value> {
    let number = |number: i32| {
        if *ty == Type::Float { Value::Float(number.into()) } else { Value::Int(number.into()) }
    };
    if !matches!(ty, Type::Int | Type::Float) {
        return Vec::new();
    }
    let mut roots: Vec<f64> = Vec::new();
    let mut known = known.clone();
    parts(assertion, &mut |part| {
        let Node::Binary(operator, sides) = part.node() else { return };
        let compares = matches!(
            operator,
            Operator::Equal
                | Operator::NotEqual
                | Operator::Less
                | Operator::LessEqual
                | Operator::Greater
                | Operator::GreaterEqual
        );
        if !compares || !part.free_variables().contains(&name) {
            return;
        }
        let mut difference = |at: i32| {
            known.insert(Arc::clone(name), number(at));
            let [left, right] = [0, 1].map(|side: usize| eval(&sides[side], &known, &NoExternals).ok());
            Some(as_float(&left?)? - as_float(&right?)?)
        };
        let (Some(none), Some(one)) = (difference(0), difference(1)) else { return };
        let root = -none / (one - none);
        if root.is_finite() && !roots.contains(&root) {
            roots.push(root);
        }
    });
    let pairs = roots.iter().flat_map(|a| roots.iter().filter(move |b| *a < **b).map(move |b| (a, b)));
    let between: Vec<f64> = pairs.map(|(a, b)| f64::midpoint(*a, *b)).collect();
    match ty {
        Type::Float => between.into_iter().chain(roots).map(Value::Float).collect(),
        // What does not fit is the largest or smallest that does; the monitor says whether it is right.
        _ => roots.into_iter().map(|root| Value::Int(root.round() as i64)).collect(),
    }
}

fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// `whole` with `part` in the place of each of its parts that has the type of `part`, one at a time.
pub(super) fn with_part(whole: &Value, part: &Value) -> Vec<Value> {
    let each = |values: &[Value], made: &dyn Fn(Vec<Value>) -> Value| -> Vec<Value> {
        let mut found = Vec::new();
        for (at, value) in values.iter().enumerate() {
            for changed in with_part(value, part) {
                let mut values = values.to_vec();
                values[at] = changed;
                found.push(made(values));
            }
        }
        found
    };
    match whole {
        Value::Tuple(values) => each(values, &|values| Value::Tuple(values.into())),
        Value::List(values) => each(values, &|values| Value::List(values.into())),
        Value::Record(fields) => {
            let values: Vec<Value> = fields.iter().map(|(_, value)| value.clone()).collect();
            let names = || fields.iter().map(|(name, _)| Arc::clone(name));
            each(&values, &|values| Value::Record(names().zip(values).collect()))
        }
        leaf if std::mem::discriminant(leaf) == std::mem::discriminant(part) => vec![part.clone()],
        _ => Vec::new(),
    }
}
