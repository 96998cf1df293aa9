//! When bytes arrive and are handed on, for engines that judge times. What the clock says *before* a look at a socket and *after* a read or
//! a write is what counts: a driver that was stopped in between knows less, and blames nobody for it.

use referee_monitor::Moment;
use referee_session::{Arrival, Arrivals, Engine, Wake};
use referee_wire::Sender;
use tokio::io::{AsyncRead, AsyncWrite};

use super::relay::Relay;
use crate::clock;
use crate::report::EndReason;

/// What a stream tells of what it has received.
pub(crate) trait Look {
    /// How many bytes have arrived that were not read; `None` where that cannot be told, or only that there are some.
    fn waiting(&self) -> Option<u64>;

    /// Whether a read that could have brought more shows that there was nothing more.
    fn reads_all(&self) -> bool;
}

/// The times of a session's bytes.
pub(super) struct Timing {
    /// Of what each side has sent.
    arrivals: [Arrivals; 2],
    /// The clock before the first write of what each side has sent and the other side has not taken whole.
    writing: [Option<i64>; 2],
}

impl Timing {
    pub(super) fn new(began: Moment) -> Self {
        Self { arrivals: [Arrivals::new(began); 2], writing: [None; 2] }
    }

    /// Something of `sender` is about to be written.
    pub(super) fn note_write(&mut self, sender: Sender) {
        if self.writing[sender.index()].is_none() {
            self.writing[sender.index()] = Some(clock::now());
        }
    }

    /// When the last `shown` bytes of `sender` arrived; `from_first` if that is all that was not decided.
    pub(super) fn arrival(&self, sender: Sender, shown: usize, from_first: bool) -> Arrival {
        self.arrivals[sender.index()].arrival(shown, from_first)
    }

    pub(super) fn note_decided(&mut self, sender: Sender, undecided: usize) {
        self.arrivals[sender.index()].note_decided(undecided);
    }
}

impl<S: AsyncRead + AsyncWrite + Look + Unpin> Relay<S> {
    /// A read that began at `before` has brought `read` bytes of `sender`, and could have brought more if it `is_short`.
    pub(super) fn note_read<E: Engine>(
        &mut self,
        sender: Sender,
        before: i64,
        (read, is_short): (usize, bool),
        engine: &mut E,
    ) {
        let endpoint = &self.endpoints[sender.index()];
        let (undecided, is_look) = (endpoint.inbox.len(), is_short && endpoint.stream.reads_all());
        let Some(timing) = &mut self.timing else { return };
        let arrivals = &mut timing.arrivals[sender.index()];
        let after = clock::now();
        arrivals.note_read((before, after), read, undecided, is_look);
        if arrivals.unblock() {
            engine.note_writable(sender, after);
        }
    }

    /// `sender` is not read from, because of the other side.
    pub(super) fn block(&mut self, sender: Sender) {
        if let Some(timing) = &mut self.timing {
            timing.arrivals[sender.index()].block();
        }
    }

    /// A side ends: what could not be decided about deadlines that have passed will not be.
    pub(super) fn expire<E: Engine>(&mut self, engine: &mut E) {
        if self.timing.is_some() {
            engine.expire(clock::now());
        }
    }

    /// If all that `sender` has sent was taken by the other side, the engine is told.
    pub(super) fn note_handed<E: Engine>(&mut self, sender: Sender, engine: &mut E) {
        let sink = &self.endpoints[sender.other().index()];
        let Some(timing) = self.timing.as_mut().filter(|_| sink.is_flushed() && !sink.is_gone()) else {
            return;
        };
        if let Some(earliest) = timing.writing[sender.index()].take() {
            let moment = Moment { earliest, latest: clock::now() };
            engine.note_handed(sender, self.bytes[sender.index()], moment);
        }
    }

    /// It is the time of `wake`: looks whether the side that has to speak has spoken.
    pub(super) fn wake<E: Engine>(&mut self, wake: Wake, engine: &mut E) -> Result<(), EndReason> {
        let Some(sender) = wake.sender else { return engine.wake(None, clock::now()) };
        // What is for it and unsent, and what it cannot send, is not its fault.
        if !self.may_read(sender, engine) || !self.endpoints[sender.index()].is_flushed() {
            return Ok(());
        }
        let endpoint = &self.endpoints[sender.index()];
        let (undecided, Some(timing)) = (endpoint.inbox.len(), &mut self.timing) else { return Ok(()) };
        let arrivals = &mut timing.arrivals[sender.index()];
        if arrivals.seen_until(undecided).is_none_or(|seen| seen < wake.time) {
            let before = clock::now();
            let Some(waiting) = endpoint.stream.waiting() else { return Ok(()) };
            arrivals.note_look(before, waiting);
        }
        if arrivals.unblock() {
            engine.note_writable(sender, clock::now());
        }
        match arrivals.seen_until(undecided).filter(|_| !arrivals.is_blocked()) {
            Some(seen) => engine.wake(Some(sender), seen),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
impl Look for tokio::io::DuplexStream {
    /// Nothing is left of what its driver reads until it is empty.
    fn waiting(&self) -> Option<u64> {
        Some(0)
    }

    fn reads_all(&self) -> bool {
        true
    }
}
