//! A component's connection for one session: the same driver as between two parties, with the network as its other side.

mod network_stream;
mod queue;

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use referee_session::role::payload::Payload;
use referee_session::{Offer, RoleEngine, RoleHost, ServiceClose};
use referee_verdict::EndReason;
use referee_wire::Sender;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tracing::Instrument as _;

use super::peer_message::SessionId;
use super::plan::{Endpoint, RolePlan};
use super::runtime::Runtime;
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
    id: SessionId,
    plan: Arc<RolePlan>,
    queue: Arc<ComponentQueue>,
}

/// Serves the component of session `id` of the role at `slot` until its connection ends.
pub(super) async fn serve_component(
    runtime: Arc<Runtime>,
    slot: usize,
    id: SessionId,
    incoming: IncomingComponent,
    queue: Arc<ComponentQueue>,
) {
    let plan = runtime.plan(slot);
    let link = Arc::new(ComponentLink { runtime, slot, id, plan, queue });
    let span = tracing::debug_span!("session", role = link.plan.name, network_session = %id);
    link.runtime.connected_components.fetch_add(1, Ordering::Relaxed);
    link.serve(incoming).instrument(span).await;
    link.runtime.connected_components.fetch_sub(1, Ordering::Relaxed);
    link.runtime.component_gone(slot, id);
}

/// Reads until the other side closes: closing with unread bytes would reset the connection and discard the close message.
pub(super) async fn drain(reader: &mut (impl AsyncRead + Unpin)) {
    let mut rest = [0; 4096];
    while reader.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}

impl ComponentLink {
    async fn serve(self: &Arc<Self>, incoming: IncomingComponent) {
        let host: Arc<dyn RoleHost> = Arc::clone(self) as _;
        let engine = Arc::new(Mutex::new(RoleEngine::new(&self.plan.rules, host)));
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

    /// Carries one connection to its end.
    async fn drive(self: &Arc<Self>, engine: &Arc<Mutex<RoleEngine>>, incoming: IncomingComponent) {
        let IncomingComponent { stream, unread } = incoming;
        let network = Stream::Network(NetworkStream::new(Arc::clone(self)));
        let side = self.plan.rules.side;
        let streams = match side {
            Sender::Client => [stream, network],
            Sender::Server => [network, stream],
        };
        let options = DriverOptions {
            observe: false,
            salvage: true,
            max_buffer: usize::MAX,
            max_message: self.plan.rules.max_message,
            idle: None,
            total: None,
        };
        let meter = self.runtime.meter(self.slot);
        let mut driver = Driver::new(Arc::clone(engine), streams, (meter, Arc::default()), options);
        driver.preload(side, unread);
        let outcome = driver.run(self.runtime.stopping(), |_| self.runtime.has_room_for_reports()).await;
        tracing::debug!(why = %outcome.why, error = ?outcome.error, "the component's connection ended");
    }

    /// Connects again to a service that closed its connection between exchanges; `None` if it is gone.
    async fn reconnect(&self, engine: &Mutex<RoleEngine>) -> Option<IncomingComponent> {
        let Endpoint::Connect(address) = &self.plan.endpoint else { return None };
        if self.queue.is_closed() {
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
                let name = &self.plan.name;
                self.fault(format!("`{name}` closed its connection while a request was on its way"));
                return None;
            }
            ServiceClose::Gone => return None,
        }
        let connected = tokio::time::timeout(self.plan.handshake, self.plan.setup.connect(address)).await;
        let stream = connected.ok()?.ok()?;
        let written = self.queue.repeat(lock(engine).reconnect());
        self.delivered(written);
        Some(IncomingComponent { stream, unread: Vec::new() })
    }

    /// So many messages and bytes were written to the component.
    fn delivered(&self, written: (u32, usize)) {
        if written.0 > 0 {
            self.runtime.delivered(self.slot, self.id, written);
        }
    }
}

impl RoleHost for ComponentLink {
    fn offer(&self, payload: Payload) -> Offer {
        self.runtime.offer(self.slot, self.id, payload)
    }

    fn take_wake(&self) -> bool {
        self.queue.take_wake()
    }

    fn is_congested(&self) -> bool {
        self.runtime.is_full_of_reports()
    }

    fn half_close(&self) -> bool {
        self.runtime.half_close(self.slot, self.id)
    }

    fn half_close_after(&self, last: &Payload) {
        self.runtime.half_close_after(self.slot, self.id, last);
    }

    fn fault(&self, sentence: String) {
        self.runtime.fault(self.slot, self.id, sentence);
    }

    fn take_outgoing(&self) -> Vec<Bytes> {
        self.queue.take_outgoing()
    }

    fn pause(&self) {
        self.queue.pause();
    }

    fn close(&self) -> (EndReason, Bytes) {
        self.queue.take_close()
    }
}

/// Why a read from the network ends with an error: the session is over.
fn session_over() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the session is over")
}
