//! The values of RESP in the unread bytes: those that are read, and those that are passed over as they come.

use crate::step::{Malformed, Step};
use crate::value::integer;

/// How long a line with a number may be.
const MAX_NUMBER: usize = 32;
/// How many values an aggregate, and how many bytes a string may have: what Redis itself takes.
const MAX_LENGTH: i64 = 1024 * 1024 * 1024;
const NO_ARGUMENT: &str = "a command is an array of bulk strings";
/// How long a word may be that tells arrays apart.
const LONGEST_WORD: u64 = 64;
const TOO_LONG: &str = "a string that is longer than its length";

/// Values that are still to be passed over, the one that is under way included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Values {
    /// How many have not begun.
    left: u64,
    /// How many bytes of a string are to come.
    text: u64,
    /// Whether CR LF is to come after them.
    line_end: bool,
    /// Whether they are arguments of a command, which are strings.
    arguments: bool,
}

impl Values {
    /// So many.
    pub(super) fn new(left: u64) -> Self {
        Self { left, text: 0, line_end: false, arguments: false }
    }

    /// The last `left` arguments of a command.
    pub(super) fn of_command(left: u64) -> Self {
        Self { arguments: true, ..Self::new(left) }
    }

    /// The rest of a string of `length` bytes.
    pub(crate) fn of_text(length: u64) -> Self {
        Self { text: length, line_end: true, ..Self::new(0) }
    }

    /// Passes over them as far as they can be seen: how many bytes, perhaps more than there are, and whether that is
    /// all.
    pub(crate) fn skip(&mut self, bytes: &[u8]) -> Result<(u64, bool), Malformed> {
        let mut cursor = Cursor { bytes, at: 0 };
        loop {
            let end = cursor.at as u64 + std::mem::take(&mut self.text);
            match usize::try_from(end) {
                Ok(end) if end <= bytes.len() => cursor.at = end,
                // The rest of a string that has not come yet.
                _ => return Ok((end, false)),
            }
            let start = cursor.at;
            let rest = bytes.get(start..).unwrap_or_default();
            if self.line_end {
                match line_end(rest) {
                    Some(true) => cursor.at += 2,
                    Some(false) => return Err(Malformed::new(TOO_LONG, start)),
                    None => return Ok((start as u64, false)),
                }
                self.line_end = false;
                continue;
            }
            let Some(kind) = rest.first().filter(|_| self.left > 0) else {
                return Ok((start as u64, self.left == 0));
            };
            let header = match kind {
                _ if self.arguments && *kind != b'$' => return Err(Malformed::new(NO_ARGUMENT, start)),
                b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => cursor.strict_line().map(|_| None),
                b'$' | b'!' | b'=' | b'*' | b'~' | b'>' | b'|' | b'%' => cursor.number(),
                _ => return Err(Malformed::new("no value begins with this byte", start)),
            };
            let number = match header {
                Ok(number) => number,
                Err(Step::Malformed(malformed)) => return Err(malformed),
                // A line that is not whole yet.
                Err(_) => return Ok((start as u64, false)),
            };
            let more = match (kind, number) {
                (_, None) if self.arguments => return Err(Malformed::new(NO_ARGUMENT, start)),
                (b'$' | b'!' | b'=', Some(length)) => {
                    (self.text, self.line_end) = (length, true);
                    0
                }
                (b'*' | b'~' | b'>', Some(count)) => count,
                (b'%', Some(count)) => count.saturating_mul(2),
                // An attribute is besides the value that follows.
                (b'|', count) => count.unwrap_or(0).saturating_mul(2).saturating_add(1),
                _ => 0,
            };
            self.left = (self.left - 1).saturating_add(more);
        }
    }
}

/// Whether `bytes` begins with CR LF; `None` if that cannot be told yet.
fn line_end(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [b'\r', b'\n', ..] => Some(true),
        [] | [b'\r'] => None,
        _ => Some(false),
    }
}

/// A place in the unread bytes.
pub(super) struct Cursor<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) at: usize,
}

impl<'b> Cursor<'b> {
    /// The line here, without its CR LF.
    #[inline]
    pub(super) fn line(&mut self) -> Result<&'b [u8], Step<'b>> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(feed) = memchr::memchr(b'\n', rest) else {
            return Err(Step::More { at_least: self.bytes.len() + 1 });
        };
        self.at += feed + 1;
        let line = rest.get(..feed).unwrap_or_default();
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The line here, which must end with CR LF: what a server says is read by others too, and they may not take a lone
    /// LF for its end.
    #[inline]
    pub(super) fn strict_line(&mut self) -> Result<&'b [u8], Step<'b>> {
        let line = self.line()?;
        if self.bytes.get(self.at.saturating_sub(2)) == Some(&b'\r') {
            Ok(line)
        } else {
            Err(Malformed::new("a line that ends with a lone LF", self.at - 1).into())
        }
    }

    /// The number in the line here, after its first byte; none if it is -1.
    #[inline]
    pub(super) fn number(&mut self) -> Result<Option<u64>, Step<'b>> {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        // Most have one digit.
        if let [_, digit @ b'0'..=b'9', b'\r', b'\n', ..] = rest {
            self.at += 4;
            return Ok(Some(u64::from(digit - b'0')));
        }
        let seen = rest.get(..MAX_NUMBER).unwrap_or(rest);
        let Some(end) = memchr::memchr(b'\r', seen) else {
            return Err(if rest.len() >= MAX_NUMBER {
                Malformed::new("a length that is no number", start).into()
            } else {
                Step::More { at_least: self.bytes.len() + 1 }
            });
        };
        match rest.get(end + 1) {
            Some(b'\n') => {}
            Some(_) => return Err(Malformed::new("a lone CR", start + end).into()),
            None => return Err(Step::More { at_least: self.bytes.len() + 1 }),
        }
        self.at += end + 2;
        let digits = rest.get(1..end).unwrap_or_default();
        // One reader takes `+1` and `01`, another does not.
        if matches!(digits, [b'+', ..] | [b'0', _, ..] | [b'-', b'0', ..]) {
            return Err(Malformed::new("a length that is not written as a plain number", start).into());
        }
        match integer(digits) {
            Some(-1) => Ok(None),
            Some(number @ 0..=MAX_LENGTH) => Ok(Some(number.unsigned_abs())),
            _ => Err(Malformed::new("a length that is no number, or out of range", start).into()),
        }
    }

    /// The next `length` bytes, after which CR LF comes.
    pub(super) fn text(&mut self, length: u64) -> Result<&'b [u8], Step<'b>> {
        let end = usize::try_from(length).unwrap_or(usize::MAX).saturating_add(self.at);
        let Some(text) = self.bytes.get(self.at..end) else {
            return Err(Step::More { at_least: end.saturating_add(2) });
        };
        match line_end(self.bytes.get(end..).unwrap_or_default()) {
            Some(true) => {}
            Some(false) => return Err(Malformed::new(TOO_LONG, end).into()),
            None => return Err(Step::More { at_least: end.saturating_add(2) }),
        }
        self.at = end + 2;
        Ok(text)
    }

    /// The bulk string here.
    #[inline]
    pub(super) fn bulk(&mut self) -> Result<&'b [u8], Step<'b>> {
        match self.bytes.get(self.at) {
            Some(b'$') => {}
            Some(_) => return Err(Malformed::new(NO_ARGUMENT, self.at).into()),
            None => return Err(Step::More { at_least: self.at + 1 }),
        }
        let start = self.at;
        let Some(length) = self.number()? else {
            return Err(Malformed::new(NO_ARGUMENT, start).into());
        };
        self.text(length)
    }

    /// The string here, if it is one.
    pub(super) fn first_word(mut self) -> Result<Option<&'b [u8]>, Step<'b>> {
        match self.bytes.get(self.at) {
            // A longer one is no word, and need not be there yet.
            Some(b'$') => match self.number()? {
                Some(length @ 0..=LONGEST_WORD) => self.text(length).map(Some),
                _ => Ok(None),
            },
            Some(b'+') => self.strict_line().map(|line| line.get(1..)),
            Some(_) => Ok(None),
            None => Err(Step::More { at_least: self.at + 1 }),
        }
    }
}
