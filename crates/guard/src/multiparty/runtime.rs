//! The runtime of a network: the roles that this process monitors, their components' connections, the transport to other
//! processes, and the thread they all run on.

mod admission;
mod report_queue;
mod role_state;
mod views;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use hyper::body::Bytes;
use referee_monitor::Policy;
use referee_monitor::multiparty::{Effect, Engine, Run};
use referee_session::Offer;
use referee_session::role::payload::Payload;
use referee_theory::Role;
use serde_json::Value;
use tokio::sync::{Notify, watch};

use super::component::ComponentQueue;
use super::peer_message::{PeerMessage, SessionId};
use super::plan::{Endpoint, MultipartyPlan, RolePlan, TransportPlan};
use super::role_session::Given;
use super::session_table::{End, Finding, SessionAction, SessionTable};
use super::state_log::{Change, StateLog};
use super::transport::{Nats, Receiver, Tcp, Transport};
use super::violation;
use crate::clock;
use crate::config::Address;
use crate::listen::{self, Acceptor, Listener};
use crate::metrics::{Meter, lock};
use crate::report::{EndReason, EndRecord, Report, VerdictAction, VerdictClass, VerdictReport, timestamp};
use crate::report_sink::ReportSink;
use report_queue::ReportQueue;
use role_state::RoleState;

/// How long a process that stops takes to notify its peers.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// How often it checks whether they are notified.
const SHUTDOWN_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The counters of one role.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoleCounters {
    /// Sessions that ended, by reason.
    pub(crate) ended: BTreeMap<EndReason, u64>,
    /// Verdicts, by blamed role and kind.
    pub(crate) verdicts: BTreeMap<(String, String), u64>,
    pub(crate) peer_messages_in: u64,
    pub(crate) peer_messages_out: u64,
    pub(crate) messages: u64,
}

/// The metrics of one role.
#[derive(Debug)]
pub(crate) struct RoleMetrics {
    pub(crate) role: String,
    pub(crate) open: u64,
    /// Remote roles, and whether their monitors are connected.
    pub(crate) links: Vec<(String, bool)>,
    pub(crate) begun: u64,
    pub(crate) unmatched: u64,
    pub(crate) counters: RoleCounters,
}

/// All roles that this process monitors.
pub(crate) struct Runtime {
    name: String,
    /// Names and addresses of the listeners.
    pub(crate) addresses: Vec<(String, String)>,
    slots: Mutex<Vec<RoleState>>,
    transport: OnceLock<Arc<dyn Transport>>,
    transport_plan: Option<TransportPlan>,
    /// The write-ahead log of session state, where sessions survive a crash.
    state_log: Option<Arc<StateLog>>,
    reports: Arc<ReportQueue>,
    connections: AtomicUsize,
    /// Components that are connected and in a session.
    pub(super) connected_components: AtomicUsize,
    stop: watch::Sender<bool>,
    /// Whether the timer is stopped because there is no session, and what starts it again.
    idle: AtomicBool,
    wake: Notify,
    /// Session tables count time from here.
    started: Instant,
    own: Weak<Self>,
}

impl Runtime {
    /// Runs the roles of `plan` on a thread of their own.
    ///
    /// # Errors
    /// An address cannot be bound, or the thread cannot be started.
    pub(crate) fn start(
        plan: &MultipartyPlan,
        sink: ReportSink,
    ) -> io::Result<(Arc<Self>, JoinHandle<io::Result<()>>)> {
        let mut addresses = Vec::new();
        let mut bind = |what: &str, address: &Address| {
            let endpoint = listen::Place::parse(&address.to_string()).map_err(io::Error::other)?;
            let listener = Listener::bind(&endpoint, &mut listenfd::ListenFd::empty()).map_err(|error| {
                io::Error::new(error.kind(), format!("`{what}` cannot listen on {address}: {error}"))
            })?;
            addresses.push((what.to_owned(), listener.address()));
            io::Result::Ok(listener)
        };
        let mut listeners = Vec::new();
        for (index, role) in plan.roles.iter().enumerate() {
            for (number, endpoint) in role.endpoints().enumerate() {
                if let Endpoint::Listen(address) = &endpoint.endpoint {
                    let listener = bind(&format!("{}/{}", plan.name, endpoint.name), address)?;
                    listeners.push(((index, number), listener));
                }
            }
        }
        let monitors = match &plan.transport {
            Some(TransportPlan::Tcp(tcp)) => Some(bind(&format!("{}: monitors", plan.name), &tcp.listen)?),
            Some(TransportPlan::Nats(_)) | None => None,
        };
        let transport = plan.transport.clone();
        let state_log = match (&plan.state, &plan.transport) {
            (Some((folder, force)), Some(TransportPlan::Nats(nats))) => {
                let state_log = StateLog::open(folder, &nats.token, *force).map_err(|error| {
                    io::Error::new(error.kind(), format!("the state in `{}`: {error}", folder.display()))
                });
                Some(state_log?)
            }
            _ => None,
        };
        let runtime = Arc::new_cyclic(|own: &Weak<Self>| Self {
            name: plan.name.clone(),
            addresses,
            slots: Mutex::new(plan.roles.iter().map(RoleState::new).collect()),
            transport: OnceLock::new(),
            transport_plan: plan.transport.clone(),
            state_log,
            reports: Arc::new(ReportQueue::new(sink)),
            connections: AtomicUsize::new(0),
            connected_components: AtomicUsize::new(0),
            stop: watch::Sender::new(false),
            idle: AtomicBool::new(false),
            wake: Notify::new(),
            started: Instant::now(),
            own: own.clone(),
        });
        let thread = {
            let runtime = Arc::clone(&runtime);
            std::thread::Builder::new().name("multiparty".to_owned()).spawn(move || {
                let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                executor.block_on(runtime.work(listeners, transport, monitors))
            })?
        };
        Ok((runtime, thread))
    }

    async fn work(
        self: Arc<Self>,
        listeners: Vec<((usize, usize), Listener)>,
        transport: Option<TransportPlan>,
        monitors: Option<Listener>,
    ) -> io::Result<()> {
        let receiver: Weak<dyn Receiver> = self.own.clone();
        let transport: Option<Arc<dyn Transport>> = match (transport, monitors) {
            (Some(TransportPlan::Tcp(plan)), Some(listener)) => Some(Tcp::start(&plan, listener, receiver)?),
            (Some(TransportPlan::Nats(plan)), _) => {
                Some(Nats::start(&plan, receiver, self.state_log.clone())?)
            }
            _ => None,
        };
        if let Some(transport) = transport {
            let _ = self.transport.set(transport);
        }
        let reports = Arc::clone(&self.reports);
        tokio::spawn(async move { reports.work().await });
        self.restore();
        for ((slot, endpoint), listener) in listeners {
            tokio::spawn(Arc::clone(&self).listen(slot, endpoint, Acceptor::new(listener)?));
        }
        let mut stopped = self.stop.subscribe();
        loop {
            let next = self.tick();
            let due = async {
                match next {
                    Some(next) => tokio::time::sleep_until((self.started + next).into()).await,
                    None => self.wake.notified().await,
                }
            };
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => break,
                () = due => {}
            }
        }
        // Logged sessions go on in the next process.
        if self.state_log.is_none() {
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.leave()).await;
        }
        self.reports.flush().await;
        Ok(())
    }

    /// Ends all sessions and notifies everyone that this process stops.
    async fn leave(&self) {
        for slot in self.all() {
            self.with(slot, SessionTable::leave);
        }
        let unsent = || self.transport.get().map_or(0, |transport| transport.unsent());
        while unsent() > 0 || self.connected_components.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(SHUTDOWN_POLL_INTERVAL).await;
        }
    }

    /// Ends sessions that timed out. Returns when to look again; `None` without sessions.
    fn tick(&self) -> Option<Duration> {
        let mut next: Option<Duration> = None;
        for slot in self.all() {
            self.with(slot, |table, now, out| {
                let due = table.tick(now, out);
                next = next.into_iter().chain(due).min();
            });
        }
        self.idle.store(next.is_none(), Ordering::Relaxed);
        next
    }

    /// Restores the sessions of the process before this one.
    fn restore(&self) {
        let Some(state_log) = &self.state_log else { return };
        let sessions = state_log.read(|snapshot| snapshot.sessions.clone());
        if !sessions.is_empty() {
            tracing::info!(
                protocol = self.name,
                sessions = sessions.len(),
                "goes on with what is remembered"
            );
        }
        for ((role, id), kept) in sessions {
            let at = lock(&self.slots).iter().position(|slot| slot.plan.engine.role().0 == role);
            match at {
                Some(slot) => self.with(slot, |table, now, out| {
                    if !table.restore(id, &kept.session, kept.given, now, out) {
                        tracing::error!(network_session = %id, "what is remembered of a session makes no sense");
                    }
                }),
                None => state_log.append(Change::Ended((role, id))),
            }
        }
        state_log.commit();
    }

    /// The index of every local role.
    fn all(&self) -> std::ops::Range<usize> {
        0..lock(&self.slots).len()
    }

    /// The counters of an endpoint of the role at `slot`.
    pub(super) fn meter(&self, slot: usize, endpoint: usize) -> Meter {
        lock(&self.slots)[slot].meters[endpoint].clone()
    }

    /// Holds once the process stops.
    pub(super) fn stopping(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    pub(super) fn is_full_of_reports(&self) -> bool {
        self.reports.is_full()
    }

    /// Waits while there are too many reports for the sink.
    pub(super) async fn has_room_for_reports(&self) {
        self.reports.has_room().await;
    }

    pub(super) fn plan(&self, slot: usize) -> Arc<RolePlan> {
        Arc::clone(&lock(&self.slots)[slot].plan)
    }

    pub(super) fn offer(&self, slot: usize, id: SessionId, endpoint: usize, payload: Payload) -> Offer {
        let mut offered = Offer::Over;
        self.with(slot, |table, now, out| offered = table.offer(id, endpoint, payload, now, out));
        if matches!(offered, Offer::Taken) {
            lock(&self.slots)[slot].counters.messages += 1;
        }
        offered
    }

    /// Changes what is known of the times of session `id`.
    pub(super) fn with_times(
        &self,
        slot: usize,
        id: SessionId,
        act: impl FnOnce(&Engine, &mut Run<Payload>, &mut Given, &mut dyn FnMut(Effect<Payload>)),
    ) {
        self.with(slot, |table, now, out| table.with_times(id, now, out, act));
    }

    /// Until when the component of session `id` has to speak; and when it matters next, later than `looked`, whether it has.
    pub(super) fn next_times(&self, slot: usize, id: SessionId, looked: i64) -> [Option<i64>; 2] {
        lock(&self.slots)[slot].table.next_times(id, looked)
    }

    /// Messages, and their bytes, were written to the component.
    pub(super) fn delivered(&self, slot: usize, id: SessionId, written: (u32, usize)) {
        self.with(slot, |table, now, out| table.delivered(id, written, now, out));
    }

    /// The component half-closed; whether it is still to be sent messages.
    pub(super) fn half_close(&self, slot: usize, id: SessionId) -> bool {
        let mut stays = false;
        self.with(slot, |table, now, out| stays = table.half_close(id, now, out));
        stays
    }

    /// The component half-closed after `last`, which has to wait.
    pub(super) fn half_close_after(&self, slot: usize, id: SessionId, last: &Payload) {
        self.with(slot, |table, now, out| table.half_close_after(id, last, now, out));
    }

    pub(super) fn component_gone(&self, slot: usize, id: SessionId) {
        self.with(slot, |table, now, out| table.component_gone(id, now, out));
    }

    /// The first connection of the component of session `id` is over: nothing more is to be written to it, nor at further endpoints.
    pub(super) fn forget_component(&self, slot: usize, id: SessionId) {
        let removed = lock(&self.slots)[slot].remove_queues(id);
        removed.iter().for_each(|(_, queue)| queue.close(EndReason::Closed, None));
    }

    /// The trace of session `id`.
    pub(super) fn trace(&self, slot: usize, id: SessionId) -> Option<u128> {
        lock(&self.slots)[slot].table.trace(id)
    }

    pub(super) fn fault(&self, slot: usize, id: SessionId, sentence: String) {
        self.with(slot, |table, now, out| table.fault(id, sentence, now, out));
    }

    /// Lets an event happen at a role and carries out the actions that follow, at this and other local roles.
    fn with(&self, slot: usize, act: impl FnOnce(&mut SessionTable, Duration, &mut Vec<SessionAction>)) {
        let now = self.started.elapsed();
        let mut wanted = Vec::new();
        {
            let mut slots = lock(&self.slots);
            let mut actions = Vec::new();
            if slots.iter().any(|slot| slot.plan.judges_times()) {
                let time = clock::now();
                slots.iter_mut().for_each(|slot| slot.table.time = time);
            }
            if let Some(slot) = slots.get_mut(slot) {
                act(&mut slot.table, now, &mut actions);
            }
            let mut open: VecDeque<(usize, SessionAction)> =
                actions.drain(..).map(|action| (slot, action)).collect();
            while let Some((at, action)) = open.pop_front() {
                match action {
                    SessionAction::Send(to, message) => {
                        let from = slots[at].plan.engine.role();
                        slots[at].counters.peer_messages_out += 1;
                        match slots.iter().position(|slot| slot.plan.engine.role() == to) {
                            Some(here) => {
                                slots[here].counters.peer_messages_in += 1;
                                slots[here].table.peer_message(from, message, now, &mut actions);
                                open.extend(actions.drain(..).map(|action| (here, action)));
                            }
                            None => {
                                if let Some(transport) = self.transport.get() {
                                    transport.send(from, to, message.write());
                                }
                            }
                        }
                    }
                    SessionAction::FindComponent(id) => wanted.push((at, id)),
                    other => self.apply(&mut slots[at], other),
                }
            }
            self.log_changes(&mut slots);
        }
        for (slot, id) in wanted {
            self.find_component(slot, id);
        }
        if self.idle.swap(false, Ordering::Relaxed) {
            self.wake.notify_one();
        }
    }

    /// Writes the changed sessions to the state log before any effect leaves the process.
    fn log_changes(&self, slots: &mut [RoleState]) {
        for slot in slots {
            let mut changed = std::mem::take(&mut slot.table.changed);
            if let Some(state_log) = &self.state_log {
                changed.sort_unstable();
                changed.dedup();
                for id in changed.drain(..) {
                    let at = (slot.plan.engine.role().0, id);
                    state_log.append(match slot.table.save(id) {
                        Some((kept, bytes)) => Change::Session { at, kept, bytes },
                        None => Change::Ended(at),
                    });
                }
            }
            changed.clear();
            slot.table.changed = changed;
        }
        if let Some(state_log) = &self.state_log {
            state_log.commit();
        }
    }

    fn apply(&self, slot: &mut RoleState, action: SessionAction) {
        match action {
            SessionAction::Deliver(id, endpoint, bytes) => {
                if let Some(state_log) = self.state_log.as_ref().filter(|_| slot.plan.resumes) {
                    state_log.append(Change::Delivered {
                        at: (slot.plan.engine.role().0, id),
                        bytes: bytes.clone(),
                    });
                }
                slot.to(id, endpoint, |queue| queue.deliver(bytes));
            }
            SessionAction::Redeliver(id, bytes) => slot.to(id, 0, |queue| queue.deliver(bytes)),
            SessionAction::Wake(id) => slot.to_all(id, ComponentQueue::wake),
            SessionAction::HalfClose(id) => slot.to_all(id, ComponentQueue::half_close),
            SessionAction::Report(id, found) => self.report_verdict(slot, id, *found),
            SessionAction::Ended(id, end) => {
                let words =
                    end.close_message.as_ref().and_then(|notice| slot.plan.close_message(notice, Some(id)));
                for (endpoint, queue) in slot.remove_queues(id) {
                    queue.close(end.why, words.clone().filter(|_| endpoint == 0));
                }
                slot.invited.retain(|invited| *invited != id);
                *slot.counters.ended.entry(end.why).or_default() += 1;
                if self.reports.wants_ends() {
                    self.reports.push(Report::SessionEnd(Box::new(self.end_record(slot, id, &end))));
                }
            }
            SessionAction::Send(..) | SessionAction::FindComponent(_) => {}
        }
    }

    fn report_verdict(&self, slot: &mut RoleState, id: SessionId, found: Finding) {
        let Finding { number, notice, is_own, record, recent } = found;
        let plan = &slot.plan;
        let is_whole = record.is_some();
        let mut record =
            record.map_or_else(|| violation::record(&notice, plan.engine.vocabulary()), |record| *record);
        let blamed = record.blamed().collect::<Vec<_>>().join(", ");
        let kind = match record.verdict {
            VerdictClass::Violation | VerdictClass::Fault => record.kind.clone(),
            class => class.name().to_owned(),
        };
        *slot.counters.verdicts.entry((blamed, kind)).or_default() += 1;
        let policy = plan.engine.settings().policy;
        record.time = Some(timestamp(SystemTime::now()));
        record.session = Some(number.to_string());
        record.network_session = Some(id.to_string());
        record.rule = plan.projected.location(notice.origin);
        record.action = match (notice.halted, policy) {
            _ if is_whole => record.action,
            _ if !is_own => None,
            (true, _) | (false, Policy::Halt) => Some(VerdictAction::Closed),
            (false, Policy::Drop) => Some(VerdictAction::Discarded),
            (false, Policy::Observe) => Some(VerdictAction::Forwarded),
        };
        record.source = Some(if is_own {
            plan.name.clone()
        } else {
            format!("the monitor of {}", plan.engine.vocabulary().role_name(notice.reporter))
        });
        let listener = format!("{}/{}", self.name, plan.name);
        let report = VerdictReport { listener, record, policy: policy.name().to_owned(), recent };
        self.reports.push(Report::Verdict(Box::new(report)));
    }

    fn end_record(&self, slot: &RoleState, id: SessionId, end: &End) -> EndRecord {
        EndRecord {
            time: timestamp(SystemTime::now()),
            listener: format!("{}/{}", self.name, slot.plan.name),
            session: Some(end.number.to_string()),
            network_session: Some(id.to_string()),
            traceparent: Some(end.span.traceparent()),
            parent_span: end.span.parent(),
            source: slot.plan.name.clone(),
            why: end.why,
            detail: None,
            unchecked: false,
            bytes_discarded: 0,
            messages: end.messages,
            violations: u64::from(end.violations),
            bytes_from_client: end.bytes[0],
            bytes_from_server: end.bytes[1],
            milliseconds: u64::try_from(end.lasted.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// New connections, of components and of monitors, are made with the certificates of `plan`, which is otherwise the same.
    pub(crate) fn renew_certificates(&self, plan: &MultipartyPlan) {
        for (slot, new) in lock(&self.slots).iter().zip(&plan.roles) {
            for (endpoint, new) in slot.plan.endpoints().zip(new.endpoints()) {
                endpoint.setup.renew(&new.setup);
            }
        }
        if let (Some(TransportPlan::Tcp(tcp)), Some(TransportPlan::Tcp(new))) =
            (&self.transport_plan, &plan.transport)
        {
            tcp.renew(new);
        }
    }

    /// Stops accepting sessions.
    pub(crate) fn drain(&self) {
        for slot in lock(&self.slots).iter_mut() {
            slot.table.draining = true;
        }
    }

    /// The number of open sessions, and one more if peer messages are unacknowledged.
    pub(crate) fn open(&self) -> usize {
        let sessions: usize = lock(&self.slots).iter().map(|slot| slot.table.len()).sum();
        sessions + self.transport.get().map_or(0, |transport| usize::from(transport.unsent() > 0))
    }

    /// Stops at once.
    pub(crate) fn halt(&self) {
        self.stop.send_replace(true);
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn role_metrics(&self) -> Vec<RoleMetrics> {
        let links = self.transport.get().map_or(Value::Null, |transport| transport.describe());
        let links = links.as_array().map_or(&[][..], Vec::as_slice);
        let tally = |slot: &RoleState| RoleMetrics {
            role: slot.plan.name.clone(),
            links: links
                .iter()
                .filter(|link| link["from"] == slot.plan.name)
                .filter_map(|link| Some((link["to"].as_str()?.to_owned(), link["connected"].as_bool()?)))
                .collect(),
            open: slot.table.len() as u64,
            begun: slot.table.begun(),
            unmatched: slot.table.unmatched,
            counters: slot.counters.clone(),
        };
        lock(&self.slots).iter().map(tally).collect()
    }
}

impl Receiver for Runtime {
    fn peer_message(&self, from: Role, to: Role, message: Bytes) {
        let Some(message) = PeerMessage::read(&message) else {
            tracing::error!(protocol = self.name, "a peer message from another monitor cannot be read");
            return;
        };
        let slot = {
            let mut slots = lock(&self.slots);
            let Some(at) = slots.iter().position(|slot| slot.plan.engine.role() == to) else { return };
            slots[at].counters.peer_messages_in += 1;
            at
        };
        self.with(slot, |table, now, out| table.peer_message(from, message, now, out));
    }

    fn is_congested(&self) -> bool {
        self.is_full_of_reports()
    }

    fn peer_lost(&self, peer: Role, why: &str) {
        for slot in self.all() {
            self.with(slot, |table, now, out| table.peer_lost(peer, why, now, out));
        }
    }

    fn peer_found(&self, peer: Role) {
        for slot in lock(&self.slots).iter_mut() {
            slot.table.peer_found(peer);
        }
    }
}
