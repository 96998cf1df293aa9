//! Times of messages: `within`, `after` (`docs/time.md`, section 1).
//!
//! A time belongs to the message that it is about, so whatever carries messages carries times. What travels in a channel
//! has none ([`Vocabulary::wire_signature`](crate::Vocabulary::wire_signature)): compatibility knows no time.

use std::fmt;
use std::sync::Arc;

use crate::expr::{Expr, Function, Literal, NoExternals, Node, TooDeep, Value, eval};

mod advice;

pub use advice::TimeAdvice;

/// The longest time there is, in nanoseconds: a century.
pub const CENTURY: i64 = 3_155_760_000_000_000_000;

/// When a message may be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timing {
    /// `after D`: not before.
    pub after: Option<Arc<Expr>>,
    /// `within D`: not later.
    pub within: Option<Within>,
}

/// `within D`, `within D of LABEL`, `within D of any`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Within {
    /// A duration, or a number of seconds.
    pub length: Arc<Expr>,
    /// What it counts from.
    pub since: Since,
}

/// What a `within` counts from, besides the sender's turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Since {
    /// The message before.
    Before,
    /// The last message with this label.
    Label(Arc<str>),
    /// The last message that the sender sent.
    Any,
}

impl Timing {
    /// The expressions, `after` first.
    pub fn lengths(&self) -> impl Iterator<Item = &Arc<Expr>> {
        self.after.iter().chain(self.within.as_ref().map(|within| &within.length))
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(after) = &self.after {
            write!(f, "after {after}")?;
            f.write_str(if self.within.is_some() { " " } else { "" })?;
        }
        self.within.as_ref().map_or(Ok(()), |within| write!(f, "{within}"))
    }
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "within {}", self.length)?;
        match &self.since {
            Since::Before => Ok(()),
            Since::Label(label) => write!(f, " of {label}"),
            Since::Any => f.write_str(" of any"),
        }
    }
}

/// Why a value is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotATime;

/// The nanoseconds of a time: none if it is 0, which is no time at all, and at most a century.
///
/// # Errors
/// [`NotATime`] if it is negative or no number.
pub fn nanoseconds(value: &Value) -> Result<Option<i64>, NotATime> {
    let length = match value {
        Value::Duration(length) => *length,
        Value::Int(seconds) => seconds.saturating_mul(1_000_000_000),
        Value::Float(seconds) if seconds.is_nan() => return Err(NotATime),
        // Casts saturate.
        Value::Float(seconds) => (seconds * 1e9).round() as i64,
        _ => return Err(NotATime),
    };
    match length {
        0 => Ok(None),
        1.. => Ok(Some(length.min(CENTURY))),
        _ => Err(NotATime),
    }
}

/// The value of a time that reads no variable: see [`nanoseconds`]. `None`: it reads some.
#[must_use]
pub fn constant(length: &Expr) -> Option<Result<Option<i64>, NotATime>> {
    match length.node() {
        Node::Literal(literal) => Some(nanoseconds(literal)),
        _ if !length.free_variables().is_empty() => None,
        _ => {
            let none: std::collections::HashMap<Arc<str>, Value> = std::collections::HashMap::new();
            let value = in_seconds(length).ok().and_then(|expr| eval(&expr, &none, &NoExternals).ok());
            Some(value.map_or(Err(NotATime), |value| nanoseconds(&value)))
        }
    }
}

/// The nanoseconds of a constant time that is one.
#[must_use]
pub fn known(length: &Expr) -> Option<i64> {
    constant(length)?.ok()?
}

/// `length` as an expression of type `float`, in seconds: in times, numbers of both types are mixed.
///
/// # Errors
/// [`TooDeep`] if it would be too deep.
pub fn in_seconds(length: &Expr) -> Result<Expr, TooDeep> {
    let node = match length.node() {
        Node::Literal(Literal::Int(whole)) => Node::Literal(Literal::Float(*whole as f64)),
        Node::Literal(Literal::Duration(length)) => Node::Literal(Literal::Float(*length as f64 / 1e9)),
        Node::Variable(_) => Node::Call(Function::Float, Box::new([length.clone()])),
        node => node.over(&mut |part: &Expr| in_seconds(part))?.unwrap_or_else(|| node.clone()),
    };
    Expr::new(node, length.place())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Operator;

    #[test]
    fn zero_is_no_time_and_a_century_is_the_longest() {
        assert_eq!(nanoseconds(&Value::Int(5)), Ok(Some(5_000_000_000)));
        assert_eq!(nanoseconds(&Value::Float(1.5)), Ok(Some(1_500_000_000)));
        assert_eq!(nanoseconds(&Value::Float(0.0)), Ok(None));
        assert_eq!(nanoseconds(&Value::Int(i64::MAX)), Ok(Some(CENTURY)));
        assert_eq!(nanoseconds(&Value::Float(1e300)), Ok(Some(CENTURY)));
        assert_eq!(nanoseconds(&Value::Int(-1)), Err(NotATime));
        assert_eq!(nanoseconds(&Value::Float(f64::NAN)), Err(NotATime));
        assert_eq!(nanoseconds(&Value::string("5s")), Err(NotATime));
    }

    #[test]
    fn numbers_of_both_types_are_mixed() {
        let half = Expr::literal(Literal::Float(1.5));
        let variable = Expr::variable("keepalive");
        let product = Node::Binary(Operator::Multiply, Box::new([half, variable]));
        let product = Expr::new(product, crate::expr::Place::NONE).unwrap();
        let values = std::collections::HashMap::from([(Arc::from("keepalive"), Value::Int(10))]);
        let value = eval(&in_seconds(&product).unwrap(), &values, &NoExternals).unwrap();
        assert_eq!(nanoseconds(&value), Ok(Some(15_000_000_000)));
        assert_eq!((constant(&product), known(&Expr::literal(Literal::Duration(7)))), (None, Some(7)));
    }
}
