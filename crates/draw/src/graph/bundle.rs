//! Bundles: the edges that share both ends, drawn as one edge with several label lines.

use std::collections::HashMap;

use super::{EdgeStyle, Graph};
use crate::text::{Face, one_line};

/// Regular edge labels.
pub(crate) const LABEL: Face = Face::regular(12.0);
/// Labels of highlighted edges.
pub(crate) const HOT_LABEL: Face = Face::semibold(12.0);

/// A label line is cut at this width; the whole of it is in the tooltip.
const LINE_LIMIT: f64 = 340.0;
/// A label has at most this many lines; all of them are in the tooltip.
const LINES_LIMIT: usize = 24;

/// One line of an edge label, already cut to fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelLine {
    /// What it says.
    pub text: String,
    /// The style of the edge it belongs to.
    pub style: EdgeStyle,
    /// Whether that edge stands out.
    pub highlighted: bool,
}

impl LabelLine {
    pub(crate) fn face(&self) -> Face {
        if self.highlighted { HOT_LABEL } else { LABEL }
    }
}

/// All edges from one node to another.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Positions in [`Graph::edges`].
    pub(crate) members: Vec<usize>,
    pub(crate) lines: Vec<LabelLine>,
    /// The common style, or plain if the edges differ: their lines still tell them apart.
    pub(crate) style: EdgeStyle,
    pub(crate) highlighted: bool,
    /// The whole label, if something was cut from it.
    pub(crate) tooltip: Option<String>,
}

impl Bundle {
    /// Width and height of the label.
    pub(crate) fn label_size(&self) -> Option<(f64, f64)> {
        if self.lines.is_empty() {
            return None;
        }
        let width = self.lines.iter().map(|line| line.face().width(&line.text)).fold(0.0, f64::max);
        let lines = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        Some((width.ceil(), f64::from(lines) * LABEL.line_height()))
    }
}

/// The bundles of a graph, in the order of their first edges.
pub(crate) fn bundles(graph: &Graph) -> Vec<Bundle> {
    let mut found: HashMap<(usize, usize), usize> = HashMap::new();
    let mut bundles: Vec<Bundle> = Vec::new();
    for (position, edge) in graph.edges().iter().enumerate() {
        let ends = (edge.from.index(), edge.to.index());
        let index = *found.entry(ends).or_insert_with(|| {
            bundles.push(Bundle {
                from: ends.0,
                to: ends.1,
                members: Vec::new(),
                lines: Vec::new(),
                style: edge.style,
                highlighted: false,
                tooltip: None,
            });
            bundles.len() - 1
        });
        let bundle = &mut bundles[index];
        bundle.members.push(position);
        bundle.highlighted |= edge.highlighted;
        if bundle.style != edge.style {
            bundle.style = EdgeStyle::Plain;
        }
    }
    for bundle in &mut bundles {
        write_lines(graph, bundle);
    }
    bundles
}

fn write_lines(graph: &Graph, bundle: &mut Bundle) {
    let mut whole: Vec<LabelLine> = Vec::new();
    for &member in &bundle.members {
        let edge = &graph.edges()[member];
        for line in edge.lines.iter().flat_map(|line| line.lines()) {
            whole.push(LabelLine {
                text: one_line(line).into_owned(),
                style: edge.style,
                highlighted: edge.highlighted,
            });
        }
    }
    let mut cut = whole.len() > LINES_LIMIT;
    let shown = if cut { LINES_LIMIT - 1 } else { whole.len() };
    for line in &whole[..shown] {
        let text = line.face().fit(&line.text, LINE_LIMIT);
        cut |= text != line.text;
        bundle.lines.push(LabelLine { text, ..*line });
    }
    if shown < whole.len() {
        let text = format!("… {} more", whole.len() - shown);
        bundle.lines.push(LabelLine { text, style: EdgeStyle::Plain, highlighted: false });
    }
    if cut {
        let texts: Vec<&str> = whole.iter().map(|line| line.text.as_str()).collect();
        bundle.tooltip = Some(texts.join("\n"));
    }
}
