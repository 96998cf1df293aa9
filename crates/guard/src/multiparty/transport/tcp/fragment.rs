//! Fragmentation of long peer messages. Each fragment is acknowledged, so that a slow or flapping connection makes progress.

use hyper::body::Bytes;

/// Bytes of a fragment: half a second at 64 kB/s.
const FRAGMENT_BYTES: usize = 32 << 10;
/// The longest body of a frame with a sequence number and a fragment.
pub(super) const MAX_FRAME_BODY_BYTES: usize = 8 + 1 + FRAGMENT_BYTES;
/// The first byte of a fragment; no peer message begins with it.
const TAG_MORE: u8 = 0xf0;
const TAG_LAST: u8 = 0xf1;

/// The fragments of `message`: itself, if it is short.
pub(super) fn split(message: &Bytes) -> impl Iterator<Item = Bytes> {
    let whole = (message.len() <= FRAGMENT_BYTES).then(|| message.clone());
    let count = if whole.is_some() { 0 } else { message.len().div_ceil(FRAGMENT_BYTES) };
    let fragments = (0..count).map(move |index| {
        let end = message.len().min((index + 1) * FRAGMENT_BYTES);
        let mut fragment = vec![if end == message.len() { TAG_LAST } else { TAG_MORE }];
        fragment.extend(&message[index * FRAGMENT_BYTES..end]);
        fragment.into()
    });
    whole.into_iter().chain(fragments)
}

/// The fragments received so far.
#[derive(Clone, Default)]
pub(super) struct Reassembly(Vec<u8>);

/// A peer message exceeds what the limits allow.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Reassembly {
    /// Adds `fragment`; returns the whole peer message if it was the last.
    pub(super) fn add(&mut self, mut fragment: Bytes, longest: usize) -> Result<Option<Bytes>, TooLong> {
        let last = match fragment.first() {
            Some(&TAG_MORE) => false,
            Some(&TAG_LAST) => true,
            _ => {
                // A whole one: the rest of the one before was given up.
                self.0 = Vec::new();
                return Ok(Some(fragment));
            }
        };
        let _ = fragment.split_to(1);
        if self.0.len() + fragment.len() > longest {
            self.0 = Vec::new();
            return Err(TooLong);
        }
        self.0.extend(fragment);
        Ok(last.then(|| std::mem::take(&mut self.0).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_back_whole() {
        let mut reassembly = Reassembly::default();
        for length in [
            1,
            25,
            FRAGMENT_BYTES - 1,
            FRAGMENT_BYTES,
            FRAGMENT_BYTES + 1,
            2 * FRAGMENT_BYTES,
            2 * FRAGMENT_BYTES + 1,
            10 * FRAGMENT_BYTES + 7,
        ] {
            let message: Bytes = (0..length).map(|at| u8::try_from(at % 7).unwrap()).collect();
            let fragments: Vec<Bytes> = split(&message).collect();
            assert_eq!(fragments.len(), length.div_ceil(FRAGMENT_BYTES));
            let mut whole = Vec::new();
            for fragment in fragments {
                assert!(fragment.len() + 8 <= MAX_FRAME_BODY_BYTES);
                whole.extend(reassembly.add(fragment, usize::MAX).unwrap());
            }
            assert_eq!(whole, [message]);
        }
    }

    #[test]
    fn what_is_too_long_is_not_kept() {
        let mut reassembly = Reassembly::default();
        let message: Bytes = vec![0; 10 * FRAGMENT_BYTES].into();
        let added: Vec<_> =
            split(&message).map(|fragment| reassembly.add(fragment, 3 * FRAGMENT_BYTES)).collect();
        assert_eq!(added[..4], [Ok(None), Ok(None), Ok(None), Err(TooLong)]);
        assert!(reassembly.0.len() <= 3 * FRAGMENT_BYTES);
    }
}
