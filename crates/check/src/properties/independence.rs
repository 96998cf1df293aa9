//! Bound independence: reduced k-OBI (CAV'19, Definitions 6 and 17) and k-SIBI (12 and 18).

use crate::graph::Graph;
use crate::model::{Group, NEVER_SENT, StateKind};
use crate::reach::{Components, StateSet};
use rustc_hash::FxHashMap;

/// Where a role can make some but not all of its sends.
pub(crate) fn output_independence(graph: &Graph<'_>) -> StateSet {
    let mut bad = StateSet::new(graph.states());
    if graph.model.locals.iter().all(|local| sends_to_one(graph, local.first..local.end)) {
        return bad;
    }
    for state in 0..graph.states() {
        if (0..graph.model.role_count()).any(|role| splits_sends(graph, graph.words(state), role)) {
            bad.insert(state);
        }
    }
    bad
}

/// Whether all sends among `moves` use one channel, so that a bound allows all of them or none.
fn sends_to_one(graph: &Graph<'_>, moves: std::ops::Range<u32>) -> bool {
    let mut channels =
        moves.map(|number| &graph.model.moves[number as usize]).filter(|m| m.sends).map(|m| m.channel);
    match channels.next() {
        Some(first) => channels.all(|channel| channel == first),
        None => true,
    }
}

/// Whether `role` can make some but not all of its sends at `words`.
pub(crate) fn splits_sends(graph: &Graph<'_>, words: &[u64], role: usize) -> bool {
    let mut sends = graph
        .model
        .groups_of(role, graph.layout.local(words, role))
        .iter()
        .filter(|group| group.sends)
        .map(|group| graph.layout.has_room(words, group.channel));
    match sends.next() {
        Some(first) => sends.any(|enabled| enabled != first),
        None => false,
    }
}

/// For each reception, the other receptions of its state that are from other senders and can be sent at all.
pub(crate) fn races(graph: &Graph<'_>) -> Vec<Vec<u32>> {
    let model = graph.model;
    let mut rivals = vec![Vec::new(); model.moves.len()];
    for local in model.locals.iter().filter(|local| local.kind != StateKind::Sending) {
        for first in local.first..local.end {
            let step = &model.moves[first as usize];
            if step.sends {
                continue;
            }
            rivals[first as usize] = (local.first..local.end)
                .filter(|&second| {
                    let other = &model.moves[second as usize];
                    !other.sends && other.channel != step.channel && other.symbol != NEVER_SENT
                })
                .collect();
        }
    }
    rivals
}

/// The edges of `state` that fire `label`'s rivals or precede a send that `label`'s rivals wait for.
pub(crate) fn strong_input(graph: &Graph<'_>, components: &Components) -> StateSet {
    let model = graph.model;
    let rivals = races(graph);
    let mut bad = StateSet::new(graph.states());
    // The messages somebody races for, numbered.
    let mut number: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    for &rival in rivals.iter().flatten() {
        let step = &model.moves[rival as usize];
        let next = number.len();
        number.entry((step.channel, step.symbol)).or_insert(next);
    }
    let total = number.len();
    for first in (0..total.max(1)).step_by(64) {
        let bit = |step: &crate::model::Move| match number.get(&(step.channel, step.symbol)) {
            Some(&n) if (first..first + 64).contains(&n) => 1_u64 << (n - first),
            _ => 0,
        };
        let sent: Vec<u64> = model.moves.iter().map(|step| if step.sends { bit(step) } else { 0 }).collect();
        let feared: Vec<u64> = rivals
            .iter()
            .map(|rivals| rivals.iter().fold(0, |mask, &rival| mask | bit(&model.moves[rival as usize])))
            .collect();
        if feared.iter().all(|&mask| mask == 0) {
            continue;
        }
        let masks = components.eventually_fired(graph, &sent);
        for state in 0..graph.states() {
            for (label, target) in graph.edges(state) {
                let later = masks[components.of(target)] & feared[label as usize];
                if later != 0 || fires_rival(graph, state, &rivals[label as usize]) {
                    bad.insert(state);
                }
            }
        }
    }
    bad
}

/// Whether some role can receive from two channels at some explored configuration, fired there or not. Neither the
/// definitions on a reduced graph nor the paper's tool ask this; a graph without such a configuration needs no trust
/// in how its sets were chosen.
pub(crate) fn has_race(graph: &Graph<'_>) -> bool {
    let receives = |words: &[u64], role: usize| {
        let groups = graph.model.groups_of(role, graph.layout.local(words, role)).iter();
        let enabled = |group: &&Group| !graph.layout.enabled(words, graph.model, group).is_empty();
        groups.filter(|group| !group.sends).filter(enabled).count()
    };
    (0..graph.states()).any(|state| {
        let words = graph.words(state);
        (0..graph.model.role_count()).any(|role| receives(words, role) > 1)
    })
}

/// Whether one of `rivals` is fired at `state` as well.
pub(crate) fn fires_rival(graph: &Graph<'_>, state: u32, rivals: &[u32]) -> bool {
    !rivals.is_empty() && graph.edges(state).any(|(label, _)| rivals.contains(&label))
}
