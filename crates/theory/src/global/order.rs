//! Orders in which the nodes of a global type are visited, without recursion on the call stack.

use super::{Global, NodeId};

/// Every node reachable from `root` without following calls, children before parents.
pub(super) fn postorder(nodes: &[Global], root: NodeId) -> Vec<NodeId> {
    let mut seen = vec![false; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    let mut stack = vec![(root, false)];
    while let Some((node, children_done)) = stack.pop() {
        if children_done {
            order.push(node);
            continue;
        }
        if std::mem::replace(&mut seen[node.index()], true) {
            continue;
        }
        stack.push((node, true));
        let first_child = stack.len();
        nodes[node.index()].for_each_child(|child| {
            if !seen[child.index()] {
                stack.push((child, false));
            }
        });
        stack[first_child..].reverse();
    }
    order
}

/// Every node reachable from `root` without following calls, parents before children, first branches first.
pub(super) fn preorder(nodes: &[Global], root: NodeId) -> Vec<NodeId> {
    let mut seen = vec![false; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if std::mem::replace(&mut seen[node.index()], true) {
            continue;
        }
        order.push(node);
        let first_child = stack.len();
        nodes[node.index()].for_each_child(|child| stack.push(child));
        stack[first_child..].reverse();
    }
    order
}
