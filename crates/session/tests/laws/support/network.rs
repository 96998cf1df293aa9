//! A simulated network: peers that keep their times, channels that delay each byte by at most the tolerance, a guard that stalls at any point, between
//! a system call and the clock as well, and sides that are slow to read. The engine is the one of guards, with the intervals of
//! [`Arrivals`]; around it is a driver in a hundred lines.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use referee_monitor::Moment;
use referee_pipeline::{Language, Parsed};
use referee_session::{
    Action, Arrival, Arrivals, Deadlines, Engine as _, HoldUntil, Options, Properties, Seen, SessionVerdict,
    TwoParty, TwoPartyRules,
};
use referee_wire::{Scratch, Sender, Table};

/// How long an exchange may take, in ticks.
const LONG: i64 = 60;

/// The clock of events, where the clock of the guard is 0.
pub(crate) const EPOCH: i64 = 1_770_000_000_000_000_000;

/// What a driver can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    None,
    /// The operator vouches for more than is true.
    SmallTolerance,
    /// Handing is stamped after the write only.
    HandingAfterTheWrite,
    /// That nothing was there is stamped after the look.
    EmptyAfterTheLook,
    /// What was read arrived when it was read.
    ArrivedWhenRead,
    /// What is unsent is forgotten.
    UnsentIsHanded,
}

/// How a session goes: what is chosen at each point, from a number of possibilities. The first is the usual.
pub(crate) type Choose<'c> = &'c mut dyn FnMut(i64) -> i64;

/// The rules of rounds of requests and answers.
pub(crate) struct Rounds {
    rules: Arc<TwoPartyRules>,
    after: i64,
    within: i64,
    tolerance: i64,
    /// How many nanoseconds a tick is.
    scale: i64,
    /// Whether the client waits for each answer.
    in_turns: bool,
}

impl Rounds {
    /// Whose answers are given in time, and blamed if not.
    pub(crate) fn new(after: i64, within: i64, tolerance: i64, mistake: Mistake) -> Self {
        let waits = if after > 0 { format!("after {after}ns") } else { String::new() };
        let vouched = if mistake == Mistake::SmallTolerance { 0 } else { tolerance };
        let options = Options { deadlines: Deadlines::Report, tolerance: vouched, ..Options::default() };
        let rules = rules(&format!("within {within}ns {waits}"), options);
        Self { rules, after, within, tolerance, scale: 1, in_turns: false }
    }

    /// Whose answers take up to `within` ticks of `scale` nanoseconds, and are seen by `properties`.
    pub(crate) fn with_properties(properties: &str, within: i64, scale: i64, in_turns: bool) -> Self {
        let file = Parsed::new(properties, Language::Hml).well_formed().unwrap();
        let properties = Some(Properties::new(file.properties().unwrap(), 1_000).unwrap());
        let policy = referee_monitor::Policy::Observe;
        let rules = rules("", Options { properties, policy, ..Options::default() });
        Self { rules, after: 0, within, tolerance: 1, scale, in_turns }
    }
}

/// The rules of rounds of requests and answers, with `times`.
fn rules(times: &str, options: Options) -> Arc<TwoPartyRules> {
    let text = format!(
        "protocol P(role client, role server) {{ rec X {{ Request() from client to server;
         Reply() from server to client {times}; continue X; }} }}"
    );
    let well_formed = Parsed::new(&text, Language::Scr).well_formed().unwrap();
    let subject = well_formed.protocol(None).unwrap();
    let client = subject.vocabulary().find_role("client").unwrap();
    let made = subject.monitorable_between(client).unwrap();
    let monitor = made.monitor().unwrap();
    let table = Table::parse("kind = 'text'\nmessages.Request = 'R'\nmessages.Reply = 'A'").unwrap();
    let rules = TwoPartyRules::compile(Arc::new(monitor), client, &table).unwrap();
    Arc::new(rules.with_options(options))
}

/// Bytes on their way, or waiting to be read: when each is there.
#[derive(Default)]
struct Channel {
    bytes: VecDeque<(i64, u8)>,
    last: i64,
    /// When each message began to be there.
    began: Vec<i64>,
}

impl Channel {
    fn send(&mut self, byte: u8, at: i64) {
        self.last = self.last.max(at);
        self.bytes.push_back((self.last, byte));
        if byte != b'\n' {
            self.began.push(self.last);
        }
    }

    fn take(&mut self, now: i64, most: usize) -> Vec<u8> {
        let count = self.bytes.iter().take_while(|(at, _)| *at <= now).count().min(most);
        self.bytes.drain(..count).map(|(_, byte)| byte).collect()
    }
}

/// Everything but the guard.
pub(crate) struct World<'c> {
    rounds: &'c Rounds,
    choose: Choose<'c>,
    now: i64,
    /// From each side to the guard, and from the guard to each side.
    from: [Channel; 2],
    to: [Channel; 2],
    /// How many bytes a side may leave unread.
    room: usize,
    /// How many requests the client still sends, and when it sends the next.
    requests: usize,
    next_request: i64,
    /// How many answers the server gives before it falls silent.
    answers: usize,
    /// The requests that have arrived at the server and are not answered.
    arrived: VecDeque<i64>,
    /// When its last answer was out, and what it has begun to say: its bytes, and when it says the next.
    finished: i64,
    saying: Option<(VecDeque<u8>, i64)>,
    partial: usize,
    /// When the client reads again, and how many answers and requests there were.
    client_reads: i64,
    answered: usize,
    asked: usize,
}

impl World<'_> {
    /// A point at which the guard may be stopped.
    fn stall(&mut self) {
        for _ in 0..(self.choose)(4) {
            self.tick();
        }
    }

    fn clock(&mut self) -> i64 {
        self.stall();
        self.now * self.rounds.scale
    }

    fn read(&mut self, from: Sender, most: usize) -> Vec<u8> {
        self.stall();
        let now = self.now;
        let read = self.from[from.index()].take(now, most);
        self.stall();
        read
    }

    /// How many of `bytes` the socket of `to` takes.
    fn write(&mut self, to: Sender, bytes: &[u8]) -> usize {
        self.stall();
        let unread = self.to[to.index()].bytes.len();
        let count = bytes.len().min(self.room.saturating_sub(unread));
        for byte in &bytes[..count] {
            let delay = (self.choose)(self.rounds.tolerance + 1);
            let now = self.now;
            self.to[to.index()].send(*byte, now + delay);
        }
        self.stall();
        count
    }

    fn tick(&mut self) {
        self.now += 1;
        self.client();
        self.server();
    }

    fn client(&mut self) {
        if self.now >= self.client_reads {
            let heard = self.to[0].take(self.now, usize::MAX);
            self.answered += heard.iter().filter(|byte| **byte == b'\n').count();
            self.client_reads = self.now + 3 * (self.choose)(2);
        }
        let waits = self.rounds.in_turns && self.answered < self.asked;
        if self.requests > 0 && self.now >= self.next_request && !waits {
            self.requests -= 1;
            self.asked += 1;
            self.next_request = self.now + (self.choose)(6);
            for byte in *b"R\n" {
                let delay = (self.choose)(self.rounds.tolerance + 1);
                self.from[0].send(byte, self.now + delay);
            }
        }
    }

    fn server(&mut self) {
        for byte in self.to[1].take(self.now, usize::MAX) {
            self.partial += usize::from(byte == b'R');
            if byte == b'\n' && self.partial > 0 {
                self.partial -= 1;
                self.arrived.push_back(self.now);
            }
        }
        if self.saying.is_none() && self.answers > 0 {
            let Some(arrived) = self.arrived.pop_front() else { return };
            self.answers -= 1;
            let began = arrived.max(self.finished);
            let takes = self.rounds.after + (self.choose)(self.rounds.within - self.rounds.after + 1);
            self.saying = Some((VecDeque::from(*b"A\n"), began + takes));
        }
        let (now, room) = (self.now, self.room);
        let Some((bytes, at)) = &mut self.saying else { return };
        // What the guard does not read cannot be sent.
        while now >= *at && self.from[1].bytes.len() < room {
            let Some(byte) = bytes.pop_front() else { break };
            let delay = (self.choose)(self.rounds.tolerance + 1);
            self.from[1].send(byte, now + delay);
            *at = now + (self.choose)(3);
        }
        if bytes.is_empty() {
            self.saying = None;
            self.finished = now;
            self.server();
        }
    }
}

/// A guard's driver, in short.
pub(crate) struct Guard<'c> {
    world: World<'c>,
    mistake: Mistake,
    engine: TwoParty,
    inbox: [Vec<u8>; 2],
    held: [Option<u64>; 2],
    outbox: [Vec<u8>; 2],
    forwarded: [u64; 2],
    writing: [Option<i64>; 2],
    arrivals: [Arrivals; 2],
    scratch: Scratch,
    /// When the last turn began: what had arrived before the one before was read.
    turns: [i64; 2],
    passed: Vec<(Sender, i64)>,
}

impl<'c> Guard<'c> {
    fn new(mut world: World<'c>, mistake: Mistake) -> Self {
        let earliest = world.clock();
        let began = Moment { earliest, latest: world.clock() };
        let mut engine = TwoParty::new(&world.rounds.rules, None);
        engine.begin(began, EPOCH);
        Self {
            world,
            mistake,
            engine,
            inbox: Default::default(),
            held: [None; 2],
            outbox: Default::default(),
            forwarded: [0; 2],
            writing: [None; 2],
            arrivals: [Arrivals::new(began); 2],
            scratch: Scratch::new(),
            turns: [i64::MIN; 2],
            passed: Vec::new(),
        }
    }

    fn flush(&mut self, sender: Sender) -> bool {
        let to = sender.other();
        while !self.outbox[to.index()].is_empty() {
            let written = self.world.write(to, &self.outbox[to.index()]);
            self.outbox[to.index()].drain(..written);
            if written == 0 {
                break;
            }
        }
        let is_flushed = self.outbox[to.index()].is_empty();
        if (is_flushed || self.mistake == Mistake::UnsentIsHanded)
            && let Some(since) = self.writing[sender.index()].take()
        {
            let latest = self.world.clock();
            let earliest = if self.mistake == Mistake::HandingAfterTheWrite { latest } else { since };
            let end = self.forwarded[sender.index()];
            self.engine.note_handed(sender, end, Moment { earliest, latest });
        }
        is_flushed
    }

    fn decide(&mut self, sender: Sender) {
        let index = sender.index();
        let mut from_first = true;
        while !self.inbox[index].is_empty() {
            let shown = self.inbox[index].len();
            let mut arrival = self.arrivals[index].arrival(shown, from_first);
            if self.mistake == Mistake::ArrivedWhenRead {
                arrival = Arrival::at(Moment::at(arrival.any.latest));
            }
            self.engine.note_arrival(sender, arrival);
            let action = self.engine.receive(sender, &self.inbox[index], &mut self.scratch, Waker::noop());
            self.held[index] = None;
            match action.action {
                Action::Forward(count) => {
                    let bytes: Vec<u8> = self.inbox[index].drain(..count).collect();
                    if self.writing[index].is_none() {
                        self.writing[index] = Some(self.world.clock());
                    }
                    self.forwarded[index] += bytes.len() as u64;
                    if bytes.contains(&b'R') || bytes.contains(&b'A') {
                        self.passed.extend(self.engine.events_known_until().map(|time| (sender, time)));
                    }
                    self.outbox[sender.other().index()].extend(bytes);
                }
                Action::Hold(HoldUntil::Progress) => {
                    self.held[index] = Some(self.engine.progress());
                    break;
                }
                Action::Hold(_) => break,
                other => panic!("{other:?}"),
            }
            from_first = false;
        }
        if !from_first {
            self.arrivals[index].note_decided(self.inbox[index].len());
        }
        self.flush(sender);
    }

    fn is_held(&self, sender: Sender) -> bool {
        self.held[sender.index()] == Some(self.engine.progress())
    }

    fn pump(&mut self, sender: Sender) -> bool {
        const ROOM: usize = 3;
        let index = sender.index();
        let mut moved = false;
        if !self.flush(sender) {
            self.arrivals[index].block();
            return false;
        }
        if self.held[index].is_some() && !self.is_held(sender) {
            self.decide(sender);
            moved = true;
        }
        while self.outbox[sender.other().index()].is_empty() && !self.is_held(sender) {
            let before = self.world.clock();
            let read = self.world.read(sender, ROOM);
            if read.is_empty() {
                return moved;
            }
            let after = self.world.clock();
            let before = if self.mistake == Mistake::EmptyAfterTheLook { after } else { before };
            let is_look = read.len() < ROOM;
            let undecided = self.inbox[index].len();
            self.arrivals[index].note_awake(self.turns[0]);
            self.arrivals[index].note_read((before, after), read.len(), undecided, is_look);
            if self.arrivals[index].unblock() {
                self.engine.note_writable(sender, after);
            }
            self.inbox[index].extend(read);
            self.decide(sender);
            moved = true;
        }
        self.arrivals[index].block();
        moved
    }

    /// What is seen of `sender`, by a look at its socket.
    fn see(&mut self, sender: Sender) -> Seen {
        let (index, other) = (sender.index(), sender.other().index());
        let may_answer =
            !self.is_held(sender) && self.outbox[index].is_empty() && self.outbox[other].is_empty();
        let before = self.world.clock();
        self.world.stall();
        let now = self.world.now;
        let waiting = self.world.from[index].bytes.iter().filter(|(at, _)| *at <= now).count() as u64;
        let after = self.world.clock();
        let before = if self.mistake == Mistake::EmptyAfterTheLook { after } else { before };
        self.arrivals[index].note_look(before, waiting);
        if may_answer && self.arrivals[index].unblock() {
            self.engine.note_writable(sender, after);
        }
        let decided = self.arrivals[index].seen_until(self.inbox[index].len()).filter(|_| may_answer);
        Seen { read: self.arrivals[index].read_until(), decided, is_blind: false }
    }

    /// A driver looks when the time has come; one that looks more often must not be wrong either.
    fn look(&mut self) {
        if self.engine.wake_at().is_some() {
            let seen = Sender::BOTH.map(|sender| self.see(sender));
            let now = self.world.clock();
            assert!(self.engine.wake(now, seen).is_ok());
        }
    }

    /// Runs until `end`: what is reported.
    fn run(&mut self, end: i64) -> Vec<SessionVerdict> {
        let mut reports = Vec::new();
        while self.world.now < end {
            self.turns = [self.turns[1], self.world.now * self.world.rounds.scale];
            while self.pump(Sender::Client) | self.pump(Sender::Server) {}
            self.look();
            reports.extend(self.engine.take_reports());
            self.world.tick();
        }
        reports
    }
}

/// What came of a session.
pub(crate) struct Ran {
    pub(crate) reports: Vec<SessionVerdict>,
    /// Whose messages passed the guard, and when as it saw it.
    pub(crate) passed: Vec<(Sender, i64)>,
    /// Up to when all of them are known.
    pub(crate) known: Option<i64>,
    /// When the messages of each side began to be at the guard, on its clock.
    pub(crate) began: [Vec<i64>; 2],
}

/// A session with `requests`, of which all but `silent` are answered, while a side may leave `room` bytes unread.
pub(crate) fn run(
    rounds: &Rounds,
    mistake: Mistake,
    (requests, silent): (usize, usize),
    room: usize,
    choose: Choose<'_>,
) -> Ran {
    let world = World {
        rounds,
        choose,
        now: 100,
        from: Default::default(),
        to: Default::default(),
        room,
        requests,
        next_request: 100,
        answers: requests - silent,
        arrived: VecDeque::new(),
        finished: 0,
        saying: None,
        partial: 0,
        client_reads: 0,
        answered: 0,
        asked: 0,
    };
    let mut guard = Guard::new(world, mistake);
    let reports = guard.run(100 + LONG * requests as i64);
    let began = [0, 1].map(|side| {
        let began = &guard.world.from[side].began;
        began.iter().map(|at| at * rounds.scale).collect()
    });
    Ran { reports, known: guard.engine.events_known_until(), passed: guard.passed, began }
}

pub(crate) fn random(mut seed: u64) -> impl FnMut(i64) -> i64 {
    seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    // Most sessions stall now and then, some all the time.
    let often = 2 + seed % 30;
    move |options| {
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed >> 11
        };
        if options <= 1 || next() % often != 0 { 0 } else { (next() % options as u64) as i64 }
    }
}

/// Runs `run` with every sequence of choices in which at most `most` are unusual; how many there were.
pub(crate) fn with_few(most: usize, mut run: impl FnMut(Choose<'_>)) -> u64 {
    // Which choices are unusual, and how.
    let mut open: Vec<Vec<(usize, i64)>> = vec![Vec::new()];
    let mut runs = 0;
    while let Some(unusual) = open.pop() {
        let (mut at, mut seen) = (0, Vec::new());
        run(&mut |options| {
            let chosen = unusual.iter().find(|(place, _)| *place == at).map_or(0, |(_, choice)| *choice);
            seen.push(options);
            at += 1;
            chosen
        });
        runs += 1;
        if unusual.len() < most {
            let from = unusual.last().map_or(0, |(place, _)| place + 1);
            for (place, options) in seen.iter().enumerate().skip(from) {
                open.extend((1..*options).map(|choice| {
                    let mut next = unusual.clone();
                    next.push((place, choice));
                    next
                }));
            }
        }
    }
    runs
}
