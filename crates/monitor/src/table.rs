//! Which transition a state has for a channel and a label.

use crate::event::Channel;
use crate::labels::LabelId;

/// No transition.
pub(crate) const NONE: u32 = u32::MAX;
/// Several transitions: the event would have to name its peer.
pub(crate) const SEVERAL: u32 = u32::MAX - 1;

/// A dense table has at most this many cells (4 MiB); a larger machine is searched state by state.
const MAX_CELLS: usize = 1 << 20;

/// State × channel × label → transition.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    channels: u32,
    labels: u32,
    cells: Cells,
}

#[derive(Clone, Debug)]
enum Cells {
    /// One cell for each combination: `(state * channels + channel) * labels + label`.
    Dense(Box<[u32]>),
    /// `entries[offsets[s]..offsets[s + 1]]`, sorted by channel and label, belong to state `s`.
    Sparse { offsets: Box<[u32]>, entries: Box<[(u32, u32, u32)]> },
}

impl Table {
    /// `rows[s]` are the entries (channel, label, transition) of state `s`.
    pub(crate) fn new(channels: usize, labels: usize, mut rows: Vec<Vec<(u32, u32, u32)>>) -> Self {
        let stride = channels.saturating_mul(labels);
        let cells = if rows.len().saturating_mul(stride) <= MAX_CELLS {
            let mut cells = vec![NONE; rows.len() * stride];
            for (state, row) in rows.iter().enumerate() {
                for &(channel, label, transition) in row {
                    cells[state * stride + channel as usize * labels + label as usize] = transition;
                }
            }
            Cells::Dense(cells.into())
        } else {
            let mut offsets = vec![0];
            let mut entries = Vec::new();
            for row in &mut rows {
                row.sort_unstable();
                entries.append(row);
                offsets.push(u32::try_from(entries.len()).unwrap_or(NONE));
            }
            Cells::Sparse { offsets: offsets.into(), entries: entries.into() }
        };
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { channels: narrow(channels), labels: narrow(labels), cells }
    }

    /// The transition of `state`, [`NONE`] or [`SEVERAL`].
    #[inline]
    pub(crate) fn find(&self, state: u32, channel: Channel, label: LabelId) -> u32 {
        if channel.0 >= self.channels || label.0 >= self.labels {
            return NONE;
        }
        match &self.cells {
            Cells::Dense(cells) => {
                // INVARIANT: fewer than MAX_CELLS cells, so the products fit.
                let row = (state as usize).wrapping_mul(self.channels as usize);
                let row = row.wrapping_add(channel.0 as usize).wrapping_mul(self.labels as usize);
                cells.get(row.wrapping_add(label.0 as usize)).copied().unwrap_or(NONE)
            }
            Cells::Sparse { offsets, entries } => {
                let state = state as usize;
                let (Some(&from), Some(&to)) = (offsets.get(state), offsets.get(state.wrapping_add(1)))
                else {
                    return NONE;
                };
                let row = entries.get(from as usize..to as usize).unwrap_or_default();
                let found = row.binary_search_by_key(&(channel.0, label.0), |&(c, l, _)| (c, l));
                found.ok().and_then(|at| row.get(at)).map_or(NONE, |&(_, _, transition)| transition)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_agree() {
        let rows: Vec<Vec<(u32, u32, u32)>> =
            (0..50_u32).map(|s| (0..4).map(|i| ((s + i) % 6, (s * i) % 7, s * 4 + i)).collect()).collect();
        let mut unique = rows.clone();
        for row in &mut unique {
            row.sort_unstable();
            row.dedup_by_key(|&mut (c, l, _)| (c, l));
        }
        let dense = Table::new(6, 7, unique.clone());
        // Padding with states that have nothing makes the same machine too large for a dense table.
        let mut padded = unique.clone();
        padded.resize(1 << 16, Vec::new());
        let sparse = Table::new(6, 7, padded);
        assert!(matches!(dense.cells, Cells::Dense(_)) && matches!(sparse.cells, Cells::Sparse { .. }));
        for state in 0..50 {
            for channel in 0..8 {
                for label in (0..8).chain([u32::MAX]) {
                    let (channel, label) = (Channel(channel), LabelId(label));
                    let expected = unique[state as usize]
                        .iter()
                        .find(|&&(c, l, _)| c == channel.0 && l == label.0)
                        .map_or(NONE, |&(_, _, t)| t);
                    assert_eq!(dense.find(state, channel, label), expected);
                    assert_eq!(sparse.find(state, channel, label), expected);
                }
            }
        }
    }
}
