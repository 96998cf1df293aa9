//! What the parsers share: lexing a whole text, a cursor over its tokens, and recovery after errors.
//!
//! The cursor reports, so that no parser can forget to, and it reports with restraint: one error per token,
//! and none where characters that are no tokens were skipped just before, for these were reported already.
//!
//! Nothing here knows a grammar; the grammars are in the modules of the languages.

use logos::{Lexer, Logos};

use crate::diagnostics::{
    Diagnostic, rf0001_unexpected_character, rf0002_unterminated_comment, rf0003_unterminated_string,
    rf0004_unexpected_token,
};
use crate::source::Span;

/// A kind of token of some language.
pub(crate) trait Token: Copy + PartialEq {
    /// How messages call it: "`;`", "a label". Never the text of one particular token.
    fn describe(self) -> &'static str;

    /// Whether it opens or closes a bracket, so that recovery skips what is bracketed as a whole.
    fn bracket(self) -> Bracket;

    /// Whether messages should quote its text: names and numbers.
    fn has_text(self) -> bool;
}

/// What a token does to the depth of nesting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bracket {
    /// Nothing.
    None,
    /// `{`, `(`, `[`.
    Open,
    /// `}`, `)`, `]`.
    Close,
}

/// After so many places that are no tokens the text is of another kind altogether: the rest is counted.
const MOST_LEXICAL: usize = 20;

/// Why a piece of text is no token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LexError {
    /// No token begins with this character.
    #[default]
    Character,
    /// A comment without its end.
    Comment {
        /// What would end it.
        closing: &'static str,
    },
    /// A string without its closing quote.
    String,
}

/// The tokens of a text, a place among them, and what was found wrong so far.
pub(crate) struct Cursor<'a, T> {
    text: &'a str,
    tokens: Vec<(T, Span)>,
    at: usize,
    /// Before which tokens text was skipped that is no token; ascending.
    damaged: Vec<usize>,
    /// At which token an error was reported last.
    reported_at: Option<usize>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a, T> Cursor<'a, T>
where
    T: Token + Logos<'a, Source = str, Error = LexError>,
    T::Extras: Default,
{
    /// The tokens of `text`; what is no token is reported and left out.
    pub(crate) fn new(text: &'a str) -> Self {
        let mut cursor = Self {
            text,
            tokens: Vec::with_capacity(text.len() / 3),
            at: 0,
            damaged: Vec::new(),
            reported_at: None,
            diagnostics: Vec::new(),
        };
        // Neighbouring characters that are no tokens are one mistake.
        let mut bad_until = None;
        let mut mistakes = 0_usize;
        let mut last_mistake = Span::default();
        let mut lexer = T::lexer(text);
        while let Some(result) = lexer.next() {
            let range = lexer.span();
            let span = Span::new(range.start, range.end);
            match result {
                Ok(token) => cursor.tokens.push((token, span)),
                Err(error) => {
                    if bad_until != Some(range.start) {
                        cursor.damaged.push(cursor.tokens.len());
                        let found = text[range.clone()].chars().next().unwrap_or(' ');
                        mistakes += 1;
                        last_mistake = span;
                        if mistakes <= MOST_LEXICAL {
                            cursor.diagnostics.push(describe(error, span, found));
                        }
                    }
                    bad_until = Some(range.end);
                }
            }
        }
        if mistakes > MOST_LEXICAL {
            let message = format!("and {} more places like these, up to here", mistakes - MOST_LEXICAL);
            let more = rf0001_unexpected_character::CODE.at(last_mistake, message);
            cursor.diagnostics.push(more.help("is this file really written in this language?"));
        }
        cursor
    }
}

fn describe(error: LexError, span: Span, found: char) -> Diagnostic {
    let first = Span::new(span.start as usize, span.start as usize + found.len_utf8());
    match error {
        LexError::Character => rf0001_unexpected_character::unexpected_character(first, found),
        LexError::Comment { closing } => {
            let opening = Span::new(span.start as usize, span.start as usize + 2);
            rf0002_unterminated_comment::unterminated_comment(opening, closing)
        }
        LexError::String => rf0003_unterminated_string::unterminated_string(span),
    }
}

impl<'a, T: Token> Cursor<'a, T> {
    /// The next token; `None` at the end of the text.
    pub(crate) fn peek(&self) -> Option<T> {
        self.peek_nth(0)
    }

    /// The token after `n` others.
    pub(crate) fn peek_nth(&self, n: usize) -> Option<T> {
        self.tokens.get(self.at + n).map(|&(token, _)| token)
    }

    /// Whether the next token is `token`.
    pub(crate) fn is_at(&self, token: T) -> bool {
        self.peek() == Some(token)
    }

    /// Whether no tokens are left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Where the next token is; the end of the text if there is none.
    pub(crate) fn span(&self) -> Span {
        self.span_nth(0)
    }

    /// Where the token after `n` others is; the end of the text if there is none.
    pub(crate) fn span_nth(&self, n: usize) -> Span {
        self.tokens.get(self.at + n).map_or(Span::at(self.text.len()), |&(_, span)| span)
    }

    /// Where the last token taken is; the start of the text if there is none.
    pub(crate) fn previous(&self) -> Span {
        self.at.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(Span::at(0), |&(_, span)| span)
    }

    /// The text at `span`.
    pub(crate) fn text_of(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// The text of the next token; empty at the end.
    pub(crate) fn text(&self) -> &'a str {
        self.text_of(self.span())
    }

    /// The text of the token after `n` others; empty at the end.
    pub(crate) fn text_nth(&self, n: usize) -> &'a str {
        self.text_of(self.span_nth(n))
    }

    /// Takes the next token, whatever it is, and gives its place.
    pub(crate) fn bump(&mut self) -> Span {
        let span = self.span();
        self.at = (self.at + 1).min(self.tokens.len());
        span
    }

    /// Takes the next token if it is `token`.
    pub(crate) fn eat(&mut self, token: T) -> Option<Span> {
        self.is_at(token).then(|| self.bump())
    }

    /// Takes the next token if it is `token`, and reports its absence otherwise.
    pub(crate) fn expect(&mut self, token: T) -> Option<Span> {
        let taken = self.eat(token);
        if taken.is_none() {
            self.unexpected(&[token.describe()]);
        }
        taken
    }

    /// Reports that one of `expected` should stand here.
    pub(crate) fn unexpected(&mut self, expected: &[&str]) {
        let found = match self.peek() {
            None => String::from("the end of the text"),
            Some(token) if token.has_text() => format!("`{}`", shortened(self.text())),
            Some(token) => token.describe().to_string(),
        };
        let diagnostic = rf0004_unexpected_token::unexpected_token(self.span(), &found, expected);
        self.report_here(diagnostic);
    }

    /// Reports `diagnostic`, which is about the grammar at this token, unless something else was said here.
    pub(crate) fn report_here(&mut self, diagnostic: Diagnostic) {
        let damaged = self.damaged.binary_search(&self.at).is_ok();
        if self.reported_at != Some(self.at) && !damaged {
            self.diagnostics.push(diagnostic);
        }
        self.reported_at = Some(self.at);
    }

    /// Reports `diagnostic`, which is about the meaning of the text.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Skips tokens up to one where `stop` holds, given how many brackets were opened since; takes none if
    /// it holds here.
    pub(crate) fn recover(&mut self, stop: impl Fn(&Self, usize) -> bool) {
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            if stop(self, depth) {
                break;
            }
            match token.bracket() {
                Bracket::Open => depth += 1,
                Bracket::Close => depth = depth.saturating_sub(1),
                Bracket::None => {}
            }
            self.bump();
        }
        // Whatever is wrong here was the same mistake.
        self.reported_at = Some(self.at);
    }

    /// Whether the next token is the first on its line.
    pub(crate) fn starts_line(&self) -> bool {
        let between = self.previous().end as usize..self.span().start as usize;
        self.at == 0 || self.text.get(between).is_some_and(|blank| blank.contains('\n'))
    }

    /// Every `first` that a `second` follows, anywhere in the text.
    pub(crate) fn pairs(&self, first: T, second: T) -> Vec<(&'a str, Span)> {
        let pairs = self.tokens.windows(2).filter(|pair| pair[0].0 == first && pair[1].0 == second);
        pairs.map(|pair| (self.text_of(pair[0].1), pair[0].1)).collect()
    }

    /// Everything that was reported.
    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}

/// The beginning of `text`: messages quote no novels.
fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_string(),
    }
}

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
