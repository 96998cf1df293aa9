//! k-safety (CAV'19, Definitions 4 and 19) and the stable property (Definition 5).
//!
//! The head of a channel changes only when its receiver takes it, so "this head can be received" is "some
//! reception from this channel can be reached". A role in a receiving state leaves it only by a reception,
//! so "it can make progress" is "some move of this role can be reached". The same is asked of roles that send: see
//! [`Safety::silent`].

use crate::graph::Graph;
use crate::model::{Move, StateKind};
use crate::reach::{Components, StateSet};

/// Where k-safety fails, and what else is seen on the way.
#[derive(Debug)]
pub(crate) struct Safety {
    /// Some channel's head can never be received.
    pub(crate) reception: StateSet,
    /// Some role waits for a message and can never receive one.
    pub(crate) progress: StateSet,
    /// Some role that only sends never moves again. Where k-OBI holds, nothing else violates k-exhaustivity: at its
    /// next move all its sends are possible, and it is in the same state until then.
    pub(crate) silent: StateSet,
}

/// Asks k-safety.
pub(crate) fn safety(graph: &Graph<'_>, components: &Components) -> Safety {
    let mut reception = StateSet::new(graph.states());
    let mut progress = StateSet::new(graph.states());
    let mut silent = StateSet::new(graph.states());
    // One bit per channel, then one per role, sixty-four at a time.
    let channels = graph.model.channels.len();
    let all = channels + graph.model.role_count();
    for first in (0..all).step_by(64) {
        let numbers = first..all.min(first + 64);
        let masks = components.eventually_fired(graph, &moving(graph, &numbers));
        let all_bits = u64::MAX >> (64 - numbers.len());
        if masks.iter().all(|mask| mask & all_bits == all_bits) {
            continue;
        }
        for state in 0..graph.states() {
            let mut missing = !masks[components.of(state)] & all_bits;
            if missing == 0 {
                continue;
            }
            let words = &graph.words(state);
            while missing != 0 {
                let number = first + missing.trailing_zeros() as usize;
                missing &= missing - 1;
                if number < channels {
                    if graph.layout.length(words, number) > 0 {
                        reception.insert(state);
                    }
                } else {
                    let role = number - channels;
                    match graph.model.local(role, graph.layout.local(words, role)).kind {
                        StateKind::Receiving => _ = progress.insert(state),
                        StateKind::Sending => _ = silent.insert(state),
                        StateKind::Final | StateKind::Mixed => {}
                    }
                }
            }
        }
    }
    if !progress.is_empty() && graph.model.locals.iter().any(|local| local.accepting) {
        progress = excused(graph, components, &progress);
    }
    Safety { reception, progress, silent }
}

/// Of `progress`, the configurations in which some role waits for ever that must not: in its state it may if its channels
/// are empty and stay so, and if it is on no cycle of roles that wait for each other (`docs/checking.md`, "Where waiting
/// is fine").
fn excused(graph: &Graph<'_>, components: &Components, progress: &StateSet) -> StateSet {
    let model = graph.model;
    let roles = model.role_count();
    // Sixty-four roles at a time: who receives something later, and who is sent something later.
    let later = |bits: &dyn Fn(&Move) -> Option<usize>| -> Vec<Vec<u64>> {
        let chunk = |first: usize| {
            let bit = |step: &Move| match bits(step) {
                Some(role) if (first..first + 64).contains(&role) => 1 << (role - first),
                _ => 0,
            };
            let by_label: Vec<u64> = model.moves.iter().map(bit).collect();
            components.eventually_fired(graph, &by_label)
        };
        (0..roles).step_by(64).map(chunk).collect()
    };
    let receives = later(&|step| (!step.sends).then_some(step.role as usize));
    let is_sent = later(&|step| step.sends.then_some(step.peer.index()));
    let has = |masks: &[Vec<u64>], state: u32, role: usize| {
        masks[role / 64][components.of(state)] >> (role % 64) & 1 == 1
    };
    let mut bad = StateSet::new(graph.states());
    for state in (0..graph.states()).filter(|&state| progress.contains(state)) {
        let words = &graph.words(state);
        let local = |role: usize| model.local(role, graph.layout.local(words, role));
        let stuck = |role: usize| local(role).kind == StateKind::Receiving && !has(&receives, state, role);
        let empty = |role: usize| {
            let own = |channel: &usize| model.channels[*channel].to.index() == role;
            (0..model.channels.len()).filter(own).all(|channel| graph.layout.length(words, channel) == 0)
        };
        let peers = |role: usize| {
            let moves = model.moves_of(role, graph.layout.local(words, role));
            moves.iter().map(|step| step.peer.index()).collect::<Vec<_>>()
        };
        let must_not = |role: &usize| {
            !local(*role).accepting
                || !empty(*role)
                || has(&is_sent, state, *role)
                || on_cycle(*role, roles, &stuck, &peers)
        };
        if (0..roles).filter(|&role| stuck(role)).any(|role| must_not(&role)) {
            bad.insert(state);
        }
    }
    bad
}

/// Whether `role` waits, over roles that wait for ever, for itself.
pub(crate) fn on_cycle(
    role: usize,
    roles: usize,
    stuck: &dyn Fn(usize) -> bool,
    peers: &dyn Fn(usize) -> Vec<usize>,
) -> bool {
    let mut seen = vec![false; roles];
    let mut agenda = vec![role];
    while let Some(at) = agenda.pop() {
        for peer in peers(at) {
            if peer == role {
                return true;
            }
            if stuck(peer) && !std::mem::replace(&mut seen[peer], true) {
                agenda.push(peer);
            }
        }
    }
    false
}

/// Where the channels can never all be emptied.
pub(crate) fn stability(graph: &Graph<'_>, components: &Components) -> StateSet {
    let masks = components.eventually(graph, |state| u64::from(graph.layout.is_stable(&graph.words(state))));
    let mut bad = StateSet::new(graph.states());
    for state in 0..graph.states() {
        if masks[components.of(state)] == 0 {
            bad.insert(state);
        }
    }
    bad
}

/// For each move, the bits of the channel it receives from and of the role that moves.
fn moving(graph: &Graph<'_>, numbers: &std::ops::Range<usize>) -> Vec<u64> {
    let bit = |number: usize| if numbers.contains(&number) { 1_u64 << (number - numbers.start) } else { 0 };
    let channels = graph.model.channels.len();
    let received = |step: &Move| if step.sends { 0 } else { bit(step.channel as usize) };
    graph.model.moves.iter().map(|step| received(step) | bit(channels + step.role as usize)).collect()
}
