//! The table of a codec, as a user writes it. What each key means is told in `docs/codecs.md`.
//!
//! One flat structure for all kinds: which keys go with which kind is checked when a table is compiled, so that a
//! mistake is told with its place and not as “did not match any variant”.

mod correlate;
mod keys;
mod schema;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor, value::MapAccessDeserializer};

use crate::error::TableError;
use crate::signature::Sender;
pub use correlate::{CorrelateTable, KindTable};

/// A codec, described.
#[derive(Clone, Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table with `kind` and `messages`")]
#[schemars(rename = "Codec", transform = schema::by_kind)]
#[non_exhaustive]
pub struct Table {
    /// Which codec.
    pub kind: Kind,
    /// Each message, by its label in the protocol.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "BTreeMap<String, schema::Entry>")]
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
    /// `text`: how many bytes a line may have, its end included.
    #[serde(default)]
    pub max_line: MaxLine,
    /// What readers may differ about, and is read nevertheless.
    #[serde(default)]
    pub lenient: Vec<Leniency>,
    /// `json`: where a document ends. Default: with its line.
    pub framing: Option<Framing>,
    /// `json`, `websocket`: the JSON pointer to the label. Default: `/type`.
    pub label: Option<String>,
    /// `json`, `websocket`: whether this is JSON-RPC 2.0: a `correlate` of its own.
    pub rpc: Option<bool>,
    /// `json`, `websocket`: how answers are matched with requests. Without it: not at all.
    pub correlate: Option<CorrelateTable>,
    /// `http`, `json-http`: what tells which session a message belongs to, `cookie:sid`. Default: its connection.
    pub session: Option<String>,
    /// `frames`: where the tag is.
    pub tag: Option<TagTable>,
    /// `frames`: where the length is.
    pub length: Option<LengthTable>,
    /// `frames`: where the length of a frame without a tag is.
    pub untagged_length: Option<LengthTable>,
    /// `frames`: the order of bytes in numbers. Default: big.
    pub endian: Option<Endian>,
    /// `websocket`: what its messages are. Default: JSON.
    pub carries: Option<Carries>,
}

/// The kinds of codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// Lines of text.
    Text,
    /// JSON documents.
    Json,
    /// HTTP/1.1.
    Http,
    /// JSON documents in bodies and events of HTTP/1.1.
    JsonHttp,
    /// Binary frames with a tag and a length.
    Frames,
    /// RESP2 and RESP3, what Redis speaks.
    Resp,
    /// WebSocket, after its handshake.
    #[serde(rename = "websocket")]
    WebSocket,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Http => "http",
            Self::JsonHttp => "json-http",
            Self::Frames => "frames",
            Self::Resp => "resp",
            Self::WebSocket => "websocket",
        })
    }
}

/// When each side may end its side of the connection.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, { client = \"…\", server = \"…\" }")]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Leave {
    /// Not before the session is over.
    #[default]
    Never,
    /// While it is the other side's turn: when it owes nothing.
    Idle,
    /// Between any two messages.
    BetweenMessages,
    /// Even within a message, which it breaks off.
    Anytime,
}

/// One side, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LineEnd {
    /// LF, or CR LF.
    #[default]
    Any,
    /// CR LF; a lone LF or CR in a line is malformed.
    Crlf,
}

/// How many bytes a line of each side may have, its end included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, { client = 512 }")]
#[non_exhaustive]
pub struct MaxLine {
    /// The side that connects. Default: as many as a message may have.
    pub client: Option<u32>,
    /// The side that is connected to. Default: as many as a message may have.
    pub server: Option<u32>,
}

impl MaxLine {
    /// How many bytes a line of `sender` may have, if that is limited.
    #[must_use]
    pub fn of(self, sender: Sender) -> Option<u32> {
        match sender {
            Sender::Client => self.client,
            Sender::Server => self.server,
        }
    }
}

/// Something that not every reader reads alike, and that a codec reads only if its table says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Leniency {
    /// `text`: a CR that no LF follows is text.
    BareCr,
    /// `text`: a NUL is text.
    Nul,
    /// `text`: a line of a block begins with a single dot and more, which is read as it is.
    UndoubledDots,
    /// `http`: a request of HTTP/1.1 without Host.
    MissingHost,
    /// `http`: codings besides `chunked`, which comes last.
    TransferCodings,
    /// `http`: trailers of any name, but for those that say how long a message is.
    Trailers,
}

impl Leniency {
    /// The kinds of codec that this goes with.
    #[must_use]
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Self::BareCr | Self::Nul | Self::UndoubledDots => &[Kind::Text],
            Self::MissingHost | Self::Trailers => &[Kind::Http, Kind::JsonHttp],
            Self::TransferCodings => &[Kind::Http],
        }
    }
}

/// Where a JSON document ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// With its line.
    #[default]
    Lines,
    /// Where its outermost bracket closes.
    Stream,
    /// After as many bytes as a number before it says, in network order.
    Length(Width),
    /// After as many bytes as the header `Content-Length` before it says.
    Headers,
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines => f.write_str("lines"),
            Self::Stream => f.write_str("stream"),
            Self::Headers => f.write_str("headers"),
            Self::Length(width) => write!(f, "length-{}", width.bytes() * 8),
        }
    }
}

impl<'de> Deserialize<'de> for Framing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match String::deserialize(deserializer)?.as_str() {
            "lines" => Self::Lines,
            "stream" => Self::Stream,
            "headers" => Self::Headers,
            "length-8" => Self::Length(Width::One),
            "length-16" => Self::Length(Width::Two),
            "length-32" => Self::Length(Width::Four),
            "length-64" => Self::Length(Width::Eight),
            other => {
                return Err(D::Error::custom(format_args!(
                    "`{other}` is no framing: there is `lines`, `stream`, `headers`, `length-8`, `length-16`, \
                     `length-32`, `length-64`"
                )));
            }
        })
    }
}

/// How many bytes a number has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits.
    One,
    /// 16 bits.
    Two,
    /// 32 bits.
    Four,
    /// 64 bits.
    Eight,
}

impl Width {
    /// As a number.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

impl<'de> Deserialize<'de> for Width {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            4 => Ok(Self::Four),
            8 => Ok(Self::Eight),
            other => Err(D::Error::custom(format_args!("a number has 1, 2, 4 or 8 bytes, not {other}"))),
        }
    }
}

impl<'de> Deserialize<'de> for LengthForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrName;

        impl Visitor<'_> for NumberOrName {
            type Value = LengthForm;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("1, 2, 4, 8, `leb128`, `mqtt` or `quic`")
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<LengthForm, E> {
                let number = u64::try_from(number).unwrap_or(0);
                Width::deserialize(serde::de::value::U64Deserializer::new(number)).map(LengthForm::Fixed)
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<LengthForm, E> {
                Width::deserialize(serde::de::value::U64Deserializer::new(number)).map(LengthForm::Fixed)
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<LengthForm, E> {
                match name {
                    "leb128" => Ok(LengthForm::Leb128),
                    "mqtt" => Ok(LengthForm::Mqtt),
                    "quic" => Ok(LengthForm::Quic),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(name), &self)),
                }
            }
        }

        deserializer.deserialize_any(NumberOrName)
    }
}

/// Where the tag of a frame is.
#[derive(Clone, Copy, Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table, { at = 0, bytes = 1 }")]
pub struct TagTable {
    /// How many bytes come before it.
    #[serde(default)]
    pub at: u8,
    /// How many it has.
    pub bytes: Width,
    /// The bits of them that are the tag. Default: all.
    pub mask: Option<u64>,
}

/// How the length of a frame is written: so many bytes, or a number that says itself how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthForm {
    /// So many bytes.
    Fixed(Width),
    /// Seven bits in each byte, the least first: Protobuf's.
    Leb128,
    /// The same, of four bytes at most: MQTT's.
    Mqtt,
    /// QUIC's (RFC 9000, 16).
    Quic,
}

/// Where the length of a frame is.
#[derive(Clone, Copy, Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table, { at = 1, bytes = 4 }")]
pub struct LengthTable {
    /// How many bytes come before it.
    #[serde(default)]
    pub at: u8,
    /// How many it has, or how it is written: `"leb128"`, `"mqtt"`, `"quic"`.
    pub bytes: LengthForm,
    /// How many bytes it counts by. Default: 1.
    pub times: Option<u32>,
    /// How many more bytes there are than it says; less, if negative.
    pub plus: Option<i32>,
    /// From which byte of the frame on it counts. Default: the first after the tag and the length.
    pub counts_from: Option<u8>,
    /// The least that it may say.
    pub min: Option<u64>,
    /// The most that it may say.
    pub max: Option<u64>,
}

/// The order of bytes in a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Endian {
    /// The first byte counts most.
    #[default]
    Big,
    /// The first byte counts least.
    Little,
}

/// What the messages of a WebSocket are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Carries {
    /// JSON documents.
    #[default]
    Json,
    /// Text with patterns.
    Text,
}

/// One message of a table. In TOML a text alone stands for its `pattern`.
#[derive(Clone, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(remote = "Self", default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "Message")]
#[non_exhaustive]
pub struct MessageTable {
    /// `text`: literal text with captures, `MAIL FROM:<{addr}>`. `http`: `GET /items/{id}` or `2xx`. `json`: its label.
    /// `frames`: its tag. `resp`: a command, or how a reply begins.
    pub pattern: Option<String>,
    /// `text`: a regular expression with named groups.
    pub regex: Option<String>,
    /// `text`: how it is written, where `regex` says what it looks like: literal text with captures.
    pub write: Option<String>,
    /// `text`: it is everything up to a line with a single dot.
    pub block: Option<Block>,
    /// `text`: the field that says how many bytes follow it.
    pub body: Option<String>,
    /// `text`: what comes after the bytes of `body`. Default: nothing.
    pub body_end: Option<BodyEnd>,
    /// `text`: how many bytes its line, or each line of its block, may have, its end included.
    pub max_line: Option<u32>,
    /// `text`: the field that is the message as a whole, its line ends included.
    pub whole: Option<String>,
    /// `json`: the text at the label's place, if it is not the label of the protocol.
    pub label: Option<String>,
    /// `json`, `http`, `resp`: where fields are found.
    #[serde(deserialize_with = "in_order")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub fields: Vec<(String, String)>,
    /// JSON-RPC: the request that it answers.
    pub answers: Option<String>,
    /// JSON-RPC: whether it answers with an error.
    pub error: Option<bool>,
    /// JSON-RPC: whether it is a notification, which has no id. Default: with and without.
    pub notification: Option<bool>,
    /// `frames`: its tag as a number.
    pub tag: Option<u64>,
    /// `frames`: what comes after the header, one after the other: `name: cstring`, `code: u32 = 3`.
    pub layout: Vec<String>,
    /// `frames`: whether it has no tag.
    pub untagged: bool,
    /// `frames`: it is exactly these bytes, without tag or length; with `length`, it begins with them.
    pub bare: Option<String>,
    /// `frames`: where the length of a message is that begins with `bare`.
    pub length: Option<LengthTable>,
    /// `frames`: it has no bytes, and stands for the other side's going on (`interrupts`).
    pub silent: bool,
    /// It may come where this message of the other side may, as if that had been sent.
    pub interrupts: Option<String>,
    /// What comes after it.
    pub then: Option<Then>,
    /// Whether it is passed on without a step of the monitor.
    pub aside: bool,
    /// Who sends it, if it is no message of the protocol.
    pub from: Option<Sides>,
}

/// What comes after the bytes that a line announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BodyEnd {
    /// CR LF, which is not counted.
    Crlf,
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Block {
    /// With a line that has a single dot.
    Dot,
}

/// What comes after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    /// Something that cannot be read, both ways: everything is passed on as it is.
    Transparent,
    /// The same, and the other side had to wait for it: TLS, for instance. What it said before would be taken for part of
    /// what follows.
    Switch,
    /// Perhaps nothing: its sender may end its side of the connection, wherever the session stands.
    Close,
    /// Perhaps nothing: either side may end, wherever the session stands.
    HangUp,
}

impl Table {
    /// Reads a table from TOML.
    ///
    /// # Errors
    /// The first thing that is not TOML, or not a codec table, with its place.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        toml::from_str(text).map_err(|error| TableError::new([], error.message()).at(error.span()))
    }
}

/// The entries of a table in the order in which they are written: of two patterns that match, the first wins.
fn in_order<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<(String, T)>, D::Error> {
    struct InOrder<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
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

    deserializer.deserialize_map(InOrder(PhantomData))
}

impl<'de> Deserialize<'de> for MessageTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrTable)
    }
}

/// A text alone stands for a pattern.
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
        MessageTable::deserialize(MapAccessDeserializer::new(map))
    }
}
