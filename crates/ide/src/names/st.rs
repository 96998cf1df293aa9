//! The names of `.st` texts.

use std::sync::Arc;

use referee_syntax::{Language, Span, payload};
use referee_theory::expr::Function;

use super::words::{Recursions, Words};
use super::{Index, NameKind, ScopeId, Symbol};

pub(super) fn index(text: &str) -> Index {
    let mut index = Index::default();
    let mut words = Words::new(text, Language::St);
    let mut recursions = Recursions::default();
    let mut depth = 0_usize;
    let mut at = 0;
    if words.is_word(0) && words.text(1) == "=" {
        let (name, span) = (words.name(0), words.span(0));
        index.add(NameKind::Protocol, Arc::clone(&name), span, ScopeId::FILE, true);
        let all = Span::new(span.start as usize, text.len());
        let detail = String::new();
        index.symbols.push(Symbol {
            name,
            kind: NameKind::Protocol,
            detail,
            span: all,
            selection: span,
            children: Vec::new(),
        });
        at = 2;
    }
    while at < words.len() {
        match words.text(at) {
            "{" | "(" => depth += 1,
            "," => recursions.close(&mut index, depth.max(1), words.span(at).start),
            "}" | ")" => {
                recursions.close(&mut index, depth.max(1), words.span(at).start);
                depth = depth.saturating_sub(1);
            }
            "[" => at = assertion(&mut index, &mut words, at),
            "!" | "?" if words.is_word(at + 1) => at = message(&mut index, &mut words, at + 1),
            "rec" if words.is_word(at + 1) => {
                // `rec X.(`: the variable lives inside the parenthesis.
                recursions.declare(&mut index, &mut words, at + 1, depth + 1);
                at += 1;
            }
            "end" => {}
            _ if words.is_word(at) => recursions.mention(&mut index, &mut words, at),
            _ => {}
        }
        at += 1;
    }
    recursions.close(&mut index, 0, words.span(words.len()).end);
    let recursions: Vec<Symbol> = index.symbols.drain(1.min(index.symbols.len())..).collect();
    if let Some(protocol) = index.symbols.first_mut() {
        protocol.children = recursions;
    }
    index
}

/// The label at `at` and its fields. Gives its last lexeme.
fn message(index: &mut Index, words: &mut Words<'_>, at: usize) -> usize {
    index.add(NameKind::Label, words.name(at), words.span(at), ScopeId::FILE, false);
    if words.text(at + 1) != "(" {
        return at;
    }
    let mut next = at + 2;
    while next < words.len() && !matches!(words.text(next), ")" | "}" | "{" | "!" | "?") {
        if words.is_word(next) {
            let is_field = words.text(next + 1) == ":";
            let (kind, name) = if is_field { (NameKind::Field, next) } else { (NameKind::Type, next) };
            if is_field || payload::builtin(words.text(next)).is_none() {
                index.add(kind, words.name(name), words.span(name), ScopeId::FILE, is_field);
            }
        }
        next += 1;
    }
    if words.text(next) == ")" { next } else { next - 1 }
}

/// The assertion at `at`. Gives its last lexeme.
fn assertion(index: &mut Index, words: &mut Words<'_>, at: usize) -> usize {
    let (mut depth, mut next) = (0_usize, at);
    while next < words.len() {
        match words.text(next) {
            "[" => depth += 1,
            "]" => depth -= 1,
            "true" | "false" => {}
            text if words.is_word(next) && !text.starts_with(|first: char| first.is_ascii_digit()) => {
                let is_member = words.text(next - 1) == ".";
                let is_called = matches!(words.text(next + 1), "(" | ".");
                let is_built_in = Function::from_name(text).is_some() && is_called;
                if !is_member
                    && !is_built_in
                    && (words.text(next + 1) != "(")
                    && text != "util"
                    && text != "math"
                {
                    index.add(NameKind::Field, words.name(next), words.span(next), ScopeId::FILE, false);
                }
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
        next += 1;
    }
    next
}
