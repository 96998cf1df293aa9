//! Properties that are attached to a role: observed on the messages that its component sends and is given.
//!
//! A message is observed once the role's monitor lets it pass. A violation is nobody's blame: it is told to the others only if it ends
//! the session.

use referee_monitor::multiparty::{Breach, Effect, Notice};
use referee_monitor::{Payload as Values, Policy};
use referee_session::role::payload::{Payload, lend};
use referee_session::{Observation, PropertyFinding};
use referee_verdict::VerdictAction;

use super::{Finding, SessionAction};
use crate::multiparty::peer_message::SessionId;
use crate::multiparty::plan::RolePlan;
use crate::multiparty::role_session::RoleSession;

/// What becomes of a message that the properties were shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It goes on.
    Passes,
    /// It has not happened.
    Suppressed,
    /// It does not go on, and the session ends.
    Ends,
}

/// Whether properties may suppress what the component sends. What it is given has happened elsewhere.
pub(super) fn suppresses(plan: &RolePlan) -> bool {
    plan.properties.is_some() && plan.engine.settings().policy == Policy::Drop
}

/// Shows `effect` to the role's properties, if it is a message, and reports what they say.
pub(super) fn observe(
    plan: &RolePlan,
    id: SessionId,
    session: &mut RoleSession,
    effect: &Effect<Payload>,
    out: &mut Vec<SessionAction>,
) -> Seen {
    let (own, vocabulary) = (plan.engine.role(), plan.engine.vocabulary());
    let (from, to, message) = match effect {
        Effect::Send { to, message, .. } => (own, *to, message),
        Effect::Deliver { from, message } => (*from, own, message),
        _ => return Seen::Passes,
    };
    let (Some(properties), Ok(label)) = (&plan.properties, &message.label) else { return Seen::Passes };
    let rules = &plan.endpoint(plan.endpoint_with(if from == own { to } else { from })).rules;
    let mut known =
        rules.codec.messages().iter().filter(|known| (known.sender == rules.side) == (from == own));
    let known = known.find(|known| *known.name == **label);
    let mut findings = Vec::new();
    let is_suppressed = from == own && plan.engine.settings().policy == Policy::Drop;
    lend(message, &mut |event| {
        let Values::Positional(fields) = event.payload else { return };
        let [from, to] = [from, to].map(|role| vocabulary.role_name(role));
        let declared = known.map(|known| &*known.fields).unwrap_or_default();
        let observation = Observation { from, to, label, declared, fields };
        findings = properties.observe(&mut session.observed, &observation, None, is_suppressed);
    });
    let is_violated = findings.iter().any(PropertyFinding::is_violation);
    let (seen, action) = match (is_violated, plan.engine.settings().policy) {
        (false, _) | (true, Policy::Observe) => (Seen::Passes, VerdictAction::Forwarded),
        (true, Policy::Drop) if from == own => (Seen::Suppressed, VerdictAction::Discarded),
        (true, Policy::Drop | Policy::Halt) => (Seen::Ends, VerdictAction::Closed),
    };
    // What the protocol does not have may hold anything.
    let name = if known.is_some() || !plan.redacts { label } else { "…" };
    for finding in findings {
        let is_violation = finding.is_violation();
        let sentence = finding.sentence(name, !plan.redacts);
        let notice = Notice {
            breach: Breach::Property,
            property: Some(finding.property.to_string()),
            got: Some(name.to_owned()),
            parties: [from, to].into_iter().collect(),
            ..Notice::fault(own, sentence, session.run.events(), seen == Seen::Ends)
        };
        let notice = Box::new(notice);
        let mut record = finding.record(name, known.is_some(), Some(action), !plan.redacts);
        record.role = Some(vocabulary.role_name(own).to_owned());
        if is_violation {
            session.property_violations = session.property_violations.saturating_add(1);
            if seen == Seen::Ends {
                session.broken_property.get_or_insert_with(|| notice.clone());
            }
        }
        out.push(Finding::with_record(plan, id, session, notice, true, Some(Box::new(record))));
    }
    seen
}
