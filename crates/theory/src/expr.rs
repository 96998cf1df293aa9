//! Expressions: protocol assertions, which are a subset of CEL, and the guards of properties.
//!
//! What is here: the tree ([`Expr`], [`Node`]), its printer, the type checker ([`check()`]), run-time values
//! ([`Value`]) and one evaluator for every [`Dialect`] ([`eval()`]), by the
//! tree, that every other engine is tested against. What is not here: text. `referee-syntax` parses the dialects.
//!
//! The tree does not say how variables are named: assertions name payload variables by text, guards have slots.
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
mod variable;

use std::convert::Infallible;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

pub use crate::value::Value;
pub use check::{Checked, check, check_assertion};
pub use environment::{Environment, InferredExternal, Lookup, Scope, Signature};
pub use error::{Expected, Fix, Position, TypeError, TypeErrorKind};
pub(crate) use eval::truth;
pub use eval::value as guard_value;
pub use eval::{
    Bindings, Computed, EvalError, EvalErrorKind, Externals, NoExternals, Variables, equal, eval,
};
pub use function::{Arity, Function};
pub use operator::{Dialect, Operator, UnaryOperator};
pub use pattern::{BadPattern, CompiledPattern, Pattern};
pub use variable::{set_apart, written_name};

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
pub struct Expr<V = Arc<str>> {
    // INVARIANT: canonical (see `Expr::new`) and at most `MAX_DEPTH` deep.
    node: Node<V>,
    place: Place,
    /// 1 for a leaf.
    depth: u8,
}

/// What an [`Expr`] is made of.
///
/// Trees are built bottom-up by [`Expr::new`]; the boxes below hold expressions that already passed it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node<V = Arc<str>> {
    /// A constant.
    Literal(Literal),
    /// A variable.
    Variable(V),
    /// `[a, b, c]`.
    List(Box<[Expr<V>]>),
    /// Erlang's `{a, b}`.
    Tuple(Box<[Expr<V>]>),
    /// `!a` or `-a`.
    Unary(UnaryOperator, Box<Expr<V>>),
    /// `a == b`, `a + b`, `a in b`, …
    Binary(Operator, Box<[Expr<V>; 2]>),
    /// `a && b && …`, Erlang's `,`: two or more operands, none of them a conjunction. False if any operand is false, even if
    /// another has no value.
    And(Box<[Expr<V>]>),
    /// `a || b || …`, Erlang's `;`: two or more operands, none of them a disjunction. True if any operand is true.
    Or(Box<[Expr<V>]>),
    /// Erlang's `andalso`: left to right until one is false.
    AndAlso(Box<[Expr<V>]>),
    /// Erlang's `orelse`: left to right until one is true.
    OrElse(Box<[Expr<V>]>),
    /// `c ? a : b`, in this order.
    Conditional(Box<[Expr<V>; 3]>),
    /// `r.field`.
    Member(Box<Expr<V>>, Arc<str>),
    /// `xs[i]`, `tuple[0]`, `record["field"]`: the container, then the index.
    Index(Box<[Expr<V>; 2]>),
    /// A built-in. The receiver of a method call is the first argument.
    Call(Function, Box<[Expr<V>]>),
    /// `s.matches("regex")`, the pattern compiled.
    Matches(Box<Expr<V>>, CompiledPattern),
    /// A call to a predicate declared outside the protocol.
    External {
        /// Its name, possibly dotted: `util.validTok`.
        name: Arc<str>,
        /// What it is applied to.
        args: Box<[Expr<V>]>,
    },
}

/// A constant: in assertions a bool, an int, a finite float, text or bytes.
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

impl<V> Expr<V> {
    /// The expression `node` standing at `place`, in canonical form: a conjunction directly inside a
    /// conjunction is spliced into it (and so for `||`), a conjunction of one is that one, of none `true`
    /// (`false` for `||`), and `-0.0` is the negation of `0.0`. None changes the meaning, not even which error is reported.
    ///
    /// # Errors
    /// [`TooDeep`] if the tree would be deeper than [`MAX_DEPTH`].
    pub fn new(node: Node<V>, place: Place) -> Result<Self, TooDeep> {
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
            Node::AndAlso(operands) | Node::OrElse(operands) if operands.len() == 1 => {
                match operands.into_iter().next() {
                    Some(only) => return Ok(only),
                    None => Node::Literal(Literal::Bool(true)),
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

    /// What this expression is made of.
    #[must_use]
    pub fn node(&self) -> &Node<V> {
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

    /// Visits the variables, from left to right.
    pub fn variables<'a>(&'a self, visit: &mut dyn FnMut(&'a V)) {
        if let Node::Variable(variable) = &self.node {
            visit(variable);
        }
        self.node.children().iter().for_each(|child| child.variables(visit));
    }
}

impl Expr {
    /// A variable without a place.
    #[must_use]
    pub fn variable(name: &str) -> Self {
        Self { node: Node::Variable(name.into()), place: Place::NONE, depth: 1 }
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

    /// The same with an expression in place of each variable for which `replacement` has one.
    ///
    /// # Errors
    /// [`TooDeep`] if the tree would be deeper than [`MAX_DEPTH`].
    pub fn substitute(&self, replacement: &dyn Fn(&Arc<str>) -> Option<Self>) -> Result<Self, TooDeep> {
        if let Node::Variable(name) = &self.node {
            return Ok(replacement(name).unwrap_or_else(|| self.clone()));
        }
        let one = &mut |expr: &Self| expr.substitute(replacement);
        match self.node.over(one)? {
            Some(node) => Self::new(node, self.place),
            None => Ok(self.clone()),
        }
    }

    /// The expression with variables called as `name` says, or as they are.
    #[must_use]
    pub fn renamed(&self, name: &dyn Fn(&Arc<str>) -> Option<Arc<str>>) -> Self {
        let Ok(node) = self.node.over::<_, Infallible>(&mut |part| Ok(part.renamed(name)));
        let variable = || match &self.node {
            Node::Variable(known) => name(known).map(Node::Variable),
            _ => None,
        };
        let node = node.or_else(variable).unwrap_or_else(|| self.node.clone());
        Self { node, ..*self }
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

impl<V: PartialEq> PartialEq for Expr<V> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl<V: Eq> Eq for Expr<V> {}

impl<V: Hash> Hash for Expr<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.node.hash(state);
    }
}

/// What an expression over other variables is made of, part by part.
pub type Rewrite<'o, V, W, E> = dyn FnMut(&Expr<V>) -> Result<Expr<W>, E> + 'o;

impl<V> Node<V> {
    /// The expressions directly below, from left to right.
    #[must_use]
    pub fn children(&self) -> &[Expr<V>] {
        match self {
            Self::Literal(_) | Self::Variable(_) => &[],
            Self::List(parts)
            | Self::Tuple(parts)
            | Self::And(parts)
            | Self::Or(parts)
            | Self::AndAlso(parts)
            | Self::OrElse(parts)
            | Self::Call(_, parts)
            | Self::External { args: parts, .. } => parts,
            Self::Unary(_, operand) | Self::Member(operand, _) | Self::Matches(operand, _) => {
                std::slice::from_ref(operand)
            }
            Self::Binary(_, pair) | Self::Index(pair) => pair.as_slice(),
            Self::Conditional(parts) => parts.as_slice(),
        }
    }

    /// The same node over what `one` makes of the expressions below; `None` for a variable, which is not this tree's to rename.
    ///
    /// # Errors
    /// The first of `one`.
    pub fn over<W, E>(&self, one: &mut Rewrite<'_, V, W, E>) -> Result<Option<Node<W>>, E> {
        fn each<V, W, E>(parts: &[Expr<V>], one: &mut Rewrite<'_, V, W, E>) -> Result<Box<[Expr<W>]>, E> {
            parts.iter().map(one).collect()
        }
        Ok(Some(match self {
            Self::Variable(_) => return Ok(None),
            Self::Literal(literal) => Node::Literal(literal.clone()),
            Self::List(parts) => Node::List(each(parts, one)?),
            Self::Tuple(parts) => Node::Tuple(each(parts, one)?),
            Self::And(parts) => Node::And(each(parts, one)?),
            Self::Or(parts) => Node::Or(each(parts, one)?),
            Self::AndAlso(parts) => Node::AndAlso(each(parts, one)?),
            Self::OrElse(parts) => Node::OrElse(each(parts, one)?),
            Self::Call(function, parts) => Node::Call(*function, each(parts, one)?),
            Self::External { name, args } => {
                Node::External { name: Arc::clone(name), args: each(args, one)? }
            }
            Self::Unary(operator, operand) => Node::Unary(*operator, Box::new(one(operand)?)),
            Self::Binary(operator, pair) => {
                Node::Binary(*operator, Box::new([one(&pair[0])?, one(&pair[1])?]))
            }
            Self::Conditional(parts) => {
                Node::Conditional(Box::new([one(&parts[0])?, one(&parts[1])?, one(&parts[2])?]))
            }
            Self::Member(record, field) => Node::Member(Box::new(one(record)?), Arc::clone(field)),
            Self::Index(pair) => Node::Index(Box::new([one(&pair[0])?, one(&pair[1])?])),
            Self::Matches(text, pattern) => Node::Matches(Box::new(one(text)?), pattern.clone()),
        }))
    }
}

/// The operands of a conjunction (or disjunction), nested ones spliced in.
fn splice<V>(operands: Box<[Expr<V>]>, conjunction: bool) -> Vec<Expr<V>> {
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
