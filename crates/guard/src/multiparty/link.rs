//! A link: the letters of one monitor to another, over connections that come and go. Without I/O.
//!
//! Letters are numbered. The sender keeps each until it is acknowledged; on a new connection the receiver says which
//! number it expects, and everything from there on is sent again. The receiver takes only the number it expects. So as
//! long as both live, each letter is taken exactly once and in order, however often connections break and whatever was
//! under way on them.

use std::collections::VecDeque;

use hyper::body::Bytes;

/// What one monitor has to send to another.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    /// The number of the first letter that is kept.
    first: u64,
    /// Those that are not acknowledged, oldest first.
    kept: VecDeque<Bytes>,
    /// How many of them were given to the present connection.
    given: usize,
}

/// A receiver claims what cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Impossible;

impl Outbox {
    pub(super) fn push(&mut self, letter: Bytes) {
        self.kept.push_back(letter);
    }

    /// There is a new connection, and at its other end everything before `expected` has been taken.
    pub(super) fn connected(&mut self, expected: u64) -> Result<(), Impossible> {
        self.given = 0;
        self.acknowledged(expected)
    }

    /// The next letter for the present connection.
    pub(super) fn give(&mut self) -> Option<(u64, Bytes)> {
        let letter = self.kept.get(self.given)?.clone();
        let number = self.first + self.given as u64;
        self.given += 1;
        Some((number, letter))
    }

    /// Everything before `expected` has been taken.
    pub(super) fn acknowledged(&mut self, expected: u64) -> Result<(), Impossible> {
        let taken = expected.checked_sub(self.first).and_then(|taken| usize::try_from(taken).ok());
        // An older one is no news.
        let Some(taken) = taken else { return Ok(()) };
        if taken > self.kept.len() {
            return Err(Impossible);
        }
        self.kept.drain(..taken);
        self.first = expected;
        self.given = self.given.saturating_sub(taken);
        Ok(())
    }

    /// The number of the oldest letter that is kept, or of the next one.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The number after the last letter that was given to the present connection.
    pub(super) fn sent(&self) -> u64 {
        self.first + self.given as u64
    }

    /// One that begins with number `first`, of which nothing has been given to a connection.
    pub(super) fn from(first: u64, kept: impl IntoIterator<Item = Bytes>) -> Self {
        Self { first, kept: kept.into_iter().collect(), given: 0 }
    }

    /// What is kept, oldest first.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Bytes> {
        self.kept.iter()
    }

    /// The other end has taken more than there ever was, as far as is known here: what is kept is out of date, and
    /// numbers go on from `expected`.
    pub(super) fn skip_to(&mut self, expected: u64) {
        *self = Self::from(expected, []);
    }

    /// Letters that are kept.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The other end is another process than before: what was meant for the old one is of no use to it.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// What one monitor has taken from another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inbox {
    expected: u64,
}

/// What is to be done with a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taking {
    /// It is the next.
    Take,
    /// It was taken before.
    Again,
    /// One before it is missing: the connection is no good.
    Gap,
}

impl Inbox {
    /// One that has taken everything before `expected`.
    pub(super) fn from(expected: u64) -> Self {
        Self { expected }
    }

    /// The number that comes next.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// A letter with this number came.
    pub(super) fn take(&mut self, number: u64) -> Taking {
        match number.cmp(&self.expected) {
            std::cmp::Ordering::Less => Taking::Again,
            std::cmp::Ordering::Greater => Taking::Gap,
            std::cmp::Ordering::Equal => {
                self.expected += 1;
                Taking::Take
            }
        }
    }
}

#[cfg(test)]
mod tests;
