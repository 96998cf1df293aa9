//! Chunked bodies, read strictly: what is not plainly a size is malformed.

use super::head::header;
use crate::step::Malformed;

/// How long a line of trailers may be.
const MAX_TRAILER: usize = 8192;

/// Where in a chunked body we are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chunked {
    place: Place,
    /// Whether a trailer may have any name but those that say how long a message is.
    any_trailer: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the size of a chunk, so many digits of it read.
    Size(u64, u8),
    /// In an extension after the size.
    Extension(u64),
    /// Before the LF of a size line.
    SizeEnd(u64),
    /// So many bytes of data to go.
    Data(u64),
    /// After the data.
    DataCr,
    DataEnd,
    /// At the beginning of a trailer line.
    Trailer,
}

/// What comes after the bytes between two pieces of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// That is not known yet.
    More,
    /// So many bytes of data.
    Data(u64),
    /// Nothing: the body has ended.
    End,
}

impl Default for Place {
    fn default() -> Self {
        Self::Size(0, 0)
    }
}

impl Chunked {
    /// The beginning of a body.
    pub(crate) fn new(any_trailer: bool) -> Self {
        Self { any_trailer, ..Self::default() }
    }

    /// Goes through `bytes` and returns how many of them belong to the body for certain, and whether it ends there. More
    /// than there are, if a chunk reaches beyond. `data` hears of each piece of data.
    pub(crate) fn scan<'b>(
        &mut self,
        bytes: &'b [u8],
        mut data: impl FnMut(&'b [u8]),
    ) -> Result<(u64, bool), Malformed> {
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let (length, next) =
                self.until_data(rest).map_err(|wrong| Malformed { at: wrong.at + at, ..wrong })?;
            at += length;
            match next {
                Next::More => return Ok((at as u64, false)),
                Next::End => return Ok((at as u64, true)),
                Next::Data(size) => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let here = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
                    data(rest.get(..here).unwrap_or_default());
                    self.take_data(size);
                    if (here as u64) < size {
                        return Ok((at as u64 + size, false));
                    }
                    at += here;
                }
            }
        }
    }

    /// Goes over what is no data at the beginning of `bytes`: how many bytes that are, and what comes then.
    pub(crate) fn until_data(&mut self, bytes: &[u8]) -> Result<(usize, Next), Malformed> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let wrong = |what: &'static str| Err(Malformed::new(what, at));
            self.place = match (self.place, byte) {
                (Place::Size(size, digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                    if digits == 15 {
                        return wrong("a chunk size of more than 15 digits");
                    }
                    let digit = char::from(byte).to_digit(16).unwrap_or(0);
                    Place::Size(size << 4 | u64::from(digit), digits + 1)
                }
                (Place::Size(_, 0), _) => return wrong("a chunk without a size"),
                (Place::Size(size, _), b';') => Place::Extension(size),
                (Place::Size(size, _) | Place::Extension(size), b'\r') => Place::SizeEnd(size),
                (Place::Size(..), _) => return wrong("a chunk size that is no hexadecimal number"),
                (Place::Extension(_), b'\n' | 0) => return wrong("a lone LF or a NUL in a chunk extension"),
                (extension @ Place::Extension(_), _) => extension,
                (Place::SizeEnd(0), b'\n') => Place::Trailer,
                (Place::SizeEnd(size), b'\n') => Place::Data(size),
                (Place::SizeEnd(_), _) => return wrong("a lone CR in a chunked body"),
                (Place::Data(size), _) => return Ok((at, Next::Data(size))),
                (Place::DataCr, b'\r') => Place::DataEnd,
                (Place::DataEnd, b'\n') => Place::Size(0, 0),
                (Place::DataCr | Place::DataEnd, _) => return wrong("a chunk that is longer than its size"),
                (Place::Trailer, _) => {
                    match self.trailer(bytes.get(at..).unwrap_or_default()) {
                        Ok(Some((length, last))) => {
                            at += length;
                            if last {
                                return Ok((at, Next::End));
                            }
                        }
                        Ok(None) => return Ok((at, Next::More)),
                        Err((what, more)) => return Err(Malformed::new(what, at + more)),
                    }
                    continue;
                }
            };
            at += 1;
        }
        Ok((at, Next::More))
    }

    /// So many bytes of the data that comes next have gone by.
    pub(crate) fn take_data(&mut self, count: u64) {
        if let Place::Data(size) = self.place {
            self.place = if count < size { Place::Data(size.saturating_sub(count)) } else { Place::DataCr };
        }
    }

    /// Whether the data of a chunk is through, and its line end is not.
    pub(crate) fn is_after_data(self) -> bool {
        matches!(self.place, Place::DataCr | Place::DataEnd)
    }

    /// Whether a chunk begins here.
    pub(crate) fn is_at_chunk(self) -> bool {
        self.place == Place::Size(0, 0)
    }

    /// The line of trailers that `rest` begins with, if it is whole: how long it is, and whether it is the empty one.
    fn trailer(self, rest: &[u8]) -> Result<Option<(usize, bool)>, (&'static str, usize)> {
        let Some(end) = memchr::memchr3(b'\r', b'\n', 0, rest) else {
            return if rest.len() < MAX_TRAILER {
                Ok(None)
            } else {
                Err(("a trailer of more than 8 KiB", 0))
            };
        };
        match rest.get(end..).unwrap_or_default() {
            [b'\r'] => return Ok(None),
            [b'\r', b'\n', ..] => {}
            _ => return Err(("a lone CR, a lone LF or a NUL in a trailer", end)),
        }
        if end == 0 {
            return Ok(Some((2, true)));
        }
        let line = rest.get(..end).unwrap_or_default();
        let (name, _) = header(line, 0).map_err(|_| ("a trailer that is not `name: value`", 0))?;
        let is = |list: &[&str]| list.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()));
        if is(&FRAMING) || (!self.any_trailer && is(&NO_TRAILERS)) {
            return Err(("a trailer that belongs to the head", 0));
        }
        Ok(Some((end + 2, false)))
    }
}

/// What says how long a message is, or whose it is: never a trailer.
const FRAMING: [&str; 4] = ["content-length", "transfer-encoding", "host", "connection"];
/// What a recipient has to know before the body (RFC 9110, 6.5.1); one that merges trailers into the head would know otherwise.
const NO_TRAILERS: [&str; 12] = [
    "authorization",
    "cache-control",
    "content-encoding",
    "content-range",
    "content-type",
    "cookie",
    "expect",
    "max-forwards",
    "proxy-authorization",
    "set-cookie",
    "te",
    "upgrade",
];
