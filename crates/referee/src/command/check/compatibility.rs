//! Asynchronous compatibility, as `referee check` asks for it and tells of it.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use referee::check::{
    self, BoundReport, InputGround, Model, Observer, Options, OutputGround, Premises, Progress, Reduction,
    Report, Semantics, Verdict,
};
use referee::draw::Charset;
use referee::theory::System;
use referee::{Content, view};
use serde_json::{Value, json};

use crate::Outcome;
use crate::input::Read;
use crate::output::{BAD, GOOD, SOFT, WARN, styled};

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
    /// How many threads may explore.
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
}

#[derive(Clone, Copy, ValueEnum)]
enum ReductionName {
    Sound,
    Paper,
    None,
}

/// The answers about all systems of a file.
pub(crate) struct Answers {
    /// By the name of the protocol, where it has one.
    all: Vec<(Option<String>, Answer)>,
}

impl Answers {
    /// What all answers come to.
    pub(crate) fn outcome(&self) -> Outcome {
        self.all.iter().fold(Outcome::Holds, |outcome, (_, answer)| outcome.and(answer.outcome()))
    }

    fn about(&self, name: Option<&str>) -> Option<&Answer> {
        self.all.iter().find(|(known, _)| known.as_deref() == name).map(|(_, answer)| answer)
    }

    /// What the answer about the protocol called `name` comes to.
    pub(crate) fn outcome_of(&self, name: Option<&str>) -> Outcome {
        self.about(name).map_or(Outcome::Holds, Answer::outcome)
    }

    /// What people read about the protocol called `name`.
    pub(crate) fn text(&self, name: Option<&str>) -> String {
        self.about(name).map(Answer::to_text).unwrap_or_default()
    }

    /// The `compatibility` object for the protocol called `name`; null where nothing was asked.
    pub(crate) fn json(&self, name: Option<&str>) -> Value {
        self.about(name).map_or(Value::Null, Answer::to_json)
    }
}

/// Asks about every system that `read` describes: its projections, its session type beside its dual, or
/// its machines.
pub(crate) fn of_file(read: &Read, arguments: &CompatibilityArguments) -> Result<Answers> {
    let mut all = Vec::new();
    let analysis = &read.analysis;
    if !analysis.is_well_formed() {
        return Ok(Answers { all });
    }
    let mut ask_about = |name: Option<&str>, system: &System| -> Result<()> {
        let label = name.unwrap_or(&read.input.name);
        all.push((name.map(str::to_owned), ask(system, label, arguments)?));
        Ok(())
    };
    match &analysis.document.content {
        Content::Global(_) => {
            for protocol in &analysis.protocols {
                if let Ok(system) = &protocol.local {
                    ask_about(protocol.name.as_deref(), system)?;
                }
            }
        }
        Content::Binary(binary) => {
            if let Some(session) = &binary.session {
                let machines = [session.machine(), session.dual(binary.environment).machine()];
                ask_about(None, &System::new(binary.vocabulary.clone(), machines))?;
            }
        }
        Content::System(local) => {
            if let Some(system) = &local.system {
                ask_about(None, system)?;
            }
        }
        Content::Properties(_) => {}
    }
    Ok(Answers { all })
}

/// What was asked and answered about one system.
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

/// Checks `system`; `label` names it in the progress line.
fn ask(system: &System, label: &str, arguments: &CompatibilityArguments) -> Result<Answer> {
    let semantics = if arguments.mailbox { Semantics::Mailbox } else { Semantics::PeerToPeer };
    let reduction = match arguments.reduction {
        _ if arguments.stable => Reduction::None,
        ReductionName::Sound => Reduction::Sound,
        ReductionName::Paper => Reduction::Paper,
        ReductionName::None => Reduction::None,
    };
    let options = Options {
        min_k: arguments.k.unwrap_or(1),
        max_k: arguments.k.unwrap_or(arguments.max_k),
        reduction,
        semantics,
        max_states: arguments.max_states.unwrap_or(usize::MAX),
        max_memory: arguments.max_memory.saturating_mul(1 << 20),
        threads: arguments.threads.into(),
        stable: arguments.stable,
        ..Options::default()
    };
    let mut observer = ProgressLine::new(label);
    let report = check::check(system, &options, Some(&CANCELLED), &mut observer);
    observer.finish();
    let agnostic = match report.bounds.last() {
        Some(bound) if arguments.bound_agnostic => {
            let model = Model::new(system, semantics);
            check::bound_agnosticity(&model, bound.k, options.max_states).ok().map(|found| found.holds())
        }
        _ => None,
    };
    let answer = Answer { system: system.clone(), report, agnostic, stable: arguments.stable };
    if let (Some(file), Some(witness)) = (&arguments.witness_svg, answer.report.verdict.witness()) {
        let svg = view::witness::chart(witness, system).to_svg()?;
        std::fs::write(file, svg).with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    Ok(answer)
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
        "k = {}: {} configurations, {} transitions",
        bound.k,
        HumanCount(bound.states as u64),
        HumanCount(bound.transitions as u64)
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

/// A line on the terminal once the check takes longer than a second.
struct ProgressLine {
    bar: Option<ProgressBar>,
    label: String,
    started: Instant,
}

impl ProgressLine {
    fn new(label: &str) -> Self {
        Self { bar: None, label: label.to_owned(), started: Instant::now() }
    }

    fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for ProgressLine {
    fn progress(&mut self, progress: Progress) {
        let elapsed = self.started.elapsed();
        if elapsed < Duration::from_secs(1) || !std::io::stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{spinner} {msg}").ok();
            let bar = ProgressBar::new_spinner();
            if let Some(style) = style {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let rate = progress.states as f64 / elapsed.as_secs_f64();
        bar.set_message(format!(
            "{}: k = {}, {} configurations, {} transitions, {}/s, {}",
            self.label,
            progress.bound,
            HumanCount(progress.states as u64),
            HumanCount(progress.transitions as u64),
            HumanCount(rate as u64),
            HumanBytes(progress.memory as u64),
        ));
    }
}
