//! The language server: what `referee-ide` computes, over the Language Server Protocol.
//!
//! One thread reads messages and answers what needs no more than the names of a text. What needs projections (diagnostics,
//! hovers, corrections, hints) is done by a worker on a snapshot of the workspace, what needs a check (lenses) by another, so
//! that a check never delays an answer. Whatever is not wanted any more is cancelled: by the client, or by the next change.
//!
//! Reading order: `stdio` (messages), `server` (the loop), `handlers` (one function per request), `convert` (places and edits), `worker`,
//! `files` (what is read from disk).

mod convert;
mod files;
mod handlers;
mod server;
mod stdio;
mod uri;
mod worker;

use std::fmt;
use std::io;

use lsp_server::{Connection, ProtocolError};

/// Why the server ended other than by `exit`.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerError {
    /// The client does not follow the protocol, or is gone.
    Protocol(String),
    /// Reading or writing failed.
    Io(io::Error),
    /// `exit` came without `shutdown`.
    NoShutdown,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(why) => write!(f, "the client does not follow the protocol: {why}"),
            Self::Io(error) => write!(f, "the connection to the client failed: {error}"),
            Self::NoShutdown => f.write_str("the client ended without `shutdown`"),
        }
    }
}

impl std::error::Error for ServerError {}

impl From<ProtocolError> for ServerError {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error.to_string())
    }
}

impl From<serde_json::Error> for ServerError {
    fn from(error: serde_json::Error) -> Self {
        Self::Protocol(error.to_string())
    }
}

/// Serves the client at standard input and output until it says `exit`.
///
/// # Errors
/// The client does not follow the protocol, or the connection fails.
pub fn serve_stdio() -> Result<(), ServerError> {
    let (connection, threads) = stdio::open();
    let served = serve(connection);
    threads.finish().map_err(ServerError::Io)?;
    served
}

/// Serves one client until it says `exit`.
///
/// # Errors
/// The client does not follow the protocol.
pub fn serve(connection: Connection) -> Result<(), ServerError> {
    server::serve(connection)
}
