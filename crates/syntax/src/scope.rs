//! Which definition a recursion variable means: the innermost one of its name.

use rustc_hash::FxHashMap;

/// The recursion variables in force at some place of a text, innermost last.
pub(crate) struct Scope<'a, N> {
    order: Vec<&'a str>,
    by_name: FxHashMap<&'a str, Vec<N>>,
}

/// How many names "did you mean …?" looks at, so that many mistakes stay cheap.
pub(crate) const MOST_SUGGESTIONS: usize = 32;

impl<'a, N: Copy> Scope<'a, N> {
    pub(crate) fn new() -> Self {
        Self { order: Vec::new(), by_name: FxHashMap::default() }
    }

    /// Enters the definition `node` of `name`.
    pub(crate) fn enter(&mut self, name: &'a str, node: N) {
        self.order.push(name);
        self.by_name.entry(name).or_default().push(node);
    }

    /// How many definitions are in force.
    pub(crate) fn depth(&self) -> usize {
        self.order.len()
    }

    /// Leaves definitions until only `depth` are in force.
    pub(crate) fn leave_to(&mut self, depth: usize) {
        for name in self.order.drain(depth.min(self.order.len())..) {
            if let Some(nodes) = self.by_name.get_mut(name) {
                nodes.pop();
            }
        }
    }

    /// What `name` means here.
    pub(crate) fn find(&self, name: &str) -> Option<N> {
        self.by_name.get(name).and_then(|nodes| nodes.last().copied())
    }

    /// Which of the definitions in force `name` means, counted from the outside.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.order.iter().rposition(|known| *known == name)
    }

    /// The nearest names, for suggestions.
    pub(crate) fn nearest(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.order.iter().rev().take(MOST_SUGGESTIONS).copied()
    }
}
