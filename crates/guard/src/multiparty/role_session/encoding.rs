//! The encoding of a session for the state log.

use std::collections::VecDeque;
use std::time::Duration;

use hyper::body::Bytes;

use super::{Peer, Phase, RoleSession};
use crate::multiparty::peer_message::{read_payload, write_payload};
use crate::multiparty::plan::RolePlan;
use crate::multiparty::trace_context::TraceContext;
use referee_session::role::payload::{put_block, take, take_block};

/// Flags of a session: its component was there; it has a trace context.
const PRESENT: u8 = 1;
const TRACED: u8 = 2;
/// Encodes an unknown state.
const NO_STATE: u32 = u32::MAX;

impl RoleSession {
    /// Encodes the session; what was sent to the component is logged beside it.
    pub(in crate::multiparty) fn save(&self, plan: &RolePlan) -> Bytes {
        let mut out = Vec::with_capacity(256);
        let phase = match self.phase {
            Phase::Inviting => 0,
            Phase::Invited => 1,
            Phase::Ready => 2,
            Phase::Running => 3,
            Phase::AwaitingComponent => 4,
        };
        let present = if self.component_connected || self.away.is_some() { PRESENT } else { 0 };
        out.extend([phase, present | if self.context.is_some() { TRACED } else { 0 }]);
        for number in [self.number, self.messages, self.bytes[0], self.bytes[1], self.taken, self.given] {
            out.extend(number.to_le_bytes());
        }
        out.extend((self.undelivered - self.repeated).to_le_bytes());
        out.extend(self.owed.to_le_bytes());
        put_block(self.key.as_deref().unwrap_or_default().as_bytes(), &mut out);
        if let Some(context) = &self.context {
            context.write(&mut out);
        }
        for peer in &self.peers {
            for number in [peer.sent, peer.expected, peer.in_flight.0, peer.taken.0, peer.taken.1] {
                out.extend(number.to_le_bytes());
            }
            out.extend((peer.in_flight.1 as u64).to_le_bytes());
            out.extend(peer.state.unwrap_or(NO_STATE).to_le_bytes());
            out.extend([u8::from(peer.joined), u8::from(peer.ended)]);
            let held: Vec<u8> = peer.held.iter().flat_map(|weight| weight.to_le_bytes()).collect();
            put_block(&held, &mut out);
        }
        out.extend(plan.engine.save(&self.run, write_payload));
        out.into()
    }

    /// Decodes what [`save`](Self::save) wrote. A component that was connected is away now.
    pub(in crate::multiparty) fn restore(
        plan: &RolePlan,
        bytes: &Bytes,
        kept: VecDeque<Bytes>,
        now: Duration,
    ) -> Option<Self> {
        let mut rest: &[u8] = bytes;
        let [phase, flags] = take(&mut rest)?;
        let phase = match phase {
            0 => Phase::Inviting,
            1 => Phase::Invited,
            2 => Phase::Ready,
            3 => Phase::Running,
            4 => Phase::AwaitingComponent,
            _ => return None,
        };
        let mut session = Self::new(plan, phase, u64::from_le_bytes(take(&mut rest)?), now);
        let mut number = || Some(u64::from_le_bytes(take(&mut rest)?));
        session.messages = number()?;
        session.bytes = [number()?, number()?];
        (session.taken, session.given) = (number()?, number()?);
        session.undelivered = u32::from_le_bytes(take(&mut rest)?);
        session.owed = u32::from_le_bytes(take(&mut rest)?);
        let key = std::str::from_utf8(take_block(&mut rest)?).ok()?;
        session.key = (!key.is_empty()).then(|| key.into());
        if flags & TRACED != 0 {
            session.context = Some(TraceContext::read(&mut rest)?);
        }
        for peer in &mut session.peers {
            *peer = read_peer(&mut rest)?;
        }
        let copy = |bytes: &[u8]| read_payload(Bytes::copy_from_slice(bytes));
        session.run = plan.engine.restore(rest, copy).ok()?;
        (session.component_connected, session.away) = (false, (flags & PRESENT != 0).then_some(now));
        session.kept = kept;
        session.unwritten =
            session.kept.iter().rev().take(session.undelivered as usize).map(Bytes::len).sum();
        let whole =
            session.kept.len() as u64 <= session.given && session.kept.len() >= session.undelivered as usize;
        whole.then_some(session)
    }
}

fn read_peer(rest: &mut &[u8]) -> Option<Peer> {
    let mut number = || Some(u32::from_le_bytes(take(rest)?));
    let (sent, expected, flying) = (number()?, number()?, number()?);
    let taken = (number()?, number()?);
    let in_flight = (flying, usize::try_from(u64::from_le_bytes(take(rest)?)).ok()?);
    let state = Some(u32::from_le_bytes(take(rest)?)).filter(|state| *state != NO_STATE);
    let [joined, ended] = take(rest)?;
    let (held, cut) = take_block(rest)?.as_chunks();
    let held = held.iter().map(|weight| u32::from_le_bytes(*weight)).collect();
    cut.is_empty().then_some(Peer {
        sent,
        expected,
        in_flight,
        held,
        taken,
        state,
        joined: joined == 1,
        ended: ended == 1,
    })
}
