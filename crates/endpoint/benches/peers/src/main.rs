//! Sessions a second: generated endpoints, and the session types of other crates that build, on the benchmarks that those crates publish.
//!
//! `cargo xtask bench endpoints` builds this with a feature for each crate and runs it. Each line is `BENCHMARK WHO SESSIONS/S`, the best of some runs, in
//! turns.

#[cfg(feature = "dialectic")]
mod dialectic;
mod generated;
#[cfg(feature = "mpstthree")]
mod mpstthree;
#[cfg(feature = "rumpsteak")]
mod rumpsteak;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

const RUNS: usize = 7;
/// How many values are streamed in a session.
pub const VALUES: i64 = 1_000;

/// A benchmark, who takes part, how many sessions are played at once, and one of them.
type Player = (&'static str, &'static str, u32, fn());

/// Processor time where one thread plays all roles, and where Linux says it: what else the machine does counts less. The time of day elsewhere.
fn clock(benchmark: &str) -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let nanoseconds =
        || std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok();
    let one_thread = !benchmark.ends_with("threads");
    one_thread.then(nanoseconds).flatten().map_or_else(|| START.elapsed(), Duration::from_nanos)
}

fn main() {
    let mut players: Vec<Player> = generated::PLAYERS.to_vec();
    #[cfg(feature = "rumpsteak")]
    players.extend(rumpsteak::PLAYERS);
    #[cfg(feature = "mpstthree")]
    players.extend(mpstthree::PLAYERS);
    #[cfg(feature = "dialectic")]
    players.extend(dialectic::PLAYERS);
    players.sort_by_key(|(benchmark, ..)| *benchmark);
    let mut best = vec![Duration::MAX; players.len()];
    for _ in 0..RUNS {
        for ((benchmark, _, sessions, play), best) in players.iter().zip(&mut best) {
            let start = clock(benchmark);
            (0..*sessions).for_each(|_| play());
            *best = clock(benchmark).saturating_sub(start).min(*best);
        }
    }
    for ((benchmark, who, sessions, _), time) in players.iter().zip(best) {
        println!("{benchmark}\t{who}\t{:.0}", f64::from(*sessions) / time.as_secs_f64());
    }
}
