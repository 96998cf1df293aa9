//! States as classes, events as interfaces.

use std::time::Duration;

use referee_theory::Type;

use super::{TypeScript, constant, field_names, is_open, kept_names, method, new_names, quoted};
use crate::names::upper_camel;
use crate::plan::{Kind, RolePlan, StatePlan, StepPlan};

impl TypeScript<'_> {
    pub(super) fn state(&mut self, role: &RolePlan, at: usize, state: &StatePlan) {
        if state.kind == Kind::Receives {
            state.steps.iter().for_each(|step| self.event(role, state, step));
            let names: Vec<String> =
                state.steps.iter().map(|step| format!("{}Got{}", state.name, step.name)).collect();
            self.writer.line("");
            self.writer.line(&format!("/** What comes in `{}`. */", state.name));
            self.writer.line(&format!("export type {}Event = {};", state.name, names.join(" | ")));
        }
        self.writer.line("");
        self.doc(&[self.plan.about_state(role, at)]);
        self.writer.open(&format!("export class {} {{", state.name));
        let kept = kept_names(state);
        self.constructor(role, at, state, &kept);
        match state.kind {
            Kind::Sends => state.steps.iter().for_each(|step| self.send(role, state, step)),
            Kind::Receives => self.receive(role, state),
            Kind::End => {}
        }
        if is_open(state) {
            self.writer.line("");
            self.doc(&["Ends the session before its end; the others are told.".to_owned()]);
            self.writer.open("abort(): void {");
            self.writer.line("this._session.step(this._turn);");
            self.writer.line("this._session.end(false);");
            self.writer.close("}");
        }
        self.writer.close("}");
    }

    fn constructor(&mut self, role: &RolePlan, at: usize, state: &StatePlan, kept: &[String]) {
        self.writer.open("constructor(");
        if at == 0 {
            self.writer.line("link: Link,");
            self.writer.line("private readonly _session: Session = new Session(link),");
            self.writer.line("private readonly _turn = 0,");
        } else {
            self.writer.line("private readonly _session: Session,");
            self.writer.line("private readonly _turn: number,");
        }
        for (index, (name, (_, ty))) in kept.iter().zip(&state.kept).enumerate() {
            let default = match role.initial.get(index) {
                Some((_, value)) if at == 0 => format!(" = {}", constant(value)),
                _ => String::new(),
            };
            let line = format!("private readonly {name}: {}{default},", self.ty(ty));
            self.writer.line(&line);
        }
        self.writer.dedent();
        if state.kind == Kind::End {
            self.writer.open(") {");
            self.writer.line("void this._turn;");
            self.writer.line("this._session.end(true);");
            self.writer.close("}");
        } else {
            self.writer.line(") {}");
        }
    }

    /// The next state, once `_turn` is its turn.
    fn next(&self, role: &RolePlan, state: &StatePlan, step: &StepPlan, fields: &[String]) -> String {
        let target = &role.states[step.target];
        let message = &self.plan.messages[step.message];
        let own = kept_names(state);
        let news = new_names(step);
        let mut parts = Vec::new();
        if step.target == 0 {
            parts.push("this._session.link".to_owned());
        }
        parts.extend(["this._session".to_owned(), "_turn".to_owned()]);
        for (variable, _) in &target.kept {
            let field = message.fields.iter().position(|field| field.variable.as_ref() == Some(variable));
            let kept = state.kept.iter().position(|(known, _)| known == variable);
            let updated = step.updates.iter().position(|update| update.variable == *variable);
            parts.push(if let Some(updated) = updated {
                news[updated].clone()
            } else if let Some(field) = field {
                fields[field].clone()
            } else {
                kept.map_or_else(String::new, |kept| format!("this.{}", own[kept]))
            });
        }
        format!("new {}({})", target.name, parts.join(", "))
    }

    /// The check of a message: it gives the new recursion data, or throws.
    fn admits(&mut self, state: &StatePlan, step: &StepPlan) {
        let parameters = self.parameters(step);
        let results: Vec<String> = step.updates.iter().map(|update| self.ty(&update.ty)).collect();
        self.writer.line("");
        let name = format!("_admits{}", upper_camel(&step.name));
        self.writer.open(&format!("private {name}({parameters}): [{}] {{", results.join(", ")));
        if let Some(assertion) = &step.assertion {
            let code = self.expression(state, step, assertion, &Type::Bool);
            self.writer.open(&format!("if (!{code}) {{"));
            self.writer.line("throw new Undefined();");
            self.writer.close("}");
        }
        let values: Vec<String> = step
            .updates
            .iter()
            .map(|update| self.expression(state, step, &update.value, &update.ty))
            .collect();
        self.writer.line(&format!("return [{}];", values.join(", ")));
        self.writer.close("}");
    }

    fn parameters(&self, step: &StepPlan) -> String {
        let message = &self.plan.messages[step.message];
        let names = field_names(&message.fields);
        let parameters = names.iter().zip(&message.fields);
        let parameters = parameters.map(|(name, field)| format!("{name}: {}", self.ty(&field.ty)));
        parameters.collect::<Vec<_>>().join(", ")
    }

    /// `const [_newLeft] = `, where a check gives new recursion data.
    fn news(step: &StepPlan) -> String {
        let names = new_names(step);
        if names.is_empty() { String::new() } else { format!("const [{}] = ", names.join(", ")) }
    }

    fn send(&mut self, role: &RolePlan, state: &StatePlan, step: &StepPlan) {
        let message = &self.plan.messages[step.message];
        let names = field_names(&message.fields);
        if step.is_checked() {
            self.admits(state, step);
        }
        let (parameters, target) = (self.parameters(step), &role.states[step.target]);
        self.writer.line("");
        let mut about = step.comment.clone();
        about.push(format!("Sends `{}` to {}.", message.label, role.peers[step.peer]));
        if step.is_checked() {
            about.push(format!("Nothing is sent unless this holds: `{}`.", step.condition()));
        }
        self.doc(&about);
        let (name, result) = (method(&step.name), &target.name);
        self.writer.open(&format!("async {name}({parameters}): Promise<{result}> {{"));
        if step.is_checked() {
            let text = format!("`{}` was not sent: `{}` does not hold", message.label, step.condition());
            let call = format!("this._admits{}({})", upper_camel(&step.name), names.join(", "));
            self.writer.line(&format!("{}admitted(() => {call}, {});", Self::news(step), quoted(&text)));
        }
        let fields: Vec<String> = names
            .iter()
            .zip(&message.fields)
            .map(|(name, field)| format!("[{}, {}]", quoted(&field.wire), self.write(&field.ty, name)))
            .collect();
        let text = quoted(&format!("`{}` was not sent: a field has no value of its type", message.label));
        let fields = match fields.join(", ") {
            none if none.is_empty() => "new Map<string, Json>()".to_owned(),
            fields => format!("admitted(() => new Map<string, Json>([{fields}]), {text})"),
        };
        self.writer.line(&format!("const _fields = {fields};"));
        self.writer.line("const _turn = this._session.step(this._turn);");
        let (peer, label) = (quoted(&role.peers[step.peer]), quoted(&message.label));
        self.writer.line(&format!("await this._session.send({peer}, {label}, _fields);"));
        let next = self.next(role, state, step, &names);
        self.writer.line(&format!("return {next};"));
        self.writer.close("}");
    }

    fn receive(&mut self, role: &RolePlan, state: &StatePlan) {
        for step in state.steps.iter().filter(|step| step.is_checked()) {
            self.admits(state, step);
        }
        let mut peers: Vec<String> = state.steps.iter().map(|step| quoted(&role.peers[step.peer])).collect();
        peers.dedup();
        self.writer.line("");
        let mut about = vec!["Awaits the next message.".to_owned()];
        if let Some(within) = state.within.map(Duration::from_nanos) {
            about.push(format!(
                "It comes within {within:?}: over a link with a timer (`JsonLines`), `Late` otherwise."
            ));
        }
        self.doc(&about);
        self.writer.open(&format!("async recv(): Promise<{}Event> {{", state.name));
        self.writer.line("const _turn = this._session.step(this._turn);");
        let peers = peers.join(", ");
        // In milliseconds; what is shorter is longer rather than too short.
        let within =
            state.within.map_or_else(|| "null".to_owned(), |within| within.div_ceil(1_000_000).to_string());
        self.writer
            .line(&format!("const {{ peer: _peer, label: _label, fields: _fields }} = await this._session.receive([{peers}], {within});"));
        state.steps.iter().for_each(|step| self.case(role, state, step));
        let expected: Vec<String> = state
            .steps
            .iter()
            .map(|step| {
                format!("`{}` from {}", self.plan.messages[step.message].label, role.peers[step.peer])
            })
            .collect();
        let text = quoted(&format!("; expected {}", expected.join(", ")));
        self.writer.line(&format!(
            "return this._session.fail(new Violated(_peer + \" sent `\" + _label + \"`\" + {text}, _peer));"
        ));
        self.writer.close("}");
    }

    /// What happens if the message of `step` comes.
    fn case(&mut self, role: &RolePlan, state: &StatePlan, step: &StepPlan) {
        let message = &self.plan.messages[step.message];
        let names = field_names(&message.fields);
        let (peer, label) = (&role.peers[step.peer], &message.label);
        self.writer.open(&format!("if (_peer === {} && _label === {}) {{", quoted(peer), quoted(label)));
        let next = self.next(role, state, step, &names);
        let parts: String = names.iter().map(|name| format!("{name}, ")).collect();
        let event = format!("return {{ type: {}, {parts}next: {next} }};", quoted(&step.name));
        if names.is_empty() && !step.is_checked() {
            self.writer.line("void _fields;");
            self.writer.line(&event);
            self.writer.close("}");
            return;
        }
        self.writer.open("try {");
        for (name, field) in names.iter().zip(&message.fields) {
            let value = self.read(&field.ty, &format!("_fields.get({})", quoted(&field.wire)));
            self.writer.line(&format!("const {name} = {value};"));
        }
        if step.is_checked() {
            let call = format!("this._admits{}({})", upper_camel(&step.name), names.join(", "));
            self.writer.line(&format!("{}{call};", Self::news(step)));
        }
        self.writer.line(&event);
        self.writer.close("} catch (_error) {");
        self.writer.indent();
        let mistyped = format!("{peer} sent `{label}` with a field of the wrong type");
        let untrue = format!("{peer} sent `{label}` although `{}` does not hold", step.condition());
        let (mistyped, untrue) = (quoted(&mistyped), quoted(&untrue));
        self.writer.line(&format!("return this._session.blame(_error, _peer, {mistyped}, {untrue});"));
        self.writer.close("}");
        self.writer.close("}");
    }

    fn event(&mut self, role: &RolePlan, state: &StatePlan, step: &StepPlan) {
        let message = &self.plan.messages[step.message];
        self.writer.line("");
        let mut about = step.comment.clone();
        about.push(format!("`{}` from {}.", message.label, role.peers[step.peer]));
        self.doc(&about);
        self.writer.open(&format!("export interface {}Got{} {{", state.name, step.name));
        self.writer.line(&format!("readonly type: {};", quoted(&step.name)));
        for (name, field) in field_names(&message.fields).iter().zip(&message.fields) {
            let line = format!("readonly {name}: {};", self.ty(&field.ty));
            self.writer.line(&line);
        }
        self.writer.line(&format!("readonly next: {};", role.states[step.target].name));
        self.writer.close("}");
    }
}
