//! What waits to be posted to one place, and what must have been taken elsewhere before.
//!
//! Monitors of Referee's keep what comes before its turn. RelaMon's take it for a violation, so whatever goes to one of
//! those is answered before anything later goes to anybody else: nobody can react to what comes later before it is there.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::{mpsc, watch};

use super::courier::{Courier, Failure, connect};

/// RelaMon's monitors tell several others at once. What follows from what one of them told goes to another of them only
/// after this long: it is about to hear the same from the first.
const ABOUT_TO_HEAR: Duration = Duration::from_millis(20);

/// The way to one place.
pub(super) struct Line {
    pub(super) place: String,
    bodies: mpsc::UnboundedSender<Errand>,
    connections: watch::Receiver<usize>,
    /// Whether a monitor of RelaMon's is there.
    foreign: AtomicBool,
    /// How many bodies there were, and how many of them were answered.
    given: AtomicU64,
    answered: watch::Sender<u64>,
}

/// A body, and what comes before it.
pub(super) struct Errand {
    body: Bytes,
    /// How many bodies must have been answered on other lines.
    after: Vec<(watch::Receiver<u64>, u64)>,
    pause: Duration,
}

impl Errand {
    /// The body, when its turn has come.
    pub(super) async fn turn(self) -> Bytes {
        for (mut answered, number) in self.after {
            // Where nobody answers any more there is nothing to wait for.
            let _ = answered.wait_for(|answered| *answered >= number).await;
        }
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        self.body
    }
}

impl Line {
    pub(super) fn new(courier: &Courier, place: &str) -> (Self, mpsc::UnboundedReceiver<Errand>) {
        let (bodies, errands) = mpsc::unbounded_channel();
        let line = Self {
            place: place.to_owned(),
            bodies,
            connections: courier.connections(),
            foreign: AtomicBool::new(false),
            given: AtomicU64::new(0),
            answered: watch::Sender::new(0),
        };
        (line, errands)
    }

    /// A monitor of RelaMon's is there.
    pub(super) fn mark_foreign(&self) {
        self.foreign.store(true, Ordering::Relaxed);
    }

    /// Gives it `body`; before it comes what was given to other monitors of RelaMon's among `others`.
    pub(super) fn give<'l>(&self, body: Bytes, is_dependency: bool, others: impl Iterator<Item = &'l Self>) {
        self.given.fetch_add(1, Ordering::Relaxed);
        let foreign: Vec<&Self> = others
            .filter(|line| line.foreign.load(Ordering::Relaxed) && !std::ptr::eq(*line, self))
            .collect();
        let hears_it_elsewhere = is_dependency && self.foreign.load(Ordering::Relaxed) && !foreign.is_empty();
        let after = foreign
            .iter()
            .map(|line| (line.answered.subscribe(), line.given.load(Ordering::Relaxed)))
            .filter(|(answered, given)| *answered.borrow() < *given)
            .collect();
        let pause = if hears_it_elsewhere { ABOUT_TO_HEAR } else { Duration::ZERO };
        let _ = self.bodies.send(Errand { body, after, pause });
    }

    /// The next body was answered.
    pub(super) fn answered(&self) {
        self.answered.send_modify(|count| *count += 1);
    }

    pub(super) fn is_connected(&self) -> bool {
        *self.connections.borrow() > 0
    }

    /// When the last connection has ended.
    pub(super) async fn parted(&self) {
        let _ = self.connections.clone().wait_for(|count| *count == 0).await;
    }

    /// Whether nobody listens there any more.
    pub(super) async fn is_gone(&self) -> bool {
        !self.is_connected() && matches!(connect(&self.place).await, Err(Failure::Refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Queue = mpsc::UnboundedReceiver<Errand>;

    fn lines<const N: usize>(foreign: [bool; N]) -> [(Line, Queue); N] {
        foreign.map(|foreign| {
            let (line, queue) = Line::new(&Courier::new("here:1"), "here:1");
            if foreign {
                line.mark_foreign();
            }
            (line, queue)
        })
    }

    /// How long the next body of `queue` waits at most, if its turn comes at all.
    async fn waits(queue: &mut Queue, meanwhile: impl FnOnce()) -> Option<Duration> {
        let began = tokio::time::Instant::now();
        let mut turn = tokio::spawn(queue.try_recv().ok()?.turn());
        let hour = Duration::from_secs(3600);
        if tokio::time::timeout(hour, &mut turn).await.is_ok() {
            return Some(began.elapsed());
        }
        meanwhile();
        tokio::time::timeout(hour, turn).await.is_ok().then_some(hour)
    }

    #[tokio::test(start_paused = true)]
    async fn what_goes_to_a_foreign_monitor_is_there_before_anything_later() {
        let [(foreign, first), (own, second)] = &mut lines([true, false]);
        let hour = Some(Duration::from_secs(3600));
        for _ in 0..2 {
            foreign.give(Bytes::new(), true, [&*foreign, own].into_iter());
            own.give(Bytes::new(), false, [&*foreign, own].into_iter());
            assert_eq!(waits(first, || ()).await, Some(Duration::ZERO));
            assert_eq!(waits(second, || foreign.answered()).await, hour);
        }
        // Nobody waits for Referee's monitors.
        own.give(Bytes::new(), false, [&*foreign, own].into_iter());
        foreign.give(Bytes::new(), false, [&*foreign, own].into_iter());
        assert_eq!(waits(second, || ()).await, Some(Duration::ZERO));
        assert_eq!(waits(first, || ()).await, Some(Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn who_hears_the_same_from_another_foreign_monitor_hears_it_from_that_first() {
        let [(one, _), (other, queue)] = &mut lines([true, true]);
        for (is_dependency, pause) in [(true, ABOUT_TO_HEAR), (false, Duration::ZERO)] {
            other.give(Bytes::new(), is_dependency, [&*one, other].into_iter());
            let waited = waits(queue, || ()).await;
            assert!(
                waited.is_some_and(|waited| waited >= pause && waited < pause + ABOUT_TO_HEAR / 2),
                "{waited:?}"
            );
        }
    }
}
