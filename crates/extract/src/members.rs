//! The members of a line, by the format that it has.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::json::NOT_UTF8;
use crate::names::Names;
use crate::pattern::{Pattern, Search};
use crate::source::Format;

/// Room for members, kept between lines.
pub(crate) type Room = Vec<Option<Cow<'static, str>>>;

/// The values of the names that a source reads, later ones where a name appears twice.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    names: &'a Names,
    /// By the numbers of names.
    values: Vec<Option<Cow<'a, str>>>,
}

impl<'a> Members<'a> {
    /// None yet.
    pub(crate) fn new(names: &'a Names, room: Room) -> Self {
        let mut values: Vec<Option<Cow<'a, str>>> = room;
        values.clear();
        values.resize(names.len(), None);
        Self { names, values }
    }

    /// Its room, for the next line.
    pub(crate) fn into_room(mut self) -> Room {
        self.values.clear();
        // Nothing is left in it, so this is the same room.
        self.values.into_iter().map(|_| None).collect()
    }

    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&str> {
        self.values.get(number)?.as_deref()
    }

    /// The member with this number.
    #[inline]
    pub(crate) fn set(&mut self, number: usize, value: Cow<'a, str>) {
        if let Some(place) = self.values.get_mut(number) {
            *place = Some(value);
        }
    }

    /// The member with this name, if somebody reads it.
    pub(crate) fn add(&mut self, name: &str, value: impl Into<Cow<'a, str>>) {
        if let Some(number) = self.names.find(name) {
            self.set(number, value.into());
        }
    }
}

/// The members of `line`, added to none, and the text that conditions without a name are about; `None` if the line is not of the
/// format.
pub(crate) fn members<'a>(
    format: Format,
    prefix: Option<&Pattern>,
    line: &'a str,
    members: &mut Members<'a>,
    searches: &mut [Search],
) -> Option<&'a str> {
    match format {
        Format::Regex => match prefix {
            Some(prefix) => {
                let end = prefix.find(line, searches, |number, value| members.set(number, value.into()))?;
                line.get(end..)
            }
            None => Some(line),
        },
        Format::Logfmt => logfmt(line, members).then_some(line),
        Format::Syslog => syslog(line, members),
        // These have no members, or several sets of them, line by line.
        Format::Json | Format::Csv | Format::Otlp => None,
    }
}

/// The JSON document in `line`. Bytes that were not UTF-8 are as they are within texts, where JSON allows no control character.
pub(crate) fn document(line: &str) -> Option<Value> {
    let parsed = serde_json::from_str(line);
    if parsed.is_err() && line.contains(NOT_UTF8) {
        return serde_json::from_str(&line.replace(NOT_UTF8, "\\u001a")).ok();
    }
    parsed.ok()
}

/// The JSON document in `line`, of whose objects only the members that somebody reads are kept: the others may hold anything, nested
/// however deep. Nothing if it is no JSON, or if a member that is read is there twice, for then two readers could see two different events.
pub(crate) fn read_members(line: &str, names: &Names) -> Option<Value> {
    let parse = |text: &str| {
        let mut reader = serde_json::Deserializer::from_str(text);
        let found = ReadMembers(names).deserialize(&mut reader).ok()?;
        reader.end().ok().map(|()| found)
    };
    let parsed = parse(line);
    if parsed.is_none() && line.contains(NOT_UTF8) {
        return parse(&line.replace(NOT_UTF8, "\\u001a"));
    }
    parsed
}

/// Reads a document, without the members that have none of these names.
struct ReadMembers<'n>(&'n Names);

impl<'de> DeserializeSeed<'de> for ReadMembers<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ReadMembers<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut read = serde_json::Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if self.0.find(&name).is_none() && !self.0.has_inner(&name) {
                members.next_value::<IgnoredAny>()?;
            } else if read.insert(name, members.next_value()?).is_some() {
                return Err(A::Error::custom("a member appears twice"));
            }
        }
        Ok(Value::Object(read))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(ReadMembers(self.0))? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
}

/// Adds the members of an object.
pub(crate) fn of_object<'a>(object: &'a serde_json::Map<String, Value>, members: &mut Members<'a>) {
    for (name, value) in object {
        json(name, value, members, 0);
    }
}

/// How deep members of members have names.
const MAX_DEPTH: usize = 8;

fn json<'a>(name: &str, value: &'a Value, members: &mut Members<'a>, depth: usize) {
    match value {
        Value::Null => {}
        Value::String(text) => members.add(name, text.as_str()),
        Value::Object(object) if depth < MAX_DEPTH => {
            if !members.names.has_inner(name) {
                return;
            }
            for (inner, value) in object {
                json(&format!("{name}.{inner}"), value, members, depth + 1);
            }
        }
        other => {
            if let Some(number) = members.names.find(name) {
                members.set(number, other.to_string().into());
            }
        }
    }
}

/// `key=value`, values in quotes with `\"`; a key alone is `true`.
fn logfmt<'a>(line: &'a str, members: &mut Members<'a>) -> bool {
    let mut rest = line.trim_start();
    let mut pairs = 0;
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        rest = after;
        let mut value: Cow<'a, str> = "true".into();
        if let Some(written) = rest.strip_prefix('=') {
            pairs += 1;
            if let Some(quoted) = written.strip_prefix('"') {
                let Some((text, after)) = unquoted(quoted) else { return false };
                (value, rest) = (text, after);
            } else {
                let end = written.find(' ').unwrap_or(written.len());
                let (text, after) = written.split_at(end);
                (value, rest) = (text.into(), after);
            }
        }
        if !key.is_empty() {
            members.add(key, value);
        }
        rest = rest.trim_start();
    }
    pairs > 0
}

fn unquoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                let (inner, after) = text.split_at(at);
                let inner = match inner.contains('\\') {
                    true => unescape(inner).into(),
                    false => inner.into(),
                };
                return Some((inner, after.get(1..)?));
            }
            _ => {}
        }
    }
    None
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            (c, false) => out.push(c),
        }
    }
    out
}

/// RFC 5424 (`<34>1 2003-10-11T22:14:15.003Z host app pid id [data] message`), or RFC 3164 with or without its
/// priority (`Oct 11 22:14:15 host app[pid]: message`), also with a time of RFC 3339 as rsyslog writes it. The message.
fn syslog<'a>(line: &'a str, members: &mut Members<'a>) -> Option<&'a str> {
    let mut rest = line;
    if let Some((priority, after)) = line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        members.add("priority", priority);
        rest = after;
    }
    if let Some(rest) = rest.strip_prefix("1 ") {
        let mut words = rest.splitn(6, ' ');
        for name in ["time", "host", "app", "pid", "id"] {
            members.add(name, words.next()?);
        }
        let rest = words.next()?;
        let rest = match rest.strip_prefix('-') {
            Some(rest) => rest,
            None => structured_data(rest, members)?,
        };
        return Some(rest.trim_start().trim_start_matches('\u{feff}'));
    }
    let bytes = rest.as_bytes();
    let length = if bytes.first().is_some_and(u8::is_ascii_digit) { rest.find(' ')? } else { 15 };
    members.add("time", rest.get(..length)?);
    let rest = rest.get(length..)?.strip_prefix(' ')?;
    let (host, rest) = rest.split_once(' ')?;
    members.add("host", host);
    let (tag, message) = rest.split_once(": ").or_else(|| rest.strip_suffix(':').map(|tag| (tag, "")))?;
    let (app, pid) = match tag.strip_suffix(']').and_then(|tag| tag.split_once('[')) {
        Some((app, pid)) => (app, Some(pid)),
        None => (tag, None),
    };
    members.add("app", app);
    if let Some(pid) = pid {
        members.add("pid", pid);
    }
    Some(message)
}

/// `[id key="value" …]…`: members are called `id.key`. What follows.
fn structured_data<'a>(text: &'a str, members: &mut Members<'a>) -> Option<&'a str> {
    let mut rest = text;
    while let Some(element) = rest.strip_prefix('[') {
        let end = element.find([' ', ']'])?;
        let (id, mut inner) = element.split_at(end);
        while let Some(parameter) = inner.strip_prefix(' ') {
            let (key, value) = parameter.split_once("=\"")?;
            let (value, after) = unquoted(value)?;
            members.add(&format!("{id}.{key}"), value);
            inner = after;
        }
        rest = inner.strip_prefix(']')?;
    }
    Some(rest)
}
