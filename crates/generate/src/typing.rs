//! The types of the parts of a well-typed expression: what a target has to know to write it down.

use std::collections::BTreeMap;
use std::sync::Arc;

use referee_theory::Type;
use referee_theory::expr::{Expr, Function, Literal, Node, Operator, Signature, UnaryOperator};

/// The types of what an expression may refer to.
#[derive(Debug)]
pub(crate) struct Types<'a> {
    pub(crate) variables: BTreeMap<Arc<str>, Type>,
    pub(crate) predicates: &'a BTreeMap<Arc<str>, Signature>,
}

impl Types<'_> {
    /// The type of `expr`, which is well typed; `hint` is what its context wants, which only `[]` depends on.
    pub(crate) fn of(&self, expr: &Expr, hint: Option<&Type>) -> Type {
        match expr.node() {
            Node::Literal(literal) => match literal {
                Literal::Int(_) => Type::Int,
                Literal::Float(_) => Type::Float,
                Literal::String(_) => Type::String,
                Literal::Bytes(_) => Type::Bytes,
                _ => Type::Bool,
            },
            Node::Variable(name) => self.variables.get(name).cloned().unwrap_or(Type::Bool),
            Node::List(elements) => match (elements.first(), hint) {
                (Some(_), _) => {
                    let wanted = if let Some(Type::List(wanted)) = hint { Some(&**wanted) } else { None };
                    Type::list(self.of_all(elements, wanted))
                }
                (None, Some(hint)) => hint.clone(),
                (None, None) => Type::list(Type::Unit),
            },
            Node::Unary(UnaryOperator::Not, _) | Node::And(_) | Node::Or(_) | Node::Matches(..) => Type::Bool,
            // Only guards of properties have these; the monitor refuses them in a protocol.
            Node::Tuple(_) | Node::AndAlso(_) | Node::OrElse(_) => Type::Bool,
            Node::Unary(UnaryOperator::Negate, operand) => self.of(operand, hint),
            Node::Binary(operator, operands) => match operator {
                Operator::Add
                | Operator::Subtract
                | Operator::Multiply
                | Operator::Divide
                | Operator::Remainder => self.of_all(&**operands, hint),
                _ => Type::Bool,
            },
            Node::Conditional(parts) => self.of_all(&parts[1..], hint),
            Node::Member(record, field) => self.member(&self.of(record, None), field),
            Node::Index(parts) => match (self.of(&parts[0], None), parts[1].node()) {
                (Type::List(element), _) => Type::clone(&element),
                (Type::Tuple(types), Node::Literal(Literal::Int(at))) => {
                    usize::try_from(*at).ok().and_then(|at| types.get(at).cloned()).unwrap_or(Type::Unit)
                }
                (record, Node::Literal(Literal::String(field))) => self.member(&record, field),
                _ => Type::Unit,
            },
            Node::Call(function, args) => match function {
                Function::Size | Function::Int => Type::Int,
                Function::StartsWith | Function::EndsWith | Function::Contains | Function::Matches => {
                    Type::Bool
                }
                Function::Float => Type::Float,
                Function::String => Type::String,
                Function::Abs | Function::Min | Function::Max => self.of_all(args, None),
                // As above.
                _ => Type::Bool,
            },
            Node::External { name, .. } => {
                self.predicates.get(name).map_or(Type::Bool, |signature| signature.result.clone())
            }
        }
    }

    /// The one type of `exprs`: that of the first which is not an empty list.
    pub(crate) fn of_all(&self, exprs: &[Expr], hint: Option<&Type>) -> Type {
        let known = exprs.iter().find(|expr| !has_bare_list(expr)).or(exprs.first());
        known.map_or(Type::Unit, |expr| self.of(expr, hint))
    }

    fn member(&self, record: &Type, field: &str) -> Type {
        let Type::Record(fields) = record else { return Type::Unit };
        fields.iter().find(|(name, _)| **name == *field).map_or(Type::Unit, |(_, ty)| ty.clone())
    }
}

/// Whether the type of `expr` is that of a `[]` in it.
fn has_bare_list(expr: &Expr) -> bool {
    match expr.node() {
        Node::List(elements) => elements.iter().all(has_bare_list),
        Node::Binary(Operator::Add, operands) => operands.iter().all(has_bare_list),
        Node::Conditional(parts) => parts[1..].iter().all(has_bare_list),
        _ => false,
    }
}
