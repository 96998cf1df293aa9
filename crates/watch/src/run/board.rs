//! What is under way, and what can be done next.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::decode::Decoded;
use crate::error::WatchError;
use crate::lane::Outcome;

/// Something to do.
#[expect(clippy::large_enum_variant, reason = "a thread has one at a time")]
pub(super) enum Task<R> {
    /// Tell of a chunk that all lanes are done with.
    Tell { decoded: Arc<Decoded<R>>, outcomes: Vec<Outcome> },
    /// Step a lane over its records of chunk `seq`, before which its input has `base` lines.
    Step { lane: usize, seq: u64, base: u64, decoded: Arc<Decoded<R>> },
    /// Read a chunk and decode it.
    Read { buffer: Vec<u8>, place: Decoded<R> },
}

/// The chunks under way.
pub(super) struct Board<R> {
    /// In the order in which they were read.
    cells: VecDeque<Cell<R>>,
    /// The number of the first of `cells`.
    first: u64,
    lanes: Vec<LaneState>,
    /// How many lines of each input come before the next chunk whose place is not known.
    lines: Vec<u64>,
    /// The number of that chunk.
    placed: u64,
    reading: bool,
    telling: bool,
    exhausted: bool,
    /// How many chunks may be under way.
    room: usize,
    spare: Vec<(Vec<u8>, Decoded<R>)>,
    failure: Option<WatchError>,
}

struct Cell<R> {
    /// Who decodes it.
    worker: usize,
    decoded: Option<Arc<Decoded<R>>>,
    base: u64,
    outcomes: Vec<Outcome>,
}

#[derive(Clone, Copy, Default)]
struct LaneState {
    next: u64,
    busy: bool,
}

/// A buffer that has grown beyond this is not kept.
const KEPT: usize = 4 << 20;

impl<R> Board<R> {
    pub(super) fn new(lanes: usize, sources: usize, room: usize) -> Self {
        Self {
            cells: VecDeque::new(),
            first: 0,
            lanes: vec![LaneState::default(); lanes],
            lines: vec![0; sources],
            placed: 0,
            reading: false,
            telling: false,
            exhausted: false,
            room,
            spare: Vec::new(),
            failure: None,
        }
    }

    fn cell(&mut self, seq: u64) -> Option<&mut Cell<R>> {
        let index = seq.checked_sub(self.first)?;
        self.cells.get_mut(usize::try_from(index).ok()?)
    }

    /// Whether nothing is left to do.
    pub(super) fn is_over(&self) -> bool {
        self.failure.is_some() || (self.exhausted && self.cells.is_empty() && !self.telling)
    }

    /// Whether a chunk is being read.
    pub(super) fn is_reading(&self) -> bool {
        self.reading
    }

    /// Takes the task that is furthest along, first among the chunks that `worker` decoded: it has them in its cache.
    pub(super) fn take(&mut self, worker: usize) -> Option<Task<R>> {
        if !self.telling && self.cells.front().is_some_and(|cell| cell.outcomes.len() == self.lanes.len()) {
            let cell = self.cells.pop_front()?;
            self.first += 1;
            self.telling = true;
            return Some(Task::Tell { decoded: cell.decoded?, outcomes: cell.outcomes });
        }
        let placed = self.placed;
        let ready = |state: &LaneState| !state.busy && state.next < placed;
        let lane = (0..self.lanes.len()).filter(|lane| ready(&self.lanes[*lane])).min_by_key(|lane| {
            let next = self.lanes[*lane].next;
            let cell = self.cells.get((next - self.first) as usize);
            (cell.is_none_or(|cell| cell.worker != worker), next)
        });
        if let Some(lane) = lane {
            let seq = self.lanes[lane].next;
            let cell = self.cell(seq)?;
            let (base, decoded) = (cell.base, Arc::clone(cell.decoded.as_ref()?));
            self.lanes[lane].busy = true;
            return Some(Task::Step { lane, seq, base, decoded });
        }
        if !self.reading && !self.exhausted && self.cells.len() < self.room {
            self.reading = true;
            let (buffer, place) = self.spare.pop().unwrap_or_default();
            return Some(Task::Read { buffer, place });
        }
        None
    }

    /// A chunk was read: its number.
    pub(super) fn reserve(&mut self, worker: usize) -> u64 {
        self.reading = false;
        self.cells.push_back(Cell { worker, decoded: None, base: 0, outcomes: Vec::new() });
        self.first + self.cells.len() as u64 - 1
    }

    /// There is nothing more to read.
    pub(super) fn exhausted(&mut self) {
        self.reading = false;
        self.exhausted = true;
    }

    /// Chunk `seq` was decoded. Where its lines are is known once all chunks before it are decoded.
    pub(super) fn decoded(&mut self, seq: u64, decoded: Decoded<R>) {
        if let Some(cell) = self.cell(seq) {
            cell.decoded = Some(Arc::new(decoded));
        }
        while let Some((source, base, lines)) = self.next_decoded() {
            let counted = self.lines.get(source).copied().unwrap_or_default();
            let base = base.unwrap_or(counted);
            let placed = self.placed;
            if let Some(cell) = self.cell(placed) {
                cell.base = base;
            }
            if let Some(total) = self.lines.get_mut(source) {
                *total = base + u64::from(lines);
            }
            self.placed += 1;
        }
    }

    /// The input of the next chunk without a place, how many lines come before it, if it says so, and how many it has; if it is
    /// decoded.
    fn next_decoded(&mut self) -> Option<(usize, Option<u64>, u32)> {
        let decoded = self.cell(self.placed)?.decoded.as_ref()?;
        Some((decoded.chunk.source, decoded.chunk.base, decoded.lines))
    }

    /// `lane` is done with chunk `seq`.
    pub(super) fn stepped(&mut self, lane: usize, seq: u64, mut outcome: Outcome) {
        if let Some(cell) = self.cell(seq) {
            outcome.base = cell.base;
            cell.outcomes.push(outcome);
        }
        if let Some(state) = self.lanes.get_mut(lane) {
            state.next += 1;
            state.busy = false;
        }
    }

    /// A chunk was told of: its buffers can be used again.
    pub(super) fn told(&mut self, decoded: Arc<Decoded<R>>) {
        self.telling = false;
        if let Ok(mut place) = Arc::try_unwrap(decoded) {
            let buffer = place.recycle();
            if buffer.capacity() <= KEPT {
                self.spare.push((buffer, place));
            }
        }
    }

    pub(super) fn fail(&mut self, error: WatchError) {
        self.failure.get_or_insert(error);
    }

    pub(super) fn into_failure(self) -> Option<WatchError> {
        self.failure
    }
}
