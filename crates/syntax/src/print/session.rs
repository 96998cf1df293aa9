//! Session types, in any notation: the walk is here, the symbols belong to the notation. And the papers' own
//! notation, on one line: `rec X.(&{?Guess(num: int)[num > 1].⊕{!Correct().end, !Incorrect().X}, ?Quit().end})`.

use std::fmt::Write as _;

use referee_theory::session::{Session, SessionBranch, SessionType, TermId};
use referee_theory::{Action, Role, Vocabulary};

use super::binders::Binders;
use super::{Inexpressible, MOST_NODES};

/// How the parts of a session type are written.
pub(super) trait Notation {
    /// A recursion variable that would like to be called `wanted`.
    fn variable(&self, wanted: &str) -> String;
    /// `rec x.(`
    fn open_recursion(&self, out: &mut String, name: &str);
    /// `)`
    fn close_recursion(&self, out: &mut String);
    /// `&{`, for several branches.
    fn open_choice(
        &self,
        out: &mut String,
        branches: &[SessionBranch],
        depth: usize,
    ) -> Result<(), Inexpressible>;
    /// `, `
    fn separate_branches(&self, out: &mut String, depth: usize);
    /// `}`
    fn close_choice(&self, out: &mut String, depth: usize);
    /// `!label(…).`, up to what comes after it.
    fn action(&self, out: &mut String, branch: &SessionBranch) -> Result<(), Inexpressible>;
}

enum Step {
    Node(TermId),
    Branch(SessionBranch),
    Separate,
    CloseChoice,
    CloseRecursion(TermId),
}

/// Writes `session` in `notation`.
pub(super) fn write(
    out: &mut String,
    session: &SessionType,
    notation: &impl Notation,
) -> Result<(), Inexpressible> {
    let mut binders = Binders::default();
    let mut depth = 0;
    let mut nodes = 0;
    let mut steps = vec![Step::Node(session.root())];
    while let Some(step) = steps.pop() {
        match step {
            Step::Separate => notation.separate_branches(out, depth),
            Step::CloseChoice => {
                depth -= 1;
                notation.close_choice(out, depth);
            }
            Step::CloseRecursion(node) => {
                binders.leave(node.0);
                notation.close_recursion(out);
            }
            Step::Branch(branch) => {
                notation.action(out, &branch)?;
                steps.push(Step::Node(branch.next));
            }
            Step::Node(node) => {
                nodes += 1;
                if nodes > MOST_NODES {
                    return Err(Inexpressible::too_large());
                }
                match session.node(node) {
                    Session::End => out.push_str("end"),
                    Session::Call { target, .. } => match binders.name(target.0) {
                        Some(name) => out.push_str(name),
                        None => {
                            return Err(Inexpressible::new(
                                "it calls a definition that is not around the call",
                            ));
                        }
                    },
                    Session::Rec { name, body, .. } => {
                        let name = notation.variable(name);
                        notation.open_recursion(out, binders.enter(node.0, &name));
                        steps.push(Step::CloseRecursion(node));
                        steps.push(Step::Node(*body));
                    }
                    Session::Choice(branches) => match &branches[..] {
                        [] => out.push_str("end"),
                        [branch] => steps.push(Step::Branch(*branch)),
                        [first, others @ ..] => {
                            depth += 1;
                            notation.open_choice(out, branches, depth)?;
                            steps.push(Step::CloseChoice);
                            for branch in others.iter().rev() {
                                steps.push(Step::Branch(*branch));
                                steps.push(Step::Separate);
                            }
                            steps.push(Step::Branch(*first));
                        }
                    },
                }
            }
        }
    }
    Ok(())
}

/// `session` in the papers' notation, on one line. Peers are named only if there are several.
#[must_use]
pub fn session(session: &SessionType) -> String {
    let mut out = String::new();
    let notation = Paper { vocabulary: session.vocabulary(), only_peer: only_peer(session) };
    if let Err(error) = write(&mut out, session, &notation) {
        let _ = write!(out, "… ({error})");
    }
    out
}

/// The peer of all actions, if there is one.
pub(super) fn only_peer(session: &SessionType) -> Option<Role> {
    let mut peers = (0..session.node_count()).flat_map(|index| {
        let node = TermId(u32::try_from(index).unwrap_or(u32::MAX));
        match session.node(node) {
            Session::Choice(branches) => &branches[..],
            _ => &[],
        }
    });
    let first = peers.next()?.peer;
    peers.all(|branch| branch.peer == first).then_some(first)
}

/// The direction of all `branches`, if there is one.
pub(super) fn direction(branches: &[SessionBranch]) -> Option<Action> {
    let first = branches.first()?.action;
    branches.iter().all(|branch| branch.action == first).then_some(first)
}

struct Paper<'a> {
    vocabulary: &'a Vocabulary,
    only_peer: Option<Role>,
}

impl Notation for Paper<'_> {
    fn variable(&self, wanted: &str) -> String {
        wanted.to_string()
    }

    fn open_recursion(&self, out: &mut String, name: &str) {
        let _ = write!(out, "rec {name}.(");
    }

    fn close_recursion(&self, out: &mut String) {
        out.push(')');
    }

    fn open_choice(
        &self,
        out: &mut String,
        branches: &[SessionBranch],
        _: usize,
    ) -> Result<(), Inexpressible> {
        out.push_str(match direction(branches) {
            Some(Action::Receive) => "&{",
            Some(Action::Send) => "⊕{",
            None => "{",
        });
        Ok(())
    }

    fn separate_branches(&self, out: &mut String, _: usize) {
        out.push_str(", ");
    }

    fn close_choice(&self, out: &mut String, _: usize) {
        out.push('}');
    }

    fn action(&self, out: &mut String, branch: &SessionBranch) -> Result<(), Inexpressible> {
        if self.only_peer.is_none() {
            out.push_str(self.vocabulary.role_name(branch.peer));
        }
        let _ = write!(out, "{}{}", branch.action.symbol(), self.vocabulary.display(branch.message));
        if let Some(assertion) = &self.vocabulary.spec(branch.message).assertion {
            let _ = write!(out, "[{assertion}]");
        }
        for update in &*self.vocabulary.spec(branch.message).updates {
            let _ = write!(out, ".{update}");
        }
        out.push('.');
        Ok(())
    }
}
