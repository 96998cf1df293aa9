//! Where the nodes of a global type lead: the places that all ways pass which do not jump back.
//!
//! These are immediate post-dominators, calls left out of account. A global type without its calls is
//! acyclic, so one pass from the ends to the start finds them all; common ancestors are found by jump
//! pointers, each in logarithmic time.

use std::rc::Rc;

use referee_theory::{Global, GlobalType, NodeId};

/// A node, or the end of the protocol, however many nodes say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the node; for the end, one more than there are nodes.
    index: u32,
    end: u32,
}

impl Place {
    /// The node, unless this is the end.
    pub(super) fn node(self) -> Option<NodeId> {
        (self.index != self.end).then_some(NodeId(self.index))
    }
}

/// A place in the tree of post-dominators, whose root is the end.
#[derive(Clone, Copy)]
struct Entry {
    after: u32,
    jump: u32,
    depth: u32,
}

pub(super) struct Structure {
    /// Per node, the end last; `None` where every way jumps back.
    tree: Vec<Option<Entry>>,
    /// Per node, the definitions that are called from it but stand outside it.
    free: Vec<Rc<[NodeId]>>,
    places: Vec<u32>,
}

impl Structure {
    pub(super) fn of(global: &GlobalType) -> Self {
        let count = global.node_count();
        let end = u32::try_from(count).unwrap_or(u32::MAX);
        let mut joins = rustc_hash::FxHashMap::default();
        let place = |(id, node): (NodeId, &Global)| match node {
            Global::End => end,
            // The end of a block, however many nodes say so.
            Global::Join(_) => *joins.entry(global.blocks_around(id).next()).or_insert(id.0),
            _ => id.0,
        };
        let none: Rc<[NodeId]> = Rc::new([]);
        let mut structure = Self {
            tree: vec![None; count + 1],
            free: std::iter::repeat_n(none, count).collect(),
            places: global.nodes().map(place).collect(),
        };
        structure.tree[count] = Some(Entry { after: end, jump: end, depth: 0 });
        for node in global.postorder() {
            structure.add(global, node);
        }
        structure
    }

    /// Where the protocol ends.
    pub(super) fn end(&self) -> Place {
        let end = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        Place { index: end, end }
    }

    pub(super) fn place(&self, node: NodeId) -> Place {
        Place { index: self.places[node.index()], end: self.end().end }
    }

    /// Whether some way from `node` leads to the end.
    pub(super) fn goes_on(&self, node: NodeId) -> bool {
        self.entry(self.places[node.index()]).is_some()
    }

    /// The first place that all ways from `node` pass, those aside that jump back.
    pub(super) fn after(&self, node: NodeId) -> Option<Place> {
        let entry = self.entry(self.places[node.index()])?;
        Some(Place { index: entry.after, end: self.end().end })
    }

    /// Where a recursion with this `body` can be left before `stop`: the first place that all ways pass and
    /// from where only definitions `in_force` around the recursion are called, if it `may_leave` there.
    pub(super) fn exit(
        &self,
        body: NodeId,
        stop: Place,
        in_force: impl Fn(NodeId) -> bool,
        may_leave: impl Fn(Place) -> bool,
    ) -> Option<Place> {
        let mut place = self.place(body);
        if place != stop {
            place = self.after(body)?;
        }
        while place != stop {
            let node = place.node()?;
            if self.free[node.index()].iter().all(|definition| in_force(*definition)) && may_leave(place) {
                return Some(place);
            }
            place = self.after(node)?;
        }
        None
    }

    fn entry(&self, index: u32) -> Option<Entry> {
        self.tree[index as usize]
    }

    fn add(&mut self, global: &GlobalType, node: NodeId) {
        let mut after = None;
        let mut free: Rc<[NodeId]> = Rc::new([]);
        let mut look_at = |child: NodeId| {
            let child_place = self.places[child.index()];
            if self.entry(child_place).is_some() {
                after = Some(after.map_or(child_place, |other| self.common(other, child_place)));
            }
            free = union(&free, &self.free[child.index()]);
        };
        match global.node(node) {
            // Blocks are printed by themselves, and no jump leaves them.
            Global::Par(par) => look_at(par.next),
            content => content.for_each_child(look_at),
        }
        match global.node(node) {
            Global::End => return,
            // Where a block ends is below the end of the whole.
            Global::Join(_) => after = Some(self.end().end),
            Global::Call(call) => free = Rc::new([call.target]),
            Global::Rec(_) if free.contains(&node) => {
                free = free.iter().copied().filter(|definition| *definition != node).collect();
            }
            Global::Rec(_) | Global::Exchange(_) | Global::Par(_) => {}
        }
        self.free[node.index()] = free;
        self.tree[node.index()] = after.and_then(|after| self.below(after));
    }

    /// An entry just below `after`.
    fn below(&self, after: u32) -> Option<Entry> {
        let above = self.entry(after)?;
        let jumped = self.entry(above.jump)?;
        let twice = self.entry(jumped.jump)?;
        let even = above.depth - jumped.depth == jumped.depth - twice.depth;
        Some(Entry { after, jump: if even { jumped.jump } else { after }, depth: above.depth + 1 })
    }

    /// The first place that is after both.
    fn common(&self, left: u32, right: u32) -> u32 {
        let (mut left, mut right) = (left, right);
        while left != right {
            let (Some(a), Some(b)) = (self.entry(left), self.entry(right)) else { break };
            if a.depth < b.depth {
                std::mem::swap(&mut left, &mut right);
            } else if a.depth > b.depth {
                let jump = self.entry(a.jump).is_some_and(|far| far.depth >= b.depth);
                left = if jump { a.jump } else { a.after };
            } else if a.jump == b.jump {
                (left, right) = (a.after, b.after);
            } else {
                (left, right) = (a.jump, b.jump);
            }
        }
        left
    }
}

/// Both sets, each sorted. There are few of them: see [`referee_theory::global::MAX_LEVEL`].
fn union(left: &Rc<[NodeId]>, right: &Rc<[NodeId]>) -> Rc<[NodeId]> {
    if Rc::ptr_eq(left, right) || right.iter().all(|definition| left.contains(definition)) {
        return Rc::clone(left);
    }
    if left.is_empty() {
        return Rc::clone(right);
    }
    let mut both: Vec<NodeId> = left.iter().chain(right.iter()).copied().collect();
    both.sort_unstable();
    both.dedup();
    both.into()
}
