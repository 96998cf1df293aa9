//! The HTTP server that the component and the other monitors post to.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::envelope::Envelope;
use super::http_client::{PROCESS, ROLE};
use super::serve::Shared;
use super::violation;

/// Longer bodies are refused, as RelaMon does.
const MAX_BODY_BYTES: usize = 100 << 10;
/// Concurrent connections.
const MAX_CONNECTIONS: usize = 256;
/// Idle connections are closed after this long, so that they keep nobody out.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a request's body may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Listens at `addresses`. Where the machine has no IPv6, those are left out, or at its IPv4 addresses if there is no other.
pub(super) async fn bind(addresses: &[SocketAddr]) -> io::Result<Vec<TcpListener>> {
    let mut listeners = Vec::new();
    for address in addresses {
        let bound = match TcpListener::bind(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse || address.is_ipv4() => Err(error),
            Err(_) if address.ip().is_unspecified() => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
            }
            Err(_) if !listeners.is_empty() => continue,
            other => other,
        };
        let error =
            |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"));
        listeners.push(bound.map_err(error)?);
    }
    Ok(listeners)
}

/// Serves requests until the session ends.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // Requests in progress, and requests so far.
            let (open, seen) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let service = service_fn(|request| {
                let (shared, open, seen) = (Arc::clone(&shared), &open, &seen);
                async move {
                    open.fetch_add(1, Ordering::Relaxed);
                    seen.fetch_add(1, Ordering::Relaxed);
                    let answer = answer(&shared, request).await;
                    open.fetch_sub(1, Ordering::Relaxed);
                    Ok::<_, Infallible>(answer)
                }
            });
            let mut connection = std::pin::pin!(
                http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(None)
                    .serve_connection(TokioIo::new(stream), service)
            );
            until_idle(connection.as_mut(), &seen, &open).await;
            drop(permit);
        });
    }
}

/// Serves `connection` until it ends or is idle for [`IDLE_TIMEOUT`]. `seen` counts its requests, `open` those in progress: a
/// connection with a request that waits for room is not idle.
async fn until_idle(mut connection: impl Future + Unpin, seen: &AtomicUsize, open: &AtomicUsize) {
    loop {
        let before = seen.load(Ordering::Relaxed);
        let ended = tokio::time::timeout(IDLE_TIMEOUT, &mut connection).await.is_ok();
        if ended || (seen.load(Ordering::Relaxed) == before && open.load(Ordering::Relaxed) == 0) {
            return;
        }
    }
}

async fn answer(shared: &Shared, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    match (&head.method, head.uri.path()) {
        (&Method::GET, "/api/alive") => {
            let welcome = match (head.headers.get(ROLE), head.headers.get(PROCESS)) {
                (Some(role), Some(process)) => {
                    role.to_str().is_ok_and(|role| shared.is_asked_by(role, process))
                }
                _ => true,
            };
            let alive = shared.alive.load(Ordering::Relaxed);
            let mut answer = status(match (welcome, alive) {
                (false, _) => StatusCode::CONFLICT,
                (true, false) => StatusCode::BAD_REQUEST,
                (true, true) => StatusCode::OK,
            });
            answer.headers_mut().insert(PROCESS, shared.process.clone());
            answer
        }
        (&Method::GET, "/sessions") => {
            let page = serde_json::Value::Array(vec![shared.describe()]).to_string();
            Response::new(Full::new(page.into()))
        }
        (&Method::POST, "/") => match read(body).await {
            Ok(body) => match Envelope::read(body) {
                Ok(envelope) => {
                    shared.take(envelope).await;
                    status(StatusCode::OK)
                }
                Err(why) => {
                    shared.malformed_body(format!(
                        "no JSON object with `sender`, `receiver` and `payload`: {why}"
                    ));
                    status(StatusCode::BAD_REQUEST)
                }
            },
            Err(status_code) => {
                if status_code == StatusCode::PAYLOAD_TOO_LARGE {
                    shared.malformed_body(format!("more than {} kB at once", MAX_BODY_BYTES >> 10));
                }
                status(status_code)
            }
        },
        (&Method::POST, "/api/violation") => match read(body).await {
            Ok(body) => {
                shared.notice_received(|role, vocabulary| violation::from_json(&body, role, vocabulary));
                status(StatusCode::OK)
            }
            Err(status_code) => status(status_code),
        },
        (_, "/" | "/api/alive" | "/api/violation" | "/sessions") => status(StatusCode::METHOD_NOT_ALLOWED),
        _ => status(StatusCode::NOT_FOUND),
    }
}

async fn read(body: Incoming) -> Result<Bytes, StatusCode> {
    match tokio::time::timeout(REQUEST_TIMEOUT, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a connection lives that does this.
    async fn lives(does: impl AsyncFnOnce(&AtomicUsize, &AtomicUsize)) -> Duration {
        let (seen, open) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let began = tokio::time::Instant::now();
        until_idle(Box::pin(does(&seen, &open)), &seen, &open).await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_let_go_and_nobody_else() {
        assert_eq!(lives(async |_, _| std::future::pending().await).await, IDLE_TIMEOUT);
        assert_eq!(lives(async |_, _| tokio::time::sleep(IDLE_TIMEOUT / 2).await).await, IDLE_TIMEOUT / 2);
        // A request now and then.
        let asks = async |seen: &AtomicUsize, _: &AtomicUsize| {
            for _ in 0..10 {
                tokio::time::sleep(IDLE_TIMEOUT * 2 / 3).await;
                seen.fetch_add(1, Ordering::Relaxed);
            }
            std::future::pending().await
        };
        let lived = lives(asks).await;
        assert!(lived >= IDLE_TIMEOUT * 20 / 3 && lived <= IDLE_TIMEOUT * 26 / 3, "{lived:?}");
        // A request that is answered late, because there was no room for it.
        let waits = async |seen: &AtomicUsize, open: &AtomicUsize| {
            seen.fetch_add(1, Ordering::Relaxed);
            open.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(IDLE_TIMEOUT * 10).await;
        };
        assert_eq!(lives(waits).await, IDLE_TIMEOUT * 10);
    }
}
