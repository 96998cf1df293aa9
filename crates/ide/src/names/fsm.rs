//! The names of `.fsm` texts. A machine without a name is the role of its number.

use std::sync::Arc;

use referee_syntax::{Language, Span};

use super::words::Words;
use super::{Index, NameKind, ScopeId, Symbol};

pub(super) fn index(text: &str) -> Index {
    let mut walk = Walk { index: Index::default(), words: Words::new(text, Language::Fsm), machine: None };
    let mut at = 0;
    while at < walk.words.len() {
        at = if walk.words.text(at) == "." { walk.directive(at + 1) } else { walk.transition(at) };
    }
    walk.close(text.trim_end().len());
    walk.index
}

/// The machine being read: its number, what it is called, where it begins, and whether `.outputs` came.
struct Machine {
    number: u32,
    name: Option<(Arc<str>, Span)>,
    start: Span,
    began: bool,
}

struct Walk<'a> {
    index: Index,
    words: Words<'a>,
    machine: Option<Machine>,
}

impl Walk<'_> {
    /// The directive whose word is at `at`. Gives the lexeme after it.
    fn directive(&mut self, at: usize) -> usize {
        let start = self.words.span(at - 1);
        match self.words.text(at) {
            "name" => {
                self.open(start);
                let (name, span) = (self.words.name(at + 1), self.words.span(at + 1));
                if let Some(machine) = &mut self.machine {
                    machine.name = Some((name, span));
                }
                at + 2
            }
            "outputs" => {
                if self.machine.as_ref().is_none_or(|machine| machine.began) {
                    self.open(start);
                }
                if let Some(machine) = &mut self.machine {
                    machine.began = true;
                }
                at + 1
            }
            "state" => at + 2,
            "marking" | "accepting" => {
                let mut next = at + 1;
                while self.words.is_word(next) {
                    self.state(next);
                    next += 1;
                }
                next
            }
            "end" => {
                self.close(self.words.span(at).end as usize);
                at + 1
            }
            _ => at + 1,
        }
    }

    /// `q0 Peer ! label <types> q1` at `at`. Gives the lexeme after it.
    fn transition(&mut self, at: usize) -> usize {
        if !self.words.is_word(at) || !matches!(self.words.text(at + 2), "!" | "?") {
            return at + 1;
        }
        self.state(at);
        self.index.add(
            NameKind::Role,
            self.words.name(at + 1),
            self.words.span(at + 1),
            ScopeId::FILE,
            false,
        );
        self.index.add(
            NameKind::Label,
            self.words.name(at + 3),
            self.words.span(at + 3),
            ScopeId::FILE,
            false,
        );
        let mut next = at + 4;
        if self.words.text(next) == "<" {
            while next < self.words.len() && self.words.text(next) != ">" {
                next += 1;
            }
            next += 1;
        }
        if self.words.is_word(next) {
            self.state(next);
            next += 1;
        }
        next
    }

    /// The first place where a state is named counts as its declaration.
    fn state(&mut self, at: usize) {
        let scope = ScopeId(self.machine.as_ref().map_or(0, |machine| machine.number + 1));
        let name = self.words.name(at);
        let is_first = !self
            .index
            .occurrences
            .iter()
            .rev()
            .any(|known| known.kind == NameKind::State && known.scope == scope && known.name == name);
        self.index.add(NameKind::State, name, self.words.span(at), scope, is_first);
    }

    fn open(&mut self, start: Span) {
        self.close(start.start as usize);
        let number = u32::try_from(self.index.symbols.len()).unwrap_or(u32::MAX - 1);
        self.machine = Some(Machine { number, name: None, start, began: false });
    }

    fn close(&mut self, end: usize) {
        let Some(machine) = self.machine.take() else { return };
        let (name, selection) = match machine.name {
            Some((name, span)) => {
                self.index.add(NameKind::Role, Arc::clone(&name), span, ScopeId::FILE, true);
                (name, span)
            }
            None => (machine.number.to_string().into(), machine.start),
        };
        let span = machine.start.to(Span::at(end.max(selection.end as usize)));
        let detail = String::new();
        self.index.symbols.push(Symbol {
            name,
            kind: NameKind::Role,
            detail,
            span,
            selection,
            children: Vec::new(),
        });
    }
}
