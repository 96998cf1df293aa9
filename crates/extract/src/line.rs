//! One record, mostly a line: which rule it matches, and the event that it becomes.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

use crate::members::{Members, document, members, of_object};
use crate::source::{Encoding, EventRule, FieldType, Format, Signal, Source};
use crate::template::Template;
use crate::time::Years;
use crate::{csv, otlp};

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extracted {
    /// An event, by the rule with this number.
    Event(usize),
    /// A rule matched, but a part of the event could not be read. What was written says that an event was lost.
    Unreadable(usize),
    /// The record cannot be read at all, so that no rule could be tried. What was written says that an event was lost.
    Lost,
    /// No rule is about this record.
    Unmatched,
}

/// Stands for a byte that is not UTF-8: what it is in cannot be read.
pub(crate) const NOT_UTF8: char = '\u{1a}';
/// An event that could not be read, of any session.
pub(crate) const LOST: &str = "{\"session\":[],\"label\":[]}";

/// Who is given what a record became: the event as one JSON object without a line end, or nothing.
type Give<'g> = dyn FnMut(Extracted, &str) + 'g;

/// Extracts events, with what it reuses between lines.
#[derive(Debug)]
pub struct Extractor {
    source: Arc<Source>,
    scratch: String,
    event: String,
    /// The columns that the header of CSV names.
    header: Option<Vec<String>>,
    years: Years,
}

impl Extractor {
    /// An extractor by `source`, for one log.
    #[must_use]
    pub fn new(source: Arc<Source>) -> Self {
        let header = source.columns.clone();
        Self { source, scratch: String::new(), event: String::new(), header, years: Years::default() }
    }

    /// Whether the next row of CSV is the header.
    pub(crate) fn wants_header(&self) -> bool {
        self.header.is_none()
    }

    /// Gives the events in `line`, which is a whole line, or a row of CSV: one, or of JSON and OTLP as many as are there. Of a line that
    /// no rule is about nothing but that.
    pub fn events(&mut self, line: &str, give: &mut Give<'_>) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let Self { source, scratch, event, header, years } = self;
        let mut writer = Writer { source, scratch, event, years, give };
        match source.format {
            Format::Json | Format::Otlp => writer.json(line),
            Format::Csv => writer.row(line, header),
            Format::Regex | Format::Logfmt | Format::Syslog => {
                match members(source.format, source.prefix.as_ref(), line) {
                    Some((members, subject)) => writer.record(members, &subject),
                    None => (writer.give)(Extracted::Unmatched, ""),
                }
            }
        }
    }

    /// Gives the events in a binary message.
    pub fn message(&mut self, bytes: &[u8], give: &mut Give<'_>) {
        let Self { source, scratch, event, years, .. } = self;
        debug_assert_eq!(source.encoding, Encoding::Protobuf, "lines are not messages");
        let mut writer = Writer { source, scratch, event, years, give };
        let document = otlp::from_protobuf(bytes, source.signal.unwrap_or(Signal::Spans));
        match document {
            Some(document) => writer.document(&document),
            None => (writer.give)(Extracted::Lost, LOST),
        }
    }
}

/// What writes the events of one record.
struct Writer<'s, 'a, 'g> {
    source: &'s Source,
    scratch: &'a mut String,
    event: &'a mut String,
    years: &'a mut Years,
    give: &'a mut Give<'g>,
}

impl<'s> Writer<'s, '_, '_> {
    fn json(&mut self, line: &str) {
        match document(line) {
            Some(document) if self.source.format == Format::Otlp => self.document(&document),
            Some(Value::Array(items)) => {
                for item in &items {
                    self.object(item, &item.to_string());
                }
            }
            Some(value) => self.object(&value, line),
            // What looks like a document may have been an event; a stack trace between documents was none.
            None if line.trim_start().starts_with(['{', '[']) => (self.give)(Extracted::Lost, LOST),
            None => (self.give)(Extracted::Unmatched, ""),
        }
    }

    fn object(&mut self, value: &Value, text: &str) {
        match value.as_object() {
            Some(object) => self.record(of_object(object), text),
            None => (self.give)(Extracted::Unmatched, ""),
        }
    }

    fn document(&mut self, document: &Value) {
        if !otlp::records(document, &mut |members, subject| self.record(members, subject)) {
            (self.give)(Extracted::Unmatched, "");
        }
    }

    fn row(&mut self, line: &str, header: &mut Option<Vec<String>>) {
        let cells = csv::cells(line, self.source.separator);
        let Some(columns) = header else {
            *header = cells.map(|cells| cells.into_iter().map(Cow::into_owned).collect());
            return;
        };
        match cells {
            _ if line.is_empty() => (self.give)(Extracted::Unmatched, ""),
            Some(cells) if cells.len() == columns.len() => {
                let mut members = Members::default();
                for (column, cell) in columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
                    members.add(column.as_str(), cell);
                }
                self.record(members, line);
            }
            _ => (self.give)(Extracted::Lost, LOST),
        }
    }

    /// The event that the first rule about these members makes.
    fn record<'r>(&mut self, mut found: Members<'r>, subject: &'r str)
    where
        's: 'r,
    {
        let source: &'r Source = self.source;
        // Members of a rule may be found in texts that the record's members own: they are kept apart.
        let mut own: Vec<Own<'r>> = Vec::new();
        let common = found.len();
        self.event.clear();
        for (number, rule) in source.rules.iter().enumerate() {
            found.truncate(common);
            own.clear();
            if !applies(rule, &found, subject, &mut own) {
                continue;
            }
            for (name, value) in own.drain(..) {
                found.add(name, value);
            }
            if self.write(rule, &found) {
                return (self.give)(Extracted::Event(number), self.event);
            }
            self.event.clear();
            self.write_lost(rule, &found);
            return (self.give)(Extracted::Unreadable(number), self.event);
        }
        (self.give)(Extracted::Unmatched, "");
    }

    /// Writes the event; false if a part of it is missing or not what it should be.
    fn write(&mut self, rule: &EventRule, members: &Members<'_>) -> bool {
        self.event.push('{');
        let parts = [
            ("session", &rule.session),
            ("label", &rule.label),
            ("from", &rule.from),
            ("to", &rule.to),
            ("end", &rule.end),
        ];
        for (name, template) in parts {
            if let Some(template) = template
                && !(rule.end.is_some() && matches!(name, "from" | "to"))
                && !self.part(name, template, members)
            {
                return false;
            }
        }
        if let Some((template, format)) = &self.source.time {
            self.scratch.clear();
            // An event without its time is an event: only its place is in doubt.
            if template.fill(members, self.scratch)
                && let Some(time) = format.read(self.scratch, self.years)
            {
                comma(self.event);
                self.event.push_str("\"time\":");
                time.write(self.event);
            }
        }
        let out = &mut *self.event;
        if rule.label.is_some() && !rule.fields.is_empty() {
            comma(out);
            out.push_str("\"payload\":{");
            for part in &rule.fields {
                let Some(value) = members.get(&part.member) else { return false };
                comma(out);
                quote(&part.name, out);
                out.push(':');
                if !field(value, part.ty, out) {
                    return false;
                }
            }
            out.push('}');
        }
        out.push('}');
        true
    }

    fn part(&mut self, name: &str, template: &Template, members: &Members<'_>) -> bool {
        self.scratch.clear();
        if !template.fill(members, self.scratch) || self.scratch.contains(NOT_UTF8) {
            return false;
        }
        comma(self.event);
        quote(name, self.event);
        self.event.push(':');
        quote(self.scratch, self.event);
        true
    }

    /// Says that an event was here, and whose, as far as that is known.
    fn write_lost(&mut self, rule: &EventRule, members: &Members<'_>) {
        self.event.push('{');
        if let Some(template) = &rule.session
            && !self.part("session", template, members)
        {
            // Whose it was is not known either.
            self.event.clear();
            self.event.push_str("{\"session\":[]");
        }
        comma(self.event);
        self.event.push_str("\"label\":[]}");
    }
}

/// A member that a rule finds: its name, and its value.
type Own<'r> = (&'r str, Cow<'r, str>);

/// Whether all conditions of `rule` hold; the named groups of its patterns go to `own`.
fn applies<'r>(rule: &'r EventRule, members: &Members<'_>, subject: &'r str, own: &mut Vec<Own<'r>>) -> bool {
    rule.conditions.iter().all(|(member, pattern)| match member {
        None => pattern.find(subject, |name, value| own.push((name, value.into()))),
        Some(name) => members
            .get(name)
            .is_some_and(|text| pattern.find(text, |name, value| own.push((name, value.to_owned().into())))),
    })
}

fn comma(out: &mut String) {
    if !out.ends_with(['{', ',']) {
        out.push(',');
    }
}

/// Writes a field; false if it is not of its type.
fn field(text: &str, ty: FieldType, out: &mut String) -> bool {
    match ty {
        _ if text.contains(NOT_UTF8) => false,
        FieldType::String => {
            quote(text, out);
            true
        }
        FieldType::Int => text.parse::<i64>().is_ok_and(|value| write!(out, "{value}").is_ok()),
        FieldType::Float => match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                *out += &format!("{value:?}");
                true
            }
            _ => false,
        },
        FieldType::Bool => match text {
            "true" | "false" => {
                out.push_str(text);
                true
            }
            _ => false,
        },
    }
}

/// Appends `text` as a JSON string.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    let special = |byte: u8| byte < 0x20 || matches!(byte, b'"' | b'\\');
    if !text.bytes().any(special) {
        out.push_str(text);
    } else {
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                c if u32::from(c) < 0x20 => *out += &format!("\\u{:04x}", u32::from(c)),
                c => out.push(c),
            }
        }
    }
    out.push('"');
}
