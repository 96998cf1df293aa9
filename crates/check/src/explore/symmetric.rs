//! One configuration of each class of TS_k: those that differ only by which of several identical roles is which.

use super::full::Full;
use super::{Selection, SoFar, View};
use crate::edges::Edges;
use crate::layout::Layout;
use crate::model::{Model, bits_for, narrow};
use crate::packed::Packed;
use crate::store::Words;
use crate::symmetry::{Canon, Symmetry};

/// Expands representatives, in order of discovery.
pub(crate) struct Symmetric<'a> {
    full: Full,
    canon: Canon<'a>,
    /// By edge: the renaming that made its target a representative.
    pub(crate) renamings: Packed,
    /// How many configurations and transitions those expanded represent.
    pub(crate) configurations: usize,
    pub(crate) transitions: usize,
}

impl<'a> Symmetric<'a> {
    pub(crate) fn new(model: &'a Model, symmetry: &'a Symmetry) -> Self {
        Self {
            full: Full::default(),
            canon: Canon::new(model, symmetry),
            renamings: Packed::new(bits_for(narrow(symmetry.len()))),
            configurations: 0,
            transitions: 0,
        }
    }
}

impl Selection for Symmetric<'_> {
    const BATCH: usize = Full::BATCH;
    // Each successor is compared under hundreds of renamings: a batch takes milliseconds.
    const TICK: usize = 1;

    fn next(&mut self, so_far: &SoFar<'_>) -> Option<u32> {
        self.full.next(so_far)
    }

    fn choose(&mut self, state: u32, view: &View<'_>, chosen: &mut Vec<u32>) {
        let before = chosen.len();
        self.full.choose(state, view, chosen);
        let (_, represented) = self.canon.representative(view.layout, &mut Words::from_slice(view.words));
        self.configurations += represented;
        self.transitions += represented * (chosen.len() - before);
    }

    fn replace(&mut self, layout: &Layout, words: &mut Words) {
        let (renaming, _) = self.canon.representative(layout, words);
        self.renamings.push(u64::from(renaming));
    }

    fn expanded(&mut self, _: u32, _: &Edges) {}

    fn memory(&self) -> usize {
        self.renamings.memory()
    }
}
