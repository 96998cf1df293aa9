//! Where everything in a graph goes: a layered layout after Sugiyama.
//!
//! Each connected component is laid out in a frame of its own, in which edges lead downwards: cycles are
//! broken (`acyclic`), nodes get ranks (`rank`), labels and long edges get cells in the layers between
//! (`layers`), the cells of each layer are ordered (`order`) and placed (`position`), and edges are drawn
//! through their cells (`route`). A left-to-right picture is laid out with the sizes of nodes and labels
//! transposed and is transposed back. Finally the components are put on shelves.
//!
//! What holds of every [`Layout`], by construction: no two nodes or labels overlap, no edge passes through a
//! node or through another edge's label, and everything lies inside the picture.

mod acyclic;
mod component;
mod layers;
mod order;
mod position;
mod rank;
mod route;

use super::bundle::{Bundle, bundles};
use super::{Direction, EdgeStyle, Graph, Node, NodeId};
use crate::geometry::{Point, Rect};
use crate::text::Face;

pub use super::bundle::LabelLine;

/// Node names.
pub(crate) const NAME: Face = Face::semibold(13.0);
/// The second line of nodes.
pub(crate) const DETAIL: Face = Face::regular(11.0);
/// Radius of the corners of nodes.
pub(crate) const CORNER: f64 = 12.0;

const GAP_NODE: f64 = 30.0;
const GAP_LABEL: f64 = 18.0;
const GAP_BEND: f64 = 16.0;
/// Around the whole picture.
const MARGIN: f64 = 16.0;
/// Between components.
const GAP_COMPONENT: f64 = 40.0;
/// How far a self-loop reaches out of its node.
const LOOP: f64 = 24.0;
/// Preferred distance between two edges at a node, and of the outermost ones from its corner.
const PORT_GAP: f64 = 14.0;
const PORT_INSET: f64 = 8.0;
/// The length of the arrow that points to an initial node.
const ENTRY: f64 = 26.0;
/// Node text is cut at this width.
const NAME_LIMIT: f64 = 240.0;

/// A node with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedNode {
    /// Which node.
    pub id: NodeId,
    /// Its outline.
    pub frame: Rect,
    /// The arrow from nowhere, from its tail to its tip, if the node is initial.
    pub entry: Option<(Point, Point)>,
}

/// A mention of a node far away: the end of an edge that would have been too long to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedStub {
    /// The node where the edge really leads.
    pub target: NodeId,
    /// Its outline.
    pub frame: Rect,
}

/// An edge label with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedLabel {
    /// The room it takes.
    pub frame: Rect,
    /// Whether lines start at the left edge rather than being centred.
    pub flush_left: bool,
    /// What it says.
    pub lines: Vec<LabelLine>,
}

/// All edges from one node to another, drawn as one.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedEdge {
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// The edges it stands for: positions in [`Graph::edges`].
    pub members: Vec<usize>,
    /// The common style of these edges, or plain.
    pub style: EdgeStyle,
    /// Whether one of these edges stands out.
    pub highlighted: bool,
    /// The line, interrupted where the label stands: chains of cubic Bézier curves, each a start and then
    /// three points per curve.
    pub strokes: Vec<Vec<Point>>,
    /// The tip of the arrowhead.
    pub tip: Point,
    /// The direction of the arrowhead, of length one.
    pub heading: Point,
    /// The label, if there is one.
    pub label: Option<PlacedLabel>,
    /// The whole label, if it was cut.
    pub tooltip: Option<String>,
}

/// Where everything goes.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Layout {
    /// The width of the picture.
    pub width: f64,
    /// The height of the picture.
    pub height: f64,
    /// Every node, in the order of [`Graph::nodes`].
    pub nodes: Vec<PlacedNode>,
    /// Every edge, parallel ones merged, in the order of their first members.
    pub edges: Vec<PlacedEdge>,
    /// Mentions of nodes far away.
    pub stubs: Vec<PlacedStub>,
}

/// What the components have in common. Sizes are (across, along) the direction of the picture.
struct Plan<'a> {
    graph: &'a Graph,
    bundles: Vec<Bundle>,
    nodes: Vec<(f64, f64)>,
    stubs: Vec<(f64, f64)>,
    labels: Vec<Option<(f64, f64)>>,
    /// On which side of a node its self-loop stands: right of it, or above it in a left-to-right picture.
    loop_side: f64,
}

/// The size of a node.
fn measure(node: &Node) -> (f64, f64) {
    let name = NAME.width(&node_name(node));
    let detail = node_detail(node).map(|detail| DETAIL.width(&detail));
    let ring = if node.kind.is_final() { 6.0 } else { 0.0 };
    let width = (name.max(detail.unwrap_or(0.0)) + 26.0).max(46.0).ceil();
    let height = if detail.is_some() { 48.0 } else { 34.0 };
    (width + ring, height + ring)
}

/// A node's first line, cut to fit.
pub(crate) fn node_name(node: &Node) -> String {
    NAME.fit(&node.label, NAME_LIMIT)
}

/// A node's second line, cut to fit.
pub(crate) fn node_detail(node: &Node) -> Option<String> {
    node.detail.as_deref().map(|detail| DETAIL.fit(detail, NAME_LIMIT))
}

/// What a mention of a node far away says.
pub(crate) fn stub_name(node: &Node) -> String {
    format!("→ {}", DETAIL.fit(&node.label, NAME_LIMIT))
}

pub(super) fn layout(graph: &Graph) -> Layout {
    let sideways = graph.direction == Direction::LeftToRight;
    let turn = |(width, height): (f64, f64)| if sideways { (height, width) } else { (width, height) };
    let bundles = bundles(graph);
    let plan = Plan {
        graph,
        nodes: graph.nodes().iter().map(|node| turn(measure(node))).collect(),
        stubs: graph
            .nodes()
            .iter()
            .map(|node| turn((DETAIL.width(&stub_name(node)).ceil() + 16.0, 22.0)))
            .collect(),
        labels: bundles
            .iter()
            // A little room between the label and the line that it interrupts.
            .map(|bundle| bundle.label_size().map(|(width, height)| turn((width + 8.0, height + 4.0))))
            .collect(),
        bundles,
        loop_side: if sideways { -1.0 } else { 1.0 },
    };

    let mut pieces: Vec<Layout> =
        components(&plan).iter().map(|(nodes, bundles)| component::layout(&plan, nodes, bundles)).collect();
    if sideways {
        pieces.iter_mut().for_each(Layout::transpose);
    }
    let mut whole = shelve(pieces);
    whole.nodes.sort_by_key(|node| node.id);
    whole.edges.sort_by_key(|edge| edge.members.first().copied());
    whole
}

/// The connected components: for each, its nodes and its bundles, in order.
fn components(plan: &Plan<'_>) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut leaders: Vec<usize> = (0..plan.nodes.len()).collect();
    fn leader(leaders: &mut [usize], mut node: usize) -> usize {
        while leaders[node] != node {
            leaders[node] = leaders[leaders[node]];
            node = leaders[node];
        }
        node
    }
    for bundle in &plan.bundles {
        let (a, b) = (leader(&mut leaders, bundle.from), leader(&mut leaders, bundle.to));
        leaders[a.max(b)] = a.min(b);
    }
    let mut components: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    let mut numbers = vec![usize::MAX; plan.nodes.len()];
    for node in 0..plan.nodes.len() {
        let leader = leader(&mut leaders, node);
        if leader == node {
            numbers[node] = components.len();
            components.push((Vec::new(), Vec::new()));
        }
        components[numbers[leader]].0.push(node);
        numbers[node] = numbers[leader];
    }
    for (index, bundle) in plan.bundles.iter().enumerate() {
        components[numbers[bundle.from]].1.push(index);
    }
    components
}

/// Puts the components next to each other, beginning a new shelf when the picture would become much wider
/// than it is high.
fn shelve(pieces: Vec<Layout>) -> Layout {
    let area: f64 = pieces.iter().map(|p| (p.width + GAP_COMPONENT) * (p.height + GAP_COMPONENT)).sum();
    let widest = pieces.iter().map(|piece| piece.width).fold(0.0, f64::max);
    let limit = widest.max((area * 1.6).sqrt());
    let mut whole = Layout::default();
    let (mut x, mut y, mut shelf) = (0.0, 0.0, 0.0_f64);
    for mut piece in pieces {
        if x > 0.0 && x + piece.width > limit {
            x = 0.0;
            y += shelf + GAP_COMPONENT;
            shelf = 0.0;
        }
        piece.translate(MARGIN + x, MARGIN + y);
        whole.width = whole.width.max(x + piece.width);
        whole.height = whole.height.max(y + piece.height);
        x += piece.width + GAP_COMPONENT;
        shelf = shelf.max(piece.height);
        whole.nodes.append(&mut piece.nodes);
        whole.edges.append(&mut piece.edges);
        whole.stubs.append(&mut piece.stubs);
    }
    whole.width += 2.0 * MARGIN;
    whole.height += 2.0 * MARGIN;
    whole
}

impl Layout {
    fn translate(&mut self, dx: f64, dy: f64) {
        self.map(|p| Point::new(p.x + dx, p.y + dy), |r| r.moved(dx, dy));
    }

    fn transpose(&mut self) {
        std::mem::swap(&mut self.width, &mut self.height);
        self.map(Point::transposed, Rect::transposed);
        for edge in &mut self.edges {
            edge.heading = edge.heading.transposed();
            if let Some(label) = &mut edge.label {
                label.flush_left = false;
            }
        }
    }

    fn map(&mut self, point: impl Fn(Point) -> Point, rect: impl Fn(Rect) -> Rect) {
        for node in &mut self.nodes {
            node.frame = rect(node.frame);
            node.entry = node.entry.map(|(tail, tip)| (point(tail), point(tip)));
        }
        for stub in &mut self.stubs {
            stub.frame = rect(stub.frame);
        }
        for edge in &mut self.edges {
            edge.strokes.iter_mut().flatten().for_each(|p| *p = point(*p));
            edge.tip = point(edge.tip);
            if let Some(label) = &mut edge.label {
                label.frame = rect(label.frame);
            }
        }
    }
}
