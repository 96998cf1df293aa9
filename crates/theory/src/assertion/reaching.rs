//! Which bindings of a variable, or which messages with a label, may have been the last at a node: reaching definitions.
//!
//! One variable or label after the other, with tables that are made once for all of them: what a variable costs is the
//! distance between its uses and its bindings.

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use crate::global::{Global, GlobalType, NodeId};
use crate::payload::Type;
use crate::vocabulary::{Label, Origin, Role};

/// Those who learn a value: sender and receiver, as a rule.
pub(super) type Roles = SmallVec<[Role; 8]>;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sought<'a> {
    /// What binds this variable.
    Variable(&'a str),
    /// A message with this label.
    Label(Label),
}

/// A place that binds a variable, or a message with a label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Site {
    pub(super) origin: Origin,
    pub(super) ty: Type,
    /// Who learns the value there.
    pub(super) roles: Roles,
}

/// The bindings that may have been the last.
#[derive(Clone, Debug, Default)]
pub(super) struct Reaching {
    /// In order, each once.
    pub(super) sites: SmallVec<[Site; 1]>,
    /// Whether there is also a way without any.
    pub(super) unbound: bool,
}

/// What may have been the last of each of `sought` at its node, one after the other.
pub(super) fn all<'a>(
    global: &GlobalType,
    sought: impl Iterator<Item = (Sought<'a>, NodeId)>,
) -> Vec<Reaching> {
    let mut number: FxHashMap<Sought<'_>, u32> = FxHashMap::default();
    let mut names: Vec<Sought<'_>> = Vec::new();
    // What is sought at which node, in the order of the protocol.
    let mut wanted: Vec<(u32, u32, NodeId)> = Vec::new();
    for (one, node) in sought {
        let one = *number.entry(one).or_insert_with(|| {
            names.push(one);
            narrow(names.len() - 1)
        });
        wanted.push((one, narrow(wanted.len()), node));
    }
    let mut answers = vec![Reaching::default(); wanted.len()];
    if wanted.is_empty() {
        return answers;
    }
    wanted.sort_unstable();
    let mut search = Search::new(global);
    for same in wanted.chunk_by(|left, right| left.0 == right.0) {
        search.run(names[same[0].0 as usize], same.iter().map(|(_, _, node)| *node));
        for (_, answer, node) in same {
            answers[*answer as usize] = search.reaching(*node);
        }
    }
    answers
}

/// The ways into each node: the node before it, and which of that node's branches.
struct Before {
    /// Where the ways into each node begin in `ways`, and where those into the last end.
    first: Vec<u32>,
    ways: Vec<(NodeId, u32)>,
}

impl Before {
    fn new(global: &GlobalType) -> Self {
        let mut first = vec![0; global.node_count() + 1];
        for_each_way(global, |_, _, to| first[to.index() + 1] += 1);
        for node in 1..first.len() {
            first[node] += first[node - 1];
        }
        let mut free = first.clone();
        let total = first.last().map_or(0, |total| *total as usize);
        let mut ways = vec![(NodeId(0), 0); total];
        for_each_way(global, |from, branch, to| {
            let place = &mut free[to.index()];
            ways[*place as usize] = (from, branch);
            *place += 1;
        });
        Self { first, ways }
    }
}

fn for_each_way(global: &GlobalType, mut visit: impl FnMut(NodeId, u32, NodeId)) {
    for (node, content) in global.nodes() {
        match content {
            Global::End => {}
            Global::Par(par) => par.blocks.iter().for_each(|block| visit(node, 0, *block)),
            Global::Join(par) => {
                if let Global::Par(par) = global.node(*par) {
                    visit(node, 0, par.next);
                }
            }
            Global::Rec(rec) => visit(node, 0, rec.body),
            // Past the definition: its initial values are computed on entry only.
            Global::Call(call) => match global.node(call.target) {
                Global::Rec(rec) => visit(node, 0, rec.body),
                _ => visit(node, 0, call.target),
            },
            Global::Exchange(exchange) => {
                for (index, branch) in exchange.branches.iter().enumerate() {
                    visit(node, narrow(index), branch.next);
                }
            }
        }
    }
}

/// No number.
const NONE: u32 = u32::MAX;

/// The part of the protocol between the uses of one variable and its bindings.
struct Search<'a> {
    global: &'a GlobalType,
    before: Before,
    /// For each node, its number in `region`.
    number: Vec<u32>,
    region: Vec<Here>,
    /// Ways forward within the region: where to, and the next way from the same node.
    ways: Vec<(u32, u32)>,
    sites: Vec<Site>,
    changed: Vec<u32>,
    /// For each `par` that has what is sought, the block that has it; of several, none.
    binding_block: FxHashMap<NodeId, Option<usize>>,
}

/// A node of the region.
struct Here {
    node: NodeId,
    first_way: u32,
    /// Numbers of sites, in order.
    sites: SmallVec<[u32; 2]>,
    unbound: bool,
}

impl<'a> Search<'a> {
    fn new(global: &'a GlobalType) -> Self {
        Self {
            global,
            before: Before::new(global),
            number: vec![NONE; global.node_count()],
            region: Vec::new(),
            ways: Vec::new(),
            sites: Vec::new(),
            changed: Vec::new(),
            binding_block: FxHashMap::default(),
        }
    }

    /// Looks up which blocks have what is `sought`.
    fn find_blocks(&mut self, sought: Sought<'_>) {
        self.binding_block.clear();
        if self.global.pars().next().is_none() {
            return;
        }
        for (node, content) in self.global.nodes() {
            let branches = match content {
                Global::Exchange(exchange) => exchange.branches.len(),
                Global::Rec(_) => 1,
                Global::End | Global::Call(_) | Global::Par(_) | Global::Join(_) => continue,
            };
            if !(0..branches).any(|branch| binding(self.global, node, branch, sought).is_some()) {
                continue;
            }
            for (par, block) in self.global.blocks_around(node) {
                let known = self.binding_block.entry(par).or_insert(Some(block));
                if *known != Some(block) {
                    *known = None;
                }
            }
        }
    }

    /// Whether `node` is the end of a block without what is sought, beside a block that has it: behind the `par` the latter counts, for
    /// it is over as well.
    fn passes_by(&self, node: NodeId) -> bool {
        let Global::Join(par) = self.global.node(node) else { return false };
        let own = self.global.blocks_around(node).next().map(|(_, block)| block);
        self.binding_block.get(par).is_some_and(|block| block.is_some() && *block != own)
    }

    /// Finds out what may have been the last of `sought` when the protocol is at each of `uses`.
    fn run(&mut self, sought: Sought<'_>, uses: impl Iterator<Item = NodeId>) {
        for here in self.region.drain(..) {
            self.number[here.node.index()] = NONE;
        }
        self.ways.clear();
        self.sites.clear();
        self.find_blocks(sought);
        uses.for_each(|node| {
            self.enter(node);
        });
        // Backward to the nearest bindings …
        let mut next = 0;
        while let Some(node) = self.region.get(next).map(|here| here.node) {
            for way in self.before.first[node.index()]..self.before.first[node.index() + 1] {
                let (previous, branch) = self.before.ways[way as usize];
                if self.passes_by(previous) {
                    continue;
                }
                match binding(self.global, previous, branch as usize, sought) {
                    Some(site) => {
                        self.sites.push(site);
                        self.region[next].sites.push(narrow(self.sites.len() - 1));
                    }
                    None => {
                        let from = self.enter(previous);
                        let first = &mut self.region[from as usize].first_way;
                        self.ways.push((narrow(next), *first));
                        *first = narrow(self.ways.len() - 1);
                    }
                }
            }
            next += 1;
        }
        // … and forward again with what they bind.
        let root = self.number[self.global.root().index()];
        if root != NONE {
            self.region[root as usize].unbound = true;
        }
        self.changed.extend((0..narrow(self.region.len())).filter(|here| {
            let here = &self.region[*here as usize];
            here.unbound || !here.sites.is_empty()
        }));
        while let Some(from) = self.changed.pop() {
            let (sites, unbound) =
                (self.region[from as usize].sites.clone(), self.region[from as usize].unbound);
            let mut way = self.region[from as usize].first_way;
            while let Some(&(to, other)) = self.ways.get(way as usize) {
                if self.region[to as usize].take(&sites, unbound) {
                    self.changed.push(to);
                }
                way = other;
            }
        }
    }

    /// The number of `node` in the region, which it enters if it is new.
    fn enter(&mut self, node: NodeId) -> u32 {
        let number = &mut self.number[node.index()];
        if *number == NONE {
            *number = narrow(self.region.len());
            self.region.push(Here { node, first_way: NONE, sites: SmallVec::new(), unbound: false });
        }
        *number
    }

    /// What was found at `node`, one of the uses.
    fn reaching(&self, node: NodeId) -> Reaching {
        let here = &self.region[self.number[node.index()] as usize];
        let mut sites: SmallVec<[Site; 1]> =
            here.sites.iter().map(|site| self.sites[*site as usize].clone()).collect();
        sites.sort_unstable();
        sites.dedup();
        Reaching { sites, unbound: here.unbound }
    }
}

impl Here {
    /// Adds what reaches a node before; whether that was new.
    fn take(&mut self, sites: &[u32], unbound: bool) -> bool {
        let before = (self.sites.len(), self.unbound);
        for site in sites {
            if let Err(place) = self.sites.binary_search(site) {
                self.sites.insert(place, *site);
            }
        }
        self.unbound |= unbound;
        before != (self.sites.len(), self.unbound)
    }
}

/// What passing branch `branch` of `node` binds, or sends, of what is sought.
fn binding(global: &GlobalType, node: NodeId, branch: usize, sought: Sought<'_>) -> Option<Site> {
    let variable = match (sought, global.node(node)) {
        (Sought::Variable(variable), _) => variable,
        (Sought::Label(label), Global::Exchange(exchange)) => {
            let branch = &exchange.branches[branch];
            let roles = smallvec![exchange.sender, branch.receiver];
            let is_it = global.vocabulary().label(branch.message) == label;
            return is_it.then(|| Site { origin: branch.origin, ty: Type::Unit, roles });
        }
        (Sought::Label(_), _) => return None,
    };
    let rec = match global.node(node) {
        Global::Exchange(exchange) => {
            let branch = &exchange.branches[branch];
            let fields = &global.vocabulary().spec(branch.message).fields;
            let field = fields.iter().find(|field| field.name.as_deref() == Some(variable))?;
            let roles = smallvec![exchange.sender, branch.receiver];
            return Some(Site { origin: branch.origin, ty: field.ty.clone(), roles });
        }
        Global::Rec(rec) => rec,
        Global::Call(call) => match global.node(call.target) {
            Global::Rec(rec) => rec,
            _ => return None,
        },
        Global::End | Global::Par(_) | Global::Join(_) => return None,
    };
    let parameter = rec.parameters.iter().find(|parameter| &*parameter.name == variable)?;
    let roles = if parameter.roles.is_empty() {
        global.vocabulary().roles().collect()
    } else {
        parameter.roles.iter().copied().collect()
    };
    Some(Site { origin: parameter.origin, ty: parameter.ty.clone(), roles })
}

/// Global types have fewer than 2³² nodes and ways.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NONE)
}
