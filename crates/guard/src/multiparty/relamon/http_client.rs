//! The HTTP client: one connection to each component and monitor, one request after the other, so that nothing is
//! reordered.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// A response that takes longer is logged.
const SLOW_RESPONSE_AFTER: Duration = Duration::from_secs(1);
/// A connection that was idle for longer is not used again: the other side may be about to close it.
const MAX_REUSE_IDLE: Duration = Duration::from_secs(2);
/// The longest response body that is read.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// Headers between Referee's monitors: the role of the client, and the instance of the process.
pub(super) const ROLE: HeaderName = HeaderName::from_static("referee-role");
pub(super) const PROCESS: HeaderName = HeaderName::from_static("referee-process");

/// Why a request failed.
#[derive(Debug)]
pub(super) enum PostError {
    /// The connection was refused.
    Refused,
    /// It cannot be reached.
    Unreachable(io::Error),
    /// The connection broke before the response: the request may have been processed or not.
    Broken(hyper::Error),
}

impl std::fmt::Display for PostError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused => f.write_str("nobody listens there"),
            Self::Unreachable(error) => write!(f, "it cannot be reached: {error}"),
            Self::Broken(error) => write!(f, "the connection broke before the answer: {error}"),
        }
    }
}

/// The client of one address.
pub(super) struct HttpClient {
    address: Arc<str>,
    /// Headers that identify this monitor.
    introduction: Vec<(HeaderName, HeaderValue)>,
    connection: Option<(SendRequest<Full<Bytes>>, Instant)>,
    /// The number of open connections.
    connections: watch::Sender<usize>,
    /// The instance of the process that responded last, if it said so.
    pub(super) process: Option<HeaderValue>,
}

impl HttpClient {
    pub(super) fn new(address: &str) -> Self {
        Self {
            address: address.into(),
            introduction: Vec::new(),
            connection: None,
            connections: watch::Sender::new(0),
            process: None,
        }
    }

    /// Adds the headers that identify this monitor.
    pub(super) fn introducing(mut self, role: &HeaderValue, process: &HeaderValue) -> Self {
        self.introduction = vec![(ROLE, role.clone()), (PROCESS, process.clone())];
        self
    }

    pub(super) fn connections(&self) -> watch::Receiver<usize> {
        self.connections.subscribe()
    }

    /// Sends a request and waits for the response however long it takes; `slow` is called once after [`SLOW_RESPONSE_AFTER`].
    pub(super) async fn call(
        &mut self,
        method: Method,
        path: &'static str,
        body: Bytes,
        slow: impl FnOnce(),
    ) -> Result<StatusCode, PostError> {
        let mut slow = Some(slow);
        loop {
            let (mut sender, fresh) = self.open().await?;
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = hyper::Uri::from_static(path);
            if let Ok(host) = self.address.parse() {
                request.headers_mut().insert(HOST, host);
            }
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.headers_mut().extend(self.introduction.iter().cloned());
            let mut answer = std::pin::pin!(sender.send_request(request));
            let answered = match tokio::time::timeout(SLOW_RESPONSE_AFTER, answer.as_mut()).await {
                Ok(answered) => answered,
                Err(_) => {
                    if let Some(slow) = slow.take() {
                        slow();
                    }
                    answer.await
                }
            };
            match answered {
                Ok(response) => {
                    let status = response.status();
                    self.process = response.headers().get(PROCESS).cloned();
                    let rest = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
                    if rest.is_ok() {
                        self.connection = Some((sender, Instant::now()));
                    }
                    return Ok(status);
                }
                // A reused connection was closed before anything was sent.
                Err(error) if error.is_canceled() && !fresh => {}
                Err(error) => return Err(PostError::Broken(error)),
            }
        }
    }

    /// A connection, and whether it is new.
    async fn open(&mut self) -> Result<(SendRequest<Full<Bytes>>, bool), PostError> {
        if let Some((mut sender, since)) = self.connection.take()
            && since.elapsed() < MAX_REUSE_IDLE
            && sender.ready().await.is_ok()
        {
            return Ok((sender, false));
        }
        let stream = connect(&self.address).await?;
        let made = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = made.map_err(PostError::Broken)?;
        self.connections.send_modify(|count| *count += 1);
        let connections = self.connections.clone();
        tokio::spawn(async move {
            let _ = connection.await;
            connections.send_modify(|count| *count -= 1);
        });
        Ok((sender, true))
    }
}

/// Connects to `address`.
pub(super) async fn connect(address: &str) -> Result<TcpStream, PostError> {
    match tokio::time::timeout(CONNECT_TIMEOUT, crate::stream::connect(address)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Err(PostError::Refused),
        Ok(Err(error)) => Err(PostError::Unreachable(error)),
        Err(_) => Err(PostError::Unreachable(io::ErrorKind::TimedOut.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A stall is no verdict: it is told to operators, once for each request.
    #[tokio::test]
    async fn who_does_not_answer_is_told_of_once() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = HttpClient::new(&listener.local_addr().unwrap().to_string());
        let told = AtomicUsize::new(0);
        let slow = || {
            told.fetch_add(1, Ordering::Relaxed);
        };
        let call = client.call(Method::POST, "/", Bytes::from_static(b"{}"), slow);
        let stalled = tokio::time::timeout(SLOW_RESPONSE_AFTER * 2, call).await;
        assert!(stalled.is_err() && told.load(Ordering::Relaxed) == 1);
    }
}
