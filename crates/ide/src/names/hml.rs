//! The names of `.hml` texts.

use std::sync::Arc;

use referee_syntax::Language;

use super::words::{Recursions, Words, outline};
use super::{Index, NameKind, ScopeId, Symbol};

/// Words with a meaning of their own in formulas.
const KEYWORDS: [&str; 12] =
    ["ff", "tt", "and", "or", "property", "for", "each", "with", "check", "monitor", "max", "min"];

pub(super) fn index(text: &str) -> Index {
    let mut walk = Walk {
        index: Index::default(),
        words: Words::new(text, Language::Hml),
        recursions: Recursions::default(),
        scope: ScopeId::FILE,
    };
    let (mut at, mut depth) = (0, 0_usize);
    while at < walk.words.len() {
        match walk.words.text(at) {
            "property" if walk.words.is_word(at + 1) => {
                at = walk.property(at);
                depth = 0;
            }
            "rule" if walk.words.is_word(at + 1) && walk.words.text(at + 2) == ":" => {
                at = walk.rule(at);
                depth = 0;
                continue;
            }
            "max" | "min" if walk.words.is_word(at + 1) => {
                // `max X.(`: the variable lives inside the parenthesis.
                walk.recursions.declare(&mut walk.index, &mut walk.words, at + 1, depth + 1);
                at += 1;
            }
            "[" | "<" => at = walk.event(at),
            "(" => depth += 1,
            ")" | "}" => {
                let end = walk.words.span(at).start;
                walk.recursions.close(&mut walk.index, depth.max(1), end);
                depth = depth.saturating_sub(1);
            }
            word if walk.words.is_word(at) && !KEYWORDS.contains(&word) => {
                walk.recursions.mention(&mut walk.index, &mut walk.words, at);
            }
            _ => {}
        }
        at += 1;
    }
    walk.recursions.close(&mut walk.index, 0, walk.words.span(walk.words.len()).end);
    outline(&mut walk.index, NameKind::Property, text);
    walk.index
}

struct Walk<'a> {
    index: Index,
    words: Words<'a>,
    recursions: Recursions<'a>,
    /// Of the data variables of the property being read.
    scope: ScopeId,
}

impl Walk<'_> {
    /// `rule NAME: …`. Gives the lexeme behind it.
    fn rule(&mut self, at: usize) -> usize {
        self.begin(at);
        let begins = |words: &Words<'_>, at: usize| match words.text(at) {
            "property" => words.is_word(at + 1),
            "rule" => words.is_word(at + 1) && words.text(at + 2) == ":",
            _ => false,
        };
        let mut next = at + 3;
        while next < self.words.len() && !begins(&self.words, next) {
            // `order_id: o`: a variable behind a colon, a label behind `message`.
            let variable = self.words.text(next - 1) == ":" && self.words.is_word(next);
            match self.words.text(next) {
                "_" | "true" | "false" | "null" => {}
                text if variable && !text.starts_with(|first: char| first.is_ascii_digit()) => {
                    self.index.add(
                        NameKind::Field,
                        self.words.name(next),
                        self.words.span(next),
                        self.scope,
                        false,
                    );
                }
                _ if self.words.text(next - 1) == "message" && self.words.is_word(next) => {
                    let (name, span) = (self.words.name(next), self.words.span(next));
                    self.index.add(NameKind::Label, name, span, ScopeId::FILE, false);
                }
                _ => {}
            }
            next += 1;
        }
        next
    }

    /// `property NAME for each keys {`. Gives the lexeme before the formula.
    fn property(&mut self, at: usize) -> usize {
        self.begin(at);
        let mut next = at + 2;
        while next < self.words.len() && self.words.text(next) != "{" {
            next += 1;
        }
        next
    }

    /// A property or rule, called what stands behind the word at `at`.
    fn begin(&mut self, at: usize) {
        self.recursions.close(&mut self.index, 0, self.words.span(at).start);
        let (name, selection) = (self.words.name(at + 1), self.words.span(at + 1));
        self.index.add(NameKind::Property, Arc::clone(&name), selection, ScopeId::FILE, true);
        self.index.symbols.push(Symbol {
            name,
            kind: NameKind::Property,
            detail: String::new(),
            span: self.words.span(at).to(selection),
            selection,
            children: Vec::new(),
        });
        self.scope = self.recursions.scope();
    }

    /// The event between `[` or `<` at `at` and its end. Gives the last lexeme.
    fn event(&mut self, at: usize) -> usize {
        let closing = if self.words.text(at) == "[" { "]" } else { ">" };
        let (mut depth, mut next, mut guarded) = (1_usize, at + 1, false);
        while next < self.words.len() {
            match self.words.text(next) {
                "[" if closing == "]" => depth += 1,
                text if text == closing => depth -= 1,
                "when" => guarded = true,
                "except" => guarded = false,
                "_" | "and" | "or" | "not" | "true" | "false" | "in" | "property" => {}
                _ if self.words.is_word(next) => self.word(next, guarded),
                _ => {}
            }
            if depth == 0 {
                break;
            }
            next += 1;
        }
        next.min(self.words.len())
    }

    fn word(&mut self, at: usize, guarded: bool) {
        let (before, after) = (self.words.text(at - 1), self.words.text(at + 1));
        let (kind, scope) = match (before, after) {
            _ if self.words.text(at).starts_with(|first: char| first.is_ascii_digit()) => return,
            ("->", _) | (_, "->") if !guarded => (NameKind::Role, ScopeId::FILE),
            (":", "(" | "]" | ">" | "when" | "except") if !guarded => (NameKind::Label, ScopeId::FILE),
            (_, "(" | ":") => return,
            _ => (NameKind::Field, self.scope),
        };
        self.index.add(kind, self.words.name(at), self.words.span(at), scope, false);
    }
}
