//! A WebSocket (RFC 6455) of which this process is one end: what comes reads as one frame for each message, whole and
//! without a mask, and such frames are written. Handshake, masks, fragments, pings and closes are `tungstenite`'s.

use std::io::{self, Cursor};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{Sink as _, Stream as _};
use hyper::body::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::http::Uri;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame, FrameHeader};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::stream::Stream;

/// What each connection reserves for reading.
const CHUNK: usize = 4096;

/// One end of a WebSocket.
#[derive(Debug)]
pub(crate) struct WebSocket {
    inner: WebSocketStream<Stream>,
    /// What has come and is not read yet.
    come: Cursor<Vec<u8>>,
    /// What was written and is no whole frame yet.
    going: Vec<u8>,
    /// Whether the other end has said that nothing more comes.
    closed: bool,
    /// Why nothing more can be read, which is said as often as it is asked.
    failed: Option<(io::ErrorKind, String)>,
}

impl WebSocket {
    /// Waits for the handshake of who has connected over `stream`.
    pub(crate) async fn accept(stream: Stream, limit: usize) -> io::Result<Self> {
        let accepted = tokio_tungstenite::accept_async_with_config(stream, Some(config(limit))).await;
        accepted.map(Self::new).map_err(failure)
    }

    /// Asks who is at the other end of `stream` for `target`.
    pub(crate) async fn connect(stream: Stream, target: &Uri, limit: usize) -> io::Result<Self> {
        let asked =
            tokio_tungstenite::client_async_with_config(target.clone(), stream, Some(config(limit))).await;
        asked.map(|(inner, _)| Self::new(inner)).map_err(failure)
    }

    fn new(inner: WebSocketStream<Stream>) -> Self {
        Self { inner, come: Cursor::default(), going: Vec::new(), closed: false, failed: None }
    }

    /// Hands on all whole frames that were written.
    fn poll_frames(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut cursor = Cursor::new(&self.going);
            let Some((header, length)) = FrameHeader::parse(&mut cursor).map_err(failure)? else { break };
            let start = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
            let end = start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
            if self.going.len() < end {
                break;
            }
            ready!(Pin::new(&mut self.inner).poll_ready(cx)).map_err(failure)?;
            let payload = Bytes::copy_from_slice(self.going.get(start..end).unwrap_or_default());
            let frame = Message::Frame(Frame::from_payload(header, payload));
            self.going.drain(..end);
            Pin::new(&mut self.inner).start_send(frame).map_err(failure)?;
        }
        Poll::Ready(Ok(()))
    }
}

fn config(limit: usize) -> WebSocketConfig {
    let config = WebSocketConfig::default().read_buffer_size(CHUNK).write_buffer_size(0);
    config.max_message_size(Some(limit)).max_frame_size(Some(limit))
}

/// Text as the frame that carries it.
pub(crate) fn text_frame(text: &[u8]) -> Bytes {
    frame(Data::Text, text).into()
}

fn frame(kind: Data, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + 10);
    let header = FrameHeader { opcode: OpCode::Data(kind), ..FrameHeader::default() };
    // Writing to memory does not fail.
    let _ = header.format(payload.len() as u64, &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// [`io::ErrorKind::FileTooLarge`] is a message beyond the limit, [`io::ErrorKind::InvalidData`] something else that is
/// not WebSocket.
fn failure(error: Error) -> io::Error {
    let kind = match error {
        Error::Io(error) => return error,
        Error::ConnectionClosed | Error::AlreadyClosed => io::ErrorKind::NotConnected,
        Error::Capacity(_) => io::ErrorKind::FileTooLarge,
        // Who hangs up without a word.
        Error::Protocol(
            tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
        ) => io::ErrorKind::ConnectionReset,
        _ => io::ErrorKind::InvalidData,
    };
    io::Error::new(kind, error.to_string())
}

impl AsyncRead for WebSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let left = this.come.get_ref().get(this.come.position() as usize..).unwrap_or_default();
            if !left.is_empty() {
                let count = left.len().min(buffer.remaining());
                buffer.put_slice(left.get(..count).unwrap_or_default());
                this.come.set_position(this.come.position() + count as u64);
                return Poll::Ready(Ok(()));
            }
            if let Some((kind, why)) = &this.failed {
                return Poll::Ready(Err(io::Error::new(*kind, why.clone())));
            }
            if this.closed {
                // Answered, or an answer: both have said that this is the end, and TLS says so too.
                let _ = ready!(Pin::new(&mut this.inner).poll_flush(cx));
                let _ = ready!(Pin::new(this.inner.get_mut()).poll_shutdown(cx));
                return Poll::Ready(Ok(()));
            }
            let whole = match ready!(Pin::new(&mut this.inner).poll_next(cx)) {
                None => return Poll::Ready(Ok(())),
                Some(Ok(Message::Close(_))) => {
                    this.closed = true;
                    continue;
                }
                Some(Ok(Message::Text(text))) => frame(Data::Text, text.as_bytes()),
                Some(Ok(Message::Binary(bytes))) => frame(Data::Binary, &bytes),
                // Answered with what is written next, or with the next look at what has come.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
                    continue;
                }
                Some(Err(error)) => {
                    let error = failure(error);
                    this.failed = Some((error.kind(), error.to_string()));
                    return Poll::Ready(Err(error));
                }
            };
            this.come = Cursor::new(whole);
        }
    }
}

impl AsyncWrite for WebSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_frames(cx))?;
        this.going.extend_from_slice(bytes);
        // What cannot go yet goes with the next bytes, or when it is flushed.
        if let Poll::Ready(Err(error)) = this.poll_frames(cx) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_frames(cx))?;
        Pin::new(&mut this.inner).poll_flush(cx).map_err(failure)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_frames(cx))?;
        Pin::new(&mut this.inner).poll_close(cx).map_err(failure)
    }
}
