//! Components that send nothing more, and whether that is their end: over TCP, who has shut down its own direction cannot be
//! told from who has gone.

use std::time::Instant;

use referee_monitor::Party;
use referee_monitor::multiparty::{Effect, Status, Turn};

use super::{Order, Roster};
use crate::multiparty::letter::SessionId;
use crate::multiparty::parcel::{Parcel, lend};
use crate::multiparty::seat::Phase;

impl Roster {
    /// The component of session `id` sends nothing more, but may still read. Whether it is to be given what comes: if it
    /// has nothing left to say, however the session goes on; or else why it ended too early.
    pub(in crate::multiparty) fn hushes(
        &mut self,
        id: SessionId,
        now: Instant,
        out: &mut Vec<Order>,
    ) -> bool {
        let Some(seat) = self.seats.get(&id) else { return false };
        let (engine, run) = (&self.plan.engine, &seat.run);
        let over = run.status() != Status::Running || matches!(engine.turn(run), Turn::End);
        if seat.phase != Phase::Running || over {
            return false;
        }
        if !engine.has_said_all(run) {
            self.component_gone(id, now, out);
        }
        true
    }

    /// The component of session `id` sends nothing more after `last`, which has to wait because others do not take what it
    /// sent before. If it would have to send more after it, whatever others do, it has ended too early, and that is known
    /// already.
    pub(in crate::multiparty) fn hushes_after(
        &mut self,
        id: SessionId,
        last: &Parcel,
        now: Instant,
        out: &mut Vec<Order>,
    ) {
        let Some(seat) = self.seats.get(&id) else { return };
        let (engine, mut run) = (&self.plan.engine, seat.run.clone());
        let Ok(label) = &last.label else { return };
        let to = self.plan.receiver(run.state(), label).map_or(Party::Stranger, Party::Role);
        let mut wrong = false;
        let mut note = |effect: Effect<Parcel>| wrong |= matches!(effect, Effect::Report(_));
        let sent = engine.component_sends(&mut run, to, last.clone(), &lend, &mut note);
        let running = seat.phase == Phase::Running && run.status() == Status::Running;
        if sent.is_ok() && running && !wrong && matches!(engine.turn(&run), Turn::Component) {
            self.component_gone(id, now, out);
        }
    }
}
