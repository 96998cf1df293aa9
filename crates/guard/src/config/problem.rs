//! What is wrong with a configuration, and where.

use std::ops::Range;

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in the user's words.
    pub message: String,
    /// The bytes of the configuration it is about.
    pub span: Range<usize>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    /// `message` about `span`.
    #[must_use]
    pub fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { message: message.into(), span, help: None }
    }

    /// The same, with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
