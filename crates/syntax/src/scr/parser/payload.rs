//! Payload types, payloads and messages.

use std::sync::Arc;

use super::Parser;
use crate::diagnostics::assertions::assertion_syntax;
use crate::diagnostics::lexical::nested_too_deep;
use crate::expr::{self, Dialect};
use crate::scr::ast::{FieldSyntax, MessageSyntax, Name, TypeSyntax, Written};
use crate::scr::cursor::{Parsed, Reported};
use crate::scr::token::Token;
use crate::scr::written;
use crate::source::{Span, narrow};

const MAX_TYPE_DEPTH: usize = 128;

impl Parser<'_> {
    pub(super) fn payload_type(&mut self) -> Parsed<TypeSyntax> {
        self.payload_type_at(0)
    }

    fn payload_type_at(&mut self, depth: usize) -> Parsed<TypeSyntax> {
        let start = self.cursor.span();
        if depth > MAX_TYPE_DEPTH {
            self.cursor.report(nested_too_deep(start, MAX_TYPE_DEPTH));
            return Err(Reported);
        }
        match self.cursor.token() {
            Token::LeftParen => {
                self.cursor.bump();
                let mut parts = Vec::new();
                while self.cursor.token() != Token::RightParen {
                    parts.push(self.payload_type_at(depth + 1)?);
                    if !self.cursor.eat(Token::Comma) {
                        break;
                    }
                }
                let end = self.cursor.expect_as(Token::RightParen, "`,` or `)`")?;
                Ok(TypeSyntax::Tuple(parts, start.to(end)))
            }
            Token::LeftBrace => {
                self.cursor.bump();
                self.open_braces += 1;
                let mut fields = Vec::new();
                while self.cursor.token() != Token::RightBrace {
                    let name = self.cursor.name("the name of a field")?;
                    self.cursor.expect(Token::Colon)?;
                    fields.push((name, self.payload_type_at(depth + 1)?));
                    if !self.cursor.eat(Token::Comma) {
                        break;
                    }
                }
                let end = self.cursor.expect_as(Token::RightBrace, "`,` or `}`")?;
                self.open_braces -= 1;
                Ok(TypeSyntax::Record(fields, start.to(end)))
            }
            Token::Word => {
                let name = self.qualified_name("a type")?;
                let (close, what) = match (&*name.text, self.cursor.token()) {
                    ("list", Token::Less) => (Token::Greater, "`>`"),
                    ("list" | "array", Token::LeftBracket) => (Token::RightBracket, "`]`"),
                    _ => return Ok(TypeSyntax::Named(name)),
                };
                self.cursor.bump();
                let element = self.payload_type_at(depth + 1)?;
                let end = self.cursor.expect_as(close, what)?;
                Ok(TypeSyntax::List(Box::new(element), start.to(end)))
            }
            _ => Err(self.cursor.unexpected(&["a type"])),
        }
    }

    /// `label(payload)`, `label`, or `(payload)`.
    pub(super) fn message(&mut self) -> Parsed<MessageSyntax> {
        let label = if self.cursor.token() == Token::LeftParen {
            Name { text: "".into(), span: Span::at(self.cursor.span().start as usize) }
        } else {
            self.cursor.fresh_name("a message")?
        };
        Ok(MessageSyntax { label, payload: self.payload()? })
    }

    /// `(payload)`, if there is one.
    pub(super) fn payload(&mut self) -> Parsed<Option<Vec<FieldSyntax>>> {
        if !self.cursor.eat(Token::LeftParen) {
            return Ok(None);
        }
        let mut fields = Vec::new();
        while self.cursor.token() != Token::RightParen {
            if fields.is_empty() {
                // Most payloads have one field.
                fields.reserve_exact(1);
            }
            fields.push(self.field()?);
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect_as(Token::RightParen, "`,` or `)`")?;
        Ok(Some(fields))
    }

    fn field(&mut self) -> Parsed<FieldSyntax> {
        let named = self.cursor.token() == Token::Word && self.cursor.second().0 == Token::Colon;
        let name = if named {
            let name = self.cursor.fresh_name("the name of a field")?;
            self.cursor.expect(Token::Colon)?;
            Some(name)
        } else {
            None
        };
        let ty = self.payload_type()?;
        if let TypeSyntax::Named(protocol) = &ty
            && self.cursor.eat(Token::At)
        {
            let role = self.cursor.name("the name of a role")?;
            return Ok(FieldSyntax {
                name,
                ty: TypeSyntax::Delegation(protocol.clone(), role),
                refinement: None,
            });
        }
        let refinement = self.refinement()?;
        Ok(FieldSyntax { name, ty, refinement })
    }

    /// `{x > 0}` behind a type, if there is one.
    pub(super) fn refinement(&mut self) -> Parsed<Option<Written>> {
        if self.cursor.token() != Token::LeftBrace {
            return Ok(None);
        }
        let refinement = self.expression(Dialect::NuScr)?;
        self.open_braces += 1;
        self.cursor.expect(Token::RightBrace)?;
        self.open_braces -= 1;
        Ok(Some(refinement))
    }

    /// The expression that begins behind the current token.
    pub(super) fn expression(&mut self, dialect: Dialect) -> Parsed<Written> {
        let start = self.cursor.span().end as usize;
        match expr::parse_prefix(&self.cursor.whole_text()[start..], narrow(start), dialect) {
            Ok((expr, consumed)) => {
                let span = Span::new(start, start + consumed);
                let comments = written::comments(self.cursor.whole_text(), span, dialect);
                self.cursor.add_comments(comments);
                self.cursor.seek(start + consumed);
                Ok(Written { expr: Arc::new(expr), span })
            }
            Err(error) => {
                self.cursor.report(assertion_syntax(&error));
                Err(Reported)
            }
        }
    }
}
