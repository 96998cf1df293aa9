//! Asynchronous compatibility, as `referee check` asks for it and tells of it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use indicatif::HumanCount;
use referee::check::{
    self, BoundReport, InputGround, Model, Options, OutputGround, Premises, Reduction, Report, Semantics,
    Verdict,
};
use referee::draw::{Charset, DrawError};
use referee::theory::System;
use referee::{Content, view};
use serde_json::{Value, json};

use crate::Outcome;
use crate::input::Read;
use crate::output::{BAD, GOOD, SOFT, WARN, styled};

mod network;
mod progress;

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
    /// How many threads may explore; the answer does not depend on it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Give up after this many configurations of one bound.
    #[arg(long, value_name = "N")]
    max_states: Option<usize>,
    /// Give up when one bound needs more memory than this, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    max_memory: usize,
    /// Write the counterexample as a sequence diagram to this file.
    #[arg(long, value_name = "FILE")]
    witness_svg: Option<PathBuf>,
    /// Write the counterexample as a Mermaid sequence diagram to this file.
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

/// Asks about every system that `read` describes: its projections and the monitors of its global protocols, its
/// session type beside its dual, or its machines.
pub(crate) fn of_file(read: &Read, arguments: &CompatibilityArguments) -> Result<Answers> {
    let mut answers = Answers::default();
    let analysis = &read.analysis;
    if !analysis.is_well_formed() {
        return Ok(answers);
    }
    let ask_about =
        |name: Option<&str>, system: &System| ask(system, name.unwrap_or(&read.input.name), arguments);
    match &analysis.document.content {
        Content::Global(_) => {
            for protocol in &analysis.protocols {
                let name = protocol.name.as_deref();
                let local = protocol.local.as_ref().ok().map(|system| ask_about(name, system)).transpose()?;
                let monitors = NetworkAnswer::about(protocol, local.as_ref(), read, arguments)?;
                answers.all.push(About { name: name.map(str::to_owned), local, monitors });
            }
        }
        Content::Binary(binary) => {
            if let Some(session) = &binary.session {
                let machines = [session.machine(), session.dual(binary.environment).machine()];
                let local = ask_about(None, &System::new(binary.vocabulary.clone(), machines))?;
                answers.all.push(About { name: None, local: Some(local), monitors: None });
            }
        }
        Content::System(system) => {
            if let Some(system) = &system.system {
                let local = ask_about(None, system)?;
                answers.all.push(About { name: None, local: Some(local), monitors: None });
            }
        }
        Content::Properties(_) => {}
    }
    Ok(answers)
}

/// What was asked and answered about one system.
#[derive(Clone)]
struct Answer {
    system: System,
    report: Report,
    agnostic: Option<bool>,
    stable: bool,
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

impl CompatibilityArguments {
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
            ..Options::default()
        }
    }

    /// Writes the counterexample of `answer`, if it has one and that was asked for.
    fn write_witness(&self, answer: &Answer) -> Result<()> {
        if let Some(witness) = answer.report.verdict.witness() {
            let chart = view::witness::chart(witness, &answer.system);
            write_diagram(self.witness_svg.as_deref(), || chart.to_svg())?;
            write_diagram(self.witness_mermaid.as_deref(), || chart.to_mermaid())?;
        }
        Ok(())
    }
}

/// Checks `system`; `label` names it in the progress line.
fn ask(system: &System, label: &str, arguments: &CompatibilityArguments) -> Result<Answer> {
    let options = arguments.options();
    let mut observer = ProgressLine::new(label);
    let report = check::check(system, &options, Some(&CANCELLED), &mut observer);
    observer.finish();
    let agnostic = match report.bounds.last() {
        Some(bound) if arguments.bound_agnostic => {
            let model = Model::new(system, options.semantics);
            check::bound_agnosticity(&model, bound.k, options.max_states).ok().map(|found| found.holds())
        }
        _ => None,
    };
    let answer = Answer { system: system.clone(), report, agnostic, stable: arguments.stable };
    arguments.write_witness(&answer)?;
    Ok(answer)
}

fn write_diagram(file: Option<&Path>, text: impl Fn() -> Result<String, DrawError>) -> Result<()> {
    match file {
        Some(file) => {
            std::fs::write(file, text()?).with_context(|| format!("cannot write `{}`", file.display()))
        }
        None => Ok(()),
    }
}

impl Answer {
    fn outcome(&self) -> Outcome {
        match self.report.verdict {
            Verdict::Safe { .. } => Outcome::Holds,
            Verdict::Unsafe { .. } => Outcome::Violated,
            Verdict::Unknown { .. } => Outcome::NoAnswer,
        }
    }

    /// The `compatibility` object of the JSON contract.
    fn to_json(&self) -> Value {
        let report = &self.report;
        let (rests_on, reason) = match &report.verdict {
            Verdict::Safe { premises, .. } => (Some(grounds(premises)), None),
            Verdict::Unsafe { .. } => (None, None),
            Verdict::Unknown { explanation, .. } => (None, Some(explanation)),
        };
        let witness = report.verdict.witness().map(|witness| view::witness::to_json(witness, &self.system));
        json!({
            "csa": report.shape.is_csa(),
            "send_directed": report.shape.is_send_directed(),
            "receive_directed": report.shape.is_receive_directed(),
            "bounds": report.bounds.iter().map(bound_json).collect::<Vec<_>>(),
            "least_k": report.least_k(),
            "verdict": report.verdict.name(),
            "rests_on": rests_on,
            "reason": reason,
            "bound_agnostic": self.agnostic,
            "witness": witness,
        })
    }

    /// What people read.
    fn to_text(&self) -> String {
        let report = &self.report;
        let mut text = String::new();
        match &report.verdict {
            Verdict::Safe { k, premises } => {
                let _ = writeln!(
                    text,
                    "  {} for every channel size: {k}-multiparty compatible\n  {}",
                    styled(GOOD, "safe"),
                    styled(SOFT, format!("by Theorem 5: {}", grounds(premises)))
                );
            }
            Verdict::Unsafe { k, witness, .. } => {
                let _ = writeln!(
                    text,
                    "  {} whatever the channel size (found with channels of {k}): {}\n",
                    styled(BAD, "unsafe"),
                    witness.explanation
                );
            }
            Verdict::Unknown { explanation, .. } => {
                let _ = writeln!(text, "  {}: {explanation}\n", styled(WARN, "unknown"));
            }
        }
        if let Some(witness) = report.verdict.witness()
            && let Ok(chart) = view::witness::chart(witness, &self.system).to_text(Charset::Unicode)
        {
            for line in chart.lines() {
                let _ = writeln!(text, "    {line}");
            }
            text.push('\n');
        }
        for bound in &report.bounds {
            let _ = writeln!(text, "  {}", styled(SOFT, bound_text(bound)));
        }
        if self.stable {
            let stable = report.bounds.last().and_then(|bound| bound.stable);
            let _ = writeln!(text, "  stable within the bound: {}", yes(stable));
        }
        if let Some(agnostic) = self.agnostic {
            let _ = writeln!(
                text,
                "  every role behaves the same with one more message per channel: {}",
                yes(Some(agnostic))
            );
        }
        text
    }
}

fn yes(answer: Option<bool>) -> &'static str {
    match answer {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    }
}

fn grounds(premises: &Premises) -> String {
    let output = match premises.output {
        OutputGround::SendDirected => "send-directed",
        OutputGround::OutputIndependent => "output bound independent",
    };
    let input = match premises.input {
        InputGround::ReceiveDirected => "receive-directed",
        InputGround::StrongInputIndependent => "strongly input bound independent",
        InputGround::ChainedInputIndependent => "chained input bound independent",
    };
    format!("{output}, {input}, exhaustive and safe within the bound")
}

fn bound_json(bound: &BoundReport) -> Value {
    json!({
        "k": bound.k,
        "states": bound.states,
        "transitions": bound.transitions,
        "obi": bound.obi,
        "sibi": bound.sibi,
        "cibi": bound.cibi,
        "exhaustive": bound.exhaustive,
        "safe": bound.safe(),
        "stable": bound.stable,
        "reduction": match bound.reduction {
            Reduction::Sound => "sound",
            Reduction::Paper => "paper",
            Reduction::None => "none",
        },
        "memory": bound.memory,
    })
}

fn bound_text(bound: &BoundReport) -> String {
    let mut text = format!(
        "k = {}: {} configuration{}, {} transition{}",
        bound.k,
        HumanCount(bound.states as u64),
        if bound.states == 1 { "" } else { "s" },
        HumanCount(bound.transitions as u64),
        if bound.transitions == 1 { "" } else { "s" },
    );
    let properties = [
        ("OBI", bound.obi),
        ("SIBI", bound.sibi),
        ("CIBI", bound.cibi.filter(|_| bound.sibi == Some(false))),
        ("exhaustive", bound.exhaustive),
        ("safe", bound.safe()),
    ];
    for (name, holds) in properties {
        if let Some(holds) = holds {
            let _ = write!(text, ", {}{name}", if holds { "" } else { "not " });
        }
    }
    text
}
