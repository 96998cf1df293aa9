//! Submonitors of formulas in which `and` and `or` meet: sets of clauses, of which one must be closed whole.
//!
//! Each member of a clause has an environment of its own. A member that does not move ends its clause; one that
//! reaches the verdict leaves it. An empty clause is the verdict.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use referee_theory::property::EventView;
use rustc_hash::FxHasher;

use super::datum::Datum;
use super::matcher::Bound;
use super::program::{Clause, ModalityId, Program};

type Environment = Box<[Datum]>;
type Member = (ModalityId, Environment);

/// The clauses of one instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clauses(pub(crate) Vec<Box<[Member]>>);

impl Clauses {
    /// At the start, where `given` are the values of the variables `slots`.
    pub(crate) fn new(program: &Program, slots: &[referee_theory::property::Slot], given: &[Datum]) -> Self {
        let member = |modality: &ModalityId| {
            let of = |slot| {
                slots.iter().position(|known| known == slot).and_then(|place| given.get(place).cloned())
            };
            Some((*modality, program.domain(*modality).iter().map(of).collect::<Option<Environment>>()?))
        };
        let clause = |clause: &Clause| clause.iter().map(member).collect::<Option<_>>();
        Self(program.start.iter().filter_map(clause).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|clause| clause.len()).sum()
    }

    /// Steps over `event`, keeping at most `limit` clauses; whether the verdict is reached, or `None` if there would
    /// be more. With the verdict, the clause that gave it remains.
    pub(crate) fn step(&mut self, program: &Program, event: &EventView<'_>, limit: usize) -> Option<bool> {
        // Environments hold what peers send: the set is keyed at random.
        let mut seen: HashSet<Box<[Member]>> = HashSet::new();
        let mut after = Vec::new();
        for clause in std::mem::take(&mut self.0) {
            let mut combined: Vec<Vec<Member>> = vec![Vec::new()];
            for (modality, environment) in &clause {
                let moved = moved(program, *modality, environment, event);
                if combined.len().saturating_mul(moved.len()) > limit {
                    return None;
                }
                combined = combined
                    .iter()
                    .flat_map(|left| moved.iter().map(|right| [left.as_slice(), right].concat()))
                    .collect();
            }
            for members in combined {
                let next = normal(members);
                if next.is_empty() {
                    self.0 = vec![clause];
                    return Some(true);
                }
                if seen.insert(next.clone()) {
                    after.push(next);
                }
            }
            if after.len() > limit {
                return None;
            }
        }
        self.0 = after;
        Some(false)
    }
}

/// What a member comes to, as clauses: none if it does not move.
fn moved(
    program: &Program,
    id: ModalityId,
    environment: &[Datum],
    event: &EventView<'_>,
) -> Vec<Vec<Member>> {
    let Some(modality) = program.modalities.get(id as usize) else { return Vec::new() };
    let Some(matcher) = program.matchers.get(modality.pattern as usize) else { return Vec::new() };
    let mut bound = Bound::new();
    if !matcher.matches(event, environment, &mut bound) {
        return Vec::new();
    }
    let kept = program.domain(id);
    let value = |slot: &referee_theory::property::Slot| {
        let new = matcher.binds.iter().position(|known| known == slot).and_then(|place| bound.get(place));
        let old =
            || kept.iter().position(|known| known == slot).and_then(|place| environment.get(place).cloned());
        new.map(|term| Datum::of(*term)).or_else(old)
    };
    let member = |target: &ModalityId| {
        Some((*target, program.domain(*target).iter().map(value).collect::<Option<Environment>>()?))
    };
    modality.after.iter().filter_map(|clause| clause.iter().map(member).collect::<Option<Vec<_>>>()).collect()
}

/// One of each, in an order that depends on the members only.
fn normal(mut members: Vec<Member>) -> Box<[Member]> {
    let rank = |member: &Member| {
        let mut hasher = FxHasher::default();
        member.1.hash(&mut hasher);
        (member.0, hasher.finish())
    };
    members.sort_by_cached_key(rank);
    members.dedup();
    members.into()
}
