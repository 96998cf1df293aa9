//! Since when the sessions of this thread have been at work: whether the process was stopped, or the thread too busy to read.
//!
//! What a session reads may have been in its socket for long if the thread did not get to it. Only a thread that does something all the time knows
//! that it was not stopped, so while there are sessions who ask, a task ticks. When it has ticked three times since something arrived, the sockets were
//! looked at in between, and the task of the session has run: tasks run in the order in which they were woken.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::sleep;

use crate::clock;

/// How often the thread looks at the clock.
const TICK: Duration = Duration::from_millis(20);

thread_local! {
    /// The last ticks, the oldest first.
    static TICKS: Cell<[i64; 3]> = const { Cell::new([i64::MIN; 3]) };
    /// How many sessions ask.
    static SESSIONS: Cell<usize> = const { Cell::new(0) };
    /// Whether the task runs.
    static IS_TICKING: Cell<bool> = const { Cell::new(false) };
}

/// A session that asks since when this thread is at work. While there are any, it keeps count.
pub(crate) struct Pulse(());

impl Pulse {
    /// To be called within a runtime.
    pub(crate) fn start() -> Self {
        SESSIONS.set(SESSIONS.get() + 1);
        if !IS_TICKING.replace(true) {
            TICKS.set([i64::MIN; 3]);
            tokio::spawn(tick(Ticking));
        }
        Self(())
    }

    /// What had arrived before this was read, wherever it could be.
    pub(super) fn since() -> i64 {
        TICKS.get()[0]
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        SESSIONS.set(SESSIONS.get().saturating_sub(1));
    }
}

/// The task that ticks; it may end with its runtime.
struct Ticking;

impl Drop for Ticking {
    fn drop(&mut self) {
        IS_TICKING.set(false);
    }
}

async fn tick(_ticking: Ticking) {
    while SESSIONS.get() > 0 {
        let [_, second, third] = TICKS.get();
        TICKS.set([second, third, clock::now()]);
        sleep(TICK).await;
    }
}
