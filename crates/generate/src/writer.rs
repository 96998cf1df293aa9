//! Text with indentation.

/// Lines of a source file.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    /// One line; empty ones are not indented.
    pub(crate) fn line(&mut self, line: &str) {
        if !line.is_empty() {
            (0..self.depth).for_each(|_| self.text.push_str("    "));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// A line that opens a block.
    pub(crate) fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    /// A line that closes a block.
    pub(crate) fn close(&mut self, line: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    /// Puts `text` at the end of the last line.
    pub(crate) fn join(&mut self, text: &str) {
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// What follows is one level deeper.
    pub(crate) fn indent(&mut self) {
        self.depth += 1;
    }

    /// What follows is one level less deep.
    pub(crate) fn dedent(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}
