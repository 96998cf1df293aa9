//! What is shown, whatever language it comes from: a [`referee::syntax::Subject`] with what the command line calls it.

use std::ops::Deref;

use anyhow::{Result, bail};
use referee::syntax::diagnostics::suggest;
use referee::syntax::{self, Document, NoSubject, ill_formed};
use referee::theory::Role;
use referee::theory::relative::RelativeError;

use crate::input::Read;

pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) document: Document,
    subject: syntax::Subject,
}

impl Deref for Subject {
    type Target = syntax::Subject;

    fn deref(&self) -> &syntax::Subject {
        &self.subject
    }
}

impl Subject {
    /// What `read` describes: the protocol called `protocol`, or the first. `None`: it has errors.
    pub(crate) fn of(read: &Read, protocol: Option<&str>) -> Result<Option<Self>> {
        let document = read.analysis.document.clone();
        let subject = match syntax::Subject::of(&document, protocol) {
            Ok(subject) => subject,
            Err(NoSubject::Errors) => return Ok(None),
            Err(NoSubject::Unknown { wanted: None, .. }) => {
                bail!("`{}` contains no protocol", read.input.name)
            }
            Err(NoSubject::Properties) => {
                bail!("`{}` holds properties, not a protocol; use --view property", read.input.name)
            }
            Err(other) => bail!("{other}"),
        };
        let unnamed = if subject.is_system { "System" } else { "Protocol" };
        let name = subject.name.as_deref().unwrap_or(unnamed).to_owned();
        Ok(Some(Self { name, document, subject }))
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
