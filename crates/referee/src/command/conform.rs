//! `referee conform`: does a component, given as a machine, play its role?

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use referee::SubjectKind;
use referee::check::{Options, Verdict, check, with_component};
use referee::monitor::multiparty::conform::Step;
use referee::monitor::multiparty::{Bounds, Conformance, conform, conform_to_machine};
use referee::theory::{Origin, Role, Vocabulary};
use serde_json::{Value, json};

use super::component::ComponentFile;
use super::dependencies::Dependencies;
use super::show;
use crate::Outcome;
use crate::input;
use crate::output::{self, BAD, GOOD, SOFT, WARN, styled};

/// Check that a component, given as a machine, plays its role in a protocol.
///
/// The machine is run beside the role's multiparty monitor, in every order and with every message that the others may
/// send: does it ever send or end when the protocol does not allow it, or wait although the protocol waits for
/// it? Values are not known, so assertions are not looked at. The monitor of a role of a `.kmc` or `.fsm` system is its machine.
///
/// Besides, the machine is put in the role's place beside the other roles, without monitors: is that safe? A component that sends
/// earlier than its role says may be safe although its monitor would blame it.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The component: an `.fsm` or `.kmc` file with its machine, or with those of all roles. In an `.fsm` file role `i` is
    /// the i-th role of the protocol, from 0.
    component: PathBuf,
    /// The protocol.
    protocol: PathBuf,
    /// Which role the component plays.
    #[arg(long, value_name = "ROLE")]
    role: String,
    /// Whether the component receives the labels that monitors tell each other.
    #[arg(long, value_enum, default_value_t)]
    dependencies: Dependencies,
    /// How many messages of one sender the component may leave unread.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    buffer: u16,
    /// Text for people, or one JSON document for programs.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    imports: input::Imports,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let Some(text) = input::well_formed(&arguments.protocol, None, &arguments.imports)? else {
        return Ok(Outcome::WrongInput);
    };
    let protocol = show::protocol(&text, None)?;
    if protocol.opens_calls() {
        bail!("the protocol opens sub-sessions: whether a component conforms to it cannot be told yet");
    }
    let role = protocol.role(&arguments.role)?;
    let component = ComponentFile::read(&arguments.component, &arguments.role, protocol.vocabulary())?;
    let dependencies = arguments.dependencies.into();
    let bounds = Bounds { dependencies, capacity: arguments.buffer.into(), ..Bounds::default() };
    let (answer, vocabulary) = match protocol.system() {
        // The monitor of a role of a system is its machine.
        Some(system) if protocol.kind() == SubjectKind::System => {
            let answer = conform_to_machine(&system, role, &component.component(), &bounds);
            (answer, Arc::clone(system.vocabulary()))
        }
        _ => {
            let network = protocol.deployable_network(&Options::default())?;
            let answer = conform(&network, role, &component.component(), &bounds);
            (answer, Arc::clone(network.vocabulary()))
        }
    };
    let system = protocol
        .system()
        .map(|system| with_component(&system, role, &component.component(), |_| Origin::NONE));
    let in_system =
        system.transpose()?.map(|system| check(&system, &Options::default(), None, &mut ()).verdict);
    let text = match arguments.format {
        Format::Json => format!("{:#}\n", to_json(&answer, in_system.as_ref(), &vocabulary, arguments)),
        Format::Text => to_text(&answer, in_system.as_ref(), &vocabulary, arguments),
    };
    output::print(&text)?;
    Ok(match answer.conforms {
        Some(true) => Outcome::Holds,
        Some(false) => Outcome::Violated,
        None => Outcome::NoAnswer,
    })
}

fn step(step: &Step, vocabulary: &Vocabulary) -> (&'static str, String, String) {
    let name = |role: &Role| vocabulary.role_name(*role).to_owned();
    match step {
        Step::Arrives(role, label) => ("arrives", name(role), label.clone()),
        Step::Sends(role, label) => ("sends", name(role), label.clone()),
        Step::Reads(role, label) => ("reads", name(role), label.clone()),
    }
}

fn to_json(
    answer: &Conformance,
    in_system: Option<&Verdict>,
    vocabulary: &Vocabulary,
    arguments: &Arguments,
) -> Value {
    let steps = answer.steps.iter().map(|s| {
        let (action, peer, label) = step(s, vocabulary);
        json!({"action": action, "peer": peer, "label": label})
    });
    json!({
        "role": arguments.role,
        "conforms": answer.conforms,
        "in_system": in_system.map(Verdict::name),
        "explanation": answer.explanation,
        "steps": steps.collect::<Vec<_>>(),
        "situations": answer.situations,
        "exact": answer.exact,
        "buffer": arguments.buffer,
    })
}

fn to_text(
    answer: &Conformance,
    in_system: Option<&Verdict>,
    vocabulary: &Vocabulary,
    arguments: &Arguments,
) -> String {
    let role = &arguments.role;
    let why = answer.explanation.as_deref().unwrap_or_default();
    let mut text = match answer.conforms {
        Some(true) => format!("{} the component plays `{role}`\n", styled(GOOD, "✓")),
        Some(false) => format!("{} the component does not play `{role}`: {why}\n", styled(BAD, "✗")),
        None => format!("{} no answer: {why}\n", styled(WARN, "?")),
    };
    for s in &answer.steps {
        let line = match step(s, vocabulary) {
            ("sends", peer, label) => format!("it sends `{label}` to {peer}"),
            ("reads", peer, label) => format!("it reads `{label}` from {peer}"),
            (_, peer, label) => format!("`{label}` arrives from {peer}"),
        };
        text += &format!("    {line}\n");
    }
    text += &match (answer.conforms, in_system) {
        (Some(false), Some(Verdict::Safe { .. })) => {
            let though = match answer.blamed {
                true => format!(", although a monitor of `{role}` would blame it"),
                false => String::new(),
            };
            let safe = styled(GOOD, "safe");
            format!(
                "  beside the other roles it is {safe}: nobody waits for ever and nothing is left unread{though}\n"
            )
        }
        (Some(true), Some(Verdict::Unsafe { witness, .. })) => format!(
            "  beside the other roles it is {} without monitors: {}\n",
            styled(BAD, "unsafe"),
            witness.explanation
        ),
        _ => String::new(),
    };
    let bound = if answer.exact {
        String::new()
    } else {
        format!(", with {} unread messages of one sender at most", arguments.buffer)
    };
    text + &format!("  {}\n", styled(SOFT, format!("{} situations{bound}", answer.situations)))
}
