//! A connection as a peer: with timeouts, no faster than allowed, and only where one may.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use referee::probe::{Heard, Peer};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::program::Program;
use super::stream::Stream;
use super::websocket::{self, Handshake};

/// How long a connection may take to be made, and bytes to be written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The shortest time for which a socket can wait.
const MIN_PATIENCE: Duration = Duration::from_millis(1);

/// A connection to a peer.
pub(crate) struct Link {
    place: Place,
    stream: Option<Box<dyn Stream>>,
    tls: Option<Tls>,
    /// What is asked for where the codec is of WebSockets.
    target: Option<String>,
    handshake: Option<Handshake>,
    started: Instant,
    /// The time between two messages.
    pace: Duration,
    last_sent: Option<Instant>,
}

/// How a server is recognised, and the name it must bear.
pub(crate) type Tls = (Arc<ClientConfig>, ServerName<'static>);

enum Place {
    Tcp {
        addresses: Vec<SocketAddr>,
        host: String,
    },
    Unix(PathBuf),
    /// A program, which talks on its standard input and output.
    Command(Vec<String>),
    /// Whoever has connected.
    Accepted,
}

impl Link {
    /// A link to `address`. One that is not on this machine must be in `allowed`, as it is written.
    pub(crate) fn to(address: &str, allowed: &[String], rate: u32) -> Result<Self> {
        let place = match address.strip_prefix("unix:") {
            Some(path) => Place::Unix(path.into()),
            None => {
                let found =
                    address.to_socket_addrs().with_context(|| format!("no such address: `{address}`"))?;
                let found: Vec<SocketAddr> = found.collect();
                let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
                let host = host.trim_start_matches('[').trim_end_matches(']');
                let is_local = |address: &SocketAddr| is_loopback(address.ip());
                if !found.iter().all(is_local) && !allowed.iter().any(|name| name == host) {
                    bail!(
                        "`{host}` is not this machine. A probe misbehaves on demand: if you may test that host, say \
                         --yes-i-may-test {host}"
                    );
                }
                Place::Tcp { addresses: found, host: address.to_owned() }
            }
        };
        Ok(Self::new(place, None, rate))
    }

    /// A link to a program that is started anew for each session.
    pub(crate) fn program(command: &[String], rate: u32) -> Self {
        Self::new(Place::Command(command.to_vec()), None, rate)
    }

    /// The same by TLS.
    pub(crate) fn with_tls(self, tls: Option<Tls>) -> Self {
        Self { tls, ..self }
    }

    /// The same as a WebSocket, if there is a `target`: what is asked for.
    pub(crate) fn with_websocket(self, target: Option<String>) -> Self {
        Self { target, ..self }
    }

    /// A link with whoever has connected over `stream`; `is_socket`: who has to ask for a WebSocket first.
    pub(crate) fn accepted(stream: TcpStream, is_socket: bool) -> io::Result<Self> {
        let mut stream: Box<dyn Stream> = Box::new(prepared(stream)?);
        let handshake = if is_socket { Some(websocket::accept(&mut *stream, WRITE_TIMEOUT)?) } else { None };
        Ok(Self { handshake, ..Self::new(Place::Accepted, Some(stream), 0) })
    }

    fn new(place: Place, stream: Option<Box<dyn Stream>>, rate: u32) -> Self {
        let pace = Duration::from_secs(1).checked_div(rate).unwrap_or_default();
        let started = Instant::now();
        Self { place, stream, tls: None, target: None, handshake: None, started, pace, last_sent: None }
    }

    fn wait_for_turn(&mut self) {
        if let Some(last) = self.last_sent {
            thread::sleep(self.pace.saturating_sub(last.elapsed()));
        }
        self.last_sent = Some(Instant::now());
    }

    /// A new connection to where the peer is, before the first byte of the protocol.
    fn open(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match &self.place {
            Place::Tcp { addresses, .. } => {
                let mut result = Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
                for address in addresses {
                    result = TcpStream::connect_timeout(address, WRITE_TIMEOUT);
                    if result.is_ok() {
                        break;
                    }
                }
                let mut stream = prepared(result?)?;
                match &self.tls {
                    None => Box::new(stream),
                    Some((config, name)) => {
                        let connection = ClientConnection::new(Arc::clone(config), name.clone());
                        let mut connection = connection.map_err(io::Error::other)?;
                        stream.set_read_timeout(Some(WRITE_TIMEOUT))?;
                        while connection.is_handshaking() {
                            connection.complete_io(&mut stream)?;
                        }
                        Box::new(StreamOwned::new(connection, stream))
                    }
                }
            }
            Place::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
                Box::new(stream)
            }
            Place::Command(command) => Box::new(Program::start(command)?),
            Place::Accepted => return Err(io::ErrorKind::NotConnected.into()),
        })
    }
}

fn prepared(stream: TcpStream) -> io::Result<TcpStream> {
    let _ = stream.set_nodelay(true);
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    Ok(stream)
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

impl Peer for Link {
    fn connect(&mut self) -> io::Result<()> {
        self.close();
        self.wait_for_turn();
        let mut stream = self.open()?;
        self.handshake = match &self.target {
            Some(target) => {
                let host = if let Place::Tcp { host, .. } = &self.place { host } else { "localhost" };
                Some(websocket::connect(&mut *stream, host, target, WRITE_TIMEOUT)?)
            }
            None => None,
        };
        self.stream = Some(stream);
        Ok(())
    }

    fn handshake(&self) -> Option<[Vec<u8>; 2]> {
        self.handshake.as_ref().map(|handshake| handshake.said.clone())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.pace > Duration::ZERO {
            self.wait_for_turn();
        }
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        stream.write_all(bytes)?;
        stream.flush()
    }

    fn receive(&mut self, patience: Duration) -> Heard {
        if let Some(handshake) = &mut self.handshake
            && !handshake.rest.is_empty()
        {
            return Heard::Bytes(std::mem::take(&mut handshake.rest));
        }
        let mut buffer = [0; 16 * 1024];
        let Some(stream) = &mut self.stream else { return Heard::Broken };
        let read = stream.set_patience(patience.max(MIN_PATIENCE)).and_then(|()| stream.read(&mut buffer));
        match read {
            Ok(0) => Heard::End,
            Ok(count) => Heard::Bytes(buffer.get(..count).unwrap_or_default().to_vec()),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => {
                    Heard::Silence
                }
                // A server that closes a TLS connection without saying so closes it, all the same.
                io::ErrorKind::UnexpectedEof => Heard::End,
                _ => Heard::Broken,
            },
        }
    }

    fn close(&mut self) {
        if let Some(mut stream) = self.stream.take() {
            if let Some(handshake) = &self.handshake {
                // The other end may have gone.
                let _ = stream.write_all(handshake.close).and_then(|()| stream.flush());
            }
            stream.close();
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}
