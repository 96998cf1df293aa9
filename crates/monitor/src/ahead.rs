//! Messages sent ahead of their turn, between two parties.
//!
//! A client that pipelines sends its next request before the answer to the last one. The monitor is then in a
//! state where the server speaks; in the paper's model it does not read from the client until it is the client's
//! turn, and nobody is to blame for what lies in the channel meanwhile. That is what [`Verdict::Early`] says: leave
//! the message where it is and offer it again after the other side's next one. It is always right, and slow.
//!
//! Most of what is pipelined need not wait. A message is *certain* if, however the other side goes on until it is
//! the sender's turn, the protocol takes that message then, without an assertion and without binding a variable.
//! [`Ahead::judge`] forwards such messages at once and remembers their labels ([`Lead`]); as the other side's
//! messages come, the session catches up. A message that only some answers would allow waits. Answers after which
//! the session is over count neither way: who sent ahead could not know.
//!
//! Where blocks run side by side both sides may speak, and a message of one block can come before its turn there although its sender
//! has the turn in another. It waits if the other side alone can bring its turn about; if not, it is wrong.
//!
//! What is certain is worked out beforehand, as a deterministic automaton over sets of states. Where that would
//! be too large, messages wait.

mod build;
mod later;

use std::collections::VecDeque;

use referee_theory::{Action, State};
use rustc_hash::FxHashMap;

use crate::event::{Channel, Party, Payload};
use crate::labels::LabelId;
use crate::monitor::Monitor;
use crate::session::Session;
use crate::verdict::{Side, Verdict};
use build::Builder;
use later::Later;

/// How many messages one side may be ahead before it has to wait.
pub const MAX_LEAD: usize = 1024;

/// What may be forwarded ahead of its turn. Made once for a monitor, shared by its sessions.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// For each state, who may speak: bit 0 the process, bit 1 the environment.
    turns: Box<[u8]>,
    /// For each state, who may speak there or in a state that can follow.
    prospects: Box<[u8]>,
    process: Lane,
    environment: Lane,
    /// If both sides may speak in some state.
    later: Option<Box<Later>>,
    /// The states of each position: those that are a state itself come first.
    members: Vec<Box<[State]>>,
}

/// One side's part of [`Ahead`].
#[derive(Clone, Debug)]
struct Lane {
    channel: Channel,
    /// For each state that is not this side's turn: where its next message will be read, or [`NOWHERE`].
    starts: Box<[u32]>,
    /// What is certain at a position: the transition to check payloads with, and the position after it.
    certain: FxHashMap<(u32, u32), (u32, u32)>,
}

const NOWHERE: u32 = u32::MAX;

/// Where in the protocol a side's next message is to be read: a state, or one of several states, depending on
/// what the other side does meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position(u32);

impl Position {
    /// This position as an index into [`Ahead::positions`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The messages that one side has sent ahead, in one session. Empty, it has allocated nothing.
#[derive(Clone, Debug)]
pub struct Lead {
    // INVARIANT: while there are any, it is not `side`'s turn.
    labels: VecDeque<u32>,
    side: Side,
    position: u32,
}

impl Default for Lead {
    fn default() -> Self {
        Self { labels: VecDeque::new(), side: Side::Process, position: NOWHERE }
    }
}

impl Lead {
    /// How many messages are ahead.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether nobody is ahead.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }
}

impl Ahead {
    /// What is certain for `monitor`. With several peers nothing is, and [`judge`](Self::judge) is
    /// [`Monitor::step_interned`].
    #[must_use]
    pub fn new(monitor: &Monitor) -> Self {
        let machine = monitor.machine();
        let turns: Box<[u8]> = machine
            .states()
            .map(|state| {
                machine.transitions(state).iter().fold(0, |turns, transition| turns | bit(transition.action))
            })
            .collect();
        let prospects = build::prospects(machine, &turns);
        let lane = |from, to| Lane {
            channel: monitor.channel(from, to),
            starts: vec![NOWHERE; machine.state_count()].into(),
            certain: FxHashMap::default(),
        };
        let mut ahead = Self {
            turns,
            prospects,
            process: lane(Party::Process, Party::Environment),
            environment: lane(Party::Environment, Party::Process),
            later: None,
            members: machine.states().map(|state| [state].into()).collect(),
        };
        if monitor.peers.len() == 1 {
            ahead.later = Later::new(monitor, &ahead.turns).map(Box::new);
            let alike = build::alike(monitor);
            for action in [Action::Send, Action::Receive] {
                Builder::new(monitor, &alike, action).build(&mut ahead);
            }
        }
        ahead
    }

    /// The channel of what `side` sends.
    #[must_use]
    pub fn channel(&self, side: Side) -> Channel {
        self.lane(side).channel
    }

    /// Whether `session` has a turn of `side`, or is over: what it sends now is judged now.
    #[must_use]
    #[inline]
    pub fn is_turn(&self, session: &Session, side: Side) -> bool {
        match self.turns.get(session.state as usize) {
            Some(0) | None => true,
            Some(turns) => turns & side_bit(side) != 0,
        }
    }

    /// Whether `side` may have anything to say after what it has sent ahead, as far as it could know when it sent that. If
    /// not, what it says before the end is as wrong as after it.
    #[must_use]
    pub fn may_speak(&self, session: &Session, lead: &Lead, side: Side) -> bool {
        if !lead.labels.is_empty() && lead.side == side {
            // A lead knows its next position.
            return lead.position != NOWHERE;
        }
        self.prospects.get(session.state as usize).is_some_and(|sides| sides & side_bit(side) != 0)
    }

    /// Where `side`'s next message is to be read. `None`: that depends on the other side in a way that cannot be
    /// told, so it has to wait.
    #[must_use]
    #[inline]
    pub fn position(&self, session: &Session, lead: &Lead, side: Side) -> Option<Position> {
        if self.is_turn(session, side) {
            return Some(Position(session.state));
        }
        let position = self.upcoming(session, lead, side);
        (position != NOWHERE).then_some(Position(position))
    }

    /// The states that each position stands for, by [`Position::index`].
    #[must_use]
    pub fn positions(&self) -> &[Box<[State]>] {
        &self.members
    }

    /// Like [`Monitor::step_interned`] where it is the sender's turn. Elsewhere forwards what is certain, and says
    /// [`Verdict::Early`] of everything else.
    #[inline]
    pub fn judge(
        &self,
        monitor: &Monitor,
        session: &mut Session,
        lead: &mut Lead,
        side: Side,
        label: LabelId,
        payload: Payload<'_>,
    ) -> Verdict {
        if !self.is_turn(session, side) && monitor.peers.len() == 1 {
            return self.judge_early(monitor, session, lead, side, label, &payload);
        }
        if let Some(later) = &self.later
            && later.may_take(monitor, session, self.lane(side).channel, side, label)
        {
            return Verdict::Early;
        }
        let verdict = monitor.step_interned(session, self.lane(side).channel, label, payload);
        if verdict == Verdict::Forward && !lead.labels.is_empty() {
            self.catch_up(monitor, session, lead);
        }
        verdict
    }

    fn judge_early(
        &self,
        monitor: &Monitor,
        session: &Session,
        lead: &mut Lead,
        side: Side,
        label: LabelId,
        payload: &Payload<'_>,
    ) -> Verdict {
        let position = self.upcoming(session, lead, side);
        match self.lane(side).certain.get(&(position, label.0)) {
            Some(&(edge, next)) if lead.labels.len() < MAX_LEAD && monitor.takes(edge, payload) => {
                lead.labels.push_back(label.0);
                (lead.side, lead.position) = (side, next);
                Verdict::Forward
            }
            _ => Verdict::Early,
        }
    }

    /// Steps over what was sent ahead as far as it has its turn.
    fn catch_up(&self, monitor: &Monitor, session: &mut Session, lead: &mut Lead) {
        while let Some(&label) = lead.labels.front() {
            let turns = self.turns.get(session.state as usize).copied().unwrap_or(0);
            if turns == 0 {
                // Over: who sent these could not know.
                lead.labels.clear();
                return;
            }
            if turns & side_bit(lead.side) == 0 {
                return;
            }
            let index = monitor.table.find(session.state, self.lane(lead.side).channel, LabelId(label));
            monitor.follow(session, index);
            lead.labels.pop_front();
        }
    }

    #[inline]
    fn upcoming(&self, session: &Session, lead: &Lead, side: Side) -> u32 {
        if lead.labels.is_empty() {
            self.lane(side).starts.get(session.state as usize).copied().unwrap_or(NOWHERE)
        } else {
            lead.position
        }
    }

    #[inline]
    fn lane(&self, side: Side) -> &Lane {
        match side {
            Side::Process => &self.process,
            Side::Environment => &self.environment,
        }
    }
}

fn bit(action: Action) -> u8 {
    match action {
        Action::Send => side_bit(Side::Process),
        Action::Receive => side_bit(Side::Environment),
    }
}

#[inline]
fn side_bit(side: Side) -> u8 {
    match side {
        Side::Process => 1,
        Side::Environment => 2,
    }
}
