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
    /// How many cells a state has: `channels * labels`.
    stride: u64,
    /// One cell for each combination: `(state * channels + channel) * labels + label`. Empty if too large.
    dense: Box<[u32]>,
    /// `entries[offsets[s]..offsets[s + 1]]`, sorted by channel and label, belong to state `s`. Empty if
    /// `dense` is not.
    offsets: Box<[u32]>,
    entries: Box<[(u32, u32, u32)]>,
}

impl Table {
    /// `rows[s]` are the entries (channel, label, transition) of state `s`.
    pub(crate) fn new(channels: usize, labels: usize, mut rows: Vec<Vec<(u32, u32, u32)>>) -> Self {
        let stride = channels.saturating_mul(labels);
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let mut table = Self {
            channels: narrow(channels),
            labels: narrow(labels),
            stride: stride as u64,
            dense: Box::default(),
            offsets: Box::default(),
            entries: Box::default(),
        };
        if rows.len().saturating_mul(stride) <= MAX_CELLS {
            let mut cells = vec![NONE; rows.len() * stride];
            for (state, row) in rows.iter().enumerate() {
                for &(channel, label, transition) in row {
                    cells[state * stride + channel as usize * labels + label as usize] = transition;
                }
            }
            table.dense = cells.into();
        } else {
            let mut offsets = vec![0];
            let mut entries = Vec::new();
            for row in &mut rows {
                row.sort_unstable();
                entries.append(row);
                offsets.push(narrow(entries.len()));
            }
            (table.offsets, table.entries) = (offsets.into(), entries.into());
        }
        table
    }

    /// The channel numbered `index`; beyond the table it stands for strangers.
    pub(crate) fn channel(&self, index: u32) -> Channel {
        let offset = if index < self.channels { index.wrapping_mul(self.labels) } else { u32::MAX };
        Channel { index, offset }
    }

    /// How many channels there are.
    pub(crate) fn channels(&self) -> u32 {
        self.channels
    }

    /// The transition of `state`, [`NONE`] or [`SEVERAL`]. The label is one of the table's or
    /// [`LabelId::UNKNOWN`].
    #[inline]
    pub(crate) fn find(&self, state: u32, channel: Channel, label: LabelId) -> u32 {
        // INVARIANT: a dense table has at most MAX_CELLS cells, so strangers' channels and unknown labels lead
        // beyond it; any other channel and label stay within the state's row. No sum of these wraps a u64.
        let row = u64::from(state).wrapping_mul(self.stride);
        let cell = row.wrapping_add(channel.offset.into()).wrapping_add(label.0.into());
        match usize::try_from(cell).ok().and_then(|cell| self.dense.get(cell)) {
            Some(&transition) => transition,
            None => self.search(state, channel, label),
        }
    }

    #[cold]
    fn search(&self, state: u32, channel: Channel, label: LabelId) -> u32 {
        let state = state as usize;
        let (Some(&from), Some(&to)) = (self.offsets.get(state), self.offsets.get(state.wrapping_add(1)))
        else {
            return NONE;
        };
        let row = self.entries.get(from as usize..to as usize).unwrap_or_default();
        let found = row.binary_search_by_key(&(channel.index, label.0), |&(c, l, _)| (c, l));
        found.ok().and_then(|at| row.get(at)).map_or(NONE, |&(_, _, transition)| transition)
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
        assert!(dense.entries.is_empty() && sparse.dense.is_empty());
        for state in 0..50 {
            for channel in 0..8 {
                for label in (0..7).chain([u32::MAX]) {
                    let label = LabelId(label);
                    let expected = unique[state as usize]
                        .iter()
                        .find(|&&(c, l, _)| c == channel && l == label.0)
                        .map_or(NONE, |&(_, _, t)| t);
                    assert_eq!(dense.find(state, dense.channel(channel), label), expected);
                    assert_eq!(sparse.find(state, sparse.channel(channel), label), expected);
                }
            }
        }
    }
}
