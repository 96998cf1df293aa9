//! Names for recursion variables, so that every call means its own definition.

use rustc_hash::{FxHashMap, FxHashSet};

/// The recursion variables in force at some place of the text being written.
#[derive(Default)]
pub(super) struct Binders {
    names: FxHashMap<u32, String>,
    in_force: FxHashSet<String>,
    next: FxHashMap<String, u32>,
}

impl Binders {
    /// Names the definition `node`: `wanted` unless a definition around it is called so.
    pub(super) fn enter(&mut self, node: u32, wanted: &str) -> &str {
        let mut name = wanted.to_string();
        while self.in_force.contains(&name) {
            let next = self.next.entry(wanted.to_string()).or_insert(0);
            *next += 1;
            name = format!("{wanted}{next}");
        }
        self.in_force.insert(name.clone());
        let slot = self.names.entry(node).or_default();
        *slot = name;
        slot
    }

    /// The definition `node` ends.
    pub(super) fn leave(&mut self, node: u32) {
        if let Some(name) = self.names.remove(&node) {
            self.in_force.remove(&name);
        }
    }

    /// What the definition `node` is called here.
    pub(super) fn name(&self, node: u32) -> Option<&str> {
        self.names.get(&node).map(String::as_str)
    }
}
