//! From `.scr` text to an [`ast::Module`](super::ast::Module).
//!
//! Blocks are parsed with a stack of their own: see [`statements`]. After an error the parser goes on at
//! the next statement or declaration, so that one run reports all independent mistakes.

use super::ast::{
    Copied, ExternalDeclaration, Import, Item, ItemKind, Module, Name, Pragma, Protocol, ProtocolKind,
    ProtocolParameter, Renaming, SignatureDeclaration, TypeDeclaration,
};
use super::cursor::{Cursor, MAX_ERRORS, Parsed};
use super::token::Token;
use crate::diagnostics::{Diagnostic, calls, names};
use crate::source::Span;

mod keyed;
mod payload;
mod simple;
mod statements;
mod times;

/// What `text` says, and what is wrong with it.
#[must_use]
pub fn parse(text: &str) -> (Module, Vec<Diagnostic>) {
    parse_from(text, 0)
}

/// What `text` says from `start` on: what stands before is another file.
pub(super) fn parse_from(text: &str, start: usize) -> (Module, Vec<Diagnostic>) {
    let mut parser = Parser {
        cursor: Cursor::starting_at(text, start),
        module: Module::default(),
        depth: 0,
        open_braces: 0,
        seen_global: false,
        seen_clocks: false,
    };
    parser.module();
    let Parser { mut cursor, mut module, .. } = parser;
    module.comments = cursor.take_comments();
    (module, cursor.into_diagnostics())
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    module: Module,
    /// How many protocols are being declared in one another.
    depth: usize,
    /// The braces of records and refinements that are open in the current statement.
    open_braces: usize,
    /// Whether a protocol that is not nested was declared.
    seen_global: bool,
    /// Whether the clocks of another tool were found, which are reported once.
    seen_clocks: bool,
}

const DECLARATIONS: [&str; 10] =
    ["module", "import", "type", "data", "sig", "external", "protocol", "global", "aux", "nested"];

impl Parser<'_> {
    fn module(&mut self) {
        while self.cursor.token() == Token::PragmaStart {
            if self.pragmas().is_err() {
                self.skip_pragma();
            }
        }
        while self.cursor.token() != Token::End && !self.gave_up() {
            if self.declaration().is_err() {
                self.skip_to_declaration();
            }
        }
    }

    fn gave_up(&self) -> bool {
        self.cursor.diagnostics().len() >= MAX_ERRORS
    }

    fn pragmas(&mut self) -> Parsed<()> {
        let (start, first) = (self.cursor.span(), self.module.pragmas.len());
        self.cursor.bump();
        while self.cursor.token() != Token::PragmaEnd {
            let key = self.cursor.name("the name of a pragma")?;
            let value = if self.cursor.eat(Token::Colon) { Some(self.cursor.name("a value")?) } else { None };
            self.module.pragmas.push(Pragma { key, value });
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect(Token::PragmaEnd)?;
        self.item(ItemKind::Pragmas(first, self.module.pragmas.len() - first), start);
        Ok(())
    }

    /// Notes that `kind` was read, from `start` to here.
    fn item(&mut self, kind: ItemKind, start: Span) {
        let span = start.to(self.here());
        self.module.items.push(Item { kind, span });
    }

    fn skip_pragma(&mut self) {
        while !matches!(self.cursor.token(), Token::End | Token::PragmaEnd) {
            self.cursor.skip();
        }
        self.cursor.eat(Token::PragmaEnd);
    }

    fn declaration(&mut self) -> Parsed<()> {
        let start = self.cursor.span();
        // A file has one name.
        if self.cursor.is_word("module") && self.module.name.is_none() {
            self.cursor.bump();
            let name = self.qualified_name("a module name")?;
            self.module.name = Some(name);
            self.semicolon()?;
            self.item(ItemKind::Name, start);
            return Ok(());
        }
        if self.cursor.is_word("import") {
            self.cursor.bump();
            let name = self.qualified_name("a module name")?;
            let (name, alias) = self.renaming(name, "a name")?;
            self.semicolon()?;
            self.item(ItemKind::Import(self.module.imports.len()), start);
            self.module.imports.push(Import { name, alias });
            return Ok(());
        }
        // Scribble's keyword for types is `data` today, and was `type`.
        if self.cursor.is_word("type") || self.cursor.is_word("data") {
            return self.type_declaration();
        }
        if self.cursor.is_word("sig") {
            self.cursor.bump();
            let foreign = self.foreign()?;
            self.cursor.expect_word("as")?;
            let name = self.cursor.name("a name for the signature")?;
            self.semicolon()?;
            self.item(ItemKind::Signature(self.module.signatures.len()), start);
            self.module.signatures.push(SignatureDeclaration { name, foreign });
            return Ok(());
        }
        if self.cursor.is_word("external") {
            return self.external();
        }
        if self.at_protocol() {
            let protocol = self.protocol()?;
            let is_nested = protocol.kind == ProtocolKind::Nested;
            if is_nested && self.seen_global {
                self.cursor.report(names::after_a_global_protocol(protocol.header));
            }
            self.seen_global |= !is_nested;
            self.item(ItemKind::Protocol(self.module.protocols.len()), start);
            self.module.protocols.push(protocol);
            return Ok(());
        }
        let word = if self.cursor.token() == Token::Word { self.cursor.text() } else { "" };
        let is_pragma = self.cursor.token() == Token::PragmaStart;
        let reported = self.cursor.unexpected(&["a declaration (`protocol`, `type`, `external`, …)"]);
        if let Some(last) = self.cursor.last_diagnostic().filter(|_| is_pragma) {
            "this pragma stands behind a declaration".clone_into(&mut last.message);
            last.label = Some("it has to be the first thing in the file".to_owned());
            last.help = Some("move it to the top of the file".to_owned());
        }
        if let Some(close) = crate::diagnostics::suggest::closest(word, DECLARATIONS)
            && let Some(last) = self.cursor.last_diagnostic()
        {
            last.help = Some(format!("did you mean `{close}`?"));
        }
        Err(reported)
    }

    /// `name`, or `name as other`: both names.
    fn renaming(&mut self, name: Name, what: &str) -> Parsed<(Name, Option<Name>)> {
        if !self.cursor.eat_word("as") {
            return Ok((name, None));
        }
        let other = self.cursor.name(what)?;
        self.module.renamings.push(Renaming { outside: name.clone(), inside: other.clone() });
        Ok((name, Some(other)))
    }

    fn semicolon(&mut self) -> Parsed<()> {
        self.cursor.expect(Token::Semicolon).map(|_| ())
    }

    fn qualified_name(&mut self, what: &str) -> Parsed<Name> {
        let mut name = self.cursor.name(what)?;
        while self.cursor.token() == Token::Dot {
            self.cursor.bump();
            let part = self.cursor.name("a name")?;
            name =
                Name { text: format!("{}.{}", name.text, part.text).into(), span: name.span.to(part.span) };
        }
        Ok(name)
    }

    /// Scribble's `<schema> "name" from "file"`.
    fn foreign(&mut self) -> Parsed<[Name; 3]> {
        self.cursor.expect(Token::Less)?;
        let schema = self.qualified_name("a schema")?;
        self.cursor.expect(Token::Greater)?;
        let name = self.string()?;
        self.cursor.expect_word("from")?;
        let file = self.string()?;
        Ok([schema, name, file])
    }

    fn string(&mut self) -> Parsed<Name> {
        let text = self.cursor.text().trim_matches('"').into();
        let span = self.cursor.expect_as(Token::String, "a string")?;
        Ok(Name { text, span })
    }

    fn type_declaration(&mut self) -> Parsed<()> {
        let start = self.cursor.span();
        let keyword = if self.cursor.is_word("data") { "data" } else { "type" };
        self.cursor.bump();
        let (name, definition, foreign) = if self.cursor.token() == Token::Less {
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
        self.item(ItemKind::Type(self.module.types.len()), start);
        self.module.types.push(TypeDeclaration { keyword, name, definition, foreign, span });
        Ok(())
    }

    fn external(&mut self) -> Parsed<()> {
        let start = self.cursor.span();
        self.cursor.bump();
        self.cursor.expect_word("fn")?;
        let name = self.qualified_name("the name of the function")?;
        self.cursor.expect(Token::LeftParen)?;
        let mut parameters = Vec::new();
        while self.cursor.token() != Token::RightParen {
            parameters.push(self.payload_type()?);
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect(Token::RightParen)?;
        self.cursor.expect(Token::Arrow)?;
        let result = self.payload_type()?;
        self.semicolon()?;
        let span = start.to(self.here());
        self.item(ItemKind::External(self.module.externals.len()), start);
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
        let kind = if !auxiliary && self.cursor.eat_word("nested") {
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
        self.cursor.expect(Token::LeftParen)?;
        let (roles, copied) = self.role_declarations()?;
        let mut new_roles = Vec::new();
        if self.cursor.eat(Token::Semicolon) {
            self.cursor.expect_word("new")?;
            let copied;
            (new_roles, copied) = self.role_declarations()?;
            for (role, number) in copied {
                self.cursor.report(names::copies_of_new_role(number.span, &new_roles[role].text));
            }
        }
        self.cursor.expect_as(Token::RightParen, "`,` or `)`")?;
        let header = start.to(self.here());
        // nuScr reads an annotation here and does not look at it.
        let annotation = if self.cursor.eat(Token::At) { Some(self.string()?) } else { None };
        let mut keyed = if self.cursor.is_word("per") { Some(Box::new(self.key()?)) } else { None };
        let (nested, body) = self.protocol_body()?;
        if self.cursor.is_word("interrupted") {
            let interrupt = self.interrupt()?;
            match &mut keyed {
                Some(keyed) => keyed.interrupt = Some(interrupt),
                None => {
                    self.cursor.report(calls::interrupted_without_key(interrupt.span));
                }
            }
        }
        let span = start.to(self.here());
        Ok(Protocol {
            kind,
            global,
            explicit,
            name,
            parameters,
            roles,
            copied,
            new_roles,
            annotation,
            keyed,
            nested,
            body,
            header,
            span,
        })
    }

    fn protocol_parameters(&mut self) -> Parsed<Vec<ProtocolParameter>> {
        let mut parameters = Vec::new();
        // Scribble's list may be empty.
        if !self.cursor.eat(Token::Less) || self.cursor.eat(Token::Greater) {
            return Ok(parameters);
        }
        loop {
            let is_signature = self.cursor.eat_word("sig");
            let is_data = !is_signature && self.cursor.eat_word("data");
            if !is_signature && !is_data {
                self.cursor.expect_word("type")?;
            }
            let name = self.cursor.name("a name")?;
            // `sig Fred as Joe`: outside it is Fred, inside Joe.
            let (outside, inside) = self.renaming(name, "a name")?;
            let keyword = if is_signature {
                "sig"
            } else if is_data {
                "data"
            } else {
                "type"
            };
            parameters.push(ProtocolParameter { is_signature, keyword, name: inside.unwrap_or(outside) });
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect_as(Token::Greater, "`,` or `>`")?;
        Ok(parameters)
    }

    /// Roles, and which of them may have several copies.
    fn role_declarations(&mut self) -> Parsed<(Vec<Name>, Vec<Copied>)> {
        let mut roles = Vec::new();
        let mut copied = Vec::new();
        loop {
            self.cursor.expect_word("role")?;
            let name = self.cursor.name("the name of a role")?;
            let (outside, inside) = self.renaming(name, "a name")?;
            if self.cursor.eat(Token::LeftBracket) {
                copied.push((roles.len(), self.cursor.name("a name for the number of copies")?));
                self.cursor.expect(Token::RightBracket)?;
            }
            roles.push(inside.unwrap_or(outside));
            if !self.cursor.eat(Token::Comma) {
                return Ok((roles, copied));
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
            match self.cursor.token() {
                Token::End => return,
                Token::LeftBrace => depth += 1,
                Token::RightBrace => depth = depth.saturating_sub(1),
                Token::Semicolon if depth == 0 => {
                    self.cursor.bump();
                    return;
                }
                // `protocol` may stand where a brace is missing; other words also begin statements.
                Token::Word if self.at_protocol() && self.begins_protocol() => return,
                _ => {}
            }
            self.cursor.skip();
        }
    }

    fn begins_protocol(&self) -> bool {
        let (token, word) = self.cursor.second();
        self.cursor.is_word("protocol") && token == Token::Word
            || ["protocol", "global", "explicit"].contains(&word)
    }
}
