//! A text and what the user calls it.

use std::sync::Arc;

use referee_syntax::{Lines, Position};

/// A text and what the user calls it: the path of a file, `-`. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
}

impl Source {
    /// The text called `name`.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        // Some editors put a byte-order mark first.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { name: name.into(), text: text.into() }
    }

    /// The bytes called `name`. What is no UTF-8 is replaced, so that a diagnostic can point at it.
    #[must_use]
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Self {
        Self::new(name, &String::from_utf8_lossy(bytes))
    }

    /// What the user calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line and column of byte `offset`.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        Lines::new(&self.text).position(offset)
    }

    /// `auth.scr:12:7`: where byte `offset` is.
    #[must_use]
    pub fn location(&self, offset: u32) -> String {
        let start = self.position(offset);
        format!("{}:{}:{}", self.name, start.line, start.column)
    }
}
