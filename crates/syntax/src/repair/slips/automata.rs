//! Slips in automata, `.fsm`: what belongs in a line, and which directive comes first.

use super::super::candidate::PLACEHOLDER;
use super::{Candidate, Kind, Scene, insert, replace, slip, unsettled};
use crate::diagnostics::Edit;
use crate::source::Span;

pub(super) fn slips(scene: &Scene<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    found.extend(word_twice(scene));
    found.extend(no_state(scene));
    found.extend(no_dot(scene));
    found.extend(one_word(scene));
    found.extend(exchanged(scene));
    found
}

/// The pieces of the line where reading got stuck, and of the one before it.
fn lines(scene: &Scene<'_>) -> Vec<std::ops::Range<usize>> {
    let begins = |piece: &usize| *piece == 0 || scene.pieces[*piece].indent.is_some();
    let last = scene.at.min(scene.pieces.len().saturating_sub(1));
    let mut found = Vec::new();
    let mut at = last;
    while let Some(start) = (0..=at).rev().find(begins).filter(|_| !scene.pieces.is_empty()) {
        let end = (start + 1..scene.pieces.len()).find(begins).unwrap_or(scene.pieces.len());
        found.push(start..end);
        if found.len() == 2 || start == 0 {
            break;
        }
        at = start - 1;
    }
    found
}

fn is_action(scene: &Scene<'_>, piece: usize) -> bool {
    matches!(scene.word(piece), "!" | "?")
}

/// `q0 1 ! m m q1`
fn word_twice(scene: &Scene<'_>) -> Option<Candidate> {
    let line = lines(scene).into_iter().find(|line| line.len() == 6)?;
    let marks: Vec<usize> = line.clone().filter(|&piece| is_action(scene, piece)).collect();
    let second = line
        .clone()
        .skip(1)
        .find(|&piece| scene.is_word(piece) && scene.word(piece) == scene.word(piece - 1))?;
    let edit = Edit { span: scene.with_blanks(second), text: String::new() };
    (marks.len() == 1).then(|| Candidate::new([edit], Kind::Delete { piece: second }, 1))
}

/// `1 ! m q1`
fn no_state(scene: &Scene<'_>) -> Option<Candidate> {
    let line = lines(scene).into_iter().find(|line| line.len() == 4 && is_action(scene, line.start + 1))?;
    let span = scene.span(line.start);
    let message = "a state or a machine is missing before the action";
    let rest = scene.words(line.start + 1..line.end);
    let help = format!("write `STATE MACHINE {rest}`");
    Some(unsettled(span, message, help, vec![insert(span.start, format!("{PLACEHOLDER} "))]))
}

/// `marking q0` without its dot.
fn no_dot(scene: &Scene<'_>) -> Option<Candidate> {
    let is_one = |line: &std::ops::Range<usize>| match scene.word(line.start) {
        "marking" | "name" => line.len() == 2,
        "outputs" | "end" => line.len() == 1,
        "accepting" => line.clone().all(|piece| scene.is_word(piece)),
        "state" => line.len() == 2 && scene.word(line.start + 1) == "graph",
        _ => false,
    };
    let line = lines(scene).into_iter().find(is_one)?;
    let (span, word) = (scene.span(line.start), scene.word(line.start));
    let message = format!("`.` is missing before `{word}`");
    Some(slip(span, message, format!("write `.{word}`"), [insert(span.start, ".")]))
}

/// `.stategraph`, `.state_graph`, `.StateGraph`
fn one_word(scene: &Scene<'_>) -> Option<Candidate> {
    let plain = |piece: usize| scene.word(piece).replace('_', "").to_lowercase();
    let is_one = |piece: &usize| *piece > 0 && scene.word(piece - 1) == "." && plain(*piece) == "stategraph";
    let word = (scene.at.saturating_sub(1)..=scene.at + 1).find(is_one)?;
    let all = (word..scene.pieces.len()).filter(is_one);
    let edits: Vec<Edit> = all.map(|piece| replace(scene.span(piece), "state graph")).collect();
    let span = scene.spans(word - 1..word + 1);
    Some(slip(span, "`.state graph` is two words", "write `.state graph`", edits))
}

/// `.state graph` before `.outputs`, `.name B` before `.end`.
fn exchanged(scene: &Scene<'_>) -> Option<Candidate> {
    let is = |piece: usize, words: &[&str]| {
        words.iter().enumerate().all(|(index, word)| scene.word(piece + index) == *word)
    };
    let outputs = |dot: &usize| is(*dot, &[".", "state", "graph", ".", "outputs"]);
    let name = |dot: &usize| is(*dot, &[".", "name"]) && is(*dot + 3, &[".", "end"]);
    let near = scene.at.saturating_sub(5)..=scene.at;
    let (dot, second, end, message) = match near.clone().find(outputs) {
        Some(dot) => (dot, dot + 3, dot + 5, "`.outputs` comes before `.state graph`"),
        None => {
            let dot = near.clone().find(name)?;
            (dot, dot + 3, dot + 5, "`.end` comes before the `.name` of the next machine")
        }
    };
    let (first, last) = (scene.words(dot..second).to_owned(), scene.words(second..end).to_owned());
    let gap = Span { start: scene.span(second - 1).end, end: scene.span(second).start };
    let between = scene.text.get(gap.range()).unwrap_or_default();
    let span = scene.spans(dot..end);
    let found = slip(
        span,
        message,
        "put them the other way round",
        [replace(span, format!("{last}{between}{first}"))],
    );
    Some(found.doubtful())
}
