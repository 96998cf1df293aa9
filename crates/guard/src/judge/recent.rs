//! The last messages of a session, for whoever reads a verdict. A fixed amount of memory, taken with the first
//! message.

use std::io::Write as _;

use referee_monitor::FieldValue;
use referee_wire::{Codec, Sender};

use crate::redact::Redaction;

const KEPT: usize = 6;
const TEXT: usize = 60;

#[derive(Clone, Copy, Debug)]
struct Entry {
    text: [u8; TEXT],
    length: u8,
    sender: Sender,
    /// The codec's number of the message.
    message: Option<u16>,
}

/// The last messages of a session.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    entries: Option<Box<[Entry; KEPT]>>,
    count: usize,
}

impl Recent {
    pub(crate) fn push(
        &mut self,
        sender: Sender,
        message: Option<usize>,
        fields: &[FieldValue<'_>],
        redaction: &Redaction,
        misfits: bool,
    ) {
        let empty = Entry { text: [0; TEXT], length: 0, sender, message: None };
        let entries = self.entries.get_or_insert_with(|| Box::new([empty; KEPT]));
        let Some(entry) = entries.get_mut(self.count % KEPT) else { return };
        self.count += 1;
        entry.sender = sender;
        entry.message = message.and_then(|index| u16::try_from(index).ok());
        let mut room = entry.text.as_mut_slice();
        for (index, field) in fields.iter().enumerate() {
            if index > 0 && room.write_all(b", ").is_err() {
                break;
            }
            // What does not fit one field may be another's.
            let hides = redaction.hides(message, index) || (misfits && redaction.hides_any(message));
            let written = if hides {
                room.write_all(Redaction::hidden().as_bytes())
            } else {
                match field {
                    FieldValue::Str(text) => room.write_all(text.as_bytes()),
                    FieldValue::Bytes(bytes) => room.write_all(bytes),
                    other => write!(room, "{other}"),
                }
            };
            if written.is_err() {
                break;
            }
        }
        let left = room.len();
        entry.length = u8::try_from(TEXT - left).unwrap_or(0);
    }

    /// `client: Auth(bob, redacted)`, oldest first.
    pub(crate) fn list(&self, codec: &Codec, roles: &[String; 2]) -> Vec<String> {
        let Some(entries) = &self.entries else { return Vec::new() };
        let oldest = self.count.saturating_sub(KEPT);
        (oldest..self.count)
            .filter_map(|number| entries.get(number % KEPT))
            .map(|entry| {
                let known = entry.message.and_then(|index| codec.messages().get(usize::from(index)));
                let label = known.map_or("?", |known| &known.name);
                let role = roles.get(entry.sender.index()).map_or("", |role| role);
                let full = usize::from(entry.length) == TEXT;
                let text = String::from_utf8_lossy(&entry.text[..usize::from(entry.length)]);
                format!("{role}: {label}({}{})", text.escape_debug(), if full { "…" } else { "" })
            })
            .collect()
    }
}
