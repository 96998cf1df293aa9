//! Layers: the nodes of each rank, the labels between ranks, and a place for every edge in each layer that
//! it passes. Nodes stand in even layers, labels in odd ones.

use super::{GAP_BEND, GAP_LABEL, GAP_NODE};

/// What a cell keeps room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A node, by its position in the component.
    Node(usize),
    /// The label of an edge.
    Label(usize),
    /// An edge on its way through the layer.
    Bend,
    /// The name of the node an edge leads to, where drawing the whole edge would take too much room.
    Stub(usize),
}

/// A slot in a layer. `lo` and `hi` are its extents across the layer, on either side of its axis: they
/// differ where a node has a loop beside it. `half` is half its extent along the direction of the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) content: Content,
    pub(super) layer: usize,
    pub(super) lo: f64,
    pub(super) hi: f64,
    pub(super) half: f64,
}

impl Cell {
    pub(super) fn is_node(&self) -> bool {
        matches!(self.content, Content::Node(_) | Content::Stub(_))
    }

    /// The distance that must remain between the axes of this cell and the next one in its layer.
    pub(super) fn separation(&self, next: &Self) -> f64 {
        let gap = |cell: &Self| match cell.content {
            Content::Node(_) | Content::Stub(_) => GAP_NODE,
            Content::Label(_) => GAP_LABEL,
            Content::Bend => GAP_BEND,
        };
        self.hi + (gap(self) + gap(next)) / 2.0 + next.lo
    }
}

/// The layers of one component. Cells are numbered in the order of creation; a segment joins a cell to one
/// in the next layer.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    pub(super) cells: Vec<Cell>,
    /// The cells of each layer, in order across it.
    pub(super) rows: Vec<Vec<usize>>,
    pub(super) segments: Vec<(usize, usize)>,
    /// For each segment, whether it belongs to an edge that leads forward to a node: these are kept straight
    /// at the expense of the others, so that the main path through the graph can be seen.
    pub(super) forward: Vec<bool>,
    /// For each cell, the segments that come from the layer above.
    pub(super) above: Vec<Vec<usize>>,
    /// For each cell, the segments that lead to the layer below.
    pub(super) below: Vec<Vec<usize>>,
}

impl Layers {
    pub(super) fn add_cell(&mut self, content: Content, layer: usize, lo: f64, hi: f64, half: f64) -> usize {
        let index = self.cells.len();
        self.cells.push(Cell { content, layer, lo, hi, half });
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        if self.rows.len() <= layer {
            self.rows.resize(layer + 1, Vec::new());
        }
        self.rows[layer].push(index);
        index
    }

    pub(super) fn add_segment(&mut self, upper: usize, lower: usize, forward: bool) {
        let segment = self.segments.len();
        self.segments.push((upper, lower));
        self.forward.push(forward);
        self.below[upper].push(segment);
        self.above[lower].push(segment);
    }

    /// The position of each cell in its row.
    pub(super) fn positions(&self) -> Vec<usize> {
        let mut positions = vec![0; self.cells.len()];
        for row in &self.rows {
            for (position, &cell) in row.iter().enumerate() {
                positions[cell] = position;
            }
        }
        positions
    }
}
