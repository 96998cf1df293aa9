//! What can be wrong with the types of an expression, as data. Prose is made of it in `referee-syntax`.

use std::fmt;
use std::sync::Arc;

use super::{Arity, Place, written_name};
use crate::payload::Type;

/// One mistake in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// What is wrong.
    pub kind: TypeErrorKind,
    /// The subexpression to point at.
    pub place: Place,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypeErrorKind {
    /// A variable nobody bound.
    UnknownVariable {
        /// As written.
        name: Arc<str>,
        /// The names that are bound.
        candidates: Vec<Arc<str>>,
    },
    /// A call of something that is neither built in nor declared.
    UnknownFunction {
        /// As written.
        name: Arc<str>,
        /// The names that exist, built-ins last.
        candidates: Vec<Arc<str>>,
    },
    /// Too many or too few arguments.
    WrongArity {
        /// What is called.
        function: Arc<str>,
        /// How many it takes.
        expected: Arity,
        /// How many there are.
        found: usize,
    },
    /// An argument of the wrong type; the place is the argument's.
    WrongArgument {
        /// What is called.
        function: Arc<str>,
        /// Which argument, from 0, the receiver included.
        position: usize,
        /// What it takes there.
        expected: Expected,
        /// What it got.
        found: Type,
    },
    /// An operand the operator does not work on; the place is the operand's.
    WrongOperand {
        /// In CEL: `+`.
        operator: &'static str,
        /// What it works on.
        expected: Expected,
        /// What it got.
        found: Type,
    },
    /// Operands whose types differ; the place is the whole operation's.
    UnequalOperands {
        /// In CEL: `==`.
        operator: &'static str,
        /// The left operand's type.
        left: Type,
        /// The right operand's type.
        right: Type,
    },
    /// An `int` beside a `float`: as in CEL there is no conversion unless it is written.
    MixedNumbers {
        /// In CEL: `<`.
        operator: &'static str,
        /// The left operand's type.
        left: Type,
        /// The right operand's type.
        right: Type,
        /// How to convert the `int`.
        fix: Fix,
    },
    /// Something that must be true or false is neither.
    NotBoolean {
        /// Where a truth value is needed.
        position: Position,
        /// What is there.
        found: Type,
    },
    /// The pattern of `matches` is not a constant, so it cannot be checked and compiled ahead.
    NonLiteralPattern,
    /// The pattern of `matches` is not a regular expression.
    BadPattern {
        /// As written.
        pattern: Arc<str>,
        /// What is wrong with it: `unclosed group`.
        reason: String,
    },
    /// A record has no such field.
    UnknownField {
        /// As written.
        field: Arc<str>,
        /// The record's type.
        record: Type,
        /// Its fields.
        candidates: Vec<Arc<str>>,
    },
    /// A field of something that is not a record.
    NotARecord {
        /// As written.
        field: Arc<str>,
        /// What is there instead of a record.
        found: Type,
    },
    /// An index into something that has no elements.
    NotIndexable {
        /// What is there.
        found: Type,
    },
    /// An index of the wrong type; the place is the index's.
    WrongIndex {
        /// What is indexed.
        container: Type,
        /// What its index must be.
        expected: Type,
        /// What it is.
        found: Type,
    },
    /// The index of a tuple or record is not a constant, so the element's type is not known.
    NonLiteralIndex {
        /// What is indexed.
        container: Type,
    },
    /// A constant index outside a tuple.
    IndexOutOfRange {
        /// The index.
        index: i64,
        /// How many elements there are.
        length: usize,
    },
    /// `c ? a : b` where `a` and `b` differ in type.
    UnequalBranches {
        /// The type of `a`.
        then: Type,
        /// The type of `b`.
        otherwise: Type,
    },
    /// A list whose elements differ in type; the place is the odd element's.
    UnequalElements {
        /// The type of the first element.
        first: Type,
        /// The type of this one.
        found: Type,
    },
    /// `[]` where nothing says what it would hold.
    EmptyList,
    /// An undeclared predicate called in two ways.
    UnequalCalls {
        /// What is called.
        function: Arc<str>,
        /// The argument types of the first call.
        first: Arc<[Type]>,
        /// The argument types of this one.
        found: Arc<[Type]>,
    },
}

/// The types an operator or a function works on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// This one.
    Type(Type),
    /// `int` or `float`.
    Number,
    /// What has an order: `bool`, `int`, `float`, `string` or `bytes`.
    Ordered,
    /// What can be added: `int`, `float`, `string`, `bytes` or a list.
    Addable,
    /// What has a size: `string`, `bytes` or a list.
    Sized,
    /// Any list.
    List,
    /// What `string` converts: `bool`, `int`, `float`, `string` or `bytes`.
    Printable,
    /// What `int` and `double` convert: `int`, `float` or `string`.
    Numeral,
}

/// Where a truth value is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The whole assertion.
    Assertion,
    /// An operand of `&&`.
    And,
    /// An operand of `||`.
    Or,
    /// The operand of `!`.
    Not,
    /// The condition of `c ? a : b`.
    Condition,
}

/// A replacement of some text that would repair a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What to replace.
    pub place: Place,
    /// What to write there.
    pub replacement: String,
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl std::error::Error for TypeError {}

impl fmt::Display for TypeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVariable { name, .. } => write!(f, "unknown variable `{}`", written_name(name)),
            Self::UnknownFunction { name, .. } => write!(f, "unknown function `{name}`"),
            Self::WrongArity { function, expected, found } => {
                write!(f, "`{function}` takes {expected}, not {found}")
            }
            Self::WrongArgument { function, position, expected, found } => {
                write!(f, "argument {} of `{function}` must be {expected}, not `{found}`", position + 1)
            }
            Self::WrongOperand { operator, expected, found } => {
                write!(f, "`{operator}` works on {expected}, not on `{found}`")
            }
            Self::UnequalOperands { operator, left, right } => {
                write!(f, "`{operator}` between `{left}` and `{right}`")
            }
            Self::MixedNumbers { operator, left, right, .. } => {
                write!(f, "`{operator}` between `{left}` and `{right}` needs a conversion")
            }
            Self::NotBoolean { position, found } => write!(f, "{position} must be `bool`, not `{found}`"),
            Self::NonLiteralPattern => f.write_str("the pattern of `matches` must be a string constant"),
            Self::BadPattern { pattern, reason } => write!(f, "bad pattern `{pattern}`: {reason}"),
            Self::UnknownField { field, record, .. } => write!(f, "no field `{field}` in `{record}`"),
            Self::NotARecord { field, found } => write!(f, "no field `{field}`: `{found}` is not a record"),
            Self::NotIndexable { found } => write!(f, "`{found}` cannot be indexed"),
            Self::WrongIndex { container, expected, found } => {
                write!(f, "the index of `{container}` must be `{expected}`, not `{found}`")
            }
            Self::NonLiteralIndex { container } => {
                write!(f, "the index of `{container}` must be a constant")
            }
            Self::IndexOutOfRange { index, length } => {
                write!(f, "index `{index}` is outside a tuple of {length}")
            }
            Self::UnequalBranches { then, otherwise } => {
                write!(f, "the branches of `?` are `{then}` and `{otherwise}`")
            }
            Self::UnequalElements { first, found } => {
                write!(f, "a list of `{first}` cannot hold `{found}`")
            }
            Self::EmptyList => f.write_str("cannot tell what an empty list would hold"),
            Self::UnequalCalls { function, .. } => {
                write!(f, "`{function}` is called with other types than before")
            }
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(ty) => write!(f, "`{ty}`"),
            Self::Number => f.write_str("`int` or `float`"),
            Self::Ordered | Self::Printable => f.write_str("`bool`, `int`, `float`, `string` or `bytes`"),
            Self::Addable => f.write_str("`int`, `float`, `string`, `bytes` or a list"),
            Self::Sized => f.write_str("`string`, `bytes` or a list"),
            Self::List => f.write_str("a list"),
            Self::Numeral => f.write_str("`int`, `float` or `string`"),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Assertion => "an assertion",
            Self::And => "an operand of `&&`",
            Self::Or => "an operand of `||`",
            Self::Not => "the operand of `!`",
            Self::Condition => "the condition of `?`",
        })
    }
}
