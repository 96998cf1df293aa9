//! What is posted: one connection to each component and monitor, one body after the other, so that nothing of one
//! sender overtakes anything else.

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

/// How long to try to connect.
const CONNECTING: Duration = Duration::from_secs(1);
/// After this long it is said that somebody does not answer.
const SILENCE: Duration = Duration::from_secs(1);
/// A connection that was idle for this long is not trusted: the other side may be about to close it.
const IDLE: Duration = Duration::from_secs(2);
/// Nobody has to read an answer that is longer.
const LONGEST_ANSWER: usize = 64 << 10;

/// Of which role a monitor is that asks, and which process it is that asks or answers.
pub(super) const ROLE: HeaderName = HeaderName::from_static("referee-role");
pub(super) const PROCESS: HeaderName = HeaderName::from_static("referee-process");

/// Why something could not be posted.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nobody listens there.
    Refused,
    /// It cannot be reached.
    Unreachable(io::Error),
    /// The connection broke before the answer: it may have been taken, or not.
    Broken(hyper::Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused => f.write_str("nobody listens there"),
            Self::Unreachable(error) => write!(f, "it cannot be reached: {error}"),
            Self::Broken(error) => write!(f, "the connection broke before the answer: {error}"),
        }
    }
}

/// Posts to one place.
pub(super) struct Courier {
    place: Arc<str>,
    /// What other monitors are told of this one.
    introduction: Vec<(HeaderName, HeaderValue)>,
    connection: Option<(SendRequest<Full<Bytes>>, Instant)>,
    /// How many connections there are, for others to see.
    connections: watch::Sender<usize>,
    /// Which process answered last, if it said so.
    pub(super) process: Option<HeaderValue>,
}

impl Courier {
    pub(super) fn new(place: &str) -> Self {
        Self {
            place: place.into(),
            introduction: Vec::new(),
            connection: None,
            connections: watch::Sender::new(0),
            process: None,
        }
    }

    /// One that says who asks.
    pub(super) fn introducing(mut self, role: &HeaderValue, process: &HeaderValue) -> Self {
        self.introduction = vec![(ROLE, role.clone()), (PROCESS, process.clone())];
        self
    }

    pub(super) fn connections(&self) -> watch::Receiver<usize> {
        self.connections.subscribe()
    }

    /// Asks or posts, and waits for the answer however long it takes; `slow` is called once if that is long.
    pub(super) async fn call(
        &mut self,
        method: Method,
        path: &'static str,
        body: Bytes,
        slow: impl FnOnce(),
    ) -> Result<StatusCode, Failure> {
        let mut slow = Some(slow);
        loop {
            let (mut sender, fresh) = self.open().await?;
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = method.clone();
            *request.uri_mut() = hyper::Uri::from_static(path);
            if let Ok(host) = self.place.parse() {
                request.headers_mut().insert(HOST, host);
            }
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            request.headers_mut().extend(self.introduction.iter().cloned());
            let mut answer = std::pin::pin!(sender.send_request(request));
            let answered = match tokio::time::timeout(SILENCE, answer.as_mut()).await {
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
                    let rest = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await;
                    if rest.is_ok() {
                        self.connection = Some((sender, Instant::now()));
                    }
                    return Ok(status);
                }
                // The other side had closed it: nothing was sent.
                Err(error) if error.is_canceled() && !fresh => {}
                Err(error) => return Err(Failure::Broken(error)),
            }
        }
    }

    /// A connection, and whether it is new.
    async fn open(&mut self) -> Result<(SendRequest<Full<Bytes>>, bool), Failure> {
        if let Some((mut sender, since)) = self.connection.take()
            && since.elapsed() < IDLE
            && sender.ready().await.is_ok()
        {
            return Ok((sender, false));
        }
        let stream = connect(&self.place).await?;
        let made = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = made.map_err(Failure::Broken)?;
        self.connections.send_modify(|count| *count += 1);
        let connections = self.connections.clone();
        tokio::spawn(async move {
            let _ = connection.await;
            connections.send_modify(|count| *count -= 1);
        });
        Ok((sender, true))
    }
}

/// Connects to `place`.
pub(super) async fn connect(place: &str) -> Result<TcpStream, Failure> {
    match tokio::time::timeout(CONNECTING, crate::stream::connect(place)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Err(Failure::Refused),
        Ok(Err(error)) => Err(Failure::Unreachable(error)),
        Err(_) => Err(Failure::Unreachable(io::ErrorKind::TimedOut.into())),
    }
}
