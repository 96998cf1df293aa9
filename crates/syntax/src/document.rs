//! What a text turns out to be: the common result of all languages.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use indexmap::IndexSet;
use referee_theory::assertion::Assertions;
use referee_theory::session::SessionType;
use referee_theory::{Global, GlobalType, Origin, Role, System, Type, Vocabulary};
use rustc_hash::FxHashMap;

use crate::diagnostics::Diagnostic;
use crate::hml::PropertyFile;
use crate::language::Language;
use crate::source::{Origins, Span};

/// A text that was read: what it says as far as it could be understood, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Document {
    /// What it is written in.
    pub language: Language,
    /// What it says. With errors among the diagnostics this may be incomplete: see [`Document::is_usable`].
    pub content: Content,
    /// Everything there is to say about it, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// Where the origins in `content` are.
    pub origins: Origins,
}

/// What a document describes.
#[derive(Clone, Debug)]
pub enum Content {
    /// Global protocols, in the order of the text.
    Global(Vec<GlobalProtocol>),
    /// One side of a two-party session.
    Binary(BinaryProtocol),
    /// One machine per role.
    System(LocalSystem),
    /// Properties of events.
    Properties(PropertyFile),
}

/// A global protocol.
#[derive(Clone, Debug)]
pub struct GlobalProtocol {
    /// Its name; `.gt` files do not name theirs.
    pub name: Option<Arc<str>>,
    /// Whether it is only a part of others (`aux`), not to be checked on its own.
    pub auxiliary: bool,
    /// Which projections its language demands.
    pub demands: Demands,
    /// The protocol; `None` when errors prevented it.
    pub global: Option<Arc<GlobalType>>,
    /// The names it uses, also when `global` is `None`.
    pub vocabulary: Arc<Vocabulary>,
    /// Predicates that monitors must be given.
    pub externals: Vec<External>,
    /// Who enforces its assertions.
    pub enforcement: Vec<EnforcedAssertion>,
    /// Its header in the text.
    pub span: Span,
}

impl GlobalProtocol {
    /// Whether it runs once for each value of a key, beside a protocol that opens it.
    #[must_use]
    pub fn is_keyed(&self) -> bool {
        self.global.as_ref().is_some_and(|global| global.keyed().is_some())
    }
}

/// Which projections a protocol must have to be well formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demands {
    /// Onto every role, or onto every pair of roles: components or monitors can follow it.
    Either,
    /// Onto every role: nuScr's protocols with nested sessions.
    Local,
    /// Onto every pair of roles: RelaMon's global types (paper's Definition 7).
    Relative,
}

/// An assertion and the roles whose monitors enforce it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EnforcedAssertion {
    /// The label of its message.
    pub label: Arc<str>,
    /// The assertion, in the native syntax.
    pub assertion: String,
    /// The sender, the receiver, or both.
    pub roles: Vec<Role>,
}

impl EnforcedAssertion {
    /// All assertions of `global` that can be enforced, in the order of the protocol, each once.
    pub(crate) fn all(global: &GlobalType, assertions: &Assertions) -> Vec<Self> {
        let mut all: IndexSet<Self> = IndexSet::new();
        for enforcement in &assertions.enforcement {
            let (node, index) = enforcement.branch;
            let Global::Exchange(exchange) = global.node(node) else { continue };
            let branch = &exchange.branches[index];
            let spec = global.vocabulary().spec(branch.message);
            let Some(assertion) = &spec.assertion else { continue };
            let roles = [(exchange.sender, enforcement.sender), (branch.receiver, enforcement.receiver)];
            let enforced = Self {
                label: global.vocabulary().label_name(spec.label).into(),
                assertion: assertion.to_string(),
                roles: roles.into_iter().filter(|(_, enforces)| *enforces).map(|(role, _)| role).collect(),
            };
            all.insert(enforced);
        }
        all.into_iter().collect()
    }
}

/// A predicate that is used in assertions but defined elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// `validTok`, `util.validTok`.
    pub name: Arc<str>,
    /// What it takes.
    pub parameters: Vec<Type>,
    /// What it gives: `bool` for predicates.
    pub result: Type,
    /// Where it is declared, or used first.
    pub span: Span,
}

/// A binary session type: the view of the monitored process, `process`, on its session with `environment`.
#[derive(Clone, Debug)]
pub struct BinaryProtocol {
    /// Its name.
    pub name: Arc<str>,
    /// The session; `None` when errors prevented it.
    pub session: Option<SessionType>,
    /// The names it uses.
    pub vocabulary: Arc<Vocabulary>,
    /// The role whose view it is.
    pub process: Role,
    /// The other side.
    pub environment: Role,
    /// Predicates that monitors must be given.
    pub externals: Vec<External>,
}

/// Local behaviour, one machine per role.
#[derive(Clone, Debug)]
pub struct LocalSystem {
    /// The machines; `None` when errors prevented them.
    pub system: Option<System>,
    /// The terms behind the machines, where the language has terms.
    pub sessions: Vec<SessionType>,
    /// The names it uses.
    pub vocabulary: Arc<Vocabulary>,
}

impl Document {
    /// Whether there are no errors, so that all of `content` can be relied on.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Where `origin` is in the text.
    #[must_use]
    pub fn span(&self, origin: Origin) -> Span {
        self.origins.span(origin)
    }

    /// `global`, `binary`, `system` or `property`: the `kind` of the JSON output.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.content {
            Content::Global(_) => "global",
            Content::Binary(_) => "binary",
            Content::System(_) => "system",
            Content::Properties(_) => "property",
        }
    }
}

/// Names that mean nothing are one mistake each, however often they are used: the first place is reported, some of the
/// others are pointed at.
pub(crate) fn once_each(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    const MOST_POINTED_AT: usize = 3;
    let mut first: FxHashMap<(&'static str, String), usize> = FxHashMap::default();
    let mut kept: Vec<Diagnostic> = Vec::new();
    for diagnostic in diagnostics {
        let about_a_name =
            matches!(diagnostic.code.id, "RF0101" | "RF0103" | "RF0105" | "RF0302" | "RF0303" | "RF0502");
        if !about_a_name {
            kept.push(diagnostic);
            continue;
        }
        match first.entry((diagnostic.code.id, diagnostic.message.clone())) {
            Entry::Vacant(entry) => {
                entry.insert(kept.len());
                kept.push(diagnostic);
            }
            Entry::Occupied(entry) => {
                let related = &mut kept[*entry.get()].related;
                if related.len() < MOST_POINTED_AT {
                    related.push((diagnostic.span, String::from("and here")));
                }
            }
        }
    }
    kept
}

/// Sorts diagnostics by place and drops exact repetitions.
pub(crate) fn in_order(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.code.id));
    diagnostics.dedup_by(|a, b| a.span == b.span && a.code.id == b.code.id && a.message == b.message);
    diagnostics
}
