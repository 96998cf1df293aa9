//! Where lines end in what has been read so far. In CSV a line feed between quotes does not end a line.

/// Finds the last line end, however the text arrives.
pub(crate) struct LineEnds {
    quotes: bool,
    inside: bool,
    scanned: usize,
    last: usize,
}

impl LineEnds {
    /// For a text that starts with a line; `quotes` if quotes matter.
    pub(crate) fn new(quotes: bool) -> Self {
        Self { quotes, inside: false, scanned: 0, last: 0 }
    }

    /// The position after the last line end in `text`, of which more is there than last time; 0 if there is
    /// none.
    pub(crate) fn last(&mut self, text: &[u8]) -> usize {
        let fresh = text.get(self.scanned..).unwrap_or_default();
        if !self.quotes {
            if let Some(at) = memchr::memrchr(b'\n', fresh) {
                self.last = self.scanned + at + 1;
            }
        } else {
            for at in memchr::memchr2_iter(b'"', b'\n', fresh) {
                if fresh.get(at) == Some(&b'"') {
                    self.inside = !self.inside;
                } else if !self.inside {
                    self.last = self.scanned + at + 1;
                }
            }
        }
        self.scanned = text.len();
        self.last
    }

    /// The position after the end, in `fresh`, of the line that has been scanned so far.
    pub(crate) fn skip(&mut self, fresh: &[u8]) -> Option<usize> {
        for at in memchr::memchr2_iter(b'"', b'\n', fresh) {
            match fresh.get(at) {
                Some(b'"') => self.inside = self.quotes && !self.inside,
                _ if !self.inside => return Some(at + 1),
                _ => {}
            }
        }
        None
    }
}

/// The position after the first line of `text`.
pub(crate) fn first(text: &[u8], quotes: bool) -> usize {
    if !quotes {
        return memchr::memchr(b'\n', text).map_or(text.len(), |at| at + 1);
    }
    let mut inside = false;
    for at in memchr::memchr2_iter(b'"', b'\n', text) {
        match text.get(at) {
            Some(b'"') => inside = !inside,
            _ if !inside => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hide_line_feeds_however_the_text_is_cut() {
        let text = b"a,\"x\ny\",b\n\"\"\"\n\"\nrest";
        assert_eq!(LineEnds::new(true).last(text), 16);
        assert_eq!(LineEnds::new(false).last(text), 16);
        assert_eq!((first(text, true), first(text, false)), (10, 5));
        for cut in 0..text.len() {
            let mut ends = LineEnds::new(true);
            ends.last(&text[..cut]);
            assert_eq!(ends.last(text), 16);
        }
        for cut in 0..9 {
            let mut ends = LineEnds::new(true);
            ends.last(&text[..cut]);
            assert_eq!(ends.skip(&text[cut..]), Some(10 - cut));
        }
    }
}
