//! Expressions as CEL text, with no more parentheses than needed.
//!
//! Parsing what is printed gives the same expression. Two corners need care: `-` before a number is part
//! of the number, so the negation of the constant 5 prints as `-(5)`; and an external predicate named like
//! a built-in prints with CEL's leading dot, `.util.matches(x)`.

use std::fmt::{self, Display, Formatter, Write};

use super::{Expr, Function, Literal, Node, Operator, UnaryOperator, written_name};

/// How tightly a construct binds: CEL's precedence levels, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Conditional,
    Or,
    And,
    Relation,
    Sum,
    Product,
    Unary,
    Postfix,
}

impl Level {
    fn of(expr: &Expr) -> Self {
        match expr.node() {
            Node::Conditional(_) => Self::Conditional,
            Node::Or(_) | Node::OrElse(_) => Self::Or,
            Node::And(_) | Node::AndAlso(_) => Self::And,
            Node::Binary(operator, _) => Self::of_operator(*operator).0,
            Node::Unary(..) => Self::Unary,
            Node::Literal(literal) if is_negative(literal) => Self::Unary,
            Node::Literal(_)
            | Node::Variable(_)
            | Node::List(_)
            | Node::Tuple(_)
            | Node::Matches(..)
            | Node::Member(..)
            | Node::Index(_)
            | Node::Call(..)
            | Node::External { .. } => Self::Postfix,
        }
    }

    /// The operator's own level, and the one its right operand needs: all associate to the left.
    fn of_operator(operator: Operator) -> (Self, Self) {
        match operator {
            Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::LessEqual
            | Operator::Greater
            | Operator::GreaterEqual
            | Operator::Identical
            | Operator::NotIdentical
            | Operator::In => (Self::Relation, Self::Sum),
            Operator::Add
            | Operator::Subtract
            | Operator::Append
            | Operator::StrictOr
            | Operator::StrictXor => (Self::Sum, Self::Product),
            Operator::Multiply
            | Operator::Divide
            | Operator::Remainder
            | Operator::FloatDivide
            | Operator::IntDivide
            | Operator::StrictAnd => (Self::Product, Self::Unary),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.node() {
            Node::Literal(literal) => literal.fmt(f),
            Node::Variable(name) => write_name(f, written_name(name)),
            Node::List(elements) => {
                f.write_char('[')?;
                write_joined(f, elements, ", ", Level::Conditional)?;
                f.write_char(']')
            }
            Node::Tuple(elements) => {
                f.write_char('{')?;
                write_joined(f, elements, ", ", Level::Conditional)?;
                f.write_char('}')
            }
            Node::Matches(text, pattern) => {
                write_at(f, text, Level::Postfix)?;
                f.write_str(".matches(")?;
                write_string(f, pattern.text())?;
                f.write_char(')')
            }
            Node::Unary(operator, operand) => {
                f.write_str(operator.symbol())?;
                if *operator == UnaryOperator::Negate && is_plain_number(operand) {
                    write!(f, "({operand})")
                } else {
                    write_at(f, operand, Level::Unary)
                }
            }
            Node::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let (own, tighter) = Level::of_operator(*operator);
                write_at(f, left, own)?;
                write!(f, " {} ", operator.symbol())?;
                write_at(f, right, tighter)
            }
            Node::AndAlso(operands) => write_joined(f, operands, " andalso ", Level::Relation),
            Node::OrElse(operands) => write_joined(f, operands, " orelse ", Level::And),
            Node::And(operands) => write_joined(f, operands, " && ", Level::Relation),
            Node::Or(operands) => write_joined(f, operands, " || ", Level::And),
            Node::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                write_at(f, condition, Level::Or)?;
                f.write_str(" ? ")?;
                write_at(f, then, Level::Or)?;
                f.write_str(" : ")?;
                write_at(f, otherwise, Level::Conditional)
            }
            Node::Member(record, field) => {
                write_at(f, record, Level::Postfix)?;
                f.write_char('.')?;
                write_name(f, field)
            }
            Node::Index(parts) => {
                let [container, index] = &**parts;
                write_at(f, container, Level::Postfix)?;
                write!(f, "[{index}]")
            }
            Node::Call(function, args) => match &**args {
                [receiver, args @ ..] if function.is_method() && *function != Function::Size => {
                    write_at(f, receiver, Level::Postfix)?;
                    write!(f, ".{}", function.name())?;
                    write_args(f, args)
                }
                args => {
                    f.write_str(function.name())?;
                    write_args(f, args)
                }
            },
            Node::External { name, args } => {
                if is_taken(name) {
                    f.write_char('.')?;
                }
                for (i, part) in name.split('.').enumerate() {
                    if i > 0 {
                        f.write_char('.')?;
                    }
                    write_name(f, part)?;
                }
                write_args(f, args)
            }
        }
    }
}

fn write_at(f: &mut Formatter<'_>, expr: &Expr, least: Level) -> fmt::Result {
    if Level::of(expr) < least { write!(f, "({expr})") } else { write!(f, "{expr}") }
}

fn write_joined(f: &mut Formatter<'_>, parts: &[Expr], separator: &str, least: Level) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            f.write_str(separator)?;
        }
        write_at(f, part, least)?;
    }
    Ok(())
}

fn write_args(f: &mut Formatter<'_>, args: &[Expr]) -> fmt::Result {
    f.write_char('(')?;
    write_joined(f, args, ", ", Level::Conditional)?;
    f.write_char(')')
}

/// Whether a call of `name` without a leading dot would be read as a call of a built-in.
fn is_taken(name: &str) -> bool {
    match name.rsplit_once('.') {
        Some((_, last)) => Function::from_method_name(last).is_some(),
        None => Function::from_name(name).is_some(),
    }
}

/// Names that are not CEL identifiers (a nuScr payload may be called `in` or `2nd`) go between backquotes.
fn write_name(f: &mut Formatter<'_>, name: &str) -> fmt::Result {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '\'')
        && !matches!(name, "true" | "false" | "in");
    if plain { f.write_str(name) } else { write!(f, "`{name}`") }
}

fn is_negative(literal: &Literal) -> bool {
    match literal {
        Literal::Int(value) => *value < 0,
        Literal::Float(value) => value.is_sign_negative(),
        _ => false,
    }
}

/// Whether a minus before it would become part of it. That of `-0.0` does not: see [`Expr::new`].
fn is_plain_number(expr: &Expr) -> bool {
    match expr.node() {
        Node::Literal(Literal::Float(0.0)) => false,
        Node::Literal(literal @ (Literal::Int(_) | Literal::Float(_))) => !is_negative(literal),
        _ => false,
    }
}

/// `text` between double quotes.
pub(crate) fn write_string(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// `bytes` as a CEL bytes constant.
pub(crate) fn write_bytes(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    f.write_str("b\"")?;
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => write!(f, "\\{}", char::from(byte))?,
            b' '..=b'~' => f.write_char(char::from(byte))?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    f.write_char('"')
}
