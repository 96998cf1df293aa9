//! A laid-out graph as SVG.

use super::layout::{
    CORNER, DETAIL, Layout, NAME, PlacedEdge, PlacedLabel, PlacedNode, PlacedStub, node_detail, node_name,
    stub_name,
};
use super::{EdgeStyle, Graph, NodeKind};
use crate::geometry::{Point, Rect};
use crate::graph::bundle::LABEL;
use crate::svg::{Number as N, Svg};

pub(super) fn svg(graph: &Graph, layout: &Layout) -> String {
    let mut svg = Svg::open(&graph.title, layout.width, layout.height);
    // Highlighted edges last: where lines cross, they stay on top.
    for highlighted in [false, true] {
        for edge in layout.edges.iter().filter(|edge| edge.highlighted == highlighted) {
            paint_edge(&mut svg, edge);
        }
    }
    for node in &layout.nodes {
        paint_node(&mut svg, graph, node);
    }
    for stub in &layout.stubs {
        paint_stub(&mut svg, graph, stub);
    }
    svg.close()
}

fn style_class(style: EdgeStyle) -> &'static str {
    match style {
        EdgeStyle::Plain => "",
        EdgeStyle::Send => " rd-send",
        EdgeStyle::Receive => " rd-recv",
        EdgeStyle::Dependency => " rd-dep",
    }
}

fn paint_edge(svg: &mut Svg, edge: &PlacedEdge) {
    let hot = if edge.highlighted { " rd-hot" } else { "" };
    svg.raw(format_args!(
        "<g class=\"rd-edge{}{hot}\" data-from=\"{}\" data-to=\"{}\">",
        style_class(edge.style),
        edge.from.0,
        edge.to.0
    ));
    if let Some(tooltip) = &edge.tooltip {
        svg.raw(format_args!("<title>{}</title>", crate::svg::Escaped(tooltip)));
    }
    svg.raw(format_args!("<path class=\"rd-stroke\" d=\""));
    for stroke in &edge.strokes {
        paint_stroke(svg, stroke);
    }
    svg.raw(format_args!("\"/>"));
    let size = if edge.highlighted { 1.25 } else { 1.0 };
    paint_head(svg, "rd-head", edge.tip, edge.heading, size);
    if let Some(label) = &edge.label {
        paint_label(svg, label);
    }
    svg.end();
}

fn paint_stroke(svg: &mut Svg, stroke: &[Point]) {
    let Some((start, curves)) = stroke.split_first() else { return };
    svg.raw(format_args!("M{} {}", N(start.x), N(start.y)));
    let mut from = *start;
    for curve in curves.chunks_exact(3) {
        let (a, b, to) = (curve[0], curve[1], curve[2]);
        let vertical = [a, b, to].iter().all(|p| (p.x - from.x).abs() < 0.005);
        let horizontal = [a, b, to].iter().all(|p| (p.y - from.y).abs() < 0.005);
        if vertical {
            svg.raw(format_args!("V{}", N(to.y)));
        } else if horizontal {
            svg.raw(format_args!("H{}", N(to.x)));
        } else {
            let [ax, ay, bx, by, x, y] = [a.x, a.y, b.x, b.y, to.x, to.y].map(N);
            svg.raw(format_args!("C{ax} {ay} {bx} {by} {x} {y}"));
        }
        from = to;
    }
}

fn paint_head(svg: &mut Svg, class: &str, tip: Point, heading: Point, size: f64) {
    let (length, half) = (9.0 * size, 4.2 * size);
    let back = Point::new(tip.x - length * heading.x, tip.y - length * heading.y);
    let [x, y, ax, ay, bx, by] = [
        tip.x,
        tip.y,
        back.x - half * heading.y,
        back.y + half * heading.x,
        back.x + half * heading.y,
        back.y - half * heading.x,
    ]
    .map(N);
    svg.raw(format_args!("<path class=\"{class}\" d=\"M{x} {y}L{ax} {ay}L{bx} {by}Z\"/>"));
}

fn paint_label(svg: &mut Svg, label: &PlacedLabel) {
    let height = LABEL.line_height();
    let lines = label.lines.len() as f64;
    let mut y = label.frame.centre().y - height * (lines - 1.0) / 2.0;
    for line in &label.lines {
        let hot = if line.highlighted { " rd-hot" } else { "" };
        let style = style_class(line.style);
        if label.flush_left {
            svg.text(format!("{style}{hot}").trim_start(), LABEL, label.frame.x + 4.0, y, &line.text);
        } else {
            svg.text(&format!("rd-middle{style}{hot}"), LABEL, label.frame.centre().x, y, &line.text);
        }
        y += height;
    }
}

fn paint_box(svg: &mut Svg, class: &str, frame: Rect, inset: f64, corner: f64) {
    let [x, y, width, height, r] = [
        frame.x + inset,
        frame.y + inset,
        frame.width - 2.0 * inset,
        frame.height - 2.0 * inset,
        corner - inset,
    ]
    .map(N);
    svg.raw(format_args!(
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{r}\"/>"
    ));
}

fn paint_node(svg: &mut Svg, graph: &Graph, placed: &PlacedNode) {
    let node = &graph.nodes()[placed.id.index()];
    let kind = match node.kind {
        NodeKind::Normal => "",
        NodeKind::Initial => " rd-initial",
        NodeKind::Final => " rd-final",
        NodeKind::InitialFinal => " rd-initial rd-final",
        NodeKind::Error => " rd-error",
    };
    let (name, detail) = (node_name(node), node_detail(node));
    let cut = name != node.label || detail != node.detail;
    svg.raw(format_args!("<g class=\"rd-node{kind}\" data-node=\"{}\">", placed.id.0));
    let whole = match &node.detail {
        Some(detail) => format!("{}\n{detail}", node.label),
        None => node.label.clone(),
    };
    if let Some(tooltip) = node.tooltip.as_ref().or(cut.then_some(&whole)) {
        svg.raw(format_args!("<title>{}</title>", crate::svg::Escaped(tooltip)));
    }
    if let Some((tail, tip)) = placed.entry {
        let (dx, dy) = (tip.x - tail.x, tip.y - tail.y);
        let length = (dx * dx + dy * dy).sqrt();
        let heading = Point::new(dx / length, dy / length);
        let [tx, ty, x, y] = [tail.x, tail.y, tip.x - 6.0 * heading.x, tip.y - 6.0 * heading.y].map(N);
        svg.raw(format_args!("<circle class=\"rd-dot\" cx=\"{tx}\" cy=\"{ty}\" r=\"3.5\"/>"));
        svg.raw(format_args!("<path class=\"rd-entry\" d=\"M{tx} {ty}L{x} {y}\"/>"));
        paint_head(svg, "rd-dot", tip, heading, 1.0);
    }
    paint_box(svg, "rd-box", placed.frame, 0.0, CORNER);
    if node.kind.is_final() {
        paint_box(svg, "rd-ring", placed.frame, 3.5, CORNER);
    }
    let centre = placed.frame.centre();
    match detail {
        None => svg.text("rd-middle rd-name", NAME, centre.x, centre.y, &name),
        Some(detail) => {
            svg.text("rd-middle rd-name", NAME, centre.x, centre.y - 8.0, &name);
            svg.text("rd-middle rd-detail", DETAIL, centre.x, centre.y + 9.0, &detail);
        }
    }
    svg.end();
}

fn paint_stub(svg: &mut Svg, graph: &Graph, stub: &PlacedStub) {
    svg.group("rd-stub", None);
    paint_box(svg, "rd-box", stub.frame, 0.0, 11.0);
    let centre = stub.frame.centre();
    let name = stub_name(&graph.nodes()[stub.target.index()]);
    svg.text("rd-middle rd-detail", DETAIL, centre.x, centre.y, &name);
    svg.end();
}
