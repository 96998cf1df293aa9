//! The names of `.kmc` texts.

use std::sync::Arc;

use referee_syntax::{Language, payload};

use super::words::{Recursions, Words, outline};
use super::{Index, NameKind, ScopeId, Symbol};

pub(super) fn index(text: &str) -> Index {
    let mut index = Index::default();
    let mut words = Words::new(text, Language::Kmc);
    let mut recursions = Recursions::default();
    let (mut depth, mut in_types) = (0_usize, false);
    let mut at = 0;
    while at < words.len() {
        match words.text(at) {
            "<" => in_types = true,
            ">" => in_types = false,
            "{" => depth += 1,
            "}" | "," if !in_types => {
                let comma = words.text(at) == ",";
                recursions.close(&mut index, depth.max(1), words.span(at).start);
                depth = if comma { depth } else { depth.saturating_sub(1) };
            }
            _ if words.is_word(at) && words.text(at + 1) == ":" => {
                recursions.close(&mut index, 0, words.span(at).start);
                (depth, in_types) = (0, false);
                role(&mut index, &mut words, at);
                at += 1;
            }
            "rec" if words.is_word(at + 1) => {
                recursions.declare(&mut index, &mut words, at + 1, depth);
                at += 1;
            }
            "end" => {}
            _ if words.is_word(at) => {
                let before = at.checked_sub(1).map_or("", |before| words.text(before));
                let kind = match (before, words.text(at + 1)) {
                    _ if in_types => NameKind::Type,
                    (_, "!" | "?") => NameKind::Role,
                    ("!" | "?", _) => NameKind::Label,
                    _ => {
                        recursions.mention(&mut index, &mut words, at);
                        at += 1;
                        continue;
                    }
                };
                if kind != NameKind::Type || payload::builtin(words.text(at)).is_none() {
                    index.add(kind, words.name(at), words.span(at), ScopeId::FILE, false);
                }
            }
            _ => {}
        }
        at += 1;
    }
    recursions.close(&mut index, 0, words.span(words.len()).end);
    outline(&mut index, NameKind::Role, text);
    index
}

fn role(index: &mut Index, words: &mut Words<'_>, at: usize) {
    let (name, span) = (words.name(at), words.span(at));
    index.add(NameKind::Role, Arc::clone(&name), span, ScopeId::FILE, true);
    index.symbols.push(Symbol {
        name,
        kind: NameKind::Role,
        detail: String::new(),
        span,
        selection: span,
        children: Vec::new(),
    });
}
