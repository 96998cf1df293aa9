//! Sessions of a process that was killed: how they are remembered, and how their components come back.

use std::collections::VecDeque;
use std::time::Instant;

use hyper::body::Bytes;

use super::{Order, Roster};
use crate::multiparty::letter::SessionId;
use crate::multiparty::plan::Place;
use crate::multiparty::seat::{Phase, Seat};

impl Roster {
    /// The session whose component calls itself `key`.
    pub(in crate::multiparty) fn find(&self, key: &str) -> Option<SessionId> {
        self.keys.get(key).copied()
    }

    /// How many messages of the component of session `id` were taken, if it is away.
    pub(in crate::multiparty) fn awaits(&self, id: SessionId) -> Option<u64> {
        self.seats.get(&id).filter(|seat| seat.away.is_some()).map(|seat| seat.taken)
    }

    /// A session of a process that was killed, as [`Seat::save`] wrote it, and what its component was given of late.
    pub(in crate::multiparty) fn restore(
        &mut self,
        id: SessionId,
        bytes: &Bytes,
        kept: VecDeque<Bytes>,
        now: Instant,
        out: &mut Vec<Order>,
    ) {
        let Some(seat) = Seat::restore(&self.plan, bytes, kept, now) else {
            tracing::error!(session = %id, "what is remembered of a session makes no sense");
            self.changed.push(id);
            return;
        };
        self.begun = self.begun.max(seat.number);
        let invited = matches!(seat.phase, Phase::Invited | Phase::Awaited);
        let key = seat.key.clone();
        self.seats.insert(id, seat);
        self.call(id, key);
        if !self.plan.resumes {
            let name = self.name(self.plan.engine.role());
            self.fault(id, format!("the monitor of {name} was started anew"), now, out);
        } else if invited || matches!(self.plan.place, Place::Connect(_)) {
            out.push(Order::Seat(id));
        }
    }

    /// The component of session `id` is back, and has `received` so many messages.
    ///
    /// # Errors
    /// Why it cannot go on.
    pub(in crate::multiparty) fn resume(
        &mut self,
        id: SessionId,
        received: Option<u64>,
        now: Instant,
        out: &mut Vec<Order>,
    ) -> Result<(), &'static str> {
        let seat = self.seats.get_mut(&id).ok_or("there is no such session")?;
        let again = seat.resume(received, now)?;
        out.extend(again.into_iter().map(|bytes| Order::Again(id, bytes)));
        out.push(Order::Wake(id));
        self.changed.push(id);
        self.settle(id, now, out);
        Ok(())
    }

    /// How session `id` stands, for the diary, and the number of the first message to its component that may be needed
    /// again. `None` if it is over.
    pub(in crate::multiparty) fn save(&self, id: SessionId) -> Option<(u64, Bytes)> {
        self.seats.get(&id).map(|seat| (seat.first_kept(), seat.save(&self.plan)))
    }
}
