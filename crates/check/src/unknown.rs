//! Why there is no answer: which condition fails, at which bound, between which actions, and what to change.

use crate::check::Checker;
use crate::csa::Defect;
use crate::examine::Examined;
use crate::explain::messages;
use crate::explore::{Explored, Stop};
use crate::find::Finder;
use crate::graph::Graph;
use crate::growth::{Growth, growth};
use crate::model::Semantics;
use crate::properties::Property;
use crate::verdict::{Premises, Reason, Verdict};
use crate::witness::{Failure, Witness};

/// What to do where the bound may be the cause.
const LARGER_K: &str = "a larger k may show whether it is";

/// What to do where a condition fails although no race was seen.
const UNSEEN_RACE: &str = "this may be safe all the same, for the condition is not a necessary one; a state that \
                           receives from one peer only always meets it";

impl Checker<'_> {
    /// The verdict when no bound decided: `finder` has the graph of the last one, `k`.
    pub(crate) fn unknown(
        &self,
        k: u32,
        finder: &Finder<'_>,
        premises: Result<Premises, Option<Property>>,
    ) -> Verdict {
        let small = finder.graph.states() as usize <= self.options.witness_states;
        let mut growth = if finder.full && small && self.model.faults.is_none() {
            growth(finder.graph).map(Box::new)
        } else {
            None
        };
        // Where Theorem 5 cannot apply only a bound that leaves room for everything shows safety.
        if let Some(found) = &mut growth {
            found.no_bound_suffices |= !self.is_plain() || self.race.is_some();
        }
        let (reason, why, advice) = self.why(k, finder, premises);
        let advice = match growth.as_deref() {
            Some(Growth { unread: true, .. }) => {
                "let the receiver read, or let the sender wait for its answer now and then".to_owned()
            }
            Some(Growth { no_bound_suffices: true, .. }) => match &reason {
                Reason::NotSessionAutomata(defect) => without_larger_k(defect).to_owned(),
                Reason::Mailbox | Reason::Bound(_) => {
                    "let the sender wait for an answer of the receiver now and then: no larger k can show that it is safe"
                        .to_owned()
                }
                _ => advice,
            },
            // The condition is asked of the reduced graph, where it may hold at a larger k.
            Some(_) if matches!(&reason, Reason::Premise(w) if w.property == Property::OutputIndependence) => {
                "let the sender wait for an answer of the receiver now and then, or choose between messages to one peer instead of \
                 several; a larger k may help all the same, for the theorem does not ask for room for all of it"
                    .to_owned()
            }
            Some(_) if matches!(&reason, Reason::Premise(w) if w.property == Property::Exhaustivity) => {
                "let the sender wait for an answer of the receiver now and then; a larger k helps only if with so much room every \
                 send can be made in the end"
                    .to_owned()
            }
            _ => advice,
        };
        let no_bound = growth.as_deref().is_some_and(|found| found.no_bound_suffices);
        let (reason, explanation, advice) = match self.limit {
            Some((stop, k)) if no_bound => limited(stop, k, (reason, why), advice),
            Some((stop, k)) if self.race.is_some() => {
                let more = if stop == Stop::Cancelled { "let it run longer" } else { "raise the limit" };
                limited(stop, k, (reason, why), format!("{advice}; or {more}"))
            }
            Some((stop, k)) => limited(stop, k, (reason, why), limit(stop, k).1.to_owned()),
            None => (reason, why, advice),
        };
        let explanation = match &growth {
            Some(found) => format!("{explanation}. {}", found.explanation),
            None => explanation,
        };
        Verdict::Unknown { reason, explanation, advice, growth }
    }

    fn why(
        &self,
        k: u32,
        finder: &Finder<'_>,
        premises: Result<Premises, Option<Property>>,
    ) -> (Reason, String, String) {
        let semantics = self.options.semantics;
        let no_theorem = self.no_theorem();
        if (no_theorem.is_some() || self.model.faults.is_some())
            && let Some(witness) = finder.any_violation()
        {
            let mut text = within_bound(&witness, semantics);
            if let Some((_, why, _)) = &no_theorem {
                text = format!("{text}. Beyond that bound nothing is known: {why}");
            }
            return (Reason::Bound(Box::new(witness)), text, LARGER_K.to_owned());
        }
        if let Some((reason, why, advice)) = no_theorem {
            // Even where this bound has a violation of which no execution is told, none is shown for every bound.
            let found = if finder.answers.is_safe() { "was found" } else { "was shown for every bound" };
            let room = room(k, semantics);
            let text = format!("{why}; with {room} no violation {found}, but some sends find no room");
            return (reason, text, advice);
        }
        if let Some(race) = &self.race {
            let text = explained(race) + ". No larger k can change that";
            return (Reason::Premise(Box::new(race.clone())), text, advice_on(race.property).to_owned());
        }
        let paper = |what: String| {
            (Reason::FalseAlarm { k }, what, "use the sound reduction, which is the default".to_owned())
        };
        let Err(property) = premises else {
            return match finder.any_violation() {
                Some(witness) => {
                    let text = within_bound(&witness, semantics);
                    (Reason::Bound(Box::new(witness)), text, LARGER_K.to_owned())
                }
                None => paper(format!(
                    "at k = {k} Algorithm 1 as printed ignores a pending action and reports a violation that \
                     the unreduced system does not have"
                )),
            };
        };
        let property = property.unwrap_or(Property::Exhaustivity);
        let Some(witness) = finder.violation(property) else {
            let name = property.name();
            return paper(format!("at k = {k} the graph of Algorithm 1 does not tell of {name}"));
        };
        let advice = match witness.failure {
            Failure::Race { together: false, .. } => UNSEEN_RACE,
            _ => advice_on(property),
        };
        let (text, advice) = (explained(&witness), advice.to_owned());
        if property == Property::StrongInputIndependence {
            return (Reason::ChainTooLong(Box::new(witness)), text, advice);
        }
        (Reason::Premise(Box::new(witness)), text, advice)
    }

    /// Why no theorem lifts what holds within a bound, whatever the bound, and what to do then.
    fn no_theorem(&self) -> Option<(Reason, String, String)> {
        if self.options.semantics == Semantics::Mailbox {
            return Some((
                Reason::Mailbox,
                "with mailboxes no theorem says more than was explored".to_owned(),
                "a larger k may leave room for every send, which would be an answer".to_owned(),
            ));
        }
        let defect = self.shape.defects.first()?;
        let (why, advice) = self.defect(defect);
        Some((Reason::NotSessionAutomata(*defect), why, advice))
    }

    fn defect(&self, defect: &Defect) -> (String, String) {
        let system = self.model.system();
        let vocabulary = system.vocabulary();
        let role = vocabulary.role_name(defect.role());
        let state = system.machine(defect.role()).state_name(defect.state());
        match defect {
            Defect::Mixed { send, receive, .. } => (
                format!(
                    "the theorems do not apply, because state `{state}` of `{role}` mixes sending `{}` to \
                     `{}` and receiving `{}` \
                     from `{}`",
                    vocabulary.shown_label(send.message),
                    vocabulary.role_name(send.peer),
                    vocabulary.shown_label(receive.message),
                    vocabulary.role_name(receive.peer),
                ),
                format!("{}, or try a larger k", without_larger_k(defect)),
            ),
            Defect::Nondeterministic { transitions: [first, _], .. } => (
                format!(
                    "the theorems do not apply, because state `{state}` of `{role}` has two transitions for \
                     `{}{}{}`",
                    vocabulary.role_name(first.peer),
                    first.action.symbol(),
                    vocabulary.shown_label(first.message),
                ),
                format!("{}, or try a larger k", without_larger_k(defect)),
            ),
        }
    }
}

/// What to do about `defect` in the protocol.
fn without_larger_k(defect: &Defect) -> &'static str {
    match defect {
        Defect::Mixed { .. } => "let one of them go first",
        Defect::Nondeterministic { .. } => "use different labels, or choose after it",
    }
}

fn advice_on(property: Property) -> &'static str {
    match property {
        Property::OutputIndependence => {
            "a larger k may help, or a choice between messages to one peer instead of several"
        }
        Property::Exhaustivity => "a larger k may help, unless that channel is never emptied",
        _ => {
            "what is received first must not depend on speed: receive from one peer at a time, or let one peer \
             decide and tell the others"
        }
    }
}

/// The verdict of an exploration that was ended.
pub(crate) fn stopped(k: u32, examined: &Examined<'_>) -> Verdict {
    in_part(k, examined.stopped, &examined.graph)
}

/// As [`stopped`], where nothing was asked yet.
pub(crate) fn explored_in_part(k: u32, explored: &Explored<'_>) -> Verdict {
    in_part(k, explored.stopped, &explored.graph)
}

/// The verdict where `witness` is a loop in which a role stands before a full channel for ever.
pub(crate) fn only_within(witness: Witness, semantics: Semantics) -> Verdict {
    let text = within_bound(&witness, semantics);
    unknown(Reason::Bound(Box::new(witness)), text, LARGER_K)
}

fn in_part(k: u32, stop: Option<Stop>, graph: &Graph<'_>) -> Verdict {
    ended(k, stop.unwrap_or(Stop::Cancelled), graph.states() as usize, graph.transitions())
}

/// The verdict where `stop` ended the exploration of the bound `k` after so many configurations and transitions.
pub(crate) fn ended(k: u32, stop: Stop, states: usize, transitions: usize) -> Verdict {
    let (why, advice) = limit(stop, k);
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let (configurations, steps) = (plural(states), plural(transitions));
    let text = format!(
        "{why} at k = {k} after {states} configuration{configurations} and {transitions} transition{steps}"
    );
    unknown(Reason::Stopped { stop, k }, text, advice)
}

/// A limit ended the exploration at `k` that would have told more. A violation within a bound is still told.
fn limited(stop: Stop, k: u32, (reason, why): (Reason, String), advice: String) -> (Reason, String, String) {
    let (limit, _) = limit(stop, k);
    let (reason, text) = match reason {
        Reason::Bound(_) => {
            (reason, format!("{why}; {limit} at k = {k}, so that not everything was looked at"))
        }
        _ => {
            let (first, rest) = why.split_at(why.chars().next().map_or(0, char::len_utf8));
            let why = first.to_uppercase() + rest;
            (
                Reason::Stopped { stop, k },
                format!("{limit} at k = {k} before everything was looked at. {why}"),
            )
        }
    };
    (reason, text, advice)
}

/// The verdict of an exploration that was ended at `k`, where that of the bound `safe` was not.
pub(crate) fn stopped_after(stop: Stop, k: u32, safe: u32) -> Verdict {
    let (why, advice) = limit(stop, k);
    let text = format!(
        "{why} at k = {k} before everything was looked at. With {} it is safe",
        room(safe, Semantics::PeerToPeer)
    );
    unknown(Reason::Stopped { stop, k }, text, advice)
}

/// Which limit was reached at `k`, and what to do about it.
fn limit(stop: Stop, k: u32) -> (&'static str, &'static str) {
    match (stop, k) {
        (Stop::States, 1) => ("the limit on configurations was reached", "raise it"),
        (Stop::States, _) => ("the limit on configurations was reached", "raise it, or lower the bound"),
        (Stop::Memory, 1) => ("the limit on memory was reached", "raise it"),
        (Stop::Memory, _) => ("the limit on memory was reached", "raise it, or lower the bound"),
        (Stop::Cancelled, 1) => ("the check was interrupted", "let it run longer"),
        (Stop::Cancelled, _) => ("the check was interrupted", "let it run longer, or lower the bound"),
    }
}

pub(crate) fn unknown(reason: Reason, explanation: impl Into<String>, advice: impl Into<String>) -> Verdict {
    Verdict::Unknown { reason, explanation: explanation.into(), advice: advice.into(), growth: None }
}

/// "4 messages per mailbox".
fn room(k: u32, semantics: Semantics) -> String {
    let queue = if semantics == Semantics::Mailbox { "mailbox" } else { "channel" };
    format!("{} per {queue}", messages(k))
}

/// A violation of which it is not known that every bound has it.
fn within_bound(witness: &Witness, semantics: Semantics) -> String {
    format!(
        "a violation was found with room for {} (it may be due to the bound alone): {}",
        room(witness.bound, semantics),
        witness.explanation
    )
}

fn explained(witness: &Witness) -> String {
    format!("with {} per channel {}", messages(witness.bound), witness.explanation)
}
