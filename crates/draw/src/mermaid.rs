//! Writing text into Mermaid diagrams.

use std::fmt::{self, Write as _};

/// Text as part of a Mermaid label. What Mermaid could take for syntax becomes a numeric entity.
///
/// Mermaid also reads Markdown in labels, after resolving entities, and refuses most of it. Markup is
/// therefore broken up with word joiners, which have no width, or replaced by characters that look alike.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

/// Takes no room and separates what Markdown would read together.
const JOINER: char = '\u{2060}';

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.trim();
        let Some(first) = text.chars().next() else {
            // An empty label is a syntax error in places.
            return f.write_char('\u{A0}');
        };
        if text.eq_ignore_ascii_case("end") {
            // The keyword, wherever it stands.
            return write!(f, "#{};{}", u32::from(first), &text[1..]);
        }
        if !first.is_alphanumeric() {
            // Headings, quotations, lists, rules.
            f.write_char(JOINER)?;
        }
        let mut before = None;
        let mut number = true;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let next = characters.peek().copied();
            let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            match c {
                '\n' => f.write_str("<br/>")?,
                c if c.is_control() => f.write_char(' ')?,
                '`' => f.write_char('ˋ')?,
                '*' => f.write_char('∗')?,
                // Emphasis, unless inside a word.
                '_' if word(before) && word(next) => f.write_char(c)?,
                // Numbered lists; host names.
                '.' | ')' if number || before == Some('w') => write!(f, "{JOINER}{c}")?,
                // Addresses; the names of icons (`fa:fa-car`).
                ':' if matches!(next, Some('/' | 'f')) => write!(f, ":{JOINER}")?,
                '-' if word(before) => f.write_char(c)?,
                ' ' | '!' | '?' | '(' | ')' | ',' | '=' | '.' | ':' | '/' => f.write_char(c)?,
                c if c.is_alphanumeric() || !c.is_ascii() => f.write_char(c)?,
                // Escapes, links, strike-through, addresses, the rest of emphasis.
                '\\' | '[' | ']' | '~' | '@' | '_' => write!(f, "{JOINER}#{};{JOINER}", u32::from(c))?,
                c => write!(f, "#{};", u32::from(c))?,
            }
            number = (number && c.is_ascii_digit()) || c == '\n';
            before = Some(c);
        }
        Ok(())
    }
}

/// Text as the title of a diagram, where Mermaid resolves no entities.
pub(crate) fn title(text: &str) -> String {
    let look_alike = |c: char| match c {
        '<' => '‹',
        '>' => '›',
        '&' => '＆',
        '"' => '”',
        '\\' => '∖',
        c if c.is_control() => ' ',
        c => c,
    };
    text.trim().chars().map(look_alike).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_becomes_entities() {
        let shown = |text| Escaped(text).to_string();
        assert_eq!(shown("server!Auth(uname, pwd)"), "server!Auth(uname, pwd)");
        assert_eq!(shown("a \"b\" <c> #1;"), "a #34;b#34; #60;c#62; #35;1#59;");
        assert_eq!(shown("1. item"), "1\u{2060}. item");
        assert_eq!(shown("2.5"), "2\u{2060}.5");
        assert_eq!(shown("snake_case _x"), "snake_case \u{2060}#95;\u{2060}x");
        assert_eq!(shown("- no list"), "\u{2060}#45; no list");
        assert_eq!(shown("`code` *x*"), "\u{2060}ˋcodeˋ ∗x∗");
        assert_eq!(shown("end"), "#101;nd");
        assert_eq!(shown("two\nlines"), "two<br/>lines");
        assert_eq!(shown("http://x"), "http:\u{2060}//x");
    }
}
