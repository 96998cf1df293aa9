//! The network as the other side of a component's connection: what is read from it is for the component, and what the component
//! says is written to it, but has gone to the monitor of its role already.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::ComponentLink;

/// The network side of a component's connection.
pub(crate) struct NetworkStream(Arc<ComponentLink>);

impl NetworkStream {
    pub(super) fn new(link: Arc<ComponentLink>) -> Self {
        Self(link)
    }
}

impl fmt::Debug for NetworkStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the network")
    }
}

impl AsyncRead for NetworkStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let link = &self.get_mut().0;
        // A driver reads more when the component has taken what was read before.
        link.delivered(link.queue.take_handed());
        link.queue.poll_read(cx, buffer)
    }
}

impl AsyncWrite for NetworkStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
