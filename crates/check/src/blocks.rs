//! Blocks side by side between two roles: safe if each block is, by itself and in its place (`docs/concurrency.md`, section 3). What a role
//! does in several blocks at once has mixed states, of which no theorem speaks, and may have no bound.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use referee_theory::global::Rec;
use referee_theory::{Branch, Exchange, Global, GlobalType, GlobalTypeBuilder, NodeId};
use rustc_hash::FxHashMap;

use crate::check::{Options, check};
use crate::verdict::Verdict;

/// So many nodes all parts together may have.
const MOST_NODES: usize = 1 << 20;

/// By `par`, the number of a block of it.
type Chosen = FxHashMap<NodeId, usize>;

/// The least k at which each block of `global` is shown to be safe, by itself and in its place with one block of every other `par`; then
/// `global` is safe whatever the bound. `None` if one is not, or if there are other than two roles, or no blocks.
#[must_use]
pub fn check_blocks(global: &GlobalType, options: &Options, cancel: Option<&AtomicBool>) -> Option<u32> {
    let blocks: usize = global.pars().map(|(_, par)| par.blocks.len()).sum();
    if global.vocabulary().roles().len() != 2 || blocks == 0 || blocks * global.node_count() > MOST_NODES {
        return None;
    }
    let is_safe = |part: &GlobalType| match check(&part.project_all().ok()?, options, cancel, &mut ()).verdict
    {
        Verdict::Safe { k, .. } => Some(k),
        _ => None,
    };
    let mut least = 0;
    for (par, content) in global.pars() {
        for (block, start) in content.blocks.iter().enumerate() {
            let chosen: Chosen = global.blocks_around(par).chain([(par, block)]).collect();
            let alone = is_safe(&part(global, *start, Some(par), &chosen)?)?;
            let in_place = is_safe(&part(global, global.root(), None, &chosen)?)?;
            least = least.max(alone).max(in_place);
        }
    }
    Some(least)
}

/// `global` from `start` on, to the end of that block of `alone` if it is one, with one block for each `par`: the one that is `chosen`, or
/// the first.
fn part(global: &GlobalType, start: NodeId, alone: Option<NodeId>, chosen: &Chosen) -> Option<GlobalType> {
    let mut builder = GlobalTypeBuilder::new();
    // Nodes keep their numbers; those of blocks that are left out are not reached.
    global.nodes().for_each(|_| _ = builder.reserve());
    let end = builder.end();
    // Every block has a message, so this comes to an end.
    let place = |mut node: NodeId| loop {
        node = match global.node(node) {
            Global::Par(par) => par.blocks[chosen.get(&node).copied().unwrap_or(0)],
            Global::Join(par) if Some(*par) == alone => return end,
            Global::Join(par) => match global.node(*par) {
                Global::Par(par) => par.next,
                _ => return end,
            },
            _ => return node,
        };
    };
    for (node, content) in global.nodes() {
        let content = match content {
            Global::Exchange(exchange) => {
                let branches = exchange.branches.iter();
                let branches = branches.map(|branch| Branch { next: place(branch.next), ..*branch });
                Global::Exchange(Exchange { branches: branches.collect(), ..exchange.clone() })
            }
            Global::Rec(rec) => Global::Rec(Rec { body: place(rec.body), ..rec.clone() }),
            Global::Call(_) | Global::End => content.clone(),
            Global::Par(_) | Global::Join(_) => continue,
        };
        builder.set(node, content);
    }
    builder.finish(Arc::clone(global.vocabulary()), place(start)).ok()
}
