//! Slips around the names in `.scr` texts: of roles, labels, protocols and recursions.

use std::ops::Range;

use super::super::candidate::PLACEHOLDER;
use super::{Candidate, Kind, Scene, insert, refusal, replace, slip};
use crate::diagnostics::Edit;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(decorated_roles(scene));
    found.extend(quoted_name(scene));
    found.extend(nameless_protocol(scene));
    found.extend(nameless_recursion(scene));
    found.extend(label_of_two_words(scene));
    found.extend(scoped_statement(scene));
    found
}

/// `from role a`, `from: a`, `choice at (a)`, `to {a, b}`: the name alone belongs there.
fn decorated_roles(scene: &Scene<'_>) -> Option<Candidate> {
    let start = scene.statement().start;
    let end = (scene.at..scene.pieces.len()).find(|&piece| scene.word(piece) == ";");
    let pieces = start..end.unwrap_or(scene.pieces.len()).min(scene.at + 20);
    let (mut edits, mut first) = (Vec::new(), None);
    for piece in pieces.filter(|&piece| matches!(scene.word(piece), "from" | "to" | "at")) {
        let next = piece + 1;
        match scene.word(next) {
            "role" if scene.is_word(next + 1) && !matches!(scene.word(next + 1), "to" | "where") => {
                edits.push(replace(scene.with_blanks(next), ""));
            }
            ":" if scene.is_word(next + 1) => edits.push(replace(scene.span(next), "")),
            "(" | "{" | "[" => {
                let close = scene.closing(next);
                if !are_names(scene, next + 1..close, scene.word(piece) == "to") {
                    continue;
                }
                edits.extend([replace(scene.span(next), ""), replace(scene.span(close), "")]);
            }
            _ => continue,
        }
        first = first.or(Some((piece, next)));
    }
    let (keyword, decoration) = first?;
    let name = (decoration..scene.pieces.len())
        .find(|&piece| scene.is_word(piece) && scene.word(piece) != "role")
        .map_or("", |piece| scene.word(piece));
    let help = format!("write `{} {name}`", scene.word(keyword));
    Some(slip(scene.span(decoration), "a role is named here by its name alone", help, edits))
}

/// Whether `pieces` are one name, or names between commas if there may be `several`.
fn are_names(scene: &Scene<'_>, pieces: Range<usize>, several: bool) -> bool {
    let right = |piece: usize| match (piece - pieces.start) % 2 {
        0 => scene.is_word(piece),
        _ => scene.word(piece) == ",",
    };
    pieces.len() % 2 == 1 && (several || pieces.len() == 1) && pieces.clone().all(right)
}

const QUOTES: [&str; 10] = ["“", "”", "„", "«", "»", "‘", "’", "'", "`", "´"];

/// `“Login”(…)`, `"Login"(…)`.
fn quoted_name(scene: &Scene<'_>) -> Option<Candidate> {
    let quoted = |piece: usize| {
        let word = scene.word(piece);
        if let Some(inside) = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            return Some((inside, scene.span(piece)));
        }
        let name = scene.word(piece + 1);
        let closed = QUOTES.contains(&scene.word(piece + 2));
        let opened = QUOTES.contains(&word) && scene.is_word(piece + 1);
        match name.strip_suffix('\'') {
            Some(inside) if opened && word == "'" => Some((inside, scene.spans(piece..piece + 2))),
            _ => (opened && closed).then(|| (name, scene.spans(piece..piece + 3))),
        }
    };
    let (name, span) = (scene.at.saturating_sub(1)..=scene.at).find_map(quoted)?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let message = "names stand without quotation marks";
    let mut found = slip(span, message, format!("write `{name}`"), [replace(span, name)]);
    // Of what may be a text as well, the marks are mistaken rather.
    found.cost = 2;
    is_name.then_some(found)
}

/// A slip whose correction needs a name that only the author knows.
fn nameless(at: Span, message: &str, help: &str) -> Candidate {
    let kind = Kind::Slip { span: at, message: message.into(), help: help.into(), corrects: false };
    Candidate::new([insert(at.end, format!(" {PLACEHOLDER}"))], kind, 0)
}

/// `protocol (role A, role B) { … }`.
fn nameless_protocol(scene: &Scene<'_>) -> Option<Candidate> {
    let protocol = scene.at.checked_sub(1)?;
    let is_nameless = scene.word(protocol) == "protocol" && scene.word(scene.at) == "(";
    let help = "write `protocol NAME(…)`";
    is_nameless.then(|| nameless(scene.span(protocol), "the protocol has no name", help))
}

/// `rec { … }`: what its `continue` says is its name.
fn nameless_recursion(scene: &Scene<'_>) -> Option<Candidate> {
    let rec = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "rec")?;
    let open = match scene.word(rec + 1) {
        "[" => scene.closing(rec + 1) + 1,
        _ => rec + 1,
    };
    if scene.word(open) != "{" {
        return None;
    }
    let (span, message) = (scene.span(rec), "the recursion has no name");
    let continues = (rec..scene.closing(open)).filter(|&piece| scene.word(piece) == "continue");
    let mut names: Vec<&str> = continues.map(|piece| scene.word(piece + 1)).collect();
    names.dedup();
    match names[..] {
        [name] if name.starts_with(char::is_alphabetic) => Some(
            slip(span, message, format!("write `rec {name} {{`"), [insert(span.end, format!(" {name}"))])
                .doubtful(),
        ),
        _ => Some(nameless(span, message, "write `rec NAME { … continue NAME; }`")),
    }
}

/// `send m() from A to B`, `Log in() from A to B`.
fn label_of_two_words(scene: &Scene<'_>) -> Option<Candidate> {
    let start = scene.statement().start;
    let (first, second) = (scene.word(start), scene.word(start + 1));
    let is_message = scene.is_word(start)
        && scene.is_word(start + 1)
        && !matches!(first, "or" | "and" | "else")
        && scene.word(start + 2) == "("
        && scene.word(scene.closing(start + 2) + 1) == "from";
    if !is_message {
        return None;
    }
    let span = scene.spans(start..start + 2);
    let rest = Span { start: scene.span(start).start, end: scene.span(start + 1).start };
    if matches!(first, "send" | "message" | "msg" | "emit" | "call") {
        let message = format!("a message is written without `{first}`");
        return Some(slip(scene.span(start), message, format!("write `{second}(…)`"), [replace(rest, "")]));
    }
    let mut found = refusal(span, "a label is one word", format!("write `{first}_{second}(…)`"), rest);
    found.cost = 0;
    Some(found)
}

/// Scribble's `scope: do P(a, b);`.
fn scoped_statement(scene: &Scene<'_>) -> Option<Candidate> {
    let start = scene.statement().start;
    if !scene.is_word(start) || scene.word(start + 1) != ":" || scene.word(start + 2) != "do" {
        return None;
    }
    let scope = scene.spans(start..start + 2);
    Some(super::protocols::no_scopes(scene.word(start), scope))
}

/// What `; where …` and `} or choice at A {` and `(name = int)` should have been.
pub(super) fn out_of_place(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for piece in scene.at.saturating_sub(4)..=scene.at {
        let (before, word) =
            (piece.checked_sub(1).map_or("", |before| scene.word(before)), scene.word(piece));
        if (before, word) == (";", "where") {
            let span = scene.span(piece - 1);
            let message = "`where` belongs to the message: the `;` stands behind the condition";
            found.push(slip(span, message, "remove this `;`", [replace(span, "")]));
        }
        let head = [word, scene.word(piece + 1), scene.word(piece + 2), scene.word(piece + 4)];
        if head == ["or", "choice", "at", "{"] {
            let span = scene.spans(piece + 1..piece + 4);
            let skipped = Span { start: span.start, end: scene.span(piece + 4).start };
            let message = "who chooses is said at the first branch only";
            found.push(slip(span, message, "write `or {`", [replace(skipped, "")]));
        }
    }
    found.extend(equals_for_colon(scene));
    found
}

/// `m(x = int)`.
fn equals_for_colon(scene: &Scene<'_>) -> Option<Candidate> {
    let name = scene.at.checked_sub(1)?;
    if scene.word(scene.at) != "=" || !scene.is_word(name) || !scene.is_word(scene.at + 1) {
        return None;
    }
    if !matches!(scene.word(name.checked_sub(1)?), "(" | ",") {
        return None;
    }
    let right = format!("{}: {}", scene.word(name), scene.word(scene.at + 1));
    let span = scene.spans(name..scene.at + 2);
    let edits: [Edit; 1] = [replace(span, right.clone())];
    Some(slip(scene.span(scene.at), "the type stands behind a `:`", format!("write `{right}`"), edits))
}
