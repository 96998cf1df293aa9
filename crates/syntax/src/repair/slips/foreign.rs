//! Slips of people who write another language at the same time, or an older Scribble.

use super::{Candidate, Scene, refusal, replace, slip};
use crate::diagnostics::Edit;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(if_else(scene));
    found.extend(roles_of_do(scene));
    found.extend(payload_in_angle_brackets(scene));
    found.extend(import_of_a_member(scene));
    found.extend(quoted_module(scene));
    found.extend(dots_in_module(scene));
    found.extend(instantiates(scene));
    found.extend(throws(scene));
    found.extend(accept(scene));
    found.extend(capitals(scene));
    found
}

/// `if A { … } else { … }`.
fn if_else(scene: &Scene<'_>) -> Option<Candidate> {
    let head = (scene.at.saturating_sub(2)..=scene.at).find(|&piece| scene.word(piece) == "if")?;
    if !scene.is_word(head + 1) || scene.word(head + 2) != "{" {
        return None;
    }
    let mut edits = vec![replace(scene.span(head), "choice at")];
    let mut close = scene.closing(head + 2);
    while scene.word(close + 1) == "else" && scene.word(close + 2) == "{" {
        edits.push(replace(scene.span(close + 1), "or"));
        close = scene.closing(close + 2);
    }
    let right = format!("choice at {} {{ … }} or {{ … }}", scene.word(head + 1));
    Some(slip(scene.span(head), "a choice is written `choice at`", format!("write `{right}`"), edits))
}

/// `do P(role A, role B);`.
fn roles_of_do(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    if scene.word(statement.start) != "do" {
        return None;
    }
    let is_role = |piece: &usize| {
        scene.word(*piece) == "role" && scene.is_word(piece + 1) && matches!(scene.word(piece - 1), "(" | ",")
    };
    let roles: Vec<usize> = (statement.start + 1..statement.end).filter(is_role).collect();
    let first = *roles.first()?;
    let blanks = |piece: usize| Span { start: scene.span(piece).start, end: scene.span(piece + 1).start };
    let edits: Vec<Edit> = roles.iter().map(|&piece| replace(blanks(piece), "")).collect();
    let help = format!("write `{}`", scene.word(first + 1));
    Some(slip(scene.span(first), "a role is named here by its name alone", help, edits))
}

/// `m<int> from A to B;`.
fn payload_in_angle_brackets(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let open = statement.start + 1;
    let close = (open..statement.end).find(|&piece| scene.word(piece) == ">")?;
    if !scene.is_word(statement.start) || scene.word(open) != "<" || scene.word(close + 1) != "from" {
        return None;
    }
    let right = format!("{}({})", scene.word(statement.start), scene.words(open + 1..close));
    let edits = [replace(scene.span(open), "("), replace(scene.span(close), ")")];
    let message = "what a message carries stands in parentheses";
    Some(slip(scene.span(open), message, format!("write `{right}`"), edits))
}

/// `from a.b import C;`, of an older Scribble.
fn import_of_a_member(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let import = statement.clone().find(|&piece| scene.word(piece) == "import")?;
    if scene.word(statement.start) != "from" || !scene.is_word(import + 1) {
        return None;
    }
    let (module, member) = (scene.words(statement.start + 1..import), scene.word(import + 1));
    let help = format!("write `import {module};`, and name it `{module}.{member}`");
    let skipped = scene.spans(statement.start..statement.end + usize::from(scene.word(statement.end) == ";"));
    let mut found = refusal(scene.spans(statement), "a whole module is imported", help, skipped);
    found.cost = 0;
    Some(found)
}

/// `import a...etc;`, `import a.*;`.
fn dots_in_module(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let is_wrong = |piece: &usize| {
        scene.word(*piece) == "." && matches!(scene.word(piece + 1), "." | "*" | "{" | "/" | "**")
    };
    if !matches!(scene.word(statement.start), "import" | "module") {
        return None;
    }
    let wrong = statement.clone().find(is_wrong)?;
    let end = statement.end + usize::from(scene.word(statement.end) == ";");
    let message = "one module is named in full";
    let help = format!("write `{} a.b.Module;`, one line for each", scene.word(statement.start));
    let mut found = refusal(scene.span(wrong), message, help, scene.spans(statement.start..end));
    found.cost = 0;
    Some(found)
}

/// `import "a.B";`.
fn quoted_module(scene: &Scene<'_>) -> Option<Candidate> {
    let quoted = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece).starts_with('"'))?;
    let before = scene.word(quoted.checked_sub(1)?);
    let name = scene.word(quoted).trim_matches('"').trim_end_matches(".scr").replace('/', ".");
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    if !matches!(before, "import" | "module") || !is_name {
        return None;
    }
    let span = scene.span(quoted);
    let message = "a module is named without quotation marks";
    Some(slip(span, message, format!("write `{before} {name};`"), [replace(span, name)]))
}

/// `global protocol P(role A, role B) instantiates Q(A, B);`, of an older Scribble.
fn instantiates(scene: &Scene<'_>) -> Option<Candidate> {
    let word = (scene.at.saturating_sub(1)..=scene.at).find(|&piece| scene.word(piece) == "instantiates")?;
    let end = (word..scene.pieces.len()).find(|&piece| scene.word(piece) == ";")?;
    let is_header = word > 0 && scene.word(word - 1) == ")" && scene.is_word(word + 1) && end > word + 2;
    let right = format!("{{ do {}; }}", scene.words(word + 1..end));
    let edits = [replace(scene.span(word), "{ do"), replace(scene.span(end), "; }")];
    let message = "a protocol that is another one does it";
    is_header.then(|| slip(scene.span(word), message, format!("write `{right}`"), edits))
}

/// `A throws m() to B;`, of an older Scribble, and `protocol P(role A, role B) throws E {`.
fn throws(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    // A label may be called like this.
    let is_one = |piece: &usize| {
        matches!(scene.word(*piece), "throws" | "catches" | "throw" | "catch") && scene.word(piece + 1) != "("
    };
    let word = statement.clone().find(is_one)?;
    let is_header = statement.clone().any(|piece| scene.word(piece) == "protocol");
    let (start, end) = match is_header {
        true => (word, statement.end),
        false => (statement.start, statement.end + usize::from(scene.word(statement.end) == ";")),
    };
    let skipped = scene.spans(start..end);
    let message = format!("`{}` is not supported: no message interrupts others", scene.word(word));
    let help = "write a choice with a branch for what goes wrong";
    let mut found = refusal(scene.span(word), message, help, skipped);
    found.cost = 0;
    Some(found)
}

/// `request A to B;`, `accept A from B;`, of an older Scribble; `open A to B;`, `close A to B;`.
fn accept(scene: &Scene<'_>) -> Option<Candidate> {
    let statement = scene.statement();
    let start = statement.start;
    let is_one = matches!(scene.word(start), "accept" | "request" | "open" | "close")
        && scene.is_word(start + 1)
        && matches!(scene.word(start + 2), "to" | "from" | "and")
        && scene.is_word(start + 3)
        && start + 4 == statement.end;
    let end = statement.end + usize::from(scene.word(statement.end) == ";");
    let message = match scene.word(start) {
        word @ ("open" | "close") => {
            format!("`{word}` is for sub-sessions: `connect` and `disconnect` are for connections")
        }
        word => format!("`{word}` is of an older Scribble: `connect` makes a connection"),
    };
    let help =
        "write `connect A to B;` in an `explicit global protocol`, or leave it out: everybody is connected";
    let is_named = scene.word(start + 1) != "from";
    (is_one && is_named).then(|| super::refused(scene.span(start), message, help, scene.spans(start..end)))
}

/// `Global Protocol P(Role A)`: all keywords of the line.
fn capitals(scene: &Scene<'_>) -> Option<Candidate> {
    const WORDS: [&str; 9] = ["global", "protocol", "role", "choice", "at", "from", "to", "rec", "continue"];
    let keyword = |piece: usize| {
        let word = scene.word(piece);
        let is_capital = word.starts_with(char::is_uppercase);
        WORDS.into_iter().find(|keyword| is_capital && keyword.eq_ignore_ascii_case(word))
    };
    let start =
        (0..=scene.at).rev().find(|&piece| scene.pieces.get(piece).is_some_and(|at| at.indent.is_some()))?;
    let next = (start + 1..scene.pieces.len()).find(|&piece| scene.pieces[piece].indent.is_some());
    let line = start..next.unwrap_or(scene.pieces.len());
    let wrong: Vec<(usize, &str)> = line.filter_map(|piece| Some((piece, keyword(piece)?))).collect();
    let [(first, right), _, ..] = wrong[..] else { return None };
    let edits: Vec<Edit> = wrong.iter().map(|(piece, right)| replace(scene.span(*piece), *right)).collect();
    let message = format!("keywords are written in small letters, not `{}`", scene.word(first));
    Some(slip(scene.span(first), message, format!("write `{right}`"), edits))
}
