//! Standard output of a run that goes on where another was killed (`--checkpoint`): if it is a file, what the other wrote last and
//! could not take note of is not written again.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};

use referee::watch::Checkpoint;

/// A file that is standard output, if it is one.
fn standard_output() -> Option<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        let file = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
        file.metadata().ok()?.is_file().then_some(file)
    }
    #[cfg(not(unix))]
    None
}

/// How long standard output is, if it is a file; else 0.
pub(super) fn written() -> io::Result<u64> {
    standard_output().map_or(Ok(0), |file| Ok(file.metadata()?.len()))
}

/// Writes to `out` what does not stand there already.
pub(super) struct Continuing<W> {
    out: W,
    /// What the run before wrote after it last took note of what it had told.
    there: Vec<u8>,
    /// How much of that came again so far.
    matched: usize,
}

impl<W: Write> Continuing<W> {
    pub(super) fn new(out: W, checkpoint: Option<&Checkpoint>) -> Self {
        let there = checkpoint.and_then(|checkpoint| unrecorded(checkpoint.told().output));
        Self { out, there: there.unwrap_or_default(), matched: 0 }
    }
}

/// What stands in standard output behind its first `recorded` bytes.
fn unrecorded(recorded: u64) -> Option<Vec<u8>> {
    let length = standard_output()?.metadata().ok()?.len();
    let mut there = Vec::new();
    if length > recorded {
        let mut file = File::open("/proc/self/fd/1").or_else(|_| File::open("/dev/fd/1")).ok()?;
        file.seek(SeekFrom::Start(recorded)).ok()?;
        file.take(length - recorded).read_to_end(&mut there).ok()?;
    }
    Some(there)
}

impl<W: Write> Write for Continuing<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let rest = self.there.get(self.matched..).unwrap_or_default();
        if rest.is_empty() {
            return self.out.write(buffer);
        }
        let same = rest.iter().zip(buffer).take_while(|(there, new)| there == new).count();
        self.matched += same;
        if same == buffer.len() || self.matched == self.there.len() {
            return Ok(same);
        }
        // Something else stands there, such as the summary of a run that was stopped: the line that begins alike is written whole.
        let matched = self.there.get(..self.matched).unwrap_or_default();
        let line = matched.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let begun = matched.get(line..).unwrap_or_default().to_vec();
        (self.there, self.matched) = (Vec::new(), 0);
        self.out.write_all(&begun)?;
        self.out.write_all(buffer.get(same..).unwrap_or_default())?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(there: &str, pieces: &[&str]) -> String {
        let mut out = Continuing { out: Vec::new(), there: there.into(), matched: 0 };
        for piece in pieces {
            out.write_all(piece.as_bytes()).unwrap();
        }
        String::from_utf8(out.out).unwrap()
    }

    #[test]
    fn what_stands_there_is_not_written_again() {
        assert_eq!(written("", &["one\n", "two\n"]), "one\ntwo\n");
        assert_eq!(written("one\n", &["one\n", "two\n"]), "two\n");
        assert_eq!(written("one\ntw", &["on", "e\ntwo\nthree\n"]), "o\nthree\n");
        assert_eq!(written("one\ntwo\n", &["one\n"]), "");
    }

    #[test]
    fn something_else_that_stands_there_hides_nothing() {
        assert_eq!(written("3 events: no violation\n", &["log:3\n"]), "log:3\n");
        assert_eq!(written("one\n3 events\n", &["one\n", "3 evils\n", "four\n"]), "3 evils\nfour\n");
    }
}
