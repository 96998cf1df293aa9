//! The parser: operators by precedence over [`Token`]s, one token ahead.
//!
//! Names and what follows them are in `selection`, the differences between dialects in `dialect`.

mod dialect;
mod selection;
mod tokens;

use std::ops::Range;

use logos::{Lexer, Logos};
use referee_theory::expr::{Expr, Literal, MAX_DEPTH, Node, TooDeep, UnaryOperator};
use referee_theory::time;

use self::dialect::Infix;
use super::lexer::{LexError, Token};
use super::{Dialect, Expectation, SyntaxError, SyntaxErrorKind, literal};

type Parsed<T> = Result<T, SyntaxError>;

pub(super) fn parse(text: &str, base: u32, dialect: Dialect) -> Parsed<Expr> {
    let mut parser = Parser::new(text, base, dialect);
    let expr = parser.expression()?;
    if parser.ahead.is_some() {
        return Err(parser.unexpected(Expectation::Operator));
    }
    Ok(expr)
}

pub(super) fn parse_prefix(text: &str, base: u32, dialect: Dialect) -> Parsed<(Expr, usize)> {
    let mut parser = Parser::new(text, base, dialect);
    let expr = parser.expression()?;
    Ok((expr, parser.consumed))
}

/// As [`parse_prefix`] for CEL, with durations.
pub(super) fn parse_guard_prefix(text: &str, base: u32) -> Parsed<(Expr, usize)> {
    let mut parser = Parser::new(text, base, Dialect::Cel);
    parser.durations = true;
    let expr = parser.expression()?;
    Ok((expr, parser.consumed))
}

struct Parser<'a> {
    /// Whether `5s` is a constant.
    durations: bool,
    text: &'a str,
    base: u32,
    dialect: Dialect,
    lexer: Lexer<'a, Token>,
    /// The next token; nothing at the end of the text.
    ahead: Option<(Result<Token, LexError>, Range<usize>)>,
    /// Where the last token that was taken ended.
    consumed: usize,
    recursion: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, base: u32, dialect: Dialect) -> Self {
        let lexer = Token::lexer_with_extras(text, dialect);
        let mut parser =
            Self { durations: false, text, base, dialect, lexer, ahead: None, consumed: 0, recursion: 0 };
        parser.advance();
        parser
    }

    /// An expression inside brackets or at the top.
    ///
    /// Printed text has no more of these around a subexpression than the subexpression has levels above it,
    /// so whatever prints also parses.
    fn expression(&mut self) -> Parsed<Expr> {
        if self.recursion >= MAX_DEPTH {
            return Err(self.error(SyntaxErrorKind::TooDeep, self.ahead_range()));
        }
        self.recursion += 1;
        let expr = if self.dialect == Dialect::NuScr { self.negation() } else { self.conditional() };
        self.recursion -= 1;
        expr
    }

    /// `c ? a : b` in CEL, or just operators.
    fn conditional(&mut self) -> Parsed<Expr> {
        let start = self.start();
        let expr = self.operators()?;
        if self.dialect != Dialect::Cel || !self.eat(Token::Question) {
            return self.no_foreign_operator().map(|()| expr);
        }
        self.branches(start, expr)
    }

    /// The rest of `condition ? a : b`.
    fn branches(&mut self, start: usize, condition: Expr) -> Parsed<Expr> {
        let then = self.operators()?;
        self.expect(Token::Colon, Expectation::Token(":"))?;
        let otherwise = self.expression()?;
        self.node(start, Node::Conditional(Box::new([condition, then, otherwise])))
    }

    /// nuScr's `not e` and `-e`, or just operators.
    fn negation(&mut self) -> Parsed<Expr> {
        let start = self.start();
        let operator = match self.peek() {
            Some(Token::Minus) => UnaryOperator::Negate,
            Some(Token::Name) if self.peek_text() == "not" => UnaryOperator::Not,
            _ => {
                let expr = self.operators()?;
                return self.no_foreign_operator().map(|()| expr);
            }
        };
        self.advance_past();
        let operand = self.expression()?;
        self.node(start, Node::Unary(operator, Box::new(operand)))
    }

    /// Operands with operators between them.
    ///
    /// The operations still waiting for their last operand are kept on a stack of our own, not by recursion:
    /// a level of parentheses then costs the same few frames whatever operators stand around it.
    fn operators(&mut self) -> Parsed<Expr> {
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut start = self.start();
        let mut operand = self.unary()?;
        loop {
            let next = self.infix();
            // Operators group to the left: what binds at least as tightly as the next one is complete.
            while let Some(last) =
                waiting.pop_if(|last| next.is_none_or(|next| last.level >= next.1 && !last.continues(next)))
            {
                start = last.start;
                operand = self.node(start, last.complete(operand))?;
            }
            let Some((infix, level)) = next else { return Ok(operand) };
            match waiting.last_mut() {
                Some(last) if last.continues((infix, level)) => last.more.push(operand),
                _ => waiting.push(Waiting { start, infix, level, first: operand, more: Vec::new() }),
            }
            self.advance_past();
            start = self.start();
            operand = self.unary()?;
        }
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let mut waiting = Vec::new();
        let mut operand = loop {
            let operator = match self.peek() {
                Some(Token::Bang) => UnaryOperator::Not,
                Some(Token::Minus) => UnaryOperator::Negate,
                Some(Token::Name) if self.dialect == Dialect::NuScr && self.peek_text() == "not" => {
                    return Err(self.misplaced_negation());
                }
                _ => break self.postfix()?,
            };
            if operator == UnaryOperator::Negate
                && let Some(constant) = self.negative_constant()?
            {
                break constant;
            }
            if self.dialect == Dialect::NuScr {
                return Err(self.misplaced_negation());
            }
            waiting.push((self.start(), operator));
            self.advance_past();
        };
        while let Some((start, operator)) = waiting.pop() {
            operand = self.node(start, Node::Unary(operator, Box::new(operand)))?;
        }
        Ok(operand)
    }

    /// `-5` is a constant, so that the least int can be written; `-5.size()` negates a call.
    fn negative_constant(&mut self) -> Parsed<Option<Expr>> {
        let mut after = self.lexer.clone();
        let number = after.next();
        let range = after.span();
        let constant = match number {
            Some(Ok(Token::Int)) => literal::int(&self.text[range.clone()], true),
            Some(Ok(Token::Float)) => literal::float(&self.text[range.clone()], true),
            _ => return Ok(None),
        };
        if let Some(Ok(Token::Dot | Token::OpenBracket)) = after.next() {
            return Ok(None);
        }
        let start = self.start();
        let constant = constant.map_err(|kind| self.error(kind, start..range.end))?;
        self.advance_past();
        self.advance_past();
        self.node(start, Node::Literal(constant)).map(Some)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.start();
        match self.peek() {
            Some(Token::OpenParen) => {
                self.advance_past();
                let expr = self.expression()?;
                self.expect(Token::CloseParen, Expectation::Token(")"))?;
                Ok(expr)
            }
            Some(Token::OpenBracket) => {
                self.advance_past();
                let elements = self.separated(Token::CloseBracket, "]")?;
                self.node(start, Node::List(elements.into()))
            }
            Some(Token::Dot) if self.dialect == Dialect::Cel => self.absolute(start),
            _ => self.constant(start),
        }
    }

    fn constant(&mut self, start: usize) -> Parsed<Expr> {
        let text = self.peek_text();
        let constant = match self.peek() {
            Some(Token::Name) if text == "true" => Ok(Literal::Bool(true)),
            Some(Token::Name) if text == "false" => Ok(Literal::Bool(false)),
            Some(Token::Int) => literal::int(text, false),
            Some(Token::Float) => literal::float(text, false),
            Some(Token::Duration) if self.durations => match time::read_duration(text) {
                Some(length) => Ok(Literal::Duration(length)),
                None => Err(SyntaxErrorKind::NumberOutOfRange { text: text.to_owned() }),
            },
            Some(Token::NumberLike | Token::Duration) => self.number_like(text),
            Some(Token::String) if self.admits_string(text) => match literal::string(text, self.dialect) {
                Ok(constant) => Ok(constant),
                Err((kind, range)) => return Err(self.error(kind, start + range.start..start + range.end)),
            },
            _ => return Err(self.unexpected(Expectation::Expression)),
        };
        let constant = constant.map_err(|kind| self.error(kind, self.ahead_range()))?;
        self.advance_past();
        self.node(start, Node::Literal(constant))
    }

    /// `.a.b.f(x)`: external whatever `f` is called.
    fn absolute(&mut self, start: usize) -> Parsed<Expr> {
        let mut path = String::new();
        while self.eat(Token::Dot) {
            let Some(name) = self.name_ahead() else {
                return Err(self.unexpected(Expectation::Name));
            };
            self.advance_past();
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&name);
        }
        if self.peek() != Some(Token::OpenParen) {
            return Err(self.unexpected(Expectation::Token("(")));
        }
        let args = self.arguments()?.into();
        self.node(start, Node::External { name: path.into(), args })
    }

    fn node(&self, start: usize, node: Node) -> Parsed<Expr> {
        let range = start..self.consumed;
        Expr::new(node, self.place(range.clone()))
            .map_err(|TooDeep| self.error(SyntaxErrorKind::TooDeep, range))
    }
}

/// An operation whose last operand is still to come.
struct Waiting {
    start: usize,
    infix: Infix,
    level: u8,
    first: Expr,
    /// Operands in the middle: of `&&` and `||` only.
    more: Vec<Expr>,
}

impl Waiting {
    /// `&&` after `&&` makes one operation of many operands, in linear time.
    fn continues(&self, next: (Infix, u8)) -> bool {
        self.infix == next.0 && matches!(self.infix, Infix::And | Infix::Or)
    }

    fn complete(self, last: Expr) -> Node {
        let Self { infix, first, more, .. } = self;
        let all = |first, last| std::iter::once(first).chain(more).chain(std::iter::once(last)).collect();
        match infix {
            Infix::And => Node::And(all(first, last)),
            Infix::Or => Node::Or(all(first, last)),
            Infix::Operator(operator) => Node::Binary(operator, Box::new([first, last])),
        }
    }
}
