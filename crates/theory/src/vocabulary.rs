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

use crate::expr::Expr;
use crate::payload::Type;

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

/// A message (label, payload, assertion): an index into its [`Vocabulary`]. Equal messages have equal indices.
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
}

type Set<T> = IndexSet<T, FxBuildHasher>;

/// The tables behind [`Role`], [`Label`] and [`Message`].
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    roles: Set<Arc<str>>,
    labels: Set<Arc<str>>,
    messages: Set<MessageSpec>,
    /// For each message, the first message with the same label, types and assertion (field names apart).
    signatures: Vec<Message>,
    /// For each message, the same without its assertion.
    bare: Vec<Message>,
    /// The payload of all messages without one.
    no_fields: Arc<[Field]>,
    /// For each label, the first message with it.
    first_by_label: Vec<Option<Message>>,
    /// Representatives by the hash of their signature: cheaper to grow and to drop than owned keys.
    by_signature: FxHashMap<u64, SmallVec<[Message; 1]>>,
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
        let index = match self.labels.get_index_of(name) {
            Some(index) => index,
            None => self.labels.insert_full(name.into()).0,
        };
        Label(narrow(index))
    }

    /// The message `spec`, added if it is new, and the same without its assertion.
    pub fn add_message(&mut self, spec: MessageSpec) -> Message {
        let bare = spec.assertion.is_some().then(|| MessageSpec { assertion: None, ..spec.clone() });
        let (message, new) = self.insert(spec);
        if new {
            let bare = bare.map_or(message, |bare| self.insert_bare(bare));
            self.bare[message.index()] = bare;
        }
        message
    }

    fn insert_bare(&mut self, spec: MessageSpec) -> Message {
        let (message, new) = self.insert(spec);
        if new {
            self.bare[message.index()] = message;
        }
        message
    }

    fn insert(&mut self, mut spec: MessageSpec) -> (Message, bool) {
        if spec.fields.is_empty() {
            spec.fields = Arc::clone(&self.no_fields);
        }
        let (index, new) = self.messages.insert_full(spec);
        let message = Message(narrow(index));
        if new {
            let spec = &self.messages[index];
            if self.first_by_label.len() <= spec.label.index() {
                self.first_by_label.resize(spec.label.index() + 1, None);
            }
            self.first_by_label[spec.label.index()].get_or_insert(message);
            let alike = self.by_signature.entry(signature_hash(spec)).or_default();
            let same = alike.iter().copied().find(|&known| {
                let known = &self.messages[known.index()];
                known.label == spec.label
                    && known.assertion == spec.assertion
                    && known.fields.len() == spec.fields.len()
                    && known.fields.iter().zip(&*spec.fields).all(|(a, b)| a.ty == b.ty)
            });
            if same.is_none() {
                alike.push(message);
            }
            self.signatures.push(same.unwrap_or(message));
            self.bare.push(message);
        }
        (message, new)
    }

    /// A message with this label and no payload, added if it is new.
    pub fn add_plain_message(&mut self, label: &str) -> Message {
        let label = self.add_label(label);
        self.add_message(MessageSpec { label, fields: Arc::new([]), assertion: None })
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

    /// How many labels there are.
    #[must_use]
    pub fn label_count(&self) -> usize {
        self.labels.len()
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

    /// Whether two messages agree in label, payload types and assertion: field names do not count.
    #[must_use]
    pub fn same_signature(&self, left: Message, right: Message) -> bool {
        self.signature(left) == self.signature(right)
    }

    /// The representative of all messages with `message`'s label, payload types and assertion.
    #[must_use]
    pub fn signature(&self, message: Message) -> Message {
        self.signatures[message.index()]
    }

    /// The representative of all messages with `message`'s label and payload types: what travels in a channel,
    /// whatever either side's monitor checks about it.
    #[must_use]
    pub fn wire_signature(&self, message: Message) -> Message {
        self.signature(self.without_assertion(message))
    }

    /// `message` without its assertion.
    #[must_use]
    pub fn without_assertion(&self, message: Message) -> Message {
        self.bare[message.index()]
    }

    /// The representative of all messages with `message`'s label, for where only the label counts.
    #[must_use]
    pub fn first_with_label(&self, message: Message) -> Message {
        self.first_by_label[self.label(message).index()].unwrap_or(message)
    }

    /// `message` as users write it: `Auth(uname: string, pwd: string)`.
    pub fn display(&self, message: Message) -> impl fmt::Display + '_ {
        DisplayMessage { vocabulary: self, message }
    }
}

/// A hash of what messages must agree in to have the same signature.
fn signature_hash(spec: &MessageSpec) -> u64 {
    let mut hasher = FxHasher::default();
    spec.label.hash(&mut hasher);
    spec.fields.iter().for_each(|field| field.ty.hash(&mut hasher));
    spec.assertion.hash(&mut hasher);
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
