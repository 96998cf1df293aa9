//! One token of a text changed, as a typing error or an edit would: deleted, doubled, swapped with its neighbour,
//! replaced by another token of the text, or misspelt. The same seed gives the same mutations everywhere.

use std::ops::Range;

/// A text with one mistake.
pub(crate) struct Mutant {
    pub(crate) text: String,
    /// What was done, for failure messages.
    pub(crate) what: String,
    /// The lines on which the mistake is, from 1: that of the token, and for a token that is gone also the end of
    /// the token before it, where it has to be put back.
    pub(crate) lines: Range<usize>,
}

/// How many mutants of each text are tried: what `REFEREE_MUTATIONS` says, otherwise `few`.
#[expect(clippy::disallowed_methods, reason = "a measurement, as long as it is asked to be")]
pub(crate) fn mutations(few: usize) -> usize {
    std::env::var("REFEREE_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// Other seeds than those of every run: what `REFEREE_SEEDS=1,2,3` says.
#[expect(clippy::disallowed_methods, reason = "a measurement, over what it is asked to be")]
pub(crate) fn seeds() -> Vec<u64> {
    let said = std::env::var("REFEREE_SEEDS").unwrap_or_default();
    said.split(',').filter_map(|seed| seed.parse().ok()).collect()
}

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit.max(1) as u64).unwrap_or(0)
    }
}

/// The tokens of a text in any of the languages, without comments. (Not the product's own lexers: the mutator
/// shall not know what the parsers know.)
pub(crate) fn tokens(text: &str) -> Vec<Range<usize>> {
    const COMMENTS: [(&str, &str); 4] = [("/*", "*/"), ("(*", "*)"), ("//", "\n"), ("--", "\n")];
    const SYMBOLS: [&str; 12] = ["(*#", "#*)", "->", "==", "!=", "<=", ">=", "<>", "&&", "||", ".=", "::"];
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
        let comment = COMMENTS.iter().find(|(open, _)| rest.starts_with(open) && !rest.starts_with("(*#"));
        let length = if let Some((open, close)) = comment {
            let end = rest[open.len()..].find(close).map_or(rest.len(), |end| open.len() + end + close.len());
            at += end;
            continue;
        } else if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if first.is_alphanumeric() || first == '_' {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if first == '"' {
            rest[1..].find(['"', '\n']).map_or(rest.len(), |end| end + 2)
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            symbol.len()
        } else {
            first.len_utf8()
        };
        tokens.push(at..at + length);
        at += length;
    }
    tokens
}

/// `text` with one token changed; `None` if the change is none.
pub(crate) fn mutate(text: &str, random: &mut Random) -> Option<Mutant> {
    let tokens = tokens(text);
    let index = random.below(tokens.len());
    let token = tokens.get(index)?.clone();
    let word = &text[token.clone()];
    let kind = random.below(5);
    let (from, new, what) = match kind {
        0 => (token.clone(), String::new(), "deleted"),
        1 => (token.clone(), format!("{word} {word}"), "doubled"),
        2 => {
            let next = tokens.get(index + 1)?.clone();
            let between = &text[token.end..next.start];
            (token.start..next.end, format!("{}{between}{word}", &text[next.clone()]), "swapped")
        }
        3 => {
            let other = tokens[random.below(tokens.len())].clone();
            (token.clone(), text[other].to_string(), "replaced")
        }
        _ => (token.clone(), misspelt(word, random)?, "misspelt"),
    };
    if text[from.clone()] == new {
        return None;
    }
    let changed = format!("{}{new}{}", &text[..from.start], &text[from.end..]);
    let line = |offset: usize| text[..offset].matches('\n').count() + 1;
    let first = match tokens.get(index.wrapping_sub(1)) {
        Some(before) if kind == 0 => line(before.end),
        _ => line(from.start),
    };
    let what = format!("`{word}` {what} in line {}: `{new}`", line(token.start));
    Some(Mutant { text: changed, what, lines: first..line(from.end) + 1 })
}

/// Two letters of a word swapped, or one left out.
pub(crate) fn misspelt(word: &str, random: &mut Random) -> Option<String> {
    let mut letters: Vec<char> = word.chars().collect();
    if letters.len() < 3 || !letters[0].is_alphabetic() {
        return None;
    }
    let at = random.below(letters.len() - 1);
    if random.below(2) == 0 {
        letters.swap(at, at + 1);
    } else {
        letters.remove(at);
    }
    Some(letters.into_iter().collect())
}
