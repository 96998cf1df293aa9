//! Every way a global type can be ill formed, with the exact places; and what a well-formed one knows.

use std::sync::Arc;

use referee_reference::global::{Tree, call, exchange, message, rec};
use referee_theory::global::MAX_LEVEL;
use referee_theory::{
    Branch, Global, GlobalError, GlobalTypeBuilder, Label, NodeId, Origin, Role, Vocabulary,
};

/// A vocabulary of roles a, b, c and messages l, m.
fn names() -> Vocabulary {
    let mut names = Vocabulary::new();
    for role in ["a", "b", "c"] {
        names.add_role(role);
    }
    for label in ["l", "m"] {
        names.add_plain_message(label);
    }
    names
}

const A: Role = Role(0);
const B: Role = Role(1);

fn branch(receiver: Role, message: u32, next: NodeId, origin: u32) -> Branch {
    Branch { receiver, message: referee_theory::Message(message), next, origin: Origin(origin) }
}

fn errors(builder: GlobalTypeBuilder, root: NodeId) -> Vec<GlobalError> {
    builder.finish(Arc::new(names()), root).expect_err("ill formed")
}

#[test]
fn a_loop_without_exchange() {
    let mut builder = GlobalTypeBuilder::new();
    let definition = builder.reserve();
    let body = builder.call(definition, Origin(2));
    builder.define(definition, "X", body, Origin(1));
    let error = GlobalError::Unguarded { definition: Origin(1), call: Origin(2) };
    assert_eq!(errors(builder, definition), [error]);
}

#[test]
fn nested_loops_without_exchange_are_one_error() {
    // μX.μY.X, and μX.μY.Y
    let inner_calls = |name| rec("X", rec("Y", call(name))).to_theory(&["a", "b"]).expect_err("ill formed");
    let error =
        |definition, call| GlobalError::Unguarded { definition: Origin(definition), call: Origin(call) };
    assert_eq!(inner_calls("X"), [error(0, 2)]);
    assert_eq!(inner_calls("Y"), [error(1, 2)]);
}

#[test]
fn a_definition_may_stand_for_an_outer_one() {
    // μX.a!b{l.μY.X}: Y is never called, and X is guarded.
    assert!(rec("X", message("a", "b", "l", rec("Y", call("X")))).to_theory(&["a", "b"]).is_ok());
}

#[test]
fn a_call_of_nothing() {
    // The definition is not part of the protocol at all.
    let tree = message("a", "b", "l", call("X"));
    // Origins count nodes and branches: exchange 0, branch 1, call 2.
    assert_eq!(tree.to_theory(&["a", "b"]).expect_err("unbound"), [GlobalError::Unbound { call: Origin(2) }]);
}

#[test]
fn a_call_from_outside_its_definition() {
    // a!b{l.μX.a!b{l.X}, m.X}: the first call is fine, the second is not.
    let mut builder = GlobalTypeBuilder::new();
    let definition = builder.reserve();
    let inside = builder.call(definition, Origin(10));
    let body = builder.exchange(A, vec![branch(B, 0, inside, 2)], Origin(1));
    builder.define(definition, "X", body, Origin(3));
    let outside = builder.call(definition, Origin(20));
    let root = builder.exchange(A, vec![branch(B, 0, definition, 5), branch(B, 1, outside, 6)], Origin(4));
    assert_eq!(errors(builder, root), [GlobalError::Unbound { call: Origin(20) }]);
}

#[test]
fn a_call_of_what_is_no_definition() {
    let mut builder = GlobalTypeBuilder::new();
    let root = builder.reserve();
    let next = builder.call(root, Origin(7));
    let branches = vec![branch(B, 0, next, 1)];
    builder.set(
        root,
        Global::Exchange(referee_theory::Exchange {
            sender: A,
            branches: branches.into(),
            origin: Origin(0),
        }),
    );
    assert_eq!(errors(builder, root), [GlobalError::Unbound { call: Origin(7) }]);
}

#[test]
fn a_message_to_oneself() {
    let mut builder = GlobalTypeBuilder::new();
    let end = builder.end();
    let root = builder.exchange(A, vec![branch(A, 0, end, 9)], Origin(8));
    assert_eq!(errors(builder, root), [GlobalError::SelfMessage { role: A, message: Origin(9) }]);
}

#[test]
fn a_label_twice() {
    let mut builder = GlobalTypeBuilder::new();
    let end = builder.end();
    let branches = vec![branch(B, 0, end, 1), branch(B, 1, end, 2), branch(B, 0, end, 3)];
    let root = builder.exchange(A, branches, Origin(0));
    let error =
        GlobalError::DuplicateLabel { label: Label(0), receiver: B, first: Origin(1), second: Origin(3) };
    assert_eq!(errors(builder, root), [error]);
}

#[test]
fn a_label_twice_to_different_receivers_is_fine() {
    let mut builder = GlobalTypeBuilder::new();
    let end = builder.end();
    let root = builder.exchange(A, vec![branch(B, 0, end, 1), branch(Role(2), 0, end, 2)], Origin(0));
    let global = builder.finish(Arc::new(names()), root).unwrap();
    assert_eq!(global.participants(), [A, B, Role(2)]);
}

#[test]
fn several_errors_at_once() {
    let mut builder = GlobalTypeBuilder::new();
    let end = builder.end();
    let definition = builder.reserve();
    let body = builder.call(definition, Origin(3));
    builder.define(definition, "X", body, Origin(2));
    let root = builder.exchange(A, vec![branch(A, 0, definition, 1), branch(B, 0, end, 4)], Origin(0));
    let found = errors(builder, root);
    assert_eq!(
        found,
        [
            GlobalError::SelfMessage { role: A, message: Origin(1) },
            GlobalError::Unguarded { definition: Origin(2), call: Origin(3) },
        ]
    );
}

#[test]
fn only_those_who_exchange_something_participate() {
    let tree = rec("X", exchange("c", "a", vec![("l", "", call("X")), ("m", "", Tree::End)]));
    let global = tree.to_theory(&["a", "b", "c", "d"]).unwrap();
    assert_eq!(global.participants(), [Role(0), Role(2)]);
    assert!(Tree::End.to_theory(&["a", "b"]).unwrap().participants().is_empty());
}

#[test]
fn what_is_never_given_content_is_the_end() {
    let mut builder = GlobalTypeBuilder::new();
    let root = builder.reserve();
    let global = builder.finish(Arc::new(names()), root).unwrap();
    assert!(matches!(global.node(global.root()), Global::End));
}

/// `depth` loops, each of which calls all around it.
fn dependent_loops(depth: usize) -> Tree {
    let name = |index: usize| format!("X{index}");
    let labels: Vec<String> = (0..depth).map(|index| format!("l{index}")).collect();
    let calls = labels.iter().enumerate().map(|(i, label)| (label.as_str(), "", call(&name(i))));
    let mut tree = exchange("a", "b", calls.collect());
    for index in (0..depth).rev() {
        tree = rec(&name(index), tree);
    }
    tree
}

#[test]
fn loops_that_depend_on_one_another_are_limited() {
    // Definition number MAX_LEVEL + 1, counted from 0, is the first beyond the limit.
    let most = MAX_LEVEL as usize + 1;
    let global = dependent_loops(most).to_theory(&["a", "b"]).unwrap();
    let levels = global.nodes().filter_map(|(_, node)| match node {
        Global::Rec(rec) => Some(rec.level),
        _ => None,
    });
    assert!(levels.eq(0..=MAX_LEVEL));
    let errors = dependent_loops(most + 1).to_theory(&["a", "b"]).expect_err("too deep");
    assert_eq!(errors, [GlobalError::TooDeep { definition: Origin(MAX_LEVEL + 1) }]);
}

#[test]
fn loops_that_do_not_depend_on_one_another_are_not_limited() {
    let mut tree = Tree::End;
    for _ in 0..300 {
        tree = rec("X", exchange("a", "b", vec![("l", "", call("X")), ("m", "", tree)]));
    }
    let global = tree.to_theory(&["a", "b"]).unwrap();
    assert!(global.nodes().all(|(_, node)| !matches!(node, Global::Rec(rec) if rec.level > 0)));
}
