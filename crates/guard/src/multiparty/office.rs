//! The office: all roles that this process monitors, their components' connections, the transport to the others, and
//! the thread on which all this happens.

mod arrivals;

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
use tokio::sync::{Notify, oneshot, watch};

use super::complaints::Complaints;
use super::component::Outlet;
use super::diary::{Change, Diary};
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

/// How long a process that ends takes to tell so.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often it looks whether everyone knows.
const PAUSE: Duration = Duration::from_millis(5);

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
    /// What is told of components that are turned away.
    turned_away: Complaints,
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
    /// The monitors of other roles in other processes, and whether they are reached.
    pub(crate) links: Vec<(String, bool)>,
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
    /// What survives a kill.
    diary: Option<Arc<Diary>>,
    scribe: Scribe,
    connections: AtomicUsize,
    /// Components that are in a session.
    pub(super) attending: AtomicUsize,
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
        let diary = match (&plan.state, &plan.carrier) {
            (Some((folder, force)), Some(Carrier::Nats(nats))) => {
                let diary = Diary::open(folder, &nats.token, *force).map_err(|error| {
                    io::Error::new(error.kind(), format!("the state in `{}`: {error}", folder.display()))
                });
                Some(diary?)
            }
            _ => None,
        };
        let desk = |plan: &Arc<RolePlan>| Desk {
            plan: Arc::clone(plan),
            roster: Roster::new(Arc::clone(plan)),
            outlets: AHashMap::new(),
            waiting: VecDeque::new(),
            invited: VecDeque::new(),
            counts: Counts::default(),
            turned_away: Complaints::default(),
        };
        let office = Arc::new_cyclic(|own: &Weak<Self>| Self {
            name: plan.name.clone(),
            places,
            desks: Mutex::new(plan.roles.iter().map(desk).collect()),
            transport: OnceLock::new(),
            diary,
            scribe,
            connections: AtomicUsize::new(0),
            attending: AtomicUsize::new(0),
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
            (Some(Carrier::Nats(plan)), _) => Some(Nats::start(&plan, receiver, self.diary.clone())?),
            _ => None,
        };
        if let Some(transport) = transport {
            let _ = self.transport.set(transport);
        }
        self.remember();
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
                _ = stopped.wait_for(|stopped| *stopped) => break,
                () = due => {}
            }
        }
        // What is remembered goes on in another process.
        if self.diary.is_none() {
            let _ = tokio::time::timeout(FAREWELL, self.leave()).await;
        }
        Ok(())
    }

    /// Tells everyone that this process ends, and with it their sessions.
    async fn leave(&self) {
        for desk in self.all() {
            self.with(desk, Roster::leave);
        }
        let unsent = || self.transport.get().map_or(0, |transport| transport.unsent());
        while unsent() > 0 || self.attending.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(PAUSE).await;
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

    /// Takes up the sessions of the process before this one.
    fn remember(&self) {
        let Some(diary) = &self.diary else { return };
        let seats = diary.recall(|memory| memory.seats.clone());
        if !seats.is_empty() {
            tracing::info!(protocol = self.name, sessions = seats.len(), "goes on with what is remembered");
        }
        for ((role, id), kept) in seats {
            let at = lock(&self.desks).iter().position(|desk| desk.plan.engine.role().0 == role);
            match at {
                Some(desk) => self.with(desk, |roster, now, out| {
                    roster.restore(id, &kept.seat, kept.given, now, out);
                }),
                None => diary.note(Change::Over((role, id))),
            }
        }
        diary.commit();
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

    /// So many messages, of so many bytes, were written to the component.
    pub(super) fn delivered(&self, desk: usize, id: SessionId, written: (u32, usize)) {
        self.with(desk, |roster, now, out| roster.delivered(id, written, now, out));
    }

    /// Whether the component, which sends nothing more, is to be given what comes.
    pub(super) fn hushes(&self, desk: usize, id: SessionId) -> bool {
        let mut stays = false;
        self.with(desk, |roster, now, out| stays = roster.hushes(id, now, out));
        stays
    }

    /// The component sends nothing more after `last`, which has to wait.
    pub(super) fn hushes_after(&self, desk: usize, id: SessionId, last: &Parcel) {
        self.with(desk, |roster, now, out| roster.hushes_after(id, last, now, out));
    }

    pub(super) fn component_gone(&self, desk: usize, id: SessionId) {
        lock(&self.desks)[desk].outlets.remove(&id);
        self.with(desk, |roster, now, out| roster.component_gone(id, now, out));
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
            self.write_down(&mut desks);
        }
        for (desk, id) in sought {
            self.seek(desk, id);
        }
        if self.asleep.swap(false, Ordering::Relaxed) {
            self.roused.notify_one();
        }
    }

    /// What has happened is remembered before anything of it leaves the process.
    fn write_down(&self, desks: &mut [Desk]) {
        for desk in desks {
            let mut changed = std::mem::take(&mut desk.roster.changed);
            if let Some(diary) = &self.diary {
                changed.sort_unstable();
                changed.dedup();
                for id in changed.drain(..) {
                    let at = (desk.plan.engine.role().0, id);
                    diary.note(match desk.roster.save(id) {
                        Some((kept, bytes)) => Change::Seat { at, kept, bytes },
                        None => Change::Over(at),
                    });
                }
            }
            changed.clear();
            desk.roster.changed = changed;
        }
        if let Some(diary) = &self.diary {
            diary.commit();
        }
    }

    fn perform(&self, desk: &mut Desk, order: Order) {
        match order {
            Order::Deliver(id, bytes) => {
                if let Some(diary) = self.diary.as_ref().filter(|_| desk.plan.resumes) {
                    diary.note(Change::Given { at: (desk.plan.engine.role().0, id), bytes: bytes.clone() });
                }
                desk.to(id, |outlet| outlet.deliver(bytes));
            }
            Order::Again(id, bytes) => desk.to(id, |outlet| outlet.deliver(bytes)),
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
            unchecked: false,
            messages: end.messages,
            violations: u64::from(end.violations),
            bytes_from_client: end.bytes[0],
            bytes_from_server: end.bytes[1],
            milliseconds: u64::try_from(end.lasted.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Begins no more sessions.
    pub(crate) fn drain(&self) {
        for desk in lock(&self.desks).iter_mut() {
            desk.roster.draining = true;
        }
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
        let links = self.transport.get().map_or(Value::Null, |transport| transport.describe());
        let links = links.as_array().map_or(&[][..], Vec::as_slice);
        let tally = |desk: &Desk| Tally {
            role: desk.plan.name.clone(),
            links: links
                .iter()
                .filter(|link| link["from"] == desk.plan.name)
                .filter_map(|link| Some((link["to"].as_str()?.to_owned(), link["connected"].as_bool()?)))
                .collect(),
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
