//! Guards: conditions over the variables of a property.
//!
//! What an event carries has no declared type, so guards are evaluated over terms as they come, in one of two
//! dialects: the assertion language (CEL), or Erlang's guards. Both are lowered to one tree, [`Condition`].
//! Where an operation does not apply to what it is given, the guard has no value, and a guard without a value does not
//! hold: the event does not match. [`Guard::mistakes`] finds the operations that cannot apply to anything.
//!
//! | written | assertion language | Erlang |
//! |---|---|---|
//! | equality | `==` `!=`: numbers by value | `=:=` `=/=` exact; `==` `/=` numbers by value |
//! | order | `<` …: two numbers, two strings, two bools; else no value | `<` …: Erlang's order of all terms |
//! | connectives | `&&` <code>&#124;&#124;</code>: an operand that decides does, whatever the others are | `andalso` `orelse`: left to right; `and` `or`: both; `,` and `;` as in Erlang |
//! | arithmetic | ints and floats mix; `/` of ints is integral | ints and floats mix; `/` is a float; `div`, `rem`; `band`, `bor`, `bxor`, `bsl`, `bsr` are not known |
//! | atoms | equal the strings that spell them: `x == "ok"` | `ok`, `'ok'` |
//! | tuples | none | `{A, B}` |
//!
//! Integers are computed with 128 bits; what needs more has no value.

mod eval;
mod mistakes;

use std::fmt;
use std::sync::Arc;

pub use mistakes::Mistake;

use super::Slot;
use super::pattern::Environment;
use crate::expr::{MAX_DEPTH, Pattern as Regex, Place, TooDeep};
use crate::value::Value;

/// A condition over slots, and how it is to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// Whose rules apply.
    pub dialect: Dialect,
    /// What must hold.
    pub condition: Condition,
}

/// Whose rules apply to a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The assertion language.
    Native,
    /// Erlang.
    Erlang,
}

/// An expression over slots, and where it stands. At most [`MAX_DEPTH`] deep, so recursion over it is safe.
#[derive(Clone, Debug)]
pub struct Condition {
    node: ConditionNode,
    place: Place,
    depth: u8,
}

/// What a [`Condition`] is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionNode {
    /// A constant.
    Constant(Value),
    /// The value of a variable.
    Slot(Slot),
    /// `[a, b]`.
    List(Box<[Condition]>),
    /// `{a, b}`.
    Tuple(Box<[Condition]>),
    /// `!a`, `not a`.
    Not(Box<Condition>),
    /// `-a`.
    Negate(Box<Condition>),
    /// Two operands.
    Binary(GuardOperator, Box<[Condition; 2]>),
    /// `&&`, Erlang's `,`: false if any operand is false, even if another has no value.
    All(Box<[Condition]>),
    /// `||`, Erlang's `;`: true if any operand is true, even if another has no value.
    Any(Box<[Condition]>),
    /// `andalso`: left to right until one is false.
    AndAlso(Box<[Condition]>),
    /// `orelse`: left to right until one is true.
    OrElse(Box<[Condition]>),
    /// `c ? a : b`.
    Conditional(Box<[Condition; 3]>),
    /// `r.field`.
    Member(Box<Condition>, Arc<str>),
    /// `xs[i]`, `r["field"]`.
    Index(Box<[Condition; 2]>),
    /// `s.matches("regex")`, the pattern compiled.
    Matches(Box<Condition>, CompiledPattern),
    /// A built-in.
    Call(GuardFunction, Box<[Condition]>),
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuardOperator {
    /// `==`: numbers by value.
    Equal,
    /// `!=`, `/=`.
    NotEqual,
    /// `=:=`: exact.
    Identical,
    /// `=/=`.
    NotIdentical,
    /// `<`.
    Less,
    /// `<=`, `=<`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `x in xs`.
    In,
    /// `+`: numbers; in the assertion language strings and lists too.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// The assertion language's `/`: of ints an int, towards zero; else a float.
    Divide,
    /// Erlang's `/`: always a float.
    FloatDivide,
    /// `div`: ints only.
    IntDivide,
    /// `%`, `rem`: ints only.
    Remainder,
    /// Erlang's `and`: both operands are evaluated.
    StrictAnd,
    /// Erlang's `or`.
    StrictOr,
    /// Erlang's `xor`.
    StrictXor,
    /// Erlang's `++`.
    Append,
}

/// A built-in function of either dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GuardFunction {
    /// `size(x)`: characters of a string, elements of a list, members of a record; Erlang: of a tuple.
    Size,
    /// `length(xs)`: elements of a list.
    Length,
    /// `tuple_size(t)`.
    TupleSize,
    /// `hd(xs)`.
    Head,
    /// `tl(xs)`.
    Tail,
    /// `element(n, t)`, from 1.
    Element,
    /// `s.startsWith(prefix)`.
    StartsWith,
    /// `s.endsWith(suffix)`.
    EndsWith,
    /// `s.contains(part)`.
    Contains,
    /// `int(x)`, `trunc(x)`: of a number towards zero; the assertion language's also of a string.
    Int,
    /// `round(x)`: of a number, halves away from zero.
    Round,
    /// `double(x)`, `float(x)`.
    Float,
    /// `string(x)`.
    String,
    /// `abs(x)`.
    Abs,
    /// `min(x, y, …)`.
    Min,
    /// `max(x, y, …)`.
    Max,
    /// `is_atom(x)`: truth values are atoms.
    IsAtom,
    /// `is_boolean(x)`.
    IsBoolean,
    /// `is_string(x)`.
    IsText,
    /// `is_record(x)`.
    IsRecord,
    /// `is_integer(x)`.
    IsInteger,
    /// `is_float(x)`.
    IsFloat,
    /// `is_number(x)`.
    IsNumber,
    /// `is_list(x)`.
    IsList,
    /// `is_tuple(x)`.
    IsTuple,
    /// `is_pid(x)`.
    IsPid,
    /// `is_reference(x)`.
    IsReference,
}

/// A compiled regular expression, compared by its text.
#[derive(Clone)]
pub struct CompiledPattern {
    text: Arc<str>,
    regex: Arc<Regex>,
}

impl CompiledPattern {
    /// Compiles `text`.
    ///
    /// # Errors
    /// If it is not a regular expression or too large.
    pub fn new(text: &str) -> Result<Self, crate::expr::BadPattern> {
        Ok(Self { text: text.into(), regex: Arc::new(Regex::new(text)?) })
    }

    /// The pattern as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it occurs anywhere in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl fmt::Debug for CompiledPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl PartialEq for CompiledPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Condition {
    /// The condition `node` standing at `place`. A connective of one operand is that operand.
    ///
    /// # Errors
    /// [`TooDeep`] if the tree would be deeper than [`MAX_DEPTH`].
    pub fn new(node: ConditionNode, place: Place) -> Result<Self, TooDeep> {
        let node = match node {
            ConditionNode::All(parts)
            | ConditionNode::Any(parts)
            | ConditionNode::AndAlso(parts)
            | ConditionNode::OrElse(parts)
                if parts.len() == 1 =>
            {
                let mut parts = parts.into_vec();
                match parts.pop() {
                    Some(only) => return Ok(only),
                    None => ConditionNode::All(Box::default()),
                }
            }
            other => other,
        };
        let below = node.children().iter().map(|child| child.depth).max().unwrap_or(0);
        if usize::from(below) >= MAX_DEPTH {
            return Err(TooDeep);
        }
        Ok(Self { node, place, depth: below + 1 })
    }

    /// What it is made of.
    #[must_use]
    pub fn node(&self) -> &ConditionNode {
        &self.node
    }

    /// Where it stands.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }
}

/// Places do not matter.
impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl ConditionNode {
    /// The conditions directly below, from left to right.
    #[must_use]
    pub fn children(&self) -> &[Condition] {
        match self {
            Self::Constant(_) | Self::Slot(_) => &[],
            Self::List(parts)
            | Self::Tuple(parts)
            | Self::All(parts)
            | Self::Any(parts)
            | Self::AndAlso(parts)
            | Self::OrElse(parts)
            | Self::Call(_, parts) => parts,
            Self::Not(operand)
            | Self::Negate(operand)
            | Self::Member(operand, _)
            | Self::Matches(operand, _) => std::slice::from_ref(operand),
            Self::Binary(_, pair) | Self::Index(pair) => pair.as_slice(),
            Self::Conditional(parts) => parts.as_slice(),
        }
    }
}

impl Guard {
    /// Whether the guard has the value `true` under `environment`.
    #[must_use]
    pub fn holds(&self, environment: &dyn Environment) -> bool {
        eval::truth(self.dialect, &self.condition, environment) == Some(true)
    }

    /// Whether the guard is `false` whatever the slots hold that `environment` does not know.
    #[must_use]
    pub(crate) fn is_refuted(&self, environment: &dyn Environment) -> bool {
        eval::truth(self.dialect, &self.condition, environment) == Some(false)
    }

    /// Adds the slots it reads to `slots`.
    pub fn slots(&self, slots: &mut Vec<Slot>) {
        let mut pending = vec![&self.condition];
        while let Some(condition) = pending.pop() {
            if let ConditionNode::Slot(slot) = condition.node() {
                slots.push(*slot);
            }
            pending.extend(condition.node().children());
        }
    }
}
