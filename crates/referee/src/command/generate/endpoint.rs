//! `referee generate rust|python|typescript`: endpoints of a protocol as source code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::Projected;
use referee::generate::{Plan, Subject, python, rust, same_code, typescript};
use referee::theory::expr::Signature;
use referee::theory::{Machine, Type};

use crate::Outcome;
use crate::input::{self, Imports};
use crate::output;

#[derive(Args)]
pub(crate) struct Arguments {
    /// The protocol.
    file: PathBuf,
    /// The role. In Rust it may be repeated: then the roles share a file and their messages; all roles if none is named.
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// Which protocol of the file.
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
    /// Where to write the source file; standard output if it is not given.
    #[arg(long, short, value_name = "SOURCE")]
    output: Option<PathBuf>,
    /// Write nothing; exit with 1 if the source file is not what would be written. Blanks and line ends do not count.
    #[arg(long, requires = "output")]
    check: bool,
    /// The module with the predicates that assertions call and the protocol does not define: by default `crate::predicates` in
    /// Rust, `predicates` in Python, `./predicates.js` in TypeScript.
    #[arg(long, value_name = "PATH")]
    predicates: Option<String>,
    #[command(flatten)]
    imports: Imports,
}

/// The language of the source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Rust,
    Python,
    TypeScript,
}

pub(super) fn run(arguments: &Arguments, target: Target) -> Result<Outcome> {
    let Some(well_formed) = input::well_formed(&arguments.file, None, &arguments.imports)? else {
        return Ok(Outcome::WrongInput);
    };
    let protocol = well_formed.protocol(arguments.protocol.as_deref())?;
    if target != Target::Rust && arguments.roles.len() != 1 {
        bail!("name one role with --role: {}", protocol.role_names().join(", "));
    }
    let (plan, predicates) = (plan(&protocol, arguments)?, arguments.predicates.as_deref());
    let text = match target {
        Target::Rust => rust(&plan, predicates.unwrap_or("crate::predicates")),
        Target::Python => python(&plan, predicates.unwrap_or("predicates")),
        Target::TypeScript => typescript(&plan, predicates.unwrap_or("./predicates.js")),
    };
    match &arguments.output {
        None => output::print(&text)?,
        Some(path) if arguments.check => return check(path, &text),
        Some(path) => {
            std::fs::write(path, &text).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
    }
    Ok(Outcome::Holds)
}

fn check(path: &Path, text: &str) -> Result<Outcome> {
    let found = match std::fs::read_to_string(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            output::remark(&format!("`{}` does not exist", path.display()));
            return Ok(Outcome::Violated);
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    };
    if same_code(&found, text) {
        return Ok(Outcome::Holds);
    }
    output::remark(&format!("`{}` is stale: generate it again", path.display()));
    Ok(Outcome::Violated)
}

fn plan(protocol: &Projected, arguments: &Arguments) -> Result<Plan> {
    if protocol.opens_calls() {
        bail!("the protocol opens sub-sessions: endpoints of these cannot be generated yet");
    }
    let mut machines: Vec<&Machine> = Vec::new();
    if arguments.roles.is_empty() {
        for machine in protocol.machines() {
            machines.push(machine.map_err(Clone::clone)?);
        }
    }
    for name in &arguments.roles {
        let role = protocol.role(name)?;
        if machines.iter().any(|machine| machine.role() == role) {
            bail!("`--role {name}` is given twice");
        }
        machines.push(protocol.machine(role).map_err(Clone::clone)?);
    }
    let file = Path::new(protocol.source().name());
    let file = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = protocol.name().map_or_else(|| file.clone(), str::to_owned);
    Ok(Plan::new(&Subject {
        protocol: &name,
        file: &file,
        vocabulary: protocol.vocabulary(),
        machines: &machines,
        predicates: predicates(protocol),
        comment: &|origin| protocol.comment(origin),
        about: protocol.about(),
    })?)
}

fn predicates(protocol: &Projected) -> BTreeMap<Arc<str>, Signature> {
    let signature = |parameters: &[Type], result: &Type| Signature {
        parameters: parameters.into(),
        result: result.clone(),
    };
    let externals = protocol.externals().iter();
    externals
        .map(|external| (Arc::from(&*external.name), signature(&external.parameters, &external.result)))
        .collect()
}
