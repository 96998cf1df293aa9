//! The names of `.gt` texts.

use referee_syntax::Language;

use super::words::{Recursions, Words};
use super::{Index, NameKind, ScopeId};

pub(super) fn index(text: &str) -> Index {
    let mut index = Index::default();
    let mut words = Words::new(text, Language::Gt);
    let mut recursions = Recursions::default();
    let (mut depth, mut in_types) = (0_usize, false);
    let mut at = 0;
    while at < words.len() {
        match words.text(at) {
            "<" => in_types = true,
            ">" => in_types = false,
            "(" => depth += 1,
            ")" | "," if !in_types => {
                let comma = words.text(at) == ",";
                recursions.close(&mut index, depth.max(1), words.span(at).start);
                depth = if comma { depth } else { depth.saturating_sub(1) };
            }
            "mu" if words.is_word(at + 1) => {
                recursions.declare(&mut index, &mut words, at + 1, depth);
                at += 1;
            }
            "end" => {}
            _ if words.is_word(at) => word(&mut index, &mut words, &mut recursions, at, in_types),
            _ => {}
        }
        at += 1;
    }
    recursions.close(&mut index, 0, words.span(words.len()).end);
    index
}

fn word<'a>(
    index: &mut Index,
    words: &mut Words<'a>,
    recursions: &mut Recursions<'a>,
    at: usize,
    in_types: bool,
) {
    let before = at.checked_sub(1).map_or("", |before| words.text(before));
    let mut after = at + 1;
    // Roles may end in indices: `worker[1]`.
    while words.text(after) == "[" {
        after += 3;
    }
    let kind = match (before, words.text(after)) {
        _ if in_types => NameKind::Type,
        ("[", _) => return,
        ("->", _) | (_, "->") => NameKind::Role,
        ("(" | ",", ".") => NameKind::Label,
        _ => return recursions.mention(index, words, at),
    };
    if kind == NameKind::Type && referee_syntax::payload::builtin(words.text(at)).is_some() {
        return;
    }
    index.add(kind, words.name(at), words.span(at), ScopeId::FILE, false);
}
