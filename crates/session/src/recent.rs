//! The last messages of a session, for whoever reads a verdict. A fixed amount of memory, taken with the first
//! message.

use std::io::Write as _;
use std::sync::Arc;

use referee_monitor::FieldValue;
use referee_wire::{Codec, MessageId, Sender};

use crate::redact::HIDDEN;
use crate::rules::TwoPartyRules;
use crate::tap::{Tap, TappedMessage, Tapping};

/// How many messages are kept.
const KEPT_MESSAGES: usize = 6;
/// How many bytes of the fields of each.
const KEPT_BYTES: usize = 60;

#[derive(Clone, Copy, Debug)]
struct Entry {
    text: [u8; KEPT_BYTES],
    length: u8,
    sender: Sender,
    /// The message, if the codec knows it.
    message: Option<MessageId>,
    /// Whether the monitor objected to it.
    wrong: bool,
}

impl Entry {
    /// `Auth(bob, redacted)`.
    fn describe(&self, codec: &Codec) -> String {
        let known = self.message.and_then(|id| codec.messages().get(id.index()));
        let label = known.map_or("?", |known| &known.name);
        let full = usize::from(self.length) == KEPT_BYTES;
        let text = String::from_utf8_lossy(&self.text[..usize::from(self.length)]);
        format!("{label}({}{})", text.escape_debug(), if full { "…" } else { "" })
    }

    fn tapped(&self, number: usize, rules: &TwoPartyRules) -> TappedMessage {
        let role = |sender: Sender| rules.roles[sender.index()].clone();
        TappedMessage {
            number: number as u64,
            from: role(self.sender),
            to: role(self.sender.other()),
            text: self.describe(&rules.codec),
            wrong: self.wrong,
        }
    }
}

/// The last messages of a session.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    entries: Option<Box<[Entry; KEPT_MESSAGES]>>,
    count: usize,
    tapping: Tapping,
}

impl Recent {
    pub(crate) fn push(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        message: Option<MessageId>,
        fields: &[FieldValue<'_>],
        misfits: bool,
    ) {
        let redaction = &rules.options.redaction;
        let empty = Entry { text: [0; KEPT_BYTES], length: 0, sender, message: None, wrong: false };
        let entries = self.entries.get_or_insert_with(|| Box::new([empty; KEPT_MESSAGES]));
        let Some(entry) = entries.get_mut(self.count % KEPT_MESSAGES) else { return };
        self.count += 1;
        entry.sender = sender;
        entry.message = message;
        entry.wrong = misfits;
        let mut room = entry.text.as_mut_slice();
        for (index, field) in fields.iter().enumerate() {
            if index > 0 && room.write_all(b", ").is_err() {
                break;
            }
            // What does not fit one field may be another's.
            let hides = redaction.hides(message, index) || (misfits && redaction.hides_any(message));
            let written = if hides {
                room.write_all(HIDDEN.as_bytes())
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
        entry.length = u8::try_from(KEPT_BYTES - left).unwrap_or(0);
        if self.tapping.is_on() {
            self.tapping.push(|| entry.tapped(self.count - 1, rules));
        }
    }

    /// What is kept from now on for who follows the session, the last messages first.
    pub(crate) fn follow(&mut self, rules: &TwoPartyRules) -> Arc<Tap> {
        let Self { entries, count, tapping } = self;
        let oldest = count.saturating_sub(KEPT_MESSAGES);
        let entry = |number: usize| entries.as_ref()?.get(number % KEPT_MESSAGES).copied();
        tapping.follow(|| {
            (oldest..*count).filter_map(|number| Some(entry(number)?.tapped(number, rules))).collect()
        })
    }

    /// `client: Auth(bob, redacted)`, oldest first.
    pub(crate) fn list(&self, codec: &Codec, roles: &[String; 2]) -> Vec<String> {
        let Some(entries) = &self.entries else { return Vec::new() };
        let oldest = self.count.saturating_sub(KEPT_MESSAGES);
        (oldest..self.count)
            .filter_map(|number| entries.get(number % KEPT_MESSAGES))
            .map(|entry| {
                let role = roles.get(entry.sender.index()).map_or("", |role| role);
                format!("{role}: {}", entry.describe(codec))
            })
            .collect()
    }
}
