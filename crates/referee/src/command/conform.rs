//! `referee conform`: does a component, given as a machine, play its role?

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use referee::check::Options;
use referee::monitor::multiparty::conform::Step;
use referee::monitor::multiparty::{Bounds, Component, Conformance, Dependencies, Network, conform};
use referee::syntax::source::Span;
use referee::theory::{Role, Vocabulary};
use referee::{Diagnostic, Language, Parsed, SubjectKind};
use serde_json::{Value, json};

use super::show;
use crate::Outcome;
use crate::input;
use crate::output::{self, BAD, GOOD, SOFT, WARN, styled};

/// Check that a component, given as a machine, plays its role in a protocol.
///
/// The machine is run beside the role's multiparty monitor, in every order and with every message that the others may
/// send: does it ever send or end when the protocol does not allow it, or wait although the protocol waits for
/// it? Values are not known, so assertions are not looked at.
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
    #[arg(long, value_enum, default_value_t = Telling::Deliver)]
    dependencies: Telling,
    /// How many messages of one sender the component may leave unread.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    buffer: u16,
    /// Text for people, or one JSON document for programs.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Telling {
    /// All of them, as in the paper.
    Deliver,
    /// Of two about one choice the first.
    DeliverOnce,
    /// None.
    Hide,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let Some(text) = input::well_formed(&arguments.protocol, None)? else { return Ok(Outcome::WrongInput) };
    let protocol = show::protocol(&text, None)?;
    let role = protocol.role(&arguments.role)?;
    let network = protocol.deployable_network(&Options::default())?;
    let known_names = protocol.vocabulary();
    let (vocabulary, machines) = component(&arguments.component, role, known_names)?;
    let names = |known: Role| vocabulary.role_name(known).to_owned();
    let numbered = vocabulary.roles().enumerate().all(|(index, known)| names(known) == index.to_string());
    let by_name = |known: Role| known_names.find_role(vocabulary.role_name(known));
    let by_number = |known: Role| known_names.roles().find(|role| *role == known);
    let roles: Vec<Option<Role>> = vocabulary
        .roles()
        .map(|known| if numbered { by_name(known).or(by_number(known)) } else { by_name(known) })
        .collect();
    let Some(machine) = machines.iter().find(|machine| roles[machine.role().index()] == Some(role)) else {
        bail!("`{}` has no machine for `{}`", arguments.component.display(), arguments.role);
    };
    let dependencies = match arguments.dependencies {
        Telling::Deliver => Dependencies::Deliver,
        Telling::DeliverOnce => Dependencies::DeliverOnce,
        Telling::Hide => Dependencies::Hide,
    };
    let bounds = Bounds { dependencies, capacity: arguments.buffer.into(), ..Bounds::default() };
    let component = Component { machine, vocabulary: &vocabulary, roles: &roles };
    let answer = conform(&network, role, &component, &bounds);
    let text = match arguments.format {
        Format::Json => format!("{:#}\n", to_json(&answer, &network, arguments)),
        Format::Text => to_text(&answer, &network, arguments),
    };
    output::print(&text)?;
    Ok(match answer.conforms {
        Some(true) => Outcome::Holds,
        Some(false) => Outcome::Violated,
        None => Outcome::NoAnswer,
    })
}

type Machines = Vec<referee::theory::Machine>;

/// The machines of a component file. A lone `.fsm` machine is the role's: the others are not in the file.
fn component(path: &Path, role: Role, protocol: &Vocabulary) -> Result<(Vocabulary, Machines)> {
    let source = input::read(path)?;
    let lone = path.extension().is_some_and(|extension| extension == "fsm")
        && source.text().matches(".end").count() == 1;
    let (parsed, before) = if lone {
        const NOBODY: &str = ".outputs .state graph .marking q0 .end ";
        let after = protocol.roles().len().saturating_sub(role.index() + 1);
        let before = NOBODY.repeat(role.index());
        let text = format!("{before}{}\n{}", source.text(), NOBODY.repeat(after));
        (Parsed::new(&text, Language::Fsm), before.len())
    } else {
        (input::parse(source.clone(), None)?, 0)
    };
    let well_formed = match parsed.well_formed() {
        Ok(well_formed) => well_formed,
        Err(ill_formed) => {
            let mut diagnostics = ill_formed.analysed().diagnostics().to_vec();
            own_diagnostics(&mut diagnostics, before, source.text().len());
            output::show_diagnostics(&source, &diagnostics)?;
            bail!("`{}` is not a component", path.display());
        }
    };
    match well_formed.protocol(None) {
        Ok(system) if system.kind() == SubjectKind::System => {
            let machines = system.machines().flatten().cloned().collect();
            Ok(((**system.vocabulary()).clone(), machines))
        }
        _ => bail!("`{}` is no component: that is an .fsm or .kmc file", path.display()),
    }
}

/// Of what was said of a text with others before and after it, what is about the `length` bytes from `start`, as if they
/// were all; an error that was noticed too late is one at their end.
fn own_diagnostics(diagnostics: &mut Vec<Diagnostic>, start: usize, length: usize) {
    let own = |span: Span| {
        let within = |at: u32| (at as usize).saturating_sub(start).min(length);
        Span::new(within(span.start), within(span.end))
    };
    let is_own = |span: Span| (start..=start + length).contains(&(span.start as usize));
    diagnostics.retain(|diagnostic| diagnostic.is_error() || is_own(diagnostic.span));
    for diagnostic in diagnostics {
        diagnostic.span = own(diagnostic.span);
        diagnostic.related.retain(|(span, _)| is_own(*span));
        diagnostic.related.iter_mut().for_each(|(span, _)| *span = own(*span));
    }
}

fn step(step: &Step, network: &Network) -> (&'static str, String, String) {
    let name = |role: &Role| network.vocabulary().role_name(*role).to_owned();
    match step {
        Step::Arrives(role, label) => ("arrives", name(role), label.clone()),
        Step::Sends(role, label) => ("sends", name(role), label.clone()),
        Step::Reads(role, label) => ("reads", name(role), label.clone()),
    }
}

fn to_json(answer: &Conformance, network: &Network, arguments: &Arguments) -> Value {
    let steps = answer.steps.iter().map(|s| {
        let (action, peer, label) = step(s, network);
        json!({"action": action, "peer": peer, "label": label})
    });
    json!({
        "role": arguments.role,
        "conforms": answer.conforms,
        "explanation": answer.explanation,
        "steps": steps.collect::<Vec<_>>(),
        "situations": answer.situations,
        "exact": answer.exact,
        "buffer": arguments.buffer,
    })
}

fn to_text(answer: &Conformance, network: &Network, arguments: &Arguments) -> String {
    let role = &arguments.role;
    let why = answer.explanation.as_deref().unwrap_or_default();
    let mut text = match answer.conforms {
        Some(true) => format!("{} the component plays `{role}`\n", styled(GOOD, "✓")),
        Some(false) => format!("{} the component does not play `{role}`: {why}\n", styled(BAD, "✗")),
        None => format!("{} no answer: {why}\n", styled(WARN, "?")),
    };
    for s in &answer.steps {
        let line = match step(s, network) {
            ("sends", peer, label) => format!("it sends `{label}` to {peer}"),
            ("reads", peer, label) => format!("it reads `{label}` from {peer}"),
            (_, peer, label) => format!("`{label}` arrives from {peer}"),
        };
        text += &format!("    {line}\n");
    }
    let bound = if answer.exact {
        String::new()
    } else {
        format!(", with {} unread messages of one sender at most", arguments.buffer)
    };
    text + &format!("  {}\n", styled(SOFT, format!("{} situations{bound}", answer.situations)))
}
