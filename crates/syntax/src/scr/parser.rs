//! From `.scr` text to an [`ast::Module`](super::ast::Module).
//!
//! Blocks are parsed with a stack of their own: see [`statements`]. After an error the parser goes on at
//! the next statement or declaration, so that one run reports all independent mistakes.

use super::ast::{
    ExternalDeclaration, Module, Name, Pragma, Protocol, ProtocolKind, ProtocolParameter, TypeDeclaration,
};
use super::cursor::{Cursor, Parsed};
use super::token::Token;
use crate::diagnostics::{Diagnostic, rf0117_nested_protocol_misplaced as rf0117};
use crate::source::Span;

mod payload;
mod statements;

/// More errors than this in one file are not worth reading: parsing stops.
const MAX_ERRORS: usize = 100;

/// What `text` says, and what is wrong with it.
#[must_use]
pub fn parse(text: &str) -> (Module, Vec<Diagnostic>) {
    let mut parser = Parser { cursor: Cursor::new(text), module: Module::default(), depth: 0 };
    parser.module();
    let Parser { cursor, mut module, .. } = parser;
    module.comments = cursor.comments;
    (module, cursor.diagnostics)
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    module: Module,
    /// How many protocols are being declared in one another.
    depth: usize,
}

const DECLARATIONS: [&str; 9] =
    ["module", "import", "type", "sig", "external", "protocol", "global", "aux", "nested"];

impl Parser<'_> {
    fn module(&mut self) {
        while self.cursor.peek() == Token::PragmaStart {
            if self.pragmas().is_err() {
                self.skip_pragma();
            }
        }
        while self.cursor.peek() != Token::End && !self.gave_up() {
            if self.declaration().is_err() {
                self.skip_to_declaration();
            }
        }
    }

    fn gave_up(&self) -> bool {
        self.cursor.diagnostics.len() >= MAX_ERRORS
    }

    fn pragmas(&mut self) -> Parsed<()> {
        self.cursor.advance();
        while self.cursor.peek() != Token::PragmaEnd {
            let key = self.cursor.name("the name of a pragma")?;
            let value = if self.cursor.eat(Token::Colon) { Some(self.cursor.name("a value")?) } else { None };
            self.module.pragmas.push(Pragma { key, value });
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect(Token::PragmaEnd, "`#*)`").map(|_| ())
    }

    fn skip_pragma(&mut self) {
        while !matches!(self.cursor.peek(), Token::End | Token::PragmaEnd) {
            self.cursor.advance();
        }
        self.cursor.eat(Token::PragmaEnd);
    }

    fn declaration(&mut self) -> Parsed<()> {
        if self.cursor.is_word("module") {
            self.cursor.advance();
            let name = self.qualified_name("a module name")?;
            self.module.name = Some(name);
            return self.semicolon();
        }
        if self.cursor.is_word("import") {
            self.cursor.advance();
            let name = self.qualified_name("a module name")?;
            self.module.imports.push(name);
            if self.cursor.eat_word("as") {
                self.cursor.name("a name")?;
            }
            return self.semicolon();
        }
        if self.cursor.is_word("type") {
            return self.type_declaration();
        }
        if self.cursor.is_word("sig") {
            self.cursor.advance();
            self.foreign()?;
            self.cursor.expect_word("as")?;
            let name = self.cursor.name("a name for the signature")?;
            self.module.signatures.push(name);
            return self.semicolon();
        }
        if self.cursor.is_word("external") {
            return self.external();
        }
        if self.at_protocol() {
            let protocol = self.protocol()?;
            let misplaced = protocol.kind == ProtocolKind::Nested
                && self.module.protocols.iter().any(|earlier| earlier.kind != ProtocolKind::Nested);
            if misplaced {
                self.cursor.diagnostics.push(rf0117::after_a_global_protocol(protocol.header));
            }
            self.module.protocols.push(protocol);
            return Ok(());
        }
        let word = if self.cursor.peek() == Token::Word { self.cursor.word() } else { "" };
        let reported = self.cursor.unexpected(&["a declaration (`protocol`, `type`, `external`, …)"]);
        if let Some(close) = crate::diagnostics::suggest::closest(word, DECLARATIONS)
            && let Some(last) = self.cursor.diagnostics.last_mut()
        {
            last.help = Some(format!("did you mean `{close}`?"));
        }
        Err(reported)
    }

    fn semicolon(&mut self) -> Parsed<()> {
        self.cursor.expect(Token::Semicolon, "`;`").map(|_| ())
    }

    fn qualified_name(&mut self, what: &str) -> Parsed<Name> {
        let mut name = self.cursor.name(what)?;
        while self.cursor.peek() == Token::Dot {
            self.cursor.advance();
            let part = self.cursor.name("a name")?;
            name =
                Name { text: format!("{}.{}", name.text, part.text).into(), span: name.span.to(part.span) };
        }
        Ok(name)
    }

    /// Scribble's `<schema> "name" from "file"`.
    fn foreign(&mut self) -> Parsed<[Name; 3]> {
        self.cursor.expect(Token::Less, "`<`")?;
        let schema = self.qualified_name("a schema")?;
        self.cursor.expect(Token::Greater, "`>`")?;
        let name = self.string()?;
        self.cursor.expect_word("from")?;
        let file = self.string()?;
        Ok([schema, name, file])
    }

    fn string(&mut self) -> Parsed<Name> {
        let text = self.cursor.word().trim_matches('"').into();
        let span = self.cursor.expect(Token::String, "a string")?;
        Ok(Name { text, span })
    }

    fn type_declaration(&mut self) -> Parsed<()> {
        let start = self.cursor.span();
        self.cursor.advance();
        let (name, definition, foreign) = if self.cursor.peek() == Token::Less {
            let foreign = self.foreign()?;
            self.cursor.expect_word("as")?;
            (self.cursor.name("a name for the type")?, None, Some(foreign))
        } else {
            let name = self.cursor.name("a name for the type")?;
            if self.cursor.eat(Token::Equals) {
                (name, Some(self.payload_type()?), None)
            } else {
                (name, None, None)
            }
        };
        self.semicolon()?;
        let span = start.to(self.here());
        self.module.types.push(TypeDeclaration { name, definition, foreign, span });
        Ok(())
    }

    fn external(&mut self) -> Parsed<()> {
        let start = self.cursor.span();
        self.cursor.advance();
        self.cursor.expect_word("fn")?;
        let name = self.qualified_name("the name of the function")?;
        self.cursor.expect(Token::LeftParen, "`(`")?;
        let mut parameters = Vec::new();
        while self.cursor.peek() != Token::RightParen {
            parameters.push(self.payload_type()?);
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect(Token::RightParen, "`)`")?;
        self.cursor.expect(Token::Arrow, "`->`")?;
        let result = self.payload_type()?;
        self.semicolon()?;
        let span = start.to(self.here());
        self.module.externals.push(ExternalDeclaration { name, parameters, result, span });
        Ok(())
    }

    fn at_protocol(&self) -> bool {
        ["protocol", "global", "aux", "nested", "explicit"].iter().any(|word| self.cursor.is_word(word))
    }

    fn protocol(&mut self) -> Parsed<Protocol> {
        let start = self.cursor.span();
        let auxiliary = self.cursor.eat_word("aux");
        let explicit = self.cursor.eat_word("explicit");
        let kind = if self.cursor.eat_word("nested") {
            ProtocolKind::Nested
        } else if auxiliary {
            ProtocolKind::Auxiliary
        } else {
            ProtocolKind::Global
        };
        let global = kind != ProtocolKind::Nested && self.cursor.eat_word("global");
        let explicit = explicit || self.cursor.eat_word("explicit");
        // nuScr lets `global` stand alone.
        if !global || self.cursor.is_word("protocol") {
            self.cursor.expect_word("protocol")?;
        }
        let name = self.cursor.name("the name of the protocol")?;
        let parameters = self.protocol_parameters()?;
        self.cursor.expect(Token::LeftParen, "`(`")?;
        let roles = self.role_declarations()?;
        let mut new_roles = Vec::new();
        if self.cursor.eat(Token::Semicolon) {
            self.cursor.expect_word("new")?;
            new_roles = self.role_declarations()?;
        }
        self.cursor.expect(Token::RightParen, "`,` or `)`")?;
        let header = start.to(self.here());
        let (nested, body) = self.protocol_body()?;
        let span = start.to(body.span);
        Ok(Protocol { kind, explicit, name, parameters, roles, new_roles, nested, body, header, span })
    }

    fn protocol_parameters(&mut self) -> Parsed<Vec<ProtocolParameter>> {
        let mut parameters = Vec::new();
        if !self.cursor.eat(Token::Less) {
            return Ok(parameters);
        }
        loop {
            let is_signature = self.cursor.eat_word("sig");
            if !is_signature {
                self.cursor.expect_word("type")?;
            }
            let mut name = self.cursor.name("a name")?;
            // `sig Fred as Joe`: outside it is Fred, inside Joe.
            if self.cursor.eat_word("as") {
                name = self.cursor.name("a name")?;
            }
            parameters.push(ProtocolParameter { is_signature, name });
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect(Token::Greater, "`,` or `>`")?;
        Ok(parameters)
    }

    fn role_declarations(&mut self) -> Parsed<Vec<Name>> {
        let mut roles = Vec::new();
        loop {
            self.cursor.expect_word("role")?;
            let mut name = self.cursor.name("the name of a role")?;
            if self.cursor.eat_word("as") {
                name = self.cursor.name("a name")?;
            }
            roles.push(name);
            if !self.cursor.eat(Token::Comma) {
                return Ok(roles);
            }
        }
    }

    /// The place just behind what was read.
    fn here(&self) -> Span {
        Span::at(self.cursor.last_end())
    }

    fn skip_to_declaration(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.cursor.peek() {
                Token::End => return,
                Token::LeftBrace => depth += 1,
                Token::RightBrace => depth = depth.saturating_sub(1),
                Token::Semicolon if depth == 0 => {
                    self.cursor.advance();
                    return;
                }
                // `protocol` may stand where a brace is missing; other words also begin statements.
                Token::Word if self.at_protocol() && self.begins_protocol() => return,
                _ => {}
            }
            self.cursor.advance();
        }
    }

    fn begins_protocol(&self) -> bool {
        let (token, word) = self.cursor.peek_second();
        self.cursor.is_word("protocol") && token == Token::Word
            || ["protocol", "global", "explicit"].contains(&word)
    }
}
