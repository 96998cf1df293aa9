//! The outbound queue of one address, and which responses from other addresses it has to wait for.
//!
//! Referee's monitors buffer what arrives early. RelaMon's report it as a violation, so a request to one of those is answered
//! before any later request is sent to anybody: causes arrive before their effects.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::{mpsc, watch};

use super::http_client::{HttpClient, PostError, connect};

/// RelaMon's monitors inform several others at once. A consequence of that is sent to another of them only after this long,
/// so that the first one's request arrives before.
const DEPENDENCY_DELAY: Duration = Duration::from_millis(20);

/// The outbound queue of one address.
pub(super) struct Outbound {
    pub(super) address: String,
    bodies: mpsc::UnboundedSender<PendingRequest>,
    connections: watch::Receiver<usize>,
    /// Whether it is a monitor of RelaMon's own.
    foreign: AtomicBool,
    /// Requests so far, and responses to them.
    enqueued: AtomicU64,
    answered: watch::Sender<u64>,
}

/// A queued request body, and what it has to wait for.
pub(super) struct PendingRequest {
    body: Bytes,
    /// Other queues, and how many responses they must have had.
    after: Vec<(watch::Receiver<u64>, u64)>,
    pause: Duration,
}

impl PendingRequest {
    /// Waits until the request may be sent.
    pub(super) async fn when_due(self) -> Bytes {
        for (mut answered, number) in self.after {
            // A queue that is gone has nothing to wait for.
            let _ = answered.wait_for(|answered| *answered >= number).await;
        }
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        self.body
    }
}

impl Outbound {
    pub(super) fn new(client: &HttpClient, address: &str) -> (Self, mpsc::UnboundedReceiver<PendingRequest>) {
        let (bodies, requests) = mpsc::unbounded_channel();
        let outbound = Self {
            address: address.to_owned(),
            bodies,
            connections: client.connections(),
            foreign: AtomicBool::new(false),
            enqueued: AtomicU64::new(0),
            answered: watch::Sender::new(0),
        };
        (outbound, requests)
    }

    /// The address is of a monitor of RelaMon's own.
    pub(super) fn mark_foreign(&self) {
        self.foreign.store(true, Ordering::Relaxed);
    }

    /// Queues `body` behind what was queued for foreign monitors among `others`.
    pub(super) fn enqueue<'l>(
        &self,
        body: Bytes,
        is_dependency: bool,
        others: impl Iterator<Item = &'l Self>,
    ) {
        self.enqueued.fetch_add(1, Ordering::Relaxed);
        let foreign: Vec<&Self> = others
            .filter(|outbound| outbound.foreign.load(Ordering::Relaxed) && !std::ptr::eq(*outbound, self))
            .collect();
        let hears_it_elsewhere = is_dependency && self.foreign.load(Ordering::Relaxed) && !foreign.is_empty();
        let after = foreign
            .iter()
            .map(|outbound| (outbound.answered.subscribe(), outbound.enqueued.load(Ordering::Relaxed)))
            .filter(|(answered, enqueued)| *answered.borrow() < *enqueued)
            .collect();
        let pause = if hears_it_elsewhere { DEPENDENCY_DELAY } else { Duration::ZERO };
        let _ = self.bodies.send(PendingRequest { body, after, pause });
    }

    /// The next response arrived.
    pub(super) fn answered(&self) {
        self.answered.send_modify(|count| *count += 1);
    }

    pub(super) fn is_connected(&self) -> bool {
        *self.connections.borrow() > 0
    }

    /// Waits until the last connection is closed.
    pub(super) async fn disconnected(&self) {
        let _ = self.connections.clone().wait_for(|count| *count == 0).await;
    }

    /// Whether the address refuses connections.
    pub(super) async fn is_gone(&self) -> bool {
        !self.is_connected() && matches!(connect(&self.address).await, Err(PostError::Refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Queue = mpsc::UnboundedReceiver<PendingRequest>;

    fn outbounds<const N: usize>(foreign: [bool; N]) -> [(Outbound, Queue); N] {
        foreign.map(|foreign| {
            let (outbound, queue) = Outbound::new(&HttpClient::new("here:1"), "here:1");
            if foreign {
                outbound.mark_foreign();
            }
            (outbound, queue)
        })
    }

    /// How long the next body of `queue` waits at most, if its turn comes at all.
    async fn waits(queue: &mut Queue, meanwhile: impl FnOnce()) -> Option<Duration> {
        let began = tokio::time::Instant::now();
        let mut when_due = tokio::spawn(queue.try_recv().ok()?.when_due());
        let hour = Duration::from_secs(3600);
        if tokio::time::timeout(hour, &mut when_due).await.is_ok() {
            return Some(began.elapsed());
        }
        meanwhile();
        tokio::time::timeout(hour, when_due).await.is_ok().then_some(hour)
    }

    #[tokio::test(start_paused = true)]
    async fn what_goes_to_a_foreign_monitor_is_there_before_anything_later() {
        let [(foreign, first), (own, second)] = &mut outbounds([true, false]);
        let hour = Some(Duration::from_secs(3600));
        for _ in 0..2 {
            foreign.enqueue(Bytes::new(), true, [&*foreign, own].into_iter());
            own.enqueue(Bytes::new(), false, [&*foreign, own].into_iter());
            assert_eq!(waits(first, || ()).await, Some(Duration::ZERO));
            assert_eq!(waits(second, || foreign.answered()).await, hour);
        }
        // Nobody waits for Referee's monitors.
        own.enqueue(Bytes::new(), false, [&*foreign, own].into_iter());
        foreign.enqueue(Bytes::new(), false, [&*foreign, own].into_iter());
        assert_eq!(waits(second, || ()).await, Some(Duration::ZERO));
        assert_eq!(waits(first, || ()).await, Some(Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn who_hears_the_same_from_another_foreign_monitor_hears_it_from_that_first() {
        let [(one, _), (other, queue)] = &mut outbounds([true, true]);
        for (is_dependency, pause) in [(true, DEPENDENCY_DELAY), (false, Duration::ZERO)] {
            other.enqueue(Bytes::new(), is_dependency, [&*one, other].into_iter());
            let waited = waits(queue, || ()).await;
            assert!(
                waited.is_some_and(|waited| waited >= pause && waited < pause + DEPENDENCY_DELAY / 2),
                "{waited:?}"
            );
        }
    }
}
