//! The rest of a message after its beginning was judged: passed on as it comes, never kept.

use crate::connection::{Body, Flow};
use crate::step::{Malformed, Step};

/// What lines may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineRules {
    /// Whether a lone LF is no line end.
    pub(crate) crlf: bool,
    /// Whether a CR that no LF follows is text.
    pub(crate) bare_cr: bool,
    pub(crate) nul: bool,
    /// Whether a line of a block may begin with a single dot and more.
    pub(crate) undoubled_dots: bool,
    /// How many bytes a line of a block may have, with its end and without the dot that was added; 0 for any number.
    pub(crate) max_line: u32,
}

pub(crate) const BARE_CR: &str = "a CR that no LF follows";
pub(crate) const BARE_LF: &str = "an LF that follows no CR";
pub(crate) const NUL: &str = "a NUL in a line";
pub(crate) const LONG_LINE: &str = "a line that is longer than lines may be here";
const BESIDE_DOT: &str = "a lone CR or LF beside the dot that may end the block";

/// Where in a dot-terminated block we are. A line with a single dot ends it: CR LF, a dot, CR LF.
///
/// Readers differ about other line ends: one takes LF for a line end, another CR, a third removes NUL or a second CR before
/// it looks. What follows a dot between such line ends is a command to one and text to another, so it is malformed
/// whoever would be right, and nothing of it is passed on: a CR or a dot waits for the byte after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    place: Place,
    /// How long the line is so far.
    length: u32,
    rules: LineRules,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// At the beginning of a line.
    #[default]
    Start,
    /// At the beginning of a line after a lone LF, which some take for a line end and some do not.
    LooseStart,
    /// Within a line.
    Line,
}

impl Block {
    /// The beginning of a block whose lines obey `rules`.
    pub(crate) fn new(rules: LineRules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Goes through `bytes` and returns how many of them belong to the block for certain, and whether it ends there.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Result<(usize, bool), Malformed> {
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            if self.place == Place::Line {
                match self.line(rest).map_err(|(reason, more)| Malformed::new(reason, at + more))? {
                    (length, true) => at += length,
                    (length, false) => return Ok((at + length, false)),
                }
                continue;
            }
            let is_loose = self.place == Place::LooseStart;
            match rest {
                [] | [b'.'] | [b'.', b'\r'] => return Ok((at, false)),
                [b'.', b'\r', b'\n', ..] if !is_loose => return Ok((at + 3, true)),
                [b'.', b'\r' | b'\n', ..] => return Err(Malformed::new(BESIDE_DOT, at)),
                [b'.', b'.', ..] => at += 1,
                [b'.', ..] if !self.rules.undoubled_dots => {
                    return Err(Malformed::new("a line that begins with a single dot", at));
                }
                // Some readers remove it, and find a dot at the beginning of the line.
                [0, ..] => return Err(Malformed::new(NUL, at)),
                _ => {}
            }
            (self.place, self.length) = (Place::Line, 0);
            // A dot that was doubled counts once, and is no line end.
            if rest.first() == Some(&b'.') {
                at += 1;
                self.length = 1;
            }
        }
    }

    /// Goes through a line: how many bytes, and whether it ends there. On a mistake says what, and where.
    fn line(&mut self, rest: &[u8]) -> Result<(usize, bool), (&'static str, usize)> {
        let mut at = 0;
        loop {
            let line = rest.get(at..).unwrap_or_default();
            let length = memchr::memchr3(b'\r', b'\n', 0, line).unwrap_or(line.len());
            self.grow(length).map_err(|reason| (reason, at))?;
            at += length;
            match line.get(length..).unwrap_or_default() {
                [] | [b'\r'] => return Ok((at, false)),
                [b'\r', b'\n', ..] => {
                    self.place = Place::Start;
                    return Ok((at + 2, true));
                }
                // Beside a dot, another CR or a NUL it might be a line end to somebody.
                [b'\r', b'.' | b'\r' | 0, ..] => return Err((BARE_CR, at)),
                [b'\r', ..] if !self.rules.bare_cr => return Err((BARE_CR, at)),
                [b'\n', ..] if self.rules.crlf => return Err((BARE_LF, at)),
                [b'\n', ..] => {
                    self.place = Place::LooseStart;
                    return Ok((at + 1, true));
                }
                [0, ..] if !self.rules.nul => return Err((NUL, at)),
                // A CR or a NUL that is text.
                _ => {
                    self.grow(1).map_err(|reason| (reason, at))?;
                    at += 1;
                }
            }
        }
    }

    fn grow(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.length = self.length.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        // With the CR LF that is to come.
        if self.rules.max_line > 0 && self.length.saturating_add(2) > self.rules.max_line {
            return Err(LONG_LINE);
        }
        Ok(())
    }
}

/// The next part of the body that `flow` is in.
pub(crate) fn step<'b>(flow: &mut Flow, unread: &'b [u8]) -> Step<'b> {
    let scanned = match &mut flow.body {
        Body::None => Ok((0, true)),
        Body::Exactly(bytes) => Ok((*bytes, true)),
        Body::Dotted(block) => block.scan(unread).map(|(bytes, last)| (bytes as u64, last)),
        Body::Chunked(chunked) => chunked.scan(unread, |_| {}),
        Body::UntilEnd => Ok((unread.len() as u64, false)),
        Body::Resp(values) => values.skip(unread),
    };
    match scanned {
        // What is there says nothing before more of it is.
        Ok((0, false)) => Step::More { at_least: unread.len() + 1 },
        Ok((bytes, last)) => {
            if last {
                flow.body = Body::None;
            }
            Step::Body { bytes, last }
        }
        Err(malformed) => malformed.into(),
    }
}
