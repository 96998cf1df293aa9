//! Wrong messages, sent on purpose: whether the peer refuses them.
//!
//! A wrong message is one for which the engine blames the player. A peer refuses it by closing, or with a message that its user says
//! is a refusal: which that is no protocol says.

use std::fmt;

use referee_theory::State;
use referee_wire::{Expected, Fields, Label, Limits, MessageId, Reading, Scratch, Step};
use serde::Serialize;

use crate::conversation::Conversation;
use crate::player::{Edge, Player};
use crate::values::{Form, Wanted, forms};

/// In which way a message is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "label")]
pub enum Wrong {
    /// It has no place in the state.
    Order(String),
    /// Its assertion does not hold.
    Assertion(String),
    /// It is a message with one byte changed.
    Malformed(String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(label) => write!(f, "`{label}` out of order"),
            Self::Assertion(label) => write!(f, "`{label}` against its assertion"),
            Self::Malformed(label) => write!(f, "`{label}` with a wrong byte"),
        }
    }
}

/// What a peer does about a wrong message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reaction", content = "answer")]
pub enum Reaction {
    /// It answers with a refusal.
    Refused(String),
    /// It closes the connection.
    Closed,
    /// It answers with something else.
    Accepted(String),
    /// It says nothing.
    Ignored,
    /// It answers, and nobody has said what a refusal is, or the answer cannot be read.
    Unknown(String),
}

/// A wrong message and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct MutationOutcome {
    /// The state in which it was sent.
    pub state: String,
    /// What was wrong with it.
    pub wrong: Wrong,
    /// What the peer did.
    pub reaction: Reaction,
}

/// A wrong message that may be tried in a state.
#[derive(Clone, Debug)]
pub(crate) struct Mutation {
    pub(crate) state: State,
    pub(crate) wrong: Wrong,
    /// The message that it is made from.
    edge: usize,
}

/// The wrong messages to try in `state`.
pub(crate) fn mutations(player: &Player, state: State) -> Vec<Mutation> {
    let own: Vec<&Edge> = player.edges_of(state).iter().filter(|edge| edge.is_own).collect();
    if own.is_empty() {
        return Vec::new();
    }
    let mut list: Vec<Mutation> = Vec::new();
    let mut add = |wrong: Wrong, edge: &Edge| {
        if edge.obstacle.is_none() && !list.iter().any(|other| other.wrong == wrong) {
            list.push(Mutation { state, wrong, edge: edge.number });
        }
    };
    for edge in player.edges().iter().filter(|edge| edge.is_own) {
        if !own.iter().any(|allowed| allowed.label == edge.label) {
            add(Wrong::Order(edge.label.to_string()), edge);
        }
    }
    for edge in &own {
        if player.monitor().vocabulary().spec(edge.message).assertion.is_some() {
            add(Wrong::Assertion(edge.label.to_string()), edge);
        }
    }
    if let Some(edge) = own.first() {
        add(Wrong::Malformed(edge.label.to_string()), edge);
    }
    list
}

/// The bytes of `mutation`, where `conversation` is in its state; `None` if there are none.
pub(crate) fn bytes(player: &Player, conversation: &Conversation, mutation: &Mutation) -> Option<Vec<u8>> {
    let edge = player.edges().get(mutation.edge)?;
    let first = |wanted| {
        let list = forms(player, conversation, edge, wanted, 1);
        list.into_iter().next().map(|form: Form| form.bytes)
    };
    match mutation.wrong {
        Wrong::Order(_) => first(Wanted::Typed),
        Wrong::Assertion(_) => first(Wanted::Unasserted),
        Wrong::Malformed(_) => {
            let mut bytes = first(Wanted::Right)?;
            if let Some(byte) = bytes.first_mut() {
                *byte ^= 0x15;
            }
            Some(bytes)
        }
    }
}

/// What `answer`, which the peer gave to the wrong message `sent`, is; `None` while it is not whole.
pub(crate) fn reaction(player: &Player, sent: &[u8], answer: &[u8]) -> Option<Reaction> {
    if let Some(rules) = player.calls() {
        // An error is a refusal, whatever the protocol calls it.
        return rules.answer_to(sent, answer).map(|is_error| match is_error {
            true => Reaction::Refused("an error".to_owned()),
            false => Reaction::Accepted("a result".to_owned()),
        });
    }
    let codec = player.codec();
    let peer = player.own().other();
    let refusals: Vec<MessageId> =
        player.examples().refusals().iter().filter_map(|label| codec.find(peer, label)).collect();
    let read = |reading: Reading<'_>| {
        let mut connection = codec.upgraded(Limits::default());
        let (scratch, mut fields) = (Scratch::new(), Fields::new());
        match codec.decode(&mut connection, peer, answer, reading, &scratch, &mut fields) {
            Step::More { .. } => None,
            Step::Message(message) => {
                let known = match message.label {
                    Label::Known(id) if !message.aside => Some(id),
                    _ => None,
                };
                Some((known, format!("`{}`", codec.name(message.label))))
            }
            _ => Some((None, "something that cannot be read".to_owned())),
        }
    };
    if let Ok(expected) = Expected::new(codec, &refusals)
        && !refusals.is_empty()
    {
        let (known, name) = read(expected.reading())?;
        if known.is_some_and(|id| refusals.contains(&id)) {
            return Some(Reaction::Refused(name));
        }
    }
    let (known, name) = read(Reading::anything())?;
    Some(if known.is_some() && !refusals.is_empty() {
        Reaction::Accepted(name)
    } else {
        Reaction::Unknown(name)
    })
}
