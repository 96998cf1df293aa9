//! Takeover: a newer guard gets the listening sockets of this one, over a Unix socket, without a connection being
//! refused. Both then hold the same sockets; the older one drains and ends.

use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::guard::{Guard, Inherited};
use crate::listen::Listener;

/// What the kernel passes in one message.
const MOST: usize = 253;
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the guard that listens at `path` for its sockets. None if nobody listens there.
pub(crate) fn ask(path: &Path) -> io::Result<Inherited> {
    let stream = match UnixStream::connect(path) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut names = vec![0; 1 << 16];
    let length =
        recvmsg(&stream, &mut [IoSliceMut::new(&mut names)], &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
    let names = String::from_utf8_lossy(names.get(..length).unwrap_or_default()).into_owned();
    let mut sockets = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            sockets.extend(rights);
        }
    }
    names.lines().map(str::to_owned).zip(sockets).map(|(name, fd)| Ok((name, Listener::adopt(fd)?))).collect()
}

/// Waits for a newer guard at `path` and hands it the sockets of `guard`. Only the same user may ask.
pub(crate) fn offer(path: &Path, guard: &Guard) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    let (stream, _) = listener.accept()?;
    let sockets = guard.sockets()?;
    let names: String =
        sockets.iter().take(MOST).map(|(name, _)| format!("{}\n", name.replace('\n', " "))).collect();
    let descriptors: Vec<BorrowedFd<'_>> =
        sockets.iter().take(MOST).map(|(_, socket)| socket.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("too many sockets to hand over"));
    }
    sendmsg(&stream, &[IoSlice::new(names.as_bytes())], &mut control, SendFlags::empty())?;
    Ok(())
}
