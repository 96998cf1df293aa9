//! From RelaMon's JSON to a global type.
//!
//! `{"type":"EXCHANGE","sender","receiver","branches":{l:{"valueType":T,"protocolContinuation":G}}}`,
//! `RECURSIVE_DEFINITION` and `RECURSIVE_CALL` with `recursionVariable`, `END`. A component's file holds the
//! type under `globalType`, beside what concerns the component alone.

use std::sync::Arc;

use referee_theory::global::Call;
use referee_theory::{
    Branch, Branches, Exchange, Field, Global, GlobalError, GlobalTypeBuilder, MessageSpec, NodeId, Role,
    Type, Vocabulary,
};
use rustc_hash::FxHashMap;

use super::json::{self, Json, JsonId, Kind, Member};
use super::types;
use crate::diagnostics::{Diagnostic, RF0004, RF0202, global_types, names, structure};
use crate::document::{Content, Demands, Document, GlobalProtocol, in_order};
use crate::ill_formed;
use crate::language::Language;
use crate::scope::{MOST_SUGGESTIONS, Scope};
use crate::source::{Origins, Span};

pub(super) fn parse(text: &str) -> Document {
    let (json, diagnostics) = json::parse(text);
    let mut builder = GlobalTypeBuilder::new();
    let root = builder.reserve();
    let mut lowering = Lowering {
        json: &json,
        diagnostics,
        origins: Origins::default(),
        vocabulary: Vocabulary::new(),
        builder,
        scope: Scope::new(),
        steps: Vec::new(),
    };
    if lowering.diagnostics.is_empty() {
        lowering.document(root);
    }
    let Lowering { diagnostics, origins, vocabulary, builder, .. } = lowering;
    finish(Language::GtJson, builder, root, vocabulary, origins, diagnostics, Span::new(0, text.len()))
}

/// The document of a global type that was read up to its last node.
pub(super) fn finish(
    language: Language,
    builder: GlobalTypeBuilder,
    root: NodeId,
    vocabulary: Vocabulary,
    origins: Origins,
    mut diagnostics: Vec<Diagnostic>,
    span: Span,
) -> Document {
    let vocabulary = Arc::new(vocabulary);
    let global = match builder.finish(Arc::clone(&vocabulary), root) {
        Ok(global) => Some(global),
        Err(errors) => {
            // Both readers have said this once per exchange.
            let said = |error: &GlobalError| matches!(error, GlobalError::SelfMessage { .. });
            let errors = errors.iter().filter(|error| !said(error));
            diagnostics.extend(errors.map(|error| ill_formed::global(error, &vocabulary, &origins)));
            None
        }
    };
    let global = global.filter(|_| !diagnostics.iter().any(Diagnostic::is_error));
    let protocol = GlobalProtocol {
        name: None,
        auxiliary: false,
        demands: Demands::Relative,
        global: global.map(Arc::new),
        vocabulary,
        externals: Vec::new(),
        enforcement: Vec::new(),
        span,
    };
    Document {
        language,
        content: Content::Global(vec![protocol]),
        diagnostics: in_order(diagnostics),
        origins,
    }
}

struct Lowering<'a, 'j> {
    json: &'j Json<'a>,
    diagnostics: Vec<Diagnostic>,
    origins: Origins,
    vocabulary: Vocabulary,
    builder: GlobalTypeBuilder,
    scope: Scope<'j, NodeId>,
    steps: Vec<Step>,
}

enum Step {
    /// A global type and where it goes.
    Enter(JsonId, NodeId),
    /// The end of a recursion: the depth of the scope around it.
    Leave(usize),
}

impl<'j> Lowering<'_, 'j> {
    fn document(&mut self, root: NodeId) {
        let Some(top) = self.json.root() else { return };
        let Some(members) = self.object(top, "an object with `globalType`") else { return };
        let has = |key: &str| members.iter().find(|member| member.key == key).map(|member| member.value);
        let Some(global) = has("globalType").or(has("type").map(|_| top)) else {
            let error = global_types::missing_key(
                self.json.span(top),
                &self.json.pointer(top, None),
                "globalType",
                members.iter().map(|member| &*member.key).take(MOST_SUGGESTIONS),
            );
            return self.diagnostics.push(error);
        };
        self.steps.push(Step::Enter(global, root));
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Enter(value, slot) => {
                    self.global(value, slot);
                }
                Step::Leave(depth) => self.scope.leave_to(depth),
            }
        }
        if let Some(party) = has("implementingParty").filter(|_| global != top) {
            self.party(party);
        }
    }

    fn party(&mut self, party: JsonId) {
        let Some(name) = self.string(party, "the name of a role") else { return };
        if self.vocabulary.find_role(name).is_none() {
            let roles = self.vocabulary.roles().take(MOST_SUGGESTIONS);
            let roles = roles.map(|role| self.vocabulary.role_name(role));
            let warning = global_types::unknown_party(self.json.span(party), name, roles);
            self.diagnostics.push(warning);
        }
    }

    /// Reads one node; `None` after an error.
    fn global(&mut self, value: JsonId, slot: NodeId) -> Option<()> {
        self.object(value, "a global type: an object with a `type`")?;
        let kind = self.member(value, "type")?;
        let name = self.string(kind, "a string")?;
        match name {
            "END" => {}
            "EXCHANGE" => self.exchange(value, slot)?,
            "RECURSIVE_DEFINITION" => {
                let variable = self.member(value, "recursionVariable")?;
                let name = self.string(variable, "the name of a recursion variable")?;
                let body = self.member(value, "protocolContinuation")?;
                let node = self.builder.reserve();
                let origin = self.origins.add(self.json.span(variable));
                self.builder.define(slot, name, node, origin);
                self.steps.push(Step::Leave(self.scope.depth()));
                self.scope.enter(name, slot);
                self.steps.push(Step::Enter(body, node));
            }
            "RECURSIVE_CALL" => {
                let variable = self.member(value, "recursionVariable")?;
                let name = self.string(variable, "the name of a recursion variable")?;
                let span = self.json.span(variable);
                let Some(target) = self.scope.find(name) else {
                    let scope = self.scope.nearest();
                    let error = names::unknown_recursion_variable(span, name, scope);
                    self.diagnostics.push(error);
                    return None;
                };
                let call = Call { target, arguments: Vec::new(), origin: self.origins.add(span) };
                self.builder.set(slot, Global::Call(call));
            }
            _ => {
                let pointer = self.json.pointer(kind, None);
                let error = global_types::unknown_node_type(self.json.span(kind), &pointer, name);
                self.diagnostics.push(error);
                return None;
            }
        }
        Some(())
    }

    fn exchange(&mut self, value: JsonId, slot: NodeId) -> Option<()> {
        let sender = self.role(value, "sender");
        let receiver = self.role(value, "receiver");
        let branches_value = self.member(value, "branches")?;
        let json = self.json;
        let members = self.members(branches_value, "an object with one entry per label")?;
        if members.is_empty() {
            let pointer = json.pointer(branches_value, None);
            self.diagnostics.push(global_types::no_branches(json.span(branches_value), &pointer));
            return None;
        }
        let ((sender, _), (receiver, receiver_value)) = (sender?, receiver?);
        if sender == receiver {
            let name = self.vocabulary.role_name(sender);
            let error = structure::self_message(json.span(receiver_value), name);
            self.diagnostics.push(error);
        }
        let mut branches = Branches::with_capacity(members.len());
        let first_step = self.steps.len();
        for member in members {
            branches.extend(self.branch(member, receiver));
        }
        self.steps[first_step..].reverse();
        let origin = self.origins.add(json.span(value));
        if !branches.is_empty() {
            self.builder.set(slot, Global::Exchange(Exchange { sender, branches, origin }));
        }
        Some(())
    }

    fn branch(&mut self, member: &'j Member<'_>, receiver: Role) -> Option<Branch> {
        self.object(member.value, "a branch: an object with `valueType` and `protocolContinuation`")?;
        let value_type = self.member(member.value, "valueType");
        let continuation = self.member(member.value, "protocolContinuation");
        let text = value_type.and_then(|value| self.string(value, "the name of a type"));
        let next = self.builder.reserve();
        self.steps.push(Step::Enter(continuation?, next));
        let label = self.vocabulary.add_label(&member.key);
        let fields = fields(text?);
        let message = self.vocabulary.add_message(MessageSpec::new(label, fields, None));
        Some(Branch { receiver, message, next, origin: self.origins.add(member.key_span) })
    }

    fn role(&mut self, exchange: JsonId, key: &str) -> Option<(Role, JsonId)> {
        let value = self.member(exchange, key)?;
        let name = self.string(value, "the name of a role")?;
        let is_new = self.vocabulary.find_role(name).is_none();
        if is_new && self.vocabulary.roles().len() == usize::from(u16::MAX) {
            let message = "a protocol has at most 65,535 roles";
            self.diagnostics.push(RF0004.at(self.json.span(value), message));
            return None;
        }
        Some((self.vocabulary.add_role(name), value))
    }

    /// The members of an object none of whose keys is repeated.
    fn object(&mut self, value: JsonId, expected: &str) -> Option<&'j [Member<'j>]> {
        let members = self.members_of(value, expected)?;
        self.repeated(members, global_types::duplicate_key);
        Some(members)
    }

    /// The branches of an exchange: here a repeated key is a repeated label.
    fn members(&mut self, value: JsonId, expected: &str) -> Option<&'j [Member<'j>]> {
        let members = self.members_of(value, expected)?;
        self.repeated(members, |span, first, key| {
            RF0202
                .at(span, format!("two branches of this exchange have the label `{key}`"))
                .label("and here again")
                .related(first, "first here")
                .help("give them different labels")
        });
        Some(members)
    }

    fn members_of(&mut self, value: JsonId, expected: &str) -> Option<&'j [Member<'j>]> {
        let json = self.json;
        match json.kind(value) {
            Kind::Object(members) => Some(members),
            _ => {
                self.wrong_value(value, expected);
                None
            }
        }
    }

    fn repeated(&mut self, members: &'j [Member<'_>], say: impl Fn(Span, Span, &str) -> Diagnostic) {
        if members.len() < 2 {
            return;
        }
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for member in members {
            if let Some(first) = seen.insert(&member.key, member.key_span) {
                self.diagnostics.push(say(member.key_span, first, &member.key));
            }
        }
    }

    /// The value of `key` in the object `value`.
    fn member(&mut self, value: JsonId, key: &str) -> Option<JsonId> {
        let json = self.json;
        let Kind::Object(members) = json.kind(value) else { return None };
        let found = members.iter().find(|member| member.key == key).map(|member| member.value);
        if found.is_none() {
            let error = global_types::missing_key(
                json.span(value),
                &json.pointer(value, None),
                key,
                members.iter().map(|member| &*member.key).take(MOST_SUGGESTIONS),
            );
            self.diagnostics.push(error);
        }
        found
    }

    fn string(&mut self, value: JsonId, expected: &str) -> Option<&'j str> {
        let json = self.json;
        match json.kind(value) {
            Kind::String(text) => Some(text),
            _ => {
                self.wrong_value(value, expected);
                None
            }
        }
    }

    fn wrong_value(&mut self, value: JsonId, expected: &str) {
        let found = match self.json.kind(value) {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Number => "a number",
            Kind::String(_) => "a string",
            Kind::Array => "an array",
            Kind::Object(_) => "an object",
        };
        let pointer = self.json.pointer(value, None);
        let error = global_types::wrong_value(self.json.span(value), &pointer, expected, found);
        self.diagnostics.push(error);
    }
}

/// RelaMon checks a few types by name and takes all others as they are.
fn fields(text: &str) -> Arc<[Field]> {
    let parts = text.split(',').map(str::trim);
    let compact = parts.collect::<Vec<_>>().join(",");
    match types::fields(&compact) {
        Ok(fields) if !compact.contains(char::is_whitespace) => fields,
        _ => Arc::new([Field { name: None, ty: Type::opaque(text) }]),
    }
}
