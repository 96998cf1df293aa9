//! Violations that hold whatever the bound, by over-approximation.
//!
//! From one configuration, everything any role could ever do is collected, forgetting how much room channels
//! have and in which order different roles act, but keeping that each channel gives up what it now holds in
//! order. What is impossible even so is impossible in every execution, of any bound: a message that is never
//! received is an orphan, a role that never moves is stuck.

use crate::layout::Layout;
use crate::model::{Model, NEVER_SENT};

/// What can ever happen from a configuration.
#[derive(Debug)]
pub(crate) struct Saturation {
    /// By channel: whether its present head can ever be received.
    pub(crate) received: Vec<bool>,
    /// By role: whether it can ever move.
    pub(crate) moves: Vec<bool>,
    /// By channel and symbol: whether it can ever be sent.
    pub(crate) sent: Vec<Vec<bool>>,
    /// Whether the channel that was held back can ever be read from.
    pub(crate) reads: bool,
}

impl Saturation {
    pub(crate) fn of(model: &Model, layout: &Layout, words: &[u64]) -> Self {
        Self::close(model, layout, words, None)
    }

    /// What can happen before `role` moves and before anything is taken from `channel`; whether that can be, whatever
    /// is in it.
    pub(crate) fn without(model: &Model, layout: &Layout, words: &[u64], role: usize, channel: u32) -> Self {
        Self::close(model, layout, words, Some((role as u32, channel)))
    }

    fn close(model: &Model, layout: &Layout, words: &[u64], without: Option<(u32, u32)>) -> Self {
        let mut state = Closure {
            model,
            without,
            reads: false,
            held: contents(model, layout, words),
            taken: vec![0; model.channels.len()],
            sent: model.channels.iter().map(|channel| vec![false; channel.symbols.len()]).collect(),
            reached: vec![false; model.locals.len()],
            moved: vec![false; model.role_count()],
        };
        for role in 0..model.role_count() {
            state.reached[(model.offsets[role] + layout.local(words, role)) as usize] = true;
        }
        while state.sweep() {}
        let received = state.taken.iter().map(|&taken| taken > 0).collect();
        Self { received, moves: state.moved, sent: state.sent, reads: state.reads }
    }
}

struct Closure<'a> {
    model: &'a Model,
    /// A role that does not move and a channel that is not read from.
    without: Option<(u32, u32)>,
    reads: bool,
    /// What each channel holds at the start.
    held: Vec<Vec<u32>>,
    /// How much of that can be taken.
    taken: Vec<usize>,
    /// What can be sent after that.
    sent: Vec<Vec<bool>>,
    reached: Vec<bool>,
    moved: Vec<bool>,
}

impl Closure<'_> {
    /// Adds what follows in one step; whether anything did.
    fn sweep(&mut self) -> bool {
        let mut changed = false;
        // Nobody may rely on a fault.
        for step in self.model.moves.iter().filter(|step| step.fault.is_none()) {
            let offset = self.model.offsets[step.role as usize];
            let channel = step.channel as usize;
            if !self.reached[(offset + step.source) as usize] || !self.model.channels[channel].usable {
                continue;
            }
            if self.without.is_some_and(|(role, _)| role == step.role) {
                continue;
            }
            if !step.sends && self.without.is_some_and(|(_, channel)| channel == step.channel) {
                self.reads |= step.symbol != NEVER_SENT;
                continue;
            }
            let possible = if step.sends {
                let slot = &mut self.sent[channel][step.symbol as usize];
                changed |= !*slot;
                *slot = true;
                true
            } else {
                step.symbol != NEVER_SENT && self.take(channel, step.symbol, &mut changed)
            };
            if possible {
                let slot = &mut self.reached[(offset + step.target) as usize];
                changed |= !*slot;
                *slot = true;
                let moved = &mut self.moved[step.role as usize];
                changed |= !*moved;
                *moved = true;
            }
        }
        changed
    }

    /// Whether `symbol` can be taken from `channel`, as its present head, something before, or later mail.
    fn take(&mut self, channel: usize, symbol: u32, changed: &mut bool) -> bool {
        let taken = self.taken[channel];
        let held = &self.held[channel];
        if held.get(taken) == Some(&symbol) {
            self.taken[channel] += 1;
            *changed = true;
            return true;
        }
        held[..taken].contains(&symbol) || (taken == held.len() && self.sent[channel][symbol as usize])
    }
}

fn contents(model: &Model, layout: &Layout, words: &[u64]) -> Vec<Vec<u32>> {
    (0..model.channels.len())
        .map(|channel| {
            (0..layout.length(words, channel)).map(|at| layout.symbol(words, channel, at)).collect()
        })
        .collect()
}
