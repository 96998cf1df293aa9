//! `--with R=FILE`: a component's machine in a role's place.

use std::path::PathBuf;

use anyhow::Result;
use referee::Projected;
use referee::check::{Options, with_component};
use referee::monitor::multiparty::{Bounds, conform};
use referee::theory::System;
use serde_json::{Value, json};

use crate::command::component::ComponentFile;

/// A role and the file of the component that plays it.
#[derive(Clone, Debug)]
pub(super) struct Substitution {
    role: String,
    file: PathBuf,
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
    /// Why a monitor of the role would blame it, if it would; `None` if not, or if there is no monitor.
    blamed: Option<String>,
}

/// `system` with each component in its role's place.
pub(super) fn substitute(
    system: System,
    substitutions: &[Substitution],
    protocol: &Projected,
) -> Result<(System, Vec<Substituted>)> {
    let mut all = Vec::new();
    let mut current = system;
    for Substitution { role: name, file } in substitutions {
        let role = protocol.role(name)?;
        let component = ComponentFile::read(file, name, protocol.vocabulary())?;
        current = with_component(&current, role, &component.component())?;
        let network = protocol.deployable_network(&Options::default()).ok();
        let answer =
            network.map(|network| conform(&network, role, &component.component(), &Bounds::default()));
        let blamed =
            answer.filter(|answer| answer.conforms == Some(false)).and_then(|found| found.explanation);
        all.push(Substituted { role: name.clone(), file: file.display().to_string(), blamed });
    }
    Ok((current, all))
}

impl Substituted {
    /// One line, and another if a monitor would blame it.
    pub(super) fn text(&self) -> String {
        let Self { role, file, .. } = self;
        let blamed = self.blamed.as_ref();
        let blamed =
            blamed.map(|why| format!("\n  a monitor of `{role}` would blame it all the same: {why}"));
        format!("  with `{file}` in the place of `{role}`{}\n", blamed.unwrap_or_default())
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"role": self.role, "file": self.file, "blamed": self.blamed})
    }
}
