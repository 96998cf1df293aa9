//! `.gt` texts.

use std::fmt::Write as _;

use referee_theory::{Branch, Exchange, Field, Global, GlobalType, Message, NodeId, Role, Type};

use super::binders::Binders;
use super::{Inexpressible, MOST_NODES, checked, is_name, new_line, without_calls};
use crate::gt::{UNIT_LABEL, types};

/// The `.gt` text of `global`.
///
/// # Errors
/// When it says what `.gt` cannot: choices between receivers, assertions, recursion with data, types or
/// labels without names.
pub fn gt(global: &GlobalType) -> Result<String, Inexpressible> {
    without_calls(global)?;
    let mut printer = Printer { global, out: String::new(), depth: 0, binders: Binders::default() };
    // The roles of the label just written: a value between them would be taken for its own.
    let mut steps = vec![Step::Node(global.root(), None)];
    let mut nodes = 0;
    while let Some(step) = steps.pop() {
        match step {
            Step::Node(node, after_label) => {
                nodes += 1;
                if nodes > MOST_NODES {
                    return Err(Inexpressible::too_large());
                }
                printer.node(node, after_label, &mut steps)?;
            }
            Step::Branch(branch, sender) => printer.branch(branch, sender, &mut steps)?,
            Step::Separate => {
                printer.out.push(',');
                new_line(&mut printer.out, printer.depth);
            }
            Step::Close => {
                printer.depth -= 1;
                printer.out.push(')');
            }
            Step::Leave(node) => printer.binders.leave(node.0),
        }
    }
    printer.out.push('\n');
    Ok(printer.out)
}

enum Step {
    Node(NodeId, Option<(Role, Role)>),
    Branch(Branch, Role),
    Separate,
    Close,
    Leave(NodeId),
}

struct Printer<'a> {
    global: &'a GlobalType,
    out: String,
    depth: usize,
    binders: Binders,
}

impl Printer<'_> {
    fn node(
        &mut self,
        node: NodeId,
        after_label: Option<(Role, Role)>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Inexpressible> {
        match self.global.node(node) {
            Global::End | Global::Join(_) => self.out.push_str("end"),
            Global::Par(_) => return Err(Inexpressible::par()),
            Global::Call(call) => {
                if !call.arguments.is_empty() {
                    return Err(Inexpressible::new("its recursion carries data"));
                }
                let name = self.binders.name(call.target.0).unwrap_or("X");
                self.out.push_str(name);
            }
            Global::Rec(rec) => {
                if !rec.parameters.is_empty() {
                    return Err(Inexpressible::new("its recursion carries data"));
                }
                let wanted =
                    if is_name(&rec.name) && !matches!(&*rec.name, "mu" | "end") { &*rec.name } else { "X" };
                let name = self.binders.enter(node.0, wanted);
                let _ = write!(self.out, "mu {name} . ");
                steps.push(Step::Leave(node));
                steps.push(Step::Node(rec.body, None));
            }
            Global::Exchange(exchange) => self.exchange(exchange, after_label, steps)?,
        }
        Ok(())
    }

    fn exchange(
        &mut self,
        exchange: &Exchange,
        after_label: Option<(Role, Role)>,
        steps: &mut Vec<Step>,
    ) -> Result<(), Inexpressible> {
        let receiver = receiver(exchange)?;
        let vocabulary = self.global.vocabulary();
        let name = |role| checked_role(vocabulary.role_name(role));
        let _ = write!(self.out, "{} -> {} ", name(exchange.sender)?, name(receiver)?);
        if let [branch] = &exchange.branches[..]
            && vocabulary.label_of(branch.message) == UNIT_LABEL
            && after_label != Some((exchange.sender, receiver))
        {
            let value = self.value(branch.message)?;
            let _ = write!(self.out, "<{value}> . ");
            steps.push(Step::Node(branch.next, None));
            return Ok(());
        }
        self.out.push('(');
        steps.push(Step::Close);
        self.depth += 1;
        for (i, branch) in exchange.branches.iter().enumerate().rev() {
            steps.push(Step::Branch(*branch, exchange.sender));
            if i > 0 {
                steps.push(Step::Separate);
            }
        }
        if exchange.branches.len() > 1 {
            new_line(&mut self.out, self.depth);
        }
        Ok(())
    }

    fn branch(&mut self, branch: Branch, sender: Role, steps: &mut Vec<Step>) -> Result<(), Inexpressible> {
        let vocabulary = self.global.vocabulary();
        let label = checked(vocabulary.label_of(branch.message), "label")?;
        let _ = write!(self.out, "{label} . ");
        let value = self.value(branch.message)?;
        let mut after_label = Some((sender, branch.receiver));
        if !vocabulary.spec(branch.message).fields.is_empty() {
            let name = |role| vocabulary.role_name(role);
            let _ = write!(self.out, "{} -> {} <{value}> . ", name(sender), name(branch.receiver));
            after_label = None;
        }
        steps.push(Step::Node(branch.next, after_label));
        Ok(())
    }

    fn value(&self, message: Message) -> Result<String, Inexpressible> {
        let text = payload(self.global, message)?;
        if text.split(['[', ']', ',']).all(|part| part.is_empty() || is_name(part)) {
            return Ok(text);
        }
        Err(Inexpressible::new(format!("the type `{text}` is not a name there")))
    }
}

/// `worker` or `worker[1]`.
fn checked_role(name: &str) -> Result<&str, Inexpressible> {
    let plain = match name.split_once('[') {
        Some((plain, index)) if index.strip_suffix(']').is_some_and(is_name) => plain,
        _ => name,
    };
    checked(plain, "role").map(|_| name)
}

/// The one receiver of `exchange`.
pub(super) fn receiver(exchange: &Exchange) -> Result<Role, Inexpressible> {
    exchange.receiver().ok_or_else(|| Inexpressible::new("in one of its choices the receivers differ"))
}

/// What RelaMon calls the payload of `message`.
pub(super) fn payload(global: &GlobalType, message: Message) -> Result<String, Inexpressible> {
    let vocabulary = global.vocabulary();
    let spec = vocabulary.spec(message);
    if spec.assertion.is_some() {
        return Err(Inexpressible::new(format!("`{}` has an assertion", vocabulary.label_name(spec.label))));
    }
    if let [Field { ty: Type::Unit, .. }] = &*spec.fields {
        let label = vocabulary.label_name(spec.label);
        return Err(Inexpressible::new(format!(
            "`{label}` has one field, of type `unit`, which is no field there"
        )));
    }
    types::text(&spec.fields)
        .ok_or_else(|| Inexpressible::new(format!("`{}` has no name there", vocabulary.display(message))))
}
