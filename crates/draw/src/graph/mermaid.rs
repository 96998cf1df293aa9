//! A graph as a Mermaid flowchart.

use std::fmt::Write as _;

use super::bundle::bundles;
use super::{Direction, EdgeStyle, Graph, NodeKind};
use crate::mermaid::{Escaped, title};

pub(super) fn flowchart(graph: &Graph) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = write_flowchart(&mut out, graph);
    out
}

fn write_flowchart(out: &mut String, graph: &Graph) -> std::fmt::Result {
    let title = title(&graph.title);
    if !title.is_empty() {
        writeln!(out, "---\ntitle: \"{title}\"\n---")?;
    }
    let direction = match graph.direction {
        Direction::TopToBottom => "TB",
        Direction::LeftToRight => "LR",
    };
    writeln!(out, "flowchart {direction}")?;
    for (index, node) in graph.nodes().iter().enumerate() {
        let mut label = Escaped(&node.label).to_string();
        if let Some(detail) = &node.detail {
            write!(label, "<br/>{}", Escaped(detail))?;
        }
        let (open, close, class) = match node.kind {
            NodeKind::Normal => ("(", ")", ""),
            NodeKind::Initial => ("(", ")", ":::initial"),
            NodeKind::Final => ("[[", "]]", ":::final"),
            NodeKind::InitialFinal => ("[[", "]]", ":::final"),
            NodeKind::Error => ("(", ")", ":::error"),
        };
        writeln!(out, "  n{index}{open}\"{label}\"{close}{class}")?;
        if node.kind.is_initial() {
            writeln!(out, "  start{index}(( )):::start")?;
        }
    }
    let mut drawn = 0;
    for (index, node) in graph.nodes().iter().enumerate() {
        if node.kind.is_initial() {
            writeln!(out, "  start{index} --> n{index}")?;
            drawn += 1;
        }
    }
    let mut styles: Vec<(usize, String)> = Vec::new();
    for bundle in bundles(graph) {
        let arrow = match (bundle.style, bundle.highlighted) {
            (_, true) => "==>",
            (EdgeStyle::Dependency, false) => "-.->",
            (_, false) => "-->",
        };
        let lines = bundle.members.iter().flat_map(|&member| &graph.edges()[member].lines);
        let label: Vec<String> = lines.map(|line| Escaped(line).to_string()).collect();
        let label = if label.is_empty() { String::new() } else { format!("|\"{}\"|", label.join("<br/>")) };
        writeln!(out, "  n{} {arrow}{label} n{}", bundle.from, bundle.to)?;
        let colour = match bundle.style {
            EdgeStyle::Plain => None,
            EdgeStyle::Send => Some("#0072b2"),
            EdgeStyle::Receive => Some("#c55a11"),
            EdgeStyle::Dependency => Some("#8e5aa8"),
        };
        if let Some(colour) = colour {
            styles.push((drawn, format!("stroke:{colour},color:{colour}")));
        }
        drawn += 1;
    }
    for (edge, style) in styles {
        writeln!(out, "  linkStyle {edge} {style}")?;
    }
    out.push_str(
        "  classDef initial stroke-width:2px\n  classDef final stroke-width:2px\n  \
         classDef error stroke:#c01c28,color:#c01c28\n  classDef start fill:#1b1f24,stroke:#1b1f24\n",
    );
    Ok(())
}
