//! What a configuration is told that is not wrong in itself: old names, limits of the system, folders.

use std::path::Path;

use super::Plans;
use crate::config::{Config, Problem};

/// Descriptors for everything but connections: listening sockets, the journal, other monitors.
const RESERVED_DESCRIPTORS: usize = 256;

impl Plans {
    /// What is not wrong, but should be changed or known.
    #[must_use]
    pub fn warnings(&self) -> Vec<Problem> {
        self.config.warnings.clone()
    }
}

/// Fits the limits of connections to the descriptors that this process may have, two for each connection. Where the operator has set
/// no limit it is lowered, so that what is too much is refused and not left waiting; where one is set that cannot be kept, that
/// is warned of.
pub(super) fn fit_connections(config: &mut Config, text: &str) {
    let Some(limit) = crate::descriptors::limit() else { return };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let room = (limit - RESERVED_DESCRIPTORS.min(limit / 4)) / 2;
    let written: Option<toml::Table> = toml::from_str(text).ok();
    let listeners = written.as_ref().and_then(|written| written.get("listener"));
    let (mut asked, mut first) = (0_usize, None);
    for (index, listener) in config.listeners.iter_mut().enumerate() {
        let limits = listeners.and_then(|listeners| listeners.get(index)?.get("limits"));
        let span = listener.span();
        let connections = &mut listener.get_mut().limits.connections;
        if limits.is_some_and(|limits| limits.get("connections").is_some()) {
            asked = asked.saturating_add(*connections);
            first.get_or_insert(span);
        } else {
            *connections = room.clamp(1, *connections);
        }
    }
    if asked.saturating_mul(2) > limit {
        let message = format!(
            "{asked} connections are allowed, which need two descriptors each, but this process may have {limit} \
             (RLIMIT_NOFILE)"
        );
        let problem = Problem::new(message, first.unwrap_or(0..0));
        let help = "raise it (`ulimit -n`, `LimitNOFILE=`), or lower `limits.connections`";
        config.warnings.push(problem.with_help(help));
    }
}

/// Why no journal can be kept in `folder`, if none can.
pub(super) fn unwritable(folder: &Path) -> Option<String> {
    // It is made if it does not exist.
    let exists = folder.ancestors().find(|path| path.exists())?;
    let shown = folder.display();
    if !exists.is_dir() {
        return Some(format!("`{shown}` cannot be a folder: `{}` is a file", exists.display()));
    }
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    let refused = rustix::fs::access(exists, access).err()?;
    Some(format!("the journal cannot be written in `{shown}`: {}", std::io::Error::from(refused)))
}
