//! Local bound-agnosticity (CAV'19, Section 3.2 and Theorem 3): does each role behave the same under k
//! and k + 1? Weak bisimilarity of its projections of TS_k and TS_{k+1}, by partition refinement.
//!
//! Silent steps are those of all other roles. Configurations on a silent cycle are weakly bisimilar, so
//! silent components are merged first; what can be reached silently, or by one visible step, then follows
//! in one sweep per round.

use referee_theory::Role;
use rustc_hash::FxHashMap;

use crate::examine::{Reduction, search};
use crate::explore::{Limits, Observer, Stop};
use crate::graph::Graph;
use crate::model::Model;

/// Whether each role behaves the same under `k` and `k + 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agnosticity {
    /// The smaller bound.
    pub k: u32,
    /// By role.
    pub roles: Vec<(Role, bool)>,
}

impl Agnosticity {
    /// Whether all do: then the system is k-exhaustive (Theorem 3.1).
    #[must_use]
    pub fn holds(&self) -> bool {
        self.roles.iter().all(|&(_, same)| same)
    }
}

pub(crate) fn agnosticity(
    model: &Model,
    k: u32,
    limits: Limits<'_>,
    observer: &mut dyn Observer,
) -> Result<Agnosticity, Stop> {
    let mut graphs = Vec::new();
    let mut limits = limits;
    for bound in [k, k + 1] {
        let explored = search(model, bound, None, Reduction::None, limits, observer);
        if let Some(stop) = explored.stopped {
            return Err(stop);
        }
        limits = limits.beside(explored.graph.memory());
        graphs.push(explored.graph);
    }
    let roles = (0..model.role_count())
        .map(|role| {
            let same = weakly_bisimilar(&graphs[0], &graphs[1], role as u32, limits)?;
            Ok((Role(role as u16), same))
        })
        .collect::<Result<_, Stop>>()?;
    Ok(Agnosticity { k, roles })
}

/// The silent components of both graphs together. Silent edges lead to smaller numbers.
struct Folded {
    silent: Vec<Vec<u32>>,
    visible: Vec<Vec<(u32, u32)>>,
    starts: [u32; 2],
}

fn weakly_bisimilar(
    left: &Graph<'_>,
    right: &Graph<'_>,
    role: u32,
    limits: Limits<'_>,
) -> Result<bool, Stop> {
    let folded = fold(left, right, role);
    let count = folded.silent.len();
    let mut block = vec![0_u32; count];
    let mut blocks = 1;
    loop {
        if limits.cancelled() {
            return Err(Stop::Cancelled);
        }
        let next = refine(&folded, &block, limits.memory / size_of::<u64>()).ok_or(Stop::Memory)?;
        let found = next.iter().copied().max().map_or(0, |most| most + 1);
        if next[folded.starts[0] as usize] != next[folded.starts[1] as usize] {
            return Ok(false);
        }
        if found == blocks {
            return Ok(true);
        }
        blocks = found;
        block = next;
    }
}

/// One round: components stay together if they reach the same blocks by the same weak steps. What each reaches can
/// be as much as all there are: `None` if that is more than `most` together.
fn refine(folded: &Folded, block: &[u32], most: usize) -> Option<Vec<u32>> {
    let count = block.len();
    let mut left = most;
    let mut silent: Vec<Vec<u32>> = Vec::with_capacity(count);
    for (&own, targets) in block.iter().zip(&folded.silent) {
        let mut reached = vec![own];
        for &target in targets {
            reached.extend_from_slice(&silent[target as usize]);
        }
        reached.sort_unstable();
        reached.dedup();
        left = left.checked_sub(reached.len())?;
        silent.push(reached);
    }
    let mut visible: Vec<Vec<(u32, u32)>> = Vec::with_capacity(count);
    for node in 0..count {
        let mut reached = Vec::new();
        for &(action, target) in &folded.visible[node] {
            reached.extend(silent[target as usize].iter().map(|&block| (action, block)));
        }
        for &target in &folded.silent[node] {
            reached.extend_from_slice(&visible[target as usize]);
        }
        reached.sort_unstable();
        reached.dedup();
        left = left.checked_sub(reached.len())?;
        visible.push(reached);
    }
    let mut number = FxHashMap::default();
    let numbered = silent.into_iter().zip(visible).map(|signature| {
        let next = number.len() as u32;
        *number.entry(signature).or_insert(next)
    });
    Some(numbered.collect())
}

fn fold(left: &Graph<'_>, right: &Graph<'_>, role: u32) -> Folded {
    let offset = left.states();
    let total = offset + right.states();
    let edges = |state: u32| -> Vec<(u32, u32)> {
        if state < offset {
            left.edges(state).collect()
        } else {
            right.edges(state - offset).map(|(label, target)| (label, target + offset)).collect()
        }
    };
    let moves = &left.model.moves;
    let is_silent = |label: u32| moves[label as usize].role != role;
    let of = silent_components(total, |state| {
        edges(state).into_iter().filter(|&(label, _)| is_silent(label)).map(|(_, target)| target).collect()
    });
    let count = of.iter().copied().max().map_or(0, |most| most as usize + 1);
    let mut silent = vec![Vec::new(); count];
    let mut visible = vec![Vec::new(); count];
    let mut actions = FxHashMap::default();
    for state in 0..total {
        let node = of[state as usize];
        for (label, target) in edges(state) {
            let target = of[target as usize];
            if is_silent(label) {
                if target != node {
                    silent[node as usize].push(target);
                }
            } else {
                let step = &moves[label as usize];
                let next = actions.len() as u32;
                let action = *actions.entry((step.sends, step.channel, step.symbol)).or_insert(next);
                visible[node as usize].push((action, target));
            }
        }
    }
    silent.iter_mut().for_each(|targets| {
        targets.sort_unstable();
        targets.dedup();
    });
    Folded { silent, visible, starts: [of[0], of[offset as usize]] }
}

/// Tarjan's components; successors get smaller or equal numbers.
fn silent_components(total: u32, successors: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    const OPEN: u32 = u32::MAX;
    let mut of = vec![OPEN; total as usize];
    let mut low = vec![0_u32; total as usize];
    let (mut counter, mut count) = (0, 0);
    let mut stack = Vec::new();
    let mut frames: Vec<(u32, Vec<u32>, u32)> = Vec::new();
    for start in 0..total {
        if low[start as usize] != 0 {
            continue;
        }
        frames.push((start, successors(start), 0));
        while let Some((state, pending, number)) = frames.last_mut() {
            let at = *state as usize;
            if *number == 0 {
                counter += 1;
                *number = counter;
                low[at] = counter;
                stack.push(*state);
            }
            if let Some(target) = pending.pop() {
                if low[target as usize] == 0 {
                    frames.push((target, successors(target), 0));
                } else if of[target as usize] == OPEN {
                    low[at] = low[at].min(low[target as usize]);
                }
                continue;
            }
            if low[at] == *number {
                while let Some(member) = stack.pop() {
                    of[member as usize] = count;
                    if member as usize == at {
                        break;
                    }
                }
                count += 1;
            }
            let done = low[at];
            frames.pop();
            if let Some((below, _, _)) = frames.last()
                && of[at] == OPEN
            {
                low[*below as usize] = low[*below as usize].min(done);
            }
        }
    }
    of
}
