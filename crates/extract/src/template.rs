//! Templates: `{user}@{host}`, over the members of a line; `{command|upper}` in capitals, `{user|lower}` in small letters.

use std::borrow::Cow;

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
    Member(usize, Case),
}

/// How a member is written, where it may be written in several ways that mean the same.
#[derive(Clone, Copy, Debug)]
enum Case {
    AsItStands,
    /// In capitals, as far as it is ASCII.
    Upper,
    /// In small letters, as far as it is ASCII.
    Lower,
}

impl Case {
    fn of(self, value: &str) -> Cow<'_, str> {
        match self {
            Self::AsItStands => value.into(),
            Self::Upper => value.to_ascii_uppercase().into(),
            Self::Lower => value.to_ascii_lowercase().into(),
        }
    }
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
            let (name, case) = match name.split_once('|') {
                None => (name, Case::AsItStands),
                Some((name, "upper")) => (name, Case::Upper),
                Some((name, "lower")) => (name, Case::Lower),
                Some((_, other)) => {
                    return Err(SourceError::new(format!(
                        "`{other}` in `{written}`: known are `upper` and `lower`"
                    )));
                }
            };
            parts.push(Part::Member(names.number(name), case));
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
            Part::Member(number, case) => {
                members.get(*number).is_some_and(|value| escape(&case.of(value), out))
            }
        })
    }

    /// Its text, in `scratch` if it has to be put together; nothing if a member is missing.
    pub(crate) fn filled<'m>(&'m self, members: &'m Members<'_>, scratch: &'m mut String) -> Option<&'m str> {
        if let [Part::Member(number, Case::AsItStands)] = &self.parts[..] {
            return members.get(*number);
        }
        scratch.clear();
        for part in &self.parts {
            match part {
                Part::Text(text) => scratch.push_str(text),
                Part::Member(number, case) => scratch.push_str(&case.of(members.get(*number)?)),
            }
        }
        Some(scratch)
    }
}
