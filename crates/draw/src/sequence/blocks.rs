//! How the blocks of a chart are nested, and which participants they concern.

use super::{DEPTH_LIMIT, PARTICIPANT_LIMIT, ParticipantId, STEP_LIMIT, Sequence, Step};
use crate::error::DrawError;

/// A loop, an alternative, or blocks side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The leftmost and rightmost participants inside; if nobody acts inside, those of the block around.
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The blocks of a valid chart.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    /// For each step that opens a block, which.
    opened: Vec<Option<usize>>,
}

impl Blocks {
    /// Checks the chart and finds its blocks.
    pub(super) fn of(chart: &Sequence) -> Result<Self, DrawError> {
        let (participants, steps) = (chart.participants().len(), chart.steps().len());
        if participants > PARTICIPANT_LIMIT {
            return Err(DrawError::TooManyParticipants { participants, limit: PARTICIPANT_LIMIT });
        }
        if steps > STEP_LIMIT {
            return Err(DrawError::TooManySteps { steps, limit: STEP_LIMIT });
        }
        let mut found = Self { blocks: Vec::new(), opened: vec![None; steps] };
        let mut open: Vec<(usize, bool)> = Vec::new();
        let mut outer: Vec<Option<usize>> = Vec::new();
        for (index, step) in chart.steps().iter().enumerate() {
            match step {
                Step::OpenLoop { .. } | Step::OpenAlt { .. } | Step::OpenPar { .. } => {
                    if open.len() == DEPTH_LIMIT {
                        return Err(DrawError::TooDeep { step: index, limit: DEPTH_LIMIT });
                    }
                    let block = found.blocks.len();
                    found.blocks.push(Block { first: usize::MAX, last: 0 });
                    found.opened[index] = Some(block);
                    outer.push(open.last().map(|&(outer, _)| outer));
                    open.push((block, !matches!(step, Step::OpenLoop { .. })));
                }
                Step::Branch { .. } => {
                    if !open.last().is_some_and(|&(_, alternative)| alternative) {
                        return Err(DrawError::Unbalanced { step: index });
                    }
                }
                Step::Close => {
                    let (block, _) = open.pop().ok_or(DrawError::Unbalanced { step: index })?;
                    let inner = found.blocks[block];
                    if let Some(&(outer, _)) = open.last() {
                        found.blocks[outer].include(inner.first, inner.last);
                    }
                }
                Step::Message(_) | Step::Note { .. } | Step::Jump { .. } | Step::Divider { .. } => {}
            }
            if let Some((first, last)) = range(step) {
                if last >= participants {
                    return Err(DrawError::UnknownParticipant { step: index });
                }
                if let Some(&(block, _)) = open.last() {
                    found.blocks[block].include(first, last);
                }
            }
        }
        if !open.is_empty() {
            return Err(DrawError::Unbalanced { step: steps });
        }
        // Outer blocks come first, so theirs are known.
        for (block, outer) in outer.into_iter().enumerate() {
            if found.blocks[block].first == usize::MAX {
                let everyone = Block { first: 0, last: participants.saturating_sub(1) };
                found.blocks[block] = outer.map_or(everyone, |outer| found.blocks[outer]);
            }
        }
        Ok(found)
    }

    /// The block that a step opens.
    pub(super) fn opened(&self, step: usize) -> Option<(usize, Block)> {
        self.opened[step].map(|block| (block, self.blocks[block]))
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }
}

impl Block {
    fn include(&mut self, first: usize, last: usize) {
        self.first = self.first.min(first);
        self.last = self.last.max(last);
    }
}

/// The leftmost and rightmost participants a message or note concerns.
pub(super) fn range(step: &Step) -> Option<(usize, usize)> {
    match step {
        Step::Message(message) => {
            let (from, to) = (message.from.index(), message.to.index());
            Some((from.min(to), from.max(to)))
        }
        Step::Note { over, .. } => {
            let indices = || over.iter().copied().map(ParticipantId::index);
            Some((indices().min()?, indices().max()?))
        }
        _ => None,
    }
}
