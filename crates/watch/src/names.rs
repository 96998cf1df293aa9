//! The names that events use, as numbers: roles, and labels with the fields that their messages declare.

use std::sync::Arc;

use referee_monitor::{KeyedMonitor, LabelId, Monitor, Party};
use referee_theory::{Field, Role};
use rustc_hash::FxHashMap;

use crate::decode::fields::{Span, scalar};
use crate::payload::Declared;

/// Up to this many short names are compared one by one.
const FEW: usize = 10;

/// A small set of names, looked up by how they stand in JSON, with their quotes.
#[derive(Debug)]
pub(crate) struct Lexicon {
    /// `"name"`, in 16 bytes; 0 for what is longer. As many as there are names.
    words: Vec<u128>,
    by_word: FxHashMap<u128, u32>,
    by_text: FxHashMap<Box<str>, u32>,
}

pub(crate) const UNKNOWN: u32 = u32::MAX;

impl Lexicon {
    /// Names are numbered in order; of equal ones the first counts.
    pub(crate) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut lexicon =
            Self { words: Vec::new(), by_word: FxHashMap::default(), by_text: FxHashMap::default() };
        for (number, name) in (0..).zip(names) {
            let quoted = format!("\"{name}\"");
            // A name that needs escapes in JSON is never met in this form.
            let word = word(quoted.as_bytes(), Span::new(0, quoted.len())).unwrap_or(0);
            lexicon.words.push(word);
            if word != 0 {
                lexicon.by_word.entry(word).or_insert(number);
            }
            lexicon.by_text.entry(name.into()).or_insert(number);
        }
        lexicon
    }

    /// The number of the JSON value at `span`; `Ok(UNKNOWN)` if it is another text, `Err` if it is no text.
    #[inline]
    pub(crate) fn find(&self, text: &str, span: Span) -> Result<u32, &'static str> {
        if let Some(word) = word(text.as_bytes(), span) {
            if self.words.len() <= FEW {
                if let Some(number) = self.words.iter().position(|known| *known == word) {
                    return Ok(number as u32);
                }
            } else if let Some(number) = self.by_word.get(&word) {
                return Ok(*number);
            }
        }
        self.find_slowly(span.of(text))
    }

    #[cold]
    fn find_slowly(&self, raw: &str) -> Result<u32, &'static str> {
        match scalar(raw, &mut String::new()) {
            Ok(Some(name)) => Ok(self.by_text.get(name).copied().unwrap_or(UNKNOWN)),
            Ok(None) => Err("null"),
            Err(flaw) => Err(flaw.what),
        }
    }

    /// The number of `name`.
    pub(crate) fn find_text(&self, name: &str) -> u32 {
        self.by_text.get(name).copied().unwrap_or(UNKNOWN)
    }
}

/// Up to 16 bytes as a number; `None` if there are more, or the text ends too early to be read at once.
#[inline(always)]
fn word(bytes: &[u8], span: Span) -> Option<u128> {
    let length = span.end.wrapping_sub(span.start);
    if length == 0 || length > 16 {
        return None;
    }
    let start = span.start as usize;
    let word = match bytes.get(start..).and_then(|rest| rest.first_chunk::<16>()) {
        Some(bytes) => u128::from_le_bytes(*bytes),
        None => {
            let mut padded = [0; 16];
            let rest = bytes.get(start..).unwrap_or_default();
            padded.get_mut(..rest.len())?.copy_from_slice(rest);
            u128::from_le_bytes(padded)
        }
    };
    Some(word & (u128::MAX >> (128 - 8 * length)))
}

/// All names of one monitor.
pub(crate) struct Names {
    roles: Lexicon,
    parties: Vec<Party>,
    labels: Lexicon,
    messages: Vec<LabelEntry>,
    process: Role,
}

struct LabelEntry {
    text: Box<str>,
    id: LabelId,
    /// The fields, where all messages with this label name the same ones.
    declared: Option<Declared>,
    /// The fields of the first message with this label.
    fields: Arc<[Field]>,
}

impl Names {
    /// The names of `monitor`, and of the sub-sessions of `calls`; `aliases` are further names of its roles.
    pub(crate) fn new(monitor: &Monitor, calls: Option<&KeyedMonitor>, aliases: &[(String, Role)]) -> Self {
        let vocabulary = monitor.vocabulary();
        let mut roles: Vec<(&str, Party)> =
            aliases.iter().map(|(name, role)| (name.as_str(), Party::Role(*role))).collect();
        roles.extend(vocabulary.roles().map(|role| (vocabulary.role_name(role), Party::Role(role))));
        let mut labels: Vec<&str> = Vec::new();
        let mut messages: Vec<LabelEntry> = Vec::new();
        let own = monitor.machine().all_transitions().iter().map(|t| (vocabulary, t.message));
        let of_calls = calls.into_iter().flat_map(KeyedMonitor::subs).flat_map(|sub| {
            let vocabulary = sub.monitor().vocabulary();
            vocabulary.messages().map(move |message| (vocabulary, message))
        });
        for (vocabulary, message) in own.chain(of_calls) {
            let label = vocabulary.label_of(message);
            let fields = &vocabulary.spec(message).fields;
            let known = labels.iter().position(|known| *known == label);
            match known.and_then(|known| messages.get_mut(known)) {
                Some(entry) => {
                    let names = |fields: &[Field]| fields.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
                    if names(&entry.fields) != names(fields) {
                        entry.declared = None;
                    }
                }
                None => {
                    labels.push(label);
                    let (id, fields) = (monitor.label(label), Arc::clone(fields));
                    messages.push(LabelEntry { text: label.into(), id, declared: declared(&fields), fields });
                }
            }
        }
        Self {
            roles: Lexicon::new(roles.iter().map(|(name, _)| *name)),
            parties: roles.into_iter().map(|(_, party)| party).collect(),
            labels: Lexicon::new(labels),
            messages,
            process: monitor.machine().role(),
        }
    }

    /// Who is named at `span`.
    #[inline]
    pub(crate) fn party(&self, text: &str, span: Span) -> Result<Party, &'static str> {
        let number = self.roles.find(text, span)?;
        Ok(self.parties.get(number as usize).copied().unwrap_or(Party::Stranger))
    }

    /// Who is called `name`.
    pub(crate) fn party_called(&self, name: &str) -> Party {
        self.parties.get(self.roles.find_text(name) as usize).copied().unwrap_or(Party::Stranger)
    }

    /// Whether this is the side under scrutiny.
    #[inline]
    pub(crate) fn is_process(&self, party: Party) -> bool {
        party == Party::Role(self.process)
    }

    /// The number of the label at `span`.
    #[inline]
    pub(crate) fn label(&self, text: &str, span: Span) -> Result<u32, &'static str> {
        self.labels.find(text, span)
    }

    /// The number of the label called `name`.
    pub(crate) fn label_called(&self, name: &str) -> u32 {
        self.labels.find_text(name)
    }

    /// The monitor's number for label number `label`.
    #[inline]
    pub(crate) fn label_id(&self, label: u32) -> LabelId {
        self.messages.get(label as usize).map_or(LabelId::UNKNOWN, |entry| entry.id)
    }

    /// Label number `label`; nothing if it is unknown.
    pub(crate) fn label_text(&self, label: u32) -> &str {
        self.messages.get(label as usize).map_or("", |entry| &entry.text)
    }

    #[inline]
    pub(crate) fn declared(&self, label: u32) -> Option<&Declared> {
        self.messages.get(label as usize)?.declared.as_ref()
    }

    /// The fields of the first message with this label.
    pub(crate) fn fields(&self, label: u32) -> &[Field] {
        self.messages.get(label as usize).map_or(&[], |entry| &entry.fields)
    }
}

/// The quoted keys of `fields`, if all have names that need no escapes.
fn declared(fields: &[Field]) -> Option<Declared> {
    let key = |field: &Field| {
        let name = field.name.as_deref()?;
        let plain = name.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
        plain.then(|| format!("\"{name}\":").into_bytes().into_boxed_slice())
    };
    Some(Declared { keys: fields.iter().map(key).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        let long = "a-name-of-more-than-sixteen-bytes";
        let many: Vec<String> = (0..30).map(|i| format!("n{i}")).collect();
        let few = Lexicon::new(["client", "server", long]);
        let more =
            Lexicon::new(["client", "server", long].into_iter().chain(many.iter().map(String::as_str)));
        for lexicon in [&few, &more] {
            for pad in ["", " and more text after it"] {
                let find = |raw: &str| {
                    let text = format!("{raw}{pad}");
                    lexicon.find(&text, Span::new(0, raw.len()))
                };
                assert_eq!(find("\"client\""), Ok(0));
                assert_eq!(find("\"\\u0073erver\""), Ok(1));
                assert_eq!(find(&format!("\"{long}\"")), Ok(2));
                assert_eq!(find("\"clien\""), Ok(UNKNOWN));
                assert_eq!(find("\"\""), Ok(UNKNOWN));
                assert_eq!(find("42"), Ok(UNKNOWN));
                assert!(find("null").is_err() && find("[1]").is_err());
            }
        }
    }
}
