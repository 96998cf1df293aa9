//! From records to verdicts: a lane owns the instances of its shards, so that its chunks are worked on one after the
//! other, in order.

use std::sync::Arc;

use bumpalo::Bump;
use referee_monitor::property::{Derivation, PropertyBundle, PropertyMemories, PropertyVerdict};
use referee_theory::property::{EventView, Term};
use referee_theory::time;
use rustc_hash::FxHashSet;

use super::clock::Clock;
use super::decode::{NO_LETTER, NO_TIME, Record, What, decode};
use super::event::{FORWARDED, show};
use super::instances::{Entry, History, Instances, NOBODY};
use super::plan::{Family, PropertyPlan};
use crate::decode::Decoded;
use crate::decode::event::scalar_text;
use crate::input::{Chunk, TOO_LATE};
use crate::lane::Outcome;
use crate::report::{Notice, PropertyReport, Unseen};
use crate::run::{self, Job};
use crate::scan::Flaw;
use crate::shape::Part;

type Position<'a> = run::Position<'a, PropertyPlan>;

/// Some shards.
pub(super) struct Lane {
    pub(super) shards: Vec<Shard>,
    /// What stepping has learned, for each family.
    pub(super) memories: Vec<PropertyMemories>,
    /// Families of which any instance may have missed an event.
    pub(super) lost: Vec<bool>,
    /// What time it is, for properties that ask.
    pub(super) clock: Clock,
    bump: Bump,
}

#[derive(Default)]
pub(super) struct Shard {
    /// For each family.
    pub(super) families: Vec<Instances>,
    /// How many submonitors and keys are kept.
    pub(super) held: usize,
    /// Families that had no room for a key, which has been told.
    full: Vec<u16>,
    /// Keys whose first event could not be read, with their families.
    lost: FxHashSet<(u16, Box<str>)>,
}

/// When the memory for one event's terms has grown beyond this, it is given back.
const KEPT: usize = 1 << 20;

/// How many instances are looked for at the same time.
const GROUP: usize = 32;

impl Job for PropertyPlan {
    type Record = Record;
    type Lane = Lane;

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn lane(&self) -> Lane {
        Lane {
            shards: (0..self.shards / self.lanes).map(|_| self.shard()).collect(),
            memories: self.families.iter().map(|family| family.properties.memories()).collect(),
            lost: vec![false; self.families.len()],
            clock: Clock::default(),
            bump: Bump::new(),
        }
    }

    fn decode(&self, chunk: Chunk, place: &mut Decoded<Record>) {
        decode(self, chunk, place);
    }

    fn work(lane: &mut Lane, position: Position<'_>, number: usize) -> Outcome {
        let mut outcome = Outcome::default();
        for (index, shard) in lane.shards.iter_mut().enumerate() {
            if shard.held > 0 && !position.plan.options.takes(index * position.plan.lanes + number) {
                *shard = position.plan.shard();
            }
        }
        let records = position.decoded.lanes.get(number).map(Vec::as_slice).unwrap_or_default();
        let mut passed = 0;
        for group in records.chunks(GROUP) {
            let hints = lane.fetch(position, group);
            for (record, hint) in group.iter().zip(hints) {
                if position.plan.timed && !lane.is_in_time(position, record, &mut passed, &mut outcome) {
                    continue;
                }
                lane.step(position, record, hint, &mut outcome);
            }
        }
        lane.pass(position, u32::MAX, &mut passed, &mut outcome);
        if let Some(now) = position.decoded.chunk.now {
            lane.tick(position.plan, now, &mut outcome);
        }
        outcome
    }

    fn end(lane: &mut Lane, plan: &Self) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(until) = plan.options.until {
            lane.reach(plan, until, None, 0, &mut outcome);
        }
        outcome
    }

    fn unseen(&self) -> (Vec<Unseen>, bool) {
        self.wanted.unseen()
    }

    fn pending(lane: &mut Lane, plan: &Self) -> u64 {
        if plan.timed { lane.waiting(plan) } else { 0 }
    }

    fn open(lane: &Lane) -> u64 {
        let tables = lane.shards.iter().flat_map(|shard| &shard.families);
        tables.flat_map(Instances::entries).filter(|entry| entry.bundle.is_some()).count() as u64
    }
}

impl PropertyPlan {
    /// The number of the shard of `record` within its lane.
    #[inline]
    pub(super) fn shard_in_lane(&self, record: &Record) -> usize {
        usize::from(record.shard) >> self.lanes.trailing_zeros()
    }

    fn shard(&self) -> Shard {
        let families = self.families.iter().map(|_| Instances::default()).collect();
        Shard { families, ..Shard::default() }
    }
}

impl Lane {
    /// Looks where the instances of `group` are. With a million keys each is far away in memory; this way they are
    /// fetched at the same time, not one after the other.
    #[inline]
    fn fetch(&self, position: Position<'_>, group: &[Record]) -> [u32; GROUP] {
        let mut hints = [NOBODY; GROUP];
        let mut touched = 0;
        for (hint, record) in hints.iter_mut().zip(group) {
            let Some(instances) = self.instances(position.plan, record) else { continue };
            if instances.is_near() {
                continue;
            }
            *hint = instances.candidate(record.hash);
            touched ^= instances.touch(*hint);
        }
        // What they keep is elsewhere again.
        for (hint, record) in hints.iter_mut().zip(group).filter(|(hint, _)| **hint != NOBODY) {
            let Some(instances) = self.instances(position.plan, record) else { continue };
            let key = position.decoded.key_of(record).as_bytes();
            if !instances.is(*hint, record.hash, key) {
                *hint = instances.find(record.hash, key);
            }
            let entry = instances.entries().get(*hint as usize);
            let entry = entry.filter(|entry| !(record.letter == 0 && entry.rests));
            touched ^= entry.and_then(|entry| entry.bundle.as_ref()).map_or(0, PropertyBundle::touch);
        }
        std::hint::black_box(touched);
        hints
    }

    #[inline]
    fn instances(&self, plan: &PropertyPlan, record: &Record) -> Option<&Instances> {
        self.shards.get(plan.shard_in_lane(record))?.families.get(usize::from(record.family))
    }

    #[inline]
    fn step(&mut self, position: Position<'_>, record: &Record, hint: u32, outcome: &mut Outcome) {
        let Position { plan, decoded, .. } = position;
        if record.what != What::Event {
            return self.lose(position, record, outcome);
        }
        let Self { shards, memories, bump, lost, clock } = self;
        let Some(shard) = shards.get_mut(plan.shard_in_lane(record)) else { return };
        let family = usize::from(record.family);
        let any_lost = lost.get(family).copied().unwrap_or(false);
        let (Some(family), Some(memories)) = (plan.families.get(family), memories.get_mut(family)) else {
            return;
        };
        if record.letter != NO_LETTER {
            let key = decoded.key_of(record).as_bytes();
            let is_passed = record.letter == 0 && shard.pass(record, key, hint);
            if is_passed || shard.step_letter(plan, (record, key), family, hint, clock) {
                outcome.counts.events += u64::from(record.is_first);
                return;
            }
        }
        let line = record.place.of(&decoded.text);
        let columns = decoded.chunk.columns.as_deref();
        let members = decoded.members_of(record, plan.tree.members);
        match plan.reader.event(&decoded.text, &record.spans, members, line, columns, bump) {
            Ok(mut event) => {
                if family.timed {
                    event.time = Some(record.time);
                }
                outcome.counts.events += u64::from(record.is_first);
                let mut stepping =
                    Stepping { position, record, family, memories, outcome, clock, line, any_lost };
                if plan.options.replay && event.keys.get(FORWARDED) == Some(Term::Bool(false)) {
                    stepping.step_and_forget(shard, &event, hint);
                } else {
                    stepping.step(shard, &event, hint);
                }
            }
            Err(flaw) => {
                malformed(position, record, flaw, outcome);
                self.lose(position, record, outcome);
                return;
            }
        }
        if bump.allocated_bytes() > 0 {
            if bump.allocated_bytes() > KEPT {
                *bump = Bump::new();
            }
            bump.reset();
        }
    }
}

impl Shard {
    /// Counts an event that nobody asks for, if its instance is at rest; otherwise it is to be stepped over.
    #[inline]
    fn pass(&mut self, record: &Record, key: &[u8], hint: u32) -> bool {
        let Some(instances) = self.families.get_mut(usize::from(record.family)) else { return false };
        let index = if hint == NOBODY { instances.find(record.hash, key) } else { hint };
        let Some(entry) = instances.entry(index).filter(|entry| entry.rests) else { return false };
        entry.events += 1;
        true
    }
}

impl Lane {
    /// Moves the watermark over the lines up to `through`, of which `passed` are behind it.
    #[inline]
    fn pass(&mut self, position: Position<'_>, through: u32, passed: &mut usize, outcome: &mut Outcome) {
        while let Some((line, time)) =
            position.decoded.times.get(*passed).filter(|(line, _)| *line <= through)
        {
            *passed += 1;
            self.reach(position.plan, *time, Some(&|| position.place(*line)), *line, outcome);
        }
    }

    /// Whether the event of `record` can be judged where it is: if its properties speak of time, it has one, and is not too late.
    #[inline]
    fn is_in_time(
        &mut self,
        position: Position<'_>,
        record: &Record,
        passed: &mut usize,
        outcome: &mut Outcome,
    ) -> bool {
        self.pass(position, record.line, passed, outcome);
        if position.decoded.chunk.is_late(record.line) && record.what == What::Event {
            if record.is_first {
                outcome.counts.malformed += 1;
                let notice = Notice::Malformed(position.place(record.line), TOO_LATE.to_owned());
                outcome.notices.push((record.line, notice));
            }
            self.lose(position, record, outcome);
            return false;
        }
        let timed = position.plan.families.get(usize::from(record.family)).is_some_and(|family| family.timed);
        let in_time = record.time != NO_TIME && record.time >= self.clock.watermark;
        if !timed || record.what != What::Event || in_time {
            return true;
        }
        self.refuse_time(position, record, outcome);
        false
    }

    #[cold]
    fn refuse_time(&mut self, position: Position<'_>, record: &Record, outcome: &mut Outcome) {
        let why = match record.time {
            NO_TIME => format!("its time cannot be read, and properties ask for it: write {}", time::FORMATS),
            late => format!(
                "too late to be judged: it is of {}, and events up to {} came before it (--reorder)",
                time::show(late),
                time::show(self.clock.watermark)
            ),
        };
        if record.is_first {
            outcome.counts.malformed += 1;
            outcome.notices.push((record.line, Notice::Malformed(position.place(record.line), why)));
        }
        self.lose(position, record, outcome);
    }
}

/// More keys than this whose first event was lost are not remembered one by one.
const MAX_LOST_KEYS: usize = 1 << 16;

impl Lane {
    /// An event of the record's key, or of any, could not be read.
    #[cold]
    fn lose(&mut self, position: Position<'_>, record: &Record, outcome: &mut Outcome) {
        let family = usize::from(record.family);
        let Some(shard) = self.shards.get_mut(position.plan.shard_in_lane(record)) else { return };
        let mut anywhere = record.what == What::LostAnywhere;
        if !anywhere && let Some(instances) = shard.families.get_mut(family) {
            let key = position.decoded.key_of(record);
            let index = instances.find(record.hash, key.as_bytes());
            match instances.entry(index) {
                Some(entry) => entry.lost = true,
                None if shard.lost.len() < MAX_LOST_KEYS => {
                    shard.lost.insert((record.family, key.into()));
                }
                None => {
                    anywhere = true;
                    outcome.lost_of_families.push((record.line, record.family));
                }
            }
        }
        // Every shard is told of an event of any key, and one of them counts it.
        if record.what == What::LostAnywhere && record.shard == 0 {
            outcome.lost_of_families.push((record.line, record.family));
        }
        if anywhere && let Some(lost) = self.lost.get_mut(family) {
            *lost = true;
        }
    }
}

#[cold]
fn malformed(position: Position<'_>, record: &Record, flaw: Flaw, outcome: &mut Outcome) {
    if record.is_first {
        outcome.counts.malformed += 1;
        let why = format!("{} at column {}", flaw.what, flaw.at + 1);
        outcome.notices.push((record.line, Notice::Malformed(position.place(record.line), why)));
    }
}

/// One event for the instances of one key.
struct Stepping<'a> {
    position: Position<'a>,
    record: &'a Record,
    family: &'a Family,
    memories: &'a mut PropertyMemories,
    outcome: &'a mut Outcome,
    clock: &'a mut Clock,
    line: &'a str,
    /// Whether any instance of the family may have missed an event.
    any_lost: bool,
}

impl Stepping<'_> {
    /// Judges an event that did not go on, as the guard did: for what comes later it has not happened.
    #[cold]
    fn step_and_forget(&mut self, shard: &mut Shard, event: &EventView<'_>, hint: u32) {
        let key = self.position.decoded.key_of(self.record).as_bytes();
        let (hash, family) = (self.record.hash, usize::from(self.record.family));
        let held = shard.held;
        let entry = |shard: &mut Shard| {
            let instances = shard.families.get_mut(family)?;
            let index = instances.find(hash, key);
            instances.entry(index).map(|entry| (entry.bundle.clone(), entry.events, entry.anew))
        };
        let before = entry(shard);
        self.step(shard, event, hint);
        let index = shard.families.get(family).map_or(NOBODY, |instances| instances.find(hash, key));
        let Some(entry) = shard.families.get_mut(family).and_then(|instances| instances.entry(index)) else {
            return;
        };
        (entry.bundle, entry.events, entry.anew) = match before {
            Some(before) => {
                shard.held = held;
                before
            }
            None => (self.family.properties.begin(self.memories, event), 0, None),
        };
        if let Some(history) = entry.history.as_mut().filter(|history| !history.is_cut) {
            history.lines.pop();
        }
    }

    #[inline]
    fn step(&mut self, shard: &mut Shard, event: &EventView<'_>, hint: u32) {
        let plan = self.position.plan;
        let key = self.position.decoded.key_of(self.record).as_bytes();
        let limit = plan.limit();
        let Shard { families, held, full, lost } = shard;
        let Some(instances) = families.get_mut(usize::from(self.record.family)) else { return };
        let mut index = hint;
        if index == NOBODY {
            index = instances.find(self.record.hash, key);
        }
        if index == NOBODY {
            // Instances per process: perhaps nobody has asked for this one.
            let Some(bundle) = self.family.properties.begin(self.memories, event) else { return };
            if *held >= limit {
                return self.refuse(full);
            }
            *held += bundle.submonitors().max(1);
            index = instances.insert(self.record.hash, key, bundle);
            self.outcome.counts.sessions += 1;
            if !lost.is_empty() {
                let key = self.position.decoded.key_of(self.record);
                let is_lost = lost.remove(&(self.record.family, key.into()));
                instances.entry(index).into_iter().for_each(|entry| entry.lost = is_lost);
            }
        }
        let Some(entry) = instances.entry(index) else { return };
        let number = entry.events;
        entry.events += 1;
        if entry.bundle.is_none() && entry.anew.is_some_and(|time| self.record.time >= time) {
            entry.bundle = self.family.properties.begin_anew(self.memories, event, number);
            if let Some(bundle) = &entry.bundle {
                entry.anew = None;
                // The key itself was kept.
                *held = held.saturating_add(bundle.submonitors().max(1)).saturating_sub(1);
            }
        }
        let Some(bundle) = &mut entry.bundle else { return };
        let may_rest = self.family.indifference.is_some();
        if may_rest {
            bundle.note_events(number);
        }
        let step = self.family.properties.step(self.memories, bundle, event, limit.saturating_sub(*held));
        *held = held.saturating_add_signed(step.grown);
        let is_done = bundle.is_done();
        if may_rest {
            entry.rests = !is_done && self.family.properties.rests(bundle);
        }
        if step.fault {
            self.fault();
        }
        if self.family.timed && !is_done {
            let deadline = self.family.properties.next_deadline(bundle);
            // INVARIANT: as many as the record has bits for.
            let shard = plan.shard_in_lane(self.record) as u16;
            self.clock.wake(entry, deadline, (shard, self.record.family, index));
        }
        if plan.options.history > 0 {
            keep(entry, self.line, plan.options.history);
        }
        if !step.verdicts.is_empty() {
            self.tell(entry, number, event, &step.verdicts);
        }
        if is_done {
            // The key itself is still kept.
            *held += 1;
            let verdict = step.verdicts.iter().any(|(_, verdict)| *verdict != PropertyVerdict::ResourceLimit);
            entry.anew = self.family.begins_anew(self.record.time).filter(|_| verdict);
            entry.bundle = None;
            entry.history = None;
        }
    }

    /// Something about times had no value: that part of a property says nothing of this event.
    #[cold]
    fn fault(&mut self) {
        self.outcome.counts.malformed += 1;
        let why = "a guard or duration that computes with times has no value here, or a duration is negative: what \
                   depends on it is not judged";
        let notice = Notice::Malformed(self.position.place(self.record.line), why.to_owned());
        self.outcome.notices.push((self.record.line, notice));
    }

    /// There is no room for another key: says so once for each family and shard.
    #[cold]
    fn refuse(&mut self, full: &mut Vec<u16>) {
        self.outcome.counts.unjudged += 1;
        if full.contains(&self.record.family) {
            return;
        }
        full.push(self.record.family);
        for member in 0..self.family.numbers.len() {
            let Some(report) = self.report(member, PropertyVerdict::ResourceLimit, 0) else { continue };
            self.outcome.notices.push((self.record.line, Notice::Property(Box::new(report))));
            self.outcome.counts.limited += 1;
        }
    }

    #[cold]
    fn tell(
        &mut self,
        entry: &Entry,
        number: u64,
        event: &EventView<'_>,
        verdicts: &[(usize, PropertyVerdict)],
    ) {
        for (member, verdict) in verdicts {
            let Some(mut report) = self.report(*member, *verdict, number as i64) else { continue };
            report.got = Some(show(event));
            report.sentence = self.memories.take_reason(*member).map(|reason| reason.sentence);
            report.certain = !(entry.lost || self.any_lost);
            let is_open = self.any_lost && !entry.lost && *verdict != PropertyVerdict::ResourceLimit;
            report.lost_elsewhere = is_open.then_some(self.record.family);
            if let Some(history) = &entry.history {
                self.explain(history, &mut report);
            }
            let notice = Notice::Property(Box::new(report));
            if !is_open {
                self.outcome.counts.count(&notice);
            }
            self.outcome.notices.push((self.record.line, notice));
        }
    }

    /// Adds why the verdict was given.
    fn explain(&self, history: &History, report: &mut PropertyReport) {
        let plan = self.position.plan;
        if history.is_cut {
            report.unexplained = Some("the instance has had more events than are kept");
            return;
        }
        if report.verdict == PropertyVerdict::ResourceLimit {
            return;
        }
        if report.property.is_timed() {
            report.unexplained = Some("none is made of a property that speaks of time");
            report.history.clone_from(&history.lines);
            return;
        }
        let bump = Bump::new();
        let columns = self.position.decoded.chunk.columns.as_deref();
        let events = history.lines.iter().map(|line| {
            let spans = plan.reader.spans(line)?;
            plan.reader.event(line, &spans, None, line, columns, &bump)
        });
        let events: Result<Vec<EventView<'_>>, Flaw> = events.collect();
        report.derivation = events.ok().and_then(|events| Derivation::find(&report.property, &events));
        if report.derivation.is_none() {
            report.unexplained = Some("the derivation is too large");
        }
        report.history.clone_from(&history.lines);
    }

    /// When the event was, as it says.
    fn time(&self) -> Option<String> {
        let decoded = self.position.decoded;
        let text = match decoded.chunk.columns.as_deref() {
            Some(columns) => columns.parts(self.line).ok()?[Part::Time as usize].as_deref()?.to_owned(),
            None => scalar_text(self.record.spans.get(Part::Time).of(&decoded.text)),
        };
        Some(text).filter(|text| !text.is_empty())
    }

    fn report(&self, member: usize, verdict: PropertyVerdict, event: i64) -> Option<PropertyReport> {
        let key = self.position.decoded.key_of(self.record);
        let by_session = self.family.keyed_by == super::plan::KeyedBy::Session;
        let key = Some(key.to_owned()).filter(|key| !(by_session && key.is_empty()));
        Some(PropertyReport {
            number: *self.family.numbers.get(member)?,
            property: Arc::clone(self.family.properties.monitors().get(member)?.property()),
            verdict,
            certain: true,
            session: key.clone().filter(|_| by_session),
            key: key.filter(|_| !by_session),
            event,
            got: None,
            place: Some(self.position.place(self.record.line)),
            time: self.time(),
            history: Vec::new(),
            derivation: None,
            unexplained: None,
            deadline: None,
            sentence: None,
            lost_elsewhere: None,
        })
    }
}

/// Keeps `line` for explanations, up to `most` of them.
#[cold]
fn keep(entry: &mut Entry, line: &str, most: usize) {
    let history: &mut History = entry.history.get_or_insert_default();
    if history.lines.len() < most {
        history.lines.push(line.into());
    } else {
        history.is_cut = true;
    }
}
