//! A few submonitors, one after the other: each a control state and the values of its variables.
//!
//! All submonitors see every event. One that does not move is dropped; those that come to the same environment are
//! merged, so that there is one for each environment.

use referee_theory::property::EventView;
use smallvec::SmallVec;

use super::automaton::{Automaton, Mask, StateId, Template};
use super::datum::Datum;
use super::matcher::Bound;
use super::program::{Program, Source};

/// The values of a submonitor's variables, in the order of its domain.
pub(crate) type Row = SmallVec<[Datum; 2]>;

/// A submonitor.
#[derive(Clone, Debug)]
pub(crate) struct Submonitor {
    pub(crate) state: StateId,
    pub(crate) row: Row,
}

/// Submonitors of one instance.
pub(crate) type Submonitors = SmallVec<[Submonitor; 1]>;

/// Which patterns of `state` match.
#[inline]
pub(crate) fn mask<'a>(
    program: &Program,
    automaton: &Automaton,
    state: StateId,
    row: &[Datum],
    event: &EventView<'a>,
    bound: &mut Bound<'a>,
) -> Mask {
    let Some(state) = automaton.states.get(state as usize) else { return 0 };
    let mut mask = 0;
    for (bit, pattern) in state.patterns.iter().enumerate() {
        let matcher = program.matchers.get(*pattern as usize);
        mask |= Mask::from(matcher.is_some_and(|matcher| matcher.matches(event, row, bound))) << bit;
    }
    mask
}

/// The environment of a submonitor to come.
#[inline]
pub(crate) fn build(template: &Template, row: &[Datum], bound: &[referee_theory::property::Term<'_>]) -> Row {
    let value = |source: &Source| match source {
        Source::Kept(place) => row.get(*place as usize).cloned(),
        Source::Bound(place) => bound.get(*place as usize).map(|term| Datum::of(*term)),
    };
    template.sources.iter().filter_map(value).collect()
}

/// Steps all submonitors over `event`; whether the verdict is reached. `spare` is room to work in.
#[inline]
pub(crate) fn step(
    program: &Program,
    automaton: &mut Automaton,
    submonitors: &mut Submonitors,
    spare: &mut Submonitors,
    event: &EventView<'_>,
) -> bool {
    if let [only] = submonitors.as_mut_slice() {
        let mut bound = Bound::new();
        let mask = mask(program, automaton, only.state, &only.row, event, &mut bound);
        let number = automaton.outcome(program, only.state, mask);
        let Some(outcome) = automaton.outcomes.get(number as usize) else { return false };
        if let Some(state) = outcome.stays {
            only.state = state;
            return false;
        }
        if outcome.over {
            return true;
        }
        match &*outcome.templates {
            [] => submonitors.clear(),
            [template] => {
                only.row = build(template, &only.row, &bound);
                only.state = template.state;
            }
            _ => {
                let row = std::mem::take(&mut only.row);
                submonitors.clear();
                follow(program, automaton, number, &row, &bound, submonitors);
            }
        }
        return false;
    }
    step_all(program, automaton, submonitors, spare, event)
}

#[inline(never)]
fn step_all(
    program: &Program,
    automaton: &mut Automaton,
    submonitors: &mut Submonitors,
    spare: &mut Submonitors,
    event: &EventView<'_>,
) -> bool {
    // What is dropped or moved leaves its memory for the next event.
    let after = spare;
    after.clear();
    let mut bound = Bound::new();
    for Submonitor { state, row } in submonitors.drain(..) {
        bound.clear();
        let mask = mask(program, automaton, state, &row, event, &mut bound);
        let number = automaton.outcome(program, state, mask);
        let Some(found) = automaton.outcomes.get(number as usize) else { continue };
        if found.over {
            // Whoever tells why finds it there.
            after.clear();
            after.push(Submonitor { state, row });
            return true;
        }
        if let Some(state) = found.stays {
            add(program, automaton, after, state, row);
            continue;
        }
        follow(program, automaton, number, &row, &bound, after);
    }
    std::mem::swap(submonitors, after);
    false
}

/// Adds to `after` what becomes of a submonitor with the values `row`.
#[inline]
fn follow(
    program: &Program,
    automaton: &mut Automaton,
    outcome: u32,
    row: &[Datum],
    bound: &Bound<'_>,
    after: &mut Submonitors,
) {
    let mut index = 0;
    while let Some(template) =
        automaton.outcomes.get(outcome as usize).and_then(|outcome| outcome.templates.get(index))
    {
        let (state, row) = (template.state, build(template, row, bound));
        add(program, automaton, after, state, row);
        index += 1;
    }
}

/// Adds a submonitor, or makes it part of the one with the same environment.
fn add(program: &Program, automaton: &mut Automaton, to: &mut Submonitors, state: StateId, row: Row) {
    let domain =
        |automaton: &Automaton, state: StateId| automaton.states.get(state as usize).map(|s| s.domain);
    let own = domain(automaton, state);
    for known in to.iter_mut() {
        if domain(automaton, known.state) == own
            && known.row == row
            && let Some(union) = automaton.union(program, known.state, state)
        {
            known.state = union;
            return;
        }
    }
    to.push(Submonitor { state, row });
}
