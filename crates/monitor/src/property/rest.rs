//! Events that change nothing: where an instance of a property that speaks of time is at rest, an event that no pattern asks for by name passes
//! without a step.
//!
//! It is at rest if everything that waits for the next event waits for it in the loop that the property begins with, which every event passes, and all else waits for a time.
//! Then an event that matches none of the patterns but `_` leaves it as it is; how many there were is told with the next that does not.

use std::sync::Arc;

use referee_theory::property::{Key, Term};

use super::matcher::{Demand, Matcher};
use super::program::{Program, is_over};
use super::timed::Timed;

/// Which events change nothing at rest: all whose member `key` is no text, or is another text than these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indifference {
    /// A member of the line.
    pub key: Key,
    /// The values that patterns ask for.
    pub texts: Box<[Arc<str>]>,
    /// Whether that member decides all patterns, so that its place among the texts is all that a step has to know of an event: see
    /// [`PropertyFamily::step_letter`](super::PropertyFamily::step_letter).
    pub decides: bool,
}

impl Program {
    /// Which events change nothing at rest, if they can be told by one member.
    pub(crate) fn indifference(&self) -> Option<Indifference> {
        // A window over a number of events takes part in each.
        let windows = self.windows.iter().map(|window| window.by_time());
        let windows: Vec<&Matcher> = windows.collect::<Option<_>>()?;
        let asking = self.matchers.iter().filter(|matcher| !matcher.is_any());
        let matchers: Vec<&Matcher> = asking.chain(windows).collect();
        let first = matchers.first()?;
        let key = first.demands.iter().find_map(|(access, _)| access.member())?;
        let mut texts: Vec<Arc<str>> = Vec::new();
        for matcher in &matchers {
            let demand = matcher.demands.iter().find(|(access, _)| access.member() == Some(key));
            let Some((_, Demand::Constant(constant))) = demand else { return None };
            let Term::Text(text) = constant.view() else { return None };
            if !texts.iter().any(|known| **known == *text) {
                texts.push(text.into());
            }
        }
        Some(Indifference { key: key.clone(), texts: texts.into(), decides: self.letters.is_some() })
    }

    /// What waits at the start, if that is a loop that every event passes: mostly there is no other.
    pub(crate) fn first_loop(&self) -> Option<u64> {
        let mut bits = self.start.iter().map(|clause| self.fixed(clause));
        let fixed = bits.try_fold(0, |all, bit| Some(all | bit?))?;
        (self.after_any(fixed)? == fixed).then_some(fixed)
    }

    /// What of `fixed` waits after an event that only `_` matches; none if something else does.
    fn after_any(&self, fixed: u64) -> Option<u64> {
        let (mut next, mut rest) = (0, fixed);
        while rest != 0 {
            let id = rest.trailing_zeros();
            rest &= rest - 1;
            let modality = self.modalities.get(id as usize)?;
            let matcher = self.matchers.get(modality.pattern as usize)?;
            if !matcher.is_any() {
                continue;
            }
            if is_over(&modality.after) {
                return None;
            }
            for clause in &modality.after {
                next |= self.fixed(clause)?;
            }
        }
        Some(next)
    }
}

impl Timed {
    /// Whether an event that no pattern asks for leaves it as it is.
    #[inline]
    pub(crate) fn rests(&self, program: &Program) -> bool {
        program.loops == Some(self.fixed) && self.waits_for_times(program)
    }
}
