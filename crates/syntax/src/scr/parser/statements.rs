//! Blocks and statements, parsed with an explicit stack of the blocks that are open.

use super::Parser;
use crate::diagnostics::lexical::nested_too_deep;
use crate::diagnostics::names;
use crate::scr::ast::{
    Block, Name, Protocol, RecParameter, Statement, StatementId, StatementKind, WithinSyntax,
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
    Branch { head: Span, at: Name, within: Option<Box<WithinSyntax>>, earlier: Vec<Block> },
    /// A block of a `par`; the earlier ones are complete.
    Parallel { head: Span, earlier: Vec<Block> },
    /// The body of a recursion.
    Rec { head: Span, name: Name, parameters: Vec<RecParameter> },
}

const MAX_PROTOCOL_DEPTH: usize = 64;

impl Parser<'_> {
    /// The braces of a protocol: nested protocols first, then statements.
    pub(super) fn protocol_body(&mut self) -> Parsed<(Vec<Protocol>, Block)> {
        let mut nested = Vec::new();
        let start = self.cursor.expect(Token::LeftBrace)?;
        while self.cursor.is_word("nested") && self.cursor.second().1 == "protocol" {
            // Protocols nest by declaration, which is as deep as a person writes: recursion is bounded.
            if self.depth >= MAX_PROTOCOL_DEPTH {
                let span = self.cursor.span();
                self.cursor.report(nested_too_deep(span, MAX_PROTOCOL_DEPTH));
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
            match self.cursor.token() {
                Token::RightBrace => {
                    let end = self.cursor.span();
                    self.cursor.bump();
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
            if self.cursor.is_word("nested") && self.cursor.second().1 == "protocol" {
                let span = self.cursor.span();
                self.cursor.report(names::after_a_statement(span));
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
                Owner::Branch { head, at, within, mut earlier } => {
                    earlier.push(closed.block);
                    compound(StatementKind::Choice { at, within, branches: earlier }, head)
                }
                Owner::Parallel { head, mut earlier } => {
                    earlier.push(closed.block);
                    compound(StatementKind::Par { blocks: earlier }, head)
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
            Owner::Branch { head, at, within, mut earlier } => {
                earlier.push(closed.block);
                if self.cursor.eat_word("or") {
                    let start = self.cursor.span();
                    if self.cursor.expect(Token::LeftBrace).is_ok() {
                        let block = Block { statements: Vec::new(), span: start };
                        open.push(Open { block, owner: Owner::Branch { head, at, within, earlier } });
                        return None;
                    }
                }
                compound(StatementKind::Choice { at, within, branches: earlier }, head)
            }
            Owner::Parallel { head, mut earlier } => {
                earlier.push(closed.block);
                // A message may be called `and`.
                let is_message = self.cursor.second().0 == Token::LeftParen || self.second_is("from");
                if !is_message && self.cursor.eat_word("and") {
                    let start = self.cursor.span();
                    if self.cursor.expect(Token::LeftBrace).is_ok() {
                        let block = Block { statements: Vec::new(), span: start };
                        open.push(Open { block, owner: Owner::Parallel { head, earlier } });
                        return None;
                    }
                }
                compound(StatementKind::Par { blocks: earlier }, head)
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
        let second_is_name = self.cursor.second().0 == Token::Word;
        if self.cursor.is_word("choice") && second_is_name {
            self.cursor.bump();
            self.cursor.expect_word("at")?;
            let at = self.cursor.name("the name of a role")?;
            let within = self.choice_within()?;
            let head = start.to(Span::at(self.cursor.last_end()));
            let brace = self.cursor.expect(Token::LeftBrace)?;
            let block = Block { statements: Vec::new(), span: brace };
            open.push(Open { block, owner: Owner::Branch { head, at, within, earlier: Vec::new() } });
            return Ok(());
        }
        if self.cursor.is_word("par") && self.cursor.second().0 == Token::LeftBrace {
            self.cursor.bump();
            let head = start.to(Span::at(self.cursor.last_end()));
            let brace = self.cursor.expect(Token::LeftBrace)?;
            let block = Block { statements: Vec::new(), span: brace };
            open.push(Open { block, owner: Owner::Parallel { head, earlier: Vec::new() } });
            return Ok(());
        }
        if self.cursor.is_word("rec") && second_is_name && !self.second_is("from") {
            self.cursor.bump();
            let name = self.cursor.name("the name of the recursion")?;
            let parameters = self.rec_parameters()?;
            let head = start.to(Span::at(self.cursor.last_end()));
            let brace = self.cursor.expect(Token::LeftBrace)?;
            let block = Block { statements: Vec::new(), span: brace };
            open.push(Open { block, owner: Owner::Rec { head, name, parameters } });
            return Ok(());
        }
        let kind = self.simple_statement(second_is_name)?;
        let end = self.cursor.expect(Token::Semicolon)?;
        let statement = self.annotated(Statement { kind, annotation: None, span: start.to(end) })?;
        self.push(statement, open);
        Ok(())
    }

    pub(super) fn second_is(&self, word: &str) -> bool {
        self.cursor.second().1 == word
    }

    /// Goes on behind the statement that could not be understood: after its `;` or its block, or at the
    /// brace that closes what is around it.
    fn skip_statement(&mut self) {
        let mut depth = std::mem::take(&mut self.open_braces);
        loop {
            match self.cursor.token() {
                Token::End => return,
                Token::LeftBrace => depth += 1,
                Token::RightBrace if depth == 0 => return,
                Token::RightBrace => {
                    depth -= 1;
                    if depth == 0 {
                        self.cursor.bump();
                        // The statement goes on behind a record or a refinement.
                        let goes_on = matches!(
                            self.cursor.token(),
                            Token::RightParen
                                | Token::Comma
                                | Token::RightBracket
                                | Token::Equals
                                | Token::Semicolon
                        );
                        if !goes_on && !self.cursor.is_word("or") && !self.cursor.is_word("and") {
                            return;
                        }
                        continue;
                    }
                }
                Token::Semicolon if depth == 0 => {
                    self.cursor.bump();
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
