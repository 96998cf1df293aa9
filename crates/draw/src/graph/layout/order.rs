//! Crossing reduction: in which order the cells of each layer stand.

use super::layers::Layers;

/// Cells visited in all sweeps together: bounds the time for large graphs.
const WORK: usize = 600_000;
const MAX_SWEEPS: usize = 24;
/// Exchanging neighbours costs more than a sweep and pays only where a reader can see each crossing.
const EXCHANGE_LIMIT: usize = 3_000;

/// Small graphs are worth several attempts, each from another start.
const ATTEMPTS: usize = 12;
const ATTEMPTS_WORK: usize = 6_000;

/// Reorders every row so that few segments cross: barycentre sweeps down and up, then exchanges of
/// neighbours, from several starts; the best order seen wins, and the earliest of equals.
pub(super) fn reduce_crossings(layers: &mut Layers) {
    let attempts = (ATTEMPTS_WORK / layers.cells.len().max(1)).clamp(1, ATTEMPTS);
    let mut best: Option<(usize, Vec<Vec<usize>>)> = None;
    let mut seed = 0x9E37_79B9_7F4A_7C15;
    for attempt in 0..attempts {
        match attempt {
            0 => depth_first(layers, false),
            1 => depth_first(layers, true),
            _ => shuffle(layers, &mut seed),
        }
        let found = sweep(layers);
        let perfect = found.0 == 0;
        if best.as_ref().is_none_or(|best| found.0 < best.0) {
            best = Some(found);
        }
        if perfect {
            break;
        }
    }
    if let Some((_, rows)) = best {
        layers.rows = rows;
    }
}

fn sweep(layers: &mut Layers) -> (usize, Vec<Vec<usize>>) {
    let mut positions = layers.positions();
    let mut best = (crossings(layers, &positions), layers.rows.clone());
    let sweeps = (WORK / layers.cells.len().max(1)).clamp(4, MAX_SWEEPS);
    let mut idle = 0;
    for sweep in 0..sweeps {
        if best.0 == 0 || idle > 6 {
            break;
        }
        if sweep % 2 == 0 {
            for row in 1..layers.rows.len() {
                sort_row(layers, &mut positions, row, true);
            }
        } else {
            for row in (0..layers.rows.len().saturating_sub(1)).rev() {
                sort_row(layers, &mut positions, row, false);
            }
        }
        if layers.cells.len() <= EXCHANGE_LIMIT {
            exchange_neighbours(layers, &mut positions);
        }
        let count = crossings(layers, &positions);
        if count < best.0 {
            best = (count, layers.rows.clone());
            idle = 0;
        } else {
            idle += 1;
        }
    }
    best
}

/// Starts from the order in which a depth-first search meets the cells, which leaves a tree without
/// crossings.
fn depth_first(layers: &mut Layers, mirrored: bool) {
    let mut seen = vec![false; layers.cells.len()];
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); layers.rows.len()];
    let mut stack: Vec<usize> = Vec::new();
    for row in &layers.rows {
        for &start in row {
            stack.push(start);
            while let Some(cell) = stack.pop() {
                if std::mem::replace(&mut seen[cell], true) {
                    continue;
                }
                rows[layers.cells[cell].layer].push(cell);
                let lower = layers.below[cell].iter().map(|&s| layers.segments[s].1);
                let pushed = stack.len();
                stack.extend(lower.filter(|&next| !seen[next]));
                if !mirrored {
                    stack[pushed..].reverse();
                }
            }
        }
    }
    layers.rows = rows;
}

/// Starts from an arbitrary order: the same one for the same graph.
fn shuffle(layers: &mut Layers, seed: &mut u64) {
    for row in &mut layers.rows {
        for last in (1..row.len()).rev() {
            *seed ^= *seed << 13;
            *seed ^= *seed >> 7;
            *seed ^= *seed << 17;
            row.swap(last, (*seed % (last as u64 + 1)) as usize);
        }
    }
}

/// Sorts a row by the mean position of each cell's neighbours in the row above or below. Cells without
/// neighbours there stay where they are.
fn sort_row(layers: &mut Layers, positions: &mut [usize], row: usize, above: bool) {
    let mut keyed: Vec<(f64, usize)> = Vec::new();
    let mut slots: Vec<usize> = Vec::new();
    for (slot, &cell) in layers.rows[row].iter().enumerate() {
        let segments = if above { &layers.above[cell] } else { &layers.below[cell] };
        if segments.is_empty() {
            continue;
        }
        let neighbours = segments.iter().map(|&s| {
            let (upper, lower) = layers.segments[s];
            positions[if above { upper } else { lower }] as f64
        });
        keyed.push((neighbours.sum::<f64>() / segments.len() as f64, cell));
        slots.push(slot);
    }
    // Stable: equal keys keep their order, which keeps the result deterministic.
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (&slot, &(_, cell)) in slots.iter().zip(&keyed) {
        layers.rows[row][slot] = cell;
        positions[cell] = slot;
    }
}

/// Exchanges neighbours in a row while that removes crossings.
fn exchange_neighbours(layers: &mut Layers, positions: &mut [usize]) {
    for _ in 0..4 {
        let mut improved = false;
        for row in 0..layers.rows.len() {
            for slot in 1..layers.rows[row].len() {
                let (left, right) = (layers.rows[row][slot - 1], layers.rows[row][slot]);
                let (kept, exchanged) = pair_crossings(layers, positions, left, right);
                if exchanged < kept {
                    layers.rows[row].swap(slot - 1, slot);
                    positions[left] = slot;
                    positions[right] = slot - 1;
                    improved = true;
                }
            }
        }
        if !improved {
            break;
        }
    }
}

/// Crossings between the segments of two neighbours, as they stand and exchanged.
fn pair_crossings(layers: &Layers, positions: &[usize], left: usize, right: usize) -> (usize, usize) {
    let (mut kept, mut exchanged) = (0, 0);
    let ends = |segments: &[usize], lower: bool| -> Vec<usize> {
        let mut ends: Vec<usize> = segments
            .iter()
            .map(|&s| positions[if lower { layers.segments[s].1 } else { layers.segments[s].0 }])
            .collect();
        ends.sort_unstable();
        ends
    };
    for (of_left, of_right) in [
        (ends(&layers.above[left], false), ends(&layers.above[right], false)),
        (ends(&layers.below[left], true), ends(&layers.below[right], true)),
    ] {
        kept += inversions(&of_left, &of_right);
        exchanged += inversions(&of_right, &of_left);
    }
    (kept, exchanged)
}

/// Pairs of a first and a second with the first greater; both slices are sorted.
fn inversions(first: &[usize], second: &[usize]) -> usize {
    let mut smaller = 0;
    let mut count = 0;
    for &a in first {
        while second.get(smaller).is_some_and(|&b| b < a) {
            smaller += 1;
        }
        count += smaller;
    }
    count
}

/// All crossings, counted with one Fenwick tree per pair of rows.
fn crossings(layers: &Layers, positions: &[usize]) -> usize {
    let mut count = 0;
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (index, row) in layers.rows.iter().enumerate() {
        let Some(lower_row) = layers.rows.get(index + 1) else { break };
        pairs.clear();
        for &cell in row {
            let start = pairs.len();
            pairs.extend(
                layers.below[cell].iter().map(|&s| (positions[cell], positions[layers.segments[s].1])),
            );
            pairs[start..].sort_unstable();
        }
        let mut tree = vec![0_usize; lower_row.len() + 1];
        for (seen, &(_, lower)) in pairs.iter().enumerate() {
            let mut not_greater = 0;
            let mut i = lower + 1;
            while i > 0 {
                not_greater += tree[i];
                i &= i - 1;
            }
            count += seen - not_greater;
            let mut i = lower + 1;
            while i < tree.len() {
                tree[i] += 1;
                i += i & i.wrapping_neg();
            }
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::layers::Content;
    use super::*;

    #[test]
    fn a_crossing_that_can_be_avoided_is_avoided() {
        let mut layers = Layers::default();
        let top = [0, 1].map(|n| layers.add_cell(Content::Node(n), 0, 1.0, 1.0, 1.0));
        let bottom = [2, 3].map(|n| layers.add_cell(Content::Node(n), 1, 1.0, 1.0, 1.0));
        layers.add_segment(top[0], bottom[1], true);
        layers.add_segment(top[1], bottom[0], true);
        assert_eq!(crossings(&layers, &layers.positions()), 1);
        reduce_crossings(&mut layers);
        assert_eq!(crossings(&layers, &layers.positions()), 0);
    }
}
