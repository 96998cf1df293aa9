//! Events in Referee's own syntax: messages between roles, and keys of the line.

use std::sync::Arc;

use referee_theory::property::{EventKind, EventPattern, Key, Pattern, Slot, Value};

use super::cursor::{MAX_NESTING, Parsed, Token};
use super::guard;
use super::parser::{Parser, Variable};
use crate::diagnostics::assertions::duplicate_field;
use crate::expr;
use crate::source::{Span, narrow};

/// What may stand before an arrow, not yet known to be a role or a process.
enum Endpoint<'a> {
    Any,
    Name(&'a str, Span),
    Variable(&'a str, Span),
    Literal(Value),
}

impl<'a> Parser<'a> {
    /// An event, without its guard.
    pub(super) fn native_action(&mut self) -> Parsed<EventPattern> {
        let own = self.data_depth();
        if self.cursor.is_at(Token::OpenBrace) {
            let mut pattern = EventPattern::any();
            self.keys(&mut pattern, own)?;
            return Ok(pattern);
        }
        let first = self.endpoint()?;
        match self.cursor.token() {
            Token::Arrow => {}
            Token::CloseBracket | Token::Greater | Token::Comma if matches!(first, Endpoint::Any) => {
                return Ok(EventPattern::any());
            }
            _ if matches!(first, Endpoint::Any)
                && ["when", "at", "except"].into_iter().any(|word| self.cursor.is_word(word)) =>
            {
                return Ok(EventPattern::any());
            }
            _ => {
                let subject = self.process(first, own)?;
                return self.process_rest(subject, own);
            }
        }
        self.cursor.bump();
        let second = self.endpoint()?;
        if self.cursor.is_at(Token::Comma) {
            let (subject, object) = (self.process(first, own)?, self.process(second, own)?);
            self.cursor.bump();
            let (_, payload) = self.function_pattern(own)?;
            return Ok(EventPattern {
                kind: Some(EventKind::Fork),
                subject,
                object,
                payload,
                ..EventPattern::any()
            });
        }
        self.cursor.expect(Token::Colon)?;
        let (subject, object) = (self.role(first, own)?, self.role(second, own)?);
        let label_span = self.cursor.span();
        let third = self.endpoint()?;
        let label = self.role(third, own)?;
        let mut pattern =
            EventPattern { kind: Some(EventKind::Exchange), subject, object, label, ..EventPattern::any() };
        if self.cursor.eat(Token::OpenParen) {
            pattern.payload = self.fields(own)?;
            self.remember_fields(&pattern, label_span);
        }
        if self.cursor.is_at(Token::OpenBrace) {
            self.keys(&mut pattern, own)?;
        }
        Ok(pattern)
    }

    fn remember_fields(&mut self, pattern: &EventPattern, span: Span) {
        if let Pattern::Fields { positions, names, open: false } = &pattern.payload
            && names.is_empty()
            && let Pattern::Literal(Value::String(label)) = &pattern.label
        {
            self.fields.push((Arc::clone(label), positions.len(), span));
        }
    }

    fn endpoint(&mut self) -> Parsed<Endpoint<'a>> {
        let (text, span) = (self.cursor.text(), self.cursor.span());
        match self.cursor.token() {
            Token::Name if text == "_" => {
                self.cursor.bump();
                Ok(Endpoint::Any)
            }
            Token::Name => {
                self.cursor.bump();
                Ok(Endpoint::Name(text, span))
            }
            Token::Dollar => {
                self.cursor.bump();
                let text = self.cursor.text();
                let end = self.cursor.expect_as(Token::Name, "the name of a variable")?;
                Ok(Endpoint::Variable(text, span.to(end)))
            }
            Token::String => {
                self.cursor.bump();
                Ok(Endpoint::Literal(Value::string(&self.unquoted(span)?)))
            }
            Token::Quoted | Token::Pid | Token::Reference | Token::Int => {
                Ok(Endpoint::Literal(self.erlang_constant()?))
            }
            _ => Err(self.cursor.unexpected(&["an event"])),
        }
    }

    /// Roles and labels: names are themselves.
    fn role(&mut self, endpoint: Endpoint<'a>, own: usize) -> Parsed<Pattern> {
        match endpoint {
            Endpoint::Any => Ok(Pattern::Any),
            Endpoint::Name(name, _) => Ok(Pattern::Literal(Value::string(name))),
            Endpoint::Variable(name, span) => self.slot_pattern(name, span, own),
            Endpoint::Literal(term) => Ok(Pattern::Literal(term)),
        }
    }

    /// Processes: capital letters make variables.
    fn process(&mut self, endpoint: Endpoint<'a>, own: usize) -> Parsed<Pattern> {
        match endpoint {
            Endpoint::Name(name, span) => self.erlang_name(name, span, own),
            other => self.role(other, own),
        }
    }

    pub(super) fn slot_pattern(&mut self, name: &'a str, span: Span, own: usize) -> Parsed<Pattern> {
        Ok(match self.variable(name, span, own)? {
            Variable::Known(slot) => Pattern::Test(slot),
            Variable::New(slot) => Pattern::Bind(slot),
        })
    }

    /// The fields of a message; `(` has been read.
    fn fields(&mut self, own: usize) -> Parsed<Pattern> {
        let (mut positions, mut names, mut open) = (Vec::new(), Vec::new(), false);
        let mut seen: Vec<(&str, Span)> = Vec::new();
        while !self.cursor.is_at(Token::CloseParen) {
            if self.cursor.eat(Token::Ellipsis) {
                open = true;
                break;
            }
            if let Some((name, span)) = self.field_name() {
                self.once(&mut seen, name, span);
                names.push((Arc::from(name), self.native_pattern(own)?));
            } else if names.is_empty() {
                positions.push(self.native_pattern(own)?);
            } else {
                return Err(self.cursor.unexpected(&["`NAME:`"]));
            }
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect_as(Token::CloseParen, "`,` or `)`")?;
        open |= !names.is_empty();
        Ok(Pattern::Fields { positions: positions.into(), names: names.into(), open })
    }

    fn once(&mut self, seen: &mut Vec<(&'a str, Span)>, name: &'a str, span: Span) {
        if let Some((_, first)) = seen.iter().find(|(known, _)| *known == name) {
            self.cursor.report(duplicate_field(span, *first, name));
        }
        seen.push((name, span));
    }

    /// `NAME:`, taken if it is there.
    fn field_name(&mut self) -> Option<(&'a str, Span)> {
        let (text, span) = (self.cursor.text(), self.cursor.span());
        let rest = self.cursor.whole_text().get(span.end as usize..).unwrap_or_default();
        let found = self.cursor.is_at(Token::Name) && rest.trim_start().starts_with(':');
        found.then(|| {
            self.cursor.bump();
            self.cursor.bump();
            (text, span)
        })
    }

    fn native_pattern(&mut self, own: usize) -> Parsed<Pattern> {
        self.cursor.enter(MAX_NESTING)?;
        let pattern = self.native_pattern_inside(own);
        self.cursor.leave();
        pattern
    }

    fn native_pattern_inside(&mut self, own: usize) -> Parsed<Pattern> {
        let (text, span) = (self.cursor.text(), self.cursor.span());
        match self.cursor.token() {
            Token::Name => {
                self.cursor.bump();
                match text {
                    "_" => Ok(Pattern::Any),
                    "true" | "false" => Ok(Pattern::Literal(Value::Bool(text == "true"))),
                    "null" => Ok(Pattern::Literal(Value::Unit)),
                    name => self.slot_pattern(name, span, own),
                }
            }
            Token::Dollar => {
                self.cursor.bump();
                let name = self.cursor.text();
                let end = self.cursor.expect_as(Token::Name, "the name of a variable")?;
                self.slot_pattern(name, span.to(end), own)
            }
            Token::String => {
                self.cursor.bump();
                Ok(Pattern::Literal(Value::string(&self.unquoted(span)?)))
            }
            Token::OpenParen => {
                self.cursor.bump();
                let parts = self.native_patterns(Token::CloseParen, own)?;
                self.cursor.expect_as(Token::CloseParen, "`,` or `)`")?;
                Ok(Pattern::Tuple(parts.into()))
            }
            Token::OpenBracket => {
                self.cursor.bump();
                let front = self.native_patterns(Token::CloseBracket, own)?;
                let tail = if self.cursor.eat(Token::Ellipsis) {
                    let rest = if self.cursor.is_at(Token::CloseBracket) {
                        Pattern::Any
                    } else {
                        self.native_pattern(own)?
                    };
                    Some(Box::new(rest))
                } else {
                    None
                };
                self.cursor.expect_as(Token::CloseBracket, "`,` or `]`")?;
                Ok(Pattern::List { front: front.into(), tail })
            }
            Token::OpenBrace => {
                self.cursor.bump();
                self.record(own)
            }
            _ if self.at_erlang_constant() => self.erlang_constant().map(Pattern::Literal),
            _ => Err(self.cursor.unexpected(&["a pattern"])),
        }
    }

    /// Patterns separated by commas, up to `close` or `...`.
    fn native_patterns(&mut self, close: Token, own: usize) -> Parsed<Vec<Pattern>> {
        let mut parts = Vec::new();
        while !self.cursor.is_at(close) && !self.cursor.is_at(Token::Ellipsis) {
            parts.push(self.native_pattern(own)?);
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        Ok(parts)
    }

    /// `name: pattern, "other name": pattern, name`; `{` has been read.
    fn record(&mut self, own: usize) -> Parsed<Pattern> {
        let mut members = Vec::new();
        let mut seen: Vec<(Arc<str>, Span)> = Vec::new();
        while !self.cursor.is_at(Token::CloseBrace) {
            let (text, span) = (self.cursor.text(), self.cursor.span());
            let name: Arc<str> = match self.cursor.token() {
                Token::Name => text.into(),
                Token::String => self.unquoted(span)?.into(),
                _ => return Err(self.cursor.unexpected(&["the name of a member"])),
            };
            let bare = self.cursor.is_at(Token::Name);
            self.cursor.bump();
            if let Some((_, first)) = seen.iter().find(|(known, _)| *known == name) {
                self.cursor.report(duplicate_field(span, *first, &name));
            }
            seen.push((Arc::clone(&name), span));
            let pattern = if self.cursor.eat(Token::Colon) {
                self.native_pattern(own)?
            } else if bare {
                self.slot_pattern(text, span, own)?
            } else {
                return Err(self.cursor.unexpected(&["`:`"]));
            };
            members.push((name, pattern));
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect_as(Token::CloseBrace, "`,` or `}`")?;
        Ok(Pattern::Record(members.into()))
    }

    /// `{key: pattern, key, condition over keys}`.
    fn keys(&mut self, pattern: &mut EventPattern, own: usize) -> Parsed<()> {
        self.cursor.expect(Token::OpenBrace)?;
        let mut keys = Vec::new();
        // The slots of the keys that conditions read. No name of the text refers to these.
        let mut read: Vec<(Arc<str>, Slot)> = Vec::new();
        while !self.cursor.is_at(Token::CloseBrace) {
            let (text, span) = (self.cursor.text(), self.cursor.span());
            let rest = self.cursor.whole_text().get(span.end as usize..).unwrap_or_default().trim_start();
            let alone = rest.starts_with([':', ',', '}']);
            if alone && matches!(self.cursor.token(), Token::Name | Token::String) {
                let bare = self.cursor.is_at(Token::Name);
                let key = self.key()?;
                let matched = if self.cursor.eat(Token::Colon) {
                    self.native_pattern(own)?
                } else if bare {
                    self.slot_pattern(text, span, own)?
                } else {
                    Pattern::Any
                };
                keys.push((key, matched));
            } else {
                let start = span.start as usize;
                let source = self.cursor.whole_text().get(start..).unwrap_or_default();
                let (condition, length) = expr::parse_guard_prefix(source, narrow(start))
                    .map_err(|error| self.guard_syntax(&error))?;
                self.cursor.seek(start + length);
                for name in condition.free_variables() {
                    if &**name != "null" && !read.iter().any(|(known, _)| known == name) {
                        let slot = self.new_slot(name, span);
                        keys.push((Key::name(name), Pattern::Bind(slot)));
                        read.push((Arc::clone(name), slot));
                    }
                }
                let find =
                    |name: &str| read.iter().find(|(known, _)| **known == *name).map(|(_, slot)| *slot);
                let condition = guard::native(&condition, &find, &[], &mut self.cursor)?;
                pattern.guard = guard::both(pattern.guard.take(), condition, &mut self.cursor)?;
            }
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect_as(Token::CloseBrace, "`,` or `}`")?;
        pattern.keys = keys.into();
        Ok(())
    }
}
