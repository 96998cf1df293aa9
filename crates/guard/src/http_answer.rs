//! Answers of the guard's own to HTTP requests that it cannot pass on.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The answer with `status` and a line that says `why`, after which the connection is closed.
pub(crate) fn text(status: &str, why: &str) -> String {
    let length = why.len() + 1;
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n");
    format!("{head}Connection: close\r\n\r\n{why}\n")
}

/// Answers with `status` and a line that says `why`, and closes.
pub(crate) async fn answer(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    status: &str,
    why: &str,
) -> io::Result<()> {
    stream.write_all(text(status, why).as_bytes()).await?;
    stream.shutdown().await?;
    drain(stream).await;
    Ok(())
}

/// Reads until the other side closes: closed with unread bytes, the connection would be reset, and what was said last be lost.
pub(crate) async fn drain(reader: &mut (impl AsyncRead + Unpin)) {
    let mut rest = [0; 4096];
    while reader.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}
