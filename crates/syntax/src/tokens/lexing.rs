//! What lexers of several languages share: comments and strings.

use logos::{Lexer, Logos};

use super::LexError;

/// For a lexer that has just read `/*`: skips to the `*/` that belongs to it; comments within nest.
pub(crate) fn nested_comment<'a, T>(lexer: &mut Lexer<'a, T>) -> Result<(), LexError>
where
    T: Logos<'a, Source = str>,
{
    match end_of_nested_comment(lexer.remainder()) {
        Some(end) => {
            lexer.bump(end);
            Ok(())
        }
        None => {
            lexer.bump(lexer.remainder().len());
            Err(LexError::Comment { closing: "*/" })
        }
    }
}

/// Where the comment ends that was opened before `text`, if comments within it nest.
pub(crate) fn end_of_nested_comment(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 1;
    let mut at = 0;
    while depth > 0 {
        match bytes.get(at..at + 2)? {
            b"*/" => {
                depth -= 1;
                at += 2;
            }
            b"/*" => {
                depth += 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    Some(at)
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
