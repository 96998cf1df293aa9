//! Instances of properties that speak of time: `expect … within`, `never … for`, `at`, windows.
//!
//! What is kept are clauses, as in `clauses`: of one of them all members must lead to the verdict. A member is a modality that
//! waits for the next event, an `expect` that waits for its deadline, or a `never` that watches until its time is over. There is
//! no clock: events have times, and whoever steps says what time it is ([`Timed::advance`]). The time is that before which all
//! events are known, so nothing that was said is ever taken back.

use referee_theory::expr::{Dialect, guard_value};
use referee_theory::property::pattern::Environment;
use referee_theory::property::{
    EventPattern, EventView, Formula, FormulaId, Pattern, Property, Slot, Term, TimeBound,
};
use smallvec::SmallVec;

use super::datum::Datum;
use super::matcher::Bound;
use super::program::{Clause, ModalityId, Program, TimedPart};
use super::rows::Row;
use super::window::Windows;

/// The state of one instance.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    clauses: Vec<Members>,
    windows: Windows,
    /// How many events it has seen.
    events: u64,
    /// The deadline that closed it.
    pub(crate) missed: Option<Missed>,
}

type Members = SmallVec<[Member; 1]>;

#[derive(Clone, Debug, PartialEq)]
struct Member {
    modality: ModalityId,
    /// When its time is over; a modality has none.
    until: i64,
    /// How many events were consumed when it was reached.
    since: u64,
    row: Row,
}

/// A modality waits for an event, whenever it comes.
const NO_TIME: i64 = i64::MAX;

/// An `expect` whose time was over.
#[derive(Clone, Debug)]
pub struct Missed {
    /// Where it stands in the property.
    pub node: FormulaId,
    /// When its time was over.
    pub deadline: i64,
    /// How many events of the instance had happened when it began.
    pub since: u64,
    /// What its variables hold.
    pub(crate) values: Vec<(Slot, referee_theory::Value)>,
}

/// What stepping comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Going,
    Verdict,
    Done,
    Limit,
}

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
    /// When its time is over, if it begins at `start`; none if its duration is none.
    fn until(&self, row: &[Datum], start: i64) -> Option<i64> {
        let value = guard_value(Dialect::Native, &self.duration, &Kept(&self.slots, row))?.into_value();
        match value {
            referee_theory::Value::Duration(length) if length >= 0 => Some(start.saturating_add(length)),
            _ => None,
        }
    }
}

impl Timed {
    /// At the start, which is at `time`, where `given` are the values of the variables `slots`.
    pub(crate) fn new(program: &Program, slots: &[Slot], given: &[Datum], time: i64) -> Self {
        let value =
            |slot: &Slot| slots.iter().position(|known| known == slot).and_then(|at| given.get(at).cloned());
        let mut clauses = Vec::new();
        for clause in &program.start {
            let members: Option<Members> =
                clause.iter().map(|id| member(program, *id, &value, time, 0)).collect();
            clauses.extend(members);
        }
        Self { clauses, windows: Windows::new(&program.windows), events: 0, missed: None }
    }

    /// What is kept: members of clauses, and entries of windows.
    pub(crate) fn len(&self) -> usize {
        self.clauses.len() + self.windows.held()
    }

    /// When an `expect` is over next: it wants to be asked once it is later than that.
    pub(crate) fn next_deadline(&self, program: &Program) -> Option<i64> {
        let expects = self.clauses.iter().flatten().filter(|member| is(program, member, TimeBound::Expect));
        expects.map(|member| member.until).min()
    }

    /// All events before `time` are known.
    pub(crate) fn advance(&mut self, program: &Program, time: i64) -> Progress {
        // A `never` whose time is over was kept, and with it its clause.
        self.clauses.retain(|clause| {
            !clause.iter().any(|member| member.until < time && is(program, member, TimeBound::Never))
        });
        while let Some(deadline) = self.next_deadline(program).filter(|deadline| *deadline < time) {
            for clause in &mut self.clauses {
                let missed =
                    |member: &Member| member.until == deadline && is(program, member, TimeBound::Expect);
                let last = clause.iter().rev().find(|member| missed(member)).cloned();
                clause.retain(|member| !missed(member));
                if let (true, Some(member)) = (clause.is_empty(), last) {
                    self.missed = Some(of(program, member));
                    return Progress::Verdict;
                }
            }
        }
        if self.clauses.is_empty() { Progress::Done } else { Progress::Going }
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
        let mut after: Vec<Members> = Vec::with_capacity(self.clauses.len());
        for clause in std::mem::take(&mut self.clauses) {
            let verdict = match &*clause {
                [only] => self.alone(program, only, event, time, &mut after),
                _ => self.together(program, &clause, event, time, limit, &mut after),
            };
            match verdict {
                None => return Progress::Limit,
                Some(true) => return Progress::Verdict,
                Some(false) => {}
            }
        }
        self.clauses = after;
        match self.len() {
            0 => Progress::Done,
            _ if self.clauses.is_empty() => Progress::Done,
            count if count > limit => Progress::Limit,
            _ => Progress::Going,
        }
    }

    /// Steps a clause of one member; whether it is closed.
    #[inline]
    fn alone(
        &self,
        program: &Program,
        member: &Member,
        event: &EventView<'_>,
        time: i64,
        after: &mut Vec<Members>,
    ) -> Option<bool> {
        let Some(modality) = program.modalities.get(member.modality as usize) else { return Some(false) };
        let Some(matcher) = program.matchers.get(modality.pattern as usize) else { return Some(false) };
        let mut bound = Bound::new();
        let matched = matcher.matches_in(event, &member.row, &mut bound, &self.windows);
        match (&modality.timed, matched) {
            (Some(part), true) => return Some(part.bound == TimeBound::Never),
            (Some(_), false) => add(program, after, SmallVec::from_iter([member.clone()])),
            (None, false) => {}
            (None, true) => {
                for clause in &modality.after {
                    if clause.is_empty() {
                        return Some(true);
                    }
                    if let Some(members) = self.follow(program, member, clause, &bound, time) {
                        add(program, after, members);
                    }
                }
            }
        }
        Some(false)
    }

    /// Steps a clause of several members; whether it is closed, or `None` if it comes to more than `limit`.
    #[inline(never)]
    fn together(
        &self,
        program: &Program,
        clause: &[Member],
        event: &EventView<'_>,
        time: i64,
        limit: usize,
        after: &mut Vec<Members>,
    ) -> Option<bool> {
        let mut combined: Vec<Vec<Member>> = vec![Vec::new()];
        for member in clause {
            let mut own = Vec::new();
            if self.alone(program, member, event, time, &mut own)? {
                // This member is closed; the others remain.
                continue;
            }
            if combined.len().saturating_mul(own.len()) > limit {
                return None;
            }
            combined = combined
                .iter()
                .flat_map(|left| own.iter().map(|right| [left.as_slice(), right.as_slice()].concat()))
                .collect();
        }
        for mut members in combined {
            if members.is_empty() {
                return Some(true);
            }
            members.sort_by_key(|member| (member.modality, member.until, member.since));
            members.dedup();
            add(program, after, members.into());
        }
        Some(false)
    }

    /// The members of `clause`, which stands behind the modality of `member`.
    fn follow(
        &self,
        program: &Program,
        member: &Member,
        clause: &Clause,
        bound: &Bound<'_>,
        time: i64,
    ) -> Option<Members> {
        let modality = program.modalities.get(member.modality as usize)?;
        let binds = program.matchers.get(modality.pattern as usize).map(|matcher| &*matcher.binds)?;
        let kept = program.domain(member.modality);
        let value = |slot: &Slot| {
            let new = binds.iter().position(|known| known == slot).and_then(|place| bound.get(place));
            let old = || {
                kept.iter().position(|known| known == slot).and_then(|place| member.row.get(place).cloned())
            };
            new.map(|term| Datum::of(*term)).or_else(old)
        };
        clause.iter().map(|id| self::member(program, *id, &value, time, self.events)).collect()
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
    let timed = program.modalities.get(id as usize)?.timed.as_deref();
    let until = match timed {
        Some(part) => part.until(&row, time)?,
        None => NO_TIME,
    };
    Some(Member { modality: id, until, since: if timed.is_some() { since } else { 0 }, row })
}

fn is(program: &Program, member: &Member, bound: TimeBound) -> bool {
    member.until != NO_TIME && bound_of(program, member.modality) == Some(bound)
}

fn bound_of(program: &Program, modality: ModalityId) -> Option<TimeBound> {
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

fn of(program: &Program, member: Member) -> Missed {
    let modality = program.modalities.get(member.modality as usize);
    let slots =
        modality.and_then(|modality| modality.timed.as_ref()).map(|part| &*part.slots).unwrap_or_default();
    let values = slots.iter().zip(&member.row).map(|(slot, datum)| (*slot, datum.view().to_owned()));
    Missed {
        node: modality.map_or(FormulaId(0), |modality| modality.node),
        deadline: member.until,
        since: member.since,
        values: values.collect(),
    }
}

/// What was not met, as a sentence.
pub(super) fn sentence(property: &Property, missed: &Missed) -> String {
    let Formula::Timed { pattern, duration, .. } = property.node(missed.node) else { return String::new() };
    let (slots, values): (Vec<Slot>, Vec<Datum>) =
        missed.values.iter().map(|(slot, value)| (*slot, Datum::of(value.view()))).unzip();
    let kept = Kept(&slots, &values);
    let length = guard_value(Dialect::Native, duration, &kept).map(|length| length.view().to_string());
    let mut length = length.unwrap_or_default();
    if let Some(unit) = length.find(|c: char| c.is_ascii_alphabetic()) {
        length.insert(unit, ' ');
    }
    let of = match missed.since.checked_sub(1) {
        Some(event) => format!("event {event}"),
        None => "the beginning".to_owned(),
    };
    format!("no `{}` came within {length} of {of}", event(property.pattern(*pattern), &kept))
}

/// What `pattern` waits for, with the values that are known.
fn event(pattern: &EventPattern, kept: &Kept<'_>) -> String {
    let part = |part: &Pattern| show(part, kept);
    let keys: Vec<String> =
        pattern.keys.iter().map(|(key, value)| format!("{key}: {}", part(value))).collect();
    let keys = if keys.is_empty() { String::new() } else { format!("{{{}}}", keys.join(", ")) };
    let name = match &pattern.label {
        Pattern::Literal(referee_theory::Value::String(label)) => label.to_string(),
        Pattern::Any => String::new(),
        label => part(label),
    };
    let payload = match &pattern.payload {
        Pattern::Any => String::new(),
        Pattern::Fields { positions, names, .. } => {
            let names = names.iter().map(|(name, field)| format!("{name}: {}", part(field)));
            let fields: Vec<String> = positions.iter().map(part).chain(names).collect();
            format!("({})", fields.join(", "))
        }
        other => part(other),
    };
    match format!("{name}{payload}{keys}") {
        empty if empty.is_empty() => "event".to_owned(),
        text => text,
    }
}

fn show(pattern: &Pattern, kept: &Kept<'_>) -> String {
    match pattern {
        Pattern::Literal(value) => value.view().to_string(),
        Pattern::Test(slot) => kept.get(*slot).map_or_else(|| "_".to_owned(), |term| term.to_string()),
        _ => "_".to_owned(),
    }
}
