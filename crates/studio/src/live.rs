//! The events of running guards, fetched from their admin listeners and passed on to the page. Tokens stay here: the page never sees
//! one.
//!
//! A page reads one stream for all guards, since browsers allow few connections to one server. Each event says which guard it is
//! of. A page that reads slowly is waited for here, and the guard drops what it has no room for.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{ACCEPT, AUTHORIZATION, HOST};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;

/// How many events may wait for the page.
const MAX_QUEUED: usize = 64;
/// How long it takes until a guard that could not be reached is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How long a guard may take to answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// An event that is longer is not one of a guard.
const MAX_EVENT: usize = 64 << 20;
/// How much is shown of an answer that is no stream.
const MAX_REASON: usize = 200;

/// The admin listener of a running guard.
#[derive(Clone)]
pub struct GuardSource {
    /// What the page calls it.
    pub name: String,
    /// Where it listens.
    pub place: GuardPlace,
    /// What its `token` is, if it has one.
    pub token: Option<String>,
}

impl fmt::Debug for GuardSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GuardSource({})", self.name)
    }
}

/// Where an admin listener is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardPlace {
    /// Host and port.
    Tcp(String),
    /// The path of a socket.
    Unix(PathBuf),
}

/// The body of a response that is written as things happen.
#[derive(Debug)]
pub(crate) struct EventBody(mpsc::Receiver<Bytes>);

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// What the page wants to follow: all guards, or the sessions that `query` names (`session=GUARD:ID&…`). `None`: there is no such.
pub(crate) fn stream(guards: &Arc<Vec<GuardSource>>, path: &str, query: Option<&str>) -> Option<EventBody> {
    let targets: Vec<(usize, String)> = match path {
        "/api/live" => (0..guards.len()).map(|guard| (guard, "/events".to_owned())).collect(),
        "/api/follow" => query.unwrap_or_default().split('&').map(target).collect::<Option<_>>()?,
        _ => return None,
    };
    let (sender, receiver) = mpsc::channel(MAX_QUEUED);
    let is_overview = path == "/api/live";
    for (guard, path) in targets {
        let source = guards.get(guard)?.clone();
        let link = Link { guard, source, path, sender: sender.clone() };
        tokio::spawn(link.run(is_overview));
    }
    Some(EventBody(receiver))
}

/// `session=GUARD:ID` as a guard and the path of the session's events.
fn target(text: &str) -> Option<(usize, String)> {
    let (guard, id) = text.strip_prefix("session=")?.split_once(':')?;
    let is_id = !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_id.then_some((guard.parse().ok()?, format!("/sessions/{id}/events")))
}

/// The stream of one guard on its way to the page.
struct Link {
    guard: usize,
    source: GuardSource,
    path: String,
    sender: mpsc::Sender<Bytes>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Link {
    /// Passes events on until the page is gone; `again` tries again whenever the guard ends the stream.
    async fn run(self, again: bool) {
        let page_is_gone = self.sender.closed();
        let pass = async {
            loop {
                let why = match self.pass_on().await {
                    Ok(()) => "the guard has ended".to_owned(),
                    Err(why) => why,
                };
                self.emit("unreachable", &json!(why).to_string()).await;
                if !again {
                    return;
                }
                tokio::time::sleep(RETRY_AFTER).await;
            }
        };
        tokio::select! {
            () = page_is_gone => {}
            () = pass => {}
        }
    }

    async fn emit(&self, name: &str, data: &str) {
        let text = format!("event: {name}\ndata: {{\"guard\":{},\"data\":{data}}}\n\n", self.guard);
        let _ = self.sender.send(text.into()).await;
    }

    async fn pass_on(&self) -> Result<(), String> {
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, self.request());
        let mut body = connecting.await.map_err(|_| "it does not answer".to_owned())??;
        let mut unread = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| error.to_string())?;
            if let Ok(data) = frame.into_data() {
                unread.extend_from_slice(&data);
            }
            while let Some(end) = unread.windows(2).position(|two| two == b"\n\n") {
                let event = unread.split_to(end + 2);
                if let Some((name, data)) = parse(&event) {
                    self.emit(name, data).await;
                }
            }
            if unread.len() > MAX_EVENT {
                return Err("an event is too long".to_owned());
            }
        }
        Ok(())
    }

    async fn request(&self) -> Result<Incoming, String> {
        let failed = |error: io::Error| error.to_string();
        let (stream, host): (Box<dyn Stream>, &str) = match &self.source.place {
            GuardPlace::Tcp(address) => {
                (Box::new(TcpStream::connect(address).await.map_err(failed)?), address)
            }
            GuardPlace::Unix(path) => {
                (Box::new(UnixStream::connect(path).await.map_err(failed)?), "localhost")
            }
        };
        let (mut requests, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        tokio::spawn(connection);
        let mut request =
            hyper::Request::get(&self.path).header(HOST, host).header(ACCEPT, "text/event-stream");
        if let Some(token) = &self.source.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|error| error.to_string())?;
        let response = requests.send_request(request).await.map_err(|error| error.to_string())?;
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            return Ok(body);
        }
        let text = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let text: String = String::from_utf8_lossy(&text).trim().chars().take(MAX_REASON).collect();
        Err(format!("it answers {}: {text}", head.status.as_u16()))
    }
}

/// The name and the data of an event, which is JSON of one line. `None`: a comment, to say that all is well.
fn parse(event: &[u8]) -> Option<(&str, &str)> {
    let text = std::str::from_utf8(event).ok()?;
    let (name, data) = text.strip_prefix("event: ")?.split_once("\ndata: ")?;
    let data = data.strip_suffix("\n\n")?;
    (!name.contains('\n') && !data.contains('\n')).then_some((name, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_a_name_and_a_line_of_data() {
        assert_eq!(parse(b"event: hello\ndata: {\"a\":1}\n\n"), Some(("hello", "{\"a\":1}")));
        assert_eq!(parse(b":\n\n"), None);
        assert_eq!(parse(b"event: a\ndata: 1\ndata: 2\n\n"), None, "no guard writes this");
    }

    #[test]
    fn only_sessions_are_asked_for() {
        assert_eq!(target("session=1:0af"), Some((1, "/sessions/0af/events".to_owned())));
        for wrong in ["session=0:", "session=0:../drain", "session=x:1", "session=0:a%2f", "other=0:1"] {
            assert_eq!(target(wrong), None, "{wrong}");
        }
    }
}
