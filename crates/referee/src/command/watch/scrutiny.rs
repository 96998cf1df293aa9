//! Who is watched: the protocol, the role under scrutiny, its monitor, and what events call the roles.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use referee::functions::{self, NoMonitor};
use referee::monitor::{Monitor, Registry, SynthesisError};
use referee::syntax::Lines;
use referee::theory::expr::Signature;
use referee::theory::{Origin, Role};

use super::Arguments;
use crate::command::show::subject::Subject;
use crate::input::Input;
use crate::output;

/// What is watched.
pub(super) struct Scrutiny {
    pub(super) monitor: Arc<Monitor>,
    /// What events call the roles, besides their names.
    pub(super) aliases: Vec<(String, Role)>,
    subject: Subject,
    file: String,
    text: String,
}

impl Scrutiny {
    /// What `arguments` ask for; `None` if the protocol has errors, which have then been shown.
    pub(super) fn of(arguments: &Arguments) -> Result<Option<Self>> {
        let Some(path) = &arguments.protocol else { bail!("there is no protocol") };
        let read = Input::read(path)?.analyse(arguments.language)?;
        let subject = match Subject::of(&read, arguments.protocol_name.as_deref())? {
            Some(subject) if read.analysis.document.is_usable() => subject,
            _ => {
                output::report_errors(&read)?;
                return Ok(None);
            }
        };
        let role = chosen(&subject, arguments.role.as_deref())?;
        let machine = match subject.machines.get(role.index()) {
            Some(Ok(machine)) => machine,
            Some(Err(why)) => bail!("`{}` cannot be watched: {why}", subject.vocabulary.role_name(role)),
            None => bail!("`{}` has no machine", subject.vocabulary.role_name(role)),
        };
        let mut registry = Registry::new();
        for external in &subject.externals {
            let parameters = external.parameters.clone().into();
            registry.declare(&external.name, Signature { parameters, result: external.result.clone() });
        }
        let modules = arguments.modules()?;
        let monitor = match functions::synthesise(machine, &subject.vocabulary, &registry, &modules) {
            Ok(monitor) => Arc::new(monitor),
            Err(NoMonitor::Functions(error)) => return Err(error.into()),
            Err(NoMonitor::Synthesis(error)) => return Err(unmonitorable(&error, &arguments.functions)),
        };
        let aliases = aliases(&subject, &arguments.role_name)?;
        let (file, text) = (read.input.name, read.input.text);
        Ok(Some(Self { monitor, aliases, subject, file, text }))
    }

    /// `auth.scr:12:7`, if `origin` is a place in the protocol.
    pub(super) fn place(&self, origin: Origin) -> Option<String> {
        if origin == Origin::NONE {
            return None;
        }
        let start = Lines::new(&self.text).position(self.subject.document.span(origin).start);
        Some(format!("{}:{}:{}", self.file, start.line, start.column))
    }

    /// The names of all roles, in the order of the protocol.
    pub(super) fn roles(&self) -> Vec<&str> {
        self.subject.role_names()
    }

    /// The role that events call `name`.
    pub(super) fn role_called<'a>(&'a self, name: &'a str) -> &'a str {
        match self.aliases.iter().find(|(alias, _)| alias == name) {
            Some((_, role)) => self.subject.vocabulary.role_name(*role),
            None => name,
        }
    }
}

/// The role under scrutiny.
fn chosen(subject: &Subject, wanted: Option<&str>) -> Result<Role> {
    if let Some(name) = wanted {
        return subject.role(name);
    }
    let mut roles = subject.vocabulary.roles();
    match (subject.process, roles.len(), roles.next()) {
        (Some(process), ..) => Ok(process),
        (None, 1 | 2, Some(first)) => Ok(first),
        (None, 0, _) | (None, _, None) => bail!("the protocol has no roles"),
        (None, count, _) => bail!(
            "the protocol has {count} roles: say with --role which one is under scrutiny ({})",
            subject.role_names().join(", ")
        ),
    }
}

/// What `--role-name` says.
fn aliases(subject: &Subject, written: &[String]) -> Result<Vec<(String, Role)>> {
    let mut aliases: Vec<(String, Role)> = Vec::new();
    for entry in written {
        let Some((role, name)) = entry.split_once('=') else {
            bail!("--role-name takes ROLE=NAME, as in --role-name process=client");
        };
        let (role, name) = (subject.role(role.trim())?, name.trim().to_owned());
        if aliases.iter().any(|(known, other)| *known == name && *other != role) {
            bail!("--role-name calls two roles `{name}`");
        }
        aliases.push((name, role));
    }
    Ok(aliases)
}

/// Why there is no monitor, in the user's words.
fn unmonitorable(error: &SynthesisError, modules: &[PathBuf]) -> anyhow::Error {
    if let Some(missing) = error.only_missing() {
        let advice = match modules {
            [] => "give a WebAssembly module that exports them, with --functions".to_owned(),
            modules => {
                let names: Vec<_> = modules.iter().map(|path| format!("`{}`", path.display())).collect();
                format!("export them from {}", names.join(" or "))
            }
        };
        return anyhow::anyhow!(
            "the protocol's assertions call external functions that nobody defines: {}; {advice}, or leave \
             them out of the protocol to watch the rest of it",
            missing.join(", ")
        );
    }
    anyhow::anyhow!("the protocol cannot be monitored: {error}")
}
