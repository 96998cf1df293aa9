//! Regular expressions that match in time linear in the text, whatever the pattern.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use regex_automata::meta::Regex;

/// Patterns compile to at most this many bytes: a pattern is text from a protocol, `a{1000000}` too.
const SIZE_LIMIT: usize = 1 << 20;

/// A compiled pattern of `matches`.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

/// Why a pattern cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern {
    reason: String,
}

impl BadPattern {
    /// One line: `unclosed group`.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for BadPattern {}

impl Pattern {
    /// Compiles `text`.
    ///
    /// # Errors
    /// [`BadPattern`] if it is not a regular expression (look-around and back-references are not), or too
    /// large once its repetitions are unrolled.
    pub fn new(text: &str) -> Result<Self, BadPattern> {
        let config = Regex::config().nfa_size_limit(Some(SIZE_LIMIT)).onepass_size_limit(Some(SIZE_LIMIT));
        match Regex::builder().configure(config).build(text) {
            Ok(regex) => Ok(Self(regex)),
            Err(error) => Err(BadPattern { reason: reason(&error) }),
        }
    }

    /// Whether the pattern occurs anywhere in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

fn reason(error: &regex_automata::meta::BuildError) -> String {
    if error.size_limit().is_some() {
        return format!("the pattern compiles to more than {SIZE_LIMIT} bytes");
    }
    // The library draws the pattern over several lines; the last one says what is wrong.
    let text = error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string);
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// A compiled pattern with its text, by which it is compared.
#[derive(Clone)]
pub struct CompiledPattern {
    text: Arc<str>,
    regex: Arc<Pattern>,
}

impl CompiledPattern {
    /// Compiles `text`.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn new(text: &str) -> Result<Self, BadPattern> {
        Ok(Self { text: text.into(), regex: Arc::new(Pattern::new(text)?) })
    }

    /// The pattern as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it occurs anywhere in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl fmt::Debug for CompiledPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl PartialEq for CompiledPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for CompiledPattern {}

impl Hash for CompiledPattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
