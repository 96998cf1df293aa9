//! Operators of other languages in conditions: `or`, `|`, `===`, `<>`, `:=`, `==>`. What looks likeliest to a parser would often
//! say the opposite, so each has its own correction.

use super::{Candidate, Kind, Scene, replace, slip};
use crate::language::Language;
use crate::source::Span;

/// How far back a condition may have begun.
const FAR: usize = 200;

/// How a condition writes that two values are the same, and that they are not.
#[derive(Clone, Copy)]
struct Dialect {
    equal: &'static str,
    different: &'static str,
    /// Whether `and` and `or` are operators.
    words: bool,
}

const CEL: Dialect = Dialect { equal: "==", different: "!=", words: false };

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    (scene.at.saturating_sub(2)..=scene.at + 1).filter_map(|piece| operator(scene, piece)).collect()
}

fn operator(scene: &Scene<'_>, piece: usize) -> Option<Candidate> {
    let dialect = dialect(scene, piece)?;
    let span = run(scene, piece)?;
    let wrong = scene.text.get(span.range()).unwrap_or_default();
    let right = match wrong {
        "and" | "&" | "∧" if !dialect.words => "&&",
        "or" | "|" | "∨" if !dialect.words => "||",
        "∧" => "and",
        "∨" => "or",
        "≤" => "<=",
        "≥" => ">=",
        "¬" | "not" if !dialect.words => "!",
        "is" | "equals" | "eq" => dialect.equal,
        "≠" | "ne" => dialect.different,
        "True" | "TRUE" => "true",
        "False" | "FALSE" => "false",
        "mod" => "%",
        "=" | "===" | ":=" | "==" if wrong != dialect.equal => dialect.equal,
        "<>" | "!=" | "!==" | "=/=" | "/=" | "~=" if wrong != dialect.different => dialect.different,
        "==>" | "-->" | "->" | "⇒" | "⟹" => return Some(implication(scene, span)),
        "**" | "^" | "?" | "~" | "∈" | "matches" | "like" | "contains" | "xor" | "=~" => {
            return Some(unknown(span, wrong));
        }
        _ => return None,
    };
    let message = match wrong {
        "and" | "or" => format!("in conditions, `{wrong}` is written `{right}`"),
        "=" | "===" | ":=" | "==" => format!("equality is written `{right}`"),
        _ => format!("this operator is written `{right}`, not `{wrong}`"),
    };
    Some(slip(span, message, format!("write `{right}`"), [replace(span, right)]))
}

/// `a ==> b`: nothing of one word says that.
fn implication(scene: &Scene<'_>, span: Span) -> Candidate {
    let wrong = scene.text.get(span.range()).unwrap_or_default();
    let message = format!("conditions have no `{wrong}`");
    let help = String::from("write `!( … ) || …`: the first does not hold, or the second does");
    let kind = Kind::Slip { span, message, help, corrects: false };
    Candidate::new([replace(span, "&&")], kind, 0)
}

/// `a ** b`: which operator was meant nobody knows.
fn unknown(span: Span, wrong: &str) -> Candidate {
    let message = format!("conditions have no operator `{wrong}`");
    let help = String::from("docs/languages/conditions.md lists the operators and functions");
    let kind = Kind::Slip { span, message, help, corrects: false };
    Candidate::new([replace(span, "==")], kind, 0)
}

/// The whole operator of which a piece is a part.
fn run(scene: &Scene<'_>, piece: usize) -> Option<Span> {
    let span = scene.pieces.get(piece).map(|_| scene.span(piece))?;
    if scene.is_word(piece) {
        return Some(span);
    }
    let is_part = |c: &u8| b"=<>!:&|~/-".contains(c);
    let bytes = scene.text.as_bytes();
    if !scene.text.get(span.range())?.is_ascii() || matches!(scene.word(piece), "**" | "^" | "?") {
        return Some(span);
    }
    if !bytes.get(span.range())?.iter().all(is_part) {
        return None;
    }
    let start = bytes[..span.range().start].iter().rev().take_while(|c| is_part(c)).count();
    let end = bytes[span.range().end..].iter().take_while(|c| is_part(c)).count();
    Some(Span::new(span.range().start - start, span.range().end + end))
}

/// How the condition is written in which a piece stands, if it stands in one.
fn dialect(scene: &Scene<'_>, piece: usize) -> Option<Dialect> {
    let mut before = (piece.saturating_sub(FAR)..piece).rev();
    match scene.language {
        Language::Scr => {
            let begin = before.find(|&piece| matches!(scene.word(piece), "where" | ";" | "{" | "}"))?;
            match scene.word(begin) {
                "where" => Some(CEL),
                "{" if scene.in_parentheses(begin) => Some(Dialect { equal: "=", different: "<>", ..CEL }),
                _ => None,
            }
        }
        Language::St => {
            let bracket = before.find(|&piece| matches!(scene.word(piece), "[" | "]"))?;
            (scene.word(bracket) == "[").then_some(CEL)
        }
        Language::Hml => {
            let begin = before.find(|&piece| matches!(scene.word(piece), "when" | "]" | "." | "->"))?;
            (scene.word(begin) == "when").then_some(Dialect { words: true, ..CEL })
        }
        _ => None,
    }
}
