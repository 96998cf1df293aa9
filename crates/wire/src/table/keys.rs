//! Which keys of a table go with which kind of codec: for messages with their place, and for the schema.

use super::{Kind, MaxLine, MessageTable, Table};
use crate::error::TableError;

/// A key, whether it is set, and the kinds of codec that it goes with.
pub(super) type Key<T> = (&'static str, fn(&T) -> bool, &'static [Kind]);

const TEXT: &[Kind] = &[Kind::Text, Kind::WebSocket];
const JSON: &[Kind] = &[Kind::Json, Kind::JsonHttp, Kind::WebSocket];
const FRAMES: &[Kind] = &[Kind::Frames];

/// The keys of a table that go with some kinds only.
pub(super) const TABLE_KEYS: &[Key<Table>] = &[
    ("ignore-case", |table| table.ignore_case.is_some(), TEXT),
    ("trim", |table| table.trim.is_some(), TEXT),
    ("multiline", |table| table.multiline.is_some(), &[Kind::Text]),
    ("line-end", |table| table.line_end.is_some(), &[Kind::Text]),
    ("max-line", |table| table.max_line != MaxLine::default(), &[Kind::Text]),
    ("lenient", |table| !table.lenient.is_empty(), &[Kind::Text, Kind::Http, Kind::JsonHttp]),
    ("framing", |table| table.framing.is_some(), &[Kind::Json]),
    ("label", |table| table.label.is_some(), JSON),
    ("rpc", |table| table.rpc.is_some(), JSON),
    ("correlate", |table| table.correlate.is_some(), JSON),
    ("session", |table| table.session.is_some(), &[Kind::Http, Kind::JsonHttp]),
    ("tag", |table| table.tag.is_some(), FRAMES),
    ("length", |table| table.length.is_some(), FRAMES),
    ("untagged-length", |table| table.untagged_length.is_some(), FRAMES),
    ("endian", |table| table.endian.is_some(), FRAMES),
    ("carries", |table| table.carries.is_some(), &[Kind::WebSocket]),
];

/// The same of a message.
pub(super) const MESSAGE_KEYS: &[Key<MessageTable>] = &[
    ("regex", |message| message.regex.is_some(), TEXT),
    ("write", |message| message.write.is_some(), TEXT),
    ("block", |message| message.block.is_some(), &[Kind::Text]),
    ("body", |message| message.body.is_some(), &[Kind::Text]),
    ("body-end", |message| message.body_end.is_some(), &[Kind::Text]),
    ("silent", |message| message.silent, FRAMES),
    ("max-line", |message| message.max_line.is_some(), &[Kind::Text]),
    ("whole", |message| message.whole.is_some(), TEXT),
    ("then", |message| message.then.is_some(), &[Kind::Text, Kind::Frames, Kind::Resp]),
    ("label", |message| message.label.is_some(), JSON),
    ("answers", |message| message.answers.is_some(), JSON),
    ("error", |message| message.error.is_some(), JSON),
    ("notification", |message| message.notification.is_some(), JSON),
    (
        "fields",
        |message| !message.fields.is_empty(),
        &[Kind::Json, Kind::JsonHttp, Kind::Http, Kind::Resp, Kind::WebSocket],
    ),
    ("tag", |message| message.tag.is_some(), FRAMES),
    ("layout", |message| !message.layout.is_empty(), FRAMES),
    ("untagged", |message| message.untagged, FRAMES),
    ("bare", |message| message.bare.is_some(), FRAMES),
    ("length", |message| message.length.is_some(), FRAMES),
];

impl Table {
    /// Keys that are set but do not go with the kind.
    pub(crate) fn foreign_keys(&self) -> Vec<TableError> {
        let mut errors = Vec::new();
        let expect = |path: &[&str], is_set: bool, kinds: &[Kind]| {
            let message = format!("this key is not for codecs of kind `{}`", self.kind);
            (is_set && !kinds.contains(&self.kind)).then(|| TableError::new(path.iter().copied(), message))
        };
        for (key, is_set, kinds) in TABLE_KEYS {
            errors.extend(expect(&[key], is_set(self), kinds));
        }
        for (index, leniency) in self.lenient.iter().enumerate() {
            if !leniency.kinds().contains(&self.kind) {
                let kinds: Vec<String> = leniency.kinds().iter().map(|kind| format!("`{kind}`")).collect();
                let message = format!("this is for codecs of kind {}", kinds.join(" or "));
                errors.push(TableError::new(["lenient", &index.to_string()], message));
            }
        }
        for (name, message) in &self.messages {
            for (key, is_set, kinds) in MESSAGE_KEYS {
                errors.extend(expect(&["messages", name, key], is_set(message), kinds));
            }
            if message.from.is_some() && !message.aside {
                let reason = "the protocol says who sends this message: this is for what is `aside`";
                errors.push(TableError::new(["messages", name, "from"], reason));
            }
        }
        errors
    }
}
