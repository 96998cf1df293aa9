//! A prober: tours over the machine of a role, against a peer, until every transition was taken or was aimed at often enough.
//!
//! A session goes where the nearest transition is that was not taken yet. What the peer is to choose is waited for where the way leads there, with
//! other values each time. Ways through what the peer never chose are given up, and what lies behind them is reported with the
//! reason. The first deviation ends the tours.

mod replay;
mod tour;
mod wrong;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use referee_monitor::Kind;
use referee_theory::State;

use crate::conversation::{Conversation, Deviation, Stop};
use crate::coverage::Coverage;
use crate::peer::{Heard, Peer};
use crate::player::Player;
use crate::random::Random;
use crate::report::{Finding, Report, Timings};
use crate::script::Script;

/// The bounds of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many connections are made at most.
    pub sessions: usize,
    /// How many messages are sent at most.
    pub messages: usize,
    /// How many messages a session has at most.
    pub length: usize,
    /// How long the whole takes at most.
    pub time: Duration,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// How long something that need not come is waited for.
    pub quiet: Duration,
    /// How often a transition is aimed at.
    pub attempts: u32,
    /// How many sessions choose at random, after the tours: what a tour does not find is wrong the second time only, for instance.
    pub walks: usize,
    /// Decides what they choose.
    pub seed: u64,
    /// How many wrong messages are sent: none unless asked for.
    pub mutations: usize,
    /// How many connections are made to shorten a trace.
    pub shrinking: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sessions: 500,
            messages: 20_000,
            length: 200,
            time: Duration::from_secs(60),
            timeout: Duration::from_secs(5),
            quiet: Duration::from_millis(100),
            attempts: 5,
            walks: 10,
            seed: 1,
            mutations: 0,
            shrinking: 30,
        }
    }
}

/// A probe under way.
#[derive(Debug)]
pub struct Prober<P> {
    player: Arc<Player>,
    peer: P,
    options: Options,
    coverage: Coverage,
    /// How often each transition was sent, right or not: which of its values is next.
    turns: Vec<usize>,
    /// For each state, how often the peer said nothing there although only it could.
    silences: Vec<u32>,
    timings: Timings,
    not_judged: Vec<String>,
    sessions: usize,
    sent: usize,
    received: usize,
    limit: Option<&'static str>,
}

/// How a session came to its end.
enum SessionEnd {
    /// It was over, or left.
    Done,
    /// The peer broke the protocol.
    Deviation(Box<Deviation>),
}

/// What came of listening to the peer.
enum Listened {
    /// Something, as it may.
    Messages,
    /// Nothing came.
    Silence,
    /// The peer has ended, as it may.
    End,
    /// Nothing more can be judged.
    NotJudged,
    /// The peer broke the protocol.
    Deviation(Box<Deviation>),
}

impl<P: Peer> Prober<P> {
    /// A probe of `peer` by `player`.
    #[must_use]
    pub fn new(player: &Arc<Player>, peer: P, options: Options) -> Self {
        Self {
            coverage: Coverage::new(player, options.attempts),
            turns: vec![0; player.edges().len()],
            silences: vec![0; player.state_count()],
            player: Arc::clone(player),
            peer,
            options,
            timings: Timings::default(),
            not_judged: Vec::new(),
            sessions: 0,
            sent: 0,
            received: 0,
            limit: None,
        }
    }

    /// Goes on tours until there is nothing left to aim at, then walks at random, then sends wrong messages if that is wanted.
    ///
    /// # Errors
    /// The peer cannot be reached.
    pub fn run(mut self) -> io::Result<Report> {
        let (seed, walks) = (self.options.seed, self.options.walks as u64);
        let mut walks = (0..walks).map(|walk| Random::new(seed.wrapping_add(walk)));
        loop {
            let walk = if self.has_open() { None } else { walks.next() };
            if (walk.is_none() && !self.has_open()) || self.is_limited() {
                break;
            }
            let mut conversation = self.connect()?;
            let end = self.tour(&mut conversation, walk);
            self.peer.close();
            if let SessionEnd::Deviation(deviation) = end {
                let finding = self.shrink(&conversation, *deviation)?;
                if let Some(finding) = self.confirmed(finding) {
                    return Ok(self.report(Some(finding), Vec::new()));
                }
            }
        }
        let (mutations, finding) = self.mutate()?;
        Ok(self.report(finding, mutations))
    }

    /// Does again what `script` says.
    ///
    /// # Errors
    /// The peer cannot be reached.
    pub fn replay(mut self, script: &Script) -> io::Result<Report> {
        let (conversation, found) = self.replay_once(script)?;
        let finding = found.map(|deviation| {
            let lines = conversation.exchanges().iter().map(|exchange| exchange.shown.clone());
            Finding {
                verdict: deviation.record,
                trace: lines.collect(),
                script: script.clone(),
                reproduced: true,
                shortened_by: 0,
                origin: deviation.origin,
            }
        });
        Ok(self.report(finding, Vec::new()))
    }

    fn report(self, finding: Option<Finding>, mutations: Vec<crate::mutation::MutationOutcome>) -> Report {
        Report {
            sessions: self.sessions,
            sent: self.sent,
            received: self.received,
            finding,
            mutations,
            not_judged: self.not_judged,
            timings: self.timings.summary(),
            ..Report::new(&self.player, &self.coverage, self.limit)
        }
    }

    /// Whether something is left that a new session can aim at.
    fn has_open(&self) -> bool {
        let initial = self.player.monitor().machine().initial();
        let ways = self.coverage.ways(&self.player, initial, |_| true);
        self.player.edges().iter().any(|edge| self.coverage.is_open(edge) && reaches(&ways, edge.source))
    }

    /// Whether no more sessions may begin.
    fn is_limited(&mut self) -> bool {
        if self.sessions >= self.options.sessions {
            self.limit.get_or_insert("the limit of sessions is reached");
            return true;
        }
        self.is_limited_within()
    }

    /// Whether nothing more may be sent.
    fn is_limited_within(&mut self) -> bool {
        let limit = if self.sent >= self.options.messages {
            Some("the limit of messages is reached")
        } else if self.peer.now() >= self.options.time {
            Some("the time is up")
        } else {
            None
        };
        self.limit = self.limit.or(limit);
        limit.is_some()
    }

    /// Whether even what has begun must come to an end: a peer that sends a byte now and then could keep it going for ever.
    fn is_overdue(&self) -> bool {
        self.peer.now() >= self.options.time.saturating_mul(2)
    }

    fn connect(&mut self) -> io::Result<Conversation> {
        self.sessions += 1;
        self.peer.connect()?;
        self.coverage.visit(self.player.monitor().machine().initial());
        let mut conversation = Conversation::new(&self.player, self.peer.now());
        if let Some(handshake) = self.peer.handshake() {
            let begun = conversation.begin(&handshake);
            begun.map_err(|_| io::Error::other("its handshake is none of a WebSocket"))?;
        }
        Ok(conversation)
    }

    /// Listens to the peer, for `patience` at most, and enters what it says.
    fn listen(&mut self, conversation: &mut Conversation, patience: Duration) -> Listened {
        let heard = match conversation.is_pending() {
            true => Heard::Bytes(Vec::new()),
            false => self.peer.receive(patience),
        };
        let stop = match heard {
            Heard::Silence => return Listened::Silence,
            Heard::Bytes(bytes) => {
                let count = conversation.exchanges().len();
                let received = conversation.receive(&bytes, self.peer.now());
                let fresh = conversation.exchanges().get(count..).unwrap_or_default();
                self.received += fresh.len();
                for exchange in fresh {
                    self.coverage.visit(exchange.after);
                    exchange.edge.into_iter().for_each(|edge| self.coverage.take(edge));
                    self.timings.add(&exchange.label, exchange.waited);
                }
                match received {
                    Ok(_) => return Listened::Messages,
                    Err(stop) => stop,
                }
            }
            Heard::End | Heard::Broken => match conversation.end() {
                Ok(()) => return Listened::End,
                Err(stop) => stop,
            },
        };
        match stop {
            Stop::Deviation(deviation) => Listened::Deviation(deviation),
            Stop::NotJudged(reason) => {
                self.note(reason);
                Listened::NotJudged
            }
        }
    }

    /// `finding`, unless the peer closed and did not again: it may have done so before it read what it did not answer, and as it
    /// may where it is idle, or somebody else made it.
    fn confirmed(&mut self, finding: Finding) -> Option<Finding> {
        if finding.verdict.kind != Kind::PrematureEnd.name() || finding.reproduced {
            return Some(finding);
        }
        self.note(format!("{}; not seen again", finding.verdict.message));
        None
    }

    /// Keeps that something was not judged, once.
    fn note(&mut self, reason: String) {
        const MAX_NOTES: usize = 20;
        if self.not_judged.len() < MAX_NOTES && !self.not_judged.contains(&reason) {
            self.not_judged.push(reason);
        }
    }
}

fn reaches(ways: &[Option<(u64, Option<usize>)>], state: State) -> bool {
    ways.get(state.index()).is_some_and(Option::is_some)
}
