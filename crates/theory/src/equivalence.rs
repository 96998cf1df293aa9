//! When two behaviours are the same: equality of session types up to unfolding and renaming, bisimilarity
//! of machines, and the smallest machine with a given behaviour.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::machine::{Action, Machine, MachineBuilder, State, Transition};
use crate::session::{Session, SessionBranch, SessionType, TermId};
use crate::vocabulary::{Message, Role, Vocabulary};

impl SessionType {
    /// Whether both types have the same infinite unfolding, whatever their recursion variables are called
    /// and in whatever order branches are listed. Both must share one vocabulary.
    ///
    /// Types must be deterministic (no two branches with the same action, peer and message); for others
    /// compare [`Machine::bisimilar`] machines.
    ///
    /// Pairs of terms are assumed equal while their parts are compared (coinduction); the assumptions are
    /// kept in a union-find, so that at most as many pairs are compared as there are nodes.
    #[must_use]
    pub fn same_behaviour(&self, other: &Self) -> bool {
        let offset = self.node_count();
        let mut classes = UnionFind::new(offset + other.node_count());
        let (lefts, rights) = (self.unfoldings(), other.unfoldings());
        let mut pending = vec![(self.root(), other.root())];
        while let Some((left, right)) = pending.pop() {
            let (left, right) = (lefts[left.index()], rights[right.index()]);
            if !classes.union(left.index(), offset + right.index()) {
                continue;
            }
            match (self.node(left), other.node(right)) {
                (Session::End, Session::End) => {}
                (Session::End, Session::Choice(none)) | (Session::Choice(none), Session::End)
                    if none.is_empty() => {}
                (Session::Choice(a), Session::Choice(b)) if a.len() == b.len() => {
                    let (a, b) = (self.sorted(a), self.sorted(b));
                    for (a, b) in a.into_iter().zip(b) {
                        if a.0 != b.0 {
                            return false;
                        }
                        pending.push((a.1, b.1));
                    }
                }
                _ => return false,
            }
        }
        true
    }

    fn sorted(&self, branches: &[SessionBranch]) -> Vec<((Action, Role, Message), TermId)> {
        let vocabulary = self.vocabulary();
        let key = |b: &SessionBranch| ((b.action, b.peer, vocabulary.signature(b.message)), b.next);
        let mut sorted: Vec<_> = branches.iter().map(key).collect();
        sorted.sort_unstable();
        sorted
    }
}

impl Machine {
    /// Whether both machines are (strongly) bisimilar. Both must share `vocabulary`.
    #[must_use]
    pub fn bisimilar(&self, other: &Self, vocabulary: &Vocabulary) -> bool {
        let graph = Graph::new(&[self, other], vocabulary);
        let blocks = graph.coarsest_partition();
        blocks[0] == blocks[self.state_count()]
    }

    /// The smallest machine that is bisimilar to this one, its states numbered anew.
    #[must_use]
    pub fn minimised(&self, vocabulary: &Vocabulary) -> Self {
        let blocks = Graph::new(&[self], vocabulary).coarsest_partition();
        let mut builder = MachineBuilder::new(self.role());
        let mut state_of_block: FxHashMap<u32, State> = FxHashMap::default();
        let mut representatives = Vec::new();
        for state in self.states() {
            state_of_block.entry(blocks[state.index()]).or_insert_with(|| {
                representatives.push(state);
                if self.has_state_names() {
                    builder.add_named_state(&self.state_name(state))
                } else {
                    builder.add_state()
                }
            });
        }
        for representative in representatives {
            let source = state_of_block[&blocks[representative.index()]];
            if self.is_accepting(representative) {
                builder.accept(source);
            }
            let mut seen = FxHashSet::default();
            for t in self.transitions(representative) {
                let target = state_of_block[&blocks[t.target.index()]];
                if seen.insert((t.action, t.peer, vocabulary.signature(t.message), target)) {
                    builder.add_transition(source, Transition { target, ..*t });
                }
            }
        }
        builder.finish()
    }
}

/// Several machines side by side, with interned actions.
struct Graph {
    /// Per state: (action, target), sorted by action.
    successors: Vec<Vec<(u32, u32)>>,
    predecessors: Vec<Vec<u32>>,
}

impl Graph {
    fn new(machines: &[&Machine], vocabulary: &Vocabulary) -> Self {
        let mut actions: FxHashMap<(Action, Role, Message), u32> = FxHashMap::default();
        let states = machines.iter().map(|machine| machine.state_count()).sum();
        let mut successors = vec![Vec::new(); states];
        let mut predecessors = vec![Vec::new(); states];
        let mut base = 0;
        for machine in machines {
            for state in machine.states() {
                let source = base + state.index();
                if machine.is_accepting(state) {
                    // Where the role may wait for ever, it behaves differently: as if it could do one thing more.
                    successors[source].push((u32::MAX, narrow(source)));
                }
                for t in machine.transitions(state) {
                    let fresh = u32::try_from(actions.len()).unwrap_or(u32::MAX);
                    let key = (t.action, t.peer, vocabulary.signature(t.message));
                    let action = *actions.entry(key).or_insert(fresh);
                    let target = base + t.target.index();
                    successors[source].push((action, narrow(target)));
                    predecessors[target].push(narrow(source));
                }
            }
            base += machine.state_count();
        }
        Self { successors, predecessors }
    }

    /// The block of each state in the coarsest partition whose blocks have equal signatures, a signature
    /// being the set of (action, block of the target).
    ///
    /// Only states with a successor that changed its block are looked at again, and when a block splits its
    /// largest part keeps the number, so that each state changes its block a logarithmic number of times.
    fn coarsest_partition(&self) -> Vec<u32> {
        let mut block = vec![0; self.successors.len()];
        let mut block_size = vec![self.successors.len()];
        let mut is_dirty = vec![true; self.successors.len()];
        let mut dirty: Vec<u32> = (0..narrow(self.successors.len())).collect();
        // The members of each block, and some that have left it since.
        let mut members: Vec<Vec<u32>> = vec![dirty.clone()];
        while !dirty.is_empty() {
            let mut by_block: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
            for &state in &dirty {
                by_block.entry(block[state as usize]).or_default().push(state);
            }
            let mut affected: Vec<u32> = by_block.keys().copied().collect();
            affected.sort_unstable();
            let mut moved = Vec::new();
            for old in affected {
                let touched = &by_block[&old];
                let mut groups: FxHashMap<Vec<(u32, u32)>, Vec<u32>> = FxHashMap::default();
                for &state in touched {
                    groups.entry(self.signature(state, &block)).or_default().push(state);
                }
                // Of the parts, the largest stays: each time a state moves, its block has at most halved.
                let untouched = block_size[old as usize] - touched.len();
                let mut keeper =
                    groups.iter().max_by_key(|(key, group)| (group.len(), *key)).map(|(key, _)| key.clone());
                if untouched > 0
                    && let Some(member) =
                        untouched_member(&mut members[old as usize], |s| block[s] == old, &is_dirty)
                {
                    let signature = self.signature(member, &block);
                    let largest = keeper.as_ref().map_or(0, |key| groups[key].len());
                    let alike = groups.entry(signature.clone()).or_default();
                    if untouched + alike.len() >= largest {
                        keeper = Some(signature);
                    } else {
                        let still_here = |&&s: &&u32| block[s as usize] == old && !is_dirty[s as usize];
                        alike.extend(members[old as usize].iter().filter(still_here));
                    }
                }
                let mut leaving: Vec<_> =
                    groups.into_iter().filter(|(key, _)| Some(key) != keeper.as_ref()).collect();
                leaving.sort_unstable();
                for (_, group) in leaving {
                    block_size[old as usize] -= group.len();
                    block_size.push(group.len());
                    moved.extend(group.iter().map(|&state| (state, narrow(members.len()))));
                    members.push(group);
                }
            }
            for &state in &dirty {
                is_dirty[state as usize] = false;
            }
            dirty.clear();
            for &(state, new) in &moved {
                block[state as usize] = new;
            }
            for (state, _) in moved {
                for &predecessor in &self.predecessors[state as usize] {
                    if !std::mem::replace(&mut is_dirty[predecessor as usize], true) {
                        dirty.push(predecessor);
                    }
                }
            }
        }
        block
    }

    fn signature(&self, state: u32, block: &[u32]) -> Vec<(u32, u32)> {
        let successors = &self.successors[state as usize];
        let mut signature: Vec<_> = successors.iter().map(|&(a, t)| (a, block[t as usize])).collect();
        signature.sort_unstable();
        signature.dedup();
        signature
    }
}

/// A member of a block that is not dirty; forgets on the way those that have left the block.
fn untouched_member(members: &mut Vec<u32>, still_in: impl Fn(usize) -> bool, dirty: &[bool]) -> Option<u32> {
    let mut index = members.len();
    while index > 0 {
        index -= 1;
        let state = members[index];
        if !still_in(state as usize) {
            members.swap_remove(index);
        } else if !dirty[state as usize] {
            return Some(state);
        }
    }
    None
}

/// States are numbered with 32 bits: source text is limited to 4 GiB.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

struct UnionFind {
    parent: Vec<usize>,
}

impl UnionFind {
    fn new(size: usize) -> Self {
        Self { parent: (0..size).collect() }
    }

    fn find(&mut self, mut element: usize) -> usize {
        while self.parent[element] != element {
            self.parent[element] = self.parent[self.parent[element]];
            element = self.parent[element];
        }
        element
    }

    /// Joins two classes; `false` when they were one already.
    fn union(&mut self, left: usize, right: usize) -> bool {
        let (left, right) = (self.find(left), self.find(right));
        self.parent[left] = right;
        left != right
    }
}
