//! Long letters go in parts. Each is acknowledged for itself, so that a slow connection, or one that breaks often, gets on.

use hyper::body::Bytes;

/// Bytes of a part: half a second of a line of 64 kB/s.
const PART: usize = 32 << 10;
/// The longest body of a frame with a number and a part.
pub(super) const FRAME: usize = 8 + 1 + PART;
/// What a part begins with, and no letter does.
const MORE: u8 = 0xf0;
const LAST: u8 = 0xf1;

/// What `letter` is sent as: itself, if it is short.
pub(super) fn split(letter: &Bytes) -> impl Iterator<Item = Bytes> {
    let whole = (letter.len() <= PART).then(|| letter.clone());
    let count = if whole.is_some() { 0 } else { letter.len().div_ceil(PART) };
    let parts = (0..count).map(move |index| {
        let end = letter.len().min((index + 1) * PART);
        let mut part = vec![if end == letter.len() { LAST } else { MORE }];
        part.extend(&letter[index * PART..end]);
        part.into()
    });
    whole.into_iter().chain(parts)
}

/// The parts of a letter that have come.
#[derive(Clone, Default)]
pub(super) struct Assembly(Vec<u8>);

/// A letter is longer than any that a monitor with these limits would write.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Assembly {
    /// The letter of which `part` is the last, if it is.
    pub(super) fn add(&mut self, mut part: Bytes, longest: usize) -> Result<Option<Bytes>, TooLong> {
        let last = match part.first() {
            Some(&MORE) => false,
            Some(&LAST) => true,
            _ => return Ok(Some(part)),
        };
        let _ = part.split_to(1);
        if self.0.len() + part.len() > longest {
            self.0 = Vec::new();
            return Err(TooLong);
        }
        self.0.extend(part);
        Ok(last.then(|| std::mem::take(&mut self.0).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_back_whole() {
        let mut assembly = Assembly::default();
        for length in [1, 25, PART - 1, PART, PART + 1, 2 * PART, 2 * PART + 1, 10 * PART + 7] {
            let letter: Bytes = (0..length).map(|at| u8::try_from(at % 7).unwrap()).collect();
            let parts: Vec<Bytes> = split(&letter).collect();
            assert_eq!(parts.len(), length.div_ceil(PART));
            let mut whole = Vec::new();
            for part in parts {
                assert!(part.len() + 8 <= FRAME);
                whole.extend(assembly.add(part, usize::MAX).unwrap());
            }
            assert_eq!(whole, [letter]);
        }
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let mut assembly = Assembly::default();
        let letter: Bytes = vec![0; 10 * PART].into();
        let added: Vec<_> = split(&letter).map(|part| assembly.add(part, 3 * PART)).collect();
        assert_eq!(added[..4], [Ok(None), Ok(None), Ok(None), Err(TooLong)]);
        assert!(assembly.0.len() <= 3 * PART);
    }
}
