//! Statements without blocks, and the data of recursions.

use std::sync::Arc;

use smallvec::smallvec;

use super::Parser;
use crate::diagnostics::assertions::assertion_syntax;
use crate::diagnostics::names::{one_copy, qualified_label};
use crate::diagnostics::suggest;
use crate::expr::{self, Dialect};
use crate::scr::ast::{
    MessageStatement, MessageSyntax, Name, RecParameter, Statement, StatementKind, TypeSyntax, Written,
};
use crate::scr::cursor::{Parsed, Reported};
use crate::scr::token::Token;
use crate::source::Span;

const STATEMENTS: [&str; 6] = ["choice", "par", "rec", "continue", "do", "open"];

impl Parser<'_> {
    /// A statement without a block, up to its semicolon.
    pub(super) fn simple_statement(&mut self, second_is_name: bool) -> Parsed<StatementKind> {
        if second_is_name && !self.second_is("from") && !self.second_is("connect") {
            if self.cursor.eat_word("continue") {
                let name = self.cursor.name("the name of a recursion")?;
                let arguments = self.continue_arguments()?;
                return Ok(StatementKind::Continue { name, arguments });
            }
            if self.cursor.eat_word("do") {
                return self.do_statement();
            }
            if let Some(kind) = self.sub_session()? {
                return Ok(kind);
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
        let first = self.cursor.token();
        let word = self.cursor.text();
        let message = self.message_or_signature()?;
        let connects = self.cursor.eat_word("connect");
        let from = if connects {
            self.participant()?
        } else {
            if !self.cursor.is_word("from") {
                return Err(self.not_a_statement(first, word));
            }
            self.cursor.expect_word("from")?;
            self.participant()?
        };
        self.cursor.expect_word("to")?;
        let mut to = smallvec![self.participant()?];
        while self.cursor.eat(Token::Comma) {
            to.push(self.participant()?);
        }
        let mut times = None;
        if self.cursor.token() != Token::Semicolon {
            self.times(&mut times)?;
        }
        let mut condition = None;
        if self.cursor.is_word("where") {
            condition = Some(self.expression(Dialect::Cel)?.expr);
            self.times(&mut times)?;
        }
        let (annotation, may_wait) = (None, false);
        let statement =
            MessageStatement { message, from, to, times, condition, annotation, may_wait, connects };
        Ok(StatementKind::Message(Box::new(statement)))
    }

    /// What is sent: a message, or the name of a signature of another module.
    fn message_or_signature(&mut self) -> Parsed<MessageSyntax> {
        let (text, word) = (self.cursor.whole_text(), self.cursor.span().range());
        if text.as_bytes().get(word.end) != Some(&b'.')
            || self.cursor.token() != Token::Word
            || !is_qualified_message(&text[word.start..])
        {
            return self.message();
        }
        let label = self.qualified_name("a message")?;
        let payload = self.payload()?;
        if payload.is_some() {
            self.cursor.report(qualified_label(label.span, &label.text));
        }
        Ok(MessageSyntax { label, payload })
    }

    /// A role that sends or receives a message.
    fn participant(&mut self) -> Parsed<Name> {
        let name = self.cursor.name("the name of a role")?;
        let start = self.cursor.span();
        if self.cursor.token() == Token::LeftBracket && self.cursor.second().0 == Token::At {
            return Ok(name);
        }
        if self.cursor.eat(Token::LeftBracket) {
            self.cursor.eat(Token::Word);
            self.cursor.expect(Token::RightBracket)?;
            self.cursor.report(one_copy(start.to(self.here()), &name.text));
        }
        Ok(name)
    }

    /// What begins with `word` is neither a message nor anything else: perhaps a misspelt keyword.
    fn not_a_statement(&mut self, first: Token, word: &str) -> Reported {
        let reported = self.cursor.unexpected(&["`from`"]);
        if first == Token::Word
            && self.cursor.token() == Token::Word
            && let Some(close) = suggest::closest(word, STATEMENTS)
            && let Some(last) = self.cursor.last_diagnostic()
        {
            last.help = Some(format!("did you mean `{close}` instead of `{word}`?"));
        }
        reported
    }

    /// nuScr's `@"…"` behind a statement: for a message, an assertion or `may wait`; otherwise only accepted.
    pub(super) fn annotated(&mut self, mut statement: Statement) -> Parsed<Statement> {
        if !self.cursor.eat(Token::At) {
            return Ok(statement);
        }
        let text = self.string()?;
        statement.span = statement.span.to(text.span);
        if let StatementKind::Message(message) = &mut statement.kind {
            match expr::parse(&text.text, text.span.start + 1, Dialect::NuScr) {
                _ if text.text.split_whitespace().eq(["may", "wait"]) => message.may_wait = true,
                Ok(expr) => message.annotation = Some(Arc::new(expr)),
                Err(error) => {
                    self.cursor.report(assertion_syntax(&error));
                }
            }
        }
        statement.annotation = Some(Name { text: text.text.trim().into(), span: text.span });
        Ok(statement)
    }

    fn do_statement(&mut self) -> Parsed<StatementKind> {
        let protocol = self.qualified_name("the name of a protocol")?;
        let mut arguments = Vec::new();
        if self.cursor.eat(Token::Less) && !self.cursor.eat(Token::Greater) {
            loop {
                arguments.push(self.do_argument()?);
                if !self.cursor.eat(Token::Comma) {
                    break;
                }
            }
            self.cursor.expect_as(Token::Greater, "`,` or `>`")?;
        }
        let roles = self.role_arguments()?;
        Ok(StatementKind::Do { protocol, arguments, roles })
    }

    fn do_argument(&mut self) -> Parsed<MessageSyntax> {
        // Types and signatures of other modules have names with dots.
        let argument = if self.cursor.token() == Token::Word && self.cursor.second().0 == Token::Dot {
            MessageSyntax { label: self.qualified_name("a name")?, payload: None }
        } else {
            self.message()?
        };
        self.renaming(argument.label.clone(), "a name")?;
        Ok(argument)
    }

    pub(super) fn role_arguments(&mut self) -> Parsed<Vec<Name>> {
        let mut roles = Vec::new();
        self.cursor.expect(Token::LeftParen)?;
        loop {
            let role = self.cursor.name("the name of a role")?;
            // Scribble's `do P(A as B)`: A plays B; the order of roles says so already.
            roles.push(self.renaming(role, "the name of a role")?.0);
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect_as(Token::RightParen, "`,` or `)`")?;
        Ok(roles)
    }

    pub(super) fn rec_parameters(&mut self) -> Parsed<Vec<RecParameter>> {
        let mut parameters = Vec::new();
        if !self.cursor.eat(Token::LeftBracket) {
            return Ok(parameters);
        }
        while self.cursor.token() != Token::RightBracket {
            let name = self.cursor.name("the name of a variable")?;
            let mut roles = Vec::new();
            if self.cursor.eat(Token::Less) {
                loop {
                    roles.push(self.cursor.name("the name of a role")?);
                    if !self.cursor.eat(Token::Comma) {
                        break;
                    }
                }
                self.cursor.expect_as(Token::Greater, "`,` or `>`")?;
            }
            self.cursor.expect(Token::Colon)?;
            let (alias, ty, refinement) = self.rec_parameter_type()?;
            if self.cursor.token() != Token::Equals {
                return Err(self.cursor.unexpected(&["`=` and an initial value"]));
            }
            let initial = self.expression(Dialect::NuScr)?;
            parameters.push(RecParameter { name, roles, alias, ty, refinement, initial });
            if !self.cursor.eat(Token::Comma) {
                break;
            }
        }
        self.cursor.expect_as(Token::RightBracket, "`,` or `]`")?;
        Ok(parameters)
    }

    /// `int`, a tuple, or nuScr's `(x: int{x >= 0})`: what the value is called there, its type, and its
    /// refinement. Parentheses around one type only group.
    fn rec_parameter_type(&mut self) -> Parsed<(Option<Name>, TypeSyntax, Option<Written>)> {
        let start = self.cursor.span();
        let parenthesised = self.cursor.eat(Token::LeftParen);
        if parenthesised && self.cursor.token() == Token::RightParen {
            self.cursor.bump();
            return Ok((None, TypeSyntax::Tuple(Vec::new(), start.to(self.here())), None));
        }
        let mut alias = None;
        if self.cursor.second().0 == Token::Colon {
            alias = Some(self.cursor.name("a name")?);
            self.cursor.expect(Token::Colon)?;
        }
        let mut ty = self.payload_type()?;
        let refinement = self.refinement()?;
        if parenthesised {
            if alias.is_none() && refinement.is_none() && self.cursor.token() == Token::Comma {
                ty = self.tuple_from(ty, start)?;
            } else {
                self.cursor.expect(Token::RightParen)?;
            }
        }
        Ok((alias, ty, refinement))
    }

    /// The rest of a tuple that began with `first` at `start`, from the comma on.
    fn tuple_from(&mut self, first: TypeSyntax, start: Span) -> Parsed<TypeSyntax> {
        let mut parts = vec![first];
        while self.cursor.eat(Token::Comma) && self.cursor.token() != Token::RightParen {
            parts.push(self.payload_type()?);
        }
        let end = self.cursor.expect_as(Token::RightParen, "`,` or `)`")?;
        Ok(TypeSyntax::Tuple(parts, start.to(end)))
    }

    fn continue_arguments(&mut self) -> Parsed<Vec<Written>> {
        let mut arguments = Vec::new();
        if self.cursor.token() != Token::LeftBracket {
            return Ok(arguments);
        }
        if self.cursor.second().0 == Token::RightBracket {
            self.cursor.bump();
            self.cursor.bump();
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression(Dialect::NuScr)?);
            if self.cursor.eat(Token::RightBracket) {
                return Ok(arguments);
            }
            if self.cursor.token() != Token::Comma {
                return Err(self.cursor.unexpected(&["`,`", "`]`"]));
            }
        }
    }
}

/// Whether `text` begins with `a.b.C from` or `a.b.C(…) from`. Other texts with a dot are mistakes that have nothing to do with modules.
fn is_qualified_message(text: &str) -> bool {
    // Without blanks around the dots: `μX. M() from a to b` is a loop of the papers.
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.');
    let mut rest = text.trim_start_matches(is_part).trim_start();
    if let Some(payload) = rest.strip_prefix('(') {
        let statement = payload.split(';').next().unwrap_or_default();
        let Some((_, behind)) = statement.rsplit_once(')') else { return false };
        rest = behind.trim_start();
    }
    let word = rest.split(|c: char| !is_part(c)).next().unwrap_or_default();
    matches!(word, "from" | "connect")
}
