//! What was found out about one system, for people and for programs.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use indicatif::HumanCount;
use referee::Projected;
use referee::check::{
    BoundReport, Ground, Growth, InputGround, OutputGround, Premises, Reason, Reduction, Report, SafeGround,
    Semantics, Stop, Verdict, Witness,
};
use referee::draw::Charset;
use referee::theory::{Origin, System};
use referee::view;
use referee::view::witness::Place;
use serde_json::{Value, json};

use crate::Outcome;
use crate::output::{self, BAD, GOOD, SOFT, WARN, styled};

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
    /// Where the text has what the machines do.
    pub(super) places: Rc<PlaceTable>,
}

/// The places of a document's text by origin.
#[derive(Debug, Default)]
pub(super) struct PlaceTable {
    places: HashMap<Origin, Place>,
}

impl PlaceTable {
    /// The places in the text of `protocol` of everything that the machines of `system` do.
    pub(super) fn of(system: &System, protocol: &Projected) -> Rc<Self> {
        let mut places = HashMap::new();
        for transition in system.machines().iter().flat_map(|machine| machine.all_transitions()) {
            if let Some((start, end)) = protocol.extent(transition.origin) {
                let (line, column) = (start.line, start.column);
                let place = Place { line, column, end_line: end.line, end_column: end.column };
                places.insert(transition.origin, place);
            }
        }
        Rc::new(Self { places })
    }

    fn find(&self, origin: Origin) -> Option<Place> {
        self.places.get(&origin).copied()
    }
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
        let rests_on = match &report.verdict {
            Verdict::Safe { ground, .. } => Some(rests_on(ground)),
            Verdict::Unsafe { ground, .. } => Some(real_by(ground)),
            Verdict::Unknown { .. } => None,
        };
        let places = |origin| self.places.find(origin);
        let to_json = |witness: &Witness| view::witness::to_json(witness, &self.system, &places);
        let witness = report.verdict.witness().map(to_json);
        let witnesses: Vec<Value> = self.witnesses().into_iter().map(to_json).collect();
        json!({
            "csa": report.shape.is_csa(),
            "send_directed": report.shape.is_send_directed(),
            "receive_directed": report.shape.is_receive_directed(),
            "bounds": report.bounds.iter().map(bound_json).collect::<Vec<_>>(),
            "least_k": report.least_k(),
            "verdict": report.verdict.name(),
            "may_wait": self.may_wait(),
            "complete": report.complete.is_some(),
            "largest_queue": report.complete.map(|found| found.largest_queue),
            "limit": report.limit.map(|(stop, _)| limit_name(stop)),
            "rests_on": rests_on,
            "reason": self.reason_json(),
            "bound_agnostic": self.agnostic.flatten(),
            "witness": witness,
            "witnesses": witnesses,
            "drawn": self.drawn,
        })
    }

    /// The roles that may wait for ever somewhere.
    fn may_wait(&self) -> Vec<&str> {
        let machines = self.system.machines().iter().filter(|machine| !machine.accepting_states().is_empty());
        machines.map(|machine| self.system.vocabulary().role_name(machine.role())).collect()
    }

    /// All counterexamples.
    fn witnesses(&self) -> Vec<&Witness> {
        let others: &[Witness] = match &self.report.verdict {
            Verdict::Unsafe { others, .. } => others,
            Verdict::Safe { .. } | Verdict::Unknown { .. } => &[],
        };
        self.report.verdict.witness().into_iter().chain(others).collect()
    }

    /// The counterexample as a diagram, as wide as the terminal at most, or else as a list.
    fn drawing(&self, witness: &Witness) -> String {
        let width = output::width().saturating_sub(4);
        let chart = |footers| {
            let chart = view::witness::chart_with(witness, &self.system, footers);
            let text = chart.to_text(Charset::Unicode).ok()?;
            text.lines().all(|line| line.chars().count() <= width).then_some(text)
        };
        let list = || view::witness::listing(witness, &self.system, &|origin| self.places.find(origin));
        chart(true).or_else(|| chart(false)).unwrap_or_else(list)
    }

    /// Why there is no answer, if there is none.
    fn reason_json(&self) -> Value {
        let Verdict::Unknown { reason, explanation, advice, growth } = &self.report.verdict else {
            return Value::Null;
        };
        let vocabulary = self.system.vocabulary();
        let witness = self.report.verdict.witness();
        let (role, k) = match (reason, witness) {
            (Reason::NotSessionAutomata(defect), _) => (Some(defect.role()), None),
            (Reason::Stopped { k, .. } | Reason::FalseAlarm { k }, _) => (None, Some(*k)),
            (_, Some(witness)) => (witness.role(), Some(witness.bound)),
            _ => (None, None),
        };
        let last = self.report.bounds.last().map(|bound| bound.k);
        let steps = |steps: &[referee::check::Step]| -> Vec<Value> {
            let places = |origin| self.places.find(origin);
            steps.iter().map(|step| view::witness::step_to_json(step, &self.system, &places)).collect()
        };
        let growth_json = |growth: &Growth| {
            json!({
                "from": growth.from.map(|role| vocabulary.role_name(role)),
                "to": vocabulary.role_name(growth.to),
                "approach": steps(&growth.approach),
                "cycle": steps(&growth.cycle),
                "no_bound_suffices": growth.unread,
            })
        };
        json!({
            "code": reason.code(),
            "role": role.map(|role| vocabulary.role_name(role)),
            "k": k.or(last),
            "actions": witness.map_or(Vec::new(), |witness| steps(&witness.failure.actions())),
            "message": explanation,
            "advice": advice,
            "growth": growth.as_deref().map(growth_json),
        })
    }

    /// What people read.
    pub(super) fn to_text(&self) -> String {
        let report = &self.report;
        let mut text = String::new();
        match &report.verdict {
            Verdict::Safe { k, ground: SafeGround::Compatible(premises) } => {
                let _ = writeln!(
                    text,
                    "  {} for every channel size: {k}-multiparty compatible\n  {}",
                    styled(GOOD, "safe"),
                    styled(SOFT, format!("by Theorem 5: {}", grounds(premises)))
                );
            }
            Verdict::Safe { ground: SafeGround::Complete, .. } => {
                let room = report.complete.map_or(0, |found| found.largest_queue);
                let _ = writeln!(
                    text,
                    "  {} for every channel size: everything was explored, and no {} ever holds more than {room} message{}",
                    styled(GOOD, "safe"),
                    if report.semantics == Semantics::Mailbox { "mailbox" } else { "channel" },
                    if room == 1 { "" } else { "s" },
                );
            }
            Verdict::Unsafe { k, witness, others, .. } => {
                let _ = writeln!(
                    text,
                    "  {} whatever the channel size (found with channels of {k}): {}",
                    styled(BAD, "unsafe"),
                    witness.explanation
                );
                if let Some(hint) = view::witness::hint(witness, &self.system) {
                    let _ = writeln!(text, "  {}", styled(WARN, hint));
                }
                for other in others {
                    let kind = other.violation.map_or("", referee::check::Violation::name);
                    let _ = writeln!(text, "  also {kind}: {}", other.explanation);
                }
                text.push('\n');
            }
            Verdict::Unknown { explanation, advice, .. } => {
                let _ =
                    writeln!(text, "  {}: {explanation}\n  what to do: {advice}\n", styled(WARN, "unknown"));
            }
        }
        if let waiting @ [_, ..] = &self.may_wait()[..]
            && matches!(report.verdict, Verdict::Safe { .. })
        {
            let what = format!("where it is fine that {} may wait for ever", waiting.join(" and "));
            let _ = writeln!(text, "  {}", styled(SOFT, what));
        }
        if let Some((stop, k)) = report.limit
            && !matches!(report.verdict, Verdict::Unknown { reason: Reason::Stopped { .. }, .. })
        {
            let what = match limit_name(stop) {
                "states" => "the limit on configurations (--max-states) was reached",
                "memory" => "the limit on memory (--max-memory) was reached",
                "time" => "the limit on time (--max-time) was reached",
                _ => "the check was interrupted",
            };
            let _ = writeln!(
                text,
                "  {}",
                styled(WARN, format!("{what} at k = {k}: not everything was looked at"))
            );
        }
        if let Some(witness) = report.verdict.witness() {
            for line in self.drawing(witness).lines() {
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

/// The limit that ended a search, as scripts see it.
fn limit_name(stop: Stop) -> &'static str {
    match stop {
        Stop::States => "states",
        Stop::Memory => "memory",
        Stop::Cancelled if super::out_of_time() => "time",
        Stop::Cancelled => "interrupted",
    }
}

fn real_by(ground: &Ground) -> String {
    match ground {
        Ground::Premises(premises) => format!("the conditions of Lemma 21: {}", grounds(premises)),
        Ground::NothingBlocked => "no send is blocked in anything that can follow".to_owned(),
        Ground::NothingHelps => "nothing that can follow helps, however much room there is".to_owned(),
    }
}

fn rests_on(ground: &SafeGround) -> String {
    match ground {
        SafeGround::Compatible(premises) => grounds(premises),
        SafeGround::Complete => "complete exploration: no send is blocked within the bound".to_owned(),
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
        "complete": bound.complete,
        "largest_queue": bound.largest_queue,
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
