//! What few sessions need: messages that came before their turn, and events kept to be shown.

use std::collections::VecDeque;
use std::sync::Arc;

use referee_monitor::Party;

use crate::decode::csv::Columns;
use crate::report::{Place, Step};

/// How many messages of a session may wait for their turn.
pub(crate) const MOST_HELD: usize = 1024;

/// What few sessions have.
#[derive(Default)]
pub(crate) struct Extra {
    pub(crate) held: VecDeque<Held>,
    pub(crate) history: VecDeque<Step>,
}

/// A message that can come, but not yet: other peers' messages come first.
pub(crate) struct Held {
    pub(crate) from: Party,
    pub(crate) line: Box<str>,
    pub(crate) columns: Option<Arc<Columns>>,
    pub(crate) number: u64,
    pub(crate) place: Place,
}
