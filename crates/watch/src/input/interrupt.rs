//! Reading what may never come: a thread waits for it, so that whoever reads can be stopped meanwhile.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How much is read at a time.
const BLOCK: usize = 128 * 1024;
/// How many blocks may wait.
const BLOCKS: usize = 4;
/// How often to look whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// So many bytes are waited for: they tell whether what comes is compressed.
const HEAD: usize = 4;

/// What a reader gives, until `stop` is set: then it has ended.
pub(crate) struct Interruptible {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    at: usize,
    /// How many bytes it has given.
    given: usize,
    stop: Arc<AtomicBool>,
    /// Whether to say that nothing has come for a while, instead of waiting on.
    impatient: bool,
}

impl Interruptible {
    pub(crate) fn new(mut reader: Box<dyn Read + Send>, stop: Arc<AtomicBool>, impatient: bool) -> Self {
        let (sender, blocks) = sync_channel(BLOCKS);
        // It ends with its reader, or when nobody wants more.
        std::thread::spawn(move || {
            loop {
                let mut block = vec![0; BLOCK];
                let read = match reader.read(&mut block) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let last = !matches!(read, Ok(length) if length > 0);
                let sent = sender.send(read.map(|length| {
                    block.truncate(length);
                    block
                }));
                if last || sent.is_err() {
                    return;
                }
            }
        });
        Self { blocks, block: Vec::new(), at: 0, given: 0, stop, impatient }
    }
}

impl Read for Interruptible {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            match self.blocks.recv_timeout(LOOK) {
                Ok(block) => (self.block, self.at) = (block?, 0),
                Err(RecvTimeoutError::Timeout) if !self.stop.load(Ordering::Relaxed) => {
                    if self.impatient && self.given >= HEAD {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                    continue;
                }
                Err(_) => return Ok(0),
            }
            if self.block.is_empty() {
                return Ok(0);
            }
        }
        let rest = self.block.get(self.at..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        self.given = self.given.saturating_add(length);
        Ok(length)
    }
}
