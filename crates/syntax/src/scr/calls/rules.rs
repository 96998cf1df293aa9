//! Rules K1, K2, K8 and K9 of `docs/concurrency.md`: keys, and labels that tell to which protocol a message belongs.

use std::sync::Arc;

use referee_theory::calls::{Interrupt, KeyedBy, SubProtocol};
use referee_theory::{Branch, Exchange, Global, GlobalType, Message, NodeId, Role, Type};
use rustc_hash::FxHashMap;

use crate::diagnostics::Diagnostic;
use crate::diagnostics::calls::{
    begins_again, begins_without_message, interrupts_and_goes_on, label_of_call, no_monitors, not_a_key,
    time_with_calls, without_key,
};
use crate::scr::ast::Protocol;
use crate::source::{Origins, Span};

/// Makes `global` a protocol that runs once for each value of the key that `declaration` names, of type `ty`. Returns what is wrong with that.
pub(in crate::scr) fn keyed(
    declaration: &Protocol,
    global: &mut GlobalType,
    ty: Type,
    interrupt: Option<(Message, Role)>,
    origins: &mut Origins,
) -> Vec<Diagnostic> {
    let Some(key) = &declaration.keyed else { return Vec::new() };
    let mut diagnostics = Vec::new();
    if !matches!(ty, Type::Int | Type::Float | Type::String | Type::Opaque(_)) {
        diagnostics.push(not_a_key(key.ty.span(), &ty.to_string()));
    }
    let vocabulary = global.vocabulary();
    let has_key = |message: Message| {
        let fields = &vocabulary.spec(message).fields;
        fields.iter().any(|field| field.name.as_ref() == Some(&key.field.text) && field.ty == ty)
    };
    let mut need_key = |message: Message, span: Span| {
        if !has_key(message) {
            let label = vocabulary.label_of(message);
            diagnostics.push(without_key(span, key.span, label, &key.field.text, &ty.to_string()));
        }
    };
    for (_, Branch { message, origin, .. }) in messages(global) {
        need_key(*message, origins.span(*origin));
    }
    let written = key.interrupt.as_ref();
    if let (Some((message, _)), Some(written)) = (interrupt, written) {
        need_key(message, written.span);
    }
    if vocabulary.is_timed() {
        diagnostics.push(time_with_calls(declaration.header));
    }
    diagnostics.extend(first_messages(declaration, global, origins));
    let receiver = |sender| vocabulary.roles().find(|role| *role != sender);
    let interrupt = match (interrupt, written) {
        (Some((message, sender)), Some(written)) => receiver(sender).map(|receiver| {
            let origin = origins.add(written.span);
            Interrupt { message, sender, receiver, origin }
        }),
        _ => None,
    };
    if let Some(interrupt) = interrupt {
        let label = |message| vocabulary.label(message);
        let is_same = |(exchange, branch): &(&Exchange, &Branch)| {
            exchange.sender == interrupt.sender && label(branch.message) == label(interrupt.message)
        };
        diagnostics.extend(messages(global).filter(is_same).map(|(_, branch)| {
            let (span, other) = (origins.span(branch.origin), origins.span(interrupt.origin));
            interrupts_and_goes_on(span, other, vocabulary.label_of(branch.message))
        }));
    }
    global.key_by(KeyedBy { field: Arc::clone(&key.field.text), ty, interrupt });
    diagnostics
}

fn messages(global: &GlobalType) -> impl Iterator<Item = (&Exchange, &Branch)> {
    global
        .exchanges()
        .flat_map(|(_, exchange)| exchange.branches.iter().map(move |branch| (exchange, branch)))
}

/// The exchange that `global` begins with, and the definitions around it.
fn first(global: &GlobalType) -> (Option<(NodeId, &Exchange)>, Vec<NodeId>) {
    let (mut at, mut around) = (global.root(), Vec::new());
    loop {
        match global.node(at) {
            Global::Rec(rec) => {
                around.push(at);
                at = rec.body;
            }
            Global::Exchange(exchange) => return (Some((at, exchange)), around),
            _ => return (None, around),
        }
    }
}

/// Who begins the calls of `global`.
pub(in crate::scr) fn opener(global: &GlobalType) -> Option<Role> {
    first(global).0.map(|(_, exchange)| exchange.sender)
}

/// Rule K9: the labels that begin a call occur nowhere else in it.
fn first_messages(declaration: &Protocol, global: &GlobalType, origins: &Origins) -> Vec<Diagnostic> {
    let (Some((node, beginning)), around) = first(global) else {
        return vec![begins_without_message(declaration.header, &declaration.name.text)];
    };
    let comes_back = |(_, node): (NodeId, &Global)| match node {
        Global::Call(call) => around.contains(&call.target),
        _ => false,
    };
    if global.nodes().any(comes_back) {
        return vec![begins_without_message(declaration.header, &declaration.name.text)];
    }
    let vocabulary = global.vocabulary();
    let mut found = Vec::new();
    for (other, exchange) in global.exchanges().filter(|(other, _)| *other != node) {
        for branch in exchange.branches.iter().filter(|_| exchange.sender == beginning.sender) {
            let same = |begins: &&Branch| {
                begins.receiver == branch.receiver
                    && vocabulary.label(begins.message) == vocabulary.label(branch.message)
            };
            if let Some(begins) = beginning.branches.iter().find(same) {
                debug_assert_ne!(other, node);
                let (span, first) = (origins.span(branch.origin), origins.span(begins.origin));
                found.push(begins_again(span, first, vocabulary.label_of(branch.message)));
            }
        }
    }
    found
}

/// Rule K2: labels of the parent and of what it opens are different on each channel.
pub(in crate::scr) fn labels(
    parent: &GlobalType,
    subs: &[SubProtocol],
    origins: &Origins,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let vocabulary = parent.vocabulary();
    if vocabulary.is_timed() {
        let timed = messages(parent).find(|(_, branch)| vocabulary.spec(branch.message).timing.is_some());
        found.extend(timed.map(|(_, branch)| time_with_calls(origins.span(branch.origin))));
    }
    // By sender, receiver and label: whose message it is.
    let mut of_sub: FxHashMap<(&str, &str, &str), usize> = FxHashMap::default();
    for (index, sub) in subs.iter().enumerate() {
        let vocabulary = sub.global.vocabulary();
        let name = |role| vocabulary.role_name(role);
        let interrupt = sub.global.keyed().and_then(|keyed| keyed.interrupt);
        let interrupt = interrupt.map(|found| (found.sender, found.receiver, found.message));
        let all = messages(&sub.global)
            .map(|(exchange, branch)| (exchange.sender, branch.receiver, branch.message))
            .chain(interrupt);
        let mut told = false;
        for (sender, receiver, message) in all {
            let channel = (name(sender), name(receiver));
            let label = vocabulary.label_of(message);
            let known = *of_sub.entry((channel.0, channel.1, label)).or_insert(index);
            if known != index && !std::mem::replace(&mut told, true) {
                let first = (origins.span(subs[known].origin), "opened here");
                let other = subs[known].signature();
                found.push(label_of_call(origins.span(sub.origin), first, label, channel, &other));
            }
        }
    }
    let name = |role| vocabulary.role_name(role);
    for (exchange, branch) in messages(parent) {
        let channel = (name(exchange.sender), name(branch.receiver));
        let label = vocabulary.label_of(branch.message);
        let Some(sub) = of_sub.get(&(channel.0, channel.1, label)).and_then(|index| subs.get(*index)) else {
            continue;
        };
        let key = sub.global.keyed().map(|keyed| &keyed.field);
        let fields = &vocabulary.spec(branch.message).fields;
        if fields.iter().any(|field| field.name.as_ref() == key) {
            let first = (origins.span(sub.origin), "opened here");
            let span = origins.span(branch.origin);
            found.push(label_of_call(span, first, label, channel, &sub.signature()));
        }
    }
    found
}

/// That there are no monitors of `global`, if so: they need two roles, the same everywhere.
pub(in crate::scr) fn without_monitors(
    global: &GlobalType,
    declaration: &Protocol,
    origins: &Origins,
) -> Option<Diagnostic> {
    let roles = |global: &GlobalType| global.vocabulary().roles().len();
    let subs = &global.calls()?.subs;
    let other = subs.iter().find(|sub| roles(&sub.global) != 2).or(subs.first())?;
    let is_monitored = roles(global) == 2 && subs.iter().all(|sub| roles(&sub.global) == 2);
    let open = origins.span(other.origin);
    (!is_monitored).then(|| no_monitors(declaration.header, open, &declaration.name.text))
}
