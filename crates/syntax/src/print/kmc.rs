//! `.kmc` texts: one session type per role.

use std::fmt::Write as _;

use referee_theory::session::{SessionBranch, SessionType};
use referee_theory::{Message, System, Type, Vocabulary};

use super::session::{Notation, write};
use super::{Inexpressible, MOST_NODES, checked};

/// The `.kmc` text of `sessions`, one line per role.
///
/// # Errors
/// When a name or a payload type cannot be written there.
pub fn kmc(sessions: &[SessionType]) -> Result<String, Inexpressible> {
    let mut out = String::new();
    for session in sessions {
        let vocabulary = session.vocabulary();
        let _ = write!(out, "{}: ", checked(vocabulary.role_name(session.role()), "role")?);
        write(&mut out, session, &Kmc { vocabulary })?;
        out.push('\n');
    }
    Ok(out)
}

/// The `.kmc` text of `system`: what several paths share is copied.
///
/// # Errors
/// As for [`kmc`], and when copying would make the text too large.
pub fn kmc_system(system: &System) -> Result<String, Inexpressible> {
    let vocabulary = system.vocabulary();
    let types = system.machines().iter().map(|machine| machine.session_type(vocabulary, MOST_NODES));
    let sessions: Option<Vec<SessionType>> = types.collect();
    kmc(&sessions.ok_or_else(Inexpressible::too_large)?)
}

/// `label<int,list<string>>`.
pub(super) fn message(vocabulary: &Vocabulary, message: Message) -> Result<String, Inexpressible> {
    let spec = vocabulary.spec(message);
    let mut out = checked(vocabulary.label_name(spec.label), "label")?.to_string();
    for (i, field) in spec.fields.iter().enumerate() {
        out.push(if i == 0 { '<' } else { ',' });
        let mut lists = 0;
        let mut ty = &field.ty;
        while let Type::List(element) = ty {
            lists += 1;
            ty = element;
        }
        let name = match ty {
            Type::Tuple(_) | Type::Record(_) => {
                return Err(Inexpressible::new(format!("the type `{ty}` has no name there")));
            }
            Type::Opaque(name) => checked(name, "type")?.to_string(),
            scalar => scalar.to_string(),
        };
        let _ = write!(out, "{}{name}{}", "list<".repeat(lists), ">".repeat(lists));
    }
    if !spec.fields.is_empty() {
        out.push('>');
    }
    Ok(out)
}

struct Kmc<'a> {
    vocabulary: &'a Vocabulary,
}

impl Notation for Kmc<'_> {
    /// KMC wants variables to begin with a small letter and to hold letters and digits only.
    fn variable(&self, wanted: &str) -> String {
        let plain: String = wanted.chars().filter(char::is_ascii_alphanumeric).collect();
        let mut chars = plain.chars();
        match chars.next() {
            Some(first) if first.is_ascii_alphabetic() => {
                let name = format!("{}{}", first.to_ascii_lowercase(), chars.as_str());
                // KMC reads a variable that begins with `r` or `e` as a broken keyword.
                if name.starts_with(['r', 'e']) { format!("x{name}") } else { name }
            }
            _ => format!("x{plain}"),
        }
    }

    fn open_recursion(&self, out: &mut String, name: &str) {
        let _ = write!(out, "rec {name} . ");
    }

    fn close_recursion(&self, _: &mut String) {}

    fn open_choice(&self, out: &mut String, _: &[SessionBranch], _: usize) -> Result<(), Inexpressible> {
        out.push('{');
        Ok(())
    }

    fn separate_branches(&self, out: &mut String, _: usize) {
        out.push_str(", ");
    }

    fn close_choice(&self, out: &mut String, _: usize) {
        out.push('}');
    }

    fn action(&self, out: &mut String, branch: &SessionBranch) -> Result<(), Inexpressible> {
        let peer = checked(self.vocabulary.role_name(branch.peer), "role")?;
        let message = message(self.vocabulary, branch.message)?;
        let _ = write!(out, "{peer}{}{message};", branch.action.symbol());
        Ok(())
    }
}
