//! Operators of other languages in conditions: `or`, `|`, `===`, `<>`, `:=`, `=>`, `not`. What looks likeliest to a parser would often
//! say the opposite, so each has its own correction. All of one condition are one mistake.
//!
//! Read next: `place`, where conditions stand; `negation`; `sorts`, what their operands are.

use std::ops::Range;

use super::super::candidate::opening_piece;
use super::{Candidate, Kind, Scene, insert, replace, slip};
use crate::diagnostics::Edit;
use crate::source::Span;

mod negation;
mod place;
mod sorts;

use place::{Condition, around, is_comparison, is_connective};
pub(in crate::repair) use place::{is_read_in_two_ways, joins};
use sorts::{Sort, sort};

/// An operator that is written otherwise.
struct Wrong {
    span: Span,
    message: String,
    help: String,
    edits: Vec<Edit>,
    /// Whether its author may well have meant something else.
    doubtful: bool,
    /// Whether the correction says what was meant, not only where to go on.
    corrects: bool,
    /// The piece behind it.
    next: usize,
}

impl Wrong {
    fn new(span: Span, message: impl Into<String>, right: &str, next: usize) -> Self {
        let edits = vec![replace(span, right)];
        let (message, help) = (message.into(), format!("write `{right}`"));
        Self { span, message, help, edits, doubtful: false, corrects: true, next }
    }

    fn doubtful(self, doubtful: bool) -> Self {
        Self { doubtful, ..self }
    }

    /// What only its author can correct: reading goes on as if `instead` stood there.
    fn unknown(
        span: Span,
        message: String,
        help: impl Into<String>,
        instead: Vec<Edit>,
        next: usize,
    ) -> Self {
        Self { span, message, help: help.into(), edits: instead, doubtful: true, corrects: false, next }
    }

    fn candidate(self) -> Candidate {
        let kind =
            Kind::Slip { span: self.span, message: self.message, help: self.help, corrects: self.corrects };
        let found = Candidate::new(self.edits, kind, 0);
        found.doubtful_if(self.doubtful)
    }
}

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let near = scene.at.saturating_sub(2)..scene.at + 2;
    let Some(condition) = near.clone().find_map(|piece| around(scene, piece)) else { return Vec::new() };
    let mut all = wrong(scene, &condition);
    if place::has_two_readings(scene, &condition) {
        let reading = "here `&&` and `||` bind alike, from the left, and `not` reaches to the end";
        for one in all.iter_mut().filter(|one| one.corrects) {
            one.doubtful = true;
            one.help = format!("{}, with parentheses for what belongs together: {reading}", one.help);
        }
    }
    let together = (all.len() > 1 && all.iter().all(|one| one.corrects)).then(|| together(&all));
    let places = scene.span(near.start).start..scene.span(near.end).end;
    let is_near = |one: &Wrong| places.contains(&one.span.start);
    let stray = stray_parenthesis(scene, &condition);
    stray.into_iter().chain(together).chain(all.into_iter().filter(is_near).map(Wrong::candidate)).collect()
}

/// `where a);`
fn stray_parenthesis(scene: &Scene<'_>, condition: &Condition) -> Option<Candidate> {
    let close = condition.pieces.end;
    let is_clause = condition.pieces.start > 0 && scene.word(condition.pieces.start - 1) == "where";
    let is_stray = is_clause && scene.word(close) == ")" && matches!(scene.word(close + 1), ";" | "}" | "");
    let (span, message) = (scene.span(close), "this `)` closes nothing");
    // With several operands the `(` may be missing before any.
    let found = slip(span, message, "remove it, or write its `(`", [replace(span, "")]);
    (is_stray && !condition.pieces.is_empty()).then(|| found.doubtful())
}

/// Every operator of a condition that is written otherwise.
fn wrong(scene: &Scene<'_>, condition: &Condition) -> Vec<Wrong> {
    let mut found = Vec::new();
    let mut piece = condition.pieces.start;
    while piece < condition.pieces.end {
        let one = negation::wrong(scene, condition, piece).or_else(|| operator(scene, condition, piece));
        piece = one.as_ref().map_or(piece + 1, |one| one.next.max(piece + 1));
        found.extend(one);
    }
    found
}

/// The corrections of one condition at once: whoever writes `and` writes `not` too.
fn together(all: &[Wrong]) -> Candidate {
    let mut edits: Vec<Edit> = all.iter().flat_map(|one| one.edits.iter().cloned()).collect();
    edits.sort_by_key(|edit| edit.span);
    let mut said: Vec<&str> = all.iter().map(|one| one.message.as_str()).collect();
    said.dedup();
    // What is said about all of them is said once.
    let (mut help, mut reading) = (Vec::new(), "");
    for one in all {
        let (right, more) = one.help.split_once(", ").unwrap_or((&one.help, ""));
        if !help.contains(&right) {
            help.push(right);
        }
        reading = more;
    }
    let reading = if reading.is_empty() { String::new() } else { format!(", {reading}") };
    let help = format!("{}{reading}", help.join(" and ").replace(" and write ", " and "));
    let found = slip(all[0].span, said.join("; "), help, edits);
    found.doubtful_if(all.iter().any(|one| one.doubtful))
}

fn operator(scene: &Scene<'_>, condition: &Condition, piece: usize) -> Option<Wrong> {
    if (scene.word(piece), scene.word(piece + 1)) == ("=", ">") {
        return Some(greater_or_implied(scene, condition, piece..piece + 2));
    }
    if let Some(found) = apart(scene, condition, piece) {
        return Some(found);
    }
    let dialect = condition.dialect;
    let (span, next) = run(scene, piece)?;
    let wrong = scene.text.get(span.range()).unwrap_or_default();
    if matches!(wrong, "&" | "|") && joins_numbers(scene, condition, piece) {
        return Some(unknown(span, wrong, next));
    }
    let right = match wrong {
        "and" | "&" | "∧" if !dialect.words => "&&",
        "or" | "|" | "∨" if !dialect.words => "||",
        "∧" => "and",
        "∨" => "or",
        "≤" | "=<" => "<=",
        "≥" => ">=",
        "×" | "·" => "*",
        "÷" => "/",
        "is" | "equals" | "eq" => dialect.equal,
        "≠" | "ne" => dialect.different,
        "True" | "TRUE" => "true",
        "False" | "FALSE" => "false",
        "mod" => "%",
        "div" => "/",
        "=" if dialect.equal == "==" => "==",
        "===" | ":=" => dialect.equal,
        "<>" if dialect.different == "!=" => "!=",
        "!==" | "=/=" | "/=" | "~=" => dialect.different,
        "=>" => return Some(greater_or_implied(scene, condition, piece..next)),
        "=-" if dialect.equal == "==" => "== -",
        "=!" => dialect.different,
        "==>" | "-->" | "->" | "⇒" | "⟹" | "implies" => {
            return Some(implication(scene, condition, span, piece..next));
        }
        "**" | "^" | "?" | "~" | "∈" | "matches" | "like" | "contains" | "xor" | "=~" | "iff" | "<=>"
        | "<->" => return Some(unknown(span, wrong, next)),
        _ => return None,
    };
    let message = match wrong {
        "and" | "or" => format!("in conditions, `{wrong}` is written `{right}`"),
        "=" | "===" | ":=" => format!("equality is written `{right}`"),
        _ => format!("this operator is written `{right}`, not `{wrong}`"),
    };
    // C and Go do not agree on what `a == b & c` is.
    // `a = b = c` may be one of several things, and in the brackets of a `continue` a new value stands, not an equality.
    let is_equal = |other: usize| matches!(scene.word(other), "=" | "==" | ":=");
    let mut equalities = condition.pieces.clone().filter(|&other| is_equal(other));
    let is_other = |other: usize| !(piece..next).contains(&other) && !is_apart(scene, piece, other);
    let is_chain = is_equal(piece) && equalities.any(is_other);
    let is_value = opening_piece(scene, piece).is_some_and(|open| scene.word(open) == "[");
    let doubtful = matches!(wrong, "~=" | "=-" | "=!" | "div")
        || wrong == ":=" && is_value
        || is_chain
        || matches!(wrong, "&" | "|") && is_compared(scene, condition, piece);
    Some(Wrong::new(span, message, right, next).doubtful(doubtful))
}

/// Whether a connective stands between the pieces `one` and `other` of a condition.
fn is_apart(scene: &Scene<'_>, one: usize, other: usize) -> bool {
    (one.min(other)..one.max(other)).any(|piece| is_connective(scene.word(piece)))
}

/// `> =`: two characters of one operator, with a blank between them.
fn apart(scene: &Scene<'_>, condition: &Condition, piece: usize) -> Option<Wrong> {
    let dialect = condition.dialect;
    let right = match (scene.word(piece), scene.word(piece + 1)) {
        (">", "=") => ">=",
        ("<", "=") | ("=", "<") => "<=",
        ("!", "=") | ("<", ">") => dialect.different,
        ("=", "=") => dialect.equal,
        ("&", "&") => "&&",
        ("|", "|") => "||",
        _ => return None,
    };
    let span = scene.spans(piece..piece + 2);
    let wrong = scene.text.get(span.range()).unwrap_or_default();
    let message = match (scene.word(piece), wrong.contains(char::is_whitespace)) {
        (">" | "<" | "!" | "=" | "&" | "|", true)
            if wrong.split_whitespace().collect::<String>() == right =>
        {
            format!("this operator is one word, `{right}`")
        }
        _ => format!("this operator is written `{right}`, not `{wrong}`"),
    };
    Some(Wrong::new(span, message, right, piece + 2))
}

/// What stands beside `operator`, up to the next connectives.
fn operands(
    scene: &Scene<'_>,
    condition: &Condition,
    operator: Range<usize>,
) -> (Range<usize>, Range<usize>) {
    let group = condition.group(scene, operator.start);
    let is_joined = |at: &usize| is_connective(scene.word(*at)) && condition.group(scene, *at) == group;
    let start = (group.start..operator.start).rev().find(is_joined).map_or(group.start, |at| at + 1);
    let end = (operator.end..group.end).find(is_joined).unwrap_or(group.end);
    (start..operator.start, operator.end..end)
}

/// Whether something that may be a truth value is compared right beside `piece`.
fn is_compared(scene: &Scene<'_>, condition: &Condition, piece: usize) -> bool {
    let (left, right) = operands(scene, condition, piece..piece + 1);
    let compares = |at: &usize| is_comparison(scene.word(*at));
    let before = left.clone().rev().find(compares).map(|at| at + 1..left.end);
    let behind = right.clone().find(compares).map(|at| right.start..at);
    [before, behind].into_iter().flatten().any(|beside| sort(scene, beside) != Some(Sort::Value))
}

/// Whether `&` or `|` stands between numbers, not between conditions.
fn joins_numbers(scene: &Scene<'_>, condition: &Condition, piece: usize) -> bool {
    let (left, right) = operands(scene, condition, piece..piece + 1);
    let compares = |at: &usize| is_comparison(scene.word(*at));
    let is_value = |pieces: Range<usize>| sort(scene, pieces) == Some(Sort::Value);
    let before = left.clone().rev().find(compares).map_or(left.start, |at| at + 1)..left.end;
    let behind = right.start..right.clone().find(compares).unwrap_or(right.end);
    before == left && is_value(before) || behind == right && is_value(behind)
}

/// `n => 3` is a comparison, `a => b` says that `a` implies `b`: what they are decides.
fn greater_or_implied(scene: &Scene<'_>, condition: &Condition, operator: Range<usize>) -> Wrong {
    let (left, right) = operands(scene, condition, operator.clone());
    let sorts = [sort(scene, left), sort(scene, right)];
    let span = scene.spans(operator.clone());
    if sorts.contains(&Some(Sort::Truth)) {
        return implication(scene, condition, span, operator);
    }
    let wrong = scene.text.get(span.range()).unwrap_or_default();
    let message = format!("this comparison is written `>=`, not `{wrong}`");
    let mut found = Wrong::new(span, message, ">=", operator.end);
    if !sorts.contains(&Some(Sort::Value)) {
        found.doubtful = true;
        found.help.push_str(", or `!( … ) || …` if the first implies the second");
    }
    found
}

/// `a ==> b`: nothing of one word says that.
fn implication(scene: &Scene<'_>, condition: &Condition, span: Span, operator: Range<usize>) -> Wrong {
    let wrong = scene.text.get(span.range()).unwrap_or_default();
    let group = condition.group(scene, operator.start);
    let (left, right) = (group.start..operator.start, operator.end..group.end);
    let text = |pieces: Range<usize>| match scene.words(pieces.clone()) {
        _ if pieces.is_empty() => "…",
        words => words,
    };
    let is_joined = right.clone().any(|piece| is_connective(scene.word(piece)));
    let (first, second) = (text(left.clone()), text(right));
    let first = if left.len() > 1 { format!("({first})") } else { first.to_owned() };
    let right = match condition.dialect.is_nuscr() {
        true if is_joined => format!("(not {first}) || ({second})"),
        true => format!("(not {first}) || {second}"),
        false => format!("!{first} || {second}"),
    };
    let help = format!("write `{right}`: the first does not hold, or the second does");
    let message = format!("conditions have no `{wrong}`");
    Wrong::unknown(span, message, help, vec![replace(span, "&&")], operator.end)
}

/// `a ** b`: which operator was meant nobody knows.
fn unknown(span: Span, wrong: &str, next: usize) -> Wrong {
    let message = format!("conditions have no operator `{wrong}`");
    let help = match wrong {
        "iff" | "<=>" | "<->" => "write `==` between two truth values, each in parentheses",
        "&" | "|" => {
            "numbers are not joined bit by bit: docs/languages/conditions.md lists the operators and functions"
        }
        "xor" => "write `!=` between two truth values, each in parentheses",
        _ => "docs/languages/conditions.md lists the operators and functions",
    };
    Wrong::unknown(span, message, help, vec![replace(span, "==")], next)
}

/// The whole operator of which a piece is the first, and the piece behind it.
fn run(scene: &Scene<'_>, piece: usize) -> Option<(Span, usize)> {
    let span = scene.pieces.get(piece).map(|_| scene.span(piece))?;
    let is_part = |piece: usize| {
        let word = scene.word(piece);
        !word.is_empty() && word.bytes().all(|c| b"=<>!:&|~/-".contains(&c))
    };
    if scene.is_word(piece) || !is_part(piece) {
        return Some((span, piece + 1));
    }
    let follows = |piece: usize| scene.end_before(piece) == scene.span(piece).start as usize;
    let mut next = piece + 1;
    while is_part(next) && follows(next) {
        next += 1;
    }
    Some((scene.spans(piece..next), next))
}
