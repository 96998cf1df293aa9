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
        let words = &graph.words(state);
        if (0..graph.model.role_count()).any(|role| splits_sends(graph, words, role)) {
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

/// For each reception, the other receptions of its state that are from other senders and can be sent at all: its
/// *rivals*. Receptions of one state from one channel have the same ones.
#[derive(Debug)]
pub(crate) struct Races {
    /// By move: the number of its list.
    list: Vec<u32>,
    /// The first is empty.
    lists: Vec<Vec<u32>>,
}

impl Races {
    pub(crate) fn of(&self, label: u32) -> &[u32] {
        &self.lists[self.list[label as usize] as usize]
    }
}

pub(crate) fn races(graph: &Graph<'_>) -> Races {
    let moves = &graph.model.moves;
    let mut races = Races { list: vec![0; moves.len()], lists: vec![Vec::new()] };
    let mut channels = Vec::new();
    for local in graph.model.locals.iter().filter(|local| local.kind != StateKind::Sending) {
        let receptions = || (local.first..local.end).filter(|&number| !moves[number as usize].sends);
        channels.clear();
        channels.extend(receptions().map(|number| moves[number as usize].channel));
        channels.sort_unstable();
        channels.dedup();
        if channels.len() < 2 {
            continue;
        }
        let first = races.lists.len();
        for channel in &channels {
            let rival = |&number: &u32| {
                let step = &moves[number as usize];
                step.channel != *channel && step.symbol != NEVER_SENT
            };
            races.lists.push(receptions().filter(rival).collect());
        }
        for number in receptions() {
            let channel = channels.partition_point(|channel| *channel < moves[number as usize].channel);
            races.list[number as usize] = u32::try_from(first + channel).unwrap_or(u32::MAX);
        }
    }
    races
}

/// Where a role receives, and a rival of that reception is fired as well, or can be sent later.
pub(crate) fn strong_input(graph: &Graph<'_>, components: &Components) -> StateSet {
    let model = graph.model;
    let rivals = races(graph);
    let mut bad = StateSet::new(graph.states());
    // The messages somebody races for, numbered.
    let mut number: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    for &rival in rivals.lists.iter().flatten() {
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
            .lists
            .iter()
            .map(|rivals| rivals.iter().fold(0, |mask, &rival| mask | bit(&model.moves[rival as usize])))
            .collect();
        if feared.iter().all(|&mask| mask == 0) {
            continue;
        }
        let masks = components.eventually_fired(graph, &sent);
        for state in 0..graph.states() {
            for (label, target) in graph.edges(state) {
                let later = masks[components.of(target)] & feared[rivals.list[label as usize] as usize];
                if later != 0 {
                    bad.insert(state);
                }
            }
        }
    }
    if total > 0 {
        // By role: where it was last seen to receive, and from which channel.
        let mut last = vec![(u32::MAX, 0); model.role_count()];
        for state in 0..graph.states() {
            for (label, _) in graph.edges(state) {
                let step = &model.moves[label as usize];
                let (seen, channel) = last[step.role as usize];
                if !step.sends && seen == state && channel != step.channel {
                    bad.insert(state);
                } else if !step.sends {
                    last[step.role as usize] = (state, step.channel);
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
        let words = &graph.words(state);
        (0..graph.model.role_count()).any(|role| receives(words, role) > 1)
    })
}

/// Whether one of `rivals` is fired at `state` as well.
pub(crate) fn fires_rival(graph: &Graph<'_>, state: u32, rivals: &[u32]) -> bool {
    !rivals.is_empty() && graph.edges(state).any(|(label, _)| rivals.contains(&label))
}
