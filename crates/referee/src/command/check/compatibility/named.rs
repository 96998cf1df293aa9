//! Options that name roles. Of several protocols in a file, each is about those that have the role; there has to be one.

use anyhow::{Result, bail};
use referee::theory::{Action, System, Vocabulary};
use referee::{Projected, SubjectKind, WellFormed};

use super::CompatibilityArguments;
use super::family::{Instances, declared};
use super::faults::FaultNames;
use super::substitute::Substitution;
use crate::output;

/// The options that are about one protocol.
pub(super) struct RoleOptions<'a> {
    pub(super) may_wait: Vec<&'a str>,
    pub(super) with: Vec<&'a Substitution>,
    pub(super) instances: Option<&'a Instances>,
    pub(super) faults: Option<FaultNames>,
}

impl<'a> RoleOptions<'a> {
    /// Those of `arguments` that are about `protocol`; all of them where it is the only one of its file (`alone`).
    pub(super) fn of(arguments: &'a CompatibilityArguments, protocol: &Projected, alone: bool) -> Self {
        let vocabulary = protocol.vocabulary();
        let has = |name: &str| alone || vocabulary.find_role(name).is_some();
        let faults = match alone {
            true => arguments.faults.clone(),
            false => arguments.faults.as_ref().and_then(|faults| faults.among(vocabulary)),
        };
        Self {
            may_wait: arguments.may_wait.iter().map(String::as_str).filter(|name| has(name)).collect(),
            with: arguments.with.iter().filter(|with| has(with.role())).collect(),
            instances: arguments
                .instances
                .as_ref()
                .filter(|instances| alone || may_have_copies(protocol, instances.role())),
            faults,
        }
    }

    /// Whether they need a machine for every role.
    pub(super) fn need_machines(&self) -> bool {
        self.faults.is_some() || !self.with.is_empty() || self.instances.is_some()
    }

    /// `system` with the roles that may wait marked.
    pub(super) fn waiting(&self, system: &System) -> Result<System> {
        let vocabulary = system.vocabulary();
        let mut machines = system.machines().to_vec();
        for name in &self.may_wait {
            let Some(role) = vocabulary.find_role(name) else {
                bail!("there is no role `{name}` to wait; roles are {}", names(vocabulary));
            };
            let machine = &mut machines[role.index()];
            if !machine.transitions(machine.initial()).iter().any(|step| step.action == Action::Receive) {
                output::remark(&format!(
                    "--may-wait {name}: `{name}` does not wait in its initial state, so that this changes nothing"
                ));
                continue;
            }
            *machine = machine.clone().accepting(machine.initial());
        }
        Ok(System::new(vocabulary.clone(), machines))
    }
}

/// "A, B, C".
fn names(vocabulary: &Vocabulary) -> String {
    vocabulary.roles().map(|role| vocabulary.role_name(role)).collect::<Vec<_>>().join(", ")
}

/// Whether `protocol` has the role `name`, and says, where its language has words for that, that there may be several.
fn may_have_copies(protocol: &Projected, name: &str) -> bool {
    protocol.vocabulary().find_role(name).is_some()
        && (!has_word_for_copies(protocol) || declared(protocol).contains(&name))
}

/// Whether the language of `protocol` can say that there may be several copies of a role.
pub(super) fn has_word_for_copies(protocol: &Projected) -> bool {
    matches!(protocol.kind(), SubjectKind::Global { relative_first: false })
}

/// What is to be known of a protocol to see which options are about it.
struct Cast {
    name: String,
    roles: Vec<String>,
    /// Those of which there may be several copies.
    copied: Vec<String>,
}

impl Cast {
    fn of(protocol: &Projected) -> Self {
        let roles: Vec<String> = protocol.role_names().into_iter().map(str::to_owned).collect();
        let copied = match has_word_for_copies(protocol) {
            true => declared(protocol).into_iter().map(str::to_owned).collect(),
            false => roles.clone(),
        };
        Self { name: protocol.name().unwrap_or(protocol.source().name()).to_owned(), roles, copied }
    }

    fn has(&self, role: &str) -> bool {
        self.roles.iter().any(|name| name == role)
    }
}

impl CompatibilityArguments {
    /// Whether `text` has one protocol only.
    ///
    /// # Errors
    /// It has several, and an option names a role that none of them has.
    pub(super) fn checked_names(&self, text: &WellFormed) -> Result<bool> {
        if text.protocols().nth(1).is_none() {
            return Ok(true);
        }
        if self.may_wait.is_empty()
            && self.with.is_empty()
            && self.instances.is_none()
            && self.faults.is_none()
        {
            return Ok(false);
        }
        let casts: Vec<Cast> = text.protocols().map(|protocol| Cast::of(&protocol)).collect();
        let known = |option: &str, role: &str| match casts.iter().any(|cast| cast.has(role)) {
            true => Ok(()),
            false => {
                let all =
                    casts.iter().map(|Cast { name, roles, .. }| format!("{name} has {}", roles.join(", ")));
                let all = all.collect::<Vec<String>>().join("; ");
                bail!("{option}: no protocol has a role `{role}`: {all}")
            }
        };
        self.may_wait.iter().try_for_each(|role| known("--may-wait", role))?;
        self.with.iter().try_for_each(|with| known("--with", with.role()))?;
        for roles in self.faults.iter().flat_map(FaultNames::roles) {
            roles.iter().try_for_each(|role| known("--faults", role))?;
            if !casts.iter().any(|cast| roles.iter().all(|role| cast.has(role))) {
                bail!("--faults: no protocol has both `{}`", roles.join("` and `"));
            }
        }
        if let Some(role) = self.instances.as_ref().map(Instances::role) {
            known("--instances", role)?;
            if !casts.iter().any(|cast| cast.copied.iter().any(|name| name == role)) {
                bail!(
                    "--instances: no protocol declares `{role}` as `role {role}[n]`, of which there may be several"
                );
            }
        }
        Ok(false)
    }
}
