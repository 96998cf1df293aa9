//! The rest of a message after its beginning was judged: passed on as it comes, never kept.

use crate::connection::{Body, Flow};
use crate::step::{Malformed, Step};

/// Where in a dot-terminated block we are. A line with a single dot ends it: CR LF, a dot, CR LF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DotPlace {
    /// At the beginning of a line.
    #[default]
    Start,
    /// After a dot at the beginning of a line.
    Point,
    /// After a dot at the beginning of a line and CR.
    PointCr,
    /// Within a line.
    Line,
    /// Within a line, after CR.
    Cr,
    /// At the beginning of a line after a lone LF, which some take for a line end and some do not.
    LooseStart,
    /// After a lone LF and a dot.
    LoosePoint,
    /// After a lone LF, a dot and CR.
    LoosePointCr,
}

impl DotPlace {
    /// Goes through `bytes` and returns how many of them belong to the block, and whether it ends there.
    ///
    /// A dot between line ends of which one is a lone LF ends the block for some readers only: what follows would be
    /// a command to one and text to another. That is malformed, whoever would be right.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Result<(usize, bool), Malformed> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            *self = match (*self, byte) {
                (Self::PointCr, b'\n') => return Ok((at + 1, true)),
                (Self::Point | Self::LoosePoint, b'\n') | (Self::LoosePointCr, b'\n') => {
                    return Err(Malformed::new("a lone LF beside the dot that may end the block", at));
                }
                (Self::Start, b'.') => Self::Point,
                (Self::Point, b'\r') => Self::PointCr,
                (Self::LooseStart, b'.') => Self::LoosePoint,
                (Self::LoosePoint, b'\r') => Self::LoosePointCr,
                (Self::Cr, b'\n') => Self::Start,
                (_, b'\n') => Self::LooseStart,
                (_, b'\r') => Self::Cr,
                _ => {
                    // Nothing happens within a line before its end.
                    let rest = bytes.get(at..).unwrap_or_default();
                    let Some(length) = memchr::memchr2(b'\r', b'\n', rest) else {
                        *self = Self::Line;
                        return Ok((bytes.len(), false));
                    };
                    *self = Self::Line;
                    at += length;
                    continue;
                }
            };
            at += 1;
        }
        Ok((bytes.len(), false))
    }
}

/// The next part of the body that `flow` is in.
pub(crate) fn step<'b>(flow: &mut Flow, unread: &'b [u8]) -> Step<'b> {
    let scanned = match &mut flow.body {
        Body::None => Ok((0, true)),
        Body::Exactly(bytes) => Ok((*bytes, true)),
        Body::Dotted(dot) => dot.scan(unread).map(|(bytes, last)| (bytes as u64, last)),
        Body::Chunked(chunked) => chunked.scan(unread, |_| {}),
        Body::UntilEnd => Ok((unread.len() as u64, false)),
        Body::Resp(values) => match values.skip(unread) {
            Ok((0, false)) => return Step::More { at_least: unread.len() + 1 },
            scanned => scanned,
        },
    };
    match scanned {
        Ok((bytes, last)) => {
            if last {
                flow.body = Body::None;
            }
            Step::Body { bytes, last }
        }
        Err(malformed) => malformed.into(),
    }
}
