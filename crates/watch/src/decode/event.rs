//! What one line says: a message, an end, or something that does not concern the role under scrutiny.

use std::borrow::Cow;

use referee_monitor::{Channel, Party};

use super::csv::Parts;
use super::fields::{Fields, Span, scalar};
use crate::names::UNKNOWN;
use crate::plan::Plan;
use crate::shape::Part;

/// What kind of event a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A message to or from the role under scrutiny.
    Message,
    /// A message between two others.
    Foreign,
    /// Somebody ended.
    End,
    /// An event of this session that could not be read.
    Lost,
    /// An event that could not be read, of any session.
    LostAnywhere,
}

/// The key of a session.
#[derive(Clone, Debug)]
pub(crate) enum Key<'a> {
    At(Span),
    Text(Cow<'a, str>),
}

/// What a line was found to say.
#[derive(Clone, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) what: What,
    pub(crate) key: Key<'a>,
    pub(crate) from: Party,
    pub(crate) channel: Channel,
    pub(crate) label: u32,
    pub(crate) payload: Span,
}

impl Plan {
    /// What the JSON line with these parts says, or why it is no event.
    #[inline]
    pub(crate) fn event(&self, text: &str, fields: &Fields) -> Result<Found<'static>, String> {
        let (label, from, to) = (fields.get(Part::Label), fields.get(Part::From), fields.get(Part::To));
        let key = self.key(text, fields.get(Part::Session))?;
        let party = |span: Span, part: &str| self.names.party(text, span).map_err(|why| wrong(part, why));
        if label.is_empty() {
            return self.ending(text, fields, key);
        }
        let label = self.names.label(text, label).map_err(|why| wrong("label", why))?;
        if from.is_empty() {
            return Err(self.no_sender());
        }
        let from_party = party(from, "from")?;
        let to_party = match to.is_empty() {
            true => self.monitor.opposite(from_party),
            false => party(to, "to")?,
        };
        let names = || (scalar_text(from.of(text)), scalar_text(to.of(text)));
        let (what, channel) = self.direction(from_party, to_party, names)?;
        Ok(Found { what, key, from: from_party, channel, label, payload: fields.get(Part::Payload) })
    }

    #[cold]
    fn ending(&self, text: &str, fields: &Fields, key: Key<'static>) -> Result<Found<'static>, String> {
        let end = fields.get(Part::End);
        if end.is_empty() {
            return Err(self.no_label());
        }
        let who = self.names.party(text, end).map_err(|why| wrong("end", why))?;
        self.ended(who, &scalar_text(end.of(text)), key)
    }

    fn ended<'a>(&self, who: Party, name: &str, key: Key<'a>) -> Result<Found<'a>, String> {
        if who == Party::Stranger {
            return Err(self.unknown_role(name));
        }
        let channel = self.monitor.channel(who, self.monitor.opposite(who));
        Ok(Found { what: What::End, key, from: who, channel, label: UNKNOWN, payload: Span::default() })
    }

    #[cold]
    fn no_sender(&self) -> String {
        format!("it does not say who sent the message (`{}`)", self.options.shape.from)
    }

    #[cold]
    fn no_label(&self) -> String {
        let shape = &self.options.shape;
        format!("it has neither a label (`{}`) nor an end (`{}`)", shape.label, shape.end)
    }

    /// The key of the session that `span` names; without one, the empty key.
    #[inline]
    fn key(&self, text: &str, span: Span) -> Result<Key<'static>, String> {
        let raw = span.of(text).as_bytes();
        match raw {
            [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
                Ok(Key::At(Span { start: span.start + 1, end: span.end - 1 }))
            }
            [b'0'..=b'9' | b'-', ..] => Ok(Key::At(span)),
            _ => unusual_key(span.of(text)).map(|key| match key {
                Some(key) => Key::Text(Cow::Owned(key)),
                None => Key::At(Span::default()),
            }),
        }
    }

    /// Which way a message goes, as the monitor sees it.
    #[inline]
    fn direction(
        &self,
        from: Party,
        to: Party,
        names: impl FnOnce() -> (String, String),
    ) -> Result<(What, Channel), String> {
        let channel = self.monitor.channel(from, to);
        if self.names.is_process(from) || self.names.is_process(to) || to == Party::Process {
            return Ok((What::Message, channel));
        }
        let stranger = match (from, to) {
            (Party::Stranger, _) => names().0,
            (_, Party::Stranger) => names().1,
            _ => return Ok((What::Foreign, channel)),
        };
        Err(self.unknown_role(&stranger))
    }

    /// What a CSV row with these parts says, or why it is no event.
    pub(crate) fn row<'a>(&self, parts: &Parts<'a>, row: Span) -> Result<Found<'a>, String> {
        let part = |part: Part| parts[part as usize].as_deref();
        let key = Key::Text(parts[Part::Session as usize].clone().unwrap_or_default());
        let Some(label) = part(Part::Label) else {
            return match part(Part::End) {
                Some(who) => self.ended(self.names.party_called(who), who, key),
                None => Err(self.no_label()),
            };
        };
        let Some(sender) = part(Part::From) else {
            return Err(self.no_sender());
        };
        let from = self.names.party_called(sender);
        let receiver = part(Part::To);
        let to = receiver.map_or_else(|| self.monitor.opposite(from), |name| self.names.party_called(name));
        let names = || (sender.to_owned(), receiver.unwrap_or_default().to_owned());
        let (what, channel) = self.direction(from, to, names)?;
        Ok(Found { what, key, from, channel, label: self.names.label_called(label), payload: row })
    }

    #[cold]
    fn unknown_role(&self, name: &str) -> String {
        let vocabulary = self.monitor.vocabulary();
        let known: Vec<&str> = vocabulary.roles().map(|role| vocabulary.role_name(role)).collect();
        format!("`{name}` is not a role of the protocol ({})", known.join(", "))
    }
}

/// The key that the JSON value `raw` stands for; `None` for null.
#[cold]
pub(crate) fn unusual_key(raw: &str) -> Result<Option<String>, String> {
    let mut scratch = String::new();
    match scalar(raw, &mut scratch) {
        Ok(key) => Ok(key.map(str::to_owned)),
        Err(flaw) => Err(wrong("session", flaw.what)),
    }
}

#[cold]
fn wrong(part: &str, why: &str) -> String {
    format!("its {part} is {why}")
}

/// The text of a JSON value, for messages.
#[cold]
pub(crate) fn scalar_text(raw: &str) -> String {
    let mut scratch = String::new();
    match scalar(raw, &mut scratch) {
        Ok(Some(text)) => text.to_owned(),
        _ => raw.to_owned(),
    }
}
