//! Source files: how the lines of a log become events.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::json::quote;
use crate::names::Names;
use crate::pattern::{Pattern, Search};
use crate::template::Template;
use crate::time::TimeFormat;

/// How a line is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// By the named groups of regular expressions.
    Regex,
    /// `key=value key="a value"`.
    Logfmt,
    /// RFC 3164 or RFC 5424: `time`, `host`, `app`, `pid` and `message`.
    Syslog,
    /// A JSON object, or an array of them; members of members are called `a.b`.
    Json,
    /// Comma-separated values (RFC 4180), with a header or `columns`.
    Csv,
    /// Documents of OpenTelemetry's collector: each span and each log record is one record.
    Otlp,
}

/// How documents of OpenTelemetry are encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// One document per line.
    #[default]
    Json,
    /// Each document behind its length, as the collector's file exporter writes them.
    Protobuf,
}

/// What documents of OpenTelemetry hold; their protobuf encoding does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Signal {
    /// Spans of traces.
    Spans,
    /// Log records.
    Logs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceFile {
    format: Format,
    prefix: Option<String>,
    session: Option<String>,
    from: Option<String>,
    to: Option<String>,
    time: Option<String>,
    #[serde(rename = "time-format")]
    time_format: Option<String>,
    zone: Option<String>,
    year: Option<i64>,
    columns: Option<Vec<String>>,
    separator: Option<char>,
    encoding: Option<Encoding>,
    signal: Option<Signal>,
    #[serde(default)]
    unmatched: UnmatchedLines,
    #[serde(default)]
    event: Vec<EventFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventFile {
    r#match: Option<MatchFile>,
    label: Option<String>,
    end: Option<String>,
    session: Option<String>,
    from: Option<String>,
    to: Option<String>,
    #[serde(default)]
    fields: BTreeMap<String, FieldFile>,
}

/// What lines are that no rule is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UnmatchedLines {
    /// Other lines of the log.
    #[default]
    Ignored,
    /// Events that could not be read.
    Lost,
}

/// `"int"`, or `{ type = "int", member = "data.count" }` where the member has another name.
#[derive(Deserialize)]
#[serde(untagged)]
enum FieldFile {
    Type(FieldType),
    Described(FieldDescription),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldDescription {
    r#type: FieldType,
    /// The member that it is, where that has another name.
    member: Option<String>,
    /// Whether an event without it is one.
    #[serde(default)]
    optional: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MatchFile {
    Text(String),
    Members(BTreeMap<String, String>),
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// A text, as it stands.
    String,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// `true` or `false`.
    Bool,
}

/// Why a text is no source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    message: String,
}

impl SourceError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SourceError {}

/// A source file, compiled.
#[derive(Debug)]
pub struct Source {
    pub(crate) format: Format,
    pub(crate) prefix: Option<Pattern>,
    pub(crate) time: Option<(Template, TimeFormat)>,
    /// The names of the columns, where rows of CSV have no header.
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) separator: char,
    pub(crate) encoding: Encoding,
    pub(crate) signal: Option<Signal>,
    pub(crate) rules: Vec<EventRule>,
    /// The names of members that something reads.
    pub(crate) names: Names,
    /// How many patterns there are.
    patterns: usize,
    pub(crate) unmatched: UnmatchedLines,
}

/// One `[[event]]`: when it applies, and what the event is then.
#[derive(Debug)]
pub struct EventRule {
    /// What its label is, or who has ended, as it is written.
    name: String,
    /// By the numbers of members; without one, the text that the format says.
    pub(crate) conditions: Vec<(Option<usize>, Pattern)>,
    pub(crate) session: Option<Template>,
    /// The event, as it is written out.
    pub(crate) pieces: Vec<Piece>,
}

/// A piece of an event that is written as JSON.
#[derive(Debug)]
pub(crate) enum Piece {
    /// As it stands.
    Text(String),
    /// A text, between quotes.
    Quoted(Template),
    /// The time, if it can be read, with a comma and its name.
    Time,
    /// A field of the payload.
    Field(Field),
}

/// A field of the payload.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its name and a colon, as JSON.
    pub(crate) key: String,
    /// The number of the member that it is.
    pub(crate) member: usize,
    pub(crate) ty: FieldType,
    pub(crate) is_optional: bool,
}

impl EventRule {
    /// What the event is called, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The pieces of an event, as they are put together.
#[derive(Default)]
struct Pieces {
    all: Vec<Piece>,
    /// What stands before the next piece.
    text: String,
}

impl Pieces {
    fn put(&mut self, piece: Piece) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.all.push(Piece::Text(text));
        }
        self.all.push(piece);
    }

    /// A part of the event, if there is one.
    fn part(&mut self, name: &str, template: Option<&Template>) {
        let Some(template) = template else { return };
        self.text.push(if self.all.is_empty() && self.text.is_empty() { '{' } else { ',' });
        quote(name, &mut self.text);
        self.text.push(':');
        match template.constant() {
            Some(text) => quote(text, &mut self.text),
            None => self.put(Piece::Quoted(template.clone())),
        }
    }

    fn payload(&mut self, fields: impl Iterator<Item = Field>) {
        self.text.push_str(",\"payload\":{");
        fields.for_each(|field| self.put(Piece::Field(field)));
        self.text.push('}');
    }

    fn end(mut self) -> Vec<Piece> {
        self.text.push('}');
        self.all.push(Piece::Text(self.text));
        self.all
    }
}

impl Source {
    /// Reads a source file.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let file: SourceFile =
            toml::from_str(text).map_err(|error| SourceError::new(error.to_string().trim_end()))?;
        if file.event.is_empty() {
            return Err(SourceError::new("it has no [[event]]: no line would become an event"));
        }
        if file.prefix.is_some() && file.format != Format::Regex {
            return Err(SourceError::new("`prefix` is for format = \"regex\""));
        }
        if (file.columns.is_some() || file.separator.is_some()) && file.format != Format::Csv {
            return Err(SourceError::new("`columns` and `separator` are for format = \"csv\""));
        }
        if (file.encoding.is_some() || file.signal.is_some()) && file.format != Format::Otlp {
            return Err(SourceError::new("`encoding` and `signal` are for format = \"otlp\""));
        }
        if file.encoding == Some(Encoding::Protobuf) && file.signal.is_none() {
            return Err(SourceError::new(
                "encoding = \"protobuf\" needs `signal`, \"spans\" or \"logs\": the bytes do not say",
            ));
        }
        let time_format = match (&file.time_format, file.format) {
            (Some(written), _) => TimeFormat::parse(written)?,
            (None, Format::Syslog) => TimeFormat::parse("syslog")?,
            (None, Format::Otlp) => TimeFormat::parse("unix-ns")?,
            (None, _) => TimeFormat::parse("rfc3339")?,
        };
        let time_format = time_format.in_zone(file.zone.as_deref())?.in_year(file.year);
        let has_time = matches!(file.format, Format::Syslog | Format::Otlp);
        let time = file.time.clone().or_else(|| has_time.then(|| "{time}".to_owned()));
        let mut reader = Reader::default();
        let time = time.map(|written| Template::parse(&written, &mut reader.names)).transpose()?;
        let mut prefix = file.prefix.as_deref().map(|text| reader.pattern(text)).transpose()?;
        let mut rules = Vec::new();
        for (index, event) in file.event.iter().enumerate() {
            let rule = reader.rule(&file, event, time.is_some());
            rules.push(rule.map_err(|error| SourceError::new(format!("[[event]] {}: {error}", index + 1)))?);
        }
        let Reader { names, patterns } = reader;
        let conditions = rules.iter_mut().flat_map(|rule| &mut rule.conditions).map(|(_, pattern)| pattern);
        conditions.chain(&mut prefix).for_each(|pattern| pattern.resolve(&names));
        Ok(Self {
            format: file.format,
            prefix,
            time: time.map(|template| (template, time_format)),
            columns: file.columns,
            separator: file.separator.unwrap_or(','),
            encoding: file.encoding.unwrap_or_default(),
            signal: file.signal,
            rules,
            names,
            patterns,
            unmatched: file.unmatched,
        })
    }

    /// What searching with its patterns needs room for.
    pub(crate) fn searches(&self) -> Vec<Search> {
        (0..self.patterns).map(|_| Search::default()).collect()
    }

    /// The rules, in the order in which they are tried.
    #[must_use]
    pub fn rules(&self) -> &[EventRule] {
        &self.rules
    }
}

/// What is numbered while a source file is read.
#[derive(Default)]
struct Reader {
    names: Names,
    patterns: usize,
}

impl Reader {
    fn pattern(&mut self, text: &str) -> Result<Pattern, SourceError> {
        self.patterns += 1;
        Pattern::new(text, self.patterns - 1)
    }

    fn template(&mut self, own: Option<&str>, common: Option<&str>) -> Result<Option<Template>, SourceError> {
        own.or(common).map(|written| Template::parse(written, &mut self.names)).transpose()
    }

    fn rule(&mut self, file: &SourceFile, event: &EventFile, timed: bool) -> Result<EventRule, SourceError> {
        let name = match (&event.label, &event.end) {
            (Some(name), None) | (None, Some(name)) => name.clone(),
            _ => {
                return Err(SourceError::new(
                    "it needs either `label`, what the message is called, or `end`, who has ended",
                ));
            }
        };
        let session = self.template(event.session.as_deref(), file.session.as_deref())?;
        let mut pieces = Pieces::default();
        pieces.part("session", session.as_ref());
        if event.label.is_some() {
            let from = self.template(event.from.as_deref(), file.from.as_deref())?;
            if from.is_none() {
                return Err(SourceError::new("it does not say who sends the message (`from`)"));
            }
            pieces.part("label", self.template(event.label.as_deref(), None)?.as_ref());
            pieces.part("from", from.as_ref());
            pieces.part("to", self.template(event.to.as_deref(), file.to.as_deref())?.as_ref());
        } else {
            pieces.part("end", self.template(event.end.as_deref(), None)?.as_ref());
        }
        if timed {
            pieces.put(Piece::Time);
        }
        if event.label.is_some() && !event.fields.is_empty() {
            let names = &mut self.names;
            pieces.payload(event.fields.iter().map(|(name, field)| {
                let (ty, member, is_optional) = match field {
                    FieldFile::Type(ty) => (*ty, None, false),
                    FieldFile::Described(it) => (it.r#type, it.member.as_deref(), it.optional),
                };
                let mut key = String::new();
                quote(name, &mut key);
                key.push(':');
                Field { key, member: names.number(member.unwrap_or(name)), ty, is_optional }
            }));
        }
        let mut conditions = Vec::new();
        match &event.r#match {
            None => {}
            Some(MatchFile::Text(text)) => conditions.push((None, self.pattern(text)?)),
            Some(MatchFile::Members(members)) => {
                for (member, text) in members {
                    conditions.push((Some(self.names.number(member)), self.pattern(text)?));
                }
            }
        }
        Ok(EventRule { name, conditions, session, pieces: pieces.end() })
    }
}
