//! A running guard: its threads and listeners, from outside.

mod live;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::listen::{Listener, Place, unlistenable};
use crate::metrics::{Counters, MessageCounters, Scope, Snapshot, lock};
use crate::multiparty::Runtime;
use crate::plan::{Plan, Plans};
use crate::report_sink::{Observer, ReportSink};
use crate::session_store::{KeyedSessions, SharedByListener};
use crate::source_limits::OpenBySource;
use crate::worker::{self, Order, ThreadContext, Worker};
pub(crate) use live::{Followed, Known};

/// Listening sockets that another process has handed over, by the names of their listeners.
pub type Inherited = Vec<(String, Listener)>;

/// What all threads of a guard share.
pub(crate) struct Shared {
    workers: OnceLock<Vec<Arc<Worker>>>,
    pub(crate) sink: ReportSink,
    listeners: ArcSwap<Vec<Arc<Listening>>>,
    sessions: AtomicU64,
    draining: AtomicBool,
    reloads: [AtomicU64; 2],
}

impl Shared {
    pub(crate) fn workers(&self) -> &[Arc<Worker>] {
        self.workers.get().map_or(&[], |workers| workers)
    }

    pub(crate) fn next_session(&self) -> u64 {
        self.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// A listener at work.
pub(crate) struct Listening {
    pub(crate) name: String,
    place: Place,
    /// `None` on standard input and output.
    socket: Option<Listener>,
    pub(crate) version: ArcSwap<Version>,
    /// One for each thread.
    pub(crate) counters: Vec<Arc<Counters>>,
    pub(crate) open: AtomicUsize,
    pub(crate) sources: OpenBySource,
    versions: Mutex<Vec<Arc<MessageCounters>>>,
    pub(crate) stopped: watch::Sender<bool>,
}

/// What new sessions of a listener begin with.
pub(crate) struct Version {
    pub(crate) plan: Arc<Plan>,
    pub(crate) messages: Arc<MessageCounters>,
    /// Sessions that span connections, where messages say which they are of.
    pub(crate) sessions: Option<Arc<KeyedSessions>>,
    /// What sessions have seen that have several connections at once.
    pub(crate) shared: Option<Arc<SharedByListener>>,
}

/// Where the sessions of `plan` are kept that span connections.
fn sessions(plan: &Plan) -> Option<KeyedSessions> {
    plan.rules.spans_connections().then(|| KeyedSessions::new(plan.limits.sessions, plan.limits.idle.0))
}

/// Where what the sessions of `plan` have seen is kept, where they have several connections at once.
fn shared(plan: &Plan) -> Option<Arc<SharedByListener>> {
    plan.rules.shares_sessions().then(|| Arc::new(SharedByListener::new(plan.limits.sessions)))
}

impl Listening {
    fn new(plan: &Arc<Plan>, place: Place, socket: Option<Listener>, threads: usize) -> Arc<Self> {
        let messages = Arc::new(message_counters(plan, threads));
        let sessions = sessions(plan).map(Arc::new);
        let shared = shared(plan);
        let version = Version { plan: Arc::clone(plan), messages: Arc::clone(&messages), sessions, shared };
        Arc::new(Self {
            name: plan.name.clone(),
            place,
            socket,
            version: ArcSwap::from_pointee(version),
            counters: (0..threads).map(|_| Arc::default()).collect(),
            open: AtomicUsize::new(0),
            sources: OpenBySource::default(),
            versions: Mutex::new(vec![messages]),
            stopped: watch::Sender::new(false),
        })
    }

    /// New sessions begin with `plan`.
    fn renew(&self, plan: &Arc<Plan>) {
        let mut versions = lock(&self.versions);
        let new = message_counters(plan, self.counters.len());
        let messages = match versions.iter().find(|old| old.labels == new.labels) {
            Some(old) => Arc::clone(old),
            None => Arc::new(new),
        };
        if !versions.iter().any(|old| Arc::ptr_eq(old, &messages)) {
            versions.push(Arc::clone(&messages));
        }
        let old = self.version.load();
        let same = old.plan.protocol.monitor.fingerprint() == plan.protocol.monitor.fingerprint();
        let sessions = match (&old.sessions, sessions(plan)) {
            (Some(old), Some(_)) if same => Some(Arc::clone(old)),
            // Where these stand in the new protocol nobody knows.
            (Some(old), Some(new)) => Some(Arc::new(new.after(old))),
            (_, new) => new.map(Arc::new),
        };
        // What was seen is of the old properties: their sessions begin anew.
        let shared = shared(plan);
        self.version.store(Arc::new(Version { plan: Arc::clone(plan), messages, sessions, shared }));
    }
}

fn message_counters(plan: &Plan, threads: usize) -> MessageCounters {
    let labels = plan
        .rules
        .codec()
        .messages()
        .iter()
        .map(|known| (known.sender.index(), Arc::clone(&known.name)))
        .collect();
    MessageCounters::new(labels, threads)
}

/// A running guard. Dropped, it stops at once.
pub struct Guard {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<io::Result<()>>>>,
    /// The roles of a protocol of several parties.
    multiparty: Option<Arc<Runtime>>,
    /// Of the configuration that they follow.
    digest: u64,
    sink_thread: Mutex<Option<JoinHandle<()>>>,
}

impl Guard {
    /// Listens and guards as `plans` say. Sockets in `inherited` are used instead of new ones.
    ///
    /// # Errors
    /// A listener's address is not to be had, a thread cannot be started, or the journal cannot be opened; with
    /// what it is about.
    pub fn start(plans: &Plans, inherited: Inherited) -> io::Result<Self> {
        Self::start_observed(plans, inherited, None)
    }

    /// Like [`start`](Self::start); `observer` hears of every verdict and every end of a session, after the journal.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_observed(
        plans: &Plans,
        inherited: Inherited,
        observer: Option<Observer>,
    ) -> io::Result<Self> {
        let available = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let count = plans.config.threads.as_ref().map_or_else(available, |threads| *threads.get_ref());
        let (sink, sink_thread) = ReportSink::start(&plans.config, observer).map_err(|error| {
            let folder = plans.config.journal.as_ref().map(|journal| journal.folder.display().to_string());
            let folder = folder.unwrap_or_default();
            io::Error::new(error.kind(), format!("the journal cannot be opened in `{folder}`: {error}"))
        })?;
        let shared = Arc::new(Shared {
            workers: OnceLock::new(),
            sink,
            listeners: ArcSwap::from_pointee(Vec::new()),
            sessions: AtomicU64::new(0),
            draining: AtomicBool::new(false),
            reloads: [AtomicU64::new(0), AtomicU64::new(0)],
        });
        let mut workers = Vec::new();
        let mut receivers = Vec::new();
        for _ in 0..count {
            let (orders, receiver) = mpsc::unbounded_channel();
            let worker = Worker { load: AtomicUsize::new(0), sessions: Mutex::default(), orders };
            workers.push(Arc::new(worker));
            receivers.push(receiver);
        }
        let _ = shared.workers.set(workers.clone());
        let mut guard = Self {
            shared,
            threads: Mutex::default(),
            multiparty: None,
            digest: plans.digest,
            sink_thread: Mutex::new(Some(sink_thread)),
        };
        for (number, (worker, orders)) in workers.into_iter().zip(receivers).enumerate() {
            let context = ThreadContext { shared: Arc::clone(&guard.shared), number, worker };
            let thread = std::thread::Builder::new().name(format!("worker-{number}"));
            lock(&guard.threads).push(thread.spawn(move || worker::work(&context, orders))?);
        }
        guard.listen(plans, inherited)?;
        if let Some(plan) = &plans.multiparty {
            let (multiparty, thread) = Runtime::start(plan, guard.shared.sink.clone())?;
            lock(&guard.threads).push(thread);
            guard.multiparty = Some(multiparty);
        }
        Ok(guard)
    }

    /// Makes the listeners those of `plans`: new ones are added, others renewed, and those that are gone take no
    /// more connections. Nothing is changed if one of them cannot listen.
    fn listen(&self, plans: &Plans, mut inherited: Inherited) -> io::Result<()> {
        let old = self.shared.listeners.load_full();
        let mut passed = listenfd::ListenFd::from_env();
        let mut all = Vec::new();
        let mut fresh = Vec::new();
        for (plan, listener) in plans.plans.iter().zip(&plans.config.listeners) {
            let text = listener.get_ref().listen.get_ref();
            let place = Place::parse(text).map_err(io::Error::other)?;
            if let Some(same) = old.iter().find(|other| other.name == plan.name && other.place == place) {
                all.push((Arc::clone(same), Some(plan)));
                continue;
            }
            let handed = inherited.iter().position(|(name, _)| *name == plan.name);
            let socket = match handed.map(|at| inherited.swap_remove(at)) {
                Some((_, socket)) => Ok(Some(socket)),
                None if place == Place::Stdio => Ok(None),
                None => Listener::bind(&place, &mut passed).map(Some),
            };
            let named = |error: io::Error| unlistenable(&format!("`{}`", plan.name), text, &error);
            let listening = Listening::new(plan, place, socket.map_err(named)?, self.shared.workers().len());
            fresh.push(Arc::clone(&listening));
            all.push((listening, None));
        }
        for listening in &fresh {
            let Some(socket) = &listening.socket else { continue };
            for worker in self.shared.workers() {
                let _ = worker.orders.send(Order::Listen(Arc::clone(listening), socket.share()?));
            }
        }
        for (listening, plan) in &all {
            if let Some(plan) = plan {
                listening.renew(plan);
            }
        }
        let all: Vec<_> = all.into_iter().map(|(listening, _)| listening).collect();
        for gone in old.iter().filter(|gone| !all.iter().any(|kept| Arc::ptr_eq(kept, gone))) {
            gone.stopped.send_replace(true);
        }
        self.shared.listeners.store(Arc::new(all));
        Ok(())
    }

    /// New sessions follow `plans`; sessions under way go on as they began. Threads, journal, log and admin
    /// listener stay as they were.
    ///
    /// # Errors
    /// A new listener's address is not to be had; nothing has changed then.
    pub fn reload(&self, plans: &Plans) -> io::Result<()> {
        if self.digest != plans.digest {
            tracing::warn!("`[multiparty]` has changed: that is not taken up until the guard is restarted");
        } else if let (Some(runtime), Some(plan)) = (&self.multiparty, &plans.multiparty) {
            runtime.renew_certificates(plan);
        }
        let result = self.listen(plans, Vec::new());
        self.note_reload(result.is_ok());
        result
    }

    pub(crate) fn note_reload(&self, ok: bool) {
        self.shared.reloads[usize::from(!ok)].fetch_add(1, Ordering::Relaxed);
    }

    /// The name of each listener and where it really listens.
    #[must_use]
    pub fn addresses(&self) -> Vec<(String, String)> {
        let listeners = self.shared.listeners.load();
        let own = listeners
            .iter()
            .filter_map(|listening| Some((listening.name.clone(), listening.socket.as_ref()?.address())));
        own.chain(self.multiparty.iter().flat_map(|multiparty| multiparty.addresses.clone())).collect()
    }

    /// Second handles on all listening sockets, by the names of their listeners.
    pub(crate) fn sockets(&self) -> io::Result<Inherited> {
        let listeners = self.shared.listeners.load();
        let sockets = listeners.iter().filter_map(|listening| Some((listening, listening.socket.as_ref()?)));
        sockets.map(|(listening, socket)| Ok((listening.name.clone(), socket.share()?))).collect()
    }

    /// The listener on standard input and output, and what its session needs.
    pub(crate) fn stdio(&self) -> Option<(ThreadContext, Arc<Listening>)> {
        let listeners = self.shared.listeners.load();
        let listening = listeners.iter().find(|listening| listening.place == Place::Stdio)?;
        let worker = Arc::clone(self.shared.workers().first()?);
        let thread = ThreadContext { shared: Arc::clone(&self.shared), number: 0, worker };
        Some((thread, Arc::clone(listening)))
    }

    /// Takes no more connections; sessions under way go on.
    pub fn drain(&self) {
        if !self.shared.draining.swap(true, Ordering::Relaxed) {
            self.multiparty.iter().for_each(|multiparty| multiparty.drain());
            for listening in self.shared.listeners.load().iter() {
                listening.stopped.send_replace(true);
            }
        }
    }

    /// Whether it takes no more connections.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.shared.draining.load(Ordering::Relaxed)
    }

    /// Whether it can do its work: it listens, and its journal can be written.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.is_draining() && !self.shared.sink.health.is_failing()
    }

    /// How many sessions are under way.
    #[must_use]
    pub fn open_sessions(&self) -> usize {
        let own: usize = self.shared.workers().iter().map(|worker| worker.load.load(Ordering::Relaxed)).sum();
        own + self.multiparty.as_ref().map_or(0, |multiparty| multiparty.open())
    }

    /// Waits until no session is under way, at most until `deadline`. Whether that came to be.
    #[must_use]
    pub fn wait_idle(&self, deadline: Instant) -> bool {
        while self.open_sessions() > 0 {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// How the live sessions stand, at most `most` of them.
    #[must_use]
    pub fn sessions(&self, most: usize) -> Value {
        let workers = self.shared.workers();
        let each = most.div_ceil(workers.len().max(1));
        let own = workers.iter().flat_map(|worker| worker.describe(each));
        own.chain(self.multiparty.iter().flat_map(|multiparty| multiparty.describe(most))).collect()
    }

    /// How the live session `id` stands; of a network, also by what its monitors call it.
    #[must_use]
    pub fn session(&self, id: &str) -> Option<Value> {
        let number = id.parse().ok();
        let own = number.and_then(|number| {
            self.shared.workers().iter().find_map(|worker| worker.describe_session(number))
        });
        own.or_else(|| {
            let all = self.multiparty.iter().flat_map(|multiparty| multiparty.describe(usize::MAX));
            let is_it = |value: &Value| ["session", "network_session"].iter().any(|key| value[*key] == id);
            all.into_iter().find(is_it)
        })
    }

    /// All that was counted, as OpenMetrics text.
    #[must_use]
    pub fn metrics(&self) -> String {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let scope = |listening: &Arc<Listening>| Scope {
            listener: listening.name.clone(),
            roles: listening.version.load().plan.rules.roles().clone(),
            open: listening.open.load(Ordering::Relaxed) as u64,
            threads: listening.counters.clone(),
            messages: lock(&listening.versions).clone(),
        };
        let [good, refused] = &self.shared.reloads;
        let snapshot = Snapshot {
            scopes: self.shared.listeners.load().iter().map(scope).collect(),
            reloads: [count(good), count(refused)],
            network: self
                .multiparty
                .as_ref()
                .map(|multiparty| (multiparty.name().to_owned(), multiparty.role_metrics())),
            journal_errors: count(&self.shared.sink.health.failed_writes),
            reports_dropped: count(&self.shared.sink.health.dropped_reports),
        };
        snapshot.open_metrics()
    }

    /// Stops at once; what is under way is closed and reported.
    pub fn halt(&self) {
        self.drain();
        self.multiparty.iter().for_each(|multiparty| multiparty.halt());
        for worker in self.shared.workers() {
            let _ = worker.orders.send(Order::Stop);
        }
        for thread in lock(&self.threads).drain(..) {
            let _ = thread.join();
        }
        if let Some(thread) = lock(&self.sink_thread).take() {
            self.shared.sink.close();
            let _ = thread.join();
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.halt();
    }
}
