//! Asynchronous compatibility, as `referee check` asks for it and tells of it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use referee::check::{self, Model, Options, Reduction, Semantics};
use referee::theory::System;
use referee::{Projected, SubjectKind, WellFormed};
use serde_json::Value;

use crate::Outcome;

mod answer;
mod diagrams;
mod network;
mod progress;

use answer::{Answer, PlaceTable};
pub(super) use diagrams::Diagrams;
use network::NetworkAnswer;
use progress::ProgressLine;

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
    /// One queue per receiver instead of one per pair of roles; no theorem lifts what holds within a bound.
    #[arg(long)]
    mailbox: bool,
    /// Let this role wait for ever in its initial state, if nothing is sent to it any more: a server that outlives its
    /// clients. May be given several times.
    #[arg(long, value_name = "ROLE")]
    may_wait: Vec<String>,
    /// How many threads may explore; the answer does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Give up after this many configurations of one bound.
    #[arg(long, value_name = "N")]
    max_states: Option<usize>,
    /// Give up when one bound needs more memory than this, in MiB.
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
}

/// The answers about one protocol or system.
struct About {
    /// Its name, where it has one.
    name: Option<String>,
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

    fn about(&self, name: Option<&str>) -> Option<&About> {
        self.all.iter().find(|about| about.name.as_deref() == name)
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
    arguments: &CompatibilityArguments,
    diagrams: &mut Diagrams,
) -> Result<Answers> {
    let mut answers = Answers::default();
    for protocol in text.protocols() {
        let is_global = matches!(protocol.kind(), SubjectKind::Global { .. });
        let name = protocol.name().filter(|_| is_global);
        let label = name.unwrap_or(protocol.source().name());
        let system = protocol.system();
        let local = system.map(|system| ask(&system, &protocol, label, arguments, diagrams)).transpose()?;
        let monitors = match is_global {
            true => NetworkAnswer::about(&protocol, local.as_ref(), arguments, diagrams)?,
            false => None,
        };
        answers.all.push(About { name: name.map(str::to_owned), local, monitors });
    }
    Ok(answers)
}

/// Set by Ctrl-C; explorations end with what they have.
static CANCELLED: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C end explorations instead of the process; a second one ends the process.
pub(super) fn handle_ctrl_c() {
    let handler = || {
        if CANCELLED.swap(true, Ordering::Relaxed) {
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
    /// Ends explorations when the time given is up.
    pub(super) fn start_clock(&self) {
        if let Some(seconds) = self.max_time {
            std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_secs(seconds));
                if !CANCELLED.load(Ordering::Relaxed) {
                    OUT_OF_TIME.store(true, Ordering::Relaxed);
                    CANCELLED.store(true, Ordering::Relaxed);
                }
            });
        }
    }

    /// Where counterexamples are to be drawn.
    pub(super) fn diagrams(&self) -> Diagrams {
        Diagrams::new(self.witness_svg.clone(), self.witness_mermaid.clone())
    }

    /// `system` with the roles that may wait marked.
    fn waiting(&self, system: &System) -> Result<System> {
        let vocabulary = system.vocabulary();
        let mut machines = system.machines().to_vec();
        for name in &self.may_wait {
            let Some(role) = vocabulary.find_role(name) else {
                let known: Vec<&str> = vocabulary.roles().map(|role| vocabulary.role_name(role)).collect();
                bail!("there is no role `{name}` to wait; roles are {}", known.join(", "));
            };
            let machine = &mut machines[role.index()];
            *machine = machine.clone().accepting(machine.initial());
        }
        Ok(System::new(vocabulary.clone(), machines))
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
            max_witnesses: self.max_witnesses.into(),
            ..Options::default()
        }
    }
}

/// Checks `system`; `label` names it in the progress line.
fn ask(
    system: &System,
    protocol: &Projected,
    label: &str,
    arguments: &CompatibilityArguments,
    diagrams: &mut Diagrams,
) -> Result<Answer> {
    let options = arguments.options();
    let system = &arguments.waiting(system)?;
    let mut observer = ProgressLine::new(label);
    let report = check::check(system, &options, Some(&CANCELLED), &mut observer);
    let agnostic = match report.bounds.last() {
        Some(bound) if arguments.bound_agnostic => {
            let model = Model::new(system, options.semantics);
            let found = check::bound_agnosticity(&model, bound.k, &options, Some(&CANCELLED), &mut observer);
            Some(found.ok().map(|found| found.holds()))
        }
        _ => None,
    };
    observer.finish();
    let drawn = diagrams.draw(&report, system);
    let places = PlaceTable::of(system, protocol);
    Ok(Answer { system: system.clone(), report, agnostic, stable: arguments.stable, drawn, places })
}
