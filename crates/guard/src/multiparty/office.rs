//! The office: all roles that this process monitors, their components' connections, the transport to the others, and
//! the thread on which all this happens.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use ahash::AHashMap;
use hyper::body::Bytes;
use referee_monitor::multiparty::{Breach, Notice};
use referee_theory::Role;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::sync::{Notify, oneshot, watch};

use super::component::{Arrived, Outlet, attend};
use super::letter::{Letter, SessionId};
use super::parcel::Parcel;
use super::plan::{Carrier, MultipartyPlan, Place, RolePlan};
use super::roster::{End, Offer, Order, Roster, policy_name};
use super::transport::{Nats, Receiver, Tcp, Transport};
use crate::config::Address;
use crate::listen::{self, Acceptor, Listener};
use crate::metrics::lock;
use crate::report::{EndReport, Report, VerdictReport, timestamp};
use crate::scribe::Scribe;
use crate::stream::Socket;

/// How long to wait before listening again.
const RETRYING: Duration = Duration::from_millis(50);
/// Components that wait for a session.
const WAITING: usize = 4096;
/// What a component may say before its session begins.
const AHEAD: usize = 64 << 10;

/// One role here.
struct Desk {
    plan: Arc<RolePlan>,
    roster: Roster,
    outlets: AHashMap<SessionId, Arc<Outlet>>,
    /// Components that wait to be asked.
    waiting: VecDeque<oneshot::Sender<SessionId>>,
    /// Sessions that wait for a component.
    invited: VecDeque<SessionId>,
    counts: Counts,
}

/// What is counted of one role.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// By reason.
    pub(crate) ended: BTreeMap<&'static str, u64>,
    /// By blamed role and kind.
    pub(crate) verdicts: BTreeMap<(String, String), u64>,
    pub(crate) letters_in: u64,
    pub(crate) letters_out: u64,
    pub(crate) messages: u64,
}

/// One role, for those who count.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) role: String,
    pub(crate) open: u64,
    pub(crate) begun: u64,
    pub(crate) strays: u64,
    pub(crate) counts: Counts,
}

/// All roles that this process monitors.
pub(crate) struct Office {
    name: String,
    /// What listens, and where.
    pub(crate) places: Vec<(String, String)>,
    desks: Mutex<Vec<Desk>>,
    transport: OnceLock<Arc<dyn Transport>>,
    scribe: Scribe,
    draining: AtomicBool,
    connections: AtomicUsize,
    stop: watch::Sender<bool>,
    /// Whether nobody looks for sessions that take too long, because there were none; and who tells that there may be.
    asleep: AtomicBool,
    roused: Notify,
    own: Weak<Self>,
}

impl Office {
    /// Runs the roles of `plan` on a thread of their own.
    ///
    /// # Errors
    /// An address is not to be had, or the thread cannot be started.
    pub(crate) fn start(
        plan: &MultipartyPlan,
        scribe: Scribe,
    ) -> io::Result<(Arc<Self>, JoinHandle<io::Result<()>>)> {
        let mut places = Vec::new();
        let mut bind = |what: &str, address: &Address| {
            let place = listen::Place::parse(&address.to_string()).map_err(io::Error::other)?;
            let listener = Listener::bind(&place, &mut listenfd::ListenFd::empty()).map_err(|error| {
                io::Error::new(error.kind(), format!("`{what}` cannot listen on {address}: {error}"))
            })?;
            places.push((what.to_owned(), listener.address()));
            io::Result::Ok(listener)
        };
        let mut listeners = Vec::new();
        for (index, role) in plan.roles.iter().enumerate() {
            if let Place::Listen(address) = &role.place {
                listeners.push((index, bind(&format!("{}/{}", plan.name, role.name), address)?));
            }
        }
        let monitors = match &plan.carrier {
            Some(Carrier::Tcp(tcp)) => Some(bind(&format!("{}: monitors", plan.name), &tcp.listen)?),
            Some(Carrier::Nats(_)) | None => None,
        };
        let carrier = plan.carrier.clone();
        let desk = |plan: &Arc<RolePlan>| Desk {
            plan: Arc::clone(plan),
            roster: Roster::new(Arc::clone(plan)),
            outlets: AHashMap::new(),
            waiting: VecDeque::new(),
            invited: VecDeque::new(),
            counts: Counts::default(),
        };
        let office = Arc::new_cyclic(|own: &Weak<Self>| Self {
            name: plan.name.clone(),
            places,
            desks: Mutex::new(plan.roles.iter().map(desk).collect()),
            transport: OnceLock::new(),
            scribe,
            draining: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            stop: watch::Sender::new(false),
            asleep: AtomicBool::new(false),
            roused: Notify::new(),
            own: own.clone(),
        });
        let thread = {
            let office = Arc::clone(&office);
            std::thread::Builder::new().name("multiparty".to_owned()).spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(office.work(listeners, carrier, monitors))
            })?
        };
        Ok((office, thread))
    }

    async fn work(
        self: Arc<Self>,
        listeners: Vec<(usize, Listener)>,
        carrier: Option<Carrier>,
        monitors: Option<Listener>,
    ) -> io::Result<()> {
        let receiver: Weak<dyn Receiver> = self.own.clone();
        let transport: Option<Arc<dyn Transport>> = match (carrier, monitors) {
            (Some(Carrier::Tcp(plan)), Some(listener)) => Some(Tcp::start(&plan, listener, receiver)?),
            (Some(Carrier::Nats(plan)), _) => Some(Nats::start(&plan, receiver)?),
            _ => None,
        };
        if let Some(transport) = transport {
            let _ = self.transport.set(transport);
        }
        for (desk, listener) in listeners {
            tokio::spawn(Arc::clone(&self).listen(desk, Acceptor::new(listener)?));
        }
        let mut stopped = self.stop.subscribe();
        loop {
            let next = self.tick();
            let due = async {
                match next {
                    Some(next) => tokio::time::sleep_until(next.into()).await,
                    None => self.roused.notified().await,
                }
            };
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => return Ok(()),
                () = due => {}
            }
        }
    }

    /// Ends sessions that took too long; when to look again. Without sessions, nobody looks until something happens.
    fn tick(&self) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for desk in self.all() {
            self.with(desk, |roster, now, out| {
                let due = roster.tick(now, out);
                next = next.into_iter().chain(due).min();
            });
        }
        self.asleep.store(next.is_none(), Ordering::Relaxed);
        next
    }

    /// Takes the connections of a role's components.
    async fn listen(self: Arc<Self>, desk: usize, acceptor: Acceptor) {
        let plan = self.plan(desk);
        let begins = plan.engine.role() == plan.initiator;
        loop {
            let Ok(accepted) = acceptor.accept().await else {
                tokio::time::sleep(RETRYING).await;
                continue;
            };
            let Ok((socket, _)) = accepted.open() else { continue };
            let most = plan.sessions.saturating_add(WAITING);
            if self.draining.load(Ordering::Relaxed) || self.connections.load(Ordering::Relaxed) >= most {
                continue;
            }
            let office = Arc::clone(&self);
            self.connections.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                match office.admit(desk, socket).await {
                    Some(arrived) if begins => office.begin(desk, arrived).await,
                    Some(arrived) => office.wait(desk, arrived).await,
                    None => {}
                }
                office.connections.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    /// Whoever has connected, once it has shown that it speaks as it should.
    async fn admit(&self, desk: usize, socket: Socket) -> Option<Arrived> {
        let plan = self.plan(desk);
        let admitted = tokio::time::timeout(plan.handshake, plan.entrance.accept(socket)).await;
        match admitted.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => Some(Arrived { stream, unread: Vec::new() }),
            Err(error) => {
                tracing::info!(protocol = self.name, role = plan.name, "a component was not let in: {error}");
                *lock(&self.desks)[desk].counts.ended.entry("refused").or_default() += 1;
                None
            }
        }
    }

    /// A component that begins a session, with its first byte.
    async fn begin(self: &Arc<Self>, desk: usize, mut arrived: Arrived) {
        let plan = self.plan(desk);
        let first = arrived.stream.read_buf(&mut arrived.unread);
        // Whoever connects and says nothing has begun nothing.
        if !matches!(tokio::time::timeout(plan.handshake, first).await, Ok(Ok(1..))) {
            return;
        }
        let Ok(number) = ring::rand::generate::<[u8; 16]>(&ring::rand::SystemRandom::new()) else { return };
        let id = SessionId(u128::from_le_bytes(number.expose()));
        let outlet = Arc::new(Outlet::default());
        if let Some(desk) = lock(&self.desks).get_mut(desk) {
            desk.outlets.insert(id, Arc::clone(&outlet));
        }
        let mut begun = Ok(());
        self.with(desk, |roster, now, out| begun = roster.begin(id, now, out));
        if let Err(why) = begun {
            tracing::warn!(protocol = self.name, role = plan.name, "no session: {why}");
            if let Some(desk) = lock(&self.desks).get_mut(desk) {
                desk.outlets.remove(&id);
                *desk.counts.ended.entry("refused").or_default() += 1;
            }
            return;
        }
        attend(Arc::clone(self), desk, id, arrived, outlet).await;
    }

    /// A component that waits until its role is asked to take part.
    async fn wait(self: &Arc<Self>, desk: usize, mut arrived: Arrived) {
        let plan = self.plan(desk);
        let (sender, mut asked) = oneshot::channel();
        {
            let mut desks = lock(&self.desks);
            let Some(desk) = desks.get_mut(desk) else { return };
            desk.waiting.retain(|other| !other.is_closed());
            if desk.waiting.len() >= WAITING {
                return;
            }
            match desk.invited.pop_front() {
                Some(id) => drop(sender.send(id)),
                None => desk.waiting.push_back(sender),
            }
        }
        let deadline = plan.idle.map(|idle| tokio::time::Instant::now() + idle);
        let id = loop {
            let expired = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            let room = arrived.unread.len() < AHEAD;
            tokio::select! {
                biased;
                id = &mut asked => match id {
                    Ok(id) => break id,
                    Err(_) => return,
                },
                read = arrived.stream.read_buf(&mut arrived.unread), if room => {
                    if !matches!(read, Ok(1..)) {
                        // Asked at the last moment: somebody else may still come.
                        asked.close();
                        if let Ok(id) = asked.try_recv() {
                            self.seek(desk, id);
                        }
                        return;
                    }
                }
                () = expired => return,
            }
        };
        self.seat(desk, id, arrived).await;
    }

    /// The component of session `id` is there.
    async fn seat(self: &Arc<Self>, desk: usize, id: SessionId, arrived: Arrived) {
        let outlet = Arc::new(Outlet::default());
        if let Some(desk) = lock(&self.desks).get_mut(desk) {
            desk.outlets.insert(id, Arc::clone(&outlet));
        }
        self.with(desk, |roster, now, out| roster.seated(id, now, out));
        attend(Arc::clone(self), desk, id, arrived, outlet).await;
    }

    /// Finds a component for session `id`.
    fn seek(&self, desk: usize, id: SessionId) {
        let Some(office) = self.own.upgrade() else { return };
        let plan = self.plan(desk);
        match &plan.place {
            Place::Listen(_) => {
                let mut desks = lock(&self.desks);
                let Some(desk) = desks.get_mut(desk) else { return };
                while let Some(waiting) = desk.waiting.pop_front() {
                    if waiting.send(id).is_ok() {
                        return;
                    }
                }
                desk.invited.push_back(id);
            }
            Place::Connect(address) => {
                let address = address.clone();
                tokio::spawn(async move {
                    let connected =
                        tokio::time::timeout(plan.handshake, plan.entrance.connect(&address)).await;
                    match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                        Ok(stream) => {
                            office.seat(desk, id, Arrived { stream, unread: Vec::new() }).await;
                        }
                        Err(error) => {
                            let why = format!("its component at {address} cannot be reached: {error}");
                            office.with(desk, |roster, now, out| roster.vacant(id, &why, now, out));
                        }
                    }
                });
            }
        }
    }

    /// The number of every role here.
    fn all(&self) -> std::ops::Range<usize> {
        0..lock(&self.desks).len()
    }

    pub(super) fn plan(&self, desk: usize) -> Arc<RolePlan> {
        Arc::clone(&lock(&self.desks)[desk].plan)
    }

    pub(super) fn offer(&self, desk: usize, id: SessionId, parcel: Parcel) -> Offer {
        let mut offered = Offer::Over;
        self.with(desk, |roster, now, out| offered = roster.offer(id, parcel, now, out));
        if matches!(offered, Offer::Taken) {
            lock(&self.desks)[desk].counts.messages += 1;
        }
        offered
    }

    pub(super) fn delivered(&self, desk: usize, id: SessionId, count: u32) {
        self.with(desk, |roster, now, out| roster.delivered(id, count, now, out));
    }

    pub(super) fn component_gone(&self, desk: usize, id: SessionId) {
        lock(&self.desks)[desk].outlets.remove(&id);
        self.with(desk, |roster, now, out| roster.component_gone(id, now, out));
    }

    /// Whether there is no session `id` any more.
    pub(super) fn is_over(&self, desk: usize, id: SessionId) -> bool {
        !lock(&self.desks)[desk].outlets.contains_key(&id)
    }

    pub(super) fn fault(&self, desk: usize, id: SessionId, sentence: String) {
        self.with(desk, |roster, now, out| roster.fault(id, sentence, now, out));
    }

    /// Lets something happen at a role, and does everything that follows from it, here and at other roles.
    fn with(&self, desk: usize, act: impl FnOnce(&mut Roster, Instant, &mut Vec<Order>)) {
        let now = Instant::now();
        let mut sought = Vec::new();
        {
            let mut desks = lock(&self.desks);
            let mut orders = Vec::new();
            if let Some(desk) = desks.get_mut(desk) {
                act(&mut desk.roster, now, &mut orders);
            }
            let mut open: VecDeque<(usize, Order)> = orders.drain(..).map(|order| (desk, order)).collect();
            while let Some((at, order)) = open.pop_front() {
                match order {
                    Order::Letter(to, letter) => {
                        let from = desks[at].plan.engine.role();
                        desks[at].counts.letters_out += 1;
                        match desks.iter().position(|desk| desk.plan.engine.role() == to) {
                            Some(here) => {
                                desks[here].counts.letters_in += 1;
                                desks[here].roster.letter(from, letter, now, &mut orders);
                                open.extend(orders.drain(..).map(|order| (here, order)));
                            }
                            None => {
                                if let Some(transport) = self.transport.get() {
                                    transport.send(from, to, letter.write());
                                }
                            }
                        }
                    }
                    Order::Seat(id) => sought.push((at, id)),
                    other => self.perform(&mut desks[at], other),
                }
            }
        }
        for (desk, id) in sought {
            self.seek(desk, id);
        }
        if self.asleep.swap(false, Ordering::Relaxed) {
            self.roused.notify_one();
        }
    }

    fn perform(&self, desk: &mut Desk, order: Order) {
        match order {
            Order::Deliver(id, bytes) => desk.to(id, |outlet| outlet.deliver(bytes)),
            Order::Wake(id) => desk.to(id, Outlet::wake),
            Order::Over(id) => desk.to(id, Outlet::over),
            Order::Notice(id, number, notice, here) => self.tell(desk, id, number, &notice, here),
            Order::Ended(id, end) => {
                let words = end.last_words.as_ref().and_then(|notice| desk.plan.last_words(notice));
                if let Some(outlet) = desk.outlets.remove(&id) {
                    outlet.close(words);
                }
                desk.invited.retain(|invited| *invited != id);
                *desk.counts.ended.entry(end.why).or_default() += 1;
                if self.scribe.wants_ends {
                    self.scribe.tell_now(Report::SessionEnd(Box::new(self.end_report(desk, id, &end))));
                }
            }
            Order::Letter(..) | Order::Seat(_) => {}
        }
    }

    fn tell(&self, desk: &mut Desk, id: SessionId, number: u64, notice: &Notice, here: bool) {
        let vocabulary = desk.plan.engine.vocabulary();
        let blamed: Vec<&str> = notice.blamed.iter().map(|role| vocabulary.role_name(*role)).collect();
        let kind = notice.breach.name().to_owned();
        *desk.counts.verdicts.entry((blamed.join(", "), kind.clone())).or_default() += 1;
        let report = VerdictReport {
            time: timestamp(SystemTime::now()),
            listener: format!("{}/{}", self.name, desk.plan.name),
            session: number,
            network_session: Some(id.to_string()),
            source: if here {
                desk.plan.name.clone()
            } else {
                format!("the monitor of {}", vocabulary.role_name(notice.reporter))
            },
            verdict: if notice.breach == Breach::Fault { "fault" } else { "violation" }.to_owned(),
            kind,
            blame: (!blamed.is_empty()).then(|| blamed.join(", ")),
            event: i64::try_from(notice.event).unwrap_or(i64::MAX),
            expected: notice.expected.clone(),
            got: notice.got.clone(),
            assertion: notice.assertion.clone(),
            consequence: notice.consequence,
            policy: policy_name(desk.plan.engine.settings().policy).to_owned(),
            message: notice.sentence.clone(),
            rule: Some(notice.rule.name().to_owned()),
            ..VerdictReport::default()
        };
        self.scribe.tell_now(Report::Verdict(Box::new(report)));
    }

    fn end_report(&self, desk: &Desk, id: SessionId, end: &End) -> EndReport {
        EndReport {
            time: timestamp(SystemTime::now()),
            listener: format!("{}/{}", self.name, desk.plan.name),
            session: end.number,
            network_session: Some(id.to_string()),
            source: desk.plan.name.clone(),
            why: end.why.to_owned(),
            detail: None,
            messages: end.messages,
            violations: u64::from(end.violations),
            bytes_from_client: end.bytes[0],
            bytes_from_server: end.bytes[1],
            milliseconds: u64::try_from(end.lasted.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Begins no more sessions.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// How many sessions are under way, and letters not acknowledged.
    pub(crate) fn open(&self) -> usize {
        let sessions: usize = lock(&self.desks).iter().map(|desk| desk.roster.len()).sum();
        sessions + self.transport.get().map_or(0, |transport| usize::from(transport.unsent() > 0))
    }

    /// Stops at once.
    pub(crate) fn halt(&self) {
        self.stop.send_replace(true);
    }

    /// How the network stands as far as it is known here, with at most `most` sessions.
    pub(crate) fn describe(&self, most: usize) -> Vec<Value> {
        let now = Instant::now();
        let links = self.transport.get().map_or(Value::Null, |transport| transport.describe());
        let mut all: BTreeMap<SessionId, serde_json::Map<String, Value>> = BTreeMap::new();
        for desk in lock(&self.desks).iter() {
            for (id, view) in desk.roster.describe(most, now) {
                all.entry(id).or_default().insert(desk.plan.name.clone(), view);
            }
        }
        let session = |(id, roles): (SessionId, serde_json::Map<String, Value>)| json!({ "protocol": self.name, "session": id.to_string(), "roles": roles, "links": links });
        all.into_iter().take(most).map(session).collect()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn tallies(&self) -> Vec<Tally> {
        let tally = |desk: &Desk| Tally {
            role: desk.plan.name.clone(),
            open: desk.roster.len() as u64,
            begun: desk.roster.begun(),
            strays: desk.roster.strays,
            counts: desk.counts.clone(),
        };
        lock(&self.desks).iter().map(tally).collect()
    }
}

impl Desk {
    fn to(&self, id: SessionId, tell: impl FnOnce(&Outlet)) {
        if let Some(outlet) = self.outlets.get(&id) {
            tell(outlet);
        }
    }
}

impl Receiver for Office {
    fn letter(&self, from: Role, to: Role, letter: Bytes) {
        let Some(letter) = Letter::read(&letter) else {
            tracing::error!(protocol = self.name, "a letter from another monitor cannot be read");
            return;
        };
        let desk = {
            let mut desks = lock(&self.desks);
            let Some(at) = desks.iter().position(|desk| desk.plan.engine.role() == to) else { return };
            desks[at].counts.letters_in += 1;
            at
        };
        self.with(desk, |roster, now, out| roster.letter(from, letter, now, out));
    }

    fn lost(&self, peer: Role, why: &str) {
        for desk in self.all() {
            self.with(desk, |roster, now, out| roster.lost(peer, why, now, out));
        }
    }

    fn found(&self, peer: Role) {
        for desk in lock(&self.desks).iter_mut() {
            desk.roster.found(peer);
        }
    }
}
