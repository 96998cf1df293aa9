//! Slips in the data of recursions: `rec X [n<A>: int = 3] { … continue X [n - 1]; }`.

use std::ops::Range;

use super::{Candidate, Scene, insert, refused, replace, slip};
use crate::payload;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(type_first(scene));
    found.extend(roles_behind_type(scene));
    found.extend(untyped(scene));
    found.extend(condition(scene));
    found.extend(unbracketed(scene));
    found.extend(assignment(scene));
    found.extend(colon_for_block(scene));
    found
}

/// The data of the recursion near which reading got stuck: the pieces between `[` and `]`.
fn data(scene: &Scene<'_>) -> Option<Range<usize>> {
    const FAR: usize = 40;
    let is_open = |open: &usize| scene.word(*open) == "[" && *open > 1 && scene.word(open - 2) == "rec";
    let open = (scene.at.saturating_sub(FAR)..=scene.at).rev().find(is_open)?;
    let close = scene.closing(open);
    (close + 1 >= scene.at).then_some(open + 1..close)
}

/// One of the data: where it begins, its roles in angle brackets, and the piece behind them.
struct Datum {
    start: usize,
    roles: Range<usize>,
    next: usize,
}

/// The data in `pieces`, whose first words are `before` many before the roles.
fn each(scene: &Scene<'_>, pieces: Range<usize>, before: usize) -> Vec<Datum> {
    let starts = pieces.clone().filter(|&piece| piece == pieces.start || scene.word(piece - 1) == ",");
    let one = |start: usize| {
        let open = start + before;
        let is_roles = (start..open).all(|piece| scene.is_word(piece)) && scene.word(open) == "<";
        let close = (open..pieces.end).find(|&piece| scene.word(piece) == ">").filter(|_| is_roles);
        let roles = close.map_or(open..open, |close| open..close + 1);
        Datum { start, next: roles.end, roles }
    };
    starts.map(one).collect()
}

/// `rec X [int n<A> = 3]`, as in C.
fn type_first(scene: &Scene<'_>) -> Option<Candidate> {
    let pieces = data(scene)?;
    let is_one = |datum: &Datum| {
        scene.is_word(datum.start)
            && scene.is_word(datum.start + 1)
            && payload::builtin(scene.word(datum.start)).is_some()
            && scene.word(datum.next) == "="
    };
    let one = |datum: &Datum| {
        let roles = if datum.roles.is_empty() { "" } else { scene.words(datum.roles.clone()) };
        let right = format!("{}{roles}: {}", scene.word(datum.start + 1), scene.word(datum.start));
        (scene.spans(datum.start..datum.next), right)
    };
    let all: Vec<_> = each(scene, pieces, 2).iter().filter(|datum| is_one(datum)).map(one).collect();
    let (span, right) = all.first()?.clone();
    let edits = all.into_iter().map(|(span, right)| replace(span, right));
    Some(slip(
        span,
        "the name of the data comes before its type",
        format!("write `{right}`"),
        edits.collect::<Vec<_>>(),
    ))
}

/// `rec X [n: int<A> = 3]`
fn roles_behind_type(scene: &Scene<'_>) -> Option<Candidate> {
    let pieces = data(scene)?;
    let is_one = |&colon: &usize| {
        scene.word(colon) == ":"
            && payload::builtin(scene.word(colon + 1)).is_some()
            && scene.word(colon + 2) == "<"
    };
    let colon = pieces.clone().find(is_one)?;
    let close = (colon..pieces.end).find(|&piece| scene.word(piece) == ">")?;
    let (name, ty) = (scene.word(colon - 1), scene.word(colon + 1));
    let right = format!("{name}{}: {ty}", scene.words(colon + 2..close + 1));
    let message = "who knows the data stands behind its name";
    let edit = replace(scene.spans(colon - 1..close + 1), right.clone());
    Some(slip(scene.spans(colon + 2..close + 1), message, format!("write `{right}`"), [edit]))
}

/// `rec X [n<A> = 3]`
fn untyped(scene: &Scene<'_>) -> Option<Candidate> {
    let pieces = data(scene)?;
    let found = each(scene, pieces, 1).into_iter().find(|datum| scene.word(datum.next) == "=")?;
    let ty = match scene.word(found.next + 1) {
        "true" | "false" => "bool",
        text if text.starts_with('"') => "string",
        _ => "int",
    };
    let at = scene.span(found.next - 1).end;
    let whole = scene.words(found.start..found.next);
    let message = format!("the type of `{}` is missing", scene.word(found.start));
    let help = format!("write `{whole}: {ty}`");
    Some(
        slip(scene.spans(found.start..found.next), message, help, [insert(at, format!(": {ty}"))]).doubtful(),
    )
}

/// `rec X [n: int = 3] where n > 0 {`
fn condition(scene: &Scene<'_>) -> Option<Candidate> {
    let pieces = data(scene)?;
    let clause = pieces.end + 1;
    if !matches!(scene.word(clause), "where" | "if" | "when" | "with" | "while" | "invariant") {
        return None;
    }
    let open = (clause..scene.pieces.len().min(clause + 40)).find(|&piece| scene.word(piece) == "{")?;
    let (name, condition) = (scene.word(pieces.start), scene.words(clause + 1..open));
    let help = format!("write `({name}: …{{{condition}}})` in the place of its type");
    let message = "what must hold of the data is said with their type";
    Some(refused(scene.spans(clause..open), message, help, scene.spans(clause..open)))
}

/// `continue X n - 1;`, `continue X (n - 1);`
fn unbracketed(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let value = statement.start + 2;
    let is_one = scene.word(statement.start) == "continue"
        && scene.is_word(statement.start + 1)
        && value < statement.end
        && !matches!(scene.word(value), "[" | "with" | "{" | "." | ",");
    // Another statement may follow, if the `;` is missing.
    let is_value = (value..statement.end).all(|piece| {
        !matches!(scene.word(piece), "from" | "to" | "continue" | "choice" | "do" | "or" | "[" | "]")
    });
    if !is_one || !is_value {
        return None;
    }
    let in_parentheses = scene.word(value) == "(" && scene.closing(value) + 1 == statement.end;
    let inner = if in_parentheses { value + 1..statement.end - 1 } else { value..statement.end };
    let right = format!("[{}]", scene.words(inner));
    let whole = scene.spans(value..statement.end);
    let help = format!("write `continue {} {right};`", scene.word(statement.start + 1));
    Some(slip(whole, "new values of the data stand in brackets", help, [replace(whole, right)]))
}

/// `continue X [n -= 1];`, `continue X [n--];`
fn assignment(scene: &Scene<'_>) -> Option<Candidate> {
    let start = scene.statement().start;
    let open = start + 2;
    let (name, operator) = (open + 1, scene.word(open + 2));
    let close = scene.closing(open);
    if scene.word(start) != "continue" || scene.word(open) != "[" || !scene.is_word(name) {
        return None;
    }
    let is_sign = matches!(operator, "+" | "-" | "*");
    let value = match (is_sign, scene.word(open + 3)) {
        (true, "=") => scene.words(open + 4..close),
        (true, again) if again == operator && operator != "*" && close == open + 4 => "1",
        _ => return None,
    };
    let right = format!("{} {operator} {value}", scene.word(name));
    let span = scene.spans(name..close);
    let message = "in the brackets stands the new value, without an assignment";
    let found = slip(span, message, format!("write `[{right}]`"), [replace(span, right)]);
    // `n *= a + b`
    let is_simple = close <= open + 5;
    Some(found.doubtful_if(!is_simple))
}

/// `rec X: m() from A to B; continue X;`
fn colon_for_block(scene: &Scene<'_>) -> Option<Candidate> {
    let colon = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == ":")?;
    let rec = colon.checked_sub(2).filter(|&rec| scene.word(rec) == "rec")?;
    let name = scene.word(rec + 1);
    let around = super::super::candidate::opening_piece(scene, rec);
    let end = around.map_or(scene.pieces.len(), |open| scene.closing(open));
    let is_last = |&piece: &usize| scene.word(piece) == "continue" && scene.word(piece + 1) == name;
    let last = (colon..end).rev().find(is_last)? + 2;
    let gap = Span { start: scene.span(rec + 1).end, end: scene.span(colon).end };
    let edits = [replace(gap, " {"), insert(scene.span(last).end, " }")];
    let message = "the body of a recursion stands between `{` and `}`";
    let help = format!("write `rec {name} {{ … continue {name}; }}`");
    (scene.word(last) == ";").then(|| slip(scene.span(colon), message, help, edits).doubtful())
}
