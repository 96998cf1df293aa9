//! One connection, from the moment it is taken to its last byte: admission, handshakes, relay, account.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::config::{AtLimit, ProxyIn};
use crate::guard::{Listening, Version};
use crate::judge::Judge;
use crate::listen::Accepted;
use crate::metrics::{Counters, lock};
use crate::plan::{Plan, Upstream};
use crate::proxy_header;
use crate::relay::Relay;
use crate::report::{EndReason, EndRecord, Report, timestamp};
use crate::stream::{Program, Socket, Source, Stream};
use crate::worker::Seat;

/// Carries the connection `accepted` of `listening` on the thread of `seat`.
pub(crate) async fn carry(seat: Seat, listening: Arc<Listening>, accepted: Accepted) {
    let version = listening.version.load_full();
    let plan = Arc::clone(&version.plan);
    let Some(counters) = listening.counters.get(seat.number) else { return };
    let source = accepted.source;
    // With PROXY headers, who is connecting is only known after the header.
    let mut place = match plan.proxy_in {
        ProxyIn::Off => match admit(&seat, &listening, &plan, counters, source.ip()) {
            Some(place) => Some(place),
            None => return,
        },
        ProxyIn::Required => None,
    };
    let Ok((mut socket, mut source)) = accepted.open() else { return };
    let handshake = plan.limits.handshake.0.unwrap_or(Duration::MAX);
    if plan.proxy_in == ProxyIn::Required {
        match timeout(handshake, proxy_header::read(&mut socket)).await {
            Ok(Ok(Some(real))) => source = real,
            Ok(Ok(None)) => {}
            Ok(Err(_)) | Err(_) => return counters.note_refused("proxy-header"),
        }
        place = admit(&seat, &listening, &plan, counters, source.ip());
    }
    let Some(place) = place else { return };
    let id = seat.shared.next_session();
    counters.opened.add(1);
    let mut account = Account::new(&seat, &version, counters, place, source, id);
    let connected = timeout(handshake, connect(&plan, socket, &source)).await;
    let (client, server) = match connected {
        Ok(Ok(ends)) => ends,
        Ok(Err(Failure { why, error })) => return account.finish(why, [0; 2], Some(error.to_string())).await,
        Err(_) => return account.finish(EndReason::HandshakeTime, [0; 2], None).await,
    };
    let scribe = seat.shared.scribe.clone();
    let relay = Relay::new(Arc::clone(&account.judge), client, server);
    let outcome = relay.run(|reports| scribe.tell(reports)).await;
    account.finish(outcome.why, outcome.bytes, None).await;
}

/// A connection's place among those of its listener; gives it back when dropped.
struct Place {
    seat: Seat,
    listening: Arc<Listening>,
    ip: Option<IpAddr>,
    /// Beyond the limits: passed on without being looked at.
    unchecked: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.listening.open.fetch_sub(1, Ordering::Relaxed);
        self.seat.worker.load.fetch_sub(1, Ordering::Relaxed);
        if let Some(ip) = self.ip {
            let mut sources = lock(&self.listening.sources);
            if let Some(count) = sources.get_mut(&ip) {
                *count -= 1;
                if *count == 0 {
                    sources.remove(&ip);
                }
            }
        }
    }
}

fn admit(
    seat: &Seat,
    listening: &Arc<Listening>,
    plan: &Plan,
    counters: &Counters,
    ip: Option<IpAddr>,
) -> Option<Place> {
    if let (Some(networks), Some(ip)) = (&plan.allow, ip)
        && !networks.iter().any(|network| network.contains(ip))
    {
        counters.note_refused("source");
        return None;
    }
    let limited = plan.limits.connections_per_source < usize::MAX;
    let ip = ip.filter(|_| limited);
    let others = listening.open.fetch_add(1, Ordering::Relaxed);
    seat.worker.load.fetch_add(1, Ordering::Relaxed);
    let mut full = (others >= plan.limits.connections).then_some("connections");
    if let Some(ip) = ip {
        let mut sources = lock(&listening.sources);
        let count = sources.entry(ip).or_insert(0);
        *count += 1;
        if *count > plan.limits.connections_per_source {
            full = Some("connections-per-source");
        }
    }
    let place = Place { seat: seat.clone(), listening: Arc::clone(listening), ip, unchecked: full.is_some() };
    match (full, plan.at_limit) {
        (Some(why), AtLimit::Closed) => {
            counters.note_refused(why);
            None
        }
        _ => Some(place),
    }
}

struct Failure {
    why: EndReason,
    error: io::Error,
}

/// TLS with the client, then the way to the server.
async fn connect(plan: &Plan, socket: Socket, source: &Source) -> Result<(Stream, Stream), Failure> {
    let client = match &plan.tls {
        None => Stream::Plain(socket),
        Some(acceptor) => match acceptor.accept(socket).await {
            Ok(stream) => Stream::TlsServer(Box::new(stream)),
            Err(error) => return Err(Failure { why: EndReason::TlsClient, error }),
        },
    };
    let failed = |why| move |error| Failure { why, error };
    let mut socket = match &plan.upstream {
        Upstream::Command(command) => {
            let program = Program::start(command).map_err(failed(EndReason::Upstream))?;
            return Ok((client, Stream::Program(Box::new(program))));
        }
        Upstream::Address(address) => Socket::connect(address).await.map_err(failed(EndReason::Upstream))?,
    };
    let header = proxy_header::write(plan.proxy_out, source);
    if !header.is_empty() {
        socket.write_all(&header).await.map_err(failed(EndReason::Upstream))?;
    }
    let server = match &plan.upstream_tls {
        None => Stream::Plain(socket),
        Some((connector, name)) => {
            let stream =
                connector.connect(name.clone(), socket).await.map_err(failed(EndReason::TlsUpstream))?;
            Stream::TlsClient(Box::new(stream))
        }
    };
    Ok((client, server))
}

/// A session's entry in the list of live ones, and its report when it is over.
struct Account {
    judge: Arc<Mutex<Judge>>,
    place: Place,
    counters: Arc<Counters>,
    id: u64,
    began: Instant,
    told: bool,
}

impl Account {
    fn new(
        seat: &Seat,
        version: &Version,
        counters: &Arc<Counters>,
        place: Place,
        source: Source,
        id: u64,
    ) -> Self {
        let mut judge = Judge::new(version, id, source.to_string(), counters, seat.number);
        if place.unchecked {
            judge.stop_inspecting("the guard was at a limit");
        }
        let judge = Arc::new(Mutex::new(judge));
        lock(&seat.worker.sessions).insert(id, Arc::clone(&judge));
        Self { judge, place, counters: Arc::clone(counters), id, began: Instant::now(), told: false }
    }

    async fn finish(&mut self, why: EndReason, bytes: [u64; 2], detail: Option<String>) {
        self.counters.note_closed(why);
        self.told = true;
        let (report, reports) = self.report(why, bytes, detail);
        let scribe = &self.place.seat.shared.scribe;
        scribe.tell(reports).await;
        if let Some(report) = report {
            scribe.tell(vec![report]).await;
        }
    }

    /// What there is to tell, and what the judge has not told yet.
    fn report(
        &self,
        why: EndReason,
        bytes: [u64; 2],
        detail: Option<String>,
    ) -> (Option<Report>, Vec<Report>) {
        let mut judge = lock(&self.judge);
        let reports = std::mem::take(&mut judge.reports);
        let unusual = detail.is_some() || judge.note.is_some() || judge.violations > 0;
        if !self.place.seat.shared.scribe.wants_ends && !unusual {
            return (None, reports);
        }
        let [bytes_from_client, bytes_from_server] = bytes;
        let report = EndRecord {
            time: timestamp(SystemTime::now()),
            listener: judge.plan.name.clone(),
            session: Some(self.id.to_string()),
            network_session: None,
            source: judge.source.clone(),
            why,
            detail: detail.or(judge.note.map(str::to_owned)),
            unchecked: !judge.is_inspecting(),
            messages: judge.judged,
            violations: judge.violations,
            bytes_from_client,
            bytes_from_server,
            milliseconds: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        (Some(Report::SessionEnd(Box::new(report))), reports)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        lock(&self.place.seat.worker.sessions).remove(&self.id);
        if !self.told {
            // The thread stops while the session is under way.
            self.counters.note_closed(EndReason::Drained);
            let (report, reports) = self.report(EndReason::Drained, [0; 2], None);
            for report in reports.into_iter().chain(report) {
                self.place.seat.shared.scribe.tell_now(report);
            }
        }
    }
}
