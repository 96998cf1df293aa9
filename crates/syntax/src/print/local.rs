//! One role's view as Scribble and nuScr write it: `m(x: int) to B;`, `n() from B;`, `choice at B { … } or { … }`.

use std::fmt::Write as _;
use std::sync::Arc;

use referee_theory::session::{Session, SessionBranch, SessionType, TermId};
use referee_theory::{Action, MessageSpec, Role, Type};

use super::binders::Binders;
use super::scr::{annotation, nuscr_text, payload_type, word};
use super::{Inexpressible, MOST_NODES, new_line};

mod data;

use data::{Data, Values, computed_from_another, put_in};

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `local protocol P_A(self A, role B) { … }`.
    Scribble,
    /// The statements alone, with `end` where nothing follows: what `nuscr --project` prints.
    NuScr,
}

/// The local protocol of `session` as Scribble prints it, for the protocol called `protocol`.
///
/// # Errors
/// When it says what local protocols cannot: a choice in which the role both sends and receives, or waits for several; conditions
/// and data that nuScr's expressions cannot express, or that were computed from what cannot be named any more.
pub fn local_scr(protocol: &str, session: &SessionType) -> Result<String, Inexpressible> {
    let vocabulary = session.vocabulary();
    let own = word(vocabulary.role_name(session.role()), "role")?;
    let mut roles = Vec::new();
    for role in vocabulary.roles() {
        let keyword = if role == session.role() { "self" } else { "role" };
        roles.push(format!("{keyword} {}", word(vocabulary.role_name(role), "role")?));
    }
    let mut out = format!("local protocol {}_{own}({}) {{", word(protocol, "name")?, roles.join(", "));
    body(&mut out, session, Form::Scribble)?;
    out.push_str("\n}\n");
    Ok(out)
}

/// The local type of `session` as nuScr prints it.
///
/// # Errors
/// As for [`local_scr`].
pub fn local_nuscr(session: &SessionType) -> Result<String, Inexpressible> {
    let mut out = String::new();
    body(&mut out, session, Form::NuScr)?;
    Ok(format!("{}\n", out.trim_start()))
}

enum Step {
    Term(TermId, Values),
    Line(&'static str),
    /// A line one level further out, and the level after it.
    Between(&'static str),
    Leave(TermId),
    Branch(SessionBranch, Values),
}

fn body(out: &mut String, session: &SessionType, form: Form) -> Result<(), Inexpressible> {
    let (start, mut nodes) = (out.len(), 0);
    let mut data = Data::of(session);
    // Which recursion declares which data shows where they are continued: until then they are written without.
    loop {
        let (out, depth) = (&mut *out, usize::from(form == Form::Scribble));
        Local { out, session, form, data: &mut data, binders: Binders::default(), around: Vec::new(), depth }
            .write(&mut nodes)?;
        if data.settled() {
            return Ok(());
        }
        out.truncate(start);
    }
}

/// A local protocol that is being written.
struct Local<'a> {
    out: &'a mut String,
    session: &'a SessionType,
    form: Form,
    data: &'a mut Data,
    binders: Binders,
    /// The recursions around the current place, outer ones first.
    around: Vec<TermId>,
    depth: usize,
}

impl Local<'_> {
    fn write(&mut self, nodes: &mut usize) -> Result<(), Inexpressible> {
        let mut steps = vec![Step::Term(self.session.root(), Data::initial(self.session))];
        while let Some(step) = steps.pop() {
            *nodes += 1;
            if *nodes > MOST_NODES {
                return Err(Inexpressible::too_large());
            }
            match step {
                Step::Line(text) => {
                    self.depth -= 1;
                    line(self.out, self.depth, text);
                }
                Step::Between(text) => line(self.out, self.depth - 1, text),
                Step::Leave(definition) => {
                    self.around.pop();
                    self.binders.leave(definition.0);
                }
                Step::Branch(branch, values) => {
                    self.action(&branch, &values)?;
                    let spec = self.session.vocabulary().spec(branch.message);
                    let values = self.data.after(spec, branch.next, &values)?;
                    steps.push(Step::Term(branch.next, values));
                }
                Step::Term(term, values) => self.term(term, &values, &mut steps)?,
            }
        }
        Ok(())
    }

    fn term(&mut self, term: TermId, values: &Values, steps: &mut Vec<Step>) -> Result<(), Inexpressible> {
        match self.session.node(term) {
            Session::End if self.form == Form::NuScr => line(self.out, self.depth, "(end)"),
            Session::End => {}
            Session::Call { target, .. } => {
                let around = self.around.iter().rposition(|around| around == target);
                let inner = &self.around[around.map_or(0, |at| at + 1)..];
                let declared = self.data.continued(*target, inner, values);
                let name = self.binders.name(target.0).unwrap_or("X").to_owned();
                let next = declared.iter().map(|variable| value(self.data, variable, values));
                let next = brackets(&next.collect::<Result<Vec<_>, _>>()?);
                line(self.out, self.depth, &format!("continue {name}{next};"));
            }
            Session::Rec { name, body, .. } => {
                let declared = self.data.enter(term, values);
                let one = |variable: &Arc<str>| {
                    let role = self.session.vocabulary().role_name(self.session.role());
                    let ty = self.data.types.get(variable).unwrap_or(&Type::Unit);
                    let (name, ty) = (word(self.data.name(variable), "variable")?, payload_type(ty, 0)?);
                    Ok(format!("{name}<{role}>: {ty} = {}", value(self.data, variable, values)?))
                };
                let first = brackets(&declared.iter().map(one).collect::<Result<Vec<_>, Inexpressible>>()?);
                let name = self.binders.enter(term.0, name).to_owned();
                line(self.out, self.depth, &format!("rec {name}{first} {{"));
                self.depth += 1;
                self.around.push(term);
                steps.extend([Step::Leave(term), Step::Line("}"), Step::Term(*body, Values::default())]);
            }
            Session::Choice(branches) => match &branches[..] {
                [only] => steps.push(Step::Branch(*only, Values::clone(values))),
                branches => {
                    let chooser = self.session.vocabulary().role_name(chooser(self.session, branches)?);
                    line(self.out, self.depth, &format!("choice at {chooser} {{"));
                    self.depth += 1;
                    steps.push(Step::Line("}"));
                    for (index, branch) in branches.iter().enumerate().rev() {
                        steps.push(Step::Branch(*branch, Values::clone(values)));
                        if index > 0 {
                            steps.push(Step::Between("} or {"));
                        }
                    }
                }
            },
        }
        Ok(())
    }

    fn action(&mut self, branch: &SessionBranch, values: &Values) -> Result<(), Inexpressible> {
        let vocabulary = self.session.vocabulary();
        let peer = word(vocabulary.role_name(branch.peer), "role")?;
        let direction = if branch.action == Action::Send { "to" } else { "from" };
        let spec = vocabulary.spec(branch.message);
        let condition =
            spec.assertion.as_ref().map(|assertion| put_in(assertion, spec, values)).transpose()?;
        let condition = condition.map(|condition| self.data.written(&condition));
        let last = spec.fields.iter().rposition(|field| field.name.is_some());
        let (mut refinement, mut behind) = (None, String::new());
        match (condition, self.form, last) {
            (None, ..) => {}
            (Some(condition), Form::Scribble, _) => behind = format!(" where {condition};"),
            (Some(condition), Form::NuScr, Some(field)) => {
                refinement = Some((field, nuscr_text(&condition)?))
            }
            (Some(condition), Form::NuScr, None) => {
                behind = format!("; {}", annotation(&condition, &nuscr_text(&condition)?)?);
            }
        }
        let behind = if behind.is_empty() { ";" } else { &behind };
        let message = message(vocabulary.label_name(spec.label), spec, refinement)?;
        line(self.out, self.depth, &format!("{message} {direction} {peer}{behind}"));
        Ok(())
    }
}

/// The value of `variable`, as nuScr writes it.
fn value(data: &Data, variable: &Arc<str>, values: &Values) -> Result<String, Inexpressible> {
    match values.get(variable) {
        Some(Some(value)) => nuscr_text(&data.written(value)),
        Some(None) => Err(computed_from_another(variable)),
        None => Ok(word(data.name(variable), "variable")?.to_owned()),
    }
}

/// ` [a, b]`, or nothing.
fn brackets(parts: &[String]) -> String {
    if parts.is_empty() { String::new() } else { format!(" [{}]", parts.join(", ")) }
}

fn line(out: &mut String, depth: usize, text: &str) {
    new_line(out, depth);
    out.push_str(text);
}

/// Who decides between `branches`: the role itself where it sends, otherwise the one it waits for.
fn chooser(session: &SessionType, branches: &[SessionBranch]) -> Result<Role, Inexpressible> {
    let all = |action| branches.iter().all(|branch| branch.action == action);
    let first = branches.first().map_or(session.role(), |branch| branch.peer);
    if all(Action::Send) {
        return Ok(session.role());
    }
    let own = session.vocabulary().role_name(session.role());
    if !all(Action::Receive) {
        return Err(Inexpressible::new(format!("`{own}` may both send and receive in one of its choices")));
    }
    if branches.iter().any(|branch| branch.peer != first) {
        return Err(Inexpressible::new(format!("`{own}` waits for several roles in one of its choices")));
    }
    Ok(first)
}

/// The message `label` with its fields, one of them refined.
fn message(
    label: &str,
    spec: &MessageSpec,
    refinement: Option<(usize, String)>,
) -> Result<String, Inexpressible> {
    let mut out = format!("{label}(");
    for (index, field) in spec.fields.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        if let Some(name) = &field.name {
            let _ = write!(out, "{name}: ");
        }
        out.push_str(&payload_type(&field.ty, 0)?);
        if let Some((_, text)) = refinement.as_ref().filter(|(refined, _)| *refined == index) {
            let _ = write!(out, "{{{text}}}");
        }
    }
    out.push(')');
    Ok(out)
}
