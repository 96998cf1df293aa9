//! The end of a side: whether it may leave, and what is said if not.

use referee_monitor::Handling;
use referee_verdict::EndReason;
use referee_wire::{Leave, Sender};

use super::SessionState;
use crate::direction::DirectionState;
use crate::rules::TwoPartyRules;

const ABORTED: &str = "a side broke off within a message, which its codec allows";
const UNANSWERED: &str = "the server closed instead of answering, which its codec allows";

impl SessionState {
    pub(super) fn end(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        unread: &[u8],
    ) -> Result<(), EndReason> {
        self.direction(sender).end();
        if self.calls.is_some() && self.inspecting {
            return self.keyed_end(rules, sender, unread);
        }
        let DirectionState::Ended { within, reported } = self.directions[sender.index()] else {
            return Ok(());
        };
        if !self.inspecting || rules.spans || self.session.is_halted() || reported {
            return Ok(());
        }
        // A body that goes on until the end has come to it, unless something of it is still to be passed on.
        let may_abandon = rules.codec.may_abandon(&self.connection, sender);
        let unsent = within.is_some_and(|rest| rest.part > 0) && !may_abandon;
        let is_cut = unsent || rules.codec.end(&mut self.connection, sender, unread).is_err();
        if !is_cut {
            let side = rules.side(sender);
            let is_turn = rules.ahead.is_turn(&self.session, side);
            if !is_turn && !self.lead.is_empty() {
                // It has said more than the session has come to; look again later.
                return Ok(());
            }
            if self.may_leave(rules, sender, is_turn) {
                if within.is_some() || !unread.is_empty() {
                    self.note.get_or_insert(ABORTED);
                }
                return Ok(());
            }
        }
        self.direction(sender).report_end();
        let party = rules.party(sender);
        let ruling = rules.monitor.supervise_end(rules.options.policy, &mut self.session, party);
        if let Some(report) = ruling.report {
            self.explain_end(rules, sender, (report, ruling.handling), is_cut);
        }
        if ruling.handling == Handling::Close { Err(EndReason::Violation) } else { Ok(()) }
    }

    /// Whether `sender` may leave between two messages, as it has done.
    fn may_leave(&mut self, rules: &TwoPartyRules, sender: Sender, is_turn: bool) -> bool {
        let is_probe = self.session.events() == 0;
        let has_announced = self.connection.is_leaving(sender);
        let leaves = has_announced
            || match rules.codec.leave(sender) {
                Leave::Never => false,
                // Nor does it owe anything to whom has left.
                Leave::Idle => !is_turn || self.directions[sender.other().index()].is_ended(),
                Leave::BetweenMessages | Leave::Anytime => true,
            };
        if !is_probe && !leaves && rules.owes(sender, self.session.state()) {
            return false;
        }
        // Allowed, but perhaps not what the other side hoped for. Where either may speak, nobody waits for the server.
        let is_clients_turn = rules.ahead.is_turn(&self.session, rules.side(Sender::Client));
        if is_turn
            && !is_clients_turn
            && !is_probe
            && !has_announced
            && sender == Sender::Server
            && !rules.monitor.is_over(&self.session)
        {
            self.unanswered = true;
            self.note.get_or_insert(UNANSWERED);
        }
        true
    }
}
