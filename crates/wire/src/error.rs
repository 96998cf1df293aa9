//! What is wrong with a codec table, and where.

use std::fmt;
use std::ops::Range;

/// A mistake in a codec table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    path: Vec<String>,
    message: String,
    help: Option<String>,
    span: Option<Range<usize>>,
}

impl TableError {
    #[cold]
    pub(crate) fn new<'a>(path: impl IntoIterator<Item = &'a str>, message: impl Into<String>) -> Self {
        let path = path.into_iter().map(str::to_owned).collect();
        Self { path, message: message.into(), help: None, span: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn at(mut self, span: Option<Range<usize>>) -> Self {
        self.span = span;
        self
    }

    /// The keys that lead to the mistake, from the codec's table on: `["messages", "Mail", "pattern"]`.
    #[must_use]
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// What is wrong: lower case, no final period.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The bytes of the text that [`Table::parse`](crate::Table::parse) was given. For others, see [`locate`].
    #[must_use]
    pub fn span(&self) -> Option<Range<usize>> {
        self.span.clone()
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "`{}`: ", self.path.join("."))?;
        }
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

impl std::error::Error for TableError {}

/// Where in the TOML document `text` the value at `path` is; if it is not there, the longest part of the path that
/// is. Steps into arrays are numbers.
#[must_use]
pub fn locate<'a>(text: &str, path: impl IntoIterator<Item = &'a str>) -> Option<Range<usize>> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let mut span = document.span();
    let mut next: Option<&toml::de::DeValue<'_>> = None;
    for (depth, key) in path.into_iter().enumerate() {
        let found = match (depth, next) {
            (0, _) => document.get_ref().get_key_value(key).map(|(key, value)| (key.span(), value)),
            (_, Some(toml::de::DeValue::Table(table))) => {
                table.get_key_value(key).map(|(key, value)| (key.span(), value))
            }
            (_, Some(toml::de::DeValue::Array(values))) => {
                key.parse().ok().and_then(|index: usize| values.get(index)).map(|value| (value.span(), value))
            }
            _ => None,
        };
        let Some((key, value)) = found else { break };
        // A table's own span may be its header's alone, or empty: its key is then the better place.
        span = if value.get_ref().is_table() || value.span().is_empty() { key } else { value.span() };
        next = Some(value.get_ref());
    }
    Some(span)
}
