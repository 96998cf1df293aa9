//! Endpoints in Python 3.11, one file without dependencies, clean under `mypy --strict`.
//!
//! A state is a class; what may happen in it are its methods, so a step out of order is a type error. A state that was left before
//! is refused at run time.

mod expr;

use std::sync::Arc;

use referee_theory::{Type, Value};

use crate::names::{Scope, distinct, free, snake};
use crate::plan::{FieldPlan, Kind, Plan, RolePlan, StatePlan, StepPlan, naming};
use crate::writer::Writer;

/// What every file has in it: errors, the link over lines, arithmetic.
const RUNTIME: &str = include_str!("python/runtime.py");

/// The endpoints of `plan` as one file. Predicates are called in the module `predicates`.
#[must_use]
pub fn python(plan: &Plan, predicates: &str) -> String {
    let mut target = Python { plan, writer: Writer::default() };
    target.file(predicates);
    target.writer.finish()
}

struct Python<'a> {
    plan: &'a Plan,
    writer: Writer,
}

/// Words that no identifier may be, and names of the language that methods and annotations use. Whatever else a file has begins with `_`, with a
/// capital, or is reached through `self`.
const RESERVED: [&str; 50] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return", "try", "type", "while", "with",
    "yield", "self", "abort", "abs", "bool", "bytes", "float", "int", "len", "list", "math", "str", "tuple",
];

fn lower(name: &str) -> String {
    let name = snake(name);
    if RESERVED.contains(&name.as_str()) { format!("{name}_") } else { name }
}

fn field_names(fields: &[FieldPlan]) -> Vec<String> {
    naming::field_names(fields, lower)
}

/// The identifiers of the members of a record.
fn member_names(fields: &[(Arc<str>, Type)]) -> Vec<String> {
    distinct(fields.iter().map(|(name, _)| name), lower)
}

fn kept_names(state: &StatePlan) -> Vec<String> {
    let mut scope = Scope::with(&["_session", "_turn"]);
    state.kept.iter().map(|(name, _)| scope.claim(&format!("_{}", snake(name)))).collect()
}

/// Text as a literal.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            plain if plain.is_ascii_graphic() || plain == ' ' => quoted.push(plain),
            other => quoted.push_str(&format!("\\U{:08x}", u32::from(other))),
        }
    }
    quoted.push('"');
    quoted
}

/// Text within a documentation string.
fn documented(text: &str) -> String {
    text.replace('\\', "\\\\").replace("\"\"\"", "'''").trim_end_matches('"').to_owned()
}

/// The new values of recursion data.
fn new_names(step: &StepPlan) -> Vec<String> {
    let names = distinct(step.updates.iter().map(|update| &update.variable), snake);
    names.into_iter().map(|name| format!("_new_{name}")).collect()
}

impl Python<'_> {
    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Unit => "None".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Int => "int".to_owned(),
            Type::Float => "float".to_owned(),
            Type::String | Type::Opaque(_) => "str".to_owned(),
            Type::Bytes => "bytes".to_owned(),
            Type::List(element) => format!("list[{}]", self.ty(element)),
            Type::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.ty(part)).collect();
                format!("tuple[{}]", parts.join(", "))
            }
            Type::Record(fields) => self.plan.record_name(fields).to_owned(),
        }
    }

    /// How a value of `ty` is written for JSON.
    fn write(&self, ty: &Type, value: &str) -> String {
        match ty {
            Type::Bytes => format!("_text({value})"),
            Type::Int => format!("_int64({value})"),
            Type::List(element) => format!("[{} for part in {value}]", self.write(element, "part")),
            Type::Tuple(parts) => {
                let parts =
                    parts.iter().enumerate().map(|(at, ty)| self.write(ty, &format!("{value}[{at}]")));
                format!("[{}]", parts.collect::<Vec<_>>().join(", "))
            }
            Type::Record(fields) => {
                let members = fields.iter().zip(member_names(fields)).map(|((name, ty), member)| {
                    format!("{}: {}", quoted(name), self.write(ty, &format!("{value}.{member}")))
                });
                format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
            }
            _ => value.to_owned(),
        }
    }

    /// How a value of `ty` is read from JSON: an expression that fails if it is none.
    fn read(&self, ty: &Type, value: &str) -> String {
        match ty {
            Type::Unit => format!("_read_unit({value})"),
            Type::Bool => format!("_read_bool({value})"),
            Type::Int => format!("_read_int({value})"),
            Type::Float => format!("_read_float({value})"),
            Type::String => format!("_read_str({value})"),
            Type::Bytes => format!("_read_bytes({value})"),
            Type::Opaque(_) => format!("_read_opaque({value})"),
            Type::List(element) => {
                format!("_read_list({value}, lambda part: {})", self.read(element, "part"))
            }
            Type::Tuple(parts) => {
                let count = parts.len();
                let parts = parts.iter().enumerate().map(|(at, ty)| {
                    format!("{},", self.read(ty, &format!("_read_parts({value}, {count})[{at}]")))
                });
                format!("({})", parts.collect::<Vec<_>>().join(" "))
            }
            Type::Record(fields) => format!("_read_{}({value})", self.plan.record_name(fields)),
        }
    }

    fn doc(&mut self, lines: &[String]) {
        match lines {
            [] => {}
            [only] => self.writer.line(&format!("\"\"\"{}\"\"\"", documented(only))),
            [first, rest @ ..] => {
                self.writer.line(&format!("\"\"\"{}", documented(first)));
                for line in rest {
                    self.writer.line(&documented(line));
                }
                self.writer.line("\"\"\"");
            }
        }
    }

    fn file(&mut self, predicates: &str) {
        let plan = self.plan;
        let roles: Vec<String> = plan.roles.iter().map(|role| format!("`{}`", role.name)).collect();
        let mut about =
            vec![format!("Role {} of the protocol `{}`.", roles.join(", "), plan.protocol), String::new()];
        about.extend(plan.about.iter().cloned());
        about.extend((!plan.about.is_empty()).then(String::new));
        let command = "`referee generate python`";
        about
            .push(format!("@generated from {} by {command}: change the protocol, not this file.", plan.file));
        self.doc(&about);
        self.writer.line("");
        self.writer.line("from __future__ import annotations");
        self.writer.line("");
        for module in ["decimal", "json", "math", "re", "socket"] {
            self.writer.line(&format!("import {module}"));
        }
        self.writer.line("from collections.abc import Callable, Mapping, Sequence");
        self.writer.line("from dataclasses import dataclass");
        self.writer.line(
            "from typing import Any, BinaryIO, Final, NoReturn, Protocol, TypeAlias, TypeVar, cast, final",
        );
        if !plan.predicates.is_empty() {
            self.writer.line("");
            self.writer.line(&format!("import {predicates} as _predicates"));
        }
        self.records();
        self.patterns();
        let [role] = plan.roles.as_slice() else { return };
        let names: Vec<String> = role.peers.iter().map(|peer| quoted(peer)).collect();
        self.writer.line("");
        self.writer.line(&format!("PEERS: Final[Sequence[str]] = [{}]", names.join(", ")));
        let mut written = Vec::new();
        for (at, state) in role.states.iter().enumerate() {
            if !written.contains(&state.name.as_str()) {
                written.push(&state.name);
                self.state(role, at, state);
            }
        }
        self.writer.line("");
        self.writer.line("");
        self.writer.line("# What every endpoint needs.");
        self.writer.line("");
        self.writer.line("");
        RUNTIME.lines().for_each(|line| self.writer.line(line));
    }

    fn records(&mut self) {
        let plan = self.plan;
        for record in &plan.records {
            self.writer.line("");
            self.writer.line("");
            self.writer.line("@final");
            self.writer.line("@dataclass(frozen=True, slots=True)");
            self.writer.open(&format!("class {}:", record.name));
            self.writer.line("\"\"\"A record of the protocol.\"\"\"");
            self.writer.line("");
            let names = member_names(&record.fields);
            for (name, (_, ty)) in names.iter().zip(&*record.fields) {
                let line = format!("{name}: {}", self.ty(ty));
                self.writer.line(&line);
            }
            self.writer.dedent();
            self.writer.line("");
            self.writer.open(&format!("def _read_{}(value: Any) -> {}:", record.name, record.name));
            self.writer.line(&format!("members = _read_record(value, {})", record.fields.len()));
            let parts = names.iter().zip(&*record.fields).map(|(written, (name, ty))| {
                format!("{written}={}", self.read(ty, &format!("members.get({})", quoted(name))))
            });
            let line = format!("return {}({})", record.name, parts.collect::<Vec<_>>().join(", "));
            self.writer.line(&line);
            self.writer.dedent();
        }
    }

    fn patterns(&mut self) {
        for (index, (pattern, table)) in self.plan.patterns.iter().enumerate() {
            let numbers = |numbers: Vec<String>| numbers.join(", ");
            let classes = numbers(table.classes.iter().map(ToString::to_string).collect());
            let next = numbers(table.next.iter().map(ToString::to_string).collect());
            let accepts = table.accepts.iter().map(|accepts| if *accepts { "True" } else { "False" });
            let accepts = numbers(accepts.map(str::to_owned).collect());
            self.writer.line("");
            self.writer.line(&format!("# {} as a table.", quoted(pattern)));
            self.writer.line(&format!(
                "_PATTERN_{}: Final = (bytes([{classes}]), {}, [{next}], [{accepts}])",
                index + 1,
                table.width
            ));
        }
    }

    fn state(&mut self, role: &RolePlan, at: usize, state: &StatePlan) {
        if state.kind == Kind::Receives {
            state.steps.iter().for_each(|step| self.event(role, state, step));
            let names: Vec<String> =
                state.steps.iter().map(|step| format!("{}Got{}", state.name, step.name)).collect();
            self.writer.line("");
            self.writer.line("");
            self.writer.line(&format!("{}Event: TypeAlias = \"{}\"", state.name, names.join(" | ")));
        }
        self.writer.line("");
        self.writer.line("");
        self.writer.line("@final");
        self.writer.open(&format!("class {}:", state.name));
        self.doc(&[self.plan.about_state(role, at)]);
        self.writer.line("");
        let kept = kept_names(state);
        let slots: Vec<String> = ["_session", "_turn"]
            .into_iter()
            .map(str::to_owned)
            .chain(kept.clone())
            .map(|name| quoted(&name))
            .collect();
        self.writer.line(&format!("__slots__ = ({})", slots.join(", ")));
        self.writer.line("");
        self.constructor(role, at, state, &kept);
        match state.kind {
            Kind::Sends => state.steps.iter().for_each(|step| self.send(role, state, step)),
            Kind::Receives => self.receive(role, state),
            Kind::End => {}
        }
        if state.kind != Kind::End {
            self.writer.line("");
            self.writer.open("def abort(self) -> None:");
            self.writer.line("\"\"\"Ends the session before its end; the others are told.\"\"\"");
            self.writer.line("self._session.step(self._turn)");
            self.writer.line("self._session.over = True");
            self.writer.line("self._session.link.end(False)");
            self.writer.dedent();
        }
        self.writer.dedent();
    }

    fn constructor(&mut self, role: &RolePlan, at: usize, state: &StatePlan, kept: &[String]) {
        if at == 0 {
            self.writer.open("def __init__(self, link: Link, session: _Session | None = None, turn: int = 0");
        } else {
            self.writer.open("def __init__(self, session: _Session, turn: int");
        }
        // Written as one line: the parameters follow what was opened.
        let parameters: String = kept
            .iter()
            .zip(&state.kept)
            .enumerate()
            .map(|(index, (name, (_, ty)))| {
                let default = match role.initial.get(index) {
                    Some((_, value)) if at == 0 => format!(" = {}", constant(value)),
                    _ => String::new(),
                };
                format!(", {name}: {}{default}", self.ty(ty))
            })
            .collect();
        self.writer.join(&format!("{parameters}) -> None:"));
        if at == 0 {
            self.writer.line("self._session: Final = session or _Session(link)");
        } else {
            self.writer.line("self._session: Final = session");
        }
        self.writer.line("self._turn: Final = turn");
        for name in kept {
            self.writer.line(&format!("self.{name}: Final = {name}"));
        }
        if state.kind == Kind::End {
            self.writer.line("self._session.over = True");
            self.writer.line("self._session.link.end(True)");
        }
        self.writer.dedent();
    }

    /// The next state, once `_turn` is its turn.
    fn next(&self, role: &RolePlan, state: &StatePlan, step: &StepPlan, fields: &[String]) -> String {
        let target = &role.states[step.target];
        let message = &self.plan.messages[step.message];
        let own = kept_names(state);
        let news = new_names(step);
        let mut parts = Vec::new();
        if step.target == 0 {
            parts.push("self._session.link".to_owned());
        }
        parts.extend(["self._session".to_owned(), "_turn".to_owned()]);
        for (variable, _) in &target.kept {
            let field = message.fields.iter().position(|field| field.variable.as_ref() == Some(variable));
            let kept = state.kept.iter().position(|(known, _)| known == variable);
            let updated = step.updates.iter().position(|update| update.variable == *variable);
            parts.push(if let Some(updated) = updated {
                news[updated].clone()
            } else if let Some(field) = field {
                fields[field].clone()
            } else {
                kept.map_or_else(String::new, |kept| format!("self.{}", own[kept]))
            });
        }
        format!("{}({})", target.name, parts.join(", "))
    }

    /// The check of a message: it gives the new recursion data, or fails.
    fn admits(&mut self, state: &StatePlan, step: &StepPlan) {
        let message = &self.plan.messages[step.message];
        let parameters: String = field_names(&message.fields)
            .iter()
            .zip(&message.fields)
            .map(|(name, field)| format!(", {name}: {}", self.ty(&field.ty)))
            .collect();
        let results: Vec<String> = step.updates.iter().map(|update| self.ty(&update.ty)).collect();
        let result = match results.as_slice() {
            [] => "None".to_owned(),
            results => format!("tuple[{}]", results.join(", ")),
        };
        self.writer.line("");
        self.writer.open(&format!("def _admits_{}(self{parameters}) -> {result}:", snake(&step.name)));
        if let Some(assertion) = &step.assertion {
            let code = self.expression(state, step, assertion, &Type::Bool);
            self.writer.open(&format!("if not {code}:"));
            self.writer.line("raise _Undefined");
            self.writer.dedent();
        }
        let news = new_names(step);
        for (name, update) in news.iter().zip(&*step.updates) {
            let code = self.expression(state, step, &update.value, &update.ty);
            self.writer.line(&format!("{name} = {code}"));
        }
        if !news.is_empty() {
            self.writer.line(&format!("return ({},)", news.join(", ")));
        }
        self.writer.dedent();
    }

    /// `(_new_left,) = ` where a check gives new recursion data.
    fn news(step: &StepPlan) -> String {
        let names = new_names(step);
        if names.is_empty() { String::new() } else { format!("({},) = ", names.join(", ")) }
    }

    fn send(&mut self, role: &RolePlan, state: &StatePlan, step: &StepPlan) {
        let message = &self.plan.messages[step.message];
        let names = field_names(&message.fields);
        if step.is_checked() {
            self.admits(state, step);
        }
        let parameters: String = names
            .iter()
            .zip(&message.fields)
            .map(|(name, field)| format!(", {name}: {}", self.ty(&field.ty)))
            .collect();
        let target = &role.states[step.target];
        self.writer.line("");
        self.writer.open(&format!("def {}(self{parameters}) -> {}:", lower(&step.name), target.name));
        let mut about = step.comment.clone();
        about.push(format!("Sends `{}` to {}.", message.label, role.peers[step.peer]));
        if step.is_checked() {
            about.push(format!("Nothing is sent unless this holds: `{}`.", step.condition()));
        }
        self.doc(&about);
        if step.is_checked() {
            self.writer.open("try:");
            let call = format!("self._admits_{}({})", snake(&step.name), names.join(", "));
            self.writer.line(&format!("{}{call}", Self::news(step)));
            self.writer.close("except _Undefined as _error:");
            self.writer.indent();
            let text = format!("`{}` was not sent: `{}` does not hold", message.label, step.condition());
            self.writer.line(&format!("raise Refused({}) from _error", quoted(&text)));
            self.writer.dedent();
        }
        let fields: Vec<String> = names
            .iter()
            .zip(&message.fields)
            .map(|(name, field)| format!("{}: {}", quoted(&field.wire), self.write(&field.ty, name)))
            .collect();
        let label = quoted(&message.label);
        if !fields.is_empty() {
            self.writer.line(&format!("_fields = _written({label}, lambda: {{{}}})", fields.join(", ")));
        }
        self.writer.line("_turn = self._session.step(self._turn)");
        let fields = if fields.is_empty() { "{}" } else { "_fields" };
        let peer = quoted(&role.peers[step.peer]);
        self.writer.line(&format!("self._session.send({peer}, {label}, {fields})"));
        let next = self.next(role, state, step, &names);
        self.writer.line(&format!("return {next}"));
        self.writer.dedent();
    }

    fn receive(&mut self, role: &RolePlan, state: &StatePlan) {
        for step in &state.steps {
            if step.is_checked() {
                self.admits(state, step);
            }
            self.judged(role, state, step);
        }
        let mut peers: Vec<String> = state.steps.iter().map(|step| quoted(&role.peers[step.peer])).collect();
        peers.dedup();
        let expected: Vec<String> = state
            .steps
            .iter()
            .map(|step| {
                format!("`{}` from {}", self.plan.messages[step.message].label, role.peers[step.peer])
            })
            .collect();
        self.writer.line("");
        self.writer.open(&format!("def recv(self) -> {}Event:", state.name));
        self.doc(&["Awaits the next message.".to_owned()]);
        self.writer.line("turn = self._session.step(self._turn)");
        let line = format!("peer, label, fields = self._session.receive([{}])", peers.join(", "));
        self.writer.line(&line);
        for step in &state.steps {
            let label = quoted(&self.plan.messages[step.message].label);
            let peer = quoted(&role.peers[step.peer]);
            self.writer.open(&format!("if peer == {peer} and label == {label}:"));
            self.writer.line(&format!("return self._got_{}(fields, turn)", snake(&step.name)));
            self.writer.dedent();
        }
        let text = format!("; expected {}", expected.join(", "));
        let line = format!(
            "self._session.fail(Violated(peer + \" sent `\" + label + \"`\" + {}, peer))",
            quoted(&text)
        );
        self.writer.line(&line);
        self.writer.dedent();
    }

    /// What a message of these fields is to the program, in a method of its own: messages may have fields of one name and several types.
    fn judged(&mut self, role: &RolePlan, state: &StatePlan, step: &StepPlan) {
        let message = &self.plan.messages[step.message];
        let names = field_names(&message.fields);
        let (peer, event) = (&role.peers[step.peer], format!("{}Got{}", state.name, step.name));
        self.writer.line("");
        let method = format!("_got_{}", snake(&step.name));
        self.writer.open(&format!("def {method}(self, _fields: dict[str, Any], _turn: int) -> {event}:"));
        if !names.is_empty() {
            self.writer.open("try:");
            for (name, field) in names.iter().zip(&message.fields) {
                let value = self.read(&field.ty, &format!("_fields.get({})", quoted(&field.wire)));
                // mypy does not want the value of something that has none.
                if field.ty == Type::Unit {
                    self.writer.line(&value);
                    self.writer.line(&format!("{name} = None"));
                } else {
                    self.writer.line(&format!("{name} = {value}"));
                }
            }
            self.writer.close("except _WrongType:");
            self.writer.indent();
            let text = format!("{peer} sent `{}` with a field of the wrong type", message.label);
            self.violated(&text, peer);
            self.writer.dedent();
        }
        if step.is_checked() {
            self.writer.open("try:");
            let call = format!("self._admits_{}({})", snake(&step.name), names.join(", "));
            self.writer.line(&format!("{}{call}", Self::news(step)));
            self.writer.close("except _Undefined:");
            self.writer.indent();
            let condition = step.condition();
            self.violated(
                &format!("{peer} sent `{}` although `{condition}` does not hold", message.label),
                peer,
            );
            self.writer.dedent();
        }
        let next = self.next(role, state, step, &names);
        let parts: Vec<String> = names.iter().cloned().chain([next]).collect();
        self.writer.line(&format!("return {event}({})", parts.join(", ")));
        self.writer.dedent();
    }

    fn violated(&mut self, text: &str, peer: &str) {
        let line = format!("self._session.fail(Violated({}, {}))", quoted(text), quoted(peer));
        self.writer.line(&line);
    }

    fn event(&mut self, role: &RolePlan, state: &StatePlan, step: &StepPlan) {
        let message = &self.plan.messages[step.message];
        self.writer.line("");
        self.writer.line("");
        self.writer.line("@final");
        self.writer.line("@dataclass(frozen=True, slots=True)");
        self.writer.open(&format!("class {}Got{}:", state.name, step.name));
        let mut about = step.comment.clone();
        about.push(format!("`{}` from {}.", message.label, role.peers[step.peer]));
        self.doc(&about);
        self.writer.line("");
        let names = field_names(&message.fields);
        for (name, field) in names.iter().zip(&message.fields) {
            let line = format!("{name}: {}", self.ty(&field.ty));
            self.writer.line(&line);
        }
        let next = free("next", &names);
        self.writer.line(&format!("{next}: {}", role.states[step.target].name));
        self.writer.dedent();
    }

    fn table(&self, pattern: &str) -> String {
        format!("_PATTERN_{}", self.plan.pattern_number(pattern))
    }
}

/// A constant.
fn constant(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(value) => format!("({value})"),
        Value::Float(value) if value.is_nan() => "math.nan".to_owned(),
        Value::Float(value) if value.is_infinite() => {
            if *value > 0.0 { "math.inf" } else { "(-math.inf)" }.to_owned()
        }
        Value::Float(value) => format!("({value:?})"),
        Value::String(text) | Value::Opaque(text) => quoted(text),
        Value::Bytes(bytes) => format!("bytes({:?})", &**bytes),
        Value::List(values) => format!("[{}]", values.iter().map(constant).collect::<Vec<_>>().join(", ")),
        Value::Tuple(values) => {
            format!(
                "({})",
                values.iter().map(|value| format!("{}, ", constant(value))).collect::<String>().trim_end()
            )
        }
        _ => "None".to_owned(),
    }
}
