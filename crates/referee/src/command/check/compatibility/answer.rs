//! What was found out about one system, for people. For programs: `json.rs`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;

use indicatif::HumanCount;
use referee::Projected;
use referee::check::{
    BoundReport, Edit, Faults, Ground, InputGround, OutputGround, Premises, Reason, Report, SafeGround,
    Semantics, Stop, Verdict, Witness,
};
use referee::draw::Charset;
use referee::theory::{Origin, System};
use referee::view;
use referee::view::execution::Run;
use referee::view::witness::Place;

use super::family::Member;
use super::question::Asked;
use super::substitute::Substituted;
use super::{faults, substitute};
use crate::Outcome;
use crate::output::{self, BAD, GOOD, SOFT, WARN, styled};

/// What was asked and answered about one system.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) system: System,
    pub(super) report: Report,
    /// `None` unless it was asked for; then `None` if it is not known.
    pub(super) agnostic: Option<Option<bool>>,
    /// Whether to say what the answer rests on.
    pub(super) explain: bool,
    /// Whether choices are assumed to be fair.
    pub(super) fair: bool,
    /// Whether stability was asked for.
    pub(super) stable: bool,
    /// The files its counterexample was drawn in.
    pub(super) drawn: Vec<String>,
    /// Where the text has what the machines do.
    pub(super) places: Rc<PlaceTable>,
    /// What may go wrong, if something may.
    pub(super) faults: Option<Faults>,
    /// The components in the places of roles.
    pub(super) with: Vec<Substituted>,
    /// With which number of copies of a role (`--instances`) it is what.
    pub(super) family: Vec<Member>,
    /// The roles that may have several copies, of which one was looked at.
    pub(super) copied: Vec<String>,
    /// The messages that may interrupt calls, which no machine has.
    pub(super) interruptions: Vec<String>,
    /// Whether calls run beside what was explored: what its channels hold is not all they hold.
    pub(super) has_calls: bool,
    /// Single edits that make it safe, if they were asked for.
    pub(super) fixes: Vec<Edit>,
    /// What is said of properties of one's own.
    pub(super) properties: Vec<Asked>,
}

/// The places of a document's text by origin.
#[derive(Debug, Default)]
pub(super) struct PlaceTable {
    places: HashMap<Origin, Place>,
}

impl PlaceTable {
    /// The places of everything that the machines of `system` do, in the text of `protocol` and in those of the components
    /// in its roles' places.
    pub(super) fn of(system: &System, protocol: &Projected, with: &[Substituted]) -> Rc<Self> {
        let transitions = system.machines().iter().flat_map(|machine| machine.all_transitions());
        let own =
            transitions.map(|transition| transition.origin).filter(|origin| substitute::is_own(*origin));
        let extents = protocol.extents(own).into_iter();
        let places = extents.map(|(origin, extent)| (origin, Place::new(&extent)));
        let others = with.iter().flat_map(|component| component.places.iter().cloned());
        Rc::new(Self { places: places.chain(others).collect() })
    }

    pub(super) fn find(&self, origin: Origin) -> Option<Place> {
        self.places.get(&origin).cloned()
    }
}

impl Answer {
    pub(super) fn outcome(&self) -> Outcome {
        let compatible = match self.report.verdict {
            Verdict::Safe { .. } => Outcome::Holds,
            Verdict::Unsafe { .. } => Outcome::Violated,
            Verdict::Unknown { .. } => Outcome::NoAnswer,
        };
        self.properties.iter().map(Asked::outcome).fold(compatible, Outcome::and)
    }

    /// The roles that may wait for ever somewhere.
    pub(super) fn may_wait(&self) -> Vec<&str> {
        let machines = self.system.machines().iter().filter(|machine| !machine.accepting_states().is_empty());
        machines.map(|machine| self.system.vocabulary().role_name(machine.role())).collect()
    }

    /// All counterexamples.
    pub(super) fn witnesses(&self) -> Vec<&Witness> {
        let others: &[Witness] = match &self.report.verdict {
            Verdict::Unsafe { others, .. } => others,
            Verdict::Safe { .. } | Verdict::Unknown { .. } => &[],
        };
        self.report.verdict.witness().into_iter().chain(others).collect()
    }

    /// An execution as a diagram, as wide as the terminal at most, or else as a list. Where the diagram's last row would be too wide, its
    /// lines say where roles are.
    pub(super) fn drawing(&self, run: &Run<'_>) -> String {
        let width = output::width().saturating_sub(4);
        let chart = |run: &Run<'_>, footers| {
            let text = run.chart(footers).to_text(Charset::Unicode).ok()?;
            text.lines().all(|line| line.chars().count() <= width).then_some(text)
        };
        let list = || run.listing(&|origin| self.places.find(origin));
        // What the note says is said above the diagram, too.
        let bare = || chart(&run.clone().without_note(), false);
        chart(run, true).unwrap_or_else(|| {
            let mut text = chart(run, false).or_else(bare).unwrap_or_else(list);
            text += "at the end\n";
            run.standings().iter().for_each(|standing| text += &format!("  {standing}\n"));
            text
        })
    }

    /// What people read: the answer first, in words that need no theory.
    pub(super) fn to_text(&self) -> String {
        let report = &self.report;
        let mut text = self.failed_text() + &self.verdict_text();
        if let waiting @ [_, ..] = &self.may_wait()[..]
            && matches!(report.verdict, Verdict::Safe { .. })
        {
            let who = match waiting {
                [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
                all => all.concat(),
            };
            let what = format!("where it is fine that {who} may wait for ever");
            let _ = writeln!(text, "  {}", styled(SOFT, what));
        }
        if !self.fair && matches!(report.verdict, Verdict::Safe { .. }) {
            let _ = writeln!(text, "  {}", styled(SOFT, "also without fairness of choices"));
        }
        text += &self.left_out_text();
        self.family.iter().for_each(|member| text += &member.text());
        if !self.family.is_empty() {
            text += "  this is no proof for other numbers of copies\n";
        }
        for role in &self.copied {
            let what = format!("with one copy of `{role}`; --instances {role}=1..6 checks more");
            let _ = writeln!(text, "  {}", styled(SOFT, what));
        }
        let is_safe = matches!(report.verdict, Verdict::Safe { .. });
        self.with.iter().for_each(|component| text += &component.text(is_safe));
        if let Some(faults) = &self.faults {
            let _ = writeln!(text, "  with {}", faults::text(faults, self.system.vocabulary()));
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
            text.push('\n');
            for line in self.drawing(&Run::of_witness(witness, &self.system)).lines() {
                let _ = writeln!(text, "    {line}");
            }
            text.push('\n');
        }
        for edit in &self.fixes {
            let place = self.places.find(edit.origin(&self.system)).map(|place| format!(" ({place})"));
            let what =
                format!("it would be safe to {}{}", edit.text(&self.system), place.unwrap_or_default());
            let _ = writeln!(text, "  {}", styled(WARN, what));
        }
        text += &self.properties_text();
        for file in &self.drawn {
            let _ = writeln!(text, "  {}", styled(SOFT, format!("drawn in {file}")));
        }
        if self.explain {
            text += &self.theory_text();
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

    /// What the protocol has and the answer is not about.
    fn left_out_text(&self) -> String {
        let mut text = String::new();
        if self.system.vocabulary().is_timed() {
            let what =
                "times (`within`, `after`) are not looked at: the answer is for the protocol without them";
            let _ = writeln!(text, "  {}", styled(SOFT, what));
        }
        if !self.interruptions.is_empty() {
            let what = format!(
                "interruptions ({}) are not looked at: the answer is for calls that nobody interrupts",
                self.interruptions.join(", ")
            );
            let _ = writeln!(text, "  {}", styled(SOFT, what));
        }
        text
    }

    /// The answer, and what to do about it.
    fn verdict_text(&self) -> String {
        const SAFE: &str = "nobody gets stuck, and every message is received";
        let report = &self.report;
        let queue = if report.semantics == Semantics::Mailbox { "mailbox" } else { "channel" };
        let count = |count: u32| format!("{count} message{}", if count == 1 { "" } else { "s" });
        match &report.verdict {
            Verdict::Safe { ground: SafeGround::Compatible(_) | SafeGround::Blocks, .. } => {
                format!("  {}: {SAFE}, however many wait in a channel\n", styled(GOOD, "safe"))
            }
            Verdict::Safe { ground: SafeGround::Complete, .. } if self.has_calls => {
                format!("  {}: {SAFE}\n", styled(GOOD, "safe"))
            }
            Verdict::Safe { ground: SafeGround::Complete, .. } => {
                let room = count(report.complete.map_or(0, |found| found.largest_queue));
                format!("  {}: {SAFE}; no {queue} ever holds more than {room}\n", styled(GOOD, "safe"))
            }
            Verdict::Safe { k, ground: SafeGround::Bounded } => format!(
                "  {} with room for {} per {queue}: {SAFE}; nothing is said of more room\n",
                styled(GOOD, "safe"),
                count(*k)
            ),
            Verdict::Unsafe { witness, others, .. } => {
                let mut text = format!("  {}: {}\n", styled(BAD, "unsafe"), witness.explanation);
                if let Some(hint) = view::witness::hint(witness, &self.system) {
                    let _ = writeln!(text, "  {}", styled(WARN, hint));
                }
                for other in others {
                    let kind = other.violation.map_or("", referee::check::Violation::name);
                    let _ = writeln!(text, "  also {kind}: {}", other.explanation);
                }
                text
            }
            Verdict::Unknown { explanation, advice, .. } => {
                format!("  {}: {explanation}\n  what to do: {advice}\n", styled(WARN, "unknown"))
            }
        }
    }

    /// What the answer rests on, for those who asked (`--explain`).
    fn theory_text(&self) -> String {
        let report = &self.report;
        let why = match &report.verdict {
            Verdict::Safe { k, ground: SafeGround::Compatible(premises) } => {
                format!(
                    "{k}-multiparty compatible (CAV'19, Theorem 5): {}",
                    rests_on(&SafeGround::Compatible(*premises))
                )
            }
            Verdict::Safe { ground, .. } => rests_on(ground),
            Verdict::Unsafe { k, ground, .. } => {
                format!("found with room for {k}, and so whatever the room: {}", real_by(ground))
            }
            Verdict::Unknown { reason, .. } => {
                let condition = report.verdict.witness().map(|witness| witness.property.name());
                let condition = condition.map(|name| format!(": {name} does not hold"));
                format!("reason `{}`{}", reason.code(), condition.unwrap_or_default())
            }
        };
        let bounds = report.bounds.iter().map(bound_text);
        let words = format!("what these words mean: `referee explain k`, `{}`", self.words().join("`, `"));
        let lines = std::iter::once(why).chain(bounds).chain([words]);
        lines.fold(String::new(), |text, line| text + "  " + &styled(SOFT, line) + "\n")
    }

    /// The words that the answer uses and `referee explain` knows, but for `k`.
    fn words(&self) -> Vec<&'static str> {
        let report = &self.report;
        let mut words = match report.bounds.iter().any(|bound| bound.obi.is_some()) {
            true => vec!["OBI", "SIBI", "CIBI", "exhaustive"],
            false => Vec::new(),
        };
        let ground = match &report.verdict {
            Verdict::Safe { ground: SafeGround::Complete, .. } => Some("complete"),
            Verdict::Safe { .. } => None,
            Verdict::Unsafe { ground, .. } => Some(ground.name()),
            Verdict::Unknown { reason, .. } => Some(reason.code()),
        };
        words.extend(ground.filter(|word| !words.iter().any(|known| known.eq_ignore_ascii_case(word))));
        words.extend(self.faults.is_some().then_some("faults"));
        words.extend((!self.fair).then_some("fairness"));
        words
    }
}

/// The limit that ended a search, as scripts see it.
pub(super) fn limit_name(stop: Stop) -> &'static str {
    match stop {
        Stop::States => "states",
        Stop::Memory => "memory",
        Stop::Cancelled if super::out_of_time() => "time",
        Stop::Cancelled => "interrupted",
    }
}

pub(super) fn real_by(ground: &Ground) -> String {
    match ground {
        Ground::Premises(premises) => {
            format!("the conditions of Lemma 21: {} and exhaustive within the bound", grounds(premises))
        }
        Ground::NothingBlocked => "no send is blocked in anything that can follow".to_owned(),
        Ground::NothingHelps => "nothing that can follow helps, however much room there is".to_owned(),
        Ground::Repeated => "the loop at its end makes a move of everybody who can ever send".to_owned(),
    }
}

pub(super) fn rests_on(ground: &SafeGround) -> String {
    match ground {
        SafeGround::Compatible(premises) => {
            format!("{}, exhaustive and safe within the bound", grounds(premises))
        }
        SafeGround::Blocks => {
            "of two roles, each block of a `par` is safe, by itself and in its place".to_owned()
        }
        SafeGround::Complete => "complete exploration: no send is blocked within the bound".to_owned(),
        SafeGround::Bounded => "exploration within the bound, of which alone it is said".to_owned(),
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
    format!("{output}, {input}")
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
    if let Some(representatives) = bound.representatives {
        text += &format!(" ({} up to symmetry)", HumanCount(representatives as u64));
    }
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
