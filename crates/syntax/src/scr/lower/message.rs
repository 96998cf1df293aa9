//! Messages, payloads, parameters and arguments.

use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use referee_theory::expr::{Expr, Node};
use referee_theory::global::Parameter;
use referee_theory::{Field, Message, MessageSpec, Type};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Lowering;
use crate::diagnostics::Diagnostic;
use crate::diagnostics::assertions::{duplicate_field, hidden_data};
use crate::diagnostics::lexical::nested_too_deep;
use crate::diagnostics::names::{
    parameter_misused, same_label, undeclared_message, unknown_signature, wrong_argument, wrong_number,
};
use crate::scr::ast::{FieldSyntax, MessageStatement, MessageSyntax, Name, ProtocolParameter, RecParameter};
use crate::scr::names::{ProtocolId, named_types};
use crate::source::Span;

/// What type parameters stand for.
pub(super) type Types = FxHashMap<Arc<str>, Type>;
/// What signature parameters stand for.
pub(super) type Signatures = FxHashMap<Arc<str>, Given>;

/// A message signature, with the types in force and the file where it was given.
#[derive(Clone)]
pub(super) struct Given {
    syntax: MessageSyntax,
    types: Types,
    module: usize,
    /// What the caller called it.
    name: Name,
}

impl Given {
    pub(super) fn label(&self) -> &Arc<str> {
        &self.syntax.label.text
    }
}

impl Lowering<'_, '_> {
    pub(super) fn message(&mut self, statement: &MessageStatement) -> Message {
        let instance = Rc::clone(&self.instance);
        // A bare name may stand for a signature that the caller gave.
        let written = &statement.message;
        self.check_parameters(written);
        let given = instance.signatures.get(&written.label.text).filter(|_| written.payload.is_none());
        let (syntax, types, module) = match given {
            Some(Given { syntax, types, module, .. }) => (syntax, types, *module),
            None => (written, &instance.types, self.module()),
        };
        // Whoever sends a message without a payload of its own may mean one that is declared.
        let declared = match given {
            _ if syntax.payload.is_some() => None,
            Some(given) => Some(self.signature_label(&given.name, module)),
            None if self.own_parameter(&written.label.text).is_some() => None,
            None => Some(self.signature_label(&written.label, module)),
        };
        let payload = syntax.payload.as_deref().unwrap_or_default();
        self.check_fields(payload);
        let mut fields = Vec::with_capacity(payload.len());
        let mut conditions: SmallVec<[Arc<Expr>; 4]> = SmallVec::new();
        for field in payload {
            let ty = self.names.ty(&field.ty, types, module);
            fields.push(Field { name: field.name.as_ref().map(|name| Arc::clone(&name.text)), ty });
            conditions.extend(field.refinement.as_ref().map(|refinement| Arc::clone(&refinement.expr)));
        }
        conditions.extend(statement.condition.clone());
        conditions.extend(statement.annotation.clone());
        let assertion = self.all_of(&conditions).map(|condition| self.in_scope(&condition));
        let label = self.vocabulary.add_shared_label(declared.as_ref().unwrap_or(&syntax.label.text));
        let fields = if fields.is_empty() { Arc::default() } else { fields.into() };
        let mut spec = MessageSpec::new(label, fields, assertion);
        if let Some(times) = &statement.times {
            spec.timing = Some(Arc::new(self.timing(times)));
        }
        self.vocabulary.add_message(spec)
    }

    /// The label of the message `name`, which has no payload of its own. A declared signature is known by the last part of its
    /// name: two that end alike must be one message.
    fn signature_label(&mut self, name: &Name, module: usize) -> Arc<str> {
        let label = match name.text.rsplit_once('.') {
            Some((_, last)) => Arc::from(last),
            None => Arc::clone(&name.text),
        };
        let Some(declared) = self.names.signature(&name.text, module) else {
            if name.text.contains('.') && !self.names.may_be_elsewhere(&name.text, module) {
                let ambiguous = self.names.ambiguous(name, module);
                let known = || self.names.signatures_beside(&name.text, module);
                let unknown =
                    || unknown_signature(name.span, &name.text, known().iter().map(|known| &**known));
                let diagnostic = ambiguous.unwrap_or_else(unknown);
                self.diagnostics.push(diagnostic);
            }
            return label;
        };
        let first = *self.signatures.entry(Arc::clone(&label)).or_insert(declared);
        let is_same = first.foreign.iter().zip(&declared.foreign).all(|(one, other)| one.text == other.text);
        if !is_same {
            self.diagnostics.push(same_label(name.span, first.name.span, declared.name.span, &label));
        }
        label
    }

    fn check_fields(&mut self, payload: &[FieldSyntax]) {
        for name in payload.iter().filter_map(|field| field.name.as_ref()) {
            if let Some(&declared) = self.data_in_force.get(&name.text) {
                self.diagnostics.push(hidden_data(name.span, declared, &name.text));
            }
        }
        if payload.len() < 2 {
            return;
        }
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for name in payload.iter().filter_map(|field| field.name.as_ref()) {
            if let Some(first) = seen.insert(&name.text, name.span) {
                self.diagnostics.push(duplicate_field(name.span, first, &name.text));
            }
        }
    }

    /// The conjunction of several conditions.
    fn all_of(&mut self, conditions: &[Arc<Expr>]) -> Option<Arc<Expr>> {
        if conditions.len() < 2 {
            return conditions.first().cloned();
        }
        let place = conditions[0].place();
        let operands = conditions.iter().map(|condition| Expr::clone(condition)).collect();
        match Expr::new(Node::And(operands), place) {
            Ok(all) => Some(Arc::new(all)),
            Err(_) => {
                let span = Span { start: place.start, end: place.end };
                self.diagnostics.push(nested_too_deep(span, referee_theory::expr::MAX_DEPTH));
                None
            }
        }
    }

    /// The data of a recursion, which are in force from here on.
    pub(super) fn parameters(&mut self, parameters: &[RecParameter]) -> super::Data {
        let types = self.instance.types.clone();
        let (mut lowered, mut refinements) = super::Data::default();
        // The first values are computed outside.
        let initial: Vec<Arc<Expr>> =
            parameters.iter().map(|parameter| self.in_scope(&parameter.initial.expr)).collect();
        for (parameter, initial) in parameters.iter().zip(initial) {
            let name = &parameter.name;
            if let Some(declared) = self.data_in_force.insert(Arc::clone(&name.text), name.span) {
                self.diagnostics.push(hidden_data(name.span, declared, &name.text));
            }
            let roles = match &parameter.roles[..] {
                [] => self.instance.roles.clone(),
                listed => listed.iter().filter_map(|role| self.role(role)).collect(),
            };
            let refinement = parameter.refinement.as_ref().and_then(|refinement| {
                let alias = parameter.alias.as_ref().map_or(&name.text, |alias| &alias.text);
                let renamed = |used: &Arc<str>| (used == alias).then(|| Expr::variable(&name.text));
                refinement
                    .expr
                    .substitute(&renamed)
                    .ok()
                    .map(|refinement| self.in_scope(&Arc::new(refinement)))
            });
            refinements.extend(refinement.clone());
            lowered.push(Parameter {
                name: self.name_in_scope(&name.text).unwrap_or_else(|| Arc::clone(&name.text)),
                roles,
                ty: self.names.ty(&parameter.ty, &types, self.module()),
                initial,
                refinement,
                origin: self.origins.add(name.span),
            });
        }
        (lowered, refinements)
    }

    /// The parameter called `name` of the protocol that is being written out.
    fn own_parameter(&self, name: &str) -> Option<&ProtocolParameter> {
        let own = &self.names.protocol(self.instance.protocol).parameters;
        own.iter().find(|parameter| *parameter.name.text == *name)
    }

    /// What is wrong with `argument` for `parameter`: it is a type where a message is wanted, or the reverse. A bare name that
    /// nobody declared may be a type, as types need no declaration; as a message it would have parentheses.
    fn wrong_kind(&self, parameter: &ProtocolParameter, argument: &MessageSyntax) -> Option<Diagnostic> {
        let (name, span) = (&argument.label.text, argument.label.span);
        let own = self.own_parameter(name).map(|own| own.is_signature);
        let is_signature = argument.payload.is_some()
            || own.unwrap_or_else(|| self.names.signature(name, self.module()).is_some());
        let is_type = own.map_or_else(|| self.names.has_type(name, self.module()), |signature| !signature);
        let wanted = &parameter.name;
        match (parameter.is_signature, is_signature) {
            (true, true) | (false, false) => None,
            (true, false) if self.names.may_be_elsewhere(name, self.module()) => None,
            (true, false) if let Some(ambiguous) = self.names.ambiguous(&argument.label, self.module()) => {
                Some(ambiguous)
            }
            (true, false) if !is_type => Some(undeclared_message(span, name, wanted.span, &wanted.text)),
            (wants_signature, _) => Some(wrong_argument(span, wanted.span, &wanted.text, wants_signature)),
        }
    }

    /// Parameters stand for what they are declared as: types in payloads, messages for whole messages.
    fn check_parameters(&mut self, written: &MessageSyntax) {
        if self.names.protocol(self.instance.protocol).parameters.is_empty() {
            return;
        }
        let used = written.payload.iter().flatten().flat_map(|field| named_types(&field.ty));
        let used = used.map(|name| (name, false));
        let label = written.payload.is_none().then_some((&written.label, true));
        let wrong: Vec<Diagnostic> = used
            .chain(label)
            .filter_map(|(name, as_message)| {
                let parameter = self.own_parameter(&name.text)?;
                (parameter.is_signature != as_message)
                    .then(|| parameter_misused(name.span, parameter.name.span, &name.text, as_message))
            })
            .collect();
        self.diagnostics.extend(wrong);
    }

    /// What the parameters of `protocol` stand for, given `arguments`.
    pub(super) fn arguments(
        &mut self,
        name: &Name,
        protocol: ProtocolId,
        arguments: &[MessageSyntax],
    ) -> Option<(Types, Signatures, String)> {
        let declared = self.names.protocol(protocol);
        let (expected, found) = (declared.parameters.len(), arguments.len());
        if expected != found {
            let what = "parameters in angle brackets";
            self.diagnostics.push(wrong_number(
                name.span,
                declared.header,
                &name.text,
                what,
                expected,
                found,
            ));
            return None;
        }
        let (outer, module) = (self.instance.types.clone(), self.module());
        let mut types = Types::default();
        let mut signatures = Signatures::default();
        // Tells instances apart: what each parameter stands for, as text.
        let mut key = String::new();
        for (parameter, argument) in declared.parameters.iter().zip(arguments) {
            let name = Arc::clone(&parameter.name.text);
            if let Some(wrong) = self.wrong_kind(parameter, argument) {
                self.diagnostics.push(wrong);
                return None;
            }
            if parameter.is_signature {
                // A parameter of the caller may be passed on.
                let passed_on = self.instance.signatures.get(&argument.label.text);
                let given = match (&argument.payload, passed_on) {
                    (None, Some(given)) => given.clone(),
                    _ => {
                        let mut syntax = argument.clone();
                        // The label of a signature of another module is its name there.
                        if let Some((_, label)) = argument.label.text.rsplit_once('.') {
                            syntax.label.text = label.into();
                        }
                        Given { syntax, types: outer.clone(), module, name: argument.label.clone() }
                    }
                };
                let _ = write!(key, "{}(", given.syntax.label.text);
                for field in given.syntax.payload.iter().flatten() {
                    let _ = write!(key, "{},", self.names.ty(&field.ty, &given.types, given.module));
                }
                key.push_str(");");
                signatures.insert(name, given);
            } else {
                let syntax = crate::scr::ast::TypeSyntax::Named(argument.label.clone());
                let ty = self.names.ty(&syntax, &outer, module);
                let _ = write!(key, "{ty};");
                types.insert(name, ty);
            }
        }
        Some((types, signatures, key))
    }
}
