//! Why a machine has no monitor.

use std::fmt;
use std::sync::Arc;

use referee_theory::expr::{Expr, Signature, TypeError};
use referee_theory::{Origin, Type};

/// Why a machine has no monitor: all reasons.
#[derive(Clone, Debug)]
pub struct SynthesisError {
    problems: Vec<SynthesisProblem>,
}

impl SynthesisError {
    pub(super) fn new(problems: Vec<SynthesisProblem>) -> Self {
        Self { problems }
    }

    /// Each reason, at least one.
    #[must_use]
    pub fn problems(&self) -> &[SynthesisProblem] {
        &self.problems
    }

    /// The external predicates that nobody registered, with their signatures where known, if nothing else is wrong.
    #[must_use]
    pub fn only_missing(&self) -> Option<Vec<String>> {
        let missing = |problem: &SynthesisProblem| match problem {
            SynthesisProblem::Missing { name, signature: Some(signature) } => {
                Some(format!("`{name}{signature}`"))
            }
            SynthesisProblem::Missing { name, signature: None } => Some(format!("`{name}`")),
            _ => None,
        };
        self.problems.iter().map(missing).collect()
    }
}

/// One reason why a machine has no monitor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SynthesisProblem {
    /// An external predicate that nobody registered.
    Missing {
        /// Its name.
        name: Arc<str>,
        /// What it must take and give, as declared or as called; `None` if the call does not tell.
        signature: Option<Signature>,
    },
    /// A registered predicate that is not what the protocol declares.
    Signature {
        /// Its name.
        name: Arc<str>,
        /// What the protocol says.
        declared: Signature,
        /// What was registered.
        given: Signature,
    },
    /// An assertion that is not a well-typed boolean, given what is bound and registered.
    IllTyped {
        /// The assertion.
        expr: Arc<Expr>,
        /// Where its message stands.
        origin: Origin,
        /// What is wrong with it.
        errors: Vec<TypeError>,
    },
    /// An assertion reads a variable that is not bound on some way to it.
    Unbound {
        /// The variable.
        variable: Arc<str>,
        /// The state where it is needed and may not be there.
        state: String,
    },
    /// An assertion reads a variable that is bound with different types on different ways to it.
    Ambiguous {
        /// The variable.
        variable: Arc<str>,
        /// The state where the ways meet.
        state: String,
        /// The types.
        types: (Type, Type),
    },
    /// Recursion data whose initial value cannot be computed.
    NoInitialValue {
        /// The variable.
        variable: Arc<str>,
        /// Its initial value.
        value: Arc<Expr>,
    },
    /// A state has two transitions for one message.
    Nondeterministic {
        /// The state.
        state: String,
        /// The label.
        label: Arc<str>,
        /// Where both stand.
        places: (Origin, Origin),
    },
    /// A message with more fields than can be counted in 16 bits.
    TooManyFields {
        /// The label.
        label: Arc<str>,
    },
}

impl fmt::Display for SynthesisProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { name, signature: Some(signature) } => {
                write!(f, "external predicate `{name}{signature}` is not registered")
            }
            Self::Missing { name, signature: None } => {
                write!(f, "external predicate `{name}` is not registered")
            }
            Self::Signature { name, declared, given } => {
                write!(
                    f,
                    "external predicate `{name}` is declared as `{declared}` but registered as `{given}`"
                )
            }
            Self::IllTyped { expr, .. } => write!(f, "assertion `{expr}` is not well typed"),
            Self::Unbound { variable, state } => {
                write!(f, "variable `{variable}` is needed in state `{state}`, where it may not be bound")
            }
            Self::Ambiguous { variable, state, types: (left, right) } => {
                write!(f, "variable `{variable}` reaches state `{state}` as `{left}` and as `{right}`")
            }
            Self::NoInitialValue { variable, value } => {
                write!(f, "`{value}`, the initial value of `{variable}`, cannot be computed")
            }
            Self::Nondeterministic { state, label, .. } => {
                write!(f, "state `{state}` has two transitions for `{label}`")
            }
            Self::TooManyFields { label } => write!(f, "message `{label}` has more than 65,534 fields"),
        }
    }
}

impl fmt::Display for SynthesisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if i > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for SynthesisError {}
