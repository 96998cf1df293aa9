//! Templates: `{user}@{host}`, over the members of a line.

use crate::json::escape;
use crate::members::Members;
use crate::names::Names;
use crate::source::SourceError;

/// A text with the names of members in braces.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    /// The member with this number.
    Member(usize),
}

impl Template {
    pub(crate) fn parse(written: &str, names: &mut Names) -> Result<Self, SourceError> {
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
            parts.push(Part::Member(names.number(name)));
            rest = next;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// Its text, if no member is in it.
    pub(crate) fn constant(&self) -> Option<&str> {
        match &self.parts[..] {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends its text to `out` as it stands between the quotes of JSON; false if a member is missing, or not UTF-8.
    pub(crate) fn escaped(&self, members: &Members<'_>, out: &mut String) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Text(text) => escape(text, out),
            Part::Member(number) => members.get(*number).is_some_and(|value| escape(value, out)),
        })
    }

    /// Its text, in `scratch` if it has to be put together; nothing if a member is missing.
    pub(crate) fn filled<'m>(&'m self, members: &'m Members<'_>, scratch: &'m mut String) -> Option<&'m str> {
        if let [Part::Member(number)] = &self.parts[..] {
            return members.get(*number);
        }
        scratch.clear();
        for part in &self.parts {
            scratch.push_str(match part {
                Part::Text(text) => text,
                Part::Member(number) => members.get(*number)?,
            });
        }
        Some(scratch)
    }
}
