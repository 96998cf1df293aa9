//! A session at a role as bytes, for the diary.

use std::collections::VecDeque;
use std::time::Instant;

use hyper::body::Bytes;

use super::{Peer, Phase, Seat};
use crate::multiparty::letter::{read_parcel, write_parcel};
use crate::multiparty::parcel::{put_block, take, take_block};
use crate::multiparty::plan::RolePlan;

/// There is no such state.
const NOWHERE: u32 = u32::MAX;

impl Seat {
    /// How it stands; what was given to the component is kept beside it.
    pub(in crate::multiparty) fn save(&self, plan: &RolePlan) -> Bytes {
        let mut out = Vec::with_capacity(256);
        let phase = match self.phase {
            Phase::Inviting => 0,
            Phase::Invited => 1,
            Phase::Seated => 2,
            Phase::Running => 3,
            Phase::Awaited => 4,
        };
        out.extend([phase, u8::from(self.attended || self.away.is_some())]);
        for number in [self.number, self.messages, self.bytes[0], self.bytes[1], self.taken, self.given] {
            out.extend(number.to_le_bytes());
        }
        out.extend((self.undelivered - self.repeated).to_le_bytes());
        out.extend(self.owed.to_le_bytes());
        put_block(self.key.as_deref().unwrap_or_default().as_bytes(), &mut out);
        for peer in &self.peers {
            for number in [peer.sent, peer.expected, peer.flight.0, peer.taken.0, peer.taken.1] {
                out.extend(number.to_le_bytes());
            }
            out.extend((peer.flight.1 as u64).to_le_bytes());
            out.extend(peer.state.unwrap_or(NOWHERE).to_le_bytes());
            out.extend([u8::from(peer.joined), u8::from(peer.ended)]);
            let held: Vec<u8> = peer.held.iter().flat_map(|weight| weight.to_le_bytes()).collect();
            put_block(&held, &mut out);
        }
        out.extend(plan.engine.save(&self.run, write_parcel));
        out.into()
    }

    /// What [`save`](Self::save) wrote. A component that was there is away now.
    pub(in crate::multiparty) fn restore(
        plan: &RolePlan,
        bytes: &Bytes,
        kept: VecDeque<Bytes>,
        now: Instant,
    ) -> Option<Self> {
        let mut rest: &[u8] = bytes;
        let [phase, present] = take(&mut rest)?;
        let phase = match phase {
            0 => Phase::Inviting,
            1 => Phase::Invited,
            2 => Phase::Seated,
            3 => Phase::Running,
            4 => Phase::Awaited,
            _ => return None,
        };
        let mut seat = Self::new(plan, phase, u64::from_le_bytes(take(&mut rest)?), now);
        let mut number = || Some(u64::from_le_bytes(take(&mut rest)?));
        seat.messages = number()?;
        seat.bytes = [number()?, number()?];
        (seat.taken, seat.given) = (number()?, number()?);
        seat.undelivered = u32::from_le_bytes(take(&mut rest)?);
        seat.owed = u32::from_le_bytes(take(&mut rest)?);
        let key = std::str::from_utf8(take_block(&mut rest)?).ok()?;
        seat.key = (!key.is_empty()).then(|| key.into());
        for peer in &mut seat.peers {
            *peer = read_peer(&mut rest)?;
        }
        let copy = |bytes: &[u8]| read_parcel(Bytes::copy_from_slice(bytes));
        seat.run = plan.engine.restore(rest, copy).ok()?;
        (seat.attended, seat.away) = (false, (present == 1).then_some(now));
        seat.kept = kept;
        seat.unwritten = seat.kept.iter().rev().take(seat.undelivered as usize).map(Bytes::len).sum();
        let whole = seat.kept.len() as u64 <= seat.given && seat.kept.len() >= seat.undelivered as usize;
        whole.then_some(seat)
    }
}

fn read_peer(rest: &mut &[u8]) -> Option<Peer> {
    let mut number = || Some(u32::from_le_bytes(take(rest)?));
    let (sent, expected, flying) = (number()?, number()?, number()?);
    let taken = (number()?, number()?);
    let flight = (flying, usize::try_from(u64::from_le_bytes(take(rest)?)).ok()?);
    let state = Some(u32::from_le_bytes(take(rest)?)).filter(|state| *state != NOWHERE);
    let [joined, ended] = take(rest)?;
    let (held, cut) = take_block(rest)?.as_chunks();
    let held = held.iter().map(|weight| u32::from_le_bytes(*weight)).collect();
    cut.is_empty().then_some(Peer {
        sent,
        expected,
        flight,
        held,
        taken,
        state,
        joined: joined == 1,
        ended: ended == 1,
    })
}
