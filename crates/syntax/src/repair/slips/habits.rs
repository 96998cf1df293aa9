//! Habits of other languages in `.scr` texts: calls, defaults, optional types, blocks between words.

use super::{Candidate, Kind, Scene, insert, refused, replace, slip};
use crate::diagnostics::Edit;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(method_call(scene));
    found.extend(between(scene));
    found.extend(colons_behind_role(scene));
    found.extend(do_without_roles(scene));
    found.extend(optional_type(scene));
    found.extend(default_value(scene));
    found.extend(several_choosers(scene));
    found.extend(repetition(scene));
    found.extend(constant(scene));
    found.extend(begin_end(scene));
    found
}

/// `A.send(B, m);`
fn method_call(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let call = [start + 1, start + 3, start + 5, start + 7].map(|piece| scene.word(piece));
    let verb = scene.word(start + 2);
    let names = [start, start + 4, start + 6].map(|piece| scene.is_word(piece));
    if call != [".", "(", ",", ")"] || names != [true; 3] || !matches!(verb, "send" | "emit" | "tell") {
        return None;
    }
    // Which of them is a role is said in the header.
    let is_role =
        |name: usize| (1..start).any(|at| scene.word(at - 1) == "role" && scene.word(at) == scene.word(name));
    let (receiver, label) = match [start + 4, start + 6].map(is_role) {
        [false, true] => (start + 6, start + 4),
        _ => (start + 4, start + 6),
    };
    let is_clear = is_role(receiver) && !is_role(label);
    let (sender, receiver, label) = (scene.word(start), scene.word(receiver), scene.word(label));
    let right = format!("{label}() from {sender} to {receiver}");
    let span = scene.spans(start..start + 8);
    let message = "a message is not written as a call";
    let found = slip(span, message, format!("write `{right};`"), [replace(span, right.clone())]);
    Some(found.doubtful_if(!is_clear))
}

/// `m() between A and B;`
fn between(scene: &Scene<'_>) -> Option<Candidate> {
    let word = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "between")?;
    if !scene.is_word(word + 1) || scene.word(word + 2) != "and" || !scene.is_word(word + 3) {
        return None;
    }
    let (one, other) = (scene.word(word + 1), scene.word(word + 3));
    let help = format!("write `from {one} to {other}` or `from {other} to {one}`");
    let edits = [replace(scene.span(word), "from"), replace(scene.span(word + 2), "to")];
    let message = String::from("it is not said who sends");
    let kind = Kind::Slip { span: scene.span(word), message, help, corrects: false };
    Some(Candidate::new(edits, kind, 0))
}

/// `protocol P(role: A, role: B)`.
fn colons_behind_role(scene: &Scene<'_>) -> Option<Candidate> {
    let open = (0..scene.at).rev().find(|&piece| scene.word(piece) == "(")?;
    let is_one = |piece: &usize| scene.word(*piece) == ":" && scene.word(piece - 1) == "role";
    let wrong: Vec<usize> = (open + 1..scene.closing(open)).filter(is_one).collect();
    let first = *wrong.first().filter(|first| scene.is_word(*first + 1))?;
    let help = format!("write `role {}`", scene.word(first + 1));
    let edits: Vec<Edit> = wrong.iter().map(|&piece| replace(scene.span(piece), "")).collect();
    Some(slip(scene.span(first), "there is no `:` behind `role`", help, edits))
}

/// `do Q;`, in a protocol with as many roles as `Q` has.
fn do_without_roles(scene: &Scene<'_>) -> Option<Candidate> {
    let start = scene.statement().start;
    let name = scene.word(start + 1);
    if scene.word(start) != "do" || !scene.is_word(start + 1) || scene.word(start + 2) != ";" {
        return None;
    }
    let roles = |protocol: usize| -> Vec<&str> {
        let is_role = |piece: &usize| scene.word(*piece) == "role" && scene.is_word(piece + 1);
        let pieces = (protocol + 2..scene.closing(protocol + 2)).filter(is_role);
        pieces.map(|piece| scene.word(piece + 1)).collect()
    };
    let is_header = |piece: &usize| {
        scene.word(*piece) == "protocol" && scene.is_word(piece + 1) && scene.word(piece + 2) == "("
    };
    let here = roles((0..start).rev().find(is_header)?);
    let all = (0..scene.pieces.len()).filter(is_header);
    let called = all.filter(|protocol| scene.word(protocol + 1) == name).map(roles).next();
    let span = scene.spans(start..start + 2);
    let message = format!("it is not said who plays the roles of `{name}`");
    if called.is_some_and(|called| called == here) {
        let list = here.join(", ");
        let edit = insert(scene.span(start + 1).end, format!("({list})"));
        return Some(slip(span, message, format!("write `do {name}({list});`"), [edit]));
    }
    let help = format!("write `do {name}(…);` with the names of the roles");
    Some(refused(span, message, help, scene.spans(start..start + 3)))
}

/// `x: int?`
fn optional_type(scene: &Scene<'_>) -> Option<Candidate> {
    let mark = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "?")?;
    let is_type = scene.is_word(mark.checked_sub(1)?) && matches!(scene.word(mark + 1), ")" | ",");
    let span = scene.span(mark);
    let message = "there are no optional fields";
    let help = "write a choice of two messages, one of them without the field";
    is_type.then(|| refused(span, message, help, span))
}

/// `m(x: int = 3)`
fn default_value(scene: &Scene<'_>) -> Option<Candidate> {
    let equals = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "=")?;
    let is_field = scene.is_word(equals.checked_sub(1)?) && scene.word(equals.checked_sub(2)?) == ":";
    let end =
        (equals..scene.pieces.len().min(equals + 4)).find(|&piece| matches!(scene.word(piece), "," | ")"))?;
    let in_message = scene.word(scene.closing(opening(scene, equals)?) + 1) == "from";
    let message = "the field of a message has no value of its own: whoever sends it says it";
    let help = format!("to allow no other, write `where {} == …`", scene.word(equals.checked_sub(3)?));
    let span = scene.spans(equals..end);
    (is_field && in_message).then(|| refused(span, message, help, span))
}

/// The parenthesis that is open before a piece.
fn opening(scene: &Scene<'_>, before: usize) -> Option<usize> {
    super::super::candidate::opening_piece(scene, before)
}

/// `choice at A, B {`
fn several_choosers(scene: &Scene<'_>) -> Option<Candidate> {
    let at = (scene.at.saturating_sub(2)..=scene.at).find(|&piece| scene.word(piece) == "at")?;
    let joined = |piece: usize| matches!(scene.word(piece), "," | "and" | "or" | "|" | "&");
    let open = (at..scene.pieces.len().min(at + 12)).find(|&piece| scene.word(piece) == "{")?;
    let is_list = (at + 1..open).all(|piece| match (piece - at) % 2 {
        1 => scene.is_word(piece),
        _ => joined(piece),
    });
    let is_choice = at > 0 && scene.word(at - 1) == "choice" && open > at + 2;
    let message = "one role chooses: two could choose differently";
    let help = format!("write `choice at {} {{`, and let it tell the others", scene.word(at + 1));
    let skipped = Span { start: scene.span(at + 2).start, end: scene.span(open).start };
    (is_choice && is_list).then(|| refused(scene.spans(at + 1..open), message, help, skipped))
}

/// `( m() from A to B; )*`
fn repetition(scene: &Scene<'_>) -> Option<Candidate> {
    let statement_start =
        |open: usize| open.checked_sub(1).is_none_or(|before| matches!(scene.word(before), ";" | "{" | "}"));
    let open = (scene.at.saturating_sub(4)..=scene.at)
        .find(|&piece| matches!(scene.word(piece), "(" | "{") && statement_start(piece))?;
    let close = scene.closing(open);
    let is_loop = matches!(scene.word(close + 1), "*" | "+") && close > open + 1;
    let message = "a loop is written `rec X { … continue X; }`";
    let help = "write `rec X { choice at A { … continue X; } or { … } }`, where `A` says whether it goes on";
    is_loop.then(|| refused(scene.span(open), message, help, scene.spans(open..close + 2)))
}

/// `const N = 3;`
fn constant(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let is_one = matches!(scene.word(start), "const" | "let" | "var" | "val" | "final")
        && scene.is_word(start + 1)
        && (start..statement.end).any(|piece| scene.word(piece) == "=");
    let message = format!("a protocol has no variables of its own: `{}`", scene.word(start + 1));
    let help = "write the value where it is used, or give it to a recursion: `rec X [n<A>: int = 3] { … }`";
    let end = statement.end + usize::from(scene.word(statement.end) == ";");
    is_one.then(|| refused(scene.spans(start..statement.end), message, help, scene.spans(start..end)))
}

/// `protocol P(role A, role B) begin … end`
fn begin_end(scene: &Scene<'_>) -> Option<Candidate> {
    let begin = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "begin")?;
    let end = (begin..scene.pieces.len()).rev().find(|&piece| scene.word(piece) == "end")?;
    let edits = [replace(scene.span(begin), "{"), replace(scene.span(end), "}")];
    let message = "a block stands between `{` and `}`";
    Some(slip(scene.span(begin), message, "write `{ … }`", edits))
}
