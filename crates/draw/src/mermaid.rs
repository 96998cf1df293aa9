//! Writing text into Mermaid diagrams.

use std::fmt::{self, Write as _};

/// Text as part of a Mermaid label. Whatever Mermaid or the Markdown inside its labels could take for syntax
/// becomes a numeric entity, which Mermaid resolves only after both.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.trim();
        if text.is_empty() {
            // An empty label is a syntax error in places.
            return f.write_char('\u{A0}');
        }
        if text.eq_ignore_ascii_case("end") {
            // The keyword, wherever it stands.
            let first = text.chars().next().map_or(0, u32::from);
            return write!(f, "#{first};{}", &text[1..]);
        }
        let mut before = None;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let next = characters.peek().copied();
            let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            let plain = match c {
                ' ' | '!' | '?' | '(' | ')' | ',' | '=' => true,
                // Emphasis, list markers, links.
                '_' | '-' | '.' => word(before) && word(next) && !before.is_some_and(|b| b.is_ascii_digit()),
                ':' => next != Some('/'),
                c => c.is_alphanumeric() || (!c.is_ascii() && !c.is_control()),
            };
            match c {
                c if plain => f.write_char(c)?,
                '\n' => f.write_str("<br/>")?,
                c if c.is_control() => f.write_char(' ')?,
                c => write!(f, "#{};", u32::from(c))?,
            }
            before = Some(c);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_becomes_entities() {
        let shown = |text| Escaped(text).to_string();
        assert_eq!(shown("server!Auth(uname, pwd)"), "server!Auth(uname, pwd)");
        assert_eq!(shown("a \"b\" <c> #1;"), "a #34;b#34; #60;c#62; #35;1#59;");
        assert_eq!(shown("1. item"), "1#46; item");
        assert_eq!(shown("snake_case _emphasis_"), "snake_case #95;emphasis#95;");
        assert_eq!(shown("end"), "#101;nd");
        assert_eq!(shown("two\nlines"), "two<br/>lines");
        assert_eq!(shown("http://x"), "http#58;#47;#47;x");
    }
}
