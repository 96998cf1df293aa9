//! The literal beginnings of all messages of one side, in one tree: what a line may be, in one walk.

use smallvec::SmallVec;

use crate::signature::MessageId;

/// A tree of beginnings.
#[derive(Debug)]
pub(crate) struct Trie {
    ignore_case: bool,
    // INVARIANT: the first node is the root.
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// The next byte and where it leads, in the order of bytes.
    next: Vec<(u8, u32)>,
    /// The messages whose beginning ends here, in the order of the table.
    messages: Vec<MessageId>,
}

impl Trie {
    pub(crate) fn new(ignore_case: bool) -> Self {
        Self { ignore_case, nodes: vec![Node::default()] }
    }

    /// Adds a message that begins with `prefix`.
    pub(crate) fn insert(&mut self, prefix: &[u8], message: MessageId) {
        let mut at = 0;
        for &byte in prefix {
            let byte = self.fold(byte);
            let fresh = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
            let Some(node) = self.nodes.get_mut(at) else { return };
            at = match node.next.binary_search_by_key(&byte, |(byte, _)| *byte) {
                Ok(found) => node.next.get(found).map_or(0, |(_, child)| *child as usize),
                Err(place) => {
                    node.next.insert(place, (byte, fresh));
                    self.nodes.push(Node::default());
                    fresh as usize
                }
            };
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.messages.push(message);
        }
    }

    /// The messages whose beginning `line` has, those with the longest first.
    #[inline]
    pub(crate) fn matches(&self, line: &[u8]) -> impl Iterator<Item = MessageId> {
        let mut found: SmallVec<[&[MessageId]; 8]> = SmallVec::new();
        let mut bytes = line.iter();
        let mut node = self.nodes.first();
        while let Some(here) = node {
            if !here.messages.is_empty() {
                found.push(&here.messages);
            }
            node = bytes.next().and_then(|byte| {
                let byte = self.fold(*byte);
                let (_, child) = here.next.iter().find(|(other, _)| *other == byte)?;
                self.nodes.get(*child as usize)
            });
        }
        found.into_iter().rev().flat_map(|messages| messages.iter().copied())
    }

    #[inline]
    fn fold(&self, byte: u8) -> u8 {
        if self.ignore_case { byte.to_ascii_lowercase() } else { byte }
    }
}
