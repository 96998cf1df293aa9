//! Where the lifelines stand: as close together as everything between and beside them allows. The same
//! procedure serves pictures and terminals; they differ in how wide things are.

use super::blocks::{Blocks, range};
use super::{Sequence, Step};

/// How wide things are.
pub(super) struct Widths {
    /// For each step: of a message, the distance it needs between two lifelines, or to the right of one if it
    /// returns to its sender; of any other step, its whole width.
    pub(super) steps: Vec<f64>,
    /// The boxes at the ends of the lifelines.
    pub(super) heads: Vec<f64>,
    /// Between two of these boxes.
    pub(super) head_gap: f64,
    /// From a lifeline to the innermost frame around it.
    pub(super) pad: f64,
    /// From a frame, or anything else that reaches over the side, to the frame around it.
    pub(super) nest: f64,
    /// From anything that reaches over the side to the next lifeline.
    pub(super) clear: f64,
}

/// Where the lifelines stand, and how far blocks reach over the side.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// Each lifeline.
    pub(super) x: Vec<f64>,
    /// For each block, how far its frame reaches beyond its first and last lifelines.
    pub(super) reach: Vec<(f64, f64)>,
    /// The width of everything.
    pub(super) width: f64,
}

impl Columns {
    /// The edges of a block's frame.
    pub(super) fn frame(&self, block: usize, first: usize, last: usize) -> (f64, f64) {
        let (left, right) = self.reach[block];
        (self.at(first) - left, self.at(last) + right)
    }

    pub(super) fn at(&self, participant: usize) -> f64 {
        self.x.get(participant).copied().unwrap_or(0.0)
    }
}

/// What is known so far about the distances.
struct Distances {
    /// Pairs of lifelines, left then right, and the least distance between them.
    pairs: Vec<(usize, usize, f64)>,
    /// The room left of each lifeline and right of it, if it is the first or the last.
    margins: (f64, f64),
    count: usize,
}

impl Distances {
    fn between(&mut self, left: usize, right: usize, distance: f64) {
        if left < right && right < self.count {
            self.pairs.push((left, right, distance));
        }
    }

    /// Something around lifeline `at` reaches this far to both sides.
    fn around(&mut self, at: usize, left: f64, right: f64, clear: f64) {
        if at == 0 {
            self.margins.0 = self.margins.0.max(left);
        } else {
            self.between(at - 1, at, left + clear);
        }
        if at + 1 == self.count {
            self.margins.1 = self.margins.1.max(right);
        } else {
            self.between(at, at + 1, right + clear);
        }
    }
}

/// A block whose end has not been reached.
struct Open {
    block: usize,
    first: usize,
    last: usize,
    left: f64,
    right: f64,
    width: f64,
}

impl Open {
    fn reach(&mut self, first: usize, last: usize, left: f64, right: f64) {
        if first == self.first {
            self.left = self.left.max(left);
        }
        if last == self.last {
            self.right = self.right.max(right);
        }
    }
}

pub(super) fn columns(chart: &Sequence, blocks: &Blocks, widths: &Widths) -> Columns {
    let count = chart.participants().len();
    let mut distances = Distances { pairs: Vec::new(), margins: (0.0, 0.0), count };
    for (index, width) in widths.heads.iter().enumerate() {
        distances.around(index, width / 2.0, width / 2.0, 0.0);
        if let Some(next) = widths.heads.get(index + 1) {
            distances.between(index, index + 1, width / 2.0 + next / 2.0 + widths.head_gap);
        }
    }
    let mut reach = vec![(0.0, 0.0); blocks.len()];
    let mut open: Vec<Open> = Vec::new();
    let everyone = count.saturating_sub(1);
    let mut total = 0.0_f64;
    for (index, step) in chart.steps().iter().enumerate() {
        let width = widths.steps[index];
        match step {
            Step::Message(message) => {
                let (from, to) = (message.from.index(), message.to.index());
                let (first, last) = (from.min(to), from.max(to));
                if first < last {
                    distances.between(first, last, width);
                } else {
                    distances.around(first, 0.0, width, widths.clear);
                    if let Some(open) = open.last_mut() {
                        open.reach(first, last, 0.0, width + widths.nest);
                    }
                }
            }
            Step::Note { .. } => {
                let Some((first, last)) = range(step) else { continue };
                // A note over several reaches a little beyond the outermost lifelines.
                let side = if first == last { width / 2.0 } else { widths.pad - widths.nest / 2.0 };
                distances.between(first, last, width - 2.0 * side);
                distances.around(first, side, if first == last { side } else { 0.0 }, widths.clear);
                distances.around(last, if first == last { side } else { 0.0 }, side, widths.clear);
                if let Some(open) = open.last_mut() {
                    open.reach(first, last, side + widths.nest, side + widths.nest);
                }
            }
            Step::OpenLoop { .. } | Step::OpenAlt { .. } | Step::OpenPar { .. } => {
                let Some((block, around)) = blocks.opened(index) else { continue };
                let (first, last) = (around.first, around.last);
                open.push(Open { block, first, last, left: widths.pad, right: widths.pad, width });
            }
            Step::Branch { .. } | Step::Jump { .. } => match open.last_mut() {
                Some(open) => open.width = open.width.max(width + 2.0 * widths.nest),
                None => total = total.max(width),
            },
            Step::Divider { .. } => total = total.max(width),
            Step::Close => {
                let Some(mut closed) = open.pop() else { continue };
                let missing = closed.width - closed.left - closed.right;
                if closed.first < closed.last {
                    distances.between(closed.first, closed.last, missing);
                } else {
                    // Titles stand on the left, so the room is made on the right.
                    closed.right = closed.right.max(closed.width - closed.left);
                }
                reach[closed.block] = (closed.left, closed.right);
                distances.around(closed.first, closed.left, 0.0, widths.clear);
                distances.around(closed.last, 0.0, closed.right, widths.clear);
                if let Some(outer) = open.last_mut() {
                    let (left, right) = (closed.left + widths.nest, closed.right + widths.nest);
                    outer.reach(closed.first, closed.last, left, right);
                }
            }
        }
    }
    let (left, right) = distances.margins;
    if everyone == 0 {
        // A single lifeline, or none, leaves only the margins to be widened.
        distances.margins = (left.max(total / 2.0), right.max(total / 2.0));
    }
    distances.between(0, everyone, total - left - right);
    solve(distances, reach)
}

/// The leftmost positions that keep every distance. What a distance still lacks is added before its right
/// end.
fn solve(mut distances: Distances, reach: Vec<(f64, f64)>) -> Columns {
    distances.pairs.sort_by_key(|&(left, right, _)| (right, left));
    let mut x: Vec<f64> = vec![distances.margins.0.ceil(); distances.count];
    let mut pairs = distances.pairs.iter().peekable();
    for right in 0..distances.count {
        while let Some(&(left, _, distance)) = pairs.next_if(|pair| pair.1 == right) {
            x[right] = x[right].max((x[left] + distance).ceil());
        }
    }
    let width = x.last().map_or(distances.margins.0, |&last| last) + distances.margins.1;
    Columns { x, reach, width }
}
