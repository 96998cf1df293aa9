//! A session from start to end: everyone is awaited, messages go through, and in the end everyone knows how it
//! went.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::{Method, StatusCode};
use referee_monitor::multiparty::Notice;
use referee_theory::{Role, Vocabulary};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::counter;
use super::courier::{Courier, Failure};
use super::envelope::Envelope;
use super::line::{Errand, Line};
use super::member::Member;
use super::station::{Order, Station};
use super::violation;
use crate::metrics::lock;
use crate::multiparty::transport::random;

/// How long to wait before asking again whether somebody is there; it becomes longer, up to [`LOOKING`].
const ASKING: Duration = Duration::from_millis(50);
/// How often is looked whether somebody is still there.
const LOOKING: Duration = Duration::from_millis(250);
/// RelaMon's monitors say that they are there before they have seen everyone else, and lose what they are sent until then.
const FOREIGN: Duration = Duration::from_millis(500);
/// How long what was overtaken may take. Only RelaMon's monitors post without waiting for the answer before.
const OVERTAKEN: Duration = Duration::from_millis(500);
/// A session that is over is kept for this long, in case somebody does not know that it is.
const LINGERING: Duration = Duration::from_secs(2);
/// How long to try to tell somebody of a violation. On a busy machine an answer can take more than a second, and whoever
/// is given up too soon never knows.
const TELLING: Duration = Duration::from_secs(10);

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
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
    /// What other monitors are told: the role, and which process this is.
    own: HeaderValue,
    pub(super) process: HeaderValue,
    /// By role: which process its monitor is, of those that say so.
    processes: Mutex<Vec<Option<HeaderValue>>>,
    station: Mutex<Station>,
    /// Told when something was taken.
    room: Notify,
    /// Whether the component is up.
    pub(super) alive: AtomicBool,
    component: Line,
    monitors: Vec<Option<Line>>,
    ending: watch::Sender<Option<Ending>>,
    /// Those who are being told of a violation.
    telling: Mutex<JoinSet<()>>,
}

/// Runs the monitors of `members` until their sessions end; `started` hears where they listen. The worst ending is
/// the answer.
///
/// # Errors
/// One of them cannot listen.
pub fn run(members: Vec<Member>, started: &dyn Fn(&[String])) -> io::Result<Ending> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ending = runtime.block_on(async {
        let mut listeners = Vec::new();
        for member in &members {
            listeners.push(counter::bind(&member.listen).await?);
        }
        started(&members.iter().map(Member::in_words).collect::<Vec<_>>());
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut sessions = JoinSet::new();
        for (member, listener) in members.into_iter().zip(listeners) {
            sessions.spawn(session(member, listener));
        }
        let mut worst = Ending::Over;
        loop {
            tokio::select! {
                ended = sessions.join_next() => match ended {
                    Some(Ok(Ending::Over)) => {}
                    Some(_) => worst = Ending::Violated,
                    None => return Ok(worst),
                },
                _ = terminate.recv() => return Ok(Ending::Stopped),
                _ = interrupt.recv() => return Ok(Ending::Stopped),
            }
        }
    });
    runtime.shutdown_background();
    ending
}

/// What tells one process from another.
fn process() -> HeaderValue {
    random().map_or(0, u64::from_le_bytes).into()
}

async fn session(member: Member, listener: tokio::net::TcpListener) -> Ending {
    let mut couriers = Vec::new();
    let own = HeaderValue::from_str(&member.name).unwrap_or(HeaderValue::from_static(""));
    let process = process();
    let mut line = |place: &str| {
        let courier = Courier::new(place);
        let (line, errands) = Line::new(&courier, place);
        couriers.push((courier, errands));
        line
    };
    let component = line(&member.component);
    let monitors: Vec<_> = member.monitors.iter().map(|place| place.as_deref().map(&mut line)).collect();
    let shared = Arc::new(Shared {
        name: member.name,
        own,
        process,
        processes: Mutex::new(vec![None; monitors.len()]),
        station: Mutex::new(member.station),
        room: Notify::new(),
        alive: AtomicBool::new(false),
        component,
        monitors,
        ending: watch::Sender::new(None),
        telling: Mutex::default(),
    });
    // Everything that belongs to the session ends with it.
    let mut tasks = JoinSet::new();
    tasks.spawn(counter::serve(listener, Arc::clone(&shared)));
    let mut couriers = couriers.into_iter();
    if let Some((courier, errands)) = couriers.next() {
        tasks.spawn(to_component(Arc::clone(&shared), courier, errands));
    }
    let roles: Vec<Role> = lock(&shared.station).vocabulary().roles().collect();
    let peers = roles.into_iter().filter(|role| shared.monitors[role.index()].is_some());
    for (role, (courier, errands)) in peers.zip(couriers) {
        tasks.spawn(to_monitor(Arc::clone(&shared), role, courier, errands));
        tasks.spawn(Arc::clone(&shared).mind(role));
    }
    let mut ending = shared.ending.subscribe();
    let ended = tokio::select! {
        ended = ending.wait_for(Option::is_some) => ended.ok().and_then(|ended| *ended),
        ended = shared.attend() => Some(ended),
    };
    let mut telling = std::mem::take(&mut *lock(&shared.telling));
    while telling.join_next().await.is_some() {}
    ended.unwrap_or(Ending::Violated)
}

/// Waits for everyone, tells the component to begin, and then gives it its messages.
async fn to_component(
    shared: Arc<Shared>,
    mut courier: Courier,
    mut errands: mpsc::UnboundedReceiver<Errand>,
) {
    let silent = || tracing::warn!(role = shared.name, "the component does not answer");
    await_alive(&mut courier).await;
    shared.alive.store(true, Ordering::Relaxed);
    let mut foreign = false;
    let roles: Vec<Role> = lock(&shared.station).vocabulary().roles().collect();
    for (role, line) in roles.into_iter().zip(&shared.monitors) {
        let Some(line) = line else { continue };
        let mut courier = shared.courier(&line.place);
        await_alive(&mut courier).await;
        if courier.process.is_none() {
            line.mark_foreign();
            lock(&shared.station).mark_foreign(role);
            foreign = true;
        }
    }
    if foreign {
        tokio::time::sleep(FOREIGN).await;
    }
    lock(&shared.station).summon();
    let go = courier.call(Method::POST, "/api/alive", Bytes::new(), silent).await;
    if !shared.judge_delivery(go) {
        return;
    }
    tracing::info!(role = shared.name, "everyone is there: the component was told to begin");
    shared.with_station(Station::start);
    while let Some(errand) = errands.recv().await {
        let answer = courier.call(Method::POST, "/", errand.turn().await, silent).await;
        if !shared.judge_delivery(answer) {
            return;
        }
        shared.with_station(Station::delivered);
    }
}

async fn to_monitor(
    shared: Arc<Shared>,
    peer: Role,
    mut courier: Courier,
    mut errands: mpsc::UnboundedReceiver<Errand>,
) {
    let name = lock(&shared.station).vocabulary().role_name(peer).to_owned();
    let silent = || tracing::warn!(role = shared.name, peer = name, "the other monitor does not answer");
    while let Some(errand) = errands.recv().await {
        match courier.call(Method::POST, "/", errand.turn().await, silent).await {
            Ok(status) if status.is_success() => {}
            Ok(status) => {
                tracing::warn!(role = shared.name, peer = name, %status, "the other monitor refused a message");
            }
            Err(failure) => {
                tracing::warn!(role = shared.name, peer = name, %failure, "the other monitor is lost");
                shared.with_station(|station| station.monitor_gone(peer));
                return;
            }
        }
        if let Some(Some(line)) = shared.monitors.get(peer.index()) {
            line.answered();
        }
        lock(&shared.station).sent();
        shared.room.notify_waiters();
    }
}

async fn await_alive(courier: &mut Courier) {
    let mut pause = ASKING;
    loop {
        let asked = courier.call(Method::GET, "/api/alive", Bytes::new(), || {}).await;
        if asked.is_ok_and(|status| status.is_success()) {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LOOKING);
    }
}

impl Shared {
    pub(super) fn describe(&self) -> Value {
        lock(&self.station).describe()
    }

    /// Takes a body once there is room for it.
    pub(super) async fn take(&self, envelope: Envelope) {
        loop {
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            if lock(&self.station).has_room(&envelope.sender) {
                break;
            }
            room.await;
        }
        self.with_station(|station| station.take(envelope));
        if lock(&self.station).is_puzzled() {
            tokio::time::sleep(OVERTAKEN).await;
            self.with_station(Station::insist);
        }
    }

    pub(super) fn stray(&self, why: String) {
        self.with_station(|station| station.stray(why));
    }

    pub(super) fn told(&self, read: impl FnOnce(Role, &Vocabulary) -> Notice) {
        self.with_station(|station| {
            let notice = read(station.role(), station.vocabulary());
            station.told(&notice)
        });
    }

    /// Whether the component took what it was given.
    fn judge_delivery(&self, answer: Result<StatusCode, Failure>) -> bool {
        match answer {
            Ok(status) if status.is_success() => return true,
            Ok(status) => tracing::warn!(role = self.name, %status, "the component failed"),
            Err(failure) => tracing::warn!(role = self.name, %failure, "the component is lost"),
        }
        self.with_station(Station::component_gone);
        false
    }

    /// Looks after the component until the session is over: now and then while something happens, or while nothing
    /// tells when it goes; otherwise when that is told.
    async fn attend(&self) -> Ending {
        let mut over_since: Option<Instant> = None;
        let mut rest = LOOKING;
        loop {
            tokio::time::sleep(rest).await;
            rest = LOOKING;
            if !self.alive.load(Ordering::Relaxed) {
                continue;
            }
            let mut happened = std::pin::pin!(self.room.notified());
            happened.as_mut().enable();
            if self.component.is_gone().await {
                self.with_station(Station::component_gone);
            }
            let (over, finished) = {
                let station = lock(&self.station);
                (station.is_over(), station.is_finished())
            };
            // Also when the component has ended: others may still be asking whether everyone is there.
            match (over || finished, over_since) {
                (false, _) => over_since = None,
                (true, None) => over_since = Some(Instant::now()),
                (true, Some(since)) if since.elapsed() >= LINGERING => return Ending::Over,
                (true, Some(_)) => {}
            }
            if over_since.is_none() && self.component.is_connected() {
                tokio::select! {
                    () = happened => {}
                    () = self.component.parted() => rest = Duration::ZERO,
                }
            }
        }
    }

    /// Looks after the monitor of `peer`: a connection to it is held, which ends when it does.
    async fn mind(self: Arc<Self>, peer: Role) {
        let Some(Some(line)) = self.monitors.get(peer.index()) else { return };
        let mut courier = self.courier(&line.place);
        let mut refused = 0;
        loop {
            let mut happened = std::pin::pin!(self.room.notified());
            happened.as_mut().enable();
            let asked = courier.call(Method::GET, "/api/alive", Bytes::new(), || {}).await;
            match asked {
                Err(Failure::Refused) => refused += 1,
                Err(_) => refused = 0,
                Ok(_) => {
                    refused = 0;
                    if let Some(process) = &courier.process {
                        self.is_answered_by(peer, process);
                    }
                    let mut connections = courier.connections();
                    let _ = connections.wait_for(|count| *count == 0).await;
                    // At once: a process may have taken the place of another.
                    continue;
                }
            }
            // Seen twice: what it posted last has been taken by now.
            if refused >= 2 {
                if lock(&self.station).needs(peer) {
                    return self.with_station(|station| station.monitor_gone(peer));
                }
                happened.await;
            }
            tokio::time::sleep(LOOKING).await;
        }
    }

    fn courier(&self, place: &str) -> Courier {
        Courier::new(place).introducing(&self.own, &self.process)
    }

    /// Whether whoever asks as the monitor of `role` is who it was when the session began.
    pub(super) fn is_asked_by(&self, role: &str, process: &HeaderValue) -> bool {
        let role = lock(&self.station).vocabulary().find_role(role);
        role.is_some_and(|role| self.is_answered_by(role, process))
    }

    /// Notes that the monitor of `peer` is this process. One that takes the place of another knows nothing of a session
    /// that has begun, so that cannot go on.
    fn is_answered_by(&self, peer: Role, process: &HeaderValue) -> bool {
        let started = lock(&self.station).is_started();
        match lock(&self.processes).get_mut(peer.index()) {
            Some(Some(known)) if known != process && started => {}
            Some(known) => {
                *known = Some(process.clone());
                return true;
            }
            None => return false,
        }
        self.with_station(|station| station.monitor_anew(peer));
        false
    }

    /// Lets `step` happen and does what follows from it, in order.
    fn with_station(&self, step: impl FnOnce(&mut Station) -> Vec<Order>) {
        let mut station = lock(&self.station);
        for order in step(&mut station) {
            match order {
                Order::Component(body) => self.component.give(body, false, std::iter::empty()),
                Order::Inform(to, body) => self.post(to, body, true),
                Order::Monitor(to, body) => self.post(to, body, false),
                Order::Violated(notice) => self.violated(&notice, station.vocabulary(), true),
                Order::Told(notice) => self.violated(&notice, station.vocabulary(), false),
                Order::Finished => tracing::info!(role = self.name, "the component has ended, as it may"),
            }
        }
        drop(station);
        self.room.notify_waiters();
    }

    fn post(&self, to: Role, body: Bytes, is_dependency: bool) {
        if let Some(Some(line)) = self.monitors.get(to.index()) {
            line.give(body, is_dependency, self.monitors.iter().flatten());
        }
    }

    /// Tells the component, and everyone else if it was `found_here`. Not through the lines: somebody who does not
    /// answer must not keep the others from knowing.
    fn violated(&self, notice: &Notice, vocabulary: &Vocabulary, found_here: bool) {
        let said = violation::to_json(notice, vocabulary);
        let blamed: Vec<&str> = notice.blamed.iter().map(|role| vocabulary.role_name(*role)).collect();
        tracing::warn!(
            role = self.name,
            reporter = vocabulary.role_name(notice.reporter),
            verdict = if blamed.is_empty() { "fault" } else { "violation" },
            kind = notice.breach.name(),
            blame = blamed.join(", "),
            paper_rule = notice.rule.name(),
            expected = ?notice.expected,
            got = notice.got,
            "{}",
            notice.sentence
        );
        let body = Bytes::from(said.to_string());
        // On this wire whoever is told gives up. While the session goes on only those are told who know better.
        let processes = lock(&self.processes);
        let knows = |index: usize| notice.halted || processes.get(index).is_some_and(Option::is_some);
        let monitors = self.monitors.iter().enumerate().filter(|(index, _)| found_here && knows(*index));
        let monitors = monitors.filter_map(|(_, line)| line.as_ref()).map(|line| (line, LINGERING));
        let component = notice.halted.then_some((&self.component, Duration::ZERO));
        let mut telling = lock(&self.telling);
        // A monitor that is gone may be started anew, and then has a component that knows nothing.
        for (line, lingering) in monitors.chain(component) {
            let (mut courier, body, place) = (Courier::new(&line.place), body.clone(), line.place.clone());
            telling.spawn(async move {
                let began = Instant::now();
                let telling = async {
                    loop {
                        match courier.call(Method::POST, "/api/violation", body.clone(), || {}).await {
                            Ok(_) => return,
                            Err(Failure::Refused) if began.elapsed() >= lingering => return,
                            // To be told twice does no harm.
                            Err(_) => tokio::time::sleep(ASKING).await,
                        }
                    }
                };
                if tokio::time::timeout(TELLING, telling).await.is_err() {
                    tracing::warn!(place, "somebody could not be told of a violation");
                }
            });
        }
        if notice.halted {
            self.end(Ending::Violated);
        }
    }

    fn end(&self, ending: Ending) {
        self.ending.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert(ending);
            first
        });
    }
}
