//! The typing rules of lists, tuples and records.

use std::sync::Arc;

use super::super::error::{Expected, TypeErrorKind};
use super::super::{Expr, Literal, Node, Operator};
use super::Checker;
use crate::payload::Type;

impl Checker<'_> {
    /// The types of two expressions that should agree: a list without a type of its own comes second.
    pub(super) fn pair(
        &mut self,
        left: &Expr,
        right: &Expr,
        hint: Option<&Type>,
    ) -> (Option<Type>, Option<Type>) {
        if is_untyped(left) && !is_untyped(right) {
            let right = self.infer(right, hint);
            // Without the other side's type, `[]` would be a second report of the same mistake.
            let left = right.as_ref().and_then(|right| self.infer(left, Some(right)));
            return (left, right);
        }
        let left = self.infer(left, hint);
        if left.is_none() && is_untyped(right) {
            return (None, None);
        }
        let right = self.infer(right, left.as_ref().or(hint));
        (left, right)
    }

    pub(super) fn list(&mut self, expr: &Expr, elements: &[Expr], hint: Option<&Type>) -> Option<Type> {
        let wanted = match hint {
            Some(Type::List(element)) => Some(&**element),
            _ => None,
        };
        let Some(typed) = elements.iter().find(|element| !is_untyped(element)).or(elements.first()) else {
            if let Some(element) = wanted {
                return Some(Type::list(element.clone()));
            }
            self.report(expr, TypeErrorKind::EmptyList);
            return None;
        };
        let first = self.infer(typed, wanted)?;
        let mut uniform = true;
        for element in elements.iter().filter(|element| !std::ptr::eq(*element, typed)) {
            match self.infer(element, Some(&first)) {
                Some(found) if found == first => {}
                Some(found) => {
                    self.report(element, TypeErrorKind::UnequalElements { first: first.clone(), found });
                    uniform = false;
                }
                None => uniform = false,
            }
        }
        uniform.then(|| Type::list(first))
    }

    pub(super) fn membership(&mut self, expr: &Expr, element: &Expr, list: &Expr) {
        let Some(element_type) = self.infer(element, None) else {
            if !is_untyped(list) {
                self.infer(list, None);
            }
            return;
        };
        let Some(list_type) = self.infer(list, Some(&Type::list(element_type.clone()))) else { return };
        match &list_type {
            Type::List(inner) if **inner == element_type => {}
            Type::List(_) => self.report(
                expr,
                TypeErrorKind::UnequalOperands {
                    operator: Operator::In.symbol(),
                    left: element_type,
                    right: list_type,
                },
            ),
            _ => {
                self.operand(Operator::In.symbol(), list, &list_type, Expected::List);
            }
        }
    }

    pub(super) fn field(&mut self, expr: &Expr, record: &Type, field: &Arc<str>) -> Option<Type> {
        let field = Arc::clone(field);
        let Type::Record(fields) = record else {
            self.report(expr, TypeErrorKind::NotARecord { field, found: record.clone() });
            return None;
        };
        if let Some((_, ty)) = fields.iter().find(|(name, _)| *name == field) {
            return Some(ty.clone());
        }
        let candidates = fields.iter().map(|(name, _)| Arc::clone(name)).collect();
        self.report(expr, TypeErrorKind::UnknownField { field, record: record.clone(), candidates });
        None
    }

    pub(super) fn index(&mut self, expr: &Expr, container: &Expr, index: &Expr) -> Option<Type> {
        let container_type = self.infer(container, None);
        let index_type = self.infer(index, None);
        let (container, found) = (container_type?, index_type?);
        let expected = match &container {
            Type::List(_) | Type::Tuple(_) => Type::Int,
            Type::Record(_) => Type::String,
            _ => {
                self.report(expr, TypeErrorKind::NotIndexable { found: container });
                return None;
            }
        };
        if found != expected {
            self.report(index, TypeErrorKind::WrongIndex { container, expected, found });
            return None;
        }
        match (&container, index.node()) {
            (Type::List(element), _) => Some((**element).clone()),
            (Type::Record(_), Node::Literal(Literal::String(field))) => self.field(expr, &container, field),
            (Type::Tuple(parts), Node::Literal(Literal::Int(at))) => {
                let part = usize::try_from(*at).ok().and_then(|at| parts.get(at));
                if part.is_none() {
                    let length = parts.len();
                    self.report(index, TypeErrorKind::IndexOutOfRange { index: *at, length });
                }
                part.cloned()
            }
            _ => {
                self.report(index, TypeErrorKind::NonLiteralIndex { container });
                None
            }
        }
    }
}

/// Whether `expr` is a list that holds nothing with a type: `[]`, `[[], []]`.
fn is_untyped(expr: &Expr) -> bool {
    match expr.node() {
        Node::List(elements) => elements.iter().all(is_untyped),
        _ => false,
    }
}
