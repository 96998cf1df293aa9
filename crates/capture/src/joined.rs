//! A connection that began before the capture: the states that its session may be in, and how its bytes are read in each.
//!
//! What was sent before the capture may still be answered, and nobody can tell how much that is. So where a client may send its requests
//! ahead of the answers, what no state explains is no violation: it is an answer, or a request, of something that was not seen.

use referee_monitor::{FieldValue, LabelId, Lead, Payload, Possible, PossibleVerdict, Session};
use referee_session::TwoPartyRules;
use referee_wire::{Connection, Fields, Label, Message, Reading, Scratch, Sender, Step};

use crate::conversation::{Said, Unread};

/// What is known of the session.
pub(crate) struct Joined {
    possible: Possible,
    /// Whether a client may send requests that are not yet to be answered.
    pipelines: bool,
}

/// What came of looking at bytes.
pub(crate) enum Looked {
    /// A message: its length, and whether it is an event; the codec's state goes on with what follows from it.
    Message { bytes: usize, after: referee_wire::After },
    /// There is not enough of it; so many bytes are needed.
    More(usize),
    /// Nothing can be done with it now.
    Wait,
    /// A message whose body is skipped.
    Body(u64),
    /// Nothing more can be read.
    Stop(Unread),
}

/// How a message is read in some state.
struct Candidate<'b> {
    message: Message<'b>,
    fields: Fields<'b>,
}

impl Joined {
    pub(crate) fn new(rules: &TwoPartyRules) -> Self {
        let possible = rules.monitor().join();
        let ahead = |session: &Session| {
            rules.ahead().may_speak(session, &Lead::default(), rules.side(Sender::Client))
        };
        let pipelines = possible.sessions().any(ahead);
        Self { possible, pipelines }
    }

    /// Looks at the next bytes of `sender` in every state in which it may speak.
    pub(crate) fn look(
        &mut self,
        rules: &TwoPartyRules,
        (connection, sender): (&mut Connection, Sender),
        unread: &[u8],
        scratch: &Scratch,
        tell: &mut dyn FnMut(Said<'_>),
    ) -> Looked {
        let mut candidates: Vec<Candidate<'_>> = Vec::new();
        let (mut most, mut is_junk, mut waits) = (None, false, false);
        let (readings, is_turn) = self.readings(rules, sender);
        for reading in readings {
            let mut fields = Fields::new();
            let mut trial = connection.clone();
            match rules.codec().decode(&mut trial, sender, unread, reading, scratch, &mut fields) {
                Step::Message(message) if matches!(message.label, Label::Known(_)) || message.aside => {
                    *connection = trial;
                    candidates.push(Candidate { message, fields });
                }
                Step::More { at_least } => most = most.max(Some(at_least.max(unread.len() + 1))),
                Step::Wait => waits = true,
                // A body belongs to what was said before, in whichever state.
                Step::Body { bytes, .. } => {
                    *connection = trial;
                    return Looked::Body(bytes);
                }
                Step::Transparent => return Looked::Stop(Unread::Switched),
                Step::Malformed(malformed) if malformed.too_long => return Looked::Stop(Unread::TooLong),
                Step::Message(_) | Step::Malformed(_) => is_junk = true,
            }
        }
        let Some(first) = candidates.first() else {
            return match most {
                Some(most) => Looked::More(most),
                None if waits => Looked::Wait,
                None if is_junk && is_turn => Looked::Stop(Unread::NoMessage),
                None => Looked::Stop(Unread::Ahead),
            };
        };
        let message = first.message;
        let is_same = |other: &Candidate<'_>| {
            let other = &other.message;
            (other.bytes, other.has_body, other.after) == (message.bytes, message.has_body, message.after)
        };
        if most.is_some() || !candidates.iter().all(is_same) {
            return Looked::Stop(Unread::Ambiguous);
        }
        if !message.aside
            && let Some(why) = self.judge(rules, sender, &candidates, tell)
        {
            return Looked::Stop(why);
        }
        Looked::Message { bytes: message.bytes, after: message.after }
    }

    /// How `sender`'s next bytes are read in each of the states in which it may speak, each way once; whether there is one.
    fn readings<'r>(&self, rules: &'r TwoPartyRules, sender: Sender) -> (Vec<Reading<'r>>, bool) {
        let (ahead, side) = (rules.ahead(), rules.side(sender));
        let mut positions = Vec::new();
        for session in self.possible.sessions() {
            if ahead.is_turn(session, side)
                && !rules.monitor().is_over(session)
                && let Some(position) = ahead.position(session, &Lead::default(), side)
                && !positions.contains(&position)
            {
                positions.push(position);
            }
        }
        let known = positions.into_iter().filter_map(|position| rules.readings().at(sender, position));
        let known: Vec<_> = known.collect();
        match known.is_empty() {
            false => (known, true),
            // The body of a message belongs to what was said before. Where nobody sends ahead, who speaks out of turn is wrong.
            true if self.pipelines => (vec![rules.readings().out_of_turn(sender)], false),
            true => (vec![Reading::anything()], true),
        }
    }

    /// Tells what was said, if all states agree on that; why not, if nothing more can be told.
    fn judge(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        candidates: &[Candidate<'_>],
        tell: &mut dyn FnMut(Said<'_>),
    ) -> Option<Unread> {
        let mut explained: Option<(Possible, &str, &[FieldValue<'_>])> = None;
        let mut is_one = true;
        for Candidate { message, fields } in candidates {
            let name = rules.codec().name(message.label);
            if explained.as_ref().is_some_and(|(_, known, _)| *known == name) {
                continue;
            }
            let mut possible = self.possible.clone();
            let label = match message.label {
                Label::Known(_) => rules.monitor().label(name),
                Label::Unknown(_) => LabelId::UNKNOWN,
            };
            let channel = rules.ahead().channel(rules.side(sender));
            let payload = Payload::Positional(fields);
            match rules.monitor().step_possible(&mut possible, channel, label, payload) {
                PossibleVerdict::Forward { .. } => match &mut explained {
                    Some((known, ..)) => {
                        known.absorb(rules.monitor(), possible);
                        is_one = false;
                    }
                    None => explained = Some((possible, name, fields)),
                },
                PossibleVerdict::Violation(_) => {}
                PossibleVerdict::Early | PossibleVerdict::Fault(_) => return Some(Unread::Ahead),
            }
        }
        match explained {
            Some((possible, label, fields)) => {
                self.possible = possible;
                tell(if is_one { Said::Message { sender, label, fields } } else { Said::Lost });
                None
            }
            None if self.pipelines => Some(Unread::Ahead),
            None => {
                let Candidate { message, fields } = candidates.first()?;
                tell(Said::Message { sender, label: rules.codec().name(message.label), fields });
                None
            }
        }
    }
}
