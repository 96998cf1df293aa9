//! This process's own standard input and output, as the client's end of a session.
//!
//! They are taken away from the rest of the process: its standard input and output are `/dev/null` from then on, so that nothing but what
//! the session sends reaches the client, and the client sees the end when the session says so.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::JoinHandle;

use rustix::fs::{FileType, fstat};
use socket2::Domain;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;
use tokio::net::{TcpStream, UnixStream};

use crate::driver::Look;
use crate::stream::Socket;

/// The client's end.
#[derive(Debug)]
pub(crate) struct Stdio {
    input: Input,
    output: Option<Output>,
}

#[derive(Debug)]
enum Input {
    Pipe(pipe::Receiver),
    Socket(Socket),
    /// The client was told that nothing more comes: what it says now concerns nobody.
    Ended,
}

#[derive(Debug)]
enum Output {
    Pipe(pipe::Sender),
    Socket(Socket),
}

impl Stdio {
    /// Takes standard input and output, within a runtime; and the thread that writes to standard output, if there has to be one: the process
    /// should not end before it has.
    pub(crate) fn take() -> io::Result<(Self, Option<JoinHandle<()>>)> {
        let duplicate = |fd| rustix::io::fcntl_dupfd_cloexec(fd, 3).map_err(io::Error::from);
        let (input, output) = (duplicate(rustix::stdio::stdin())?, duplicate(rustix::stdio::stdout())?);
        let (input, (output, writer)) = (Input::new(input)?, Output::new(output)?);
        let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        Ok((Self { input, output: Some(output) }, writer))
    }
}

/// A second way to the pipe `fd`, which others may share: whether theirs blocks is left as it is.
fn reopened(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(fd))
}

fn socket(fd: OwnedFd) -> io::Result<Socket> {
    let socket = socket2::Socket::from(fd);
    socket.set_nonblocking(true)?;
    Ok(match socket.domain()? {
        Domain::UNIX => Socket::Unix(UnixStream::from_std(socket.into())?),
        _ => Socket::Tcp(TcpStream::from_std(socket.into())?),
    })
}

fn kind(fd: impl AsFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

impl Input {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        match kind(&fd)? {
            FileType::Fifo => {
                let own = pipe::OpenOptions::new().open_receiver(reopened(&fd));
                own.or_else(|_| pipe::Receiver::from_owned_fd(fd)).map(Self::Pipe)
            }
            FileType::Socket => socket(fd).map(Self::Socket),
            // Terminals and files have no other way to be waited for without blocking those who share them.
            _ => {
                let (reader, mut writer) = io::pipe()?;
                std::thread::Builder::new()
                    .name("stdin".to_owned())
                    .spawn(move || io::copy(&mut File::from(fd), &mut writer))?;
                pipe::Receiver::from_owned_fd(reader.into()).map(Self::Pipe)
            }
        }
    }
}

impl Output {
    fn new(fd: OwnedFd) -> io::Result<(Self, Option<JoinHandle<()>>)> {
        Ok(match kind(&fd)? {
            FileType::Fifo => {
                let own = pipe::OpenOptions::new().open_sender(reopened(&fd));
                (Self::Pipe(own.or_else(|_| pipe::Sender::from_owned_fd(fd))?), None)
            }
            FileType::Socket => (Self::Socket(socket(fd)?), None),
            _ => {
                let (mut reader, writer) = io::pipe()?;
                let copy = move || {
                    // Who does not want it any more closes the pipe.
                    let _ = io::copy(&mut reader, &mut File::from(fd));
                };
                let thread = std::thread::Builder::new().name("stdout".to_owned()).spawn(copy)?;
                (Self::Pipe(pipe::Sender::from_owned_fd(writer.into())?), Some(thread))
            }
        })
    }
}

impl Look for Stdio {
    fn waiting(&self) -> Option<u64> {
        match &self.input {
            Input::Pipe(pipe) => rustix::io::ioctl_fionread(pipe).ok(),
            Input::Socket(socket) => socket.waiting(),
            Input::Ended => Some(0),
        }
    }

    fn reads_all(&self) -> bool {
        true
    }
}

impl AsyncRead for Stdio {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.input {
            Input::Pipe(pipe) => Pin::new(pipe).poll_read(cx, buffer),
            Input::Socket(socket) => Pin::new(socket).poll_read(cx, buffer),
            Input::Ended => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Stdio {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.output {
            Some(Output::Pipe(pipe)) => Pin::new(pipe).poll_write(cx, bytes),
            Some(Output::Socket(socket)) => Pin::new(socket).poll_write(cx, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The client sees the end. It may wait for the end of this process before it ends itself, so it is not waited for.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = match &mut self.output {
            Some(Output::Socket(socket)) => Pin::new(socket).poll_shutdown(cx),
            _ => Poll::Ready(Ok(())),
        };
        if shut.is_ready() {
            (self.input, self.output) = (Input::Ended, None);
            cx.waker().wake_by_ref();
        }
        shut
    }
}
