//! Endpoints in TypeScript, one module without dependencies, clean under `tsc --strict`.
//!
//! A state is a class with the methods of what may happen in it; what is received is a discriminated union. Integers of 64 bits are
//! `bigint`. A state that was left before is refused at run time.

mod expr;
mod states;

use std::sync::Arc;

use referee_theory::{Type, Value};

use crate::names::{Scope, camel, capitalised, distinct};
use crate::plan::{FieldPlan, Kind, Plan, StatePlan, StepPlan, naming};
use crate::writer::Writer;

/// What every file has in it: errors, the link over lines, arithmetic.
const RUNTIME: &str = include_str!("typescript/runtime.ts");

/// The endpoints of `plan` as one module. Predicates are called in the module `predicates`.
#[must_use]
pub fn typescript(plan: &Plan, predicates: &str) -> String {
    let mut target = TypeScript { plan, writer: Writer::default() };
    target.file(predicates);
    target.writer.finish()
}

struct TypeScript<'a> {
    plan: &'a Plan,
    writer: Writer,
}

/// Words that no identifier may be, and functions that methods call. What else a method needs begins with `_`.
const RESERVED: &str = "arguments async await break case catch class const constructor continue debugger default delete do else enum eval export \
    extends false finally for function if implements import in instanceof interface let new null of package private protected public \
    return static super switch then this throw true try type typeof undefined var void while with yield \
    next part predicates \
    admitted ask codes contains divide dropped element equal floatToInt greatest int64 least less magnitude matches notAbove parseInteger parseReal \
    readBool readBytes readFloat readInt readOpaque readParts readRecord readText readUnit reason remainder settle showFloat textOf typed written";

/// What no method may be called: an object with `then` is taken for a promise.
const METHODS: &str = "abort constructor recv then";

fn unless(reserved: &str, name: &str) -> String {
    let name = camel(name);
    if reserved.split_ascii_whitespace().any(|word| word == name) { format!("{name}_") } else { name }
}

/// A field, a member of a record, a predicate.
fn lower(name: &str) -> String {
    unless(RESERVED, name)
}

/// The method that sends a message.
fn method(name: &str) -> String {
    unless(METHODS, name)
}

fn field_names(fields: &[FieldPlan]) -> Vec<String> {
    naming::field_names(fields, lower)
}

/// The identifiers of the members of a record.
fn member_names(fields: &[(Arc<str>, Type)]) -> Vec<String> {
    distinct(fields.iter().map(|(name, _)| name), lower)
}

/// The private members that hold what a state keeps.
fn kept_names(state: &StatePlan) -> Vec<String> {
    let mut scope = Scope::with(&["_session", "_turn"]);
    state.kept.iter().map(|(name, _)| scope.claim(&format!("_{}", camel(name)))).collect()
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
            other => quoted.push_str(&format!("\\u{{{:x}}}", u32::from(other))),
        }
    }
    quoted.push('"');
    quoted
}

/// The new values of recursion data.
fn new_names(step: &StepPlan) -> Vec<String> {
    let names = distinct(step.updates.iter().map(|update| &update.variable), capitalised);
    names.into_iter().map(|name| format!("_new{name}")).collect()
}

impl TypeScript<'_> {
    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Unit => "null".to_owned(),
            Type::Bool => "boolean".to_owned(),
            Type::Int => "bigint".to_owned(),
            Type::Float => "number".to_owned(),
            Type::String | Type::Opaque(_) => "string".to_owned(),
            Type::Bytes => "Uint8Array".to_owned(),
            Type::List(element) => format!("readonly ({})[]", self.ty(element)),
            Type::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.ty(part)).collect();
                format!("readonly [{}]", parts.join(", "))
            }
            Type::Record(fields) => self.plan.record_name(fields).to_owned(),
        }
    }

    /// How a value of `ty` is written for JSON.
    fn write(&self, ty: &Type, value: &str) -> String {
        match ty {
            Type::Bytes => format!("textOf({value})"),
            Type::Int => format!("int64({value})"),
            Type::List(element) => format!("{value}.map((part): Json => {})", self.write(element, "part")),
            Type::Tuple(parts) => {
                let parts =
                    parts.iter().enumerate().map(|(at, ty)| self.write(ty, &format!("{value}[{at}]")));
                format!("[{}]", parts.collect::<Vec<_>>().join(", "))
            }
            Type::Record(fields) => {
                let members = fields.iter().zip(member_names(fields)).map(|((name, ty), member)| {
                    format!("[{}, {}]", quoted(name), self.write(ty, &format!("{value}.{member}")))
                });
                format!("new Map<string, Json>([{}])", members.collect::<Vec<_>>().join(", "))
            }
            _ => value.to_owned(),
        }
    }

    /// How a value of `ty` is read from JSON: an expression that throws if it is none.
    fn read(&self, ty: &Type, value: &str) -> String {
        match ty {
            Type::Unit => format!("readUnit({value})"),
            Type::Bool => format!("readBool({value})"),
            Type::Int => format!("readInt({value})"),
            Type::Float => format!("readFloat({value})"),
            Type::String => format!("readText({value})"),
            Type::Bytes => format!("readBytes({value})"),
            Type::Opaque(_) => format!("readOpaque({value})"),
            Type::List(element) => {
                format!("readParts({value}, null).map((part) => {})", self.read(element, "part"))
            }
            Type::Tuple(parts) => {
                let count = parts.len();
                let parts = parts
                    .iter()
                    .enumerate()
                    .map(|(at, ty)| self.read(ty, &format!("readParts({value}, {count})[{at}]")));
                format!("[{}] as const", parts.collect::<Vec<_>>().join(", "))
            }
            Type::Record(fields) => format!("read{}({value})", self.plan.record_name(fields)),
        }
    }

    fn doc(&mut self, lines: &[String]) {
        let safe = |line: &String| line.replace("*/", "* /");
        match lines {
            [] => {}
            [only] => self.writer.line(&format!("/** {} */", safe(only))),
            lines => {
                self.writer.line("/**");
                lines.iter().for_each(|line| self.writer.line(format!(" * {}", safe(line)).trim_end()));
                self.writer.line(" */");
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
        let command = "`referee generate typescript`";
        about
            .push(format!("@generated from {} by {command}: change the protocol, not this file.", plan.file));
        self.doc(&about);
        self.writer.line("");
        if !plan.predicates.is_empty() {
            self.writer.line(&format!("import * as predicates from {};", quoted(predicates)));
            self.writer.line("");
        }
        let [role] = plan.roles.as_slice() else { return };
        let names: Vec<String> = role.peers.iter().map(|peer| quoted(peer)).collect();
        self.writer.line("/** The roles that it talks to. */");
        self.writer.line(&format!("export const PEERS: readonly string[] = [{}];", names.join(", ")));
        self.records();
        self.patterns();
        let mut written = Vec::new();
        for (at, state) in role.states.iter().enumerate() {
            if !written.contains(&state.name.as_str()) {
                written.push(&state.name);
                self.state(role, at, state);
            }
        }
        self.writer.line("");
        self.writer.line("// What every endpoint needs.");
        self.writer.line("");
        RUNTIME.lines().for_each(|line| self.writer.line(line));
    }

    fn records(&mut self) {
        let plan = self.plan;
        for record in &plan.records {
            self.writer.line("");
            self.writer.line("/** A record of the protocol. */");
            self.writer.open(&format!("export interface {} {{", record.name));
            let names = member_names(&record.fields);
            for (name, (_, ty)) in names.iter().zip(&*record.fields) {
                let line = format!("readonly {name}: {};", self.ty(ty));
                self.writer.line(&line);
            }
            self.writer.close("}");
            self.writer.line("");
            let name = &record.name;
            self.writer.open(&format!("function read{name}(value: Json | undefined): {name} {{"));
            self.writer.line(&format!("const members = readRecord(value, {});", record.fields.len()));
            let parts = names.iter().zip(&*record.fields).map(|(written, (name, ty))| {
                format!("{written}: {}", self.read(ty, &format!("members.get({})", quoted(name))))
            });
            let line = format!("return {{ {} }};", parts.collect::<Vec<_>>().join(", "));
            self.writer.line(&line);
            self.writer.close("}");
        }
    }

    fn patterns(&mut self) {
        for (index, (pattern, table)) in self.plan.patterns.iter().enumerate() {
            let classes: Vec<String> = table.classes.iter().map(ToString::to_string).collect();
            let next: Vec<String> = table.next.iter().map(ToString::to_string).collect();
            let accepts: Vec<String> = table.accepts.iter().map(ToString::to_string).collect();
            self.writer.line("");
            self.writer.line(&format!("/** {} as a table. */", quoted(pattern).replace("*/", "* /")));
            self.writer.open(&format!("const PATTERN_{}: Pattern = {{", index + 1));
            self.writer.line(&format!("classes: [{}],", classes.join(", ")));
            self.writer.line(&format!("width: {},", table.width));
            self.writer.line(&format!("next: [{}],", next.join(", ")));
            self.writer.line(&format!("accepts: [{}],", accepts.join(", ")));
            self.writer.close("};");
        }
    }

    fn table(&self, pattern: &str) -> String {
        format!("PATTERN_{}", self.plan.pattern_number(pattern))
    }
}

/// A constant.
fn constant(value: &Value) -> String {
    let all = |values: &[Value]| values.iter().map(constant).collect::<Vec<_>>().join(", ");
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => format!("({value}n)"),
        Value::Float(value) if value.is_nan() => "NaN".to_owned(),
        Value::Float(value) if value.is_infinite() => {
            if *value > 0.0 { "Infinity" } else { "(-Infinity)" }.to_owned()
        }
        Value::Float(value) => format!("({value:?})"),
        Value::String(text) | Value::Opaque(text) => quoted(text),
        Value::Bytes(bytes) => {
            format!("Uint8Array.of({})", bytes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        Value::List(values) => format!("[{}]", all(values)),
        Value::Tuple(values) => format!("[{}] as const", all(values)),
        _ => "null".to_owned(),
    }
}

/// Whether a state can be left by an abort.
fn is_open(state: &StatePlan) -> bool {
    state.kind != Kind::End
}
