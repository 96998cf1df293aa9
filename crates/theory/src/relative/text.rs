//! Relative types in the paper's notation: `mu X.(c?s)!a{login.c!a{pwd<str>.X}, quit.end}`.
//!
//! Shared nodes are printed once per use, so the text of a type may be exponentially longer than the type:
//! past [`MAX_TEXT`] it is cut off with `…`.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Relative, RelativeId, RelativeType};
use crate::vocabulary::Message;

const MAX_TEXT: usize = 1 << 20;

enum Step {
    Node(RelativeId),
    Text(&'static str),
    Branch { message: Message, payload: bool },
    Leave { level: u32, outer: Option<Arc<str>> },
}

impl RelativeType {
    /// The type that starts at `node`, in the paper's notation.
    #[must_use]
    pub fn text_at(&self, node: RelativeId) -> String {
        self.text_in(node, Vec::new())
    }

    /// As [`text_at`](Self::text_at), given the name in scope for each level.
    pub(super) fn text_in(&self, node: RelativeId, mut scope: Vec<Option<Arc<str>>>) -> String {
        let mut out = String::new();
        let mut stack = vec![Step::Node(node)];
        while let Some(step) = stack.pop() {
            if out.len() > MAX_TEXT {
                out.push('…');
                break;
            }
            match step {
                Step::Text(text) => out.push_str(text),
                Step::Leave { level, outer } => scope[level as usize] = outer,
                Step::Branch { message, payload } => {
                    out.push_str(self.vocabulary.label_of(message));
                    if payload {
                        out.push('<');
                        for (i, field) in self.vocabulary.spec(message).fields.iter().enumerate() {
                            let _ = write!(out, "{}{}", if i > 0 { ", " } else { "" }, field.ty);
                        }
                        out.push('>');
                    }
                    out.push('.');
                }
                Step::Node(node) => self.expand(node, &mut out, &mut scope, &mut stack),
            }
        }
        out
    }

    fn expand(
        &self,
        node: RelativeId,
        out: &mut String,
        scope: &mut Vec<Option<Arc<str>>>,
        stack: &mut Vec<Step>,
    ) {
        let name = |role| self.vocabulary.role_name(role);
        let (branches, payload) = match self.node(node) {
            Relative::End => return out.push_str("end"),
            Relative::Call { level } => {
                return out.push_str(scope.get(*level as usize).and_then(|n| n.as_deref()).unwrap_or("X"));
            }
            Relative::Rec { level, body } => {
                let level = *level as usize;
                if scope.len() <= level {
                    scope.resize(level + 1, None);
                }
                let mut fresh = self.name(node).to_string();
                while scope.iter().enumerate().any(|(l, n)| l != level && n.as_deref() == Some(&fresh)) {
                    fresh.push('\'');
                }
                let _ = write!(out, "mu {fresh}.");
                let outer = scope[level].replace(fresh.into());
                stack.push(Step::Leave { level: u32::try_from(level).unwrap_or(u32::MAX), outer });
                return stack.push(Step::Node(*body));
            }
            Relative::Exchange { sender, receiver, branches } => {
                let _ = write!(out, "{}!{}{{", name(*sender), name(*receiver));
                (branches, true)
            }
            Relative::Dependency { informer, action, other, informed, branches } => {
                let symbol = action.symbol();
                let _ = write!(out, "({}{symbol}{})!{}{{", name(*informer), name(*other), name(*informed));
                (branches, false)
            }
        };
        stack.push(Step::Text("}"));
        for (i, &(message, next)) in branches.iter().enumerate().rev() {
            stack.push(Step::Node(next));
            stack.push(Step::Branch { message, payload });
            if i > 0 {
                stack.push(Step::Text(", "));
            }
        }
    }
}
