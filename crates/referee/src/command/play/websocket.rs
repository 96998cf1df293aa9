//! The handshake of a WebSocket (RFC 6455), from either end. Frames are the codec's.

use std::io;
use std::time::{Duration, Instant};

use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::stream::Stream;

/// A longer head is refused.
const MAX_HEAD: usize = 16 * 1024;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// What was exchanged, and what has come after it.
pub(super) struct Handshake {
    /// The request and the response.
    pub(super) said: [Vec<u8>; 2],
    pub(super) rest: Vec<u8>,
    /// The frame that says that this end leaves.
    pub(super) close: &'static [u8],
}

/// Frames with the code 1000; a client's has a mask, of zeros.
const CLIENT_CLOSE: &[u8] = &[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8];
const SERVER_CLOSE: &[u8] = &[0x88, 0x02, 0x03, 0xe8];

/// Asks `stream` for `target`.
pub(super) fn connect(
    stream: &mut dyn Stream,
    host: &str,
    target: &str,
    timeout: Duration,
) -> io::Result<Handshake> {
    let key = generate_key();
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let (response, rest) = head(stream, timeout)?;
    let text = String::from_utf8_lossy(&response);
    let status = text.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("101") {
        return Err(io::Error::other(format!("it does not become a WebSocket for `{target}`: {status}")));
    }
    if header(&text, "sec-websocket-accept") != Some(derive_accept_key(key.as_bytes()).as_str()) {
        return Err(io::Error::other("its answer to the handshake is one to another key"));
    }
    Ok(Handshake { said: [request.into_bytes(), response], rest, close: CLIENT_CLOSE })
}

/// Answers whoever asks for a WebSocket over `stream`.
pub(super) fn accept(stream: &mut dyn Stream, timeout: Duration) -> io::Result<Handshake> {
    let (request, rest) = head(stream, timeout)?;
    let text = String::from_utf8_lossy(&request);
    let Some(key) = header(&text, "sec-websocket-key") else {
        stream
            .write_all(b"HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n")?;
        return Err(io::Error::other("a request that does not ask for a WebSocket"));
    };
    let response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        derive_accept_key(key.as_bytes())
    );
    stream.write_all(response.as_bytes())?;
    stream.flush()?;
    Ok(Handshake { said: [request, response.into_bytes()], rest, close: SERVER_CLOSE })
}

/// The value of the header called `name`, in lower case.
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut named = head.lines().filter_map(|line| line.split_once(':'));
    named.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// What comes up to an empty line, and what comes after it.
fn head(stream: &mut dyn Stream, timeout: Duration) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
    let began = Instant::now();
    loop {
        if let Some(at) = read.windows(HEAD_END.len()).position(|end| end == HEAD_END) {
            let rest = read.split_off(at + HEAD_END.len());
            return Ok((read, rest));
        }
        let left = timeout.saturating_sub(began.elapsed());
        if left.is_zero() || read.len() > MAX_HEAD {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "its handshake does not come to an end"));
        }
        stream.set_patience(left)?;
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => read.extend_from_slice(buffer.get(..count).unwrap_or_default()),
        }
    }
}
