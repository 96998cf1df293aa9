//! What a session says is to be done: [`Action`], and the trait of those who say it.

use std::task::Waker;

use referee_monitor::Moment;
use referee_theory::Origin;
use referee_theory::expr::Value;
use referee_verdict::{EndReason, VerdictRecord};
use referee_wire::{MessageId, Scratch, Sender};

use crate::deadline::{Arrival, Seen};

/// What to do with the first bytes that one side has sent and nobody has decided about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// So many go on to the other side.
    Forward(usize),
    /// They, and all that follow in both directions, go on without being inspected.
    ForwardAll,
    /// So many do not go on.
    Discard(usize),
    /// So many do not go on, and who waits for an answer is told: see [`Engine::take_reply`].
    Refuse(usize),
    /// So many are kept by the engine, which gives them back with [`released`](Engine::released) when they may go on.
    Keep(usize),
    /// They are kept, and shown again.
    Hold(HoldUntil),
    /// The session is closed. Each side gets its [close message](Engine::close_message) first.
    Close(EndReason),
}

/// When held bytes are to be shown again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldUntil {
    /// With so many bytes: fewer say nothing.
    Length(usize),
    /// After [`Engine::progress`] has changed: the other side has to speak first.
    Progress,
    /// When the waker was woken: another connection has their session.
    Woken,
}

/// An action, and the message it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What to do.
    pub action: Action,
    /// The message that was judged, if the codec knows it. The rest of a message is judged with its beginning.
    pub message: Option<MessageId>,
}

impl From<Action> for Decision {
    fn from(action: Action) -> Self {
        Self { action, message: None }
    }
}

/// A verdict, as an engine gives it: without the time, the session's number and its source, which its driver knows.
#[derive(Clone, Debug)]
pub struct SessionVerdict {
    /// What is to be reported.
    pub record: VerdictRecord,
    /// Where the protocol says otherwise.
    pub origin: Origin,
    /// The last messages, oldest first, redacted.
    pub recent: Vec<String>,
}

/// A message as it is recorded, so that the session can be judged again.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMessage {
    /// The number of its session, where a session has several connections; 0 without one.
    pub session: Option<u64>,
    /// The role that sent it.
    pub from: String,
    /// The role that it was for.
    pub to: String,
    /// Its label.
    pub label: String,
    /// Its fields, as the protocol declares them; what may not be shown is not there.
    pub payload: Value,
    /// Whether it went on.
    pub forwarded: bool,
}

/// What came on a connection and cannot come on such a one, so that nothing more can be read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is malformed, and why.
    Malformed(String),
    /// It is longer than the limit.
    TooLong,
}

/// What judges a session at one place.
pub trait Engine {
    /// What to do with `unread`, which is not empty: all that `sender` has sent and nobody has decided about. Between two calls
    /// it only grows at its end, and loses at its beginning what was forwarded or discarded. `waker` is for
    /// [`HoldUntil::Woken`]; what is built in `scratch` is gone afterwards.
    fn receive(&mut self, sender: Sender, unread: &[u8], scratch: &mut Scratch, waker: &Waker) -> Decision;

    /// `sender` will send nothing more, and `unread` is what it left undecided. To be called again whenever
    /// [`progress`](Self::progress) has changed: what was too early to tell may be told then.
    ///
    /// # Errors
    /// The session is to be closed for this reason.
    fn end(&mut self, sender: Sender, unread: &[u8]) -> Result<(), EndReason>;

    /// The connection with `sender` broke, both ways, and `unread` is what it left undecided.
    ///
    /// # Errors
    /// The session is to be closed for this reason, and not for the break.
    fn broken(&mut self, sender: Sender, unread: &[u8]) -> Result<(), EndReason> {
        self.end(sender, unread)
    }

    /// `sender` has sent something that ends the reading. Whether the engine has judged it, and the session goes on for now; if not,
    /// the connection counts as broken.
    fn unreadable(&mut self, _sender: Sender, _what: &Unreadable) -> bool {
        false
    }

    /// `sender` will send nothing more, and its first bytes in `unread` are held. Once they are decided, [`end`](Self::end) is called.
    fn end_while_held(&mut self, _sender: Sender, _unread: &[u8]) {}

    /// How many bytes of `sender` may be unread while its first are held: it is read from until there are so many, to notice that it
    /// has ended. Not at all by default: backpressure.
    fn read_ahead(&self, _sender: Sender) -> usize {
        0
    }

    /// What `sender` has sent before, which the engine has [kept](Action::Keep): it goes on now, ahead of all that `sender` says later. To be asked after each
    /// decision, and whenever [`progress`](Self::progress) has changed.
    #[inline]
    fn released(&mut self, _sender: Sender) -> Option<Vec<u8>> {
        None
    }

    /// A number that changes with everything that is forwarded: what was held may then be decided.
    fn progress(&self) -> u64;

    /// How many messages were judged.
    fn judged(&self) -> u64;

    /// Whether the session has come to its end, for both sides.
    fn is_over(&self) -> bool;

    /// Whether nothing more is to come: the session is over, all its messages are whole, and it is not only observed. Its driver
    /// closes it if its sides do not.
    fn is_finished(&self) -> bool;

    /// Whether nothing is under way, and both sides may leave: a connection that is kept alive for the next request.
    fn is_idle(&self) -> bool;

    /// Whether bytes are inspected at all.
    fn is_inspecting(&self) -> bool;

    /// From now on everything goes on without being inspected; `note` says why.
    fn stop_inspecting(&mut self, note: &'static str);

    /// What `receiver` is sent before its connection is closed. Nothing where it would stand in the middle of a message.
    fn close_message(&self, receiver: Sender) -> &[u8];

    /// Why the session ended, both sides having closed as they may.
    fn end_reason(&self) -> EndReason;

    /// Whether there is anything to [report](Self::take_reports), or [recorded](Self::take_messages).
    fn has_reports(&self) -> bool;

    /// The verdicts that were given since the last call.
    fn take_reports(&mut self) -> Vec<SessionVerdict>;

    /// The messages that were judged since the last call, if they are recorded.
    fn take_messages(&mut self) -> Vec<RecordedMessage> {
        Vec::new()
    }

    /// After [`Action::Refuse`]: whom to send what, at once. Nothing where it is empty.
    fn take_reply(&mut self) -> (Sender, Vec<u8>) {
        (Sender::Client, Vec::new())
    }

    /// Whether times matter. If not, nothing of what follows is called.
    #[inline]
    fn is_timed(&self) -> bool {
        false
    }

    /// When the bytes of `sender` arrived that are shown next.
    fn note_arrival(&mut self, _sender: Sender, _arrival: Arrival) {}

    /// What `sender` has sent and was forwarded, `end` bytes in all, was handed to the other side; what had not been before, when
    /// `moment` says.
    fn note_handed(&mut self, _sender: Sender, _end: u64, _moment: Moment) {}

    /// `sender` was not read from for a while, because of the other side; by `time` all that it had written was read.
    fn note_writable(&mut self, _sender: Sender, _time: i64) {}

    /// When it wants to be [woken](Self::wake), as things stand.
    fn wake_at(&self) -> Option<i64> {
        None
    }

    /// It is `now`, and so much has been `seen` of the client and of the server.
    ///
    /// # Errors
    /// The session is to be closed for this reason.
    fn wake(&mut self, _now: i64, _seen: [Seen; 2]) -> Result<(), EndReason> {
        Ok(())
    }

    /// A side ends, or its connection broke, and it is `now`: what could not be decided will not be.
    fn expire(&mut self, _now: i64, _seen: [Seen; 2]) {}
}
