//! How a session stands, for `/sessions`.

use std::sync::Arc;

use referee_monitor::{Monitor, Session};
use referee_wire::Sender;
use serde::Serialize;

use super::TwoParty;
use crate::engine::Engine as _;
use crate::tap::Tap;

/// How a session stands.
#[derive(Clone, Debug, Serialize)]
pub struct SessionView {
    /// The monitor's state.
    pub state: String,
    /// The messages that are possible now, with their fields.
    pub expected: Vec<String>,
    /// Whose turn it is.
    pub awaits: Vec<String>,
    /// Whether the protocol has come to its end.
    pub over: bool,
    /// Whether bytes are inspected.
    pub inspecting: bool,
    /// How many messages were judged.
    pub messages: u64,
    /// How many of them were wrong.
    pub violations: u64,
    /// The last messages, oldest first, redacted.
    pub recent: Vec<String>,
    /// The client's direction and the server's.
    pub directions: [DirectionView; 2],
}

/// What a list of sessions shows of one.
#[derive(Clone, Debug, Serialize)]
pub struct SessionBrief<'a> {
    /// The monitor's state.
    pub state: String,
    /// Whose turn it is.
    pub awaits: Vec<&'a str>,
    /// Whether bytes are inspected.
    pub inspecting: bool,
    /// How many messages were judged.
    pub messages: u64,
    /// How many of them were wrong.
    pub violations: u64,
}

/// How one direction stands.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionView {
    /// Who sends.
    pub role: String,
    /// What the next byte is: `between-messages`, `held`, `within-message`, `awaits-switch` or `ended`.
    pub state: &'static str,
}

impl TwoParty {
    /// How the session stands.
    #[must_use]
    pub fn view(&self) -> SessionView {
        let (rules, state) = (&self.rules, &self.state);
        let (monitor, session) = self.monitored();
        let expected = monitor.explain_expected(session);
        let role = |sender: Sender| rules.roles[sender.index()].clone();
        SessionView {
            state: monitor.machine().state_name(session.state()),
            expected: expected.into_iter().map(|expected| expected.signature).collect(),
            awaits: Sender::BOTH.into_iter().filter(|sender| self.awaits(*sender)).map(role).collect(),
            over: self.is_over(),
            inspecting: self.is_inspecting(),
            messages: state.judged,
            violations: state.violations,
            recent: state.recent.list(&rules.codec, &rules.roles),
            directions: Sender::BOTH.map(|sender| DirectionView {
                role: role(sender),
                state: state.directions[sender.index()].name(),
            }),
        }
    }

    /// What a list of sessions shows of it.
    #[must_use]
    pub fn brief(&self) -> SessionBrief<'_> {
        let (monitor, session) = self.monitored();
        let role = |sender: Sender| self.rules.roles[sender.index()].as_str();
        SessionBrief {
            state: monitor.machine().state_name(session.state()),
            awaits: Sender::BOTH.into_iter().filter(|sender| self.awaits(*sender)).map(role).collect(),
            inspecting: self.is_inspecting(),
            messages: self.state.judged,
            violations: self.state.violations,
        }
    }

    /// What it keeps from now on for who follows it, beginning with its last messages.
    #[must_use]
    pub fn follow(&mut self) -> Arc<Tap> {
        self.state.recent.follow(&self.rules)
    }

    fn monitored(&self) -> (&Monitor, &Session) {
        let (rules, state) = (&self.rules, &self.state);
        match (&state.calls, &rules.calls) {
            (Some(calls), Some(monitor)) => (monitor.parent_monitor(), monitor.parent(&calls.session)),
            _ => (&rules.monitor, &state.session),
        }
    }

    fn awaits(&self, sender: Sender) -> bool {
        !self.is_over() && self.rules.ahead.is_turn(&self.state.session, self.rules.side(sender))
    }
}
