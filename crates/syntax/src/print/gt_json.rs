//! `.gt.json` texts: the global type alone, without what concerns a component.

use std::fmt::Write as _;

use referee_theory::{Global, GlobalType, NodeId};

use super::binders::Binders;
use super::gt::{payload, receiver};
use super::{Inexpressible, MOST_NODES, new_line, without_calls};

/// The JSON text of `global`.
///
/// # Errors
/// When it says what RelaMon's JSON cannot: choices between receivers, assertions, recursion with data.
pub fn gt_json(global: &GlobalType) -> Result<String, Inexpressible> {
    without_calls(global)?;
    let vocabulary = global.vocabulary();
    let mut out = String::new();
    let mut binders = Binders::default();
    let mut depth = 0;
    let mut nodes = 0;
    let mut steps = vec![Step::Node(global.root())];
    while let Some(step) = steps.pop() {
        let node = match step {
            Step::Node(node) => node,
            Step::Text(text) => {
                out.push_str(text);
                continue;
            }
            Step::Branch(label, value) => {
                new_line(&mut out, depth);
                let _ = write!(out, "{label}: {{\"valueType\": {value}, \"protocolContinuation\": ");
                continue;
            }
            Step::Leave(node) => {
                binders.leave(node.0);
                continue;
            }
            Step::CloseBranches => {
                depth -= 1;
                out.push_str("}}");
                continue;
            }
        };
        nodes += 1;
        if nodes > MOST_NODES {
            return Err(Inexpressible::too_large());
        }
        match global.node(node) {
            Global::Par(_) => return Err(Inexpressible::par()),
            Global::End | Global::Join(_) => out.push_str(r#"{"type": "END"}"#),
            Global::Call(call) => {
                if !call.arguments.is_empty() {
                    return Err(Inexpressible::new("its recursion carries data"));
                }
                let name = quoted(binders.name(call.target.0).unwrap_or("X"));
                let _ = write!(out, r#"{{"type": "RECURSIVE_CALL", "recursionVariable": {name}}}"#);
            }
            Global::Rec(rec) => {
                if !rec.parameters.is_empty() {
                    return Err(Inexpressible::new("its recursion carries data"));
                }
                let name = quoted(binders.enter(node.0, &rec.name));
                let _ = write!(out, r#"{{"type": "RECURSIVE_DEFINITION", "recursionVariable": {name},"#);
                out.push_str(r#" "protocolContinuation": "#);
                steps.extend([Step::Leave(node), Step::Text("}"), Step::Node(rec.body)]);
            }
            Global::Exchange(exchange) => {
                let sender = quoted(vocabulary.role_name(exchange.sender));
                let receiver = quoted(vocabulary.role_name(receiver(exchange)?));
                let _ = write!(out, r#"{{"type": "EXCHANGE", "sender": {sender}, "receiver": {receiver},"#);
                out.push_str(r#" "branches": {"#);
                depth += 1;
                steps.push(Step::CloseBranches);
                for (i, branch) in exchange.branches.iter().enumerate().rev() {
                    let label = quoted(vocabulary.label_of(branch.message));
                    let value = quoted(&payload(global, branch.message)?);
                    let end = if i + 1 < exchange.branches.len() { "}," } else { "}" };
                    steps.extend([Step::Text(end), Step::Node(branch.next), Step::Branch(label, value)]);
                }
            }
        }
    }
    out.push('\n');
    Ok(out)
}

enum Step {
    Node(NodeId),
    Text(&'static str),
    /// A label and the type of its value, both quoted.
    Branch(String, String),
    Leave(NodeId),
    CloseBranches,
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
