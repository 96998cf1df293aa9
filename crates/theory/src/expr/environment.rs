//! What an expression may refer to: variables with their types, external predicates with their signatures.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::payload::Type;

/// What an external predicate takes and gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The types of its arguments.
    pub parameters: Arc<[Type]>,
    /// The type of its result.
    pub result: Type,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (i, parameter) in self.parameters.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{parameter}")?;
        }
        write!(f, "): {}", self.result)
    }
}

/// A predicate that was called without being declared, and the signature its first call implies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InferredExternal {
    /// Its name.
    pub name: Arc<str>,
    /// The argument types of that call, and `bool`.
    pub signature: Signature,
}

/// What an [`Environment`] knows of an external predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It is declared.
    Declared(Signature),
    /// It is not declared and need not be: take what the call implies.
    Undeclared,
    /// There is no such predicate.
    Unknown,
}

/// What an expression may refer to.
pub trait Environment {
    /// The type of the variable `name`.
    fn variable(&self, name: &str) -> Option<Type>;

    /// What is known of the external predicate `name`.
    fn external(&self, name: &str) -> Lookup;

    /// The variables, to suggest one for a misspelt name.
    fn variables(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// The external predicates, likewise.
    fn externals(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// An [`Environment`] made of tables.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    variables: IndexMap<Arc<str>, Type, FxBuildHasher>,
    externals: IndexMap<Arc<str>, Signature, FxBuildHasher>,
    infers: bool,
}

impl Scope {
    /// Nothing known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts predicates nobody declared, as `.st` files call them.
    #[must_use]
    pub fn inferring(mut self) -> Self {
        self.infers = true;
        self
    }

    /// Binds the variable `name`; a later binding replaces an earlier one.
    pub fn bind(&mut self, name: &str, ty: Type) {
        self.variables.insert(name.into(), ty);
    }

    /// Declares the external predicate `name`.
    pub fn declare(&mut self, name: &str, signature: Signature) {
        self.externals.insert(name.into(), signature);
    }

    /// Declares what a check inferred, so that later expressions must agree with it.
    pub fn adopt(&mut self, inferred: impl IntoIterator<Item = InferredExternal>) {
        for external in inferred {
            self.externals.entry(external.name).or_insert(external.signature);
        }
    }
}

impl Environment for Scope {
    fn variable(&self, name: &str) -> Option<Type> {
        self.variables.get(name).cloned()
    }

    fn external(&self, name: &str) -> Lookup {
        match self.externals.get(name) {
            Some(signature) => Lookup::Declared(signature.clone()),
            None if self.infers => Lookup::Undeclared,
            None => Lookup::Unknown,
        }
    }

    fn variables(&self) -> Vec<Arc<str>> {
        self.variables.keys().cloned().collect()
    }

    fn externals(&self) -> Vec<Arc<str>> {
        self.externals.keys().cloned().collect()
    }
}
