//! Lines and columns as editors count them: from 0, in bytes or in UTF-16 code units.

/// In which units columns are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, the default of the Language Server Protocol.
    #[default]
    Utf16,
}

/// A line and a column, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    /// The line.
    pub line: u32,
    /// The column, in the units of an [`Encoding`].
    pub column: u32,
}

/// Where the lines of a text begin. Lines end with `\n`, `\r\n` or `\r`.
#[derive(Clone, Debug, Default)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// The lines of `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let ends = |&(at, byte): &(usize, &u8)| {
            *byte == b'\n' || *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')
        };
        let after = |(at, _): (usize, &u8)| u32::try_from(at + 1).unwrap_or(u32::MAX);
        let starts = std::iter::once(0).chain(bytes.iter().enumerate().filter(ends).map(after));
        Self { starts: starts.collect() }
    }

    /// Where byte `offset` of `text` is. Offsets past the end count as the end.
    #[must_use]
    pub fn position(&self, text: &str, offset: u32, encoding: Encoding) -> LineColumn {
        let mut end = (offset as usize).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let line = self.starts.partition_point(|&start| start as usize <= end).saturating_sub(1);
        let before = text.get(self.start(line)..end).unwrap_or_default();
        let column = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
        };
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        LineColumn { line: narrow(line), column: narrow(column) }
    }

    /// The byte of `text` at `position`. Columns past the end of a line count as its end, lines past the last as the end
    /// of the text; a column inside a character counts as its beginning.
    #[must_use]
    pub fn offset(&self, text: &str, position: LineColumn, encoding: Encoding) -> u32 {
        let line = position.line as usize;
        if line >= self.starts.len() {
            return u32::try_from(text.len()).unwrap_or(u32::MAX);
        }
        let (start, end) =
            (self.start(line), self.starts.get(line + 1).map_or(text.len(), |&end| end as usize));
        let content = text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r']);
        let (mut units, mut at) = (0, 0);
        for character in content.chars() {
            units += match encoding {
                Encoding::Utf8 => character.len_utf8(),
                Encoding::Utf16 => character.len_utf16(),
            };
            if units > position.column as usize {
                break;
            }
            at += character.len_utf8();
        }
        u32::try_from(start + at).unwrap_or(u32::MAX)
    }

    fn start(&self, line: usize) -> usize {
        self.starts.get(line).map_or(0, |&start| start as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every character boundary has a position, and the position leads back, in both encodings.
    #[test]
    fn positions_and_offsets_are_inverse() {
        let text = "a\né→𝄞x\r\n\rz\n𝄞";
        let index = LineIndex::new(text);
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for (offset, character) in text.char_indices().chain([(text.len(), ' ')]) {
                let offset = u32::try_from(offset).unwrap();
                let position = index.position(text, offset, encoding);
                let back = index.offset(text, position, encoding);
                // The bytes that end a line are one place for editors: the end of its text.
                let is_line_end = matches!(character, '\n' | '\r');
                assert!(back == offset || is_line_end && back <= offset, "{offset} {position:?} {back}");
            }
        }
        assert_eq!(index.position(text, 10, Encoding::Utf16), LineColumn { line: 1, column: 2 + 1 - 1 });
        assert_eq!(index.offset(text, LineColumn { line: 1, column: 99 }, Encoding::Utf16), 12);
        assert_eq!(
            index.offset(text, LineColumn { line: 9, column: 0 }, Encoding::Utf8) as usize,
            text.len()
        );
    }
}
