//! A session from start to end: waits for everyone, forwards messages, and notifies everyone of the outcome.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::{Method, StatusCode};
use referee_monitor::multiparty::{Notice, Rule};
use referee_theory::{Role, Vocabulary};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::envelope::Envelope;
use super::http_client::{HttpClient, PostError};
use super::http_server;
use super::outbound::{Outbound, PendingRequest};
use super::role_adapter::{AdapterAction, RoleAdapter};
use super::role_config::RoleConfig;
use super::violation;
use crate::metrics::lock;
use crate::multiparty::transport::random;

/// The first interval between polls of `/api/alive`; it doubles up to [`MAX_POLL_INTERVAL`].
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The interval between later polls.
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// RelaMon's monitors say that they are alive before they have seen everyone else, and lose what they are sent until then.
const RELAMON_STARTUP_DELAY: Duration = Duration::from_millis(500);
/// How long a reordered request may take. Only RelaMon's monitors send requests without waiting for responses.
const REORDER_TIMEOUT: Duration = Duration::from_millis(500);
/// A session that is over is kept for this long for others that are still polling.
const LINGER: Duration = Duration::from_secs(2);
/// How long a notification of a violation is retried. On a busy machine a response can take more than a second.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(10);

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOutcome {
    /// As the protocol says.
    Over,
    /// Somebody broke the protocol, or is gone.
    Violated,
    /// The guard was told to stop.
    Stopped,
}

/// What the tasks of one monitor share.
pub(super) struct Shared {
    name: String,
    /// Headers that identify this monitor: its role and its instance.
    own: HeaderValue,
    pub(super) process: HeaderValue,
    /// Indexed by role: the instance of its monitor, if it is one of Referee's.
    processes: Mutex<Vec<Option<HeaderValue>>>,
    adapter: Mutex<RoleAdapter>,
    /// Notified when queues have room again.
    room: Notify,
    /// Whether the component is up.
    pub(super) alive: AtomicBool,
    component: Outbound,
    monitors: Vec<Option<Outbound>>,
    outcome: watch::Sender<Option<SessionOutcome>>,
    /// Notifications of violations in progress.
    notifying: Mutex<JoinSet<()>>,
}

/// Runs the monitors of `configs` until their sessions end; `started` is called with a line for each. Returns the worst
/// outcome.
///
/// # Errors
/// One of them cannot listen.
pub fn run(configs: Vec<RoleConfig>, started: &dyn Fn(&[String])) -> io::Result<SessionOutcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let mut listeners = Vec::new();
        for role_config in &configs {
            listeners.push(http_server::bind(&role_config.listen).await?);
        }
        started(&configs.iter().map(RoleConfig::in_words).collect::<Vec<_>>());
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut sessions = JoinSet::new();
        for (role_config, listeners) in configs.into_iter().zip(listeners) {
            sessions.spawn(session(role_config, listeners));
        }
        let mut worst = SessionOutcome::Over;
        loop {
            tokio::select! {
                ended = sessions.join_next() => match ended {
                    Some(Ok(SessionOutcome::Over)) => {}
                    Some(_) => worst = SessionOutcome::Violated,
                    None => return Ok(worst),
                },
                _ = terminate.recv() => return Ok(SessionOutcome::Stopped),
                _ = interrupt.recv() => return Ok(SessionOutcome::Stopped),
            }
        }
    });
    runtime.shutdown_background();
    outcome
}

/// A random instance number.
fn process() -> HeaderValue {
    random().map_or(0, u64::from_le_bytes).into()
}

async fn session(role_config: RoleConfig, listeners: Vec<tokio::net::TcpListener>) -> SessionOutcome {
    let mut clients = Vec::new();
    let own = HeaderValue::from_str(&role_config.name).unwrap_or(HeaderValue::from_static(""));
    let process = process();
    let mut outbound = |address: &str| {
        let client = HttpClient::new(address);
        let (outbound, requests) = Outbound::new(&client, address);
        clients.push((client, requests));
        outbound
    };
    let component = outbound(&role_config.component);
    let monitors: Vec<_> =
        role_config.monitors.iter().map(|address| address.as_deref().map(&mut outbound)).collect();
    let shared = Arc::new(Shared {
        name: role_config.name,
        own,
        process,
        processes: Mutex::new(vec![None; monitors.len()]),
        adapter: Mutex::new(role_config.adapter),
        room: Notify::new(),
        alive: AtomicBool::new(false),
        component,
        monitors,
        outcome: watch::Sender::new(None),
        notifying: Mutex::default(),
    });
    // All tasks end with the session.
    let mut tasks = JoinSet::new();
    for listener in listeners {
        tasks.spawn(http_server::serve(listener, Arc::clone(&shared)));
    }
    let mut clients = clients.into_iter();
    if let Some((client, requests)) = clients.next() {
        tasks.spawn(to_component(Arc::clone(&shared), client, requests));
    }
    let roles: Vec<Role> = lock(&shared.adapter).vocabulary().roles().collect();
    let peers = roles.into_iter().filter(|role| shared.monitors[role.index()].is_some());
    for (role, (client, requests)) in peers.zip(clients) {
        tasks.spawn(to_monitor(Arc::clone(&shared), role, client, requests));
        tasks.spawn(Arc::clone(&shared).watch_monitor(role));
    }
    let mut outcome = shared.outcome.subscribe();
    let ended = tokio::select! {
        ended = outcome.wait_for(Option::is_some) => ended.ok().and_then(|ended| *ended),
        ended = shared.watch_component() => Some(ended),
    };
    let mut notifying = std::mem::take(&mut *lock(&shared.notifying));
    while notifying.join_next().await.is_some() {}
    ended.unwrap_or(SessionOutcome::Violated)
}

/// Waits for everyone, tells the component to begin, then posts its messages.
async fn to_component(
    shared: Arc<Shared>,
    mut client: HttpClient,
    mut requests: mpsc::UnboundedReceiver<PendingRequest>,
) {
    let silent = || tracing::warn!(role = shared.name, "the component does not answer");
    await_alive(&mut client).await;
    shared.alive.store(true, Ordering::Relaxed);
    let mut foreign = false;
    let roles: Vec<Role> = lock(&shared.adapter).vocabulary().roles().collect();
    for (role, outbound) in roles.into_iter().zip(&shared.monitors) {
        let Some(outbound) = outbound else { continue };
        let mut client = shared.client(&outbound.address);
        await_alive(&mut client).await;
        if client.process.is_none() {
            outbound.mark_foreign();
            lock(&shared.adapter).mark_foreign(role);
            foreign = true;
        }
    }
    if foreign {
        tokio::time::sleep(RELAMON_STARTUP_DELAY).await;
    }
    lock(&shared.adapter).set_starting();
    let go = client.call(Method::POST, "/api/alive", Bytes::new(), silent).await;
    if !shared.check_delivery(go) {
        return;
    }
    tracing::info!(role = shared.name, "everyone is there: the component was told to begin");
    shared.with_adapter(RoleAdapter::start);
    while let Some(request) = requests.recv().await {
        let answer = client.call(Method::POST, "/", request.when_due().await, silent).await;
        if !shared.check_delivery(answer) {
            return;
        }
        shared.with_adapter(RoleAdapter::delivered);
    }
}

async fn to_monitor(
    shared: Arc<Shared>,
    peer: Role,
    mut client: HttpClient,
    mut requests: mpsc::UnboundedReceiver<PendingRequest>,
) {
    let name = lock(&shared.adapter).vocabulary().role_name(peer).to_owned();
    let silent = || tracing::warn!(role = shared.name, peer = name, "the other monitor does not answer");
    while let Some(request) = requests.recv().await {
        match client.call(Method::POST, "/", request.when_due().await, silent).await {
            Ok(status) if status.is_success() => {}
            Ok(status) => {
                tracing::warn!(role = shared.name, peer = name, %status, "the other monitor refused a message");
            }
            Err(failure) => {
                tracing::warn!(role = shared.name, peer = name, %failure, "the other monitor is lost");
                shared.with_adapter(|adapter| adapter.monitor_gone(peer));
                return;
            }
        }
        if let Some(Some(outbound)) = shared.monitors.get(peer.index()) {
            outbound.answered();
        }
        lock(&shared.adapter).sent();
        shared.room.notify_waiters();
    }
}

async fn await_alive(client: &mut HttpClient) {
    let mut pause = POLL_INTERVAL;
    loop {
        let asked = client.call(Method::GET, "/api/alive", Bytes::new(), || {}).await;
        if asked.is_ok_and(|status| status.is_success()) {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_POLL_INTERVAL);
    }
}

impl Shared {
    pub(super) fn describe(&self) -> Value {
        lock(&self.adapter).describe()
    }

    /// Queues a body once there is room for it.
    pub(super) async fn take(&self, envelope: Envelope) {
        loop {
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            if lock(&self.adapter).has_room(&envelope.sender) {
                break;
            }
            room.await;
        }
        self.with_adapter(|adapter| adapter.take(envelope));
        if lock(&self.adapter).is_reordering() {
            tokio::time::sleep(REORDER_TIMEOUT).await;
            self.with_adapter(RoleAdapter::flush_reordered);
        }
    }

    pub(super) fn malformed_body(&self, why: String) {
        self.with_adapter(|adapter| adapter.malformed_body(why));
    }

    pub(super) fn notice_received(&self, read: impl FnOnce(Role, &Vocabulary) -> Notice) {
        self.with_adapter(|adapter| {
            let notice = read(adapter.role(), adapter.vocabulary());
            adapter.notice_received(&notice)
        });
    }

    /// Whether the component accepted a request.
    fn check_delivery(&self, answer: Result<StatusCode, PostError>) -> bool {
        match answer {
            Ok(status) if status.is_success() => return true,
            Ok(status) => tracing::warn!(role = self.name, %status, "the component failed"),
            Err(failure) => tracing::warn!(role = self.name, %failure, "the component is lost"),
        }
        self.with_adapter(RoleAdapter::component_gone);
        false
    }

    /// Watches the component until the session is over: polls while messages flow or no connection is kept, otherwise waits
    /// for the connection to close.
    async fn watch_component(&self) -> SessionOutcome {
        let mut over_since: Option<Instant> = None;
        let mut rest = MAX_POLL_INTERVAL;
        loop {
            tokio::time::sleep(rest).await;
            rest = MAX_POLL_INTERVAL;
            if !self.alive.load(Ordering::Relaxed) {
                continue;
            }
            let mut happened = std::pin::pin!(self.room.notified());
            happened.as_mut().enable();
            if self.component.is_gone().await {
                self.with_adapter(RoleAdapter::component_gone);
            }
            let (over, finished) = {
                let adapter = lock(&self.adapter);
                (adapter.is_over(), adapter.is_finished())
            };
            // Also when the component has ended: others may still be polling.
            match (over || finished, over_since) {
                (false, _) => over_since = None,
                (true, None) => over_since = Some(Instant::now()),
                (true, Some(since)) if since.elapsed() >= LINGER => return SessionOutcome::Over,
                (true, Some(_)) => {}
            }
            if over_since.is_none() && self.component.is_connected() {
                tokio::select! {
                    () = happened => {}
                    () = self.component.disconnected() => rest = Duration::ZERO,
                }
            }
        }
    }

    /// Watches the monitor of `peer` over a connection that closes when its process ends.
    async fn watch_monitor(self: Arc<Self>, peer: Role) {
        let Some(Some(outbound)) = self.monitors.get(peer.index()) else { return };
        let mut client = self.client(&outbound.address);
        let mut refused = 0;
        loop {
            let mut happened = std::pin::pin!(self.room.notified());
            happened.as_mut().enable();
            let asked = client.call(Method::GET, "/api/alive", Bytes::new(), || {}).await;
            match asked {
                Err(PostError::Refused) => refused += 1,
                Err(_) => refused = 0,
                Ok(_) => {
                    refused = 0;
                    if let Some(process) = &client.process {
                        self.is_answered_by(peer, process);
                    }
                    let mut connections = client.connections();
                    let _ = connections.wait_for(|count| *count == 0).await;
                    // At once: the process may have been restarted.
                    continue;
                }
            }
            // Refused twice: what it posted last has been processed by now.
            if refused >= 2 {
                if lock(&self.adapter).needs(peer) {
                    return self.with_adapter(|adapter| adapter.monitor_gone(peer));
                }
                happened.await;
            }
            tokio::time::sleep(MAX_POLL_INTERVAL).await;
        }
    }

    fn client(&self, address: &str) -> HttpClient {
        HttpClient::new(address).introducing(&self.own, &self.process)
    }

    /// Whether the client that says it is the monitor of `role` is the process it was when the session began.
    pub(super) fn is_asked_by(&self, role: &str, process: &HeaderValue) -> bool {
        let role = lock(&self.adapter).vocabulary().find_role(role);
        role.is_some_and(|role| self.is_answered_by(role, process))
    }

    /// Records the instance of the monitor of `peer`. A restarted one has lost a session that has begun, which ends then.
    fn is_answered_by(&self, peer: Role, process: &HeaderValue) -> bool {
        let started = lock(&self.adapter).is_started();
        match lock(&self.processes).get_mut(peer.index()) {
            Some(Some(known)) if known != process && started => {}
            Some(known) => {
                *known = Some(process.clone());
                return true;
            }
            None => return false,
        }
        self.with_adapter(|adapter| adapter.monitor_anew(peer));
        false
    }

    /// Runs `step` and carries out the actions that follow, in order.
    fn with_adapter(&self, step: impl FnOnce(&mut RoleAdapter) -> Vec<AdapterAction>) {
        let mut adapter = lock(&self.adapter);
        for action in step(&mut adapter) {
            match action {
                AdapterAction::Component(body) => self.component.enqueue(body, false, std::iter::empty()),
                AdapterAction::Inform(to, body) => self.post(to, body, true),
                AdapterAction::Monitor(to, body) => self.post(to, body, false),
                AdapterAction::Violated(notice) => {
                    self.violated(&notice, adapter.role(), adapter.vocabulary(), true);
                }
                AdapterAction::ForwardNotice(notice) => {
                    self.violated(&notice, adapter.role(), adapter.vocabulary(), false);
                }
                AdapterAction::Finished => {
                    tracing::info!(role = self.name, "the component has ended, as it may")
                }
            }
        }
        drop(adapter);
        self.room.notify_waiters();
    }

    fn post(&self, to: Role, body: Bytes, is_dependency: bool) {
        if let Some(Some(outbound)) = self.monitors.get(to.index()) {
            outbound.enqueue(body, is_dependency, self.monitors.iter().flatten());
        }
    }

    /// Notifies the component, and everyone else if the violation was `found_here`. Outside the outbound queues: one address that
    /// does not respond must not delay the others.
    fn violated(&self, notice: &Notice, own: Role, vocabulary: &Vocabulary, found_here: bool) {
        let blamed: Vec<&str> = notice.blamed.iter().map(|role| vocabulary.role_name(*role)).collect();
        tracing::warn!(
            role = self.name,
            reporter = vocabulary.role_name(notice.reporter),
            verdict = if blamed.is_empty() { "fault" } else { "violation" },
            kind = notice.breach.name(),
            blame = blamed.join(", "),
            paper_rule = notice.rule.map(Rule::name),
            expected = ?notice.expected,
            got = notice.got,
            "{}",
            notice.sentence
        );
        // On this wire whoever is notified gives up. While the session goes on only Referee's monitors are notified.
        let processes = lock(&self.processes);
        let knows = |index: usize| notice.halted || processes.get(index).is_some_and(Option::is_some);
        let monitors = vocabulary.roles().zip(&self.monitors);
        let monitors = monitors.filter(|(role, _)| found_here && knows(role.index()));
        let monitors = monitors.filter_map(|(role, outbound)| Some((role, outbound.as_ref()?, LINGER)));
        let component = notice.halted.then_some((own, &self.component, Duration::ZERO));
        let mut notifying = lock(&self.notifying);
        // A monitor that is gone may be restarted, with a component that has not been notified.
        for (reader, outbound, lingering) in monitors.chain(component) {
            let said =
                violation::to_json(&violation::for_reader(notice, reader, vocabulary), vocabulary, None);
            let body = Bytes::from(said.to_string());
            let (mut client, address) = (HttpClient::new(&outbound.address), outbound.address.clone());
            notifying.spawn(async move {
                let began = Instant::now();
                let notifying = async {
                    loop {
                        match client.call(Method::POST, "/api/violation", body.clone(), || {}).await {
                            Ok(_) => return,
                            Err(PostError::Refused) if began.elapsed() >= lingering => return,
                            // Notifications are idempotent.
                            Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
                        }
                    }
                };
                if tokio::time::timeout(NOTIFY_TIMEOUT, notifying).await.is_err() {
                    tracing::warn!(address, "somebody could not be told of a violation");
                }
            });
        }
        if notice.halted {
            self.end(SessionOutcome::Violated);
        }
    }

    fn end(&self, outcome: SessionOutcome) {
        self.outcome.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert(outcome);
            first
        });
    }
}
