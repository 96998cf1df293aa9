//! A text and what the user calls it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use referee_syntax::Position;
use referee_syntax::scr::Texts;

/// A text and what the user calls it: the path of a file, `-`. With the texts that it imports behind it, each with its own
/// name. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
    /// Where imported texts begin, ascending, and what they are called.
    imported: Arc<[(u32, Arc<str>)]>,
    /// Places whose line and column are known, found when the first is asked for: ascending, the beginning of every file and
    /// one in every [`STRIDE`] bytes.
    marks: Arc<OnceLock<Vec<(usize, Position)>>>,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.text, &self.imported) == (&other.name, &other.text, &other.imported)
    }
}

impl Eq for Source {}

/// How far a text is read at most to find a position.
const STRIDE: usize = 1024;

/// Where every text begins.
const START: Position = Position { line: 1, column: 1 };

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

/// A place in a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent<'a> {
    /// The file it is in, if that is one that is imported.
    pub imported: Option<&'a str>,
    /// Where it begins.
    pub start: Position,
    /// Where it ends.
    pub end: Position,
}

impl Source {
    /// The text called `name`.
    #[must_use]
    pub fn new(name: &str, text: &str) -> Self {
        // Some editors put a byte-order mark first.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { name: name.into(), text: text.into(), imported: Arc::default(), marks: Arc::default() }
    }

    /// The same with what it imports behind it.
    pub(crate) fn with_imports(&self, texts: Texts) -> Self {
        let (name, text, imported) = (Arc::clone(&self.name), texts.text.into(), texts.files.into());
        Self { name, text, imported, marks: Arc::default() }
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
        let mut end = (offset as usize).min(file.start as usize + file.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let marks = self.marks.get_or_init(|| self.find_marks());
        let mark =
            marks.partition_point(|(at, _)| *at <= end).checked_sub(1).and_then(|mark| marks.get(mark));
        let (at, position) = mark.copied().unwrap_or((0, START));
        self.text.get(at..end).unwrap_or_default().chars().fold(position, after)
    }

    fn find_marks(&self) -> Vec<(usize, Position)> {
        let mut marks = vec![(0, START)];
        let mut files = self.imported.iter().map(|(start, _)| *start as usize).peekable();
        let mut position = START;
        for (at, character) in self.text.char_indices() {
            let begins = files.next_if(|start| *start <= at).is_some();
            if begins {
                position = START;
            }
            if begins || marks.last().is_some_and(|(last, _)| at - last >= STRIDE) {
                marks.push((at, position));
            }
            position = after(position, character);
        }
        // An empty text at the end begins behind the last character.
        marks.extend(files.map(|start| (start, START)));
        marks
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

/// Where the next character stands.
fn after(position: Position, character: char) -> Position {
    match character {
        '\n' => Position { line: position.line + 1, column: 1 },
        _ => Position { column: position.column + 1, ..position },
    }
}

#[cfg(test)]
mod tests {
    use referee_syntax::Lines;

    use super::*;

    /// Positions are those that the lines of the file have: across lines, characters of several bytes, imported files,
    /// empty ones included, and lines longer than what is read at once.
    #[test]
    fn positions_are_those_of_the_lines() {
        let long = "é→x".repeat(STRIDE);
        let first = format!("a: b!é;\nc→d\n\nend\n{long}\n{long}");
        let texts = [first.as_str(), "module x;\nβ\n", "", "x", ""];
        let (mut text, mut files) = (String::new(), Vec::new());
        for (index, part) in texts.iter().enumerate() {
            if index > 0 {
                text.push('\n');
                files.push((u32::try_from(text.len()).unwrap(), Arc::from("x.scr")));
            }
            text += part;
        }
        let source = Source::new("m.scr", "").with_imports(Texts { text, files });
        for offset in 0..=u32::try_from(source.text().len()).unwrap() + 2 {
            let file = source.file(offset);
            let expected = Lines::new(file.text).position(offset - file.start);
            assert_eq!(source.position(offset), expected, "{offset}");
        }
        assert!(source.marks.get().is_some_and(|marks| marks.len() > texts.len() + 6));
    }
}
