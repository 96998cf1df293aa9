//! A socket below TLS that knows whether a record has begun to arrive and is not whole: what TLS itself does not tell.
//!
//! A message has begun to arrive with the first byte of its record (`docs/time.md`, "Handed").

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::stream::Socket;

/// The bytes before a record: its type, a version and its length.
const HEAD: usize = 5;

/// A socket below TLS.
#[derive(Debug)]
pub(crate) struct TlsSocket {
    socket: Socket,
    position: Position,
}

/// Where in its records a stream is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    /// How many bytes of a head have come, and the length in them.
    head: usize,
    length: usize,
    /// How many bytes of a body are to come.
    body: usize,
}

impl Position {
    fn advance(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.body > 0 {
                let count = self.body.min(bytes.len());
                self.body -= count;
                bytes = bytes.get(count..).unwrap_or_default();
                continue;
            }
            let Some((byte, rest)) = bytes.split_first() else { return };
            if self.head >= HEAD - 2 {
                self.length = (self.length << 8) | usize::from(*byte);
            }
            self.head += 1;
            if self.head == HEAD {
                *self = Self { body: self.length, ..Self::default() };
            }
            bytes = rest;
        }
    }

    fn is_between(self) -> bool {
        self == Self::default()
    }
}

impl TlsSocket {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, position: Position::default() }
    }

    /// How many bytes have arrived and were not read. `None` where a record has begun and is not whole.
    pub(crate) fn waiting(&self) -> Option<u64> {
        let waiting = self.socket.waiting()?;
        (waiting == 0 && self.position.is_between()).then_some(0)
    }
}

impl AsyncRead for TlsSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.socket).poll_read(cx, buffer);
        if read.is_ready() {
            this.position.advance(buffer.filled().get(before..).unwrap_or_default());
        }
        read
    }
}

impl AsyncWrite for TlsSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_between_others_only_when_it_is_whole() {
        let records = [23, 3, 3, 0, 2, 7, 7, 22, 3, 3, 0, 0, 23, 3, 3, 1, 1];
        let whole = [0, 7, 12];
        for cut in 0..=records.len() {
            let mut position = Position::default();
            position.advance(&records[..cut]);
            assert_eq!(position.is_between(), whole.contains(&cut), "{cut}");
            position.advance(&records[cut..]);
            position.advance(&[0; 256]);
            assert!(!position.is_between());
            position.advance(&[0]);
            assert!(position.is_between());
        }
    }
}
