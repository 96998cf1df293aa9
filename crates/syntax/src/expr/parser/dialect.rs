//! Where the dialects differ: operators, their precedence, names and constants.

use referee_theory::expr::{Literal, Operator};

use super::super::lexer::Token;
use super::super::{Dialect, Expectation, SyntaxError, SyntaxErrorKind, literal};
use super::Parser;

/// Something between two operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Infix {
    And,
    Or,
    Operator(Operator),
}

impl Parser<'_> {
    /// The token ahead as an operator, and how tightly it binds. All operators group to the left.
    pub(super) fn infix(&self) -> Option<(Infix, u8)> {
        let dialect = self.dialect;
        let infix = match self.peek()? {
            Token::AndAnd => Infix::And,
            Token::OrOr => Infix::Or,
            Token::EqualEqual => Infix::Operator(Operator::Equal),
            Token::Equal if dialect == Dialect::NuScr => Infix::Operator(Operator::Equal),
            Token::BangEqual => Infix::Operator(Operator::NotEqual),
            Token::LessGreater if dialect == Dialect::NuScr => Infix::Operator(Operator::NotEqual),
            Token::Less => Infix::Operator(Operator::Less),
            Token::LessEqual => Infix::Operator(Operator::LessEqual),
            Token::Greater => Infix::Operator(Operator::Greater),
            Token::GreaterEqual => Infix::Operator(Operator::GreaterEqual),
            Token::Plus => Infix::Operator(Operator::Add),
            Token::Minus => Infix::Operator(Operator::Subtract),
            Token::Star => Infix::Operator(Operator::Multiply),
            Token::Slash => Infix::Operator(Operator::Divide),
            Token::Percent => Infix::Operator(Operator::Remainder),
            Token::Name if dialect == Dialect::Cel && self.peek_text() == "in" => {
                Infix::Operator(Operator::In)
            }
            _ => return None,
        };
        let level = match infix {
            Infix::Or => 1,
            Infix::And if dialect == Dialect::NuScr => 1,
            Infix::And => 2,
            // Scala compares for equality more loosely than for order; CEL and nuScr do not.
            Infix::Operator(Operator::Equal | Operator::NotEqual) if dialect == Dialect::Scala => 3,
            Infix::Operator(
                Operator::Equal
                | Operator::NotEqual
                | Operator::Less
                | Operator::LessEqual
                | Operator::Greater
                | Operator::GreaterEqual
                | Operator::In,
            ) => 4,
            Infix::Operator(Operator::Add | Operator::Subtract) => 5,
            Infix::Operator(_) => 6,
        };
        Some((infix, level))
    }

    /// An operator of another language after a complete expression: stopping there would leave the user
    /// with a complaint about what follows the expression.
    pub(super) fn no_foreign_operator(&self) -> Result<(), SyntaxError> {
        let instead = match self.peek() {
            Some(Token::Equal) => "==",
            Some(Token::LessGreater) => "!=",
            Some(Token::And) => "&&",
            Some(Token::Or) => "||",
            _ => return Ok(()),
        };
        let found = self.peek_text().to_owned();
        Err(self.error(SyntaxErrorKind::ForeignOperator { found, instead }, self.ahead_range()))
    }

    /// nuScr's negations stand at the start of an expression; `!` is not one of them.
    pub(super) fn misplaced_negation(&self) -> SyntaxError {
        match self.peek() {
            Some(Token::Bang) => {}
            Some(Token::Name) => return self.error(SyntaxErrorKind::MisplacedNot, self.ahead_range()),
            _ => return self.unexpected(Expectation::Expression),
        }
        let kind = SyntaxErrorKind::ForeignOperator { found: "!".to_owned(), instead: "(not …)" };
        self.error(kind, self.ahead_range())
    }

    /// The text of the token ahead; empty at the end.
    pub(super) fn peek_text(&self) -> &str {
        self.text.get(self.ahead_range()).unwrap_or_default()
    }

    /// The name ahead, if there is one: keywords count, as they may be fields.
    pub(super) fn name_ahead(&self) -> Option<String> {
        let text = self.peek_text();
        match self.peek()? {
            Token::Name => Some(text.to_owned()),
            Token::QuotedName if self.dialect == Dialect::Cel => Some(text.trim_matches('`').to_owned()),
            // In nuScr a name may begin with a digit, and everything is a name that is not all digits.
            Token::NumberLike | Token::Duration | Token::Int | Token::Float
                if self.dialect == Dialect::NuScr && !is_decimal(text) && !text.contains(['.', '+', '-']) =>
            {
                Some(text.to_owned())
            }
            _ => None,
        }
    }

    /// Whether the name ahead is not one of a variable: a constant or an operator.
    pub(super) fn is_constant_ahead(&self) -> bool {
        self.peek() == Some(Token::Name)
            && match self.peek_text() {
                "true" | "false" => true,
                "in" => self.dialect == Dialect::Cel,
                "not" => self.dialect == Dialect::NuScr,
                _ => false,
            }
    }

    /// Only CEL has single quotes and prefixes.
    pub(super) fn admits_string(&self, text: &str) -> bool {
        self.dialect == Dialect::Cel || text.starts_with('"')
    }

    /// A number with a suffix: `5L` is one in Scala.
    pub(super) fn number_like(&self, text: &str) -> Result<Literal, SyntaxErrorKind> {
        match text.strip_suffix(['l', 'L']) {
            Some(digits) if self.dialect == Dialect::Scala && is_decimal(digits) => {
                literal::int(digits, false)
            }
            _ => Err(SyntaxErrorKind::BadNumber { text: text.to_owned() }),
        }
    }
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
