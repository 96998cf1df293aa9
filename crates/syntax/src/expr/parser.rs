//! The parser: precedence climbing over [`Token`]s, one token ahead.

mod dialect;

use std::ops::Range;
use std::sync::Arc;

use logos::{Lexer, Logos};
use referee_theory::expr::{Expr, Function, Literal, MAX_DEPTH, Node, Place, TooDeep, UnaryOperator};

use self::dialect::Infix;
use super::lexer::{LexError, Token};
use super::{Dialect, Expectation, SyntaxError, SyntaxErrorKind, literal, scala};

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

struct Parser<'a> {
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
        let mut parser = Self { text, base, dialect, lexer, ahead: None, consumed: 0, recursion: 0 };
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

    /// A primary expression, then fields, indices and method calls.
    fn postfix(&mut self) -> Parsed<Expr> {
        let start = self.start();
        let mut target = self.head(start)?;
        loop {
            target = match self.peek() {
                Some(Token::Dot) => self.dotted(start, target)?,
                Some(Token::OpenBracket) => self.indexed(start, target)?,
                _ => return Ok(target.expr),
            };
        }
    }

    /// What selections are made from: a variable, a call, or any primary expression.
    fn head(&mut self, start: usize) -> Parsed<Target> {
        let name = match self.name_ahead() {
            Some(name) if !self.is_constant_ahead() => name,
            _ => return self.primary().map(Target::value),
        };
        self.advance_past();
        if self.peek() == Some(Token::OpenParen) {
            return self.function(start, &name).map(Target::value);
        }
        let expr = self.node(start, Node::Variable(name.as_str().into()))?;
        Ok(Target { expr, path: Some(name) })
    }

    fn dotted(&mut self, start: usize, target: Target) -> Parsed<Target> {
        self.advance_past();
        let Some(name) = self.name_ahead() else {
            return Err(self.unexpected(Expectation::Name));
        };
        let place = self.ahead_range();
        self.advance_past();
        let path = target.path.map(|path| format!("{path}.{name}"));
        if self.peek() == Some(Token::OpenParen) {
            let args = self.arguments()?;
            let node = self.method(target.expr, path, &name, args, place)?;
            return self.node(start, node).map(Target::value);
        }
        let node = self.member(target.expr, &name);
        Ok(Target { expr: self.node(start, node)?, path })
    }

    fn indexed(&mut self, start: usize, target: Target) -> Parsed<Target> {
        self.advance_past();
        let index = self.expression()?;
        self.expect(Token::CloseBracket, Expectation::Token("]"))?;
        self.node(start, Node::Index(Box::new([target.expr, index]))).map(Target::value)
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
            Some(Token::NumberLike) => self.number_like(text),
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

    /// A call of a name without dots.
    fn function(&mut self, start: usize, name: &str) -> Parsed<Expr> {
        let args = self.arguments()?.into();
        let built_in = match (self.dialect, name) {
            (Dialect::NuScr, "len") => Some(Function::Size),
            _ => Function::from_name(name),
        };
        let node = match built_in {
            Some(function) => Node::Call(function, args),
            None => Node::External { name: name.into(), args },
        };
        self.node(start, node)
    }

    /// A call `receiver.name(args)`; `qualified` is the dotted name if the receiver is one.
    fn method(
        &self,
        receiver: Expr,
        qualified: Option<String>,
        name: &str,
        mut args: Vec<Expr>,
        place: Range<usize>,
    ) -> Parsed<Node> {
        if self.dialect == Dialect::Scala {
            let function = qualified.as_deref().and_then(scala::function);
            if let Some(function) = function {
                return Ok(Node::Call(function, args.into()));
            }
            // `util` is the object in which STMonitor's users define their predicates.
            if !qualified.as_deref().is_some_and(|path| path.starts_with("util.")) {
                match scala::method(receiver, name, args) {
                    Ok(node) => return Ok(node),
                    Err(unchanged) => args = unchanged.1,
                }
            }
        } else if let Some(function) = Function::from_method_name(name) {
            args.insert(0, receiver);
            return Ok(Node::Call(function, args.into()));
        }
        match qualified {
            Some(name) => Ok(Node::External { name: name.into(), args: args.into() }),
            None => Err(self.error(SyntaxErrorKind::UnknownMethod { name: name.to_owned() }, place)),
        }
    }

    /// `record.field`; in Scala also a method called without parentheses.
    fn member(&self, record: Expr, field: &str) -> Node {
        let field: Arc<str> = field.into();
        if self.dialect != Dialect::Scala {
            return Node::Member(Box::new(record), field);
        }
        match scala::method(record, &field, Vec::new()) {
            Ok(node) => node,
            Err((record, _)) => Node::Member(Box::new(record), field),
        }
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect(Token::OpenParen, Expectation::Token("("))?;
        self.separated(Token::CloseParen, ")")
    }

    /// Expressions between commas up to `close`, which is taken. A trailing comma is fine, as in CEL lists.
    fn separated(&mut self, close: Token, text: &'static str) -> Parsed<Vec<Expr>> {
        let mut parts = Vec::new();
        while !self.eat(close) {
            parts.push(self.expression()?);
            if !self.eat(Token::Comma) {
                self.expect(close, Expectation::CommaOr(text))?;
                break;
            }
        }
        Ok(parts)
    }

    fn node(&self, start: usize, node: Node) -> Parsed<Expr> {
        let range = start..self.consumed;
        Expr::new(node, self.place(range.clone()))
            .map_err(|TooDeep| self.error(SyntaxErrorKind::TooDeep, range))
    }
}

/// What a selection is made from.
struct Target {
    expr: Expr,
    /// The dotted name it is, if it is one: it may turn out to be that of a predicate.
    path: Option<String>,
}

impl Target {
    fn value(expr: Expr) -> Self {
        Self { expr, path: None }
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

/// Tokens and places.
impl Parser<'_> {
    fn peek(&self) -> Option<Token> {
        self.ahead.as_ref().and_then(|(token, _)| token.ok())
    }

    fn advance(&mut self) {
        self.ahead = self.lexer.next().map(|token| (token, self.lexer.span()));
    }

    /// Takes the token ahead.
    fn advance_past(&mut self) {
        self.consumed = self.ahead_range().end;
        self.advance();
    }

    fn eat(&mut self, token: Token) -> bool {
        let found = self.peek() == Some(token);
        if found {
            self.advance_past();
        }
        found
    }

    fn expect(&mut self, token: Token, expected: Expectation) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Where the token ahead is: the end of the text if there is none.
    fn ahead_range(&self) -> Range<usize> {
        self.ahead.as_ref().map_or(self.text.len()..self.text.len(), |(_, range)| range.clone())
    }

    fn start(&self) -> usize {
        self.ahead_range().start
    }

    fn place(&self, range: Range<usize>) -> Place {
        let offset = |at: usize| self.base.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
        Place::new(offset(range.start), offset(range.end))
    }

    fn error(&self, kind: SyntaxErrorKind, range: Range<usize>) -> SyntaxError {
        SyntaxError { kind, place: self.place(range) }
    }

    /// The token ahead cannot stand here.
    fn unexpected(&self, expected: Expectation) -> SyntaxError {
        let mut range = self.ahead_range();
        let kind = match self.ahead.as_ref().map(|(token, _)| token) {
            Some(Err(LexError::UnterminatedString)) => SyntaxErrorKind::UnterminatedString,
            Some(Err(LexError::UnterminatedComment)) => SyntaxErrorKind::UnterminatedComment,
            Some(Ok(_)) => SyntaxErrorKind::Unexpected { found: Some(self.peek_text().to_owned()), expected },
            // The lexer may have looked further before it gave up: the first character is to blame.
            Some(Err(LexError::Character)) => {
                let found: String = self.peek_text().chars().take(1).collect();
                range.end = range.start + found.len();
                SyntaxErrorKind::Unexpected { found: Some(found), expected }
            }
            None => SyntaxErrorKind::Unexpected { found: None, expected },
        };
        self.error(kind, range)
    }
}
