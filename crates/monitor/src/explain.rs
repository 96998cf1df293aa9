//! What a violation means, in names and sentences: made only when somebody asks.
//!
//! The session must be as the step left it, which is as it found it: a violation moves nothing.

mod brief;
mod locate;

use std::fmt;
use std::sync::Arc;

use referee_theory::expr::{Place, Value};
use referee_theory::{Action, Origin, Transition};

use brief::Brief;

use crate::event::{Event, EventLabel, Party, Payload};
use crate::monitor::Monitor;
use crate::session::Session;
use crate::verdict::{Fault, FaultKind, Kind, NO_FIELD, Rejection, Side, Violation};

/// A violation explained.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// In which way the protocol was broken.
    pub kind: Kind,
    /// The role that broke it; `None` for a stranger, or the environment as a whole.
    pub blame: Option<Arc<str>>,
    /// Which side of the monitor that is.
    pub side: Side,
    /// The paper's name for it.
    pub rejection: Rejection,
    /// The name of the state in which it happened.
    pub state: String,
    /// The place in the protocol's text: that of the message whose type or assertion is broken, else that of
    /// the first message that was expected instead.
    pub origin: Origin,
    /// What could have happened instead, in the order of the protocol.
    pub expected: Vec<Expected>,
    /// The label that came; `None` for an end or if it could not be decoded.
    pub got: Option<String>,
    /// The field whose type is wrong, for [`Kind::Type`] and [`Kind::Malformed`].
    pub field: Option<FieldFailure>,
    /// The assertion that is broken, for [`Kind::Assertion`].
    pub assertion: Option<AssertionFailure>,
    /// What was not in time, in words, for [`Kind::Deadline`] and [`Kind::Early`].
    pub time: Option<String>,
}

/// A message that was possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Its label.
    pub label: String,
    /// Its label and fields: `Auth(uname: string, pwd: string)`.
    pub signature: String,
    /// Who sends it.
    pub from: Arc<str>,
    /// Who receives it.
    pub to: Arc<str>,
    /// Where the protocol says so.
    pub origin: Origin,
}

/// A field, or a number of fields, that is not of the message's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldFailure {
    /// The position of the field; `None` if there are too few, too many or misnamed ones.
    pub position: Option<usize>,
    /// Its name, if it has one.
    pub name: Option<Arc<str>>,
    /// What was expected: a type, or a signature.
    pub expected: String,
    /// What came.
    pub found: String,
}

/// An assertion that does not hold.
#[derive(Clone, Debug)]
pub struct AssertionFailure {
    /// The assertion, as the native language writes it.
    pub assertion: String,
    /// Where it stands.
    pub place: Place,
    /// The part of it that is false or has no value.
    pub failing: String,
    /// Where that part stands.
    pub failing_place: Place,
    /// Why it has no value, if it has none.
    pub error: Option<String>,
    /// The variables of that part and their values.
    pub values: Vec<(Arc<str>, Value)>,
}

/// A fault explained: what is wrong with the configuration.
#[derive(Clone, Debug)]
pub struct FaultExplanation {
    /// What is missing.
    pub kind: FaultKind,
    /// The name of the state in which it happened.
    pub state: String,
    /// The place of the message in the protocol's text.
    pub origin: Origin,
    /// The assertion that has no value, and why.
    pub assertion: Option<AssertionFailure>,
}

impl Monitor {
    /// Explains `violation`, which `event` was found to be in `session`; for a premature end, any event
    /// will do.
    #[must_use]
    pub fn explain(&self, session: &Session, violation: &Violation, event: &Event<'_>) -> Explanation {
        let transition = self.machine.all_transitions().get(violation.edge as usize);
        let expected = self.expected_in(violation.state);
        let origin = transition.map(|t| t.origin).or(expected.first().map(|e| e.origin));
        let message = violation.kind != Kind::PrematureEnd;
        Explanation {
            kind: violation.kind,
            blame: self.blamed(violation.side, transition, message.then_some(event)),
            side: violation.side,
            rejection: violation.rejection(),
            state: self.state_name(violation.state),
            origin: origin.unwrap_or(Origin::NONE),
            got: if message { self.label_text(event.label) } else { None },
            field: transition
                .filter(|_| matches!(violation.kind, Kind::Type | Kind::Malformed))
                .map(|t| self.field_failure(t, violation.field, &event.payload)),
            assertion: transition
                .filter(|_| violation.kind == Kind::Assertion)
                .and_then(|t| self.assertion_failure(session, t, violation.state, &event.payload)),
            expected,
            time: None,
        }
    }

    /// Explains the premature end of `who`.
    #[must_use]
    pub fn explain_end(&self, session: &Session, violation: &Violation, who: Party) -> Explanation {
        let label = EventLabel::Malformed("");
        let event = Event { from: who, to: self.opposite(who), label, payload: Payload::Positional(&[]) };
        let mut explanation = self.explain(session, violation, &event);
        explanation.blame = self.blamed(violation.side, None, Some(&event));
        explanation
    }

    /// Explains `fault`, which `event` met in `session`.
    #[must_use]
    pub fn explain_fault(&self, session: &Session, fault: &Fault, event: &Event<'_>) -> FaultExplanation {
        let transition = self.machine.all_transitions().get(fault.edge as usize);
        FaultExplanation {
            kind: fault.kind,
            state: self.state_name(fault.state),
            origin: transition.map_or(Origin::NONE, |transition| transition.origin),
            assertion: transition
                .and_then(|t| self.assertion_failure(session, t, fault.state, &event.payload)),
        }
    }

    /// What may happen next in `session`, in names.
    #[must_use]
    pub fn explain_expected(&self, session: &Session) -> Vec<Expected> {
        self.expected_in(session.state)
    }

    fn expected_in(&self, state: u32) -> Vec<Expected> {
        let own: Arc<str> = self.vocabulary.role_name(self.machine.role()).into();
        let describe = |transition: &Transition| {
            let peer: Arc<str> = self.vocabulary.role_name(transition.peer).into();
            let (from, to) = match transition.action {
                Action::Send => (Arc::clone(&own), peer),
                Action::Receive => (peer, Arc::clone(&own)),
            };
            Expected {
                label: self.vocabulary.label_of(transition.message).to_owned(),
                signature: self.vocabulary.display(transition.message).to_string(),
                from,
                to,
                origin: transition.origin,
            }
        };
        self.transitions(state).iter().map(describe).collect()
    }

    pub(crate) fn blamed(
        &self,
        side: Side,
        transition: Option<&Transition>,
        event: Option<&Event<'_>>,
    ) -> Option<Arc<str>> {
        let role = match (side, event.map(|event| event.from), transition) {
            (Side::Process, ..) => self.machine.role(),
            (Side::Environment, Some(Party::Role(role)), _) => role,
            (Side::Environment, _, Some(transition)) => transition.peer,
            (Side::Environment, Some(Party::Stranger), None) => return None,
            (Side::Environment, _, None) => match &*self.peers {
                [only] => *only,
                _ => return None,
            },
        };
        // An event may name a role that the vocabulary does not have.
        (role.index() < self.vocabulary.roles().len()).then(|| self.vocabulary.role_name(role).into())
    }

    fn label_text(&self, label: EventLabel<'_>) -> Option<String> {
        match label {
            EventLabel::Text(text) => Some(text.to_owned()),
            EventLabel::Known(label) => self.labels.text(label).map(str::to_owned),
            EventLabel::Malformed(_) => None,
        }
    }

    fn field_failure(&self, transition: &Transition, field: u16, payload: &Payload<'_>) -> FieldFailure {
        let fields = &self.vocabulary.spec(transition.message).fields;
        let position = Some(usize::from(field)).filter(|_| field != NO_FIELD);
        if let Some((position, declared)) = position.and_then(|p| Some((p, fields.get(p)?)))
            && let Some(value) = payload.field(position, declared.name.as_ref())
        {
            return FieldFailure {
                position: Some(position),
                name: declared.name.clone(),
                expected: declared.ty.to_string(),
                found: format!("{} {}", value.kind(), Brief(value)),
            };
        }
        let found = match payload {
            Payload::Malformed(reason) => Brief(reason).to_string(),
            Payload::Positional(values) => count(values.len()),
            Payload::Named(values) => {
                let names: Vec<_> = values.iter().map(|(name, _)| format!("`{name}`")).collect();
                if names.is_empty() { count(0) } else { Brief(names.join(", ")).to_string() }
            }
        };
        let expected = self.vocabulary.display(transition.message).to_string();
        FieldFailure { position: None, name: None, expected, found }
    }
}

/// One sentence: `validName(uname)` has no value: …
impl fmt::Display for FaultExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FaultKind::TooManyEarly => f.write_str("too many messages came before their turn"),
            FaultKind::UnnamedPeer => f.write_str("the message does not say for which peer it is"),
            FaultKind::Predicate => match &self.assertion {
                Some(AssertionFailure { failing, error: Some(error), values, .. }) => {
                    write!(f, "`{failing}` has no value: {error}")?;
                    write_values(f, values, "; ")
                }
                // Asked again, it answered.
                _ => f.write_str("an external predicate gave no answer"),
            },
        }
    }
}

fn write_values(f: &mut fmt::Formatter<'_>, values: &[(Arc<str>, Value)], first: &str) -> fmt::Result {
    for (i, (name, value)) in values.iter().enumerate() {
        write!(f, "{}`{name}` is {}", if i == 0 { first } else { ", " }, Brief(value))?;
    }
    Ok(())
}

fn count(fields: usize) -> String {
    format!("{fields} field{}", if fields == 1 { "" } else { "s" })
}

/// One sentence: `client sent …; expected …`.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blame = self.blame.as_deref().unwrap_or(match self.side {
            Side::Process => "the process",
            Side::Environment => "the environment",
        });
        let got = match self.got.as_deref() {
            None => "a message".to_owned(),
            Some("") => "a message without a label".to_owned(),
            Some(label) => format!("`{label}`"),
        };
        match self.kind {
            Kind::Label => write!(f, "{blame} sent {got}, which it never sends")?,
            Kind::Order => write!(f, "{blame} sent {got}, which is not possible now")?,
            Kind::AfterEnd => return write!(f, "{blame} sent {got} after the end of the session"),
            Kind::PrematureEnd => write!(f, "{blame} ended before the session was over")?,
            Kind::Deadline | Kind::Early => {
                return f.write_str(self.time.as_deref().unwrap_or("a message was not in time"));
            }
            Kind::Malformed | Kind::Type => {
                write!(f, "{blame} sent ")?;
                match &self.got {
                    Some(_) => f.write_str(&got)?,
                    None => f.write_str("something that cannot be decoded")?,
                }
                if let Some(field) = &self.field {
                    match (&field.name, field.position) {
                        (Some(name), _) => write!(f, " with field `{name}`")?,
                        (None, Some(position)) => write!(f, " with field {position}")?,
                        (None, None) => f.write_str(" with")?,
                    }
                    return write!(f, " {} instead of `{}`", field.found, field.expected);
                }
            }
            Kind::Assertion => {
                write!(f, "{blame} sent {got}")?;
                if let Some(assertion) = &self.assertion {
                    return assertion.write(f);
                }
            }
        }
        for (i, expected) in self.expected.iter().enumerate() {
            f.write_str(if i == 0 { "; expected " } else { " or " })?;
            write!(f, "`{}` from {}", expected.signature, expected.from)?;
        }
        Ok(())
    }
}

impl AssertionFailure {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => write!(f, ", for which `{}` has no value: {error}", self.failing)?,
            None => write!(f, ", for which `{}` does not hold", self.failing)?,
        }
        write_values(f, &self.values, ": ")
    }
}
