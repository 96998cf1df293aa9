//! One role's view as Scribble and nuScr write it: `m(x: int) to B;`, `n() from B;`, `choice at B { … } or { … }`.

use std::fmt::Write as _;

use referee_theory::session::{Session, SessionBranch, SessionType, TermId};
use referee_theory::{Action, Message, Role};

use super::binders::Binders;
use super::scr::{payload_type, word};
use super::{Inexpressible, MOST_NODES, new_line};

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
/// When it says what local protocols cannot: a choice in which the role both sends and receives, or waits for several.
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
    Term(TermId),
    Line(&'static str),
    /// A line one level further out, and the level after it.
    Between(&'static str),
    Leave(TermId),
    Branch(SessionBranch),
}

fn body(out: &mut String, session: &SessionType, form: Form) -> Result<(), Inexpressible> {
    // Which recursion a value belongs to is not known any more where messages compute it.
    if !session.vocabulary().initial_values(session.role()).is_empty() {
        return Err(Inexpressible::new("its recursion carries data"));
    }
    let mut depth = usize::from(form == Form::Scribble);
    let mut binders = Binders::default();
    let mut nodes = 0;
    let mut steps = vec![Step::Term(session.root())];
    while let Some(step) = steps.pop() {
        nodes += 1;
        if nodes > MOST_NODES {
            return Err(Inexpressible::too_large());
        }
        match step {
            Step::Line(text) => {
                depth -= 1;
                line(out, depth, text);
            }
            Step::Between(text) => line(out, depth - 1, text),
            Step::Leave(definition) => binders.leave(definition.0),
            Step::Branch(branch) => {
                action(out, session, &branch, depth)?;
                steps.push(Step::Term(branch.next));
            }
            Step::Term(term) => match session.node(term) {
                Session::End if form == Form::NuScr => line(out, depth, "(end)"),
                Session::End => {}
                Session::Call { target, .. } => {
                    let name = binders.name(target.0).unwrap_or("X").to_owned();
                    line(out, depth, &format!("continue {name};"));
                }
                Session::Rec { name, body, .. } => {
                    let name = binders.enter(term.0, name).to_owned();
                    line(out, depth, &format!("rec {name} {{"));
                    depth += 1;
                    steps.extend([Step::Leave(term), Step::Line("}"), Step::Term(*body)]);
                }
                Session::Choice(branches) => match &branches[..] {
                    [only] => steps.push(Step::Branch(*only)),
                    branches => {
                        let chooser = session.vocabulary().role_name(chooser(session, branches)?);
                        line(out, depth, &format!("choice at {chooser} {{"));
                        depth += 1;
                        steps.push(Step::Line("}"));
                        for (index, branch) in branches.iter().enumerate().rev() {
                            steps.push(Step::Branch(*branch));
                            if index > 0 {
                                steps.push(Step::Between("} or {"));
                            }
                        }
                    }
                },
            },
        }
    }
    Ok(())
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

fn action(
    out: &mut String,
    session: &SessionType,
    branch: &SessionBranch,
    depth: usize,
) -> Result<(), Inexpressible> {
    let peer = word(session.vocabulary().role_name(branch.peer), "role")?;
    let direction = if branch.action == Action::Send { "to" } else { "from" };
    line(out, depth, &format!("{} {direction} {peer};", message(session, branch.message)?));
    Ok(())
}

fn message(session: &SessionType, message: Message) -> Result<String, Inexpressible> {
    let vocabulary = session.vocabulary();
    let spec = vocabulary.spec(message);
    if !spec.updates.is_empty() {
        return Err(Inexpressible::new("its recursion carries data"));
    }
    let mut out = String::from(vocabulary.label_name(spec.label));
    out.push('(');
    for (index, field) in spec.fields.iter().enumerate() {
        out.push_str(if index > 0 { ", " } else { "" });
        if let Some(name) = &field.name {
            let _ = write!(out, "{name}: ");
        }
        out.push_str(&payload_type(&field.ty, 0)?);
    }
    out.push(')');
    Ok(out)
}
