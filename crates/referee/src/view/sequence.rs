//! A protocol as a message sequence chart.
//!
//! The chart follows the structure of the text: a choice is an `alt` block, a recursion a `loop`, what runs side by side a `par`.

use referee_draw::{Message, Participant, ParticipantId, Sequence};
use referee_syntax::scr::ast::{
    Block, MessageStatement, Module, Protocol, SinceSyntax, StatementId, StatementKind, WithinSyntax,
};

enum Step<'a> {
    Statement(StatementId),
    Branch(&'a Block, usize, &'static str),
    Close,
}

/// The chart of `protocol`, whose statements are in `module`.
#[must_use]
pub fn chart(module: &Module, protocol: &Protocol) -> Sequence {
    let mut chart = Sequence::new(format!("protocol {}", protocol.name.text));
    let roles: Vec<(&str, ParticipantId)> = protocol
        .roles
        .iter()
        .chain(&protocol.new_roles)
        .map(|role| (&*role.text, chart.add_participant(Participant::new(&*role.text))))
        .collect();
    let find = |name: &str| roles.iter().find(|(known, _)| *known == name).map(|(_, id)| *id);
    let mut steps: Vec<Step<'_>> = statements(&protocol.body);
    while let Some(step) = steps.pop() {
        let id = match step {
            Step::Close => {
                chart.close();
                continue;
            }
            Step::Branch(block, index, word) => {
                if index > 0 {
                    chart.branch(word);
                }
                steps.extend(statements(block));
                continue;
            }
            Step::Statement(id) => id,
        };
        match &module.statements[id.index()].kind {
            StatementKind::Message(message) => {
                for receiver in &message.to {
                    if let (Some(from), Some(to)) = (find(&message.from.text), find(&receiver.text)) {
                        chart.message(Message::new(from, to, label(message)));
                    }
                }
            }
            StatementKind::Choice { at, within, branches } => {
                let within = within.as_ref().map(|within| format!(" {}", deadline(within)));
                chart.open_alt(format!("choice at {}{}", at.text, within.unwrap_or_default()), "");
                steps.push(Step::Close);
                steps
                    .extend(branches.iter().enumerate().rev().map(|(i, block)| Step::Branch(block, i, "or")));
            }
            StatementKind::Par { blocks } => {
                chart.open_par("");
                steps.push(Step::Close);
                steps.extend(blocks.iter().enumerate().rev().map(|(i, block)| Step::Branch(block, i, "")));
            }
            StatementKind::Rec { name, body, .. } => {
                chart.open_loop(&*name.text);
                steps.push(Step::Close);
                steps.extend(statements(body));
            }
            StatementKind::Continue { name, .. } => chart.jump(format!("continue {}", name.text)),
            StatementKind::Do { protocol, .. } => chart.divider(format!("do {}", protocol.text)),
            StatementKind::Calls { protocol, .. } => chart.divider(format!("calls {}", protocol.text)),
            StatementKind::SubSession { opens, protocol, roles } => {
                let word = if *opens { "open" } else { "close" };
                let roles: Vec<&str> = roles.iter().map(|role| &*role.text).collect();
                let roles = if roles.is_empty() { String::new() } else { format!("({})", roles.join(", ")) };
                chart.divider(format!("{word} {}{roles}", protocol.text));
            }
            StatementKind::Connection { keyword: "connect", left, right } => {
                if let (Some(from), Some(to)) = (find(&left.text), find(&right.text)) {
                    chart.message(Message::new(from, to, "connect".to_owned()));
                }
            }
            StatementKind::Connection { .. } => {}
        }
    }
    chart
}

/// The statements of `block`, to be taken from the end.
fn statements(block: &Block) -> Vec<Step<'_>> {
    block.statements.iter().rev().map(|id| Step::Statement(*id)).collect()
}

fn label(statement: &MessageStatement) -> String {
    let fields = statement.message.payload.iter().flatten();
    let fields: Vec<String> = fields
        .map(|field| match &field.name {
            Some(name) => name.text.to_string(),
            None => type_text(&field.ty),
        })
        .collect();
    let mut text = format!("{}({})", statement.message.label.text, fields.join(", "));
    if let Some(times) = &statement.times {
        if let Some(after) = &times.after {
            text.push_str(&format!(" after {}", after.expr));
        }
        if let Some(within) = &times.within {
            text.push_str(&format!(" {}", deadline(within)));
        }
    }
    if let Some(condition) = &statement.condition {
        text.push_str(&format!(" where {condition}"));
    }
    text
}

fn deadline(within: &WithinSyntax) -> String {
    let length = &within.length.expr;
    match &within.since {
        None => format!("within {length}"),
        Some(SinceSyntax::Any) => format!("within {length} of any"),
        Some(SinceSyntax::Label(label)) => format!("within {length} of {}", label.text),
    }
}

fn type_text(ty: &referee_syntax::scr::ast::TypeSyntax) -> String {
    use referee_syntax::scr::ast::TypeSyntax;
    match ty {
        TypeSyntax::Named(name) => name.text.to_string(),
        TypeSyntax::List(..) => "list".into(),
        TypeSyntax::Tuple(..) => "tuple".into(),
        TypeSyntax::Record(..) => "record".into(),
        TypeSyntax::Delegation(protocol, role) => format!("{}@{}", protocol.text, role.text),
    }
}
