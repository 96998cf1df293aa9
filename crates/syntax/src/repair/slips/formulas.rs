//! Slips in properties, `.hml`.

use super::{Candidate, Scene, insert, refused, replace, slip, unsettled};
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(equals_in_pattern(scene));
    found.extend(other_guard(scene));
    found.extend(bare_event(scene));
    found.extend(negation(scene));
    found.extend(nameless(scene));
    found.extend(unjoined(scene));
    found.extend(two_brackets(scene));
    found.extend(fixed_point_with_comma(scene));
    found
}

/// `[{event = "a"}]`
fn equals_in_pattern(scene: &Scene<'_>) -> Option<Candidate> {
    let equals = (scene.at.saturating_sub(1)..=scene.at + 1).find(|&piece| scene.word(piece) == "=")?;
    let name =
        equals.checked_sub(1).filter(|&name| name > 0 && !matches!(scene.word(name), ">" | "<" | "!"))?;
    let is_part = matches!(scene.word(name - 1), "{" | ",") && matches!(scene.word(equals + 2), "}" | ",");
    let (field, value) = (scene.word(name), scene.word(equals + 1));
    let help = format!("write `{field}: {value}`");
    let gap = Span { start: scene.span(name).end, end: scene.span(equals).end };
    let message = "what a field holds stands behind a `:`";
    is_part.then(|| slip(scene.span(equals), message, help, [replace(gap, ":")]).doubtful())
}

/// `[a?x where x > 1]`
fn other_guard(scene: &Scene<'_>) -> Option<Candidate> {
    let is_other = |piece: &usize| matches!(scene.word(*piece), "where" | "if" | "with" | "provided");
    let word = (scene.at.saturating_sub(2)..=scene.at + 1).find(is_other)?;
    let is_guard = word > 2
        && super::super::candidate::opening_piece(scene, word)
            .is_some_and(|open| matches!(scene.word(open), "[" | "<") && scene.closing(open) > word + 1);
    let span = scene.span(word);
    is_guard.then(|| slip(span, "a guard stands behind `when`", "write `when`", [replace(span, "when")]))
}

/// `a?x ff`
fn bare_event(scene: &Scene<'_>) -> Option<Candidate> {
    let is_event = |piece: &usize| {
        scene.is_word(*piece) && matches!(scene.word(piece + 1), "?" | "!") && scene.is_word(piece + 2)
    };
    let first = (scene.at.saturating_sub(3)..=scene.at).find(is_event)?;
    let before = first.checked_sub(1).map_or("", |before| scene.word(before));
    if !matches!(before, "" | "{" | "(" | "." | "and" | "or" | "]" | ">") {
        return None;
    }
    let event = scene.words(first..first + 3);
    let span = scene.spans(first..first + 3);
    let help = format!("write `[{event}]…` for whenever it comes, `<{event}>…` for that it can come");
    let edits = vec![insert(span.start, "["), insert(span.end, "]")];
    Some(unsettled(span, "an event stands in brackets", help, edits))
}

/// `not [a?x]tt`
fn negation(scene: &Scene<'_>) -> Option<Candidate> {
    let is_not = |piece: &usize| {
        matches!(scene.word(*piece), "not" | "!" | "¬") && matches!(scene.word(piece + 1), "[" | "<" | "(")
    };
    let not = (scene.at.saturating_sub(1)..=scene.at).find(is_not)?;
    let before = not.checked_sub(1).map_or("", |before| scene.word(before));
    if !matches!(before, "" | "{" | "(" | "." | "and" | "or" | "]" | ">") {
        return None;
    }
    let skipped = scene.with_blanks(not);
    let message = format!("formulas have no `{}`", scene.word(not));
    let help = "write `[…]ff` for what must not come, and `<…>tt` for what must";
    Some(refused(scene.span(not), message, help, skipped))
}

/// `property { … }`
fn nameless(scene: &Scene<'_>) -> Option<Candidate> {
    let property = scene.at.checked_sub(1).filter(|&property| scene.word(property) == "property")?;
    let span = scene.span(property);
    let edits = vec![insert(span.end, format!(" {}", super::super::candidate::PLACEHOLDER))];
    let help = "write `property NAME { … }`".to_owned();
    (scene.word(scene.at) == "{").then(|| unsettled(span, "the property has no name", help, edits))
}

/// `[a?x]ff [b?y]ff`
fn unjoined(scene: &Scene<'_>) -> Option<Candidate> {
    let next = (scene.at.saturating_sub(1)..=scene.at)
        .find(|&piece| matches!(scene.word(piece), "[" | "<" | "max" | "min"))?;
    let before = next.checked_sub(1)?;
    let is_formula = matches!(scene.word(before), "ff" | "tt");
    let span = scene.span(next);
    let edits = vec![insert(span.start, "and ")];
    let help = "write `and` or `or` between them".to_owned();
    is_formula.then(|| unsettled(span, "nothing joins this formula to the one before it", help, edits))
}

/// `[[a?x]]ff`
fn two_brackets(scene: &Scene<'_>) -> Option<Candidate> {
    let first = (scene.at.saturating_sub(1)..=scene.at)
        .find(|&piece| matches!((scene.word(piece), scene.word(piece + 1)), ("[", "[") | ("<", "<")))?;
    let (close, right) = if scene.word(first) == "[" { ("]", "[…]") } else { (">", "<…>") };
    let last = (first..scene.pieces.len().saturating_sub(1))
        .find(|&piece| scene.word(piece) == close && scene.word(piece + 1) == close)?;
    let edits = [replace(scene.span(first), ""), replace(scene.span(last), "")];
    let message = "an event stands in one pair of brackets";
    Some(slip(scene.span(first), message, format!("write `{right}`"), edits).doubtful())
}

/// `max(X, φ)`
fn fixed_point_with_comma(scene: &Scene<'_>) -> Option<Candidate> {
    let word =
        (scene.at.saturating_sub(3)..=scene.at).find(|&piece| matches!(scene.word(piece), "max" | "min"))?;
    let is_one = scene.word(word + 1) == "(" && scene.is_word(word + 2) && scene.word(word + 3) == ",";
    let (operator, name) = (scene.word(word), scene.word(word + 2));
    let gap = Span { start: scene.span(word).end, end: scene.span(word + 4).start };
    let help = format!("write `{operator} {name}.( … )`");
    let edits = [replace(gap, format!(" {name}.("))];
    is_one.then(|| {
        slip(scene.spans(word..word + 4), "the variable of a fixed point stands before a dot", help, edits)
            .doubtful()
    })
}
