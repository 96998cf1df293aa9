//! What a session's engine asks for, as orders: letters to other monitors, bytes for the component, notices.

use hyper::body::Bytes;
use referee_monitor::multiparty::{Effect, Engine, Finding, Notice, Run};
use referee_theory::Role;

use super::Order;
use crate::multiparty::letter::{Letter, Matter, SessionId};
use crate::multiparty::parcel::Parcel;
use crate::multiparty::plan::RolePlan;
use crate::multiparty::seat::Seat;
use crate::multiparty::violation;

/// Writes a letter of `seat` to the monitor of `to`.
pub(super) fn post(seat: &mut Seat, session: SessionId, to: Role, matter: Matter, out: &mut Vec<Order>) {
    let state = seat.run.state().0;
    let Some(peer) = seat.peers.get_mut(to.index()) else { return };
    let number = peer.sent;
    peer.sent += 1;
    out.push(Order::Letter(to, Letter { session, number, state, matter }));
}

pub(super) fn tell_others(
    plan: &RolePlan,
    id: SessionId,
    seat: &mut Seat,
    notice: &Notice,
    out: &mut Vec<Order>,
) {
    let json = Bytes::from(violation::to_json(notice, plan.engine.vocabulary()).to_string());
    for role in &plan.others {
        post(seat, id, *role, Matter::Violation(json.clone()), out);
    }
}

/// Lets the engine do something, and turns what it asks for into orders.
pub(super) fn step(
    plan: &RolePlan,
    id: SessionId,
    seat: &mut Seat,
    out: &mut Vec<Order>,
    act: impl FnOnce(&Engine, &mut Run<Parcel>, &mut dyn FnMut(Effect<Parcel>)),
) {
    let mut effects = Vec::new();
    act(&plan.engine, &mut seat.run, &mut |effect| effects.push(effect));
    for effect in effects {
        match effect {
            Effect::Deliver { message, .. } => {
                seat.give(&message.bytes, plan);
                out.push(Order::Deliver(id, message.bytes));
            }
            Effect::DeliverDependency { from, label } => {
                let bytes = plan.dependency(from, label);
                seat.give(&bytes, plan);
                out.push(Order::Deliver(id, bytes));
            }
            Effect::Send { to, message, finding } => {
                let weight = message.weight();
                fly(seat, to, weight);
                let matter = match finding {
                    Finding::Right => Matter::Message(message),
                    Finding::Misstep => Matter::Misstep(message),
                    Finding::Wrong => Matter::Wrong(message),
                };
                post(seat, id, to, matter, out);
            }
            Effect::Inform { to, label } => {
                let label = plan.engine.vocabulary().label_name(label);
                fly(seat, to, label.len());
                post(seat, id, to, Matter::Dependency(label.into()), out);
            }
            Effect::Report(notice) => {
                tell_others(plan, id, seat, &notice, out);
                out.push(Order::Notice(id, seat.number, notice, true));
            }
            Effect::Tell(notice) => out.push(Order::Notice(id, seat.number, notice, false)),
            Effect::Finished => {}
        }
    }
}

fn fly(seat: &mut Seat, to: Role, weight: usize) {
    if let Some(peer) = seat.peers.get_mut(to.index()) {
        peer.flight.0 += 1;
        peer.flight.1 += weight;
    }
}
