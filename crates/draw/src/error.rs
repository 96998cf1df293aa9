//! Why a picture was not drawn.

use std::fmt;

/// Why a picture was not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DrawError {
    /// A graph with more nodes than anyone can read.
    TooManyNodes {
        /// How many there are.
        nodes: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// A graph with more edges than anyone can read.
    TooManyEdges {
        /// How many there are.
        edges: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// An edge that starts or ends at a node the graph does not have.
    UnknownNode {
        /// The position of the edge, in the order edges were added.
        edge: usize,
    },
    /// A chart with more participants than anyone can read.
    TooManyParticipants {
        /// How many there are.
        participants: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// A chart with more steps than anyone can read.
    TooManySteps {
        /// How many there are.
        steps: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// A step of a chart that names a participant the chart does not have.
    UnknownParticipant {
        /// The position of the step, in the order steps were added.
        step: usize,
    },
    /// Blocks nested too deeply.
    TooDeep {
        /// The position of the step that opens one block too many.
        step: usize,
        /// How many levels are allowed.
        limit: usize,
    },
    /// A block closed or branched that is not open, or never closed.
    Unbalanced {
        /// The position of the step, or the number of steps if a block was never closed.
        step: usize,
    },
}

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyNodes { nodes, limit } => {
                write!(f, "a graph of {nodes} nodes is too large to draw (at most {limit})")
            }
            Self::TooManyEdges { edges, limit } => {
                write!(f, "a graph of {edges} edges is too large to draw (at most {limit})")
            }
            Self::UnknownNode { edge } => write!(f, "edge {edge} names a node that the graph does not have"),
            Self::TooManyParticipants { participants, limit } => {
                write!(f, "a chart of {participants} participants is too large to draw (at most {limit})")
            }
            Self::TooManySteps { steps, limit } => {
                write!(f, "a chart of {steps} steps is too large to draw (at most {limit})")
            }
            Self::UnknownParticipant { step } => {
                write!(f, "step {step} names a participant that the chart does not have")
            }
            Self::TooDeep { step, limit } => {
                write!(f, "step {step} opens a block more than {limit} levels deep")
            }
            Self::Unbalanced { step } => {
                write!(f, "blocks are not properly nested at step {step}")
            }
        }
    }
}

impl std::error::Error for DrawError {}
