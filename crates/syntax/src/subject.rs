//! What a document is about, whatever language it is written in: one protocol, and a machine per role. Who shows,
//! watches or guards a protocol begins here; what is wrong with the text is in its diagnostics.

use std::fmt;
use std::sync::Arc;

use referee_theory::{GlobalType, Machine, Role, Vocabulary};

use crate::document::{Content, Demands, Document, External};
use crate::ill_formed;

/// A protocol, whatever language it comes from.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What the text calls it, if it does.
    pub name: Option<Arc<str>>,
    /// Its names.
    pub vocabulary: Arc<Vocabulary>,
    /// The whole protocol, if there is one.
    pub global: Option<Arc<GlobalType>>,
    /// Predicates that monitors must be given.
    pub externals: Vec<External>,
    /// Per role; for a role without a projection, why.
    pub machines: Vec<Result<Machine, String>>,
    /// The role whose session type it is, if it is one's.
    pub process: Option<Role>,
    /// Whether each role has a machine of its own, so that they need not fit together.
    pub is_system: bool,
    /// Whether it is meant to be run through relative types.
    pub relative_first: bool,
}

/// Why a document has no [`Subject`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoSubject {
    /// It has errors: its diagnostics say which.
    Errors,
    /// It has no protocol of that name; these are there.
    Unknown {
        /// The name, if one was asked for.
        wanted: Option<String>,
        /// The names of its protocols.
        known: Vec<Arc<str>>,
    },
    /// It holds properties.
    Properties,
}

impl fmt::Display for NoSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Errors => f.write_str("the protocol has errors"),
            Self::Unknown { wanted: Some(wanted), known } => {
                write!(f, "there is no protocol `{wanted}`; there are {}", known.join(", "))
            }
            Self::Unknown { wanted: None, .. } => f.write_str("there is no protocol"),
            Self::Properties => f.write_str("these are properties, not a protocol"),
        }
    }
}

impl Subject {
    /// What `document` is about: the protocol called `wanted`, or the first that is not only a part of others.
    ///
    /// # Errors
    /// There is no such protocol, or what there is has errors.
    pub fn of(document: &Document, wanted: Option<&str>) -> Result<Self, NoSubject> {
        match &document.content {
            Content::Global(protocols) => {
                let found = protocols.iter().find(|candidate| match wanted {
                    Some(wanted) => candidate.name.as_deref() == Some(wanted),
                    None => !candidate.auxiliary,
                });
                let Some(found) = found.or(protocols.first().filter(|_| wanted.is_none())) else {
                    let known = protocols.iter().filter_map(|protocol| protocol.name.clone()).collect();
                    return Err(NoSubject::Unknown { wanted: wanted.map(str::to_owned), known });
                };
                let global = found.global.clone().ok_or(NoSubject::Errors)?;
                let explain = |error| {
                    ill_formed::projection(&error, &found.vocabulary, &document.origins, found.span).message
                };
                let machines =
                    found.vocabulary.roles().map(|role| global.project(role).map_err(explain)).collect();
                Ok(Self {
                    name: found.name.clone(),
                    vocabulary: Arc::clone(&found.vocabulary),
                    global: Some(global),
                    externals: found.externals.clone(),
                    machines,
                    process: None,
                    is_system: false,
                    relative_first: found.demands == Demands::Relative,
                })
            }
            Content::Binary(binary) => {
                let session = binary.session.as_ref().ok_or(NoSubject::Errors)?;
                let mut machines = vec![session.machine(), session.dual(binary.environment).machine()];
                machines.sort_by_key(Machine::role);
                Ok(Self {
                    name: Some(Arc::clone(&binary.name)),
                    vocabulary: Arc::clone(&binary.vocabulary),
                    global: session.global(binary.environment).map(Arc::new),
                    externals: binary.externals.clone(),
                    machines: machines.into_iter().map(Ok).collect(),
                    process: Some(binary.process),
                    is_system: false,
                    relative_first: false,
                })
            }
            Content::System(local) => {
                let system = local.system.as_ref().ok_or(NoSubject::Errors)?;
                Ok(Self {
                    name: None,
                    vocabulary: Arc::clone(&local.vocabulary),
                    global: None,
                    externals: Vec::new(),
                    machines: system.machines().iter().cloned().map(Ok).collect(),
                    process: None,
                    is_system: true,
                    relative_first: false,
                })
            }
            Content::Properties(_) => Err(NoSubject::Properties),
        }
    }

    /// The names of its roles.
    #[must_use]
    pub fn role_names(&self) -> Vec<&str> {
        self.vocabulary.roles().map(|role| self.vocabulary.role_name(role)).collect()
    }
}
