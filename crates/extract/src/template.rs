//! Templates: `{user}@{host}`, over the members of a line.

use crate::members::Members;
use crate::source::SourceError;

/// A text with the names of members in braces.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    written: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Member(String),
}

impl Template {
    pub(crate) fn parse(written: &str) -> Result<Self, SourceError> {
        let mut parts = Vec::new();
        let mut rest = written;
        while let Some(open) = rest.find('{') {
            let (before, after) = rest.split_at(open);
            let Some((name, next)) = after.get(1..).and_then(|after| after.split_once('}')) else {
                return Err(SourceError::new(format!("a `{{` without its `}}` in `{written}`")));
            };
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::Member(name.to_owned()));
            rest = next;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self { written: written.to_owned(), parts })
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.written
    }

    /// Appends its text to `out`; false if a member is missing.
    pub(crate) fn fill(&self, members: &Members<'_>, out: &mut String) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Text(text) => {
                out.push_str(text);
                true
            }
            Part::Member(name) => match members.get(name) {
                Some(value) => {
                    out.push_str(value);
                    true
                }
                None => false,
            },
        })
    }
}
