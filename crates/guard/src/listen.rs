//! Listening sockets: where they are, how they are made, and how connections are taken from them.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, Socket, Type};

use crate::stream::{self, Source};

/// How many connections may wait to be taken.
const BACKLOG: i32 = 4096;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Tcp(String),
    Unix(PathBuf),
    /// The socket with this number among those that were passed to the process (`LISTEN_FDS`).
    Passed(usize),
    /// The process's own standard input and output: nothing that is listened on.
    Stdio,
}

impl Place {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "stdio" {
            return Ok(Self::Stdio);
        }
        if let Some(number) = text.strip_prefix("fd:") {
            let wrong = |_| format!("`fd:{number}` is no passed socket; the first is `fd:0`");
            return number.parse().map(Self::Passed).map_err(wrong);
        }
        match crate::config::Address::try_from(text.to_owned())? {
            crate::config::Address::Tcp(address) => Ok(Self::Tcp(address)),
            crate::config::Address::Unix(path) => Ok(Self::Unix(path)),
        }
    }
}

/// A listening socket.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(UnixListener),
}

impl Listener {
    /// Listens at `place`; `passed` are the sockets that the process was given.
    pub(crate) fn bind(place: &Place, passed: &mut listenfd::ListenFd) -> io::Result<Self> {
        let listener = match place {
            Place::Tcp(address) => Self::Tcp(bind_tcp(address)?),
            Place::Unix(path) => Self::Unix(bind_unix(path)?),
            Place::Stdio => return Err(io::ErrorKind::Unsupported.into()),
            Place::Passed(number) => {
                let missing =
                    || io::Error::new(io::ErrorKind::NotFound, format!("no socket fd:{number} was passed"));
                match passed.take_tcp_listener(*number) {
                    Ok(listener) => Self::Tcp(listener.ok_or_else(missing)?),
                    Err(_) => Self::Unix(passed.take_unix_listener(*number)?.ok_or_else(missing)?),
                }
            }
        };
        listener.prepared()
    }

    fn prepared(self) -> io::Result<Self> {
        match &self {
            Self::Tcp(listener) => listener.set_nonblocking(true)?,
            Self::Unix(listener) => listener.set_nonblocking(true)?,
        }
        Ok(self)
    }

    /// The listener behind `socket`, which another process has handed over.
    pub(crate) fn adopt(socket: OwnedFd) -> io::Result<Self> {
        let is_unix = Socket::from(socket.try_clone()?).domain()? == Domain::UNIX;
        let listener = if is_unix { Self::Unix(socket.into()) } else { Self::Tcp(socket.into()) };
        listener.prepared()
    }

    /// A second handle on the same socket.
    pub(crate) fn share(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(listener) => Self::Tcp(listener.try_clone()?),
            Self::Unix(listener) => Self::Unix(listener.try_clone()?),
        })
    }

    /// Where it really listens: `127.0.0.1:40123`.
    #[must_use]
    pub fn address(&self) -> String {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(|a| a.to_string()).unwrap_or_default(),
            Self::Unix(listener) => {
                let address = listener.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                path.map_or_else(|| "unix".to_owned(), |path| format!("unix:{}", path.display()))
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        }
    }
}

/// Why `who` cannot listen at `place`, and what to do.
pub(crate) fn unlistenable(who: &str, place: &str, error: &io::Error) -> io::Error {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => "; another program listens there",
        io::ErrorKind::AddrNotAvailable => "; this machine has no such address",
        io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need the capability CAP_NET_BIND_SERVICE, or a socket passed by systemd (`fd:0`)"
        }
        _ => "",
    };
    io::Error::new(error.kind(), format!("{who} cannot listen on {place}: {error}{advice}"))
}

/// With SO_REUSEPORT, so that a newer guard may listen beside this one.
fn bind_tcp(address: &str) -> io::Result<TcpListener> {
    let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        let attempt = || {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
            socket.set_reuse_address(true)?;
            socket.set_reuse_port(true)?;
            socket.bind(&address.into())?;
            socket.listen(BACKLOG)?;
            Ok(socket.into())
        };
        match attempt() {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Removes the file of a socket that nobody listens on any more.
fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let dead = UnixStream::connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
            if !dead {
                return Err(error);
            }
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        result => result,
    }
}

/// A connection that was taken.
#[derive(Debug)]
pub(crate) struct Accepted {
    connection: Connection,
    pub(crate) source: Source,
}

#[derive(Debug)]
enum Connection {
    /// Part of this thread's event loop.
    Here(stream::Socket),
    /// On its way to another's.
    Tcp(std::net::TcpStream),
    Unix(UnixStream),
}

impl Accepted {
    /// Takes it out of this thread's event loop, for another thread.
    pub(crate) fn detach(self) -> io::Result<Self> {
        let connection = match self.connection {
            Connection::Here(stream::Socket::Tcp(stream)) => Connection::Tcp(stream.into_std()?),
            Connection::Here(stream::Socket::Unix(stream)) => Connection::Unix(stream.into_std()?),
            other => other,
        };
        Ok(Self { connection, source: self.source })
    }

    /// Makes it part of this thread's event loop.
    pub(crate) fn open(self) -> io::Result<(stream::Socket, Source)> {
        let mut source = self.source;
        let socket = match self.connection {
            Connection::Here(socket) => socket,
            Connection::Tcp(stream) => stream::Socket::Tcp(tokio::net::TcpStream::from_std(stream)?),
            Connection::Unix(stream) => stream::Socket::Unix(tokio::net::UnixStream::from_std(stream)?),
        };
        if let stream::Socket::Tcp(stream) = &socket {
            stream.set_nodelay(true)?;
            source.local = stream.local_addr().ok();
        }
        Ok((socket, source))
    }
}

/// A listening socket in a thread's event loop.
pub(crate) enum Acceptor {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

impl Acceptor {
    pub(crate) fn new(listener: Listener) -> io::Result<Self> {
        Ok(match listener {
            Listener::Tcp(listener) => Self::Tcp(tokio::net::TcpListener::from_std(listener)?),
            Listener::Unix(listener) => Self::Unix(tokio::net::UnixListener::from_std(listener)?),
        })
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> io::Result<Accepted> {
        let (socket, address) = match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                (stream::Socket::Tcp(stream), Some(address))
            }
            Self::Unix(listener) => (stream::Socket::Unix(listener.accept().await?.0), None),
        };
        Ok(Accepted { connection: Connection::Here(socket), source: Source { address, local: None } })
    }
}
