//! What a `.scr` text says, before any name has a meaning.
//!
//! Statements live in one arena and refer to one another by number, so that protocols may be nested
//! arbitrarily deep without recursion anywhere, dropping included.

use std::sync::Arc;

use referee_theory::expr::Expr;
use smallvec::SmallVec;

use crate::source::Span;

/// A name and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: Arc<str>,
    /// Its place.
    pub span: Span,
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `(*# NestedProtocols #*)`.
    pub pragmas: Vec<Pragma>,
    /// `module a.b;`.
    pub name: Option<Name>,
    /// `import a.b;`.
    pub imports: Vec<Import>,
    /// Type declarations.
    pub types: Vec<TypeDeclaration>,
    /// Message signatures: `sig <…> "…" from "…" as S;`.
    pub signatures: Vec<SignatureDeclaration>,
    /// `external fn f(string) -> bool;`.
    pub externals: Vec<ExternalDeclaration>,
    /// The top-level protocols, in the order of the text.
    pub protocols: Vec<Protocol>,
    /// The statements of all protocols.
    pub statements: Vec<Statement>,
    /// What stands at the top level, in the order of the text, for the formatter.
    pub items: Vec<Item>,
    /// `A as B`, in the order of the text, for the formatter.
    pub renamings: Vec<Renaming>,
    /// Comments, in the order of the text, for the formatter.
    pub comments: Vec<Span>,
}

/// `import a.b as c;`.
#[derive(Clone, Debug)]
pub struct Import {
    /// The module.
    pub name: Name,
    /// What it is called here.
    pub alias: Option<Name>,
}

/// Something at the top level of a file.
#[derive(Clone, Debug)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// Its place, from its first keyword to its semicolon or closing brace.
    pub span: Span,
}

/// What can stand at the top level; numbers are indices into the tables of [`Module`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// `(*# … #*)` with so many entries of [`Module::pragmas`], from the first number on.
    Pragmas(usize, usize),
    /// [`Module::name`].
    Name,
    /// One of [`Module::imports`].
    Import(usize),
    /// One of [`Module::types`].
    Type(usize),
    /// One of [`Module::signatures`].
    Signature(usize),
    /// One of [`Module::externals`].
    External(usize),
    /// One of [`Module::protocols`].
    Protocol(usize),
}

/// Scribble's `A as B`, of roles, parameters, arguments and imports. The name that counts stands where the
/// renaming does; the other one is only remembered here.
#[derive(Clone, Debug)]
pub struct Renaming {
    /// The name before `as`.
    pub outside: Name,
    /// The name after it.
    pub inside: Name,
}

/// An expression and the text it was read from.
#[derive(Clone, Debug)]
pub struct Written {
    /// What it says.
    pub expr: Arc<Expr>,
    /// The text, possibly with blanks and comments around it.
    pub span: Span,
}

/// One entry of a pragma.
#[derive(Clone, Debug)]
pub struct Pragma {
    /// Its key.
    pub key: Name,
    /// Its value.
    pub value: Option<Name>,
}

/// `type T = …;` or Scribble's `data <schema> "name" from "file" as T;`.
#[derive(Clone, Debug)]
pub struct TypeDeclaration {
    /// `type` or `data`.
    pub keyword: &'static str,
    /// The name it introduces.
    pub name: Name,
    /// What it stands for; `None` for a type that is defined elsewhere, hence opaque.
    pub definition: Option<TypeSyntax>,
    /// The schema and the places a Scribble declaration names, as written.
    pub foreign: Option<[Name; 3]>,
    /// The whole declaration.
    pub span: Span,
}

/// Scribble's `sig <schema> "name" from "file" as S;`.
#[derive(Clone, Debug)]
pub struct SignatureDeclaration {
    /// The name it introduces.
    pub name: Name,
    /// The schema and the places it names, as written.
    pub foreign: [Name; 3],
}

/// `external fn f(string, int) -> bool;`.
#[derive(Clone, Debug)]
pub struct ExternalDeclaration {
    /// Its name, dotted names joined.
    pub name: Name,
    /// What it takes.
    pub parameters: Vec<TypeSyntax>,
    /// What it gives.
    pub result: TypeSyntax,
    /// The whole declaration.
    pub span: Span,
}

/// A payload type as written.
#[derive(Clone, Debug)]
pub enum TypeSyntax {
    /// `int`, `Token`, `java.lang.String`.
    Named(Name),
    /// `list<T>` or `array[T]`.
    List(Box<TypeSyntax>, Span),
    /// `(T, U)`.
    Tuple(Vec<TypeSyntax>, Span),
    /// `{a: T, b: U}`.
    Record(Vec<(Name, TypeSyntax)>, Span),
    /// `P@R`: the rest of a session is handed over.
    Delegation(Name, Name),
}

impl TypeSyntax {
    /// The place of the whole type.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Named(name) => name.span,
            Self::List(_, span) | Self::Tuple(_, span) | Self::Record(_, span) => *span,
            Self::Delegation(protocol, role) => protocol.span.to(role.span),
        }
    }
}

/// How a protocol is meant to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolKind {
    /// On its own: `protocol`, `global protocol`.
    Global,
    /// Only as a part of others: `aux`.
    Auxiliary,
    /// By invitation: `nested protocol`.
    Nested,
}

/// A role with several copies: its number among the roles, and what the number of copies is called.
pub type Copied = (usize, Name);

/// A protocol declaration.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// How it is meant to be used.
    pub kind: ProtocolKind,
    /// Whether `global` is written: it may be left out.
    pub global: bool,
    /// Scribble's `explicit`: connections are made and closed by statements.
    pub explicit: bool,
    /// Its name.
    pub name: Name,
    /// `<type T, sig S>`.
    pub parameters: Vec<ProtocolParameter>,
    /// Its roles.
    pub roles: Vec<Name>,
    /// Those of [`Protocol::roles`] that are declared as `role W[n]`.
    pub copied: Vec<Copied>,
    /// The roles that a call brings in: `; new role E`.
    pub new_roles: Vec<Name>,
    /// nuScr's `@"…"` behind the roles, which means nothing.
    pub annotation: Option<Name>,
    /// `per id: string`, and `interrupted by …` behind the body.
    pub keyed: Option<Box<KeySyntax>>,
    /// Protocols declared inside.
    pub nested: Vec<Protocol>,
    /// What happens.
    pub body: Block,
    /// From the first keyword to the closing parenthesis of the roles.
    pub header: Span,
    /// The whole declaration.
    pub span: Span,
}

/// `per id: string { … } interrupted by M(…) from r`: the protocol runs once for each value of a key.
#[derive(Clone, Debug)]
pub struct KeySyntax {
    /// The field that is the key.
    pub field: Name,
    /// Its type.
    pub ty: TypeSyntax,
    /// From `per` to the type.
    pub span: Span,
    /// What interrupts a call.
    pub interrupt: Option<InterruptSyntax>,
}

/// `interrupted by M(…) from r`.
#[derive(Clone, Debug)]
pub struct InterruptSyntax {
    /// What is sent.
    pub message: MessageSyntax,
    /// Who sends it.
    pub from: Name,
    /// The whole.
    pub span: Span,
}

/// `type T` or `sig S` in a protocol's header.
#[derive(Clone, Debug)]
pub struct ProtocolParameter {
    /// Whether it stands for a message signature rather than a type.
    pub is_signature: bool,
    /// `sig`, `type` or `data`.
    pub keyword: &'static str,
    /// Its name.
    pub name: Name,
}

/// A number of a statement in [`Module::statements`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementId(pub u32);

impl StatementId {
    /// This statement as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Statements in sequence.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The statements.
    pub statements: Vec<StatementId>,
    /// With its braces.
    pub span: Span,
}

/// One statement and its place.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// nuScr's `@"…"` behind it: the text between the quotes, without blanks around it.
    pub annotation: Option<Name>,
    /// Its place: for a compound statement, its head.
    pub span: Span,
}

/// What a statement says.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `label(payload) from a to b, c where e;`.
    Message(Box<MessageStatement>),
    /// `choice at a { … } or { … }`.
    Choice {
        /// Who chooses.
        at: Name,
        /// The deadline of the first message of each branch.
        within: Option<Box<WithinSyntax>>,
        /// The alternatives.
        branches: Vec<Block>,
    },
    /// `par { … } and { … }`.
    Par {
        /// What runs side by side.
        blocks: Vec<Block>,
    },
    /// `rec X [t<B>: int = e] { … }`.
    Rec {
        /// The variable.
        name: Name,
        /// Its data.
        parameters: Vec<RecParameter>,
        /// The body.
        body: Block,
    },
    /// `continue X [e];`.
    Continue {
        /// The variable.
        name: Name,
        /// New values of its data.
        arguments: Vec<Written>,
    },
    /// `do P<T>(a, b);`.
    Do {
        /// The protocol.
        protocol: Name,
        /// Arguments for its parameters.
        arguments: Vec<MessageSyntax>,
        /// Who plays its roles.
        roles: Vec<Name>,
    },
    /// `a calls P(b, c);`.
    Calls {
        /// Who invites.
        caller: Name,
        /// The nested protocol.
        protocol: Name,
        /// Who plays its roles.
        roles: Vec<Name>,
    },
    /// `open P(a, b);`, `close P;`.
    SubSession {
        /// Whether it is opened.
        opens: bool,
        /// The protocol, which has a key.
        protocol: Name,
        /// Who plays its roles; nobody where all of its sub-sessions are closed.
        roles: Vec<Name>,
    },
    /// Scribble's `connect a to b;`, `disconnect a and b;`, `wrap a to b;`.
    Connection {
        /// `connect`, `disconnect` or `wrap`.
        keyword: &'static str,
        /// The first role.
        left: Name,
        /// The second role.
        right: Name,
    },
}

/// A message statement.
#[derive(Clone, Debug)]
pub struct MessageStatement {
    /// What is sent.
    pub message: MessageSyntax,
    /// Who sends.
    pub from: Name,
    /// Who receives, one after the other.
    pub to: SmallVec<[Name; 1]>,
    /// `after D within D of LABEL`.
    pub times: Option<Box<TimesSyntax>>,
    /// `where e`.
    pub condition: Option<Arc<Expr>>,
    /// What [`Statement::annotation`] says.
    pub annotation: Option<Arc<Expr>>,
    /// Whether the annotation is `@"may wait"`: the receiver may wait for it in vain.
    pub may_wait: bool,
    /// Whether it is written `m() connect a to b`.
    pub connects: bool,
}

/// When a message may be sent.
#[derive(Clone, Debug, Default)]
pub struct TimesSyntax {
    /// `after D`.
    pub after: Option<Written>,
    /// `within D`.
    pub within: Option<WithinSyntax>,
}

/// `within D`, `within D of LABEL`, `within D of any`.
#[derive(Clone, Debug)]
pub struct WithinSyntax {
    /// D.
    pub length: Written,
    /// LABEL or `any`.
    pub since: Option<SinceSyntax>,
    /// The whole.
    pub span: Span,
}

/// What a deadline counts from.
#[derive(Clone, Debug)]
pub enum SinceSyntax {
    /// The last message with this label.
    Label(Name),
    /// The last message that the sender sent.
    Any,
}

/// A label with or without a payload.
#[derive(Clone, Debug)]
pub struct MessageSyntax {
    /// The label; empty for Scribble's messages without an operator.
    pub label: Name,
    /// The payload; `None` when no parentheses are written.
    pub payload: Option<Vec<FieldSyntax>>,
}

/// One element of a payload.
#[derive(Clone, Debug)]
pub struct FieldSyntax {
    /// `x:`.
    pub name: Option<Name>,
    /// Its type.
    pub ty: TypeSyntax,
    /// `{x > 0}`.
    pub refinement: Option<Written>,
}

/// `t<B, C>: int = e`.
#[derive(Clone, Debug)]
pub struct RecParameter {
    /// The variable.
    pub name: Name,
    /// Who knows it.
    pub roles: Vec<Name>,
    /// nuScr's `(x: int{x >= 0})`: what the refinement calls the value.
    pub alias: Option<Name>,
    /// Its type.
    pub ty: TypeSyntax,
    /// What must hold of it whenever it gets a value.
    pub refinement: Option<Written>,
    /// Its value on entry.
    pub initial: Written,
}
