//! Directed graphs with labelled nodes and edges, as automata need them.
//!
//! A [`Graph`] is what to draw, [`layout`] decides where, and the remaining modules write it down. Node
//! identity is the order of insertion, so the states `0..n` of an automaton keep their numbers.

use crate::error::DrawError;

mod bundle;
mod dot;
pub mod layout;
mod mermaid;
mod paint;

use layout::Layout;

/// Graphs with more nodes are not drawn: nobody could read them.
pub const NODE_LIMIT: usize = 5_000;

/// Graphs with more edges are not drawn.
pub const EDGE_LIMIT: usize = 50_000;

/// A node of a [`Graph`]: its position in the order of insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// This node as a table index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node stands for, which decides its outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum NodeKind {
    /// One of many.
    #[default]
    Normal,
    /// Where everything starts: an arrow from nowhere points to it.
    Initial,
    /// Where everything may end: a double outline.
    Final,
    /// Initial and final at once.
    InitialFinal,
    /// Where something went wrong.
    Error,
}

impl NodeKind {
    /// The kind of a state, by whether it is the first and whether nothing follows it.
    #[must_use]
    pub fn of_state(is_initial: bool, is_final: bool) -> Self {
        match (is_initial, is_final) {
            (true, true) => Self::InitialFinal,
            (true, false) => Self::Initial,
            (false, true) => Self::Final,
            (false, false) => Self::Normal,
        }
    }

    /// Whether an arrow from nowhere points to the node.
    #[must_use]
    pub fn is_initial(self) -> bool {
        matches!(self, Self::Initial | Self::InitialFinal)
    }

    /// Whether the node has a double outline.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Final | Self::InitialFinal)
    }
}

/// What an edge stands for, which decides its colour. Labels should say it too (`!`, `?`): not every reader
/// sees colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum EdgeStyle {
    /// Nothing in particular.
    #[default]
    Plain,
    /// Something is sent.
    Send,
    /// Something is received.
    Receive,
    /// Something is only learnt: a dashed line.
    Dependency,
}

/// Which way the edges of a graph mostly point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// Downwards.
    #[default]
    TopToBottom,
    /// To the right.
    LeftToRight,
}

/// A node to draw.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Node {
    /// The first line.
    pub label: String,
    /// A second, less prominent line.
    pub detail: Option<String>,
    /// What the node stands for.
    pub kind: NodeKind,
    /// Shown while the pointer rests on the node.
    pub tooltip: Option<String>,
}

impl Node {
    /// A normal node.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// The same node with a second line.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same node, of this kind.
    #[must_use]
    pub fn kind(mut self, kind: NodeKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same node with a tooltip.
    #[must_use]
    pub fn tooltip(mut self, tooltip: impl Into<String>) -> Self {
        self.tooltip = Some(tooltip.into());
        self
    }
}

/// An edge to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it starts.
    pub from: NodeId,
    /// Where its arrowhead is.
    pub to: NodeId,
    /// What is written on it, one entry per line. May be empty.
    pub lines: Vec<String>,
    /// What the edge stands for.
    pub style: EdgeStyle,
    /// Whether it stands out, as the steps of a counterexample do.
    pub highlighted: bool,
}

impl Edge {
    /// A plain edge without a label.
    #[must_use]
    pub fn new(from: NodeId, to: NodeId) -> Self {
        Self { from, to, lines: Vec::new(), style: EdgeStyle::Plain, highlighted: false }
    }

    /// The same edge with one more label line.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// The same edge in this style.
    #[must_use]
    pub fn style(mut self, style: EdgeStyle) -> Self {
        self.style = style;
        self
    }

    /// The same edge, standing out.
    #[must_use]
    pub fn highlighted(mut self) -> Self {
        self.highlighted = true;
        self
    }
}

/// A directed graph to draw. Edges that share both ends are drawn as one with several label lines.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Graph {
    /// What the picture shows, for readers who cannot see it.
    pub title: String,
    /// Which way most edges point.
    pub direction: Direction,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

impl Graph {
    /// An empty graph.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// The same graph, drawn this way.
    #[must_use]
    pub fn direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// Adds a node.
    pub fn add_node(&mut self, node: Node) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        id
    }

    /// Adds an edge. Its ends may be added later; drawing fails if they never are.
    pub fn add_edge(&mut self, edge: Edge) {
        self.edges.push(edge);
    }

    /// The nodes, in the order they were added.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The edges, in the order they were added.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Decides where everything goes.
    ///
    /// # Errors
    /// If the graph exceeds [`NODE_LIMIT`] or [`EDGE_LIMIT`], or an edge has no such node.
    pub fn layout(&self) -> Result<Layout, DrawError> {
        self.validate()?;
        Ok(layout::layout(self))
    }

    /// The graph as a self-contained SVG document.
    ///
    /// # Errors
    /// As [`Graph::layout`].
    pub fn to_svg(&self) -> Result<String, DrawError> {
        Ok(paint::svg(self, &self.layout()?))
    }

    /// The graph in Graphviz' DOT language.
    ///
    /// # Errors
    /// If an edge has no such node.
    pub fn to_dot(&self) -> Result<String, DrawError> {
        self.validate_ends()?;
        Ok(dot::dot(self))
    }

    /// The graph as a Mermaid flowchart, whose quoted labels, unlike those of Mermaid's state diagrams, can
    /// hold any text.
    ///
    /// # Errors
    /// If an edge has no such node.
    pub fn to_mermaid(&self) -> Result<String, DrawError> {
        self.validate_ends()?;
        Ok(mermaid::flowchart(self))
    }

    fn validate(&self) -> Result<(), DrawError> {
        if self.nodes.len() > NODE_LIMIT {
            return Err(DrawError::TooManyNodes { nodes: self.nodes.len(), limit: NODE_LIMIT });
        }
        if self.edges.len() > EDGE_LIMIT {
            return Err(DrawError::TooManyEdges { edges: self.edges.len(), limit: EDGE_LIMIT });
        }
        self.validate_ends()
    }

    fn validate_ends(&self) -> Result<(), DrawError> {
        let known = |id: NodeId| id.index() < self.nodes.len();
        match self.edges.iter().position(|edge| !known(edge.from) || !known(edge.to)) {
            Some(edge) => Err(DrawError::UnknownNode { edge }),
            None => Ok(()),
        }
    }
}
