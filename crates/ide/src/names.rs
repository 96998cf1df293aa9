//! Which names a text has, where each is declared, and where it is used.
//!
//! An [`Index`] is made of one text alone, in one pass, whether or not it can be understood as a whole: it is what every
//! keystroke recomputes. `.scr` texts are read by their parser; the small languages by their lexemes.
//! What a name of another file means is found by [`crate::Workspace`].

mod fsm;
mod gt;
mod hml;
mod kmc;
mod scr;
mod st;
mod words;

use std::sync::Arc;

use referee_syntax::{Language, Span};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NameKind {
    /// A module: `module a.b;`, `import a.b;`.
    Module,
    /// A protocol or a session type.
    Protocol,
    /// A role.
    Role,
    /// A message label.
    Label,
    /// A payload type.
    Type,
    /// A message signature: `sig … as S`.
    Signature,
    /// A recursion variable.
    Recursion,
    /// A payload field, a variable of an assertion, recursion data.
    Field,
    /// An external predicate.
    Function,
    /// A property.
    Property,
    /// A state of an automaton.
    State,
}

impl NameKind {
    /// In messages: "a role".
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Protocol => "protocol",
            Self::Role => "role",
            Self::Label => "message label",
            Self::Type => "type",
            Self::Signature => "message signature",
            Self::Recursion => "recursion variable",
            Self::Field => "field",
            Self::Function => "external predicate",
            Self::Property => "property",
            Self::State => "state",
        }
    }
}

/// The part of a file in which a name has its meaning: a number of the file's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeId(pub u32);

impl ScopeId {
    /// The whole file: what other files may name.
    pub const FILE: Self = Self(0);
    /// Nowhere: the name has no declaration in this file.
    pub const NONE: Self = Self(u32::MAX);
}

/// A name at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// What it stands for.
    pub kind: NameKind,
    /// The name; of a dotted one, the last part.
    pub name: Arc<str>,
    /// The place of [`Occurrence::name`].
    pub span: Span,
    /// Where it has its meaning.
    pub scope: ScopeId,
    /// The module it belongs to, if that is not this file's.
    pub module: Option<Arc<str>>,
    /// Whether this is its declaration.
    pub declares: bool,
}

/// A declaration with what is declared inside, for outlines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: Arc<str>,
    /// What it is.
    pub kind: NameKind,
    /// A few words: the roles of a protocol.
    pub detail: String,
    /// All of it.
    pub span: Span,
    /// Its name.
    pub selection: Span,
    /// What is inside.
    pub children: Vec<Self>,
}

/// `do P(…)` or `calls P(…)`: labels and fields of both protocols belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The scope of the protocol that has the statement.
    pub from: ScopeId,
    /// The module of the other, if that is not this file's.
    pub module: Option<Arc<str>>,
    /// The other protocol.
    pub name: Arc<str>,
}

/// A protocol of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolScope {
    /// The protocol.
    pub name: Arc<str>,
    /// The scope of its roles, labels and fields.
    pub scope: ScopeId,
    /// Its header.
    pub header: Span,
    /// All of it.
    pub span: Span,
}

/// A recursion variable and the statements that may continue with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecursionScope {
    /// The variable.
    pub name: Arc<str>,
    /// Its body.
    pub body: Span,
}

/// The names of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// All of them, ascending.
    pub occurrences: Vec<Occurrence>,
    /// What the file calls itself.
    pub module: Option<Arc<str>>,
    /// What it imports: the module and its alias.
    pub imports: Vec<(Arc<str>, Option<Arc<str>>)>,
    /// Its protocols, outer ones before those inside.
    pub protocols: Vec<ProtocolScope>,
    /// Which protocols do which.
    pub links: Vec<Link>,
    /// Its recursions, where `continue` can be completed.
    pub recursions: Vec<RecursionScope>,
    /// Its outline.
    pub symbols: Vec<Symbol>,
}

impl Index {
    /// The names of `text`.
    #[must_use]
    pub fn of(text: &str, language: Language) -> Self {
        let mut index = match language {
            Language::Scr => scr::index(text),
            Language::St => st::index(text),
            Language::Gt => gt::index(text),
            Language::Kmc => kmc::index(text),
            Language::Fsm => fsm::index(text),
            Language::Hml => hml::index(text),
            Language::GtJson => Self::default(),
        };
        index.occurrences.sort_by_key(|occurrence| (occurrence.span, !occurrence.declares));
        index.occurrences.dedup_by_key(|occurrence| occurrence.span);
        index
    }

    /// The name at byte `offset`, its end included.
    #[must_use]
    pub fn at(&self, offset: u32) -> Option<&Occurrence> {
        let after = self.occurrences.partition_point(|occurrence| occurrence.span.start <= offset);
        let before = self.occurrences.get(after.checked_sub(1)?)?;
        (offset <= before.span.end).then_some(before)
    }

    /// The innermost protocol around byte `offset`.
    #[must_use]
    pub fn protocol_at(&self, offset: u32) -> Option<&ProtocolScope> {
        let around = |protocol: &&ProtocolScope| protocol.span.start <= offset && offset <= protocol.span.end;
        self.protocols.iter().rfind(around)
    }

    /// The declarations of `kind` in `scope`, each name once, in the order of the text.
    pub fn declared(&self, kind: NameKind, scope: ScopeId) -> impl Iterator<Item = &Occurrence> {
        let is_wanted =
            move |found: &&Occurrence| found.kind == kind && found.scope == scope && found.declares;
        self.occurrences.iter().filter(is_wanted)
    }

    fn add(&mut self, kind: NameKind, name: Arc<str>, span: Span, scope: ScopeId, declares: bool) {
        self.occurrences.push(Occurrence { kind, name, span, scope, module: None, declares });
    }
}
