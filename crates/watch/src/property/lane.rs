//! From records to verdicts: a lane owns the instances of its shards, so that its chunks are worked on one after the
//! other, in order.

use std::sync::Arc;

use bumpalo::Bump;
use referee_monitor::property::{
    Derivation, PropertyInstance, PropertyMemory, PropertyMonitor, PropertyVerdict,
};
use referee_theory::property::EventView;
use smallvec::SmallVec;

use super::decode::{Record, decode};
use super::event::show;
use super::instances::{Entry, History, Instances, NOBODY};
use super::plan::{Family, PropertyPlan};
use crate::decode::Decoded;
use crate::input::Chunk;
use crate::lane::Outcome;
use crate::report::{Notice, PropertyReport};
use crate::run::{self, Job};
use crate::scan::Flaw;

type Position<'a> = run::Position<'a, PropertyPlan>;

/// Some shards.
pub(super) struct Lane {
    shards: Vec<Shard>,
    /// What stepping has learned, for each property.
    memories: Vec<PropertyMemory>,
    bump: Bump,
}

#[derive(Default)]
struct Shard {
    /// For each family.
    families: Vec<Instances>,
    /// How many submonitors and keys are kept.
    held: usize,
    /// Families that had no room for a key, which has been told.
    full: Vec<u16>,
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
        let shard = || Shard {
            families: self.families.iter().map(|_| Instances::default()).collect(),
            ..Shard::default()
        };
        Lane {
            shards: (0..self.shards / self.lanes).map(|_| shard()).collect(),
            memories: self.monitors.iter().map(|monitor| monitor.memory()).collect(),
            bump: Bump::new(),
        }
    }

    fn decode(&self, chunk: Chunk, place: &mut Decoded<Record>) {
        decode(self, chunk, place);
    }

    fn work(lane: &mut Lane, position: Position<'_>, number: usize) -> Outcome {
        let mut outcome = Outcome::default();
        let records = position.decoded.lanes.get(number).map(Vec::as_slice).unwrap_or_default();
        for group in records.chunks(GROUP) {
            let hints = lane.fetch(position, group);
            for (record, hint) in group.iter().zip(hints) {
                lane.step(position, record, hint, &mut outcome);
            }
        }
        outcome
    }

    fn open(lane: &Lane) -> u64 {
        let tables = lane.shards.iter().flat_map(|shard| &shard.families);
        tables.flat_map(Instances::entries).filter(|entry| !entry.instances.is_empty()).count() as u64
    }
}

impl Lane {
    /// Looks where the instances of `group` are. With a million keys each is far away in memory; this way they are
    /// fetched at the same time, not one after the other.
    #[inline]
    fn fetch(&self, position: Position<'_>, group: &[Record]) -> [u32; GROUP] {
        let mut hints = [NOBODY; GROUP];
        let lanes = position.plan.lanes;
        let mut touched = 0;
        for (hint, record) in hints.iter_mut().zip(group) {
            let shard = self.shards.get(usize::from(record.shard) / lanes);
            let Some(instances) = shard.and_then(|shard| shard.families.get(usize::from(record.family)))
            else {
                continue;
            };
            if instances.is_near() {
                continue;
            }
            *hint = instances.find(record.hash, position.decoded.key_of(record).as_bytes());
            touched ^= instances.entries().get(*hint as usize).map_or(0, |entry| entry.events);
        }
        std::hint::black_box(touched);
        hints
    }

    #[inline]
    fn step(&mut self, position: Position<'_>, record: &Record, hint: u32, outcome: &mut Outcome) {
        let Position { plan, decoded, .. } = position;
        let Self { shards, memories, bump } = self;
        let Some(shard) = shards.get_mut(usize::from(record.shard) / plan.lanes) else { return };
        let Some(family) = plan.families.get(usize::from(record.family)) else { return };
        let line = record.place.of(&decoded.text);
        let columns = decoded.chunk.columns.as_deref();
        match plan.reader.event(&decoded.text, &record.spans, line, columns, bump) {
            Ok(event) => {
                outcome.counts.events += u64::from(record.is_first);
                let mut stepping = Stepping { position, record, family, memories, outcome, line };
                stepping.step(shard, &event, hint);
            }
            Err(flaw) => malformed(position, record, flaw, outcome),
        }
        if bump.allocated_bytes() > 0 {
            if bump.allocated_bytes() > KEPT {
                *bump = Bump::new();
            }
            bump.reset();
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
    memories: &'a mut [PropertyMemory],
    outcome: &'a mut Outcome,
    line: &'a str,
}

impl Stepping<'_> {
    #[inline]
    fn step(&mut self, shard: &mut Shard, event: &EventView<'_>, hint: u32) {
        let plan = self.position.plan;
        let key = self.position.decoded.key_of(self.record).as_bytes();
        let limit = plan.limit();
        let Shard { families, held, full } = shard;
        let Some(instances) = families.get_mut(usize::from(self.record.family)) else { return };
        let mut index = hint;
        if index == NOBODY {
            index = instances.find(self.record.hash, key);
        }
        if index == NOBODY {
            let begin = |member: &usize| plan.monitors.get(*member)?.begin(event);
            let begun: SmallVec<[_; 1]> = self.family.members.iter().map(begin).collect();
            // Instances per process: nobody has asked for this one.
            if begun.iter().all(Option::is_none) {
                return;
            }
            if *held >= limit {
                return self.refuse(full);
            }
            let begun =
                begun.into_iter().map(|instance| instance.unwrap_or_else(PropertyInstance::done)).collect();
            index = instances.insert(self.record.hash, key, begun);
            *held += 1;
            self.outcome.counts.sessions += 1;
        }
        let Some(entry) = instances.entry(index) else { return };
        let number = entry.events;
        entry.events += 1;
        if entry.instances.is_empty() {
            return;
        }
        if plan.options.history > 0 {
            keep(entry, self.line, plan.options.history);
        }
        let mut all_done = true;
        let mut verdicts: SmallVec<[(usize, PropertyVerdict); 2]> = SmallVec::new();
        for (member, instance) in self.family.members.iter().zip(&mut entry.instances) {
            let (Some(monitor), Some(memory)) = (plan.monitors.get(*member), self.memories.get_mut(*member))
            else {
                continue;
            };
            let before = instance.submonitors();
            let room = limit.saturating_sub(*held).saturating_add(before);
            if let Some(verdict) = monitor.step(memory, instance, event, room.max(1)) {
                verdicts.push((*member, verdict));
            }
            // The first submonitor is paid for by the key.
            let after = instance.submonitors();
            *held = (*held + after.saturating_sub(1)).saturating_sub(before.saturating_sub(1));
            all_done &= instance.is_done();
        }
        if !verdicts.is_empty() {
            self.tell(entry, number, event, &verdicts);
        }
        if all_done {
            entry.instances = SmallVec::new();
            entry.history = None;
        }
    }

    /// There is no room for another key: says so once for each family and shard.
    #[cold]
    fn refuse(&mut self, full: &mut Vec<u16>) {
        self.outcome.counts.unjudged += 1;
        if full.contains(&self.record.family) {
            return;
        }
        full.push(self.record.family);
        for member in &self.family.members {
            let Some(monitor) = self.position.plan.monitors.get(*member) else { continue };
            let report = self.report(monitor, PropertyVerdict::ResourceLimit, 0);
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
            let Some(monitor) = self.position.plan.monitors.get(*member) else { continue };
            let mut report = self.report(monitor, *verdict, number as i64);
            report.got = Some(show(event));
            if let Some(history) = &entry.history {
                self.explain(history, &mut report);
            }
            match verdict {
                PropertyVerdict::Violation => self.outcome.counts.violated += 1,
                PropertyVerdict::Satisfaction => self.outcome.counts.satisfied += 1,
                PropertyVerdict::ResourceLimit => self.outcome.counts.limited += 1,
            }
            self.outcome.notices.push((self.record.line, Notice::Property(Box::new(report))));
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
        let bump = Bump::new();
        let columns = self.position.decoded.chunk.columns.as_deref();
        let events = history.lines.iter().map(|line| {
            let spans = plan.reader.spans(line)?;
            plan.reader.event(line, &spans, line, columns, &bump)
        });
        let events: Result<Vec<EventView<'_>>, Flaw> = events.collect();
        report.derivation = events.ok().and_then(|events| Derivation::find(&report.property, &events));
        if report.derivation.is_none() {
            report.unexplained = Some("the derivation is too large");
        }
        report.history.clone_from(&history.lines);
    }

    fn report(&self, monitor: &PropertyMonitor, verdict: PropertyVerdict, event: i64) -> PropertyReport {
        let key = self.position.decoded.key_of(self.record);
        let by_session = self.family.keyed_by == super::plan::KeyedBy::Session;
        let key = Some(key.to_owned()).filter(|key| !(by_session && key.is_empty()));
        PropertyReport {
            property: Arc::clone(monitor.property()),
            verdict,
            session: key.clone().filter(|_| by_session),
            key: key.filter(|_| !by_session),
            event,
            got: None,
            place: Some(self.position.place(self.record.line)),
            history: Vec::new(),
            derivation: None,
            unexplained: None,
        }
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
