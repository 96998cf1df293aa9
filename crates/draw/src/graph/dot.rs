//! A graph in Graphviz' DOT language.

use std::fmt::{self, Write as _};

use super::bundle::bundles;
use super::{Direction, EdgeStyle, Graph, NodeKind};

pub(super) fn dot(graph: &Graph) -> String {
    let mut out = String::new();
    // Writing to a `String` cannot fail.
    let _ = write_dot(&mut out, graph);
    out
}

/// Text in a quoted DOT string. Graphviz gives `\N`, `\G` and the like a meaning, so backslashes are doubled.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                // Graphviz resolves HTML entities even in plain strings.
                '&' => f.write_str("&amp;")?,
                c if c.is_control() => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

fn colour(style: EdgeStyle) -> &'static str {
    match style {
        EdgeStyle::Plain => "#59636e",
        EdgeStyle::Send => "#0062a8",
        EdgeStyle::Receive => "#a64300",
        EdgeStyle::Dependency => "#7a3f93",
    }
}

fn write_dot(out: &mut String, graph: &Graph) -> fmt::Result {
    writeln!(out, "digraph \"{}\" {{", Quoted(&graph.title))?;
    let direction = match graph.direction {
        Direction::TopToBottom => "TB",
        Direction::LeftToRight => "LR",
    };
    writeln!(out, "  rankdir={direction};")?;
    writeln!(out, "  graph [fontname=\"Helvetica\"];")?;
    writeln!(
        out,
        "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f5f7f9\", color=\"#8a94a3\", \
         fontname=\"Helvetica\"];"
    )?;
    writeln!(out, "  edge [fontname=\"Helvetica\", fontsize=11];")?;
    for (index, node) in graph.nodes().iter().enumerate() {
        write!(out, "  n{index} [label=\"{}", Quoted(&node.label))?;
        if let Some(detail) = &node.detail {
            write!(out, "\\n{}", Quoted(detail))?;
        }
        out.push('"');
        match node.kind {
            NodeKind::Normal => {}
            NodeKind::Initial => out.push_str(", color=\"#1b1f24\""),
            NodeKind::Final | NodeKind::InitialFinal => out.push_str(", color=\"#1b1f24\", peripheries=2"),
            NodeKind::Error => {
                out.push_str(", color=\"#c01c28\", fontcolor=\"#c01c28\", fillcolor=\"#fdeced\"");
            }
        }
        if let Some(tooltip) = &node.tooltip {
            write!(out, ", tooltip=\"{}\"", Quoted(tooltip))?;
        }
        writeln!(out, "];")?;
        if node.kind.is_initial() {
            writeln!(out, "  start{index} [shape=point, color=\"#1b1f24\", width=0.08];")?;
            writeln!(out, "  start{index} -> n{index} [color=\"#1b1f24\"];")?;
        }
    }
    for bundle in bundles(graph) {
        write!(out, "  n{} -> n{} [label=\"", bundle.from, bundle.to)?;
        for (line, text) in bundle.members.iter().flat_map(|&member| &graph.edges()[member].lines).enumerate()
        {
            let separator = if line > 0 { "\\n" } else { "" };
            write!(out, "{separator}{}", Quoted(text))?;
        }
        let colour = colour(bundle.style);
        write!(out, "\", color=\"{colour}\", fontcolor=\"{colour}\"")?;
        if bundle.style == EdgeStyle::Dependency {
            out.push_str(", style=dashed");
        }
        if bundle.highlighted {
            out.push_str(", penwidth=2.5");
        }
        writeln!(out, "];")?;
    }
    writeln!(out, "}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_escapes_survive() {
        assert_eq!(Quoted("a\"b\\N\n&lt;").to_string(), "a\\\"b\\\\N\\n&amp;lt;");
    }
}
