//! When two texts, or two protocols, are the same.

use std::collections::HashSet;
use std::sync::Arc;

use referee_syntax::scr::ast::Module;
use referee_syntax::scr::parse_module;
use referee_theory::expr::Expr;
use referee_theory::global::{Parameter, Rec};
use referee_theory::machine::{MachineBuilder, Transition};
use referee_theory::{Field, Global, GlobalType, Machine, Message, Vocabulary};

/// All that the parser makes of `text`, but for places: equal exactly if the modules are.
pub(crate) fn shape(text: &str) -> String {
    let (module, diagnostics) = parse_module(text);
    let errors: Vec<_> = diagnostics.iter().map(|diagnostic| &diagnostic.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    shape_of(&module)
}

fn shape_of(module: &Module) -> String {
    let all = format!("{module:#?}");
    // `Span { start: 1, end: 2 }` and `Place { … }`, each on four lines.
    let mut shape = String::with_capacity(all.len() / 2);
    let mut lines = all.lines();
    while let Some(line) = lines.next() {
        if line.ends_with("Span {") || line.ends_with("Place {") {
            lines.by_ref().take(3).for_each(drop);
            shape.push('@');
        } else {
            shape.push_str(line.trim_start());
        }
        shape.push('\n');
    }
    shape
}

/// The comments of `text`, line by line, without the blanks around their lines.
pub(crate) fn comments(text: &str) -> Vec<String> {
    let (module, _) = parse_module(text);
    module.comments.iter().map(|span| normalised(&text[span.range()])).collect()
}

fn normalised(comment: &str) -> String {
    let lines: Vec<&str> = comment.lines().map(str::trim).collect();
    lines.join("\n").replacen("(*#", "(* #", 1)
}

/// The first lines in which two texts differ.
pub(crate) fn difference(left: &str, right: &str) -> Option<String> {
    let mut right = right.lines().chain(std::iter::once("the end"));
    let mut before = "";
    for line in left.lines().chain(std::iter::once("the end")) {
        let other = right.next().unwrap_or_default();
        if line != other {
            return Some(format!("after {before:?}: {line:?} against {other:?}"));
        }
        before = line;
    }
    None
}

/// Asserts that two global types are the same: walked in lockstep they say the same, and their roles'
/// machines, if there are any, are bisimilar.
pub(crate) fn assert_same_global(left: &GlobalType, right: &GlobalType, about: &str) {
    let (l, r) = (left.vocabulary(), right.vocabulary());
    let roles = |v: &Vocabulary| v.roles().map(|role| v.role_name(role).to_owned()).collect::<Vec<_>>();
    assert_eq!(roles(l), roles(r), "{about}");
    let mut seen = HashSet::from([(left.root(), right.root())]);
    let mut pending = vec![(left.root(), right.root())];
    let mut calls = Vec::new();
    while let Some((a, b)) = pending.pop() {
        let mut next = Vec::new();
        match (left.node(a), right.node(b)) {
            (Global::End, Global::End) => {}
            (Global::Join(a), Global::Join(b)) => calls.push((*a, *b)),
            (Global::Par(a), Global::Par(b)) => {
                assert_eq!(a.blocks.len(), b.blocks.len(), "{about}");
                next.extend(a.blocks.iter().copied().zip(b.blocks.iter().copied()));
                next.push((a.next, b.next));
            }
            (Global::Rec(a), Global::Rec(b)) => {
                assert_eq!(a.level, b.level, "{about}");
                let parameter =
                    |p: &Parameter| (p.name.clone(), p.roles.clone(), p.ty.clone(), p.initial.clone());
                let parameters = |r: &Rec| r.parameters.iter().map(parameter).collect::<Vec<_>>();
                assert_eq!(parameters(a), parameters(b), "{about}");
                next.push((a.body, b.body));
            }
            (Global::Call(a), Global::Call(b)) => {
                assert_eq!(a.arguments, b.arguments, "{about}");
                calls.push((a.target, b.target));
            }
            (Global::Exchange(a), Global::Exchange(b)) => {
                assert_eq!((a.sender, a.branches.len()), (b.sender, b.branches.len()), "{about}");
                for (a, b) in a.branches.iter().zip(&b.branches) {
                    assert_eq!(a.receiver, b.receiver, "{about}");
                    assert_eq!(spec(l, a.message), spec(r, b.message), "{about}");
                    next.push((a.next, b.next));
                }
            }
            (a, b) => panic!("{a:?} against {b:?}\n{about}"),
        }
        pending.extend(next.into_iter().filter(|pair| seen.insert(*pair)));
    }
    assert!(calls.iter().all(|pair| seen.contains(pair)), "calls of different definitions\n{about}");
    assert_bisimilar(left, right, about);
}

/// Asserts that the machines of all roles behave alike, or that neither protocol has one.
pub(crate) fn assert_bisimilar(left: &GlobalType, right: &GlobalType, about: &str) {
    let (l, r) = (left.vocabulary(), right.vocabulary());
    for role in l.roles() {
        match (left.project(role), right.project(role)) {
            (Ok(a), Ok(b)) => assert!(a.bisimilar(&with_messages_of(l, r, &b), l), "{about}"),
            (Err(_), Err(_)) => {}
            (a, b) => panic!("{:?} against {:?}\n{about}", a.is_ok(), b.is_ok()),
        }
    }
}

type Spec<'a> = (&'a str, &'a [Field], Option<&'a Arc<Expr>>);

fn spec(vocabulary: &Vocabulary, message: Message) -> Spec<'_> {
    let spec = vocabulary.spec(message);
    (vocabulary.label_name(spec.label), &spec.fields, spec.assertion.as_ref())
}

/// `machine`, its messages numbered by `vocabulary` rather than by `own`.
fn with_messages_of(vocabulary: &Vocabulary, own: &Vocabulary, machine: &Machine) -> Machine {
    let mut builder = MachineBuilder::new(machine.role());
    for _ in machine.states() {
        builder.add_state();
    }
    for state in machine.states() {
        for transition in machine.transitions(state) {
            let message =
                vocabulary.messages().find(|m| spec(vocabulary, *m) == spec(own, transition.message));
            let message = message.expect("a message of both");
            builder.add_transition(state, Transition { message, ..*transition });
        }
    }
    builder.finish()
}
