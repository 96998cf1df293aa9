//! Slips in session types, `.st` and `.kmc`, and in automata, `.fsm`.

use super::{Candidate, Kind, Scene, insert, refused, replace, slip};
use crate::diagnostics::Edit;
use crate::language::Language;
use crate::payload;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    match scene.language {
        Language::St => {
            found.extend(unnamed(scene));
            found.extend(braces_of_recursion(scene));
            found.extend(condition(scene));
            found.extend(untyped_field(scene));
            found.extend(type_first(scene));
            found.extend(without_label(scene));
        }
        Language::Kmc => found.extend(sum(scene)),
        Language::Fsm => found.extend(directive(scene)),
        _ => {}
    }
    found
}

/// `!A().end` without `S =`.
fn unnamed(scene: &Scene<'_>) -> Option<Candidate> {
    let is_type = scene.at == 0 && matches!(scene.word(0), "!" | "?" | "+" | "&" | "rec");
    let start = scene.span(0).start;
    is_type.then(|| {
        let edit = insert(start, "S = ");
        slip(scene.span(0), "the session type has no name", "write `S = …`", [edit])
    })
}

/// `rec X { … }`, `rec X { … }.…`
fn braces_of_recursion(scene: &Scene<'_>) -> Option<Candidate> {
    let open = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "{")?;
    let close = scene.closing(open);
    if open < 2 || scene.word(open - 2) != "rec" || scene.word(close) != "}" {
        return None;
    }
    let name = scene.word(open - 1);
    let gap = Span { start: scene.span(open - 1).end, end: scene.span(open).end };
    let edits = [replace(gap, ".("), replace(scene.span(close), ")")];
    let message = "the body of a recursion stands in parentheses, behind a dot";
    Some(slip(scene.span(open), message, format!("write `rec {name}.( … )`"), edits))
}

/// `!A(x: Int) where x > 0 .end`
fn condition(scene: &Scene<'_>) -> Option<Candidate> {
    let word = (scene.at.saturating_sub(1)..=scene.at)
        .find(|&piece| matches!(scene.word(piece), "where" | "if" | "when" | "with"))?;
    let is_end = |piece: &usize| matches!(scene.word(*piece), "." | "," | "}" | ")");
    let end = (word + 1..scene.pieces.len()).find(is_end).unwrap_or(scene.pieces.len());
    if end < word + 2 || scene.word(word.checked_sub(1)?) != ")" {
        return None;
    }
    let right = format!("[{}]", scene.words(word + 1..end));
    let gap = Span { start: scene.span(word - 1).end, end: scene.span(end - 1).end };
    let message = "a condition stands in brackets behind the message";
    Some(slip(scene.span(word), message, format!("write `{right}`"), [replace(gap, right)]))
}

/// `!A(Int x)`, as in C.
fn type_first(scene: &Scene<'_>) -> Option<Candidate> {
    let is_one = |piece: &usize| {
        matches!(scene.word(piece.wrapping_sub(1)), "(" | ",")
            && payload::builtin(scene.word(*piece)).is_some()
            && scene.is_word(piece + 1)
            && payload::builtin(scene.word(piece + 1)).is_none()
            && matches!(scene.word(piece + 2), ")" | ",")
    };
    let first = (scene.at.saturating_sub(2)..=scene.at).find(is_one)?;
    let right = format!("{}: {}", scene.word(first + 1), scene.word(first));
    let span = scene.spans(first..first + 2);
    let message = "the name of a field comes before its type";
    Some(slip(span, message, format!("write `{right}`"), [replace(span, right)]))
}

/// `!A(x)`
fn untyped_field(scene: &Scene<'_>) -> Option<Candidate> {
    let is_bare = |piece: &usize| {
        *piece > 1
            && scene.is_word(*piece)
            && matches!(scene.word(piece - 1), "(" | ",")
            && matches!(scene.word(piece + 1), ")" | ",")
    };
    let field = (scene.at.saturating_sub(1)..=scene.at).find(is_bare)?;
    let name = scene.word(field);
    let edits: Vec<Edit> = vec![insert(scene.span(field).end, ": Int")];
    let message = format!("a field has a name and a type: `{name}` is one of them");
    let help = format!("write `{name}: Int`, or `x: {name}` if that is the type");
    let kind = Kind::Slip { span: scene.span(field), message, help, corrects: false };
    Some(Candidate::new(edits, kind, 0))
}

/// `!int.?bool.end`, as in papers.
fn without_label(scene: &Scene<'_>) -> Option<Candidate> {
    let mark = (scene.at.saturating_sub(3)..=scene.at)
        .rev()
        .find(|&piece| matches!(scene.word(piece), "!" | "?"))?;
    let is_type =
        matches!(scene.word(mark + 1), "int" | "bool" | "string" | "str" | "Int" | "Bool" | "String" | "nat");
    if !is_type || scene.word(mark + 2) == "(" {
        return None;
    }
    // All of them: whoever writes one so writes the others so.
    let is_value = |piece: &usize| {
        matches!(scene.word(*piece), "!" | "?") && scene.is_word(piece + 1) && scene.word(piece + 2) != "("
    };
    let edits = (mark..scene.pieces.len()).filter(is_value).map(|piece| {
        let span = scene.span(piece + 1);
        replace(span, format!("m(x: {})", scene.word(piece + 1)))
    });
    let help =
        format!("write `{}m(x: {})`, with a label of your own", scene.word(mark), scene.word(mark + 1));
    let message = String::from("a message has a label, and its fields have names");
    let kind = Kind::Slip { span: scene.spans(mark..mark + 2), message, help, corrects: false };
    Some(Candidate::new(edits.collect::<Vec<_>>(), kind, 0))
}

/// `B!l; end + B!r; end`: a choice stands between braces.
fn sum(scene: &Scene<'_>) -> Option<Candidate> {
    (scene.at.saturating_sub(1)..=scene.at)
        .find(|&piece| matches!(scene.word(piece), "+" | "|" | "⊕" | "&"))?;
    let is_machine = |piece: &usize| {
        scene.is_word(*piece)
            && scene.word(piece + 1) == ":"
            && (*piece == 0 || scene.pieces[*piece].indent.is_some())
    };
    let heads: Vec<usize> = (0..scene.pieces.len()).filter(is_machine).collect();
    let mut edits = Vec::new();
    for (index, head) in heads.iter().enumerate() {
        let end = heads.get(index + 1).copied().unwrap_or(scene.pieces.len());
        let mut depth = 0_usize;
        let mut joined = Vec::new();
        for piece in head + 2..end {
            match scene.word(piece) {
                "{" | "(" => depth += 1,
                "}" | ")" => depth = depth.saturating_sub(1),
                "+" | "|" | "⊕" | "&" if depth == 0 => joined.push(piece),
                _ => {}
            }
        }
        if !joined.is_empty() {
            edits.push(insert(scene.span(head + 2).start, "{"));
            edits.extend(joined.iter().map(|&piece| {
                replace(Span { start: scene.span(piece - 1).end, end: scene.span(piece).end }, ",")
            }));
            edits.push(insert(scene.span(end - 1).end, "}"));
        }
    }
    let first = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| !scene.is_word(piece))?;
    let help = "write `{B!l; …, B!r; …}`";
    (!edits.is_empty())
        .then(|| slip(scene.span(first), "a choice stands between braces, with commas", help, edits))
}

/// A machine without its `.outputs` or its `.end`.
fn directive(scene: &Scene<'_>) -> Option<Candidate> {
    let at = scene.at;
    let is_dot = scene.word(at) == ".";
    match scene.word(at + 1) {
        "outputs" | "name" if is_dot && at > 0 && scene.word(at - 1) != "end" => {
            let edit = insert(scene.span(at - 1).end, "\n.end");
            Some(slip(
                scene.span(at - 1),
                "the machine above ends with `.end`",
                "write `.end` before the next machine",
                [edit],
            ))
        }
        "state" if is_dot && (at == 0 || scene.word(at - 1) == "end") => {
            let edit = insert(scene.span(at).start, ".outputs\n");
            Some(slip(
                scene.spans(at..at + 2),
                "a machine begins with `.outputs`",
                "write `.outputs` before it",
                [edit],
            ))
        }
        _ if at == scene.pieces.len() && at > 1 && scene.word(at - 2) == "marking" => Some(refused(
            scene.span(at - 1),
            "the machine ends with `.end`",
            "write `.end` in the last line",
            Span::at(scene.end_before(at)),
        )),
        _ => None,
    }
}
