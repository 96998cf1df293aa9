//! `docs/time.md`, laws T2 and T3, on a simulated network: peers that keep their times, channels that delay each byte by at most the
//! tolerance, a guard that stalls at any point, between a system call and the clock as well, and sides that are slow to read: nobody is
//! blamed. A server that falls silent is. The engine is the one of guards, with the intervals of [`Arrivals`]; around it is a
//! driver in a hundred lines, and each mistake it can make blames an innocent.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use referee_monitor::Moment;
use referee_pipeline::Parsed;
use referee_session::{
    Action, Arrival, Arrivals, Deadlines, Engine as _, HoldUntil, Options, TwoParty, TwoPartyRules,
};
use referee_syntax::Language;
use referee_wire::{Scratch, Sender, Table};

const LONG: i64 = 60;

/// What a driver can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
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
type Choose<'c> = &'c mut dyn FnMut(i64) -> i64;

/// The rules of rounds of requests and answers.
struct Rounds {
    rules: Arc<TwoPartyRules>,
    after: i64,
    within: i64,
    tolerance: i64,
}

impl Rounds {
    fn new(after: i64, within: i64, tolerance: i64, mistake: Mistake) -> Self {
        let waits = if after > 0 { format!("after {after}ns") } else { String::new() };
        let text = format!(
            "protocol P(role client, role server) {{ rec X {{ Request() from client to server;
             Reply() from server to client within {within}ns {waits}; continue X; }} }}"
        );
        let well_formed = Parsed::new(&text, Language::Scr).well_formed().unwrap();
        let subject = well_formed.protocol(None).unwrap();
        let client = subject.vocabulary().find_role("client").unwrap();
        let made = subject.monitorable_between(client).unwrap();
        let monitor = made.monitor().unwrap();
        let table = Table::parse("kind = 'text'\nmessages.Request = 'R'\nmessages.Reply = 'A'").unwrap();
        let rules = TwoPartyRules::compile(Arc::new(monitor), client, &table).unwrap();
        let vouched = if mistake == Mistake::SmallTolerance { 0 } else { tolerance };
        let options = Options { deadlines: Deadlines::Report, tolerance: vouched, ..Options::default() };
        Self { rules: Arc::new(rules.with_options(options)), after, within, tolerance }
    }
}

/// Bytes on their way, or waiting to be read: when each is there.
#[derive(Default)]
struct Channel {
    bytes: VecDeque<(i64, u8)>,
    last: i64,
}

impl Channel {
    fn send(&mut self, byte: u8, at: i64) {
        self.last = self.last.max(at);
        self.bytes.push_back((self.last, byte));
    }

    fn take(&mut self, now: i64, most: usize) -> Vec<u8> {
        let count = self.bytes.iter().take_while(|(at, _)| *at <= now).count().min(most);
        self.bytes.drain(..count).map(|(_, byte)| byte).collect()
    }
}

/// Everything but the guard.
struct World<'c> {
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
    /// When the client reads again.
    client_reads: i64,
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
        self.now
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
            self.to[0].take(self.now, usize::MAX);
            self.client_reads = self.now + 3 * (self.choose)(2);
        }
        if self.requests > 0 && self.now >= self.next_request {
            self.requests -= 1;
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
struct Guard<'c> {
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
}

impl<'c> Guard<'c> {
    fn new(mut world: World<'c>, mistake: Mistake) -> Self {
        let earliest = world.clock();
        let began = Moment { earliest, latest: world.clock() };
        let mut engine = TwoParty::new(&world.rounds.rules, None);
        engine.begin(began);
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

    fn look(&mut self) {
        let Some(wake) = self.engine.wake_at() else { return };
        let sender = wake.sender.unwrap();
        let (index, other) = (sender.index(), sender.other().index());
        // A driver looks when the time has come; one that looks more often must not be wrong either.
        if self.is_held(sender) || !self.outbox[index].is_empty() || !self.outbox[other].is_empty() {
            return;
        }
        let before = self.world.clock();
        self.world.stall();
        let now = self.world.now;
        let waiting = self.world.from[index].bytes.iter().filter(|(at, _)| *at <= now).count() as u64;
        let after = self.world.clock();
        let before = if self.mistake == Mistake::EmptyAfterTheLook { after } else { before };
        self.arrivals[index].note_look(before, waiting);
        if self.arrivals[index].unblock() {
            self.engine.note_writable(sender, after);
        }
        if let Some(seen) = self.arrivals[index].seen_until(self.inbox[index].len()) {
            assert!(self.engine.wake(Some(sender), seen).is_ok());
        }
    }

    /// Runs until `end`; who is blamed.
    fn run(mut self, end: i64) -> Vec<Option<String>> {
        let mut blamed = Vec::new();
        while self.world.now < end {
            while self.pump(Sender::Client) | self.pump(Sender::Server) {}
            self.look();
            for verdict in self.engine.take_reports() {
                assert_eq!(verdict.record.certain, verdict.record.blame.is_some(), "{:?}", verdict.record);
                assert!(["deadline", "early"].contains(&&*verdict.record.kind), "{:?}", verdict.record);
                blamed.push(verdict.record.blame);
            }
            self.world.tick();
        }
        blamed
    }
}

/// What is blamed in a session with `requests`, of which all but `silent` are answered, while a side may leave `room` bytes unread.
fn blamed(
    rounds: &Rounds,
    mistake: Mistake,
    (requests, silent): (usize, usize),
    room: usize,
    choose: Choose<'_>,
) -> Vec<Option<String>> {
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
    };
    Guard::new(world, mistake).run(100 + LONG * requests as i64)
}

fn random(mut seed: u64) -> impl FnMut(i64) -> i64 {
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
fn with_few(most: usize, mut run: impl FnMut(Choose<'_>)) -> u64 {
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

const NOBODY: &[Option<String>] = &[];

fn is_innocent(blamed: &[Option<String>]) -> bool {
    blamed.iter().all(Option::is_none)
}

#[test]
fn nobody_is_blamed_whatever_is_slow() {
    let mut runs = 0;
    for (after, within, tolerance) in [(0, 4, 1), (2, 3, 0)] {
        let rounds = Rounds::new(after, within, tolerance, Mistake::None);
        runs += with_few(1, |choose| {
            assert!(is_innocent(&blamed(&rounds, Mistake::None, (2, 0), 2, choose)));
        });
    }
    assert!(runs > 1_000, "{runs}");
    for seed in 0..6_000 {
        let rounds = [(0, 1, 0), (0, 3, 1), (1, 2, 2), (2, 2, 0), (0, 6, 3)][seed as usize % 5];
        let rounds = Rounds::new(rounds.0, rounds.1, rounds.2, Mistake::None);
        let room = 1 + seed as usize % 4;
        let found = blamed(&rounds, Mistake::None, (4, 0), room, &mut random(seed));
        assert!(is_innocent(&found), "seed {seed}: {found:?}");
    }
}

#[test]
fn a_server_that_falls_silent_is_blamed() {
    let mut runs = 0;
    let rounds = Rounds::new(0, 4, 1, Mistake::None);
    let is_found = |found: &[Option<String>]| found.iter().flatten().eq(["server"].iter());
    runs += with_few(1, |choose| {
        let found = blamed(&rounds, Mistake::None, (2, 1), 8, choose);
        assert!(is_found(&found), "{found:?}");
    });
    assert!(runs > 500, "{runs}");
    for seed in 0..2_000 {
        let found = blamed(&rounds, Mistake::None, (3, 1), 8, &mut random(seed));
        assert!(is_found(&found), "seed {seed}: {found:?}");
    }
    // Without a stall nothing is in doubt.
    assert_eq!(blamed(&rounds, Mistake::None, (3, 0), 8, &mut |_| 0), NOBODY);
}

#[test]
fn each_mistake_of_a_driver_blames_an_innocent() {
    for mistake in [
        Mistake::SmallTolerance,
        Mistake::HandingAfterTheWrite,
        Mistake::EmptyAfterTheLook,
        Mistake::ArrivedWhenRead,
        Mistake::UnsentIsHanded,
    ] {
        let rounds = match mistake {
            Mistake::HandingAfterTheWrite => Rounds::new(3, 4, 0, mistake),
            Mistake::SmallTolerance => Rounds::new(0, 2, 2, mistake),
            _ => Rounds::new(0, 2, 0, mistake),
        };
        let is_found = (0..20_000).any(|seed| {
            !is_innocent(&blamed(&rounds, mistake, (4, 0), 1 + seed as usize % 4, &mut random(seed)))
        });
        assert!(is_found, "{mistake:?}");
    }
}
