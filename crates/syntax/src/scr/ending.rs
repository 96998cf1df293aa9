//! Which statements come to an end, so that what stands behind them can happen.
//!
//! A `continue` never does; a recursion does if its body can, a choice if one of its branches can, a `par` if all its blocks can, a `do` if the protocol can. The
//! least solution: found by counting, for each block, the statements that are not known to end yet.

use super::ast::{Block, StatementKind};
use super::names::{Names, ProtocolId};

/// A statement: the file and the number there.
type Place = (usize, usize);

/// What a block belongs to.
#[derive(Clone, Copy)]
enum Owner {
    Statement(Place),
    Protocol(ProtocolId),
    /// One of several blocks that must all end.
    Together(usize),
}

/// For each file, whether each of its statements can come to an end.
pub(super) fn ending(names: &Names<'_>) -> Vec<Vec<bool>> {
    let counts: Vec<usize> = names.modules.iter().map(|linked| linked.module.statements.len()).collect();
    let mut counting = Counting {
        ends: counts.iter().map(|count| vec![false; *count]).collect(),
        block_of: counts.iter().map(|count| vec![None; *count]).collect(),
        left: Vec::new(),
        calls: vec![Vec::new(); names.protocols.len()],
        pending: Vec::new(),
    };
    for (id, declared) in names.protocols.iter().enumerate() {
        counting.add(&declared.protocol.body, declared.module, Owner::Protocol(ProtocolId(id)));
    }
    for (file, linked) in names.modules.iter().enumerate() {
        for (index, statement) in linked.module.statements.iter().enumerate() {
            let place = (file, index);
            match &statement.kind {
                StatementKind::Continue { .. } => {}
                StatementKind::Message(_)
                | StatementKind::Calls { .. }
                | StatementKind::SubSession { .. }
                | StatementKind::Connection { .. } => counting.pending.push(Owner::Statement(place)),
                StatementKind::Choice { branches, .. } => {
                    branches.iter().for_each(|branch| counting.add(branch, file, Owner::Statement(place)));
                }
                StatementKind::Par { blocks } => {
                    let together = counting.left.len();
                    counting.left.push((Owner::Statement(place), blocks.len()));
                    blocks.iter().for_each(|block| counting.add(block, file, Owner::Together(together)));
                }
                StatementKind::Rec { body, .. } => counting.add(body, file, Owner::Statement(place)),
                // An invitation to a nested protocol is over at once.
                StatementKind::Do { protocol, .. } => match names.known_global(protocol, file) {
                    Some(called) if !names.nested_mode => counting.calls[called.0].push(place),
                    _ => counting.pending.push(Owner::Statement(place)),
                },
            }
        }
    }
    counting.run();
    counting.ends
}

struct Counting {
    ends: Vec<Vec<bool>>,
    /// The block that each statement stands in.
    block_of: Vec<Vec<Option<usize>>>,
    /// For each block, its owner and how many of its statements are not known to end.
    left: Vec<(Owner, usize)>,
    /// The statements that do each protocol.
    calls: Vec<Vec<Place>>,
    /// What was found to end.
    pending: Vec<Owner>,
}

impl Counting {
    fn add(&mut self, block: &Block, file: usize, owner: Owner) {
        let number = self.left.len();
        self.left.push((owner, block.statements.len()));
        for statement in &block.statements {
            self.block_of[file][statement.index()] = Some(number);
        }
        if block.statements.is_empty() {
            self.pending.push(owner);
        }
    }

    fn run(&mut self) {
        while let Some(owner) = self.pending.pop() {
            match owner {
                Owner::Statement((file, index)) => {
                    if std::mem::replace(&mut self.ends[file][index], true) {
                        continue;
                    }
                    if let Some(block) = self.block_of[file][index] {
                        self.count(block);
                    }
                }
                Owner::Together(blocks) => self.count(blocks),
                Owner::Protocol(id) => {
                    let calls = std::mem::take(&mut self.calls[id.0]);
                    self.pending.extend(calls.into_iter().map(Owner::Statement));
                }
            }
        }
    }

    /// One thing more of `block` is known to end.
    fn count(&mut self, block: usize) {
        let (owner, left) = &mut self.left[block];
        *left -= 1;
        if *left == 0 {
            self.pending.push(*owner);
        }
    }
}
