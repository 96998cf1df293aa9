//! The built-in functions: their names, how many arguments they take, and how they may be called.
//!
//! What they accept is in `check`, what they compute in `eval`.

use std::fmt;

use super::Dialect;

/// A built-in function of some dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Function {
    /// `size(x)`: characters (Unicode code points) of a string, bytes, elements of a list.
    Size,
    /// `s.startsWith(prefix)`.
    StartsWith,
    /// `s.endsWith(suffix)`.
    EndsWith,
    /// `s.contains(part)`.
    Contains,
    /// `s.matches("regex")`: whether the pattern occurs anywhere in `s` (CEL: anchor it yourself).
    Matches,
    /// `int(x)`: of an int, a float (towards zero) or a string (decimal).
    Int,
    /// `double(x)` or `float(x)`: of an int, a float or a string.
    Float,
    /// `string(x)`: of a bool, an int, a float, a string or bytes in UTF-8.
    String,
    /// `abs(x)`.
    Abs,
    /// `min(x, y, …)`.
    Min,
    /// `max(x, y, …)`.
    Max,
    /// Erlang's `length(xs)`: elements of a list.
    Length,
    /// Erlang's `tuple_size(t)`.
    TupleSize,
    /// Erlang's `hd(xs)`.
    Head,
    /// Erlang's `tl(xs)`.
    Tail,
    /// Erlang's `element(n, t)`, from 1.
    Element,
    /// Erlang's `round(x)`: of a number, halves away from zero.
    Round,
    /// `is_atom(x)`, as all that follow in guards only: truth values are atoms.
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
    /// `time(x)`: of RFC 3339 text, or of a number since 1970. `time(x, "clf")`: of text in this format.
    Time,
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arity {
    /// This many.
    Exactly(usize),
    /// This many or more.
    AtLeast(usize),
    /// One or two.
    OneOrTwo,
}

impl Arity {
    /// Whether `count` arguments are right.
    #[must_use]
    pub fn admits(self, count: usize) -> bool {
        match self {
            Self::Exactly(expected) => count == expected,
            Self::AtLeast(least) => count >= least,
            Self::OneOrTwo => count == 1 || count == 2,
        }
    }
}

impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Exactly(count) | Self::AtLeast(count)) = *self else {
            return f.write_str("one argument or two");
        };
        let least = if matches!(self, Self::AtLeast(_)) { "at least " } else { "" };
        write!(f, "{least}{count} argument{}", if count == 1 { "" } else { "s" })
    }
}

impl Function {
    /// Every built-in of the assertion language.
    pub const ALL: [Self; 11] = [
        Self::Size,
        Self::StartsWith,
        Self::EndsWith,
        Self::Contains,
        Self::Matches,
        Self::Int,
        Self::Float,
        Self::String,
        Self::Abs,
        Self::Min,
        Self::Max,
    ];

    /// What only guards know, written alike in both dialects: the tests of kinds, and `time`.
    pub const GUARDS_ONLY: [Self; 12] = [
        Self::IsAtom,
        Self::IsBoolean,
        Self::IsText,
        Self::IsRecord,
        Self::IsInteger,
        Self::IsFloat,
        Self::IsNumber,
        Self::IsList,
        Self::IsTuple,
        Self::IsPid,
        Self::IsReference,
        Self::Time,
    ];

    /// The name in CEL, or in Erlang if CEL has none.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::StartsWith => "startsWith",
            Self::EndsWith => "endsWith",
            Self::Contains => "contains",
            Self::Matches => "matches",
            Self::Int => "int",
            Self::Float => "double",
            Self::String => "string",
            Self::Abs => "abs",
            Self::Min => "min",
            Self::Max => "max",
            Self::Length => "length",
            Self::TupleSize => "tuple_size",
            Self::Head => "hd",
            Self::Tail => "tl",
            Self::Element => "element",
            Self::Round => "round",
            Self::IsAtom => "is_atom",
            Self::IsBoolean => "is_boolean",
            Self::IsText => "is_string",
            Self::IsRecord => "is_record",
            Self::IsInteger => "is_integer",
            Self::IsFloat => "is_float",
            Self::IsNumber => "is_number",
            Self::IsList => "is_list",
            Self::IsTuple => "is_tuple",
            Self::IsPid => "is_pid",
            Self::IsReference => "is_reference",
            Self::Time => "time",
        }
    }

    /// The name in `dialect`.
    #[must_use]
    pub fn name_in(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Self::Int, Dialect::Erlang) => "trunc",
            (Self::Float, Dialect::Erlang) => "float",
            _ => self.name(),
        }
    }

    /// The built-in called `name`, under its CEL name or as `float`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "float" {
            return Some(Self::Float);
        }
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    /// The built-in that may be called as `receiver.name(…)`.
    ///
    /// These names are reserved as the last part of a dotted call; `util.min(x)` is an external predicate.
    #[must_use]
    pub fn from_method_name(name: &str) -> Option<Self> {
        Self::from_name(name).filter(|function| function.is_method())
    }

    /// Whether it may be called as a method.
    #[must_use]
    pub fn is_method(self) -> bool {
        matches!(self, Self::Size | Self::StartsWith | Self::EndsWith | Self::Contains | Self::Matches)
    }

    /// How many arguments it takes, the receiver included.
    #[must_use]
    pub fn arity(self) -> Arity {
        match self {
            Self::StartsWith | Self::EndsWith | Self::Contains | Self::Matches | Self::Element => {
                Arity::Exactly(2)
            }
            Self::Min | Self::Max => Arity::AtLeast(2),
            Self::Time => Arity::OneOrTwo,
            _ => Arity::Exactly(1),
        }
    }
}
