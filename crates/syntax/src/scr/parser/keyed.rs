//! Protocols that run once for each value of a key, and statements that open and close them.

use super::Parser;
use crate::scr::ast::{InterruptSyntax, KeySyntax, StatementKind};
use crate::scr::cursor::Parsed;
use crate::scr::token::Token;

impl Parser<'_> {
    /// `per id: string`, behind the roles of a protocol.
    pub(super) fn key(&mut self) -> Parsed<KeySyntax> {
        let start = self.cursor.expect_word("per")?;
        let field = self.cursor.name("the field that is the key")?;
        self.cursor.expect(Token::Colon)?;
        let ty = self.payload_type()?;
        Ok(KeySyntax { field, ty, span: start.to(self.here()), interrupt: None })
    }

    /// `interrupted by M(…) from r`, behind the body of a protocol.
    pub(super) fn interrupt(&mut self) -> Parsed<InterruptSyntax> {
        let start = self.cursor.expect_word("interrupted")?;
        self.cursor.expect_word("by")?;
        let message = self.message()?;
        self.cursor.expect_word("from")?;
        let from = self.cursor.name("the name of a role")?;
        // As behind other declarations, a semicolon does no harm.
        let span = start.to(self.here());
        self.cursor.eat(Token::Semicolon);
        Ok(InterruptSyntax { message, from, span })
    }

    /// `open P(a, b)` or `close P`, if one begins here.
    pub(super) fn sub_session(&mut self) -> Parsed<Option<StatementKind>> {
        let opens = self.cursor.is_word("open");
        if !opens && !self.cursor.is_word("close") {
            return Ok(None);
        }
        self.cursor.bump();
        let protocol = self.qualified_name("the name of a protocol")?;
        let some = opens || self.cursor.token() == Token::LeftParen;
        let roles = if some { self.role_arguments()? } else { Vec::new() };
        Ok(Some(StatementKind::SubSession { opens, protocol, roles }))
    }
}
