//! The words and symbols of a text, whatever its language, for editors: highlighting, folding, what stands before a cursor.
//!
//! These are the tokens that the parsers read, with the comments that parsers skip. What is no token is left out, so that
//! a text that is being typed has lexemes at any moment.

use crate::expr::{self, Dialect};
use crate::language::Language;
use crate::source::Span;
use crate::tokens::{LexError, Lexed};
use crate::{fsm, gt, hml, kmc, scr, st};

/// What a piece of text is, as far as its characters tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LexemeKind {
    /// A name or a keyword.
    Word,
    /// Digits.
    Number,
    /// Quoted text.
    String,
    /// A comment, or several with nothing between them.
    Comment,
    /// Brackets, operators, punctuation.
    Symbol,
}

/// A piece of text and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// What it is.
    pub kind: LexemeKind,
    /// Where it is.
    pub span: Span,
}

/// The lexemes of `text`, in its order. JSON has none.
#[must_use]
pub fn lexemes(text: &str, language: Language) -> Vec<Lexeme> {
    match language {
        Language::Scr => scr::lexemes(text),
        Language::St => st::lexemes(text),
        Language::Gt => gt::lexemes(text),
        Language::GtJson => Vec::new(),
        Language::Kmc => kmc::lexemes(text),
        Language::Fsm => fsm::lexemes(text),
        Language::Hml => hml::lexemes(text),
    }
}

/// The lexemes of `text`, by the tokens `T`.
pub(crate) fn of<'a, T: Lexed<'a>>(text: &'a str) -> Vec<Lexeme> {
    let mut all = Vec::new();
    let mut end = 0;
    let mut lexer = T::lexer(text);
    while let Some(result) = lexer.next() {
        let range = lexer.span();
        skipped(text, end, range.start, &mut all);
        end = range.end;
        match result {
            Ok(token) if token.is_comment() => push(&mut all, LexemeKind::Comment, range.start, range.end),
            Ok(_) => classified(text, range.start, range.end, &mut all),
            Err(LexError::Comment { .. }) => push(&mut all, LexemeKind::Comment, range.start, range.end),
            Err(LexError::String) => push(&mut all, LexemeKind::String, range.start, range.end),
            Err(LexError::Character) => {}
        }
    }
    skipped(text, end, text.len(), &mut all);
    all
}

fn push(all: &mut Vec<Lexeme>, kind: LexemeKind, start: usize, end: usize) {
    all.push(Lexeme { kind, span: Span::new(start, end) });
}

/// What lexers skip and is not blank is a comment.
fn skipped(text: &str, start: usize, end: usize, all: &mut Vec<Lexeme>) {
    let gap = text.get(start..end).unwrap_or_default();
    let is_blank = |character: char| character.is_whitespace() || character == '\u{feff}';
    let comment = gap.trim_matches(is_blank);
    if !comment.is_empty() {
        let start = start + gap.len() - gap.trim_start_matches(is_blank).len();
        push(all, LexemeKind::Comment, start, start + comment.len());
    }
}

fn classified(text: &str, start: usize, end: usize, all: &mut Vec<Lexeme>) {
    let token = text.get(start..end).unwrap_or_default();
    let kind = match token.chars().next() {
        Some('"' | '\'') => LexemeKind::String,
        Some(first) if first.is_ascii_digit() && token.chars().all(|c| c.is_ascii_digit() || c == '.') => {
            LexemeKind::Number
        }
        Some(first) if first.is_alphanumeric() || first == '_' => LexemeKind::Word,
        // The assertions of `.st` are one token.
        Some('[') if token.len() > 1 => return assertion(token, start, end, all),
        _ => LexemeKind::Symbol,
    };
    push(all, kind, start, end);
}

fn assertion(token: &str, start: usize, end: usize, all: &mut Vec<Lexeme>) {
    push(all, LexemeKind::Symbol, start, start + 1);
    let closed = token.ends_with(']');
    let inner = &token[1..token.len() - usize::from(closed)];
    for range in expr::tokens(inner, Dialect::Scala) {
        classified(&inner[..range.end], range.start, range.end, all);
        if let Some(last) = all.last_mut() {
            last.span = Span::new(start + 1 + range.start, start + 1 + range.end);
        }
    }
    if closed {
        push(all, LexemeKind::Symbol, end - 1, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, language: Language) -> Vec<(LexemeKind, &str)> {
        lexemes(text, language).iter().map(|lexeme| (lexeme.kind, &text[lexeme.span.range()])).collect()
    }

    #[test]
    fn comments_are_lexemes_in_every_language() {
        use LexemeKind::{Comment, Number, String, Symbol, Word};
        assert_eq!(
            words("protocol P // why\n\"s\" 12", Language::Scr),
            [(Word, "protocol"), (Word, "P"), (Comment, "// why"), (String, "\"s\""), (Number, "12")]
        );
        assert_eq!(
            words("A: /* x */ B!m -- y\n", Language::Kmc),
            [
                (Word, "A"),
                (Symbol, ":"),
                (Comment, "/* x */"),
                (Word, "B"),
                (Symbol, "!"),
                (Word, "m"),
                (Comment, "-- y")
            ]
        );
        assert_eq!(words("% c\nff", Language::Hml), [(Comment, "% c"), (Word, "ff")]);
        assert_eq!(words("a -> b // c", Language::Gt)[3], (Comment, "// c"));
        assert_eq!(words("--.name A", Language::Fsm)[1], (Word, "name"));
    }

    #[test]
    fn an_assertion_has_lexemes_of_its_own() {
        use LexemeKind::{Number, Symbol, Word};
        let found = words("[n > 12]", Language::St);
        assert_eq!(found, [(Symbol, "["), (Word, "n"), (Symbol, ">"), (Number, "12"), (Symbol, "]")]);
    }

    /// Whatever is typed: the lexemes ascend and lie within the text.
    #[test]
    fn lexemes_ascend_whatever_the_text() {
        let texts =
            ["", "\u{feff}protocol", "(* a", "\"open", "é→≤ 'x", "[a[b", "[\"]\n]", "{x: 1.5e", "((*)"];
        for language in Language::ALL {
            for text in texts {
                let mut last = 0;
                for lexeme in lexemes(text, language) {
                    assert!(
                        lexeme.span.start >= last && lexeme.span.start < lexeme.span.end,
                        "{text} {language}"
                    );
                    assert!(text.get(lexeme.span.range()).is_some(), "{text} {language}");
                    last = lexeme.span.end;
                }
            }
        }
    }
}
