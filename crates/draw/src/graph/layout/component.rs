//! The layout of one connected component, in a frame whose edges lead downwards.

use super::layers::{Content, Layers};
use super::{ENTRY, LOOP, Layout, PORT_GAP, PORT_INSET, Plan, acyclic, order, position, rank, route};

/// Cells for edges that pass through layers, in all: bounds time and keeps large pictures readable. The
/// longest edges beyond it end in a mention of their target instead.
const BENDS_LEAST: usize = 400;
const BENDS_PER_NODE: usize = 6;
const BENDS_MOST: usize = 24_000;

/// Nodes are not widened beyond this for the sake of their edges.
const WIDENED_LIMIT: f64 = 260.0;

/// An edge of the component, by the cells it passes from the upper to the lower end.
pub(super) struct Chain {
    pub(super) bundle: usize,
    pub(super) cells: Vec<usize>,
    /// Whether the edge points upwards.
    pub(super) reversed: bool,
}

/// A component whose cells are placed across their layers.
pub(super) struct Component<'a> {
    pub(super) plan: &'a Plan<'a>,
    /// The nodes of the component, as positions in the graph.
    pub(super) nodes: &'a [usize],
    /// For each of these nodes, its size.
    pub(super) sizes: Vec<(f64, f64)>,
    /// For each of these nodes, the bundle that is its self-loop.
    pub(super) loops: Vec<Option<usize>>,
    /// For each of these nodes, its cell.
    pub(super) node_cells: Vec<usize>,
    pub(super) layers: Layers,
    pub(super) chains: Vec<Chain>,
    /// The axis of each cell.
    pub(super) axes: Vec<f64>,
}

pub(super) fn layout(plan: &Plan<'_>, nodes: &[usize], bundles: &[usize]) -> Layout {
    let local: std::collections::HashMap<usize, usize> =
        nodes.iter().enumerate().map(|(index, &node)| (node, index)).collect();
    let mut loops = vec![None; nodes.len()];
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut edge_bundles: Vec<usize> = Vec::new();
    for &index in bundles {
        let (from, to) = (local[&plan.bundles[index].from], local[&plan.bundles[index].to]);
        if from == to {
            loops[from] = Some(index);
        } else {
            edges.push((from, to));
            edge_bundles.push(index);
        }
    }

    let roots: Vec<usize> =
        (0..nodes.len()).filter(|&index| plan.graph.nodes()[nodes[index]].kind.is_initial()).collect();
    let reversed = acyclic::reversed(nodes.len(), &edges, &roots);
    for (edge, &reversed) in edges.iter_mut().zip(&reversed) {
        if reversed {
            *edge = (edge.1, edge.0);
        }
    }
    let ranks = rank::ranks(nodes.len(), &edges);

    let mut component = Component {
        plan,
        nodes,
        sizes: sizes(plan, nodes, &edges),
        loops,
        node_cells: Vec::new(),
        layers: Layers::default(),
        chains: Vec::new(),
        axes: Vec::new(),
    };
    component.add_nodes(&ranks);
    component.add_edges(&ranks, &edges, &edge_bundles, &reversed);
    order::reduce_crossings(&mut component.layers);
    component.axes = position::assign(&component.layers);
    route::route(&component)
}

/// The sizes of the nodes, busy ones widened so that the edges on one side stay apart.
fn sizes(plan: &Plan<'_>, nodes: &[usize], edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    let mut degrees = vec![(0.0_f64, 0.0_f64); nodes.len()];
    for &(upper, lower) in edges {
        degrees[upper].1 += 1.0;
        degrees[lower].0 += 1.0;
    }
    let widened = |(&node, (above, below)): (&usize, (f64, f64))| {
        let (across, along) = plan.nodes[node];
        let ports = (above.max(below) - 1.0) * PORT_GAP + 2.0 * PORT_INSET;
        (across.max(ports.min(WIDENED_LIMIT)), along)
    };
    nodes.iter().zip(degrees).map(widened).collect()
}

impl Component<'_> {
    fn add_nodes(&mut self, ranks: &[usize]) {
        for (index, &node) in self.nodes.iter().enumerate() {
            let (across, along) = self.sizes[index];
            let (mut lo, mut hi, mut half) = (across / 2.0, across / 2.0, along / 2.0);
            if let Some(bundle) = self.loops[index] {
                let (label, height) = self.plan.labels[bundle].unwrap_or((0.0, 0.0));
                if self.plan.loop_side > 0.0 {
                    hi += LOOP + label;
                } else {
                    lo += LOOP + label;
                }
                half = half.max(height / 2.0);
            }
            // In the first layer the arrow from nowhere comes from above, where there is nothing else.
            if ranks[index] > 0 && self.plan.graph.nodes()[node].kind.is_initial() {
                if self.plan.loop_side > 0.0 {
                    lo += ENTRY;
                } else {
                    hi += ENTRY;
                }
            }
            let cell = self.layers.add_cell(Content::Node(index), 2 * ranks[index], lo, hi, half);
            self.node_cells.push(cell);
        }
    }

    fn add_edges(
        &mut self,
        ranks: &[usize],
        edges: &[(usize, usize)],
        edge_bundles: &[usize],
        reversed: &[bool],
    ) {
        let span = |edge: usize| ranks[edges[edge].1] - ranks[edges[edge].0];
        let mut by_span: Vec<usize> = (0..edges.len()).collect();
        by_span.sort_by_key(|&edge| span(edge));

        let budget = (BENDS_PER_NODE * self.nodes.len()).clamp(BENDS_LEAST, BENDS_MOST);
        let mut bends: usize = by_span.iter().map(|&edge| 2 * span(edge) - 2).sum();
        let mut drawn = by_span.len();
        while drawn > 0 && bends > budget {
            drawn -= 1;
            bends -= 2 * span(by_span[drawn]) - 2;
        }

        // Short edges choose the layers of their labels first: they have the least choice.
        let layers = 2 * ranks.iter().max().map_or(0, |&rank| rank + 1) + 2;
        let mut load = vec![0.0_f64; layers];
        let mut label_layers = vec![0; edges.len()];
        for &edge in &by_span[..drawn] {
            let (top, bottom) = (2 * ranks[edges[edge].0], 2 * ranks[edges[edge].1]);
            let width = self.plan.labels[edge_bundles[edge]].map_or(0.0, |(across, _)| across);
            let middle = usize::midpoint(top, bottom);
            let layer = (top + 1..bottom)
                .step_by(2)
                .min_by(|&a, &b| {
                    load[a].total_cmp(&load[b]).then(a.abs_diff(middle).cmp(&b.abs_diff(middle)))
                })
                .unwrap_or(top + 1);
            load[layer] += width;
            label_layers[edge] = layer;
        }
        let mut stubbed = vec![false; edges.len()];
        by_span[drawn..].iter().for_each(|&edge| stubbed[edge] = true);

        for (edge, &(upper, lower)) in edges.iter().enumerate() {
            let bundle = edge_bundles[edge];
            let chain = if stubbed[edge] {
                let (source, target) = if reversed[edge] { (lower, upper) } else { (upper, lower) };
                self.stub_chain(bundle, source, target, 2 * ranks[source])
            } else {
                let ends = (2 * ranks[upper], 2 * ranks[lower]);
                let cells = self.chain(bundle, (upper, lower), ends, label_layers[edge]);
                Chain { bundle, cells, reversed: reversed[edge] }
            };
            for pair in chain.cells.windows(2) {
                self.layers.add_segment(pair[0], pair[1], !reversed[edge] && !stubbed[edge]);
            }
            self.chains.push(chain);
        }
    }

    fn chain(
        &mut self,
        bundle: usize,
        (upper, lower): (usize, usize),
        (top, bottom): (usize, usize),
        label_layer: usize,
    ) -> Vec<usize> {
        let mut cells = vec![self.node_cells[upper]];
        for layer in top + 1..bottom {
            cells.push(if layer == label_layer {
                self.label_cell(bundle, layer)
            } else {
                self.layers.add_cell(Content::Bend, layer, 0.0, 0.0, 0.0)
            });
        }
        cells.push(self.node_cells[lower]);
        cells
    }

    fn stub_chain(&mut self, bundle: usize, source: usize, target: usize, layer: usize) -> Chain {
        let (across, along) = self.plan.stubs[self.nodes[target]];
        let label = self.label_cell(bundle, layer + 1);
        let content = Content::Stub(target);
        let stub = self.layers.add_cell(content, layer + 2, across / 2.0, across / 2.0, along / 2.0);
        Chain { bundle, cells: vec![self.node_cells[source], label, stub], reversed: false }
    }

    fn label_cell(&mut self, bundle: usize, layer: usize) -> usize {
        match self.plan.labels[bundle] {
            Some((across, along)) => {
                self.layers.add_cell(Content::Label(bundle), layer, across / 2.0, across / 2.0, along / 2.0)
            }
            None => self.layers.add_cell(Content::Bend, layer, 0.0, 0.0, 0.0),
        }
    }
}
