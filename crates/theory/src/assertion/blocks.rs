//! Variables and the blocks of a `par`: whoever is faster must not decide what is right (`docs/concurrency.md`, rule P3).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{AssertionError, Place, Use};
use crate::global::{Global, GlobalType, NodeId};
use crate::vocabulary::Origin;

/// What is wrong with the variables, times and data of a protocol that has a `par`.
pub(super) fn check(global: &GlobalType, uses: &[Use<'_>], errors: &mut Vec<AssertionError>) {
    let place = |par: NodeId| match global.node(par) {
        Global::Par(par) => par.origin,
        _ => Origin::NONE,
    };
    // A field that no other message reads binds nothing.
    let mut binds: FxHashMap<(&str, NodeId), (usize, Origin)> = FxHashMap::default();
    let mut read: FxHashMap<&str, bool> = FxHashMap::default();
    for variable in uses.iter().flat_map(Use::outer_variables) {
        read.insert(variable, false);
    }
    for (node, exchange) in global.exchanges() {
        for branch in &exchange.branches {
            for name in global.vocabulary().spec(branch.message).fields.iter().filter_map(|f| f.name.as_ref())
            {
                let Some(told) = read.get_mut(&**name) else { continue };
                for (par, block) in global.blocks_around(node) {
                    let (known, first) = *binds.entry((name, par)).or_insert((block, branch.origin));
                    if known != block && !std::mem::replace(told, true) {
                        let (variable, second) = (Arc::clone(name), branch.origin);
                        errors.push(AssertionError::BoundInTwoBlocks { variable, first, second });
                    }
                }
            }
        }
    }
    for one in uses {
        if let (Place::Time, Some((par, _))) = (&one.place, global.blocks_around(one.node).next()) {
            let (expr, par) = (Arc::clone(one.expr), place(par));
            errors.push(AssertionError::TimeInBlock { expr, par });
        }
        for variable in one.outer_variables() {
            let other = global.blocks_around(one.node).find_map(|(par, block)| {
                let (bound_in, bound) = binds.get(&(&**variable, par))?;
                (*bound_in != block).then_some(*bound)
            });
            if let (Some(bound), Some(false)) = (other, read.get(&**variable)) {
                let (expr, variable) = (Arc::clone(one.expr), Arc::clone(variable));
                errors.push(AssertionError::ReadsOtherBlock { expr, variable, bound });
            }
        }
    }
    let declared = global.nodes().find_map(|(_, node)| match node {
        Global::Rec(rec) => rec.parameters.first().map(|parameter| parameter.origin),
        _ => None,
    });
    if let (Some(declared), Some((_, par))) = (declared, global.pars().next()) {
        errors.push(AssertionError::DataWithPar { declared, par: par.origin });
    }
}
