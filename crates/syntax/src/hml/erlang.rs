//! Processes and what they do, in Erlang's terms.

use std::sync::Arc;

use referee_theory::property::{EventKind, EventPattern, Pattern, Value};

use super::cursor::{MAX_NESTING, Parsed, Token};
use super::parser::Parser;
use crate::diagnostics::properties::not_a_term;
use crate::source::Span;

impl<'a> Parser<'a> {
    /// `P ? T`, `P : Q ! T`, …, without its guard.
    pub(super) fn process_action(&mut self) -> Parsed<EventPattern> {
        let own = self.data_depth();
        let subject = self.erlang_pattern(own)?;
        self.process_rest(subject, own)
    }

    /// What follows the process that an action begins with.
    pub(super) fn process_rest(&mut self, first: Pattern, own: usize) -> Parsed<EventPattern> {
        let event = |kind| EventPattern { kind: Some(kind), ..EventPattern::any() };
        match self.cursor.token() {
            Token::Question => {
                self.cursor.bump();
                let payload = self.erlang_pattern(own)?;
                Ok(EventPattern { subject: first, payload, ..event(EventKind::Receive) })
            }
            // The plain form names the receiver only.
            Token::Bang => {
                self.cursor.bump();
                let payload = self.erlang_pattern(own)?;
                Ok(EventPattern { object: first, payload, ..event(EventKind::Send) })
            }
            Token::Colon => {
                self.cursor.bump();
                let object = self.erlang_pattern(own)?;
                self.cursor.expect(Token::Bang)?;
                let payload = self.erlang_pattern(own)?;
                Ok(EventPattern { subject: first, object, payload, ..event(EventKind::Send) })
            }
            Token::Arrow | Token::BackArrow => {
                let kind = if self.cursor.is_at(Token::Arrow) { EventKind::Fork } else { EventKind::Init };
                self.cursor.bump();
                let object = self.erlang_pattern(own)?;
                self.cursor.expect(Token::Comma)?;
                let (_, payload) = self.function_pattern(own)?;
                Ok(EventPattern { subject: first, object, payload, ..event(kind) })
            }
            Token::StarStar => {
                self.cursor.bump();
                let payload = self.erlang_pattern(own)?;
                Ok(EventPattern { subject: first, payload, ..event(EventKind::Exit) })
            }
            _ => Err(self.cursor.unexpected(&["`?`", "`!`", "`:`", "`->`", "`<-`", "`**`"])),
        }
    }

    /// `m:f(a, b)`: its name, and the pattern `{m, f, [a, b]}`.
    pub(super) fn function_pattern(&mut self, own: usize) -> Parsed<(Arc<str>, Pattern)> {
        let start = self.cursor.span();
        let module = self.erlang_pattern(own)?;
        self.cursor.expect(Token::Colon)?;
        let function = self.erlang_pattern(own)?;
        let name =
            self.cursor.text_of(start.to(self.cursor.previous())).split_whitespace().collect::<String>();
        self.cursor.expect(Token::OpenParen)?;
        let args = self.erlang_patterns(Token::CloseParen, own)?;
        self.cursor.expect_as(Token::CloseParen, "`,` or `)`")?;
        let args = Pattern::List { front: args.into(), tail: None };
        Ok((name.into(), Pattern::Tuple([module, function, args].into())))
    }

    /// A name in Erlang: `_` and names that begin with it or a capital letter are variables, `_` alone of its own.
    pub(super) fn erlang_name(&mut self, name: &'a str, span: Span, own: usize) -> Parsed<Pattern> {
        match name {
            "_" => Ok(Pattern::Any),
            name if name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') => {
                self.slot_pattern(name, span, own)
            }
            atom => Ok(Pattern::Literal(Value::atom(atom))),
        }
    }

    pub(super) fn erlang_pattern(&mut self, own: usize) -> Parsed<Pattern> {
        self.cursor.enter(MAX_NESTING)?;
        let pattern = self.erlang_pattern_inside(own);
        self.cursor.leave();
        pattern
    }

    fn erlang_pattern_inside(&mut self, own: usize) -> Parsed<Pattern> {
        let (text, span) = (self.cursor.text(), self.cursor.span());
        match self.cursor.token() {
            Token::Name => {
                self.cursor.bump();
                self.erlang_name(text, span, own)
            }
            Token::OpenBrace => {
                self.cursor.bump();
                let parts = self.erlang_patterns(Token::CloseBrace, own)?;
                self.cursor.expect_as(Token::CloseBrace, "`,` or `}`")?;
                Ok(Pattern::Tuple(parts.into()))
            }
            Token::OpenBracket => {
                self.cursor.bump();
                let front = self.erlang_patterns(Token::CloseBracket, own)?;
                let tail = match self.cursor.eat(Token::Bar) {
                    true => Some(Box::new(self.erlang_pattern(own)?)),
                    false => None,
                };
                self.cursor.expect_as(Token::CloseBracket, "`,`, `|` or `]`")?;
                Ok(Pattern::List { front: front.into(), tail })
            }
            Token::OpenParen => {
                self.cursor.bump();
                let inner = self.erlang_pattern(own)?;
                self.cursor.expect(Token::CloseParen)?;
                Ok(inner)
            }
            _ if self.at_erlang_constant() => self.erlang_constant().map(Pattern::Literal),
            _ => Err(self.cursor.unexpected(&["a pattern"])),
        }
    }

    fn erlang_patterns(&mut self, close: Token, own: usize) -> Parsed<Vec<Pattern>> {
        let mut parts = Vec::new();
        while !self.cursor.is_at(close) {
            parts.push(self.erlang_pattern(own)?);
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        Ok(parts)
    }

    pub(super) fn at_erlang_constant(&self) -> bool {
        match self.cursor.token() {
            Token::Int
            | Token::Float
            | Token::Quoted
            | Token::Pid
            | Token::Reference
            | Token::String
            | Token::Dollar => true,
            Token::Operator => matches!(self.cursor.text(), "-" | "+"),
            _ => false,
        }
    }

    /// A number, a quoted atom, a string, a character, an identifier of a log.
    pub(super) fn erlang_constant(&mut self) -> Parsed<Value> {
        let start = self.cursor.span();
        let sign = match self.cursor.is_at(Token::Operator) {
            true => {
                let sign = self.cursor.text();
                self.cursor.bump();
                sign
            }
            false => "",
        };
        let (text, span) = (self.cursor.text(), self.cursor.span());
        let signed = !sign.is_empty();
        let term = match self.cursor.token() {
            Token::Int => integer(text, sign == "-"),
            Token::Float => {
                let value = text.parse().ok().filter(|value: &f64| value.is_finite());
                value.map(|value| Value::Float(if sign == "-" { -value } else { value }))
            }
            Token::Quoted if !signed => Some(Value::atom(&self.unquoted(span)?)),
            Token::Pid if !signed => Some(Value::Pid(text.into())),
            Token::Reference if !signed => Some(Value::Reference(text.into())),
            // A string is the list of its characters.
            Token::String if !signed => {
                let characters = self.unquoted(span)?;
                Some(Value::List(characters.chars().map(|c| Value::Int(u32::from(c).into())).collect()))
            }
            Token::Dollar if !signed => {
                let at = span.end as usize;
                let Some(c) = self.cursor.whole_text().get(at..).and_then(|rest| rest.chars().next()) else {
                    return Err(self.cursor.unexpected(&["a character"]));
                };
                self.cursor.bump();
                self.cursor.seek(at + c.len_utf8());
                return Ok(Value::Int(u32::from(c).into()));
            }
            _ => return Err(self.cursor.unexpected(&["a number"])),
        };
        self.cursor.bump();
        term.ok_or_else(|| self.cursor.report(not_a_term(start.to(span), text)))
    }

    /// What stands between the quotes at `span`, escapes resolved.
    pub(super) fn unquoted(&mut self, span: Span) -> Parsed<String> {
        let text = self.cursor.text_of(span);
        let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        unescape(inner).ok_or_else(|| self.cursor.report(not_a_term(span, text)))
    }
}

/// `42`, `-7`, `1_000`, `16#ff`.
pub(super) fn integer(text: &str, negative: bool) -> Option<Value> {
    let plain = text.replace('_', "");
    let (radix, digits) = match plain.split_once('#') {
        Some((radix, digits)) => (radix.parse().ok().filter(|radix| (2..=36).contains(radix))?, digits),
        None => (10, &*plain),
    };
    match i128::from_str_radix(digits, radix) {
        Ok(value) => Some(Value::integer(if negative { -value } else { value })),
        // Beyond 128 bits: kept as decimal text.
        Err(_) if radix == 10 => {
            let digits = digits.trim_start_matches('0');
            Some(Value::Big(format!("{}{digits}", if negative { "-" } else { "" }).into()))
        }
        Err(_) => None,
    }
}

/// The escapes of JSON, CEL and Erlang that mean the same in all, and `\u{…}`.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            'u' => {
                let rest = chars.as_str();
                let (digits, length) = match rest.strip_prefix('{') {
                    Some(inner) => {
                        let end = inner.find('}')?;
                        (&inner[..end], end + 2)
                    }
                    None => (rest.get(..4)?, 4),
                };
                chars = rest.get(length..)?.chars();
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            c @ ('\\' | '"' | '\'' | '/') => c,
            _ => return None,
        });
    }
    Some(out)
}
