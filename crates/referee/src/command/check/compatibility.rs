//! Asynchronous compatibility, as `referee check` asks for it and tells of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use referee::check::{self, Model, Options, Reason, Reduction, Report, Semantics, Stop, Verdict, Witness};
use referee::theory::System;
use referee::theory::property::Property;
use referee::{Projected, SubjectKind, WellFormed};
use serde_json::Value;

use crate::Outcome;
use crate::command::watch::property;
use crate::output;

mod answer;
mod blocks;
mod diagrams;
mod family;
mod faults;
mod findings;
mod json;
mod named;
mod network;
mod progress;
mod question;
mod substitute;

use answer::{Answer, PlaceTable};
pub(super) use diagrams::Diagrams;
pub(super) use findings::{Finding, Level};
use named::RoleOptions;
use network::NetworkAnswer;
use progress::ProgressLine;
use question::Questions;

/// How far to go, and what else to answer.
#[derive(Args)]
pub(crate) struct CompatibilityArguments {
    /// Try channel bounds up to this one.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_k: u32,
    /// Try only this channel bound.
    #[arg(long, value_name = "N", conflicts_with = "max_k", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    k: Option<u32>,
    /// Which part of the bounded state space to explore: a sound reduction, the paper's Algorithm 1 to the
    /// letter, or all of it.
    #[arg(long, value_enum, default_value_t = ReductionName::Sound)]
    reduction: ReductionName,
    /// Also answer whether all channels can always be emptied (explores without reduction).
    #[arg(long)]
    stable: bool,
    /// Also answer whether each role behaves the same under one more message per channel (Theorem 3).
    #[arg(long)]
    bound_agnostic: bool,
    /// Assume fairness of choices: whoever chooses again and again takes each branch again and again, as Scribble's `-fair`
    /// has it. This is the default.
    #[arg(long, conflicts_with = "no_fair")]
    fair: bool,
    /// Assume no fairness of choices, as Scribble does without `-fair`: a role that waits while another keeps choosing
    /// otherwise is a violation (explores without reduction).
    #[arg(long, conflicts_with = "faults")]
    no_fair: bool,
    /// One queue per receiver instead of one per pair of roles; no theorem lifts what holds within a bound.
    #[arg(long)]
    mailbox: bool,
    /// Let this role wait for ever in its initial state, if nothing is sent to it any more: a server that outlives its
    /// clients. May be given several times.
    #[arg(long, value_name = "ROLE")]
    may_wait: Vec<String>,
    /// Also ask the properties of this `.hml` file: does any execution violate them? May be given several times.
    #[arg(long, value_name = "FILE")]
    property: Vec<PathBuf>,
    /// Put the machine of this component (`.fsm`, `.kmc`) in the role's place. May be given several times.
    #[arg(long, value_name = "ROLE=FILE", value_parser = substitute::parse)]
    with: Vec<substitute::Substitution>,
    /// Check with each of these numbers of copies of a role: `Worker=1..6`, for `role Worker[n]` of a `.scr` file, or for any role of a
    /// `.kmc` or `.fsm` file. What is sent to the role goes to every copy, and what comes from it is received from every copy, in any
    /// order. This is no proof for other numbers. Of several
    /// protocols in a file, options that name a role are about those that have it.
    #[arg(long, value_name = "ROLE=FROM..TO", value_parser = family::parse, conflicts_with_all = ["with", "faults"])]
    instances: Option<family::Instances>,
    /// What may go wrong: `crash=R`, `lossy=A->B`, `duplicate=A->B`, `reorder=A->B`, separated by commas. The answer is for so many
    /// faults and so much room, and for nothing else.
    #[arg(long, value_name = "FAULTS", value_parser = faults::parse, conflicts_with = "mailbox")]
    faults: Option<faults::FaultNames>,
    /// How many faults there may be in one execution.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "faults", value_parser = clap::value_parser!(u32).range(0..=1000))]
    max_faults: u32,
    /// Also say what the answer rests on: conditions, bounds, how much was explored.
    #[arg(long)]
    explain: bool,
    /// For an unsafe system, also look for single edits that make it safe, for at most a second.
    #[arg(long)]
    minimal_fix: bool,
    /// Explore every configuration, also those that differ only by which of several identical roles is which.
    #[arg(long)]
    no_symmetry: bool,
    /// How many threads may explore; the answer does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Give up after this many configurations of one bound.
    #[arg(long, value_name = "N")]
    max_states: Option<usize>,
    /// Give up when the machines and one bound need more memory than this, in MiB. On top come 32 MiB for the program, 64 with several
    /// threads, and what it takes to read the text.
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    max_memory: usize,
    /// Tell of at most this many violations, each of another kind or role.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    max_witnesses: u16,
    /// Give up after this many seconds, whatever is being checked.
    #[arg(long, value_name = "SECONDS")]
    max_time: Option<u64>,
    /// Draw the counterexample as a sequence diagram in this file; further ones, of other protocols and files, are
    /// numbered: `FILE-2.svg`.
    #[arg(long, value_name = "FILE")]
    witness_svg: Option<PathBuf>,
    /// Write the counterexample as a Mermaid sequence diagram to this file, numbered likewise.
    #[arg(long, value_name = "FILE")]
    witness_mermaid: Option<PathBuf>,
    /// Write all counterexamples to this file, as a page to step through them in a browser: one file for a bug report.
    #[arg(long, value_name = "FILE")]
    export_html: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReductionName {
    Sound,
    Paper,
    None,
}

/// The answers about all protocols or systems of a file.
#[derive(Default)]
pub(crate) struct Answers {
    all: Vec<About>,
    /// Where the first of each name is.
    by_name: HashMap<Option<String>, usize>,
}

/// The answers about one protocol or system.
struct About {
    /// About its projections, or the machines it consists of.
    local: Option<Answer>,
    /// About the network of its multiparty monitors.
    monitors: Option<NetworkAnswer>,
}

impl About {
    fn outcome(&self) -> Outcome {
        let monitors = self.monitors.as_ref().map(NetworkAnswer::outcome);
        match (self.local.as_ref().map(Answer::outcome), monitors) {
            (Some(local), Some(Outcome::Violated)) => local.and(Outcome::Violated),
            // The protocol is safe by its projections; no answer about another way to run it takes that back.
            (Some(local), _) => local,
            (None, monitors) => monitors.unwrap_or(Outcome::Holds),
        }
    }
}

impl Answers {
    /// What all answers come to.
    pub(crate) fn outcome(&self) -> Outcome {
        self.all.iter().fold(Outcome::Holds, |outcome, about| outcome.and(about.outcome()))
    }

    fn push(&mut self, name: Option<&str>, about: About) {
        self.by_name.entry(name.map(str::to_owned)).or_insert(self.all.len());
        self.all.push(about);
    }

    fn about(&self, name: Option<&str>) -> Option<&About> {
        self.by_name.get(&name.map(str::to_owned)).and_then(|index| self.all.get(*index))
    }

    /// What the answers about the protocol called `name` come to.
    pub(crate) fn outcome_of(&self, name: Option<&str>) -> Outcome {
        self.about(name).map_or(Outcome::Holds, About::outcome)
    }

    /// What people read about the protocol called `name`.
    pub(crate) fn text(&self, name: Option<&str>) -> String {
        let Some(about) = self.about(name) else { return String::new() };
        let local = about.local.as_ref().map(Answer::to_text).unwrap_or_default();
        local + &about.monitors.as_ref().map(NetworkAnswer::to_text).unwrap_or_default()
    }

    /// The `compatibility` object for the protocol called `name`; null where nothing was asked.
    pub(crate) fn json(&self, name: Option<&str>) -> Value {
        self.about(name).and_then(|about| about.local.as_ref()).map_or(Value::Null, Answer::to_json)
    }

    /// The `monitors` object for the protocol called `name`: the same, of the network of its monitors.
    pub(crate) fn monitors_json(&self, name: Option<&str>) -> Value {
        let monitors = self.about(name).and_then(|about| about.monitors.as_ref());
        monitors.map_or(Value::Null, NetworkAnswer::to_json)
    }
}

/// Asks about every system of a text: its projections and the monitors of its global protocols, its session type
/// beside its dual, or its machines.
pub(crate) fn of_file(
    text: &WellFormed,
    properties: &[Arc<Property>],
    arguments: &CompatibilityArguments,
    diagrams: &mut Diagrams,
) -> Result<Answers> {
    let mut answers = Answers::default();
    let alone = arguments.checked_names(text)?;
    for protocol in text.protocols() {
        let is_global = matches!(protocol.kind(), SubjectKind::Global { .. });
        let name = protocol.name().filter(|_| is_global);
        let label = name.unwrap_or(protocol.source().name());
        let system = protocol.system();
        let roles = RoleOptions::of(arguments, &protocol, alone);
        if system.is_none() && (roles.need_machines() || !properties.is_empty()) {
            bail!(
                "{label}: not every role has a projection, of which --property, --faults, --with and --instances ask"
            );
        }
        let ask = |system| ask(system, &protocol, label, properties, &roles, arguments, diagrams);
        let local = system.map(ask).transpose()?;
        // What is asked of the monitors is asked of the protocol itself, without faults.
        let monitors = match is_global && !roles.need_machines() {
            true => NetworkAnswer::about(&protocol, local.as_ref(), &roles, arguments, diagrams)?,
            false => None,
        };
        answers.push(name, About { local, monitors });
    }
    Ok(answers)
}

/// Set by Ctrl-C; explorations end with what they have.
static CANCELLED: AtomicBool = AtomicBool::new(false);

/// The text that is being read, which may take for ever where it comes from a pipe, and long where it is large.
static READING: Mutex<Option<String>> = Mutex::new(None);

fn reading() -> MutexGuard<'static, Option<String>> {
    READING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the text at `path` by `read`; signals and `--max-time` end the process meanwhile.
pub(super) fn while_reading<T>(path: &Path, read: impl FnOnce() -> T) -> T {
    let name =
        if path == Path::new("-") { "standard input".to_owned() } else { format!("`{}`", path.display()) };
    *reading() = Some(name);
    let result = read();
    *reading() = None;
    result
}

/// Makes Ctrl-C and SIGTERM end explorations instead of the process; a second one ends the process.
pub(super) fn handle_ctrl_c() {
    let handler = || {
        if reading().is_some() || CANCELLED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    // Without a handler, Ctrl-C ends the process as usual.
    let _ = ctrlc::set_handler(handler);
}

/// Set when the time that was given is up.
static OUT_OF_TIME: AtomicBool = AtomicBool::new(false);

/// Whether it was the limit on time that ended explorations.
fn out_of_time() -> bool {
    OUT_OF_TIME.load(Ordering::Relaxed)
}

impl CompatibilityArguments {
    /// Ends explorations, and the process while it reads, when the time given is up.
    pub(super) fn start_clock(&self) {
        if let Some(seconds) = self.max_time {
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(seconds));
                if let Some(name) = &*reading() {
                    output::complain(&anyhow!(
                        "the limit on time (--max-time) was reached while {name} was read"
                    ));
                    std::process::exit(Outcome::NoAnswer as i32);
                }
                if !CANCELLED.load(Ordering::Relaxed) {
                    OUT_OF_TIME.store(true, Ordering::Relaxed);
                    CANCELLED.store(true, Ordering::Relaxed);
                }
            });
        }
    }

    /// That no option is given twice for one role.
    ///
    /// # Errors
    /// One is.
    pub(super) fn once_each(&self) -> Result<()> {
        substitute::once_each(&self.with)
    }

    /// The properties that are asked; `None` if there are errors in them, which have been shown.
    pub(super) fn properties(&self) -> Result<Option<Vec<Arc<Property>>>> {
        let mut all = Some(Vec::new());
        for path in &self.property {
            let found = while_reading(path, || property::load(std::slice::from_ref(path), None))?;
            all = all.zip(found).map(|(all, found)| [all, found].concat());
        }
        Ok(all)
    }

    /// Where counterexamples are to be drawn.
    pub(super) fn diagrams(&self) -> Diagrams {
        Diagrams::new(self.witness_svg.clone(), self.witness_mermaid.clone(), self.export_html.clone())
    }

    fn options(&self) -> Options {
        let reduction = match self.reduction {
            _ if self.stable => Reduction::None,
            ReductionName::Sound => Reduction::Sound,
            ReductionName::Paper => Reduction::Paper,
            ReductionName::None => Reduction::None,
        };
        Options {
            min_k: self.k.unwrap_or(1),
            max_k: self.k.unwrap_or(self.max_k),
            reduction,
            semantics: if self.mailbox { Semantics::Mailbox } else { Semantics::PeerToPeer },
            max_states: self.max_states.unwrap_or(usize::MAX),
            max_memory: self.max_memory.saturating_mul(1 << 20),
            threads: self.threads.into(),
            stable: self.stable,
            fair: self.fair || !self.no_fair,
            max_witnesses: self.max_witnesses.into(),
            symmetry_from: if self.no_symmetry { usize::MAX } else { Options::default().symmetry_from },
            ..Options::default()
        }
    }
}

/// How long edits are looked for.
const FIX_TIME: Duration = Duration::from_secs(1);

/// A flag that is set after `time`, or when everything is to end.
fn within(time: Duration) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&flag);
    std::thread::spawn(move || {
        std::thread::sleep(time);
        theirs.store(true, Ordering::Relaxed);
    });
    flag
}

/// `report`, which calls an end by the clock by its name.
fn out_of_time_said(mut report: Report) -> Report {
    if let Verdict::Unknown { reason: Reason::Stopped { stop: Stop::Cancelled, .. }, explanation, .. } =
        &mut report.verdict
        && out_of_time()
    {
        *explanation =
            explanation.replace("the check was interrupted", "the limit on time (--max-time) was reached");
    }
    report
}

/// Whether each role behaves the same with one more message per channel than `k`, if that was found out.
fn is_agnostic(system: &System, k: u32, options: &Options, observer: &mut ProgressLine) -> Option<bool> {
    let model = Model::new(system, options.semantics);
    let found = check::bound_agnosticity(&model, k, options, Some(&CANCELLED), observer);
    found.ok().map(|found| found.holds())
}

/// Single edits of `system` that make it safe.
fn fixes_of(
    system: &System,
    verdict: &Verdict,
    options: &Options,
    faults: Option<&check::Faults>,
    label: &str,
) -> Vec<check::Edit> {
    if faults.is_some() {
        output::remark(&format!("{label}: --minimal-fix: edits are not tried where there may be faults"));
        return Vec::new();
    }
    let Verdict::Unsafe { witness, others, .. } = verdict else { return Vec::new() };
    let witnesses: Vec<&Witness> = std::iter::once(&**witness).chain(others).collect();
    let fixes = check::fixes(system, &witnesses, options, &within(FIX_TIME));
    if fixes.is_empty() {
        output::remark(&format!("{label}: --minimal-fix: no single edit was found that makes it safe"));
    }
    fixes.into_iter().map(|fix| fix.edit).collect()
}

/// Checks `system`; `label` names it in the progress line.
fn ask(
    system: System,
    protocol: &Projected,
    label: &str,
    properties: &[Arc<Property>],
    roles: &RoleOptions<'_>,
    arguments: &CompatibilityArguments,
    diagrams: &mut Diagrams,
) -> Result<Answer> {
    let options = arguments.options();
    let (system, with) = substitute::substitute(system, &roles.with, protocol)?;
    // Copies of a role may wait where the role may.
    let system = roles.waiting(&system)?;
    let mut observer = ProgressLine::new(label);
    let resolve = |names: &faults::FaultNames| names.resolve(system.vocabulary(), arguments.max_faults);
    let faults = roles.faults.as_ref().map(resolve).transpose()?;
    let interruptions = interruptions(protocol);
    let questions = Questions {
        properties,
        faults: faults.as_ref(),
        options: &options,
        is_interrupted: is_interrupted(protocol),
    };
    let (system, report, properties, family) = match roles.instances {
        Some(instances) => {
            let family::Family { members, shown, report } =
                instances.check(&system, protocol, &options, &mut observer)?;
            let properties = questions.ask_of_each(&system, protocol, instances, &mut observer)?;
            (shown, report, properties, members)
        }
        None => {
            let report =
                check::check_under(&system, faults.as_ref(), &options, Some(&CANCELLED), &mut observer);
            let report = match roles.need_machines() {
                true => report,
                false => blocks::answered_by_blocks(report, protocol, &options),
            };
            let properties = questions.ask(&system, &mut observer);
            (system, report, properties, Vec::new())
        }
    };
    let system = &system;
    let copied = match roles.instances {
        None => family::declared(protocol).into_iter().map(str::to_owned).collect(),
        Some(_) => Vec::new(),
    };
    let agnostic = match report.bounds.last() {
        Some(bound) if arguments.bound_agnostic => {
            Some(is_agnostic(system, bound.k, &options, &mut observer))
        }
        _ => None,
    };
    observer.finish();
    let report = out_of_time_said(report);
    let fixes = match arguments.minimal_fix {
        true => fixes_of(system, &report.verdict, &options, faults.as_ref(), label),
        false => Vec::new(),
    };
    let system = faults.as_ref().map_or_else(|| system.clone(), |faults| faults.applied(system));
    let drawn = diagrams.draw(&report, &properties, &system, protocol);
    let places = PlaceTable::of(&system, protocol, &with);
    let CompatibilityArguments { stable, explain, .. } = *arguments;
    Ok(Answer {
        system,
        report,
        fair: options.fair,
        agnostic,
        explain,
        stable,
        drawn,
        places,
        faults,
        properties,
        with,
        fixes,
        family,
        copied,
        interruptions,
        has_calls: has_calls(protocol),
    })
}

/// Whether it is a call that may be interrupted.
fn is_interrupted(protocol: &Projected) -> bool {
    let keyed = protocol.global().and_then(|global| global.keyed());
    keyed.is_some_and(|keyed| keyed.interrupt.is_some())
}

/// Whether calls run beside what is checked: it opens some, or is one.
fn has_calls(protocol: &Projected) -> bool {
    protocol.global().is_some_and(|global| global.calls().is_some() || global.keyed().is_some())
}

/// The messages that may interrupt calls, each with its sender: "`Cancel` from `client`". No machine has them.
fn interruptions(protocol: &Projected) -> Vec<String> {
    let Some(global) = protocol.global() else { return Vec::new() };
    let subs = global.calls().into_iter().flat_map(|calls| &calls.subs).map(|sub| &sub.global);
    let mut all = Vec::new();
    for global in std::iter::once(global).chain(subs) {
        let Some(found) = global.keyed().and_then(|keyed| keyed.interrupt) else { continue };
        let vocabulary = global.vocabulary();
        let (label, sender) = (vocabulary.shown_label(found.message), vocabulary.role_name(found.sender));
        let text = format!("`{label}` from `{sender}`");
        if !all.contains(&text) {
            all.push(text);
        }
    }
    all
}
