//! Rust source as text: what is code, and what is a unit-test module.
//!
//! Not a parser. [`code`] knows comments and literals, which is enough to find a macro call or to match a
//! brace without being fooled by a string that mentions one.

use std::ops::Range;

/// `text` with comments and the contents of literals replaced by blanks. Lines stay where they are.
pub(super) fn code(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        let end = skip(&characters, at);
        if end == at {
            result.push(characters[at]);
            at += 1;
        } else {
            result.extend(characters[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    result
}

/// Where the comment or literal that starts at `at` ends; `at` itself if none does.
fn skip(text: &[char], at: usize) -> usize {
    let rest = &text[at..];
    match rest {
        ['/', '/', ..] => at + rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => at + block_comment(rest),
        ['"', ..] => at + quoted(rest, '"'),
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => at + quoted(rest, '\''),
        ['r', ..] if !continues_word(text, at) => at + raw_string(rest, 1),
        ['b' | 'c', 'r', ..] if !continues_word(text, at) => at + raw_string(rest, 2),
        _ => at,
    }
}

fn continues_word(text: &[char], at: usize) -> bool {
    at > 0 && is_word(text[at - 1])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the block comment that opens `text`; block comments nest.
fn block_comment(text: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        match &text[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] if depth == 1 => return at + 2,
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    text.len()
}

/// The length of the literal between `quote`s that opens `text`.
fn quoted(text: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The length of the raw string that opens `text` with a prefix of `prefix` letters; 0 if there is none.
fn raw_string(text: &[char], prefix: usize) -> usize {
    let hashes = text[prefix..].iter().take_while(|&&c| c == '#').count();
    let body = prefix + hashes + 1;
    if text.get(body - 1) != Some(&'"') {
        return 0;
    }
    let closing = |at: &usize| {
        text[*at] == '"' && text[at + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes
    };
    (body..text.len()).find(closing).map_or(text.len(), |at| at + 1 + hashes)
}

/// The lines (counted from 0) of each `#[cfg(test)] mod … { … }` in `code`, which [`code`] has cleaned.
pub(super) fn test_modules(code: &str) -> Vec<Range<usize>> {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let mut modules = Vec::new();
    let mut from = 0;
    while let Some(start) = code[from..].find(ATTRIBUTE).map(|offset| from + offset) {
        from = start + ATTRIBUTE.len();
        if let Some(end) = module_end(code, from) {
            modules.push(line_of(code, start)..line_of(code, end) + 1);
            from = end;
        }
    }
    modules
}

/// If a module with a body follows at `at`, after further attributes: where its closing brace is.
fn module_end(code: &str, mut at: usize) -> Option<usize> {
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        if !code[at..].starts_with("#[") {
            break;
        }
        at = matching(code, at + 1, '[', ']')? + 1;
    }
    let head_length = code[at..].find(['{', ';'])?;
    let head = &code[at..at + head_length];
    let is_module = head.split_whitespace().any(|word| word == "mod");
    if !is_module || code[at + head_length..].starts_with(';') {
        return None;
    }
    matching(code, at + head_length, '{', '}')
}

/// The position of the `close` that matches the `open` at `start`.
fn matching(code: &str, start: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, c) in code[start..].char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(start + offset);
            }
        }
    }
    None
}

/// The line (counted from 0) of the byte `at`.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count()
}

/// Where `name` stands in `code` as a whole word followed by `!`.
pub(super) fn macro_calls<'a>(code: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(name).map(|(at, _)| at).filter(move |&at| {
        !code[..at].ends_with(is_word) && code[at + name.len()..].trim_start().starts_with('!')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_become_blanks() {
        for (text, expected) in [
            ("a // b\nc", "a c"),
            ("a /* /* b */ { */ c", "a c"),
            (r#"f("{\"}") }"#, "f( ) }"),
            ("f('{', '\\'', b'}')", "f( , , b )"),
            ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
            ("r#\"}\"{\"# }", "}"),
            ("br\"}\" }", "}"),
            ("r#type { for_\"}\" x", "r#type { for_ x"),
        ] {
            let code = code(text);
            assert_eq!(code.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{text}");
            assert_eq!(code.chars().count(), text.chars().count(), "{text}");
        }
    }

    #[test]
    fn unclosed_literals_end_with_the_text() {
        for text in ["\"a", "'\\", "/* a", "r#\"a\"", "r", "r#", "\"\\"] {
            assert_eq!(code(text).chars().count(), text.chars().count(), "{text}");
        }
    }

    #[test]
    fn a_test_module_ends_at_its_own_brace() {
        let text = "fn f() {}\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    const S: &str = \"\n}\n\";\n}\nfn g() {}\n";
        assert_eq!(test_modules(&code(text)), vec![1..8]);
    }

    #[test]
    fn other_test_items_are_not_modules() {
        let text = "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nimpl X { }\n#[cfg(test)]\nuse a::{b};\n";
        assert_eq!(test_modules(&code(text)), Vec::<Range<usize>>::new());
    }

    #[test]
    fn macro_calls_are_whole_words() {
        let found = |text: &str| macro_calls(text, "dbg").count();
        assert_eq!(found("dbg!()"), 1);
        assert_eq!(found("x = dbg !(\"later\")"), 1);
        assert_eq!(found("my_dbg!() + dbg + dbgs!()"), 0);
    }
}
