//! Names for the data of recursions. What is data of one name in a protocol may be data of recursions inside one another in a text, or
//! called like a field that the text has inside the recursion: then they get names of their own.

use std::sync::Arc;

use referee_theory::expr::{Expr, written_name};
use referee_theory::global::{Call, Parameter, Rec};
use referee_theory::{Global, GlobalType, NodeId};
use rustc_hash::FxHashSet;

use super::data;
use super::live::region;
use super::structure::{Place, Structure};
use crate::print::Inexpressible;

/// The data in force at some place of the text being written.
pub(super) struct Data<'a> {
    global: &'a GlobalType,
    /// Whose they are, the variables, and what they are called in the text; the innermost last.
    in_force: Vec<(NodeId, Arc<str>, Arc<str>)>,
    /// What fields are called.
    fields: FxHashSet<Arc<str>>,
    /// Names that mean something else.
    taken: FxHashSet<Arc<str>>,
}

impl<'a> Data<'a> {
    pub(super) fn of(global: &'a GlobalType) -> Self {
        let mut taken: FxHashSet<Arc<str>> = FxHashSet::default();
        for (_, node) in global.nodes() {
            if let Global::Rec(rec) = node {
                taken.extend(rec.parameters.iter().map(|parameter| written_name(&parameter.name).into()));
            }
        }
        let mut fields: FxHashSet<Arc<str>> = FxHashSet::default();
        if !taken.is_empty() {
            let vocabulary = global.vocabulary();
            let specs = vocabulary.messages().map(|message| vocabulary.spec(message));
            fields.extend(specs.flat_map(|spec| spec.fields.iter().filter_map(|field| field.name.clone())));
            taken.extend(fields.iter().cloned());
        }
        Self { global, in_force: Vec::new(), fields, taken }
    }

    /// The recursion `node` begins, and reaches up to `end`.
    pub(super) fn enter(
        &mut self,
        node: NodeId,
        rec: &Rec,
        structure: &Structure,
        end: Place,
    ) -> Result<(), Inexpressible> {
        for Parameter { name, .. } in &rec.parameters {
            if self.fields.contains(name) {
                return Err(Inexpressible::new(format!("`{name}` is both a field and data of a recursion")));
            }
            let wanted = written_name(name);
            let is_known = self.in_force.iter().any(|(_, _, written)| **written == *wanted)
                || self.fields.contains(wanted) && self.is_field_in(wanted, rec, structure, end);
            let written = if is_known { self.fresh(wanted) } else { wanted.into() };
            self.in_force.push((node, Arc::clone(name), written));
        }
        Ok(())
    }

    /// Whether `name` is a field somewhere inside the recursion `rec`, which reaches up to `end`.
    fn is_field_in(&self, name: &str, rec: &Rec, structure: &Structure, end: Place) -> bool {
        let is_read = |expr: &Arc<Expr>| expr.free_variables().iter().any(|used| ***used == *name);
        region(self.global, structure, rec.body, end).into_iter().any(|node| match self.global.node(node) {
            Global::Exchange(exchange) => exchange.branches.iter().any(|branch| {
                let spec = self.global.vocabulary().spec(branch.message);
                spec.fields.iter().any(|field| field.name.as_deref() == Some(name))
                    || spec.assertion.iter().any(is_read)
                    || spec.timing.iter().flat_map(|timing| timing.lengths()).any(is_read)
            }),
            Global::Rec(rec) => rec
                .parameters
                .iter()
                .any(|parameter| is_read(&parameter.initial) || parameter.refinement.iter().any(is_read)),
            Global::Call(call) => call.arguments.iter().any(is_read),
            Global::End | Global::Par(_) | Global::Join(_) => false,
        }) || rec.parameters.iter().any(|parameter| parameter.refinement.as_ref().is_some_and(is_read))
    }

    /// The recursion `node` ends.
    pub(super) fn leave(&mut self, node: NodeId) {
        while let Some((_, variable, written)) = self.in_force.pop_if(|(of, ..)| *of == node) {
            // Others may be called so behind it.
            if *written != *written_name(&variable) {
                self.taken.remove(&written);
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

    /// What `variable` is called here, if it is data in force.
    pub(super) fn name(&self, variable: &str) -> Option<&Arc<str>> {
        let found = self.in_force.iter().rev().find(|(_, known, _)| **known == *variable);
        found.map(|(_, _, written)| written)
    }

    /// `expr` with the names of the text.
    pub(super) fn written(&self, expr: &Arc<Expr>) -> Arc<Expr> {
        let other = |name: &Arc<str>| self.name(name).filter(|written| *written != name).cloned();
        if self.in_force.iter().all(|(_, name, written)| name == written) {
            return Arc::clone(expr);
        }
        Arc::new(expr.renamed(&other))
    }

    /// `expr` as nuScr writes it.
    pub(super) fn text(&self, expr: &Arc<Expr>) -> Result<String, Inexpressible> {
        data::text(&self.written(expr))
    }

    /// The new values that `call` gives the data of its recursion: nothing where they stay as they are.
    pub(super) fn arguments(&self, call: &Call) -> Result<Vec<String>, Inexpressible> {
        let Global::Rec(rec) = self.global.node(call.target) else { return Ok(Vec::new()) };
        if !call.arguments.is_empty() {
            return call.arguments.iter().map(|argument| self.text(argument)).collect();
        }
        let own = |name: &str| {
            let mut found = self.in_force.iter();
            found.find(|(of, variable, _)| *of == call.target && **variable == *name)
        };
        // What is one variable stays what it was last, in whichever recursion.
        let names: Vec<&Arc<str>> =
            rec.parameters.iter().filter_map(|parameter| self.name(&parameter.name)).collect();
        let is_hidden = |(parameter, name): (&Parameter, &&Arc<str>)| {
            own(&parameter.name).is_some_and(|(_, _, written)| written != *name)
        };
        if rec.parameters.iter().zip(&names).any(is_hidden) {
            return Ok(names.into_iter().map(|name| name.to_string()).collect());
        }
        Ok(Vec::new())
    }
}
