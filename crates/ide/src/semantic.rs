//! What each word is, for colours.

use referee_syntax::lexemes::LexemeKind;
use referee_syntax::{Language, Span, payload};
use referee_theory::expr::Function;

use crate::names::NameKind;
use crate::workspace::File;

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenKind {
    /// A word of the language.
    Keyword,
    /// A name.
    Name(NameKind),
    /// A type that is built in.
    BuiltinType,
    /// A function that is built in.
    BuiltinFunction,
    /// Digits.
    Number,
    /// Quoted text.
    String,
    /// A comment.
    Comment,
}

/// A piece of text with a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SemanticToken {
    /// Where.
    pub span: Span,
    /// What.
    pub kind: TokenKind,
    /// Whether it is a declaration.
    pub declares: bool,
}

/// The words that mean something by themselves, where they are no names.
#[must_use]
pub fn keywords(language: Language) -> &'static [&'static str] {
    match language {
        Language::Scr => &[
            "module",
            "import",
            "as",
            "type",
            "data",
            "sig",
            "external",
            "fn",
            "from",
            "global",
            "explicit",
            "aux",
            "nested",
            "protocol",
            "role",
            "new",
            "to",
            "where",
            "within",
            "after",
            "of",
            "choice",
            "at",
            "or",
            "par",
            "rec",
            "continue",
            "do",
            "calls",
            "open",
            "close",
            "per",
            "interrupted",
            "by",
            "connect",
            "disconnect",
            "wrap",
            "and",
            "in",
            "true",
            "false",
            "not",
        ],
        Language::St => &["rec", "end", "true", "false"],
        Language::Gt => &["mu", "end"],
        Language::Kmc => &["rec", "end"],
        Language::Fsm => &["name", "outputs", "state", "graph", "marking", "accepting", "end"],
        Language::Hml => &[
            "property", "for", "each", "max", "min", "ff", "tt", "and", "or", "when", "with", "check",
            "monitor", "not", "true", "false", "in", "session", "except", "rule", "before", "there", "must",
            "be", "never", "after", "most", "once", "times", "call", "result", "failure", "any", "message",
        ],
        Language::GtJson => &[],
    }
}

/// The tokens of `file`, in the order of its text; none overlaps another.
#[must_use]
pub fn semantic_tokens(file: &File) -> Vec<SemanticToken> {
    let words = keywords(file.language());
    let mut names = file.index().occurrences.iter().peekable();
    let mut tokens: Vec<SemanticToken> = Vec::new();
    for lexeme in file.lexemes() {
        let mut inside = false;
        while let Some(name) = names.next_if(|name| name.span.start < lexeme.span.end) {
            inside = true;
            let kind = TokenKind::Name(name.kind);
            let is_free = tokens.last().is_none_or(|last| last.span.end <= name.span.start);
            if is_free && name.span.end > name.span.start {
                tokens.push(SemanticToken { span: name.span, kind, declares: name.declares });
            }
        }
        // Dotted names are several lexemes of one name.
        let is_covered = tokens.last().is_some_and(|last| lexeme.span.start < last.span.end);
        if inside || is_covered {
            continue;
        }
        let text = file.slice(lexeme.span);
        let kind = match lexeme.kind {
            LexemeKind::Comment => TokenKind::Comment,
            LexemeKind::String => TokenKind::String,
            LexemeKind::Number => TokenKind::Number,
            LexemeKind::Word if words.contains(&text) => TokenKind::Keyword,
            LexemeKind::Word if payload::builtin(text).is_some() || text == "list" => TokenKind::BuiltinType,
            LexemeKind::Word if Function::from_name(text).is_some() => TokenKind::BuiltinFunction,
            LexemeKind::Word | LexemeKind::Symbol => continue,
        };
        tokens.push(SemanticToken { span: lexeme.span, kind, declares: false });
    }
    tokens
}
