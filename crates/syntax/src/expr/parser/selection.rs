//! Names and what follows them: fields, indices, calls.

use std::ops::Range;
use std::sync::Arc;

use referee_theory::expr::{Expr, Function, Node};

use super::super::lexer::Token;
use super::super::{Dialect, Expectation, SyntaxErrorKind, scala};
use super::{Parsed, Parser};

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

impl Parser<'_> {
    /// A primary expression, then fields, indices and method calls.
    pub(super) fn postfix(&mut self) -> Parsed<Expr> {
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

    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect(Token::OpenParen, Expectation::Token("("))?;
        self.separated(Token::CloseParen, ")")
    }

    /// Expressions between commas up to `close`, which is taken. A trailing comma is fine, as in CEL lists.
    pub(super) fn separated(&mut self, close: Token, text: &'static str) -> Parsed<Vec<Expr>> {
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
}
