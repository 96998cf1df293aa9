//! Assertion expressions over payload variables: a subset of CEL.
//!
//! What is here: the tree ([`Expr`], [`Node`]), its printer, the type checker ([`check()`]), run-time values
//! ([`Value`]) and a tree-walking evaluator ([`eval()`]) that is the slow, obviously right meaning every
//! other engine is tested against. What is not here: text. `referee-syntax` parses the three dialects.
//!
//! A tree is never deeper than [`MAX_DEPTH`]: [`Expr::new`] refuses to build one. Recursion over
//! expressions is therefore safe everywhere, in drop and derived code too. Conjunctions and disjunctions
//! are n-ary, so that a long one, as generated protocols have, is wide and not deep.
//!
//! Read next: `environment` and `check` for the typing rules, `eval` for the meaning, `print` for the text.

mod check;
mod environment;
mod error;
mod eval;
mod function;
mod operator;
mod pattern;
pub(crate) mod print;
#[cfg(test)]
mod tests;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

pub use crate::value::Value;
pub use check::{Checked, check, check_assertion};
pub use environment::{Environment, InferredExternal, Lookup, Scope, Signature};
pub use error::{Expected, Fix, Position, TypeError, TypeErrorKind};
pub use eval::{Bindings, EvalError, EvalErrorKind, Externals, NoExternals, equal, eval};
pub use function::{Arity, Function};
pub use operator::{Operator, UnaryOperator};
pub use pattern::{BadPattern, Pattern};

/// Names that occur in an expression: few, as a rule.
pub type Names<'a> = SmallVec<[&'a Arc<str>; 4]>;

/// How deep an expression may be nested.
pub const MAX_DEPTH: usize = 128;

/// Where an expression stands: a byte range of the file it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Place {
    /// For what no text stands behind: generated expressions, tests.
    pub const NONE: Self = Self { start: u32::MAX, end: u32::MAX };

    /// The bytes from `start` up to `end`.
    #[must_use]
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }
}

/// An expression and where it stands.
///
/// Equality and hashing ignore the places: two assertions are equal if they read the same.
#[derive(Clone, Debug)]
pub struct Expr {
    // INVARIANT: canonical (see `Expr::new`) and at most `MAX_DEPTH` deep.
    node: Node,
    place: Place,
    /// 1 for a leaf.
    depth: u8,
}

/// What an [`Expr`] is made of.
///
/// Trees are built bottom-up by [`Expr::new`]; the boxes below hold expressions that already passed it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A constant.
    Literal(Literal),
    /// A payload variable.
    Variable(Arc<str>),
    /// `[a, b, c]`.
    List(Box<[Expr]>),
    /// `!a` or `-a`.
    Unary(UnaryOperator, Box<Expr>),
    /// `a == b`, `a + b`, `a in b`, …
    Binary(Operator, Box<[Expr; 2]>),
    /// `a && b && …`: two or more operands, none of them a conjunction.
    And(Box<[Expr]>),
    /// `a || b || …`: two or more operands, none of them a disjunction.
    Or(Box<[Expr]>),
    /// `c ? a : b`, in this order.
    Conditional(Box<[Expr; 3]>),
    /// `r.field`.
    Member(Box<Expr>, Arc<str>),
    /// `xs[i]`, `tuple[0]`, `record["field"]`: the container, then the index.
    Index(Box<[Expr; 2]>),
    /// A built-in. The receiver of a method call is the first argument.
    Call(Function, Box<[Expr]>),
    /// A call to a predicate declared outside the protocol.
    External {
        /// Its name, possibly dotted: `util.validTok`.
        name: Arc<str>,
        /// What it is applied to.
        args: Box<[Expr]>,
    },
}

/// A constant: a bool, an int, a finite float, text or bytes.
pub type Literal = Value;

/// An expression would be nested deeper than [`MAX_DEPTH`] levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDeep;

impl fmt::Display for TooDeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expression nested deeper than {MAX_DEPTH} levels")
    }
}

impl std::error::Error for TooDeep {}

impl Expr {
    /// The expression `node` standing at `place`, in canonical form: a conjunction directly inside a
    /// conjunction is spliced into it (and so for `||`), a conjunction of one is that one, of none `true`
    /// (`false` for `||`), and `-0.0` is the negation of `0.0`. None changes the meaning, not even which error is reported.
    ///
    /// # Errors
    /// [`TooDeep`] if the tree would be deeper than [`MAX_DEPTH`].
    pub fn new(node: Node, place: Place) -> Result<Self, TooDeep> {
        let conjunction = matches!(node, Node::And(_));
        let node = match node {
            Node::And(operands) | Node::Or(operands) => {
                let mut operands = splice(operands, conjunction);
                match (operands.pop(), conjunction) {
                    (None, neutral) => Node::Literal(Literal::Bool(neutral)),
                    (Some(only), _) if operands.is_empty() => return Ok(only),
                    (Some(last), _) => {
                        operands.push(last);
                        if conjunction { Node::And(operands.into()) } else { Node::Or(operands.into()) }
                    }
                }
            }
            Node::Literal(literal) => return Ok(Self::constant(literal, place)),
            other => other,
        };
        let below = node.children().iter().map(|child| child.depth).max().unwrap_or(0);
        if usize::from(below) >= MAX_DEPTH {
            return Err(TooDeep);
        }
        Ok(Self { node, place, depth: below + 1 })
    }

    /// A constant without a place.
    #[must_use]
    pub fn literal(literal: Literal) -> Self {
        Self::constant(literal, Place::NONE)
    }

    /// Zeros are equal whatever their sign, but `1.0 / -0.0` is not `1.0 / 0.0`: the sign stands apart.
    fn constant(literal: Literal, place: Place) -> Self {
        match literal {
            Literal::Float(value) if value == 0.0 && value.is_sign_negative() => {
                let zero = Self { node: Node::Literal(Literal::Float(0.0)), place, depth: 1 };
                Self { node: Node::Unary(UnaryOperator::Negate, Box::new(zero)), place, depth: 2 }
            }
            literal => Self { node: Node::Literal(literal), place, depth: 1 },
        }
    }

    /// A variable without a place.
    #[must_use]
    pub fn variable(name: &str) -> Self {
        Self { node: Node::Variable(name.into()), place: Place::NONE, depth: 1 }
    }

    /// What this expression is made of.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Where it stands.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// How deep it is nested: 1 for a constant or a variable.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth.into()
    }

    /// The names of the variables it mentions, sorted, each once.
    #[must_use]
    pub fn free_variables(&self) -> Names<'_> {
        self.names(|node| match node {
            Node::Variable(name) => Some(name),
            _ => None,
        })
    }

    /// The names of the external predicates it calls, sorted, each once.
    #[must_use]
    pub fn externals(&self) -> Names<'_> {
        self.names(|node| match node {
            Node::External { name, .. } => Some(name),
            _ => None,
        })
    }

    /// Of how many parts it is made.
    #[must_use]
    pub fn parts(&self) -> usize {
        let mut parts = 0;
        let mut pending: SmallVec<[&Self; 8]> = smallvec![self];
        while let Some(expr) = pending.pop() {
            parts += 1;
            pending.extend(expr.node.children());
        }
        parts
    }

    /// The same with an expression in place of each variable for which `replacement` has one.
    ///
    /// # Errors
    /// [`TooDeep`] if the tree would be deeper than [`MAX_DEPTH`].
    pub fn substitute(&self, replacement: &dyn Fn(&Arc<str>) -> Option<Self>) -> Result<Self, TooDeep> {
        let one = |expr: &Self| expr.substitute(replacement);
        let all = |parts: &[Self]| parts.iter().map(one).collect::<Result<Box<[Self]>, TooDeep>>();
        let pair = |parts: &[Self; 2]| Ok::<_, TooDeep>(Box::new([one(&parts[0])?, one(&parts[1])?]));
        let node = match &self.node {
            Node::Literal(_) => return Ok(self.clone()),
            Node::Variable(name) => return Ok(replacement(name).unwrap_or_else(|| self.clone())),
            Node::List(parts) => Node::List(all(parts)?),
            Node::Unary(operator, operand) => Node::Unary(*operator, Box::new(one(operand)?)),
            Node::Binary(operator, parts) => Node::Binary(*operator, pair(parts)?),
            Node::And(parts) => Node::And(all(parts)?),
            Node::Or(parts) => Node::Or(all(parts)?),
            Node::Conditional(parts) => {
                Node::Conditional(Box::new([one(&parts[0])?, one(&parts[1])?, one(&parts[2])?]))
            }
            Node::Member(record, field) => Node::Member(Box::new(one(record)?), Arc::clone(field)),
            Node::Index(parts) => Node::Index(pair(parts)?),
            Node::Call(function, parts) => Node::Call(*function, all(parts)?),
            Node::External { name, args } => Node::External { name: Arc::clone(name), args: all(args)? },
        };
        Self::new(node, self.place)
    }

    fn names<'a>(&'a self, pick: impl Fn(&'a Node) -> Option<&'a Arc<str>>) -> Names<'a> {
        let mut names = Names::new();
        let mut pending: SmallVec<[&Self; 8]> = smallvec![self];
        while let Some(expr) = pending.pop() {
            names.extend(pick(&expr.node));
            pending.extend(expr.node.children());
        }
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.node.hash(state);
    }
}

impl Node {
    /// The expressions directly below, from left to right.
    #[must_use]
    pub fn children(&self) -> &[Expr] {
        match self {
            Self::Literal(_) | Self::Variable(_) => &[],
            Self::List(parts)
            | Self::And(parts)
            | Self::Or(parts)
            | Self::Call(_, parts)
            | Self::External { args: parts, .. } => parts,
            Self::Unary(_, operand) => std::slice::from_ref(operand),
            Self::Member(record, _) => std::slice::from_ref(record),
            Self::Binary(_, pair) | Self::Index(pair) => pair.as_slice(),
            Self::Conditional(parts) => parts.as_slice(),
        }
    }
}

/// The operands of a conjunction (or disjunction), nested ones spliced in.
fn splice(operands: Box<[Expr]>, conjunction: bool) -> Vec<Expr> {
    let mut flat = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand.node {
            // The inner node is canonical, so one level of splicing is enough.
            Node::And(inner) if conjunction => flat.extend(inner),
            Node::Or(inner) if !conjunction => flat.extend(inner),
            _ => flat.push(operand),
        }
    }
    flat
}
