//! When two protocols with vocabularies of their own say the same.

use referee_theory::session::{Session, SessionType};
use referee_theory::{Global, GlobalType, System};
use std::collections::HashMap;

/// Whether both global types are the same term, names of recursion variables and fields apart.
pub(crate) fn same_global(left: &GlobalType, right: &GlobalType) -> bool {
    let (lv, rv) = (left.vocabulary(), right.vocabulary());
    let mut definitions = HashMap::new();
    let mut pending = vec![(left.root(), right.root())];
    while let Some((l, r)) = pending.pop() {
        match (left.node(l), right.node(r)) {
            (Global::End, Global::End) => {}
            (Global::Call(a), Global::Call(b)) => {
                if definitions.get(&a.target) != Some(&b.target) {
                    return false;
                }
            }
            (Global::Rec(a), Global::Rec(b)) => {
                definitions.insert(l, r);
                pending.push((a.body, b.body));
            }
            (Global::Exchange(a), Global::Exchange(b)) => {
                let roles = lv.role_name(a.sender) == rv.role_name(b.sender);
                if !roles || a.branches.len() != b.branches.len() {
                    return false;
                }
                for (x, y) in a.branches.iter().zip(&b.branches) {
                    let receivers = lv.role_name(x.receiver) == rv.role_name(y.receiver);
                    let messages = lv.display(x.message).to_string() == rv.display(y.message).to_string();
                    if !receivers || !messages {
                        return false;
                    }
                    pending.push((x.next, y.next));
                }
            }
            _ => return false,
        }
    }
    true
}

/// Whether both session types are the same term, names of recursion variables apart.
pub(crate) fn same_session(left: &SessionType, right: &SessionType) -> bool {
    let (lv, rv) = (left.vocabulary(), right.vocabulary());
    let mut definitions = HashMap::new();
    let mut pending = vec![(left.root(), right.root())];
    while let Some((l, r)) = pending.pop() {
        match (left.node(l), right.node(r)) {
            (Session::End, Session::End) => {}
            (Session::Call { target: a, .. }, Session::Call { target: b, .. }) => {
                if definitions.get(a) != Some(b) {
                    return false;
                }
            }
            (Session::Rec { body: a, .. }, Session::Rec { body: b, .. }) => {
                definitions.insert(l, r);
                pending.push((*a, *b));
            }
            (Session::Choice(a), Session::Choice(b)) if a.len() == b.len() => {
                for (x, y) in a.iter().zip(b) {
                    let (xs, ys) = (lv.spec(x.message), rv.spec(y.message));
                    let same = x.action == y.action
                        && lv.role_name(x.peer) == rv.role_name(y.peer)
                        && lv.display(x.message).to_string() == rv.display(y.message).to_string()
                        && xs.assertion == ys.assertion;
                    if !same {
                        return false;
                    }
                    pending.push((x.next, y.next));
                }
            }
            _ => return false,
        }
    }
    true
}

/// Whether both systems have the same machines, state by state. `.fsm` numbers roles, so their names are
/// compared only on request.
pub(crate) fn same_system(left: &System, right: &System, names_count: bool) -> bool {
    let (lv, rv) = (left.vocabulary(), right.vocabulary());
    let roles = |v: &referee_theory::Vocabulary| -> Vec<String> {
        v.roles().map(|role| v.role_name(role).to_string()).collect()
    };
    if left.machines().len() != right.machines().len() || names_count && roles(lv) != roles(rv) {
        return false;
    }
    left.machines().iter().zip(right.machines()).all(|(a, b)| {
        a.state_count() == b.state_count()
            && a.states().all(|state| {
                let (x, y) = (a.transitions(state), b.transitions(state));
                x.len() == y.len()
                    && x.iter().zip(y).all(|(x, y)| {
                        x.action == y.action
                            && x.peer == y.peer
                            && x.target == y.target
                            && lv.display(x.message).to_string() == rv.display(y.message).to_string()
                    })
            })
    })
}
