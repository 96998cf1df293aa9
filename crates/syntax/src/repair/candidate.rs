//! Corrections worth trying: one piece inserted, removed, replaced, or swapped with its neighbour, near the place
//! where reading got stuck. Which of them is right is not decided here: `super` tries them.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::Scene;
use super::pieces::PieceKind;
use crate::diagnostics::{Edit, suggest};
use crate::language::Language;
use crate::source::Span;

/// Stands for a name that only the author knows. No language has a keyword like it.
pub(super) const PLACEHOLDER: &str = "MISSING_NAME";

/// A correction that was not tried yet.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) edits: SmallVec<[Edit; 2]>,
    pub(super) kind: Kind,
    /// Of corrections that lead equally far, the cheapest is taken.
    pub(super) cost: u32,
    /// Whether its author may well have meant something else.
    pub(super) doubtful: bool,
}

/// What a correction does, for its message.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A known slip, with words of its own.
    Slip {
        span: Span,
        message: String,
        help: String,
        /// Whether the correction says what was meant, not only where to go on.
        corrects: bool,
    },
    /// Something is missing before the piece of this number.
    Insert { before: usize, text: &'static str },
    /// The piece should not be there.
    Delete { piece: usize },
    /// The piece should be another.
    Replace { piece: usize, text: &'static str },
    /// The piece and the one behind it should change places.
    Swap { piece: usize },
}

impl Candidate {
    pub(super) fn new(edits: impl IntoIterator<Item = Edit>, kind: Kind, cost: u32) -> Self {
        Self { edits: edits.into_iter().collect(), kind, cost, doubtful: false }
    }

    /// The same, as a proposal only.
    pub(super) fn doubtful(self) -> Self {
        self.doubtful_if(true)
    }

    /// The same, as a proposal only if `doubtful`.
    pub(super) fn doubtful_if(mut self, doubtful: bool) -> Self {
        self.doubtful |= doubtful;
        self
    }

    /// Whether the author has to say what was meant.
    pub(super) fn has_placeholder(&self) -> bool {
        self.edits.iter().any(|edit| edit.text.contains(PLACEHOLDER))
    }
}

/// Whether `word` belongs to the language itself.
pub(super) fn is_keyword(word: &str, language: Language) -> bool {
    let Words { keywords, others, .. } = words(language);
    keywords.contains(&word) || others.contains(&word)
}

/// What a language is written with.
struct Words {
    /// Often forgotten or mistaken for one another, the commonest first.
    symbols: &'static [&'static str],
    /// Keywords that are inserted and put in the place of other pieces.
    keywords: &'static [&'static str],
    /// Keywords that are only ever misspelt.
    others: &'static [&'static str],
}

fn words(language: Language) -> Words {
    let (symbols, keywords, others): (&[&str], &[&str], &[&str]) = match language {
        Language::Scr => (
            &[";", ",", ")", "(", "}", "{", ":", "]", "[", ">", "<", "=", "->", ".", "==", "@", "&&", "#*)"],
            &[
                "from", "to", "at", "or", "role", "protocol", "choice", "do", "continue", "rec", "as", "par",
                "and",
            ],
            &[
                "global",
                "aux",
                "nested",
                "explicit",
                "module",
                "import",
                "type",
                "sig",
                "external",
                "fn",
                "new",
                "calls",
                "connect",
                "disconnect",
                "wrap",
                "where",
                "and",
                "list",
                "array",
            ],
        ),
        Language::Gt => (&[".", ",", ")", "(", "->", "<", ">", "]", "["], &["end", "mu"], &[]),
        Language::St => {
            (&[".", ",", ")", "(", "}", "{", ":", "=", "!", "?", "&", "+", "]", "["], &["end", "rec"], &[])
        }
        Language::Kmc => (&[";", ",", "}", "{", "!", "?", ":", ".", ">", "<"], &["end", "rec"], &[]),
        Language::Fsm => (&["!", "?", ".", ">", "<"], &["graph", "state", "outputs", "marking", "end"], &[]),
        Language::Hml => (
            &[".", ")", "(", "]", "[", ">", "<", "}", "{", ",", ":", "->", "?", "!", "==", "_", "="],
            &["ff", "tt", "and", "or", "max", "min", "when", "property", "with", "check"],
            &[
                "monitor", "for", "each", "not", "true", "false", "except", "rule", "before", "there",
                "must", "be", "never", "after", "at", "most", "once", "times", "call", "result", "of",
            ],
        ),
        Language::GtJson => (&[",", ":", "}", "]", "{", "["], &[], &[]),
    };
    Words { symbols, keywords, others }
}

mod cost {
    pub(super) const MISSPELT: u32 = 5;
    pub(super) const REPEATED: u32 = 5;
    pub(super) const BY_LAYOUT: u32 = 9;
    pub(super) const SYMBOL: u32 = 10;
    pub(super) const SWAP: u32 = 12;
    pub(super) const KEYWORD: u32 = 14;
    pub(super) const OTHER_SYMBOL: u32 = 16;
    pub(super) const DELETE: u32 = 20;
    pub(super) const NAME: u32 = 22;
    pub(super) const OTHER_KEYWORD: u32 = 24;
    pub(super) const OTHER_NAME: u32 = 26;
}

/// Symbols that are mistaken for one another, without anything else being wrong.
pub(super) fn are_alike(one: &str, other: &str) -> bool {
    const ALIKE: [&[&str]; 7] = [
        &[";", ",", ".", ":"],
        &["(", "[", "{", "<"],
        &[")", "]", "}", ">"],
        &["=", "=="],
        &["&", "&&"],
        &["|", "||"],
        &["-", "->"],
    ];
    ALIKE.iter().any(|alike| alike.contains(&one) && alike.contains(&other))
}

/// How many pieces before the one where reading got stuck may be wrong.
const REACH: usize = 4;

/// The corrections of one piece near where reading got stuck.
pub(super) fn candidates(scene: &Scene<'_>) -> Vec<Candidate> {
    let words = words(scene.language);
    let mut found = Vec::new();
    for back in 0..=REACH {
        let Some(piece) = scene.at.checked_sub(back) else { break };
        let far = u32::try_from(back).unwrap_or(0);
        insertions(scene, &words, piece, far, &mut found);
        if piece < scene.pieces.len() {
            replacements(scene, &words, piece, far, &mut found);
            deletion(scene, piece, far, &mut found);
        }
        if piece + 1 < scene.pieces.len() {
            let kind = Kind::Swap { piece };
            found.push(Candidate::new(swap(scene, piece), kind, cost::SWAP + far));
        }
    }
    // What is wrong may stand right behind, where reading could just go on.
    if scene.at + 1 < scene.pieces.len() {
        deletion(scene, scene.at + 1, 1, &mut found);
        replacements(scene, &words, scene.at + 1, 2, &mut found);
        insertions(scene, &words, scene.at + 1, 2, &mut found);
    }
    if scene.at + 2 < scene.pieces.len() {
        let kind = Kind::Swap { piece: scene.at + 1 };
        found.push(Candidate::new(swap(scene, scene.at + 1), kind, cost::SWAP + 1));
    }
    by_layout(scene, &mut found);
    found
}

fn insertions(scene: &Scene<'_>, words: &Words, before: usize, far: u32, found: &mut Vec<Candidate>) {
    let all = words.symbols.iter().map(|text| (*text, cost::SYMBOL));
    let keywords = words.keywords.iter().filter(|text| may_insert(scene, before, text));
    let all = all.chain(keywords.map(|text| (*text, cost::KEYWORD)));
    for (text, cost) in all.chain([(PLACEHOLDER, cost::NAME)]) {
        let edit = Edit { span: scene.gap(before, text), text: scene.spaced(before, text) };
        found.push(Candidate::new([edit], Kind::Insert { before, text }, cost + far));
    }
}

/// Whether a keyword can be missing there. Those of `.fsm` are names elsewhere, so that nearly everything could be read; so are those
/// of `.kmc` and `.st`, where a label, a type or the name of a recursion stands.
fn may_insert(scene: &Scene<'_>, before: usize, keyword: &str) -> bool {
    let previous = before.checked_sub(1).map_or("", |piece| scene.word(piece));
    match scene.language {
        Language::Fsm => previous == if keyword == "graph" { "state" } else { "." },
        _ => !is_name(scene, previous),
    }
}

/// Whether a name of the author's stands behind `previous`.
fn is_name(scene: &Scene<'_>, previous: &str) -> bool {
    match scene.language {
        Language::Kmc => matches!(previous, "!" | "?" | "rec"),
        Language::St => matches!(previous, "!" | "?" | "rec" | ":"),
        _ => false,
    }
}

fn replacements(scene: &Scene<'_>, words: &Words, piece: usize, far: u32, found: &mut Vec<Candidate>) {
    let old = scene.word(piece);
    let is_word = scene.pieces[piece].kind == PieceKind::Word;
    let span = scene.span(piece);
    let mut replace = |text: &'static str, cost: u32| {
        if old != text {
            let edit = Edit { span, text: text.to_owned() };
            found.push(Candidate::new([edit], Kind::Replace { piece, text }, cost + far));
        }
    };
    if is_word {
        let keywords = words.keywords.iter().chain(words.others).copied();
        if let Some(close) = suggest::closest(old, keywords) {
            let close = words.keywords.iter().chain(words.others).find(|known| **known == close);
            if let Some(close) = close {
                replace(close, cost::MISSPELT);
            }
        }
    }
    for text in words.symbols {
        replace(text, if is_word { cost::OTHER_KEYWORD } else { cost::OTHER_SYMBOL });
    }
    let previous = piece.checked_sub(1).map_or("", |piece| scene.word(piece));
    for text in words.keywords.iter().filter(|_| !is_name(scene, previous)) {
        replace(text, cost::OTHER_KEYWORD);
    }
    replace(PLACEHOLDER, if is_word { cost::OTHER_NAME + 4 } else { cost::OTHER_NAME });
}

fn deletion(scene: &Scene<'_>, piece: usize, far: u32, found: &mut Vec<Candidate>) {
    let mut cost = if scene.is_repeated(piece) { cost::REPEATED } else { cost::DELETE };
    // Of two that are alike, the one that has no line of its own.
    if scene.pieces[piece].indent.is_none() && piece > 0 && scene.word(piece) == scene.word(piece - 1) {
        cost -= 2;
    }
    let edit = Edit { span: scene.with_blanks(piece), text: String::new() };
    found.push(Candidate::new([edit], Kind::Delete { piece }, cost + far));
}

fn swap(scene: &Scene<'_>, piece: usize) -> SmallVec<[Edit; 2]> {
    let (left, right) = (scene.word(piece).to_owned(), scene.word(piece + 1).to_owned());
    smallvec![Edit { span: scene.span(piece), text: right }, Edit { span: scene.span(piece + 1), text: left }]
}

/// Brackets whose lines are indented otherwise than those of the brackets they belong to.
fn by_layout(scene: &Scene<'_>, found: &mut Vec<Candidate>) {
    /// The first mismatches: those behind them follow from them.
    const MOST: usize = 4;
    let mut open: Vec<(usize, usize, &'static str)> = Vec::new();
    let mut indent = 0;
    let mut mismatches = 0;
    for (index, piece) in scene.pieces.iter().enumerate() {
        indent = piece.indent.unwrap_or(indent);
        let word = scene.word(index);
        let closes = matches!(word, "}" | ")" | "]");
        if let (Some(here), Some(&(_, outer, closing))) = (piece.indent, open.last())
            && (here < outer || here == outer && !closes)
        {
            let edit = Edit { span: scene.gap(index, closing), text: scene.spaced(index, closing) };
            found.push(Candidate::new(
                [edit],
                Kind::Insert { before: index, text: closing },
                cost::BY_LAYOUT,
            ));
            mismatches += 1;
            // Go on as if it were there.
            open.pop();
        }
        if closes {
            if open.last().is_none_or(|(_, outer, _)| piece.indent.is_some_and(|here| here > *outer)) {
                deletion(scene, index, 0, found);
                mismatches += 1;
            } else {
                open.pop();
            }
        }
        let closing = match word {
            "{" => "}",
            "(" => ")",
            "[" => "]",
            _ => continue,
        };
        open.push((index, indent, closing));
        if mismatches >= MOST {
            return;
        }
    }
}

/// The bracket that is open before the piece `before`.
pub(super) fn opening_piece(scene: &Scene<'_>, before: usize) -> Option<usize> {
    let mut open: Vec<usize> = Vec::new();
    for index in 0..before.min(scene.pieces.len()) {
        match scene.word(index) {
            "{" | "(" | "[" => open.push(index),
            "}" | ")" | "]" => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

/// Where the bracket that would be closed before the piece `before` was opened.
pub(super) fn opening(scene: &Scene<'_>, before: usize, closing: &str) -> Option<Range<usize>> {
    let last = opening_piece(scene, before)?;
    let fits = matches!((scene.word(last), closing), ("{", "}") | ("(", ")") | ("[", "]"));
    fits.then(|| scene.pieces[last].range.clone())
}
