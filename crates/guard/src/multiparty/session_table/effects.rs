//! Turns the effects of a session's engine into actions: peer messages, bytes for the component, reports.

use referee_monitor::multiparty::{Effect, Engine, Finding as Judgement, Notice, Run};
use referee_theory::Role;
use referee_verdict::VerdictAction;

use super::properties::{Seen, observe, suppresses};
use super::{Finding, SessionAction};
use crate::multiparty::peer_message::{MessageKind, PeerMessage, SessionId};
use crate::multiparty::plan::RolePlan;
use crate::multiparty::role_session::RoleSession;
use crate::multiparty::violation;
use referee_session::role::payload::Payload;

const IN_DOUBT: &str = "; the monitor did not see exactly enough when, so nobody is blamed";

/// Sends a peer message of `session` to `to`.
pub(super) fn send(
    session: &mut RoleSession,
    id: SessionId,
    to: Role,
    kind: MessageKind,
    out: &mut Vec<SessionAction>,
) {
    let state = session.run.state().0;
    let Some(peer) = session.peers.get_mut(to.index()) else { return };
    let number = peer.sent;
    peer.sent += 1;
    out.push(SessionAction::Send(to, PeerMessage { session: id, number, state, kind }));
}

pub(super) fn notify_others(
    plan: &RolePlan,
    id: SessionId,
    session: &mut RoleSession,
    notice: &Notice,
    out: &mut Vec<SessionAction>,
) {
    let vocabulary = plan.engine.vocabulary();
    for role in &plan.others {
        let notice = violation::for_reader(notice, *role, vocabulary);
        let json = violation::to_json(&notice, vocabulary, Some(id));
        send(session, id, *role, MessageKind::Violation(json.to_string().into()), out);
    }
}

/// Runs a step of the engine and turns its effects into actions.
pub(super) fn step(
    plan: &RolePlan,
    id: SessionId,
    session: &mut RoleSession,
    out: &mut Vec<SessionAction>,
    act: impl FnOnce(&Engine, &mut Run<Payload>, &mut dyn FnMut(Effect<Payload>)),
) {
    // A message that only a property suppresses has not happened.
    let before = suppresses(plan).then(|| session.run.clone());
    let mut effects = Vec::new();
    act(&plan.engine, &mut session.run, &mut |effect| effects.push(effect));
    for effect in effects {
        match (observe(plan, id, session, &effect, out), &before) {
            (Seen::Passes, _) => {}
            (Seen::Suppressed, Some(before)) => {
                session.run = before.clone();
                // Some of it may have been given.
                plan.engine.forget_times(&mut session.run);
                return;
            }
            _ => return,
        }
        match effect {
            Effect::Deliver { from, message } => {
                let vocabulary = plan.engine.vocabulary();
                let to = plan.engine.role();
                session.recent.push((from, to), (&message, false), plan.redacts, vocabulary);
                let endpoint = plan.endpoint_with(from);
                let gives_context = plan.gives_trace_context && plan.endpoint(endpoint).rules.is_service();
                let bytes =
                    if gives_context { session.span(id, plan).give(&message.bytes) } else { message.bytes };
                session.give(&bytes, plan);
                out.push(SessionAction::Deliver(id, endpoint, bytes));
            }
            Effect::DeliverDependency { from, label } => {
                let bytes = plan.dependency(from, label);
                session.give(&bytes, plan);
                out.push(SessionAction::Deliver(id, 0, bytes));
            }
            Effect::Send { to, message, finding } => {
                let is_wrong = !matches!(finding, Judgement::Right);
                let vocabulary = plan.engine.vocabulary();
                let from = plan.engine.role();
                session.recent.push((from, to), (&message, is_wrong), plan.redacts, vocabulary);
                let weight = message.weight();
                session.bytes[0] += message.bytes.len() as u64;
                count_in_flight(session, to, weight);
                let kind = match finding {
                    Judgement::Right => MessageKind::Message(message),
                    Judgement::Misstep => MessageKind::Misstep(message),
                    Judgement::Wrong => MessageKind::Wrong(message),
                };
                send(session, id, to, kind, out);
            }
            Effect::Inform { to, label } => {
                let label = plan.engine.vocabulary().label_name(label);
                count_in_flight(session, to, label.len());
                send(session, id, to, MessageKind::Dependency(label.into()), out);
            }
            Effect::Report(notice) => {
                let mut notice = excuse(plan, session, notice);
                if plan.redacts {
                    notice.withhold_values(plan.engine.vocabulary());
                }
                notify_others(plan, id, session, &notice, out);
                out.push(Finding::action(plan, id, session, notice, true));
            }
            Effect::Untimely { notice, certain } => {
                let mut record = violation::record(&notice, plan.engine.vocabulary());
                record.certain = certain;
                record.action = notice.got.is_some().then_some(VerdictAction::Forwarded);
                if !certain {
                    record.message += IN_DOUBT;
                }
                out.push(Finding::with_record(plan, id, session, notice, true, Some(Box::new(record))));
            }
            Effect::Tell(notice) => out.push(Finding::action(plan, id, session, notice, false)),
            Effect::Finished => {}
        }
    }
}

/// `notice`, as a fault if it blames a component that was connected to again after a crash and may have lost its state with the
/// connection before.
fn excuse(plan: &RolePlan, session: &RoleSession, notice: Box<Notice>) -> Box<Notice> {
    let own = plan.engine.role();
    if !session.is_resumed_blindly || !notice.blamed.contains(&own) {
        return notice;
    }
    let because = format!(
        "the monitor of `{}` was started anew, and its component does not go on where it was",
        plan.engine.vocabulary().role_name(own)
    );
    let mut fault =
        Notice::fault(own, format!("{because}: {}", notice.sentence), notice.event, notice.halted);
    fault.outline = format!("{because}: {}", notice.outline);
    fault.parties = notice.parties;
    Box::new(fault)
}

fn count_in_flight(session: &mut RoleSession, to: Role, weight: usize) {
    if let Some(peer) = session.peers.get_mut(to.index()) {
        peer.in_flight.0 += 1;
        peer.in_flight.1 += weight;
    }
}
