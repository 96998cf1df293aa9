//! Source files: how the lines of a log become events.

use std::collections::BTreeMap;
use std::fmt;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use serde::Deserialize;

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

/// `"int"`, or `{ type = "int", member = "data.count" }` where the member has another name.
#[derive(Deserialize)]
#[serde(untagged)]
enum FieldFile {
    Type(FieldType),
    Member { r#type: FieldType, member: String },
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
}

/// One `[[event]]`: when it applies, and what the event is then.
#[derive(Debug)]
pub struct EventRule {
    pub(crate) conditions: Vec<(Option<String>, Pattern)>,
    pub(crate) label: Option<Template>,
    pub(crate) end: Option<Template>,
    pub(crate) session: Option<Template>,
    pub(crate) from: Option<Template>,
    pub(crate) to: Option<Template>,
    pub(crate) fields: Vec<Field>,
}

/// A field of the payload.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// The member that it is.
    pub(crate) member: String,
    pub(crate) ty: FieldType,
}

impl Field {
    fn new(name: &str, file: &FieldFile) -> Self {
        let (ty, member) = match file {
            FieldFile::Type(ty) => (*ty, name),
            FieldFile::Member { r#type, member } => (*r#type, member.as_str()),
        };
        Self { name: name.to_owned(), member: member.to_owned(), ty }
    }
}

impl EventRule {
    /// What the event is called, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        self.label.as_ref().or(self.end.as_ref()).map_or("", Template::text)
    }
}

/// A regular expression and the names of its groups. It is linear in the length of the line, whatever it is.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) regex: Regex,
    pub(crate) names: Vec<(usize, String)>,
}

impl Pattern {
    fn new(text: &str) -> Result<Self, SourceError> {
        // Bytes that are not UTF-8 are matched by `.` outside of Unicode classes; they are masked before.
        let config = syntax::Config::new().utf8(true);
        let regex = Regex::builder()
            .syntax(config)
            .build(text)
            .map_err(|error| SourceError::new(format!("`{text}` is no regular expression: {error}")))?;
        let names = regex.group_info().pattern_names(regex_automata::PatternID::ZERO);
        let names = names.enumerate().filter_map(|(index, name)| Some((index, name?.to_owned()))).collect();
        Ok(Self { regex, names })
    }

    /// Whether it matches `text`; gives its named groups there.
    pub(crate) fn find<'p, 't>(&'p self, text: &'t str, mut give: impl FnMut(&'p str, &'t str)) -> bool {
        // Most rules are not about most lines: finding that out is cheaper than finding groups.
        if self.names.is_empty() || !self.regex.is_match(text) {
            return self.names.is_empty() && self.regex.is_match(text);
        }
        let mut captures = self.regex.create_captures();
        self.regex.captures(text, &mut captures);
        for (index, name) in &self.names {
            if let Some(span) = captures.get_group(*index) {
                give(name, text.get(span.range()).unwrap_or_default());
            }
        }
        captures.is_match()
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
        let time = time.map(|written| Template::parse(&written)).transpose()?;
        let rules = file.event.iter().enumerate();
        let rule = |(index, event): (usize, &EventFile)| {
            Self::rule(&file, event)
                .map_err(|error| SourceError::new(format!("[[event]] {}: {error}", index + 1)))
        };
        Ok(Self {
            format: file.format,
            prefix: file.prefix.as_deref().map(Pattern::new).transpose()?,
            time: time.map(|template| (template, time_format)),
            columns: file.columns.clone(),
            separator: file.separator.unwrap_or(','),
            encoding: file.encoding.unwrap_or_default(),
            signal: file.signal,
            rules: rules.map(rule).collect::<Result<_, _>>()?,
        })
    }

    fn rule(file: &SourceFile, event: &EventFile) -> Result<EventRule, SourceError> {
        let template = |own: &Option<String>, common: &Option<String>| {
            own.as_ref().or(common.as_ref()).map(|written| Template::parse(written)).transpose()
        };
        if event.label.is_some() == event.end.is_some() {
            return Err(SourceError::new(
                "it needs either `label`, what the message is called, or `end`, who has ended",
            ));
        }
        let from = template(&event.from, &file.from)?;
        if event.label.is_some() && from.is_none() {
            return Err(SourceError::new("it does not say who sends the message (`from`)"));
        }
        let conditions = match &event.r#match {
            None => Vec::new(),
            Some(MatchFile::Text(text)) => vec![(None, Pattern::new(text)?)],
            Some(MatchFile::Members(members)) => members
                .iter()
                .map(|(member, text)| Ok((Some(member.clone()), Pattern::new(text)?)))
                .collect::<Result<_, SourceError>>()?,
        };
        Ok(EventRule {
            conditions,
            label: template(&event.label, &None)?,
            end: template(&event.end, &None)?,
            session: template(&event.session, &file.session)?,
            from,
            to: template(&event.to, &file.to)?,
            fields: event.fields.iter().map(|(name, field)| Field::new(name, field)).collect(),
        })
    }

    /// The rules, in the order in which they are tried.
    #[must_use]
    pub fn rules(&self) -> &[EventRule] {
        &self.rules
    }

    /// Whether times have no year, so that one is taken for granted.
    #[must_use]
    pub fn assumes_year(&self) -> bool {
        self.time.as_ref().is_some_and(|(_, format)| format.lacks_year())
    }

    /// Year, month and day on which logs are read whose times have no year: their first line is of the past, unless the file says a year.
    pub fn assume_today(&mut self, today: (i64, i64, i64)) {
        if let Some((_, format)) = &mut self.time {
            format.assume_today(today);
        }
    }
}
