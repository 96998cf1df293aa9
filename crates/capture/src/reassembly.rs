//! The byte streams of one TCP connection, from its segments in whichever order they were captured.
//!
//! A segment is delivered when all bytes before it are, and when all bytes that its sender had acknowledged are: so the two
//! directions have the order of cause and effect, whatever the order of the packets. What never becomes deliverable is a gap, known when
//! more waits behind it than may, or at the end of the capture. Bytes that were sent twice and differ are a conflict: the receiver may have taken
//! either. Both end the connection here: who reads on could blame somebody for what was not seen.
//!
//! Memory is bounded by [`Limits`], whatever comes.

use std::collections::VecDeque;

use referee_wire::Sender;

/// One segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The number of its first byte.
    pub sequence: u32,
    /// The number of the next byte that its sender expects, if it says so.
    pub acknowledges: Option<u32>,
    /// Whether it opens the connection.
    pub syn: bool,
    /// Whether nothing comes after it.
    pub fin: bool,
    /// Whether it breaks the connection off.
    pub rst: bool,
    /// Its bytes, as far as they were captured.
    pub bytes: &'a [u8],
    /// When it was captured, in nanoseconds since 1970, and the number of its packet, from 0.
    pub at: (i64, u64),
}

/// What a connection came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered<'a> {
    /// The next bytes of a side.
    Bytes {
        /// Who sent them.
        sender: Sender,
        /// What was sent.
        bytes: &'a [u8],
        /// Whether the sender had received all that was delivered of the other side.
        is_aware: bool,
        /// When and where they were captured.
        at: (i64, u64),
    },
    /// A side has ended its stream.
    End {
        /// Who.
        sender: Sender,
        /// When and where.
        at: (i64, u64),
    },
    /// Nothing more is delivered of this connection.
    Broken {
        /// Why.
        why: Break,
        /// When and where.
        at: (i64, u64),
    },
}

/// Why nothing more of a connection is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Break {
    /// Something was not captured.
    Gap,
    /// The same bytes were sent with different contents.
    Conflict,
    /// It was reset.
    Reset,
    /// It began before the capture.
    NoBeginning,
}

/// What one direction of a connection may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes that wait for others before them.
    pub waiting_bytes: usize,
    /// Segments that wait.
    pub waiting_segments: usize,
    /// Delivered bytes that are kept until they are acknowledged, to be compared with retransmissions.
    pub unacknowledged: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { waiting_bytes: 1 << 20, waiting_segments: 1024, unacknowledged: 64 << 10 }
    }
}

/// A TCP connection.
#[derive(Debug, Default)]
pub struct TcpConnection {
    directions: [Direction; 2],
    is_broken: bool,
    last: (i64, u64),
}

#[derive(Debug, Default)]
struct Direction {
    /// The number of the next byte to be delivered, once it is known where the stream begins.
    next: Option<u32>,
    waiting: Vec<Waiting>,
    waiting_bytes: usize,
    /// The last delivered bytes, up to `next`, that were not acknowledged.
    unacknowledged: VecDeque<u8>,
    has_ended: bool,
}

#[derive(Debug)]
struct Waiting {
    sequence: u32,
    acknowledges: Option<u32>,
    bytes: Box<[u8]>,
    end: Option<StreamEnd>,
    at: (i64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamEnd {
    Fin,
    Rst,
}

/// How far `sequence` is behind `next`; negative if it is before it. Numbers wrap.
fn distance(sequence: u32, next: u32) -> i32 {
    sequence.wrapping_sub(next).cast_signed()
}

impl TcpConnection {
    /// Whether nothing more can come of it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_broken || self.directions.iter().all(|direction| direction.has_ended)
    }

    /// Whether it is known where the streams begin.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.directions.iter().any(|direction| direction.next.is_some())
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn held(&self) -> usize {
        self.directions.iter().map(|direction| direction.waiting_bytes + direction.unacknowledged.len()).sum()
    }

    /// Begins in the middle: with `segment`, which `sender` sent, and with what it had received by then.
    pub fn join(&mut self, sender: Sender, segment: &Segment<'_>) {
        self.direction(sender).next.get_or_insert(segment.sequence);
        if let Some(acknowledged) = segment.acknowledges {
            self.direction(sender.other()).next.get_or_insert(acknowledged);
        }
    }

    /// Takes a segment of `sender`, and gives what can be delivered then.
    pub fn segment(
        &mut self,
        sender: Sender,
        segment: &Segment<'_>,
        limits: &Limits,
        give: &mut dyn FnMut(Delivered<'_>),
    ) {
        if self.is_broken {
            return;
        }
        self.last = segment.at;
        let mut sequence = segment.sequence;
        if segment.syn {
            sequence = sequence.wrapping_add(1);
            self.direction(sender).next.get_or_insert(sequence);
            if let Some(acknowledged) = segment.acknowledges {
                self.direction(sender.other()).next.get_or_insert(acknowledged);
            }
        }
        let end = match (segment.rst, segment.fin) {
            (true, _) => Some(StreamEnd::Rst),
            (false, true) => Some(StreamEnd::Fin),
            (false, false) => None,
        };
        let is_next = end.is_none() && self.is_next(sender, sequence, segment.acknowledges);
        if is_next && !segment.bytes.is_empty() {
            // Nearly always: nothing is copied.
            self.deliver_bytes(sender, segment.bytes, segment.acknowledges, segment.at, limits, give);
        } else if !segment.bytes.is_empty() || end.is_some() {
            let (acknowledges, bytes, at) = (segment.acknowledges, segment.bytes.into(), segment.at);
            let waiting = Waiting { sequence, acknowledges, bytes, end, at };
            if !self.direction(sender).hold(waiting) {
                return self.break_off(Break::Conflict, give);
            }
        }
        self.deliver(limits, give);
        if let Some(acknowledged) = segment.acknowledges {
            self.direction(sender.other()).forget(acknowledged);
        }
        let beyond = |direction: &Direction| {
            direction.waiting_bytes > limits.waiting_bytes
                || direction.waiting.len() > limits.waiting_segments
        };
        if !self.is_broken && self.directions.iter().any(beyond) {
            self.break_off(self.missing(), give);
        }
    }

    /// The capture has ended.
    pub fn end(&mut self, give: &mut dyn FnMut(Delivered<'_>)) {
        if !self.is_broken && Sender::BOTH.into_iter().any(|sender| self.lacks(sender)) {
            self.break_off(self.missing(), give);
        }
    }

    /// Whether something waits for bytes that were not captured. An end that waits for the other's end lacks nothing.
    fn lacks(&self, sender: Sender) -> bool {
        let own = &self.directions[sender.index()];
        let other = &self.directions[sender.other().index()];
        let beyond = |number: u32, next: Option<u32>| next.map_or(0, |next| distance(number, next));
        own.waiting.iter().any(|waiting| {
            let acknowledged = waiting.acknowledges.map_or(0, |number| beyond(number, other.next));
            !waiting.bytes.is_empty() || beyond(waiting.sequence, own.next) > 0 || acknowledged > 1
        })
    }

    fn missing(&self) -> Break {
        if self.has_begun() { Break::Gap } else { Break::NoBeginning }
    }

    /// Ends it here.
    pub fn break_off(&mut self, why: Break, give: &mut dyn FnMut(Delivered<'_>)) {
        self.is_broken = true;
        self.directions = <[Direction; 2]>::default();
        give(Delivered::Broken { why, at: self.last });
    }

    fn direction(&mut self, sender: Sender) -> &mut Direction {
        &mut self.directions[sender.index()]
    }

    fn deliver(&mut self, limits: &Limits, give: &mut dyn FnMut(Delivered<'_>)) {
        loop {
            let mut delivered = false;
            for sender in Sender::BOTH {
                while !self.is_broken
                    && let Some(index) = self.deliverable(sender)
                {
                    self.deliver_one(sender, index, limits, give);
                    delivered = true;
                }
            }
            if !delivered || self.is_broken {
                return;
            }
        }
    }

    /// Whether a segment begins where the stream of `sender` is, and nothing stands in its way.
    fn is_next(&self, sender: Sender, sequence: u32, acknowledges: Option<u32>) -> bool {
        let own = &self.directions[sender.index()];
        own.next == Some(sequence)
            && !own.has_ended
            && own.waiting.is_empty()
            && self.has_received(sender, acknowledges)
    }

    /// Whether all that `sender` acknowledges has been delivered.
    fn has_received(&self, sender: Sender, acknowledges: Option<u32>) -> bool {
        match (acknowledges, self.directions[sender.other().index()].next) {
            (None, _) => true,
            (Some(acknowledged), Some(known)) => distance(acknowledged, known) <= 0,
            (Some(_), None) => false,
        }
    }

    fn deliver_bytes(
        &mut self,
        sender: Sender,
        bytes: &[u8],
        acknowledges: Option<u32>,
        at: (i64, u64),
        limits: &Limits,
        give: &mut dyn FnMut(Delivered<'_>),
    ) {
        let is_aware = match (acknowledges, self.directions[sender.other().index()].next) {
            (Some(acknowledged), Some(known)) => distance(acknowledged, known) >= 0,
            _ => false,
        };
        let own = self.direction(sender);
        own.next = own.next.map(|next| next.wrapping_add(bytes.len() as u32));
        own.remember(bytes, limits.unacknowledged);
        give(Delivered::Bytes { sender, bytes, is_aware, at });
    }

    /// The waiting segment of `sender` that can be delivered.
    fn deliverable(&self, sender: Sender) -> Option<usize> {
        let own = &self.directions[sender.index()];
        let next = own.next?;
        own.waiting.iter().position(|waiting| {
            self.has_received(sender, waiting.acknowledges) && distance(waiting.sequence, next) <= 0
        })
    }

    fn deliver_one(
        &mut self,
        sender: Sender,
        index: usize,
        limits: &Limits,
        give: &mut dyn FnMut(Delivered<'_>),
    ) {
        let own = self.direction(sender);
        let waiting = own.waiting.swap_remove(index);
        own.waiting_bytes -= waiting.bytes.len();
        let Some(next) = own.next else { return };
        let old = distance(next, waiting.sequence).unsigned_abs() as usize;
        if own.conflicts(waiting.sequence, &waiting.bytes) {
            return self.break_off(Break::Conflict, give);
        }
        let at = waiting.at;
        let fresh = waiting.bytes.get(old..).unwrap_or_default();
        if !fresh.is_empty() && !own.has_ended {
            self.deliver_bytes(sender, fresh, waiting.acknowledges, at, limits, give);
        }
        // The end is a byte of its own, behind the others.
        let own = self.direction(sender);
        let is_new = own.next == Some(waiting.sequence.wrapping_add(waiting.bytes.len() as u32));
        match waiting.end {
            // One that is not where the stream is may be anybody's.
            Some(StreamEnd::Rst) if is_new => self.break_off(Break::Reset, give),
            Some(StreamEnd::Fin) if is_new && !own.has_ended => {
                own.has_ended = true;
                own.next = own.next.map(|next| next.wrapping_add(1));
                own.unacknowledged.clear();
                give(Delivered::End { sender, at });
            }
            _ => {}
        }
    }
}

impl Direction {
    /// Keeps a segment until it can be delivered. False if it contradicts another that waits, or what was delivered.
    fn hold(&mut self, waiting: Waiting) -> bool {
        if self.conflicts(waiting.sequence, &waiting.bytes) {
            return false;
        }
        for other in &mut self.waiting {
            if !agree(other, &waiting) {
                return false;
            }
            let is_same = other.sequence == waiting.sequence && other.bytes == waiting.bytes;
            if is_same && other.end == waiting.end {
                // Of two copies the first one sent says what its sender had received.
                if let (Some(known), Some(new)) = (other.acknowledges, waiting.acknowledges)
                    && distance(new, known) < 0
                {
                    other.acknowledges = waiting.acknowledges;
                }
                return true;
            }
        }
        self.waiting_bytes += waiting.bytes.len();
        self.waiting.push(waiting);
        true
    }

    /// Whether `bytes` differ from what was delivered at their place.
    fn conflicts(&self, sequence: u32, bytes: &[u8]) -> bool {
        let Some(next) = self.next.filter(|_| !self.has_ended) else { return false };
        // How many of the bytes, and of those that are kept, lie before `next`.
        let Ok(back) = usize::try_from(distance(next, sequence)) else { return false };
        let kept = self.unacknowledged.len();
        let (skipped, from) = (back.saturating_sub(kept), kept.saturating_sub(back));
        let old = bytes.get(skipped..back.min(bytes.len())).unwrap_or_default();
        self.unacknowledged.iter().skip(from).zip(old).any(|(left, right)| left != right)
    }

    fn remember(&mut self, bytes: &[u8], limit: usize) {
        let bytes = bytes.get(bytes.len().saturating_sub(limit)..).unwrap_or_default();
        self.unacknowledged.extend(bytes);
        if let Some(surplus) = self.unacknowledged.len().checked_sub(limit) {
            self.unacknowledged.drain(..surplus);
        }
    }

    /// The other side has everything before `acknowledged`: a copy of it would not be read.
    fn forget(&mut self, acknowledged: u32) {
        let Some(next) = self.next else { return };
        let kept = usize::try_from(distance(next, acknowledged)).unwrap_or(0);
        if let Some(surplus) = self.unacknowledged.len().checked_sub(kept) {
            self.unacknowledged.drain(..surplus);
        }
    }
}

/// Whether two segments have the same bytes where they overlap.
fn agree(left: &Waiting, right: &Waiting) -> bool {
    let shift = i64::from(distance(right.sequence, left.sequence));
    let (left_from, right_from) = (shift.max(0), (-shift).max(0));
    let from = |bytes: &'_ [u8], at: i64| usize::try_from(at).map_or(0, |at| bytes.len().saturating_sub(at));
    let length = from(&left.bytes, left_from).min(from(&right.bytes, right_from));
    let part = |bytes: &[u8], at: i64| -> Vec<u8> {
        bytes.iter().skip(usize::try_from(at).unwrap_or(usize::MAX)).take(length).copied().collect()
    };
    length == 0 || part(&left.bytes, left_from) == part(&right.bytes, right_from)
}
