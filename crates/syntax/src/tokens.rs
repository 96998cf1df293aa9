//! What the parsers share: one cursor that moves over the tokens of a text, and recovery after errors.
//!
//! Tokens are made on demand, because assertions and guards are read by a parser of their own, and what is a
//! comment here may be an operator there: the cursor is put behind whatever that parser consumed
//! ([`Cursor::seek`]).
//!
//! The cursor reports, so that no parser can forget to, and it reports with restraint: one error per token,
//! and none where characters that are no tokens were skipped just before, for these were reported already.
//!
//! Nothing here knows a grammar; the grammars are in the modules of the languages.

use std::sync::Arc;

use logos::Logos;
use rustc_hash::FxHashMap;

use crate::diagnostics::{Diagnostic, RF0001, lexical};
use crate::source::Span;

mod lexing;

pub(crate) use lexing::{
    dash_comment, end_of_nested_comment, flat_comment, nested_comment, nested_comment_of, slash_comment,
    unterminated_string,
};

/// A kind of token of some language.
pub(crate) trait Token: Copy + PartialEq {
    /// How messages call it: "`;`", "a label". Never the text of one particular token.
    fn describe(self) -> &'static str;

    /// Whether it opens or closes a bracket, so that recovery skips what is bracketed as a whole. Most languages have braces and
    /// parentheses alone.
    fn bracket(self) -> Bracket {
        match self.describe() {
            "`{`" | "`(`" => Bracket::Open,
            "`}`" | "`)`" => Bracket::Close,
            _ => Bracket::None,
        }
    }

    /// Whether messages should quote its text: names and numbers.
    fn has_text(self) -> bool;

    /// Whether it is a comment, which the cursor keeps apart and parsers never see.
    fn is_comment(self) -> bool {
        false
    }
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

/// An error has been reported: whoever gets this only has to find a place to go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported;

/// What was read, or nothing, with the reason among the diagnostics.
pub(crate) type Parsed<T> = Result<T, Reported>;

/// After so many places that are no tokens the text is of another kind altogether: the rest is counted.
const MAX_STRAY: usize = 20;

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

/// A language's tokens can be made anywhere in a text: its lexer has no memory.
pub(crate) trait Lexed<'a>: Token + Logos<'a, Source = str, Extras = (), Error = LexError> {}
impl<'a, T: Token + Logos<'a, Source = str, Extras = (), Error = LexError>> Lexed<'a> for T {}

/// A place in a text, the token there, and what was found wrong so far.
pub(crate) struct Cursor<'a, T> {
    text: &'a str,
    /// The token here; `None` at the end of the text.
    token: Option<T>,
    span: Span,
    /// The last token taken, or what another parser has read.
    previous: Span,
    /// Whether text was skipped just before this token that is no token.
    damaged: bool,
    /// At which token an error was reported last.
    reported_at: Option<u32>,
    /// How many places were no tokens, and the last of them.
    stray: (usize, Span),
    comments: Vec<Span>,
    /// How deep what is being read is nested.
    nesting: usize,
    /// Names that were met before, to share their text.
    names: FxHashMap<&'a str, Arc<str>>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a, T: Lexed<'a>> Cursor<'a, T> {
    /// At the first token of `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        Self::starting_at(text, 0)
    }

    /// At the first token of `text` from `start` on: what stands before is another text.
    pub(crate) fn starting_at(text: &'a str, start: usize) -> Self {
        let mut cursor = Self {
            text,
            token: None,
            span: Span::at(start),
            previous: Span::at(start),
            damaged: false,
            reported_at: None,
            stray: (0, Span::at(0)),
            comments: Vec::new(),
            nesting: 0,
            names: FxHashMap::default(),
            diagnostics: Vec::new(),
        };
        cursor.find_token(start);
        cursor
    }

    /// Goes on reading at `offset`, behind what another parser has read.
    pub(crate) fn seek(&mut self, offset: usize) {
        self.previous = Span::new(self.previous.start as usize, offset);
        self.find_token(offset);
    }

    /// Makes the first token at or after `offset` the current one. What is no token is reported and passed over.
    fn find_token(&mut self, offset: usize) {
        self.damaged = false;
        // Neighbouring characters that are no tokens are one mistake.
        let mut bad_until = None;
        let mut lexer = T::lexer(self.text.get(offset..).unwrap_or_default());
        while let Some(result) = lexer.next() {
            let range = lexer.span();
            let span = Span::new(offset + range.start, offset + range.end);
            match result {
                Ok(token) if token.is_comment() => self.comments.push(span),
                Ok(token) => return (self.token, self.span) = (Some(token), span),
                Err(error) => {
                    if bad_until != Some(range.start) {
                        self.damaged = true;
                        self.no_token(error, span);
                    }
                    bad_until = Some(range.end);
                }
            }
        }
        (self.token, self.span) = (None, Span::at(self.text.len()));
    }

    fn no_token(&mut self, error: LexError, span: Span) {
        let found = self.text_of(span).chars().next().unwrap_or(' ');
        let start = span.start as usize;
        let diagnostic = match error {
            LexError::Comment { closing } => {
                lexical::unterminated_comment(Span::new(start, start + 2), closing)
            }
            LexError::String => lexical::unterminated_string(span),
            LexError::Character => {
                self.stray = (self.stray.0 + 1, span);
                if self.stray.0 > MAX_STRAY {
                    return;
                }
                lexical::unexpected_character(Span::new(start, start + found.len_utf8()), found)
            }
        };
        self.diagnostics.push(diagnostic);
    }

    /// The token after `n` others, and where it is; what is no token is passed over.
    pub(crate) fn nth(&self, n: usize) -> (Option<T>, Span) {
        if n == 0 {
            return (self.token, self.span);
        }
        let offset = self.span.end as usize;
        let mut lexer = T::lexer(self.text.get(offset..).unwrap_or_default());
        let mut left = n;
        while let Some(result) = lexer.next() {
            if let Ok(token) = result
                && !token.is_comment()
            {
                left -= 1;
                if left == 0 {
                    let range = lexer.span();
                    return (Some(token), Span::new(offset + range.start, offset + range.end));
                }
            }
        }
        (None, Span::at(self.text.len()))
    }

    /// The next token; `None` at the end of the text.
    pub(crate) fn peek(&self) -> Option<T> {
        self.token
    }

    /// The token after `n` others.
    pub(crate) fn peek_nth(&self, n: usize) -> Option<T> {
        self.nth(n).0
    }

    /// Whether the next token is `token`.
    pub(crate) fn is_at(&self, token: T) -> bool {
        self.token == Some(token)
    }

    /// Whether no tokens are left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.token.is_none()
    }

    /// Where the next token is; the end of the text if there is none.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Where the token after `n` others is; the end of the text if there is none.
    pub(crate) fn span_nth(&self, n: usize) -> Span {
        self.nth(n).1
    }

    /// Where the last token taken is; the start of the text if there is none.
    pub(crate) fn previous(&self) -> Span {
        self.previous
    }

    /// The whole text.
    pub(crate) fn whole_text(&self) -> &'a str {
        self.text
    }

    /// The text at `span`.
    pub(crate) fn text_of(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// The text of the next token; empty at the end.
    pub(crate) fn text(&self) -> &'a str {
        self.text_of(self.span)
    }

    /// The text of the token after `n` others; empty at the end.
    pub(crate) fn text_nth(&self, n: usize) -> &'a str {
        self.text_of(self.span_nth(n))
    }

    /// Takes the next token, whatever it is, and gives its place.
    pub(crate) fn bump(&mut self) -> Span {
        let span = self.span;
        if self.token.is_some() {
            self.previous = span;
            self.find_token(span.end as usize);
        }
        span
    }

    /// As [`bump`](Self::bump), through what was not understood anyhow: characters and strings there are not
    /// worth another word. A comment that is never closed is, as it hides the rest.
    pub(crate) fn skip(&mut self) {
        let (before, stray) = (self.diagnostics.len(), self.stray);
        self.bump();
        self.stray = stray;
        let new = self.diagnostics.split_off(before);
        self.diagnostics.extend(new.into_iter().filter(|d| d.code.id == crate::diagnostics::RF0002.id));
    }

    /// Takes the next token if it is `token`.
    pub(crate) fn eat(&mut self, token: T) -> bool {
        let found = self.is_at(token);
        if found {
            self.bump();
        }
        found
    }

    /// Takes the next token if it is `token`, and reports its absence otherwise.
    pub(crate) fn expect(&mut self, token: T) -> Parsed<Span> {
        self.expect_as(token, token.describe())
    }

    /// As [`expect`](Self::expect), where `what` says what could stand here.
    pub(crate) fn expect_as(&mut self, token: T, what: &str) -> Parsed<Span> {
        if self.is_at(token) { Ok(self.bump()) } else { Err(self.unexpected(&[what])) }
    }

    /// Reports that one of `expected` should stand here.
    pub(crate) fn unexpected(&mut self, expected: &[&str]) -> Reported {
        let found = self.found();
        self.report_here(lexical::unexpected_token(self.span, &found, expected))
    }

    /// How messages call the next token.
    pub(crate) fn found(&self) -> String {
        match self.token {
            None => String::from("the end of the text"),
            Some(token) if token.has_text() => format!("`{}`", shortened(self.text())),
            Some(token) => token.describe().to_string(),
        }
    }

    /// Reports `diagnostic`, which is about the grammar at this token, unless something else was said here.
    pub(crate) fn report_here(&mut self, diagnostic: Diagnostic) -> Reported {
        if self.reported_at != Some(self.span.start) && !self.damaged {
            self.diagnostics.push(diagnostic);
        }
        self.reported_at = Some(self.span.start);
        Reported
    }

    /// Reports `diagnostic`, which is about the meaning of the text.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.diagnostics.push(diagnostic);
        Reported
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
        self.reported_at = Some(self.span.start);
    }

    /// Whether the next token is the first on its line.
    pub(crate) fn starts_line(&self) -> bool {
        let between = self.previous.end as usize..self.span.start as usize;
        self.previous.end == 0 || self.text.get(between).is_some_and(|blank| blank.contains('\n'))
    }

    /// Every `first` that the symbol `second`, written `last`, follows, anywhere in the text.
    pub(crate) fn pairs(&self, first: T, second: T, last: char) -> Vec<(&'a str, Span)> {
        let mut found = Vec::new();
        let mut before: Option<(T, Span)> = None;
        // Behind the last of them there is nothing to find.
        let end = self.text.rfind(last).map_or(0, |at| at + last.len_utf8());
        let lexer = T::lexer(&self.text[..end]).spanned();
        for (token, range) in lexer.filter_map(|(token, range)| Some((token.ok()?, range))) {
            if token == second
                && let Some((_, span)) = before.filter(|(before, _)| *before == first)
            {
                found.push((self.text_of(span), span));
            }
            before = Some((token, Span::new(range.start, range.end)));
        }
        found
    }

    /// The text of the next token, shared with every other place where it was asked for.
    pub(crate) fn shared_text(&mut self) -> Arc<str> {
        let text = self.text();
        Arc::clone(self.names.entry(text).or_insert_with(|| Arc::from(text)))
    }

    /// One level deeper, of at most `limit`.
    pub(crate) fn enter(&mut self, limit: usize) -> Parsed<()> {
        if self.nesting >= limit {
            return Err(self.report(lexical::nested_too_deep(self.span, limit)));
        }
        self.nesting += 1;
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.nesting = self.nesting.saturating_sub(1);
    }

    /// A fresh start after an error: nothing is nested.
    pub(crate) fn forget_nesting(&mut self) {
        self.nesting = 0;
    }

    /// What was reported so far.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// What was reported last, to say more about it.
    pub(crate) fn last_diagnostic(&mut self) -> Option<&mut Diagnostic> {
        self.diagnostics.last_mut()
    }

    /// Notes comments that another parser has read.
    pub(crate) fn add_comments(&mut self, comments: impl IntoIterator<Item = Span>) {
        self.comments.extend(comments);
    }

    /// The comments so far, in the order of the text.
    pub(crate) fn take_comments(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.comments)
    }

    /// Everything that was reported.
    pub(crate) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        let (stray, last) = self.stray;
        if stray > MAX_STRAY {
            let message = format!("and {} more places like these, up to here", stray - MAX_STRAY);
            let more = RF0001.at(last, message);
            self.diagnostics.push(more.help("is this file really written in this language?"));
        }
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
