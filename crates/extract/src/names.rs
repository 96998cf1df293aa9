//! The names of members that a source reads, numbered: what nobody reads is not kept, and what is read is found without
//! comparing texts.

/// Names, each with its number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    all: Vec<String>,
}

impl Names {
    /// The number of `name`, which is one from now on.
    pub(crate) fn number(&mut self, name: &str) -> usize {
        self.find(name).unwrap_or_else(|| {
            self.all.push(name.to_owned());
            self.all.len() - 1
        })
    }

    /// The number of `name`, if something reads it.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|known| known == name)
    }

    /// Whether something reads a member of the member called `name`.
    pub(crate) fn has_inner(&self, name: &str) -> bool {
        self.all.iter().any(|known| known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}
