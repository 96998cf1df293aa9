//! `--faults`: what may go wrong, as it is written and as it is told.

use anyhow::{Result, bail};
use referee::check::Faults;
use referee::theory::{Role, Vocabulary};
use serde_json::{Value, json};

/// Faults by the names of roles: not known yet to which system they belong.
#[derive(Clone, Debug)]
pub(super) struct FaultNames(Vec<(FaultKind, Vec<String>)>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum FaultKind {
    Crash,
    Lossy,
    Duplicate,
    Reorder,
}

/// For clap: `crash=R,lossy=A->B`.
pub(super) fn parse(text: &str) -> Result<FaultNames, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let Some((kind, what)) = part.split_once('=') else {
            return Err(format!("`{part}` is not of the form crash=ROLE or lossy=ROLE->ROLE"));
        };
        let kind = match kind.trim() {
            "crash" => FaultKind::Crash,
            "lossy" => FaultKind::Lossy,
            "duplicate" => FaultKind::Duplicate,
            "reorder" => FaultKind::Reorder,
            other => {
                return Err(format!(
                    "there are no faults `{other}`; known are crash, lossy, duplicate, reorder"
                ));
            }
        };
        let names: Vec<String> = what.split("->").map(|name| name.trim().to_owned()).collect();
        let wanted = if kind == FaultKind::Crash { 1 } else { 2 };
        if names.len() != wanted || names.iter().any(String::is_empty) {
            let form = if wanted == 1 { "crash=ROLE" } else { "lossy=ROLE->ROLE" };
            return Err(format!("`{part}` is not of the form {form}"));
        }
        all.push((kind, names));
    }
    Ok(FaultNames(all))
}

impl FaultNames {
    /// Those that are about roles of `vocabulary`, if there are any.
    pub(super) fn among(&self, vocabulary: &Vocabulary) -> Option<Self> {
        let is_known = |name: &String| vocabulary.find_role(name).is_some();
        let known: Vec<_> = self.0.iter().filter(|(_, names)| names.iter().all(is_known)).cloned().collect();
        (!known.is_empty()).then_some(Self(known))
    }

    /// The roles of each.
    pub(super) fn roles(&self) -> impl Iterator<Item = &[String]> {
        self.0.iter().map(|(_, names)| &names[..])
    }

    /// The same for the roles of `vocabulary`.
    pub(super) fn resolve(&self, vocabulary: &Vocabulary, at_most: u32) -> Result<Faults> {
        let role = |name: &String| -> Result<Role> {
            let Some(role) = vocabulary.find_role(name) else {
                let known: Vec<&str> = vocabulary.roles().map(|role| vocabulary.role_name(role)).collect();
                bail!("--faults: there is no role `{name}`; roles are {}", known.join(", "));
            };
            Ok(role)
        };
        let mut faults = Faults { at_most, ..Faults::default() };
        for (kind, names) in &self.0 {
            let roles = names.iter().map(role).collect::<Result<Vec<Role>>>()?;
            match (kind, &roles[..]) {
                (_, &[from, to]) if from == to => {
                    bail!("--faults: there is no channel from `{0}` to `{0}`", names[0])
                }
                (FaultKind::Lossy, &[from, to]) => add(&mut faults.lossy, (from, to)),
                (FaultKind::Duplicate, &[from, to]) => add(&mut faults.duplicate, (from, to)),
                (FaultKind::Reorder, &[from, to]) => add(&mut faults.reorder, (from, to)),
                (_, roles) => roles.iter().for_each(|&role| add(&mut faults.crash, role)),
            }
        }
        Ok(faults)
    }
}

fn add<T: PartialEq>(all: &mut Vec<T>, one: T) {
    if !all.contains(&one) {
        all.push(one);
    }
}

/// "at most 2 faults: C may crash, A->B may lose messages".
pub(super) fn text(faults: &Faults, vocabulary: &Vocabulary) -> String {
    let name = |role: &Role| vocabulary.role_name(*role);
    let channels = |channels: &[(Role, Role)], what: &str| {
        let of = |(from, to): &(Role, Role)| format!("{}->{} may {what}", name(from), name(to));
        channels.iter().map(of).collect::<Vec<_>>()
    };
    let mut all: Vec<String> = faults.crash.iter().map(|role| format!("{} may crash", name(role))).collect();
    all.extend(channels(&faults.lossy, "lose messages"));
    all.extend(channels(&faults.duplicate, "duplicate messages"));
    all.extend(channels(&faults.reorder, "reorder messages"));
    let plural = if faults.at_most == 1 { "" } else { "s" };
    format!("at most {} fault{plural}: {}", faults.at_most, all.join(", "))
}

pub(super) fn to_json(faults: &Faults, vocabulary: &Vocabulary) -> Value {
    let name = |role: &Role| vocabulary.role_name(*role);
    let channels = |channels: &[(Role, Role)]| -> Vec<Value> {
        channels.iter().map(|(from, to)| json!({"from": name(from), "to": name(to)})).collect()
    };
    json!({
        "at_most": faults.at_most,
        "crash": faults.crash.iter().map(name).collect::<Vec<_>>(),
        "lossy": channels(&faults.lossy),
        "duplicate": channels(&faults.duplicate),
        "reorder": channels(&faults.reorder),
    })
}
