//! Loops that fill a channel for ever: why no bound holds all of an infinite system.
//!
//! Forget what is in channel c. A cycle of steps none of which receives from c, and one of which sends on it, can be
//! taken again and again whatever c holds: each time c grows. If besides nobody reads c before its sender moves, the
//! sender stands before a full channel under every bound, and no bound is exhaustive either. The argument is in
//! `docs/checking.md`, "Growth".

use referee_theory::Role;
use rustc_hash::FxHashMap;

use crate::examine::blocked_send;
use crate::graph::Graph;
use crate::reach::components_of;
use crate::saturate::Saturation;
use crate::witness::{Step, steps_of};

/// A loop that can be repeated for ever and fills a channel each time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Who sends; `None` for a mailbox shared by several.
    pub from: Option<Role>,
    /// Who does not read.
    pub to: Role,
    /// The steps to where the loop begins.
    pub approach: Vec<Step>,
    /// The loop.
    pub cycle: Vec<Step>,
    /// Whether nobody can read that channel before its sender moves: then no bound is exhaustive.
    pub unread: bool,
    /// Whether no bound shows that the system is safe: it is unread, or only a bound that leaves room for everything could.
    pub no_bound_suffices: bool,
    /// The above in words.
    pub explanation: String,
}

/// A loop that fills one of the channels that are full somewhere in `graph`, which is all of TS_k.
pub(crate) fn growth(graph: &Graph<'_>) -> Option<Growth> {
    let mut channels = Vec::new();
    for state in 0..graph.states() {
        if let Some((_, channel)) = blocked_send(graph, state)
            && !channels.contains(&channel)
        {
            channels.push(channel);
        }
    }
    let mut found = None;
    for channel in channels {
        let Some(growth) = grows(graph, channel) else { continue };
        if growth.unread {
            return Some(growth);
        }
        found = found.or(Some(growth));
    }
    found
}

/// The configurations of a graph without what is in one channel, and the steps that do not take from it.
struct Forgetful {
    /// The class of each configuration.
    class: Vec<u32>,
    /// One member of each class.
    member: Vec<u32>,
    offsets: Vec<usize>,
    /// (label, class).
    edges: Vec<(u32, u32)>,
}

impl Forgetful {
    fn new(graph: &Graph<'_>, channel: u32) -> Self {
        let mut classes: FxHashMap<Vec<u64>, u32> = FxHashMap::default();
        let (mut class, mut member) = (Vec::new(), Vec::new());
        for state in 0..graph.states() {
            let mut words = graph.words(state).to_vec();
            graph.layout.clear(&mut words, channel as usize);
            let next = member.len() as u32;
            let number = *classes.entry(words).or_insert_with(|| {
                member.push(state);
                next
            });
            class.push(number);
        }
        let keeps = |label: u32| {
            let step = &graph.model.moves[label as usize];
            step.sends || step.channel != channel
        };
        let mut all: Vec<(u32, u32, u32)> = Vec::new();
        for state in 0..graph.states() {
            let kept = graph.edges(state).filter(|&(label, _)| keeps(label));
            all.extend(kept.map(|(label, target)| (class[state as usize], label, class[target as usize])));
        }
        all.sort_unstable();
        all.dedup();
        let mut offsets = vec![0; member.len() + 1];
        all.iter().for_each(|&(source, ..)| offsets[source as usize + 1] += 1);
        (0..member.len()).for_each(|at| offsets[at + 1] += offsets[at]);
        let edges = all.into_iter().map(|(_, label, target)| (label, target)).collect();
        Self { class, member, offsets, edges }
    }

    fn row(&self, class: u32) -> std::ops::Range<usize> {
        self.offsets[class as usize]..self.offsets[class as usize + 1]
    }

    /// A shortest path from `from` to `to`, as labels.
    fn path(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let mut before = vec![None; self.member.len()];
        let mut order = vec![from];
        let mut next = 0;
        while let Some(&class) = order.get(next) {
            next += 1;
            if class == to {
                break;
            }
            for &(label, target) in &self.edges[self.row(class)] {
                if target != from && before[target as usize].is_none() {
                    before[target as usize] = Some((class, label));
                    order.push(target);
                }
            }
        }
        let mut labels = Vec::new();
        let mut at = to;
        while at != from {
            let (source, label) = before[at as usize]?;
            labels.push(label);
            at = source;
        }
        labels.reverse();
        Some(labels)
    }
}

fn grows(graph: &Graph<'_>, channel: u32) -> Option<Growth> {
    let model = graph.model;
    let forgetful = Forgetful::new(graph, channel);
    let component = components_of(
        forgetful.member.len() as u32,
        |class| forgetful.row(class),
        |edge| forgetful.edges[edge].1,
    );
    let pumps = |class: u32| {
        forgetful.edges[forgetful.row(class)].iter().find(|&&(label, target)| {
            let step = &model.moves[label as usize];
            step.sends && step.channel == channel && component[class as usize] == component[target as usize]
        })
    };
    let (approach, state) = graph.shortest(|state| pumps(forgetful.class[state as usize]).is_some())?;
    let class = forgetful.class[state as usize];
    let &(label, target) = pumps(class)?;
    let mut cycle = vec![label];
    cycle.extend(forgetful.path(target, class)?);
    let send = &model.moves[label as usize];
    let queue = &model.channels[channel as usize];
    let unread =
        !Saturation::without(model, &graph.layout, &graph.words(state), send.role as usize, channel).reads;
    let vocabulary = model.system().vocabulary();
    let (from, to) = (vocabulary.role_name(Role(send.role as u16)), vocabulary.role_name(queue.to));
    let message = vocabulary.shown_label(send.message);
    let explanation = if unread {
        format!("`{from}` can send `{message}` for ever while `{to}` never reads: no bound suffices")
    } else {
        format!(
            "`{from}` can send `{message}` to `{to}` for ever before `{to}` reads it: no bound leaves room for all of it"
        )
    };
    Some(Growth {
        from: queue.from,
        to: queue.to,
        approach: steps_of(model, &approach),
        cycle: steps_of(model, &cycle),
        unread,
        no_bound_suffices: unread,
        explanation,
    })
}
