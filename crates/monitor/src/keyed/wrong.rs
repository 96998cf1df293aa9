//! What is wrong with a message of a protocol with sub-sessions, in words, and the ends of sides.

use std::sync::Arc;

use referee_theory::State;

use super::{Key, KeyedMonitor, KeyedSession, Part, SubProtocol, table::Call};
use crate::event::{Event, Party};
use crate::explain::Explanation;
use crate::monitor::Monitor;
use crate::verdict::{Kind, Side, Verdict, Violation};

/// Why a message is wrong; of which sub-protocol, where it is about one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The parent has no such message now.
    InParent,
    /// The call has no such message now.
    InCall(usize),
    /// A call with this key is in flight.
    InFlight(usize),
    /// No call with this key is.
    NotInFlight(usize),
    /// No call can begin now.
    NotOpen(usize),
    /// The call was interrupted by who sends it.
    Interrupted(usize),
    /// The parent's message has to wait for calls that its own sender must go on with.
    CallsOpen(usize),
}

impl Wrong {
    /// Whether it is about one call, whatever the parent does.
    #[must_use]
    pub fn is_of_call(self) -> bool {
        matches!(self, Self::InCall(_) | Self::InFlight(_) | Self::NotInFlight(_) | Self::Interrupted(_))
    }

    /// The sub-protocol.
    #[must_use]
    pub fn sub(self) -> Option<usize> {
        match self {
            Self::InParent => None,
            Self::InCall(sub)
            | Self::InFlight(sub)
            | Self::NotInFlight(sub)
            | Self::NotOpen(sub)
            | Self::Interrupted(sub)
            | Self::CallsOpen(sub) => Some(sub),
        }
    }
}

impl KeyedMonitor {
    /// Explains `violation`, which `event`, whose key is `key`, was found to be in `session`; and as a sentence.
    #[must_use]
    pub fn explain(
        &self,
        session: &KeyedSession,
        (violation, wrong): (&Violation, Wrong),
        event: &Event<'_>,
        key: Option<&Key>,
    ) -> (Explanation, String) {
        let sub = wrong.sub().and_then(|index| Some((self.subs.get(index)?, session.tables.get(index)?)));
        let of_call = sub.filter(|_| wrong.is_of_call());
        let explanation = match of_call.zip(key) {
            Some(((sub, table), key)) => match table.get(key) {
                Some(call) => sub.monitor.explain(&call.session, violation, event),
                None => sub.monitor.explain(&sub.monitor.session(), violation, event),
            },
            None => self.parent.explain(&session.parent, violation, event),
        };
        let sentence = explanation.to_string();
        let (Some((sub, table)), got) = (sub, explanation.got.as_deref().unwrap_or_default()) else {
            return (explanation, sentence);
        };
        let blame = explanation.blame.as_deref().unwrap_or(match violation.side {
            Side::Process => "the process",
            Side::Environment => "the environment",
        });
        let (name, key) = (&*sub.name, key.map(Key::to_string).unwrap_or_default());
        let sentence = match wrong {
            Wrong::InFlight(_) => {
                format!("{blame} sent `{got}` for {key}, of which a call of `{name}` is in flight already")
            }
            Wrong::NotInFlight(_) => {
                format!("{blame} sent `{got}` for {key}, of which no call of `{name}` is in flight")
            }
            Wrong::Interrupted(_) => {
                format!("{blame} sent `{got}` for {key}, a call of `{name}` that it has interrupted")
            }
            Wrong::NotOpen(_) => {
                format!("{blame} sent `{got}` for {key} where no call of `{name}` can begin")
            }
            Wrong::CallsOpen(_) => format!(
                "{blame} sent `{got}`, which closes `{name}`, with {} in flight of which some wait for {blame}",
                count(table.running)
            ),
            Wrong::InParent | Wrong::InCall(_) => sentence,
        };
        (explanation, sentence)
    }

    /// How many calls are in flight, interrupted and tainted ones aside.
    #[must_use]
    pub fn running(&self, session: &KeyedSession) -> usize {
        session.tables.iter().map(|table| table.running).sum()
    }

    /// Whether the parent is over and does not rest: what is still in flight then is abandoned.
    #[must_use]
    pub fn is_over(&self, session: &KeyedSession) -> bool {
        self.parent.is_over(&session.parent) && !self.rests(session.parent.state())
    }

    /// Whether some sub-protocol is open in the parent's final state `at`.
    fn rests(&self, at: State) -> bool {
        self.subs.iter().any(|sub| sub.stage(at) == super::Stage::Open)
    }

    /// A side of which `must` says, for the parent and for each call, whether it has something left to say, has ended. `None` if it may. The parent
    /// is given as none, a call as its sub-protocol.
    #[must_use]
    pub fn end(
        &self,
        session: &KeyedSession,
        side: Side,
        mut must: impl FnMut(Option<usize>, State) -> bool,
    ) -> Option<(Violation, Wrong)> {
        let premature = |state: State| Violation {
            kind: Kind::PrematureEnd,
            side,
            field: crate::verdict::NO_FIELD,
            state: state.0,
            edge: crate::verdict::NO_EDGE,
        };
        let at = session.parent.state();
        if self.is_over(session) {
            return None;
        }
        if !self.parent.is_over(&session.parent) && must(None, at) {
            return Some((premature(at), Wrong::InParent));
        }
        for (index, (sub, table)) in self.subs.iter().zip(&session.tables).enumerate() {
            let owed = |call: &&Call| call.runs() && !sub.is_over(call);
            let states = table.calls().filter(owed).map(|call| call.session.state());
            // The calls have no order: the first state in that of the protocol.
            if let Some(state) = states.filter(|state| must(Some(index), *state)).min() {
                return Some((premature(state), Wrong::InCall(index)));
            }
        }
        None
    }

    /// Explains that `who` ended too early.
    #[must_use]
    pub fn explain_end(
        &self,
        session: &KeyedSession,
        (violation, wrong): (&Violation, Wrong),
        who: Party,
    ) -> Explanation {
        match wrong.sub().and_then(|sub| self.subs.get(sub)) {
            Some(sub) => sub.monitor.explain_end(&sub.monitor.session(), violation, who),
            None => self.parent.explain_end(&session.parent, violation, who),
        }
    }

    /// Takes note that a wrong message of the parent was let through. Whether one was before.
    pub fn taint_parent(&self, session: &mut KeyedSession, violation: Violation) -> bool {
        let ruling = crate::policy::Policy::Observe.rule(&mut session.parent, Verdict::Violation(violation));
        matches!(ruling.report, Some(crate::policy::Report::Violation { consequence: true, .. }))
    }

    /// The sub-protocol of the messages of `side` with this label, and the field that is their key. Without one they are the parent's.
    #[must_use]
    pub fn key_field(&self, side: Side, label: &str) -> Option<&Arc<str>> {
        let (sub, _) = self.part(side, label)?;
        Some(&self.subs.get(sub)?.key)
    }

    /// Whether a message of `side` with this label and a key begins a call.
    #[must_use]
    pub fn is_opening(&self, side: Side, label: &str) -> bool {
        self.part(side, label).is_some_and(|(_, part)| part == Part::Opening)
    }

    /// Whether an opening of `side` with this label waits for a free place.
    #[must_use]
    pub fn is_full(&self, session: &KeyedSession, side: Side, label: &str) -> bool {
        matches!(self.part(side, label), Some((sub, Part::Opening))
            if session.tables.get(sub).is_some_and(|table| table.running >= self.limits.inflight))
    }

    /// The monitor of the parent.
    #[must_use]
    pub fn parent_monitor(&self) -> &Arc<Monitor> {
        &self.parent
    }

    /// The sub-protocols.
    #[must_use]
    pub fn subs(&self) -> &[SubProtocol] {
        &self.subs
    }
}

impl KeyedSession {
    /// `side` has ended. Whether it is the first: who leaves later owes nothing to whom has left.
    pub fn note_end(&mut self, side: Side) -> bool {
        let is_first = self.left.is_none();
        self.left.get_or_insert(side);
        is_first
    }
}

impl SubProtocol {
    /// The monitor of a call.
    #[must_use]
    pub fn monitor(&self) -> &Arc<Monitor> {
        &self.monitor
    }

    /// What it is called: `Call(client, server)`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The message that interrupts a call, and whose it is.
    #[must_use]
    pub fn interrupt(&self) -> Option<(&str, Side)> {
        self.interrupt.as_ref().map(|(label, side)| (&**label, *side))
    }

    /// The field that is the key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

fn count(calls: usize) -> String {
    format!("{calls} call{}", if calls == 1 { "" } else { "s" })
}
