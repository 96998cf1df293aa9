//! A worker: one thread with an event loop of its own. A session stays on the thread that was given it.
//!
//! All workers wait on the same listening sockets; whoever takes a connection gives it to the worker with the
//! fewest, so that few connections are spread as evenly as many.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ahash::AHashMap;
use tokio::sync::{mpsc, watch};

use crate::connection::carry;
use crate::guard::{Listening, Shared};
use crate::listen::{Accepted, Acceptor, Listener};
use crate::live_session::LiveSession;
use crate::metrics::lock;

/// How long to wait before trying again when no connection can be taken.
const ACCEPT_RETRY: Duration = Duration::from_millis(20);

/// What a worker is asked to do.
pub(crate) enum Order {
    /// Take connections from this socket.
    Listen(Arc<Listening>, Listener),
    /// Carry this connection.
    Carry(Arc<Listening>, Accepted),
    /// Close what is left and end.
    Stop,
}

/// One thread, as its sessions see it.
#[derive(Clone)]
pub(crate) struct ThreadContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) number: usize,
    pub(crate) worker: Arc<Worker>,
}

/// One thread and its sessions.
pub(crate) struct Worker {
    /// Its connections.
    pub(crate) load: AtomicUsize,
    pub(crate) sessions: Mutex<AHashMap<u64, Arc<LiveSession>>>,
    pub(crate) orders: mpsc::UnboundedSender<Order>,
}

impl Worker {
    /// How its live sessions stand.
    pub(crate) fn describe(&self, most: usize) -> Vec<serde_json::Value> {
        // Not under the lock of the list: who describes a session waits for its thread.
        let sessions: Vec<_> = lock(&self.sessions).values().take(most).cloned().collect();
        sessions.iter().map(|session| session.describe()).collect()
    }

    /// Its live sessions: the oldest, at most `most` of them.
    pub(crate) fn oldest(&self, most: usize) -> Vec<Arc<LiveSession>> {
        let mut all: Vec<_> = lock(&self.sessions).values().cloned().collect();
        if all.len() > most {
            all.select_nth_unstable_by_key(most, |session| session.id);
            all.truncate(most);
        }
        all
    }

    /// Its live session `id`.
    pub(crate) fn session(&self, id: u64) -> Option<Arc<LiveSession>> {
        lock(&self.sessions).get(&id).cloned()
    }

    /// How its live session `id` stands.
    pub(crate) fn describe_session(&self, id: u64) -> Option<serde_json::Value> {
        self.session(id).map(|session| session.describe_fully())
    }
}

/// Does what it is ordered until it is stopped.
pub(crate) fn work(thread: &ThreadContext, mut orders: mpsc::UnboundedReceiver<Order>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        while let Some(order) = orders.recv().await {
            match order {
                Order::Carry(listening, accepted) => {
                    tokio::spawn(carry(thread.clone(), listening, accepted));
                }
                Order::Listen(listening, listener) => match Acceptor::new(listener) {
                    Ok(acceptor) => {
                        let stopped = listening.stopped.subscribe();
                        tokio::spawn(accept(thread.clone(), listening, acceptor, stopped));
                    }
                    Err(error) => {
                        tracing::error!(listener = listening.name, %error, "cannot listen");
                    }
                },
                Order::Stop => break,
            }
        }
    });
    Ok(())
}

async fn accept(
    thread: ThreadContext,
    listening: Arc<Listening>,
    acceptor: Acceptor,
    mut stopped: watch::Receiver<bool>,
) {
    loop {
        let accepted = tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => break,
            accepted = acceptor.accept() => accepted,
        };
        let accepted = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_transient(&error) => continue,
            Err(error) => {
                // Out of descriptors or memory: those who wait in the queue wait a little longer.
                if let Some(counters) = listening.counters.get(thread.number) {
                    counters.note_refused("accept-failed");
                }
                tracing::debug!(listener = listening.name, %error, "cannot take a connection");
                tokio::time::sleep(ACCEPT_RETRY).await;
                continue;
            }
        };
        let own = thread.worker.load.load(Ordering::Relaxed);
        let other = thread.shared.workers().iter().min_by_key(|other| other.load.load(Ordering::Relaxed));
        match other {
            // Not for a small difference: moving a connection costs something too.
            Some(other) if is_much_less(other.load.load(Ordering::Relaxed), own) => {
                if let Ok(accepted) = accepted.detach() {
                    let _ = other.orders.send(Order::Carry(Arc::clone(&listening), accepted));
                }
            }
            _ => {
                tokio::spawn(carry(thread.clone(), Arc::clone(&listening), accepted));
            }
        }
        // Others may take the next one.
        tokio::task::yield_now().await;
    }
}

fn is_much_less(other: usize, own: usize) -> bool {
    other + other / 4 < own
}

/// The connection was given up before it was taken.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | WouldBlock)
}
