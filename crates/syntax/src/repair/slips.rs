//! Slips that people make again and again, each with words of its own. A slip is only a proposal: it is reported if
//! the text reads better after its correction.

use std::ops::Range;

use super::Scene;
use super::candidate::{Candidate, Kind};
use crate::diagnostics::Edit;
use crate::language::Language;
use crate::source::Span;

mod automata;
mod blocks;
mod clauses;
pub(super) mod conditions;
mod data;
mod declarations;
mod foreign;
mod formulas;
mod habits;
mod locals;
mod loops;
mod messages;
mod names;
mod paper;
mod protocols;
mod sessions;
mod types;

/// The slips that may have been made where reading got stuck.
pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = characters(scene);
    found.extend(brackets(scene));
    found.extend(conditions::slips(scene));
    match scene.language {
        Language::Scr => {
            found.extend(declarations::slips(scene));
            found.extend(blocks::slips(scene));
            found.extend(clauses::slips(scene));
            found.extend(data::slips(scene));
            found.extend(foreign::slips(scene));
            found.extend(habits::slips(scene));
            found.extend(loops::slips(scene));
            found.extend(messages::slips(scene));
            found.extend(protocols::slips(scene));
            found.extend(names::slips(scene));
            found.extend(names::out_of_place(scene));
        }
        Language::Gt | Language::St | Language::Kmc => {
            found.extend(locals::slips(scene));
            found.extend(sessions::slips(scene));
            found.extend(types::slips(scene));
        }
        Language::Hml => {
            found.extend(types::unparenthesised_guard(scene));
            found.extend(formulas::slips(scene));
        }
        Language::Fsm => {
            found.extend(locals::slips(scene));
            found.extend(automata::slips(scene));
        }
        Language::GtJson => {}
    }
    found
}

/// A slip with its correction.
fn slip(
    span: Span,
    message: impl Into<String>,
    help: impl Into<String>,
    edits: impl IntoIterator<Item = Edit>,
) -> Candidate {
    let kind = Kind::Slip { span, message: message.into(), help: help.into(), corrects: true };
    Candidate::new(edits, kind, 0)
}

/// A slip that only its author can correct: what stands at `skipped` is passed over.
fn refusal(span: Span, message: impl Into<String>, help: impl Into<String>, skipped: Span) -> Candidate {
    let kind = Kind::Slip { span, message: message.into(), help: help.into(), corrects: false };
    Candidate::new([Edit { span: skipped, text: String::new() }], kind, 2)
}

/// As [`refusal`], before everything that only happens to read on.
fn refused(span: Span, message: impl Into<String>, help: impl Into<String>, skipped: Span) -> Candidate {
    let mut found = refusal(span, message, help, skipped);
    found.cost = 0;
    found
}

/// A slip that only its author can correct: reading goes on as after `edits`.
fn unsettled(span: Span, message: impl Into<String>, help: impl Into<String>, edits: Vec<Edit>) -> Candidate {
    let kind = Kind::Slip { span, message: message.into(), help: help.into(), corrects: false };
    Candidate::new(edits, kind, 0)
}

fn replace(span: Span, text: impl Into<String>) -> Edit {
    Edit { span, text: text.into() }
}

fn insert(at: u32, text: impl Into<String>) -> Edit {
    Edit { span: Span { start: at, end: at }, text: text.into() }
}

impl Scene<'_> {
    pub(super) fn is_word(&self, piece: usize) -> bool {
        self.pieces.get(piece).is_some_and(|piece| piece.kind == super::pieces::PieceKind::Word)
    }

    /// The place of several pieces.
    fn spans(&self, pieces: Range<usize>) -> Span {
        self.span(pieces.start).to(self.span(pieces.end.saturating_sub(1).max(pieces.start)))
    }

    /// The text of several pieces.
    fn words(&self, pieces: Range<usize>) -> &str {
        self.text.get(self.spans(pieces).range()).unwrap_or_default()
    }

    /// The piece that closes the bracket `open`, or the number of pieces.
    pub(super) fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for piece in open..self.pieces.len() {
            match self.word(piece) {
                "(" | "{" | "[" => depth += 1,
                ")" | "}" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return piece;
            }
        }
        self.pieces.len()
    }

    /// The statement where reading got stuck, without the `;` behind it: what lies between `;`, `{` and `}`, those of
    /// payloads aside.
    fn statement(&self) -> Range<usize> {
        let is_end = |piece: usize| match self.word(piece) {
            ";" => true,
            // A refinement or a record stands behind a type or a colon, and in parentheses.
            "{" | "}" => !self.in_parentheses(piece),
            _ => false,
        };
        let last = self.at.min(self.pieces.len());
        let start = (0..last).rev().find(|&piece| is_end(piece)).map_or(0, |piece| piece + 1);
        let end =
            (last.max(start)..self.pieces.len()).find(|&piece| is_end(piece)).unwrap_or(self.pieces.len());
        start..end
    }

    fn in_parentheses(&self, piece: usize) -> bool {
        // A parenthesis that is open is open on the same line or a few pieces before.
        const FAR: usize = 40;
        let mut depth = 0_isize;
        for before in (piece.saturating_sub(FAR)..piece).rev() {
            match self.word(before) {
                ")" => depth += 1,
                "(" if depth == 0 => return true,
                "(" => depth -= 1,
                ";" => return false,
                _ => {}
            }
        }
        false
    }
}

/// `( … )` where `{ … }` or `[ … ]` is meant, and the like.
fn brackets(scene: &Scene<'_>) -> Vec<Candidate> {
    const PAIRS: [(&str, &str); 4] = [("{", "}"), ("(", ")"), ("[", "]"), ("<", ">")];
    let open = scene.word(scene.at);
    let Some(&(_, closing)) = PAIRS.iter().find(|(opening, _)| *opening == open) else { return Vec::new() };
    let close = match open {
        // Angle brackets are comparisons elsewhere.
        "<" => (scene.at..scene.pieces.len()).find(|&piece| matches!(scene.word(piece), ">" | ";" | "{")),
        _ => Some(scene.closing(scene.at)),
    };
    let close = close.unwrap_or(scene.pieces.len());
    if scene.word(close) != closing {
        return Vec::new();
    }
    // In a payload brackets are those of a list.
    let is_list = open == "[" && scene.language == Language::Scr && scene.in_parentheses(scene.at);
    let others = PAIRS.iter().filter(|(other, _)| *other != open && !is_list);
    let one = |(opening, ending): &(&str, &str)| {
        let edits = [replace(scene.span(scene.at), *opening), replace(scene.span(close), *ending)];
        let message = format!("here belong `{opening}` and `{ending}`, not `{open}` and `{closing}`");
        let mut found = slip(scene.span(scene.at), message, format!("write `{opening} … {ending}`"), edits);
        found.cost = 3;
        found
    };
    others.map(one).collect()
}

/// Characters that look like others, and blanks that are none.
fn characters(scene: &Scene<'_>) -> Vec<Candidate> {
    let Some(found) = scene.word(scene.at).chars().next() else { return Vec::new() };
    let (plain, what): (&str, String) = match found {
        '“' | '”' | '„' | '«' | '»' => ("\"", format!("`{found}` is a typographic quotation mark")),
        '‘' | '’' => ("'", format!("`{found}` is a typographic apostrophe")),
        '–' | '—' | '−' => ("-", format!("`{found}` is a dash, not a hyphen")),
        '→' | '⟶' | '⇒' => ("->", format!("`{found}` is an arrow of one character")),
        '⟨' if scene.language == Language::Hml => ("<", format!("`{found}` is the bracket of papers")),
        '⟩' if scene.language == Language::Hml => (">", format!("`{found}` is the bracket of papers")),
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{2009}' => {
            (" ", String::from("this is a non-breaking space"))
        }
        '\u{feff}' | '\u{200b}' | '\u{200d}' => ("", String::from("here is a character that nobody sees")),
        '；' => (";", String::from("this is a full-width semicolon")),
        '，' => (",", String::from("this is a full-width comma")),
        '（' => ("(", String::from("this is a full-width parenthesis")),
        '）' => (")", String::from("this is a full-width parenthesis")),
        'μ' | 'µ' if scene.language == Language::Gt => ("mu", String::from("recursion is written `mu`")),
        _ => return Vec::new(),
    };
    let span = scene.span(scene.at);
    let first = Span { start: span.start, end: span.start + crate::source::narrow(found.len_utf8()) };
    let help = match plain {
        " " => String::from("write an ordinary space"),
        "" => String::from("remove it"),
        plain => format!("write `{plain}`"),
    };
    // All of them on the line: whoever pasted one pasted the others.
    let line_end =
        scene.text[span.range().start..].find('\n').map_or(scene.text.len(), |n| span.range().start + n);
    let others =
        scene.text[span.range().start..line_end].char_indices().filter(|(_, c)| same_kind(*c, found));
    let edits = others.map(|(at, c)| {
        let start = span.range().start + at;
        let plain = if c == '⟩' { ">" } else { plain };
        replace(Span::new(start, start + c.len_utf8()), plain)
    });
    let one = slip(first, what.clone(), help.clone(), [replace(first, plain)]);
    let mut all = slip(first, what, help, edits);
    all.cost = 1;
    vec![one, all]
}

fn same_kind(left: char, right: char) -> bool {
    let alike = |all: &[char]| all.contains(&left) && all.contains(&right);
    left == right || alike(&['“', '”', '„', '«', '»']) || alike(&['‘', '’']) || alike(&['⟨', '⟩'])
}
