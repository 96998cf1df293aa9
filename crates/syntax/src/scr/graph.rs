//! Protocols as graphs, between statements and global types: choices may still begin with loops or jumps.

use std::sync::Arc;

use referee_theory::expr::Expr;
use referee_theory::global::Parameter;
use referee_theory::{Message, Role};

use crate::source::Span;

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RawId(pub(super) u32);

impl RawId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug)]
pub(super) enum Raw {
    End,
    Message(RawMessage),
    Choice {
        at: Chooser,
        branches: Vec<RawId>,
        span: Span,
    },
    Rec {
        name: Arc<str>,
        parameters: Vec<Parameter>,
        /// What must hold of the parameters whenever they get values.
        refinements: Vec<Arc<Expr>>,
        body: RawId,
        span: Span,
    },
    /// Blocks side by side, each of which leads to a [`Raw::Join`].
    Par {
        /// Where the blocks start, and last what follows them.
        parts: Vec<RawId>,
        /// As [`RawMessage::spot`].
        spot: u32,
        span: Span,
    },
    /// The end of a block.
    Join,
    /// A jump to the definition `target`, which encloses it.
    Call {
        target: RawId,
        arguments: Vec<Arc<Expr>>,
        span: Span,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RawMessage {
    pub(super) sender: Role,
    pub(super) receiver: Role,
    pub(super) message: Message,
    pub(super) next: RawId,
    /// Whether the receiver may wait for it in vain.
    pub(super) may_wait: bool,
    /// Whether it connects the receiver.
    pub(super) connects: bool,
    /// What is opened or closed around it: a number of [`super::calls`], 0 where nothing is open.
    pub(super) spot: u32,
    pub(super) span: Span,
}

/// Who decides, as far as the text says.
#[derive(Clone, Debug)]
pub(super) enum Chooser {
    Known(Role),
    /// Not a role of the protocol: its place and name.
    Unknown(Span, Arc<str>),
    /// A role that has chosen before, between branches that begin with the same message.
    Hidden {
        /// The role.
        by: Role,
        /// The message in one branch …
        first: Span,
        /// … and in another.
        second: Span,
    },
}

impl Raw {
    pub(super) fn children(&self) -> &[RawId] {
        match self {
            Self::End | Self::Join | Self::Call { .. } => &[],
            Self::Message(message) => std::slice::from_ref(&message.next),
            Self::Choice { branches, .. } => branches,
            Self::Par { parts, .. } => parts,
            Self::Rec { body, .. } => std::slice::from_ref(body),
        }
    }

    pub(super) fn children_mut(&mut self) -> &mut [RawId] {
        match self {
            Self::End | Self::Join | Self::Call { .. } => &mut [],
            Self::Message(message) => std::slice::from_mut(&mut message.next),
            Self::Choice { branches, .. } => branches,
            Self::Par { parts, .. } => parts,
            Self::Rec { body, .. } => std::slice::from_mut(body),
        }
    }
}
