//! The dialects, the operators, and how each dialect writes them.

/// Whose rules apply to an expression.
///
/// | | assertion | native guard | Erlang's guard |
/// |---|---|---|---|
/// | operands | of declared types, which the checker has compared | whatever events carry | the same |
/// | integers | 64 bits | 128 bits, `/` integral | 128 bits, `/` a float |
/// | floats | IEEE 754 | finite, and mixed with integers | the same |
/// | order | of scalars of one type | numbers, texts, bools | of all terms |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Protocol assertions (CEL).
    Assertion,
    /// The guards of properties in the same language.
    Native,
    /// Erlang's guards.
    Erlang,
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnaryOperator {
    /// `!`
    Not,
    /// `-`
    Negate,
}

impl UnaryOperator {
    /// The operator in CEL.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Not => "!",
            Self::Negate => "-",
        }
    }
}

/// An operator between two operands, `&&` and `||` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `in`
    In,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`, Erlang's `rem`: ints only.
    Remainder,
    /// Erlang's `=:=`: exact equality.
    Identical,
    /// Erlang's `=/=`.
    NotIdentical,
    /// Erlang's `/`: always a float.
    FloatDivide,
    /// Erlang's `div`: ints only.
    IntDivide,
    /// Erlang's `and`: both operands are evaluated.
    StrictAnd,
    /// Erlang's `or`.
    StrictOr,
    /// Erlang's `xor`.
    StrictXor,
    /// Erlang's `++`.
    Append,
}

impl Operator {
    /// Every operator of the assertion language.
    pub const ALL: [Self; 12] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessEqual,
        Self::Greater,
        Self::GreaterEqual,
        Self::In,
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Divide,
        Self::Remainder,
    ];

    /// The operator in CEL, or in Erlang if CEL has none.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Identical => "=:=",
            Self::NotIdentical => "=/=",
            Self::FloatDivide => "/",
            Self::IntDivide => "div",
            Self::StrictAnd => "and",
            Self::StrictOr => "or",
            Self::StrictXor => "xor",
            Self::Append => "++",
        }
    }

    /// The operator as `dialect` writes it.
    #[must_use]
    pub fn symbol_in(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Self::NotEqual, Dialect::Erlang) => "/=",
            (Self::LessEqual, Dialect::Erlang) => "=<",
            (Self::Remainder, Dialect::Erlang) => "rem",
            _ => self.symbol(),
        }
    }
}
