//! What was found out about one system, for people and for programs.

use std::fmt::Write as _;

use indicatif::HumanCount;
use referee::check::{BoundReport, InputGround, OutputGround, Premises, Reduction, Report, Verdict};
use referee::draw::Charset;
use referee::theory::System;
use referee::view;
use serde_json::{Value, json};

use crate::Outcome;
use crate::output::{BAD, GOOD, SOFT, WARN, styled};

/// What was asked and answered about one system.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) system: System,
    pub(super) report: Report,
    /// `None` unless it was asked for; then `None` if it is not known.
    pub(super) agnostic: Option<Option<bool>>,
    /// Whether stability was asked for.
    pub(super) stable: bool,
    /// The files its counterexample was drawn in.
    pub(super) drawn: Vec<String>,
}

impl Answer {
    pub(super) fn outcome(&self) -> Outcome {
        match self.report.verdict {
            Verdict::Safe { .. } => Outcome::Holds,
            Verdict::Unsafe { .. } => Outcome::Violated,
            Verdict::Unknown { .. } => Outcome::NoAnswer,
        }
    }

    /// The `compatibility` object of the JSON contract.
    pub(super) fn to_json(&self) -> Value {
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
            "bound_agnostic": self.agnostic.flatten(),
            "witness": witness,
            "drawn": self.drawn,
        })
    }

    /// What people read.
    pub(super) fn to_text(&self) -> String {
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
            for file in &self.drawn {
                let _ = writeln!(text, "  {}", styled(SOFT, format!("drawn in {file}")));
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
                yes(agnostic)
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
