//! `referee convert`: a protocol in another language.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use referee::Language;
use referee::syntax::convert::{Subject, Target};
use referee::theory::{Global, Vocabulary};

use crate::Outcome;
use crate::input;
use crate::output;

/// Write a protocol in another language, with the same behaviour.
///
/// Global types are projected to machines, and machines have a global type where one can be found. What the other
/// language cannot say is refused with the reason, but for conditions in `.kmc` and `.fsm`: that these are left out is said.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The file; `-` is standard input.
    file: PathBuf,
    /// The language to write: scr, nuscr, gt, gt.json, st, kmc, fsm.
    #[arg(long, value_name = "LANGUAGE", value_parser = parse_target)]
    to: Target,
    /// Which protocol, where the file has several. Without it: the first.
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
    /// Whose side an `.st` text takes. Without it: the first role's.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// The language of the file, where the extension does not tell: scr, nuscr, st, gt, gt.json, kmc, fsm, hml.
    #[arg(long, value_name = "LANGUAGE", value_parser = input::parse_language)]
    language: Option<Language>,
    #[command(flatten)]
    imports: input::Imports,
}

fn parse_target(name: &str) -> Result<Target, String> {
    Target::from_name(name).ok_or_else(|| {
        let known: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
        format!("protocols are not converted to `{name}`; known are {}", known.join(", "))
    })
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let Some(text) = input::well_formed(&arguments.file, arguments.language, &arguments.imports)? else {
        return Ok(Outcome::WrongInput);
    };
    let document = &text.analysed().analysis().document;
    let file = text.analysed().source().name();
    let subject =
        Subject::of(document, arguments.protocol.as_deref()).ok_or_else(|| match &arguments.protocol {
            Some(name) => anyhow!("`{file}` contains no protocol `{name}`"),
            None => anyhow!("`{file}` contains no protocol"),
        })?;
    let converted = subject.convert(arguments.to, arguments.role.as_deref()).map_err(|reason| {
        anyhow!("this protocol cannot be expressed in `{}`, because {reason}", arguments.to.name())
    })?;
    output::print(&converted)?;
    if let Some(label) = condition(subject).filter(|_| matches!(arguments.to, Target::Kmc | Target::Fsm)) {
        let language = arguments.to.name();
        output::remark(&format!(
            "conditions, such as that of `{label}`, cannot be said in `{language}`: they are left out"
        ));
    }
    if let Some(label) = timed(subject).filter(|_| arguments.to != Target::Scr) {
        let language = arguments.to.name();
        output::remark(&format!(
            "times, such as that of `{label}`, cannot be said in `{language}`: they are left out"
        ));
    }
    if let Some(role) =
        idle(subject).filter(|_| matches!(arguments.to, Target::Gt | Target::GtJson | Target::St))
    {
        let language = arguments.to.name();
        output::remark(&format!(
            "roles without messages, such as `{role}`, cannot be said in `{language}`: they are left out"
        ));
    }
    Ok(Outcome::Holds)
}

/// A role that sends and receives nothing.
fn idle(subject: Subject<'_>) -> Option<&str> {
    match subject {
        Subject::Global(_, global, _) => {
            let mut takes_part = vec![false; global.vocabulary().roles().len()];
            for (_, node) in global.nodes() {
                if let Global::Exchange(exchange) = node {
                    let receivers = exchange.branches.iter().map(|branch| branch.receiver);
                    receivers.chain([exchange.sender]).for_each(|role| takes_part[role.index()] = true);
                }
            }
            let idle = global.vocabulary().roles().find(|role| !takes_part[role.index()])?;
            Some(global.vocabulary().role_name(idle))
        }
        Subject::Binary(_) => None,
        Subject::System(system) => {
            let idle = system.machines().iter().find(|machine| machine.all_transitions().is_empty())?;
            Some(system.vocabulary().role_name(idle.role()))
        }
    }
}

fn vocabulary(subject: Subject<'_>) -> &Vocabulary {
    match subject {
        Subject::Global(_, global, _) => global.vocabulary(),
        Subject::Binary(protocol) => &protocol.vocabulary,
        Subject::System(system) => system.vocabulary(),
    }
}

/// The label of a message that has times.
fn timed(subject: Subject<'_>) -> Option<&str> {
    let vocabulary = vocabulary(subject);
    let found = vocabulary.messages().find(|message| vocabulary.spec(*message).timing.is_some());
    found.map(|message| vocabulary.label_of(message))
}

/// The label of a message that has a condition.
fn condition(subject: Subject<'_>) -> Option<&str> {
    let vocabulary = vocabulary(subject);
    let found = vocabulary.messages().find(|message| vocabulary.spec(*message).assertion.is_some());
    found.map(|message| vocabulary.label_of(message))
}
