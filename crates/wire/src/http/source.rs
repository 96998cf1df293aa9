//! Where the fields of a request or a response come from.

use bumpalo::Bump;
use referee_monitor::FieldValue;

use super::head::Head;
use super::route::{Route, Segment, plain, segment, split_target, unescape};
use crate::error::TableError;
use crate::json::document::{self, MISSING, Pointers};
use crate::signature::{Known, Sender};
use crate::step::Fields;
use crate::table::MessageTable;
use crate::value::Scalar;

/// Where a value is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A capture of the path.
    Path(Box<str>),
    /// The segment at an index; with all that follow.
    Segment(usize, bool),
    Query(Box<str>),
    /// In lower case.
    Header(Box<str>),
    Cookie(Box<str>),
    /// The place of a pointer among those of the message.
    Json(usize),
    Pointer(Box<str>),
    Body,
    Method,
    Target,
    Status,
}

impl Source {
    /// `header:Authorization`, `query:page`, `cookie:sid`, `path:id`, `json:/user/name`, `body`, `status`, …
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Ok(match text.split_once(':') {
            Some(("path", name)) => Self::Path(name.into()),
            Some(("query", name)) => Self::Query(name.into()),
            Some(("header", name)) => Self::Header(name.to_ascii_lowercase().into()),
            Some(("cookie", name)) => Self::Cookie(name.into()),
            Some(("json", pointer)) => Self::Pointer(pointer.into()),
            _ => match text {
                "json" => Self::Pointer("".into()),
                "body" => Self::Body,
                "method" => Self::Method,
                "target" => Self::Target,
                "status" => Self::Status,
                _ => {
                    return Err(format!(
                        "`{text}` is no source: there is `path:…`, `query:…`, `header:…`, `cookie:…`, `json:/…`, `body`, \
                         `method`, `target`, `status`"
                    ));
                }
            },
        })
    }
}

/// What is to be read of a message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) aside: bool,
    pub(crate) wants_body: bool,
    fields: Vec<(Source, Option<Scalar>)>,
    pointers: Option<Pointers>,
    /// The captures of its path.
    captures: Vec<(Box<str>, usize)>,
}

impl Shape {
    pub(crate) fn compile(
        entry: &MessageTable,
        known: &Known,
        route: Option<&Route>,
        errors: &mut Vec<TableError>,
    ) -> Option<Self> {
        let before = errors.len();
        let name = &*known.name;
        let mut shape = Self { aside: known.aside, ..Self::default() };
        let mut tails = Vec::new();
        for (index, part) in route.map_or(&[][..], |route| &route.segments).iter().enumerate() {
            match part {
                Segment::Capture(name) => shape.captures.push((name.clone(), index)),
                Segment::Tail(name) => {
                    tails.push(index);
                    shape.captures.push((name.clone(), index));
                }
                Segment::Literal(_) => {}
            }
        }
        let mut pointers: Vec<Box<str>> = Vec::new();
        for field in &*known.fields {
            let field_name = field.name.as_deref().unwrap_or("_");
            let given = entry.fields.iter().find(|(key, _)| **key == *field_name);
            let mut fail = |message: String| {
                errors.push(TableError::new(["messages", name, "fields", field_name], message));
            };
            let source = match given {
                Some((_, text)) => Source::parse(text),
                None => Ok(Source::Path(field_name.into())),
            };
            let source = match source {
                Ok(Source::Path(capture)) => match shape.captures.iter().find(|(name, _)| *name == capture) {
                    Some((_, index)) => Source::Segment(*index, tails.contains(index)),
                    None if given.is_some() => {
                        fail(format!("the path has no `{{{capture}}}`"));
                        continue;
                    }
                    None => {
                        fail("nothing gives this field a value".to_owned());
                        continue;
                    }
                },
                Ok(Source::Pointer(pointer)) => {
                    pointers.push(pointer);
                    Source::Json(pointers.len() - 1)
                }
                Ok(source) => source,
                Err(reason) => {
                    fail(reason);
                    continue;
                }
            };
            let scalar = Scalar::of(&field.ty);
            if scalar.is_none() && !matches!(source, Source::Json(_)) {
                fail("lists and records can only come from JSON".to_owned());
            }
            shape.wants_body |= matches!(source, Source::Json(_) | Source::Body);
            shape.fields.push((source, scalar));
        }
        crate::json::unknown_fields(Some(entry), known, errors);
        if !pointers.is_empty() {
            match Pointers::new(pointers.iter().map(|pointer| &**pointer)) {
                Ok(pointers) => shape.pointers = Some(pointers),
                Err(reason) => errors.push(TableError::new(["messages", name, "fields"], reason)),
            }
        }
        (errors.len() == before).then_some(shape)
    }
}

/// A message with its body, as far as it is wanted.
pub(crate) struct Exchange<'h, 'b> {
    pub(crate) sender: Sender,
    pub(crate) head: &'h Head<'b>,
    pub(crate) content: &'b [u8],
    pub(crate) bump: &'b Bump,
}

impl<'b> Exchange<'_, 'b> {
    /// The fields of `shape`.
    pub(crate) fn read(&self, shape: &Shape, fields: &mut Fields<'b>) {
        let document = shape.pointers.as_ref().map(|pointers| {
            let text = std::str::from_utf8(self.content).map_err(|_| "a body that is not UTF-8")?;
            let start = document::skip_blanks(text.as_bytes(), 0);
            let (places, end) = pointers.locate(text, start).map_err(|flaw| flaw.what)?;
            let end = document::skip_blanks(text.as_bytes(), end);
            if end == text.len() { Ok((text, places)) } else { Err("something after the JSON document") }
        });
        for (source, scalar) in &shape.fields {
            fields.push(match (source, &document) {
                (Source::Json(index), Some(Ok((text, places)))) => {
                    let place = places.get(*index).copied().unwrap_or(MISSING);
                    document::value(text, place, *scalar == Some(Scalar::Unit), self.bump)
                }
                (Source::Json(_), Some(Err(reason))) => FieldValue::Malformed(reason),
                _ => match (self.bytes(source), scalar) {
                    (Ok(Some(bytes)), Some(scalar)) => scalar.read(bytes),
                    (Ok(None), Some(Scalar::Unit)) => FieldValue::Unit,
                    (Ok(_), _) => FieldValue::Malformed("it is missing"),
                    (Err(Twice), _) => FieldValue::Malformed(Twice::REASON),
                },
            });
        }
    }

    /// The session that the message belongs to.
    pub(crate) fn session(&self, source: &Source, shape: Option<&Shape>) -> Result<Option<&'b [u8]>, Twice> {
        match source {
            Source::Path(name) if self.sender == Sender::Client => {
                let captures = shape.map_or(&[][..], |shape| &shape.captures);
                match captures.iter().find(|(capture, _)| capture == name) {
                    Some((_, index)) => self.bytes(&Source::Segment(*index, false)),
                    None => Ok(None),
                }
            }
            Source::Query(_) if self.sender == Sender::Server => Ok(None),
            source => self.bytes(source),
        }
    }

    /// The bytes at `source`. What is there twice one reader takes the first of, and another the last.
    fn bytes(&self, source: &Source) -> Result<Option<&'b [u8]>, Twice> {
        let [first, second, _] = self.head.line;
        Ok(match source {
            Source::Segment(index, tail) => {
                Some(plain(segment(split_target(second).0, *index, *tail), self.bump))
            }
            Source::Query(name) => {
                only(split_target(second).1.split(|byte| *byte == b'&').filter_map(|pair| {
                    let at = memchr::memchr(b'=', pair).unwrap_or(pair.len());
                    let (key, value) = pair.split_at(at);
                    let is = key == name.as_bytes()
                        || (key.iter().any(|b| matches!(b, b'%' | b'+'))
                            && unescape(key, true, self.bump) == name.as_bytes());
                    let value = value.get(1..).unwrap_or_default();
                    is.then(|| {
                        if value.iter().any(|b| matches!(b, b'%' | b'+')) {
                            unescape(value, true, self.bump)
                        } else {
                            value
                        }
                    })
                }))?
            }
            Source::Header(name) => only(self.head.values(name))?,
            Source::Cookie(name) => self.head.cookie(name, self.sender)?,
            Source::Body => Some(self.content),
            Source::Method => Some(first),
            Source::Target | Source::Status => Some(second),
            Source::Path(_) | Source::Json(_) | Source::Pointer(_) => None,
        })
    }
}

impl<'b> Head<'b> {
    /// The value of the cookie called `name` that `sender` sends.
    pub(crate) fn cookie(&self, name: &str, sender: Sender) -> Result<Option<&'b [u8]>, Twice> {
        let named = |pair: &'b [u8]| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
        let pairs = |value: &'b [u8]| value.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        if sender == Sender::Server {
            // What follows the first pair of a line are its attributes.
            only(self.values("set-cookie").filter_map(|value| named(pairs(value).next()?)))
        } else {
            only(self.values("cookie").flat_map(pairs).filter_map(named))
        }
    }
}

/// What is wanted is there twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Twice;

impl Twice {
    pub(crate) const REASON: &'static str = "it is there more than once";
}

/// The one value of `values`, if there is any.
pub(crate) fn only<'b>(mut values: impl Iterator<Item = &'b [u8]>) -> Result<Option<&'b [u8]>, Twice> {
    let first = values.next();
    if first.is_some() && values.next().is_some() { Err(Twice) } else { Ok(first) }
}
