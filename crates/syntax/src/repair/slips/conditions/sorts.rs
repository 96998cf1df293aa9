//! What the operands of a condition are, as far as the text says.

use std::ops::Range;

use referee_theory::Type;

use super::Scene;
use super::place::{is_comparison, is_connective};
use crate::payload;

/// What is joined by connectives, and what is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    Truth,
    /// A number or a text.
    Value,
}

/// So many names for names of types are followed.
const MAX_NAMES: usize = 8;

/// What `pieces` are, if that is clear.
pub(super) fn sort(scene: &Scene<'_>, pieces: Range<usize>) -> Option<Sort> {
    let says_truth = |word: &str| {
        is_comparison(word)
            || is_connective(word)
            || matches!(
                word,
                "!" | "not"
                    | "¬"
                    | "true"
                    | "false"
                    | "True"
                    | "False"
                    | "startsWith"
                    | "endsWith"
                    | "contains"
                    | "matches"
            )
    };
    let says_value = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '"' | '\''))
            || matches!(word, "+" | "-" | "*" | "/" | "%" | "size" | "len" | "length")
    };
    if pieces.clone().any(|piece| says_truth(scene.word(piece))) {
        return Some(Sort::Truth);
    }
    // What an element is says the type of the list.
    if pieces.clone().any(|piece| scene.word(piece) == "[") {
        return None;
    }
    if pieces.clone().any(|piece| says_value(scene.word(piece))) {
        return Some(Sort::Value);
    }
    let mut words = pieces.filter(|&piece| !matches!(scene.word(piece), "(" | ")"));
    match (words.next(), words.next()) {
        (Some(name), None) => declared(scene, scene.word(name)),
        _ => None,
    }
}

/// What the fields and variables called `name` are, if all are the same.
fn declared(scene: &Scene<'_>, name: &str) -> Option<Sort> {
    let is_declared = |piece: &usize| scene.word(*piece) == name && scene.is_word(*piece);
    let colon = |piece: usize| match scene.word(piece + 1) {
        ":" => Some(piece + 1),
        "<" => (piece + 2..scene.pieces.len().min(piece + 20))
            .find(|&close| scene.word(close) == ">")
            .filter(|close| scene.word(close + 1) == ":")
            .map(|close| close + 1),
        _ => None,
    };
    let mut sorts = (0..scene.pieces.len())
        .filter(is_declared)
        .filter_map(colon)
        .map(|colon| of_type(scene, scene.word(colon + 1)));
    let first = sorts.next()??;
    sorts.all(|other| other == Some(first)).then_some(first)
}

fn of_type(scene: &Scene<'_>, name: &str) -> Option<Sort> {
    let mut name = name;
    for _ in 0..MAX_NAMES {
        match payload::builtin(name) {
            Some(Type::Bool) => return Some(Sort::Truth),
            Some(Type::Int | Type::Float | Type::String | Type::Bytes) => return Some(Sort::Value),
            Some(_) => return None,
            None => {}
        }
        let is_one = |piece: &usize| {
            scene.word(*piece) == "type" && scene.word(piece + 1) == name && scene.word(piece + 2) == "="
        };
        name = scene.word((0..scene.pieces.len()).find(is_one)? + 3);
    }
    None
}
