//! When a correction is worth showing: a wrong one is worse than none. Those that are not still say where to go on reading.

use super::candidate::{self, Candidate, Kind};
use super::pieces::{PieceKind, pieces};
use super::{Reading, Scene, suggest};
use crate::language::Language;

/// Whether `candidate`, after which the text is `corrected` and reads as in `reading`, may well be what was meant.
pub(super) fn is_likely(scene: &Scene<'_>, candidate: &Candidate, corrected: &str, reading: Reading) -> bool {
    let is_whole = reading.unread == 0;
    match candidate.kind {
        Kind::Slip { .. } => true,
        // What is the first of a line is no repetition of what ends the line before it.
        Kind::Delete { piece } => !scene.is_repeated(piece) || scene.is_repeated_on_line(piece),
        Kind::Insert { before, text } => match text {
            _ if text.starts_with(char::is_alphabetic) && text == scene.word(before) => false,
            "(" | "[" | "{" | "<" => is_whole,
            // What these say is not said elsewhere in the text.
            "!" | "?" | "_" | "=" | "==" | "@" | "&&" | "&" | "+" => false,
            "end" => matches!(scene.word(before), "," | ")" | "}" | "") || scene.word(before + 1) == ":",
            _ if text.starts_with(char::is_alphabetic) => {
                matches!(scene.language, Language::Scr | Language::Fsm) && scene.word(before) != ":"
            }
            _ => true,
        },
        Kind::Replace { piece, text } => {
            let word = scene.word(piece);
            if scene.pieces.get(piece).is_some_and(|piece| piece.kind != PieceKind::Symbol) {
                word.eq_ignore_ascii_case(text) || suggest::closest(word, [text]).is_some()
            } else {
                candidate::are_alike(word, text) || is_whole
            }
        }
        Kind::Swap { .. } => pieces(corrected, scene.language).len() == scene.pieces.len(),
    }
}
