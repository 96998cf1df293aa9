//! Larger slips than those of one token: two at once, words split and joined, brackets exchanged, lines dropped, names changed where
//! they are declared.

use crate::mutator::{Random, misspelt, mutate, tokens};

/// A text with a slip, and every text that may have been meant.
pub(crate) struct Edited {
    pub(crate) text: String,
    pub(crate) what: String,
    /// The text before it; of two slips also the text after either: one of them may be no mistake to anybody but its author.
    pub(crate) meant: Vec<String>,
}

const WORDS: [&str; 30] = [
    "from", "to", "choice", "at", "or", "rec", "continue", "do", "protocol", "role", "end", "mu", "max",
    "and", "int", "x", ",", ";", ":", ".", "(", ")", "{", "}", "<", ">", "[", "]", "!", "?",
];

const BRACKETS: [&str; 8] = ["(", ")", "[", "]", "{", "}", "<", ">"];

pub(crate) fn edit(text: &str, random: &mut Random) -> Option<Edited> {
    const KINDS: usize = 11;
    let tokens = tokens(text);
    let one =
        |text: &str, what: String, new: String| Edited { text: new, what, meant: vec![text.to_owned()] };
    let index = random.below(tokens.len());
    let token = tokens.get(index)?.clone();
    let word = &text[token.clone()];
    let lines: Vec<&str> = text.lines().collect();
    let line = random.below(lines.len());
    let without = |range: std::ops::Range<usize>| format!("{}{}", &text[..range.start], &text[range.end..]);
    let (what, new) = match random.below(KINDS) {
        0 => {
            let (first, second) = (mutate(text, random)?, mutate(text, random)?);
            let what = format!("{}; {}", first.what, second.what);
            let both = merged(text, &first.text, &second.text)?;
            return Some(Edited { text: both, what, meant: vec![text.to_owned(), first.text, second.text] });
        }
        1 => {
            let new = WORDS[random.below(WORDS.len())];
            (
                format!("`{new}` inserted before `{word}`"),
                format!("{}{new} {}", &text[..token.start], &text[token.start..]),
            )
        }
        2 => {
            let kept: Vec<&str> =
                lines.iter().enumerate().filter(|(n, _)| *n != line).map(|(_, l)| *l).collect();
            (format!("line dropped: {}", lines[line]), kept.join("\n") + "\n")
        }
        3 => {
            let mut doubled = lines.clone();
            doubled.insert(line, lines[line]);
            (format!("line doubled: {}", lines[line]), doubled.join("\n") + "\n")
        }
        4 => {
            let next = tokens.get(index + 1)?.clone();
            let gone = token.start..next.end;
            (format!("dropped: {}", &text[gone.clone()]), without(gone))
        }
        5 => {
            let next = tokens.get(index + 1)?.clone();
            let blank = token.end..next.start;
            let is_blank = !blank.is_empty() && text[blank.clone()].trim().is_empty();
            let what = format!("joined: {}", &text[token.start..next.end]);
            if !is_blank {
                return None;
            }
            (what, without(blank))
        }
        6 => {
            let is_long = word.len() > 3 && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let at = token.start + 1 + random.below(word.len().max(2) - 1);
            if !is_long {
                return None;
            }
            (format!("split: {word}"), format!("{} {}", &text[..at], &text[at..]))
        }
        7 => {
            let last = tokens.get(index + 2 + random.below(4))?.clone();
            let gone = token.start..last.end;
            (format!("dropped: {}", &text[gone.clone()]), without(gone))
        }
        8 => {
            let last = tokens.get(index + random.below(4))?.clone();
            let pair = random.below(4) * 2;
            let (open, close) = (BRACKETS[pair], BRACKETS[pair + 1]);
            let inside = &text[token.start..last.end];
            (
                format!("`{inside}` put into {open}{close}"),
                format!("{}{open}{inside}{close}{}", &text[..token.start], &text[last.end..]),
            )
        }
        9 => {
            let brackets: Vec<_> =
                tokens.iter().filter(|token| BRACKETS.contains(&&text[(*token).clone()])).collect();
            let token = (*brackets.get(random.below(brackets.len()))?).clone();
            let old = BRACKETS.iter().position(|bracket| *bracket == &text[token.clone()])?;
            let new = BRACKETS[(random.below(4) * 2 + old % 2) % BRACKETS.len()];
            (
                format!("`{}` exchanged for `{new}`", &text[token.clone()]),
                format!("{}{new}{}", &text[..token.start], &text[token.end..]),
            )
        }
        _ => {
            let is_declared = |index: &usize| {
                let at = |index: usize| tokens.get(index).map_or("", |token| &text[token.clone()]);
                let starts_line =
                    |index: usize| text[..tokens[index].start].trim_end_matches(' ').ends_with('\n');
                *index > 0
                    && matches!(at(index - 1), "role" | "protocol" | "type" | "as" | "rec" | "mu" | "max")
                    || at(index + 1) == ":" && (*index == 0 || starts_line(*index))
            };
            let declared: Vec<usize> = (0..tokens.len()).filter(is_declared).collect();
            let token = tokens.get(*declared.get(random.below(declared.len()))?)?.clone();
            let name = &text[token.clone()];
            let new = misspelt(name, random).unwrap_or_else(|| format!("{name}2"));
            (
                format!("declared as `{new}`, not `{name}`"),
                format!("{}{new}{}", &text[..token.start], &text[token.end..]),
            )
        }
    };
    (new != text).then(|| one(text, what, new))
}

/// Both changes of `text`, if they are in different lines.
fn merged(text: &str, one: &str, other: &str) -> Option<String> {
    let count = text.lines().count();
    if one.lines().count() != count || other.lines().count() != count {
        return None;
    }
    let lines = text.lines().zip(one.lines()).zip(other.lines());
    let merged = lines.map(|((line, one), other)| match (one == line, other == line) {
        (true, _) => Some(other),
        (_, true) => Some(one),
        _ => None,
    });
    Some(merged.collect::<Option<Vec<_>>>()?.join("\n") + "\n")
}
