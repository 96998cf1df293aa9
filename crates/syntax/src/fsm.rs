//! KMC's communicating automata: `.outputs`, `.state graph`, `q0 1 ! hello q1`, `.marking q0`, `.end`.
//!
//! ```text
//! file    ::= MACHINE+
//! MACHINE ::= [NAME] ".outputs" [NAME] ".state graph" (STATE PEER ("!"|"?") LABEL ["<" TYPE ">"] STATE)*
//!             ".marking" STATE [".accepting" STATE+] ".end"
//! NAME    ::= ".name" ROLE
//! ```
//!
//! The i-th machine is the role called `i`, from 0, unless it has a name; a peer is the name or the number of a machine.
//! KMC knows neither names nor accepting states: behind `--`, which begins a comment there, both are read all the same. Ends
//! of lines mean nothing to the grammar, only to recovery: after an error reading goes on at the next line.

use std::borrow::Cow;
use std::sync::Arc;

use referee_theory::{Action, MachineBuilder, Message, Role, State, System, Transition, Vocabulary};
use rustc_hash::FxHashMap;

use crate::diagnostics::{Diagnostic, RF0004, lexical, structure, systems};
use crate::document::{Content, Document, LocalSystem, in_order, once_each};
use crate::kmc::lexer::KmcToken;
use crate::kmc::{payload, warnings};
use crate::language::Language;
use crate::scope::MOST_SUGGESTIONS;
use crate::source::{Origins, Span};
use crate::tokens::Cursor;

type Tokens<'a> = Cursor<'a, KmcToken>;

/// Reads a `.fsm` text.
#[must_use]
pub fn parse(text: &str) -> Document {
    let text = uncommented(text);
    let mut parser = Parser { cursor: Tokens::new(&text), vocabulary: Vocabulary::new(), unread: false };
    let automata = parser.file();
    parser.finish(&automata)
}

/// See [`crate::lexemes`].
pub(crate) fn lexemes(text: &str) -> Vec<crate::lexemes::Lexeme> {
    crate::lexemes::of::<KmcToken>(&uncommented(text))
}

/// `text` with what KMC takes for comments. Of the same length, so that places stay.
fn uncommented(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for comment in ["--.name ", "-- .name ", "--.accepting ", "-- .accepting "] {
        if text.contains(comment) {
            text = text.replace(comment, &comment.replace('-', " ")).into();
        }
    }
    text
}

struct Parser<'a> {
    cursor: Tokens<'a>,
    vocabulary: Vocabulary,
    /// Whether there are syntax errors.
    unread: bool,
}

/// A machine as written: peers are not known before the last machine was read.
struct Automaton<'a> {
    name: Option<(&'a str, Span)>,
    edges: Vec<Edge<'a>>,
    initial: Option<(&'a str, Span)>,
    accepting: Vec<(&'a str, Span)>,
    header: Span,
    /// Whether some transition could not be read, so that its states are not known.
    incomplete: bool,
}

struct Edge<'a> {
    source: (&'a str, Span),
    peer: (&'a str, Span),
    action: Action,
    message: Message,
    target: (&'a str, Span),
}

impl<'a> Parser<'a> {
    fn file(&mut self) -> Vec<Automaton<'a>> {
        let mut automata: Vec<Automaton<'a>> = Vec::new();
        if self.cursor.is_at_end() {
            self.cursor.unexpected(&["`.outputs`"]);
        }
        while !self.cursor.is_at_end() {
            let begins = |cursor: &Tokens<'_>| {
                ["name", "outputs", "state"].iter().any(|name| at_directive(cursor, name))
            };
            if !begins(&self.cursor) {
                self.cursor.unexpected(&["`.outputs`"]);
                self.cursor.recover(|c, _| begins(c));
                continue;
            }
            if automata.len() == usize::from(u16::MAX) {
                let message = "a protocol has at most 65,535 roles";
                self.cursor.report(RF0004.at(self.cursor.span(), message));
                break;
            }
            let automaton = self.automaton();
            automata.push(automaton);
        }
        automata
    }

    fn automaton(&mut self) -> Automaton<'a> {
        let header = self.cursor.span();
        let before = self.machine_name();
        self.directive("outputs", "`.outputs`");
        let name = before.or_else(|| self.machine_name());
        self.directive("state", "`.state graph`");
        if self.cursor.is_at(KmcToken::Name) && self.cursor.text() == "graph" {
            self.cursor.bump();
        } else {
            self.cursor.unexpected(&["`graph`"]);
        }
        let header = header.to(self.cursor.previous());
        let mut edges = Vec::new();
        let mut incomplete = false;
        loop {
            if self.cursor.is_at(KmcToken::Name) {
                let edge = self.edge();
                incomplete |= edge.is_none();
                edges.extend(edge);
            } else if self.cursor.is_at_end() || at_any_directive(&self.cursor) {
                break;
            } else {
                incomplete = true;
                self.cursor.unexpected(&["a state", "`.marking`"]);
                self.cursor.bump();
                self.skip_line();
            }
        }
        let initial = self.marking(&edges);
        let mut accepting = Vec::new();
        if at_directive(&self.cursor, "accepting") {
            self.directive("accepting", "`.accepting`");
            accepting.extend(self.name("a state"));
            while self.cursor.is_at(KmcToken::Name) {
                accepting.extend(self.name("a state"));
            }
        }
        self.directive("end", "`.end`");
        Automaton { name, edges, initial, accepting, header, incomplete }
    }

    /// Takes `.name ROLE`, if it is there.
    fn machine_name(&mut self) -> Option<(&'a str, Span)> {
        let named = at_directive(&self.cursor, "name").then(|| self.directive("name", "`.name`"));
        named.and_then(|_| self.name("the name of the machine"))
    }

    /// Takes a directive; if it is missing, skips to it unless another one comes first.
    fn directive(&mut self, name: &str, description: &str) -> Option<Span> {
        if !at_directive(&self.cursor, name) {
            self.cursor.unexpected(&[description]);
            self.cursor.recover(|c, _| at_any_directive(c));
        }
        at_directive(&self.cursor, name).then(|| self.cursor.bump().to(self.cursor.bump()))
    }

    fn marking(&mut self, edges: &[Edge<'a>]) -> Option<(&'a str, Span)> {
        if at_directive(&self.cursor, "end") {
            let first = edges.first().map(|edge| edge.source.0);
            let span = self.cursor.span().to(Span::at(self.cursor.span().end as usize + "end".len()));
            self.cursor.report_here(systems::missing_marking(span, first));
            return None;
        }
        self.directive("marking", "`.marking`")?;
        self.name("a state")
    }

    fn edge(&mut self) -> Option<Edge<'a>> {
        let start = self.cursor.span();
        let source = self.name("a state")?;
        let Some(peer) = self.name_on_line("the number of a machine") else {
            self.skip_line();
            return None;
        };
        let action = match self.cursor.peek() {
            Some(KmcToken::Bang) => Action::Send,
            Some(KmcToken::Question) => Action::Receive,
            Some(KmcToken::Name) if peer.0 == "tau" => {
                let whole = start.to(self.cursor.bump());
                self.cursor.report(systems::silent_action(whole));
                return None;
            }
            _ => {
                self.cursor.unexpected(&["`!`", "`?`"]);
                self.skip_line();
                return None;
            }
        };
        self.cursor.bump();
        let is_there = !self.is_missing("a label");
        let message = is_there.then(|| payload::message(&mut self.cursor, &mut self.vocabulary)).flatten();
        let target = message.and_then(|_| self.name_on_line("a state"));
        let (Some(message), Some(target)) = (message, target) else {
            self.skip_line();
            return None;
        };
        Some(Edge { source, peer, action, message, target })
    }

    fn name(&mut self, what: &str) -> Option<(&'a str, Span)> {
        if !self.cursor.is_at(KmcToken::Name) {
            self.cursor.unexpected(&[what]);
            return None;
        }
        let text = self.cursor.text();
        Some((text, self.cursor.bump()))
    }

    /// As [`name`](Self::name), but not what begins the next transition.
    fn name_on_line(&mut self, what: &str) -> Option<(&'a str, Span)> {
        if self.is_missing(what) { None } else { self.name(what) }
    }

    /// Whether the next transition begins here, on a line of its own, where `what` belongs to this one.
    fn is_missing(&mut self, what: &str) -> bool {
        let is_action = |token| matches!(token, Some(KmcToken::Bang | KmcToken::Question));
        let begins = self.cursor.starts_line()
            && self.cursor.is_at(KmcToken::Name)
            && self.cursor.peek_nth(1) == Some(KmcToken::Name)
            && is_action(self.cursor.peek_nth(2));
        if begins {
            let end = Span::at(self.cursor.previous().end as usize);
            self.cursor.report_here(lexical::unexpected_token(end, "the end of the line", &[what]));
        }
        begins
    }

    fn skip_line(&mut self) {
        self.cursor.recover(|c, _| c.starts_line() || at_any_directive(c));
    }

    fn finish(mut self, automata: &[Automaton<'a>]) -> Document {
        let mut origins = Origins::default();
        self.unread = self.cursor.diagnostics().iter().any(Diagnostic::is_error);
        for (index, automaton) in automata.iter().enumerate() {
            let number = index.to_string();
            let name = automaton.name.map_or(&*number, |(name, _)| name);
            let before = self.vocabulary.roles().len();
            let role = self.vocabulary.add_role(name);
            if self.vocabulary.roles().len() == before {
                let spans =
                    |index: usize| automata[index].name.map_or(automata[index].header, |(_, span)| span);
                self.cursor.report(systems::role_declared_twice(spans(index), spans(role.index()), name));
                // A role all the same, so that what follows keeps its numbers.
                self.vocabulary.add_role(&format!("{name}.{number}"));
            }
        }
        let mut machines = Vec::new();
        for (role, automaton) in self.vocabulary.roles().zip(automata) {
            machines.push(self.machine(role, automaton, automata.len(), &mut origins));
        }
        let mut diagnostics = self.cursor.into_diagnostics();
        let vocabulary = Arc::new(self.vocabulary);
        let mut system = None;
        if !diagnostics.iter().any(Diagnostic::is_error) {
            for machine in &machines {
                diagnostics.extend(warnings::warnings(machine, &vocabulary, &origins));
            }
            system = Some(System::new(Arc::clone(&vocabulary), machines));
        }
        Document {
            language: Language::Fsm,
            content: Content::System(LocalSystem { system, sessions: Vec::new(), vocabulary }),
            diagnostics: once_each(in_order(diagnostics)),
            origins,
        }
    }

    /// The machine that `name` numbers or names.
    fn peer(&self, name: &str, count: usize) -> Option<Role> {
        let numbered = || {
            let number: u16 = name.parse().ok()?;
            (usize::from(number) < count && number.to_string() == name).then_some(Role(number))
        };
        numbered().or_else(|| self.vocabulary.find_role(name))
    }

    fn machine(
        &mut self,
        role: Role,
        automaton: &Automaton<'a>,
        count: usize,
        origins: &mut Origins,
    ) -> referee_theory::Machine {
        let mut builder = MachineBuilder::new(role);
        let mut states: FxHashMap<&str, State> = FxHashMap::default();
        let mut mentions: Vec<(&str, Span)> = Vec::new();
        for edge in &automaton.edges {
            let mut state = |(name, span): (&'a str, Span)| {
                *states.entry(name).or_insert_with(|| {
                    mentions.push((name, span));
                    builder.add_named_state(name)
                })
            };
            let (source, target) = (state(edge.source), state(edge.target));
            let (name, span) = edge.peer;
            let known = self.peer(name, count);
            let peer = match known {
                Some(peer) => peer,
                None => {
                    // Where something could not be read, it may have been a machine.
                    if !self.unread {
                        self.cursor.report(systems::unknown_machine(span, name, count));
                    }
                    role
                }
            };
            if known == Some(role) {
                self.cursor.report(structure::self_peer(span, name, edge.action));
            }
            let origin = origins.add(edge.source.1.to(edge.target.1));
            let Edge { action, message, .. } = *edge;
            builder.add_transition(source, Transition { action, peer, message, target, origin });
        }
        let Some((name, span)) = automaton.initial.filter(|_| !automaton.incomplete) else {
            return builder.finish();
        };
        if mentions.is_empty() {
            // Where something could not be read, they may be there.
            if !self.unread {
                let name = self.vocabulary.role_name(role);
                self.cursor.report(systems::no_transitions(automaton.header, name));
            }
            builder.add_named_state(name);
            return builder.finish();
        }
        let Some(&initial) = states.get(name) else {
            let known = mentions.iter().take(MOST_SUGGESTIONS).map(|(name, _)| *name);
            self.cursor.report(systems::unknown_initial_state(span, name, known));
            return builder.finish();
        };
        for (name, span) in &automaton.accepting {
            match states.get(name) {
                Some(&state) => builder.accept(state),
                None => {
                    let known = mentions.iter().take(MOST_SUGGESTIONS).map(|(name, _)| *name);
                    self.cursor.report(systems::unknown_accepting_state(*span, name, known));
                }
            }
        }
        let machine = builder.finish_from(initial);
        if machine.state_count() < mentions.len() {
            let reached: rustc_hash::FxHashSet<String> =
                machine.states().map(|state| machine.state_name(state)).collect();
            for (name, span) in mentions.into_iter().filter(|(name, _)| !reached.contains(*name)) {
                self.cursor.report(systems::unreachable_state(span, name, self.vocabulary.role_name(role)));
            }
        }
        machine
    }
}

fn at_directive(cursor: &Tokens<'_>, name: &str) -> bool {
    cursor.is_at(KmcToken::Dot) && cursor.peek_nth(1) == Some(KmcToken::Name) && cursor.text_nth(1) == name
}

fn at_any_directive(cursor: &Tokens<'_>) -> bool {
    const ALL: [&str; 6] = ["name", "outputs", "state", "marking", "accepting", "end"];
    cursor.is_at(KmcToken::Dot) && ALL.iter().any(|name| at_directive(cursor, name))
}
