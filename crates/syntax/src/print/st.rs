//! `.st` texts.

use std::fmt::Write as _;

use referee_theory::expr::written_name;
use referee_theory::session::SessionBranch;
use referee_theory::{Action, Vocabulary};

use super::session::{Notation, direction, write};
use super::{Inexpressible, checked, is_name, new_line, scala};
use crate::document::BinaryProtocol;
use crate::st::types;

/// The `.st` text of `protocol`.
///
/// # Errors
/// When it has errors itself, or says what `.st` cannot: choices in which both sides may speak, fields
/// without names, types without names, assertions beyond Scala.
pub fn st(protocol: &BinaryProtocol) -> Result<String, Inexpressible> {
    let Some(session) = &protocol.session else {
        return Err(Inexpressible::new("it was not understood itself"));
    };
    let mut out = format!("{} = ", if is_name(&protocol.name) { &protocol.name } else { "S" });
    write(&mut out, session, &St { vocabulary: session.vocabulary() })?;
    out.push('\n');
    Ok(out)
}

struct St<'a> {
    vocabulary: &'a Vocabulary,
}

impl Notation for St<'_> {
    fn variable(&self, wanted: &str) -> String {
        if is_name(wanted) && !matches!(wanted, "rec" | "end") {
            wanted.to_string()
        } else {
            String::from("X")
        }
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
        depth: usize,
    ) -> Result<(), Inexpressible> {
        out.push_str(match direction(branches) {
            Some(Action::Receive) => "&{",
            Some(Action::Send) => "+{",
            None => return Err(Inexpressible::new("in one of its choices both sides may speak")),
        });
        new_line(out, depth);
        Ok(())
    }

    fn separate_branches(&self, out: &mut String, depth: usize) {
        out.push(',');
        new_line(out, depth);
    }

    fn close_choice(&self, out: &mut String, depth: usize) {
        new_line(out, depth);
        out.push('}');
    }

    fn action(&self, out: &mut String, branch: &SessionBranch) -> Result<(), Inexpressible> {
        let spec = self.vocabulary.spec(branch.message);
        if let Some(update) = spec.updates.first() {
            return Err(Inexpressible::new(format!(
                "it has no recursion data such as `{}`",
                written_name(&update.variable)
            )));
        }
        let label = checked(self.vocabulary.label_name(spec.label), "label")?;
        let _ = write!(out, "{}{label}(", branch.action.symbol());
        for (i, field) in spec.fields.iter().enumerate() {
            let Some(name) = &field.name else {
                return Err(Inexpressible::new(format!("a field of `{label}` has no name")));
            };
            let Some(ty) = types::name(&field.ty) else {
                return Err(Inexpressible::new(format!("the type `{}` has no name there", field.ty)));
            };
            let comma = if i > 0 { ", " } else { "" };
            let _ = write!(out, "{comma}{}: {}", checked(name, "field")?, checked(ty, "type")?);
        }
        out.push(')');
        if let Some(assertion) = &spec.assertion {
            let text = scala::scala(assertion)
                .ok_or_else(|| Inexpressible::new(format!("the assertion `{assertion}` is not Scala")))?;
            let _ = write!(out, "[{text}]");
        }
        out.push('.');
        Ok(())
    }
}
