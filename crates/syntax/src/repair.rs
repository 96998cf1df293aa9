//! Syntax errors said well: what was meant, rather than where a parser got stuck.
//!
//! Where reading gets stuck, corrections are tried: known slips first (`else` for `or`, a type before its name), then
//! every piece near the place inserted, removed, replaced or swapped. The one after which the text reads best is what
//! is reported, and shown; so every correction that is shown has been read. Reading goes on behind it, so that one
//! mistake is one error and independent mistakes are found in one run. After Diekmann and Tratt, *Don't Panic!
//! Better, Fewer, Syntax Errors for LR Parsers* (ECOOP 2020), with the text itself instead of an automaton's states.
//!
//! Texts that are long or that nothing helps keep the errors of their parser, which recovers at the next statement.
//!
//! Read next: `candidate`, `slips`, `message`.

use std::ops::Range;

use crate::diagnostics::fix::apply;
use crate::diagnostics::{Diagnostic, Fix, suggest};
use crate::document::{Content, Document, in_order};
use crate::language::Language;
use crate::source::Span;

mod candidate;
mod certain;
mod foreign;
mod likely;
mod message;
mod pieces;
mod slips;

use candidate::{Candidate, Kind, PLACEHOLDER, candidates};
use pieces::{Piece, pieces};

/// Longer texts are not corrected.
const MAX_TEXT: usize = 1 << 16;

/// So many bytes are read to find corrections for one text.
const MAX_TRIALS: usize = 8 << 20;

/// So many mistakes are corrected in one text.
const MAX_REPAIRS: usize = 10;

/// So many pieces have to be read behind a correction for it to help, if it does not put everything right.
const LEAST_PROGRESS: usize = 3;

/// Corrections of almost the same cost are rivals: then none is certain.
const RIVAL: u32 = 8;

/// How much likelier it is that a condition lacks an operand than that it has an operator too many.
const OPERAND: u32 = 6;

/// Whether a text has to be corrected before anything else can be said about it.
pub(crate) fn is_syntactic(diagnostic: &Diagnostic) -> bool {
    matches!(
        diagnostic.code.id,
        "RF0001" | "RF0002" | "RF0003" | "RF0004" | "RF0315" | "RF0603" | "RF0701" | "RF0710"
    )
}

fn first_syntactic(document: &Document) -> Option<&Diagnostic> {
    document.diagnostics.iter().find(|diagnostic| is_syntactic(diagnostic))
}

/// Whether the text of `document` cannot be read as it stands.
pub(crate) fn has_syntax_errors(document: &Document) -> bool {
    first_syntactic(document).is_some()
}

/// `document`, which `read` made of `text`, with its syntax errors said better.
pub(crate) fn repaired(
    text: &str,
    language: Language,
    document: Document,
    read: fn(&str) -> Document,
) -> Document {
    // Of bytes that are no text nobody knows what they were.
    let is_text = !text.contains(char::REPLACEMENT_CHARACTER);
    if text.len() > MAX_TEXT || !is_text || first_syntactic(&document).is_none() {
        return document;
    }
    let mut said = searched(text, language, document, read);
    let mut errors = said.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let is_clear = errors.next().is_some_and(|only| only.fix.is_some()) && errors.next().is_none();
    // Piece by piece, nothing good can be said of another notation.
    if !is_clear && let Some(foreign) = foreign::notation(text, language) {
        said.diagnostics = vec![foreign];
        forget(&mut said.content);
    }
    said
}

/// As [`repaired`], for a `text` with syntax errors.
fn searched(text: &str, language: Language, document: Document, read: fn(&str) -> Document) -> Document {
    let mut repairs = Repairs { language, read, budget: MAX_TRIALS, shifts: Vec::new(), found: Vec::new() };
    let mut corrected = text.to_owned();
    let mut last = document.clone();
    let mut guessed = false;
    while repairs.found.len() < MAX_REPAIRS
        && let Some(error) = first_syntactic(&last)
        && let Some(mut repair) = repairs.search(&corrected, error)
    {
        // Nothing that is read behind a guess is certain.
        if let Some(fix) = repair.diagnostic.fix.as_mut().filter(|_| guessed) {
            fix.certain = false;
        }
        guessed |= repair.guessed;
        repairs.accept(repair.diagnostic, &repair.candidate);
        corrected = repair.text;
        last = repair.document;
    }
    if repairs.found.is_empty() {
        return last;
    }
    let reads_well = first_syntactic(&last).is_none();
    if !reads_well && repairs.found.len() < MAX_REPAIRS {
        // What does not lead to a text that can be read was perhaps not meant.
        repairs.found.iter_mut().filter_map(|found| found.fix.as_mut()).for_each(|fix| fix.certain = false);
    }
    let repaired = repairs.finish(last, &corrected, guessed);
    if reads_well {
        return repaired;
    }
    // Where the parser alone has less to say, it understood more.
    let errors = |document: &Document| document.diagnostics.iter().filter(|d| d.is_error()).count();
    if errors(&repaired) > errors(&document) { document } else { repaired }
}

/// The syntax errors of `text`, said as well as they can be; `read` found `errors`.
pub(crate) fn syntax_errors(text: &str, language: Language, errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut found = crate::parse(text, language).diagnostics;
    found.retain(is_syntactic);
    if found.is_empty() { errors } else { found }
}

/// The place where reading got stuck.
struct Scene<'a> {
    text: &'a str,
    language: Language,
    pieces: Vec<Piece>,
    /// The piece at which reading got stuck; as many as there are pieces at the end of the text.
    at: usize,
}

impl<'a> Scene<'a> {
    fn new(text: &'a str, language: Language, error: Span) -> Self {
        let pieces = pieces(text, language);
        let at = pieces.partition_point(|piece| piece.range.end <= error.start as usize);
        Self { text, language, pieces, at }
    }

    /// The text of a piece; nothing where there is none.
    fn word(&self, piece: usize) -> &'a str {
        self.pieces.get(piece).map_or("", |piece| &self.text[piece.range.clone()])
    }

    fn span(&self, piece: usize) -> Span {
        self.pieces.get(piece).map_or_else(
            || Span::at(self.pieces.last().map_or(0, |last| last.range.end)),
            |piece| Span::new(piece.range.start, piece.range.end),
        )
    }

    /// The end of what stands before a piece.
    fn end_before(&self, piece: usize) -> usize {
        piece.checked_sub(1).and_then(|before| self.pieces.get(before)).map_or(0, |before| before.range.end)
    }

    /// Where to insert `text` before a piece: what ends something stands right behind what it ends.
    fn gap(&self, before: usize, text: &str) -> Span {
        let Some(piece) = self.pieces.get(before) else { return Span::at(self.end_before(before)) };
        let starts_line = piece.indent.is_some();
        let ends_something =
            matches!(text, ";" | "," | ")" | "]" | ">" | ":" | ".") || text == "(" && !starts_line;
        // A transition stands on a line of its own, and `end` on the line of what it ends.
        let belongs_to_line = self.language == Language::Fsm && text != "." || text == "end";
        let ends_line =
            starts_line && (belongs_to_line || matches!(text, "{" | "}") && self.word(before) != "or");
        if before > 0 && (ends_something || ends_line) {
            return Span::at(self.end_before(before));
        }
        Span::at(piece.range.start)
    }

    /// `text` with the blanks it needs where it is inserted.
    fn spaced(&self, before: usize, text: &str) -> String {
        let gap = self.gap(before, text).start as usize;
        let starts_line = self.pieces.get(before).is_none_or(|piece| piece.indent.is_some());
        if text == "}"
            && gap == self.end_before(before)
            && starts_line
            && let Some(indent) =
                candidate::opening(self, before, text).map(|open| self.indent_at(open.start))
        {
            return format!("\n{}{text}", " ".repeat(indent));
        }
        // What closes a refinement stands where its opening does.
        if text == "}"
            && let Some(open) = candidate::opening(self, before, text)
            && !self.text[open.start..gap].contains('\n')
            && !self.text[open.end..].starts_with(char::is_whitespace)
        {
            return text.to_owned();
        }
        let is_tight = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "()[]<>{}.,;:!?".contains(c));
        let (left, right) = (self.text[..gap].chars().next_back(), self.text[gap..].chars().next());
        let hugs = matches!(text, ";" | "," | ")" | "]" | ">" | ":" | "." | "(" | "!" | "?");
        // A block stands apart from the word and the parenthesis before it.
        let opens_block = text == "{" && left == Some(')');
        let before_block = matches!(right, Some('{' | '[' | '<')) && text.starts_with(char::is_alphabetic);
        let left = if hugs || is_tight(left) && !opens_block { "" } else { " " };
        let is_close = is_tight(right) && !before_block;
        let right = if hugs && !matches!(text, ":" | ",") || is_close { "" } else { " " };
        format!("{left}{text}{right}")
    }

    /// How far the line of `offset` is indented.
    fn indent_at(&self, offset: usize) -> usize {
        let line = self.text[..offset].rfind('\n').map_or(0, |end| end + 1);
        self.text[line..].chars().take_while(|c| *c == ' ').count()
    }

    /// A piece with the blanks that would be left behind if it were removed.
    fn with_blanks(&self, piece: usize) -> Span {
        let range = self.pieces[piece].range.clone();
        let after = self.text[range.end..].find(|c| c != ' ').map_or(self.text.len(), |n| range.end + n);
        let ends_line = self.text[after..].chars().next().is_none_or(|c| matches!(c, '\n' | '\r'));
        let start =
            if ends_line { self.text[..range.start].trim_end_matches(' ').len() } else { range.start };
        let before = self.text[..start].chars().next_back();
        // What begins a line keeps its place, and words that a blank keeps apart are kept apart.
        let begins_line = ends_line && before == Some('\n');
        let hugs = !ends_line && before.is_some_and(|c| !c.is_whitespace() && !"([{<".contains(c));
        if begins_line || hugs { Span::new(range.start, range.end) } else { Span::new(start, after) }
    }
}

/// A correction that helps.
struct Repair {
    candidate: Candidate,
    /// The text, corrected, and what was read of it.
    text: String,
    document: Document,
    diagnostic: Diagnostic,
    /// Whether what was meant is only guessed, so that what follows from it is not worth saying.
    guessed: bool,
}

/// How well a text reads after a correction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Reading {
    /// How much is left behind the place where reading gets stuck again; nothing if it does not.
    unread: usize,
    /// Other errors up to there.
    others: usize,
    cost: u32,
}

struct Repairs {
    language: Language,
    read: fn(&str) -> Document,
    /// How many more bytes may be read.
    budget: usize,
    /// What was changed so far, in order: places of the corrected text, and how far it is shifted from there on.
    shifts: Vec<(Range<usize>, isize)>,
    found: Vec<Diagnostic>,
}

impl Repairs {
    /// The best correction of `error`, the first in `text`, if any helps.
    fn search(&mut self, text: &str, error: &Diagnostic) -> Option<Repair> {
        let scene = Scene::new(text, self.language, error.span);
        let behind = |pieces: usize| {
            scene
                .pieces
                .get(scene.at + pieces)
                .map_or(0, |piece| text.len().saturating_sub(piece.range.start))
        };
        let mut all = slips::slips(&scene);
        all.extend(candidates(&scene));
        if error.code.id == "RF0315" {
            // A condition that breaks off lacks an operand rather than having an operator too many.
            let deletions = all.iter_mut().filter(|candidate| matches!(candidate.kind, Kind::Delete { .. }));
            deletions.for_each(|candidate| candidate.cost += OPERAND);
        }
        all.sort_by_key(|candidate| candidate.cost);
        let mut best: Option<(Reading, Candidate, String, Document)> = None;
        let mut rivals: Vec<(Reading, Vec<String>)> = Vec::new();
        for candidate in all {
            // Nothing dearer is meant where a cheap correction puts everything right.
            let settled = best.as_ref().is_some_and(|(least, ..)| {
                least.unread == 0 && least.others == 0 && candidate.cost > least.cost + RIVAL
            });
            if settled || self.budget < text.len() {
                break;
            }
            self.budget -= text.len();
            let corrected = apply(text, &candidate.edits);
            let read = (self.read)(&corrected);
            let reading = reading(&corrected, &read, &candidate);
            // It has to lead on; a likely one need not lead far.
            let least = if scene.is_sure(&candidate.kind) { 1 } else { LEAST_PROGRESS };
            if reading.unread > behind(least) {
                continue;
            }
            rivals.push((reading, words(&corrected, self.language)));
            if best.as_ref().is_none_or(|(least, ..)| reading < *least) {
                best = Some((reading, candidate, corrected, read));
            }
        }
        let (reading, candidate, corrected, document) = best?;
        let chosen = words(&corrected, self.language);
        let rivalled = rivals.iter().any(|(rival, rival_words)| {
            (rival.unread, rival.others) == (reading.unread, reading.others)
                && rival.cost <= reading.cost + RIVAL
                && *rival_words != chosen
        });
        let corrects =
            !matches!(candidate.kind, Kind::Slip { corrects: false, .. }) && !candidate.has_placeholder();
        let is_likely =
            candidate.has_placeholder() || likely::is_likely(&scene, &candidate, &corrected, reading);
        let certain = corrects
            && is_likely
            && reading.others == 0
            && !rivalled
            && scene.is_sure(&candidate.kind)
            && scene.is_all(&candidate, &corrected);
        let mut diagnostic = if is_likely { message::of(&scene, &candidate, error) } else { error.clone() };
        if is_likely && corrects && !matches!(error.code.id, "RF0002" | "RF0003") {
            diagnostic.fix = Some(Box::new(Fix { edits: candidate.edits.to_vec(), certain }));
        }
        Some(Repair { text: corrected, document, diagnostic, guessed: !certain, candidate })
    }

    /// Notes a correction of the text as corrected so far.
    fn accept(&mut self, mut diagnostic: Diagnostic, candidate: &Candidate) {
        self.to_original(&mut diagnostic);
        self.found.push(diagnostic);
        let mut by = 0;
        let mut new: Vec<(Range<usize>, isize)> = Vec::new();
        for edit in &candidate.edits {
            let old = edit.span.range();
            let start = old.start.saturating_add_signed(by);
            let change = edit.text.len() as isize - old.len() as isize;
            by += change;
            new.push((start..start + edit.text.len(), change));
        }
        // Corrections are undone from the last to the first.
        self.shifts.extend(new);
    }

    /// The place of the original text behind a place of the corrected one.
    fn original(&self, mut offset: usize) -> usize {
        for (range, change) in self.shifts.iter().rev() {
            if offset >= range.end {
                offset = offset.saturating_add_signed(-change);
            } else if offset > range.start {
                offset = range.start;
            }
        }
        offset
    }

    fn original_span(&self, span: Span) -> Span {
        let (start, end) = (self.original(span.start as usize), self.original(span.end as usize));
        Span::new(start, end.max(start))
    }

    fn to_original(&self, diagnostic: &mut Diagnostic) {
        diagnostic.span = self.original_span(diagnostic.span);
        for (span, _) in &mut diagnostic.related {
            *span = self.original_span(*span);
        }
        for edit in diagnostic.fix.iter_mut().flat_map(|fix| &mut fix.edits) {
            edit.span = self.original_span(edit.span);
        }
    }

    /// What there is to say: the corrected mistakes, and what is left in the corrected text.
    fn finish(mut self, mut document: Document, text: &str, guessed: bool) -> Document {
        let left = std::mem::take(&mut document.diagnostics);
        for mut diagnostic in left {
            // What follows from a guess is no mistake of the author's.
            if guessed && !is_syntactic(&diagnostic) || is_elsewhere(&diagnostic, text) {
                continue;
            }
            self.to_original(&mut diagnostic);
            self.found.push(diagnostic);
        }
        document.diagnostics = in_order(std::mem::take(&mut self.found));
        document.origins.map(|span| self.original_span(span));
        forget(&mut document.content);
        document
    }
}

/// What was read of a corrected text is not what the author wrote.
fn forget(content: &mut Content) {
    match content {
        Content::Global(protocols) => protocols.iter_mut().for_each(|protocol| protocol.global = None),
        Content::Binary(protocol) => protocol.session = None,
        Content::System(system) => {
            system.system = None;
            system.sessions.clear();
        }
        Content::Properties(file) => file.properties.clear(),
    }
}

fn words(text: &str, language: Language) -> Vec<String> {
    pieces(text, language).iter().map(|piece| text[piece.range.clone()].to_owned()).collect()
}

/// Whether it is about what another module declares: that is not known where a text is corrected.
pub(crate) fn is_elsewhere(diagnostic: &Diagnostic, text: &str) -> bool {
    diagnostic.code.id == "RF0101" && text.get(diagnostic.span.range()).is_some_and(|name| name.contains('.'))
}

fn reading(text: &str, document: &Document, candidate: &Candidate) -> Reading {
    let stuck = first_syntactic(document).map(|error| error.span.start as usize);
    // At the very end something is missing: that is not quite as good as nothing missing.
    let unread = stuck.map_or(0, |at| text.len().saturating_sub(at) + 1);
    let is_placeholder = |d: &Diagnostic| text.get(d.span.range()).is_some_and(|at| at.contains(PLACEHOLDER));
    let others = document.diagnostics.iter().filter(|diagnostic| {
        diagnostic.is_error()
            && !is_syntactic(diagnostic)
            && stuck.is_none_or(|at| (diagnostic.span.start as usize) < at)
            && !is_placeholder(diagnostic)
            && !is_elsewhere(diagnostic, text)
    });
    Reading { unread, others: others.count(), cost: candidate.cost }
}
