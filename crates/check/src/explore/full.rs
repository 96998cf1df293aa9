//! No reduction: the k-bounded transition system TS_k (CAV'19, Definition 13), breadth first.

use super::{Selection, SoFar, View};
use crate::edges::Edges;

/// Expands everything, in order of discovery.
#[derive(Debug, Default)]
pub(crate) struct Full {
    next: u32,
}

impl Selection for Full {
    const BATCH: usize = 64;

    fn next(&mut self, so_far: &SoFar<'_>) -> Option<u32> {
        if (self.next as usize) < so_far.store.len() {
            self.next += 1;
            Some(self.next - 1)
        } else {
            None
        }
    }

    fn choose(&mut self, _: u32, view: &View<'_>, chosen: &mut Vec<u32>) {
        for role in 0..view.model.role_count() {
            view.choose(role, chosen);
        }
    }

    fn expanded(&mut self, _: u32, _: &Edges) {}
}
