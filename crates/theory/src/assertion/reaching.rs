//! Which bindings of a variable may have been the last at a node: reaching definitions.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::global::{Global, GlobalType, NodeId};
use crate::payload::Type;
use crate::vocabulary::{Origin, Role};

/// A place that binds a variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Site {
    pub(super) origin: Origin,
    pub(super) ty: Type,
    /// Who learns the value there.
    pub(super) roles: Vec<Role>,
}

/// The bindings that may have been the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reaching {
    pub(super) sites: BTreeSet<Site>,
    /// Whether there is also a way without any.
    pub(super) unbound: bool,
}

/// The ways into each node: the node before it, and which of that node's branches.
pub(super) struct Graph {
    before: Vec<Vec<(NodeId, usize)>>,
}

impl Graph {
    pub(super) fn new(global: &GlobalType) -> Self {
        let mut before = vec![Vec::new(); global.node_count()];
        for (node, content) in global.nodes() {
            match content {
                Global::End => {}
                Global::Rec(rec) => before[rec.body.index()].push((node, 0)),
                // Past the definition: its initial values are computed on entry only.
                Global::Call(call) => {
                    let entered = match global.node(call.target) {
                        Global::Rec(rec) => rec.body,
                        _ => call.target,
                    };
                    before[entered.index()].push((node, 0));
                }
                Global::Exchange(exchange) => {
                    for (index, branch) in exchange.branches.iter().enumerate() {
                        before[branch.next.index()].push((node, index));
                    }
                }
            }
        }
        Self { before }
    }

    /// What may have bound `variable` last when the protocol is at each of `uses`.
    pub(super) fn reaching(
        &self,
        global: &GlobalType,
        variable: &str,
        uses: &[NodeId],
    ) -> FxHashMap<NodeId, Reaching> {
        // Backward to the nearest bindings …
        let mut region: FxHashSet<NodeId> = FxHashSet::default();
        let mut stack = uses.to_vec();
        let mut seeds: Vec<(NodeId, Site)> = Vec::new();
        let mut forward: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        while let Some(node) = stack.pop() {
            if !region.insert(node) {
                continue;
            }
            for &(previous, branch) in &self.before[node.index()] {
                match binding(global, previous, branch, variable) {
                    Some(site) => seeds.push((node, site)),
                    None => {
                        forward.entry(previous).or_default().push(node);
                        stack.push(previous);
                    }
                }
            }
        }
        // … and forward again with what they bind.
        let mut reaching: FxHashMap<NodeId, Reaching> = FxHashMap::default();
        let mut changed: Vec<NodeId> = Vec::new();
        for (node, site) in seeds {
            reaching.entry(node).or_default().sites.insert(site);
            changed.push(node);
        }
        if region.contains(&global.root()) {
            reaching.entry(global.root()).or_default().unbound = true;
            changed.push(global.root());
        }
        while let Some(node) = changed.pop() {
            let here = reaching.get(&node).cloned().unwrap_or_default();
            for &next in forward.get(&node).into_iter().flatten() {
                let there = reaching.entry(next).or_default();
                let before = (there.sites.len(), there.unbound);
                there.sites.extend(here.sites.iter().cloned());
                there.unbound |= here.unbound;
                if before != (there.sites.len(), there.unbound) {
                    changed.push(next);
                }
            }
        }
        reaching
    }
}

/// What passing branch `branch` of `node` binds `variable` to.
fn binding(global: &GlobalType, node: NodeId, branch: usize, variable: &str) -> Option<Site> {
    let rec = match global.node(node) {
        Global::Exchange(exchange) => {
            let branch = &exchange.branches[branch];
            let fields = &global.vocabulary().spec(branch.message).fields;
            let field = fields.iter().find(|field| field.name.as_deref() == Some(variable))?;
            let roles = vec![exchange.sender, branch.receiver];
            return Some(Site { origin: branch.origin, ty: field.ty.clone(), roles });
        }
        Global::Rec(rec) => rec,
        Global::Call(call) => match global.node(call.target) {
            Global::Rec(rec) => rec,
            _ => return None,
        },
        Global::End => return None,
    };
    let parameter = rec.parameters.iter().find(|parameter| &*parameter.name == variable)?;
    let roles = if parameter.roles.is_empty() {
        global.vocabulary().roles().collect()
    } else {
        parameter.roles.clone()
    };
    Some(Site { origin: parameter.origin, ty: parameter.ty.clone(), roles })
}
