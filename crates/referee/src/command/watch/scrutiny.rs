//! Who is watched: the protocol, the role under scrutiny, its monitor, and what events call the roles.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use referee::functions::{self, Functions, NoMonitor};
use referee::monitor::{KeyLimits, KeyedMonitor, Monitor, SynthesisError};
use referee::syntax::diagnostics::suggest::closest;
use referee::theory::{Origin, Role};
use referee::watch::options::ENDED_SESSIONS;
use referee::wire::Table;
use referee::{Monitorable, NoDefaultRole, Projected};

use super::Arguments;
use crate::command::show;
use crate::input;

/// What is watched.
pub(super) struct Scrutiny {
    pub(super) monitor: Arc<Monitor>,
    /// The same with the sub-sessions that the protocol opens.
    pub(super) calls: Option<Arc<KeyedMonitor>>,
    /// What events call the roles, besides their names.
    pub(super) aliases: Vec<(String, Role)>,
    protocol: Projected,
    /// How bytes become messages, where packets are watched.
    table: Option<Table>,
}

impl Scrutiny {
    /// What `arguments` ask for, for each role that is to be judged; `None` if the protocol has errors, which have then been
    /// shown.
    pub(super) fn all(arguments: &Arguments) -> Result<Option<Vec<Self>>> {
        let Some(first) = Self::of(arguments, arguments.role.as_deref())? else { return Ok(None) };
        if !arguments.all_roles {
            return Ok(Some(vec![first]));
        }
        let roles: Vec<String> = first.roles().into_iter().map(str::to_owned).collect();
        roles.iter().map(|role| Self::of(arguments, Some(role))).collect()
    }

    /// The protocol with the monitor of `role`.
    fn of(arguments: &Arguments, role: Option<&str>) -> Result<Option<Self>> {
        let Some(path) = &arguments.protocol else { bail!("there is no protocol") };
        let Some(text) = input::well_formed(path, arguments.language, &arguments.imports)? else {
            return Ok(None);
        };
        let protocol = show::protocol(&text, arguments.protocol_name.as_deref())?;
        let role = match role {
            Some(name) => protocol.role(name)?,
            None if arguments.all_roles => {
                protocol.role(protocol.role_names().first().copied().unwrap_or_default())?
            }
            None => protocol.default_role().map_err(|error| unclear(&error))?,
        };
        let name = protocol.vocabulary().role_name(role);
        let made =
            protocol.monitorable_between(role).with_context(|| format!("`{name}` cannot be watched"))?;
        let modules = arguments.modules()?;
        if made.opens_calls() {
            return Self::keyed(arguments, protocol, &made, &modules).map(Some);
        }
        let table = arguments.captures.table(path)?;
        let interrupted = table.as_ref().map(|table| table.interrupted(made.machine(), made.vocabulary()));
        let machine = interrupted.as_ref().unwrap_or_else(|| made.machine());
        let monitor = match functions::synthesise(machine, made.vocabulary(), made.registry(), &modules) {
            Ok(monitor) => Arc::new(monitor),
            Err(NoMonitor::Functions(error)) => return Err(error.into()),
            Err(NoMonitor::Synthesis(error)) => return Err(unmonitorable(&error, &arguments.functions)),
        };
        let aliases = aliases(&protocol, &arguments.role_name)?;
        known_labels(&protocol, &arguments.session_ends)?;
        Ok(Some(Self { monitor, calls: None, aliases, protocol, table }))
    }

    /// The monitor of a protocol that opens sub-sessions.
    fn keyed(
        arguments: &Arguments,
        protocol: Projected,
        made: &Monitorable,
        modules: &[Functions],
    ) -> Result<Self> {
        if arguments.join {
            bail!(
                "--join cannot be used with sub-sessions: which calls are in flight at the beginning is not known"
            );
        }
        if arguments.captures.are_given() {
            bail!("packets of protocols with sub-sessions cannot be watched yet: watch them as events");
        }
        let limits = KeyLimits { inflight: usize::MAX, ended: ENDED_SESSIONS };
        let make = |part: &Monitorable| match functions::synthesise(
            part.machine(),
            part.vocabulary(),
            part.registry(),
            modules,
        ) {
            Ok(monitor) => Ok(monitor),
            Err(NoMonitor::Functions(error)) => Err(error.into()),
            Err(NoMonitor::Synthesis(error)) => Err(unmonitorable(&error, &arguments.functions)),
        };
        let calls = Arc::new(made.keyed_monitor(limits, make)?);
        let monitor = Arc::clone(calls.parent_monitor());
        let aliases = aliases(&protocol, &arguments.role_name)?;
        known_labels(&protocol, &arguments.session_ends)?;
        Ok(Self { monitor, calls: Some(calls), aliases, protocol, table: None })
    }

    /// `auth.scr:12:7`, if `origin` is a place in the protocol.
    pub(super) fn place(&self, origin: Origin) -> Option<String> {
        self.protocol.location(origin)
    }

    /// How bytes become messages, where packets are watched.
    pub(super) fn table(&self) -> Option<&Table> {
        self.table.as_ref()
    }

    /// The protocol.
    pub(super) fn protocol(&self) -> &Projected {
        &self.protocol
    }

    /// The role whose monitor watches.
    pub(super) fn role(&self) -> &str {
        self.monitor.vocabulary().role_name(self.monitor.machine().role())
    }

    /// The names of all roles, in the order of the protocol.
    pub(super) fn roles(&self) -> Vec<&str> {
        self.protocol.role_names()
    }

    /// The role that events call `name`.
    pub(super) fn role_called<'a>(&'a self, name: &'a str) -> &'a str {
        match self.aliases.iter().find(|(alias, _)| alias == name) {
            Some((_, role)) => self.protocol.vocabulary().role_name(*role),
            None => name,
        }
    }
}

/// What to do where no role is named.
fn unclear(error: &NoDefaultRole) -> anyhow::Error {
    match error.known.len() {
        0 => anyhow::anyhow!("{error}"),
        count => anyhow::anyhow!(
            "the protocol has {count} roles: say with --role which one is under scrutiny ({})",
            error.known.join(", ")
        ),
    }
}

/// A label that `--session-ends` names is one of the protocol's: no event has another.
fn known_labels(protocol: &Projected, ends: &[String]) -> Result<()> {
    let vocabulary = protocol.vocabulary();
    for name in ends.iter().filter(|text| super::parse_duration(text).is_err()) {
        if vocabulary.find_label(name).is_none() {
            let labels = vocabulary.messages().map(|message| vocabulary.label_of(message));
            let hint = closest(name, labels).map(|label| format!("; did you mean `{label}`?"));
            bail!(
                "--session-ends: `{name}` is neither a duration nor a label of the protocol{}",
                hint.unwrap_or_default()
            );
        }
    }
    Ok(())
}

/// What `--role-name` says.
fn aliases(protocol: &Projected, written: &[String]) -> Result<Vec<(String, Role)>> {
    let mut aliases: Vec<(String, Role)> = Vec::new();
    for entry in written {
        let Some((role, name)) = entry.split_once('=') else {
            bail!("--role-name takes ROLE=NAME, as in --role-name process=client");
        };
        let (role, name) = (protocol.role(role.trim())?, name.trim().to_owned());
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
