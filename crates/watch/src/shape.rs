//! Where an event's parts are in a line: JSON pointers (RFC 6901), compiled to a tree of keys.

use std::fmt;

/// A part of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Session,
    From,
    To,
    Label,
    Payload,
    Time,
    End,
    /// The key of an instance of a property.
    Key,
}

pub(crate) const PARTS: usize = 8;

/// A JSON pointer: `/ctx/session`. The empty pointer is the whole line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer(Vec<String>);

/// As it is written: `/msg/kind`.
impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|key| write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")))
    }
}

/// Why a text is no JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPointer(String);

impl fmt::Display for BadPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no JSON pointer: it must be empty or start with `/`, as in `/{}`", self.0, self.0)
    }
}

impl std::error::Error for BadPointer {}

impl Pointer {
    /// Reads a pointer.
    ///
    /// # Errors
    /// [`BadPointer`] if it is neither empty nor starts with a slash.
    pub fn parse(text: &str) -> Result<Self, BadPointer> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let Some(keys) = text.strip_prefix('/') else { return Err(BadPointer(text.to_owned())) };
        Ok(Self(keys.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect()))
    }

    /// The member `key` of the line.
    fn key(key: &str) -> Self {
        Self(vec![key.to_owned()])
    }
}

/// Where the parts of an event are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The key of the session; absent: all events without one are one session.
    pub session: Pointer,
    /// Who sent the message.
    pub from: Pointer,
    /// Whom it is for; absent: the other side.
    pub to: Pointer,
    /// What it is called.
    pub label: Pointer,
    /// Its fields. The empty pointer takes the whole line: then members that the message does not declare
    /// are ignored.
    pub payload: Pointer,
    /// When it was sent: RFC 3339, or a number of seconds.
    pub time: Pointer,
    /// Who ended, in a line that is no message but an end.
    pub end: Pointer,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            session: Pointer::key("session"),
            from: Pointer::key("from"),
            to: Pointer::key("to"),
            label: Pointer::key("label"),
            payload: Pointer::key("payload"),
            time: Pointer::key("time"),
            end: Pointer::key("end"),
        }
    }
}

/// The keys that lead to parts.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    // INVARIANT: the root is first; every child is a node.
    pub(crate) nodes: Vec<Node>,
    /// Whether the payload is the whole line.
    pub(crate) flat: bool,
    /// How many members of the line are asked for by number.
    pub(crate) members: usize,
}

/// More members than this are not found while lines are scanned.
pub(crate) const MOST_MEMBERS: usize = 8;
/// The number of what is no such member.
pub(crate) const NO_MEMBER: u8 = u8::MAX;

#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// The parts that this value is, as bits.
    pub(crate) parts: u8,
    pub(crate) children: Vec<Child>,
}

#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub(crate) key: Box<str>,
    /// `"key":`, if it is short and needs no escapes: its bytes, and as many bytes of ones.
    pub(crate) quoted: Option<(u128, u128, usize)>,
    pub(crate) node: usize,
    /// The parts that this value is, as bits, if no part is inside it.
    pub(crate) leaf: Option<u8>,
    /// The number of this member of the line, if it is asked for by one.
    pub(crate) member: u8,
}

impl Tree {
    pub(crate) fn new(shape: &Shape) -> Self {
        let parts = [
            (Part::Session, &shape.session),
            (Part::From, &shape.from),
            (Part::To, &shape.to),
            (Part::Label, &shape.label),
            (Part::Payload, &shape.payload),
            (Part::Time, &shape.time),
            (Part::End, &shape.end),
        ];
        let mut tree = Self { nodes: vec![Node::default()], flat: shape.payload.0.is_empty(), members: 0 };
        for (part, pointer) in parts {
            tree.add(part, pointer.0.iter().map(String::as_str));
        }
        tree.with_leaves()
    }

    /// The same tree that also finds the key at `steps`.
    pub(crate) fn with_key<'k>(&self, steps: impl Iterator<Item = &'k str>) -> Self {
        let mut tree = self.clone();
        tree.add(Part::Key, steps);
        tree.with_leaves()
    }

    /// The same tree that also finds members of the line, at most [`MOST_MEMBERS`], and gives them numbers.
    pub(crate) fn with_members<'m>(mut self, names: impl Iterator<Item = &'m str>) -> Self {
        for (number, name) in (0..).zip(names) {
            let child = self.child(0, name);
            self.nodes[0].children[child].member = number;
            self.members += 1;
        }
        self.with_leaves()
    }

    fn add<'k>(&mut self, part: Part, steps: impl Iterator<Item = &'k str>) {
        let at = steps.fold(0, |at, key| {
            let child = self.child(at, key);
            self.nodes[at].children[child].node
        });
        self.nodes[at].parts |= 1 << part as u8;
    }

    /// The place among the children of `node` of the one that `key` leads to.
    fn child(&mut self, node: usize, key: &str) -> usize {
        let target = self.nodes.len();
        let children = &mut self.nodes[node].children;
        if let Some(known) = children.iter().position(|child| *child.key == *key) {
            return known;
        }
        let quoted = quoted(key);
        children.push(Child { key: key.into(), quoted, node: target, leaf: None, member: NO_MEMBER });
        let place = children.len() - 1;
        self.nodes.push(Node::default());
        place
    }

    fn with_leaves(mut self) -> Self {
        let leaf = |node: &Node| node.children.is_empty().then_some(node.parts);
        let leaves: Vec<Option<u8>> = self.nodes.iter().map(leaf).collect();
        for child in self.nodes.iter_mut().flat_map(|node| &mut node.children) {
            child.leaf = leaves[child.node];
        }
        self
    }
}

fn quoted(key: &str) -> Option<(u128, u128, usize)> {
    let plain = key.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    let text = format!("\"{key}\":");
    let length = text.len();
    (plain && length <= 16).then(|| {
        let mut bytes = [0; 16];
        bytes[..length].copy_from_slice(text.as_bytes());
        let mask = u128::MAX >> (128 - 8 * length);
        (u128::from_le_bytes(bytes), mask, length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_those_of_the_rfc() {
        assert_eq!(Pointer::parse("").unwrap(), Pointer(vec![]));
        assert_eq!(
            Pointer::parse("/a~1b/m~0n/0").unwrap(),
            Pointer(vec!["a/b".into(), "m~n".into(), "0".into()])
        );
        assert_eq!(Pointer::parse("/").unwrap(), Pointer(vec![String::new()]));
        assert!(Pointer::parse("session").unwrap_err().to_string().contains("`/session`"));
    }
}
