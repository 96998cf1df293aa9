//! What every correction must keep to be certain, whichever it is: the author's words, which of them belong together, the types of
//! fields, what is an alternative and what comes next, and what is declared.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::super::candidate::{self, Candidate, Kind};
use super::super::pieces::PieceKind;
use super::{Scene, is_bracket};
use crate::language::Language;
use crate::payload;
use crate::source::Span;

/// Words of other languages that are no names where a slip removes or replaces them.
const WORDS_OF_LANGUAGES: &str = "actor after agent alias alt and as begin branch break by call calls case choose data datatype def \
    elif else elsif emit end every execute fork function goto if in instantiates interaction invoke jump \
    label let list loop match message minutes ms msg mu newtype not nothing of otherwise package \
    parallel participant party pass process proto rec recursion repeat return returns roles run seconds \
    send sends session skip stop struct switch then timeout typedef use using when where while with";

/// The text before and after a correction.
struct Change<'a> {
    before: &'a Scene<'a>,
    after: Scene<'a>,
    candidate: &'a Candidate,
    /// The pieces that each edit removes, and those it writes instead.
    edits: Vec<(Range<usize>, Range<usize>)>,
}

/// Whether `candidate`, after which the text is `corrected`, keeps what the author said.
pub(super) fn keeps(scene: &Scene<'_>, candidate: &Candidate, corrected: &str) -> bool {
    let after = Scene::new(corrected, scene.language, Span::at(0));
    let mut shift = 0_isize;
    let edits = candidate.edits.iter().map(|edit| {
        let old = edit.span.range();
        let start = old.start.saturating_add_signed(shift);
        shift += edit.text.len() as isize - old.len() as isize;
        (within(scene, &old), within(&after, &(start..start + edit.text.len())))
    });
    let edits = edits.collect();
    let change = Change { before: scene, after, candidate, edits };
    change.keeps_words()
        && !change.splits_a_word()
        && !change.invents_a_type()
        && change.keeps_alternatives()
        && change.keeps_heads()
}

/// The pieces that overlap `range`; between which pieces it lies, if none does.
fn within(scene: &Scene<'_>, range: &Range<usize>) -> Range<usize> {
    let start = scene.pieces.partition_point(|piece| piece.range.end <= range.start);
    let end = scene.pieces.partition_point(|piece| piece.range.start < range.end);
    start..end.max(start)
}

impl Change<'_> {
    /// Whether no name, number or text of the author's is lost.
    fn keeps_words(&self) -> bool {
        let mut counts: FxHashMap<&str, isize> = FxHashMap::default();
        let is_said = |scene: &Scene<'_>, piece: usize| scene.pieces[piece].kind != PieceKind::Symbol;
        for (old, new) in &self.edits {
            for piece in old.clone().filter(|piece| is_said(self.before, *piece)) {
                *counts.entry(self.before.word(piece)).or_default() += 1;
            }
            for piece in new.clone().filter(|piece| is_said(&self.after, *piece)) {
                *counts.entry(self.after.word(piece)).or_default() -= 1;
            }
        }
        let is_slip = matches!(self.candidate.kind, Kind::Slip { .. });
        // What is removed otherwise is written twice, and what is replaced a misspelt keyword: `is_sure`.
        !is_slip || counts.iter().all(|(word, lost)| *lost <= 0 || self.may_go(word))
    }

    /// Whether a word that is gone is still said, or belongs to a language.
    fn may_go(&self, word: &str) -> bool {
        let lower = word.to_lowercase();
        let mut written =
            self.edits.iter().flat_map(|(_, new)| new.clone()).map(|piece| self.after.word(piece));
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let unquoted = word.trim_matches(['"', '\'']).trim_start_matches(['μ', 'µ']);
        WORDS_OF_LANGUAGES.split(' ').any(|known| known == lower)
            || candidate::is_keyword(&lower, self.before.language)
            || payload::builtin(word).is_some()
            || unquoted != word && self.after.text.contains(unquoted)
            || written.any(|new| new.starts_with('"') && new.contains(word) || is_number && new.starts_with(word))
            // The fence of a Markdown file.
            || self.before.text.trim_start().starts_with("```")
    }

    /// Whether two words between which something is written may be one word with a blank in it.
    fn splits_a_word(&self) -> bool {
        let scene = self.before;
        let count =
            |word: &str| scene.pieces.iter().filter(|piece| scene.text[piece.range.clone()] == *word).count();
        let is_fixed =
            |word: &str| candidate::is_keyword(word, scene.language) || payload::builtin(word).is_some();
        let is_pair = |left: usize| {
            scene.is_word(left)
                && scene.is_word(left + 1)
                && scene.pieces[left + 1].indent.is_none()
                && scene.text[scene.pieces[left].range.end..scene.pieces[left + 1].range.start]
                    .trim()
                    .is_empty()
        };
        let may_be_one = |left: usize| {
            let (one, other) = (scene.word(left), scene.word(left + 1));
            let joined = format!("{one}{other}");
            count(&joined) > 0
                || is_fixed(&joined)
                || !(is_fixed(one) || is_fixed(other)) && (count(one) < 2 || count(other) < 2)
        };
        self.edits.iter().any(|(old, _)| {
            let is_between = old.is_empty() && old.start > 0 && is_pair(old.start - 1);
            is_between && may_be_one(old.start - 1)
        })
    }

    /// Whether something becomes a type that nobody knows, or that has nothing in it.
    fn invents_a_type(&self) -> bool {
        let scene = &self.after;
        let payloads = payloads(scene);
        let types: Vec<(usize, usize)> = payloads
            .iter()
            .enumerate()
            .flat_map(|(index, payload)| types(scene, payload).into_iter().map(move |piece| (index, piece)))
            .collect();
        // Neither a keyword nor what is a type elsewhere was meant as a name.
        let is_type = |piece: usize| types.iter().any(|&(_, place)| scene.word(place) == scene.word(piece));
        let is_misnamed = |piece: usize| {
            scene.word(piece + 1) == ":"
                && (candidate::is_keyword(scene.word(piece), self.before.language) || is_type(piece))
        };
        let is_known = |index: usize, piece: usize| {
            let word = scene.word(piece);
            let elsewhere = |&(other, place): &(usize, usize)| other != index && scene.word(place) == word;
            matches!(word, "list" | "array")
                || payload::builtin(word).is_some()
                || is_declared(scene, word)
                || types.iter().any(elsewhere)
        };
        let is_empty = |piece: usize| {
            matches!(
                (scene.word(piece), scene.word(piece + 1)),
                ("{", "}") | ("[", "]") | ("<", ">") | ("(", ")")
            )
        };
        payloads.iter().enumerate().any(|(index, payload)| {
            let is_touched = self.edits.iter().any(|(old, new)| {
                let here = new.start <= payload.end && payload.start <= new.end;
                let says = |scene: &Scene<'_>, pieces: &Range<usize>| {
                    pieces
                        .clone()
                        .any(|piece| is_bracket(scene.word(piece)) || matches!(scene.word(piece), ":" | ","))
                };
                here && (says(self.before, old) || says(scene, new))
            });
            let inner = payload.start + 1..payload.end;
            let bracketed = self.before.language == Language::Gt || self.before.language == Language::Kmc;
            is_touched
                && (inner.clone().any(is_empty)
                    || inner.clone().any(is_misnamed)
                    || bracketed && inner.clone().any(|piece| is_bracket(scene.word(piece)))
                    || types.iter().any(|&(other, piece)| other == index && !is_known(index, piece)))
        })
    }

    /// Whether what separates alternatives is not taken for what stands before the next step, and the reverse.
    fn keeps_alternatives(&self) -> bool {
        let scene = self.before;
        if !matches!(self.before.language, Language::Kmc | Language::Gt | Language::St) {
            return true;
        }
        let is_in_payload = |piece: usize| {
            payloads(&self.after).iter().any(|payload| payload.start < piece && piece < payload.end)
        };
        match self.candidate.kind {
            // `;` is what comes next in some of these languages, and nothing in the others.
            Kind::Replace { piece, text } if matches!(text, "," | ";" | "." | ":") => {
                is_in_payload(piece) || matches!((scene.word(piece), text), ("." | "->", ";") | (";", "."))
            }
            Kind::Insert { before, text: "," } => {
                let last = before.checked_sub(1).map_or("", |last| scene.word(last));
                is_in_payload(before) || matches!(last, "end" | "}" | ")") || is_recursion(scene, last)
            }
            _ => true,
        }
    }

    /// Whether every machine keeps its head, and no label is taken from another line.
    fn keeps_heads(&self) -> bool {
        if self.before.language != Language::Kmc {
            return true;
        }
        let heads =
            |scene: &Scene<'_>| (0..scene.pieces.len()).filter(|piece| scene.word(*piece) == ":").count();
        let after = &self.after;
        let is_torn = |piece: usize| {
            matches!(after.word(piece), "!" | "?")
                && after.pieces.get(piece + 1).is_none_or(|label| label.indent.is_some())
        };
        heads(after) >= heads(self.before) && !(0..after.pieces.len()).any(is_torn)
    }
}

/// The brackets of the payloads of a text, from the one that opens to the one that closes.
fn payloads(scene: &Scene<'_>) -> Vec<Range<usize>> {
    let is_payload = |open: usize, close: usize| match scene.language {
        Language::Scr => scene.word(open) == "(" && scene.word(close + 1) == "from",
        Language::St => {
            scene.word(open) == "("
                && open > 1
                && scene.is_word(open - 1)
                && matches!(scene.word(open - 2), "!" | "?")
        }
        _ => false,
    };
    let mut found = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for piece in 0..scene.pieces.len() {
        let in_angles = matches!(scene.language, Language::Kmc | Language::Gt);
        match scene.word(piece) {
            "<" if in_angles => open.push(piece),
            ">" if in_angles => {
                if let Some(start) = open.pop().filter(|_| open.is_empty()) {
                    found.push(start..piece);
                }
            }
            "(" if !in_angles => open.push(piece),
            ")" if !in_angles => {
                if let Some(start) = open.pop().filter(|start| is_payload(*start, piece)) {
                    found.push(start..piece);
                }
            }
            _ => {}
        }
    }
    found
}

/// The names of types in a payload.
fn types(scene: &Scene<'_>, payload: &Range<usize>) -> Vec<usize> {
    let is_type = |&piece: &usize| {
        let (before, behind) = (scene.word(piece - 1), scene.word(piece + 1));
        scene.is_word(piece)
            && match scene.language {
                Language::Kmc | Language::Gt => true,
                Language::Scr => before == ":" || matches!(before, "(" | ",") && matches!(behind, ")" | ","),
                _ => before == ":",
            }
    };
    (payload.start + 1..payload.end).filter(is_type).collect()
}

/// Whether a type is declared.
fn is_declared(scene: &Scene<'_>, name: &str) -> bool {
    (1..scene.pieces.len())
        .any(|piece| scene.word(piece) == name && matches!(scene.word(piece - 1), "type" | "as"))
}

/// Whether `name` is that of a recursion.
fn is_recursion(scene: &Scene<'_>, name: &str) -> bool {
    (1..scene.pieces.len())
        .any(|piece| scene.word(piece) == name && matches!(scene.word(piece - 1), "rec" | "mu"))
}
