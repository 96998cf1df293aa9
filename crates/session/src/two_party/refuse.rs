//! A message that is refused: it does not go on, and who waits for an answer is told why.

use referee_monitor::{FieldValue, Payload, Policy, Verdict};
use referee_verdict::{EndReason, VerdictAction};
use referee_wire::{Message, MessageId, Refusal, Sender};

use super::SessionState;
use crate::engine::Action;
use crate::refusal::targets;
use crate::rules::TwoPartyRules;

/// The code of the error that stands for a refusal.
const CODE: i64 = -32_000;

impl SessionState {
    /// What happens to `message` of `sender` if it is wrong: what is refused is suppressed.
    #[inline]
    pub(super) fn policy(&self, rules: &TwoPartyRules, sender: Sender, message: Option<MessageId>) -> Policy {
        if rules.options.refusals.is_some() && self.may_refuse(rules, sender, message) {
            Policy::Drop
        } else {
            rules.options.policy
        }
    }

    fn may_refuse(&self, rules: &TwoPartyRules, sender: Sender, message: Option<MessageId>) -> bool {
        let (Some(refusals), Some(message)) = (&rules.options.refusals, message) else { return false };
        match rules.codec.refusal(&self.connection, sender) {
            None => false,
            Some(Refusal::Notification) => true,
            Some(Refusal::Request(_)) => refusals.allow(message, self.session.state()),
            Some(Refusal::Answer(instead)) => self.instead(rules, sender, instead).is_some(),
        }
    }

    /// Which of the answers `instead` the protocol has now.
    fn instead(&self, rules: &TwoPartyRules, sender: Sender, instead: &[MessageId]) -> Option<MessageId> {
        let state = self.session.state();
        let has = |answer: &&MessageId| targets(rules, state, answer.index(), sender).next().is_some();
        instead.iter().find(has).copied()
    }

    /// Refuses `message`, which was judged: the last report says why.
    #[cold]
    pub(super) fn refuse(&mut self, rules: &TwoPartyRules, sender: Sender, message: &Message<'_>) -> Action {
        let why = self.reports.last().map(|report| report.record.message.clone()).unwrap_or_default();
        let answer = match rules.codec.refusal(&self.connection, sender) {
            Some(Refusal::Answer(instead)) => self.instead(rules, sender, instead),
            _ => None,
        };
        let Some(reply) = rules.codec.refuse(&self.connection, sender, &why) else {
            return Action::Close(EndReason::Violation);
        };
        if let Some(answer) = answer {
            if !self.answers_instead(rules, sender, answer, &why) {
                return Action::Close(EndReason::Violation);
            }
            self.progress += 1;
        }
        if let Some(report) = self.reports.last_mut() {
            report.record.action = Some(VerdictAction::Refused);
        }
        self.reply = Some(reply);
        // An answer has been given, if not this one.
        rules.codec.take(&mut self.connection, sender, message.after, answer.is_some());
        self.direction(sender).decided(None, false);
        Action::Refuse(message.bytes)
    }

    /// Lets `answer`, which says `why`, happen. Whether the protocol takes it.
    fn answers_instead(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        answer: MessageId,
        why: &str,
    ) -> bool {
        let known = rules.codec.messages().get(answer.index());
        let value = |name: Option<&str>| match name {
            Some("code") => FieldValue::Int(CODE),
            _ => FieldValue::Str(why),
        };
        let fields: Vec<_> = known
            .iter()
            .flat_map(|known| known.fields.iter())
            .map(|field| value(field.name.as_deref()))
            .collect();
        let Some(label) = rules.labels.get(answer.index()).copied() else { return false };
        self.verdict(rules, sender, false, label, Payload::Positional(&fields)) == Verdict::Forward
    }
}
