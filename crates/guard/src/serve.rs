//! A guard as a service: signals, changed files, the admin listener, takeover, draining.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::admin::AdminListener;
use crate::guard::Guard;
use crate::plan::{Plans, Refusal};
use crate::takeover;

/// How a service ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Every session had come to its end.
    Drained,
    /// Sessions were still under way at the deadline.
    Cut(usize),
}

/// What a service needs from outside.
pub struct Service<'a> {
    /// The configuration's file.
    pub path: &'a Path,
    /// The value of an environment variable.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// With standard input and output as the client's side, and this program as the server: see [`stdio`](crate::stdio).
    pub stdio: Option<&'a [String]>,
    /// Called with what there is to say once it listens.
    pub started: &'a dyn Fn(&[String]),
}

impl Service<'_> {
    /// Reads the configuration.
    ///
    /// # Errors
    /// The file cannot be read, or (inside) what is wrong with it, with its text.
    pub fn read(&self) -> io::Result<Result<Plans, (String, Refusal)>> {
        let text = std::fs::read_to_string(self.path)?;
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let plans = match self.stdio {
            None => Plans::read(&text, folder, self.environment),
            Some(command) => Plans::read_stdio(&text, folder, self.environment, command),
        };
        Ok(plans.map_err(|refusal| (text, refusal)))
    }

    /// Guards until a signal ends it.
    ///
    /// # Errors
    /// It cannot listen, or its threads, journal or admin listener cannot be started.
    pub fn run(&self, plans: &Plans) -> io::Result<Ended> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ended = runtime.block_on(self.serve(plans));
        // A thread may still wait for somebody to take over.
        runtime.shutdown_background();
        ended
    }

    async fn serve(&self, plans: &Plans) -> io::Result<Ended> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let inherited = match &plans.config.takeover {
            Some(path) => takeover::ask(path)?,
            None => Vec::new(),
        };
        let took_over = !inherited.is_empty();
        let guard = Arc::new(Guard::start(plans, inherited)?);
        let stop = Arc::new(Notify::new());
        let mut words: Vec<String> = plans.in_words();
        for (name, address) in guard.addresses() {
            words.push(format!("{name} listens on {address}"));
        }
        if took_over {
            words.push("took over from another guard".to_owned());
        }
        if let Some(admin) = &plans.config.admin {
            let admin = AdminListener::bind(admin)?;
            words.push(format!("admin on {}", admin.address()));
            let stop = Arc::clone(&stop);
            tokio::spawn(admin.serve(Arc::clone(&guard), move || stop.notify_one()));
        }
        if let Some(path) = plans.config.takeover.clone() {
            let (guard, stop) = (Arc::clone(&guard), Arc::clone(&stop));
            tokio::task::spawn_blocking(move || match takeover::offer(&path, &guard) {
                Ok(()) => {
                    tracing::info!("another guard takes over");
                    stop.notify_one();
                }
                Err(error) => tracing::error!(%error, "nobody can take over from this guard"),
            });
        }
        (self.started)(&words);
        let mut files = Files::new(self.path, plans);
        let period = plans.config.watch_files.0.unwrap_or(Duration::MAX);
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                () = stop.notified() => break,
                _ = hangup.recv() => self.reload(&guard, &mut files),
                () = tokio::time::sleep(period) => {
                    if files.have_changed() {
                        self.reload(&guard, &mut files);
                    }
                }
            }
        }
        guard.drain();
        let open = guard.open_sessions();
        let deadline = Instant::now().checked_add(plans.config.drain.0.unwrap_or(Duration::MAX));
        tracing::info!(sessions = open, deadline = %plans.config.drain, "draining");
        while guard.open_sessions() > 0 && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
                // Asked twice: at once.
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
            }
        }
        let left = guard.open_sessions();
        // The admin listener's tasks end with the runtime; the threads are ended here.
        guard.halt();
        Ok(if left == 0 { Ended::Drained } else { Ended::Cut(left) })
    }

    fn reload(&self, guard: &Guard, files: &mut Files) {
        // First the look: what changes while it is read is seen the next time.
        files.look();
        match self.read() {
            Err(error) => {
                guard.note_reload(false);
                tracing::error!(%error, "the configuration cannot be read; the old one goes on");
            }
            Ok(Err((_, refusal))) => {
                guard.note_reload(false);
                tracing::error!(
                    problem = refusal.summary(),
                    "the configuration is wrong; the old one goes on"
                );
            }
            Ok(Ok(plans)) => match guard.reload(&plans) {
                Ok(()) => {
                    for warning in plans.warnings() {
                        tracing::warn!("{}", warning.message);
                    }
                    *files = Files::new(self.path, &plans);
                    tracing::info!(listeners = plans.plans.len(), "reloaded");
                }
                Err(error) => tracing::error!(%error, "the old configuration goes on"),
            },
        }
    }
}

/// The files of a configuration, as they were when last looked at.
struct Files(Vec<(PathBuf, Option<(SystemTime, u64)>)>);

impl Files {
    fn new(path: &Path, plans: &Plans) -> Self {
        let mut files =
            Self(plans.files.iter().cloned().chain([path.to_owned()]).map(|p| (p, None)).collect());
        files.look();
        files
    }

    fn state(path: &Path) -> Option<(SystemTime, u64)> {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    }

    fn look(&mut self) {
        for (path, seen) in &mut self.0 {
            *seen = Self::state(path);
        }
    }

    fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, seen)| Self::state(path) != *seen)
    }
}
