//! Blocks and statements, parsed with an explicit stack of the blocks that are open.

use std::sync::Arc;

use super::Parser;
use crate::diagnostics::rf0005_nested_too_deep::nested_too_deep;
use crate::diagnostics::rf0117_nested_protocol_misplaced as rf0117;
use crate::diagnostics::rf0315_assertion_syntax::assertion_syntax;
use crate::diagnostics::suggest;
use crate::expr::{self, Dialect};
use crate::scr::ast::{
    Block, MessageStatement, MessageSyntax, Name, Protocol, RecParameter, Statement, StatementId,
    StatementKind, TypeSyntax, Written,
};
use crate::scr::cursor::{Parsed, Reported};
use crate::scr::token::Token;
use crate::source::Span;

/// A block whose closing brace has not come yet, and what to do when it comes.
struct Open {
    block: Block,
    owner: Owner,
}

enum Owner {
    /// The body of the protocol.
    Body,
    /// A branch of a choice; the earlier ones are complete.
    Branch { head: Span, at: Name, earlier: Vec<Block> },
    /// The body of a recursion.
    Rec { head: Span, name: Name, parameters: Vec<RecParameter> },
}

const MAX_PROTOCOL_DEPTH: usize = 64;

const STATEMENTS: [&str; 4] = ["choice", "rec", "continue", "do"];

impl Parser<'_> {
    /// The braces of a protocol: nested protocols first, then statements.
    pub(super) fn protocol_body(&mut self) -> Parsed<(Vec<Protocol>, Block)> {
        let mut nested = Vec::new();
        let start = self.cursor.expect(Token::LeftBrace, "`{`")?;
        while self.cursor.is_word("nested") && self.cursor.peek_second().1 == "protocol" {
            // Protocols nest by declaration, which is as deep as a person writes: recursion is bounded.
            if self.depth >= MAX_PROTOCOL_DEPTH {
                let span = self.cursor.span();
                self.cursor.diagnostics.push(nested_too_deep(span, MAX_PROTOCOL_DEPTH));
                return Err(Reported);
            }
            self.depth += 1;
            let protocol = self.protocol();
            self.depth -= 1;
            nested.push(protocol?);
        }
        Ok((nested, self.block(start)))
    }

    /// Statements up to the brace that closes the one at `start`, which has been read.
    fn block(&mut self, start: Span) -> Block {
        let mut open =
            vec![Open { block: Block { statements: Vec::new(), span: start }, owner: Owner::Body }];
        loop {
            match self.cursor.peek() {
                Token::RightBrace => {
                    let end = self.cursor.span();
                    self.cursor.advance();
                    let Some(mut closed) = open.pop() else { return Block::default() };
                    closed.block.span = closed.block.span.to(end);
                    match self.close(closed, &mut open) {
                        Some(body) => return body,
                        None => continue,
                    }
                }
                Token::End => {
                    self.cursor.unexpected(&["a statement", "`}`"]);
                    return self.abandon(open);
                }
                _ if self.gave_up() => return self.abandon(open),
                _ => {}
            }
            if self.cursor.is_word("nested") && self.cursor.peek_second().1 == "protocol" {
                let span = self.cursor.span();
                self.cursor.diagnostics.push(rf0117::after_a_statement(span));
                // Parse it all the same, so that what follows is understood.
                if self.protocol().is_err() {
                    self.skip_statement();
                }
                continue;
            }
            // A missing brace must not swallow the next protocol.
            if self.at_protocol() && self.begins_protocol() {
                self.cursor.unexpected(&["a statement", "`}`"]);
                return self.abandon(open);
            }
            if self.statement(&mut open).is_err() {
                self.skip_statement();
            }
        }
    }

    /// Everything that is still open ends here.
    fn abandon(&mut self, mut open: Vec<Open>) -> Block {
        let end = Span::at(self.cursor.last_end());
        while let Some(mut closed) = open.pop() {
            closed.block.span = closed.block.span.to(end);
            let statement = match closed.owner {
                Owner::Body => return closed.block,
                Owner::Branch { head, at, mut earlier } => {
                    earlier.push(closed.block);
                    compound(StatementKind::Choice { at, branches: earlier }, head)
                }
                Owner::Rec { head, name, parameters } => {
                    compound(StatementKind::Rec { name, parameters, body: closed.block }, head)
                }
            };
            self.push(statement, &mut open);
        }
        Block::default()
    }

    /// A block was closed: completes its owner. Returns the body of the protocol when that was it.
    fn close(&mut self, closed: Open, open: &mut Vec<Open>) -> Option<Block> {
        let statement = match closed.owner {
            Owner::Body => return Some(closed.block),
            Owner::Rec { head, name, parameters } => {
                compound(StatementKind::Rec { name, parameters, body: closed.block }, head)
            }
            Owner::Branch { head, at, mut earlier } => {
                earlier.push(closed.block);
                if self.cursor.eat_word("or") {
                    let start = self.cursor.span();
                    if self.cursor.expect(Token::LeftBrace, "`{`").is_ok() {
                        let block = Block { statements: Vec::new(), span: start };
                        open.push(Open { block, owner: Owner::Branch { head, at, earlier } });
                        return None;
                    }
                }
                compound(StatementKind::Choice { at, branches: earlier }, head)
            }
        };
        self.push(statement, open);
        None
    }

    fn push(&mut self, statement: Statement, open: &mut [Open]) {
        let id = StatementId(u32::try_from(self.module.statements.len()).unwrap_or(u32::MAX));
        self.module.statements.push(statement);
        if let Some(innermost) = open.last_mut() {
            innermost.block.statements.push(id);
        }
    }

    fn statement(&mut self, open: &mut Vec<Open>) -> Parsed<()> {
        self.open_braces = 0;
        let start = self.cursor.span();
        let second_is_name = self.cursor.peek_second().0 == Token::Word;
        if self.cursor.is_word("choice") && second_is_name {
            self.cursor.advance();
            self.cursor.expect_word("at")?;
            let at = self.cursor.name("the name of a role")?;
            let head = start.to(at.span);
            let brace = self.cursor.expect(Token::LeftBrace, "`{`")?;
            let block = Block { statements: Vec::new(), span: brace };
            open.push(Open { block, owner: Owner::Branch { head, at, earlier: Vec::new() } });
            return Ok(());
        }
        if self.cursor.is_word("rec") && second_is_name && !self.second_is("from") {
            self.cursor.advance();
            let name = self.cursor.name("the name of the recursion")?;
            let parameters = self.rec_parameters()?;
            let head = start.to(Span::at(self.cursor.last_end()));
            let brace = self.cursor.expect(Token::LeftBrace, "`{`")?;
            let block = Block { statements: Vec::new(), span: brace };
            open.push(Open { block, owner: Owner::Rec { head, name, parameters } });
            return Ok(());
        }
        let kind = self.simple_statement(second_is_name)?;
        let end = self.cursor.expect(Token::Semicolon, "`;`")?;
        let statement = self.annotated(Statement { kind, annotation: None, span: start.to(end) })?;
        self.push(statement, open);
        Ok(())
    }

    fn second_is(&self, word: &str) -> bool {
        self.cursor.peek_second().1 == word
    }

    /// A statement without a block, up to its semicolon.
    fn simple_statement(&mut self, second_is_name: bool) -> Parsed<StatementKind> {
        if second_is_name && !self.second_is("from") && !self.second_is("connect") {
            if self.cursor.eat_word("continue") {
                let name = self.cursor.name("the name of a recursion")?;
                let arguments = self.continue_arguments()?;
                return Ok(StatementKind::Continue { name, arguments });
            }
            if self.cursor.eat_word("do") {
                return self.do_statement();
            }
            if self.second_is("calls") {
                let caller = self.cursor.name("the name of a role")?;
                self.cursor.expect_word("calls")?;
                let protocol = self.cursor.name("the name of a protocol")?;
                let roles = self.role_arguments()?;
                return Ok(StatementKind::Calls { caller, protocol, roles });
            }
            for (keyword, between) in [("connect", "to"), ("disconnect", "and"), ("wrap", "to")] {
                if self.cursor.eat_word(keyword) {
                    let left = self.cursor.name("the name of a role")?;
                    self.cursor.expect_word(between)?;
                    let right = self.cursor.name("the name of a role")?;
                    return Ok(StatementKind::Connection { keyword, left, right });
                }
            }
        }
        self.message_statement()
    }

    fn message_statement(&mut self) -> Parsed<StatementKind> {
        let first = self.cursor.peek();
        let word = self.cursor.word();
        let message = self.message()?;
        let connects = self.cursor.eat_word("connect");
        let from = if connects {
            self.cursor.name("the name of a role")?
        } else {
            if !self.cursor.is_word("from") {
                return Err(self.not_a_statement(first, word));
            }
            self.cursor.expect_word("from")?;
            self.cursor.name("the name of a role")?
        };
        self.cursor.expect_word("to")?;
        let mut to = vec![self.cursor.name("the name of a role")?];
        while self.cursor.eat(Token::Comma) {
            to.push(self.cursor.name("the name of a role")?);
        }
        let condition =
            if self.cursor.is_word("where") { Some(self.expression(Dialect::Cel)?.expr) } else { None };
        let annotation = None;
        let statement = MessageStatement { message, from, to, condition, annotation, connects };
        Ok(StatementKind::Message(Box::new(statement)))
    }

    /// What begins with `word` is neither a message nor anything else: perhaps a misspelt keyword.
    fn not_a_statement(&mut self, first: Token, word: &str) -> Reported {
        let reported = self.cursor.unexpected(&["`from`"]);
        if first == Token::Word
            && self.cursor.peek() == Token::Word
            && let Some(close) = suggest::closest(word, STATEMENTS)
            && let Some(last) = self.cursor.diagnostics.last_mut()
        {
            last.help = Some(format!("did you mean `{close}` instead of `{word}`?"));
        }
        reported
    }

    /// nuScr's `@"…"` behind a statement: an assertion for a message, otherwise only accepted.
    fn annotated(&mut self, mut statement: Statement) -> Parsed<Statement> {
        if !self.cursor.eat(Token::At) {
            return Ok(statement);
        }
        let text = self.string()?;
        statement.span = statement.span.to(text.span);
        if let StatementKind::Message(message) = &mut statement.kind {
            match expr::parse(&text.text, text.span.start + 1, Dialect::NuScr) {
                Ok(expr) => message.annotation = Some(Arc::new(expr)),
                Err(error) => self.cursor.diagnostics.push(assertion_syntax(&error)),
            }
        }
        statement.annotation = Some(Name { text: text.text.trim().into(), span: text.span });
        Ok(statement)
    }

    fn do_statement(&mut self) -> Parsed<StatementKind> {
        let protocol = self.cursor.name("the name of a protocol")?;
        let mut arguments = Vec::new();
        if self.cursor.eat(Token::Less) {
            loop {
                arguments.push(self.do_argument()?);
                if !self.cursor.eat(Token::Comma) {
                    break;
                }
            }
            self.cursor.expect(Token::Greater, "`,` or `>`")?;
        }
        let roles = self.role_arguments()?;
        Ok(StatementKind::Do { protocol, arguments, roles })
    }

    fn do_argument(&mut self) -> Parsed<MessageSyntax> {
        let argument = self.message()?;
        self.renaming(argument.label.clone(), "a name")?;
        Ok(argument)
    }

    fn role_arguments(&mut self) -> Parsed<Vec<Name>> {
        let mut roles = Vec::new();
        self.cursor.expect(Token::LeftParen, "`(`")?;
        loop {
            let role = self.cursor.name("the name of a role")?;
            // Scribble's `do P(A as B)`: A plays B; the order of roles says so already.
            roles.push(self.renaming(role, "the name of a role")?.0);
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect(Token::RightParen, "`,` or `)`")?;
        Ok(roles)
    }

    fn rec_parameters(&mut self) -> Parsed<Vec<RecParameter>> {
        let mut parameters = Vec::new();
        if !self.cursor.eat(Token::LeftBracket) {
            return Ok(parameters);
        }
        while self.cursor.peek() != Token::RightBracket {
            let name = self.cursor.name("the name of a variable")?;
            let mut roles = Vec::new();
            if self.cursor.eat(Token::Less) {
                loop {
                    roles.push(self.cursor.name("the name of a role")?);
                    if !self.cursor.eat(Token::Comma) {
                        break;
                    }
                }
                self.cursor.expect(Token::Greater, "`,` or `>`")?;
            }
            self.cursor.expect(Token::Colon, "`:`")?;
            let (alias, ty, refinement) = self.rec_parameter_type()?;
            if self.cursor.peek() != Token::Equals {
                return Err(self.cursor.unexpected(&["`=` and an initial value"]));
            }
            let initial = self.expression(Dialect::NuScr)?;
            parameters.push(RecParameter { name, roles, alias, ty, refinement, initial });
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect(Token::RightBracket, "`,` or `]`")?;
        Ok(parameters)
    }

    /// `int`, a tuple, or nuScr's `(x: int{x >= 0})`: what the value is called there, its type, and its
    /// refinement. Parentheses around one type only group.
    fn rec_parameter_type(&mut self) -> Parsed<(Option<Name>, TypeSyntax, Option<Written>)> {
        let start = self.cursor.span();
        let parenthesised = self.cursor.eat(Token::LeftParen);
        if parenthesised && self.cursor.peek() == Token::RightParen {
            self.cursor.advance();
            return Ok((None, TypeSyntax::Tuple(Vec::new(), start.to(self.here())), None));
        }
        let mut alias = None;
        if self.cursor.peek_second().0 == Token::Colon {
            alias = Some(self.cursor.name("a name")?);
            self.cursor.expect(Token::Colon, "`:`")?;
        }
        let mut ty = self.payload_type()?;
        let refinement = self.refinement()?;
        if parenthesised {
            if alias.is_none() && refinement.is_none() && self.cursor.peek() == Token::Comma {
                ty = self.tuple_from(ty, start)?;
            } else {
                self.cursor.expect(Token::RightParen, "`)`")?;
            }
        }
        Ok((alias, ty, refinement))
    }

    /// The rest of a tuple that began with `first` at `start`, from the comma on.
    fn tuple_from(&mut self, first: TypeSyntax, start: Span) -> Parsed<TypeSyntax> {
        let mut parts = vec![first];
        while self.cursor.eat(Token::Comma) && self.cursor.peek() != Token::RightParen {
            parts.push(self.payload_type()?);
        }
        let end = self.cursor.expect(Token::RightParen, "`,` or `)`")?;
        Ok(TypeSyntax::Tuple(parts, start.to(end)))
    }

    fn continue_arguments(&mut self) -> Parsed<Vec<Written>> {
        let mut arguments = Vec::new();
        if self.cursor.peek() != Token::LeftBracket {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression(Dialect::NuScr)?);
            if self.cursor.eat(Token::RightBracket) {
                return Ok(arguments);
            }
            if self.cursor.peek() != Token::Comma {
                return Err(self.cursor.unexpected(&["`,`", "`]`"]));
            }
        }
    }

    /// Goes on behind the statement that could not be understood: after its `;` or its block, or at the
    /// brace that closes what is around it.
    fn skip_statement(&mut self) {
        let mut depth = std::mem::take(&mut self.open_braces);
        loop {
            match self.cursor.peek() {
                Token::End => return,
                Token::LeftBrace => depth += 1,
                Token::RightBrace if depth == 0 => return,
                Token::RightBrace => {
                    depth -= 1;
                    if depth == 0 {
                        self.cursor.advance();
                        // The statement goes on behind a record or a refinement.
                        let goes_on = matches!(
                            self.cursor.peek(),
                            Token::RightParen
                                | Token::Comma
                                | Token::RightBracket
                                | Token::Equals
                                | Token::Semicolon
                        );
                        if !goes_on && !self.cursor.is_word("or") {
                            return;
                        }
                        continue;
                    }
                }
                Token::Semicolon if depth == 0 => {
                    self.cursor.advance();
                    return;
                }
                Token::Word if self.at_protocol() && self.begins_protocol() => return,
                _ => {}
            }
            self.cursor.skip();
        }
    }
}

fn compound(kind: StatementKind, head: Span) -> Statement {
    Statement { kind, annotation: None, span: head }
}
