//! What names mean in conditions and times: data of a recursion in its body, fields elsewhere.
//!
//! Behind here a name is one variable wherever it stands: a global type does not say where a recursion ends. So where a name has both
//! meanings, one of them is set apart.

use std::sync::Arc;

use referee_theory::expr::{Expr, set_apart};
use rustc_hash::FxHashMap;

use super::Lowering;
use crate::scr::ast::{MessageSyntax, StatementKind};
use crate::scr::modules::Linked;

/// What data of recursions are called, and whether fields are called so too.
pub(in crate::scr) fn data(modules: &[Linked]) -> FxHashMap<Arc<str>, bool> {
    let mut data: FxHashMap<Arc<str>, bool> = FxHashMap::default();
    let statements = || modules.iter().flat_map(|linked| &linked.module.statements);
    for statement in statements() {
        if let StatementKind::Rec { parameters, .. } = &statement.kind {
            data.extend(parameters.iter().map(|parameter| (Arc::clone(&parameter.name.text), false)));
        }
    }
    if data.is_empty() {
        return data;
    }
    let mut message = |message: &MessageSyntax| {
        for name in message.payload.iter().flatten().filter_map(|field| field.name.as_ref()) {
            data.entry(Arc::clone(&name.text)).and_modify(|shared| *shared = true);
        }
    };
    for statement in statements() {
        match &statement.kind {
            StatementKind::Message(sent) => message(&sent.message),
            StatementKind::Do { arguments, .. } => arguments.iter().for_each(&mut message),
            _ => {}
        }
    }
    data
}

impl Lowering<'_, '_> {
    /// The variable that the text calls `name` here, where it is not that name.
    pub(super) fn name_in_scope(&self, name: &Arc<str>) -> Option<Arc<str>> {
        let shared = *self.names.data.get(name)?;
        (self.data_in_force.contains_key(name) == shared).then(|| set_apart(name))
    }

    /// `expr` over the variables that the text means here.
    pub(super) fn in_scope(&self, expr: &Arc<Expr>) -> Arc<Expr> {
        let other = |name: &Arc<str>| self.name_in_scope(name);
        if self.names.data.is_empty() || !expr.free_variables().iter().any(|name| other(name).is_some()) {
            return Arc::clone(expr);
        }
        Arc::new(expr.renamed(&other))
    }
}
