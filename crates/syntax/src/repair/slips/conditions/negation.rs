//! `not` where conditions write `!`, and `!` where they write `not`: what it negates must be clear.

use super::place::{Condition, is_comparison, is_connective};
use super::sorts::{Sort, sort};
use super::{Scene, Wrong, insert, replace};
use crate::source::Span;

pub(super) fn wrong(scene: &Scene<'_>, condition: &Condition, piece: usize) -> Option<Wrong> {
    let operand = piece + 1;
    if operand >= condition.pieces.end || matches!(scene.word(operand), "=" | "!") {
        return None;
    }
    match scene.word(piece) {
        "not" | "NOT" | "¬" if !condition.dialect.is_nuscr() && !condition.dialect.words => {
            Some(word_for_mark(scene, condition, piece))
        }
        "!" | "¬" | "~" | "NOT" if condition.dialect.is_nuscr() => mark_for_word(scene, condition, piece),
        "not" if condition.dialect.is_nuscr() => inner_not(scene, condition, piece),
        _ => None,
    }
}

/// `where not x`.
fn word_for_mark(scene: &Scene<'_>, condition: &Condition, not: usize) -> Wrong {
    let span = scene.span(not);
    let message = format!("in conditions, `{}` is written `!`", scene.word(not));
    let gap = Span { start: span.start, end: scene.span(not + 1).start };
    let group = condition.group(scene, not);
    let next = condition.operand_end(scene, not + 1);
    let end = (next..group.end).find(|&piece| is_connective(scene.word(piece))).unwrap_or(group.end);
    // nuScr's `not` reaches to the end.
    let doubtful = end < group.end;
    if end == next {
        let help = format!("write `!{}`", scene.words(not + 1..next));
        let edits = vec![replace(gap, "!")];
        return Wrong { span, message, help, edits, doubtful, corrects: true, next: not + 1 };
    }
    // A comparison is negated as a whole, unless what is compared is a truth value itself.
    let first = not + 1..(next..end).find(|&piece| is_comparison(scene.word(piece))).unwrap_or(next);
    let doubtful = doubtful || sort(scene, first) != Some(Sort::Value);
    let help = format!("write `!({})`", scene.words(not + 1..end));
    let edits = vec![replace(gap, "!("), insert(scene.span(end - 1).end, ")")];
    Wrong { span, message, help, edits, doubtful, corrects: true, next: not + 1 }
}

/// `x: bool{!a || b}`: nuScr's `not` stands at the beginning and reaches to the end, `!` negates what stands behind it.
fn mark_for_word(scene: &Scene<'_>, condition: &Condition, mark: usize) -> Option<Wrong> {
    let group = condition.group(scene, mark);
    let end = condition.operand_end(scene, mark + 1);
    let is_operand = scene.is_word(mark + 1) || scene.word(mark + 1) == "(";
    is_operand.then(|| negated(scene, mark, end, group.start == mark && group.end == end))
}

/// `x: bool{a && not b}`.
fn inner_not(scene: &Scene<'_>, condition: &Condition, not: usize) -> Option<Wrong> {
    let group = condition.group(scene, not);
    let operand = condition.operand_end(scene, not + 1);
    // A comparison is negated as a whole: `not` reaches to the end.
    let compares = is_comparison(scene.word(operand)) && operand < group.end;
    let joined = (operand..group.end).find(|&piece| is_connective(scene.word(piece))).unwrap_or(group.end);
    let end = if compares { joined } else { operand };
    let is_inner = group.start < not && scene.word(not - 1) != "not";
    let follows = is_connective(scene.word(not.saturating_sub(1)));
    (is_inner && follows).then(|| negated(scene, not, end, false).doubtful(end < group.end))
}

/// What stands between `mark` and `end`, negated.
fn negated(scene: &Scene<'_>, mark: usize, end: usize, alone: bool) -> Wrong {
    let span = scene.span(mark);
    let gap = Span { start: span.start, end: scene.span(mark + 1).start };
    let operand = scene.words(mark + 1..end);
    let (open, close) = if alone { ("not ", "") } else { ("(not ", ")") };
    let message = match scene.word(mark) {
        "not" => String::from("in a refinement, `not` stands at the beginning or in parentheses"),
        wrong => format!("in a refinement, `{wrong}` is written `not`"),
    };
    let mut edits = vec![replace(gap, open)];
    if !alone {
        edits.push(insert(scene.span(end - 1).end, close));
    }
    let help = format!("write `{open}{operand}{close}`");
    Wrong { span, message, help, edits, doubtful: false, corrects: true, next: mark + 1 }
}
