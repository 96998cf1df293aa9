//! What an engine and its driver tell each other about time (`docs/time.md`, section 1).
//!
//! There is no clock here. The driver says when bytes arrived and when they were handed on, each as an interval; the engine says when it
//! wants to be asked next ([`Engine::wake_at`](crate::Engine::wake_at)); the driver then looks at the socket and tells what it saw.

use referee_monitor::Moment;

/// What is done about the times of a protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deadlines {
    /// They are not looked at.
    #[default]
    Off,
    /// What is not in time is reported, and nothing else.
    Report,
    /// A missed deadline is treated as the policy treats a violation.
    Enforce,
}

/// When the bytes arrived that are shown next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The first of them.
    pub first: Moment,
    /// Any of them.
    pub any: Moment,
    /// Whether the first was read at once, as far as is known.
    pub is_prompt: bool,
}

/// What is read so long after it can have arrived was read at once.
pub const PROMPT: i64 = 100_000_000;

impl Arrival {
    /// All of them arrived in `moment`.
    #[must_use]
    pub fn at(moment: Moment) -> Self {
        Self {
            first: moment,
            any: moment,
            is_prompt: moment.latest.saturating_sub(moment.earliest) <= PROMPT,
        }
    }
}

/// What a driver has seen of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// All that had arrived before this was read.
    pub read: Option<i64>,
    /// All that had arrived before this was decided, nothing for the side is unsent, and nothing keeps it from being read.
    pub decided: Option<i64>,
    /// Nobody can tell whether something has arrived that was not read.
    pub is_blind: bool,
}

/// When the bytes of one side arrived, as far as looks at its socket show: the interval from the clock *before* the last look that
/// showed that a byte was not there to the clock *after* the read that brought it. A driver that was stopped has long intervals.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    /// How many bytes were read.
    read: u64,
    /// The last look: the clock before it, and the number of the first byte that was not there.
    look: (i64, u64),
    /// The clock before the last look that showed that the next byte was not there, if the last look showed that it was.
    older: i64,
    /// The first byte that was read and is not decided.
    first: Moment,
    /// The last bytes that were read, and how many.
    newest: (Moment, usize),
    /// Whether the side was not read from for a while, and may have been unable to write.
    is_blocked: bool,
    /// Whatever arrives is read at once since then, unless the side is not read from.
    awake: i64,
    /// Whether the first byte that is not decided was read at once, and the last bytes that were read.
    is_prompt: [bool; 2],
}

impl Arrivals {
    /// Of a connection that began when `began` says.
    #[must_use]
    pub fn new(began: Moment) -> Self {
        let Moment { earliest, latest } = began;
        let first = Moment { earliest, latest };
        Self {
            read: 0,
            look: (earliest, 0),
            older: earliest,
            first,
            newest: (first, 0),
            is_blocked: false,
            awake: i64::MIN,
            is_prompt: [true; 2],
        }
    }

    /// Whoever reads has been at work since `time`: what had arrived before that was read, unless the side was not read from.
    pub fn note_awake(&mut self, time: i64) {
        self.awake = if self.is_blocked { i64::MIN } else { time };
    }

    /// A read brought `count` bytes, between the clock's `before` and `after`; `undecided` were there already. If it could have
    /// brought more, it `is_look`.
    pub fn note_read(&mut self, (before, after): (i64, i64), count: usize, undecided: usize, is_look: bool) {
        let (time, mark) = self.look;
        let earliest = if self.read >= mark { time } else { self.older };
        let moment = Moment { earliest, latest: after };
        let is_prompt = after.saturating_sub(earliest.max(self.awake)) <= PROMPT;
        if undecided == 0 {
            self.first = moment;
            self.is_prompt[0] = is_prompt;
        }
        self.is_prompt[1] = is_prompt;
        self.newest = (moment, count);
        self.read += count as u64;
        if is_look {
            self.look = (before, self.read);
            self.older = before;
        }
    }

    /// A look at `before`, by the clock, showed that `waiting` bytes were there to be read.
    pub fn note_look(&mut self, before: i64, waiting: u64) {
        let (time, mark) = self.look;
        if self.read >= mark {
            self.older = time;
        }
        self.look = (before, self.read.saturating_add(waiting));
    }

    /// All but the last `undecided` bytes are decided now, and were not before.
    pub fn note_decided(&mut self, undecided: usize) {
        let (moment, count) = self.newest;
        let [first, newest] = self.is_prompt;
        (self.first, self.is_prompt[0]) =
            if undecided <= count { (moment, newest) } else { (self.first.or(moment), first && newest) };
    }

    /// When the last `shown` bytes arrived; `from_first` if that is all that was not decided before.
    #[must_use]
    pub fn arrival(&self, shown: usize, from_first: bool) -> Arrival {
        let (moment, count) = self.newest;
        let [first, newest] = self.is_prompt;
        if shown <= count {
            return Arrival { first: moment, any: moment, is_prompt: newest };
        }
        let any = self.first.or(moment);
        let is_prompt = first && (from_first || newest);
        Arrival { first: if from_first { self.first } else { any }, any, is_prompt }
    }

    /// Everything that had arrived before this was read; `None` if that cannot be said.
    #[must_use]
    pub fn read_until(&self) -> Option<i64> {
        let (time, mark) = self.look;
        (self.read >= mark).then_some(time)
    }

    /// Everything that had arrived before this was decided, `undecided` bytes being left; `None` if that cannot be said.
    #[must_use]
    pub fn seen_until(&self, undecided: usize) -> Option<i64> {
        let (time, mark) = self.look;
        (self.read.saturating_sub(undecided as u64) >= mark).then_some(time)
    }

    /// The side is not read from.
    pub fn block(&mut self) {
        self.is_blocked = true;
    }

    /// Whether the side was not read from, and now the last look has shown nothing more of it.
    pub fn unblock(&mut self) -> bool {
        self.is_blocked && self.read >= self.look.1 && std::mem::take(&mut self.is_blocked)
    }

    /// Whether the side was not read from for a while, and has not been read to its last byte since.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }
}
