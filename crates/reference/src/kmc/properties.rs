//! Every property of CAV'19, with a search per configuration.

use std::collections::{BTreeMap, BTreeSet};

use referee_theory::{Action, Role, State, System};

use super::{Act, Configuration, TransitionSystem, outgoing, successors};

/// What a local state is (Section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No transition.
    Final,
    /// Only sends.
    Sending,
    /// Only receptions.
    Receiving,
    /// Both.
    Mixed,
}

/// The kind of `state`.
#[must_use]
pub fn kind(system: &System, role: Role, state: State) -> Kind {
    let transitions = outgoing(system, role, state);
    let sends = transitions.iter().any(|(act, _)| act.action == Action::Send);
    let receives = transitions.iter().any(|(act, _)| act.action == Action::Receive);
    match (sends, receives) {
        (false, false) => Kind::Final,
        (true, false) => Kind::Sending,
        (false, true) => Kind::Receiving,
        (true, true) => Kind::Mixed,
    }
}

fn local(system: &System, s: &Configuration, role: Role) -> (Kind, Vec<Act>) {
    let state = s.locals[role.index()];
    let acts = outgoing(system, role, state).into_iter().map(|(act, _)| act).collect();
    (kind(system, role, state), acts)
}

/// Remark 1: deterministic, no mixed states.
#[must_use]
pub fn is_csa(system: &System) -> bool {
    system.machines().iter().all(|machine| {
        machine.states().all(|state| {
            let transitions = outgoing(system, machine.role(), state);
            kind(system, machine.role(), state) != Kind::Mixed
                && transitions.iter().all(|(l, t)| transitions.iter().all(|(m, u)| l != m || t == u))
        })
    })
}

fn directed(system: &System, action: Action) -> bool {
    system.machines().iter().all(|machine| {
        machine.states().all(|state| {
            let peers: BTreeSet<Role> = outgoing(system, machine.role(), state)
                .iter()
                .filter(|(act, _)| act.action == action)
                .map(|(act, _)| act.peer)
                .collect();
            peers.len() <= 1
        })
    })
}

/// Every sending state sends to one peer.
#[must_use]
pub fn is_send_directed(system: &System) -> bool {
    directed(system, Action::Send)
}

/// Every receiving state receives from one peer.
#[must_use]
pub fn is_receive_directed(system: &System) -> bool {
    directed(system, Action::Receive)
}

/// Whether, from `start`, an edge that satisfies `wanted` can be fired along edges that satisfy `along`.
fn can_fire(
    ts: &TransitionSystem,
    start: usize,
    wanted: impl Fn(&Act) -> bool,
    along: impl Fn(&Act) -> bool,
) -> bool {
    let mut seen = BTreeSet::from([start]);
    let mut agenda = vec![start];
    while let Some(s) = agenda.pop() {
        for (act, target) in &ts.edges[s] {
            if wanted(act) {
                return true;
            }
            if along(act) && seen.insert(*target) {
                agenda.push(*target);
            }
        }
    }
    false
}

/// Of each configuration, whether an edge that satisfies `wanted` can be fired from it: the least set that holds the
/// sources of such edges and whatever has an edge into the set.
fn can_ever_fire(ts: &TransitionSystem, wanted: impl Fn(&Act) -> bool) -> Vec<bool> {
    let mut sources = vec![Vec::new(); ts.states.len()];
    for (source, row) in ts.edges.iter().enumerate() {
        row.iter().for_each(|(_, target)| sources[*target].push(source));
    }
    let mut can: Vec<bool> = ts.edges.iter().map(|row| row.iter().any(|(act, _)| wanted(act))).collect();
    let mut agenda: Vec<usize> = (0..can.len()).filter(|&s| can[s]).collect();
    while let Some(target) = agenda.pop() {
        for &source in &sources[target] {
            if !std::mem::replace(&mut can[source], true) {
                agenda.push(source);
            }
        }
    }
    can
}

fn fires(ts: &TransitionSystem, s: usize, act: &Act) -> bool {
    ts.edges[s].iter().any(|(other, _)| other == act)
}

/// Definitions 6 and 17: the configurations that violate k-OBI.
#[must_use]
pub fn obi(system: &System, ts: &TransitionSystem) -> Vec<usize> {
    violating(ts, |s| {
        let enabled = successors(system, &ts.states[s], ts.bound);
        let enabled = |act: &Act| enabled.iter().any(|(other, _)| other == act);
        system.roles().all(|p| {
            let (_, acts) = local(system, &ts.states[s], p);
            let mut sends = acts.iter().filter(|act| act.action == Action::Send);
            !sends.clone().any(enabled) || sends.all(enabled)
        })
    })
}

/// Definition 7: the configurations that violate k-IBI.
#[must_use]
pub fn ibi(ts: &TransitionSystem) -> Vec<usize> {
    violating(ts, |s| {
        ts.edges[s].iter().all(|(one, _)| {
            one.action == Action::Send
                || ts.edges[s].iter().all(|(other, _)| other.role != one.role || other == one)
        })
    })
}

/// Definitions 12 and 18: the configurations that violate k-SIBI.
#[must_use]
pub fn sibi(system: &System, ts: &TransitionSystem) -> Vec<usize> {
    violating(ts, |s| {
        each_race(system, ts, s, |first, after, rival, send| {
            let _ = first;
            !fires(ts, s, rival) && !can_fire(ts, after, |act| act == send, |_| true)
        })
    })
}

/// Definitions 11 and 26 to the letter: the configurations that violate k-CIBI. Dependence is the relation
/// before Definition 11, its channel case read as "a send, then a reception" (the paper's Lemma 25).
#[must_use]
pub fn cibi(system: &System, ts: &TransitionSystem) -> Vec<usize> {
    violating(ts, |s| {
        each_race(system, ts, s, |first, after, rival, send| {
            !fires(ts, s, rival) && always_depends(ts, s, first, after, send)
        })
    })
}

/// For all φ: s′ φ sp!b implies s ⊢ qp?a ≺_φ sp!b. What of φ depends so far is kept as its subjects and its
/// channels that were empty at s.
fn always_depends(ts: &TransitionSystem, s: usize, first: &Act, after: usize, send: &Act) -> bool {
    type Node = (usize, BTreeSet<Role>, BTreeSet<(Role, Role)>);
    let start: Node = (after, BTreeSet::from([first.role]), BTreeSet::new());
    let mut seen = BTreeSet::from([start.clone()]);
    let mut agenda = vec![start];
    while let Some((t, subjects, channels)) = agenda.pop() {
        for (act, target) in &ts.edges[t] {
            let depends = subjects.contains(&act.role)
                || (act.action == Action::Receive && channels.contains(&act.channel()));
            if act == send && !depends {
                return false;
            }
            let mut next = (*target, subjects.clone(), channels.clone());
            if depends {
                next.1.insert(act.role);
                if act.action == Action::Send && ts.states[s].length(act.channel()) == 0 {
                    next.2.insert(act.channel());
                }
            }
            if seen.insert(next.clone()) {
                agenda.push(next);
            }
        }
    }
    true
}

/// k-CIBI with exact dependence: an action depends on an earlier one through its own role's order and
/// through messages, each followed from its send to its reception.
#[must_use]
pub fn cibi_by_messages(system: &System, ts: &TransitionSystem) -> Vec<usize> {
    violating(ts, |s| {
        each_race(system, ts, s, |first, after, rival, send| {
            !fires(ts, s, rival) && always_depends_by_messages(ts, first, after, send)
        })
    })
}

fn always_depends_by_messages(ts: &TransitionSystem, first: &Act, after: usize, send: &Act) -> bool {
    // Which messages in flight depend, head first.
    type Flags = BTreeMap<(Role, Role), Vec<bool>>;
    type Node = (usize, BTreeSet<Role>, Flags);
    let flags =
        ts.states[after].channels.iter().map(|(channel, w)| (*channel, vec![false; w.len()])).collect();
    let start: Node = (after, BTreeSet::from([first.role]), flags);
    let mut seen = BTreeSet::from([start.clone()]);
    let mut agenda = vec![start];
    while let Some((t, subjects, flags)) = agenda.pop() {
        for (act, target) in &ts.edges[t] {
            let mut next = (*target, subjects.clone(), flags.clone());
            let queue = next.2.entry(act.channel()).or_default();
            let mut depends = subjects.contains(&act.role);
            match act.action {
                Action::Send => queue.push(depends),
                Action::Receive => depends |= queue.remove(0),
            }
            if queue.is_empty() {
                next.2.remove(&act.channel());
            }
            if act == send && !depends {
                return false;
            }
            if depends {
                next.1.insert(act.role);
            }
            if seen.insert(next.clone()) {
                agenda.push(next);
            }
        }
    }
    true
}

/// Calls `holds(qp?a, s′, sp?b, sp!b)` for every reception fired at `s` and every other sender's reception
/// of the same local state.
fn each_race(
    system: &System,
    ts: &TransitionSystem,
    s: usize,
    mut holds: impl FnMut(&Act, usize, &Act, &Act) -> bool,
) -> bool {
    ts.edges[s].iter().filter(|(act, _)| act.action == Action::Receive).all(|(first, after)| {
        let (_, acts) = local(system, &ts.states[s], first.role);
        acts.iter().filter(|other| other.action == Action::Receive && other.peer != first.peer).all(|rival| {
            let send = Act { role: rival.peer, action: Action::Send, peer: rival.role, ..*rival };
            holds(first, *after, rival, &send)
        })
    })
}

/// Definitions 9 and 20: the configurations that violate k-exhaustivity.
#[must_use]
pub fn exhaustive(system: &System, ts: &TransitionSystem) -> Vec<usize> {
    violating(ts, |s| {
        system.roles().all(|p| {
            let (_, acts) = local(system, &ts.states[s], p);
            acts.iter()
                .filter(|act| act.action == Action::Send)
                .all(|send| can_fire(ts, s, |act| act == send, |act| act.role != p))
        })
    })
}

/// The configurations in which some role could send on a channel that holds k messages.
#[must_use]
pub fn blocked(system: &System, ts: &TransitionSystem) -> Vec<usize> {
    violating(ts, |s| {
        system.roles().all(|p| {
            let (_, acts) = local(system, &ts.states[s], p);
            let sends = acts.iter().filter(|act| act.action == Action::Send && act.peer != p);
            sends.map(|act| ts.states[s].length(act.channel())).all(|length| length < ts.bound)
        })
    })
}

/// Definitions 4 and 19, item 1: the configurations that violate eventual reception.
#[must_use]
pub fn eventual_reception(ts: &TransitionSystem) -> Vec<usize> {
    let mut known: BTreeMap<Act, Vec<bool>> = BTreeMap::new();
    violating(ts, |s| {
        ts.states[s].channels.iter().all(|(&(p, q), w)| {
            let wanted = Act { role: q, action: Action::Receive, peer: p, message: w[0] };
            known.entry(wanted).or_insert_with(|| can_ever_fire(ts, |act| *act == wanted))[s]
        })
    })
}

/// Definitions 4 and 19, item 2: the configurations that violate progress.
#[must_use]
pub fn progress(system: &System, ts: &TransitionSystem) -> Vec<usize> {
    let can_receive: Vec<Vec<bool>> = system
        .roles()
        .map(|p| can_ever_fire(ts, |act| act.role == p && act.action == Action::Receive))
        .collect();
    violating(ts, |s| {
        system.roles().all(|p| {
            let (kind, _) = local(system, &ts.states[s], p);
            kind != Kind::Receiving || can_receive[p.index()][s]
        })
    })
}

/// Progress where roles may wait for ever in accepting states: the configurations in which some role waits for ever and
/// is not in an accepting state, or has or gets a message, or is on a cycle of roles that wait for each other for ever.
#[must_use]
pub fn progress_or_may_wait(system: &System, ts: &TransitionSystem) -> Vec<usize> {
    violating(ts, |s| {
        let stuck = |p: Role| {
            local(system, &ts.states[s], p).0 == Kind::Receiving
                && !can_fire(ts, s, |act| act.role == p, |_| true)
        };
        let cycle = |p: Role| {
            let mut reached: BTreeSet<Role> = BTreeSet::from([p]);
            loop {
                let peers = reached.iter().flat_map(|&q| local(system, &ts.states[s], q).1);
                let peers: BTreeSet<Role> = peers.map(|act| act.peer).collect();
                if peers.contains(&p) {
                    return true;
                }
                let before = reached.len();
                reached.extend(peers.into_iter().filter(|&q| stuck(q)));
                if reached.len() == before {
                    return false;
                }
            }
        };
        system.roles().filter(|&p| stuck(p)).all(|p| {
            system.machine(p).is_accepting(ts.states[s].locals[p.index()])
                && ts.states[s].channels.keys().all(|&(_, q)| q != p)
                && !can_fire(ts, s, |act| act.action == Action::Send && act.peer == p, |_| true)
                && !cycle(p)
        })
    })
}

/// Definition 5 within the bound: the configurations from which no stable configuration can be reached.
#[must_use]
pub fn stable(ts: &TransitionSystem) -> Vec<usize> {
    violating(ts, |s| {
        let mut seen = BTreeSet::from([s]);
        let mut agenda = vec![s];
        while let Some(t) = agenda.pop() {
            if ts.states[t].is_stable() {
                return true;
            }
            agenda.extend(ts.edges[t].iter().map(|(_, u)| *u).filter(|u| seen.insert(*u)));
        }
        false
    })
}

fn violating(ts: &TransitionSystem, mut holds: impl FnMut(usize) -> bool) -> Vec<usize> {
    (0..ts.states.len()).filter(|&s| !holds(s)).collect()
}
