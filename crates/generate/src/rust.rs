//! Endpoints in Rust, over the crate `referee-endpoint`.
//!
//! A state is a struct with its link and the variables that later assertions read. It is consumed by every step, so a step out of order does
//! not compile.

mod expr;
mod items;

use std::sync::Arc;

use referee_theory::Type;

use crate::names::{Scope, among, distinct, free, screaming, snake};
use crate::plan::{FieldPlan, Kind, Plan, RolePlan, StatePlan, StepPlan, naming};
use crate::writer::Writer;

/// The endpoints of `plan` as one file. Predicates are called in the module `predicates`: `crate::predicates`.
#[must_use]
pub fn rust(plan: &Plan, predicates: &str) -> String {
    let mut target = Rust { plan, predicates, writer: Writer::default() };
    target.file();
    target.writer.finish()
}

struct Rust<'a> {
    plan: &'a Plan,
    predicates: &'a str,
    writer: Writer,
}

/// Words that no identifier may be.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "link",
];

/// An identifier that is no keyword.
pub(crate) fn lower(name: &str) -> String {
    let name = snake(name);
    if KEYWORDS.contains(&name.as_str()) { format!("{name}_") } else { name }
}

/// The identifiers of the fields of a message.
pub(crate) fn field_names(fields: &[FieldPlan]) -> Vec<String> {
    naming::field_names(fields, lower)
}

/// The identifiers of the members of a record.
fn member_names(fields: &[(Arc<str>, Type)]) -> Vec<String> {
    distinct(fields.iter().map(|(name, _)| name), lower)
}

/// The identifiers of the variables that a state keeps.
fn kept_names(state: &StatePlan) -> Vec<String> {
    let mut scope = Scope::with(&["link"]);
    state.kept.iter().map(|(name, _)| scope.claim(&lower(name))).collect()
}

impl Rust<'_> {
    fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Unit => "()".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Int => "i64".to_owned(),
            Type::Float => "f64".to_owned(),
            Type::String => "String".to_owned(),
            Type::Bytes => "Vec<u8>".to_owned(),
            Type::List(element) => format!("Vec<{}>", self.ty(element)),
            Type::Tuple(parts) => {
                let parts: String = parts.iter().map(|part| format!("{}, ", self.ty(part))).collect();
                format!("({})", parts.trim_end())
            }
            Type::Record(fields) => self.plan.record_name(fields).to_owned(),
            Type::Opaque(_) => "Opaque".to_owned(),
        }
    }

    /// How a check borrows a value of type `ty`.
    fn borrowed(&self, ty: &Type) -> String {
        match ty {
            Type::Unit | Type::Bool | Type::Int | Type::Float => self.ty(ty),
            Type::String => "&str".to_owned(),
            Type::Bytes => "&[u8]".to_owned(),
            Type::List(element) => format!("&[{}]", self.ty(element)),
            _ => format!("&{}", self.ty(ty)),
        }
    }

    fn doc(&mut self, lines: &[String]) {
        for line in lines {
            self.writer.line(format!("/// {line}").trim_end());
        }
    }

    fn role(&mut self, role: &RolePlan) {
        let names: Vec<String> = role.peers.iter().map(|peer| format!("{peer:?}")).collect();
        self.writer.line("/// What the protocol calls this role.");
        self.writer.line(&format!("pub const ROLE: &str = {:?};", role.name));
        self.writer.line("");
        self.writer.line("/// The roles that this one talks to, in the order of the streams of a link.");
        self.writer.line(&format!("pub const PEERS: [&str; {}] = [{}];", names.len(), names.join(", ")));
        self.writer.line("");
        for (index, peer) in role.peers.iter().enumerate() {
            let line = format!(
                "const {}: Peer = Peer {{ index: {index}, name: {peer:?} }};",
                self.peer_constant(role, index)
            );
            self.writer.line(&line);
        }
        let mut written = Vec::new();
        for (at, state) in role.states.iter().enumerate() {
            if written.contains(&state.name.as_str()) {
                continue;
            }
            written.push(&state.name);
            self.state(role, at, state);
        }
    }

    fn peer_constant(&self, role: &RolePlan, index: usize) -> String {
        let mut scope = Scope::with(&["PEERS", "ROLE"]);
        (1..=self.plan.patterns.len()).for_each(|number| scope.reserve(&format!("PATTERN_{number}")));
        // Where letters have no case, a constant would be taken for a field of the same name.
        let name = |peer: &String| {
            let name = screaming(peer);
            if name == snake(peer) { format!("PEER_{name}") } else { name }
        };
        let names: Vec<String> = role.peers.iter().map(|peer| scope.claim(&name(peer))).collect();
        names.get(index).cloned().unwrap_or_default()
    }

    fn state(&mut self, role: &RolePlan, at: usize, state: &StatePlan) {
        self.writer.line("");
        self.doc(&self.about(role, at, state));
        self.writer.line("#[derive(Debug)]");
        self.writer.line(match state.kind {
            Kind::End => "#[must_use = \"`close` says that the session is over\"]",
            _ => "#[must_use = \"dropping a session before its end aborts it\"]",
        });
        let kept = kept_names(state);
        self.writer.open(&format!("pub struct {}<L> {{", state.name));
        self.writer.line("link: L,");
        for (name, (_, ty)) in kept.iter().zip(&state.kept) {
            let line = format!("{name}: {},", self.ty(ty));
            self.writer.line(&line);
        }
        self.writer.close("}");
        self.writer.line("");
        self.writer.open(&format!("impl<L> Session<L> for {}<L> {{", state.name));
        self.writer.open("fn link(&mut self) -> &mut L {");
        self.writer.line("&mut self.link");
        self.writer.close("}");
        self.writer.close("}");
        self.writer.line("");
        self.writer.open(&format!("impl<L: Link<Message>> {}<L> {{", state.name));
        if at == 0 {
            self.constructor(role);
        }
        match state.kind {
            Kind::Sends => {
                for (index, step) in state.steps.iter().enumerate() {
                    if at == 0 || index > 0 {
                        self.writer.line("");
                    }
                    self.send(role, state, step);
                }
            }
            Kind::Receives => {
                if at == 0 {
                    self.writer.line("");
                }
                self.receive(role, state);
            }
            Kind::End => {
                if at == 0 {
                    self.writer.line("");
                }
                self.writer.line("/// The session is over; gives its link back.");
                self.writer.open("pub fn close(self) -> L {");
                self.writer.line("self.link");
                self.writer.close("}");
            }
        }
        self.writer.close("}");
        if state.kind == Kind::Receives {
            self.event(role, state);
        }
    }

    /// What happens in a state, for its documentation.
    fn about(&self, role: &RolePlan, at: usize, state: &StatePlan) -> Vec<String> {
        let place = if at == 0 { "The beginning" } else { "A state" };
        let labels = |preposition: &str| {
            let all: Vec<String> = state
                .steps
                .iter()
                .map(|step| {
                    format!(
                        "`{}` {preposition} {}",
                        self.plan.messages[step.message].label, role.peers[step.peer]
                    )
                })
                .collect();
            all.join(" or ")
        };
        vec![match state.kind {
            Kind::Sends => format!("{place}: `{}` sends {}.", role.name, labels("to")),
            Kind::Receives => format!("{place}: `{}` receives {}.", role.name, labels("from")),
            Kind::End => format!("The end of the session for `{}`.", role.name),
        }]
    }

    fn constructor(&mut self, role: &RolePlan) {
        self.writer.line("/// A new session over `link`.");
        let ends = role.states[0].kind == Kind::End;
        self.writer.open(&format!("pub fn new({}link: L) -> Self {{", if ends { "mut " } else { "" }));
        if ends {
            self.writer.line("link.end();");
        }
        let names = kept_names(&role.states[0]);
        let values: String = names
            .iter()
            .zip(&role.initial)
            .map(|(name, (_, value))| format!(", {name}: {}", expr::constant(value)))
            .collect();
        self.writer.line(&format!("Self {{ link{values} }}"));
        self.writer.close("}");
    }

    /// The next state, where the fields of the step's message have these names and updates are called `new_…`.
    fn next(&self, role: &RolePlan, state: &StatePlan, step: &StepPlan, fields: &[String]) -> String {
        let target = &role.states[step.target];
        let message = &self.plan.messages[step.message];
        let own = kept_names(state);
        let mut parts = vec!["link: self.link".to_owned()];
        for (name, (variable, _)) in kept_names(target).iter().zip(&target.kept) {
            let field = message.fields.iter().position(|field| field.variable.as_ref() == Some(variable));
            let kept = state.kept.iter().position(|(known, _)| known == variable);
            let value = if step.updates.iter().any(|update| update.variable == *variable) {
                new_name(step, variable, &field_names(&message.fields))
            } else if let Some(field) = field {
                fields[field].clone()
            } else {
                kept.map_or_else(String::new, |kept| format!("self.{}", own[kept]))
            };
            parts.push(if value == *name { value } else { format!("{name}: {value}") });
        }
        format!("{} {{ {} }}", target.name, parts.join(", "))
    }

    /// Whether the next state reads `field` of the step's message.
    fn keeps(&self, role: &RolePlan, step: &StepPlan, field: &FieldPlan) -> bool {
        let updated = step.updates.iter().any(|update| Some(&update.variable) == field.variable.as_ref());
        let target = &role.states[step.target];
        !updated && target.kept.iter().any(|(variable, _)| Some(variable) == field.variable.as_ref())
    }
}

/// What the new value of recursion data is called before it is kept, beside fields of these names.
fn new_name(step: &StepPlan, variable: &str, fields: &[String]) -> String {
    let name = among(variable, step.updates.iter().map(|update| &update.variable), snake);
    free(&format!("new_{name}"), fields)
}

/// Whether values of this type are copied.
fn is_copy(ty: &Type) -> bool {
    matches!(ty, Type::Unit | Type::Bool | Type::Int | Type::Float)
}
