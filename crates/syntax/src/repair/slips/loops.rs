//! Loops of other languages in `.scr` texts.

use super::{Candidate, Scene, insert, refusal, replace, slip};
use crate::diagnostics::Edit;

const LOOPS: [&str; 9] =
    ["loop", "while", "repeat", "forever", "for", "until", "recursion", "recursive", "cycle"];

const MESSAGE: &str = "a loop is written `rec X { … continue X; }`";

const HELP: &str =
    "write `rec X { choice at A { … continue X; } or { … } }`, where `A` says whether it goes on";

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(named(scene));
    found.extend(conditional(scene));
    found.extend(exit(scene));
    found.extend(optional(scene));
    found.extend(fixed_point(scene));
    found.extend(continue_with(scene));
    found
}

/// nuScr's `continue X with { … };`, which it reads and does not implement.
fn continue_with(scene: &Scene<'_>) -> Option<Candidate> {
    let with = (scene.at.saturating_sub(2)..=scene.at + 2).find(|&piece| scene.word(piece) == "with")?;
    let start = with.checked_sub(2)?;
    if scene.word(start) != "continue" || scene.word(with + 1) != "{" {
        return None;
    }
    let last = scene.pieces.len().checked_sub(1)?;
    let close = scene.closing(with + 1).min(last);
    let message = "`continue … with { … }` is not supported: nothing happens beside a loop that goes on";
    let help = "write what happens before the `continue`, or as a protocol of its own";
    let mut found = refusal(scene.span(with), message, help, scene.span(with).to(scene.span(close)));
    found.cost = 0;
    Some(found)
}

/// `μX. …`, `mu X. …`
fn fixed_point(scene: &Scene<'_>) -> Option<Candidate> {
    let name = |piece: usize| {
        let word = scene.word(piece);
        let greek = word.strip_prefix(['μ', 'µ']);
        match greek.or((word == "mu").then_some("")) {
            Some("") if scene.is_word(piece + 1) && scene.word(piece + 2) == "." => {
                Some(scene.word(piece + 1))
            }
            Some(name) if !name.is_empty() && scene.word(piece + 1) == "." => Some(name),
            _ => None,
        }
    };
    let (head, name) =
        (scene.at.saturating_sub(2)..=scene.at).find_map(|piece| Some((piece, name(piece)?)))?;
    let around = super::super::candidate::opening_piece(scene, head).map(|open| scene.closing(open));
    let end = around.unwrap_or(scene.pieces.len()).max(head + 1);
    let help = format!("write `rec {name} {{ … continue {name}; }}`");
    let message = "this is the notation of papers, not of `.scr` files";
    let mut found = refusal(scene.span(head), message, help, scene.spans(head..end));
    // Where more is understood, more is said.
    found.cost = 3;
    Some(found)
}

/// `loop X { … }`: what has no `continue` would be done once.
fn named(scene: &Scene<'_>) -> Option<Candidate> {
    let is_head = |piece: &usize| {
        LOOPS.contains(&scene.word(*piece)) && scene.is_word(piece + 1) && scene.word(piece + 2) == "{"
    };
    let head = (scene.at.saturating_sub(2)..=scene.at).find(is_head)?;
    let (name, close) = (scene.word(head + 1), scene.closing(head + 2));
    let continues =
        (head..close).any(|piece| scene.word(piece) == "continue" && scene.word(piece + 1) == name);
    let mut edits: Vec<Edit> = vec![replace(scene.span(head), "rec")];
    let mut help = String::from("write `rec`");
    if !continues {
        let last = scene.span(close.checked_sub(1)?).end;
        let own_line = scene.pieces.get(close).and_then(|piece| piece.indent);
        let gap =
            own_line.map_or_else(|| String::from(" "), |indent| format!("\n{}", " ".repeat(indent + 2)));
        edits.push(insert(last, format!("{gap}continue {name};")));
        help = format!("write `rec {name} {{ … continue {name}; }}`");
    }
    Some(slip(scene.span(head), MESSAGE, help, edits))
}

/// `while (…) { … }`, `do { … } while (…);`, `repeat { … } until …;`, `loop { … }`.
fn conditional(scene: &Scene<'_>) -> Option<Candidate> {
    let is_head = |piece: &usize| {
        let next = scene.word(piece + 1);
        match scene.word(*piece) {
            "do" => next == "{",
            // `while n > 0 {`
            "while" | "until" | "for" => !matches!(next, "from" | "to" | "") || next == "(",
            word => LOOPS.contains(&word) && matches!(next, "(" | "{"),
        }
    };
    let first = scene.statement().start;
    let head = (scene.at.saturating_sub(3)..=scene.at).find(is_head).or_else(|| {
        // Reading may go on into the condition.
        Some(first).filter(is_head)
    })?;
    let open = match scene.word(head + 1) {
        "(" => scene.closing(head + 1) + 1,
        "{" => head + 1,
        _ => (head + 1..scene.pieces.len()).find(|&piece| matches!(scene.word(piece), "{" | ";"))?,
    };
    // `while (true) [n: int = 3] {`
    let open = if scene.word(open) == "[" { scene.closing(open) + 1 } else { open };
    if scene.word(open) != "{" {
        return None;
    }
    let mut last = scene.closing(open).min(scene.pieces.len().checked_sub(1)?);
    if matches!(scene.word(last + 1), "while" | "until") {
        last = (last..scene.pieces.len()).find(|&piece| scene.word(piece) == ";").unwrap_or(last);
    }
    let mut found = refusal(scene.span(head), MESSAGE, HELP, scene.spans(head..last + 1));
    found.cost = 0;
    Some(found)
}

/// `exit L;`
fn exit(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let is_exit = matches!(scene.word(start), "exit" | "break" | "leave" | "stop" | "quit");
    if !is_exit || statement.len() != 2 || !scene.is_word(start + 1) {
        return None;
    }
    let message = format!("there is no `{}`: a recursion ends where it is not continued", scene.word(start));
    let help =
        format!("remove it, and write `continue {};` in the branches that go on", scene.word(start + 1));
    let skipped = scene.spans(start..statement.end + usize::from(scene.word(statement.end) == ";"));
    let mut found = refusal(scene.spans(statement), message, help, skipped);
    found.cost = 0;
    Some(found)
}

/// `optional at A { … }`
fn optional(scene: &Scene<'_>) -> Option<Candidate> {
    let is_head = |piece: &usize| matches!(scene.word(*piece), "optional" | "opt" | "option" | "maybe");
    let head = (scene.at.saturating_sub(2)..=scene.at).find(is_head)?;
    let open = (head + 1..head + 4).find(|&piece| scene.word(piece) == "{")?;
    let close = scene.closing(open).min(scene.pieces.len().checked_sub(1)?);
    let message = format!("there is no `{}`: who waits must learn that nothing comes", scene.word(head));
    let help = "write `choice at A { … } or { None() from A to B; }`, with a message for the other case";
    let mut found = refusal(scene.span(head), message, help, scene.spans(head..close + 1));
    found.cost = 0;
    Some(found)
}
