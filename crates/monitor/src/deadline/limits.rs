//! The table of limits: what a time may have begun with, and what follows for when a right message arrives.

use super::{From, Moment, NOT_WHOLE, Named, Timer, index};
use crate::verdict::Side;

/// The label of what is no message: the beginning of the session, or that the side could write again.
pub(crate) const NO_LABEL: u32 = u32::MAX;

/// Something that a time may have begun with: a row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    beginning: Beginning,
    moment: Moment,
    /// The label of the message, or [`NO_LABEL`].
    pub(crate) label: u32,
    /// Of a handing that is pending: how many bytes have to be handed.
    end: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// A message was handed to the side that is judged.
    Handed,
    /// A message of that side arrived.
    Arrived,
    /// That side could write again.
    Writable,
}

impl Row {
    pub(super) fn handed(moment: Moment, label: u32) -> Self {
        Self { beginning: Beginning::Handed, moment, label, end: 0 }
    }

    fn writable(time: i64) -> Self {
        Self { beginning: Beginning::Writable, moment: Moment::at(time), label: NO_LABEL, end: 0 }
    }

    pub(super) fn arrived(moment: Moment, label: u32) -> Self {
        Self { beginning: Beginning::Arrived, moment, label, end: 0 }
    }

    pub(super) fn ending_at(self, end: u64) -> Self {
        Self { end, ..self }
    }

    /// The last byte of a message that was pending has arrived.
    pub(super) fn arrive(&mut self, moment: Moment) {
        if self.beginning == Beginning::Arrived && self.moment.is_pending() {
            self.moment = Moment { earliest: self.moment.earliest.max(moment.earliest), ..moment };
        }
    }

    /// A message that was not whole is, with so many bytes.
    pub(super) fn end_at(&mut self, end: u64) {
        if self.beginning == Beginning::Handed && self.end == NOT_WHOLE {
            self.end = end;
        }
    }

    /// So many bytes were handed.
    pub(super) fn hand(&mut self, end: u64, moment: Moment) {
        if self.beginning == Beginning::Handed && self.moment.is_pending() && self.end <= end {
            self.moment = Moment { earliest: self.moment.earliest.max(moment.earliest), ..moment };
        }
    }

    /// A right message that is sent within `length` arrives at most then.
    fn latest(&self, length: i64, tolerance: i64) -> i64 {
        let after = self.moment.latest.saturating_add(length).saturating_add(tolerance);
        match self.beginning {
            // Handed by then, it is there a tolerance later.
            Beginning::Handed | Beginning::Writable => after.saturating_add(tolerance),
            Beginning::Arrived => after,
        }
    }

    /// A right message that is sent after `length` arrives at least then.
    fn soonest(&self, length: i64, tolerance: i64) -> i64 {
        let sent = match self.beginning {
            // That the side could write again begins no `after`.
            Beginning::Handed | Beginning::Writable => self.moment.earliest,
            Beginning::Arrived => self.moment.earliest.saturating_sub(tolerance),
        };
        sent.saturating_add(length)
    }

    /// When it was.
    pub(super) fn moment(&self) -> Moment {
        self.moment
    }

    /// When it was, at the earliest.
    pub(super) fn earliest(&self) -> i64 {
        self.moment.earliest
    }
}

impl Timer {
    /// Until when a message of `side` has to arrive, and what that counts from: the largest of all rows.
    pub(super) fn latest(&self, side: Side, from: From, length: i64) -> (i64, Row) {
        let own = &self.sides[index(side)];
        let first = match from {
            From::Before => own.before,
            From::Any => own.sent,
            From::Label(place) => {
                let named = self.labels.get(place as usize).copied().flatten();
                named.map(|Named { sender, arrived, handed }| if sender == side { arrived } else { handed })
            }
        };
        let writable = own.writable.map(Row::writable);
        self.largest(first, [own.received, own.answered, writable], |row| row.latest(length, self.tolerance))
    }

    /// From when a message of `side` may arrive, and what that counts from: the largest of all rows.
    pub(super) fn soonest(&self, side: Side, length: i64) -> (i64, Row) {
        let own = &self.sides[index(side)];
        self.largest(own.before, [own.received, own.answered, None], |row| {
            row.soonest(length, self.tolerance)
        })
    }

    /// The largest limit of B1, which is `first` or else the beginning of the session, and of the `other` rows.
    fn largest(
        &self,
        first: Option<Row>,
        other: [Option<Row>; 3],
        limit: impl Fn(&Row) -> i64,
    ) -> (i64, Row) {
        let first = first.unwrap_or_else(|| self.beginning());
        other.into_iter().flatten().fold((limit(&first), first), |largest, row| {
            let limit = limit(&row);
            if limit > largest.0 { (limit, row) } else { largest }
        })
    }

    fn beginning(&self) -> Row {
        Row::handed(self.began, NO_LABEL)
    }
}
