//! External predicates: what `util.validTok(tok)` in an assertion calls.
//!
//! A predicate is a value with a signature. It is given borrowed arguments and answers or fails; a failure is
//! a fault of the configuration ([`Verdict::Fault`](crate::Verdict)), never blamed on a peer. It should
//! depend on its arguments only: how often it is called is not part of the meaning of an assertion.

use std::fmt;
use std::sync::Arc;

use referee_theory::Term;
use referee_theory::expr::{Signature, Value};
use rustc_hash::FxHashMap;

/// An argument of an external predicate, of the type its signature says. A value of an opaque type is passed as its text.
pub type Argument<'a> = Term<'a>;

/// An external predicate. Implemented by what [`Registry::register`] makes of a closure; an engine for
/// predicates in another language implements it itself.
pub trait Predicate: Send + Sync {
    /// What it takes and gives.
    fn signature(&self) -> &Signature;

    /// Its answer for `args`, which are as many and of the types as the signature says.
    ///
    /// # Errors
    /// Why there is no answer, in a few words.
    fn call(&self, args: &[Argument<'_>]) -> Result<Value, String>;
}

/// The predicates that monitors may call, by name, and what protocols say their signatures are.
#[derive(Clone, Default)]
pub struct Registry {
    predicates: FxHashMap<Arc<str>, Arc<dyn Predicate>>,
    declared: FxHashMap<Arc<str>, Signature>,
}

impl Registry {
    /// No predicates.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes `answer` the predicate `name`; a later one replaces an earlier one.
    pub fn register(
        &mut self,
        name: &str,
        signature: Signature,
        answer: impl Fn(&[Argument<'_>]) -> Result<Value, String> + Send + Sync + 'static,
    ) {
        self.insert(name, Arc::new(Closure { signature, answer }));
    }

    /// Makes `predicate` the predicate `name`; a later one replaces an earlier one.
    pub fn insert(&mut self, name: &str, predicate: Arc<dyn Predicate>) {
        self.predicates.insert(name.into(), predicate);
    }

    /// States what the protocol's text declares `name` to be: synthesis refuses another signature.
    pub fn declare(&mut self, name: &str, signature: Signature) {
        self.declared.insert(name.into(), signature);
    }

    /// The predicate called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Predicate>> {
        self.predicates.get(name)
    }

    /// What the protocol declares `name` to be.
    #[must_use]
    pub fn declared(&self, name: &str) -> Option<&Signature> {
        self.declared.get(name)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.predicates.keys()).finish()
    }
}

struct Closure<F> {
    signature: Signature,
    answer: F,
}

impl<F> Predicate for Closure<F>
where
    F: Fn(&[Argument<'_>]) -> Result<Value, String> + Send + Sync,
{
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn call(&self, args: &[Argument<'_>]) -> Result<Value, String> {
        (self.answer)(args)
    }
}
