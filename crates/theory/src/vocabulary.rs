//! The names a protocol speaks: its roles, labels and messages, each interned to a small number.
//!
//! Types, machines and systems derived from one protocol share its [`Vocabulary`] behind an `Arc`, so
//! comparing two messages is comparing two integers and printing needs no further context.

use std::fmt;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};
use smallvec::SmallVec;

use crate::expr::{Expr, written_name};
use crate::payload::Type;
use crate::timing::Timing;

/// A place in the user's text, opaque to this crate. `referee-syntax` hands these out and resolves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(pub u32);

impl Origin {
    /// For what no text stands behind: generated protocols, tests.
    pub const NONE: Self = Self(u32::MAX);
}

/// A participant of a protocol: an index into its [`Vocabulary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Role(pub u16);

/// A message label: an index into its [`Vocabulary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

/// A message (label, payload, assertion, times): an index into its [`Vocabulary`]. Equal messages have equal indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message(pub u32);

impl Role {
    /// This role as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl Label {
    /// This label as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Message {
    /// This message as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One payload field. `name` is `None` where the protocol gives only a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The payload variable, if the protocol names it.
    pub name: Option<Arc<str>>,
    /// What the field may hold.
    pub ty: Type,
}

/// What a [`Message`] stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageSpec {
    /// The label on the wire.
    pub label: Label,
    /// The payload, in order.
    pub fields: Arc<[Field]>,
    /// What must hold when the message is sent, over this payload and what was bound before it.
    pub assertion: Option<Arc<Expr>>,
    /// What a role computes once the message has passed, all at once: recursion data. Messages of a global type
    /// have none; [`crate::data`] gives them to the messages of machines.
    pub updates: Arc<[Update]>,
    /// When it may be sent.
    pub timing: Option<Arc<Timing>>,
}

impl MessageSpec {
    /// A message without updates and times.
    #[must_use]
    pub fn new(label: Label, fields: Arc<[Field]>, assertion: Option<Arc<Expr>>) -> Self {
        Self { label, fields, assertion, updates: Arc::default(), timing: None }
    }
}

/// A recursion variable gets a value, over the payload just passed and what was bound before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    /// The variable.
    pub variable: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Its new value.
    pub value: Arc<Expr>,
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} := {}", written_name(&self.variable), self.value)
    }
}

type Set<T> = IndexSet<T, FxBuildHasher>;

/// The tables behind [`Role`], [`Label`] and [`Message`].
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    roles: Set<Arc<str>>,
    labels: Set<Arc<str>>,
    messages: Vec<MessageSpec>,
    /// For each message, the first message with the same label, types, assertion, updates and times (field names apart).
    signatures: Vec<Message>,
    /// For each message, the same without its assertion.
    bare: Vec<Message>,
    /// For each message, the same without assertion, updates and times: what travels.
    plain: Vec<Message>,
    /// For each message with times, the same without.
    untimed: FxHashMap<Message, Message>,
    /// What each role's recursion data are before the first message.
    initial: FxHashMap<Role, Arc<[Update]>>,
    /// For each label that a message has, which one.
    by_label: Vec<Option<OfLabel>>,
    /// The messages with a label that is not theirs alone, by the hash of their label, types and assertion.
    /// Most labels have one message: these are found by their label and need no entry.
    by_signature: FxHashMap<u64, SmallVec<[Message; 1]>>,
    /// The same by the hash of everything, field names too.
    by_spec: FxHashMap<u64, SmallVec<[Message; 1]>>,
}

/// The messages with one label.
#[derive(Clone, Copy, Debug)]
struct OfLabel {
    first: Message,
    /// Whether there is no other.
    alone: bool,
}

impl Vocabulary {
    /// An empty vocabulary.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The role called `name`, added if it is new.
    ///
    /// # Panics
    /// Never in practice: a protocol has at most 65,535 roles, which the parsers enforce.
    pub fn add_role(&mut self, name: &str) -> Role {
        let index = match self.roles.get_index_of(name) {
            Some(index) => index,
            None => self.roles.insert_full(name.into()).0,
        };
        Role(u16::try_from(index).unwrap_or(u16::MAX))
    }

    /// The label called `name`, added if it is new.
    pub fn add_label(&mut self, name: &str) -> Label {
        let known = self.find_label(name);
        known.unwrap_or_else(|| Label(narrow(self.labels.insert_full(name.into()).0)))
    }

    /// The label called `name`, added if it is new: then the text is shared.
    pub fn add_shared_label(&mut self, name: &Arc<str>) -> Label {
        Label(narrow(self.labels.insert_full(Arc::clone(name)).0))
    }

    /// The message `spec`, added if it is new, and the same without its assertion, without its times, and without
    /// its updates.
    pub fn add_message(&mut self, spec: MessageSpec) -> Message {
        let bare = spec.assertion.is_some().then(|| MessageSpec { assertion: None, ..spec.clone() });
        let untimed = spec.timing.is_some().then(|| MessageSpec { timing: None, ..spec.clone() });
        let plain = || MessageSpec::new(spec.label, Arc::clone(&spec.fields), None);
        let plain = (!spec.updates.is_empty() || untimed.is_some()).then(plain);
        let (message, new) = self.insert(spec);
        if new {
            // At most three levels deep: each has less than the one before.
            if let Some(untimed) = untimed {
                let untimed = self.add_message(untimed);
                self.untimed.insert(message, untimed);
            }
            let bare = bare.map_or(message, |bare| self.add_message(bare));
            self.bare[message.index()] = bare;
            self.plain[message.index()] = plain.map_or(bare, |plain| self.add_message(plain));
        }
        message
    }

    fn insert(&mut self, mut spec: MessageSpec) -> (Message, bool) {
        if spec.fields.is_empty() {
            // All share the one empty payload.
            spec.fields = Arc::default();
        }
        let message = Message(narrow(self.messages.len()));
        let label = spec.label.index();
        if self.by_label.len() <= label {
            self.by_label.resize(label + 1, None);
        }
        let Some(known) = self.by_label[label] else {
            self.by_label[label] = Some(OfLabel { first: message, alone: true });
            self.push(spec, message);
            return (message, true);
        };
        if self.messages[known.first.index()] == spec {
            return (known.first, false);
        }
        if known.alone {
            self.by_label[label] = Some(OfLabel { alone: false, ..known });
            self.index(known.first);
        }
        if let Some(known) = self.find_among_several(&spec) {
            return (known, false);
        }
        let alike = self.by_signature.get(&signature_hash(&spec)).into_iter().flatten();
        let same = alike.copied().find(|known| same_signature(&self.messages[known.index()], &spec));
        self.push(spec, same.unwrap_or(message));
        self.index(message);
        (message, true)
    }

    fn push(&mut self, spec: MessageSpec, signature: Message) {
        let message = Message(narrow(self.messages.len()));
        self.bare.push(message);
        self.plain.push(message);
        self.messages.push(spec);
        self.signatures.push(signature);
    }

    /// The message `spec`, whose label is not its alone.
    fn find_among_several(&self, spec: &MessageSpec) -> Option<Message> {
        let alike = self.by_spec.get(&hash_of(spec)).into_iter().flatten();
        alike.copied().find(|known| self.messages[known.index()] == *spec)
    }

    /// Enters `message` into the tables for labels with several messages.
    fn index(&mut self, message: Message) {
        let spec = &self.messages[message.index()];
        self.by_spec.entry(hash_of(spec)).or_default().push(message);
        if self.signatures[message.index()] == message {
            self.by_signature.entry(signature_hash(spec)).or_default().push(message);
        }
    }

    /// A message with this label and no payload, added if it is new.
    pub fn add_plain_message(&mut self, label: &str) -> Message {
        let label = self.add_label(label);
        self.add_message(MessageSpec::new(label, Arc::default(), None))
    }

    /// The role called `name`, if there is one.
    #[must_use]
    pub fn find_role(&self, name: &str) -> Option<Role> {
        self.roles.get_index_of(name).and_then(|index| u16::try_from(index).ok()).map(Role)
    }

    /// The label called `name`, if there is one.
    #[must_use]
    pub fn find_label(&self, name: &str) -> Option<Label> {
        self.labels.get_index_of(name).map(|index| Label(narrow(index)))
    }

    /// All roles, in order of declaration.
    pub fn roles(&self) -> impl DoubleEndedIterator<Item = Role> + ExactSizeIterator + use<> {
        (0..self.roles.len()).map(|index| Role(u16::try_from(index).unwrap_or(u16::MAX)))
    }

    /// All messages, in order of first use.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Message> + use<> {
        (0..self.messages.len()).map(|index| Message(narrow(index)))
    }

    /// The name of `role`.
    #[must_use]
    pub fn role_name(&self, role: Role) -> &str {
        &self.roles[role.index()]
    }

    /// The text of `label`.
    #[must_use]
    pub fn label_name(&self, label: Label) -> &str {
        &self.labels[label.index()]
    }

    /// What `message` stands for.
    #[must_use]
    pub fn spec(&self, message: Message) -> &MessageSpec {
        &self.messages[message.index()]
    }

    /// The label of `message`.
    #[must_use]
    pub fn label(&self, message: Message) -> Label {
        self.spec(message).label
    }

    /// The text of `message`'s label.
    #[must_use]
    pub fn label_of(&self, message: Message) -> &str {
        self.label_name(self.label(message))
    }

    /// The label of `message` for people: `()` where it has none.
    #[must_use]
    pub fn shown_label(&self, message: Message) -> &str {
        match self.label_of(message) {
            "" => "()",
            label => label,
        }
    }

    /// Whether two messages agree in label, payload types, assertion, updates and times: field names do not count.
    #[must_use]
    pub fn same_signature(&self, left: Message, right: Message) -> bool {
        self.signature(left) == self.signature(right)
    }

    /// The representative of all messages with `message`'s label, payload types, assertion, updates and times.
    #[must_use]
    pub fn signature(&self, message: Message) -> Message {
        self.signatures[message.index()]
    }

    /// The representative of all messages with `message`'s label and payload types: what travels in a channel,
    /// whatever either side's monitor checks about it.
    #[must_use]
    pub fn wire_signature(&self, message: Message) -> Message {
        self.signature(self.plain[message.index()])
    }

    /// `message` with `updates`, if that was added before.
    pub(crate) fn with_updates(&self, message: Message, updates: &Arc<[Update]>) -> Option<Message> {
        if updates.is_empty() {
            return Some(message);
        }
        self.find_among_several(&MessageSpec { updates: Arc::clone(updates), ..self.spec(message).clone() })
    }

    /// What the recursion data that `role` knows are before the first message.
    #[must_use]
    pub fn initial_values(&self, role: Role) -> &[Update] {
        self.initial.get(&role).map_or(&[], |values| values)
    }

    pub(crate) fn set_initial_values(&mut self, role: Role, values: Arc<[Update]>) {
        self.initial.insert(role, values);
    }

    /// `message` without its assertion.
    #[must_use]
    pub(crate) fn without_assertion(&self, message: Message) -> Message {
        self.bare[message.index()]
    }

    /// `message` without its times.
    #[must_use]
    pub fn without_times(&self, message: Message) -> Message {
        self.untimed.get(&message).copied().unwrap_or(message)
    }

    /// Whether a message has times.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        !self.untimed.is_empty()
    }

    /// The representative of all messages with `message`'s label, for where only the label counts.
    #[must_use]
    pub(crate) fn first_with_label(&self, message: Message) -> Message {
        self.by_label[self.label(message).index()].map_or(message, |known| known.first)
    }

    /// `message` as users write it: `Auth(uname: string, pwd: string)`.
    pub fn display(&self, message: Message) -> impl fmt::Display + '_ {
        DisplayMessage { vocabulary: self, message }
    }
}

/// Whether two messages agree in all but the names of their fields.
fn same_signature(left: &MessageSpec, right: &MessageSpec) -> bool {
    left.label == right.label
        && left.assertion == right.assertion
        && left.updates == right.updates
        && left.timing == right.timing
        && left.fields.len() == right.fields.len()
        && left.fields.iter().zip(&*right.fields).all(|(a, b)| a.ty == b.ty)
}

fn hash_of(spec: &MessageSpec) -> u64 {
    let mut hasher = FxHasher::default();
    spec.hash(&mut hasher);
    hasher.finish()
}

/// A hash of what messages must agree in to have the same signature.
fn signature_hash(spec: &MessageSpec) -> u64 {
    let mut hasher = FxHasher::default();
    spec.label.hash(&mut hasher);
    spec.fields.iter().for_each(|field| field.ty.hash(&mut hasher));
    spec.assertion.hash(&mut hasher);
    spec.updates.hash(&mut hasher);
    spec.timing.hash(&mut hasher);
    hasher.finish()
}

/// Tables hold fewer than 2³² entries: source text is limited to 4 GiB.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

struct DisplayMessage<'a> {
    vocabulary: &'a Vocabulary,
    message: Message,
}

impl fmt::Display for DisplayMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = self.vocabulary.spec(self.message);
        write!(f, "{}(", self.vocabulary.label_name(spec.label))?;
        for (i, field) in spec.fields.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            match &field.name {
                Some(name) => write!(f, "{name}: {}", field.ty)?,
                None => write!(f, "{}", field.ty)?,
            }
        }
        f.write_str(")")
    }
}
