//! What a connection is made of: bytes either way, and a bound on waiting for them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustls::{ClientConnection, StreamOwned};

/// A connection.
pub(super) trait Stream: Read + Write {
    /// How long the next read waits.
    fn set_patience(&mut self, patience: Duration) -> io::Result<()>;

    /// Ends it.
    fn close(&mut self);
}

impl Stream for TcpStream {
    fn set_patience(&mut self, patience: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(patience))
    }

    fn close(&mut self) {
        // It may be closed already.
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Stream for UnixStream {
    fn set_patience(&mut self, patience: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(patience))
    }

    fn close(&mut self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Stream for StreamOwned<ClientConnection, TcpStream> {
    fn set_patience(&mut self, patience: Duration) -> io::Result<()> {
        self.sock.set_read_timeout(Some(patience))
    }

    fn close(&mut self) {
        self.conn.send_close_notify();
        let _ = self.conn.complete_io(&mut self.sock);
        let _ = self.sock.shutdown(Shutdown::Both);
    }
}
