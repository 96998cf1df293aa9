//! Many that wait: each an `expect` or a `never` with values of its own, found by the values that an event must have, and by when
//! their times are over. An event costs as much as those it can be about.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher, RandomState};

use referee_theory::property::{EventView, Term, TimeBound};
use smallvec::SmallVec;

use super::datum::Datum;
use super::matcher::{Bound, Demand, Matcher};
use super::program::{ModalityId, Program};
use super::timed::{Member, bound_of};
use super::window::Windows;

/// Those that wait, each alone in its clause.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    members: Vec<Option<Member>>,
    free: Vec<u32>,
    /// By modality and by the values that an event must have. These are what peers send: they are hashed at random.
    by_value: HashMap<u64, SmallVec<[u32; 1]>>,
    hasher: RandomState,
    /// How many there are of each modality.
    kinds: Vec<(ModalityId, usize)>,
    /// When each is over. One that is no more, or has another time, is dropped when it is met, and is never the first.
    expects: Deadlines,
    nevers: Deadlines,
}

type Deadlines = BinaryHeap<Reverse<(i64, u32)>>;

type Values<'a> = SmallVec<[Term<'a>; 2]>;

/// Whether members of this modality can be found by their values.
pub(crate) fn is_indexed(program: &Program, modality: ModalityId) -> bool {
    let matcher = |modality: ModalityId| {
        let modality =
            program.modalities.get(modality as usize).filter(|modality| modality.timed.is_some())?;
        program.matchers.get(modality.pattern as usize)
    };
    matcher(modality)
        .is_some_and(|matcher| matcher.demands.iter().any(|(_, demand)| matches!(demand, Demand::Kept(_))))
}

fn matcher(program: &Program, modality: ModalityId) -> Option<&Matcher> {
    program.matchers.get(program.modalities.get(modality as usize)?.pattern as usize)
}

impl Waiting {
    pub(crate) fn len(&self) -> usize {
        self.members.len() - self.free.len()
    }

    fn hash(&self, modality: ModalityId, values: &Values<'_>) -> u64 {
        self.hasher.hash_one((modality, values))
    }

    fn hash_of(&self, program: &Program, member: &Member) -> u64 {
        let demands = matcher(program, member.modality).map(|matcher| &*matcher.demands).unwrap_or_default();
        let kept = demands.iter().filter_map(|(_, demand)| match demand {
            Demand::Kept(place) => member.row.get(*place as usize).map(Datum::view),
            Demand::Constant(_) => None,
        });
        self.hash(member.modality, &kept.collect())
    }

    fn deadlines(&mut self, bound: Option<TimeBound>) -> &mut Deadlines {
        if bound == Some(TimeBound::Expect) { &mut self.expects } else { &mut self.nevers }
    }

    /// Adds `member`. Of two that differ in time alone, one decides both: the earlier `expect`, the later `never`.
    pub(crate) fn add(&mut self, program: &Program, member: Member) {
        let (hash, bound) = (self.hash_of(program, &member), bound_of(program, member.modality));
        for id in self.by_value.get(&hash).into_iter().flatten().copied() {
            let Some(Some(known)) = self.members.get_mut(id as usize) else { continue };
            if known.modality != member.modality || known.row != member.row {
                continue;
            }
            let decides = match bound {
                Some(TimeBound::Expect) => member.until < known.until,
                _ => member.until > known.until,
            };
            if decides {
                let until = member.until;
                *known = member;
                self.deadlines(bound).push(Reverse((until, id)));
                self.tidy();
            }
            return;
        }
        match self.kinds.iter_mut().find(|(modality, _)| *modality == member.modality) {
            Some((_, count)) => *count += 1,
            None => self.kinds.push((member.modality, 1)),
        }
        let until = member.until;
        let id = match self.free.pop() {
            Some(id) => {
                self.members[id as usize] = Some(member);
                id
            }
            None => {
                self.members.push(Some(member));
                (self.members.len() - 1) as u32
            }
        };
        self.by_value.entry(hash).or_default().push(id);
        self.deadlines(bound).push(Reverse((until, id)));
    }

    fn remove(&mut self, program: &Program, id: u32) -> Option<Member> {
        let member = self.members.get_mut(id as usize)?.take()?;
        self.free.push(id);
        if let Some((_, count)) = self.kinds.iter_mut().find(|(modality, _)| *modality == member.modality) {
            *count -= 1;
        }
        let hash = self.hash_of(program, &member);
        if let Some(ids) = self.by_value.get_mut(&hash) {
            ids.retain(|known| *known != id);
            if ids.is_empty() {
                self.by_value.remove(&hash);
            }
        }
        Some(member)
    }

    /// Drops deadlines that are no more, so that the first is one.
    fn tidy(&mut self) {
        let Self { members, expects, nevers, .. } = self;
        for deadlines in [expects, nevers] {
            let stands = |(until, id): (i64, u32)| matches!(members.get(id as usize), Some(Some(member)) if member.until == until);
            while deadlines.peek().is_some_and(|Reverse(first)| !stands(*first)) {
                deadlines.pop();
            }
            if deadlines.len() > 64 + 4 * members.len() {
                deadlines.retain(|Reverse(deadline)| stands(*deadline));
            }
        }
    }

    /// When an `expect` is over next.
    pub(crate) fn next_deadline(&self) -> Option<i64> {
        self.expects.peek().map(|Reverse((until, _))| *until)
    }

    /// All events before `time` are known: forgets each `never` that is over.
    pub(crate) fn advance(&mut self, program: &Program, time: i64) {
        while let Some(Reverse((_, id))) = self.nevers.peek().filter(|Reverse((until, _))| *until < time) {
            let id = *id;
            self.nevers.pop();
            self.remove(program, id);
            self.tidy();
        }
    }

    /// Takes the `expect` that is over next.
    pub(crate) fn take_first(&mut self, program: &Program) -> Option<Member> {
        let Reverse((_, id)) = self.expects.pop()?;
        let member = self.remove(program, id);
        self.tidy();
        member
    }

    /// Consumes `event`: an `expect` that it matches is met; a `never` that it matches gives the verdict.
    pub(crate) fn step(
        &mut self,
        program: &Program,
        event: &EventView<'_>,
        windows: &Windows,
    ) -> Option<Member> {
        let mut met: SmallVec<[u32; 4]> = SmallVec::new();
        for (modality, _) in self.kinds.iter().filter(|(_, count)| *count > 0) {
            let Some(matcher) = matcher(program, *modality) else { continue };
            let Some(values) = demanded(matcher, event) else { continue };
            for id in self.by_value.get(&self.hash(*modality, &values)).into_iter().flatten() {
                let Some(Some(member)) = self.members.get(*id as usize) else { continue };
                let mut bound = Bound::new();
                if member.modality != *modality
                    || !matcher.matches_in(event, &member.row, &mut bound, windows)
                {
                    continue;
                }
                if bound_of(program, *modality) == Some(TimeBound::Never) {
                    return Some(member.clone());
                }
                met.push(*id);
            }
        }
        for id in met {
            self.remove(program, id);
            self.tidy();
        }
        None
    }
}

/// What `event` has where `matcher` compares with values that are kept; none if it cannot match.
fn demanded<'a>(matcher: &Matcher, event: &EventView<'a>) -> Option<Values<'a>> {
    let mut values = Values::new();
    for (access, demand) in &matcher.demands {
        let term = access.of(event)?;
        match demand {
            Demand::Constant(constant) if *constant != term => return None,
            Demand::Constant(_) => {}
            Demand::Kept(_) => values.push(term),
        }
    }
    Some(values)
}
