//! Which statements come to an end, so that what stands behind them can happen.
//!
//! A `continue` never does; a recursion does if its body can, a choice if one of its branches can, a `do` if the protocol can. The
//! least solution: found by counting, for each block, the statements that are not known to end yet.

use super::ast::{Block, Module, Protocol, ProtocolKind, StatementKind};
use rustc_hash::FxHashMap;

/// What a block belongs to.
#[derive(Clone, Copy)]
enum Owner {
    Statement(usize),
    Protocol(usize),
}

/// Whether each statement of `module` can come to an end. With `nested` protocols a `do` is an invitation, which does.
pub(super) fn ending(module: &Module, nested: bool) -> Vec<bool> {
    let mut counting = Counting {
        ends: vec![false; module.statements.len()],
        block_of: vec![None; module.statements.len()],
        left: Vec::new(),
        calls: vec![Vec::new(); module.protocols.len()],
        pending: Vec::new(),
    };
    let mut by_name: FxHashMap<&str, usize> = FxHashMap::default();
    for (index, protocol) in module.protocols.iter().enumerate() {
        if protocol.kind != ProtocolKind::Nested {
            by_name.entry(&protocol.name.text).or_insert(index);
        }
    }
    let mut bodies: Vec<(&Protocol, Option<usize>)> = Vec::new();
    bodies.extend(module.protocols.iter().enumerate().map(|(index, protocol)| (protocol, Some(index))));
    while let Some((protocol, index)) = bodies.pop() {
        // Nothing waits for a nested protocol.
        counting.add(&protocol.body, Owner::Protocol(index.unwrap_or(usize::MAX)));
        bodies.extend(protocol.nested.iter().map(|nested| (nested, None)));
    }
    for (index, statement) in module.statements.iter().enumerate() {
        match &statement.kind {
            StatementKind::Continue { .. } => {}
            StatementKind::Message(_) | StatementKind::Calls { .. } | StatementKind::Connection { .. } => {
                counting.pending.push(Owner::Statement(index));
            }
            StatementKind::Choice { branches, .. } => {
                branches.iter().for_each(|branch| counting.add(branch, Owner::Statement(index)));
            }
            StatementKind::Rec { body, .. } => counting.add(body, Owner::Statement(index)),
            StatementKind::Do { protocol, .. } => match by_name.get(&*protocol.text) {
                Some(&called) if !nested => counting.calls[called].push(index),
                _ => counting.pending.push(Owner::Statement(index)),
            },
        }
    }
    counting.run();
    counting.ends
}

struct Counting {
    ends: Vec<bool>,
    /// The block that each statement stands in.
    block_of: Vec<Option<usize>>,
    /// For each block, its owner and how many of its statements are not known to end.
    left: Vec<(Owner, usize)>,
    /// The statements that do each protocol.
    calls: Vec<Vec<usize>>,
    /// What was found to end.
    pending: Vec<Owner>,
}

impl Counting {
    fn add(&mut self, block: &Block, owner: Owner) {
        let number = self.left.len();
        self.left.push((owner, block.statements.len()));
        for statement in &block.statements {
            self.block_of[statement.index()] = Some(number);
        }
        if block.statements.is_empty() {
            self.pending.push(owner);
        }
    }

    fn run(&mut self) {
        while let Some(owner) = self.pending.pop() {
            match owner {
                Owner::Statement(index) => {
                    if std::mem::replace(&mut self.ends[index], true) {
                        continue;
                    }
                    if let Some(block) = self.block_of[index] {
                        let (owner, left) = &mut self.left[block];
                        *left -= 1;
                        if *left == 0 {
                            self.pending.push(*owner);
                        }
                    }
                }
                Owner::Protocol(index) => {
                    let calls = self.calls.get_mut(index).map(std::mem::take).unwrap_or_default();
                    self.pending.extend(calls.into_iter().map(Owner::Statement));
                }
            }
        }
    }
}
