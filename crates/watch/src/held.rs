//! What few sessions need: messages that came before their turn, and events kept to be shown.

use std::collections::VecDeque;
use std::sync::Arc;

use referee_monitor::{Early, Party, Possible};

use crate::decode::csv::Columns;
use crate::lane::clock::SessionTimes;
use crate::lane::keyed::Calls;
use crate::lane::window::Window;
use crate::report::{Place, Step};

/// How many messages of a session may wait for their turn.
pub(crate) const MOST_EARLY: usize = 1024;
/// And how many bytes of lines.
pub(crate) const MOST_EARLY_BYTES: usize = 1 << 20;

/// What few sessions have.
pub(crate) struct Extra {
    /// Messages that can come, but not yet: other peers' messages come first.
    pub(crate) early: Early<Kept>,
    pub(crate) history: VecDeque<Step>,
    /// The states it may be in, if something of it was not seen.
    pub(crate) possible: Option<Possible>,
    /// Events whose order is not known yet.
    pub(crate) window: Window,
    /// Where the protocol has deadlines.
    pub(crate) times: SessionTimes,
    /// Where the protocol opens sub-sessions.
    pub(crate) calls: Option<Box<Calls>>,
}

impl Extra {
    /// Whether nothing is in it.
    pub(crate) fn is_unused(&self) -> bool {
        self.early.is_empty()
            && self.history.is_empty()
            && self.possible.is_none()
            && self.window.is_blank()
            && matches!(self.times, SessionTimes::Unborn)
            && self.calls.is_none()
    }
}

impl Default for Extra {
    fn default() -> Self {
        let early = Early::new(MOST_EARLY).within(MOST_EARLY_BYTES, |kept: &Kept| kept.text.len());
        Self {
            early,
            history: VecDeque::new(),
            possible: None,
            window: Window::default(),
            times: SessionTimes::default(),
            calls: None,
        }
    }
}

/// A message that is kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) text: Box<str>,
    pub(crate) columns: Option<Arc<Columns>>,
    /// Which event of its session.
    pub(crate) number: u64,
    pub(crate) place: Place,
    pub(crate) from: Party,
}
