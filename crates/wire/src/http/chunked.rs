//! Chunked bodies, read strictly: what is not plainly a size is malformed.

use crate::step::Malformed;

/// Where in a chunked body we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chunked {
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
    /// Within one.
    TrailerLine,
    TrailerEnd,
    /// Before the very last LF.
    End,
}

impl Default for Chunked {
    fn default() -> Self {
        Self::Size(0, 0)
    }
}

impl Chunked {
    /// Goes through `bytes` and returns how many of them belong to the body, and whether it ends there. More than
    /// there are, if a chunk reaches beyond. `data` hears of each piece of data.
    pub(crate) fn scan<'b>(
        &mut self,
        bytes: &'b [u8],
        mut data: impl FnMut(&'b [u8]),
    ) -> Result<(u64, bool), Malformed> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let wrong = |what: &'static str| Err(Malformed::new(what, at));
            *self = match (*self, byte) {
                (Self::Size(size, digits), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                    if digits == 15 {
                        return wrong("a chunk size of more than 15 digits");
                    }
                    let digit = char::from(byte).to_digit(16).unwrap_or(0);
                    Self::Size(size << 4 | u64::from(digit), digits + 1)
                }
                (Self::Size(_, 0), _) => return wrong("a chunk without a size"),
                (Self::Size(size, _), b';') => Self::Extension(size),
                (Self::Size(size, _) | Self::Extension(size), b'\r') => Self::SizeEnd(size),
                (Self::Size(..), _) => return wrong("a chunk size that is no hexadecimal number"),
                (Self::Extension(_), b'\n' | 0) => return wrong("a lone LF or a NUL in a chunk extension"),
                (extension @ Self::Extension(_), _) => extension,
                (Self::SizeEnd(0), b'\n') => Self::Trailer,
                (Self::SizeEnd(size), b'\n') => Self::Data(size),
                (Self::Data(size), _) => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let here = usize::try_from(size).unwrap_or(usize::MAX).min(rest.len());
                    data(rest.get(..here).unwrap_or_default());
                    *self = Self::DataCr;
                    if (here as u64) < size {
                        return Ok((at as u64 + size, false));
                    }
                    at += here;
                    continue;
                }
                (Self::DataCr, b'\r') => Self::DataEnd,
                (Self::DataEnd, b'\n') => Self::Size(0, 0),
                (Self::DataCr | Self::DataEnd, _) => return wrong("a chunk that is longer than its size"),
                (Self::Trailer, b'\r') => Self::End,
                (Self::TrailerLine, b'\r') => Self::TrailerEnd,
                (Self::Trailer | Self::TrailerLine, b'\n' | 0) => {
                    return wrong("a lone LF or a NUL in a trailer");
                }
                (Self::Trailer | Self::TrailerLine, _) => Self::TrailerLine,
                (Self::TrailerEnd, b'\n') => Self::Trailer,
                (Self::End, b'\n') => return Ok((at as u64 + 1, true)),
                (Self::SizeEnd(_) | Self::TrailerEnd | Self::End, _) => {
                    return wrong("a lone CR in a chunked body");
                }
            };
            at += 1;
        }
        Ok((at as u64, false))
    }
}
