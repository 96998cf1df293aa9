//! What `referee_theory`'s properties mean, rule by rule: Definition 3 of FMSD'15 with data, guards and disjunction, and
//! its dual. The table stands in `referee_theory::property::verdict`; nothing of the code there is used here.

use std::collections::HashSet;

use referee_theory::property::{EventView, Formula, FormulaId, Modality, Polarity, Property, Value};

use crate::guard::{Datum, Slots, matches};

/// The event at which `events` first lead to a verdict `polarity`, −1 before any; `initial` are the slots that
/// the property's scope has filled.
#[must_use]
pub fn first_verdict(
    property: &Property,
    polarity: Polarity,
    initial: &[Option<Value>],
    events: &[EventView<'_>],
) -> Option<i64> {
    let known = |(slot, term): (usize, &Option<Value>)| {
        Some((u32::try_from(slot).ok()?, Datum::of(term.as_ref()?.view())?))
    };
    let slots: Slots = initial.iter().enumerate().filter_map(known).collect();
    (0..=events.len())
        .find(|length| {
            let events = &events[..*length];
            Derivation { property, polarity, events, refuted: HashSet::new() }.holds(
                property.root(),
                0,
                &slots,
            )
        })
        .map(|length| i64::try_from(length).unwrap_or(i64::MAX) - 1)
}

struct Derivation<'a> {
    property: &'a Property,
    polarity: Polarity,
    events: &'a [EventView<'a>],
    /// What has been found to have no derivation, so that it is looked for once.
    refuted: HashSet<(FormulaId, usize, String)>,
}

impl Derivation<'_> {
    /// Whether the events from `at` on lead from `node` to the verdict. Recursion is guarded, so this ends.
    fn holds(&mut self, node: FormulaId, at: usize, slots: &Slots) -> bool {
        let key = (node, at, format!("{slots:?}"));
        if self.refuted.contains(&key) {
            return false;
        }
        let violation = self.polarity == Polarity::Violation;
        let holds = match self.property.node(node) {
            Formula::False => violation,
            Formula::True => !violation,
            Formula::And(parts) if violation => parts.iter().any(|part| self.holds(*part, at, slots)),
            Formula::And(parts) => parts.iter().all(|part| self.holds(*part, at, slots)),
            Formula::Or(parts) if violation => parts.iter().all(|part| self.holds(*part, at, slots)),
            Formula::Or(parts) => parts.iter().any(|part| self.holds(*part, at, slots)),
            Formula::Modal { modality, pattern, next } => {
                let decisive = if violation { Modality::Necessity } else { Modality::Possibility };
                let event = self.events.get(at).filter(|_| *modality == decisive);
                let matched = event.and_then(|event| matches(self.property.pattern(*pattern), event, slots));
                matched.is_some_and(|slots| self.holds(*next, at + 1, &slots))
            }
            // Time is the business of `timed`.
            Formula::Timed { .. } => false,
            Formula::Fixpoint { body, .. } => self.holds(*body, at, slots),
            Formula::Call { target } => self.holds(*target, at, slots),
        };
        if !holds {
            self.refuted.insert(key);
        }
        holds
    }
}
