//! What lines look like, with numbers folded: so that `extract` shows which kinds of lines no rule is about.

use std::collections::HashMap;

/// How many shapes are counted.
const MAX_SHAPES: usize = 4096;
/// How many characters of a shape are kept.
const MAX_LENGTH: usize = 200;

/// `line` with runs of digits as `0`, and words of hexadecimal digits as `h`.
#[must_use]
pub fn fold(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if out.len() > MAX_LENGTH {
            out.push('…');
            return out;
        }
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(word);
        if word == 0 {
            out.push(first);
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
            continue;
        }
        rest = after;
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        if digits == text.len() {
            out.push('0');
        } else if text.len() >= 8 && digits > 0 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            out.push('h');
        } else {
            let mut in_number = false;
            for c in text.chars() {
                if c.is_ascii_digit() {
                    if !in_number {
                        out.push('0');
                    }
                    in_number = true;
                } else {
                    out.push(c);
                    in_number = false;
                }
            }
        }
    }
    out
}

/// Shapes of lines, counted.
#[derive(Debug, Default)]
pub struct Shapes {
    counts: HashMap<String, (u64, String)>,
    others: u64,
}

impl Shapes {
    /// Counts `line`.
    pub fn count(&mut self, line: &str) {
        let shape = fold(line);
        if let Some((count, _)) = self.counts.get_mut(&shape) {
            *count += 1;
        } else if self.counts.len() < MAX_SHAPES {
            self.counts.insert(shape, (1, line.chars().take(MAX_LENGTH).collect()));
        } else {
            self.others += 1;
        }
    }

    /// Each shape with how often it came and its first line, the most frequent first; and how many lines had other shapes.
    #[must_use]
    pub fn ranked(&self) -> (Vec<(&str, u64, &str)>, u64) {
        let mut all: Vec<_> = self
            .counts
            .iter()
            .map(|(shape, (count, line))| (shape.as_str(), *count, line.as_str()))
            .collect();
        all.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
        (all, self.others)
    }
}
