//! `docs/time.md`, section 1, "Obligations" and "Moments are intervals": when a right message arrives, row by row.

/// An interval in which something happened.
pub type Interval = (i64, i64);

/// A message, in the protocol's order.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Whether the side that is judged, r, sent it; otherwise it received it.
    pub by_r: bool,
    /// When its last byte arrived.
    pub arrived: Interval,
    /// When its last byte was handed on.
    pub handed: Interval,
}

/// What a time counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Nothing is said: the message before.
    Before,
    /// The message with this number.
    Message(usize),
    /// `of any`.
    Any,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
enum Row {
    /// Handing to r at [b, b′].
    Handed(Interval),
    /// A message of r whose last byte arrived in [x, y].
    Own(Interval),
    /// r could write again at b′.
    Writable(i64),
}

/// What is known when r has to speak.
#[derive(Clone, Debug)]
pub struct Obligation<'a> {
    /// All messages before.
    pub seen: &'a [Seen],
    /// The session began: this counts as handed.
    pub began: Interval,
    /// When r could write again, if it could not.
    pub writable: Option<i64>,
    /// θ.
    pub tolerance: i64,
}

impl Obligation<'_> {
    /// B1, B2 and, where it matters, B3.
    fn rows(&self, of: Of) -> Vec<Row> {
        let row = |message: &Seen| {
            if message.by_r { Row::Own(message.arrived) } else { Row::Handed(message.handed) }
        };
        let session = Row::Handed(self.began);
        let b1 = match of {
            Of::Before => self.seen.last().map_or(session, row),
            Of::Message(number) => row(&self.seen[number]),
            Of::Any => self.seen.iter().rfind(|message| message.by_r).map_or(session, row),
        };
        let mut rows = vec![b1];
        if let Some(o) = self.seen.iter().rposition(|message| !message.by_r) {
            rows.push(Row::Handed(self.seen[o].handed));
            rows.extend(self.seen[..o].iter().rfind(|message| message.by_r).map(|own| Row::Own(own.arrived)));
        }
        rows.extend(self.writable.map(Row::Writable));
        rows
    }

    /// A right message that is sent within `d` arrives at most then.
    #[must_use]
    pub fn at_most(&self, of: Of, d: i64) -> i64 {
        let theta = self.tolerance;
        let limit = |row: Row| match row {
            Row::Handed((_, b)) => b + theta + d + theta,
            Row::Own((_, y)) => y + d + theta,
            Row::Writable(b) => b + theta + d + theta,
        };
        self.rows(of).into_iter().map(limit).max().unwrap_or(i64::MAX)
    }

    /// A right message that is sent after `a` arrives at least then.
    #[must_use]
    pub fn at_least(&self, a: i64) -> i64 {
        let theta = self.tolerance;
        let limit = |row: Row| match row {
            Row::Handed((b, _)) => Some(b + a),
            Row::Own((x, _)) => Some(x - theta + a),
            Row::Writable(_) => None,
        };
        self.rows(Of::Before).into_iter().filter_map(limit).max().unwrap_or(i64::MIN)
    }
}

/// What is said about a message whose first byte arrived in [x, y].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Nothing.
    Nothing,
    /// It was too late; whether r is to blame.
    Late(bool),
    /// It was too early; whether r is to blame.
    Early(bool),
}

/// What is said about a message with `within` and `after`, of which every point, some or none is outside.
#[must_use]
pub fn said(
    obligation: &Obligation<'_>,
    within: Option<(i64, Of)>,
    after: Option<i64>,
    (x, y): Interval,
) -> Said {
    let points: Vec<i64> = (x..=y).collect();
    if let Some((d, of)) = within {
        let limit = obligation.at_most(of, d);
        if points.iter().any(|point| *point > limit) {
            return Said::Late(points.iter().all(|point| *point > limit));
        }
    }
    if let Some(a) = after {
        let limit = obligation.at_least(a);
        if points.iter().any(|point| *point < limit) {
            return Said::Early(points.iter().all(|point| *point < limit));
        }
    }
    Said::Nothing
}
