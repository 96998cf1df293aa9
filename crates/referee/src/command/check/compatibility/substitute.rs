//! `--with R=FILE`: a component's machine in a role's place.

use std::path::PathBuf;

use anyhow::{Result, bail};
use referee::check::{Component, Options, with_component};
use referee::monitor::multiparty::{Bounds, Conformance, conform, conform_to_machine};
use referee::theory::{Origin, Role, System};
use referee::view::witness::Place;
use referee::{Projected, SubjectKind};
use serde_json::{Value, json};

use super::while_reading;
use crate::command::component::ComponentFile;
use crate::command::dependencies::Dependencies;

/// A role and the file of the component that plays it.
#[derive(Clone, Debug)]
pub(super) struct Substitution {
    role: String,
    file: PathBuf,
}

impl Substitution {
    pub(super) fn role(&self) -> &str {
        &self.role
    }
}

/// That no role has two components.
///
/// # Errors
/// One has.
pub(super) fn once_each(substitutions: &[Substitution]) -> Result<()> {
    for (at, Substitution { role, file }) in substitutions.iter().enumerate() {
        if let Some(before) = substitutions[..at].iter().find(|before| before.role == *role) {
            let (first, second) = (before.file.display(), file.display());
            bail!(
                "--with: there can be one component in the place of `{role}`, not both `{first}` and `{second}`"
            );
        }
    }
    Ok(())
}

/// For clap: `R=FILE`.
pub(super) fn parse(text: &str) -> Result<Substitution, String> {
    match text.split_once('=') {
        Some((role, file)) if !role.is_empty() && !file.is_empty() => {
            Ok(Substitution { role: role.to_owned(), file: file.into() })
        }
        _ => Err("this is not of the form ROLE=FILE".to_owned()),
    }
}

/// A component that was put in a role's place.
#[derive(Clone)]
pub(super) struct Substituted {
    role: String,
    file: String,
    /// Whether it plays the role: a monitor never blames it. `None`: that is not known, or there is no monitor.
    plays: Option<bool>,
    /// Why it does not play the role, and whether a monitor would blame it for that.
    why: Option<(String, bool)>,
    /// Where its text has what it does.
    pub(super) places: Vec<(Origin, Place)>,
}

/// The origins of each component follow so many others: no text has as many.
const ORIGINS: u32 = 1 << 26;

/// Whether `origin` is one of the protocol's.
pub(super) fn is_own(origin: Origin) -> bool {
    origin.0 < ORIGINS
}

/// `system` with each component in its role's place.
pub(super) fn substitute(
    system: System,
    substitutions: &[&Substitution],
    protocol: &Projected,
) -> Result<(System, Vec<Substituted>)> {
    let mut all = Vec::new();
    let mut current = system;
    for (Substitution { role: name, file }, number) in substitutions.iter().copied().zip(1..) {
        let role = protocol.role(name)?;
        let component = while_reading(file, || ComponentFile::read(file, name, protocol.vocabulary()))?;
        // Of a component too many, its places are not known.
        let first = ORIGINS.checked_mul(number);
        let moved = |origin: Origin| match first {
            Some(first) if is_own(origin) => Origin(first + origin.0),
            _ => Origin::NONE,
        };
        let places =
            component.places().iter().map(|(origin, place)| (moved(*origin), place.clone())).collect();
        current = with_component(&current, role, &component.component(), moved)?;
        let answer = conformance(protocol, role, &component.component());
        let wrong = answer.as_ref().filter(|answer| answer.conforms == Some(false));
        let why = wrong.and_then(|found| Some((found.explanation.clone()?, found.blamed)));
        let plays = answer.and_then(|answer| answer.conforms);
        let file = file.display().to_string();
        all.push(Substituted { role: name.clone(), file, plays, why, places });
    }
    Ok((current, all))
}

/// Whether a monitor of `role` would never blame `component`; `None` if there is no such monitor. The monitor of a role of a system is its machine.
fn conformance(protocol: &Projected, role: Role, component: &Component<'_>) -> Option<Conformance> {
    // As `referee conform` does unless it is told otherwise.
    let bounds = Bounds { dependencies: Dependencies::default().into(), ..Bounds::default() };
    if protocol.kind() == SubjectKind::System {
        return Some(conform_to_machine(&protocol.system()?, role, component, &bounds));
    }
    let network = protocol.deployable_network(&Options::default()).ok()?;
    Some(conform(&network, role, component, &bounds))
}

impl Substituted {
    /// One line, and another if it does not play the role, although the system `is_safe` or because it is not.
    pub(super) fn text(&self, is_safe: bool) -> String {
        let Self { role, file, .. } = self;
        let though = if is_safe { " all the same" } else { "" };
        let notion = match (self.plays, &self.why) {
            (_, Some((why, true))) => format!("\n  a monitor of `{role}` would blame it{though}: {why}"),
            (_, Some((why, false))) => {
                format!("\n  it does not play `{role}`{though}: {why}; no monitor blames it for waiting")
            }
            (Some(true), None) if is_safe => {
                format!(", which it plays: a monitor of `{role}` never blames it")
            }
            (Some(true), None) => {
                format!("\n  a monitor of `{role}` never blames it: what it sends, the role may send")
            }
            _ => String::new(),
        };
        format!("  with `{file}` in the place of `{role}`{notion}\n")
    }

    pub(super) fn to_json(&self) -> Value {
        let why = self.why.as_ref().map(|(why, _)| why);
        let blamed = self.why.as_ref().filter(|(_, blamed)| *blamed).map(|(why, _)| why);
        json!({"role": self.role, "file": self.file, "plays": self.plays, "why": why, "blamed": blamed})
    }
}
