//! What a session table asks the runtime to do.

use std::time::Duration;

use hyper::body::Bytes;
use referee_monitor::multiparty::Notice;
use referee_theory::Role;
use referee_verdict::{EndReason, VerdictRecord};

use crate::multiparty::peer_message::{PeerMessage, SessionId};
use crate::multiparty::plan::RolePlan;
use crate::multiparty::role_session::RoleSession;
use crate::multiparty::trace_context::RoleSpan;

/// What the runtime has to do, in this order.
#[derive(Debug)]
pub(in crate::multiparty) enum SessionAction {
    /// Send a peer message to the monitor of a role.
    Send(Role, PeerMessage),
    /// Find a component for this session.
    FindComponent(SessionId),
    /// Send these bytes to the component, over its endpoint of this number.
    Deliver(SessionId, usize, Bytes),
    /// Send these bytes to the component again.
    Redeliver(SessionId, Bytes),
    /// A waiting message of the component may be offered again.
    Wake(SessionId),
    /// Shut the component's connection down for writing: nothing more will be delivered.
    HalfClose(SessionId),
    /// A verdict.
    Report(SessionId, Box<Finding>),
    /// The session is over here: close the component's connection.
    Ended(SessionId, Box<End>),
}

/// A verdict, and what is known of its session.
#[derive(Debug)]
pub(in crate::multiparty) struct Finding {
    /// The session's number.
    pub(in crate::multiparty) number: u64,
    pub(in crate::multiparty) notice: Box<Notice>,
    /// Whether it was found here, not by a peer.
    pub(in crate::multiparty) is_own: bool,
    /// What is reported, where the notice does not say all of it: the verdict of a property.
    pub(in crate::multiparty) record: Option<Box<VerdictRecord>>,
    /// The last messages, oldest first.
    pub(in crate::multiparty) recent: Vec<String>,
}

impl Finding {
    pub(super) fn action(
        plan: &RolePlan,
        id: SessionId,
        session: &RoleSession,
        notice: Box<Notice>,
        is_own: bool,
    ) -> SessionAction {
        Self::with_record(plan, id, session, notice, is_own, None)
    }

    /// The same, with what is reported of it.
    pub(super) fn with_record(
        plan: &RolePlan,
        id: SessionId,
        session: &RoleSession,
        notice: Box<Notice>,
        is_own: bool,
        record: Option<Box<VerdictRecord>>,
    ) -> SessionAction {
        let recent = session.recent.list(plan.engine.vocabulary());
        SessionAction::Report(id, Box::new(Self { number: session.number, notice, is_own, record, recent }))
    }
}

/// How a session ended at a role.
#[derive(Debug)]
pub(in crate::multiparty) struct End {
    pub(in crate::multiparty) number: u64,
    pub(in crate::multiparty) why: EndReason,
    pub(in crate::multiparty) messages: u64,
    pub(in crate::multiparty) violations: u16,
    pub(in crate::multiparty) bytes: [u64; 2],
    pub(in crate::multiparty) lasted: Duration,
    pub(in crate::multiparty) span: RoleSpan,
    /// The notice that the component is sent before its connection is closed.
    pub(in crate::multiparty) close_message: Option<Box<Notice>>,
}
