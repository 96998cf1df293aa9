//! A link over blocking streams, one for each peer.

use alloc::string::ToString as _;
use alloc::vec::Vec;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use crate::buffered::{Buffers, decode, no_stream};
use crate::codec::{Codec, JsonLines};
use crate::error::Error;
use crate::link::{Expect, Judge, Link, Message, Peer, Session, peers};

/// A connection to a peer.
pub trait Stream: Read + Write {
    /// Tells the peer that the session ends before its end. Dropping a stream closes it; this is for streams that have been
    /// cloned.
    fn abort(&mut self) {}
}

impl Stream for TcpStream {
    fn abort(&mut self) {
        // A connection that is closed already needs no more.
        let _ = self.shutdown(Shutdown::Both);
    }
}

#[cfg(unix)]
impl Stream for std::os::unix::net::UnixStream {
    fn abort(&mut self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// Any `Read + Write` as a stream: dropping it is how its peer learns of an abort.
#[derive(Debug)]
pub struct Plain<T>(pub T);

impl<T: Read> Read for Plain<T> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<T: Write> Write for Plain<T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl<T: Read + Write> Stream for Plain<T> {}

/// A link over blocking streams.
#[derive(Debug)]
pub struct Blocking<T: Stream, C = JsonLines> {
    streams: Vec<T>,
    buffers: Vec<Buffers>,
    codec: C,
    over: bool,
}

impl<T: Stream> Blocking<T> {
    /// For a role with one peer.
    pub fn new(stream: T) -> Self {
        Self::with_codec([stream], JsonLines::default())
    }

    /// For a role with several peers, in the order of its `PEERS`.
    pub fn with_peers(streams: impl IntoIterator<Item = T>) -> Self {
        Self::with_codec(streams, JsonLines::default())
    }
}

impl<T: Stream, C> Blocking<T, C> {
    /// With another codec.
    pub fn with_codec(streams: impl IntoIterator<Item = T>, codec: C) -> Self {
        let streams: Vec<T> = streams.into_iter().collect();
        let buffers = streams.iter().map(|_| Buffers::default()).collect();
        Self { streams, buffers, codec, over: false }
    }

    fn fill(&mut self, peer: Peer) -> Result<(), Error> {
        let (Some(stream), Some(buffer)) =
            (self.streams.get_mut(peer.index), self.buffers.get_mut(peer.index))
        else {
            return Err(no_stream(peer));
        };
        let mut chunk = [0; 8 << 10];
        match stream.read(&mut chunk) {
            Ok(0) => buffer.ended = true,
            Ok(count) => buffer.feed(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => buffer.ended = true,
            Err(error) => return Err(failed(peer, &error)),
        }
        Ok(())
    }
}

fn failed(peer: Peer, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
            Error::Ended { by: peer.name }
        }
        _ => Error::Transport { peer: peer.name, reason: error.to_string() },
    }
}

impl<T: Stream, C> Drop for Blocking<T, C> {
    fn drop(&mut self) {
        if !self.over {
            self.streams.iter_mut().for_each(Stream::abort);
        }
    }
}

impl<M: Message, T: Stream, C: Codec<M>> Link<M> for Blocking<T, C> {
    type Sent<S: Session<Self>> = Result<S, Error>;
    type Received<S: Session<Self>, E> = Result<E, Error>;

    fn send<S: Session<Self>>(mut next: S, to: Peer, message: M) -> Self::Sent<S> {
        let link = next.link();
        let (Some(stream), Some(buffer)) = (link.streams.get_mut(to.index), link.buffers.get_mut(to.index))
        else {
            return Err(no_stream(to));
        };
        buffer.output.clear();
        let encoded = link.codec.encode(&message, &mut buffer.output);
        encoded.map_err(|reason| Error::Transport { peer: to.name, reason })?;
        stream.write_all(&buffer.output).and_then(|()| stream.flush()).map_err(|error| failed(to, &error))?;
        Ok(next)
    }

    fn receive<S: Session<Self>, E>(
        mut state: S,
        expected: &'static [Expect],
        judge: Judge<S, M, E>,
    ) -> Self::Received<S, E> {
        loop {
            let link = state.link();
            if let Some((from, message)) = decode(&mut link.buffers, &mut link.codec, expected)? {
                return judge(state, from, message);
            }
            let mut awaited = peers(expected);
            match (awaited.next(), awaited.next()) {
                (Some(peer), None) => link.fill(peer)?,
                _ => return Err(Error::SeveralPeers { expected }),
            }
        }
    }

    fn refuse<S: Session<Self>>(error: Error) -> Self::Sent<S> {
        Err(error)
    }

    fn end(&mut self) {
        self.over = true;
    }
}
