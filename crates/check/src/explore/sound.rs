//! The default reduction: one role at a time, and no enabled role is ignored for ever.
//!
//! At each configuration the enabled moves of a single role are fired: such a set is persistent, since
//! nothing another role does can disable or change it (given k-OBI and k-IBI). Which role depends on the
//! configuration alone ([`best_role`]). That alone may go round a cycle without ever firing another role; the
//! [`Proviso`] sees to it that this does not last. Each (configuration, role) is fired at most once: the search
//! is linear.
//!
//! Why this is enough, and Theorem 6 for it: `docs/checking.md`, "The sound reduction".

use super::proviso::{Again, Part, Proviso};
use super::{Selection, SoFar, Stop, View, best_role};
use crate::edges::Edges;

/// Persistent sets, breadth first, with the proviso.
#[derive(Debug)]
pub(crate) struct Sound {
    proviso: Proviso,
    next: u32,
    /// Configurations asked for and not yet expanded.
    waiting: usize,
    /// What is expanded again, from the last one on.
    again: Vec<Again>,
    /// The role to be fired at the configuration asked for last, where it is expanded again.
    role: Option<usize>,
    /// Whether there was too little memory to go on.
    exceeded: bool,
}

impl Sound {
    pub(crate) fn new(roles: usize) -> Self {
        let proviso = Proviso::new(roles, 1);
        Self { proviso, next: 0, waiting: 0, again: Vec::new(), role: None, exceeded: false }
    }
}

impl Selection for Sound {
    const BATCH: usize = 64;

    fn next(&mut self, so_far: &SoFar<'_>) -> Option<u32> {
        if self.again.is_empty() && (self.next as usize) == so_far.store.len() {
            if self.waiting > 0 {
                return None;
            }
            let part = Part { store: so_far.store, edges: so_far.edges };
            let room = so_far.memory.saturating_sub(so_far.memory_with(0, 0) + self.memory());
            let Some(again) = self.proviso.settle(so_far.model, so_far.layout, &[part], room) else {
                self.exceeded = true;
                return None;
            };
            self.again = again;
            self.again.reverse();
        }
        if let Some(again) = self.again.pop() {
            self.waiting += 1;
            self.role = Some(again.role);
            return Some(again.state);
        }
        if (self.next as usize) == so_far.store.len() {
            return None;
        }
        self.waiting += 1;
        self.next += 1;
        Some(self.next - 1)
    }

    fn choose(&mut self, _: u32, view: &View<'_>, chosen: &mut Vec<u32>) {
        if let Some(role) = self.role.take().or_else(|| best_role(view, &[])) {
            view.choose(role, chosen);
        }
    }

    fn expanded(&mut self, _: u32, _: &Edges) {
        self.waiting -= 1;
    }

    fn memory(&self) -> usize {
        self.proviso.memory() + self.again.capacity() * size_of::<Again>()
    }

    fn stopped(&self) -> Option<Stop> {
        self.exceeded.then_some(Stop::Memory)
    }
}
