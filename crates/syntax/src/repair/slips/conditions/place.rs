//! Where conditions stand, how they are written there, and how their operators are read.

use std::ops::Range;

use super::Scene;
use crate::language::Language;

/// How far back a condition may have begun, and how long it may be.
const FAR: usize = 200;

/// How a condition writes that two values are the same, and that they are not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) equal: &'static str,
    pub(super) different: &'static str,
    /// Whether `and` and `or` are operators.
    pub(super) words: bool,
}

const CEL: Dialect = Dialect { equal: "==", different: "!=", words: false };
const NUSCR: Dialect = Dialect { equal: "=", different: "<>", words: false };

impl Dialect {
    /// Whether `&&` and `||` bind alike, and `not` reaches to the end.
    pub(super) fn is_nuscr(self) -> bool {
        self == NUSCR
    }
}

/// A condition, without what it stands in.
pub(super) struct Condition {
    pub(super) dialect: Dialect,
    pub(super) pieces: Range<usize>,
}

pub(super) fn is_connective(word: &str) -> bool {
    matches!(word, "&&" | "||" | "and" | "or" | "&" | "|" | "∧" | "∨" | "AND" | "OR")
}

pub(super) fn is_comparison(word: &str) -> bool {
    matches!(word, "==" | "=" | "===" | "!=" | "<>" | "<" | ">" | "<=" | ">=" | "≤" | "≥" | "≠" | "in")
}

fn is_arithmetic(word: &str) -> bool {
    matches!(word, "+" | "-" | "*" | "/" | "%" | "×" | "÷")
}

fn is_operator(word: &str) -> bool {
    is_connective(word) || is_comparison(word) || is_arithmetic(word) || matches!(word, "!" | "not" | "=>")
}

impl Condition {
    /// The pieces between the parentheses around `piece`, or all.
    pub(super) fn group(&self, scene: &Scene<'_>, piece: usize) -> Range<usize> {
        let mut depth = 0_usize;
        let mut start = self.pieces.start;
        for before in (self.pieces.start..piece).rev() {
            match scene.word(before) {
                ")" | "]" => depth += 1,
                "(" | "[" if depth == 0 => {
                    start = before + 1;
                    break;
                }
                "(" | "[" => depth -= 1,
                "," if depth == 0 => {
                    start = before + 1;
                    break;
                }
                _ => {}
            }
        }
        start..self.end_of_group(scene, piece)
    }

    fn end_of_group(&self, scene: &Scene<'_>, piece: usize) -> usize {
        let mut depth = 0_usize;
        for behind in piece..self.pieces.end {
            match scene.word(behind) {
                "(" | "[" => depth += 1,
                ")" | "]" if depth == 0 => return behind,
                ")" | "]" => depth -= 1,
                "," if depth == 0 => return behind,
                _ => {}
            }
        }
        self.pieces.end
    }

    /// The piece behind the operand that begins at `first`: a name, a call, a constant or parentheses.
    pub(super) fn operand_end(&self, scene: &Scene<'_>, first: usize) -> usize {
        let mut end = match scene.word(first) {
            "(" | "[" => scene.closing(first) + 1,
            _ => first + 1,
        };
        loop {
            end = match scene.word(end) {
                "." if scene.is_word(end + 1) => end + 2,
                "(" | "[" if scene.is_word(end - 1) => scene.closing(end) + 1,
                _ => return end.min(self.pieces.end),
            };
        }
    }
}

/// The condition in which a piece stands, if it stands in one.
pub(super) fn around(scene: &Scene<'_>, piece: usize) -> Option<Condition> {
    let (dialect, begin) = beginning(scene, piece)?;
    let start = begin + 1;
    let end = match scene.language {
        Language::Scr if scene.word(begin) == "where" => end_of_clause(scene, start),
        Language::Hml => (start..scene.pieces.len().min(start + FAR))
            .find(|&piece| matches!(scene.word(piece), "]" | "." | "->"))
            .unwrap_or(scene.pieces.len()),
        _ => scene.closing(begin),
    };
    let pieces = start..end.min(start + FAR);
    // What stands behind a condition may have been written into it.
    (piece <= pieces.end).then_some(Condition { dialect, pieces })
}

/// How the condition is written in which `piece` stands, and the piece that it stands behind.
fn beginning(scene: &Scene<'_>, piece: usize) -> Option<(Dialect, usize)> {
    let mut before = (piece.saturating_sub(FAR)..piece.min(scene.pieces.len())).rev();
    match scene.language {
        Language::Scr => {
            let mut closed = 0_usize;
            loop {
                let at = before.next()?;
                match scene.word(at) {
                    "where" => return Some((CEL, at)),
                    "{" if scene.in_parentheses(at) => return Some((NUSCR, at)),
                    ";" | "{" | "}" => return None,
                    "]" => closed += 1,
                    "[" if closed > 0 => closed -= 1,
                    "[" if at > 1 && matches!(scene.word(at - 2), "rec" | "continue") => {
                        return Some((NUSCR, at));
                    }
                    _ => {}
                }
            }
        }
        Language::St => {
            let bracket = before.find(|&piece| matches!(scene.word(piece), "[" | "]"))?;
            (scene.word(bracket) == "[").then_some((CEL, bracket))
        }
        Language::Hml => {
            let begin = before.find(|&piece| matches!(scene.word(piece), "when" | "]" | "." | "->"))?;
            (scene.word(begin) == "when").then_some((Dialect { words: true, ..CEL }, begin))
        }
        _ => None,
    }
}

/// Where the condition behind `where` ends.
fn end_of_clause(scene: &Scene<'_>, start: usize) -> usize {
    let mut depth = 0_usize;
    for piece in start..scene.pieces.len() {
        let word = scene.word(piece);
        match word {
            "(" | "[" => depth += 1,
            ")" | "]" if depth == 0 => return piece,
            ")" | "]" => depth -= 1,
            ";" | "{" | "}" | "@" | "within" | "after" => return piece,
            _ => {}
        }
        // The next statement, if the `;` is missing.
        let begins_line = scene.pieces[piece].indent.is_some() && scene.is_word(piece);
        if begins_line && piece > start && !is_operator(word) && !is_operator(scene.word(piece - 1)) {
            return piece;
        }
    }
    scene.pieces.len()
}

/// Whether one of `pieces` joins truth values.
pub(in crate::repair) fn joins(scene: &Scene<'_>, mut pieces: Range<usize>) -> bool {
    pieces.any(|piece| is_connective(scene.word(piece)))
}

/// Whether a refinement or data of a recursion in which one of `places` lies means one thing as nuScr reads it, and another as most
/// languages do: `a || b && c`, `not a || b`, `-a + b`.
pub(in crate::repair) fn is_read_in_two_ways(scene: &Scene<'_>, mut places: Range<usize>) -> bool {
    places.any(|piece| around(scene, piece).is_some_and(|condition| has_two_readings(scene, &condition)))
}

/// Whether a condition is read by nuScr otherwise than by most languages.
pub(super) fn has_two_readings(scene: &Scene<'_>, condition: &Condition) -> bool {
    if !condition.dialect.is_nuscr() {
        return false;
    }
    let is_end = |piece: usize| piece >= condition.pieces.end || !is_operator(scene.word(piece));
    condition.pieces.clone().any(|piece| {
        let group = || condition.group(scene, piece);
        match scene.word(piece) {
            "||" | "or" | "|" | "∨" => group().any(|other| {
                other > piece
                    && matches!(scene.word(other), "&&" | "and" | "&" | "∧")
                    && condition.group(scene, other) == group()
            }),
            "not" => !is_end(condition.operand_end(scene, piece + 1)),
            "-" if piece == group().start || scene.word(piece - 1) == "=" && is_data(scene, piece) => {
                !is_end(condition.operand_end(scene, piece + 1))
            }
            _ => false,
        }
    })
}

/// Whether a piece stands in the data of a recursion, where `=` gives the first value.
fn is_data(scene: &Scene<'_>, piece: usize) -> bool {
    beginning(scene, piece).is_some_and(|(_, begin)| scene.word(begin) == "[")
}
