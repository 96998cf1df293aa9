//! k-exhaustivity (CAV'19, Definitions 9 and 20).
//!
//! Along a path on which p does not move its local state is constant, and all its sends to one channel are
//! enabled or not together. So for each channel pq one question decides all sends on it: can an edge that
//! sends on pq be reached without moving p? Sixty-four channels are propagated backwards at a time; each
//! configuration gains each channel once.

use crate::graph::Graph;
use crate::model::{Local, narrow};
use crate::packed::Packed;
use crate::reach::{Reverse, StateSet};

/// How many sweeps over what is undecided are worth it before edges are turned round.
const SWEEPS: usize = 16;

/// Bytes per configuration: what is known of sixty-four channels, and a few sets.
pub(crate) const PER_STATE: usize = 9;

/// Where some send can never be fired within the bound before its role moves; `None` if that needs more than `room`
/// bytes.
pub(crate) fn exhaustivity(graph: &Graph<'_>, room: usize) -> Option<StateSet> {
    let needed = graph.states() as usize * PER_STATE;
    if needed > room {
        return None;
    }
    let mut bad = StateSet::new(graph.states());
    for first in (0..graph.model.channels.len()).step_by(64) {
        let channels = first..graph.model.channels.len().min(first + 64);
        let sent = sends(graph, channels.clone());
        let senders = senders(graph, channels.clone());
        let wanted = wanted(graph, &sent);
        // At most sixty-four roles send on so many channels.
        let offsets = &graph.model.offsets;
        let own = |role: usize| offsets[role] as usize..offsets[role + 1] as usize;
        let sends = |role: &usize| wanted[own(*role)].iter().any(|mask| *mask != 0);
        let roles: Vec<usize> = (0..graph.model.role_count()).filter(sends).collect();
        let lacks = |known: u64, state: u32| {
            let words = &graph.words(state);
            let wanted = roles.iter().fold(0, |mask, &role| {
                mask | wanted[(graph.model.offsets[role] + graph.layout.local(words, role)) as usize]
            });
            wanted & !known != 0
        };
        let mut good = Packed::new(narrow(channels.len()));
        let mut open = StateSet::new(graph.states());
        for state in 0..graph.states() {
            let known = graph.row(state).fold(0, |mask, edge| mask | sent[graph.label(edge) as usize]);
            good.push(known);
            if lacks(known, state) {
                open.insert(state);
            }
        }
        let mut changed = true;
        for _ in 0..SWEEPS {
            changed = sweep(graph, &senders, &open, &mut good);
            open.retain(|state| lacks(good.get(state as usize), state));
            if !changed || open.is_empty() {
                break;
            }
        }
        if changed && !open.is_empty() {
            if needed + Reverse::needs(graph) > room {
                return None;
            }
            propagate(graph, &Reverse::new(graph), &senders, &mut good);
            open.retain(|state| lacks(good.get(state as usize), state));
        }
        bad.extend(&open);
    }
    Some(bad)
}

/// One step backwards for each configuration of `open`, later ones first. A configuration with a channel
/// that is good has a role that wants it, and has had it since that role last moved: so only configurations
/// that lack something can gain anything.
fn sweep(graph: &Graph<'_>, senders: &[u64], open: &StateSet, good: &mut Packed) -> bool {
    let mut changed = false;
    for state in open.descending() {
        let known = good.get(state as usize);
        let gained = graph
            .edges(state)
            .fold(0, |mask, (label, target)| mask | (good.get(target as usize) & !senders[label as usize]));
        changed |= gained & !known != 0;
        good.set(state as usize, known | gained);
    }
    changed
}

/// For each local state, the channels on which its role stands ready to send.
fn wanted(graph: &Graph<'_>, sent: &[u64]) -> Vec<u64> {
    let mask = |local: &Local| sent[local.first as usize..local.end as usize].iter().fold(0, |a, b| a | b);
    graph.model.locals.iter().map(mask).collect()
}

/// For each move, the bit of the channel it sends on.
fn sends(graph: &Graph<'_>, channels: std::ops::Range<usize>) -> Vec<u64> {
    graph
        .model
        .moves
        .iter()
        .map(|step| {
            let channel = step.channel as usize;
            if step.sends && channels.contains(&channel) { 1 << (channel - channels.start) } else { 0 }
        })
        .collect()
}

/// For each move, the bits of the channels whose sender is the role that moves.
fn senders(graph: &Graph<'_>, channels: std::ops::Range<usize>) -> Vec<u64> {
    let mut by_role = vec![0_u64; graph.model.role_count()];
    for channel in channels.clone() {
        for (sender, _) in &graph.model.channels[channel].symbols {
            by_role[sender.index()] |= 1 << (channel - channels.start);
        }
    }
    graph.model.moves.iter().map(|step| by_role[step.role as usize]).collect()
}

/// `good[s]` gains what `good[t]` has for every edge s → t, except the channels of the role that moves.
fn propagate(graph: &Graph<'_>, reverse: &Reverse, senders: &[u64], good: &mut Packed) {
    let mut agenda: Vec<u32> = (0..graph.states()).filter(|&state| good.get(state as usize) != 0).collect();
    let mut waiting = StateSet::new(graph.states());
    for &state in &agenda {
        waiting.insert(state);
    }
    while let Some(state) = agenda.pop() {
        waiting.remove(state);
        let offered = good.get(state as usize);
        for &source in reverse.sources(state) {
            let known = good.get(source as usize);
            if offered & !known == 0 {
                continue;
            }
            // Which move leads here is found in the source's own row, which is short.
            let mut gained = 0;
            for (label, target) in graph.edges(source) {
                if target == state {
                    gained |= offered & !senders[label as usize];
                }
            }
            if gained & !known != 0 {
                good.set(source as usize, known | gained);
                if waiting.insert(source) {
                    agenda.push(source);
                }
            }
        }
    }
}
