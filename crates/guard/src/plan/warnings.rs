//! What a configuration is told that is not wrong in itself: old names, limits of the system, folders.

use std::path::Path;

use super::Plans;
use crate::config::Problem;

impl Plans {
    /// What is not wrong, but should be changed or known.
    #[must_use]
    pub fn warnings(&self) -> Vec<Problem> {
        let mut warnings = self.config.warnings.clone();
        warnings.extend(self.descriptors());
        warnings
    }

    /// Whether there are fewer descriptors than connections may need.
    fn descriptors(&self) -> Option<Problem> {
        let limit = usize::try_from(crate::descriptors::limit()?).unwrap_or(usize::MAX);
        let listeners = self.config.listeners.iter().map(toml::Spanned::get_ref);
        let connections =
            listeners.fold(0, |all: usize, listener| all.saturating_add(listener.limits.connections));
        (connections.saturating_mul(2) > limit).then(|| {
            let first = self.config.listeners.first().map_or(0..0, toml::Spanned::span);
            let message = format!(
                "{connections} connections are allowed, which need two descriptors each, but this process may have \
                 {limit} (RLIMIT_NOFILE)"
            );
            Problem::new(message, first)
                .with_help("raise it (`ulimit -n`, `LimitNOFILE=`), or lower `limits.connections`")
        })
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
