//! Which message a request is, by method and path: one walk down a tree of path segments.

use bumpalo::Bump;
use smallvec::SmallVec;

use crate::reading::Reading;
use crate::signature::MessageId;

/// A request as a table writes it: `GET /items/{id}`.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// None for `*`: any.
    pub(crate) method: Option<Box<str>>,
    pub(crate) segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Literal(Box<str>),
    /// `{name}`.
    Capture(Box<str>),
    /// `{name*}` or `*` at the end: whatever follows.
    Tail(Box<str>),
}

impl Route {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((method, path)) = text.split_once(' ') else {
            return Err("a request is written `GET /path`, a response `200`, `2xx` or `*`".to_owned());
        };
        let method = (method != "*").then(|| method.into());
        let path = path.trim();
        if path == "*" {
            return Ok(Self { method, segments: vec![Segment::Tail("_".into())] });
        }
        let Some(path) = path.strip_prefix('/') else {
            return Err(format!("`{path}` is no path: it has to begin with `/`, or to be `*`"));
        };
        let mut segments: Vec<Segment> = Vec::new();
        for segment in path.split('/') {
            if let Some(Segment::Tail(_)) = segments.last() {
                return Err("nothing may come after a capture of several segments".to_owned());
            }
            let capture = segment.strip_prefix('{').and_then(|segment| segment.strip_suffix('}'));
            segments.push(match capture {
                Some(name) => match name.strip_suffix('*') {
                    Some(name) => Segment::Tail(name.into()),
                    None => Segment::Capture(name.into()),
                },
                None if segment == "*" => Segment::Tail("_".into()),
                None if segment.contains(['{', '}']) => {
                    return Err(format!("`{segment}`: a capture is a whole segment"));
                }
                None => Segment::Literal(segment.into()),
            });
        }
        Ok(Self { method, segments })
    }
}

/// All routes.
#[derive(Debug)]
pub(crate) struct Routes {
    // INVARIANT: the first node is the root.
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    literals: Vec<(Box<str>, usize)>,
    capture: Option<usize>,
    ends: Vec<(Option<Box<str>>, MessageId)>,
    tails: Vec<(Option<Box<str>>, MessageId)>,
}

impl Routes {
    pub(crate) fn new() -> Self {
        Self { nodes: vec![Node::default()] }
    }

    pub(crate) fn insert(&mut self, route: &Route, message: MessageId) {
        let mut at = 0;
        for segment in &route.segments {
            let fresh = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else { return };
            let next = match segment {
                Segment::Tail(_) => {
                    node.tails.push((route.method.clone(), message));
                    return;
                }
                Segment::Capture(_) => *node.capture.get_or_insert(fresh),
                Segment::Literal(text) => match node.literals.iter().find(|(other, _)| other == text) {
                    Some((_, child)) => *child,
                    None => {
                        node.literals.push((text.clone(), fresh));
                        fresh
                    }
                },
            };
            if next == fresh {
                self.nodes.push(Node::default());
            }
            at = next;
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.ends.push((route.method.clone(), message));
        }
    }

    /// The message that a request is: one that the protocol takes, else the one with the most literal segments.
    pub(crate) fn find(
        &self,
        method: &[u8],
        path: &[u8],
        reading: Reading<'_>,
        bump: &Bump,
    ) -> Option<MessageId> {
        let mut first = None;
        // What is still to be looked at: a node, where its segments begin, and whether for its tails. The most literal
        // way is on top, and every node is visited twice at most.
        let mut open: SmallVec<[(usize, usize, bool); 8]> = SmallVec::new();
        open.push((0, 1, false));
        while let Some((index, start, tails)) = open.pop() {
            let Some(node) = self.nodes.get(index) else { continue };
            let rest = path.get(start..).filter(|_| !tails);
            if let Some(rest) = rest {
                if !node.tails.is_empty() && !has_dots(rest) {
                    open.push((index, start, true));
                }
                let raw = rest.get(..memchr::memchr(b'/', rest).unwrap_or(rest.len())).unwrap_or_default();
                let next = start + raw.len() + 1;
                let segment = plain(raw, bump);
                if matches!(segment, b"." | b"..") {
                    continue;
                }
                if let Some(capture) = node.capture.filter(|_| !raw.is_empty()) {
                    open.push((capture, next, false));
                }
                if let Some((_, child)) = node.literals.iter().find(|(text, _)| text.as_bytes() == segment) {
                    open.push((*child, next, false));
                }
                continue;
            }
            for (wanted, id) in if tails { &node.tails } else { &node.ends } {
                if wanted.as_ref().is_none_or(|wanted| wanted.as_bytes() == method) {
                    if reading.takes(*id) {
                        return Some(*id);
                    }
                    first = first.or(Some(*id));
                }
            }
        }
        first
    }
}

/// The path of a request's target, without its query, and the query.
pub(crate) fn split_target(target: &[u8]) -> (&[u8], &[u8]) {
    let target = match memchr::memmem::find(target, b"://") {
        Some(scheme) if target.first() != Some(&b'/') => {
            let rest = target.get(scheme + 3..).unwrap_or_default();
            match rest.iter().position(|byte| matches!(byte, b'/' | b'?')) {
                Some(at) => rest.get(at..).unwrap_or_default(),
                None => b"/",
            }
        }
        _ => target,
    };
    match memchr::memchr(b'?', target) {
        Some(at) => (target.get(..at).unwrap_or_default(), target.get(at + 1..).unwrap_or_default()),
        None => (target, b""),
    }
}

/// The segments of `path` from the one at `index` on: the first of them, or with `tail` all.
pub(crate) fn segment(path: &[u8], index: usize, tail: bool) -> &[u8] {
    let mut start = 1;
    for _ in 0..index {
        match path.get(start..).and_then(|rest| memchr::memchr(b'/', rest)) {
            Some(length) => start += length + 1,
            None => return &[],
        }
    }
    let rest = path.get(start..).unwrap_or_default();
    let end = if tail { None } else { memchr::memchr(b'/', rest) };
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}

fn has_dots(path: &[u8]) -> bool {
    path.contains(&b'.') && path.split(|byte| *byte == b'/').any(|segment| matches!(segment, b"." | b".."))
}

/// `raw` without its percent escapes. What is no escape stays.
pub(crate) fn plain<'b>(raw: &'b [u8], bump: &'b Bump) -> &'b [u8] {
    if memchr::memchr(b'%', raw).is_none() {
        return raw;
    }
    unescape(raw, false, bump)
}

#[cold]
pub(crate) fn unescape<'b>(raw: &[u8], plus: bool, bump: &'b Bump) -> &'b [u8] {
    let mut out = bumpalo::collections::Vec::with_capacity_in(raw.len(), bump);
    let mut at = 0;
    let digit = |at: usize| raw.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    while let Some(&byte) = raw.get(at) {
        at += 1;
        out.push(match (byte, digit(at), digit(at + 1)) {
            (b'%', Some(high), Some(low)) => {
                at += 2;
                u8::try_from(high << 4 | low).unwrap_or(0)
            }
            (b'+', ..) if plus => b' ',
            _ => byte,
        });
    }
    out.into_bump_slice()
}
