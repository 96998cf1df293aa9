//! Protocols from bytes: every list of bytes is a well-formed protocol, shorter lists are smaller ones.

use std::sync::Arc;

use referee_syntax::BinaryProtocol;
use referee_syntax::expr::{Dialect, parse};
use referee_theory::session::{Session, SessionBranch, SessionType, SessionTypeBuilder, TermId};
use referee_theory::{
    Action, Branch, Exchange, Field, Global, GlobalType, GlobalTypeBuilder, MachineBuilder, MessageSpec,
    NodeId, Origin, Role, System, Transition, Type, Vocabulary,
};

/// Decisions read off a list of bytes; zero when there are none left.
pub(crate) struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: bytes.iter() }
    }

    /// A number below `below`.
    fn pick(&mut self, below: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or(0)) % below
    }
}

fn scalar(choices: &mut Choices<'_>) -> Type {
    [Type::Int, Type::String, Type::Bool, Type::Float, Type::Bytes, Type::opaque("date")][choices.pick(6)]
        .clone()
}

/// A type and, half of the time, lists around it.
fn nested(choices: &mut Choices<'_>) -> Type {
    let lists = choices.pick(4).saturating_sub(1);
    (0..lists).fold(scalar(choices), |element, _| Type::list(element))
}

pub(crate) fn global(choices: &mut Choices<'_>) -> GlobalType {
    let mut vocabulary = Vocabulary::new();
    let roles: Vec<Role> = ["p", "q", "mu", "w[1]"].iter().map(|name| vocabulary.add_role(name)).collect();
    let mut builder = GlobalTypeBuilder::new();
    let root = builder.reserve();
    // Each open place with the definitions that may be called there.
    let mut open: Vec<(NodeId, Vec<NodeId>, Vec<NodeId>)> = vec![(root, Vec::new(), Vec::new())];
    let mut budget = 60_usize;
    while let Some((slot, callable, pending)) = open.pop() {
        budget = budget.saturating_sub(1);
        let what = if budget == 0 { 0 } else { choices.pick(6) };
        match what {
            0 if callable.is_empty() => builder.set(slot, Global::End),
            0 | 1 if !callable.is_empty() => {
                let target = callable[choices.pick(callable.len())];
                let call = builder.call(target, Origin::NONE);
                let call = builder.get(call).cloned().expect("just added");
                builder.set(slot, call);
            }
            2 if callable.len() + pending.len() < 5 => {
                let body = builder.reserve();
                builder.define(slot, ["X", "end", "X1"][choices.pick(3)], body, Origin::NONE);
                let mut pending = pending;
                pending.push(slot);
                open.push((body, callable, pending));
            }
            _ => {
                let sender = choices.pick(roles.len());
                let receiver = (sender + 1 + choices.pick(roles.len() - 1)) % roles.len();
                let callable: Vec<NodeId> = callable.into_iter().chain(pending).collect();
                let mut branches = Vec::new();
                for name in ["unitLabel", "l1", "220"].iter().skip(choices.pick(2)).take(1 + choices.pick(3))
                {
                    let fields: Arc<[Field]> =
                        (0..choices.pick(3)).map(|_| Field { name: None, ty: nested(choices) }).collect();
                    let label = vocabulary.add_label(name);
                    let message = vocabulary.add_message(MessageSpec::new(label, fields, None));
                    let next = builder.reserve();
                    open.push((next, callable.clone(), Vec::new()));
                    branches.push(Branch { receiver: roles[receiver], message, next, origin: Origin::NONE });
                }
                let exchange =
                    Exchange { sender: roles[sender], branches: branches.into(), origin: Origin::NONE };
                builder.set(slot, Global::Exchange(exchange));
            }
        }
    }
    builder.finish(Arc::new(vocabulary), root).expect("guarded, closed and deterministic by construction")
}

/// A session type; `messages` gives the branches of a choice.
fn term(
    choices: &mut Choices<'_>,
    builder: &mut SessionTypeBuilder,
    mut messages: impl FnMut(&mut Choices<'_>, &mut SessionTypeBuilder) -> Vec<SessionBranch>,
) -> TermId {
    let root = builder.reserve();
    let mut open: Vec<(TermId, Vec<TermId>, Vec<TermId>)> = vec![(root, Vec::new(), Vec::new())];
    let mut budget = 60_usize;
    while let Some((slot, callable, pending)) = open.pop() {
        budget = budget.saturating_sub(1);
        match if budget == 0 { 0 } else { choices.pick(6) } {
            0 if callable.is_empty() => {}
            0 | 1 if !callable.is_empty() => {
                let target = callable[choices.pick(callable.len())];
                builder.set(slot, Session::Call { target, origin: Origin::NONE });
            }
            2 => {
                let body = builder.reserve();
                let name = ["X", "rec", "Y'"][choices.pick(3)].into();
                builder.set(slot, Session::Rec { name, body, origin: Origin::NONE });
                let mut pending = pending;
                pending.push(slot);
                open.push((body, callable, pending));
            }
            _ => {
                let callable: Vec<TermId> = callable.into_iter().chain(pending).collect();
                let branches = messages(choices, builder);
                open.extend(branches.iter().map(|branch| (branch.next, callable.clone(), Vec::new())));
                builder.set(slot, Session::Choice(branches));
            }
        }
    }
    root
}

const ASSERTIONS: [&str; 8] = [
    "x > 1 && !(y == \"]\")",
    "util.f(x, y) || x + 2 * (x - 3) % 4 == -5",
    "y.startsWith(\"a\\nb\") && (x < 1 || x > 2)",
    "y.matches(\"[a-z]+\")",
    "y.length >= 3 && math.max(x, 4) != 9",
    "!(x > 1) == (x < 2)",
    "x.toString == y && 1.5 < x.toDouble",
    "util.ok()",
];

pub(crate) fn binary(choices: &mut Choices<'_>) -> BinaryProtocol {
    let mut vocabulary = Vocabulary::new();
    let process = vocabulary.add_role("process");
    let environment = vocabulary.add_role("environment");
    let mut builder = SessionTypeBuilder::new();
    let root = term(choices, &mut builder, |choices, builder| {
        let action = [Action::Send, Action::Receive][choices.pick(2)];
        let labels = ["A", "rec", "end", "220"];
        let labels = labels.iter().skip(choices.pick(2)).take(1 + choices.pick(3));
        let mut branches = Vec::new();
        for name in labels {
            let label = vocabulary.add_label(name);
            let field = |name: &str, ty| Field { name: Some(name.into()), ty };
            let fields: Arc<[Field]> =
                ["x", "y"].iter().take(choices.pick(3)).map(|name| field(name, scalar(choices))).collect();
            let assertion = (choices.pick(2) == 1)
                .then(|| parse(ASSERTIONS[choices.pick(ASSERTIONS.len())], 0, Dialect::Scala))
                .map(|parsed| Arc::new(parsed.expect("Scala")));
            let message = vocabulary.add_message(MessageSpec::new(label, fields, assertion));
            let next = builder.reserve();
            branches.push(SessionBranch { action, peer: environment, message, next, origin: Origin::NONE });
        }
        branches
    });
    let vocabulary = Arc::new(vocabulary);
    let session = builder.finish(Arc::clone(&vocabulary), process, root).ok();
    BinaryProtocol { name: "S".into(), session, vocabulary, process, environment, externals: Vec::new() }
}

/// Three roles with types of their own, mixed and nondeterministic choices included.
pub(crate) fn sessions(choices: &mut Choices<'_>) -> Vec<SessionType> {
    let mut vocabulary = Vocabulary::new();
    let roles: Vec<Role> = ["A", "b_1", "7"].iter().map(|name| vocabulary.add_role(name)).collect();
    let mut terms = Vec::new();
    for &role in &roles {
        let mut builder = SessionTypeBuilder::new();
        let root = term(choices, &mut builder, |choices, builder| {
            let mut branches = Vec::new();
            for _ in 0..1 + choices.pick(3) {
                let action = [Action::Send, Action::Receive][choices.pick(2)];
                let peer = roles[(role.index() + 1 + choices.pick(2)) % 3];
                let label = vocabulary.add_label(["a", "end", "rec", "Msg_2"][choices.pick(4)]);
                let fields: Arc<[Field]> =
                    (0..choices.pick(3)).map(|_| Field { name: None, ty: nested(choices) }).collect();
                let message = vocabulary.add_message(MessageSpec::new(label, fields, None));
                let next = builder.reserve();
                branches.push(SessionBranch { action, peer, message, next, origin: Origin::NONE });
            }
            branches
        });
        terms.push((role, builder, root));
    }
    let vocabulary = Arc::new(vocabulary);
    let finish = |(role, builder, root): (Role, SessionTypeBuilder, TermId)| {
        builder.finish(Arc::clone(&vocabulary), role, root).expect("guarded by construction")
    };
    terms.into_iter().map(finish).collect()
}

pub(crate) fn system(choices: &mut Choices<'_>) -> System {
    let mut vocabulary = Vocabulary::new();
    let roles: Vec<Role> =
        ["client", "server", "log ger"].iter().map(|name| vocabulary.add_role(name)).collect();
    let mut machines = Vec::new();
    for &role in &roles {
        let mut builder = MachineBuilder::new(role);
        let named = choices.pick(2) == 1;
        let states: Vec<_> = (0..1 + choices.pick(6))
            .map(
                |i| if named { builder.add_named_state(&format!("s{}", 9 - i)) } else { builder.add_state() },
            )
            .collect();
        for _ in 0..choices.pick(12) {
            let source = states[choices.pick(states.len())];
            let action = [Action::Send, Action::Receive][choices.pick(2)];
            let peer = roles[(role.index() + 1 + choices.pick(2)) % 3];
            let label = vocabulary.add_label(["graph", "end", "marking", "1"][choices.pick(4)]);
            let fields: Arc<[Field]> =
                (0..choices.pick(3)).map(|_| Field { name: None, ty: nested(choices) }).collect();
            let message = vocabulary.add_message(MessageSpec::new(label, fields, None));
            let target = states[choices.pick(states.len())];
            builder
                .add_transition(source, Transition { action, peer, message, target, origin: Origin::NONE });
        }
        machines.push(builder.finish());
    }
    System::new(Arc::new(vocabulary), machines)
}

/// Texts that look almost like protocols: tokens of all languages in any order.
pub(crate) fn soup(choices: &mut Choices<'_>) -> String {
    const PIECES: [&str; 40] = [
        "A",
        "B",
        "x",
        "rec",
        "end",
        "mu",
        "a",
        "q0",
        "1",
        ":",
        ";",
        ",",
        ".",
        "!",
        "?",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        "->",
        "&",
        "+",
        "=",
        "\n",
        ".outputs",
        ".state graph",
        ".marking",
        ".end",
        "--",
        "/*",
        "*/",
        "\"",
        "\\",
        "\"type\"",
        "é",
        "\"EXCHANGE\"",
    ];
    let mut out = String::new();
    for _ in 0..choices.pick(120) {
        out.push_str(PIECES[choices.pick(PIECES.len())]);
        if choices.pick(2) == 0 {
            out.push(' ');
        }
    }
    out
}

/// A protocol of the corpus of examples with a piece cut out or put in.
pub(crate) fn damaged(text: &str, choices: &mut Choices<'_>) -> String {
    let mut at = (choices.pick(256) * 256 + choices.pick(256)) % (text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let (before, after) = text.split_at(at);
    let cut: String = after.chars().skip(choices.pick(4)).collect();
    format!("{before}{}{cut}", soup(&mut Choices { bytes: [3, 5, 9].iter() }))
}
