//! What is taken: the HTTP side that the component and the other monitors post to.

use std::convert::Infallible;
use std::io;
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

use super::courier::{PROCESS, ROLE};
use super::envelope::Envelope;
use super::serve::Shared;
use super::violation;

/// Longer bodies are refused, as RelaMon does.
const LONGEST_BODY: usize = 100 << 10;
/// Connections at the same time.
const CONNECTIONS: usize = 256;
/// How long a connection may say nothing. Whoever holds connections and says nothing keeps nobody out for longer.
const IDLE: Duration = Duration::from_secs(30);
/// How long a request's head, and then its body, may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Listens at `place`; where the machine has no IPv6, at its IPv4 addresses.
pub(super) async fn bind(place: &str) -> io::Result<TcpListener> {
    let bound = match TcpListener::bind(place).await {
        Err(error) if error.kind() != io::ErrorKind::AddrInUse && place.starts_with("[::]:") => {
            TcpListener::bind(place.replace("[::]", "0.0.0.0")).await
        }
        other => other,
    };
    bound.map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {place}: {error}")))
}

/// Answers until the end.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // How many requests are being answered, and how many there were.
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

/// Serves `connection` until it ends or says nothing for too long. `seen` counts its requests, `open` those that are
/// being answered: one that waits for room is not idle.
async fn until_idle(mut connection: impl Future + Unpin, seen: &AtomicUsize, open: &AtomicUsize) {
    loop {
        let before = seen.load(Ordering::Relaxed);
        let ended = tokio::time::timeout(IDLE, &mut connection).await.is_ok();
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
                    shared.stray(format!("no JSON object with `sender`, `receiver` and `payload`: {why}"));
                    status(StatusCode::BAD_REQUEST)
                }
            },
            Err(status_code) => {
                if status_code == StatusCode::PAYLOAD_TOO_LARGE {
                    shared.stray(format!("more than {} kB at once", LONGEST_BODY >> 10));
                }
                status(status_code)
            }
        },
        (&Method::POST, "/api/violation") => match read(body).await {
            Ok(body) => {
                shared.told(|role, vocabulary| violation::from_json(&body, role, vocabulary));
                status(StatusCode::OK)
            }
            Err(status_code) => status(status_code),
        },
        (_, "/" | "/api/alive" | "/api/violation" | "/sessions") => status(StatusCode::METHOD_NOT_ALLOWED),
        _ => status(StatusCode::NOT_FOUND),
    }
}

async fn read(body: Incoming) -> Result<Bytes, StatusCode> {
    match tokio::time::timeout(PATIENCE, Limited::new(body, LONGEST_BODY).collect()).await {
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
        assert_eq!(lives(async |_, _| std::future::pending().await).await, IDLE);
        assert_eq!(lives(async |_, _| tokio::time::sleep(IDLE / 2).await).await, IDLE / 2);
        // A request now and then.
        let asks = async |seen: &AtomicUsize, _: &AtomicUsize| {
            for _ in 0..10 {
                tokio::time::sleep(IDLE * 2 / 3).await;
                seen.fetch_add(1, Ordering::Relaxed);
            }
            std::future::pending().await
        };
        let lived = lives(asks).await;
        assert!(lived >= IDLE * 20 / 3 && lived <= IDLE * 26 / 3, "{lived:?}");
        // A request that is answered late, because there was no room for it.
        let waits = async |seen: &AtomicUsize, open: &AtomicUsize| {
            seen.fetch_add(1, Ordering::Relaxed);
            open.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(IDLE * 10).await;
        };
        assert_eq!(lives(waits).await, IDLE * 10);
    }
}
