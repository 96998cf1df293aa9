//! Instances of properties that speak of time: `expect … within`, `never … for`, `at`, windows.
//!
//! What is kept are clauses, as in `clauses`: of one of them all members must lead to the verdict. A member is a modality that
//! waits for the next event, an `expect` that waits for its deadline, or a `never` that watches until its time is over. There is
//! no clock: events have times, and whoever steps says what time it is ([`Timed::advance`]). The time is that before which all
//! events are known, so nothing that was said is ever taken back.

use referee_theory::expr::{Dialect, guard_value};
use referee_theory::property::guard::Condition;
use referee_theory::property::pattern::Environment;
use referee_theory::property::{EventView, Slot, Term, TimeBound};
use smallvec::SmallVec;

use super::datum::Datum;
use super::matcher::Bound;
use super::program::{Clause, ModalityId, Program, TimedPart, is_over};
use super::rows::Row;
use super::waiting::{self, Waiting};
use super::window::Windows;

/// The state of one instance.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    /// The modalities that wait alone and have no values, one bit each: most formulas have no other.
    pub(super) fixed: u64,
    pub(super) clauses: Vec<Members>,
    /// Of many that wait alone for a time, those that can be found by their values.
    pub(super) waiting: Option<Box<Waiting>>,
    windows: Windows,
    /// How many events there were, those included that were before it began anew.
    pub(super) events: u64,
    /// The clause that gave the verdict.
    pub(crate) closing: Option<Box<[Member]>>,
}

pub(super) type Members = SmallVec<[Member; 1]>;
/// The clauses that an event leads to: mostly one, if any.
type After = SmallVec<[Members; 1]>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) modality: ModalityId,
    /// When its time is over; a modality has none.
    pub(crate) until: i64,
    /// How many events there had been when it was reached; none at the beginning.
    pub(crate) since: u64,
    pub(crate) row: Row,
}

/// A modality waits for an event, whenever it comes.
const NO_TIME: i64 = i64::MAX;

/// What stepping comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Going,
    Verdict,
    Done,
    Limit,
}

/// What stepping a clause comes to.
enum Stepped {
    /// It waits on as it is.
    Stays,
    /// What became of it, if anything did, stands elsewhere.
    Moved,
    Closed,
    TooMany,
}

/// With more clauses than this, they are looked for by their values.
pub(super) const FEW: usize = 16;

/// The variables of a duration.
struct Kept<'k>(&'k [Slot], &'k [Datum]);

impl Environment for Kept<'_> {
    fn get(&self, slot: Slot) -> Option<Term<'_>> {
        let place = self.0.iter().position(|known| *known == slot)?;
        self.1.get(place).map(Datum::view)
    }
}

impl referee_theory::expr::Variables<Slot> for Kept<'_> {
    fn value(&self, variable: &Slot) -> Option<referee_theory::expr::Computed<'_>> {
        self.get(*variable).map(referee_theory::expr::Computed::Term)
    }

    fn name(&self, variable: &Slot) -> std::sync::Arc<str> {
        variable.0.to_string().into()
    }
}

impl TimedPart {
    pub(crate) fn new(bound: TimeBound, duration: Condition) -> Self {
        let constant = length(&duration, &[], &[]);
        Self { bound, duration, constant }
    }

    /// When its time is over, if it begins at `start`; none if its duration is none.
    fn until(&self, slots: &[Slot], row: &[Datum], start: i64) -> Option<i64> {
        let length = self.constant.or_else(|| length(&self.duration, slots, row))?;
        Some(start.saturating_add(length))
    }
}

/// The value of a duration, in nanoseconds, unless it is none.
fn length(duration: &Condition, slots: &[Slot], row: &[Datum]) -> Option<i64> {
    match guard_value(Dialect::Native, duration, &Kept(slots, row))?.into_value() {
        referee_theory::Value::Duration(length) if length >= 0 => Some(length),
        _ => None,
    }
}

impl Timed {
    /// At the start, which is at `time` and after `events`, where `given` are the values of the variables `slots`.
    pub(crate) fn new(program: &Program, slots: &[Slot], given: &[Datum], time: i64, events: u64) -> Self {
        let value =
            |slot: &Slot| slots.iter().position(|known| known == slot).and_then(|at| given.get(at).cloned());
        let mut timed = Self {
            fixed: 0,
            clauses: Vec::new(),
            waiting: None,
            windows: Windows::new(&program.windows),
            events,
            closing: None,
        };
        for clause in &program.start {
            match program.fixed(clause) {
                Some(bit) => timed.fixed |= bit,
                None => {
                    let members: Option<Members> =
                        clause.iter().map(|id| member(program, *id, &value, time, 0)).collect();
                    timed.clauses.extend(members);
                }
            }
        }
        timed
    }

    /// What is kept: members of clauses, and entries of windows.
    pub(crate) fn len(&self) -> usize {
        self.kept() + self.windows.held()
    }

    /// Reads what is far away in memory.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let clause = self.clauses.first().and_then(|clause| clause.first()).map_or(0, |member| member.since);
        self.events ^ clause ^ self.windows.touch()
    }

    /// There were so many events, of which some passed without a step.
    pub(crate) fn note_events(&mut self, events: u64) {
        self.events = events;
    }

    /// Whether what does not wait for the next event in one of the `fixed` waits for a time.
    pub(super) fn waits_for_times(&self, program: &Program) -> bool {
        let is_timed = |member: &Member| {
            program.modalities.get(member.modality as usize).is_some_and(|it| it.timed.is_some())
        };
        self.clauses.iter().flatten().all(is_timed)
    }

    pub(super) fn kept(&self) -> usize {
        self.fixed.count_ones() as usize + self.clauses.len() + self.waiting.as_ref().map_or(0, |it| it.len())
    }

    pub(crate) fn windows(&self) -> &Windows {
        &self.windows
    }

    /// When an `expect` is over next: it wants to be asked once it is later than that.
    pub(crate) fn next_deadline(&self, program: &Program) -> Option<i64> {
        // Most instances wait for one thing at most.
        if self.waiting.is_none() {
            match self.clauses.as_slice() {
                [] => return None,
                [only] if only.len() == 1 => {
                    let member = only.first().filter(|member| is(program, member, TimeBound::Expect));
                    return member.map(|member| member.until);
                }
                _ => {}
            }
        }
        let expects = self.clauses.iter().flatten().filter(|member| is(program, member, TimeBound::Expect));
        let indexed = self.waiting.as_ref().and_then(|waiting| waiting.next_deadline());
        expects.map(|member| member.until).chain(indexed).min()
    }

    /// All events before `time` are known.
    pub(crate) fn advance(&mut self, program: &Program, time: i64) -> Progress {
        if self.clauses.is_empty() && self.waiting.is_none() {
            return if self.fixed == 0 { Progress::Done } else { Progress::Going };
        }
        // A `never` whose time is over was kept, and with it its clause.
        self.clauses.retain(|clause| {
            !clause.iter().any(|member| member.until < time && is(program, member, TimeBound::Never))
        });
        if let Some(waiting) = &mut self.waiting {
            waiting.advance(program, time);
        }
        while let Some(deadline) = self.next_deadline(program).filter(|deadline| *deadline < time) {
            for clause in &mut self.clauses {
                let missed =
                    |member: &Member| member.until == deadline && is(program, member, TimeBound::Expect);
                let last = clause.iter().rev().find(|member| missed(member)).cloned();
                clause.retain(|member| !missed(member));
                if let (true, Some(member)) = (clause.is_empty(), last) {
                    self.closing = Some([member].into());
                    return Progress::Verdict;
                }
            }
            if let Some(waiting) = self.waiting.as_mut().filter(|it| it.next_deadline() == Some(deadline)) {
                self.closing = waiting.take_first(program).map(|member| [member].into());
                return Progress::Verdict;
            }
        }
        if self.kept() == 0 { Progress::Done } else { Progress::Going }
    }

    /// Consumes `event`, which happened at `time`.
    pub(crate) fn step(
        &mut self,
        program: &Program,
        event: &EventView<'_>,
        time: i64,
        limit: usize,
    ) -> Progress {
        match self.advance(program, time) {
            Progress::Going => {}
            ended => return ended,
        }
        self.events += 1;
        self.windows.update(&program.windows, event, time);
        let mut after = After::new();
        if let Some(id) = self.step_fixed(program, event, time, &mut after) {
            self.closing = Some([Member { modality: id, until: NO_TIME, since: 0, row: Row::new() }].into());
            return Progress::Verdict;
        }
        if !self.clauses.is_empty() {
            match self.step_clauses(program, event, time, limit, &mut after) {
                Progress::Going => {}
                ended => return ended,
            }
        }
        if let Some(waiting) = &mut self.waiting
            && let Some(member) = waiting.step(program, event, &self.windows)
        {
            self.closing = Some([member].into());
            return Progress::Verdict;
        }
        for members in after {
            self.take(program, members);
        }
        if self.clauses.len() > FEW && self.waiting.is_none() {
            self.index(program);
        }
        match self.kept() {
            0 => Progress::Done,
            _ if self.len() > limit => Progress::Limit,
            _ => Progress::Going,
        }
    }

    /// Steps the modalities without values; the one that gives the verdict.
    #[inline]
    fn step_fixed(
        &mut self,
        program: &Program,
        event: &EventView<'_>,
        time: i64,
        after: &mut After,
    ) -> Option<ModalityId> {
        let mut next = 0;
        let mut rest = self.fixed;
        while rest != 0 {
            let id = rest.trailing_zeros();
            rest &= rest - 1;
            let Some(modality) = program.modalities.get(id as usize) else { continue };
            let Some(matcher) = program.matchers.get(modality.pattern as usize) else { continue };
            let mut bound = Bound::new();
            if !matcher.matches_in(event, &[], &mut bound, &self.windows) {
                continue;
            }
            if is_over(&modality.after) {
                return Some(id);
            }
            for clause in &modality.after {
                if let Some(bit) = program.fixed(clause) {
                    next |= bit;
                } else {
                    after.extend(self.follow(program, (id, &[]), clause, &bound, time));
                }
            }
        }
        self.fixed = next;
        None
    }

    /// Steps the clauses that stand one by one.
    fn step_clauses(
        &mut self,
        program: &Program,
        event: &EventView<'_>,
        time: i64,
        limit: usize,
        after: &mut After,
    ) -> Progress {
        let mut progress = Progress::Going;
        let mut clauses = std::mem::take(&mut self.clauses);
        let mut closed = None;
        clauses.retain(|clause| {
            if progress != Progress::Going {
                return false;
            }
            let stepped = match &**clause {
                [only] => self.alone(program, only, event, time, after),
                _ => self.together(program, clause, event, time, limit, after),
            };
            match stepped {
                Stepped::Stays => return true,
                Stepped::Moved => {}
                Stepped::TooMany => progress = Progress::Limit,
                Stepped::Closed => {
                    progress = Progress::Verdict;
                    closed = Some(clause.to_vec().into_boxed_slice());
                }
            }
            false
        });
        self.clauses = clauses;
        self.closing = closed;
        progress
    }

    /// Adds a clause to those that wait.
    pub(super) fn take(&mut self, program: &Program, members: Members) {
        if let (Some(waiting), [only]) = (&mut self.waiting, &*members)
            && waiting::is_indexed(program, only.modality)
        {
            waiting.add(program, only.clone());
            return;
        }
        if let [only] = &*members
            && let Some(bit) = program.fixed(&[only.modality])
        {
            self.fixed |= bit;
            return;
        }
        add(program, &mut self.clauses, members);
    }

    /// From now on those that can be found by their values are.
    #[cold]
    fn index(&mut self, program: &Program) {
        let indexed =
            |members: &Members| matches!(&**members, [only] if waiting::is_indexed(program, only.modality));
        if self.clauses.iter().filter(|clause| indexed(clause)).count() <= FEW / 2 {
            return;
        }
        self.waiting = Some(Box::default());
        for members in std::mem::take(&mut self.clauses) {
            self.take(program, members);
        }
    }

    /// Steps a clause of one member.
    #[inline]
    fn alone(
        &self,
        program: &Program,
        member: &Member,
        event: &EventView<'_>,
        time: i64,
        after: &mut After,
    ) -> Stepped {
        let Some(modality) = program.modalities.get(member.modality as usize) else { return Stepped::Moved };
        let Some(matcher) = program.matchers.get(modality.pattern as usize) else { return Stepped::Moved };
        let mut bound = Bound::new();
        let matched = matcher.matches_in(event, &member.row, &mut bound, &self.windows);
        match (&modality.timed, matched) {
            (Some(part), true) if part.bound == TimeBound::Never => Stepped::Closed,
            (Some(_), false) => Stepped::Stays,
            (None, true) if is_over(&modality.after) => Stepped::Closed,
            (None, true) => {
                let from = (member.modality, &*member.row);
                after.extend(
                    modality
                        .after
                        .iter()
                        .filter_map(|clause| self.follow(program, from, clause, &bound, time)),
                );
                Stepped::Moved
            }
            (None, false) | (Some(_), true) => Stepped::Moved,
        }
    }

    /// Steps a clause of several members.
    #[inline(never)]
    fn together(
        &self,
        program: &Program,
        clause: &[Member],
        event: &EventView<'_>,
        time: i64,
        limit: usize,
        after: &mut After,
    ) -> Stepped {
        let mut combined: Vec<Vec<Member>> = vec![Vec::new()];
        for member in clause {
            let mut own = After::new();
            match self.alone(program, member, event, time, &mut own) {
                // This member is closed; the others remain.
                Stepped::Closed => continue,
                Stepped::Stays => own.push(SmallVec::from_iter([member.clone()])),
                Stepped::Moved | Stepped::TooMany => {}
            }
            if combined.len().saturating_mul(own.len()) > limit {
                return Stepped::TooMany;
            }
            combined = combined
                .iter()
                .flat_map(|left| own.iter().map(|right| [left.as_slice(), right.as_slice()].concat()))
                .collect();
        }
        if combined.iter().any(Vec::is_empty) {
            return Stepped::Closed;
        }
        for mut members in combined {
            members.sort_by_key(|member| (member.modality, member.until, member.since));
            members.dedup();
            after.push(members.into());
        }
        Stepped::Moved
    }

    /// The members of `clause`, which stands behind the modality `id` with the values `row`.
    fn follow(
        &self,
        program: &Program,
        (id, row): (ModalityId, &[Datum]),
        clause: &Clause,
        bound: &Bound<'_>,
        time: i64,
    ) -> Option<Members> {
        let modality = program.modalities.get(id as usize)?;
        let binds = program.matchers.get(modality.pattern as usize).map(|matcher| &*matcher.binds)?;
        let kept = program.domain(id);
        let value = |slot: &Slot| {
            let new = binds.iter().position(|known| known == slot).and_then(|place| bound.get(place));
            let old =
                || kept.iter().position(|known| known == slot).and_then(|place| row.get(place).cloned());
            new.map(|term| Datum::of(*term)).or_else(old)
        };
        let members: Option<Members> =
            clause.iter().map(|id| member(program, *id, &value, time, self.events)).collect();
        if members.is_none() {
            // A duration that is none.
            self.windows.fault.set(true);
        }
        members
    }
}

/// The modality `id` with the values it reads, reached at `time`; none if it cannot lead to the verdict.
fn member(
    program: &Program,
    id: ModalityId,
    value: &dyn Fn(&Slot) -> Option<Datum>,
    time: i64,
    since: u64,
) -> Option<Member> {
    let row: Row = program.domain(id).iter().map(value).collect::<Option<_>>()?;
    let modality = program.modalities.get(id as usize)?;
    let timed = modality.timed.as_deref();
    let until = match timed {
        Some(part) => part.until(&modality.slots, &row, time)?,
        None => NO_TIME,
    };
    Some(Member { modality: id, until, since: if timed.is_some() { since } else { 0 }, row })
}

fn is(program: &Program, member: &Member, bound: TimeBound) -> bool {
    member.until != NO_TIME && bound_of(program, member.modality) == Some(bound)
}

pub(crate) fn bound_of(program: &Program, modality: ModalityId) -> Option<TimeBound> {
    program.modalities.get(modality as usize)?.timed.as_ref().map(|part| part.bound)
}

/// Adds a clause, unless it is there. Of two that differ in time alone, one decides both: the earlier `expect`, the later `never`.
fn add(program: &Program, after: &mut Vec<Members>, members: Members) {
    if let [new] = &*members {
        for known in after.iter_mut() {
            let [old] = &mut **known else { continue };
            if old.modality != new.modality || old.row != new.row {
                continue;
            }
            let replaces = match bound_of(program, new.modality) {
                Some(TimeBound::Expect) => new.until < old.until,
                Some(TimeBound::Never) => new.until > old.until,
                None => false,
            };
            if replaces {
                *old = new.clone();
            }
            return;
        }
    } else if after.contains(&members) {
        return;
    }
    after.push(members);
}
