//! A program as a connection: its standard input and output, as clients of MCP and of language servers start their servers.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::stream::Stream;

/// How long a program may take to end once its input has.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// What a program may have written that nobody has read: so many reads, then it waits.
const MAX_UNREAD: usize = 64;

pub(super) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Vec<u8>>,
    unread: Vec<u8>,
    patience: Duration,
}

impl Program {
    /// Starts `command`. Its standard error is this process's.
    pub(super) fn start(command: &[String]) -> io::Result<Self> {
        let (name, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut child =
            Command::new(name).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let mut from = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (sender, output) = sync_channel(MAX_UNREAD);
        // A pipe cannot be read with a timeout. It ends with the program.
        thread::spawn(move || {
            let mut buffer = [0; 16 * 1024];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                if sender.send(buffer.get(..count).unwrap_or_default().to_vec()).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, input, output, unread: Vec::new(), patience: Duration::ZERO })
    }
}

impl Read for Program {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.unread.is_empty() {
            self.unread = match self.output.recv_timeout(self.patience) {
                Ok(bytes) => bytes,
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            };
        }
        let count = self.unread.as_slice().read(buffer)?;
        self.unread.drain(..count);
        Ok(count)
    }
}

impl Write for Program {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.input.as_mut().map_or_else(|| Err(io::ErrorKind::BrokenPipe.into()), |input| input.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Stream for Program {
    fn set_patience(&mut self, patience: Duration) -> io::Result<()> {
        self.patience = patience;
        Ok(())
    }

    fn close(&mut self) {
        self.input = None;
        let began = Instant::now();
        while began.elapsed() < END_TIMEOUT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            // What it still writes is read, so that it does not wait for that.
            let _ = self.output.recv_timeout(Duration::from_millis(5));
        }
        // It may have ended meanwhile.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.input.is_some() {
            self.close();
        }
    }
}
