//! Recursive descent without recursion: open braces are on a stack of our own.

use std::sync::Arc;

use referee_theory::session::{Session, SessionBranch, SessionTypeBuilder, TermId};
use referee_theory::{Action, Role, System, Vocabulary};
use rustc_hash::FxHashMap;

use super::lexer::KmcToken;
use super::{payload, warnings};
use crate::diagnostics::{Diagnostic, RF0004, lexical, names, structure, systems};
use crate::document::{Content, Document, LocalSystem, in_order, once_each};
use crate::ill_formed;
use crate::language::Language;
use crate::scope::{MOST_SUGGESTIONS, Scope};
use crate::source::{Origins, Span};
use crate::tokens::Cursor;

type Tokens<'a> = Cursor<'a, KmcToken>;

pub(super) fn parse(text: &str) -> Document {
    let mut parser = Parser {
        cursor: Tokens::new(text),
        origins: Origins::default(),
        vocabulary: Vocabulary::new(),
        roles: FxHashMap::default(),
        builder: SessionTypeBuilder::new(),
        scope: Scope::new(),
        role: Role(0),
    };
    parser.declare_roles();
    let types = parser.file();
    parser.finish(types)
}

struct Parser<'a> {
    cursor: Tokens<'a>,
    origins: Origins,
    vocabulary: Vocabulary,
    roles: FxHashMap<&'a str, Declaration>,
    /// Of the type being read.
    builder: SessionTypeBuilder,
    /// Of the place being read.
    scope: Scope<'a, TermId>,
    /// Whose type is being read.
    role: Role,
}

struct Declaration {
    role: Role,
    /// Where, once its type was read.
    at: Option<Span>,
}

/// The type of one role, not yet known to be guarded.
struct Typed {
    role: Role,
    builder: SessionTypeBuilder,
    root: TermId,
}

/// A choice that is being read.
struct Choice {
    slot: TermId,
    branches: Vec<SessionBranch>,
    /// Branches that are no actions: where, and what they are.
    bare: Vec<(Span, &'static str)>,
}

/// An open brace.
struct Brace {
    /// Whether it began a choice; otherwise it only groups branches of the choice around it.
    is_choice: bool,
    scope_depth: usize,
}

impl<'a> Parser<'a> {
    /// Roles may be mentioned before their types are given: `NAME ":"` declares one and nothing else.
    fn declare_roles(&mut self) {
        let text = self.cursor.whole_text();
        let pairs = || self.cursor.pairs(KmcToken::Name, KmcToken::Colon, ':');
        for (name, span) in headers(text).unwrap_or_else(pairs) {
            if self.roles.len() > usize::from(u16::MAX) - 1 {
                let message = "a protocol has at most 65,535 roles";
                self.cursor.report(RF0004.at(span, message));
                return;
            }
            let vocabulary = &mut self.vocabulary;
            self.roles
                .entry(name)
                .or_insert_with(|| Declaration { role: vocabulary.add_role(name), at: None });
        }
    }

    fn file(&mut self) -> Vec<Typed> {
        let mut types = Vec::new();
        if self.cursor.is_at_end() {
            self.cursor.unexpected(&["a role and its type, such as `A: end`"]);
        }
        while !self.cursor.is_at_end() {
            if !at_header(&self.cursor) {
                self.cursor.unexpected(&["a role and `:`"]);
                self.cursor.recover(|cursor, _| at_header(cursor));
                continue;
            }
            let name = self.cursor.text();
            let span = self.cursor.bump();
            self.cursor.bump();
            let Some(declaration) = self.roles.get_mut(name) else { continue };
            let first = declaration.at.replace(span);
            self.role = declaration.role;
            let root = self.session_type();
            let builder = std::mem::take(&mut self.builder);
            match first {
                None => types.push(Typed { role: self.role, builder, root }),
                Some(first) => {
                    self.cursor.report(systems::role_declared_twice(span, first, name));
                }
            }
        }
        types
    }

    fn session_type(&mut self) -> TermId {
        let root = self.builder.reserve();
        self.scope.leave_to(0);
        let mut choices: Vec<Choice> = Vec::new();
        let mut braces: Vec<Brace> = Vec::new();
        // Where the type that begins here goes; `None` where it is a branch of the innermost choice.
        let mut slot = Some(root);
        loop {
            if self.cursor.eat(KmcToken::OpenBrace) {
                let is_choice = slot.is_some();
                if let Some(slot) = slot.take() {
                    choices.push(Choice { slot, branches: Vec::new(), bare: Vec::new() });
                }
                braces.push(Brace { is_choice, scope_depth: self.scope.depth() });
                continue;
            }
            if let Some(action) = self.at_action() {
                if let Some(branch) = self.action(action) {
                    match (slot, choices.last_mut()) {
                        (None, Some(choice)) => choice.branches.push(branch),
                        (None, None) => {}
                        (Some(slot), _) => self.builder.set(slot, Session::Choice(vec![branch])),
                    }
                    slot = Some(branch.next);
                    if self.cursor.eat(KmcToken::Semicolon) {
                        continue;
                    }
                    self.cursor.unexpected(&["`;`"]);
                }
                self.cursor.recover(|c, depth| at_header(c) || depth == 0 && at_branch_end(c));
            } else {
                let node = slot.unwrap_or_else(|| self.bare_branch(choices.last_mut()));
                if let Some(body) = self.other_type(node) {
                    slot = Some(body);
                    continue;
                }
            }
            // A type is complete: the next one is another branch, or there is none.
            if !self.close_braces(&mut braces, &mut choices) {
                return root;
            }
            slot = None;
        }
    }

    /// A branch that does not begin with an action. It stands for the whole if it is the only one.
    fn bare_branch(&mut self, choice: Option<&mut Choice>) -> TermId {
        let what = match self.cursor.text() {
            "end" => "`end`",
            "rec" => "a recursion",
            _ => "a variable",
        };
        let Some(choice) = choice else { return self.builder.reserve() };
        let is_first = choice.bare.is_empty() && choice.branches.is_empty();
        if self.cursor.is_at(KmcToken::Name) && !at_header(&self.cursor) {
            choice.bare.push((self.cursor.span(), what));
        }
        if is_first { choice.slot } else { self.builder.reserve() }
    }

    /// `rec x . T` up to `T`, for which it gives the place; or `end`, a variable, or an error.
    fn other_type(&mut self, slot: TermId) -> Option<TermId> {
        let text = self.cursor.text();
        let span = self.cursor.span();
        if !self.cursor.is_at(KmcToken::Name) || at_header(&self.cursor) {
            self.cursor.unexpected(&["an action", "`rec`", "`end`", "a variable", "`{`"]);
            self.cursor.recover(|c, depth| at_header(c) || depth == 0 && at_branch_end(c));
            return None;
        }
        let followed_by_dot = self.cursor.peek_nth(1) == Some(KmcToken::Dot);
        match text.strip_prefix("rec") {
            Some("") => {
                self.cursor.bump();
                if !self.cursor.is_at(KmcToken::Name) || at_header(&self.cursor) {
                    self.cursor.unexpected(&["a variable"]);
                    self.cursor.recover(|c, depth| at_header(c) || depth == 0 && at_branch_end(c));
                    return None;
                }
                let name = self.cursor.text();
                let header = span.to(self.cursor.bump());
                let _ = self.cursor.expect(KmcToken::Dot);
                return Some(self.define(slot, name, header));
            }
            Some(name) if followed_by_dot => {
                self.cursor.report(systems::no_blank_after_rec(span, name));
                self.cursor.bump();
                self.cursor.bump();
                return Some(self.define(slot, name, span));
            }
            _ => {}
        }
        self.cursor.bump();
        if text == "end" {
            return None;
        }
        match self.scope.find(text) {
            Some(target) => {
                let origin = self.origins.add(span);
                self.builder.set(slot, Session::Call { target, origin });
            }
            None if text == "mu" && self.cursor.is_at(KmcToken::Name) => {
                let error = lexical::unexpected_token(span, "`mu`", &["`rec`"]);
                self.cursor.report(error.help("recursion is written `rec x . …`"));
                self.cursor.recover(|c, depth| at_header(c) || depth == 0 && at_branch_end(c));
            }
            None => {
                let error =
                    names::unknown_recursion_variable(span, text, self.scope.nearest().chain(["end"]));
                self.cursor.report(error);
            }
        }
        None
    }

    fn define(&mut self, slot: TermId, name: &'a str, header: Span) -> TermId {
        let body = self.builder.reserve();
        let origin = self.origins.add(header);
        self.builder.set(slot, Session::Rec { name: name.into(), body, origin });
        self.scope.enter(name, slot);
        body
    }

    fn at_action(&self) -> Option<Action> {
        let after = if self.cursor.is_at(KmcToken::Name) { self.cursor.peek_nth(1) } else { None };
        match after {
            Some(KmcToken::Bang) => Some(Action::Send),
            Some(KmcToken::Question) => Some(Action::Receive),
            _ => None,
        }
    }

    /// `Peer!label<type>`; `None` when there is no label.
    fn action(&mut self, action: Action) -> Option<SessionBranch> {
        let name = self.cursor.text();
        let peer_span = self.cursor.bump();
        self.cursor.bump();
        if at_header(&self.cursor) {
            self.cursor.unexpected(&["a label"]);
            return None;
        }
        let message = payload::message(&mut self.cursor, &mut self.vocabulary)?;
        let peer = match self.roles.get(name) {
            Some(declaration) => declaration.role,
            None => {
                let known = (0..MOST_SUGGESTIONS.min(self.vocabulary.roles().len()))
                    .filter_map(|index| u16::try_from(index).ok())
                    .map(|index| self.vocabulary.role_name(Role(index)));
                self.cursor.report(systems::unknown_role(peer_span, name, known));
                self.role
            }
        };
        if peer == self.role && self.roles.contains_key(name) {
            self.cursor.report(structure::self_peer(peer_span, name, action));
        }
        let origin = self.origins.add(peer_span.to(self.cursor.previous()));
        let next = self.builder.reserve();
        Some(SessionBranch { action, peer, message, next, origin })
    }

    /// After a complete type: `true` when another branch begins.
    fn close_braces(&mut self, braces: &mut Vec<Brace>, choices: &mut Vec<Choice>) -> bool {
        while let Some(brace) = braces.last() {
            self.scope.leave_to(brace.scope_depth);
            if self.cursor.eat(KmcToken::Comma) {
                return true;
            }
            if !self.cursor.eat(KmcToken::CloseBrace) {
                self.cursor.unexpected(&["`,`", "`}`"]);
                self.cursor.recover(|c, depth| at_header(c) || depth == 0 && at_branch_end(c));
                if self.cursor.is_at(KmcToken::Comma) || self.cursor.is_at(KmcToken::CloseBrace) {
                    continue;
                }
            }
            if brace.is_choice {
                choices.pop().into_iter().for_each(|choice| self.close_choice(choice));
            }
            braces.pop();
        }
        false
    }

    fn close_choice(&mut self, choice: Choice) {
        if choice.branches.is_empty() && choice.bare.len() <= 1 {
            return;
        }
        self.builder.set(choice.slot, Session::Choice(choice.branches));
        for (span, what) in choice.bare {
            self.cursor.report(systems::branch_without_action(span, what));
        }
    }

    fn finish(self, types: Vec<Typed>) -> Document {
        let vocabulary = Arc::new(self.vocabulary);
        let mut diagnostics = self.cursor.into_diagnostics();
        let mut sessions = Vec::new();
        for Typed { role, builder, root } in types {
            match builder.finish(Arc::clone(&vocabulary), role, root) {
                Ok(session) => sessions.push(session),
                Err(errors) => {
                    diagnostics
                        .extend(errors.into_iter().map(|error| ill_formed::session(&error, &self.origins)));
                }
            }
        }
        let mut system = None;
        if !diagnostics.iter().any(Diagnostic::is_error) {
            let machines: Vec<_> = sessions.iter().map(|session| session.machine_of_places()).collect();
            for machine in &machines {
                diagnostics.extend(warnings::warnings(machine, &vocabulary, &self.origins));
            }
            system = Some(System::new(Arc::clone(&vocabulary), machines));
        }
        Document {
            language: Language::Kmc,
            content: Content::System(LocalSystem { system, sessions, vocabulary }),
            diagnostics: once_each(in_order(diagnostics)),
            origins: self.origins,
        }
    }
}

fn at_header(cursor: &Tokens<'_>) -> bool {
    cursor.is_at(KmcToken::Name) && cursor.peek_nth(1) == Some(KmcToken::Colon)
}

fn at_branch_end(cursor: &Tokens<'_>) -> bool {
    matches!(cursor.peek(), Some(KmcToken::Comma | KmcToken::CloseBrace))
}

/// The names before colons, with their places, where that can be told without reading tokens: no comments, and nothing else before a colon.
fn headers(text: &str) -> Option<Vec<(&str, Span)>> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'\'');
    let bytes = text.as_bytes();
    let mut headers = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'#' | b'/' => return None,
            b'-' if bytes.get(at + 1) == Some(&b'-') => return None,
            b':' => {
                let end = bytes[..at].trim_ascii_end().len();
                let start = bytes[..end].iter().rposition(|byte| !is_name(*byte)).map_or(0, |last| last + 1);
                if start == end || bytes[start] == b'\'' {
                    return None;
                }
                headers.push((&text[start..end], Span::new(start, end)));
            }
            _ => {}
        }
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::{KmcToken, Tokens, headers};

    /// What is told without reading tokens is what reading them tells.
    #[test]
    fn headers_are_names_before_colons() {
        let told = ["A: B!x; end\nB : A?x; end", "A:B!x;end\n\nb_1\t:A?x;end", "A'': end"];
        for text in told {
            let pairs = Tokens::new(text).pairs(KmcToken::Name, KmcToken::Colon, ':');
            assert_eq!(headers(text), Some(pairs), "{text}");
        }
        for text in ["-- A: B\nC: end", "'A: end", "é: end", ": end", "A: /* B: */ end", "A §: end"] {
            assert_eq!(headers(text), None, "{text}");
        }
    }
}
