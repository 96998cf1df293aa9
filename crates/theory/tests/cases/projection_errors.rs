//! Why a projection is undefined: the conflict, the two actions, and the choice the role is not told about.

use referee_reference::global::{Tree, call, exchange, message, rec};
use referee_theory::project::{Conflict, ProjectionError, RoleAction};
use referee_theory::{Action, GlobalType, Vocabulary};

const ROLES: [&str; 4] = ["a", "b", "c", "d"];

/// Projects onto c, which fails.
fn failure(tree: &Tree) -> (GlobalType, ProjectionError) {
    let global = tree.to_theory(&ROLES).unwrap();
    let c = global.vocabulary().find_role("c").unwrap();
    let error = global.project(c).expect_err("undefined");
    assert_eq!(error.role, c);
    (global, error)
}

/// `b?m`, `b!m` or `end`.
fn text(action: RoleAction, names: &Vocabulary) -> String {
    match action {
        RoleAction::End => "end".to_owned(),
        RoleAction::Fork { .. } => "par".to_owned(),
        RoleAction::Act { action, peer, message, .. } => {
            format!("{}{}{}", names.role_name(peer), action.symbol(), names.label_of(message))
        }
    }
}

/// Checks conflict, both actions in any order, and the chooser and labels of the hidden choice.
fn check(tree: &Tree, conflict: Conflict, actions: [&str; 2], choice: (&str, [&str; 2])) {
    let (global, error) = failure(tree);
    let names = global.vocabulary();
    assert_eq!(error.conflict, conflict, "{tree}");
    let found = [text(error.left, names), text(error.right, names)];
    let hidden = error.choice.unwrap_or_else(|| panic!("{tree}: no hidden choice in {error:?}"));
    let labels = [names.label_of(hidden.left.0), names.label_of(hidden.right.0)];
    assert_eq!(names.role_name(hidden.sender), choice.0, "{tree}: {error:?}");
    // Left and right may be swapped, but together.
    let swapped = found != actions;
    let in_order =
        |[x, y]: [&str; 2]| if swapped { [y.to_owned(), x.to_owned()] } else { [x.to_owned(), y.to_owned()] };
    assert_eq!(found, in_order(actions), "{tree}");
    assert_eq!(labels.map(str::to_owned), in_order(choice.1), "{tree}");
}

fn choice(left: Tree, right: Tree) -> Tree {
    exchange("a", "b", vec![("l", "", left), ("r", "", right)])
}

#[test]
fn ends_or_acts() {
    let tree = choice(message("b", "c", "m", Tree::End), Tree::End);
    check(&tree, Conflict::EndOrAction, ["b?m", "end"], ("a", ["l", "r"]));
}

#[test]
fn sends_or_receives() {
    let tree = choice(message("b", "c", "m", Tree::End), message("c", "b", "n", Tree::End));
    check(&tree, Conflict::SendOrReceive, ["b?m", "b!n"], ("a", ["l", "r"]));
}

#[test]
fn different_senders() {
    let tree = choice(message("a", "c", "m", Tree::End), message("b", "c", "m", Tree::End));
    check(&tree, Conflict::DifferentSenders, ["a?m", "b?m"], ("a", ["l", "r"]));
}

#[test]
fn different_sends() {
    let tree = choice(message("c", "a", "m", Tree::End), message("c", "a", "n", Tree::End));
    check(&tree, Conflict::DifferentSends, ["a!m", "a!n"], ("a", ["l", "r"]));
    // One offers more than the other.
    let more = exchange("c", "a", vec![("m", "", Tree::End), ("n", "", Tree::End)]);
    let tree = choice(message("c", "a", "m", Tree::End), more);
    check(&tree, Conflict::DifferentSends, ["a!m", "a!n"], ("a", ["l", "r"]));
}

#[test]
fn different_payloads() {
    let receive = |payload| exchange("b", "c", vec![("m", payload, Tree::End)]);
    check(
        &choice(receive("T"), receive("U")),
        Conflict::DifferentPayloads,
        ["b?m", "b?m"],
        ("a", ["l", "r"]),
    );
}

/// The conflicting pair is named even where other labels come first.
#[test]
fn the_label_with_different_payloads_is_named() {
    let receive = |payload| exchange("b", "c", vec![("k", "", Tree::End), ("m", payload, Tree::End)]);
    let tree = choice(receive("T"), receive("U"));
    check(&tree, Conflict::DifferentPayloads, ["b?m", "b?m"], ("a", ["l", "r"]));
}

/// Of two nested choices, the one that matters: the outer one, for the inner one makes no difference.
#[test]
fn the_choice_that_matters_outside() {
    let tell = |label| message("b", "c", label, Tree::End);
    let inner = exchange("b", "a", vec![("x", "", tell("m")), ("y", "", tell("m"))]);
    check(&choice(inner, Tree::End), Conflict::EndOrAction, ["b?m", "end"], ("a", ["l", "r"]));
}

/// … and the inner one, for the outer one is announced.
#[test]
fn the_choice_that_matters_inside() {
    let tell = |label, next| message("b", "c", label, next);
    let inner = exchange("b", "a", vec![("x", "", tell("m", Tree::End)), ("y", "", Tree::End)]);
    let tree = choice(tell("left", inner), tell("right", Tree::End));
    check(&tree, Conflict::EndOrAction, ["b?m", "end"], ("b", ["x", "y"]));
}

/// The branches part at the choice and disagree only after a message they share.
#[test]
fn a_disagreement_after_a_common_message() {
    let first = |next| message("b", "c", "m", next);
    let tree = choice(first(first(Tree::End)), first(Tree::End));
    check(&tree, Conflict::EndOrAction, ["b?m", "end"], ("a", ["l", "r"]));
}

/// … of its own, too, and a choice in between that does not matter.
#[test]
fn a_disagreement_after_a_message_of_its_own() {
    let send = |next| message("c", "d", "go", next);
    let noise = |next: Tree| exchange("a", "b", vec![("x", "", next.clone()), ("y", "", next)]);
    let tree = choice(
        send(noise(message("b", "c", "m", Tree::End))),
        send(noise(message("a", "c", "m", Tree::End))),
    );
    check(&tree, Conflict::DifferentSenders, ["b?m", "a?m"], ("a", ["l", "r"]));
}

/// Leaving a loop that the role does not see is a choice it is not told about.
#[test]
fn leaving_a_loop_unannounced() {
    let body =
        exchange("a", "b", vec![("again", "", message("b", "c", "m", call("X"))), ("stop", "", Tree::End)]);
    check(&rec("X", body), Conflict::EndOrAction, ["b?m", "end"], ("a", ["again", "stop"]));
}

/// The authorisation protocol of RV'23 (equation 1) has no projection onto the authorisation service.
#[test]
fn the_authorisation_protocol() {
    let login =
        exchange("c", "a", vec![("pwd", "str", exchange("a", "s", vec![("succ", "bool", call("X"))]))]);
    let tree = rec("X", exchange("s", "c", vec![("login", "", login), ("quit", "", Tree::End)]));
    let global = tree.to_theory(&["s", "c", "a"]).unwrap();
    let names = global.vocabulary();
    let errors = global.project_all().expect_err("undefined");
    assert_eq!(errors.len(), 1);
    let error = &errors[0];
    assert_eq!((names.role_name(error.role), error.conflict), ("a", Conflict::EndOrAction));
    let hidden = error.choice.unwrap();
    assert_eq!(names.role_name(hidden.sender), "s");
    let mut labels = [names.label_of(hidden.left.0), names.label_of(hidden.right.0)];
    labels.sort_unstable();
    assert_eq!(labels, ["login", "quit"]);
    assert!(global.relative_all().is_ok(), "but relative types exist");
}

/// Every role has a machine, also one that takes no part.
#[test]
fn a_role_that_does_nothing() {
    let global = choice(Tree::End, Tree::End).to_theory(&ROLES).unwrap();
    let system = global.project_all().unwrap();
    let machine = |name| system.machine(global.vocabulary().find_role(name).unwrap());
    assert_eq!((machine("c").state_count(), machine("c").all_transitions().len()), (1, 0));
    assert_eq!(machine("a").transitions(machine("a").initial()).len(), 2);
    assert!(machine("a").all_transitions().iter().all(|t| t.action == Action::Send));
}
