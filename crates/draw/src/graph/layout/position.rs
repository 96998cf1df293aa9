//! Positions across the layers, after Brandes and Köpf, "Fast and Simple Horizontal Coordinate Assignment"
//! (2001): cells are aligned with their median neighbours in four ways, each way is packed, and the four
//! positions of a cell are averaged. Edges through several layers become straight lines.
//!
//! Packing is by longest paths between the aligned blocks rather than by the paper's class shifts, whose
//! printed form can let blocks overlap.

use super::layers::Layers;

/// The position of each cell's axis across its layer, such that neighbours keep their separation.
pub(super) fn assign(layers: &Layers) -> Vec<f64> {
    let conflicts = conflicts(layers);
    let mut candidates: Vec<Vec<f64>> = Vec::with_capacity(4);
    for upwards in [false, true] {
        for mirrored in [false, true] {
            candidates.push(View::new(layers, upwards, mirrored).pack(&conflicts));
        }
    }
    balance(layers, candidates)
}

/// Segments that must not be straightened because they cross one that passes between two non-nodes.
fn conflicts(layers: &Layers) -> Vec<bool> {
    let positions = layers.positions();
    let mut conflicts = vec![false; layers.segments.len()];
    for (index, lower) in layers.rows.iter().enumerate().skip(1) {
        let upper = &layers.rows[index - 1];
        let (mut first, mut scanned) = (0, 0);
        for (slot, &cell) in lower.iter().enumerate() {
            let inner = inner_neighbour(layers, cell).map(|above| positions[above]);
            if inner.is_none() && slot + 1 < lower.len() {
                continue;
            }
            let last = inner.unwrap_or(upper.len().saturating_sub(1));
            while scanned <= slot {
                for &segment in &layers.above[lower[scanned]] {
                    let at = positions[layers.segments[segment].0];
                    if at < first || at > last {
                        conflicts[segment] = true;
                    }
                }
                scanned += 1;
            }
            first = last;
        }
    }
    conflicts
}

fn inner_neighbour(layers: &Layers, cell: usize) -> Option<usize> {
    if layers.cells[cell].is_node() {
        return None;
    }
    let above = layers.segments[*layers.above[cell].first()?].0;
    (!layers.cells[above].is_node()).then_some(above)
}

/// The layers seen from above or below, and in a mirror or not, so that one procedure serves all four ways.
struct View<'a> {
    layers: &'a Layers,
    rows: Vec<Vec<usize>>,
    positions: Vec<usize>,
    upwards: bool,
    mirrored: bool,
}

impl<'a> View<'a> {
    fn new(layers: &'a Layers, upwards: bool, mirrored: bool) -> Self {
        let mut rows = layers.rows.clone();
        if upwards {
            rows.reverse();
        }
        if mirrored {
            rows.iter_mut().for_each(|row| row.reverse());
        }
        let mut positions = vec![0; layers.cells.len()];
        for row in &rows {
            for (position, &cell) in row.iter().enumerate() {
                positions[cell] = position;
            }
        }
        Self { layers, rows, positions, upwards, mirrored }
    }

    fn pack(&self, conflicts: &[bool]) -> Vec<f64> {
        let roots = self.align(conflicts);
        let packed = self.compact(&roots);
        let sign = if self.mirrored { -1.0 } else { 1.0 };
        roots.iter().map(|&root| sign * packed[root]).collect()
    }

    /// For each cell, the first cell of the block it is aligned with.
    fn align(&self, conflicts: &[bool]) -> Vec<usize> {
        let cells = self.layers.cells.len();
        let mut roots: Vec<usize> = (0..cells).collect();
        let mut neighbours: Vec<(usize, usize, usize)> = Vec::new();
        for row in &self.rows {
            // Positions below `free` in the previous row are taken by blocks further left.
            let mut free = 0;
            for &cell in row {
                neighbours.clear();
                let segments = if self.upwards { &self.layers.below[cell] } else { &self.layers.above[cell] };
                neighbours.extend(segments.iter().map(|&segment| {
                    let (upper, lower) = self.layers.segments[segment];
                    let other = if self.upwards { lower } else { upper };
                    (self.positions[other], other, segment)
                }));
                if neighbours.iter().any(|&(_, _, segment)| self.layers.forward[segment]) {
                    neighbours.retain(|&(_, _, segment)| self.layers.forward[segment]);
                }
                neighbours.sort_unstable();
                let count = neighbours.len();
                if count == 0 {
                    continue;
                }
                for median in [(count - 1) / 2, count / 2] {
                    let (at, other, segment) = neighbours[median];
                    if !conflicts[segment] && at >= free {
                        roots[cell] = roots[other];
                        free = at + 1;
                        break;
                    }
                }
            }
        }
        roots
    }

    /// A position for each block, by longest paths over the separations between blocks: first as far left as
    /// possible, then each block as far right as its right neighbours allow, so that blocks huddle together.
    fn compact(&self, roots: &[usize]) -> Vec<f64> {
        let cells = self.layers.cells.len();
        let mut right: Vec<Vec<(usize, f64)>> = vec![Vec::new(); cells];
        let mut waiting = vec![0_usize; cells];
        for row in &self.rows {
            for pair in row.windows(2) {
                let (a, b) = (&self.layers.cells[pair[0]], &self.layers.cells[pair[1]]);
                let distance = if self.mirrored { b.separation(a) } else { a.separation(b) };
                right[roots[pair[0]]].push((roots[pair[1]], distance));
                waiting[roots[pair[1]]] += 1;
            }
        }
        let mut sorted: Vec<usize> =
            (0..cells).filter(|&cell| roots[cell] == cell && waiting[cell] == 0).collect();
        let mut at = vec![0.0_f64; cells];
        let mut head = 0;
        while let Some(&block) = sorted.get(head) {
            head += 1;
            for &(next, distance) in &right[block] {
                at[next] = at[next].max(at[block] + distance);
                waiting[next] -= 1;
                if waiting[next] == 0 {
                    sorted.push(next);
                }
            }
        }
        for &block in sorted.iter().rev() {
            let room = right[block]
                .iter()
                .map(|&(next, distance)| at[next] - distance)
                .fold(f64::INFINITY, f64::min);
            if room.is_finite() {
                at[block] = at[block].max(room);
            }
        }
        at
    }
}

/// Aligns the four candidates with the narrowest and takes, for each cell, the mean of the middle two: order
/// statistics of separated positions are separated.
fn balance(layers: &Layers, mut candidates: Vec<Vec<f64>>) -> Vec<f64> {
    let extents: Vec<(f64, f64)> = candidates
        .iter()
        .map(|candidate| {
            candidate
                .iter()
                .zip(&layers.cells)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (&at, cell)| {
                    (lo.min(at - cell.lo), hi.max(at + cell.hi))
                })
        })
        .collect();
    let narrowest =
        extents.iter().copied().min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0))).unwrap_or((0.0, 0.0));
    for (index, candidate) in candidates.iter_mut().enumerate() {
        let mirrored = index % 2 == 1;
        let shift = if mirrored { narrowest.1 - extents[index].1 } else { narrowest.0 - extents[index].0 };
        candidate.iter_mut().for_each(|at| *at += shift);
    }
    (0..layers.cells.len())
        .map(|cell| {
            let mut four = [0.0; 4];
            for (slot, candidate) in four.iter_mut().zip(&candidates) {
                *slot = candidate[cell];
            }
            four.sort_by(f64::total_cmp);
            f64::midpoint(four[1], four[2])
        })
        .collect()
}
