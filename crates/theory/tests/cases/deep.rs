//! Protocols of a hundred thousand steps, nested or in a row: every function answers, without overflowing the
//! stack and in time roughly linear in the size.

use std::sync::Arc;
use std::time::Duration;

use referee_theory::session::{Session, SessionBranch, SessionTypeBuilder, TermId};
use referee_theory::{
    Action, Branch, Global, GlobalType, GlobalTypeBuilder, Machine, Message, NodeId, Origin, Role, Vocabulary,
};

const SIZE: usize = 100_000;
const NONE: Origin = Origin::NONE;

/// How long one thing may take. Generous, for shared machines; quadratic behaviour takes minutes.
const LIMIT: Duration = Duration::from_secs(60);

fn timed<T>(what: &str, run: impl FnOnce() -> T) -> T {
    #[expect(clippy::disallowed_types, reason = "a test may look at the clock")]
    let start = std::time::Instant::now();
    let result = run();
    let taken = start.elapsed();
    assert!(taken < LIMIT, "{what} took {taken:?}");
    result
}

struct Names {
    vocabulary: Arc<Vocabulary>,
    roles: [Role; 3],
    labels: [Message; 2],
}

fn names() -> Names {
    let mut vocabulary = Vocabulary::new();
    let roles = ["a", "b", "c"].map(|role| vocabulary.add_role(role));
    let labels = ["l", "m"].map(|label| vocabulary.add_plain_message(label));
    Names { vocabulary: Arc::new(vocabulary), roles, labels }
}

fn to(receiver: Role, message: Message, next: NodeId) -> Branch {
    Branch { receiver, message, next, origin: NONE }
}

/// Everything there is to compute.
fn everything(what: &str, global: &GlobalType) {
    let vocabulary = global.vocabulary();
    timed(&format!("{what}: order"), || global.postorder());
    for role in vocabulary.roles() {
        let name = vocabulary.role_name(role);
        let Ok(machine) = timed(&format!("{what}: projection onto {name}"), || global.project(role)) else {
            continue;
        };
        everything_about(&format!("{what}: {name}"), &machine, vocabulary);
    }
    for p in vocabulary.roles() {
        for q in vocabulary.roles().filter(|q| p < *q) {
            let relative = timed(&format!("{what}: relative"), || global.relative(p, q));
            if let Ok(relative) = relative {
                timed(&format!("{what}: relative text"), || relative.to_text());
            }
        }
    }
    timed(&format!("{what}: assertions"), || global.check_assertions(&referee_theory::expr::Scope::new()));
    timed(&format!("{what}: copy and drop"), || drop(global.clone()));
}

fn everything_about(what: &str, machine: &Machine, vocabulary: &Arc<Vocabulary>) {
    let minimal = timed(&format!("{what}, minimised"), || machine.minimised(vocabulary));
    assert!(timed(&format!("{what}, bisimilar"), || minimal.bisimilar(machine, vocabulary)));
    let term = timed(&format!("{what}, as a term"), || machine.session_type(vocabulary, 10 * SIZE));
    let Some(term) = term else { return };
    assert!(timed(&format!("{what}, compared"), || term.same_behaviour(&term)));
    let again = timed(&format!("{what}, as a machine again"), || term.machine());
    assert!(timed(&format!("{what}, bisimilar again"), || again.bisimilar(machine, vocabulary)));
}

#[test]
fn exchanges_in_a_row() {
    let Names { vocabulary, roles: [a, b, c], labels: [l, _] } = names();
    let mut builder = GlobalTypeBuilder::new();
    let mut next = builder.end();
    for i in 0..SIZE {
        let (sender, receiver) = [(a, b), (b, c), (c, a)][i % 3];
        next = builder.exchange(sender, vec![to(receiver, l, next)], NONE);
    }
    let global = timed("building", || builder.finish(vocabulary, next)).unwrap();
    everything("row", &global);
}

#[test]
fn nested_choices() {
    // In one branch the next choice, in the other an end announced to c.
    let Names { vocabulary, roles: [a, b, c], labels: [l, m] } = names();
    let mut builder = GlobalTypeBuilder::new();
    let mut next = builder.end();
    for _ in 0..SIZE {
        let end = builder.end();
        let stop = builder.exchange(a, vec![to(c, m, end)], NONE);
        let go_on = builder.exchange(a, vec![to(c, l, next)], NONE);
        next = builder.exchange(a, vec![to(b, l, go_on), to(b, m, stop)], NONE);
    }
    let global = timed("building", || builder.finish(vocabulary, next)).unwrap();
    everything("choices", &global);
}

#[test]
fn choices_that_some_role_does_not_see() {
    // c waits behind all of them for one message.
    let Names { vocabulary, roles: [a, b, c], labels: [l, m] } = names();
    let mut builder = GlobalTypeBuilder::new();
    let end = builder.end();
    let last = builder.exchange(b, vec![to(c, l, end)], NONE);
    let mut next = last;
    for _ in 0..SIZE {
        next = builder.exchange(a, vec![to(b, l, next), to(b, m, last)], NONE);
    }
    let global = timed("building", || builder.finish(vocabulary, next)).unwrap();
    assert_eq!(global.project(c).unwrap().state_count(), 2);
    everything("unseen", &global);
}

#[test]
fn loops_one_after_another() {
    let Names { vocabulary, roles: [a, b, c], labels: [l, m] } = names();
    let mut builder = GlobalTypeBuilder::new();
    let mut next = builder.end();
    for i in 0..SIZE / 4 {
        let definition = builder.reserve();
        let again = builder.call(definition, NONE);
        let receiver = if i % 2 == 0 { b } else { c };
        let body = builder.exchange(a, vec![to(receiver, l, again), to(receiver, m, next)], NONE);
        builder.define(definition, "X", body, NONE);
        next = definition;
    }
    let global = timed("building", || builder.finish(vocabulary, next)).unwrap();
    everything("loops", &global);
}

/// 200 loops, each of which can go back to any around it, over a long body.
#[test]
fn nested_loops_over_a_long_body() {
    let Names { vocabulary, roles: [a, b, _], labels: [l, m] } = names();
    let mut builder = GlobalTypeBuilder::new();
    let definitions: Vec<NodeId> = (0..200).map(|_| builder.reserve()).collect();
    let mut next = builder.end();
    for i in 0..SIZE / 2 {
        let back = builder.call(definitions[i % 200], NONE);
        next = builder.exchange(a, vec![to(b, l, next), to(b, m, back)], NONE);
    }
    for (i, &definition) in definitions.iter().enumerate().rev() {
        builder.define(definition, "X", next, NONE);
        next = if i % 2 == 0 { builder.exchange(b, vec![to(a, l, definition)], NONE) } else { definition };
    }
    let global = timed("building", || builder.finish(vocabulary, next)).unwrap();
    let depth = global.nodes().filter(|(_, node)| matches!(node, Global::Rec(_))).count();
    assert_eq!(depth, 200);
    everything("nested loops", &global);
}

/// Many ways back to a loop that begins with what a role does not see.
#[test]
fn many_ways_back_to_a_silent_prefix() {
    let Names { vocabulary, roles: [a, b, c], labels: [l, m] } = names();
    let mut builder = GlobalTypeBuilder::new();
    let definition = builder.reserve();
    let mut next = builder.call(definition, NONE);
    for _ in 0..SIZE / 4 {
        let back = builder.call(definition, NONE);
        next = builder.exchange(a, vec![to(c, l, next), to(c, m, back)], NONE);
    }
    for _ in 0..SIZE / 4 {
        next = builder.exchange(a, vec![to(b, l, next)], NONE);
    }
    builder.define(definition, "X", next, NONE);
    let global = timed("building", || builder.finish(vocabulary, definition)).unwrap();
    everything("ways back", &global);
}

/// A session type with as many definitions in a row, and as many calls of the first.
#[test]
fn definitions_of_definitions() {
    let Names { vocabulary, roles: [a, b, _], labels: [l, m] } = names();
    let mut builder = SessionTypeBuilder::new();
    let definitions: Vec<TermId> = (0..SIZE).map(|_| builder.reserve()).collect();
    let mut body = builder.add(Session::End);
    for _ in 0..SIZE {
        let back = builder.add(Session::Call { target: definitions[0], origin: NONE });
        let branch =
            |message, next| SessionBranch { action: Action::Send, peer: b, message, next, origin: NONE };
        body = builder.add(Session::Choice(vec![branch(l, body), branch(m, back)]));
    }
    for &definition in definitions.iter().rev() {
        builder.set(definition, Session::Rec { name: "X".into(), body, origin: NONE });
        body = definition;
    }
    let session = timed("building", || builder.finish(Arc::clone(&vocabulary), a, body)).unwrap();
    let machine = timed("machine", || session.machine());
    assert_eq!(machine.state_count(), SIZE + 1);
    assert!(timed("compared", || session.same_behaviour(&session)));
    everything_about("definitions", &machine, &vocabulary);
}

/// A call may have been added before the definition it leads to: the cycle is found all the same.
#[test]
fn an_unguarded_cycle_of_definitions() {
    let Names { vocabulary, roles: [a, ..], .. } = names();
    let mut builder = SessionTypeBuilder::new();
    let call = builder.reserve();
    let definition = builder.add(Session::Rec { name: "X".into(), body: call, origin: Origin(1) });
    builder.set(call, Session::Call { target: definition, origin: Origin(2) });
    let errors = builder.finish(Arc::clone(&vocabulary), a, definition).expect_err("unguarded");
    let expected =
        referee_theory::session::SessionError::Unguarded { definition: Origin(1), call: Origin(2) };
    assert_eq!(errors, [expected]);
    // Each cycle once, and a way into a cycle is no cycle.
    let mut builder = SessionTypeBuilder::new();
    let definition = builder.reserve();
    let call = builder.add(Session::Call { target: definition, origin: Origin(2) });
    builder.set(definition, Session::Rec { name: "X".into(), body: call, origin: Origin(1) });
    let way_in = builder.add(Session::Rec { name: "Y".into(), body: call, origin: Origin(3) });
    assert_eq!(builder.finish(vocabulary, a, way_in).expect_err("unguarded"), [expected_again()]);
}

fn expected_again() -> referee_theory::session::SessionError {
    referee_theory::session::SessionError::Unguarded { definition: Origin(1), call: Origin(2) }
}
