//! From records to verdicts: the second stage. A lane owns the sessions of its shards, so its chunks are
//! worked on one after the other, in order.

mod careful;
pub(crate) mod clock;
mod endings;
mod explain;
pub(crate) mod keyed;
mod orders;
mod skewed;
mod uncertain;
pub(crate) mod window;

use bumpalo::Bump;
use clock::When;
use referee_monitor::{FieldValue, Payload, Session, Verdict};

use crate::decode::event::What;
use crate::decode::{Decoded, Record, decode};
use crate::input::{Chunk, TOO_LATE};
use crate::payload::{self, INLINE, Inline};
use crate::plan::Plan;
use crate::report::{Counts, Notice, Report};
use crate::run::Job;
use crate::scan::Flaw;
use crate::sessions::{NOBODY, Sessions, Status};

/// When the memory for one event's decoded values has grown beyond this, it is given back.
const KEPT: usize = 1 << 20;

/// How many sessions are looked for at the same time.
const GROUP: usize = 32;

/// Some shards, apart in the cache from what other threads write.
#[repr(align(128))]
pub(crate) struct Lane {
    shards: Vec<Sessions>,
    bump: Bump,
    clock: clock::Clock,
    /// By shard, where inputs are merged whose clocks may differ.
    settling: Vec<skewed::Settling>,
}

/// What one lane found in one chunk.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many lines of the input come before the chunk.
    pub(crate) base: u64,
    /// By line within the chunk.
    pub(crate) notices: Vec<(u32, Notice)>,
    /// By line within the chunk, after the notices, and by the number of the event's own line among all.
    pub(crate) settled: Vec<(u32, i64, Notice)>,
    pub(crate) counts: Counts,
    /// Sessions that only lost events of unknown sessions explain.
    pub(crate) claims: Vec<Claim>,
    /// By line within the chunk: families of properties of which any instance may have had the event that was lost.
    pub(crate) lost_of_families: Vec<(u32, u16)>,
}

/// A session needs lost events to be right. If there are none left, it is wrong.
#[derive(Debug)]
pub(crate) struct Claim {
    /// The line within the chunk.
    pub(crate) line: u32,
    /// The number of the event's own line among all, where it was judged later.
    pub(crate) event: i64,
    /// How many lost events it needs.
    pub(crate) events: u32,
    pub(crate) otherwise: Box<Report>,
}

/// A chunk of sessions' events and where it is.
pub(crate) type Position<'a> = crate::run::Position<'a, Plan>;

impl Job for Plan {
    type Record = Record;
    type Lane = Lane;

    fn lanes(&self) -> usize {
        self.lanes
    }

    fn lane(&self) -> Lane {
        Lane::new(self)
    }

    fn decode(&self, chunk: Chunk, place: &mut Decoded) {
        decode(self, chunk, place);
    }

    fn work(lane: &mut Lane, position: Position<'_>, number: usize) -> Outcome {
        lane.work(position, number)
    }

    fn open(lane: &Lane) -> u64 {
        lane.open()
    }

    fn end(lane: &mut Lane, plan: &Self) -> Outcome {
        let mut outcome = Outcome::default();
        // Whoever goes on later knows what comes then.
        if plan.options.checkpoint.is_none() {
            lane.settle_all(plan, &mut outcome);
        }
        if let Some(until) = plan.options.until.filter(|_| plan.timed) {
            lane.reach(plan, until, 0, &mut outcome);
        }
        if plan.options.calls.is_some() {
            // What still waits is not judged.
            let waiting = lane.shards.iter_mut().flat_map(|sessions| sessions.live_entries());
            let waiting = waiting.filter_map(|entry| entry.extra.as_ref()?.calls.as_ref());
            outcome.counts.unjudged += waiting.map(|calls| calls.waiting()).sum::<u64>();
        }
        outcome
    }

    fn pending(lane: &mut Lane, plan: &Self) -> u64 {
        if plan.timed { lane.waiting(plan) } else { 0 }
    }
}

impl Plan {
    fn sessions(&self) -> Sessions {
        Sessions::new(self.monitor.session(), self.options.join, self.idle_limit(), self.ended_limit())
    }
}

impl Lane {
    pub(crate) fn new(plan: &Plan) -> Self {
        let shards: Vec<Sessions> = (0..plan.shards / plan.lanes).map(|_| plan.sessions()).collect();
        let settling = plan.skew.iter().flat_map(|_| &shards).map(|_| skewed::Settling::default()).collect();
        Self { shards, bump: Bump::new(), clock: clock::Clock::default(), settling }
    }

    /// How many sessions are not over.
    pub(crate) fn open(&self) -> u64 {
        self.shards.iter().map(|sessions| sessions.live() as u64).sum()
    }

    /// Steps over the records of lane `number` of a chunk.
    pub(crate) fn work(&mut self, position: Position<'_>, number: usize) -> Outcome {
        let mut outcome = Outcome::default();
        let plan = position.plan;
        for (index, sessions) in self.shards.iter_mut().enumerate() {
            if sessions.created > 0 && !plan.options.takes(index * plan.lanes + number) {
                *sessions = plan.sessions();
            }
        }
        let before: (u64, u64) = self.totals();
        let records = position.decoded.lanes.get(number).map(Vec::as_slice).unwrap_or_default();
        let mut passed = 0;
        let is_skewed = plan.skew.is_some() && position.decoded.chunk.times.is_some();
        for group in records.chunks(GROUP) {
            let hints = self.fetch(position, group);
            for (record, hint) in group.iter().zip(hints) {
                let shard = usize::from(record.shard) / plan.lanes;
                if position.decoded.chunk.is_late(record.line) {
                    self.refuse_late(position, record, hint, &mut outcome);
                    continue;
                }
                let when = match plan.timed {
                    true => self.when(position, record, &mut passed, &mut outcome),
                    false => When::Unasked,
                };
                if record.what == What::LostAnywhere {
                    self.lose_skewed(position, record.line, &mut outcome);
                    self.shards.iter_mut().for_each(|sessions| sessions.lost += 1);
                    continue;
                }
                if is_skewed {
                    self.take_skewed(position, record, hint, &mut outcome);
                    self.clean();
                    continue;
                }
                let Some(sessions) = self.shards.get_mut(shard) else { continue };
                if plan.options.session_ends.is_any() {
                    let time = endings::before(position, record, sessions);
                    step(position, (record, when), sessions, hint, &self.bump, &mut outcome);
                    endings::after(position, record, sessions, time);
                } else {
                    step(position, (record, when), sessions, hint, &self.bump, &mut outcome);
                }
                if plan.timed {
                    let index = sessions.find(record.hash, position.decoded.key(record));
                    self.wake(plan, shard, index);
                }
                self.clean();
            }
        }
        self.end_skewed(position, &mut outcome);
        if plan.timed {
            self.pass(position, u32::MAX, &mut passed, &mut outcome);
            if let Some(now) = position.decoded.chunk.now {
                self.tick(plan, now, &mut outcome);
            }
        }
        let after = self.totals();
        outcome.counts.sessions = after.0 - before.0;
        outcome.counts.evicted = after.1 - before.1;
        outcome
    }

    /// What was decoded of an event is not needed any more.
    #[inline]
    fn clean(&mut self) {
        if self.bump.allocated_bytes() > 0 {
            if self.bump.allocated_bytes() > KEPT {
                self.bump = Bump::new();
            }
            self.bump.reset();
        }
    }

    /// The line of `record` came too late to be put in order: where it would have stood nobody can judge it any more.
    #[cold]
    fn refuse_late(&mut self, position: Position<'_>, record: &Record, hint: u32, outcome: &mut Outcome) {
        outcome.counts.malformed += 1;
        let notice = Notice::Malformed(position.place(record.line), TOO_LATE.to_owned());
        outcome.notices.push((record.line, notice));
        if record.what == What::LostAnywhere {
            self.lose_skewed(position, record.line, outcome);
            self.shards.iter_mut().for_each(|sessions| sessions.lost += 1);
        } else if position.plan.skew.is_some() && position.decoded.chunk.times.is_some() {
            self.lose_late(position, record, hint, outcome);
        } else if let Some(sessions) = self.shards.get_mut(usize::from(record.shard) / position.plan.lanes) {
            uncertain::lose(position, record, sessions, hint, outcome);
        }
    }

    /// Looks where the sessions of `group` are. With a million sessions each is far away in memory; this way
    /// they are fetched at the same time, not one after the other.
    #[inline]
    fn fetch(&self, position: Position<'_>, group: &[Record]) -> [u32; GROUP] {
        let mut hints = [NOBODY; GROUP];
        if self.shards.iter().all(|sessions| sessions.is_near()) {
            return hints;
        }
        let mut touched = 0;
        for (hint, record) in hints.iter_mut().zip(group) {
            let shard = usize::from(record.shard) / position.plan.lanes;
            let Some(sessions) = self.shards.get(shard) else { continue };
            *hint = sessions.find(record.hash, position.decoded.key(record));
            touched ^= sessions.touch_memory(*hint);
        }
        std::hint::black_box(touched);
        hints
    }

    /// How many sessions were created and evicted.
    fn totals(&self) -> (u64, u64) {
        self.shards.iter().fold((0, 0), |(created, evicted), sessions| {
            (created + sessions.created, evicted + sessions.evicted)
        })
    }
}

#[inline]
fn step(
    position: Position<'_>,
    (record, when): (&Record, When),
    sessions: &mut Sessions,
    hint: u32,
    bump: &Bump,
    outcome: &mut Outcome,
) {
    let index = sessions.locate(record.hash, position.decoded.key(record), hint);
    step_located(position, (record, when), sessions, index, bump, outcome);
}

/// Steps the session at `index`, which is that of `record`.
#[inline]
fn step_located(
    position: Position<'_>,
    (record, when): (&Record, When),
    sessions: &mut Sessions,
    index: u32,
    bump: &Bump,
    outcome: &mut Outcome,
) {
    let Position { plan, decoded, .. } = position;
    let mut values: Inline<'_> = [FieldValue::Unit; INLINE];
    let is_json = decoded.chunk.columns.is_none();
    let decoded_payload = match is_json {
        true => match json_payload(plan, record.payload.of(&decoded.text), record.label, &mut values, bump) {
            Ok(payload) => payload,
            Err(flaw) => {
                malformed(position, record, flaw, outcome);
                return uncertain::lose(position, record, sessions, index, outcome);
            }
        },
        false => Payload::Positional(&[]),
    };
    if record.what == What::Lost {
        return uncertain::lose(position, record, sessions, index, outcome);
    }
    outcome.counts.events += 1;
    let lost = sessions.lost;
    let Some(entry) = sessions.entry(index) else { return };
    let plain = record.what == What::Message && is_json && entry.status != Status::Evicted;
    if !plain || entry.extra.is_some() || entry.lost != lost || plan.careful {
        return careful::step(position, (record, when), sessions, index, decoded_payload, bump, outcome);
    }
    let number = entry.events;
    entry.events += 1;
    let label = plan.names.label_id(record.label);
    let verdict = plan.monitor.step_interned(&mut entry.session, record.channel, label, decoded_payload);
    if verdict == Verdict::Forward {
        if plan.monitor.is_over(&entry.session) && entry.status == Status::Live {
            outcome.counts.ended += 1;
            sessions.retire(index, Status::Ended);
        }
        return;
    }
    let line = careful::Line {
        text: decoded.line(record),
        columns: None,
        number,
        place: position.place(record.line),
        from: record.from,
        row: record.line,
    };
    careful::settle(plan, &line, sessions, index, verdict, decoded_payload, outcome);
}

/// The payload of a JSON event.
#[inline]
fn json_payload<'a>(
    plan: &Plan,
    text: &'a str,
    label: u32,
    values: &'a mut Inline<'a>,
    bump: &'a Bump,
) -> Result<Payload<'a>, Flaw> {
    if text.is_empty() {
        return Ok(Payload::Positional(&[]));
    }
    if !plan.tree.flat
        && let Some(declared) = plan.names.declared(label)
        && let Some(count) = payload::declared(text, declared, values, bump)?
    {
        return Ok(Payload::Positional(values.get(..count).unwrap_or_default()));
    }
    if plan.tree.flat {
        let fields = plan.names.fields(label);
        let wanted = |name: &str| fields.iter().any(|field| field.name.as_deref() == Some(name));
        return payload::general(text, Some(&wanted), bump);
    }
    payload::general(text, None, bump)
}

/// The fields that the message `label` declares, preferring what can come now.
fn fields_now<'a>(plan: &'a Plan, session: &Session, label: u32) -> &'a [referee_theory::Field] {
    let vocabulary = plan.monitor.vocabulary();
    let id = plan.names.label_id(label);
    let now = plan
        .monitor
        .expected(session)
        .iter()
        .find(|transition| plan.monitor.label(vocabulary.label_of(transition.message)) == id);
    match now {
        Some(transition) => &vocabulary.spec(transition.message).fields,
        None => plan.names.fields(label),
    }
}

#[cold]
fn malformed(position: Position<'_>, record: &Record, flaw: Flaw, outcome: &mut Outcome) {
    outcome.counts.malformed += 1;
    let column = record.payload.start as usize + flaw.at + 1 - record.place.start as usize;
    let why = format!("{} at column {column}", flaw.what);
    outcome.notices.push((record.line, Notice::Malformed(position.place(record.line), why)));
}
