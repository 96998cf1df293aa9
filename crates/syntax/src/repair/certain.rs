//! When a correction is certain: when people who make it by hand hardly ever mean another. `referee fix` writes what is certain, so
//! every doubt counts.

use rustc_hash::{FxHashMap, FxHashSet};

use super::candidate::{self, Candidate, Kind};
use super::pieces::{PieceKind, pieces};
use super::slips::conditions;
use super::{Scene, suggest, words};
use crate::diagnostics::Edit;
use crate::language::Language;
use crate::payload;
use crate::source::Span;

mod keeps;

/// Parts of words that are shorter may be the same by chance.
const SHORT: usize = 3;

/// Longer blocks are not searched for lines that are written twice.
const MAX_LINES: usize = 200;

fn is_bracket(word: &str) -> bool {
    matches!(word, "(" | ")" | "[" | "]" | "{" | "}" | "<" | ">")
}

impl Scene<'_> {
    /// Whether people who make a correction of this kind by hand hardly ever mean another.
    pub(super) fn is_sure(&self, kind: &Kind) -> bool {
        match *kind {
            Kind::Slip { corrects, .. } => corrects,
            Kind::Insert { before, text } => match text {
                // With several branches it could close any of them: what stands behind belongs to another one then.
                ")" if self.language == Language::Gt => {
                    self.pieces.iter().all(|p| self.text[p.range.clone()] != *",")
                }
                // Behind a comma, or in the call of a predicate, more is missing.
                ")" | "}" | "]" if self.expects_more(before) => false,
                ")" if self.language == Language::St && self.calls_with_nothing(before) => false,
                ")" => self.ends_a_payload(before) && self.closes_the_last(before) && !self.joins(before),
                // Between brackets with nothing in them something else is missing.
                "}" | "]" => {
                    self.closes_the_last(before)
                        && !self.opens_behind_a_label(before)
                        && (self.opens_at_the_end(before)
                            || candidate::opening_piece(self, before) != before.checked_sub(1))
                }
                ":" => self.precedes_a_type(before),
                "," => self.separates_fields(before),
                // Behind it would be a message without a label.
                ";" => self.language != Language::Scr || self.word(before) != "(",
                // Elsewhere these words are operators, or not of the language.
                "from" | "to" | "at" | "or" | "role" => self.language == Language::Scr,
                _ => false,
            },
            Kind::Delete { piece } => {
                // Of two brackets one may belong to another pair.
                self.is_repeated_on_line(piece) && !is_bracket(self.word(piece))
                    || self.word(piece) == ";" && piece > 0 && self.word(piece - 1) == "}"
            }
            // Events stand in brackets of two kinds: which of a pair is wrong nobody knows.
            Kind::Replace { text, .. } if is_bracket(text) && self.language == Language::Hml => false,
            Kind::Replace { piece, text } => {
                let is_word = self.pieces.get(piece).is_some_and(|piece| piece.kind == PieceKind::Word);
                candidate::are_alike(self.word(piece), text)
                    || is_word && suggest::closest(self.word(piece), [text]).is_some()
            }
            Kind::Swap { piece } => {
                self.pieces.get(piece + 1).is_some_and(|next| next.indent.is_none())
                    && !self.leaves_a_comma_alone(piece)
                    && !self.moves_a_bracket(piece)
            }
        }
    }

    /// Whether something has to stand between what is before a piece and a bracket that closes.
    fn expects_more(&self, before: usize) -> bool {
        let last = before.checked_sub(1).map_or("", |last| self.word(last));
        matches!(last, "," | "and" | "or" | "when" | "not" | "&&" | "||")
    }

    /// Whether the bracket that is open before a piece stands at the end of its line, as that of a block.
    fn opens_at_the_end(&self, before: usize) -> bool {
        candidate::opening_piece(self, before)
            .is_some_and(|open| self.pieces.get(open + 1).is_none_or(|next| next.indent.is_some()))
    }

    /// Whether swapping a piece and the one behind it makes other brackets of them, or moves a type out of its brackets or into them.
    fn moves_a_bracket(&self, piece: usize) -> bool {
        let (left, right) = (self.word(piece), self.word(piece + 1));
        let opens = |word: &str| matches!(word, "(" | "[" | "{" | "<");
        match (is_bracket(left), is_bracket(right)) {
            (true, true) => opens(left) || opens(right),
            (true, false) => right == ":",
            (false, true) => left == ":",
            (false, false) => false,
        }
    }

    /// Whether the bracket that is open before a piece of an `.hml` text is a brace or a bracket behind the label of a message, which has
    /// parentheses.
    fn opens_behind_a_label(&self, before: usize) -> bool {
        let label = candidate::opening_piece(self, before).and_then(|open| open.checked_sub(1));
        self.language == Language::Hml
            && label.is_some_and(|label| {
                self.pieces[label].kind == PieceKind::Word && label > 0 && self.word(label - 1) == ":"
            })
    }

    /// Whether swapping a piece and the one behind it puts a comma where nothing stands before or behind it.
    fn leaves_a_comma_alone(&self, piece: usize) -> bool {
        let before = piece.checked_sub(1).map_or("", |before| self.word(before));
        let is_part = |word: &str| word.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"'));
        let begins = |word: &str| is_part(word) || matches!(word, "(" | "[" | "{" | "-" | "!");
        let ends = |word: &str| is_part(word) || matches!(word, ")" | "]" | "}");
        self.word(piece) == "," && !begins(self.word(piece + 2))
            || self.word(piece + 1) == "," && !ends(before)
    }

    /// Whether `)` before a piece would close a call of a predicate without arguments.
    fn calls_with_nothing(&self, before: usize) -> bool {
        before >= 4 && self.word(before - 1) == "(" && matches!(self.word(before - 3), "." | "[")
    }

    /// Whether `,` before a piece separates fields for certain. In a payload of a `.scr` text it stands behind a type that is known or has
    /// a name before it, in a pattern of an `.hml` text before a name: anything else may be no field.
    fn separates_fields(&self, before: usize) -> bool {
        if self.language == Language::Hml {
            return self.word(before + 1) == ":";
        }
        self.language != Language::Scr
            || candidate::opening_piece(self, before).is_none_or(|open| self.word(open) != "(")
            || before >= 2 && self.word(before - 2) == ":"
            || self.ends_a_payload(before)
    }

    /// Whether nothing else seems to be wrong near `candidate`, after which the text is `corrected`.
    pub(super) fn is_all(&self, candidate: &Candidate, corrected: &str) -> bool {
        let count = self.pieces.len();
        let expected = match &candidate.kind {
            Kind::Slip { .. } if candidate.doubtful || !self.says_the_same(corrected) => return false,
            Kind::Slip { .. } => None,
            Kind::Insert { .. } => Some(count + 1),
            Kind::Delete { .. } => count.checked_sub(1),
            Kind::Replace { .. } | Kind::Swap { .. } => Some(count),
        };
        // What runs together changes words that nobody complained about.
        let runs_together =
            expected.is_some_and(|expected| pieces(corrected, self.language).len() != expected);
        // A bracket that is written twice need not be closed twice.
        let is_twice = |piece: usize| matches!(self.word(piece), "{" | "(" | "[") && self.is_repeated(piece);
        let closes_twice = matches!(candidate.kind, Kind::Insert { before, text: "}" | ")" | "]" }
            if candidate::opening_piece(self, before).is_some_and(|open| (open..before).any(is_twice)));
        !runs_together
            && !closes_twice
            && !self.closes_a_line_written_twice(&candidate.kind)
            && !self.has_run_together(&candidate.edits)
            && !self.is_read_in_two_ways(&candidate.edits, corrected)
            && keeps::keeps(self, candidate, corrected)
    }

    /// Whether a bracket is closed that stands open in two lines that are the same.
    fn closes_a_line_written_twice(&self, kind: &Kind) -> bool {
        let Kind::Insert { before, text: "}" | ")" | "]" } = *kind else { return false };
        let start = candidate::opening_piece(self, before).map_or(0, |open| self.pieces[open].range.start);
        let first = self.text[..start]
            .trim_end_matches(|c| c != '\n')
            .trim_end()
            .rfind('\n')
            .map_or(0, |end| end + 1);
        let lines: Vec<&str> = self.text[first..].lines().map(str::trim).take(MAX_LINES).collect();
        let is_opening = |line: &str| line.ends_with(['{', '(', '[']);
        lines.windows(2).any(|pair| pair[0] == pair[1] && is_opening(pair[0]))
    }

    /// Whether one of `edits` lies in a condition of a `corrected` text that nuScr reads otherwise than most languages: who has not
    /// written it as nuScr does need not mean what nuScr reads.
    fn is_read_in_two_ways(&self, edits: &[Edit], corrected: &str) -> bool {
        if self.language != Language::Scr {
            return false;
        }
        let scene = Scene::new(corrected, self.language, Span::at(0));
        let mut shift = 0_isize;
        edits.iter().any(|edit| {
            let start = (edit.span.start as usize).saturating_add_signed(shift);
            shift += edit.text.len() as isize - edit.span.range().len() as isize;
            let piece = |at: usize| scene.pieces.partition_point(|piece| piece.range.end <= at);
            let places = piece(start).saturating_sub(1)..piece(start + edit.text.len()) + 1;
            conditions::is_read_in_two_ways(&scene, places)
        })
    }

    /// Whether every name in a `corrected` text is the author's: words that run together are new ones.
    fn says_the_same(&self, corrected: &str) -> bool {
        let mut own: FxHashSet<&str> = FxHashSet::default();
        for word in (0..self.pieces.len()).map(|piece| self.word(piece)) {
            own.extend([word, word.trim_matches('\'')]);
            // A quotation mark may have hidden words.
            if word.starts_with('"') {
                own.extend(word.split(|c: char| !c.is_alphanumeric() && c != '_'));
            }
        }
        let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let is_known = |word: &str| {
            candidate::is_keyword(word, self.language)
                || payload::builtin(word).is_some()
                || matches!(word, "within" | "true" | "false" | "not")
        };
        words(corrected, self.language).iter().all(|word| {
            let word = word.trim_matches('\'');
            !is_name(word) || own.contains(word) || is_known(word)
        })
    }

    /// Whether a bracket before a piece can only close the one that is open there: a bracket between them could be the one that is not
    /// closed, unless it is laid out with its own.
    fn closes_the_last(&self, before: usize) -> bool {
        let Some(open) = candidate::opening_piece(self, before) else { return true };
        let line = |piece: usize| self.text[..self.pieces[piece].range.start].matches('\n').count();
        let kind = self.word(open);
        (open + 1..before).filter(|&inner| self.word(inner) == kind).all(|inner| {
            let close = self.closing(inner);
            close < before
                && line(open) != line(inner)
                && (line(close) == line(inner)
                    || self.pieces[close].indent == Some(self.indent_at(self.pieces[inner].range.start)))
        })
    }

    /// Whether the parenthesis that is open before a piece may have been meant to close before any of the connectives behind it.
    fn joins(&self, before: usize) -> bool {
        candidate::opening_piece(self, before).is_some_and(|open| conditions::joins(self, open..before))
    }

    /// Whether `:` before a piece, if it stands in a payload, is followed by a type and not preceded by one.
    fn precedes_a_type(&self, before: usize) -> bool {
        let is_type =
            |piece: Option<usize>| piece.is_some_and(|piece| payload::builtin(self.word(piece)).is_some());
        let in_payload = matches!(self.language, Language::Scr | Language::St)
            && candidate::opening_piece(self, before).is_some_and(|open| self.word(open) == "(");
        let is_keyword =
            before.checked_sub(1).is_some_and(|name| candidate::is_keyword(self.word(name), self.language));
        !in_payload || is_type(Some(before)) && !is_type(before.checked_sub(1)) && !is_keyword
    }

    /// Whether `)` before a piece of a `.scr` or `.st` text stands behind a type that is known, if it ends a payload.
    fn ends_a_payload(&self, before: usize) -> bool {
        let Some(last) = before.checked_sub(1).filter(|last| self.pieces[*last].kind == PieceKind::Word)
        else {
            return true;
        };
        let is_list = candidate::opening_piece(self, before).is_none_or(|open| {
            let keyword = open.checked_sub(2).map_or("", |piece| self.word(piece));
            matches!(keyword, "protocol" | "do" | "calls")
        });
        let name = self.word(last);
        let is_declared = || {
            let mut pairs = self.pieces.windows(2);
            pairs.any(|pair| {
                let [keyword, declared] = [&pair[0], &pair[1]].map(|piece| &self.text[piece.range.clone()]);
                matches!(keyword, "type" | "as") && declared == name
            })
        };
        let is_payload = match self.language {
            Language::Scr => !is_list,
            Language::St => last > 0 && self.word(last - 1) == ":",
            _ => false,
        };
        !is_payload || payload::builtin(name).is_some() || is_declared()
    }

    /// Whether a word near one of `edits` is two words that have run together: then something else is missing, between them.
    fn has_run_together(&self, edits: &[Edit]) -> bool {
        let words: FxHashMap<&str, usize> =
            (0..self.pieces.len()).fold(FxHashMap::default(), |mut words, piece| {
                *words.entry(self.word(piece)).or_default() += 1;
                words
            });
        let is_known = |word: &str| words.contains_key(word) && word.starts_with(char::is_alphabetic);
        let is_double = |piece: usize| {
            let word = self.word(piece);
            let mut parts = word.char_indices().skip(1).map(|(at, _)| word.split_at(at));
            words.get(word) == Some(&1)
                && parts.any(|(left, right)| match (is_known(left), is_known(right)) {
                    (true, true) => true,
                    (true, false) => left.len() >= SHORT,
                    (false, true) => right.len() >= SHORT,
                    (false, false) => false,
                })
        };
        // What is replaced is gone, unless it only changes places.
        let is_left = |piece: usize| {
            let (span, word) = (self.span(piece), self.word(piece));
            edits.iter().any(|edit| edit.text == word)
                || edits.iter().all(|edit| edit.span.end <= span.start || span.end <= edit.span.start)
        };
        edits.iter().any(|edit| {
            let at = self.pieces.partition_point(|piece| piece.range.end <= edit.span.start as usize);
            (at.saturating_sub(2)..at + 3).any(|piece| is_left(piece) && is_double(piece))
        })
    }

    pub(super) fn is_repeated_on_line(&self, piece: usize) -> bool {
        let same = |left: usize, right: usize| {
            self.word(left) == self.word(right)
                && self.pieces.get(right).is_some_and(|right| right.indent.is_none())
        };
        same(piece, piece + 1) || piece > 0 && same(piece - 1, piece)
    }

    pub(super) fn is_repeated(&self, piece: usize) -> bool {
        let word = self.word(piece);
        word == self.word(piece + 1) || piece > 0 && word == self.word(piece - 1)
    }
}
