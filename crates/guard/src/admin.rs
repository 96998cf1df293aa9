//! The operators' listener: `/livez`, `/readyz`, `/metrics`, `/sessions`, `/sessions/ID`, `/events`,
//! `/sessions/ID/events`, `/drain`, over HTTP/1.1.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;

use crate::config::Admin;
use crate::events::{self, EventBody, NoStream};
use crate::guard::Guard;
use crate::listen::{Acceptor, Listener, Place, unlistenable};

/// Operators at the same time.
const MAX_CONNECTIONS: usize = 64;
/// Sessions on a page.
const MAX_SESSIONS: usize = 1000;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A page, or a stream of events.
type Response = hyper::Response<Either<Full<Bytes>, EventBody>>;

/// The admin listener, bound.
pub(crate) struct AdminListener {
    listener: Listener,
    token: Option<String>,
}

impl AdminListener {
    pub(crate) fn bind(config: &Admin) -> io::Result<Self> {
        let place = Place::parse(&config.listen.get_ref().to_string()).map_err(io::Error::other)?;
        let listener = Listener::bind(&place, &mut listenfd::ListenFd::empty()).map_err(|error| {
            unlistenable("the admin listener", &config.listen.get_ref().to_string(), &error)
        })?;
        Ok(Self { listener, token: config.token.clone() })
    }

    /// Where it really listens.
    pub(crate) fn address(&self) -> String {
        self.listener.address()
    }

    /// Answers until the end. `drain` is called when somebody asks for it.
    pub(crate) async fn serve(self, guard: Arc<Guard>, drain: impl Fn() + Clone + Send + Sync + 'static) {
        let Ok(acceptor) = Acceptor::new(self.listener) else { return };
        let token: Option<Arc<str>> = self.token.map(Into::into);
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(accepted) = acceptor.accept().await else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (Ok((socket, _)), Ok(permit)) = (accepted.open(), Arc::clone(&room).try_acquire_owned())
            else {
                continue;
            };
            let (guard, token, drain) = (Arc::clone(&guard), token.clone(), drain.clone());
            tokio::spawn(async move {
                let is_stream = AtomicBool::new(false);
                let service = service_fn(|request: Request<Incoming>| {
                    let response = answer(&guard, token.as_deref(), &request, &drain);
                    is_stream.fetch_or(matches!(response.body(), Either::Right(_)), Ordering::Relaxed);
                    async { Ok::<_, Infallible>(response) }
                });
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(REQUEST_TIMEOUT)
                    .serve_connection(TokioIo::new(socket), service);
                let mut connection = pin!(connection);
                let in_time = tokio::time::timeout(REQUEST_TIMEOUT * 6, connection.as_mut()).await;
                // A stream goes on for as long as somebody reads it.
                if in_time.is_err() && is_stream.load(Ordering::Relaxed) {
                    let _ = connection.await;
                }
                drop(permit);
            });
        }
    }
}

fn answer(
    guard: &Arc<Guard>,
    token: Option<&str>,
    request: &Request<Incoming>,
    drain: &impl Fn(),
) -> Response {
    let path = request.uri().path();
    // Whoever restarts the guard when it is not alive needs no secret for that.
    if !matches!(path, "/livez" | "/readyz") && !is_authorised(token, request) {
        return text(StatusCode::UNAUTHORIZED, "a bearer token is needed\n");
    }
    match (request.method(), path) {
        (&Method::GET, "/livez") => text(StatusCode::OK, "alive\n"),
        (&Method::GET, "/readyz") if guard.is_ready() => text(StatusCode::OK, "ready\n"),
        (&Method::GET, "/readyz") => {
            let why = if guard.is_draining() { "draining\n" } else { "the journal cannot be written\n" };
            text(StatusCode::SERVICE_UNAVAILABLE, why)
        }
        (&Method::GET, "/metrics") => page(
            StatusCode::OK,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            guard.metrics(),
        ),
        (&Method::GET, "/sessions") => {
            page(StatusCode::OK, "application/json", guard.sessions(MAX_SESSIONS).to_string())
        }
        (&Method::GET, "/events") => stream(events::overview(Arc::clone(guard))),
        (&Method::GET, path) if path.starts_with("/sessions/") && path.ends_with("/events") => {
            let id = path.strip_prefix("/sessions/").and_then(|rest| rest.strip_suffix("/events"));
            stream(events::session(Arc::clone(guard), id.unwrap_or_default()))
        }
        (&Method::GET, path) if path.starts_with("/sessions/") => {
            match path.strip_prefix("/sessions/").and_then(|id| guard.session(id)) {
                Some(session) => page(StatusCode::OK, "application/json", session.to_string()),
                None => text(StatusCode::NOT_FOUND, "no such session is under way\n"),
            }
        }
        (&Method::POST, "/drain") => {
            drain();
            text(StatusCode::ACCEPTED, "draining\n")
        }
        (_, "/livez" | "/readyz" | "/metrics" | "/sessions" | "/events" | "/drain") => {
            text(StatusCode::METHOD_NOT_ALLOWED, "GET, and POST for /drain\n")
        }
        _ => text(
            StatusCode::NOT_FOUND,
            "/livez /readyz /metrics /sessions /sessions/ID /events /sessions/ID/events /drain\n",
        ),
    }
}

fn is_authorised(token: Option<&str>, request: &Request<Incoming>) -> bool {
    let Some(token) = token else { return true };
    let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let given = given.and_then(|given| given.strip_prefix(b"Bearer ")).unwrap_or_default();
    // The time this takes tells nothing but the length.
    given.len() == token.len() && given.iter().zip(token.as_bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

fn text(status: StatusCode, body: &'static str) -> Response {
    page(status, "text/plain; charset=utf-8", body.to_owned())
}

fn page(status: StatusCode, kind: &'static str, body: String) -> Response {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn stream(body: Result<EventBody, NoStream>) -> Response {
    let body = match body {
        Ok(body) => body,
        Err(NoStream::TooMany) => {
            return text(StatusCode::SERVICE_UNAVAILABLE, "too many are looking at this guard\n");
        }
        Err(NoStream::NoSession) => return text(StatusCode::NOT_FOUND, "no such session is under way\n"),
    };
    let mut response = Response::new(Either::Right(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
