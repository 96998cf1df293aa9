//! A role's view as a session type, laid out for reading.
//!
//! Sequences run down the page; the branches of a choice are indented under what they share.

use std::fmt::Write as _;
use std::sync::Arc;

use referee_theory::session::{Session, SessionBranch, SessionType, TermId};
use referee_theory::{Machine, Vocabulary};

/// Terms larger than this are not printed: their machine says the same, shorter.
const LIMIT: usize = 20_000;

/// Indentation stops here, so that very deep types stay linear in length.
const DEEPEST: usize = 40;

/// The session type of `machine`; `None` if it would be longer than anybody reads.
#[must_use]
pub fn text(machine: &Machine, vocabulary: &Arc<Vocabulary>) -> Option<String> {
    let session = machine.session_type(vocabulary, LIMIT)?;
    Some(format!("{} =\n{}", vocabulary.role_name(machine.role()), layout(&session)))
}

enum Step {
    Term(TermId, usize),
    Line(String, usize),
}

/// `session`, one action a line.
#[must_use]
pub fn layout(session: &SessionType) -> String {
    let mut out = String::new();
    let mut stack = vec![Step::Term(session.root(), 1)];
    while let Some(step) = stack.pop() {
        let (mut term, depth) = match step {
            Step::Line(line, depth) => {
                push_line(&mut out, &line, depth);
                continue;
            }
            Step::Term(term, depth) => (term, depth),
        };
        loop {
            match session.node(term) {
                Session::End => push_line(&mut out, "end", depth),
                Session::Call { target, .. } => push_line(&mut out, name(session, *target), depth),
                Session::Rec { name, body, .. } => {
                    push_line(&mut out, &format!("rec {name}."), depth);
                    stack.push(Step::Term(*body, depth + 1));
                }
                Session::Choice(branches) => match &branches[..] {
                    [only] => {
                        push_line(&mut out, &format!("{}.", action(session, only)), depth);
                        term = only.next;
                        continue;
                    }
                    _ => {
                        push_line(&mut out, "{", depth);
                        stack.push(Step::Line("}".into(), depth));
                        for branch in branches.iter().rev() {
                            stack.push(Step::Term(branch.next, depth + 2));
                            stack.push(Step::Line(format!("{}.", action(session, branch)), depth + 1));
                        }
                    }
                },
            }
            break;
        }
    }
    out
}

fn push_line(out: &mut String, line: &str, depth: usize) {
    let indent = depth.min(DEEPEST) * 2;
    let _ = writeln!(out, "{:indent$}{line}", "");
}

fn name(session: &SessionType, definition: TermId) -> &str {
    match session.node(definition) {
        Session::Rec { name, .. } => name,
        _ => "?",
    }
}

fn action(session: &SessionType, branch: &SessionBranch) -> String {
    let vocabulary = session.vocabulary();
    let peer = vocabulary.role_name(branch.peer);
    let mut text = format!("{peer}{}{}", branch.action.symbol(), vocabulary.display(branch.message));
    text += &super::machine::times(vocabulary, branch.message);
    if let Some(assertion) = &vocabulary.spec(branch.message).assertion {
        let _ = write!(text, " where {assertion}");
    }
    for update in &*vocabulary.spec(branch.message).updates {
        let _ = write!(text, " {update}");
    }
    text
}
