//! The table of a codec, as a user writes it. What each key means is told in `docs/codecs.md`.
//!
//! One flat structure for all kinds: which keys go with which kind is checked when a table is compiled, so that a
//! mistake is told with its place and not as “did not match any variant”.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor, value::MapAccessDeserializer};

use crate::error::TableError;
use crate::signature::Sender;

/// A codec, described.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Table {
    /// Which codec.
    pub kind: Kind,
    /// Each message, by its label in the protocol.
    #[serde(default, deserialize_with = "in_order")]
    pub messages: Vec<(String, MessageTable)>,
    /// When a side may end although the session is not over.
    #[serde(default)]
    pub leave: LeaveTable,
    /// `text`: whether literal text matches in any case.
    pub ignore_case: Option<bool>,
    /// `text`: whether blanks at the end of a line are ignored. Default: yes.
    pub trim: Option<bool>,
    /// `text`: who sends messages of several lines, `250-…` and then `250 …`.
    pub multiline: Option<Sides>,
    /// `text`: what ends a line. Default: LF, with or without CR.
    pub line_end: Option<LineEnd>,
}

/// The kinds of codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// Lines of text.
    Text,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
        })
    }
}

/// When each side may end its side of the connection.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LeaveTable {
    /// The side that connects.
    #[serde(default)]
    pub client: Leave,
    /// The side that is connected to.
    #[serde(default)]
    pub server: Leave,
}

/// When a side may end its side of the connection although the session is not over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leave {
    /// Not before the session is over.
    #[default]
    Never,
    /// While it is the other side's turn: when it owes nothing.
    Idle,
    /// Between any two messages.
    Anytime,
}

/// One side, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sides {
    /// The side that connects.
    Client,
    /// The side that is connected to.
    Server,
    /// Either.
    Both,
}

impl Sides {
    /// Whether `sender` is among them.
    #[must_use]
    pub fn includes(self, sender: Sender) -> bool {
        match self {
            Self::Client => sender == Sender::Client,
            Self::Server => sender == Sender::Server,
            Self::Both => true,
        }
    }
}

/// What ends a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineEnd {
    /// LF, or CR LF.
    #[default]
    Any,
    /// CR LF; a lone LF or CR in a line is malformed.
    Crlf,
}

/// One message of a table. In TOML a text alone stands for its `pattern`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MessageTable {
    /// `text`: literal text with captures, `MAIL FROM:<{addr}>`.
    pub pattern: Option<String>,
    /// `text`: a regular expression with named groups.
    pub regex: Option<String>,
    /// `text`: it is everything up to a line with a single dot.
    pub block: Option<Block>,
    /// `text`: the field that says how many bytes follow it.
    pub body: Option<String>,
    /// `text`: the field that is the message as a whole, its line ends included.
    pub whole: Option<String>,
    /// What comes after it.
    pub then: Option<Then>,
    /// Whether it is passed on without a step of the monitor.
    pub aside: bool,
    /// Who sends it, if it is no message of the protocol.
    pub from: Option<Sides>,
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Block {
    /// With a line that has a single dot.
    Dot,
}

/// What comes after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// Something that cannot be read, both ways: everything is passed on as it is.
    Transparent,
}

impl Table {
    /// Reads a table from TOML.
    ///
    /// # Errors
    /// The first thing that is not TOML, or not a codec table, with its place.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        toml::from_str(text).map_err(|error| TableError::new([], error.message()).at(error.span()))
    }

    /// Keys that are set but do not go with the kind.
    pub(crate) fn foreign_keys(&self) -> Vec<TableError> {
        let mut errors = Vec::new();
        let mut expect = |path: &[&str], is_set: bool, kinds: &[Kind]| {
            if is_set && !kinds.contains(&self.kind) {
                let message = format!("this key is not for codecs of kind `{}`", self.kind);
                errors.push(TableError::new(path.iter().copied(), message));
            }
        };
        expect(&["ignore-case"], self.ignore_case.is_some(), &[Kind::Text]);
        expect(&["trim"], self.trim.is_some(), &[Kind::Text]);
        expect(&["multiline"], self.multiline.is_some(), &[Kind::Text]);
        expect(&["line-end"], self.line_end.is_some(), &[Kind::Text]);
        for (name, message) in &self.messages {
            let mut expect = |key, is_set, kinds| expect(&["messages", name, key], is_set, kinds);
            expect("pattern", message.pattern.is_some(), &[Kind::Text]);
            expect("regex", message.regex.is_some(), &[Kind::Text]);
            expect("block", message.block.is_some(), &[Kind::Text]);
            expect("body", message.body.is_some(), &[Kind::Text]);
            expect("whole", message.whole.is_some(), &[Kind::Text]);
        }
        errors
    }
}

/// The entries of a table in the order in which they are written: of two patterns that match, the first wins.
fn in_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, MessageTable)>, D::Error> {
    struct InOrder;

    impl<'de> Visitor<'de> for InOrder {
        type Value = Vec<(String, MessageTable)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table of messages")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries: Self::Value = Vec::new();
            while let Some(name) = map.next_key::<String>()? {
                if entries.iter().any(|(other, _)| *other == name) {
                    return Err(A::Error::custom(format_args!("`{name}` is there twice")));
                }
                entries.push((name, map.next_value()?));
            }
            Ok(entries)
        }
    }

    deserializer.deserialize_map(InOrder)
}

impl<'de> Deserialize<'de> for MessageTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        struct Written {
            pattern: Option<String>,
            regex: Option<String>,
            block: Option<Block>,
            body: Option<String>,
            whole: Option<String>,
            then: Option<Then>,
            #[serde(default)]
            aside: bool,
            from: Option<Sides>,
        }

        struct TextOrTable;

        impl<'de> Visitor<'de> for TextOrTable {
            type Value = MessageTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a pattern or a table")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<MessageTable, E> {
                Ok(MessageTable { pattern: Some(text.to_owned()), ..MessageTable::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MessageTable, A::Error> {
                let written = Written::deserialize(MapAccessDeserializer::new(map))?;
                let Written { pattern, regex, block, body, whole, then, aside, from } = written;
                Ok(MessageTable { pattern, regex, block, body, whole, then, aside, from })
            }
        }

        deserializer.deserialize_any(TextOrTable)
    }
}
