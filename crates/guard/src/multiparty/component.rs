//! A component's connection for one session: the same driver as between two parties, with the network as its other side.

mod network_stream;
mod queue;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use referee_monitor::Moment;
use referee_monitor::multiparty::{ArrivalTimes, Effect, Engine, Run};
use referee_session::role::payload::Payload;
use referee_session::{Arrival, Offer, RoleEngine, RoleHost, ServiceClose};
use referee_verdict::EndReason;
use referee_wire::Sender;
use tokio::sync::Notify;
use tracing::Instrument as _;

use super::peer_message::SessionId;
use super::plan::{Endpoint, EndpointPlan, RolePlan};
use super::role_session::Given;
use super::runtime::Runtime;
use super::trace_context::TraceContext;
use crate::clock;
use crate::driver::{Driver, DriverOptions};
use crate::metrics::lock;
use crate::stream::Stream;
pub(crate) use network_stream::NetworkStream;
pub(super) use queue::ComponentQueue;

/// How long a component may take to read the close message.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes that are read ahead from a component that waits for a session.
pub(super) const MAX_READ_AHEAD_BYTES: usize = 64 << 10;

/// A connection of a component, and the bytes read from it so far.
pub(super) struct IncomingComponent {
    pub(super) stream: Stream,
    pub(super) unread: Vec<u8>,
}

/// The session of a component's connection.
pub(super) struct ComponentLink {
    runtime: Arc<Runtime>,
    slot: usize,
    /// The number of the component's endpoint.
    endpoint: usize,
    id: SessionId,
    plan: Arc<RolePlan>,
    queue: Arc<ComponentQueue>,
    call: Call,
}

/// The one exchange of a connection at a further endpoint where the component connects.
#[derive(Default)]
struct Call {
    is_asked: AtomicBool,
    is_answered: AtomicBool,
    /// Something else is said on the connection, which is to be cut.
    cut: Notify,
}

/// Serves the component of session `id` of the role at `slot` until its connection ends.
pub(super) async fn serve_component(
    runtime: Arc<Runtime>,
    slot: usize,
    id: SessionId,
    incoming: IncomingComponent,
    queue: Arc<ComponentQueue>,
) {
    let link = ComponentLink::new(runtime, slot, 0, id, queue);
    link.counted(link.serve(incoming)).await;
    link.runtime.component_gone(slot, id);
    link.runtime.forget_component(slot, id);
}

/// Calls the component of session `id` at a further endpoint, once there is something to say there.
pub(super) async fn serve_service(
    runtime: Arc<Runtime>,
    slot: usize,
    endpoint: usize,
    id: SessionId,
    queue: Arc<ComponentQueue>,
) {
    if !queue.has_output().await {
        return;
    }
    let link = ComponentLink::new(runtime, slot, endpoint, id, queue);
    match link.connect().await {
        Ok(incoming) => link.counted(link.serve(incoming)).await,
        Err(error) => {
            link.fault(format!("the component of `{}` cannot be reached: {error}", link.endpoint().name));
        }
    }
    if !link.queue.is_closed() {
        link.runtime.component_gone(slot, id);
    }
}

/// Serves one request of the component of session `id` at a further endpoint.
pub(super) async fn serve_call(
    runtime: Arc<Runtime>,
    slot: usize,
    endpoint: usize,
    id: SessionId,
    incoming: IncomingComponent,
    queue: Arc<ComponentQueue>,
) {
    queue.attach();
    let link = ComponentLink::new(runtime, slot, endpoint, id, queue);
    let host: Arc<dyn RoleHost> = Arc::clone(&link) as _;
    let engine = Arc::new(Mutex::new(RoleEngine::new(&link.endpoint().rules, host)));
    let served = async {
        tokio::select! {
            () = link.drive(&engine, incoming) => {}
            () = link.queue.close_timed_out() => {}
            () = link.call.cut.notified() => tracing::debug!("something else was asked on the same connection"),
        }
    };
    link.counted(served).await;
    link.queue.pause();
    link.delivered(link.queue.take_handed());
    let is_open =
        |call: &Call| call.is_asked.load(Ordering::Relaxed) && !call.is_answered.load(Ordering::Relaxed);
    if is_open(&link.call) && !link.queue.is_closed() {
        let name = &link.endpoint().name;
        link.fault(format!("the component of `{name}` closed its connection before the answer"));
    }
}

impl ComponentLink {
    fn new(
        runtime: Arc<Runtime>,
        slot: usize,
        endpoint: usize,
        id: SessionId,
        queue: Arc<ComponentQueue>,
    ) -> Arc<Self> {
        let plan = runtime.plan(slot);
        Arc::new(Self { runtime, slot, endpoint, id, plan, queue, call: Call::default() })
    }

    fn endpoint(&self) -> &EndpointPlan {
        self.plan.endpoint(self.endpoint)
    }

    /// Whether each connection is one exchange, which the component begins.
    fn is_call(&self) -> bool {
        self.endpoint > 0 && matches!(self.endpoint().endpoint, Endpoint::Listen(_))
    }

    /// Serves a connection, which counts as open meanwhile.
    async fn counted(&self, served: impl Future<Output = ()>) {
        let span = tracing::debug_span!("session", role = self.endpoint().name, network_session = %self.id);
        self.runtime.connected_components.fetch_add(1, Ordering::Relaxed);
        served.instrument(span).await;
        self.runtime.connected_components.fetch_sub(1, Ordering::Relaxed);
    }

    async fn serve(self: &Arc<Self>, incoming: IncomingComponent) {
        let host: Arc<dyn RoleHost> = Arc::clone(self) as _;
        let engine = Arc::new(Mutex::new(RoleEngine::new(&self.endpoint().rules, host)));
        let mut next = Some(incoming);
        while let Some(incoming) = next {
            let driver = self.drive(&engine, incoming);
            tokio::select! {
                () = driver => {}
                () = self.queue.close_timed_out() => return,
            }
            next = self.reconnect(&engine).await;
        }
    }

    /// Connects to the component.
    async fn connect(&self) -> io::Result<IncomingComponent> {
        let EndpointPlan { endpoint, setup, .. } = self.endpoint();
        let Endpoint::Connect(address) = endpoint else { return Err(io::ErrorKind::NotFound.into()) };
        let stream = tokio::time::timeout(self.plan.handshake, setup.connect(address)).await??;
        Ok(IncomingComponent { stream, unread: Vec::new() })
    }

    /// Carries one connection to its end.
    async fn drive(self: &Arc<Self>, engine: &Arc<Mutex<RoleEngine>>, incoming: IncomingComponent) {
        let IncomingComponent { stream, unread } = incoming;
        let network = Stream::Network(NetworkStream::new(Arc::clone(self)));
        let side = self.endpoint().rules.side;
        let streams = match side {
            Sender::Client => [stream, network],
            Sender::Server => [network, stream],
        };
        let options = DriverOptions {
            observe: false,
            salvage: true,
            max_buffer: usize::MAX,
            max_message: self.endpoint().rules.max_message,
            idle: None,
            total: None,
        };
        let meter = self.runtime.meter(self.slot, self.endpoint);
        // Since when it is connected does not matter: the session counts from when everyone had joined.
        let now = clock::now();
        let driver = Driver::new(Arc::clone(engine), streams, (meter, Arc::default()), options);
        let mut driver = driver.began(Moment { earliest: i64::MIN, latest: now });
        driver.preload(side, unread);
        let outcome = driver.run(self.runtime.stopping(), |_| self.runtime.has_room_for_reports()).await;
        tracing::debug!(why = %outcome.why, error = ?outcome.error, "the component's connection ended");
    }

    /// Connects again to a service that closed its connection between exchanges; `None` if it is gone.
    async fn reconnect(&self, engine: &Mutex<RoleEngine>) -> Option<IncomingComponent> {
        if matches!(self.endpoint().endpoint, Endpoint::Listen(_)) || self.queue.is_closed() {
            return None;
        }
        let closed = lock(engine).service_close()?;
        match closed {
            // Reconnect at once to see whether it is still there; but not to a service that closes unused connections.
            ServiceClose::Idle { used: true } | ServiceClose::Crossed => {}
            ServiceClose::Idle { used: false } => {
                if !self.queue.has_output().await {
                    return None;
                }
            }
            ServiceClose::Unknown => {
                let name = &self.endpoint().name;
                self.fault(format!("`{name}` closed its connection while a request was on its way"));
                return None;
            }
            ServiceClose::Gone => return None,
        }
        let incoming = self.connect().await.ok()?;
        let written = self.queue.repeat(lock(engine).reconnect());
        self.delivered(written);
        Some(incoming)
    }

    /// Changes what is known of the times of the session.
    fn with_times(
        &self,
        act: impl FnOnce(&Engine, &mut Run<Payload>, &mut Given, &mut dyn FnMut(Effect<Payload>)),
    ) {
        self.runtime.with_times(self.slot, self.id, act);
    }

    /// So many messages and bytes were written to the component.
    fn delivered(&self, written: (u32, usize)) {
        if written.0 > 0 {
            self.runtime.delivered(self.slot, self.id, written);
            if self.is_call() {
                self.call.is_answered.store(true, Ordering::Relaxed);
                self.queue.half_close();
            }
        }
    }
}

impl RoleHost for ComponentLink {
    fn offer(&self, payload: Payload) -> Offer {
        if self.is_call() {
            // A client that keeps connections may ask in another session what was answered in this one.
            let named = TraceContext::of_request(&payload.bytes).map(|context| context.trace());
            let is_other = named.is_some() && named != self.runtime.trace(self.slot, self.id);
            if is_other || self.call.is_answered.load(Ordering::Relaxed) {
                self.call.cut.notify_one();
                return Offer::Over;
            }
            self.call.is_asked.store(true, Ordering::Relaxed);
        }
        self.runtime.offer(self.slot, self.id, self.endpoint, payload)
    }

    fn take_wake(&self) -> bool {
        self.queue.take_wake()
    }

    fn is_congested(&self) -> bool {
        self.runtime.is_full_of_reports()
    }

    fn half_close(&self) -> bool {
        // One call is over, and not what the component has to say.
        self.is_call() || self.runtime.half_close(self.slot, self.id)
    }

    fn half_close_after(&self, last: &Payload) {
        if !self.is_call() {
            self.runtime.half_close_after(self.slot, self.id, last);
        }
    }

    fn fault(&self, sentence: String) {
        self.runtime.fault(self.slot, self.id, sentence);
    }

    fn take_outgoing(&self) -> Vec<Bytes> {
        self.queue.take_outgoing()
    }

    fn pause(&self) {
        self.queue.pause();
        if self.is_timed() {
            self.with_times(|engine, run, _, _| engine.forget_times(run));
        }
    }

    fn is_timed(&self) -> bool {
        self.plan.judges_times()
    }

    fn note_arrival(&self, arrival: Arrival) {
        let arrival = ArrivalTimes { first: arrival.first, last: arrival.any };
        self.with_times(|engine, run, _, _| engine.note_offer(run, arrival));
    }

    fn note_handed(&self, end: u64, moment: Moment) {
        self.with_times(|engine, run, given, _| engine.note_handed(run, given.handed(end), moment));
    }

    fn note_writable(&self, time: i64) {
        self.with_times(|engine, run, _, _| engine.note_writable(run, time));
    }

    fn next_deadline(&self) -> Option<i64> {
        self.runtime.next_times(self.slot, self.id, i64::MAX)[0]
    }

    fn next_release(&self, looked: i64) -> Option<i64> {
        self.runtime.next_times(self.slot, self.id, looked)[1]
    }

    fn overdue(&self, now: i64) {
        self.with_times(|engine, run, _, effects| engine.overdue(run, now, effects));
    }

    fn expire(&self, now: i64) {
        self.with_times(|engine, run, _, effects| engine.expire(run, now, effects));
    }

    fn close(&self) -> (EndReason, Bytes) {
        self.queue.take_close()
    }
}

/// Why a read from the network ends with an error: the session is over.
fn session_over() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the session is over")
}
