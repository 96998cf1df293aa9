//! Slips in how the blocks of `.scr` texts begin, and how they are joined.

use super::{Candidate, Scene, insert, refused, replace, slip};
use crate::diagnostics::Edit;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(joiner(scene));
    found.extend(no_braces(scene));
    found.extend(alternative(scene));
    found.extend(branch_without_brace(scene));
    found.extend(chooser_in_parentheses(scene));
    found.extend(cases(scene));
    found.extend(condition(scene));
    found.extend(chooser_of_par(scene));
    found.extend(name_in_parentheses(scene));
    found.extend(data_before_name(scene));
    found.extend(inner_protocol(scene));
    found.extend(role_in_body(scene));
    found
}

/// The block that the brace `close` closes: the piece at which it opens, and the word at which what it belongs to begins.
fn block<'a>(scene: &Scene<'a>, close: usize) -> Option<(usize, &'a str)> {
    let mut open = super::super::candidate::opening_piece(scene, close)?;
    loop {
        let is_head = |piece: &usize| matches!(scene.word(*piece), "choice" | "par");
        let first = open.saturating_sub(6);
        let head = (first..open)
            .rev()
            .take_while(|&piece| !matches!(scene.word(piece), "}" | ";" | "{"))
            .find(is_head);
        if let Some(head) = head {
            return Some((open, scene.word(head)));
        }
        // A later branch or block.
        let before = (first..open).rev().find(|&piece| scene.word(piece) == "}")?;
        (before + 3 > open).then_some(())?;
        open = super::super::candidate::opening_piece(scene, before)?;
    }
}

/// `} and {` in a choice, `} or {` in a `par`, `}, {`, `} {`: branches are joined by `or`, blocks by `and`.
fn joiner(scene: &Scene<'_>) -> Option<Candidate> {
    let close = (scene.at.saturating_sub(2)..=scene.at).rev().find(|&piece| scene.word(piece) == "}")?;
    let (_, head) = block(scene, close)?;
    let (right, message) = match head {
        "par" => ("and", "blocks side by side are joined by `and`"),
        _ => ("or", "branches are joined by `or`"),
    };
    let wrong = scene.word(close + 1);
    let is_joined = matches!(wrong, "or" | "and" | "," | "|" | "||" | "&" | "&&" | "+" | "with" | "else");
    match (is_joined && wrong != right, scene.word(close + 2)) {
        (true, "{") => {
            let span = scene.span(close + 1);
            let gap = Span { start: scene.span(close).end, end: scene.span(close + 2).start };
            let found = slip(span, message, format!("write `{right}`"), [replace(gap, format!(" {right} "))]);
            // Or `par` is the wrong word, or `choice`.
            let is_other =
                matches!((head, wrong), ("par", "or" | "else" | "|" | "||") | ("choice", "and" | "&" | "&&"));
            Some(found.doubtful_if(is_other))
        }
        _ if wrong == "{" => {
            let span = scene.span(close + 1);
            let gap = Span { start: scene.span(close).end, end: span.start };
            Some(slip(span, message, format!("write `{right}`"), [replace(gap, format!(" {right} "))]))
        }
        _ => None,
    }
}

/// `m() from A to B else n() from A to B;`
fn alternative(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let is_word = |piece: &usize| matches!(scene.word(*piece), "else" | "or" | "otherwise" | "|" | "||");
    let word = (statement.start + 4..statement.end).find(is_word)?;
    let is_message = |pieces: std::ops::Range<usize>| pieces.clone().any(|piece| scene.word(piece) == "from");
    let (one, other) = (statement.start..word, word + 1..statement.end);
    let has_condition = one.clone().any(|piece| scene.word(piece) == "where");
    if has_condition || !is_message(one.clone()) || !is_message(other.clone()) {
        return None;
    }
    let from = one.clone().find(|&piece| scene.word(piece) == "from")?;
    let help = format!(
        "write `choice at {} {{ {}; }} or {{ {}; }}`",
        scene.word(from + 1),
        scene.words(one),
        scene.words(other)
    );
    let skipped = scene.spans(word..statement.end);
    Some(refused(scene.span(word), "a choice is written `choice at`", help, skipped))
}

/// `choice at A { m() …; or n() …; }`, `choice at A { m() …; } or n() …;`
fn branch_without_brace(scene: &Scene<'_>) -> Option<Candidate> {
    let or = scene.statement().start;
    let is_message = scene.is_word(or + 1) && matches!(scene.word(or + 2), "(" | "from");
    if scene.word(or) != "or" || !is_message || scene.word(or + 1) == "from" {
        return None;
    }
    let message = "each branch stands between `{` and `}`";
    let help = format!("write `}} or {{ {}(…) … }}`", scene.word(or + 1));
    if scene.word(or.checked_sub(1)?) == "}" {
        // Where the branch ends nobody knows.
        let skipped = scene.spans(or..scene.statement().end + 1);
        return Some(refused(scene.span(or), message, help, skipped));
    }
    let gap = scene.span(or);
    Some(slip(scene.span(or), message, help, [replace(gap, "} or {")]).doubtful())
}

/// `switch (A) {`, `if (A) {`, where `A` is a role and branches follow.
fn chooser_in_parentheses(scene: &Scene<'_>) -> Option<Candidate> {
    let is_head = |piece: &usize| {
        matches!(scene.word(*piece), "switch" | "select" | "choose" | "branch" | "choice" | "match" | "alt")
            && scene.word(piece + 1) == "("
            && scene.word(piece + 3) == ")"
            && scene.word(piece + 4) == "{"
    };
    let head = (scene.at.saturating_sub(5)..=scene.at).find(is_head)?;
    let chooser = scene.word(head + 2);
    let is_role = (1..head).any(|at| scene.word(at - 1) == "role" && scene.word(at) == chooser);
    let joins = scene.word(scene.closing(head + 4) + 1) == "or";
    let right = format!("choice at {chooser}");
    let span = scene.spans(head..head + 4);
    (is_role && joins).then(|| {
        slip(span, "a choice is written `choice at`", format!("write `{right} {{`"), [replace(span, right)])
    })
}

/// `choice at A m() …; or n() …;`
fn no_braces(scene: &Scene<'_>) -> Option<Candidate> {
    let choice =
        (scene.at.saturating_sub(5)..=scene.at).rev().find(|&piece| scene.word(piece) == "choice")?;
    let first = choice + 3;
    if scene.word(choice + 1) != "at" || !scene.is_word(first - 1) || !scene.is_word(first) {
        return None;
    }
    let end = super::super::candidate::opening_piece(scene, choice)
        .map_or(scene.pieces.len(), |open| scene.closing(open));
    let mut edits: Vec<Edit> = vec![insert(scene.span(first - 1).end, " {")];
    let mut depth = 0_usize;
    for piece in first..end {
        match scene.word(piece) {
            "{" => depth += 1,
            "}" => depth = depth.checked_sub(1)?,
            "or" if depth == 0 => edits.push(replace(scene.span(piece), "} or {")),
            _ => {}
        }
    }
    edits.push(insert(scene.span(end.checked_sub(1)?).end, " }"));
    let help = format!("write `choice at {} {{ … }} or {{ … }}`", scene.word(first - 1));
    let is_choice = edits.len() > 2;
    let found = slip(scene.spans(choice..first), "each branch stands between `{` and `}`", help, edits);
    // What is the last of several statements may come after the choice.
    let last = (first..end).rev().find(|&piece| scene.word(piece) == "or")?;
    let statements = (last..end).filter(|&piece| scene.word(piece) == ";").count();
    is_choice.then(|| found.doubtful_if(statements > 1))
}

/// `switch (A) { case m: … }`, `alt A { … } else { … }` as in sequence diagrams.
fn cases(scene: &Scene<'_>) -> Option<Candidate> {
    let is_head =
        |piece: &usize| matches!(scene.word(*piece), "switch" | "match" | "select" | "case" | "when");
    let start = scene.statement().start;
    let head = (scene.at.saturating_sub(5)..=scene.at).find(is_head).or(Some(start).filter(is_head))?;
    let open = (head + 1..head + 6).find(|&piece| scene.word(piece) == "{")?;
    let close = scene.closing(open).min(scene.pieces.len().checked_sub(1)?);
    let has_cases = (open..close).any(|piece| matches!(scene.word(piece), "case" | "default" | "=>"));
    let help = "write `choice at A { m() from A to B; … } or { n() from A to B; … }`: the first messages tell the branches apart";
    has_cases.then(|| {
        refused(scene.span(head), "a choice is written `choice at`", help, scene.spans(head..close + 1))
    })
}

/// `if (x > 3) { … } else { … }`
fn condition(scene: &Scene<'_>) -> Option<Candidate> {
    let head = scene.statement().start;
    let close = (scene.word(head) == "if" && scene.word(head + 1) == "(").then(|| scene.closing(head + 1))?;
    let last = scene.pieces.len().checked_sub(1)?;
    if scene.word(close + 1) != "{" {
        return None;
    }
    let mut end = scene.closing(close + 1).min(last);
    while scene.word(end + 1) == "else" {
        let open = (end + 2..scene.pieces.len()).find(|&piece| scene.word(piece) == "{")?;
        end = scene.closing(open).min(last);
    }
    let condition = scene.words(head + 2..close);
    let message = "no condition chooses: a role does, and its first message tells the others";
    let help = format!("write `choice at A {{ m() from A to B where {condition}; … }} or {{ … }}`");
    Some(refused(scene.spans(head..close + 1), message, help, scene.spans(head..end + 1)))
}

/// `par at A { … }`
fn chooser_of_par(scene: &Scene<'_>) -> Option<Candidate> {
    let par = (scene.at.saturating_sub(2)..=scene.at).find(|&piece| scene.word(piece) == "par")?;
    if scene.word(par + 1) != "at" || !scene.is_word(par + 2) || scene.word(par + 3) != "{" {
        return None;
    }
    let gap = Span { start: scene.span(par).end, end: scene.span(par + 2).end };
    let message = "nobody chooses between blocks side by side: all of them happen";
    Some(slip(scene.spans(par + 1..par + 3), message, "write `par { … } and { … }`", [replace(gap, "")]))
}

/// `rec (X) {`, `continue (X);`
fn name_in_parentheses(scene: &Scene<'_>) -> Option<Candidate> {
    let is_word = |piece: &usize| matches!(scene.word(*piece), "rec" | "continue");
    let word = (scene.at.saturating_sub(4)..=scene.at).find(is_word)?;
    let open = word + 1;
    if scene.word(open) != "(" || !scene.is_word(open + 1) || scene.word(open + 2) != ")" {
        return None;
    }
    let name = scene.word(open + 1);
    let right = format!("{} {name}", scene.word(word));
    let whole = scene.spans(word..open + 3);
    let message = "the name of a recursion stands without parentheses";
    Some(slip(scene.spans(open..open + 3), message, format!("write `{right}`"), [replace(whole, right)]))
}

/// `rec [n: int = 0] X {`
fn data_before_name(scene: &Scene<'_>) -> Option<Candidate> {
    let rec = (scene.at.saturating_sub(2)..=scene.at).find(|&piece| scene.word(piece) == "rec")?;
    let close = (scene.word(rec + 1) == "[").then(|| scene.closing(rec + 1))?;
    if !scene.is_word(close + 1) || scene.word(close + 2) != "{" {
        return None;
    }
    let right = format!("{} {}", scene.word(close + 1), scene.words(rec + 1..close + 1));
    let whole = scene.spans(rec + 1..close + 2);
    let message = "the name of a recursion comes before its data";
    Some(slip(scene.span(close + 1), message, format!("write `rec {right} {{`"), [replace(whole, right)]))
}

/// A protocol in the body of another.
fn inner_protocol(scene: &Scene<'_>) -> Option<Candidate> {
    let is_head = |piece: &usize| scene.word(*piece) == "protocol" && scene.word(piece + 2) == "(";
    let head = (scene.at.saturating_sub(2)..=scene.at + 1).find(is_head)?;
    super::super::candidate::opening_piece(scene, head)?;
    let first = head - usize::from(matches!(scene.word(head - 1), "global" | "aux" | "explicit"));
    let open = (head..scene.pieces.len()).find(|&piece| scene.word(piece) == "{")?;
    let close = scene.closing(open).min(scene.pieces.len().checked_sub(1)?);
    let name = scene.word(head + 1);
    let help = format!("move it out, and write `do {name}(…);` where it happens");
    let mut found = refused(
        scene.spans(head..head + 2),
        "a protocol is not declared inside another",
        help,
        scene.spans(first..close + 1),
    );
    // A `}` that is missing before it is likelier where the text goes on to its end.
    found.cost = if close + 1 < scene.pieces.len() { 0 } else { 6 };
    Some(found)
}

/// `role C;` or `roles A, B;` in the body.
fn role_in_body(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let is_list = (start + 1..statement.end).all(|piece| scene.is_word(piece) || scene.word(piece) == ",");
    if !matches!(scene.word(start), "role" | "roles" | "participant" | "participants")
        || statement.len() < 2
        || !is_list
    {
        return None;
    }
    let names: Vec<&str> = (start + 1..statement.end)
        .filter(|&piece| scene.is_word(piece))
        .map(|piece| scene.word(piece))
        .collect();
    let list = names
        .iter()
        .filter(|name| **name != "role")
        .map(|name| format!("role {name}"))
        .collect::<Vec<_>>()
        .join(", ");
    let end = statement.end + usize::from(scene.word(statement.end) == ";");
    let help = format!("write `protocol …({list})`, and remove it here");
    Some(refused(scene.spans(statement), "roles are declared in the header", help, scene.spans(start..end)))
}
