//! JSON with places: as deep as memory allows, keys in order, repeated keys kept, every value knows where it
//! stands. (`serde_json` gives none of these.)

use std::borrow::Cow;

use logos::Logos;

use crate::diagnostics::{Diagnostic, global_types};
use crate::source::Span;
use crate::tokens::{Bracket, Cursor, LexError, Token};

/// A value in a [`Json`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JsonId(u32);

/// A JSON text.
pub(super) struct Json<'a> {
    values: Vec<Value<'a>>,
}

struct Value<'a> {
    kind: Kind<'a>,
    /// The value; of an object or array only its opening bracket.
    span: Span,
    /// What holds it, and under which key.
    parent: Option<(JsonId, Cow<'a, str>)>,
}

/// What a value is.
pub(super) enum Kind<'a> {
    Null,
    Bool,
    Number,
    String(Cow<'a, str>),
    Array,
    Object(Vec<Member<'a>>),
}

/// `"key": value`.
pub(super) struct Member<'a> {
    pub(super) key: Cow<'a, str>,
    pub(super) key_span: Span,
    pub(super) value: JsonId,
}

impl<'a> Json<'a> {
    pub(super) fn root(&self) -> Option<JsonId> {
        (!self.values.is_empty()).then_some(JsonId(0))
    }

    pub(super) fn kind(&self, id: JsonId) -> &Kind<'a> {
        &self.values[id.0 as usize].kind
    }

    pub(super) fn span(&self, id: JsonId) -> Span {
        self.values[id.0 as usize].span
    }

    /// The JSON pointer to `key` of `id`, its beginning left out when it is long.
    pub(super) fn pointer(&self, id: JsonId, key: Option<&str>) -> String {
        const MOST: usize = 8;
        let mut segments: Vec<&str> = key.into_iter().collect();
        let mut at = id;
        while let Some((parent, key)) = &self.values[at.0 as usize].parent {
            if segments.len() == MOST {
                segments.push("…");
                break;
            }
            segments.push(key);
            at = *parent;
        }
        let escaped = segments.iter().rev().map(|s| s.replace('~', "~0").replace('/', "~1"));
        escaped.map(|segment| if segment == "…" { segment } else { format!("/{segment}") }).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Logos)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\r\n\u{feff}]+")]
#[logos(skip(r#""([^"\\\x00-\x1f]|\\[^\x00-\x1f])*"#, unclosed_string))]
enum JsonToken {
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token(":")]
    Colon,
    #[token(",")]
    Comma,
    #[regex(r#""([^"\\\x00-\x1f]|\\[^\x00-\x1f])*""#)]
    String,
    #[regex(r"-?[0-9][0-9.eE+\-]*")]
    Number,
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Word,
}

fn unclosed_string(_: &mut logos::Lexer<'_, JsonToken>) -> Result<(), LexError> {
    Err(LexError::String)
}

impl Token for JsonToken {
    fn describe(self) -> &'static str {
        match self {
            Self::OpenBrace => "`{`",
            Self::CloseBrace => "`}`",
            Self::OpenBracket => "`[`",
            Self::CloseBracket => "`]`",
            Self::Colon => "`:`",
            Self::Comma => "`,`",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Word => "a word",
        }
    }

    fn bracket(self) -> Bracket {
        Bracket::None
    }

    fn has_text(self) -> bool {
        matches!(self, Self::Number | Self::Word | Self::String)
    }
}

/// Reads `text`; what is not JSON is among the diagnostics, and then the value is not complete.
pub(super) fn parse(text: &str) -> (Json<'_>, Vec<Diagnostic>) {
    let mut reader =
        Reader { cursor: Cursor::new(text), json: Json { values: Vec::new() }, open: Vec::new() };
    reader.document();
    // The first mistake decides how the rest would be read: what follows it is guesswork.
    let mistakes = reader.cursor.into_diagnostics();
    (reader.json, mistakes.into_iter().min_by_key(|mistake| mistake.span).into_iter().collect())
}

struct Reader<'a> {
    cursor: Cursor<'a, JsonToken>,
    json: Json<'a>,
    open: Vec<JsonId>,
}

impl<'a> Reader<'a> {
    fn document(&mut self) {
        let mut key = None;
        loop {
            if self.value(key.take()).is_none() {
                return;
            }
            // After a value, or at the beginning of an object or array.
            loop {
                let Some(&container) = self.open.last() else {
                    if !self.cursor.is_at_end() {
                        self.malformed(&["the end of the text"]);
                    }
                    return;
                };
                let is_object = matches!(self.json.kind(container), Kind::Object(_));
                let closing = if is_object { JsonToken::CloseBrace } else { JsonToken::CloseBracket };
                let begins = self.json.span(container) == self.cursor.previous();
                if self.cursor.eat(closing) {
                    self.open.pop();
                    continue;
                }
                if !begins && !self.cursor.eat(JsonToken::Comma) {
                    return self.malformed(&["`,`", closing.describe()]);
                }
                if is_object {
                    let Some(member) = self.key() else { return };
                    key = Some(member);
                }
                break;
            }
        }
    }

    fn key(&mut self) -> Option<(Cow<'a, str>, Span)> {
        if !self.cursor.is_at(JsonToken::String) {
            self.malformed(&["a key in double quotes"]);
            return None;
        }
        let text = self.string()?;
        let span = self.cursor.previous();
        if !self.cursor.eat(JsonToken::Colon) {
            self.malformed(&["`:`"]);
            return None;
        }
        Some((text, span))
    }

    /// A value, of which an object or array is only opened.
    fn value(&mut self, key: Option<(Cow<'a, str>, Span)>) -> Option<()> {
        let span = self.cursor.span();
        let kind = match self.cursor.peek() {
            Some(JsonToken::OpenBrace) => Kind::Object(Vec::new()),
            Some(JsonToken::OpenBracket) => Kind::Array,
            Some(JsonToken::String) => Kind::String(self.string()?),
            Some(JsonToken::Number) if is_number(self.cursor.text()) => Kind::Number,
            Some(JsonToken::Word) if self.cursor.text() == "null" => Kind::Null,
            Some(JsonToken::Word) if matches!(self.cursor.text(), "true" | "false") => Kind::Bool,
            _ => {
                self.malformed(&["a value"]);
                return None;
            }
        };
        let opens = matches!(kind, Kind::Object(_) | Kind::Array);
        if !matches!(kind, Kind::String(_)) {
            self.cursor.bump();
        }
        let id = JsonId(u32::try_from(self.json.values.len()).unwrap_or(u32::MAX));
        let parent = self.open.last().copied();
        let name = key.as_ref().map_or(Cow::Borrowed("-"), |(key, _)| key.clone());
        self.json.values.push(Value { kind, span, parent: parent.map(|parent| (parent, name)) });
        if let (Some(parent), Some((key, key_span))) = (parent, key)
            && let Kind::Object(members) = &mut self.json.values[parent.0 as usize].kind
        {
            members.push(Member { key, key_span, value: id });
        }
        if opens {
            self.open.push(id);
        }
        Some(())
    }

    /// The string here, without its quotes and escapes.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let raw = self.cursor.text();
        if !raw.contains('\\') {
            self.cursor.bump();
            return Some(Cow::Borrowed(&raw[1..raw.len() - 1]));
        }
        match serde_json::from_str(raw) {
            Ok(text) => {
                self.cursor.bump();
                Some(Cow::Owned(text))
            }
            Err(_) => {
                self.malformed(&["a string with valid escapes"]);
                None
            }
        }
    }

    fn malformed(&mut self, expected: &[&str]) {
        let found = match self.cursor.peek() {
            None => "the end of the text",
            Some(token) if token.has_text() => self.cursor.text(),
            Some(token) => token.describe(),
        };
        let error = global_types::malformed_json(self.cursor.span(), found, expected);
        self.cursor.report_here(error);
    }
}

fn is_number(text: &str) -> bool {
    serde_json::from_str::<serde_json::Number>(text).is_ok()
}
