//! Messages on standard input and output: a header with the length, and JSON.
//!
//! A message that is no JSON is answered as such and skipped. Where a header is wrong nobody knows where the next message begins: the
//! connection ends.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use lsp_server::{Connection, ErrorCode, Message};
use serde_json::json;

/// Larger messages are refused: a file of 64 MiB is smaller, whatever has to be escaped in it.
const MAX_MESSAGE: u64 = 512 << 20;

/// Headers are short.
const MAX_HEADER: u64 = 4096;

/// The threads between a connection and standard input and output.
pub(crate) struct Stdio {
    writer: thread::JoinHandle<io::Result<()>>,
    /// Why reading ended, if not because there is no more.
    failure: Arc<Mutex<Option<io::Error>>>,
}

/// A connection whose other side is standard input and output.
pub(crate) fn open() -> (Connection, Stdio) {
    let (connection, other) = Connection::memory();
    let Connection { sender, receiver } = other;
    let failure = Arc::new(Mutex::new(None));
    let failed = Arc::clone(&failure);
    // Not joined: it may wait for input for ever.
    thread::spawn(move || {
        let ended = forward(&mut io::stdin().lock(), &mut |message| sender.send(message).is_ok());
        // Before `sender` is dropped, which tells the server that this is the end.
        *lock(&failed) = ended.err();
    });
    let writer = thread::spawn(move || {
        for message in receiver {
            let mut output = io::stdout().lock();
            message.write(&mut output)?;
            output.flush()?;
        }
        Ok(())
    });
    (connection, Stdio { writer, failure })
}

impl Stdio {
    /// Waits until everything is written. The connection must be gone.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.writer.join().unwrap_or(Ok(()))?;
        lock(&self.failure).take().map_or(Ok(()), Err)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives each message of `input` to `heard`, until the last one, or until nobody hears.
fn forward(input: &mut impl BufRead, heard: &mut dyn FnMut(Message) -> bool) -> io::Result<()> {
    while let Some(text) = read(input)? {
        match serde_json::from_slice::<Message>(&text) {
            Ok(message) => {
                let is_last = matches!(&message, Message::Notification(told) if told.method == "exit");
                if !heard(message) || is_last {
                    return Ok(());
                }
            }
            Err(error) => {
                let error = json!({ "code": ErrorCode::ParseError as i32, "message": error.to_string() });
                let answer = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
                let mut output = io::stdout().lock();
                write!(output, "Content-Length: {}\r\n\r\n{answer}", answer.len())?;
                output.flush()?;
            }
        }
    }
    Ok(())
}

/// The next message; `None` at the end of `input`. Grows with what is there, not with what a header promises.
fn read(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let wrong = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    let mut length = None;
    let mut header = input.take(MAX_HEADER);
    loop {
        let mut line = String::new();
        if header.read_line(&mut line)? == 0 {
            return if header.limit() == 0 { wrong("the header does not end".to_owned()) } else { Ok(None) };
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("Content-Length") => {
                length = value.trim().parse::<u64>().ok().filter(|length| *length <= MAX_MESSAGE);
                if length.is_none() {
                    return wrong(format!("`{}` is no length of a message", value.trim()));
                }
            }
            Some(_) => {}
            None if line.trim_end().is_empty() => break,
            None => return wrong(format!("`{}` is no header", line.trim_end())),
        }
    }
    let Some(length) = length else { return wrong("the header has no Content-Length".to_owned()) };
    let mut text = Vec::new();
    let got = input.take(length).read_to_end(&mut text)?;
    if (got as u64) < length {
        return wrong("the input ended within a message".to_owned());
    }
    Ok(Some(text))
}
