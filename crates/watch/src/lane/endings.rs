//! Keys that are used again (process ids, ports): what ends a session, so that its next event begins another.

use super::Position;
use crate::decode::Record;
use crate::decode::event::What;
use crate::decode::fields::Scanner;
use crate::input::reorder::time_of;
use crate::sessions::{NOBODY, Sessions};

/// Frees the record's key if its session has been idle for too long; when the record was, if that matters.
pub(super) fn before(position: Position<'_>, record: &Record, sessions: &mut Sessions) -> Option<i64> {
    let idle = position.plan.options.session_ends.idle?;
    let mut scanner = Scanner::new(&position.plan.tree);
    let columns = position.decoded.chunk.columns.as_deref();
    let time = time_of(&mut scanner, columns, position.decoded.line(record).as_bytes()).flatten()?;
    let index = sessions.find(record.hash, position.decoded.key(record));
    let idle = i64::try_from(idle.as_nanos()).unwrap_or(i64::MAX);
    if sessions.seen(index).is_some_and(|seen| time.saturating_sub(seen) > idle) {
        sessions.release(index);
    }
    Some(time)
}

/// Takes note of when the record was, and frees its key if it ends its session.
pub(super) fn after(position: Position<'_>, record: &Record, sessions: &mut Sessions, time: Option<i64>) {
    let plan = position.plan;
    let index = sessions.find(record.hash, position.decoded.key(record));
    if index == NOBODY {
        return;
    }
    if let Some(time) = time {
        sessions.note(index, time);
    }
    let ends = plan.options.session_ends.labels.iter();
    let mut known =
        ends.map(|label| plan.names.label_called(label)).filter(|label| *label != crate::names::UNKNOWN);
    if record.what == What::Message && known.any(|label| label == record.label) {
        sessions.release(index);
    }
}
