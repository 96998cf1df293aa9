//! Logs of another kind, read as events: whoever knows the kind makes lines of JSON of the bytes, each with the number of what it
//! was made of, so that places stay what they are.

use std::fmt;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes events of logs of another kind.
pub trait EventReader: Send + Sync + fmt::Debug {
    /// What makes events of one log. A record of more than `max_record` bytes is an event that was lost.
    fn start(&self, max_record: usize) -> Box<dyn EventDecoder>;
}

/// Makes events of the bytes of one log, however they are cut.
pub trait EventDecoder: Send {
    /// Takes the next bytes, and adds the events that are whole with them.
    fn take(&mut self, bytes: &[u8], events: &mut EventBatch);
    /// The log has ended.
    fn end(&mut self, events: &mut EventBatch);
    /// How many of the bytes that it took are of a record that is not whole. Where logs are not followed nobody asks.
    fn pending(&self) -> u64 {
        0
    }
    /// How many records were whole so far.
    fn records(&self) -> u64 {
        0
    }
    /// Goes on behind the first `records` records of a log that begins with `beginning`.
    fn resume(&mut self, _beginning: &[u8], _records: u64) {}
}

/// Events, as lines of JSON.
#[derive(Debug, Default)]
pub struct EventBatch {
    pub(crate) text: Vec<u8>,
    pub(crate) numbers: Vec<u64>,
}

impl EventBatch {
    /// Adds `event`, one JSON object without a line end, which was made of the record with this number, from 0.
    pub fn push(&mut self, number: u64, event: &str) {
        debug_assert!(!event.contains('\n'), "an event is one line");
        self.text.extend_from_slice(event.as_bytes());
        self.text.push(b'\n');
        self.numbers.push(number);
    }
}

/// How much is read at a time.
const BLOCK: usize = 64 * 1024;

/// How reading came to its end, for now.
pub(crate) enum Fill {
    /// There is enough, or nothing more for now.
    Paused,
    /// The input has ended.
    Ended,
}

/// One input whose bytes are made events of.
pub(crate) struct Extracting {
    decoder: Box<dyn EventDecoder>,
    block: Vec<u8>,
}

impl Extracting {
    pub(crate) fn new(mut decoder: Box<dyn EventDecoder>, resume: Option<(Vec<u8>, u64)>) -> Self {
        if let Some((beginning, records)) = resume {
            decoder.resume(&beginning, records);
        }
        Self { decoder, block: vec![0; BLOCK] }
    }

    /// Reads until there are events of `size` bytes, or of a `live` input any.
    pub(crate) fn fill(
        &mut self,
        reader: &mut dyn Read,
        events: &mut EventBatch,
        (size, live): (usize, bool),
        stop: &AtomicBool,
    ) -> io::Result<Fill> {
        while events.text.len() < size && (events.text.is_empty() || !live) {
            if stop.load(Ordering::Relaxed) {
                return Ok(Fill::Paused);
            }
            match reader.read(&mut self.block) {
                Ok(0) => return Ok(Fill::Ended),
                Ok(length) => self.decoder.take(self.block.get(..length).unwrap_or_default(), events),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Fill::Paused),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Fill::Paused)
    }

    /// How many bytes were read of a record that is not whole, and how many records were.
    pub(crate) fn position(&self) -> (u64, u64) {
        (self.decoder.pending(), self.decoder.records())
    }

    /// The input has ended for good.
    pub(crate) fn end(&mut self, events: &mut EventBatch) {
        self.decoder.end(events);
    }
}
