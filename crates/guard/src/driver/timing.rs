//! When bytes arrive and are handed on, for engines that judge times. What the clock says *before* a look at a socket and *after* a read or
//! a write is what counts: a driver that was stopped in between knows less, and blames nobody for it.

use referee_monitor::Moment;
use referee_session::{Arrival, Arrivals, Engine, Seen};
use referee_wire::Sender;
use tokio::io::{AsyncRead, AsyncWrite};

use super::pulse::Pulse;
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
    /// Whether it matters since when the thread is at work.
    pub(super) pulse: Option<Pulse>,
}

impl Timing {
    pub(super) fn new(began: Moment) -> Self {
        Self { arrivals: [Arrivals::new(began); 2], writing: [None; 2], pulse: None }
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
        if timing.pulse.is_some() {
            arrivals.note_awake(Pulse::since());
        }
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
            let now = clock::now();
            let seen = Sender::BOTH.map(|sender| self.look(sender, now, engine));
            engine.expire(clock::now(), seen);
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

    /// The engine wants to be asked since `time`: looks whether the sides have said something.
    pub(super) fn wake<E: Engine>(&mut self, time: i64, engine: &mut E) -> Result<(), EndReason> {
        let seen = Sender::BOTH.map(|sender| self.look(sender, time, engine));
        engine.wake(clock::now(), seen)
    }

    /// What is seen of `sender`: if that is not known up to `time`, by a look at its socket.
    fn look<E: Engine>(&mut self, sender: Sender, time: i64, engine: &mut E) -> Seen {
        // What is for it and unsent, and what it cannot send, is not its fault.
        let may_answer = self.may_read(sender, engine) && self.endpoints[sender.index()].is_flushed();
        let endpoint = &self.endpoints[sender.index()];
        let (undecided, Some(timing)) = (endpoint.inbox.len(), &mut self.timing) else {
            return Seen::default();
        };
        let arrivals = &mut timing.arrivals[sender.index()];
        let mut is_blind = false;
        if arrivals.read_until().is_none_or(|read| read < time) {
            let before = clock::now();
            match endpoint.stream.waiting() {
                Some(waiting) => arrivals.note_look(before, waiting),
                None => is_blind = true,
            }
        }
        if may_answer && arrivals.unblock() {
            engine.note_writable(sender, clock::now());
        }
        let decided = arrivals.seen_until(undecided).filter(|_| may_answer && !arrivals.is_blocked());
        Seen { read: arrivals.read_until(), decided, is_blind }
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
