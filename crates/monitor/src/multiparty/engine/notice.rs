//! What everyone learns of a violation: who broke which rule, and what was expected.

use std::fmt;
use std::sync::Arc;

use referee_theory::expr::Value;
use referee_theory::{Origin, Role, Vocabulary};
use smallvec::SmallVec;

use super::Engine;
use super::run::Run;
use crate::explain::{Expected, Explanation};
use crate::verdict::Kind;

/// The rule of RV'23, Figure 3, by which a monitor signals an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The component sent what its monitor does not allow.
    ErrorOut,
    /// Something arrived that the monitor does not allow.
    ErrorIn,
    /// The component ended too early.
    ErrorEnd,
    /// Two monitors told different labels.
    ErrorMon,
}

impl Rule {
    /// The paper's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ErrorOut => "ERROR-OUT",
            Self::ErrorIn => "ERROR-IN",
            Self::ErrorEnd => "ERROR-END",
            Self::ErrorMon => "ERROR-MON",
        }
    }
}

/// In which way the protocol was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Breach {
    /// As a session monitor says.
    Kind(Kind),
    /// A wrong dependency.
    Dependency,
    /// A property that was attached to a role does not hold. It says nothing of who is to blame.
    Property,
    /// Nobody is to blame: an external predicate gave no answer.
    Fault,
}

impl Breach {
    /// The word for it in events and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.name(),
            Self::Dependency => "dependency",
            Self::Property => "property",
            Self::Fault => "fault",
        }
    }
}

/// A violation, as every monitor and every component is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Whose monitor found it.
    pub reporter: Role,
    /// Who broke the protocol: the sender, or who ended; both informers where they disagree. Empty: a stranger,
    /// or nobody.
    pub blamed: SmallVec<[Role; 2]>,
    /// How.
    pub breach: Breach,
    /// By which rule of the paper it was found; none says so of a fault.
    pub rule: Option<Rule>,
    /// The name of the state of the reporter's monitor; `None` where it is not known.
    pub state: Option<String>,
    /// The place in the protocol's text that says otherwise.
    pub origin: Origin,
    /// What would have been right, as the protocol writes it.
    pub expected: Vec<String>,
    /// What came instead; nothing for an end.
    pub got: Option<String>,
    /// The assertion that does not hold.
    pub assertion: Option<String>,
    /// The variables of the part of it that fails, and their values.
    pub values: Vec<(Arc<str>, Value)>,
    /// The property that does not hold.
    pub property: Option<String>,
    /// The violation in one sentence.
    pub sentence: String,
    /// The same without anything that was sent: its label, if the protocol has it, and the rule that it breaks.
    pub outline: String,
    /// The sender and the receiver of the message. Nobody else is to learn what was in it.
    pub parties: SmallVec<[Role; 2]>,
    /// Which event of the reporter's session it is, from 0: messages and dependencies are events. An end has the number
    /// that the next one would have had.
    pub event: u64,
    /// Whether an earlier violation that was let through may be the cause.
    pub consequence: bool,
    /// Whether the reporter's part of the session is over.
    pub halted: bool,
}

impl Notice {
    /// The session cannot go on at `reporter`, and nobody is to blame for it.
    #[must_use]
    pub fn fault(reporter: Role, sentence: String, event: u64, halted: bool) -> Self {
        Self {
            reporter,
            blamed: SmallVec::new(),
            breach: Breach::Fault,
            rule: None,
            state: None,
            origin: Origin::NONE,
            expected: Vec::new(),
            got: None,
            assertion: None,
            values: Vec::new(),
            property: None,
            outline: sentence.clone(),
            sentence,
            parties: SmallVec::new(),
            event,
            consequence: false,
            halted,
        }
    }
}

impl Notice {
    /// Takes out of it whatever was sent, but for a label that `vocabulary` has.
    pub fn withhold_values(&mut self, vocabulary: &Vocabulary) {
        self.values.clear();
        self.sentence.clone_from(&self.outline);
        self.got = self.got.take().filter(|got| vocabulary.find_label(got).is_some());
    }
}

impl Engine {
    /// The sentence of `explained` without anything that was sent.
    pub(super) fn outline(&self, explained: &Explanation) -> String {
        let mut outline = explained.clone();
        if let Some(got) = &mut outline.got
            && self.vocabulary().find_label(got).is_none()
        {
            *got = "…".to_owned();
        }
        if let Some(field) = &mut outline.field {
            let found = if field.position.is_some() { "another value" } else { "other fields" };
            field.found = found.to_owned();
        }
        if let Some(failure) = &mut outline.assertion {
            failure.values.clear();
            failure.error = failure.error.take().map(|_| "of what was sent it cannot be computed".to_owned());
        }
        outline.to_string()
    }

    /// What may happen next in `run`, in names.
    #[must_use]
    pub fn expected<T>(&self, run: &Run<T>) -> Vec<Expected> {
        let mut expected = self.monitor.explain_expected(&run.session);
        self.name_dependencies(&mut expected);
        expected
    }

    /// `explained`, with dependencies called so instead of by the messages that carry them.
    pub(super) fn in_words(&self, mut explained: Explanation) -> Explanation {
        self.name_dependencies(&mut explained.expected);
        explained
    }

    fn name_dependencies(&self, all: &mut [Expected]) {
        for expected in all {
            let carrier = self.monitor.label(&expected.label);
            if let Some((label, _)) = self.told_as.iter().find(|(_, known)| *known == carrier) {
                expected.signature = format!("dependency {}", self.vocabulary().label_name(*label));
            }
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.sentence, self.breach.name())?;
        match self.rule {
            Some(rule) => write!(f, ", {})", rule.name()),
            None => f.write_str(")"),
        }
    }
}
