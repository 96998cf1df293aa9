//! The messages of one connection: its bytes, read by a codec in the order of the protocol.
//!
//! How bytes are read depends on the state of the session, so a session of the monitor goes along; it judges nothing that is reported.
//! What a client sends before its turn (pipelining) waits for it, as it does in a guard (`crates/session`), so that messages come out in an
//! order in which a monitor can judge them one by one.

use crate::joined::{Joined, Looked};
use referee_monitor::{Channel, FieldValue, LabelId, Lead, Payload, Policy, Session};
use referee_session::TwoPartyRules;
use referee_wire::{Connection, Fields, Label, Leave, Limits, Message, Reading, Scratch, Sender, Step};

/// What a conversation came to.
#[derive(Debug)]
pub(crate) enum Said<'a> {
    /// A message.
    Message { sender: Sender, label: &'a str, fields: &'a [FieldValue<'a>] },
    /// A message of which it cannot be told what it was.
    Lost,
    /// A side has ended although the protocol, or its codec, does not let it.
    End { sender: Sender },
    /// Nothing more of it can be read.
    Unreadable(Unread),
}

/// Why the rest of a connection is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unread {
    /// TLS from its first byte on.
    Encrypted,
    /// The sides agreed on something that is not read.
    Switched,
    /// A message longer than the limit.
    TooLong,
    /// In a connection that was joined in the middle: these bytes are no message.
    NoMessage,
    /// There: what was said belongs to what was not seen.
    Ahead,
    /// There: where the message ends depends on what was not seen.
    Ambiguous,
}

/// A connection's messages.
pub(crate) struct Conversation {
    session: Session,
    connection: Connection,
    sides: [Side; 2],
    /// How many messages were taken: what was held may be read then.
    progress: u64,
    /// It began before the capture: its state is not known.
    joined: Option<Joined>,
    is_over: bool,
}

#[derive(Default)]
struct Side {
    unread: Vec<u8>,
    /// How many of the next bytes belong to the message taken last.
    skip: u64,
    /// How many bytes there must be for another look.
    need: usize,
    /// The progress at which there was nothing to be done.
    held_at: Option<u64>,
    awaits_switch: bool,
    /// Whether the last bytes were sent knowing all that the other side had sent.
    is_aware: bool,
    has_begun: bool,
    has_ended: bool,
    end_is_settled: bool,
}

/// Whoever is told what was said.
pub(crate) type Tell<'t> = dyn FnMut(Said<'_>) + 't;

impl Conversation {
    pub(crate) fn new(rules: &TwoPartyRules, is_joined: bool) -> Self {
        let limits = Limits { message: rules.options().max_message };
        Self {
            session: rules.monitor().session(),
            connection: rules.codec().connection(limits),
            sides: [Side::default(), Side::default()],
            progress: 0,
            joined: is_joined.then(|| Joined::new(rules)),
            is_over: false,
        }
    }

    /// How many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        self.sides.iter().map(|side| side.unread.len()).sum()
    }

    pub(crate) fn bytes(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        mut bytes: &[u8],
        is_aware: bool,
        tell: &mut Tell<'_>,
    ) {
        if self.is_over {
            return;
        }
        let side = &mut self.sides[sender.index()];
        if side.unread.is_empty() && side.skip > 0 {
            // Bodies that nobody reads are not kept.
            let here = bytes.len().min(usize::try_from(side.skip).unwrap_or(usize::MAX));
            side.skip -= here as u64;
            bytes = bytes.get(here..).unwrap_or_default();
        }
        side.is_aware = is_aware;
        side.unread.extend_from_slice(bytes);
        if !side.has_begun && side.unread.len() >= TLS_HEAD {
            side.has_begun = true;
            if is_tls(&side.unread) {
                return self.stop(Unread::Encrypted, tell);
            }
        }
        self.advance(rules, tell);
    }

    pub(crate) fn end(&mut self, rules: &TwoPartyRules, sender: Sender, tell: &mut Tell<'_>) {
        self.sides[sender.index()].has_ended = true;
        self.advance(rules, tell);
    }

    fn stop(&mut self, why: Unread, tell: &mut Tell<'_>) {
        self.is_over = true;
        self.sides = [Side::default(), Side::default()];
        tell(Said::Unreadable(why));
    }

    /// Reads what can be read. A client's bytes wait for their turn, so whatever can be read of them comes before the server's next message:
    /// an answer is not read before its request.
    fn advance(&mut self, rules: &TwoPartyRules, tell: &mut Tell<'_>) {
        loop {
            let before = self.progress;
            self.read_side(rules, Sender::Client, usize::MAX, tell);
            self.read_side(rules, Sender::Server, 1, tell);
            if self.is_over || self.progress == before {
                break;
            }
        }
        for sender in Sender::BOTH {
            self.settle_end(rules, sender, tell);
        }
    }

    /// Reads at most `most` messages of `sender`.
    fn read_side(&mut self, rules: &TwoPartyRules, sender: Sender, most: usize, tell: &mut Tell<'_>) {
        let side = &self.sides[sender.index()];
        let lacks = side.unread.is_empty() || side.unread.len() < side.need;
        if side.skip == 0 && (lacks || side.held_at == Some(self.progress)) {
            return;
        }
        let mut scratch = Scratch::new();
        let mut unread = std::mem::take(&mut self.sides[sender.index()].unread);
        let mut start = 0;
        let until = self.progress.saturating_add(most as u64);
        while !self.is_over
            && self.progress < until
            && let Some(consumed) =
                self.step(rules, sender, unread.get(start..).unwrap_or_default(), &scratch, tell)
        {
            start += consumed;
            scratch.clear();
        }
        unread.drain(..start.min(unread.len()));
        if !self.is_over {
            self.sides[sender.index()].unread = unread;
        }
    }

    /// Looks at the next bytes of `sender`: how many of them are done with; `None` if nothing can be done now.
    fn step(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        unread: &[u8],
        scratch: &Scratch,
        tell: &mut Tell<'_>,
    ) -> Option<usize> {
        let side = &mut self.sides[sender.index()];
        if side.skip > 0 {
            let here = unread.len().min(usize::try_from(side.skip).unwrap_or(usize::MAX));
            side.skip -= here as u64;
            return (here > 0).then_some(here);
        }
        if unread.is_empty() || unread.len() < side.need || side.held_at == Some(self.progress) {
            return None;
        }
        if self.joined.is_some() {
            return self.joined_step(rules, sender, unread, scratch, tell);
        }
        let is_turn = rules.ahead().is_turn(&self.session, rules.side(sender));
        if side.awaits_switch && !is_turn && !self.connection.is_transparent() {
            return None;
        }
        side.awaits_switch = false;
        let is_aware = side.is_aware;
        if !is_aware && rules.monitor().is_over(&self.session) {
            // Sent before it could be known that the session was over: neither wanted nor wrong.
            return Some(unread.len());
        }
        let Some(reading) = self.reading(rules, sender, is_turn) else {
            self.sides[sender.index()].held_at = Some(self.progress);
            return None;
        };
        let mut fields = Fields::new();
        let step = rules.codec().decode(&mut self.connection, sender, unread, reading, scratch, &mut fields);
        match step {
            Step::More { at_least } => {
                self.sides[sender.index()].need = at_least.max(unread.len() + 1);
                None
            }
            Step::Wait => {
                self.sides[sender.index()].held_at = Some(self.progress);
                None
            }
            Step::Message(message) => {
                self.message(rules, sender, &message, &fields, tell);
                Some(message.bytes)
            }
            Step::Body { bytes, .. } => {
                self.sides[sender.index()].skip = bytes;
                Some(0)
            }
            Step::Malformed(malformed) if malformed.too_long => {
                self.stop(Unread::TooLong, tell);
                None
            }
            Step::Malformed(malformed) => {
                let label = format!("(no message: {})", malformed.reason);
                tell(Said::Message { sender, label: &label, fields: &[] });
                // Where the next message begins cannot be told.
                self.is_over = true;
                None
            }
            Step::Transparent => {
                self.stop(Unread::Switched, tell);
                None
            }
        }
    }

    /// [`step`](Self::step) of a connection that began before the capture.
    fn joined_step(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        unread: &[u8],
        scratch: &Scratch,
        tell: &mut Tell<'_>,
    ) -> Option<usize> {
        let joined = self.joined.as_mut()?;
        match joined.look(rules, (&mut self.connection, sender), unread, scratch, tell) {
            Looked::Message { bytes, after } => {
                rules.codec().take(&mut self.connection, sender, after, true);
                self.progress += 1;
                self.sides[sender.index()].need = 0;
                Some(bytes)
            }
            Looked::More(need) => {
                self.sides[sender.index()].need = need;
                None
            }
            Looked::Wait => {
                self.sides[sender.index()].held_at = Some(self.progress);
                None
            }
            Looked::Body(bytes) => {
                self.sides[sender.index()].skip = bytes;
                Some(0)
            }
            Looked::Stop(why) => {
                self.stop(why, tell);
                None
            }
        }
    }

    /// How the next bytes of `sender` are read; `None`: that depends on what the other side says next.
    fn reading<'r>(&self, rules: &'r TwoPartyRules, sender: Sender, is_turn: bool) -> Option<Reading<'r>> {
        if self.session.is_tainted() {
            return Some(Reading::anything());
        }
        let (ahead, side, lead) = (rules.ahead(), rules.side(sender), Lead::default());
        if is_turn {
            let reading = ahead
                .position(&self.session, &lead, side)
                .and_then(|position| rules.readings().at(sender, position));
            return match sender {
                Sender::Client => reading,
                Sender::Server => reading.or_else(|| Some(rules.readings().out_of_turn(sender))),
            };
        }
        // A client may send its next requests before the answer to the last one.
        let waits = sender == Sender::Client && ahead.may_speak(&self.session, &lead, side);
        (!waits).then(|| rules.readings().out_of_turn(sender))
    }

    fn message(
        &mut self,
        rules: &TwoPartyRules,
        sender: Sender,
        message: &Message<'_>,
        fields: &[FieldValue<'_>],
        tell: &mut Tell<'_>,
    ) {
        let codec = rules.codec();
        let known = match message.label {
            Label::Known(id) => Some(id),
            Label::Unknown(_) => None,
        };
        if !message.aside {
            let name = codec.name(message.label);
            tell(Said::Message { sender, label: if name.is_empty() { "(unknown)" } else { name }, fields });
            let label = known.map_or(LabelId::UNKNOWN, |_| rules.monitor().label(name));
            let channel: Channel = rules.ahead().channel(rules.side(sender));
            let payload = Payload::Positional(fields);
            let verdict = rules.monitor().step_interned(&mut self.session, channel, label, payload);
            let _ = Policy::Observe.rule(&mut self.session, verdict);
        }
        codec.take(&mut self.connection, sender, message.after, true);
        self.progress += 1;
        let side = &mut self.sides[sender.index()];
        side.need = 0;
        side.awaits_switch = known.is_some_and(|id| rules.readings().asks(id));
    }

    /// Says that `sender` has ended where it may not, once nothing of it is left to be read.
    fn settle_end(&mut self, rules: &TwoPartyRules, sender: Sender, tell: &mut Tell<'_>) {
        if self.is_over {
            return;
        }
        let side = &self.sides[sender.index()];
        let waits = !side.unread.is_empty() && side.unread.len() >= side.need;
        // What waits for its turn may still be read; what is not whole never will.
        if !side.has_ended || side.end_is_settled || waits {
            return;
        }
        let (skip, unread) = (side.skip, side.unread.clone());
        self.sides[sender.index()].end_is_settled = true;
        if self.joined.is_some() || self.connection.is_transparent() || self.session.events() == 0 {
            return;
        }
        let codec = rules.codec();
        let is_within = skip > 0 && !codec.may_abandon(&self.connection, sender);
        let is_cut = is_within || codec.end(&mut self.connection, sender, &unread).is_err();
        if is_cut || !self.may_leave(rules, sender) {
            tell(Said::End { sender });
        }
    }

    /// Whether `sender` may leave between two messages; see `may_leave` in `crates/session/src/two_party/end.rs`.
    fn may_leave(&self, rules: &TwoPartyRules, sender: Sender) -> bool {
        let is_turn = rules.ahead().is_turn(&self.session, rules.side(sender));
        let leaves = self.connection.is_leaving(sender)
            || match rules.codec().leave(sender) {
                Leave::Never => false,
                Leave::Idle => !is_turn || self.sides[sender.other().index()].has_ended,
                Leave::BetweenMessages | Leave::Anytime => true,
            };
        leaves || !rules.owes(sender, self.session.state())
    }
}

/// How many bytes tell a TLS handshake.
const TLS_HEAD: usize = 6;

/// Whether these are the first bytes of a TLS handshake: a record of type 22, its version, its length, a hello of client or server.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x16, 0x03, 0..=4, _, _, 1 | 2, ..])
}
