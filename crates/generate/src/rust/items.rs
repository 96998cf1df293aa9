//! The parts of a file: messages, sends, receives, tables.

use std::time::Duration;

use referee_theory::{Type, Update};

use super::{Rust, field_names, is_copy, kept_names, lower, member_names, new_name};
use crate::names::{Scope, among, free, snake};
use crate::plan::{Kind, RolePlan, StatePlan, StepPlan};

impl Rust<'_> {
    pub(super) fn file(&mut self) {
        let plan = self.plan;
        let roles: Vec<String> = plan.roles.iter().map(|role| format!("`{}`", role.name)).collect();
        let word = if roles.len() == 1 { "Role" } else { "Roles" };
        self.writer.line(&format!("//! {word} {} of the protocol `{}`.", roles.join(", "), plan.protocol));
        if !plan.about.is_empty() {
            self.writer.line("//!");
        }
        for line in &plan.about {
            self.writer.line(format!("//! {line}").trim_end());
        }
        self.writer.line("//!");
        let command = "`referee generate rust`";
        self.writer.line(&format!(
            "//! @generated from {} by {command}: change the protocol, not this file.",
            plan.file
        ));
        self.writer.line("");
        self.writer.line(
            "#![allow(dead_code, unused_imports, unused_mut, unused_parens, unused_variables, clippy::all)]",
        );
        self.writer.line("");
        self.writer.line("use referee_endpoint::alloc::{self, borrow::ToOwned as _, string::{String, ToString as _}, vec::Vec};");
        self.writer.line("use referee_endpoint::value::Members;");
        self.writer.line(
            "use referee_endpoint::{Error, Expect, Failure, Field, Link, Opaque, Peer, Session, Signature, Value, eval};",
        );
        self.messages();
        self.records();
        self.patterns();
        if let [role] = plan.roles.as_slice() {
            self.writer.line("");
            self.role(role);
            return;
        }
        let mut modules = Scope::with(&["alloc", "core", "eval", "std", "referee_endpoint"]);
        for role in &plan.roles {
            self.writer.line("");
            self.writer.line(&format!("/// The endpoint of `{}`.", role.name));
            self.writer.open(&format!("pub mod {} {{", modules.claim(&lower(&role.name))));
            self.writer.line("use super::*;");
            self.writer.line("");
            self.role(role);
            self.writer.close("}");
        }
    }

    fn messages(&mut self) {
        let plan = self.plan;
        self.writer.line("");
        self.writer.line("/// The messages that travel.");
        self.writer.line("#[derive(Clone, Debug, PartialEq)]");
        self.writer.open("pub enum Message {");
        for message in &plan.messages {
            self.writer.line(&format!("/// `{}`.", message.label));
            let names = field_names(&message.fields);
            let fields = names.iter().zip(&message.fields);
            let fields: Vec<String> =
                fields.map(|(name, field)| format!("{name}: {}", self.ty(&field.ty))).collect();
            let line = if fields.is_empty() {
                format!("{},", message.name)
            } else {
                format!("{} {{ {} }},", message.name, fields.join(", "))
            };
            self.writer.line(&line);
        }
        self.writer.close("}");
        self.writer.line("");
        self.writer.open("impl referee_endpoint::Message for Message {");
        self.writer.open("const SIGNATURES: &'static [Signature] = &[");
        for message in &plan.messages {
            let fields: Vec<String> =
                message.fields.iter().map(|field| format!("{:?}", field.wire)).collect();
            let line =
                format!("Signature {{ label: {:?}, fields: &[{}] }},", message.label, fields.join(", "));
            self.writer.line(&line);
        }
        self.writer.close("];");
        self.writer.line("");
        if plan.messages.is_empty() {
            return self.no_messages();
        }
        self.writer.open("fn signature(&self) -> usize {");
        self.writer.open("match self {");
        for (index, message) in plan.messages.iter().enumerate() {
            self.writer.line(&format!("Self::{} {{ .. }} => {index},", message.name));
        }
        self.writer.close("}");
        self.writer.close("}");
        self.writer.line("");
        self.writer.open("fn to_values(&self) -> Vec<Value> {");
        self.writer.open("match self {");
        for message in &plan.messages {
            let names = field_names(&message.fields);
            let values: Vec<String> = names.iter().map(|name| format!("{name}.to_value()")).collect();
            let line = match names.len() {
                0 => format!("Self::{} => Vec::new(),", message.name),
                _ => format!(
                    "Self::{} {{ {} }} => alloc::vec![{}],",
                    message.name,
                    names.join(", "),
                    values.join(", ")
                ),
            };
            self.writer.line(&line);
        }
        self.writer.close("}");
        self.writer.close("}");
        self.writer.line("");
        self.reading_messages();
        self.writer.close("}");
    }

    fn reading_messages(&mut self) {
        let plan = self.plan;
        self.writer.open(
            "fn from_values(signature: usize, values: &mut dyn Iterator<Item = Value>) -> Result<Self, usize> {",
        );
        self.writer.line("let mut next = || values.next().unwrap_or(Value::Unit);");
        self.writer.open("Ok(match signature {");
        for (index, message) in plan.messages.iter().enumerate() {
            let names = field_names(&message.fields);
            let fields: Vec<String> = names
                .iter()
                .enumerate()
                .map(|(at, name)| format!("{name}: Field::from_value(next()).ok_or({at}_usize)?"))
                .collect();
            let line = match names.len() {
                0 => format!("{index} => Self::{},", message.name),
                _ => format!("{index} => Self::{} {{ {} }},", message.name, fields.join(", ")),
            };
            self.writer.line(&line);
        }
        self.writer.line("_ => return Err(0),");
        self.writer.close("})");
        self.writer.close("}");
    }

    /// The rest of the trait for a role that takes no part.
    fn no_messages(&mut self) {
        for head in ["fn signature(&self) -> usize {", "fn to_values(&self) -> Vec<Value> {"] {
            self.writer.open(head);
            self.writer.line("match *self {}");
            self.writer.close("}");
            self.writer.line("");
        }
        self.writer
            .open("fn from_values(_: usize, _: &mut dyn Iterator<Item = Value>) -> Result<Self, usize> {");
        self.writer.line("Err(0)");
        self.writer.close("}");
        self.writer.close("}");
    }

    fn records(&mut self) {
        let plan = self.plan;
        for record in &plan.records {
            let names = member_names(&record.fields);
            self.writer.line("");
            self.writer.line("/// A record of the protocol.");
            self.writer.line("#[derive(Clone, Debug, PartialEq)]");
            self.writer.open(&format!("pub struct {} {{", record.name));
            for (name, (wire, ty)) in names.iter().zip(&*record.fields) {
                self.writer.line(&format!("/// `{wire}`."));
                let line = format!("pub {name}: {},", self.ty(ty));
                self.writer.line(&line);
            }
            self.writer.close("}");
            self.writer.line("");
            self.writer.open(&format!("impl Field for {} {{", record.name));
            self.writer.open("fn to_value(&self) -> Value {");
            let parts = names.iter().zip(&*record.fields);
            let parts: Vec<String> = parts
                .map(|(name, (wire, _))| format!("({wire:?}.to_owned(), self.{name}.to_value())"))
                .collect();
            self.writer.line(&format!("Value::Record(alloc::vec![{}])", parts.join(", ")));
            self.writer.close("}");
            self.writer.line("");
            self.writer.open("fn from_value(value: Value) -> Option<Self> {");
            self.writer.line(&format!("let mut members = Members::of(value, {})?;", names.len()));
            let parts = names.iter().zip(&*record.fields);
            let parts: Vec<String> =
                parts.map(|(name, (wire, _))| format!("{name}: members.take({wire:?})?")).collect();
            self.writer.line(&format!("Some(Self {{ {} }})", parts.join(", ")));
            self.writer.close("}");
            self.writer.close("}");
        }
    }

    fn patterns(&mut self) {
        for (index, (pattern, table)) in self.plan.patterns.iter().enumerate() {
            self.writer.line("");
            self.writer.line(&format!("/// `{}` as a table.", pattern.escape_debug()));
            self.writer.open(&format!("static PATTERN_{}: eval::Pattern = eval::Pattern {{", index + 1));
            self.writer.open("classes: &[");
            numbers(&mut self.writer, table.classes.iter().map(|class| u32::from(*class)));
            self.writer.close("],");
            self.writer.line(&format!("width: {},", table.width));
            self.writer.open("next: &[");
            numbers(&mut self.writer, table.next.iter().map(|next| u32::from(*next)));
            self.writer.close("],");
            self.writer.line("start: 0,");
            let accepts: Vec<String> = table.accepts.iter().map(ToString::to_string).collect();
            self.writer.line(&format!("accepts: &[{}],", accepts.join(", ")));
            self.writer.close("};");
        }
    }

    pub(super) fn send(&mut self, role: &RolePlan, state: &StatePlan, step: &StepPlan) {
        let message = &self.plan.messages[step.message];
        let names = field_names(&message.fields);
        let method = lower(&step.name);
        let (peer, target) = (self.peer_constant(role, step.peer), &role.states[step.target]);
        if step.is_checked() {
            self.admits(state, step);
        }
        self.doc(&step.comment);
        if !step.comment.is_empty() {
            self.writer.line("///");
        }
        self.writer.line(&format!("/// Sends `{}` to {}.", message.label, role.peers[step.peer]));
        if step.is_checked() {
            self.writer.line("///");
            self.writer.line(&format!("/// Nothing is sent unless this holds: `{}`.", step.condition()));
        }
        let fields = names.iter().zip(&message.fields);
        let parameters: String = fields
            .clone()
            .map(|(name, field)| {
                let ty = match field.ty {
                    Type::String | Type::Opaque(_) => format!("impl Into<{}>", self.ty(&field.ty)),
                    _ => self.ty(&field.ty),
                };
                format!(", {name}: {ty}")
            })
            .collect();
        self.writer.open(&format!("pub fn {method}(self{parameters}) -> L::Sent<{}<L>> {{", target.name));
        for (name, field) in fields.clone() {
            if matches!(field.ty, Type::String | Type::Opaque(_)) {
                let line = format!("let {name}: {} = {name}.into();", self.ty(&field.ty));
                self.writer.line(&line);
            }
        }
        if step.is_checked() {
            let result = if step.updates.is_empty() {
                "Ok(())".to_owned()
            } else {
                format!("Ok({})", news(step, &names))
            };
            let call = format!("self.{}({})", check_name(step), arguments(message, &names));
            if step.updates.is_empty() {
                self.writer.open(&format!("if let Err(error) = {call} {{"));
                self.writer.line("return L::refuse(error);");
                self.writer.close("}");
            } else {
                self.writer.open(&format!("let {} = match {call} {{", news(step, &names)));
                self.writer.line(&format!("{result} => {},", news(step, &names)));
                self.writer.line("Err(error) => return L::refuse(error),");
                self.writer.close("};");
            }
        }
        // What the next state keeps of the message is copied before the message goes.
        let mut copies = names.clone();
        for ((name, field), copy) in fields.zip(&mut copies) {
            if self.keeps(role, step, field) && !is_copy(&field.ty) {
                *copy = format!("{name}.clone()");
            }
        }
        let ends = target.kind == Kind::End;
        let next = self.next(role, state, step, &copies);
        let own = free("next", &names);
        self.writer.line(&format!("let {}{own} = {next};", if ends { "mut " } else { "" }));
        let sent = variant(&message.name, &names);
        if ends {
            self.writer.line(&format!("{own}.link.end();"));
        }
        self.writer.line(&format!("L::send({own}, {peer}, {sent})"));
        self.writer.close("}");
    }

    /// The check of a message: what must hold, and the recursion data that follow from it.
    fn admits(&mut self, state: &StatePlan, step: &StepPlan) {
        let message = &self.plan.messages[step.message];
        let names = field_names(&message.fields);
        let parameters: String = names
            .iter()
            .zip(&message.fields)
            .map(|(name, field)| format!(", {name}: {}", self.borrowed(&field.ty)))
            .collect();
        let results: Vec<String> = step.updates.iter().map(|update| self.ty(&update.ty)).collect();
        let result =
            if let [one] = results.as_slice() { one.clone() } else { format!("({})", results.join(", ")) };
        let method = check_name(step);
        let sends = state.kind == Kind::Sends;
        if sends && !step.updates.is_empty() {
            self.writer.line(&format!(
                "/// Whether `{}` with these fields is right now: `{}`.",
                message.label,
                step.condition()
            ));
            let question =
                format!("pub fn admits_{}(&self{parameters}) -> Result<(), Error> {{", snake(&step.name));
            self.writer.open(&question);
            self.writer.line(&format!("self.{method}({}).map(|_| ())", names.join(", ")));
            self.writer.close("}");
            self.writer.line("");
        }
        if step.updates.is_empty() {
            self.writer.line(&format!(
                "/// Whether `{}` with these fields is right now: `{}`.",
                message.label,
                step.condition()
            ));
        } else {
            self.writer.line(&format!(
                "/// What follows from `{}`, if it is right now: `{}`.",
                message.label,
                step.condition()
            ));
        }
        let sender = free("from", &names);
        let error = if sends {
            format!("on_send({:?}, {:?})", message.label, step.condition())
        } else {
            format!("on_receive({sender}, {:?}, {:?})", message.label, step.condition())
        };
        let visibility = if sends && step.updates.is_empty() { "pub " } else { "" };
        let from = if sends { String::new() } else { format!(", {sender}: Peer") };
        self.writer
            .open(&format!("{visibility}fn {method}(&self{from}{parameters}) -> Result<{result}, Error> {{"));
        self.writer.open(&format!("let admitted = || -> Result<{result}, Failure> {{"));
        if let Some(assertion) = &step.assertion {
            let code = self.expression(state, step, assertion, &Type::Bool);
            self.writer.open(&format!("if !({code}) {{"));
            self.writer.line("return Err(Failure::Undefined);");
            self.writer.close("}");
        }
        for update in &*step.updates {
            let code = self.expression(state, step, &update.value, &update.ty);
            self.writer.line(&format!("let {} = {code};", new_name(step, &update.variable, &names)));
        }
        self.writer.line(&format!("Ok({})", news(step, &names)));
        self.writer.close("};");
        self.writer.line(&format!("admitted().map_err(|failure| failure.{error})"));
        self.writer.close("}");
        self.writer.line("");
    }

    pub(super) fn receive(&mut self, role: &RolePlan, state: &StatePlan) {
        for step in state.steps.iter().filter(|step| step.is_checked()) {
            self.admits(state, step);
        }
        self.writer.line("/// Awaits the next message.");
        let received = match state.within {
            Some(within) => {
                let within = Duration::from_nanos(within);
                self.writer.line("///");
                self.writer.line(&format!(
                    "/// It comes within {within:?}: over a link with a timer (`Asynchronous`), [`Error::Late`] otherwise."
                ));
                let (seconds, rest) = (within.as_secs(), within.subsec_nanos());
                let within = format!("core::time::Duration::new({seconds}, {rest})");
                format!("L::receive_within(self, Self::EXPECTED, {within}, Self::judge)")
            }
            None => "L::receive(self, Self::EXPECTED, Self::judge)".to_owned(),
        };
        self.writer.open(&format!("pub fn recv(self) -> L::Received<Self, {}Event<L>> {{", state.name));
        self.writer.line(&received);
        self.writer.close("}");
        self.writer.line("");
        self.writer.open("const EXPECTED: &'static [Expect] = &[");
        for step in &state.steps {
            let (peer, label) =
                (self.peer_constant(role, step.peer), &self.plan.messages[step.message].label);
            self.writer
                .line(&format!("Expect {{ from: {peer}, signature: {}, label: {label:?} }},", step.message));
        }
        self.writer.close("];");
        self.writer.line("");
        self.writer.open(&format!(
            "fn judge(self, from: usize, message: Message) -> Result<{}Event<L>, Error> {{",
            state.name
        ));
        self.writer.open("match (from, message) {");
        for step in &state.steps {
            self.judged(role, state, step);
        }
        self.writer.open("(from, other) => {");
        self.writer.line("let label = referee_endpoint::Message::label(&other);");
        self.writer.line("Err(Error::unexpected(from, label, Self::EXPECTED))");
        self.writer.close("}");
        self.writer.close("}");
        self.writer.close("}");
    }

    fn judged(&mut self, role: &RolePlan, state: &StatePlan, step: &StepPlan) {
        let message = &self.plan.messages[step.message];
        let names = field_names(&message.fields);
        self.writer.open(&format!("({}, {}) => {{", step.peer, variant(&message.name, &names)));
        if step.is_checked() {
            let arguments = arguments(message, &names);
            let comma = if arguments.is_empty() { "" } else { ", " };
            let call = format!(
                "self.{}({}{comma}{arguments})?",
                check_name(step),
                self.peer_constant(role, step.peer)
            );
            let bound = if step.updates.is_empty() {
                String::new()
            } else {
                format!("let {} = ", news(step, &names))
            };
            self.writer.line(&format!("{bound}{call};"));
        }
        let mut copies = names.clone();
        for ((name, field), copy) in names.iter().zip(&message.fields).zip(&mut copies) {
            if self.keeps(role, step, field) && !is_copy(&field.ty) {
                *copy = format!("{name}.clone()");
            }
        }
        let ends = role.states[step.target].kind == Kind::End;
        let next = self.next(role, state, step, &copies);
        let own = free("next", &names);
        self.writer.line(&format!("let {}{own} = {next};", if ends { "mut " } else { "" }));
        if ends {
            self.writer.line(&format!("{own}.link.end();"));
        }
        let parts: Vec<String> = names.iter().cloned().chain([own]).collect();
        self.writer.line(&format!("Ok({}Event::{} {{ {} }})", state.name, step.name, parts.join(", ")));
        self.writer.close("}");
    }

    pub(super) fn event(&mut self, role: &RolePlan, state: &StatePlan) {
        self.writer.line("");
        self.writer.line(&format!("/// What may arrive in [`{}`].", state.name));
        self.writer.line("#[derive(Debug)]");
        self.writer.line("#[must_use = \"dropping a session before its end aborts it\"]");
        self.writer.open(&format!("pub enum {}Event<L> {{", state.name));
        for step in &state.steps {
            let message = &self.plan.messages[step.message];
            self.doc(&step.comment);
            if !step.comment.is_empty() {
                self.writer.line("///");
            }
            self.writer.line(&format!("/// `{}` from {}.", message.label, role.peers[step.peer]));
            if step.assertion.is_some() {
                self.writer.line("///");
                self.writer.line(&format!("/// This holds: `{}`.", step.condition()));
            }
            self.writer.open(&format!("{} {{", step.name));
            let names = field_names(&message.fields);
            for (name, field) in names.iter().zip(&message.fields) {
                self.writer.line(&format!("/// `{}`.", field.wire));
                let line = format!("{name}: {},", self.ty(&field.ty));
                self.writer.line(&line);
            }
            self.writer.line("/// The session goes on here.");
            self.writer.line(&format!("{}: {}<L>,", free("next", &names), role.states[step.target].name));
            self.writer.close("},");
        }
        self.writer.close("}");
    }

    /// The identifier of a variable where a step is checked.
    pub(super) fn variable(&self, state: &StatePlan, step: &StepPlan, name: &str) -> (String, bool) {
        let message = &self.plan.messages[step.message];
        let own = message.fields.iter().position(|field| field.variable.as_deref() == Some(name));
        if let Some(at) = own {
            return (field_names(&message.fields)[at].clone(), true);
        }
        let kept = state.kept.iter().position(|(known, _)| **known == *name);
        (kept.map_or_else(String::new, |at| format!("self.{}", kept_names(state)[at])), false)
    }

    pub(super) fn predicate(&self, name: &str) -> String {
        format!("{}::{}", self.predicates, among(name, self.plan.predicates.keys(), lower))
    }

    pub(super) fn pattern(&self, pattern: &str) -> String {
        format!("PATTERN_{}", self.plan.pattern_number(pattern))
    }
}

/// The method that checks a step: `admits_…` only says whether it is right, `computes_…` gives the recursion data that follow.
fn check_name(step: &StepPlan) -> String {
    let verb = if step.updates.is_empty() { "admits" } else { "computes" };
    format!("{verb}_{}", snake(&step.name))
}

/// `Message::Auth { uname, pwd }`.
fn variant(name: &str, fields: &[String]) -> String {
    match fields.len() {
        0 => format!("Message::{name}"),
        _ => format!("Message::{name} {{ {} }}", fields.join(", ")),
    }
}

/// The new recursion data of a step as a pattern or a value, beside fields of these names: nothing, one, or several.
fn news(step: &StepPlan, fields: &[String]) -> String {
    let name = |update: &Update| new_name(step, &update.variable, fields);
    let names: Vec<String> = step.updates.iter().map(name).collect();
    if let [one] = names.as_slice() { one.clone() } else { format!("({})", names.join(", ")) }
}

/// The fields of a message as a check borrows them.
fn arguments(message: &crate::plan::MessagePlan, names: &[String]) -> String {
    let fields = names.iter().zip(&message.fields);
    let one = fields.map(|(name, field)| if is_copy(&field.ty) { name.clone() } else { format!("&{name}") });
    one.collect::<Vec<_>>().join(", ")
}

/// Numbers, twenty to a line.
fn numbers(writer: &mut crate::writer::Writer, numbers: impl Iterator<Item = u32>) {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    for line in numbers.chunks(20) {
        writer.line(&format!("{},", line.join(", ")));
    }
}
