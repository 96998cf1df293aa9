//! The work of all threads: read, decode, step, tell.
//!
//! Every thread does whatever can be done next, preferring what is furthest along, so that little is under way
//! at a time: tell of a chunk that is done, step a lane over the next chunk, or read a chunk and decode it.
//! Chunks are numbered as they are read. A lane takes them in that order, and they are told of in that order:
//! what is said does not depend on how many threads there are.

mod board;
mod claims;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use referee_monitor::Monitor;
use referee_theory::Role;

use self::board::{Board, Task};
use self::claims::Claims;
use crate::checkpoint::resuming;
use crate::decode::Decoded;
use crate::decode::fields::Scanner;
use crate::error::WatchError;
use crate::input::reorder::{Reorder, time_of};
use crate::input::{Chunk, Input, LinesIn};
use crate::lane::{Claim, Outcome};
use crate::options::Options;
use crate::plan::Plan;
use crate::report::{Notice, Observer, Place, Progress, Summary, Unseen};
use crate::shape::Tree;

/// Watches the events of `inputs` with `monitor` and tells `observer` what it finds.
///
/// `aliases` are further names by which events call the protocol's roles.
///
/// # Errors
/// If an input cannot be read, or the observer does not want to hear more.
pub fn watch(
    monitor: Arc<Monitor>,
    aliases: &[(String, Role)],
    inputs: Vec<Input>,
    mut options: Options,
    observer: &mut dyn Observer,
) -> Result<Summary, WatchError> {
    options.clock |= monitor.is_timed();
    if monitor.is_timed() || options.calls.is_some() || options.session_ends.is_any() || inputs.len() < 2 {
        options.skew = None;
    }
    // What waits for its order does so no longer than the clock says.
    options.clock |= options.skew.is_some();
    let plan = Plan::new(monitor, aliases, options.clone());
    resuming(&options, observer, |observer| work(plan, inputs, &options, observer))
}

/// How often a thread looks for a change before it sleeps: some tens of microseconds.
const LINGER: u32 = 2_000;

/// What is done with chunks: any thread decodes any chunk; a lane is worked on by one thread at a time, in the order
/// of the input.
pub(crate) trait Job: Sync + Sized {
    /// An event, decoded.
    type Record: Send + Sync;
    /// Some of the sessions or instances.
    type Lane: Send;

    /// How many lanes there are.
    fn lanes(&self) -> usize;
    /// A new lane.
    fn lane(&self) -> Self::Lane;
    /// Decodes `chunk` into `place`, which is empty.
    fn decode(&self, chunk: Chunk, place: &mut Decoded<Self::Record>);
    /// Steps over the records of the lane with this number.
    fn work(lane: &mut Self::Lane, position: Position<'_, Self>, number: usize) -> Outcome;
    /// How many sessions of the lane are not over.
    fn open(lane: &Self::Lane) -> u64;
    /// The input has ended.
    fn end(_lane: &mut Self::Lane, _plan: &Self) -> Outcome {
        Outcome::default()
    }
    /// Names that no event had, and whether nothing could be judged without them.
    fn unseen(&self) -> (Vec<Unseen>, bool) {
        (Vec::new(), false)
    }
    /// How many deadlines have not passed.
    fn pending(_lane: &mut Self::Lane, _plan: &Self) -> u64 {
        0
    }
}

/// A chunk and where it is.
pub(crate) struct Position<'a, J: Job> {
    pub(crate) plan: &'a J,
    pub(crate) decoded: &'a Decoded<J::Record>,
    /// How many lines of its input come before it.
    pub(crate) base: u64,
    /// The names of all inputs.
    pub(crate) files: &'a [Arc<str>],
}

impl<J: Job> Clone for Position<'_, J> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<J: Job> Copy for Position<'_, J> {}

impl<J: Job> Position<'_, J> {
    pub(crate) fn place(&self, line: u32) -> Place {
        let number = match &self.decoded.chunk.numbers {
            Some(numbers) => numbers.get(line as usize).copied().unwrap_or_default(),
            None => self.base + u64::from(line),
        };
        let file = self.files.get(self.decoded.chunk.source_of(line as usize));
        Place { file: file.cloned().unwrap_or_else(|| "-".into()), line: number + 1 }
    }
}

/// Does the work of `plan` over `inputs`.
pub(crate) fn work<J: Job>(
    plan: J,
    inputs: Vec<Input>,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Summary, WatchError> {
    let threads = options.threads.max(1);
    let files = inputs.iter().map(|input| Arc::clone(&input.name)).collect::<Vec<_>>();
    let inputs = LinesIn::new(inputs, options);
    let lines = match options.reorder {
        None => Lines::AsRead(inputs),
        Some(window) => {
            let tree = Tree::new(&options.shape);
            Lines::ByTime(Box::new(Reorder::new(inputs, tree, window, &files, options)))
        }
    };
    let work = Work {
        board: Mutex::new(Board::new(plan.lanes(), files.len(), 2 * threads + 2)),
        changed: Condvar::new(),
        sleeping: AtomicUsize::new(0),
        changes: AtomicU64::new(0),
        lines: Mutex::new(lines),
        lanes: (0..plan.lanes()).map(|_| Mutex::new(plan.lane())).collect(),
        teller: Mutex::new(Teller {
            observer,
            summary: Summary::default(),
            claims: Claims::new(options.partitions.clone()),
            time: None,
        }),
        bytes: Arc::default(),
        files,
        tree: Tree::new(&options.shape),
        plan,
    };
    std::thread::scope(|scope| {
        let work = &work;
        for worker in 1..threads {
            scope.spawn(move || work.run(worker));
        }
        work.run(0);
    });
    work.finish()
}

/// Lines in the order in which they are judged.
enum Lines {
    AsRead(LinesIn),
    ByTime(Box<Reorder>),
}

impl Lines {
    fn next(&mut self, buffer: Vec<u8>, count: &Arc<AtomicU64>) -> Result<Option<Chunk>, WatchError> {
        match self {
            Self::AsRead(inputs) => inputs.next(buffer, count),
            Self::ByTime(reorder) => reorder.next(buffer, count),
        }
    }
}

struct Work<'a, J: Job> {
    board: Mutex<Board<J::Record>>,
    changed: Condvar,
    /// How many threads wait for `changed`. It goes up and is read by who holds the board or has held it since what
    /// changed, so nobody is left to sleep.
    sleeping: AtomicUsize,
    /// How often the board has changed.
    changes: AtomicU64,
    lines: Mutex<Lines>,
    lanes: Vec<Mutex<J::Lane>>,
    teller: Mutex<Teller<'a>>,
    bytes: Arc<AtomicU64>,
    files: Vec<Arc<str>>,
    tree: Tree,
    plan: J,
}

struct Teller<'a> {
    observer: &'a mut dyn Observer,
    summary: Summary,
    claims: Claims,
    /// When the last event was that had a time.
    time: Option<i64>,
}

/// When the event in the last line of a chunk was.
fn last_time<R>(tree: &Tree, decoded: &Decoded<R>) -> Option<i64> {
    let text = decoded.text.trim_end_matches(['\n', '\r']);
    let line = text.get(text.rfind('\n').map_or(0, |end| end + 1)..)?;
    let columns = decoded.chunk.columns.as_deref();
    if columns.is_none() && !line.starts_with('{') {
        return None;
    }
    time_of(&mut Scanner::new(tree), columns, line.as_bytes()).flatten()
}

/// A thread that stopped in the middle of something has left a defect behind; [`Board::fail`] ends the others.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all threads if this one stops without having said so.
struct Alarm<'a, 'w, J: Job>(&'a Work<'w, J>, bool);

impl<J: Job> Drop for Alarm<'_, '_, J> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.fail(WatchError::Defect);
        }
    }
}

impl<J: Job> Work<'_, J> {
    fn run(&self, worker: usize) {
        let mut alarm = Alarm(self, false);
        while let Some(task) = self.next_task(worker) {
            match task {
                Task::Tell { decoded, outcomes } => self.tell(decoded, outcomes),
                Task::Step { lane, seq, base, decoded } => {
                    let position = Position { plan: &self.plan, decoded: &decoded, base, files: &self.files };
                    let outcome = match self.lanes.get(lane) {
                        Some(own) => J::work(&mut lock(own), position, lane),
                        None => Outcome::default(),
                    };
                    drop(decoded);
                    lock(&self.board).stepped(lane, seq, outcome);
                }
                Task::Read { buffer, place } => self.read(worker, buffer, place),
            }
            self.wake();
        }
        alarm.1 = true;
    }

    /// Waits for a change, but not long: a chunk is mostly read sooner than a thread falls asleep and wakes up.
    fn linger(&self) {
        let before = self.changes.load(Ordering::Relaxed);
        for _ in 0..LINGER {
            if self.changes.load(Ordering::Relaxed) != before {
                return;
            }
            std::hint::spin_loop();
        }
    }

    /// Wakes those who wait, after a change of the board. Asking the system when nobody does costs more than a lane's step.
    fn wake(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
        if self.sleeping.load(Ordering::Relaxed) > 0 {
            self.changed.notify_all();
        }
    }

    fn next_task(&self, worker: usize) -> Option<Task<J::Record>> {
        let mut board = lock(&self.board);
        let mut lingered = false;
        loop {
            if board.is_over() {
                return None;
            }
            if let Some(task) = board.take(worker) {
                return Some(task);
            }
            if board.is_reading() && !lingered {
                lingered = true;
                drop(board);
                self.linger();
                board = lock(&self.board);
                continue;
            }
            self.sleeping.fetch_add(1, Ordering::Relaxed);
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
            self.sleeping.fetch_sub(1, Ordering::Relaxed);
            lingered = false;
        }
    }

    fn read(&self, worker: usize, buffer: Vec<u8>, mut place: Decoded<J::Record>) {
        let chunk = lock(&self.lines).next(buffer, &self.bytes);
        let chunk = match chunk {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return lock(&self.board).exhausted(),
            Err(error) => return self.fail(error),
        };
        let seq = lock(&self.board).reserve(worker);
        // Another thread may read on while this one decodes.
        self.wake();
        self.plan.decode(chunk, &mut place);
        lock(&self.board).decoded(seq, place);
    }

    fn tell(&self, decoded: Arc<Decoded<J::Record>>, outcomes: Vec<Outcome>) {
        let mut teller = lock(&self.teller);
        let result = teller.tell(self, &decoded, outcomes);
        drop(teller);
        match result {
            Ok(()) => lock(&self.board).told(decoded),
            Err(error) => self.fail(WatchError::Report(error)),
        }
    }

    fn fail(&self, error: WatchError) {
        lock(&self.board).fail(error);
        self.wake();
    }

    fn finish(self) -> Result<Summary, WatchError> {
        let board = self.board.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = board.into_failure() {
            return Err(error);
        }
        let mut teller = self.teller.into_inner().unwrap_or_else(PoisonError::into_inner);
        let outcomes = self.lanes.iter().map(|lane| J::end(&mut lock(lane), &self.plan)).collect();
        teller.tell_end(outcomes).map_err(WatchError::Report)?;
        let mut summary = teller.summary;
        summary.pending = self.lanes.iter().map(|lane| J::pending(&mut lock(lane), &self.plan)).sum();
        summary.open = self.lanes.iter().map(|lane| J::open(&lock(lane))).sum();
        (summary.unseen, summary.is_blind) = self.plan.unseen();
        summary.bytes = self.bytes.load(Ordering::Relaxed);
        match self.lines.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Lines::AsRead(inputs) => summary.ties = inputs.ties(),
            Lines::ByTime(reorder) => {
                (summary.late, summary.ties, summary.held) = (reorder.late, reorder.ties, reorder.waiting());
            }
        }
        Ok(summary)
    }
}

/// Notices of events that were judged later, in the order of the events, whichever lane they are from.
fn in_order(mut settled: Vec<(u32, i64, Notice)>) -> impl Iterator<Item = (u32, Notice)> {
    settled.sort_by_key(|(line, event, _)| (*line, *event));
    settled.into_iter().map(|(line, _, notice)| (line, notice))
}

impl Teller<'_> {
    /// Gives lost events to those who need them, in the order of the input; who finds none left broke the protocol.
    fn settle(&mut self, mut claims: Vec<Claim>, lost: &[u32]) -> Vec<(u32, Notice)> {
        claims.sort_by_key(|claim| (claim.line, claim.event));
        let mut lost = lost.iter().peekable();
        let mut violations = Vec::new();
        for claim in claims {
            while lost.next_if(|line| **line < claim.line).is_some() {
                self.claims.lost += 1;
            }
            if self.claims.claim(claim.otherwise.session.as_deref(), claim.events.into()) {
                self.summary.counts.excused += 1;
            } else {
                self.summary.counts.violated += 1;
                violations.push((claim.line, Notice::Violation(claim.otherwise)));
            }
        }
        self.claims.lost += lost.count() as u64;
        violations
    }

    fn tell<J: Job>(
        &mut self,
        work: &Work<'_, J>,
        decoded: &Decoded<J::Record>,
        outcomes: Vec<Outcome>,
    ) -> std::io::Result<()> {
        let mut notices: Vec<(u32, Notice)> = Vec::new();
        let base = outcomes.first().map_or(0, |outcome| outcome.base);
        if !decoded.malformed.is_empty() {
            let position = Position { plan: &work.plan, decoded, base, files: &work.files };
            let notice =
                |(line, why): &(u32, String)| (*line, Notice::Malformed(position.place(*line), why.clone()));
            notices.extend(decoded.malformed.iter().map(notice));
            self.summary.counts.malformed += decoded.malformed.len() as u64;
        }
        self.summary.counts.events += decoded.ignored;
        self.summary.counts.ignored += decoded.ignored;
        self.summary.counts.lost_anywhere += decoded.lost_anywhere.len() as u64;
        self.take(outcomes, notices, Some(decoded))?;
        let bytes = work.bytes.load(Ordering::Relaxed);
        let through = decoded.chunk.through.map(|last| last + 1);
        let time = last_time(&work.tree, decoded).or(self.time);
        self.time = time;
        self.observer.progress(&Progress { bytes, counts: self.summary.counts, through, time })
    }

    /// What the end of the input came to.
    fn tell_end(&mut self, outcomes: Vec<Outcome>) -> std::io::Result<()> {
        self.take::<()>(outcomes, Vec::new(), None)
    }

    /// Tells what the lanes found besides `notices`, in the chunk at hand or at the end.
    fn take<R>(
        &mut self,
        outcomes: Vec<Outcome>,
        mut notices: Vec<(u32, Notice)>,
        decoded: Option<&Decoded<R>>,
    ) -> std::io::Result<()> {
        let (mut claims, mut settled, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for outcome in outcomes {
            self.summary.counts.add(&outcome.counts);
            notices.extend(outcome.notices);
            settled.extend(outcome.settled);
            claims.extend(outcome.claims);
            lost.extend(outcome.lost_of_families);
        }
        notices.extend(in_order(settled));
        let lost_anywhere = decoded.map(|decoded| &*decoded.lost_anywhere).unwrap_or_default();
        notices.extend(self.settle(claims, lost_anywhere));
        lost.sort_unstable();
        self.give(notices, &lost, decoded.map(|decoded| &decoded.chunk))
    }

    fn give(
        &mut self,
        mut notices: Vec<(u32, Notice)>,
        lost: &[(u32, u16)],
        chunk: Option<&Chunk>,
    ) -> std::io::Result<()> {
        let mut lost = lost.iter().peekable();
        // Stable: several notices about one line stay in their order.
        notices.sort_by(|(left_line, left), (right_line, right)| {
            let rank = |line: u32, notice: &Notice| (line, notice.rank());
            rank(*left_line, left)
                .cmp(&rank(*right_line, right))
                .then_with(|| left.order().cmp(&right.order()))
        });
        for (row, mut notice) in notices {
            while let Some((_, family)) = lost.next_if(|(line, _)| *line <= row) {
                self.claims.lose(*family);
            }
            if let Notice::Property(report) = &mut notice
                && report.lost_elsewhere.is_some()
            {
                report.certain = !self.claims.explains(report);
                self.summary.counts.count(&notice);
            }
            if let Some(message) = chunk.and_then(|chunk| chunk.found_with(row)) {
                self.observer.reached(message + 1);
            }
            match &notice {
                Notice::Violation(report) => self.summary.note(report),
                Notice::Property(report) => self.summary.note_property(report),
                Notice::Malformed(..) | Notice::Unanswered(_) => {}
            }
            self.observer.notice(notice)?;
        }
        lost.for_each(|(_, family)| self.claims.lose(*family));
        Ok(())
    }
}
