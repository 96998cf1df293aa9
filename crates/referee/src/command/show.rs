//! `referee show`: a protocol in another form: types, machines, pictures.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use referee::draw::{Charset, Graph};
use referee::monitor::{Monitor, MonitorView, Registry};
use referee::syntax::{hml, print, scr};
use referee::theory::expr::{Signature, Value};
use referee::theory::relative::RelativeType;
use referee::theory::{GlobalType, Machine, System};
use referee::{Language, NoProtocol, Projected, SubjectKind, WellFormed, view};
use serde_json::json;

use crate::Outcome;
use crate::input;
use crate::output::{self, WARN, styled};

mod multiparty;

/// Show a protocol in another form: types, machines, pictures.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The file; `-` is standard input.
    file: PathBuf,
    /// What to show.
    #[arg(long, value_enum)]
    view: View,
    /// Which role, where the view is one role's. Without it: all roles.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Which two roles, for the relative view. Without it: all pairs.
    #[arg(long, value_name = "P,Q")]
    pair: Option<String>,
    /// Which protocol, where the file has several. Without it: the first.
    #[arg(long, value_name = "NAME")]
    protocol: Option<String>,
    /// Which monitor, for the monitor view. Without it: the multiparty monitor where a global protocol has more
    /// than two roles or is a `.gt` file, as far as it has relative types; the session monitor otherwise.
    #[arg(long, value_enum)]
    monitor: Option<MonitorName>,
    /// In which form.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The language of the file, where the extension does not tell: scr, nuscr, st, gt, gt.json, kmc, fsm, hml.
    #[arg(long, value_name = "LANGUAGE", value_parser = input::parse_language)]
    language: Option<Language>,
    #[command(flatten)]
    imports: input::Imports,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum View {
    /// The whole protocol.
    Global,
    /// A role's view as a session type.
    Local,
    /// What two roles have to do with each other, with dependencies.
    Relative,
    /// A role's view as an automaton.
    Machine,
    /// What the monitor of a role accepts in each state, with its verdicts.
    Monitor,
    /// The protocol as a message sequence chart.
    Sequence,
    /// The property that a role's view induces: what it may send and receive, and nothing else.
    Property,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum MonitorName {
    /// Of the messages between a role and everyone else.
    Session,
    /// Of one role in a network of monitors that tell each other what was chosen.
    Multiparty,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Format {
    Text,
    Json,
    Dot,
    Mermaid,
    Svg,
    /// Scribble's text; with `--view local`, its local protocols.
    Scr,
    /// nuScr's text; with `--view local`, what `nuscr --project` prints.
    Nuscr,
    Fsm,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let Some(text) = input::well_formed(&arguments.file, arguments.language, &arguments.imports)? else {
        return Ok(Outcome::WrongInput);
    };
    if let (View::Property, Some(properties)) = (arguments.view, text.properties()) {
        only_text(arguments)?;
        output::print(&hml::print(properties))?;
        return Ok(Outcome::Holds);
    }
    let subject = protocol(&text, arguments.protocol.as_deref())?;
    let text = match arguments.view {
        View::Global => global(&subject, arguments.format)?,
        View::Sequence => sequence(&subject, arguments.format)?,
        View::Relative => relative(&subject, arguments)?,
        View::Property => properties(&subject, arguments)?,
        View::Monitor if multiparty::is_meant(&subject, arguments.monitor) => {
            multiparty::show(&subject, arguments)?
        }
        View::Machine | View::Local | View::Monitor => roles(&subject, arguments)?,
    };
    output::print(&text)?;
    Ok(Outcome::Holds)
}

/// The protocol of `text` called `wanted`, or its first.
pub(crate) fn protocol(text: &WellFormed, wanted: Option<&str>) -> Result<Projected> {
    let file = text.analysed().source().name();
    text.protocol(wanted).map_err(|error| match error {
        NoProtocol::Unknown { wanted: None, .. } => anyhow!("`{file}` contains no protocol"),
        NoProtocol::Properties => anyhow!("`{file}` holds properties, not a protocol; use --view property"),
        other => anyhow!("{other}"),
    })
}

/// What the protocol is called, whether or not the text names it.
fn title(subject: &Projected) -> &str {
    let unnamed = if subject.kind() == SubjectKind::System { "System" } else { "Protocol" };
    subject.name().unwrap_or(unnamed)
}

impl Format {
    /// The graph in this form, if it is a picture.
    fn draw(self, graph: &Graph) -> Result<String> {
        Ok(match self {
            Self::Dot => graph.to_dot()?,
            Self::Mermaid => graph.to_mermaid()?,
            _ => graph.to_svg()?,
        })
    }
}

fn not_available(view: View, format: Format) -> anyhow::Error {
    let name = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
    anyhow!("the {} view cannot be shown as {}", name(&view), name(&format))
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

fn need_global(subject: &Projected) -> Result<&GlobalType> {
    subject
        .global()
        .map(|global| &**global)
        .context("this file describes machines, not a whole protocol; use --view machine or --view local")
}

fn scr_text(subject: &Projected) -> Result<String> {
    print::scr(title(subject), need_global(subject)?, subject.externals())
        .context("this protocol cannot be written as .scr text")
}

fn global(subject: &Projected, format: Format) -> Result<String> {
    let protocol = need_global(subject)?;
    match format {
        Format::Text | Format::Scr => scr_text(subject),
        Format::Json => Ok(pretty(&view::global::to_json(Some(title(subject)), protocol))),
        Format::Dot | Format::Mermaid | Format::Svg => {
            format.draw(&view::global::graph(title(subject), protocol))
        }
        Format::Nuscr => print::nuscr(title(subject), protocol).context("nuScr cannot read this protocol"),
        Format::Fsm => Err(not_available(View::Global, format)),
    }
}

fn sequence(subject: &Projected, format: Format) -> Result<String> {
    let text = scr_text(subject)?;
    let (module, _) = scr::parse_module(&text);
    let protocol = module.protocols.first().context("the protocol is empty")?;
    let chart = view::sequence::chart(&module, protocol);
    match format {
        Format::Text => Ok(chart.to_text(Charset::Unicode)?),
        Format::Mermaid => Ok(chart.to_mermaid()?),
        Format::Svg => Ok(chart.to_svg()?),
        _ => Err(not_available(View::Sequence, format)),
    }
}

fn relative(subject: &Projected, arguments: &Arguments) -> Result<String> {
    let global = need_global(subject)?;
    let participants = global.participants();
    let pairs = match &arguments.pair {
        Some(pair) => {
            let (p, q) =
                pair.split_once(',').context("--pair takes two roles, as in --pair client,server")?;
            let (p, q) = (subject.role(p.trim())?, subject.role(q.trim())?);
            if p == q {
                bail!("--pair takes two different roles");
            }
            vec![(p, q)]
        }
        None => {
            let firsts = participants.iter().enumerate();
            firsts.flat_map(|(i, p)| participants[i + 1..].iter().map(|q| (*p, *q))).collect()
        }
    };
    let name = |role| global.vocabulary().role_name(role);
    let types: Vec<(String, Result<RelativeType, String>)> = pairs
        .into_iter()
        .map(|(p, q)| {
            let projected = global.relative(p, q).map_err(|error| subject.explain(&error).message);
            (format!("{}, {}", name(p), name(q)), projected)
        })
        .collect();
    match arguments.format {
        Format::Text => Ok(types
            .iter()
            .map(|(pair, projected)| match projected {
                Ok(relative) => format!("({pair}) = {}\n", relative.to_text()),
                Err(why) => format!("({pair}) is undefined: {why}\n"),
            })
            .collect()),
        Format::Json => {
            let entry = |(pair, projected): &(String, Result<RelativeType, String>)| match projected {
                Ok(relative) => view::relative::to_json(relative),
                Err(why) => {
                    json!({"pair": pair.split(", ").collect::<Vec<_>>(), "type": null, "undefined": why})
                }
            };
            Ok(pretty(&types.iter().map(entry).collect()))
        }
        Format::Dot | Format::Mermaid | Format::Svg => match &types[..] {
            [(_, Ok(relative))] => arguments.format.draw(&view::relative::graph(relative)),
            [(pair, Err(why))] => bail!("({pair}) is undefined: {why}"),
            _ => bail!("a picture shows one pair: choose it with --pair"),
        },
        Format::Scr | Format::Nuscr | Format::Fsm => Err(not_available(View::Relative, arguments.format)),
    }
}

fn only_text(arguments: &Arguments) -> Result<()> {
    match arguments.format {
        Format::Text => Ok(()),
        format => Err(not_available(arguments.view, format)),
    }
}

/// The properties that the views of roles induce.
fn properties(subject: &Projected, arguments: &Arguments) -> Result<String> {
    /// Larger session types are too long to be read as a formula.
    const LIMIT: usize = 20_000;
    only_text(arguments)?;
    let mut all = Vec::new();
    for machine in chosen(subject, arguments.role.as_deref())? {
        let role = subject.vocabulary().role_name(machine.role());
        let session = machine.session_type(subject.vocabulary(), LIMIT);
        let session =
            session.with_context(|| format!("the session type of `{role}` is too long to be a property"))?;
        let property = hml::induced(&session, &format!("{}_{role}", title(subject)))
            .with_context(|| format!("`{role}` induces no property"))?;
        let mut peers: Vec<_> = machine
            .states()
            .flat_map(|state| machine.transitions(state))
            .map(|transition| subject.vocabulary().role_name(transition.peer))
            .collect();
        peers.sort_unstable();
        peers.dedup();
        if peers.len() > 1 {
            output::remark(&format!(
                "{}: `{role}` talks to {}: messages of different peers that overtake each other violate the property, \
                 though not the protocol",
                styled(WARN, "warning"),
                peers.join(", ")
            ));
        }
        all.push(Arc::new(property));
    }
    Ok(hml::print(&all))
}

/// The machines of the chosen role, or of all.
fn chosen<'s>(subject: &'s Projected, role: Option<&str>) -> Result<Vec<&'s Machine>> {
    match role {
        Some(role) => Ok(vec![subject.machine(subject.role(role)?).map_err(Clone::clone)?]),
        None => subject.machines().map(|machine| Ok(machine.map_err(Clone::clone)?)).collect(),
    }
}

/// The views of single roles.
fn roles(subject: &Projected, arguments: &Arguments) -> Result<String> {
    let vocabulary = subject.vocabulary();
    let is_picture = matches!(arguments.format, Format::Dot | Format::Mermaid | Format::Svg);
    if is_picture && arguments.role.is_none() && subject.machines().len() != 1 {
        bail!("a picture shows one role: choose it with --role ({})", subject.role_names().join(", "));
    }
    let machines = chosen(subject, arguments.role.as_deref())?;
    let calls = subject.global().and_then(|global| global.calls());
    if calls.is_some() && (arguments.view != View::Machine || arguments.format == Format::Fsm) {
        bail!(
            "the protocol opens sub-sessions, which this view does not have; use --view machine or --view sequence"
        );
    }
    let named: Vec<Machine> =
        calls.map_or_else(Vec::new, |calls| machines.iter().map(|m| calls.named(m)).collect());
    let machines = if named.is_empty() { machines } else { named.iter().collect() };
    if arguments.view == View::Monitor {
        return monitors(subject, &machines, arguments.format);
    }
    match (arguments.view, arguments.format) {
        (View::Local, Format::Text) => {
            let text = machines.iter().map(|machine| {
                view::local::text(machine, vocabulary).with_context(|| {
                    let role = vocabulary.role_name(machine.role());
                    format!("the session type of `{role}` is too long to read; use --view machine")
                })
            });
            Ok(text.collect::<Result<Vec<_>>>()?.join("\n"))
        }
        (_, Format::Text) => {
            let tables: Vec<String> = machines.iter().map(|m| view::machine::table(m, vocabulary)).collect();
            Ok(tables.join("\n"))
        }
        (_, Format::Json) => {
            Ok(pretty(&machines.iter().map(|machine| view::machine::to_json(machine, vocabulary)).collect()))
        }
        // As nuScr writes them, so that its pictures and ours can be laid side by side.
        (_, Format::Dot) => arguments.format.draw(&view::machine::graph_with_fields(machines[0], vocabulary)),
        (_, Format::Mermaid | Format::Svg) => {
            arguments.format.draw(&view::machine::graph(machines[0], vocabulary))
        }
        (_, Format::Fsm) => {
            if arguments.role.is_some() {
                bail!("an .fsm file holds the machines of all roles: leave --role out");
            }
            let system = System::new(vocabulary.clone(), machines.into_iter().cloned());
            Ok(print::fsm(&system)?)
        }
        (View::Local, Format::Scr | Format::Nuscr) => local_protocols(subject, &machines, arguments.format),
        (view, format @ (Format::Scr | Format::Nuscr)) => Err(not_available(view, format)),
    }
}

/// The views of `machines` as local protocols.
fn local_protocols(subject: &Projected, machines: &[&Machine], format: Format) -> Result<String> {
    /// Larger ones are not read.
    const LIMIT: usize = 20_000;
    let names = subject.global().map(|global| global.recursion_names()).unwrap_or_default();
    let one = |machine: &&Machine| {
        let role = subject.vocabulary().role_name(machine.role());
        let session = machine.session_type_with_names(subject.vocabulary(), LIMIT, &names);
        let session =
            session.with_context(|| format!("the local protocol of `{role}` is too long to read"))?;
        let text = match format {
            Format::Nuscr => print::local_nuscr(&session),
            _ => print::local_scr(title(subject), &session),
        };
        text.with_context(|| format!("`{role}` has no local protocol"))
    };
    Ok(machines.iter().map(one).collect::<Result<Vec<_>>>()?.join("\n"))
}

fn monitors(subject: &Projected, machines: &[&Machine], format: Format) -> Result<String> {
    // What a predicate answers does not show: any will do.
    let mut registry = Registry::new();
    for external in subject.externals() {
        let (parameters, result) = (external.parameters.clone().into(), external.result.clone());
        registry.register(&external.name, Signature { parameters, result }, |_| Ok(Value::Bool(true)));
    }
    let views = machines
        .iter()
        .map(|machine| Ok(Monitor::synthesise(machine, subject.vocabulary(), &registry)?.view()))
        .collect::<Result<Vec<_>>>()?;
    match format {
        Format::Text => {
            let text =
                |view: &MonitorView| format!("{}:\n{}\n{}", view.role, view.to_text(), view.to_table());
            Ok(views.iter().map(text).collect::<Vec<_>>().join("\n"))
        }
        Format::Json => Ok(pretty(&views.iter().map(view::monitor::to_json).collect())),
        Format::Dot | Format::Mermaid | Format::Svg => format.draw(&view::monitor::graph(&views[0])),
        Format::Scr | Format::Nuscr | Format::Fsm => Err(not_available(View::Monitor, format)),
    }
}
