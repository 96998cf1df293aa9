//! Slips in the messages and choices of `.gt`, `.kmc` and `.st` texts.

use super::super::candidate::PLACEHOLDER;
use super::{Candidate, Scene, insert, refused, replace, slip, unsettled};
use crate::diagnostics::Edit;
use crate::language::Language;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    match scene.language {
        Language::Gt => {
            found.extend(arrow_of_two(scene));
            found.extend(no_sender(scene));
            found.extend(bare_label(scene));
            found.extend(no_continuation(scene));
        }
        Language::Kmc => {
            found.extend(action_first(scene));
            found.extend(branches_without_braces(scene));
        }
        Language::St => {
            found.extend(word_for_action(scene));
            found.extend(sum(scene));
            found.extend(field_of_two_words(scene));
        }
        _ => {}
    }
    found
}

/// `a - > b`
fn arrow_of_two(scene: &Scene<'_>) -> Option<Candidate> {
    let is_apart = |piece: &usize| scene.word(*piece) == "-" && scene.word(piece + 1) == ">";
    let first = (scene.at.saturating_sub(1)..=scene.at).find(is_apart)?;
    let all = (first..scene.pieces.len()).filter(is_apart);
    let edits: Vec<Edit> = all.map(|piece| replace(scene.spans(piece..piece + 2), "->")).collect();
    Some(slip(scene.spans(first..first + 2), "an arrow is one word, `->`", "write `->`", edits))
}

/// `-> b (l . end)`
fn no_sender(scene: &Scene<'_>) -> Option<Candidate> {
    let arrow = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "->")?;
    let is_one = arrow == 0 || matches!(scene.word(arrow - 1), "." | "(" | ",");
    let span = scene.span(arrow);
    let help = format!("write `NAME -> {}`", scene.word(arrow + 1));
    let edits = vec![insert(span.start, format!("{PLACEHOLDER} "))];
    (is_one && scene.is_word(arrow + 1)).then(|| unsettled(span, "it is not said who sends", help, edits))
}

/// `a -> b l . end`
fn bare_label(scene: &Scene<'_>) -> Option<Candidate> {
    let is_one = |label: &usize| {
        *label > 2 && scene.is_word(*label) && scene.is_word(label - 1) && scene.word(label - 2) == "->"
    };
    let label = (scene.at.saturating_sub(1)..=scene.at + 1).find(is_one)?;
    // What follows ends where what it stands in does.
    let mut depth = 0_usize;
    let end = (label..scene.pieces.len()).find(|&piece| {
        match scene.word(piece) {
            "(" => depth += 1,
            ")" | "," if depth == 0 => return true,
            ")" => depth -= 1,
            _ => {}
        }
        false
    });
    let last = scene.span(end.unwrap_or(scene.pieces.len()) - 1).end;
    let span = scene.span(label);
    let help = format!("write `({} . …)`", scene.word(label));
    let edits = vec![insert(span.start, "("), insert(last, ")")];
    Some(unsettled(span, "labels stand in parentheses", help, edits))
}

/// `a -> b (l)`
fn no_continuation(scene: &Scene<'_>) -> Option<Candidate> {
    let is_one = |label: &usize| {
        *label > 2
            && scene.is_word(*label)
            && matches!(scene.word(label - 1), "(" | ",")
            && matches!(scene.word(label + 1), ")" | ",")
    };
    let label = (scene.at.saturating_sub(1)..=scene.at).find(is_one)?;
    let (span, word) = (scene.span(label), scene.word(label));
    let help = format!("write `{word} . end`, or what comes next");
    let edits = vec![insert(span.end, " . end")];
    Some(unsettled(span, format!("what follows `{word}` is missing"), help, edits))
}

/// `!B.m; end`, where `.kmc` writes `B!m; end`.
fn action_first(scene: &Scene<'_>) -> Option<Candidate> {
    let is_one = |piece: &usize| {
        matches!(scene.word(*piece), "!" | "?")
            && scene.is_word(piece + 1)
            && scene.word(piece + 2) == "."
            && scene.is_word(piece + 3)
            && *piece > 0
            && matches!(scene.word(piece - 1), ":" | "{" | "," | ";" | ".")
    };
    let first = (scene.at.saturating_sub(3)..=scene.at).find(is_one)?;
    let right = |mark: usize| format!("{}{}{}", scene.word(mark + 1), scene.word(mark), scene.word(mark + 3));
    let all = (first..scene.pieces.len()).filter(is_one);
    let edits: Vec<Edit> = all.map(|mark| replace(scene.spans(mark..mark + 4), right(mark))).collect();
    let help = format!("write `{}`", right(first));
    let message = "the other role stands before `!` and `?`";
    Some(slip(scene.spans(first..first + 4), message, help, edits).doubtful())
}

/// `A: B!l; end, B!r; end`
fn branches_without_braces(scene: &Scene<'_>) -> Option<Candidate> {
    let comma = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == ",")?;
    if super::super::candidate::opening_piece(scene, comma).is_some() {
        return None;
    }
    let head = |piece: &usize| scene.word(*piece) == ":";
    let start = (0..comma).rev().find(head)? + 1;
    let next = (comma..scene.pieces.len()).find(head).map_or(scene.pieces.len(), |colon| colon - 1);
    let edits = vec![insert(scene.span(start).start, "{"), insert(scene.span(next - 1).end, "}")];
    let message = "the branches of a choice stand between braces";
    Some(slip(scene.span(comma), message, "write `{ … , … }`", edits).doubtful())
}

/// `recv B()`
fn word_for_action(scene: &Scene<'_>) -> Option<Candidate> {
    let action = |piece: usize| match scene.word(piece) {
        "recv" | "receive" | "input" | "rcv" => Some("?"),
        "send" | "output" | "snd" => Some("!"),
        _ => None,
    };
    let is_one =
        |piece: &usize| action(*piece).is_some() && scene.is_word(piece + 1) && scene.word(piece + 2) == "(";
    let word = (scene.at.saturating_sub(1)..=scene.at).find(is_one)?;
    let right = action(word)?;
    let gap = Span { start: scene.span(word).start, end: scene.span(word + 1).start };
    let what = if right == "?" { "what is received is written `?`" } else { "what is sent is written `!`" };
    let help = format!("write `{right}{}(…)`", scene.word(word + 1));
    Some(slip(scene.span(word), what, help, [replace(gap, right)]).doubtful())
}

/// `?A().end + ?B().end`, `?A().end | ?B().end`
fn sum(scene: &Scene<'_>) -> Option<Candidate> {
    let is_sum = |piece: &usize| {
        matches!(scene.word(*piece), "+" | "|" | "⊕" | "&") && matches!(scene.word(piece + 1), "!" | "?")
    };
    let sign = (scene.at.saturating_sub(1)..=scene.at).find(is_sum)?;
    let (choice, action) = if scene.word(sign + 1) == "?" { ("&", "?") } else { ("+", "!") };
    let help = format!("write `{choice}{{{action}…, {action}{}…}}`", scene.word(sign + 2));
    let last = scene.span(scene.pieces.len().checked_sub(1)?).end;
    let start = scene.span(sign.checked_sub(1)?).end;
    let message = "a choice stands between braces";
    Some(refused(scene.span(sign), message, help, Span { start, end: last }))
}

/// `!Get(user name: String)`
fn field_of_two_words(scene: &Scene<'_>) -> Option<Candidate> {
    let is_one = |piece: &usize| {
        *piece > 0
            && matches!(scene.word(piece - 1), "(" | ",")
            && scene.is_word(*piece)
            && scene.is_word(piece + 1)
            && scene.word(piece + 2) == ":"
    };
    let first = (scene.at.saturating_sub(1)..=scene.at).find(is_one)?;
    let (one, other) = (scene.word(first), scene.word(first + 1));
    let skipped = Span { start: scene.span(first).start, end: scene.span(first + 1).start };
    let help = format!("write `{one}_{other}: …`, or two fields with a comma between them");
    Some(refused(scene.spans(first..first + 2), "the name of a field is one word", help, skipped))
}
