//! What a name means where fields and recursion data share it: behind a recursion a field may be called like its data, and what follows
//! the recursion may be printed inside it.

use std::sync::Arc;

use referee_theory::expr::Expr;
use referee_theory::{Branch, Global, GlobalType, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

const UNBOUND: u8 = 1;
const DATA: u8 = 2;
const FIELD: u8 = 4;

/// The names that fields and data share.
pub(super) struct Meanings {
    /// By name and node, what the name may mean there.
    at: FxHashMap<Arc<str>, FxHashMap<NodeId, u8>>,
}

impl Meanings {
    pub(super) fn of(global: &GlobalType) -> Self {
        let mut data: FxHashSet<Arc<str>> = FxHashSet::default();
        let mut fields: FxHashSet<Arc<str>> = FxHashSet::default();
        for (_, node) in global.nodes() {
            match node {
                Global::Rec(rec) => {
                    data.extend(rec.parameters.iter().map(|parameter| Arc::clone(&parameter.name)))
                }
                Global::Exchange(exchange) => {
                    fields.extend(exchange.branches.iter().flat_map(|branch| own(global, branch).cloned()));
                }
                Global::End | Global::Call(_) | Global::Par(_) | Global::Join(_) => {}
            }
        }
        data.retain(|name| fields.contains(name));
        let at: FxHashMap<Arc<str>, FxHashMap<NodeId, u8>> =
            data.into_iter().map(|name| (Arc::clone(&name), followed(global, &name))).collect();
        let mut meanings = Self { at };
        // Where one text would mean either, neither can be renamed.
        let is_clear = |name: &Arc<str>, found: &FxHashMap<NodeId, u8>| {
            found.iter().all(|(at, bits)| bits & (DATA | FIELD) != DATA | FIELD || !reads(global, *at, name))
        };
        meanings.at.retain(|name, found| global.pars().next().is_none() && is_clear(name, found));
        meanings
    }

    /// Whether data called `name` need another name, because a field has it.
    pub(super) fn is_shared(&self, name: &str) -> bool {
        self.at.contains_key(name)
    }

    /// Whether `name` means a field at `node`.
    pub(super) fn is_field(&self, name: &str, node: NodeId) -> bool {
        self.at.get(name).and_then(|found| found.get(&node)).is_some_and(|bits| bits & FIELD != 0)
    }
}

fn own<'a>(global: &'a GlobalType, branch: &Branch) -> impl Iterator<Item = &'a Arc<str>> {
    global.vocabulary().spec(branch.message).fields.iter().filter_map(|field| field.name.as_ref())
}

/// What `name` may mean at each node that can be reached.
fn followed(global: &GlobalType, name: &Arc<str>) -> FxHashMap<NodeId, u8> {
    let mut found: FxHashMap<NodeId, u8> = FxHashMap::default();
    let mut pending = vec![(global.root(), UNBOUND)];
    while let Some((at, bit)) = pending.pop() {
        let known = found.entry(at).or_default();
        if *known & bit != 0 {
            continue;
        }
        *known |= bit;
        match global.node(at) {
            Global::Rec(rec) => {
                let is_set = rec.parameters.iter().any(|parameter| parameter.name == *name);
                pending.push((rec.body, if is_set { DATA } else { bit }));
            }
            Global::Call(call) => {
                let Global::Rec(rec) = global.node(call.target) else { continue };
                let is_data = rec.parameters.iter().any(|parameter| parameter.name == *name);
                let is_set = is_data && !call.arguments.is_empty();
                pending.push((rec.body, if is_set { DATA } else { bit }));
            }
            Global::Exchange(exchange) => pending.extend(exchange.branches.iter().map(|branch| {
                let is_set = own(global, branch).any(|field| field == name);
                (branch.next, if is_set { FIELD } else { bit })
            })),
            Global::End | Global::Par(_) | Global::Join(_) => {}
        }
    }
    found
}

/// Whether what `name` means at `node` matters there.
fn reads(global: &GlobalType, node: NodeId, name: &Arc<str>) -> bool {
    let is_read = |expr: &Arc<Expr>| expr.free_variables().contains(&name);
    match global.node(node) {
        Global::Exchange(exchange) => exchange.branches.iter().any(|branch| {
            let spec = global.vocabulary().spec(branch.message);
            let lengths = spec.timing.iter().flat_map(|timing| timing.lengths());
            !own(global, branch).any(|field| field == name)
                && spec.assertion.iter().chain(lengths).any(is_read)
        }),
        Global::Rec(rec) => rec.parameters.iter().any(|parameter| {
            is_read(&parameter.initial) || parameter.refinement.as_ref().is_some_and(is_read)
        }),
        // Without new values the old ones go on.
        Global::Call(call) => {
            let Global::Rec(rec) = global.node(call.target) else { return false };
            call.arguments.iter().any(is_read)
                || call.arguments.is_empty() && rec.parameters.iter().any(|parameter| parameter.name == *name)
        }
        Global::End | Global::Par(_) | Global::Join(_) => false,
    }
}
