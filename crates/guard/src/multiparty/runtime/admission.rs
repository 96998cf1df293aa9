//! Admission of components: to begin a session, to wait for an invitation, or to resume one.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use referee_monitor::multiparty::Notice;
use referee_session::RoleRules;
use referee_wire::{Fields, Limits, Reading, Scratch, Sender, Step};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;

use super::Runtime;
use referee_verdict::EndReason;

use crate::config::ProxyIn;
use crate::http_answer::{self, drain};
use crate::listen::Acceptor;
use crate::metrics::lock;
use crate::multiparty::component::{
    CLOSE_TIMEOUT, IncomingComponent, MAX_READ_AHEAD_BYTES, serve_call, serve_component, serve_service,
};
use crate::multiparty::peer_message::SessionId;
use crate::multiparty::plan::Endpoint;
use crate::multiparty::resume::{self, ResumeDecision};
use crate::multiparty::trace_context::TraceContext;
use crate::multiparty::transport::random;
use crate::proxy_header;
use crate::source_limits::SourcePermit;
use crate::stream::{Socket, Source};

/// The pause after a failed accept.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// A connection that is closed within this time without a byte was a probe.
const PROBE_GRACE: Duration = Duration::from_millis(5);
/// Components of one role that may wait for a session.
const MAX_WAITING_COMPONENTS: usize = 4096;

impl Runtime {
    /// Accepts the connections of a role's components.
    pub(super) async fn listen(self: Arc<Self>, slot: usize, endpoint: usize, acceptor: Acceptor) {
        let plan = self.plan(slot);
        let begins = plan.engine.role() == plan.initiator;
        loop {
            self.has_room_for_reports().await;
            let Ok(accepted) = acceptor.accept().await else {
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
                continue;
            };
            let Ok((socket, source)) = accepted.open() else { continue };
            let most = plan.sessions.saturating_add(MAX_WAITING_COMPONENTS);
            // Sessions under way go on, and so do calls in them.
            let draining = endpoint == 0 && lock(&self.slots)[slot].table.draining;
            let full = self.connections.load(Ordering::Relaxed) >= most;
            if draining || full {
                let many = format!("there are {most} connections already");
                self.count_refusal(slot, if draining { "the guard is about to stop" } else { &many });
                continue;
            }
            let runtime = Arc::clone(&self);
            self.connections.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let Some((mut incoming, _permit)) = runtime.admit(slot, endpoint, socket, source).await
                else {
                    runtime.connections.fetch_sub(1, Ordering::Relaxed);
                    return;
                };
                match runtime.read_resume_request(slot, &mut incoming).await {
                    Some(_) if endpoint > 0 => runtime.call(slot, endpoint, incoming).await,
                    Some(ResumeDecision::Resume(id, received)) => {
                        runtime.resume_component(slot, id, received, incoming).await
                    }
                    Some(ResumeDecision::NewSession(key)) if begins => {
                        runtime.begin(slot, key, incoming).await
                    }
                    Some(ResumeDecision::NewSession(key)) => runtime.wait(slot, key, incoming).await,
                    None => {}
                }
                runtime.connections.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    /// Sets up a connection: PROXY header, source, TLS, WebSocket.
    async fn admit(
        &self,
        slot: usize,
        endpoint: usize,
        mut socket: Socket,
        mut source: Source,
    ) -> Option<(IncomingComponent, SourcePermit)> {
        let plan = self.plan(slot);
        let endpoint = plan.endpoint(endpoint);
        let setup = async {
            if endpoint.proxy_in == ProxyIn::Required
                && let Some(real) = proxy_header::read(&mut socket).await?
            {
                source = real;
            }
            let permit = endpoint.sources.admit(source.ip()).map_err(io::Error::other)?;
            Ok((endpoint.setup.accept(socket).await?, permit))
        };
        let admitted = tokio::time::timeout(plan.handshake, setup).await;
        match admitted.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut))) {
            Ok((stream, permit)) => Some((IncomingComponent { stream, unread: Vec::new() }, permit)),
            Err(error) => {
                tracing::info!(
                    protocol = self.name,
                    role = endpoint.name,
                    "a component was not let in: {error}"
                );
                *lock(&self.slots)[slot].counters.ended.entry(EndReason::Refused).or_default() += 1;
                None
            }
        }
    }

    /// Reads the resume request of a component that can resume. `None` if it is refused.
    async fn read_resume_request(
        &self,
        slot: usize,
        incoming: &mut IncomingComponent,
    ) -> Option<ResumeDecision> {
        let plan = self.plan(slot);
        if !plan.resumes {
            return Some(ResumeDecision::NewSession(None));
        }
        let request = tokio::time::timeout(plan.handshake, resume::read_request(incoming)).await.ok()?;
        let known = |key: &str| {
            let slots = lock(&self.slots);
            let table = &slots.get(slot)?.table;
            table.find(key).map(|id| (id, table.awaits(id)))
        };
        let decision = request.and_then(|request| request.decide(known));
        match decision {
            Ok(decision) => Some(decision),
            Err(why) => {
                resume::refuse(incoming, why).await;
                None
            }
        }
    }

    /// Resumes session `id`.
    async fn resume_component(
        self: &Arc<Self>,
        slot: usize,
        id: SessionId,
        received: u64,
        mut incoming: IncomingComponent,
    ) {
        let Some(taken) = lock(&self.slots).get(slot).and_then(|slot| slot.table.awaits(id)) else { return };
        if resume::answer(&mut incoming, taken).await.is_err() {
            return;
        }
        let mut resumed = Err("there is no such session");
        let queue = match lock(&self.slots).get_mut(slot).filter(|slot| slot.table.awaits(id).is_some()) {
            Some(slot) => slot.open_queues(id),
            None => return,
        };
        self.with(slot, |table, now, out| resumed = table.resume(id, Some(received), now, out));
        match resumed {
            Ok(()) => serve_component(Arc::clone(self), slot, id, incoming, queue).await,
            Err(why) => {
                let role = self.plan(slot).name.clone();
                tracing::warn!(role, network_session = %id, "a component cannot go on: {why}")
            }
        }
    }

    /// Begins a session with the component's first whole message, or with bytes that are none.
    async fn begin(self: &Arc<Self>, slot: usize, key: Option<Box<str>>, mut incoming: IncomingComponent) {
        let plan = self.plan(slot);
        if key.is_none() && plan.speaks_first() {
            let first = has_first_message(&plan.main.rules, &mut incoming);
            match tokio::time::timeout(plan.handshake, first).await {
                Ok(true) => {}
                // A connection without a message begins nothing.
                Ok(false) => return,
                Err(_) => {
                    let said = if incoming.unread.is_empty() { "nothing" } else { "no whole message" };
                    let why = format!("{said} was said for {:?}, and a session begins so", plan.handshake);
                    return self.refuse(slot, incoming, why).await;
                }
            }
        } else if key.is_none() && is_probe(&mut incoming, tokio::time::Instant::now()).await {
            return;
        }
        let comes_back = key.is_some();
        let Ok(number) = random() else { return };
        let id = SessionId(u128::from_le_bytes(number));
        let queue = lock(&self.slots)[slot].open_queues(id);
        let mut begun = Ok(());
        let context =
            TraceContext::of_request(&incoming.unread).filter(|_| plan.main.rules.codec.has_requests());
        self.with(slot, |table, now, out| begun = table.begin(id, key, context, now, out));
        if let Err(why) = begun {
            lock(&self.slots)[slot].remove_queues(id);
            return self.refuse(slot, incoming, why).await;
        }
        self.start_services(slot, id);
        if comes_back {
            // Only now, because the answer must be in the state log. A lost connection is noticed next.
            let _ = resume::answer(&mut incoming, 0).await;
        }
        serve_component(Arc::clone(self), slot, id, incoming, queue).await;
    }

    /// Keeps a component waiting until its role is invited to a session.
    async fn wait(self: &Arc<Self>, slot: usize, key: Option<Box<str>>, mut incoming: IncomingComponent) {
        let came = tokio::time::Instant::now();
        loop {
            let id = match self.next_invitation(slot, &mut incoming).await {
                Ok(id) => id,
                Err(Some(why)) => return self.refuse(slot, incoming, why).await,
                Err(None) => return,
            };
            // It may have left before it was invited: let pending reads complete.
            tokio::task::yield_now().await;
            if is_probe(&mut incoming, came).await {
                return self.find_component(slot, id);
            }
            if lock(&self.slots).get(slot).is_some_and(|slot| slot.table.has(id)) {
                return self.join(slot, id, key, incoming).await;
            }
        }
    }

    /// The session for which a component is sought while `incoming` waits.
    ///
    /// # Errors
    /// It does not wait any longer: why, if it has not left by itself.
    async fn next_invitation(
        &self,
        slot: usize,
        incoming: &mut IncomingComponent,
    ) -> Result<SessionId, Option<String>> {
        let (sender, mut next_invitation) = oneshot::channel();
        {
            let mut slots = lock(&self.slots);
            let slot = slots.get_mut(slot).ok_or(None)?;
            slot.waiting.retain(|other| !other.is_closed());
            if slot.waiting.len() >= MAX_WAITING_COMPONENTS {
                return Err(Some(format!("{MAX_WAITING_COMPONENTS} components wait already")));
            }
            match slot.invited.pop_front() {
                Some(id) => drop(sender.send(id)),
                None => slot.waiting.push_back(sender),
            }
        }
        let idle = self.plan(slot).idle.unwrap_or(Duration::MAX);
        tokio::select! {
            biased;
            id = &mut next_invitation => id.map_err(|_| None),
            () = async { while !disconnects(incoming).await {} } => {
                // Asked at the last moment: somebody else may still come.
                next_invitation.close();
                if let Ok(id) = next_invitation.try_recv() {
                    self.find_component(slot, id);
                }
                Err(None)
            }
            () = tokio::time::sleep(idle) => Err(Some(format!("no session began for {idle:?}"))),
        }
    }

    /// Joins session `id` with this component.
    async fn join(
        self: &Arc<Self>,
        slot: usize,
        id: SessionId,
        key: Option<Box<str>>,
        mut incoming: IncomingComponent,
    ) {
        let comes_back = key.is_some();
        let queue = match lock(&self.slots).get_mut(slot).filter(|slot| slot.table.has(id)) {
            Some(slot) => slot.open_queues(id),
            None => return,
        };
        self.start_services(slot, id);
        self.with(slot, |table, now, out| table.component_found(id, key, now, out));
        if comes_back {
            let _ = resume::answer(&mut incoming, 0).await;
        }
        serve_component(Arc::clone(self), slot, id, incoming, queue).await;
    }

    /// Calls the component of session `id` at its further endpoints, once there is something to say.
    fn start_services(self: &Arc<Self>, slot: usize, id: SessionId) {
        let plan = self.plan(slot);
        for (number, endpoint) in plan.endpoints().enumerate().skip(1) {
            let queue = lock(&self.slots)[slot].queues.get(&(id, number)).cloned();
            if let (Endpoint::Connect(_), Some(queue)) = (&endpoint.endpoint, queue) {
                tokio::spawn(serve_service(Arc::clone(self), slot, number, id, queue));
            }
        }
    }

    /// Serves a request of a component at a further endpoint, in the session that it is of.
    async fn call(self: &Arc<Self>, slot: usize, endpoint: usize, mut incoming: IncomingComponent) {
        let plan = self.plan(slot);
        let rules = &plan.endpoint(endpoint).rules;
        let first = tokio::time::timeout(plan.handshake, has_first_message(rules, &mut incoming));
        if !matches!(first.await, Ok(true)) {
            return;
        }
        let context = TraceContext::of_request(&incoming.unread);
        let found = {
            let slot = &mut lock(&self.slots)[slot];
            slot.table.session_of(context).and_then(|id| {
                let queue = slot.queues.get(&(id, endpoint)).cloned().ok_or("its session has not begun")?;
                let is_first = slot.calls.insert((id, endpoint));
                is_first.then_some((id, queue)).ok_or("another call of its session is under way")
            })
        };
        match found {
            Ok((id, queue)) => {
                serve_call(Arc::clone(self), slot, endpoint, id, incoming, queue).await;
                lock(&self.slots)[slot].calls.remove(&(id, endpoint));
            }
            Err(why) => {
                self.count_refusal(slot, why);
                let answer = http_answer::answer(&mut incoming.stream, "409 Conflict", why);
                let _ = tokio::time::timeout(CLOSE_TIMEOUT, answer).await;
            }
        }
    }

    /// Refuses a component, and tells it why.
    async fn refuse(&self, slot: usize, mut incoming: IncomingComponent, why: String) {
        self.count_refusal(slot, &why);
        let plan = self.plan(slot);
        let Some(words) = plan.close_message(&Notice::fault(plan.engine.role(), why, 0, true), None) else {
            return;
        };
        let farewell = async {
            let _ = incoming.stream.write_all(&words).await;
            let _ = incoming.stream.shutdown().await;
            drain(&mut incoming.stream).await;
        };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, farewell).await;
    }

    /// Counts a refusal, and logs it at a limited rate.
    fn count_refusal(&self, slot: usize, why: &str) {
        let mut slots = lock(&self.slots);
        let Some(slot) = slots.get_mut(slot) else { return };
        *slot.counters.ended.entry(EndReason::Refused).or_default() += 1;
        if let Some(others) = slot.turned_away.admit(Instant::now()) {
            tracing::warn!(protocol = self.name, role = slot.plan.name, others, "no session: {why}");
        }
    }

    /// Finds a component for session `id`.
    pub(super) fn find_component(&self, slot: usize, id: SessionId) {
        let Some(runtime) = self.own.upgrade() else { return };
        let plan = self.plan(slot);
        match &plan.main.endpoint {
            Endpoint::Listen(_) => {
                let mut slots = lock(&self.slots);
                let Some(slot) = slots.get_mut(slot) else { return };
                while let Some(waiting) = slot.waiting.pop_front() {
                    if waiting.send(id).is_ok() {
                        return;
                    }
                }
                slot.invited.push_back(id);
            }
            Endpoint::Connect(address) => {
                let address = address.clone();
                tokio::spawn(async move {
                    runtime.has_room_for_reports().await;
                    let connected =
                        tokio::time::timeout(plan.handshake, plan.main.setup.connect(&address)).await;
                    match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                        Ok(stream) => {
                            runtime
                                .join(slot, id, None, IncomingComponent { stream, unread: Vec::new() })
                                .await;
                        }
                        Err(error) => {
                            let why = format!("its component at {address} cannot be reached: {error}");
                            runtime.with(slot, |table, now, out| table.vacant(id, &why, now, out));
                        }
                    }
                });
            }
        }
    }
}

/// Whether the connection, accepted at `came`, is closed again; a silent one gets [`PROBE_GRACE`].
async fn is_probe(incoming: &mut IncomingComponent, came: tokio::time::Instant) -> bool {
    let fresh = incoming.unread.is_empty() && came.elapsed() < PROBE_GRACE;
    let settled = async {
        if fresh {
            tokio::time::sleep_until(came + PROBE_GRACE).await;
        }
    };
    tokio::select! {
        biased;
        left = disconnects(incoming) => left,
        () = settled => false,
    }
}

/// Reads until there is a first message (of one with a body, its head), or what cannot be one; false if the component closes before.
async fn has_first_message(rules: &RoleRules, incoming: &mut IncomingComponent) -> bool {
    let mut wanted = 1;
    loop {
        while incoming.unread.len() < wanted {
            if !matches!(incoming.stream.read_buf(&mut incoming.unread).await, Ok(1..)) {
                return false;
            }
        }
        // Decoded from the beginning each time, because whoever serves the component does so, too.
        let mut state = rules.codec.endpoint(Limits { message: rules.max_message });
        let (scratch, mut fields) = (Scratch::new(), Fields::new());
        let (sender, unread) = (Sender::Client, &incoming.unread);
        match rules.codec.decode(&mut state, sender, unread, Reading::anything(), &scratch, &mut fields) {
            Step::More { at_least } if unread.len() <= rules.max_message => {
                wanted = at_least.clamp(unread.len() + 1, rules.max_message.saturating_add(1));
            }
            _ => return true,
        }
    }
}

/// Reads ahead within limits; whether the component has closed.
async fn disconnects(incoming: &mut IncomingComponent) -> bool {
    if incoming.unread.len() >= MAX_READ_AHEAD_BYTES {
        return std::future::pending().await;
    }
    !matches!(incoming.stream.read_buf(&mut incoming.unread).await, Ok(1..))
}
