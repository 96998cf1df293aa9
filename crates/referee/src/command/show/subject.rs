//! What is shown, whatever language it comes from: machines per role, and the whole protocol if there is one.

use std::sync::Arc;

use anyhow::{Result, bail};
use referee::Content;
use referee::syntax::diagnostics::suggest;
use referee::syntax::document::Demands;
use referee::syntax::{Document, External, ill_formed};
use referee::theory::relative::RelativeError;
use referee::theory::{GlobalType, Machine, Role, Vocabulary};

use crate::input::Read;

pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) global: Option<Arc<GlobalType>>,
    pub(crate) externals: Vec<External>,
    /// Per role; for a role without a projection, why.
    pub(crate) machines: Vec<Result<Machine, String>>,
    /// The role whose session type it is, if it is one's.
    pub(crate) process: Option<Role>,
    /// Whether it is meant to be run through relative types.
    pub(crate) relative_first: bool,
    pub(crate) document: Document,
}

impl Subject {
    /// What `read` describes: the protocol called `protocol`, or the first. `None`: it has errors.
    pub(crate) fn of(read: &Read, protocol: Option<&str>) -> Result<Option<Self>> {
        let document = read.analysis.document.clone();
        Ok(match &read.analysis.document.content {
            Content::Global(protocols) => {
                let found = protocols.iter().find(|candidate| match protocol {
                    Some(wanted) => candidate.name.as_deref() == Some(wanted),
                    None => !candidate.auxiliary,
                });
                let Some(found) = found.or(protocols.first().filter(|_| protocol.is_none())) else {
                    let known: Vec<&str> = protocols.iter().filter_map(|p| p.name.as_deref()).collect();
                    match protocol {
                        Some(wanted) => {
                            bail!("there is no protocol `{wanted}`; there are {}", known.join(", "))
                        }
                        None => bail!("`{}` contains no protocol", read.input.name),
                    }
                };
                let Some(global) = found.global.clone() else { return Ok(None) };
                let explain = |error| {
                    ill_formed::projection(&error, &found.vocabulary, &document.origins, found.span).message
                };
                let machines =
                    found.vocabulary.roles().map(|role| global.project(role).map_err(explain)).collect();
                let name = found.name.as_deref().unwrap_or("Protocol").to_owned();
                let vocabulary = Arc::clone(&found.vocabulary);
                let externals = found.externals.clone();
                Some(Self {
                    name,
                    vocabulary,
                    global: Some(global),
                    externals,
                    machines,
                    process: None,
                    relative_first: found.demands == Demands::Relative,
                    document,
                })
            }
            Content::Binary(binary) => {
                let Some(session) = &binary.session else { return Ok(None) };
                let mut machines = vec![session.machine(), session.dual(binary.environment).machine()];
                machines.sort_by_key(Machine::role);
                Some(Self {
                    name: binary.name.to_string(),
                    vocabulary: Arc::clone(&binary.vocabulary),
                    global: session.global(binary.environment).map(Arc::new),
                    externals: binary.externals.clone(),
                    machines: machines.into_iter().map(Ok).collect(),
                    process: Some(binary.process),
                    relative_first: false,
                    document,
                })
            }
            Content::System(local) => {
                let Some(system) = &local.system else { return Ok(None) };
                Some(Self {
                    name: "System".to_owned(),
                    vocabulary: Arc::clone(&local.vocabulary),
                    global: None,
                    externals: Vec::new(),
                    machines: system.machines().iter().cloned().map(Ok).collect(),
                    process: None,
                    relative_first: false,
                    document,
                })
            }
            Content::Properties(_) => {
                bail!("`{}` holds properties, not a protocol; use --view property", read.input.name)
            }
        })
    }

    pub(crate) fn role_names(&self) -> Vec<&str> {
        self.vocabulary.roles().map(|role| self.vocabulary.role_name(role)).collect()
    }

    /// The role called `name`.
    pub(crate) fn role(&self, name: &str) -> Result<Role> {
        match self.vocabulary.find_role(name) {
            Some(role) => Ok(role),
            None => match suggest::closest(name, self.role_names()) {
                Some(close) => bail!("there is no role `{name}`; did you mean `{close}`?"),
                None => bail!("there is no role `{name}`; the roles are {}", self.role_names().join(", ")),
            },
        }
    }

    pub(crate) fn explain_relative(&self, error: &RelativeError) -> String {
        ill_formed::relative(error, &self.vocabulary, &self.document.origins).message
    }
}
