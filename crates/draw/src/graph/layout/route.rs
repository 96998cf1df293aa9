//! Routing: the heights of the layers, where edges leave and enter their nodes, and the curves between.
//!
//! A curve only leaves its axis between two layers, and is vertical where it meets a layer: inside a layer
//! it stays within its own cell, so it cannot touch anything else there.

use super::component::{Chain, Component};
use super::layers::Content;
use super::{
    CORNER, ENTRY, LOOP, Layout, PORT_GAP, PORT_INSET, PlacedEdge, PlacedLabel, PlacedNode, PlacedStub,
};
use crate::geometry::{Point, Rect};
use crate::graph::NodeId;

/// The least distance between two layers: room for an arrowhead and a bit of line.
const GAP_LAYER: f64 = 20.0;
/// Edges that lead far to the side get more height, so that they do not become flat.
const GAP_SLOPE: f64 = 0.2;
const GAP_EXTRA: f64 = 64.0;
/// Lines stop short of the tip, inside the arrowhead.
const TIP: f64 = 5.0;

/// A layer's edges along the direction of the picture.
#[derive(Clone, Copy)]
struct Band {
    top: f64,
    bottom: f64,
}

impl Band {
    fn middle(self) -> f64 {
        f64::midpoint(self.top, self.bottom)
    }
}

struct Router<'a> {
    component: &'a Component<'a>,
    bands: Vec<Band>,
    /// Where each segment leaves its upper and enters its lower cell, across the layers.
    ports: Vec<(f64, f64)>,
}

pub(super) fn route(component: &Component<'_>) -> Layout {
    let ports = ports(component);
    let bands = bands(component, &ports);
    let router = Router { component, bands, ports };
    let mut layout = Layout::default();
    router.place_nodes(&mut layout);
    let mut segment = 0;
    for chain in &component.chains {
        layout.edges.push(router.edge(chain, segment));
        segment += chain.cells.len() - 1;
    }
    let cells = component.layers.cells.iter().zip(&component.axes);
    let left = cells.clone().map(|(cell, axis)| axis - cell.lo).fold(f64::INFINITY, f64::min);
    let right = cells.map(|(cell, axis)| axis + cell.hi).fold(f64::NEG_INFINITY, f64::max);
    layout.width = right - left;
    layout.height = router.bands.last().map_or(0.0, |band| band.bottom);
    layout.translate(-left, 0.0);
    layout
}

/// How much shorter than `half` the outline of a rounded box is at `offset` from the middle of its side.
fn rounding(half: f64, offset: f64) -> f64 {
    let into_corner = (offset.abs() - (half - CORNER)).clamp(0.0, CORNER);
    CORNER - (CORNER * CORNER - into_corner * into_corner).sqrt()
}

fn ports(component: &Component<'_>) -> Vec<(f64, f64)> {
    let layers = &component.layers;
    let positions = layers.positions();
    let mut ports: Vec<(f64, f64)> = layers
        .segments
        .iter()
        .map(|&(upper, lower)| (component.axes[upper], component.axes[lower]))
        .collect();
    for (index, &cell) in component.node_cells.iter().enumerate() {
        let half = component.sizes[index].0 / 2.0;
        let axis = component.axes[cell];
        for below in [false, true] {
            let mut segments = if below { layers.below[cell].clone() } else { layers.above[cell].clone() };
            let other =
                |segment: usize| if below { layers.segments[segment].1 } else { layers.segments[segment].0 };
            segments.sort_by_key(|&segment| positions[other(segment)]);
            let offsets: Vec<f64> = segments.iter().map(|&s| component.axes[other(s)] - axis).collect();
            for (&segment, offset) in segments.iter().zip(spread(&offsets, half - PORT_INSET)) {
                if below {
                    ports[segment].0 = axis + offset;
                } else {
                    ports[segment].1 = axis + offset;
                }
            }
        }
    }
    ports
}

/// Where edges that lead to `offsets` (ascending) leave a side that reaches `reach` to both sides: straight
/// where possible, and apart from each other.
fn spread(offsets: &[f64], reach: f64) -> Vec<f64> {
    let count = offsets.len();
    if count == 0 {
        return Vec::new();
    }
    let gaps = count as f64 - 1.0;
    let gap = if count == 1 { 0.0 } else { PORT_GAP.min(2.0 * reach / gaps) };
    let far = reach.min(gap * gaps / 2.0);
    // Without the gaps the ports only have to be ascending: pool adjacent violators. Edges that can be
    // straight weigh more than those that bend anyway.
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (index, &offset) in offsets.iter().enumerate() {
        let straight = offset.abs() <= reach;
        let (wish, weight) = if straight { (offset, 16.0) } else { (far * offset.signum(), 1.0) };
        let mut pool = (wish - gap * index as f64, weight, 1);
        while let Some(&(mean, weight, size)) = pools.last() {
            if mean <= pool.0 {
                break;
            }
            pools.pop();
            let total = weight + pool.1;
            pool = ((mean * weight + pool.0 * pool.1) / total, total, size + pool.2);
        }
        pools.push(pool);
    }
    let means = pools.iter().flat_map(|&(mean, _, size)| std::iter::repeat_n(mean, size));
    means
        .enumerate()
        .map(|(index, mean)| mean.clamp(-reach, (reach - gap * gaps).max(-reach)) + gap * index as f64)
        .collect()
}

fn bands(component: &Component<'_>, ports: &[(f64, f64)]) -> Vec<Band> {
    let layers = &component.layers;
    let mut shifts = vec![0.0_f64; layers.rows.len()];
    for (&(upper, _), &(from, to)) in layers.segments.iter().zip(ports) {
        let layer = layers.cells[upper].layer;
        shifts[layer] = shifts[layer].max((from - to).abs());
    }
    let entered = component.nodes.iter().zip(&component.node_cells).any(|(&node, &cell)| {
        layers.cells[cell].layer == 0 && component.plan.graph.nodes()[node].kind.is_initial()
    });
    let mut top = if entered { ENTRY } else { 0.0 };
    let mut bands = Vec::with_capacity(layers.rows.len());
    for (row, shift) in layers.rows.iter().zip(shifts) {
        let height = 2.0 * row.iter().map(|&cell| layers.cells[cell].half).fold(0.0, f64::max);
        bands.push(Band { top, bottom: top + height });
        top += height + GAP_LAYER + (GAP_SLOPE * shift).min(GAP_EXTRA);
    }
    bands
}

impl Router<'_> {
    fn place_nodes(&self, layout: &mut Layout) {
        let Component { plan, nodes, layers, axes, .. } = self.component;
        for (index, &node) in nodes.iter().enumerate() {
            let cell = self.component.node_cells[index];
            let band = self.bands[layers.cells[cell].layer];
            let (across, along) = self.component.sizes[index];
            let centre = Point::new(axes[cell], band.middle());
            let frame = Rect::around(centre, across, along);
            let entry = plan.graph.nodes()[node].kind.is_initial().then(|| {
                if layers.cells[cell].layer == 0 {
                    (Point::new(centre.x, frame.y - ENTRY + 4.0), Point::new(centre.x, frame.y))
                } else {
                    let tip = centre.x - plan.loop_side * across / 2.0;
                    (Point::new(tip - plan.loop_side * (ENTRY - 4.0), centre.y), Point::new(tip, centre.y))
                }
            });
            layout.nodes.push(PlacedNode { id: id(node), frame, entry });
            if let Some(bundle) = self.component.loops[index] {
                layout.edges.push(self.self_loop(bundle, frame));
            }
        }
        for (cell, &axis) in layers.cells.iter().zip(axes) {
            if let Content::Stub(target) = cell.content {
                let centre = Point::new(axis, self.bands[cell.layer].middle());
                let target = nodes[target];
                let (across, along) = plan.stubs[target];
                layout
                    .stubs
                    .push(PlacedStub { target: id(target), frame: Rect::around(centre, across, along) });
            }
        }
    }

    /// An edge without its geometry.
    fn blank(&self, bundle: usize) -> PlacedEdge {
        let bundle = &self.component.plan.bundles[bundle];
        PlacedEdge {
            from: id(bundle.from),
            to: id(bundle.to),
            members: bundle.members.clone(),
            style: bundle.style,
            highlighted: bundle.highlighted,
            strokes: Vec::new(),
            tip: Point::default(),
            heading: Point::default(),
            label: None,
            tooltip: bundle.tooltip.clone(),
        }
    }

    fn label(&self, bundle: usize, frame: Rect, flush_left: bool) -> PlacedLabel {
        PlacedLabel { frame, flush_left, lines: self.component.plan.bundles[bundle].lines.clone() }
    }

    fn self_loop(&self, bundle: usize, node: Rect) -> PlacedEdge {
        let side = self.component.plan.loop_side;
        let centre = node.centre();
        let spread = 7.0;
        let edge_x = centre.x + side * (node.width / 2.0 - rounding(node.height / 2.0, spread));
        let out_x = centre.x + side * (node.width / 2.0 + LOOP * 1.15);
        let start = Point::new(edge_x, centre.y - spread);
        let end = Point::new(edge_x, centre.y + spread);
        let controls = [Point::new(out_x, centre.y - 20.0), Point::new(out_x, centre.y + 20.0)];
        let (dx, dy) = (end.x - controls[1].x, end.y - controls[1].y);
        let length = (dx * dx + dy * dy).sqrt();
        let heading = Point::new(dx / length, dy / length);
        let stop = Point::new(end.x - TIP * heading.x, end.y - TIP * heading.y);
        let label = self.component.plan.labels[bundle].map(|(across, along)| {
            let x = centre.x + side * (node.width / 2.0 + LOOP + across / 2.0);
            self.label(bundle, Rect::around(Point::new(x, centre.y), across, along), true)
        });
        PlacedEdge {
            strokes: vec![vec![start, controls[0], controls[1], stop]],
            tip: end,
            heading,
            label,
            ..self.blank(bundle)
        }
    }

    /// The edge along `chain`, whose segments are numbered from `first`.
    fn edge(&self, chain: &Chain, first: usize) -> PlacedEdge {
        let cells = &self.component.layers.cells;
        let mut edge = self.blank(chain.bundle);
        let mut pen: Vec<Point> = Vec::new();
        for (offset, pair) in chain.cells.windows(2).enumerate() {
            let (from_x, to_x) = self.ports[first + offset];
            let (upper, lower) = (cells[pair[0]].layer, cells[pair[1]].layer);
            let start = Point::new(from_x, self.boundary(pair[0], from_x, 1.0));
            let end = Point::new(to_x, self.boundary(pair[1], to_x, -1.0));
            if pen.is_empty() {
                pen.push(start);
            }
            let (top, bottom) = (self.bands[upper].bottom, self.bands[lower].top);
            line_to(&mut pen, Point::new(from_x, top));
            curve_to(&mut pen, Point::new(to_x, bottom));
            line_to(&mut pen, end);
            if let Content::Label(bundle) = cells[pair[1]].content {
                let (across, along) = self.component.plan.labels[bundle].unwrap_or_default();
                let centre = Point::new(self.component.axes[pair[1]], self.bands[lower].middle());
                edge.label = Some(self.label(bundle, Rect::around(centre, across, along), false));
                edge.strokes.push(std::mem::take(&mut pen));
            }
        }
        edge.strokes.push(pen);
        if chain.reversed {
            edge.strokes.reverse();
            edge.strokes.iter_mut().for_each(|stroke| stroke.reverse());
        }
        edge.heading = Point::new(0.0, if chain.reversed { -1.0 } else { 1.0 });
        if let Some(end) = edge.strokes.last_mut().and_then(|stroke| stroke.last_mut()) {
            edge.tip = *end;
            end.y -= TIP * edge.heading.y;
        }
        edge
    }

    /// Where a cell ends above (`side` −1) or below (+1), at `x` across. Edges pass bends without stopping.
    fn boundary(&self, cell: usize, x: f64, side: f64) -> f64 {
        let Component { sizes, layers, axes, .. } = self.component;
        let content = layers.cells[cell].content;
        let half = match content {
            Content::Node(index) => {
                let (across, along) = sizes[index];
                along / 2.0 - rounding(across / 2.0, x - axes[cell])
            }
            Content::Label(_) | Content::Stub(_) => layers.cells[cell].half,
            Content::Bend => 0.0,
        };
        self.bands[layers.cells[cell].layer].middle() + side * half
    }
}

fn id(node: usize) -> NodeId {
    NodeId(u32::try_from(node).unwrap_or(u32::MAX))
}

/// A straight line as a curve, unless it has no length.
fn line_to(pen: &mut Vec<Point>, to: Point) {
    if let Some(&from) = pen.last()
        && ((from.y - to.y).abs() > 0.005 || (from.x - to.x).abs() > 0.005)
    {
        let third = |t: f64| Point::new(from.x + (to.x - from.x) * t, from.y + (to.y - from.y) * t);
        pen.extend([third(1.0 / 3.0), third(2.0 / 3.0), to]);
    }
}

/// A curve that is vertical at both ends.
fn curve_to(pen: &mut Vec<Point>, to: Point) {
    if let Some(&from) = pen.last() {
        if (from.x - to.x).abs() < 0.005 {
            return line_to(pen, to);
        }
        let middle = (to.y - from.y) * 0.55;
        pen.extend([Point::new(from.x, from.y + middle), Point::new(to.x, to.y - middle), to]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_ordered_apart_and_within_reach() {
        for offsets in [vec![0.0], vec![-200.0, 0.0, 200.0], vec![1.0, 2.0, 3.0, 4.0], vec![-50.0; 30]] {
            let ports = spread(&offsets, 20.0);
            assert!(ports.iter().all(|port| port.abs() <= 20.001), "{ports:?}");
            assert!(ports.windows(2).all(|pair| pair[1] - pair[0] > 1.0), "{ports:?}");
        }
        assert_eq!(spread(&[3.0], 20.0), [3.0]);
        assert_eq!(spread(&[300.0], 20.0), [0.0]);
    }
}
