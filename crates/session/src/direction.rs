//! The state of one direction of a connection.
//!
//! ```text
//!                   ┌───────── a message without rest is decided ──────────┐
//!                   ▼                                                      │
//!   start ──▶ BetweenMessages ──── a message must wait ──────▶ Held ───────┤ it is decided
//!                   ▲   │                                                  │
//!                   │   └── a message is decided, its rest follows ──▶ WithinMessage
//!                   │                                                      │
//!                   ├─────────── the rest has passed ──────────────────────┤
//!                   │                                                      │ and it asks for a switch
//!                   └── the sender has its turn again ── AwaitsSwitch ◀────┘
//!
//!   any of them ── the sender ends ──▶ Ended { reported: false } ── that was wrong ──▶ Ended { reported: true }
//! ```
//!
//! Nothing is received in `Ended`. A message begins in `BetweenMessages`, `Held` and, once the sender has its turn,
//! `AwaitsSwitch`, never in `WithinMessage`.

use referee_wire::MessageId;

/// What the next byte of a side is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DirectionState {
    /// The beginning of a message.
    #[default]
    BetweenMessages,
    /// The beginning of a message that could not be decided: the other side has to speak first.
    Held(Held),
    /// Part of the message that was decided last.
    WithinMessage(Rest),
    /// The beginning of a message that must not be read yet: the sender has asked for something that cannot be inspected,
    /// such as TLS, and the other side has not answered.
    AwaitsSwitch {
        /// What has come meanwhile, if anything has.
        held: Option<Held>,
    },
    /// There is none.
    Ended {
        /// The message within which it ended.
        within: Option<Rest>,
        /// Whether the end was reported as a violation.
        reported: bool,
    },
}

/// A message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// It came after all that its sender may say: it can only be wrong.
    pub is_late: bool,
}

/// What is left of a message whose beginning was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// The message, if the codec knows it.
    pub message: Option<MessageId>,
    /// What becomes of it: the rest shares the fate of the beginning.
    pub fate: Fate,
    /// Whether the other side may answer it with a switch.
    pub asks: bool,
    /// How many bytes the codec need not be asked about. After them it says how many more.
    pub part: u64,
    /// The message ends with these bytes.
    pub is_last_part: bool,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Forward,
    /// It does not.
    Discard,
}

impl DirectionState {
    /// The word for it in `/sessions`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::BetweenMessages => "between-messages",
            Self::Held(_) => "held",
            Self::WithinMessage(_) => "within-message",
            Self::AwaitsSwitch { .. } => "awaits-switch",
            Self::Ended { .. } => "ended",
        }
    }

    /// Whether the other side has the beginning of a message whose rest has not come.
    #[must_use]
    pub fn is_within_forwarded(&self) -> bool {
        let rest = match self {
            Self::WithinMessage(rest) => Some(rest),
            Self::Ended { within, .. } => within.as_ref(),
            _ => None,
        };
        rest.is_some_and(|rest| rest.fate == Fate::Forward)
    }

    /// Whether the sender has ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        matches!(self, Self::Ended { .. })
    }

    /// What is held, if anything is.
    pub(crate) fn held(&self) -> Option<Held> {
        match self {
            Self::Held(held) | Self::AwaitsSwitch { held: Some(held) } => Some(*held),
            _ => None,
        }
    }

    /// A message was decided; `rest` of it follows.
    pub(crate) fn decided(&mut self, rest: Option<Rest>, asks: bool) {
        debug_assert!(!matches!(self, Self::WithinMessage(_) | Self::Ended { .. }), "{self:?}");
        *self = match rest {
            Some(rest) => Self::WithinMessage(rest),
            None => Self::after_message(asks),
        };
    }

    /// The message that comes next has to wait.
    pub(crate) fn hold(&mut self, new: Held) {
        *self = match *self {
            Self::BetweenMessages => Self::Held(new),
            Self::AwaitsSwitch { held: None } => Self::AwaitsSwitch { held: Some(new) },
            other => other,
        };
    }

    /// The sender has its turn: what it has asked for was refused, or agreed to.
    pub(crate) fn answered(&mut self) {
        if let Self::AwaitsSwitch { held } = *self {
            *self = held.map_or(Self::BetweenMessages, Self::Held);
        }
    }

    /// The codec says how much of the message follows.
    pub(crate) fn part(&mut self, bytes: u64, is_last: bool) {
        let Self::WithinMessage(rest) = self else {
            debug_assert!(false, "a part of no message: {self:?}");
            return;
        };
        debug_assert_eq!(rest.part, 0, "the part before it is not through");
        (rest.part, rest.is_last_part) = (bytes, is_last);
        self.finish_part();
    }

    /// Takes as much as it can of `available` bytes that are known to be the message's. `None`: the codec has to be asked.
    pub(crate) fn pass(&mut self, available: usize) -> Option<(Fate, usize)> {
        let Self::WithinMessage(rest) = self else { return None };
        if rest.part == 0 {
            return None;
        }
        let count = available.min(usize::try_from(rest.part).unwrap_or(usize::MAX));
        rest.part -= count as u64;
        let fate = rest.fate;
        self.finish_part();
        Some((fate, count))
    }

    fn finish_part(&mut self) {
        if let Self::WithinMessage(Rest { part: 0, is_last_part: true, asks, .. }) = *self {
            *self = Self::after_message(asks);
        }
    }

    /// The sender will send nothing more.
    pub(crate) fn end(&mut self) {
        *self = match *self {
            Self::WithinMessage(rest) => Self::Ended { within: Some(rest), reported: false },
            Self::Ended { .. } => return,
            _ => Self::Ended { within: None, reported: false },
        };
    }

    /// The end was a violation, and is reported.
    pub(crate) fn report_end(&mut self) {
        debug_assert!(matches!(self, Self::Ended { reported: false, .. }), "{self:?}");
        if let Self::Ended { reported, .. } = self {
            *reported = true;
        }
    }

    fn after_message(asks: bool) -> Self {
        if asks { Self::AwaitsSwitch { held: None } } else { Self::BetweenMessages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(asks: bool) -> Rest {
        Rest { message: None, fate: Fate::Forward, asks, part: 0, is_last_part: false }
    }

    #[test]
    fn the_rest_of_a_message_passes_in_parts() {
        let mut state = DirectionState::default();
        state.decided(Some(rest(false)), false);
        assert_eq!(state.pass(10), None);
        state.part(5, false);
        assert_eq!(state.pass(3), Some((Fate::Forward, 3)));
        assert_eq!(state.pass(10), Some((Fate::Forward, 2)));
        assert_eq!(state.pass(10), None);
        assert!(state.is_within_forwarded());
        state.part(0, true);
        assert_eq!(state, DirectionState::BetweenMessages);
    }

    #[test]
    fn what_is_sent_after_a_question_for_a_switch_waits_for_the_answer() {
        let mut state = DirectionState::default();
        state.decided(Some(rest(true)), true);
        state.part(1, true);
        assert_eq!(state.pass(1), Some((Fate::Forward, 1)));
        assert_eq!(state, DirectionState::AwaitsSwitch { held: None });
        state.hold(Held { is_late: false });
        state.answered();
        assert_eq!(state, DirectionState::Held(Held { is_late: false }));
        state.decided(None, false);
        assert_eq!(state, DirectionState::BetweenMessages);
    }

    #[test]
    fn an_end_remembers_the_message_it_cut() {
        let mut state = DirectionState::WithinMessage(rest(false));
        state.end();
        state.end();
        assert!(state.is_ended() && state.is_within_forwarded());
        state.report_end();
        assert_eq!(state, DirectionState::Ended { within: Some(rest(false)), reported: true });
    }
}
