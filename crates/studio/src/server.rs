//! The page behind HTTP, on loopback, for the one person who was given its address.
//!
//! The address that is printed has a token that is good for one visit: it is exchanged for a cookie. Requests must name this
//! server as `Host`, come from this page (`Origin`), and bring the cookie; a page of another site can do neither.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::net::TcpListener;

use crate::api::{self, Backend};
use crate::live::{self, EventBody, GuardSource};

/// A page, or a stream of events.
type Response = hyper::Response<Either<Full<Bytes>, EventBody>>;

/// The most bytes of a request's body: a protocol and its name.
const MAX_BODY: usize = 64 << 20;

/// A connection that has not sent a whole request after so long is closed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// What the page may load: itself, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Why the page cannot be served.
#[derive(Debug)]
#[non_exhaustive]
pub enum StudioError {
    /// The address is not one of this machine alone.
    NotLoopback(SocketAddr),
    /// There is no listening there.
    Listen(SocketAddr, io::Error),
    /// There are no random numbers.
    NoRandom,
}

impl fmt::Display for StudioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoopback(address) => {
                write!(
                    f,
                    "`{address}` can be reached by others; the studio listens on loopback only: 127.0.0.1:PORT"
                )
            }
            Self::Listen(address, error) => write!(f, "cannot listen on `{address}`: {error}"),
            Self::NoRandom => f.write_str("the system gives no random numbers, so that there is no token"),
        }
    }
}

impl std::error::Error for StudioError {}

/// A page that is ready to be served.
pub struct Studio {
    listener: TcpListener,
    gate: Arc<Gate>,
    backend: Arc<dyn Backend>,
    guards: Arc<Vec<GuardSource>>,
}

impl fmt::Debug for Studio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Studio({})", self.gate.address)
    }
}

/// Who may ask.
struct Gate {
    address: SocketAddr,
    /// Good for one visit.
    token: Mutex<Option<String>>,
    cookie: String,
}

impl Studio {
    /// Listens on `address`, on loopback; by default a port that is free.
    ///
    /// # Errors
    /// Others could reach the address, or it is taken.
    pub async fn bind(
        address: Option<SocketAddr>,
        backend: Arc<dyn Backend>,
        guards: Vec<GuardSource>,
    ) -> Result<Self, StudioError> {
        let address = address.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        if !address.ip().is_loopback() {
            return Err(StudioError::NotLoopback(address));
        }
        let failed = |error| StudioError::Listen(address, error);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let gate = Gate { address, token: Mutex::new(Some(secret()?)), cookie: secret()? };
        Ok(Self { listener, gate: Arc::new(gate), backend, guards: Arc::new(guards) })
    }

    /// The address to visit, once.
    #[must_use]
    pub fn url(&self) -> String {
        let token = self.gate.token.lock().unwrap_or_else(PoisonError::into_inner);
        format!("http://{}/?token={}", self.gate.address, token.as_deref().unwrap_or_default())
    }

    /// Serves until `shutdown` is done.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) {
        tokio::pin!(shutdown);
        loop {
            let stream = tokio::select! {
                () = &mut shutdown => return,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // Too many open files, perhaps: others may be closed by and by.
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
            };
            let (gate, backend) = (Arc::clone(&self.gate), Arc::clone(&self.backend));
            let guards = Arc::clone(&self.guards);
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    respond(request, Arc::clone(&gate), Arc::clone(&backend), Arc::clone(&guards))
                });
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                let _ = connection.await;
            });
        }
    }
}

/// Thirty-two characters that nobody can guess.
fn secret() -> Result<String, StudioError> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| StudioError::NoRandom)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares without telling by the time it takes how much is right.
fn is_same(left: &str, right: &str) -> bool {
    left.len() == right.len() && left.bytes().zip(right.bytes()).fold(0, |all, (l, r)| all | (l ^ r)) == 0
}

impl Gate {
    /// Whether `Host`, `Origin` and the address itself are this server: each that is there, and `Host` once.
    fn is_own(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let port = self.address.port();
        let own = [self.address.to_string(), format!("localhost:{port}")];
        let is_own = |host: &str| own.iter().any(|own| own == host);
        let mut hosts = headers.get_all(header::HOST).iter();
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let is_host = |value: &HeaderValue| value.to_str().is_ok_and(is_own);
        let is_origin = |value: &HeaderValue| {
            value.to_str().ok().and_then(|origin| origin.strip_prefix("http://")).is_some_and(is_own)
        };
        hosts.next().is_some_and(is_host)
            && hosts.next().is_none()
            && origins.all(is_origin)
            && uri.authority().is_none_or(|authority| is_own(authority.as_str()))
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let name = self.cookie_name();
        cookies.flat_map(|all| all.split(';')).any(|cookie| {
            cookie
                .trim()
                .split_once('=')
                .is_some_and(|(key, value)| key == name && is_same(value, &self.cookie))
        })
    }

    /// Cookies do not know ports: studios beside each other have different ones.
    fn cookie_name(&self) -> String {
        format!("referee-{}", self.address.port())
    }

    /// Takes the token, if it is the right one: it is good once.
    fn takes(&self, query: Option<&str>) -> bool {
        let given = query.and_then(|query| query.strip_prefix("token=")).unwrap_or_default();
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let is_right = token.as_deref().is_some_and(|token| is_same(token, given));
        if is_right {
            *token = None;
        }
        is_right
    }
}

async fn respond(
    request: Request<Incoming>,
    gate: Arc<Gate>,
    backend: Arc<dyn Backend>,
    guards: Arc<Vec<GuardSource>>,
) -> Result<Response, Infallible> {
    let (parts, body) = request.into_parts();
    if !gate.is_own(&parts.uri, &parts.headers) {
        return Ok(plain(StatusCode::FORBIDDEN, "This page answers to its own address only."));
    }
    let is_visit = parts.method == Method::GET && parts.uri.path() == "/" && parts.uri.query().is_some();
    if is_visit && gate.takes(parts.uri.query()) {
        let mut response = plain(StatusCode::SEE_OTHER, "");
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", gate.cookie_name(), gate.cookie);
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
        return Ok(response);
    }
    if !gate.has_cookie(&parts.headers) {
        let why =
            "This address is good for one visit, in one browser. Start `referee studio` again for another.";
        return Ok(plain(StatusCode::FORBIDDEN, why));
    }
    let is_post = match parts.method {
        Method::GET => false,
        Method::POST => true,
        _ => return Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "")),
    };
    if !is_post && let Some(events) = live::stream(&guards, parts.uri.path(), parts.uri.query()) {
        return Ok(response(StatusCode::OK, "text/event-stream", Either::Right(events)));
    }
    let collected = tokio::time::timeout(REQUEST_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await;
    let Ok(Ok(body)) = collected else {
        return Ok(plain(StatusCode::BAD_REQUEST, "The request is not whole."));
    };
    let (path, body) = (parts.uri.path().to_owned(), body.to_bytes());
    // A check takes its time: it must not keep the page from being served.
    let answer = tokio::task::spawn_blocking(move || {
        api::answer(&api::Request { is_post, path: &path, body: &body }, &*backend)
    });
    let Ok(answer) = answer.await else {
        return Ok(plain(StatusCode::INTERNAL_SERVER_ERROR, "This went wrong, and should not."));
    };
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Ok(response(status, answer.content_type, Either::Left(Full::new(answer.body.into()))))
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    let body = Full::new(Bytes::from_static(text.as_bytes()));
    response(status, "text/plain; charset=utf-8", Either::Left(body))
}

fn response(
    status: StatusCode,
    content_type: &'static str,
    body: Either<Full<Bytes>, EventBody>,
) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

/// Serves `backend` and what `guards` do on `address` until Ctrl-C; `started` is told the address to visit.
///
/// # Errors
/// Others could reach the address, or it is taken.
pub fn run(
    address: Option<SocketAddr>,
    backend: Arc<dyn Backend>,
    guards: Vec<GuardSource>,
    started: impl FnOnce(&str),
) -> Result<(), StudioError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| StudioError::Listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), error))?;
    runtime.block_on(async {
        let studio = Studio::bind(address, backend, guards).await?;
        started(&studio.url());
        studio
            .serve(async {
                let _ = tokio::signal::ctrl_c().await;
            })
            .await;
        Ok(())
    })
}
