//! One end of a session: a socket, TLS over a socket, a WebSocket over either, or a program's standard input and output.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::process;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::config::Address;
use crate::driver::Look;
use crate::multiparty::NetworkStream;
use crate::pages::with_usual_pages;
use crate::stdio::Stdio;
use crate::tls_records::TlsSocket;
use crate::websocket::WebSocket;

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// One end of a session.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(Socket),
    TlsServer(Box<tokio_rustls::server::TlsStream<TlsSocket>>),
    TlsClient(Box<tokio_rustls::client::TlsStream<TlsSocket>>),
    Program(Box<Program>),
    /// This process's own standard input and output.
    Stdio(Stdio),
    /// Messages of which this process is one end; nothing that is relayed.
    WebSocket(Box<WebSocket>),
    /// The other roles of a component's network.
    Network(NetworkStream),
}

/// A program that was started for one session; it is killed with it, unless it was [taken](Self::take_child).
#[derive(Debug)]
pub(crate) struct Program {
    input: Option<ChildStdin>,
    output: ChildStdout,
    child: Option<Child>,
}

impl Socket {
    pub(crate) async fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                connect(address).await.map(Self::Tcp).map_err(|error| named(address, error))
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                Ok(Self::Unix(stream.map_err(|error| named(&path.display().to_string(), error))?))
            }
        }
    }
}

impl Socket {
    /// How many bytes have arrived and were not read.
    pub(crate) fn waiting(&self) -> Option<u64> {
        match self {
            Self::Tcp(socket) => rustix::io::ioctl_fionread(socket).ok(),
            Self::Unix(socket) => rustix::io::ioctl_fionread(socket).ok(),
        }
    }
}

impl Look for Stream {
    fn waiting(&self) -> Option<u64> {
        match self {
            Self::Plain(socket) => socket.waiting(),
            Self::TlsServer(stream) => stream.get_ref().0.waiting(),
            Self::TlsClient(stream) => stream.get_ref().0.waiting(),
            Self::Program(program) => rustix::io::ioctl_fionread(&program.output).ok(),
            Self::Stdio(stdio) => stdio.waiting(),
            Self::WebSocket(_) | Self::Network(_) => None,
        }
    }

    fn reads_all(&self) -> bool {
        matches!(self, Self::Plain(_) | Self::Program(_) | Self::Stdio(_))
    }
}

/// Connects to `address`.
///
/// Where nobody listens on a port of this machine that the system may also pick for a connection, it can pick that very
/// one: what connects then is connected to itself, would hear whatever it says, and keeps the port from whoever was to
/// listen there.
pub(crate) async fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    if stream.local_addr()? == stream.peer_addr()? {
        // Otherwise the port stays taken for a minute.
        stream.set_zero_linger()?;
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// `error`, with what it is about.
fn named(what: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

impl Program {
    pub(crate) fn start(command: &[String]) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "the command is empty");
        let (program, arguments) = command.split_first().ok_or_else(wrong)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(process::Stdio::piped())
            .stdout(process::Stdio::piped())
            .kill_on_drop(true);
        let mut child = with_usual_pages(|| command.spawn()).map_err(|error| named(program, error))?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or_else(|| io::Error::other("the program has no output"))?;
        Ok(Self { input, output, child: Some(child) })
    }

    /// The process itself, for who waits for its end.
    pub(crate) fn take_child(&mut self) -> Option<Child> {
        self.child.take()
    }
}

/// Who is at the other end of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// `None` for a Unix socket.
    pub(crate) address: Option<std::net::SocketAddr>,
    /// Where it connected to.
    pub(crate) local: Option<std::net::SocketAddr>,
}

impl Source {
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        self.address.map(|address| address.ip().to_canonical())
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.address {
            Some(address) => address.fmt(f),
            None => f.write_str("unix"),
        }
    }
}

macro_rules! each {
    ($self:expr, $kind:ident, $inner:ident => $result:expr) => {
        match $self.get_mut() {
            $kind::Tcp($inner) => $result,
            $kind::Unix($inner) => $result,
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, Self, inner => Pin::new(inner).poll_read(cx, buffer))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        each!(self, Self, inner => Pin::new(inner).poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, Self, inner => Pin::new(inner).poll_shutdown(cx))
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(inner) => Pin::new(inner).poll_read(cx, buffer),
            Self::TlsServer(inner) => Pin::new(inner).poll_read(cx, buffer),
            Self::TlsClient(inner) => Pin::new(inner).poll_read(cx, buffer),
            Self::Program(inner) => Pin::new(&mut inner.output).poll_read(cx, buffer),
            Self::Stdio(inner) => Pin::new(inner).poll_read(cx, buffer),
            Self::WebSocket(inner) => Pin::new(inner).poll_read(cx, buffer),
            Self::Network(inner) => Pin::new(inner).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(inner) => Pin::new(inner).poll_write(cx, bytes),
            Self::TlsServer(inner) => Pin::new(inner).poll_write(cx, bytes),
            Self::TlsClient(inner) => Pin::new(inner).poll_write(cx, bytes),
            Self::Program(inner) => match &mut inner.input {
                Some(input) => Pin::new(input).poll_write(cx, bytes),
                None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            },
            Self::Stdio(inner) => Pin::new(inner).poll_write(cx, bytes),
            Self::WebSocket(inner) => Pin::new(inner).poll_write(cx, bytes),
            Self::Network(inner) => Pin::new(inner).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(_) | Self::Program(_) | Self::Stdio(_) => Poll::Ready(Ok(())),
            Self::TlsServer(inner) => Pin::new(inner).poll_flush(cx),
            Self::TlsClient(inner) => Pin::new(inner).poll_flush(cx),
            Self::WebSocket(inner) => Pin::new(inner).poll_flush(cx),
            Self::Network(inner) => Pin::new(inner).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(inner) => Pin::new(inner).poll_shutdown(cx),
            Self::TlsServer(inner) => Pin::new(inner).poll_shutdown(cx),
            Self::TlsClient(inner) => Pin::new(inner).poll_shutdown(cx),
            Self::Stdio(inner) => Pin::new(inner).poll_shutdown(cx),
            Self::WebSocket(inner) => Pin::new(inner).poll_shutdown(cx),
            Self::Network(inner) => Pin::new(inner).poll_shutdown(cx),
            Self::Program(inner) => {
                inner.input = None;
                Poll::Ready(Ok(()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Often enough that without the check it happens nearly always, where the system picks among some 28,000 ports
    /// and prefers even ones.
    #[tokio::test]
    async fn nobody_connects_to_itself() {
        let even = (40_000..60_000).step_by(2).map(|port: u16| format!("127.0.0.1:{port}"));
        let nobody = even.into_iter().find(|address| std::net::TcpListener::bind(address).is_ok()).unwrap();
        for _ in 0..60_000 {
            if let Ok(stream) = connect(&nobody).await {
                assert_ne!(stream.local_addr().unwrap(), stream.peer_addr().unwrap());
            }
        }
    }
}
