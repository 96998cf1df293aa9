//! Liveness without fairness of choices, from the definition: every set of transitions that an execution can go on making
//! for ever is looked at.

use std::collections::BTreeSet;

use referee_theory::{Action, Role, State, System};

use super::properties::{Kind, kind};
use super::{Act, TransitionSystem, outgoing};

/// A transition of TS_k: source, action, target.
pub type Edge = (usize, Act, usize);

/// Whether `edges`, and no others, can be made infinitely often by one execution.
#[must_use]
pub fn is_strongly_connected(edges: &[Edge]) -> bool {
    let nodes: BTreeSet<usize> = edges.iter().map(|edge| edge.0).collect();
    let reaches = |from: usize| {
        let mut seen = BTreeSet::from([from]);
        loop {
            let next = edges.iter().filter(|edge| seen.contains(&edge.0)).map(|edge| edge.2);
            let next: BTreeSet<usize> = next.filter(|node| !seen.contains(node)).collect();
            if next.is_empty() {
                return seen;
            }
            seen.extend(next);
        }
    };
    !edges.is_empty() && nodes.iter().all(|&node| reaches(node) == nodes)
}

/// Which transition of its machine an edge is.
fn local(ts: &TransitionSystem, (s, act, t): &Edge) -> (State, Act, State) {
    (ts.states[*s].locals[act.role.index()], *act, ts.states[*t].locals[act.role.index()])
}

/// Whether an execution that makes `edges` infinitely often and others finitely often is fair: a role that can send does
/// not stand still, and a reception that is possible infinitely often is made infinitely often. `any_room`: a full channel
/// is no reason to stand still.
#[must_use]
pub fn is_fair(system: &System, ts: &TransitionSystem, edges: &[Edge], any_room: bool) -> bool {
    let moves = |role: Role| edges.iter().any(|edge| edge.1.role == role);
    edges.iter().all(|&(s, ..)| {
        let enabled: Vec<Edge> = ts.edges[s].iter().map(|&(act, t)| (s, act, t)).collect();
        let wants = |role: Role| {
            let all = outgoing(system, role, ts.states[s].locals[role.index()]);
            all.iter().any(|(act, _)| act.action == Action::Send && act.peer != role)
        };
        enabled.iter().all(|edge| match edge.1.action {
            Action::Send => moves(edge.1.role),
            Action::Receive => edges.iter().any(|made| local(ts, made) == local(ts, edge)),
        }) && (!any_room || system.roles().all(|role| !wants(role) || moves(role)))
    })
}

/// Whether an execution that makes `edges` infinitely often leaves a role waiting (where it may not) or a message in its
/// channel.
#[must_use]
pub fn starves(system: &System, ts: &TransitionSystem, edges: &[Edge]) -> bool {
    let waits = system.roles().any(|role| {
        edges.iter().all(|&(s, act, _)| {
            let state = ts.states[s].locals[role.index()];
            let nothing = ts.states[s].channels.keys().all(|&(_, to)| to != role);
            let excused = system.machine(role).is_accepting(state) && nothing;
            act.role != role && kind(system, role, state) == Kind::Receiving && !excused
        })
    });
    let stays = system.roles().any(|from| {
        system.roles().any(|to| {
            edges.iter().all(|&(s, act, _)| {
                let takes = act.action == Action::Receive && act.channel() == (from, to);
                ts.states[s].length((from, to)) > 0 && !takes
            })
        })
    });
    waits || stays
}

/// Whether some fair execution of TS_k goes on for ever and starves somebody. `None` where there are more transitions than
/// `most`: all sets of them are looked at.
#[must_use]
pub fn some_execution_starves(
    system: &System,
    ts: &TransitionSystem,
    any_room: bool,
    most: usize,
) -> Option<bool> {
    let row = |s: usize| ts.edges[s].iter().map(move |&(act, t)| (s, act, t));
    let all: Vec<Edge> = (0..ts.states.len()).flat_map(row).collect();
    if all.len() > most {
        return None;
    }
    Some((1_u32..1 << all.len()).any(|set| {
        let edges: Vec<Edge> = (0..all.len()).filter(|at| set & (1 << at) != 0).map(|at| all[at]).collect();
        is_strongly_connected(&edges) && starves(system, ts, &edges) && is_fair(system, ts, &edges, any_room)
    }))
}
