//! What may come later in states in which both sides may speak.
//!
//! Such states are those of blocks side by side. A message that the protocol does not take there is early if its sender can be right all the
//! same: if messages of the other side alone lead to a state that takes it. In the sender's own block nothing else would help, and
//! what follows all blocks has to wait for its own messages (`docs/concurrency.md`, *Whose turn, and blame*).

use referee_theory::Action;
use rustc_hash::FxHashMap;

use super::side_bit;
use crate::dataflow::{Combine, Sets, backward};
use crate::event::Channel;
use crate::labels::LabelId;
use crate::monitor::Monitor;
use crate::session::Session;
use crate::table::NONE;
use crate::verdict::Side;

/// Beyond this many bits no table is made; then everything may come later, and nobody is blamed too early.
const MAX_BITS: usize = 1 << 28;

/// For each state, what each side may say next after messages of the other side.
#[derive(Clone, Debug)]
pub(super) struct Later {
    numbers: FxHashMap<u32, usize>,
    /// Of the process and of the environment; `None` if that is too large.
    sets: Option<[Sets; 2]>,
    /// For each state, whether both sides may speak.
    mixed: Box<[bool]>,
}

impl Later {
    /// `None`: in no state may both sides speak.
    pub(super) fn new(monitor: &Monitor, turns: &[u8]) -> Option<Self> {
        let both = side_bit(Side::Process) | side_bit(Side::Environment);
        let mixed: Box<[bool]> = turns.iter().map(|turns| *turns == both).collect();
        if !mixed.contains(&true) {
            return None;
        }
        let machine = monitor.machine();
        let label = |transition: &referee_theory::Transition| {
            monitor.label(monitor.vocabulary().label_of(transition.message)).0
        };
        let mut numbers = FxHashMap::default();
        for transition in machine.all_transitions() {
            let fresh = numbers.len();
            numbers.entry(label(transition)).or_insert(fresh);
        }
        let width = numbers.len();
        let is_small = width.saturating_mul(machine.state_count()) <= MAX_BITS;
        let of = |own: Action| {
            backward(machine, width, Combine::Any, |transition, row| {
                if transition.action == own
                    && let Some(&number) = numbers.get(&label(transition))
                {
                    row.fill(0);
                    if let Some(word) = row.get_mut(number / 64) {
                        *word |= 1 << (number % 64);
                    }
                }
            })
        };
        let sets = is_small.then(|| [Action::Send, Action::Receive].map(of));
        Some(Self { numbers, sets, mixed })
    }

    /// Whether `side` may say this although the state, in which both may speak, does not take it yet.
    pub(super) fn may_take(
        &self,
        monitor: &Monitor,
        session: &Session,
        channel: Channel,
        side: Side,
        label: LabelId,
    ) -> bool {
        if !self.mixed.get(session.state as usize).is_some_and(|mixed| *mixed)
            || monitor.table.find(session.state, channel, label) != NONE
        {
            return false;
        }
        let Some(&number) = self.numbers.get(&label.0) else { return false };
        let Some([process, environment]) = &self.sets else { return true };
        let sets = if side == Side::Process { process } else { environment };
        sets.contains(session.state, number)
    }
}
