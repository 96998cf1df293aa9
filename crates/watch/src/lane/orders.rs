//! A window of a session: events that are not ordered among themselves, judged in every order that their times allow. Definitions and laws:
//! `docs/uncertainty.md`.

use std::collections::{BTreeMap, VecDeque};

use bumpalo::Bump;
use referee_monitor::{Policy, Possible, PossibleVerdict, Verdict, Violation};

use super::careful::{Line, finish};
use super::window::Waiting;
use super::{Outcome, explain, uncertain};
use crate::decode::event::What;
use crate::plan::Plan;
use crate::report::{Notice, Place, Report};
use crate::sessions::{Sessions, Status};

/// What the first violations of several orders agree on.
#[derive(Clone, Debug)]
struct Agreement {
    /// The event that is wrong, by its number in the window.
    event: Option<usize>,
    violation: Violation,
    report: Report,
    /// Whether what the report says is true of all.
    is_whole: bool,
}

impl Agreement {
    /// What both agree on.
    fn and(mut self, other: Self) -> Self {
        let (own, other_report) = (&mut self.report, &other.report);
        self.is_whole &= other.is_whole && self.event == other.event && own.sentence == other_report.sentence;
        self.event = self.event.filter(|event| Some(*event) == other.event);
        if own.kind != other_report.kind {
            own.kind = referee_monitor::Kind::Order;
        }
        if own.blame != other_report.blame {
            (own.blame, own.rejection) = (None, None);
        }
        if own.rejection != other_report.rejection {
            own.rejection = None;
        }
        if own.state != other_report.state {
            own.state = None;
        }
        if own.origin != other_report.origin {
            own.origin = referee_theory::Origin::NONE;
        }
        if own.got != other_report.got {
            own.got = None;
        }
        if own.assertion != other_report.assertion || own.values != other_report.values {
            (own.assertion, own.values) = (None, Vec::new());
        }
        for expected in &other_report.expected {
            if !own.expected.contains(expected) {
                own.expected.push(expected.clone());
            }
        }
        self
    }
}

/// Where some orders of a set of events lead.
#[derive(Default)]
struct Reached {
    /// Those without a violation.
    right: Option<Possible>,
    /// Those with one, and what they agree on.
    wrong: Option<(Possible, Agreement)>,
    /// Whether in some order a message would wait for another peer's, or had no verdict.
    is_open: bool,
}

impl Reached {
    fn add_right(&mut self, plan: &Plan, possible: Possible) {
        match &mut self.right {
            Some(known) => known.absorb(&plan.monitor, possible),
            None => self.right = Some(possible),
        }
    }

    fn add_wrong(&mut self, plan: &Plan, possible: Possible, agreement: Agreement) {
        self.wrong = Some(match self.wrong.take() {
            Some((mut known, other)) => {
                known.absorb(&plan.monitor, possible);
                (known, other.and(agreement))
            }
            None => (possible, agreement),
        });
    }
}

/// Judges events that are not ordered among themselves; whether they could be.
pub(super) fn every_order(
    plan: &Plan,
    (events, row): (&[Waiting], u32),
    sessions: &mut Sessions,
    index: u32,
    outcome: &mut Outcome,
) -> bool {
    let Some(entry) = sessions.entry(index) else { return true };
    if entry.status == Status::Evicted {
        outcome.counts.unjudged += events.len() as u64;
        return true;
    }
    let waits = entry.extra.as_deref().is_some_and(|extra| !extra.early.is_empty());
    if waits {
        return false;
    }
    let known = entry.extra.as_deref().and_then(|extra| extra.possible.clone());
    let start = known.unwrap_or_else(|| plan.monitor.known(entry.session.clone()));
    if start.has_claims() {
        return false;
    }
    let mut inputs: Vec<Vec<usize>> = Vec::new();
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let next = inputs.len();
        let input = *numbers.entry(event.input).or_insert(next);
        if input == next {
            inputs.push(Vec::new());
        }
        if let Some(own) = inputs.get_mut(input) {
            own.push(at);
        }
    }
    let key = entry.key.clone();
    let session = entry.session.clone();
    let about =
        explain::About { session: &session, key: &key, events: entry.events, history: &VecDeque::new() };
    let Some(end) = reached(plan, events, &inputs, start, about) else { return false };
    let Some(entry) = sessions.entry(index) else { return true };
    events.iter().for_each(|event| explain::remember(plan, &Line::of(&event.kept, row), entry));
    let possible = match end {
        Reached { right: Some(possible), .. } => possible,
        Reached { is_open: true, .. } => return false,
        Reached { wrong: Some((possible, agreement)), .. } => {
            let consequence = entry.session.is_tainted();
            let _ = Policy::Observe.rule(&mut entry.session, Verdict::Violation(agreement.violation));
            if consequence {
                outcome.counts.consequences += 1;
            } else {
                outcome.counts.violated += 1;
            }
            if !consequence || plan.options.all {
                let mut report = told(agreement, events);
                report.consequence = consequence;
                let history = entry.extra.as_deref().map(|extra| extra.history.iter().cloned().collect());
                report.history = history.unwrap_or_default();
                report.before = entry.events.saturating_sub(report.history.len() as u64);
                outcome.notices.push((row, Notice::Violation(Box::new(report))));
            }
            possible
        }
        Reached { .. } => return false,
    };
    if let Some(entry) = sessions.entry(index) {
        entry.extra.get_or_insert_default().possible = Some(possible);
    }
    uncertain::resolve(sessions, index);
    finish(plan, sessions, index, outcome);
    true
}

/// Where the orders of `events` lead; `None` if there are too many sets of events that can come first.
fn reached(
    plan: &Plan,
    events: &[Waiting],
    inputs: &[Vec<usize>],
    start: Possible,
    about: explain::About<'_>,
) -> Option<Reached> {
    // Of each input and for each number of events taken: before when one of the rest must come.
    let rest = |own: &Vec<usize>| {
        let mut earliest = vec![i64::MAX; own.len() + 1];
        for (place, at) in own.iter().enumerate().rev() {
            let until = events.get(*at).map_or(i64::MAX, |event| event.until);
            earliest[place] = until.min(earliest[place + 1]);
        }
        earliest
    };
    let rests: Vec<Vec<i64>> = inputs.iter().map(rest).collect();
    let first = Reached { right: Some(start), ..Reached::default() };
    let mut level = BTreeMap::from([(vec![0_usize; inputs.len()], first)]);
    for _ in events {
        let mut next: BTreeMap<Vec<usize>, Reached> = BTreeMap::new();
        for (cut, reached) in &level {
            for (input, own) in inputs.iter().enumerate() {
                let Some(event) = own.get(cut[input]).and_then(|at| events.get(*at)) else { continue };
                let precedes = |other: usize| other != input && event.time > rests[other][cut[other]];
                if (0..inputs.len()).any(precedes) {
                    continue;
                }
                let mut after = cut.clone();
                after[input] += 1;
                let number = inputs[input][cut[input]];
                step(plan, (event, number), reached, about, next.entry(after).or_default());
            }
        }
        if next.len() > plan.options.max_orders {
            return None;
        }
        level = next;
    }
    level.into_values().next()
}

/// Takes every order that leads to `reached` on by `event`.
fn step(
    plan: &Plan,
    (event, number): (&Waiting, usize),
    reached: &Reached,
    about: explain::About<'_>,
    next: &mut Reached,
) {
    next.is_open |= reached.is_open;
    let bump = Bump::new();
    event.with_payload(plan, &bump, &mut |payload| {
        let take = |possible: &mut Possible| match event.stepped.what {
            What::End => plan.monitor.end_possible(possible, event.kept.from),
            _ => {
                let label = plan.names.label_id(event.stepped.label);
                plan.monitor.step_possible(possible, event.stepped.channel, label, payload)
            }
        };
        // Each state by itself: the orders that lead to one may be wrong here while those that lead to another are right.
        for before in reached.right.iter().flat_map(Possible::split) {
            let mut possible = before.clone();
            match take(&mut possible) {
                PossibleVerdict::Forward { .. } => next.add_right(plan, possible),
                PossibleVerdict::Violation(violations) => {
                    let line = Line::of(&event.kept, 0);
                    let report = explain::uncertain(plan, &line, about, &before, &violations, false, payload);
                    if let Some(violation) = violations.first().copied() {
                        let event = Some(number);
                        let agreement = Agreement { event, violation, report, is_whole: true };
                        next.add_wrong(plan, possible, agreement);
                    }
                }
                PossibleVerdict::Early | PossibleVerdict::Fault(_) => next.is_open = true,
            }
        }
        if let Some((before, agreement)) = &reached.wrong {
            let mut possible = before.clone();
            match take(&mut possible) {
                PossibleVerdict::Forward { .. } | PossibleVerdict::Violation(_) => {
                    next.add_wrong(plan, possible, agreement.clone());
                }
                PossibleVerdict::Early | PossibleVerdict::Fault(_) => next.is_open = true,
            }
        }
    });
}

/// What is said of `events`, each order of which is wrong.
fn told(agreement: Agreement, events: &[Waiting]) -> Report {
    let Agreement { event, mut report, is_whole, .. } = agreement;
    if event.is_none()
        && let Some(last) = events.last()
    {
        (report.event, report.place) = (last.kept.number, last.kept.place.clone());
        report.time = None;
    }
    if !is_whole {
        let what = report.got.as_ref().map_or("one of them".to_owned(), |label| format!("one `{label}`"));
        let places: Vec<String> = events.iter().map(|event| show(&event.kept.place)).take(SHOWN).collect();
        let more = if events.len() > SHOWN { ", …" } else { "" };
        report.sentence =
            format!("{what} is wrong in every order that the times of {}{more} allow", places.join(", "));
    }
    report
}

/// How many of the events of a window are named.
const SHOWN: usize = 8;

fn show(place: &Place) -> String {
    format!("{}:{}", place.file, place.line)
}
