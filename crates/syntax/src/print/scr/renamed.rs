//! Names for the data of recursions. In a protocol data of one name may be in force within others: a choice with a branch that begins
//! with a recursion has read its first message already. In a text each name means one, so the inner ones get names of their own.

use std::sync::Arc;

use referee_theory::expr::{Expr, Node};
use referee_theory::global::{Call, Rec};
use referee_theory::{Global, GlobalType, MessageSpec, NodeId};
use rustc_hash::FxHashSet;

use super::data;
use super::meanings::Meanings;
use crate::print::Inexpressible;

/// The data in force at some place of the text being written.
pub(super) struct Data {
    /// Whose they are, what they are called in the protocol and in the text; the innermost last.
    in_force: Vec<(NodeId, Arc<str>, Arc<str>)>,
    /// Names that mean something else.
    taken: FxHashSet<Arc<str>>,
    meanings: Meanings,
}

impl Data {
    pub(super) fn of(global: &GlobalType) -> Self {
        let vocabulary = global.vocabulary();
        let specs = vocabulary.messages().map(|message| vocabulary.spec(message));
        let fields = specs.flat_map(|spec| spec.fields.iter().filter_map(|field| field.name.clone()));
        let mut taken: FxHashSet<Arc<str>> = fields.collect();
        for (_, node) in global.nodes() {
            if let Global::Rec(rec) = node {
                taken.extend(rec.parameters.iter().map(|parameter| Arc::clone(&parameter.name)));
            }
        }
        Self { in_force: Vec::new(), taken, meanings: Meanings::of(global) }
    }

    /// The recursion `node` begins.
    pub(super) fn enter(&mut self, node: NodeId, rec: &Rec) {
        for parameter in &rec.parameters {
            let is_known = self.in_force.iter().any(|(_, name, _)| *name == parameter.name);
            let written = if is_known || self.meanings.is_shared(&parameter.name) {
                self.fresh(&parameter.name)
            } else {
                Arc::clone(&parameter.name)
            };
            self.in_force.push((node, Arc::clone(&parameter.name), written));
        }
    }

    /// The recursion `node` ends.
    pub(super) fn leave(&mut self, node: NodeId) {
        let ended = |(_, _, written): &(NodeId, Arc<str>, Arc<str>)| Arc::clone(written);
        while let Some(last) = self.in_force.pop_if(|(of, ..)| *of == node) {
            // Others may be called so behind it.
            if last.1 != last.2 {
                self.taken.remove(&ended(&last));
            }
        }
    }

    fn fresh(&mut self, wanted: &str) -> Arc<str> {
        let mut number = 2_usize;
        loop {
            let name: Arc<str> = format!("{wanted}_{number}").into();
            if self.taken.insert(Arc::clone(&name)) {
                return name;
            }
            number += 1;
        }
    }

    /// What the variable `name` is called here.
    pub(super) fn name<'a>(&'a self, name: &'a str) -> &'a str {
        let found = self.in_force.iter().rev().find(|(_, original, _)| **original == *name);
        found.map_or(name, |(_, _, written)| written)
    }

    /// `expr`, which stands at `node`, with the names of the text. What `hides` says is called as it is.
    fn written(
        &self,
        expr: &Arc<Expr>,
        node: NodeId,
        hides: &dyn Fn(&str) -> bool,
    ) -> Result<Arc<Expr>, Inexpressible> {
        if self.in_force.iter().all(|(_, name, written)| name == written) {
            return Ok(Arc::clone(expr));
        }
        let other = |name: &str| {
            let written = self.name(name);
            let is_data = written != name && !hides(name) && !self.meanings.is_field(name, node);
            is_data.then(|| Expr::new(Node::Variable(written.into()), expr.place()).ok()).flatten()
        };
        expr.substitute(&|name| other(name)).map(Arc::new).map_err(|_| Inexpressible::too_large())
    }

    /// `expr`, which belongs to the message `spec` at `node`, with the names of the text.
    pub(super) fn of_message(
        &self,
        expr: &Arc<Expr>,
        node: NodeId,
        spec: &MessageSpec,
    ) -> Result<Arc<Expr>, Inexpressible> {
        let is_own = |name: &str| spec.fields.iter().any(|field| field.name.as_deref() == Some(name));
        self.written(expr, node, &is_own)
    }

    /// `expr`, which is computed at `node`, as nuScr writes it.
    pub(super) fn text(&self, expr: &Arc<Expr>, node: NodeId) -> Result<String, Inexpressible> {
        data::text(&*self.written(expr, node, &|_| false)?)
    }

    /// A refinement of the data of the recursion `node`, which are in force, as nuScr writes it.
    pub(super) fn refinement(
        &self,
        refinement: &Arc<Expr>,
        node: NodeId,
        rec: &Rec,
    ) -> Result<String, Inexpressible> {
        let own = |name: &str| rec.parameters.iter().any(|parameter| *parameter.name == *name);
        let renamed = refinement.substitute(&|name| {
            let written = self.name(name);
            let is_data = written != &**name && (own(name) || !self.meanings.is_field(name, node));
            is_data.then(|| Expr::new(Node::Variable(written.into()), refinement.place()).ok()).flatten()
        });
        data::text(&renamed.map_err(|_| Inexpressible::too_large())?)
    }

    /// The new values that `call` gives the data of its recursion: nothing where they stay as they are.
    pub(super) fn arguments(
        &self,
        global: &GlobalType,
        node: NodeId,
        call: &Call,
    ) -> Result<Vec<String>, Inexpressible> {
        let Global::Rec(rec) = global.node(call.target) else { return Ok(Vec::new()) };
        if !call.arguments.is_empty() {
            return call.arguments.iter().map(|argument| self.text(argument, node)).collect();
        }
        let names = || rec.parameters.iter().map(|parameter| &*parameter.name);
        let own = |name: &str| {
            let mut found = self.in_force.iter();
            found.find(|(of, original, _)| *of == call.target && **original == *name)
        };
        let is_hidden = |name: &str| own(name).is_some_and(|(_, _, written)| **written != *self.name(name));
        // What is called alike is one variable: it stays what it was last.
        if names().any(is_hidden) {
            return Ok(names().map(|name| self.name(name).to_owned()).collect());
        }
        Ok(Vec::new())
    }
}
