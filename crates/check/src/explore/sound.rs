//! The default reduction: one role at a time, and no enabled role is ignored for ever.
//!
//! At each configuration the enabled moves of a single role are fired: such a set is persistent, since
//! nothing another role does can disable or change it (given k-OBI and k-IBI). That alone may go round a
//! cycle without ever firing another role. So the search is depth first and finds strongly connected
//! components as it goes (Tarjan); when a component is complete, no edge leaves it, and a role enabled in
//! it was fired nowhere in it, that role is fired at its root and the search goes on from there. Each
//! (configuration, role) is fired at most once: the search is linear.
//!
//! Why this is enough, and Theorem 6 for it: `docs/theory.md`, "The sound reduction".

use super::{Selection, View};
use crate::graph::Edges;

const UNSEEN: u32 = 0;
/// The depth-first number of a configuration whose component is complete.
const DONE: u32 = u32::MAX;

#[derive(Debug)]
struct Frame {
    state: u32,
    /// Edges of this configuration still to be followed.
    cursor: usize,
    end: usize,
    low: u32,
    /// Whether an edge leads from what is known of this component to a complete one.
    leaves: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// Whatever role is best.
    Any,
    /// A role that the component whose root this is has not fired.
    Ignored,
}

/// Persistent sets with a cycle proviso.
#[derive(Debug)]
pub(crate) struct Sound {
    /// Depth-first number, `UNSEEN` or `DONE`, by configuration.
    numbers: Vec<u32>,
    counter: u32,
    component: Vec<u32>,
    frames: Vec<Frame>,
    /// One set of roles per frame: those fired in its component so far, `words` words each.
    fired: Vec<u64>,
    words: usize,
    want: Want,
    /// What [`choose`](Selection::choose) picked: the role, or that there was none.
    picked: Option<usize>,
    started: bool,
}

impl Sound {
    pub(crate) fn new(roles: usize) -> Self {
        Self {
            numbers: Vec::new(),
            counter: 0,
            component: Vec::new(),
            frames: Vec::new(),
            fired: Vec::new(),
            words: roles.div_ceil(64).max(1),
            want: Want::Any,
            picked: None,
            started: false,
        }
    }

    fn enter(&mut self, state: u32) {
        self.counter += 1;
        self.numbers[state as usize] = self.counter;
        self.component.push(state);
        self.frames.push(Frame { state, cursor: 0, end: 0, low: self.counter, leaves: false });
        self.fired.resize(self.fired.len() + self.words, 0);
        self.want = Want::Any;
    }

    /// The top frame's component is complete.
    fn complete(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.fired.truncate(self.fired.len() - self.words);
        while let Some(state) = self.component.pop() {
            self.numbers[state as usize] = DONE;
            if state == frame.state {
                break;
            }
        }
        if let Some(parent) = self.frames.last_mut() {
            parent.leaves = true;
        }
    }

    /// The top frame belongs to the component of the frame below it.
    fn merge(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        let at = self.fired.len() - self.words;
        for word in 0..self.words {
            let fired = self.fired[at + word];
            if let Some(below) = (at + word).checked_sub(self.words) {
                self.fired[below] |= fired;
            }
        }
        self.fired.truncate(at);
        if let Some(parent) = self.frames.last_mut() {
            parent.low = parent.low.min(frame.low);
            parent.leaves |= frame.leaves;
        }
    }

    fn has_fired(&self, role: usize) -> bool {
        let at = self.fired.len() - self.words;
        self.fired[at + role / 64] >> (role % 64) & 1 == 1
    }
}

impl Selection for Sound {
    fn next(&mut self, edges: &Edges, found: usize) -> Option<u32> {
        self.numbers.resize(found, UNSEEN);
        if !self.started {
            self.started = true;
            self.enter(0);
            return Some(0);
        }
        // The root of a complete component that found no ignored role to fire.
        let mut settled = self.want == Want::Ignored && self.picked.is_none();
        while let Some(frame) = self.frames.last_mut() {
            if frame.cursor < frame.end {
                let target = edges.target(frame.cursor);
                frame.cursor += 1;
                match self.numbers[target as usize] {
                    UNSEEN => {
                        self.enter(target);
                        return Some(target);
                    }
                    DONE => frame.leaves = true,
                    number => frame.low = frame.low.min(number),
                }
                continue;
            }
            let root = frame.low == self.numbers[frame.state as usize];
            if !root {
                self.merge();
            } else if frame.leaves || settled {
                self.complete();
                settled = false;
            } else {
                self.want = Want::Ignored;
                return Some(frame.state);
            }
        }
        None
    }

    fn choose(&mut self, _: u32, view: &View<'_>, chosen: &mut Vec<u32>) {
        let mut best = None;
        for role in 0..view.model.role_count() {
            if self.want == Want::Ignored && self.has_fired(role) {
                continue;
            }
            let mut count = 0_usize;
            let mut first = None;
            for (_, step) in view.enabled(role) {
                first = first.or(Some(step));
                count += 1;
            }
            let Some(step) = first else { continue };
            // A reception empties a channel and brings branches together; a send to a short channel
            // keeps the configurations few.
            let length = view.layout.length(view.words, step.channel as usize);
            let cost = (count, step.sends, length);
            if best.is_none_or(|(known, _)| cost < known) {
                best = Some((cost, role));
            }
        }
        self.picked = best.map(|(_, role)| role);
        if let Some(role) = self.picked {
            chosen.extend(view.enabled(role).map(|(number, _)| number));
            let at = self.fired.len() - self.words;
            self.fired[at + role / 64] |= 1 << (role % 64);
        }
    }

    fn expanded(&mut self, _: u32, edges: &Edges) {
        let row = edges.last_row();
        if let Some(frame) = self.frames.last_mut() {
            frame.cursor = row.start;
            frame.end = row.end;
        }
    }

    fn memory(&self) -> usize {
        (self.numbers.len() + self.component.len()) * 4
            + self.frames.len() * size_of::<Frame>()
            + self.fired.len() * 8
    }
}
