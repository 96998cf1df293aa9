//! How many descriptors this process may have: two for each connection.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as the system allows without asking anybody: what a shell gives is for programs that open few files.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    // It stays as it is if that is not allowed, which is then said.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// How many there may be; `None` for any number.
pub(crate) fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}
