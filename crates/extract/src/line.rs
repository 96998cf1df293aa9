//! One record, mostly a line: which rule it matches, and the event that it becomes.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::json::field;
use crate::members::{Members, Room, document, members, of_object, read_members};
use crate::pattern::Search;
use crate::source::{Encoding, EventRule, Format, Piece, Signal, Source, UnmatchedLines};
use crate::time::Calendar;
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

/// An event that could not be read, of any session.
pub(crate) const LOST: &str = "{\"session\":[],\"label\":[]}";

/// Who is given what a record became: the event as one JSON object without a line end, or nothing.
type Give<'g> = dyn FnMut(Extracted, &str) + 'g;

/// Extracts events, with what it reuses between lines.
#[derive(Debug)]
pub struct Extractor {
    source: Arc<Source>,
    /// The numbers of the columns that the header of CSV names, of those that are read.
    header: Option<Vec<Option<usize>>>,
    buffers: Buffers,
}

/// What is used again for each line.
#[derive(Debug)]
struct Buffers {
    scratch: String,
    event: String,
    room: Room,
    searches: Vec<Search>,
    calendar: Calendar,
}

impl Extractor {
    /// An extractor by `source`, for one log that is read at `now`, in nanoseconds since 1970.
    #[must_use]
    pub fn new(source: Arc<Source>, now: i64) -> Self {
        let header = source.columns.as_ref().map(|columns| numbers(&source, columns));
        let buffers = Buffers {
            scratch: String::new(),
            event: String::new(),
            room: Room::new(),
            searches: source.searches(),
            calendar: Calendar::new(now),
        };
        Self { source, header, buffers }
    }

    /// What was taken for granted of times so far: whether some had no year, and whether some had no zone.
    pub(crate) fn assumed(&self) -> (bool, bool) {
        self.buffers.calendar.assumed
    }

    /// Whether the next row of CSV is the header.
    pub(crate) fn wants_header(&self) -> bool {
        self.header.is_none()
    }

    /// Gives the events in `line`, which is a whole line, or a row of CSV: one, or of JSON and OTLP as many as are there. Of a line that
    /// no rule is about nothing but that.
    pub fn events(&mut self, line: &str, give: &mut Give<'_>) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let Self { source, header, buffers } = self;
        let mut writer = Writer { source, buffers, give };
        match source.format {
            Format::Json | Format::Otlp => writer.json(line),
            Format::Csv => writer.row(line, header),
            Format::Regex | Format::Logfmt | Format::Syslog => writer.line(line),
        }
    }

    /// Gives the events in a binary message.
    pub fn message(&mut self, bytes: &[u8], give: &mut Give<'_>) {
        let Self { source, buffers, .. } = self;
        debug_assert_eq!(source.encoding, Encoding::Protobuf, "lines are not messages");
        let mut writer = Writer { source, buffers, give };
        let document = otlp::from_protobuf(bytes, source.signal.unwrap_or(Signal::Spans));
        match document {
            Some(document) => writer.document(&document),
            None => (writer.give)(Extracted::Lost, LOST),
        }
    }
}

/// The numbers of these columns, of those that are read.
fn numbers(source: &Source, columns: &[impl AsRef<str>]) -> Vec<Option<usize>> {
    columns.iter().map(|column| source.names.find(column.as_ref())).collect()
}

/// What writes the events of one record.
struct Writer<'s, 'a, 'g> {
    source: &'s Source,
    buffers: &'a mut Buffers,
    give: &'a mut Give<'g>,
}

impl<'s> Writer<'s, '_, '_> {
    /// No members yet.
    fn members<'r>(&mut self) -> Members<'r>
    where
        's: 'r,
    {
        Members::new(&self.source.names, std::mem::take(&mut self.buffers.room))
    }

    fn line(&mut self, line: &str) {
        let mut found = self.members();
        let prefix = self.source.prefix.as_ref();
        match members(self.source.format, prefix, line, &mut found, &mut self.buffers.searches) {
            Some(subject) => self.record(found, subject),
            None => self.unmatched(found),
        }
    }

    fn json(&mut self, line: &str) {
        let found = match self.source.format {
            Format::Otlp => document(line),
            _ => read_members(line, &self.source.names),
        };
        match found {
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
            Some(object) => {
                let mut found = self.members();
                of_object(object, &mut found);
                self.record(found, text);
            }
            None => (self.give)(Extracted::Unmatched, ""),
        }
    }

    fn document(&mut self, document: &Value) {
        let names = &self.source.names;
        if !otlp::records(document, names, &mut |members, subject| self.record(members, subject)) {
            (self.give)(Extracted::Unmatched, "");
        }
    }

    fn row(&mut self, line: &str, header: &mut Option<Vec<Option<usize>>>) {
        let cells = csv::cells(line, self.source.separator);
        let Some(columns) = header else {
            *header = cells.map(|cells| numbers(self.source, &cells));
            return;
        };
        match cells {
            _ if line.is_empty() => (self.give)(Extracted::Unmatched, ""),
            Some(cells) if cells.len() == columns.len() => {
                let mut found = self.members();
                for (column, cell) in columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
                    if let Some(number) = column {
                        found.set(*number, cell);
                    }
                }
                self.record(found, line);
            }
            _ => (self.give)(Extracted::Lost, LOST),
        }
    }

    /// The event that the first rule about these members makes.
    fn record<'r>(&mut self, mut found: Members<'r>, subject: &'r str) {
        let source: &'s Source = self.source;
        let searches = &mut self.buffers.searches;
        let rule = source.rules.iter().position(|rule| applies(rule, &mut found, subject, searches));
        self.buffers.event.clear();
        let extracted = match rule.and_then(|number| Some((number, source.rules.get(number)?))) {
            None => return self.unmatched(found),
            Some((number, rule)) if self.write(rule, &found) => Extracted::Event(number),
            Some((number, rule)) => {
                self.write_lost(rule, &found);
                Extracted::Unreadable(number)
            }
        };
        self.buffers.room = found.into_room();
        (self.give)(extracted, &self.buffers.event);
    }

    /// No rule is about the record.
    fn unmatched(&mut self, found: Members<'_>) {
        self.buffers.room = found.into_room();
        match self.source.unmatched {
            UnmatchedLines::Ignored => (self.give)(Extracted::Unmatched, ""),
            UnmatchedLines::Lost => (self.give)(Extracted::Lost, LOST),
        }
    }

    /// Writes the event; false if a part of it is missing or not what it should be.
    fn write(&mut self, rule: &EventRule, members: &Members<'_>) -> bool {
        let Buffers { scratch, event, calendar, .. } = &mut *self.buffers;
        let time = self.source.time.as_ref();
        rule.pieces.iter().all(|piece| match piece {
            Piece::Text(text) => {
                event.push_str(text);
                true
            }
            Piece::Quoted(template) => {
                event.push('"');
                let is_whole = template.escaped(members, event);
                event.push('"');
                is_whole
            }
            // An event without its time is an event: only its place is in doubt.
            Piece::Time => {
                let written = time.and_then(|(template, _)| template.filled(members, scratch));
                let read = written.and_then(|text| time.and_then(|(_, format)| calendar.read(format, text)));
                if let Some(time) = read {
                    event.push_str(",\"time\":");
                    time.write(event);
                }
                true
            }
            Piece::Field(part) => match members.get(part.member) {
                None => part.is_optional,
                Some(value) => {
                    if !event.ends_with('{') {
                        event.push(',');
                    }
                    event.push_str(&part.key);
                    field(value, part.ty, event)
                }
            },
        })
    }

    /// Says that an event was here, and whose, as far as that is known.
    fn write_lost(&mut self, rule: &EventRule, members: &Members<'_>) {
        let event = &mut self.buffers.event;
        event.clear();
        event.push('{');
        if let Some(session) = &rule.session {
            event.push_str("\"session\":\"");
            if session.escaped(members, event) {
                event.push_str("\",");
            } else {
                // Whose it was is not known either.
                event.clear();
                event.push_str("{\"session\":[],");
            }
        }
        event.push_str("\"label\":[]}");
    }
}

/// Whether all conditions of `rule` hold; the named groups of its patterns are members then.
fn applies<'r>(
    rule: &EventRule,
    members: &mut Members<'r>,
    subject: &'r str,
    searches: &mut [Search],
) -> bool {
    if let [(None, pattern)] = &rule.conditions[..] {
        return pattern.find(subject, searches, |number, value| members.set(number, value.into())).is_some();
    }
    // Groups are members once all conditions hold.
    let mut own: Vec<(usize, Cow<'r, str>)> = Vec::new();
    let holds = rule.conditions.iter().all(|(member, pattern)| match member {
        None => pattern.find(subject, searches, |number, value| own.push((number, value.into()))).is_some(),
        Some(number) => members.get(*number).is_some_and(|text| {
            let give = |number, value: &str| own.push((number, value.to_owned().into()));
            pattern.find(text, searches, give).is_some()
        }),
    });
    if holds {
        own.into_iter().for_each(|(number, value)| members.set(number, value));
    }
    holds
}
