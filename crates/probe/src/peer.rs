//! What a prober needs from outside: a connection to a peer, and a clock.

use std::io;
use std::time::Duration;

/// What came of waiting for a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Bytes.
    Bytes(Vec<u8>),
    /// It will send nothing more.
    End,
    /// The connection broke: it was reset, for instance.
    Broken,
    /// Nothing, for as long as was waited.
    Silence,
}

/// A peer that can be connected to again and again.
pub trait Peer {
    /// Opens a connection; one that was open is closed.
    ///
    /// # Errors
    /// It cannot be reached.
    fn connect(&mut self) -> io::Result<()>;

    /// What was exchanged when it was opened, before the first message: the client's part and the server's.
    fn handshake(&self) -> Option<[Vec<u8>; 2]> {
        None
    }

    /// Sends `bytes`, no faster than the caller allows.
    ///
    /// # Errors
    /// The connection broke.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits for bytes, at most for `patience`.
    fn receive(&mut self, patience: Duration) -> Heard;

    /// Closes the connection.
    fn close(&mut self);

    /// The time since the beginning.
    fn now(&self) -> Duration;
}
