//! One connection, from the moment it is taken to its last byte: admission, handshakes, relay, account.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use referee_monitor::Moment;
use referee_session::{Engine as _, SessionStore, SharedStore, TwoParty};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::clock;
use crate::config::{AtLimit, ProxyIn};
use crate::driver::{Driver, Outcome};
use crate::guard::{Listening, Version};
use crate::http_answer;
use crate::listen::Accepted;
use crate::live_session::{End, LiveSession};
use crate::metrics::{Counters, Meter, lock};
use crate::plan::{Plan, Upstream};
use crate::proxy_header;
use crate::report::{EndReason, Report};
use crate::source_limits::is_allowed;
use crate::stream::{Program, Socket, Source, Stream};
use crate::tls_records::TlsSocket;
use crate::worker::ThreadContext;

/// How long a client that is told that its server cannot be reached may take to ask, and to read that.
const GATEWAY_TIMEOUT: Duration = Duration::from_secs(2);

/// Carries the connection `accepted` of `listening` on the thread of `thread`.
pub(crate) async fn carry(thread: ThreadContext, listening: Arc<Listening>, accepted: Accepted) {
    let version = listening.version.load_full();
    let plan = Arc::clone(&version.plan);
    let Some(counters) = listening.counters.get(thread.number) else { return };
    let source = accepted.source;
    // With PROXY headers, who is connecting is only known after the header.
    let mut permit = match plan.proxy_in {
        ProxyIn::Off => match admit(&thread, &listening, &plan, counters, source.ip()) {
            Some(permit) => Some(permit),
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
        permit = admit(&thread, &listening, &plan, counters, source.ip());
    }
    let Some(permit) = permit else { return };
    let id = thread.shared.next_session();
    counters.opened.add(1);
    let mut account = Account::new(&thread, &version, counters, permit, source.to_string(), id);
    let (began, earliest) = (Instant::now(), clock::now());
    let accepted = timeout(handshake, accept(&plan, socket)).await;
    let mut client = match accepted.unwrap_or(Err(Failure::HANDSHAKE_TIME)) {
        Ok(client) => client,
        Err(failure) => return account.finish(failure.why, failure.end()).await,
    };
    let connected = timeout(handshake.saturating_sub(began.elapsed()), connect(&plan, &source)).await;
    let server = match connected.unwrap_or(Err(Failure::HANDSHAKE_TIME)) {
        Ok(server) => server,
        Err(failure) => {
            // Before the answer, for that may take a while.
            account.finish(failure.why, failure.end()).await;
            if plan.rules.codec().has_requests() {
                let _ = timeout(GATEWAY_TIMEOUT, answer_for_server(&mut client, failure.why)).await;
            }
            return;
        }
    };
    account.converse(&listening, &version, [client, server], earliest).await;
}

/// Who is at the other end of standard input.
pub(crate) const STDIO: Source = Source { address: None, local: None };

/// Carries the session between `client`, this process's standard input and output, and `server`. Why it ended.
pub(crate) async fn carry_stdio(
    thread: ThreadContext,
    listening: Arc<Listening>,
    client: Stream,
    server: Result<Stream, Failure>,
) -> EndReason {
    let version = listening.version.load_full();
    let Some(counters) = listening.counters.get(thread.number) else { return EndReason::Fault };
    listening.open.fetch_add(1, Ordering::Relaxed);
    thread.worker.load.fetch_add(1, Ordering::Relaxed);
    let listening_for = Arc::clone(&listening);
    let permit =
        ConnectionPermit { thread: thread.clone(), listening: listening_for, ip: None, unchecked: false };
    let id = thread.shared.next_session();
    counters.opened.add(1);
    let mut account = Account::new(&thread, &version, counters, permit, "stdio".to_owned(), id);
    match server {
        Ok(server) => account.converse(&listening, &version, [client, server], clock::now()).await,
        Err(failure) => {
            account.finish(failure.why, failure.end()).await;
            failure.why
        }
    }
}

/// A connection's permit, one of those of its listener; given back when dropped.
struct ConnectionPermit {
    thread: ThreadContext,
    listening: Arc<Listening>,
    ip: Option<IpAddr>,
    /// Beyond the limits: passed on without being looked at.
    unchecked: bool,
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.listening.open.fetch_sub(1, Ordering::Relaxed);
        self.thread.worker.load.fetch_sub(1, Ordering::Relaxed);
        if let Some(ip) = self.ip {
            self.listening.sources.leave(ip);
        }
    }
}

fn admit(
    thread: &ThreadContext,
    listening: &Arc<Listening>,
    plan: &Plan,
    counters: &Counters,
    ip: Option<IpAddr>,
) -> Option<ConnectionPermit> {
    if !is_allowed(plan.allow.as_deref(), ip) {
        counters.note_refused("source");
        return None;
    }
    let limited = plan.limits.connections_per_source < usize::MAX;
    let ip = ip.filter(|_| limited);
    let others = listening.open.fetch_add(1, Ordering::Relaxed);
    thread.worker.load.fetch_add(1, Ordering::Relaxed);
    let mut full = (others >= plan.limits.connections).then_some("connections");
    if ip.is_some_and(|ip| !listening.sources.enter(ip, plan.limits.connections_per_source, true)) {
        full = Some("connections-per-source");
    }
    let permit = ConnectionPermit {
        thread: thread.clone(),
        listening: Arc::clone(listening),
        ip,
        unchecked: full.is_some(),
    };
    match (full, plan.at_limit) {
        (Some(why), AtLimit::Closed) => {
            counters.note_refused(why);
            None
        }
        _ => Some(permit),
    }
}

/// Why a session does not come about.
pub(crate) struct Failure {
    why: EndReason,
    error: Option<io::Error>,
}

impl Failure {
    const HANDSHAKE_TIME: Self = Self { why: EndReason::HandshakeTime, error: None };

    pub(crate) fn new(why: EndReason) -> impl FnOnce(io::Error) -> Self {
        move |error| Self { why, error: Some(error) }
    }

    fn end(&self) -> End {
        End { detail: self.error.as_ref().map(ToString::to_string), ..End::default() }
    }
}

/// TLS with the client.
async fn accept(plan: &Plan, socket: Socket) -> Result<Stream, Failure> {
    let Some(acceptor) = &plan.tls else { return Ok(Stream::Plain(socket)) };
    let stream = acceptor.accept(TlsSocket::new(socket)).await.map_err(Failure::new(EndReason::TlsClient))?;
    Ok(Stream::TlsServer(Box::new(stream)))
}

/// The way to the server.
pub(crate) async fn connect(plan: &Plan, source: &Source) -> Result<Stream, Failure> {
    let failed = Failure::new;
    let mut socket = match &plan.upstream {
        Upstream::Command(command) => {
            let program = Program::start(command).map_err(failed(EndReason::Upstream))?;
            return Ok(Stream::Program(Box::new(program)));
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
            let stream = connector
                .connect(name.clone(), TlsSocket::new(socket))
                .await
                .map_err(failed(EndReason::TlsUpstream))?;
            Stream::TlsClient(Box::new(stream))
        }
    };
    Ok(server)
}

/// Answers the first request of an HTTP client whose server cannot be reached: without an answer it could not tell that from a broken
/// network.
async fn answer_for_server(client: &mut Stream, why: EndReason) -> io::Result<()> {
    let status = if why == EndReason::HandshakeTime { "504 Gateway Timeout" } else { "502 Bad Gateway" };
    if client.read(&mut [0; 4096]).await? > 0 {
        http_answer::answer(client, status, "the server cannot be reached").await?;
    }
    Ok(())
}

/// A session's entry in the list of live ones, and its report when it is over.
struct Account {
    session: Arc<LiveSession>,
    permit: ConnectionPermit,
    counters: Arc<Counters>,
    is_reported: bool,
}

impl Account {
    fn new(
        thread: &ThreadContext,
        version: &Version,
        counters: &Arc<Counters>,
        permit: ConnectionPermit,
        source: String,
        id: u64,
    ) -> Self {
        let store = version.sessions.clone().map(|sessions| sessions as Arc<dyn SessionStore>);
        let shared = version.shared.clone().map(|shared| shared as Arc<dyn SharedStore>);
        let mut engine = TwoParty::new(&version.plan.rules, store).sharing(shared);
        if permit.unchecked {
            engine.stop_inspecting("the guard was at a limit");
        }
        let session = LiveSession::new(id, source, &version.plan, engine, counters);
        let session = Arc::new(session);
        lock(&thread.worker.sessions).insert(id, Arc::clone(&session));
        Self { session, permit, counters: Arc::clone(counters), is_reported: false }
    }

    /// Carries the session between `ends` and reports its end, whose reason is the result. It did not begin before `earliest`.
    async fn converse(
        &mut self,
        listening: &Listening,
        version: &Version,
        ends: [Stream; 2],
        earliest: i64,
    ) -> EndReason {
        let plan = &version.plan;
        let sink = self.permit.thread.shared.sink.clone();
        let session = Arc::clone(&self.session);
        let meter = Meter::new(&self.counters, &version.messages, self.permit.thread.number);
        // Both sides count from here: from when the client was accepted to when the server was connected to.
        let began = Moment { earliest, latest: clock::now() };
        let timed_properties = {
            let mut engine = lock(&session.engine);
            engine.begin(began, clock::epoch());
            engine.has_timed_properties()
        };
        let driver = Driver::new(
            Arc::clone(&session.engine),
            ends,
            (meter, Arc::clone(&session.gauges)),
            plan.driver_options(),
        )
        .began(began);
        let driver = if timed_properties { driver.with_pulse() } else { driver };
        let draining = listening.stopped.subscribe();
        let span =
            tracing::debug_span!("session", listener = plan.name, id = session.id, source = session.source);
        let outcome = driver.run(draining, |verdicts| sink.emit(session.reports(verdicts)));
        let Outcome { why, bytes, discarded, error } = outcome.instrument(span).await;
        let detail = error
            .map(|(who, error)| format!("the connection with {}: {error}", plan.rules.roles()[who.index()]));
        self.finish(why, End { bytes, discarded, detail }).await;
        why
    }

    async fn finish(&mut self, why: EndReason, end: End) {
        self.is_reported = true;
        let reports = self.reports(why, end);
        self.permit.thread.shared.sink.emit(reports).await;
    }

    /// What there is to report, the end last.
    fn reports(&self, why: EndReason, end: End) -> Vec<Report> {
        self.counters.note_closed(why);
        let (end, mut reports) = self.session.end(why, end);
        let is_unusual = end.detail.is_some() || end.violations > 0;
        if self.permit.thread.shared.sink.wants_ends() || is_unusual {
            reports.push(Report::SessionEnd(Box::new(end)));
        }
        reports
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        lock(&self.permit.thread.worker.sessions).remove(&self.session.id);
        if !self.is_reported {
            // The thread stops while the session is under way.
            for report in self.reports(EndReason::Drained, End::default()) {
                self.permit.thread.shared.sink.emit_blocking(report);
            }
        }
    }
}
