//! A socket as a peer: with timeouts, no faster than allowed, and only where one may.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use referee::probe::{Heard, Peer};

/// How long a connection may take to be made, and bytes to be written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The shortest time for which a socket can wait.
const MIN_PATIENCE: Duration = Duration::from_millis(1);

/// A connection to a peer.
pub(crate) struct Link {
    place: Place,
    stream: Option<Stream>,
    started: Instant,
    /// The time between two messages.
    pace: Duration,
    last_sent: Option<Instant>,
}

enum Place {
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
    /// Whoever has connected.
    Accepted,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
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
                Place::Tcp(found)
            }
        };
        Ok(Self::new(place, None, rate))
    }

    /// A link with whoever has connected over `stream`.
    pub(crate) fn accepted(stream: TcpStream) -> io::Result<Self> {
        let _ = stream.set_nodelay(true);
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        Ok(Self::new(Place::Accepted, Some(Stream::Tcp(stream)), 0))
    }

    fn new(place: Place, stream: Option<Stream>, rate: u32) -> Self {
        let pace = Duration::from_secs(1).checked_div(rate).unwrap_or_default();
        Self { place, stream, started: Instant::now(), pace, last_sent: None }
    }

    fn wait_for_turn(&mut self) {
        if let Some(last) = self.last_sent {
            thread::sleep(self.pace.saturating_sub(last.elapsed()));
        }
        self.last_sent = Some(Instant::now());
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

impl Peer for Link {
    fn connect(&mut self) -> io::Result<()> {
        self.close();
        self.wait_for_turn();
        let stream = match &self.place {
            Place::Tcp(addresses) => {
                let mut result = Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
                for address in addresses {
                    result = TcpStream::connect_timeout(address, WRITE_TIMEOUT);
                    if result.is_ok() {
                        break;
                    }
                }
                let stream = result?;
                let _ = stream.set_nodelay(true);
                stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
                Stream::Tcp(stream)
            }
            Place::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
                Stream::Unix(stream)
            }
            Place::Accepted => return Err(io::ErrorKind::NotConnected.into()),
        };
        self.stream = Some(stream);
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.pace > Duration::ZERO {
            self.wait_for_turn();
        }
        match &mut self.stream {
            Some(Stream::Tcp(stream)) => stream.write_all(bytes),
            Some(Stream::Unix(stream)) => stream.write_all(bytes),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn receive(&mut self, patience: Duration) -> Heard {
        let mut buffer = [0; 16 * 1024];
        let patience = Some(patience.max(MIN_PATIENCE));
        let read = match &mut self.stream {
            Some(Stream::Tcp(stream)) => {
                stream.set_read_timeout(patience).and_then(|()| stream.read(&mut buffer))
            }
            Some(Stream::Unix(stream)) => {
                stream.set_read_timeout(patience).and_then(|()| stream.read(&mut buffer))
            }
            None => return Heard::Broken,
        };
        match read {
            Ok(0) => Heard::End,
            Ok(count) => Heard::Bytes(buffer.get(..count).unwrap_or_default().to_vec()),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => {
                    Heard::Silence
                }
                _ => Heard::Broken,
            },
        }
    }

    fn close(&mut self) {
        if let Some(stream) = self.stream.take() {
            let _ = match stream {
                Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
                Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
            };
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}
