//! Whether the residuals of a property can grow without bound.
//!
//! What is left of a formula after some events is a set of modalities, each with the values of its live variables.
//! There are finitely many modalities, so the set grows without bound only through values: a loop binds a variable
//! anew again and again, while what it bound before is kept alive elsewhere. That is so if some stream takes
//! two threads of the formula round two loops at once, the first past a place that leads to a modality that binds
//! a variable, the second past modalities at which that variable stays live.
//!
//! The threads are followed in pairs, step by step, with the values of variables left out of account: two patterns are
//! taken to match a common event unless their constants, and what guards say of these, exclude it. So a growth that is reported
//! may be impossible, but one that is possible is reported.

use rustc_hash::FxHashMap;

use super::event::EventKind;
use super::live::LiveSlots;
use super::pattern::{EventPattern, Pattern};
use super::verdict::{Judged, Rule};
use super::{FormulaId, Property, Slot, Value};

/// After so many steps of pairs the search is given up, and growth is taken to be possible.
const MOST_STEPS: usize = 4_000_000;

/// A way for residuals to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The variable whose values pile up.
    pub slot: Slot,
    /// The modality that binds it, again and again.
    pub binder: FormulaId,
    /// A modality that keeps its old values alive meanwhile.
    pub kept: FormulaId,
}

/// One thread of a formula: the modalities, and where each leads.
struct Threads<'a> {
    judged: Judged<'a>,
    /// The modalities that can be reached, by number.
    nodes: Vec<FormulaId>,
    /// What each of them waits for.
    patterns: Vec<&'a EventPattern>,
    /// For each of them, those that wait for the next event after it.
    next: Vec<Vec<usize>>,
    /// Pairs of those that wait for the first event.
    start: Vec<(usize, usize)>,
}

impl Growth {
    /// The first way in which the residuals of `property` can grow; `None` if they cannot.
    #[must_use]
    pub fn of(property: &Property) -> Option<Self> {
        if property.slots().is_empty() {
            return None;
        }
        let threads = Threads::of(property.judged()?);
        let live = LiveSlots::of(property);
        let live: Vec<Vec<Slot>> = threads.nodes.iter().map(|node| live.at(*node).collect()).collect();
        let turning = turning(&threads.next);
        let mut steps = 0;
        let together = threads.together(threads.start.clone(), &|_, _| true, &mut steps)?;
        for binder in 0..threads.nodes.len() {
            for slot in threads.patterns[binder].binds() {
                let is_live = |thread: usize| live[thread].binary_search(&slot).is_ok();
                // Only where a loop keeps the variable can its values pile up.
                if !(0..turning.len()).any(|thread| turning[thread] && is_live(thread)) {
                    continue;
                }
                if let Some(kept) = threads.kept(binder, slot, &is_live, &together, &mut steps) {
                    return Some(Self { slot, binder: threads.nodes[binder], kept: threads.nodes[kept] });
                }
            }
        }
        None
    }
}

impl<'a> Threads<'a> {
    fn of(judged: Judged<'a>) -> Self {
        let mut threads =
            Self { judged, nodes: Vec::new(), patterns: Vec::new(), next: Vec::new(), start: Vec::new() };
        let mut numbers: FxHashMap<FormulaId, usize> = FxHashMap::default();
        let first = threads.waiting(judged.property().root(), &mut numbers);
        threads.start = first.iter().flat_map(|left| first.iter().map(|right| (*left, *right))).collect();
        while let Some(node) = threads.nodes.get(threads.next.len()) {
            let Rule::After { next, .. } = judged.node(*node) else { break };
            let next = threads.waiting(next, &mut numbers);
            threads.next.push(next);
        }
        threads
    }

    /// The modalities that wait for an event at `node`, numbered.
    fn waiting(&mut self, node: FormulaId, numbers: &mut FxHashMap<FormulaId, usize>) -> Vec<usize> {
        let mut found = Vec::new();
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            let node = self.judged.property().unfold(node);
            match self.judged.node(node) {
                // What waits for a time ends with it.
                Rule::Never | Rule::Now | Rule::Timed { .. } => {}
                Rule::Any(parts) | Rule::All(parts) => pending.extend(parts),
                Rule::After { pattern, .. } => {
                    let number = *numbers.entry(node).or_insert_with(|| {
                        self.nodes.push(node);
                        self.patterns.push(pattern);
                        self.nodes.len() - 1
                    });
                    found.push(number);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The pairs of threads that can be reached from `start` together, as long as `stays` holds of where the second
    /// comes from and goes to. After too many steps: nothing.
    fn together(
        &self,
        start: Vec<(usize, usize)>,
        stays: &dyn Fn(usize, usize) -> bool,
        steps: &mut usize,
    ) -> Option<Pairs> {
        let mut pairs = Pairs::default();
        for pair in start {
            pairs.number(pair);
        }
        while let Some(&(first, second)) = pairs.all.get(pairs.next.len()) {
            let mut next = Vec::new();
            if overlap(self.patterns[first], self.patterns[second]) {
                for &after_second in &self.next[second] {
                    if !stays(second, after_second) {
                        continue;
                    }
                    *steps += self.next[first].len();
                    if *steps > MOST_STEPS {
                        return None;
                    }
                    next.extend(self.next[first].iter().map(|first| pairs.number((*first, after_second))));
                }
            }
            pairs.next.push(next);
        }
        Some(pairs)
    }

    /// A modality at which old values of `slot` stay alive while `binder` is passed again and again.
    fn kept(
        &self,
        binder: usize,
        slot: Slot,
        is_live: &dyn Fn(usize) -> bool,
        together: &Pairs,
        steps: &mut usize,
    ) -> Option<usize> {
        // Whoever was waiting beside the binder, and what comes after the binder with the value just bound.
        let beside = together.all.iter().filter(|(first, second)| {
            *second == binder && overlap(self.patterns[*first], self.patterns[binder])
        });
        let mut start = Vec::new();
        for (first, _) in beside {
            for after in self.next[binder].iter().filter(|after| is_live(**after)) {
                start.extend(self.next[*first].iter().map(|first| (*first, *after)));
            }
        }
        let stays = |from: usize, to: usize| !self.patterns[from].binds().contains(&slot) && is_live(to);
        let Some(pairs) = self.together(start, &stays, steps) else { return Some(binder) };
        // A loop of both, from which the binder is reached again while the second keeps its value.
        let turning = turning(&pairs.next);
        let mut reaches: Vec<bool> = pairs.all.iter().map(|(first, _)| *first == binder).collect();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); pairs.all.len()];
        for (pair, next) in pairs.next.iter().enumerate() {
            next.iter().for_each(|next| before[*next].push(pair));
        }
        let mut pending: Vec<usize> = (0..reaches.len()).filter(|pair| reaches[*pair]).collect();
        while let Some(pair) = pending.pop() {
            for &earlier in &before[pair] {
                if !std::mem::replace(&mut reaches[earlier], true) {
                    pending.push(earlier);
                }
            }
        }
        (0..reaches.len()).find(|&pair| reaches[pair] && turning[pair]).map(|pair| pairs.all[pair].1)
    }
}

/// Pairs of threads, numbered as they are found, and where each leads.
#[derive(Default)]
struct Pairs {
    numbers: FxHashMap<(usize, usize), usize>,
    all: Vec<(usize, usize)>,
    next: Vec<Vec<usize>>,
}

impl Pairs {
    fn number(&mut self, pair: (usize, usize)) -> usize {
        *self.numbers.entry(pair).or_insert_with(|| {
            self.all.push(pair);
            self.all.len() - 1
        })
    }
}

/// Which nodes lie on a cycle.
fn turning(edges: &[Vec<usize>]) -> Vec<bool> {
    let components = components(edges);
    let mut sizes = vec![0usize; components.iter().max().map_or(0, |last| last + 1)];
    components.iter().for_each(|component| sizes[*component] += 1);
    (0..edges.len()).map(|node| sizes[components[node]] > 1 || edges[node].contains(&node)).collect()
}

/// The strongly connected component of each node (Tarjan, without recursion).
fn components(edges: &[Vec<usize>]) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let mut index = vec![NEW; edges.len()];
    let mut low = vec![0; edges.len()];
    let mut component = vec![NEW; edges.len()];
    let (mut counter, mut count) = (0, 0);
    let mut open = Vec::new();
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..edges.len() {
        if index[start] != NEW {
            continue;
        }
        path.push((start, 0));
        while let Some(&mut (node, ref mut next)) = path.last_mut() {
            if *next == 0 && index[node] == NEW {
                index[node] = counter;
                low[node] = counter;
                counter += 1;
                open.push(node);
            }
            if let Some(&target) = edges[node].get(*next) {
                *next += 1;
                if index[target] == NEW {
                    path.push((target, 0));
                } else if component[target] == NEW {
                    low[node] = low[node].min(index[target]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == index[node] {
                while let Some(member) = open.pop() {
                    component[member] = count;
                    if member == node {
                        break;
                    }
                }
                count += 1;
            }
        }
    }
    component
}

/// Whether some event might match both, as far as constants and shapes say.
#[must_use]
pub(super) fn overlap(left: &EventPattern, right: &EventPattern) -> bool {
    let kinds = |left: Option<EventKind>, right: Option<EventKind>| match (left, right) {
        (Some(left), Some(right)) => left == right,
        _ => true,
    };
    kinds(left.kind, right.kind)
        && compatible(&left.subject, &right.subject)
        && compatible(&left.object, &right.object)
        && compatible(&left.label, &right.label)
        && compatible(&left.payload, &right.payload)
        && left.keys.iter().all(|(key, pattern)| {
            right.keys.iter().all(|(other, against)| key != other || compatible(pattern, against))
        })
        && !refuted(left, right)
        && !refuted(right, left)
}

/// Whether the guard of `guarded` is false of all events that match `other`, by the constants `other` has where `guarded`
/// has variables.
fn refuted(guarded: &EventPattern, other: &EventPattern) -> bool {
    let Some(guard) = &guarded.guard else { return false };
    let parts = [
        (&guarded.subject, &other.subject),
        (&guarded.object, &other.object),
        (&guarded.label, &other.label),
    ];
    let mut known: Vec<Option<Value>> = Vec::new();
    for part in parts {
        if let (Pattern::Bind(slot), Pattern::Literal(term)) = part {
            known.resize(known.len().max(slot.index() + 1), None);
            known[slot.index()] = Some(term.clone());
        }
    }
    guard.is_refuted(&known)
}

fn compatible(left: &Pattern, right: &Pattern) -> bool {
    match (left, right) {
        (Pattern::Literal(left), Pattern::Literal(right)) => left == right,
        (Pattern::Tuple(left), Pattern::Tuple(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| compatible(l, r))
        }
        (Pattern::List { front: left, tail: more }, Pattern::List { front: right, tail: others }) => {
            let lengths = left.len() == right.len()
                || (left.len() > right.len() && others.is_some())
                || (left.len() < right.len() && more.is_some());
            lengths && left.iter().zip(right).all(|(l, r)| compatible(l, r))
        }
        (Pattern::Record(left), Pattern::Record(right)) => left.iter().all(|(name, pattern)| {
            right.iter().all(|(other, against)| name != other || compatible(pattern, against))
        }),
        (
            Pattern::Fields { positions: left, open: more, .. },
            Pattern::Fields { positions: right, open: others, .. },
        ) => {
            let lengths = left.len() == right.len()
                || (left.len() > right.len() && *others)
                || (left.len() < right.len() && *more);
            lengths && left.iter().zip(right).all(|(l, r)| compatible(l, r))
        }
        (Pattern::Tuple(_), Pattern::List { .. } | Pattern::Record(_))
        | (Pattern::List { .. } | Pattern::Record(_), Pattern::Tuple(_))
        | (Pattern::List { .. }, Pattern::Record(_))
        | (Pattern::Record(_), Pattern::List { .. }) => false,
        _ => true,
    }
}
