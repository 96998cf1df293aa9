//! Assertion expressions over payload variables (a subset of CEL).

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A payload variable.
    Variable(std::sync::Arc<str>),
}
