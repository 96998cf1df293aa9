//! What lexers of several languages share: comments and strings.

use logos::{Lexer, Logos};

use super::LexError;

/// The rest of a comment that may contain others, for a lexer that has read `/*`.
pub(crate) fn nested_comment<'a, T>(lexer: &mut Lexer<'a, T>) -> Result<(), LexError>
where
    T: Logos<'a, Source = str>,
{
    nested_comment_of(lexer, "/*", "*/")
}

/// As [`nested_comment`], between `opening` and `closing`.
pub(crate) fn nested_comment_of<'a, T>(
    lexer: &mut Lexer<'a, T>,
    opening: &str,
    closing: &'static str,
) -> Result<(), LexError>
where
    T: Logos<'a, Source = str>,
{
    let end = end_of_nested_comment(lexer.remainder(), opening, closing);
    lexer.bump(end.unwrap_or(lexer.remainder().len()));
    end.map(drop).ok_or(LexError::Comment { closing })
}

/// Where the comment ends that was opened before `text`, if comments within it nest. `(*)` opens nothing.
pub(crate) fn end_of_nested_comment(text: &str, opening: &str, closing: &str) -> Option<usize> {
    let mut rest = text.as_bytes();
    let mut depth = 1_usize;
    while depth > 0 {
        let length = if rest.starts_with(b"(*)") && opening == "(*" {
            3
        } else if rest.starts_with(opening.as_bytes()) {
            depth += 1;
            opening.len()
        } else if rest.starts_with(closing.as_bytes()) {
            depth -= 1;
            closing.len()
        } else {
            1
        };
        rest = rest.get(length..)?;
    }
    Some(text.len() - rest.len())
}

/// For a lexer that has just read `/*`: skips to the first `*/`.
pub(crate) fn flat_comment<'a, T>(lexer: &mut Lexer<'a, T>) -> Result<(), LexError>
where
    T: Logos<'a, Source = str>,
{
    match lexer.remainder().find("*/") {
        Some(at) => {
            lexer.bump(at + 2);
            Ok(())
        }
        None => {
            lexer.bump(lexer.remainder().len());
            Err(LexError::Comment { closing: "*/" })
        }
    }
}

/// For a lexer that has read a quote and the rest of its line.
pub(crate) fn unterminated_string<'a, T>(_: &mut Lexer<'a, T>) -> Result<(), LexError>
where
    T: Logos<'a, Source = str>,
{
    Err(LexError::String)
}

/// For a lexer that has read a line after `--`, `//` or `#`, in a language whose comments begin with `--`.
pub(crate) fn dash_comment<'a, T>(lexer: &mut Lexer<'a, T>) -> Result<(), LexError>
where
    T: Logos<'a, Source = str>,
{
    own_comment(lexer.slice(), "--")
}

/// As [`dash_comment`], where comments begin with `//`.
pub(crate) fn slash_comment<'a, T>(lexer: &mut Lexer<'a, T>) -> Result<(), LexError>
where
    T: Logos<'a, Source = str>,
{
    own_comment(lexer.slice(), "//")
}

/// The comment of another language is one mistake, whatever it says.
fn own_comment(line: &str, opening: &str) -> Result<(), LexError> {
    if line.starts_with(opening) { Ok(()) } else { Err(LexError::Character) }
}
