//! A text and what the user calls it.

use std::borrow::Cow;
use std::sync::Arc;

use referee_syntax::scr::Texts;
use referee_syntax::{Lines, Position};

/// A text and what the user calls it: the path of a file, `-`. With the texts that it imports behind it, each with its own
/// name. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
    /// Where imported texts begin, ascending, and what they are called.
    imported: Arc<[(u32, Arc<str>)]>,
}

/// One of the files of a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePart<'a> {
    /// What the user calls it.
    pub name: &'a str,
    /// What it holds.
    pub text: &'a str,
    /// Where that begins in [`Source::text`].
    pub start: u32,
}

impl Source {
    /// The text called `name`.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        // Some editors put a byte-order mark first.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { name: name.into(), text: text.into(), imported: Arc::default() }
    }

    /// The same with what it imports behind it.
    pub(crate) fn with_imports(&self, texts: Texts) -> Self {
        Self { name: Arc::clone(&self.name), text: texts.text.into(), imported: texts.files.into() }
    }

    /// The file that byte `offset` is in.
    #[must_use]
    pub fn file(&self, offset: u32) -> FilePart<'_> {
        let index = self.imported.partition_point(|(start, _)| *start <= offset);
        let before = index.checked_sub(1).and_then(|index| self.imported.get(index));
        let (start, name) = before.map_or((0, &*self.name), |(start, name)| (*start, name));
        // Texts are separated by one byte.
        let end = self.imported.get(index).map_or(self.text.len(), |(next, _)| *next as usize - 1);
        FilePart { name, text: self.text.get(start as usize..end).unwrap_or_default(), start }
    }

    /// What the user calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line and column of byte `offset`, in its file.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let file = self.file(offset);
        Lines::new(file.text).position(offset - file.start)
    }

    /// As [`position`](Self::position) for `offsets` that ascend, in one pass over the text.
    pub(crate) fn positions(&self, offsets: &[u32]) -> Vec<Position> {
        let mut all = Vec::with_capacity(offsets.len());
        let (mut start, mut at, mut position) = (0, 0, Position { line: 1, column: 1 });
        for &offset in offsets {
            let file = self.file(offset);
            if file.start != start {
                (start, at, position) = (file.start, 0, Position { line: 1, column: 1 });
            }
            let mut end = ((offset - start) as usize).min(file.text.len());
            while !file.text.is_char_boundary(end) {
                end -= 1;
            }
            for character in file.text.get(at..end).unwrap_or_default().chars() {
                position = match character {
                    '\n' => Position { line: position.line + 1, column: 1 },
                    _ => Position { column: position.column + 1, ..position },
                };
            }
            at = end;
            all.push(position);
        }
        all
    }

    /// `auth.scr:12:7`: where byte `offset` is.
    #[must_use]
    pub fn location(&self, offset: u32) -> String {
        let start = self.position(offset);
        format!("{}:{}:{}", self.file(offset).name, start.line, start.column)
    }
}

/// What a file of these bytes says. What is no UTF-8 is replaced, so that a diagnostic can point at it.
///
/// # Errors
///
/// It is written in UTF-16, in which no character would be where it seems to be.
pub fn decoded(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err("it is written in UTF-16: save it as UTF-8".to_owned()),
        _ => Ok(String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One pass finds what a search for each finds: across lines, characters of several bytes and imported files.
    #[test]
    fn many_positions_are_those_of_each() {
        let text = "a: b!é;\nc→d\n\nend\nmodule x;\nβ\n".to_owned();
        let files = vec![(u32::try_from(text.find("module").unwrap()).unwrap(), Arc::from("x.scr"))];
        let source = Source::new("m.scr", "").with_imports(Texts { text, files });
        let offsets: Vec<u32> = (0..=u32::try_from(source.text().len()).unwrap() + 2).collect();
        let each: Vec<Position> = offsets.iter().map(|&offset| source.position(offset)).collect();
        assert_eq!(source.positions(&offsets), each);
    }
}
