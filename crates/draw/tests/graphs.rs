//! Facts about drawn graphs: of the sample pictures, and of random graphs.
#![allow(clippy::expect_used, reason = "a test that cannot draw has failed")]

#[path = "gallery/samples.rs"]
mod gallery;

use proptest::prelude::*;
use referee_draw::geometry::{Point, Rect};
use referee_draw::graph::layout::Layout;
use referee_draw::graph::{EDGE_LIMIT, NODE_LIMIT};
use referee_draw::{Direction, DrawError, Edge, EdgeStyle, Graph, Node, NodeId, NodeKind};

fn labels(layout: &Layout) -> Vec<Rect> {
    layout.edges.iter().filter_map(|edge| edge.label.as_ref()).map(|label| label.frame).collect()
}

/// Points along a chain of Bézier curves.
fn sampled(stroke: &[Point]) -> Vec<Point> {
    let mut points = Vec::new();
    let mut from = stroke[0];
    for curve in stroke[1..].chunks_exact(3) {
        for step in 0..=16 {
            let (t, u) = (f64::from(step) / 16.0, 1.0 - f64::from(step) / 16.0);
            let weights = [u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t];
            let on = |pick: fn(Point) -> f64| {
                [from, curve[0], curve[1], curve[2]].iter().zip(weights).map(|(p, w)| pick(*p) * w).sum()
            };
            points.push(Point::new(on(|p| p.x), on(|p| p.y)));
        }
        from = curve[2];
    }
    points
}

fn strictly_inside(frame: &Rect, point: Point) -> bool {
    const SLACK: f64 = 0.6;
    point.x > frame.x + SLACK
        && point.x < frame.right() - SLACK
        && point.y > frame.y + SLACK
        && point.y < frame.bottom() - SLACK
}

/// The promises of the layout module.
fn assert_readable(graph: &Graph) -> Layout {
    let layout = graph.layout().expect("within the limits");
    let picture = Rect { x: 0.0, y: 0.0, width: layout.width, height: layout.height };
    assert_eq!(layout.nodes.len(), graph.nodes().len());
    let members: usize = layout.edges.iter().map(|edge| edge.members.len()).sum();
    assert_eq!(members, graph.edges().len());

    let mut boxes: Vec<Rect> = layout.nodes.iter().map(|node| node.frame).collect();
    let nodes = boxes.len();
    boxes.extend(layout.stubs.iter().map(|stub| stub.frame));
    boxes.extend(labels(&layout));
    for (index, a) in boxes.iter().enumerate() {
        assert!(picture.contains(a), "{a:?} leaves the picture {picture:?}");
        for b in &boxes[index + 1..] {
            assert!(!a.overlaps(b), "{a:?} overlaps {b:?}");
        }
    }
    for (index, edge) in layout.edges.iter().enumerate() {
        for point in edge.strokes.iter().flat_map(|stroke| sampled(stroke)) {
            let dot = Rect { x: point.x, y: point.y, width: 0.0, height: 0.0 };
            assert!(picture.contains(&dot), "{point:?} leaves the picture");
            for (number, frame) in boxes[..nodes].iter().enumerate() {
                // Where a line meets its own nodes it may touch them: their corners are round.
                let own = number == edge.from.index() || number == edge.to.index();
                assert!(own || !strictly_inside(frame, point), "an edge passes through a node");
            }
            for (other, label) in layout.edges.iter().map(|e| e.label.as_ref()).enumerate() {
                let through = label.is_some_and(|label| strictly_inside(&label.frame, point));
                assert!(other == index || !through, "an edge passes through another's label");
            }
        }
    }
    layout
}

fn assert_well_formed(graph: &Graph) {
    let svg = graph.to_svg().expect("within the limits");
    let document = roxmltree::Document::parse(&svg).expect("well-formed XML");
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    assert_eq!(root.attribute("role"), Some("img"));
    assert!(root.attribute("viewBox").is_some());
    let title = root.children().find(|child| child.has_tag_name(("http://www.w3.org/2000/svg", "title")));
    assert_eq!(title.and_then(|title| title.text()).unwrap_or_default(), graph.title);
    assert_eq!(svg, graph.to_svg().expect("within the limits"), "the same input gives the same bytes");
}

#[test]
fn samples_are_readable_and_well_formed() {
    for (name, graph) in gallery::graphs() {
        println!("{name}");
        assert_readable(&graph);
        assert_well_formed(&graph);
    }
}

#[test]
fn the_initial_state_is_on_top_and_edges_mostly_lead_down() {
    let layout = assert_readable(&gallery::smtp());
    let top = layout.nodes.iter().map(|node| node.frame.y).fold(f64::INFINITY, f64::min);
    assert!((layout.nodes[0].frame.y - top).abs() < 0.01);
    assert!(layout.nodes[0].entry.is_some());
    let down = layout.edges.iter().filter(|edge| edge.heading.y > 0.9).count();
    assert!(2 * down > layout.edges.len());
}

#[test]
fn left_to_right_leads_to_the_right() {
    let layout = assert_readable(&gallery::chain());
    assert!(layout.nodes.windows(2).all(|pair| pair[0].frame.right() < pair[1].frame.x));
    assert!(layout.edges.iter().all(|edge| edge.heading.x > 0.9));
}

#[test]
fn parallel_edges_become_one_with_several_lines() {
    let layout = assert_readable(&gallery::loops());
    let edge =
        layout.edges.iter().find(|edge| edge.from == NodeId(0) && edge.to == NodeId(1)).expect("drawn");
    assert_eq!(edge.members.len(), 8);
    let label = edge.label.as_ref().expect("labelled");
    assert_eq!(label.lines.len(), 8);
    assert_eq!(edge.style, EdgeStyle::Plain, "sends and receives together are neither");
    assert_eq!(label.lines[0].style, EdgeStyle::Send);
    assert_eq!(label.lines[1].style, EdgeStyle::Receive);
}

#[test]
fn a_tree_has_no_crossings_and_final_states_a_double_outline() {
    let svg = gallery::three().to_svg().expect("drawn");
    assert_eq!(svg.matches("class=\"rd-ring\"").count(), 1);
    assert_eq!(svg.matches("class=\"rd-node").count(), 3);
    assert_eq!(svg.matches("class=\"rd-edge").count(), 3);
}

#[test]
fn empty_and_tiny_graphs_are_drawn() {
    assert_well_formed(&Graph::new(""));
    let mut graph = Graph::new("one");
    graph.add_node(Node::new(""));
    assert_readable(&graph);
    assert_well_formed(&graph);
}

#[test]
fn what_is_too_large_or_dangling_is_refused() {
    let mut graph = Graph::new("");
    let only = graph.add_node(Node::new("a"));
    graph.add_edge(Edge::new(only, NodeId(7)));
    assert_eq!(graph.to_svg(), Err(DrawError::UnknownNode { edge: 0 }));
    assert_eq!(graph.to_dot(), Err(DrawError::UnknownNode { edge: 0 }));
    assert_eq!(graph.to_mermaid(), Err(DrawError::UnknownNode { edge: 0 }));

    let mut graph = Graph::new("");
    for _ in 0..=NODE_LIMIT {
        graph.add_node(Node::new("a"));
    }
    let error = graph.to_svg().expect_err("too large");
    assert_eq!(error, DrawError::TooManyNodes { nodes: NODE_LIMIT + 1, limit: NODE_LIMIT });
    assert_eq!(error.to_string(), "a graph of 5001 nodes is too large to draw (at most 5000)");

    let mut graph = Graph::new("");
    let only = graph.add_node(Node::new("a"));
    for _ in 0..=EDGE_LIMIT {
        graph.add_edge(Edge::new(only, only));
    }
    assert_eq!(graph.to_svg(), Err(DrawError::TooManyEdges { edges: EDGE_LIMIT + 1, limit: EDGE_LIMIT }));
}

/// A chain in which every state can start over: drawn in full, it would be as wide as it is long.
fn restarting(nodes: u32) -> Graph {
    let mut graph = Graph::new("restarting");
    for index in 0..nodes {
        let kind = if index == 0 { NodeKind::Initial } else { NodeKind::Normal };
        graph.add_node(Node::new(format!("q{index}")).kind(kind));
    }
    for index in 1..nodes {
        graph.add_edge(Edge::new(NodeId(index - 1), NodeId(index)).line("A!next").style(EdgeStyle::Send));
        graph.add_edge(Edge::new(NodeId(index), NodeId(0)).line("A?reset").style(EdgeStyle::Receive));
    }
    graph
}

#[test]
fn edges_too_long_to_follow_end_in_a_mention() {
    let layout = assert_readable(&restarting(120));
    assert!(!layout.stubs.is_empty());
    assert!(layout.stubs.iter().all(|stub| stub.target == NodeId(0)));
    assert!(layout.width < 4_000.0, "{}", layout.width);
    assert!(assert_readable(&gallery::smtp()).stubs.is_empty());
}

#[test]
fn a_large_graph_is_drawn() {
    let mut graph = restarting(2_000);
    for index in 0..2_000_u32 {
        let to = NodeId(index.wrapping_mul(2_654_435_761) % 2_000);
        graph.add_edge(Edge::new(NodeId(index), to).line("B!far"));
    }
    assert_well_formed(&graph);
}

#[test]
fn dot_and_mermaid_quote_everything() {
    let mut graph = Graph::new("say \"hi\"");
    let a = graph.add_node(Node::new("a\"b").kind(NodeKind::Initial));
    let b = graph.add_node(Node::new("end").kind(NodeKind::Final));
    graph.add_edge(Edge::new(a, b).line("S!x < \"y\"").style(EdgeStyle::Send));
    let dot = graph.to_dot().expect("drawn");
    assert!(dot.starts_with("digraph \"say \\\"hi\\\"\" {\n  rankdir=TB;\n"), "{dot}");
    assert!(dot.contains("n0 [label=\"a\\\"b\""), "{dot}");
    assert!(dot.contains("n1 [label=\"end\", color=\"#1b1f24\", peripheries=2]"), "{dot}");
    assert!(dot.contains("n0 -> n1 [label=\"S!x < \\\"y\\\"\""), "{dot}");
    let mermaid = graph.to_mermaid().expect("drawn");
    assert!(mermaid.contains("flowchart TB\n"), "{mermaid}");
    assert!(mermaid.contains("n0(\"a#34;b\"):::initial"), "{mermaid}");
    assert!(mermaid.contains("n1[[\"#101;nd\"]]:::final"), "{mermaid}");
    assert!(mermaid.contains("n0 -->|\"S!x #60; #34;y#34;\"| n1"), "{mermaid}");
}

prop_compose! {
    fn random_graph()(nodes in 1_usize..24)(
        nodes in prop::collection::vec(("\\PC{0,24}", 0_u8..5, prop::option::of("[a-z <&]{0,20}")), nodes),
        edges in prop::collection::vec((0..nodes, 0..nodes, "[A-Z][!?][a-zA-Z0-9(,) ]{0,30}", 0_u8..5), 0..nodes * 3),
        sideways in any::<bool>(),
    ) -> Graph {
        let mut graph = Graph::new("random");
        if sideways {
            graph.direction = Direction::LeftToRight;
        }
        for (label, kind, detail) in nodes {
            let kind = [
                NodeKind::Normal,
                NodeKind::Initial,
                NodeKind::Final,
                NodeKind::InitialFinal,
                NodeKind::Error,
            ][usize::from(kind)];
            let mut node = Node::new(label).kind(kind);
            node.detail = detail;
            graph.add_node(node);
        }
        for (from, to, label, style) in edges {
            let ends = [from, to].map(|end| NodeId(u32::try_from(end).expect("small")));
            let mut edge = Edge::new(ends[0], ends[1]);
            edge.highlighted = style == 0;
            if style != 1 {
                edge = edge.line(label);
            }
            edge.style = if style % 2 == 0 { EdgeStyle::Send } else { EdgeStyle::Receive };
            graph.add_edge(edge);
        }
        graph
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_are_readable_and_well_formed(graph in random_graph()) {
        assert_readable(&graph);
        assert_well_formed(&graph);
    }
}
