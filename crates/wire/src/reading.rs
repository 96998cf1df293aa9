//! Readings: what the state of a session says about the next bytes.
//!
//! `250 ok` may be the answer to several commands, and after `354` a client's line is no command at all. The
//! messages that the protocol takes at a position decide, and they are known before the bytes are.

use referee_monitor::{Ahead, Monitor, Position};
use referee_theory::{Action, State, Transition};

use crate::codec::Codec;
use crate::error::TableError;
use crate::signature::{MessageId, Sender};

/// How to read one side's next message.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'r> {
    /// The messages that the protocol takes, as bits.
    possible: &'r [u64],
    pub(crate) mode: Mode,
}

/// What kind of thing comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// What the codec usually reads.
    Usual,
    /// A block: everything until its end is this message.
    Block(MessageId),
    /// A frame without a tag.
    Untagged,
}

impl Reading<'_> {
    /// Where nothing is known of the session, for instance after a violation was let through: any message.
    #[must_use]
    pub fn anything() -> Self {
        Self { possible: &[], mode: Mode::Usual }
    }

    /// Whether the protocol takes `message`.
    #[inline]
    pub(crate) fn takes(&self, message: MessageId) -> bool {
        is_set(self.possible, message.index())
    }
}

/// What may come next, where no monitor says so.
#[derive(Clone, Debug)]
pub struct Expected {
    possible: Vec<u64>,
    mode: Mode,
}

impl Expected {
    /// How to read where exactly `messages` of `codec` may come.
    ///
    /// # Errors
    /// If they cannot be told apart.
    pub fn new(codec: &Codec, messages: &[MessageId]) -> Result<Self, TableError> {
        let mut possible = vec![0; codec.messages().len().div_ceil(64).max(1)];
        messages.iter().for_each(|id| set(&mut possible, id.index()));
        Ok(Self { possible, mode: codec.mode(messages)? })
    }

    /// The reading.
    #[must_use]
    pub fn reading(&self) -> Reading<'_> {
        Reading { possible: &self.possible, mode: self.mode }
    }
}

/// The readings of every position of a monitor, for one codec.
#[derive(Clone, Debug)]
pub struct Readings {
    words: usize,
    bits: Vec<u64>,
    /// For each position, the client's and the server's; none where the states of a position differ.
    modes: Vec<[Option<Mode>; 2]>,
    /// The client's and the server's messages that are no part of the protocol.
    asides: [Vec<u64>; 2],
    /// The messages that may be answered by one that switches to something else.
    asks: Vec<u64>,
}

impl Readings {
    /// The readings of `codec` at the positions of `ahead`, which was made for `monitor`.
    ///
    /// # Errors
    /// If in some state a block and something else could come, so that the bytes cannot be told apart.
    pub fn new(codec: &Codec, monitor: &Monitor, ahead: &Ahead) -> Result<Self, Vec<TableError>> {
        let words = codec.messages().len().div_ceil(64).max(1);
        let (machine, vocabulary) = (monitor.machine(), monitor.vocabulary());
        let asides = Sender::BOTH.map(|sender| {
            let mut bits = vec![0; words];
            codec.asides(sender).for_each(|id| set(&mut bits, id.index()));
            bits
        });
        let bits = vec![0; ahead.positions().len() * 2 * words];
        let asks = asks(codec, monitor, words);
        let mut readings = Self { words, bits, modes: Vec::new(), asides, asks };
        let mut errors: Vec<TableError> = Vec::new();
        for (position, states) in ahead.positions().iter().enumerate() {
            let mut modes = [None, None];
            for sender in Sender::BOTH {
                let action = if codec.is_process(sender) { Action::Send } else { Action::Receive };
                let mut mode: Option<Option<Mode>> = None;
                let mut common: Option<Vec<MessageId>> = None;
                for &state in states {
                    let labels = machine.transitions(state).iter().filter(|t| t.action == action);
                    let ids: Vec<MessageId> =
                        labels.filter_map(|t| codec.find(sender, vocabulary.label_of(t.message))).collect();
                    let here = codec.mode(&ids).map_err(|error| {
                        if !errors.contains(&error) {
                            errors.push(error);
                        }
                    });
                    mode = Some(mode.map_or(here.ok(), |other| other.filter(|other| here == Ok(*other))));
                    // Ahead of its turn only what is possible either way can go on.
                    common = Some(match common {
                        Some(common) => common.into_iter().filter(|id| ids.contains(id)).collect(),
                        None => ids,
                    });
                }
                // What the monitor is not asked about may come anywhere.
                for id in common.into_iter().flatten().chain(codec.asides(sender)) {
                    set(&mut readings.bits, (position * 2 + sender.index()) * words * 64 + id.index());
                }
                if let Some(slot) = modes.get_mut(sender.index()) {
                    *slot = mode.flatten();
                }
            }
            readings.modes.push(modes);
        }
        if errors.is_empty() { Ok(readings) } else { Err(errors) }
    }

    /// How to read `sender`'s next message at `position`. `None`: that depends on what the other side says next.
    #[must_use]
    #[inline]
    pub fn at(&self, sender: Sender, position: Position) -> Option<Reading<'_>> {
        self.get(sender, position.index())
    }

    /// How to read a message of `sender` where it must not speak: as one that may come anywhere, if it can be one.
    #[must_use]
    pub fn out_of_turn(&self, sender: Sender) -> Reading<'_> {
        let possible = self.asides.get(sender.index()).map_or(&[][..], |bits| bits);
        Reading { possible, mode: Mode::Usual }
    }

    /// Whether the other side may answer `message` by switching to something that cannot be read (`then = "switch"`), TLS
    /// for instance. Whatever its sender says before that answer would be read as part of what follows it: it has to wait, and
    /// if that answer comes, it is wrong.
    #[must_use]
    #[inline]
    pub fn asks(&self, message: MessageId) -> bool {
        is_set(&self.asks, message.index())
    }

    /// How to read `sender`'s next message before anything has happened.
    #[must_use]
    pub fn start(&self, sender: Sender) -> Reading<'_> {
        self.get(sender, 0).unwrap_or(Reading::anything())
    }

    #[inline]
    fn get(&self, sender: Sender, position: usize) -> Option<Reading<'_>> {
        let mode = (*self.modes.get(position)?.get(sender.index())?)?;
        let start = (position * 2 + sender.index()) * self.words;
        Some(Reading { possible: self.bits.get(start..start + self.words)?, mode })
    }
}

/// The messages of `codec` that the other side may answer, perhaps after others, with one that switches to something else.
fn asks(codec: &Codec, monitor: &Monitor, words: usize) -> Vec<u64> {
    let (machine, vocabulary) = (monitor.machine(), monitor.vocabulary());
    let mut bits = vec![0; words];
    if !codec.messages().iter().any(|known| known.switches) {
        return bits;
    }
    for sender in Sender::BOTH {
        let own = if codec.is_process(sender) { Action::Send } else { Action::Receive };
        let id = |who: Sender, t: &Transition| codec.find(who, vocabulary.label_of(t.message));
        let ends = |t: &Transition| {
            let known = id(sender.other(), t).and_then(|id| codec.messages().get(id.index()));
            known.is_some_and(|known| known.switches)
        };
        // The states in which the other side may say so next: a fixed point, small because few messages do.
        let mut near = vec![false; machine.state_count()];
        let mut grew = true;
        while std::mem::take(&mut grew) {
            // From the last to the first: along a chain of answers that is one pass.
            for index in (0..near.len()).rev() {
                let leads = |t: &&Transition| {
                    t.action != own && (ends(t) || near.get(t.target.index()).is_some_and(|near| *near))
                };
                let state = State(u32::try_from(index).unwrap_or(u32::MAX));
                if !near[index] && machine.transitions(state).iter().any(|t| leads(&t)) {
                    (near[index], grew) = (true, true);
                }
            }
        }
        for transition in machine.all_transitions().iter().filter(|t| t.action == own) {
            if near[transition.target.index()]
                && let Some(id) = id(sender, transition)
            {
                set(&mut bits, id.index());
            }
        }
    }
    bits
}

fn is_set(bits: &[u64], index: usize) -> bool {
    bits.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
}

fn set(bits: &mut [u64], index: usize) {
    if let Some(word) = bits.get_mut(index / 64) {
        *word |= 1 << (index % 64);
    }
}
