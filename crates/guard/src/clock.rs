//! The clock of deadlines: nanoseconds, of a clock that goes on while the host sleeps.

/// What time it is.
#[cfg(all(not(test), target_os = "linux"))]
pub(crate) fn now() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// What time it is.
#[cfg(all(not(test), not(target_os = "linux")))]
pub(crate) fn now() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let (seconds, nanoseconds) = (i64::from(time.tv_sec), i64::from(time.tv_nsec));
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// What it lacks to nanoseconds since 1970.
pub(crate) fn epoch() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX).saturating_sub(now())
}

/// What time it is for tests of this crate, whose clock may be paused.
#[cfg(test)]
pub(crate) fn now() -> i64 {
    use std::sync::OnceLock;
    use std::time::Duration;

    use tokio::time::Instant;

    // A paused clock may have stood still for a while.
    const BEFORE: Duration = Duration::from_secs(3600);
    static BEGAN: OnceLock<std::time::Instant> = OnceLock::new();
    let now = std::time::Instant::now();
    let began = Instant::from_std(*BEGAN.get_or_init(|| now.checked_sub(BEFORE).unwrap_or(now)));
    i64::try_from(Instant::now().saturating_duration_since(began).as_nanos()).unwrap_or(i64::MAX)
}
