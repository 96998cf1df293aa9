//! Components that come: to begin a session, to wait until they are asked, or to go on with one.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use referee_monitor::multiparty::Notice;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;

use super::Office;
use crate::listen::Acceptor;
use crate::metrics::lock;
use crate::multiparty::component::{AHEAD, Arrived, FAREWELL, Outlet, attend, hear_out};
use crate::multiparty::letter::SessionId;
use crate::multiparty::plan::Place;
use crate::multiparty::reunion::{self, Greeting};
use crate::multiparty::transport::random;
use crate::stream::Socket;

/// How long to wait when no connection can be taken.
const PAUSE: Duration = Duration::from_millis(50);
/// Who connects, says nothing, and leaves sooner has only looked whether somebody listens.
const SETTLING: Duration = Duration::from_millis(5);
/// Components that wait for a session.
const WAITING: usize = 4096;

impl Office {
    /// Takes the connections of a role's components.
    pub(super) async fn listen(self: Arc<Self>, desk: usize, acceptor: Acceptor) {
        let plan = self.plan(desk);
        let begins = plan.engine.role() == plan.initiator;
        loop {
            let Ok(accepted) = acceptor.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Ok((socket, _)) = accepted.open() else { continue };
            let most = plan.sessions.saturating_add(WAITING);
            let draining = lock(&self.desks)[desk].roster.draining;
            let full = self.connections.load(Ordering::Relaxed) >= most;
            if draining || full {
                let many = format!("there are {most} connections already");
                self.turn_away(desk, if draining { "the guard is about to stop" } else { &many });
                continue;
            }
            let office = Arc::clone(&self);
            self.connections.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let Some(mut arrived) = office.admit(desk, socket).await else {
                    office.connections.fetch_sub(1, Ordering::Relaxed);
                    return;
                };
                match office.greet(desk, &mut arrived).await {
                    Some(Greeting::Back(id, received)) => office.welcome(desk, id, received, arrived).await,
                    Some(Greeting::New(key)) if begins => office.begin(desk, key, arrived).await,
                    Some(Greeting::New(key)) => office.wait(desk, key, arrived).await,
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

    /// What a component says of itself if it can come back; nothing if it cannot. `None` if it is refused.
    async fn greet(&self, desk: usize, arrived: &mut Arrived) -> Option<Greeting> {
        let plan = self.plan(desk);
        if !plan.resumes {
            return Some(Greeting::New(None));
        }
        let hello = tokio::time::timeout(plan.handshake, reunion::hear(arrived)).await.ok()?;
        let known = |key: &str| {
            let desks = lock(&self.desks);
            let roster = &desks.get(desk)?.roster;
            roster.find(key).map(|id| (id, roster.awaits(id)))
        };
        let greeting = hello.and_then(|hello| hello.greeting(known));
        match greeting {
            Ok(greeting) => Some(greeting),
            Err(why) => {
                reunion::refuse(arrived, why).await;
                None
            }
        }
    }

    /// The component of session `id` is back.
    async fn welcome(self: &Arc<Self>, desk: usize, id: SessionId, received: u64, mut arrived: Arrived) {
        let Some(taken) = lock(&self.desks).get(desk).and_then(|desk| desk.roster.awaits(id)) else { return };
        if reunion::answer(&mut arrived, taken).await.is_err() {
            return;
        }
        let outlet = Arc::new(Outlet::default());
        let mut resumed = Err("there is no such session");
        if let Some(desk) = lock(&self.desks).get_mut(desk).filter(|desk| desk.roster.awaits(id).is_some()) {
            desk.outlets.insert(id, Arc::clone(&outlet));
        }
        self.with(desk, |roster, now, out| resumed = roster.resume(id, Some(received), now, out));
        match resumed {
            Ok(()) => attend(Arc::clone(self), desk, id, arrived, outlet).await,
            Err(why) => tracing::warn!(session = %id, "a component cannot go on: {why}"),
        }
    }

    /// A component that begins a session, with its first byte.
    async fn begin(self: &Arc<Self>, desk: usize, key: Option<Box<str>>, mut arrived: Arrived) {
        let plan = self.plan(desk);
        if key.is_none() && plan.speaks_first() {
            let first = arrived.stream.read_buf(&mut arrived.unread);
            // Whoever connects and says nothing has begun nothing.
            match tokio::time::timeout(plan.handshake, first).await {
                Ok(Ok(1..)) => {}
                Ok(_) => return,
                Err(_) => {
                    let why = format!("nothing was said for {:?}, and a session begins so", plan.handshake);
                    return self.dismiss(desk, arrived, why).await;
                }
            }
        } else if key.is_none() && settles(&mut arrived, tokio::time::Instant::now()).await {
            return;
        }
        let comes_back = key.is_some();
        let Ok(number) = random() else { return };
        let id = SessionId(u128::from_le_bytes(number));
        let outlet = Arc::new(Outlet::default());
        if let Some(desk) = lock(&self.desks).get_mut(desk) {
            desk.outlets.insert(id, Arc::clone(&outlet));
        }
        let mut begun = Ok(());
        self.with(desk, |roster, now, out| begun = roster.begin(id, key, now, out));
        if let Err(why) = begun {
            lock(&self.desks)[desk].outlets.remove(&id);
            return self.dismiss(desk, arrived, why).await;
        }
        if comes_back {
            // Only now: what it is told it has is remembered. If it is gone, that is seen at once.
            let _ = reunion::answer(&mut arrived, 0).await;
        }
        attend(Arc::clone(self), desk, id, arrived, outlet).await;
    }

    /// A component that waits until its role is asked to take part.
    async fn wait(self: &Arc<Self>, desk: usize, key: Option<Box<str>>, mut arrived: Arrived) {
        let came = tokio::time::Instant::now();
        loop {
            let id = match self.asked(desk, &mut arrived).await {
                Ok(id) => id,
                Err(Some(why)) => return self.dismiss(desk, arrived, why).await,
                Err(None) => return,
            };
            // It may have left before it was asked: only after this is known what had come by then.
            tokio::task::yield_now().await;
            if settles(&mut arrived, came).await {
                return self.seek(desk, id);
            }
            if lock(&self.desks).get(desk).is_some_and(|desk| desk.roster.has(id)) {
                return self.seat(desk, id, key, arrived).await;
            }
        }
    }

    /// The session for which a component is sought while `arrived` waits.
    ///
    /// # Errors
    /// It does not wait any longer: why, if it has not left by itself.
    async fn asked(&self, desk: usize, arrived: &mut Arrived) -> Result<SessionId, Option<String>> {
        let (sender, mut asked) = oneshot::channel();
        {
            let mut desks = lock(&self.desks);
            let desk = desks.get_mut(desk).ok_or(None)?;
            desk.waiting.retain(|other| !other.is_closed());
            if desk.waiting.len() >= WAITING {
                return Err(Some(format!("{WAITING} components wait already")));
            }
            match desk.invited.pop_front() {
                Some(id) => drop(sender.send(id)),
                None => desk.waiting.push_back(sender),
            }
        }
        let idle = self.plan(desk).idle.unwrap_or(Duration::MAX);
        tokio::select! {
            biased;
            id = &mut asked => id.map_err(|_| None),
            () = async { while !leaves(arrived).await {} } => {
                // Asked at the last moment: somebody else may still come.
                asked.close();
                if let Ok(id) = asked.try_recv() {
                    self.seek(desk, id);
                }
                Err(None)
            }
            () = tokio::time::sleep(idle) => Err(Some(format!("no session began for {idle:?}"))),
        }
    }

    /// The component of session `id` is there.
    async fn seat(self: &Arc<Self>, desk: usize, id: SessionId, key: Option<Box<str>>, mut arrived: Arrived) {
        let comes_back = key.is_some();
        let outlet = Arc::new(Outlet::default());
        match lock(&self.desks).get_mut(desk).filter(|desk| desk.roster.has(id)) {
            Some(desk) => desk.outlets.insert(id, Arc::clone(&outlet)),
            None => return,
        };
        self.with(desk, |roster, now, out| roster.seated(id, key, now, out));
        if comes_back {
            let _ = reunion::answer(&mut arrived, 0).await;
        }
        attend(Arc::clone(self), desk, id, arrived, outlet).await;
    }

    /// Tells a component why there is no session for it.
    async fn dismiss(&self, desk: usize, mut arrived: Arrived, why: String) {
        self.turn_away(desk, &why);
        let plan = self.plan(desk);
        let Some(words) = plan.last_words(&Notice::fault(plan.engine.role(), why, true)) else { return };
        let farewell = async {
            let _ = arrived.stream.write_all(&words).await;
            let _ = arrived.stream.shutdown().await;
            hear_out(&mut arrived.stream).await;
        };
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
    }

    /// Takes note that there is no session for a component, and says so in the log, not for each of many.
    fn turn_away(&self, desk: usize, why: &str) {
        let mut desks = lock(&self.desks);
        let Some(desk) = desks.get_mut(desk) else { return };
        *desk.counts.ended.entry("refused").or_default() += 1;
        if let Some(others) = desk.turned_away.tell(Instant::now()) {
            tracing::warn!(protocol = self.name, role = desk.plan.name, others, "no session: {why}");
        }
    }

    /// Finds a component for session `id`.
    pub(super) fn seek(&self, desk: usize, id: SessionId) {
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
                            office.seat(desk, id, None, Arrived { stream, unread: Vec::new() }).await;
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
}

/// Whether the component, which came at `came`, has left; one that has said nothing has some time to.
async fn settles(arrived: &mut Arrived, came: tokio::time::Instant) -> bool {
    let fresh = arrived.unread.is_empty() && came.elapsed() < SETTLING;
    let settled = async {
        if fresh {
            tokio::time::sleep_until(came + SETTLING).await;
        }
    };
    tokio::select! {
        biased;
        left = leaves(arrived) => left,
        () = settled => false,
    }
}

/// Reads on, as far as it may; whether the component has left.
async fn leaves(arrived: &mut Arrived) -> bool {
    if arrived.unread.len() >= AHEAD {
        return std::future::pending().await;
    }
    !matches!(arrived.stream.read_buf(&mut arrived.unread).await, Ok(1..))
}
