//! `.gt` texts: recursive descent without recursion, open choices on a stack of our own.

use std::sync::Arc;

use referee_theory::{Branch, Branches, Field, GlobalTypeBuilder, MessageSpec, NodeId, Role, Vocabulary};
use smallvec::smallvec;

use super::lexer::GtToken;
use super::types::{self, BadType, MAX_DEPTH};
use super::{UNIT_LABEL, lower};
use crate::diagnostics::{RF0004, global_types, lexical, names, structure};
use crate::document::Document;
use crate::language::Language;
use crate::scope::Scope;
use crate::source::{Origins, Span};
use crate::tokens::Cursor;

type Tokens<'a> = Cursor<'a, GtToken>;

pub(super) fn parse(text: &str) -> Document {
    let mut parser = Parser {
        cursor: Tokens::new(text),
        origins: Origins::default(),
        vocabulary: Vocabulary::new(),
        builder: GlobalTypeBuilder::new(),
        scope: Scope::new(),
        open: Vec::new(),
    };
    let root = parser.global();
    if !parser.cursor.is_at_end() {
        parser.cursor.unexpected(&["the end of the text"]);
    }
    let Parser { cursor, origins, vocabulary, builder, .. } = parser;
    let whole = Span::new(0, text.len());
    lower::finish(Language::Gt, builder, root, vocabulary, origins, cursor.into_diagnostics(), whole)
}

struct Parser<'a> {
    cursor: Tokens<'a>,
    origins: Origins,
    vocabulary: Vocabulary,
    builder: GlobalTypeBuilder,
    scope: Scope<'a, NodeId>,
    open: Vec<Choice>,
}

/// `p -> q (` and the branches read so far.
struct Choice {
    slot: NodeId,
    sender: Role,
    receiver: Role,
    exchange: Span,
    branches: Branches,
    scope_depth: usize,
}

/// What comes after a piece of text.
enum Next {
    /// A global type, which goes there.
    Type(NodeId),
    /// A label of the innermost choice.
    Label,
    /// Nothing: the type is complete.
    Complete,
}

impl<'a> Parser<'a> {
    fn global(&mut self) -> NodeId {
        let root = self.builder.reserve();
        let mut next = Next::Type(root);
        loop {
            next = match next {
                Next::Type(slot) => self.type_at(slot),
                Next::Label => self.branch(),
                Next::Complete if self.close() => Next::Label,
                Next::Complete => return root,
            };
        }
    }

    fn type_at(&mut self, slot: NodeId) -> Next {
        if !self.cursor.is_at(GtToken::Name) {
            if matches!(self.cursor.peek(), Some(GtToken::Comma | GtToken::CloseParenthesis))
                && !self.open.is_empty()
            {
                let error = global_types::missing_continuation(self.cursor.span());
                self.cursor.report_here(error);
            } else {
                self.cursor.unexpected(&["an exchange", "`mu`", "`end`", "a variable"]);
            }
            self.recover();
            return Next::Complete;
        }
        if self.at_exchange() {
            return self.exchange(slot);
        }
        let text = self.cursor.text();
        let span = self.cursor.bump();
        if text == "mu" && self.cursor.is_at(GtToken::Name) {
            let name = self.cursor.text();
            let header = span.to(self.cursor.bump());
            let _ = self.cursor.expect(GtToken::Dot);
            let body = self.builder.reserve();
            let origin = self.origins.add(header);
            self.builder.define(slot, name, body, origin);
            self.scope.enter(name, slot);
            return Next::Type(body);
        }
        if text == "end" {
            return Next::Complete;
        }
        if text == "rec" && self.cursor.is_at(GtToken::Name) {
            let error = lexical::unexpected_token(span, "`rec`", &["`mu`"]);
            self.cursor.report(error.help("recursion is written `mu X . …`"));
            self.recover();
            return Next::Complete;
        }
        if let Some(target) = self.scope.find(text) {
            let origin = self.origins.add(span);
            let call = referee_theory::global::Call { target, arguments: Vec::new(), origin };
            self.builder.set(slot, referee_theory::Global::Call(call));
        } else {
            let scope = self.scope.nearest().chain(["end"]);
            let error = names::unknown_recursion_variable(span, text, scope);
            self.cursor.report(error);
            self.recover_if_stuck();
        }
        Next::Complete
    }

    /// After an unknown variable: what follows may well belong to it.
    fn recover_if_stuck(&mut self) {
        let goes_on = matches!(self.cursor.peek(), None | Some(GtToken::Comma | GtToken::CloseParenthesis));
        if !goes_on {
            self.recover();
        }
    }

    /// Whether `p ->` stands here.
    fn at_exchange(&self) -> bool {
        self.role_ahead(0).is_some_and(|(_, after)| self.cursor.peek_nth(after) == Some(GtToken::Arrow))
    }

    /// The role after `from` tokens, and how many tokens come before what follows it. Names may end in
    /// indices: `worker[1]`.
    fn role_ahead(&self, from: usize) -> Option<(Span, usize)> {
        const MOST_INDICES: usize = 4;
        let is = |n: usize, token: GtToken| self.cursor.peek_nth(n) == Some(token);
        if !is(from, GtToken::Name) {
            return None;
        }
        let mut after = from + 1;
        for _ in 0..MOST_INDICES {
            if is(after, GtToken::OpenBracket)
                && is(after + 1, GtToken::Name)
                && is(after + 2, GtToken::CloseBracket)
            {
                after += 3;
            }
        }
        Some((self.cursor.span_nth(from).to(self.cursor.span_nth(after - 1)), after))
    }

    fn role(&mut self) -> Option<Role> {
        let Some((span, length)) = self.role_ahead(0) else {
            self.cursor.unexpected(&["a role"]);
            return None;
        };
        for _ in 0..length {
            self.cursor.bump();
        }
        let name = self.cursor.text_of(span);
        if self.vocabulary.find_role(name).is_none() && self.vocabulary.roles().len() == usize::from(u16::MAX)
        {
            let message = "a protocol has at most 65,535 roles";
            self.cursor.report(RF0004.at(span, message));
            return Some(Role(0));
        }
        Some(self.vocabulary.add_role(name))
    }

    /// `p -> q <T> .` or `p -> q (`.
    fn exchange(&mut self, slot: NodeId) -> Next {
        let start = self.cursor.span();
        let roles = self.roles();
        let Some((sender, receiver)) = roles else {
            self.recover();
            return Next::Complete;
        };
        let exchange = start.to(self.cursor.previous());
        if sender == receiver {
            let name = self.vocabulary.role_name(sender);
            self.cursor.report(structure::self_message(exchange, name));
        }
        match self.cursor.peek() {
            Some(GtToken::OpenParenthesis) => {
                self.cursor.bump();
                let scope_depth = self.scope.depth();
                let branches = Branches::new();
                self.open.push(Choice { slot, sender, receiver, exchange, branches, scope_depth });
                Next::Label
            }
            Some(GtToken::Less) => {
                let fields = self.value();
                let next = self.builder.reserve();
                let whole = start.to(self.cursor.previous());
                let branch = self.message(receiver, UNIT_LABEL, fields, whole, next);
                let origin = branch.origin;
                let exchange = referee_theory::Exchange { sender, branches: smallvec![branch], origin };
                self.builder.set(slot, referee_theory::Global::Exchange(exchange));
                self.continuation(next)
            }
            _ => {
                self.cursor.unexpected(&["`(` and labels", "`<` and a type"]);
                self.recover();
                Next::Complete
            }
        }
    }

    fn roles(&mut self) -> Option<(Role, Role)> {
        let sender = self.role()?;
        self.cursor.expect(GtToken::Arrow).ok()?;
        Some((sender, self.role()?))
    }

    fn message(
        &mut self,
        receiver: Role,
        label: &str,
        fields: Arc<[Field]>,
        span: Span,
        next: NodeId,
    ) -> Branch {
        let label = self.vocabulary.add_label(label);
        let message = self.vocabulary.add_message(MessageSpec::new(label, fields, None));
        Branch { receiver, message, next, origin: self.origins.add(span) }
    }

    /// `. G`, where `G` goes to `slot`.
    fn continuation(&mut self, slot: NodeId) -> Next {
        if self.cursor.eat(GtToken::Dot) {
            return Next::Type(slot);
        }
        let ends_here = matches!(self.cursor.peek(), None | Some(GtToken::Comma | GtToken::CloseParenthesis));
        if ends_here {
            let error = global_types::missing_continuation(self.cursor.span());
            self.cursor.report_here(error);
        } else {
            self.cursor.unexpected(&["`.`"]);
        }
        self.recover();
        Next::Complete
    }

    /// `l .`, and the value that follows if it travels between the same roles.
    fn branch(&mut self) -> Next {
        let Some((sender, receiver, exchange)) = self.open.last().map(|c| (c.sender, c.receiver, c.exchange))
        else {
            return Next::Complete;
        };
        if !self.cursor.is_at(GtToken::Name) {
            self.cursor.unexpected(&["a label"]);
            self.recover();
            return Next::Complete;
        }
        let label = self.cursor.text();
        let span = self.cursor.bump();
        let next = self.builder.reserve();
        let mut fields: Arc<[Field]> = Arc::new([]);
        let mut after = self.continuation(next);
        if matches!(after, Next::Type(_))
            && let Some((p, q, length)) = self.value_ahead()
        {
            let is = |span, role| self.cursor.text_of(span) == self.vocabulary.role_name(role);
            if is(p, sender) && is(q, receiver) {
                for _ in 0..length {
                    self.cursor.bump();
                }
                fields = self.value();
                after = self.continuation(next);
            } else {
                let note = global_types::value_of_other_roles(p.to(q), exchange, label);
                self.cursor.report(note);
            }
        }
        let branch = self.message(receiver, label, fields, span, next);
        if let Some(choice) = self.open.last_mut() {
            choice.branches.push(branch);
        }
        after
    }

    /// If `p -> q <` stands here: `p` and `q`, and how many tokens `p -> q` are.
    fn value_ahead(&self) -> Option<(Span, Span, usize)> {
        let (sender, arrow) = self.role_ahead(0)?;
        let (receiver, after) = self.role_ahead(arrow + 1)?;
        let fits = self.cursor.peek_nth(arrow) == Some(GtToken::Arrow)
            && self.cursor.peek_nth(after) == Some(GtToken::Less);
        fits.then_some((sender, receiver, after))
    }

    /// `<T, T>`.
    fn value(&mut self) -> Arc<[Field]> {
        let open = self.cursor.bump();
        let mut text = String::new();
        let start = self.cursor.span();
        while matches!(
            self.cursor.peek(),
            Some(GtToken::Name | GtToken::Comma | GtToken::OpenBracket | GtToken::CloseBracket)
        ) {
            text.push_str(self.cursor.text());
            self.cursor.bump();
        }
        if text.is_empty() {
            self.cursor.unexpected(&["a type"]);
        }
        if self.cursor.expect(GtToken::Greater).is_err() {
            return Arc::new([]);
        }
        let whole = open.to(self.cursor.previous());
        match types::fields(&text) {
            Ok(fields) => return fields,
            Err(BadType::TooDeep) => {
                self.cursor.report(lexical::nested_too_deep(whole, MAX_DEPTH));
            }
            Err(BadType::Malformed) if text.is_empty() => {}
            Err(BadType::Malformed) => {
                let found = format!(
                    "`{}`",
                    self.cursor.text_of(Span::new(start.start as usize, whole.end as usize - 1)).trim()
                );
                let expected = ["a type such as `str`, `array[int]` or `str,str`"];
                self.cursor.report(lexical::unexpected_token(whole, &found, &expected));
            }
        }
        Arc::new([])
    }

    /// After a complete type: closes what ends here; `true` when another label follows.
    fn close(&mut self) -> bool {
        while let Some(choice) = self.open.last() {
            self.scope.leave_to(choice.scope_depth);
            if self.cursor.eat(GtToken::Comma) {
                return true;
            }
            if !self.cursor.eat(GtToken::CloseParenthesis) {
                self.cursor.unexpected(&["`,`", "`)`"]);
                self.recover();
                if !self.cursor.is_at_end() {
                    continue;
                }
            }
            if let Some(choice) = self.open.pop() {
                self.close_choice(choice);
            }
        }
        self.scope.leave_to(0);
        false
    }

    fn close_choice(&mut self, choice: Choice) {
        if choice.branches.is_empty() {
            return;
        }
        let origin = self.origins.add(choice.exchange);
        let exchange = referee_theory::Exchange { sender: choice.sender, branches: choice.branches, origin };
        self.builder.set(choice.slot, referee_theory::Global::Exchange(exchange));
    }

    fn recover(&mut self) {
        self.cursor.recover(|c, depth| {
            depth == 0 && matches!(c.peek(), Some(GtToken::Comma | GtToken::CloseParenthesis))
        });
    }
}
