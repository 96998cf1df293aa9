//! Recursive descent without recursion: open choices and recursions are on a stack of our own.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use referee_theory::session::{Session, SessionBranch, SessionTypeBuilder, TermId};
use referee_theory::{Action, Field, Label, Message, MessageSpec, Role, Vocabulary};
use rustc_hash::FxHashMap;

use super::lexer::{Closed, StToken};
use super::types;
use crate::diagnostics::{Diagnostic, assertions, names, session_types, structure};
use crate::document::{BinaryProtocol, Content, Document, in_order, once_each};
use crate::expr::{self, Dialect, Expr};
use crate::ill_formed;
use crate::language::Language;
use crate::scope::Scope;
use crate::source::{Origins, Span};
use crate::tokens::Cursor;

type Tokens<'a> = Cursor<'a, StToken>;

pub(super) fn parse(text: &str) -> Document {
    let mut vocabulary = Vocabulary::new();
    let process = vocabulary.add_role("process");
    let environment = vocabulary.add_role("environment");
    let mut parser = Parser {
        cursor: Tokens::new(text),
        origins: Origins::default(),
        vocabulary,
        builder: SessionTypeBuilder::new(),
        scope: Scope::new(),
        open: Vec::new(),
        open_choices: 0,
        environment,
    };
    let name = parser.header();
    let root = parser.session();
    if !parser.cursor.is_at_end() {
        parser.cursor.unexpected(&["the end of the text"]);
    }
    let Parser { cursor, origins, vocabulary, builder, .. } = parser;
    let mut diagnostics = cursor.into_diagnostics();
    let vocabulary = Arc::new(vocabulary);
    let session = match builder.finish(Arc::clone(&vocabulary), process, root) {
        Ok(session) => Some(session),
        Err(errors) => {
            diagnostics.extend(errors.into_iter().map(|error| ill_formed::session(&error, &origins)));
            None
        }
    };
    let session = session.filter(|_| !diagnostics.iter().any(Diagnostic::is_error));
    let externals = Vec::new();
    let protocol = BinaryProtocol { name, session, vocabulary, process, environment, externals };
    Document {
        language: Language::St,
        content: Content::Binary(protocol),
        diagnostics: once_each(in_order(diagnostics)),
        origins,
    }
}

struct Parser<'a> {
    cursor: Tokens<'a>,
    origins: Origins,
    vocabulary: Vocabulary,
    builder: SessionTypeBuilder,
    scope: Scope<'a, TermId>,
    open: Vec<Open>,
    /// How many of `open` are choices.
    open_choices: usize,
    environment: Role,
}

/// Something that is not closed yet.
enum Open {
    Choice(Choice),
    /// `rec X.(`, with the depth of the scope around it.
    Recursion(usize),
}

struct Choice {
    slot: TermId,
    /// What `&` or `+` asks of every branch.
    action: Action,
    symbol: Span,
    branches: Vec<SessionBranch>,
    labels: FxHashMap<Label, Span>,
    scope_depth: usize,
}

impl<'a> Parser<'a> {
    /// `NAME =`.
    fn header(&mut self) -> Arc<str> {
        let mut name = "";
        if self.cursor.is_at(StToken::Name) {
            name = self.cursor.text();
            self.cursor.bump();
        } else {
            self.cursor.unexpected(&["the name of the session type"]);
        }
        let _ = self.cursor.expect(StToken::Equals);
        name.into()
    }

    fn session(&mut self) -> TermId {
        let root = self.builder.reserve();
        // Where the type that begins here goes; `None` where it is a branch of the innermost choice.
        let mut slot = Some(root);
        loop {
            let goes_on = match self.cursor.peek() {
                Some(StToken::Bang) => self.message(Action::Send, slot),
                Some(StToken::Question) => self.message(Action::Receive, slot),
                _ => {
                    let node = slot.unwrap_or_else(|| self.branch_without_message());
                    match self.cursor.peek() {
                        Some(StToken::And) => self.choice(Action::Receive, node),
                        Some(StToken::Plus) => self.choice(Action::Send, node),
                        Some(StToken::Name) => self.named(node),
                        _ => {
                            self.cursor.unexpected(&["a message", "`&{`", "`+{`", "`rec`", "`end`"]);
                            self.recover();
                            Next::Complete
                        }
                    }
                }
            };
            slot = match goes_on {
                Next::Type(next) => Some(next),
                Next::Branch => None,
                Next::Complete if self.close() => None,
                Next::Complete => return root,
            };
        }
    }

    /// `&{` or `+{`.
    fn choice(&mut self, action: Action, slot: TermId) -> Next {
        let symbol = self.cursor.bump();
        let _ = self.cursor.expect(StToken::OpenBrace);
        let scope_depth = self.scope.depth();
        let labels = FxHashMap::default();
        self.open.push(Open::Choice(Choice {
            slot,
            action,
            symbol,
            branches: Vec::new(),
            labels,
            scope_depth,
        }));
        self.open_choices += 1;
        Next::Branch
    }

    /// `rec X.(`, `end` or a variable.
    fn named(&mut self, slot: TermId) -> Next {
        let text = self.cursor.text();
        let span = self.cursor.bump();
        if text == "rec" && self.cursor.is_at(StToken::Name) {
            let name = self.cursor.text();
            let header = span.to(self.cursor.bump());
            let _ = self.cursor.expect(StToken::Dot);
            let depth = self.scope.depth();
            let opens = self.cursor.expect(StToken::OpenParenthesis).is_ok();
            let body = self.builder.reserve();
            let origin = self.origins.add(header);
            self.builder.set(slot, Session::Rec { name: name.into(), body, origin });
            self.scope.enter(name, slot);
            if opens {
                self.open.push(Open::Recursion(depth));
            }
            return Next::Type(body);
        }
        if text == "end" {
            return Next::Complete;
        }
        match self.scope.find(text) {
            Some(target) => {
                let origin = self.origins.add(span);
                self.builder.set(slot, Session::Call { target, origin });
            }
            None => {
                let scope = self.scope.nearest().chain(["end"]);
                let error = names::unknown_recursion_variable(span, text, scope);
                self.cursor.report(error);
            }
        }
        Next::Complete
    }

    fn branch_without_message(&mut self) -> TermId {
        let what = match self.cursor.peek() {
            Some(StToken::And | StToken::Plus) => "a choice",
            Some(StToken::Name) if self.cursor.text() == "rec" => "a recursion",
            Some(StToken::Name) if self.cursor.text() == "end" => "`end`",
            Some(StToken::Name) => "a variable",
            _ => return self.builder.reserve(),
        };
        let error = session_types::branch_without_message(self.cursor.span(), what);
        self.cursor.report_here(error);
        self.builder.reserve()
    }

    /// `!Label(x: Int)[x > 0]` and the point after it.
    fn message(&mut self, action: Action, slot: Option<TermId>) -> Next {
        let start = self.cursor.bump();
        if !self.cursor.is_at(StToken::Name) {
            self.cursor.unexpected(&["a label"]);
            self.recover();
            return Next::Complete;
        }
        let name = self.cursor.text();
        let label_span = start.to(self.cursor.bump());
        let label = self.vocabulary.add_label(name);
        let fields = self.fields(name);
        let assertion = self.assertion();
        let message: Message = self.vocabulary.add_message(MessageSpec::new(label, fields, assertion));
        let origin = self.origins.add(start.to(self.cursor.previous()));
        let next = self.builder.reserve();
        let branch = SessionBranch { action, peer: self.environment, message, next, origin };
        match (slot, self.open.last_mut()) {
            (Some(slot), _) => self.builder.set(slot, Session::Choice(vec![branch])),
            (None, Some(Open::Choice(choice))) => {
                choice.branches.push(branch);
                if choice.action != action {
                    let error = session_types::branch_direction(label_span, choice.symbol, action);
                    self.cursor.report(error);
                }
                match choice.labels.entry(label) {
                    Entry::Vacant(entry) => {
                        entry.insert(label_span);
                    }
                    Entry::Occupied(first) => {
                        let receiver = if action == Action::Send { "environment" } else { "process" };
                        let (first, again) = (*first.get(), label_span);
                        let error = structure::duplicate_label(again, first, name, receiver);
                        self.cursor.report(error);
                    }
                }
            }
            (None, _) => {}
        }
        if self.cursor.eat(StToken::Dot) { Next::Type(next) } else { Next::Complete }
    }

    /// `(x: Int, y: String)`.
    fn fields(&mut self, label: &str) -> Arc<[Field]> {
        let mut fields = Vec::new();
        let mut names: FxHashMap<&str, Span> = FxHashMap::default();
        let Ok(open) = self.cursor.expect(StToken::OpenParenthesis) else { return fields.into() };
        while !self.cursor.is_at(StToken::CloseParenthesis) {
            let Some(field) = self.field(&mut names) else { break };
            fields.push(field);
            if !self.cursor.eat(StToken::Comma) {
                break;
            }
        }
        if !self.cursor.eat(StToken::CloseParenthesis) {
            self.cursor.unexpected(&["`,`", "`)`"]);
            self.cursor.recover(|c, depth| {
                let stops = matches!(
                    c.peek(),
                    Some(
                        StToken::CloseParenthesis
                            | StToken::CloseBrace
                            | StToken::Dot
                            | StToken::Assertion(_)
                    )
                );
                depth == 0 && stops
            });
            self.cursor.eat(StToken::CloseParenthesis);
        }
        if fields.len() > 4 {
            let whole = open.to(self.cursor.previous());
            self.cursor.report(session_types::many_fields(whole, label, fields.len()));
        }
        fields.into()
    }

    fn field(&mut self, names: &mut FxHashMap<&'a str, Span>) -> Option<Field> {
        if !self.cursor.is_at(StToken::Name) {
            self.cursor.unexpected(&["a field", "`)`"]);
            return None;
        }
        let name = self.cursor.text();
        let span = self.cursor.bump();
        self.cursor.expect(StToken::Colon).ok()?;
        if !self.cursor.is_at(StToken::Name) {
            self.cursor.unexpected(&["a type"]);
            return None;
        }
        let ty = types::from_name(self.cursor.text());
        self.cursor.bump();
        if let Some(first) = names.insert(name, span) {
            self.cursor.report(assertions::duplicate_field(span, first, name));
        }
        Some(Field { name: Some(name.into()), ty })
    }

    /// `[x > 0]`, if there is one.
    fn assertion(&mut self) -> Option<Arc<Expr>> {
        match self.cursor.peek() {
            Some(StToken::Assertion(Closed::Yes)) => {
                let span = self.cursor.bump();
                let inside = Span::new(span.start as usize + 1, span.end as usize - 1);
                self.expression(inside)
            }
            Some(StToken::Assertion(Closed::No)) => {
                let span = self.cursor.bump();
                self.cursor.report(session_types::unclosed_assertion(span));
                None
            }
            _ => None,
        }
    }

    fn expression(&mut self, inside: Span) -> Option<Arc<Expr>> {
        match expr::parse(self.cursor.text_of(inside), inside.start, Dialect::Scala) {
            Ok(assertion) => Some(Arc::new(assertion)),
            Err(error) => {
                self.cursor.report(assertions::assertion_syntax(&error));
                None
            }
        }
    }

    /// After a complete type: closes what ends here; `true` when another branch begins.
    fn close(&mut self) -> bool {
        while let Some(open) = self.open.last() {
            let is_choice = match open {
                Open::Choice(choice) => {
                    self.scope.leave_to(choice.scope_depth);
                    if self.cursor.eat(StToken::Comma) {
                        return true;
                    }
                    true
                }
                Open::Recursion(depth) => {
                    self.scope.leave_to(*depth);
                    false
                }
            };
            let (closing, expected): (StToken, &[&str]) = if is_choice {
                (StToken::CloseBrace, &["`,`", "`}`"])
            } else {
                (StToken::CloseParenthesis, &["`)`"])
            };
            if !self.cursor.eat(closing) {
                self.cursor.unexpected(expected);
                self.recover();
                if self.cursor.is_at(closing) || is_choice && self.cursor.is_at(StToken::Comma) {
                    continue;
                }
                // What stands here closes something further out, or nothing at all.
                let recursions = self.open.len() - self.open_choices;
                let belongs_outside = match self.cursor.peek() {
                    Some(StToken::CloseParenthesis) => recursions > 0,
                    Some(_) => self.open_choices > 0,
                    None => true,
                };
                if !belongs_outside {
                    self.cursor.bump();
                    continue;
                }
            }
            if let Some(Open::Choice(choice)) = self.open.pop() {
                self.open_choices -= 1;
                self.builder.set(choice.slot, Session::Choice(choice.branches));
            }
        }
        self.scope.leave_to(0);
        false
    }

    fn recover(&mut self) {
        self.cursor.recover(|c, depth| {
            let stops =
                matches!(c.peek(), Some(StToken::Comma | StToken::CloseBrace | StToken::CloseParenthesis));
            depth == 0 && stops
        });
    }
}

/// What comes after a piece of text.
enum Next {
    /// A type, which goes there.
    Type(TermId),
    /// A branch of the innermost choice.
    Branch,
    /// Nothing: the type is complete.
    Complete,
}
