//! Everything Referee has to say about a text.
//!
//! The codes are a table at the end of this file. Each has a page in `diagnostics/explain`: what it means, an
//! example that triggers it and the same example put right. The modules beside it make the messages.
//!
//! A [`Diagnostic`] is data. Rendering belongs to whoever shows it: the command line, an editor, a page.

use crate::language::Language;
use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The input cannot be used.
    Error,
    /// The input can be used, but something deserves a look.
    Warning,
    /// For information.
    Note,
}

impl Severity {
    /// The name used in JSON output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A kind of diagnostic: what is stable about it.
#[derive(Debug)]
pub struct Code {
    /// `RF0103`.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// A few words, lower case.
    pub title: &'static str,
    /// Its page, as Markdown: `explain/CODE.md`.
    pub page: &'static str,
}

/// A text that triggers a diagnostic, and one that does not.
#[derive(Debug)]
pub struct Example {
    /// What the texts are written in.
    pub language: Language,
    /// Triggers the diagnostic.
    pub wrong: &'static str,
    /// The same, put right.
    pub right: &'static str,
}

/// What the fence in a part of a page encloses.
fn fenced(part: &'static str) -> &'static str {
    let inside = part.split_once("```").and_then(|(_, fence)| fence.split_once('\n'));
    inside.and_then(|(_, text)| text.split_once("```")).map_or("", |(text, _)| text)
}

/// Something to say about a place in the text.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Its kind.
    pub code: &'static Code,
    /// What is wrong, in the user's words.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to write beside the place itself.
    pub label: Option<String>,
    /// Other places that matter, each with what to write beside it.
    pub related: Vec<(Span, String)>,
    /// What to do.
    pub help: Option<String>,
    /// What to write instead.
    pub fix: Option<Box<Fix>>,
}

impl Code {
    /// What it means, why Referee insists, and what to do: Markdown.
    #[must_use]
    pub fn explanation(&self) -> &'static str {
        let text = self.page.split_once("\n\n").map_or(self.page, |(_, text)| text);
        text.split_once("\n## Wrong\n").map_or(text, |(text, _)| text).trim()
    }

    /// A text that triggers it, and the same text put right.
    ///
    /// INVARIANT: every page has both in fences with the name of their language; a test reads them all.
    #[must_use]
    pub fn example(&self) -> Example {
        let (wrong, right) = self.page.split_once("\n## Right\n").unwrap_or((self.page, ""));
        let language = wrong.split_once("```").and_then(|(_, fence)| fence.split_once('\n'));
        let language = language.and_then(|(name, _)| Language::from_name(name)).unwrap_or(Language::Scr);
        Example { language, wrong: fenced(wrong), right: fenced(right) }
    }

    /// A diagnostic of this kind.
    #[must_use]
    pub fn at(&'static self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code: self,
            message: message.into(),
            span,
            label: None,
            related: Vec::new(),
            help: None,
            fix: None,
        }
    }
}

/// A label in backticks. Scribble's messages may have none.
#[must_use]
pub fn quoted(label: &str) -> String {
    if label.is_empty() { "a message without a label".to_owned() } else { format!("`{label}`") }
}

impl Diagnostic {
    /// Says something beside the place itself.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = Some(text.into());
        self
    }

    /// Points to another place.
    #[must_use]
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push((span, text.into()));
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// "did you mean …?", where a candidate is close enough to `wrong`.
    #[must_use]
    pub fn suggest<'a>(self, wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        match suggest::closest(wrong, candidates) {
            Some(candidate) => self.help(format!("did you mean `{candidate}`?")),
            None => self,
        }
    }

    /// Moves it behind `bytes` of other texts.
    pub(crate) fn shift(&mut self, bytes: u32) {
        let spans = self.related.iter_mut().map(|(span, _)| span).chain([&mut self.span]);
        let edits = self.fix.iter_mut().flat_map(|fix| &mut fix.edits).map(|edit| &mut edit.span);
        for span in spans.chain(edits) {
            *span = Span { start: span.start + bytes, end: span.end + bytes };
        }
    }

    /// Whether the input cannot be used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.code.severity == Severity::Error
    }
}

pub mod assertions;
pub mod blocks;
pub mod calls;
pub(crate) mod fix;
pub mod global_types;
pub mod lexical;
pub mod names;
pub mod projection;
pub mod properties;
pub mod rules;
pub mod session_types;
pub mod structure;
pub mod suggest;
pub mod systems;
pub mod times;

pub use fix::{Edit, Fix};

/// Declares the codes: severity, code, title. What `referee explain` says of each is `explain/CODE.md`.
macro_rules! codes {
    ($($severity:ident $id:ident $title:literal)*) => {
        $(
            #[doc = concat!("`", stringify!($id), "`: ", $title, ".")]
            pub static $id: Code = Code {
                id: stringify!($id),
                severity: Severity::$severity,
                title: $title,
                page: include_str!(concat!("diagnostics/explain/", stringify!($id), ".md")),
            };
        )*
        /// Every code there is, in ascending order.
        pub static ALL: &[&Code] = &[$(&$id),*];
    };
}

codes! {
    Error RF0001 "unexpected character"
    Error RF0002 "unterminated comment"
    Error RF0003 "unterminated string"
    Error RF0004 "unexpected token"
    Error RF0005 "nested too deep"
    Error RF0006 "nothing declared"
    Error RF0101 "unknown protocol"
    Error RF0102 "duplicate protocol"
    Error RF0103 "unknown role"
    Error RF0104 "duplicate role"
    Error RF0105 "unknown recursion variable"
    Warning RF0106 "unknown type"
    Error RF0107 "wrong number of arguments"
    Error RF0108 "role plays two roles"
    Error RF0109 "duplicate type"
    Error RF0110 "type defined by itself"
    Warning RF0115 "choice at an unknown role"
    Warning RF0116 "role without messages"
    Error RF0117 "nested protocol in the wrong place"
    Warning RF0118 "unknown pragma"
    Error RF0119 "argument of the wrong kind"
    Error RF0120 "module cannot be read"
    Error RF0121 "modules import one another"
    Warning RF0122 "imported twice"
    Error RF0123 "copies of a role"
    Error RF0124 "pragma that is not supported"
    Error RF0125 "one name for two modules"
    Warning RF0126 "module called otherwise than its file"
    Error RF0201 "message to oneself"
    Error RF0202 "duplicate label in a choice"
    Error RF0203 "unguarded recursion"
    Error RF0204 "recursion nested too deep"
    Error RF0205 "unreachable statement"
    Error RF0206 "branch begins with the wrong role"
    Error RF0207 "branch without a message"
    Error RF0208 "recursion is not the last step"
    Error RF0209 "protocol too large"
    Note RF0216 "connections are not part of the protocol"
    Warning RF0217 "import is not loaded"
    Error RF0218 "statement after a choice or a recursion"
    Error RF0219 "connected already"
    Error RF0220 "not connected"
    Warning RF0221 "choice of another role"
    Warning RF0222 "annotation without effect"
    Error RF0230 "label in two blocks"
    Error RF0231 "jump out of a block"
    Error RF0232 "variable of two blocks"
    Error RF0233 "block without a message"
    Error RF0234 "branch begins with `par`"
    Error RF0235 "block that may never end"
    Error RF0236 "time in a block"
    Error RF0237 "recursion data beside `par`"
    Error RF0240 "message without the key"
    Error RF0241 "label of parent and call"
    Error RF0242 "sub-session in a sub-session"
    Error RF0243 "open on some ways only"
    Error RF0244 "role that does not know what is open"
    Error RF0245 "call that may never end"
    Error RF0246 "opened or closed twice"
    Error RF0247 "message that cannot interrupt"
    Error RF0248 "message that does not begin a call"
    Error RF0249 "protocol that cannot be opened"
    Error RF0250 "time beside sub-sessions"
    Note RF0251 "sub-sessions without monitors"
    Error RF0301 "types do not fit"
    Error RF0302 "unknown variable"
    Error RF0303 "unknown function"
    Error RF0304 "wrong number of arguments in a call"
    Error RF0305 "not a truth value"
    Error RF0306 "unusable pattern"
    Error RF0307 "unknown field"
    Error RF0308 "variable of unclear type"
    Error RF0309 "variable not always bound"
    Error RF0310 "nobody can check this assertion"
    Warning RF0311 "external predicate to be supplied"
    Error RF0312 "recursion data do not fit"
    Error RF0313 "duplicate field"
    Error RF0314 "duplicate external predicate"
    Error RF0315 "assertion cannot be read"
    Error RF0316 "name of recursion data used again"
    Error RF0317 "role cannot follow recursion data"
    Error RF0318 "recursion data change at the start of a branch"
    Error RF0319 "refinement that cannot be satisfied"
    Error RF0320 "stuck because of refinements"
    Note RF0321 "refinement not decided"
    Warning RF0322 "condition that its sender cannot meet"
    Error RF0401 "role does not learn that it is done"
    Error RF0402 "role does not know whether to send or to receive"
    Error RF0403 "role does not know whom to wait for"
    Error RF0404 "role does not know what to send"
    Error RF0405 "same label, different payload"
    Error RF0406 "role does not know which blocks it is in"
    Error RF0410 "choice that neither role sees"
    Note RF0411 "usable with monitors only"
    Note RF0412 "no relative types"
    Error RF0501 "role declared twice"
    Error RF0502 "unknown peer"
    Error RF0503 "branch without an action"
    Error RF0504 "unknown initial state"
    Error RF0505 "missing initial state"
    Error RF0506 "silent action"
    Warning RF0507 "mixed choice"
    Warning RF0508 "nondeterministic choice"
    Warning RF0509 "no blank after `rec`"
    Note RF0510 "machine without transitions"
    Warning RF0511 "unreachable state"
    Error RF0512 "unknown accepting state"
    Error RF0601 "branch in the wrong direction"
    Error RF0602 "branch without a message"
    Error RF0603 "unclosed assertion"
    Note RF0604 "more than four fields"
    Error RF0701 "missing continuation"
    Note RF0702 "value between other roles"
    Error RF0710 "malformed JSON"
    Error RF0711 "missing key"
    Error RF0712 "wrong kind of value"
    Error RF0713 "unknown type of node"
    Error RF0714 "duplicate key"
    Error RF0715 "exchange without branches"
    Warning RF0716 "component without a role"
    Error RF0801 "unguarded formula"
    Warning RF0802 "property without a verdict"
    Warning RF0803 "idle part of a property"
    Warning RF0804 "property that may grow"
    Warning RF0805 "hidden variable"
    Error RF0806 "unbound variable in a guard"
    Error RF0807 "guard without a value"
    Error RF0808 "duplicate property"
    Error RF0809 "unusable key"
    Error RF0810 "not a term"
    Warning RF0811 "different numbers of fields"
    Error RF0812 "rule that compares different arguments"
    Warning RF0813 "variable of a rule that stands alone"
    Error RF0814 "rule that counts too far"
    Error RF0815 "rule without a duration"
    Error RF0901 "time of zero"
    Error RF0902 "not a time"
    Error RF0903 "time that may not begin"
    Error RF0904 "time that its role does not know"
    Error RF0905 "deadline without a message"
    Error RF0906 "clocks"
    Error RF0907 "second time"
    Warning RF0910 "deadline that cannot be met"
    Warning RF0911 "deadline that never matters"
    Warning RF0912 "deadline that silence does not miss"
    Warning RF0913 "beginning that never counts"
}

/// The code called `id`, in any case, with or without its `RF`.
#[must_use]
pub fn find(id: &str) -> Option<&'static Code> {
    let digits = id.trim_start_matches(['R', 'r']).trim_start_matches(['F', 'f']);
    ALL.iter().copied().find(|code| code.id[2..] == *digits)
}
