//! One role of this process: its sessions, and what goes to their components.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::{AHashMap, AHashSet};
use tokio::sync::oneshot;

use super::RoleCounters;
use crate::metrics::Meter;
use crate::multiparty::component::ComponentQueue;
use crate::multiparty::peer_message::SessionId;
use crate::multiparty::plan::{EndpointPlan, RolePlan};
use crate::multiparty::rate_limit::RateLimitedWarning;
use crate::multiparty::session_table::SessionTable;

/// One role of this process.
pub(super) struct RoleState {
    pub(super) plan: Arc<RolePlan>,
    pub(super) table: SessionTable,
    /// What is to be written to components, by session and endpoint.
    pub(super) queues: AHashMap<(SessionId, usize), Arc<ComponentQueue>>,
    /// Connected components that wait for a session.
    pub(super) waiting: VecDeque<oneshot::Sender<SessionId>>,
    /// Sessions that wait for a component.
    pub(super) invited: VecDeque<SessionId>,
    /// Sessions and further endpoints with a call under way.
    pub(super) calls: AHashSet<(SessionId, usize)>,
    pub(super) counters: RoleCounters,
    /// What its components' connections count, by endpoint.
    pub(super) meters: Vec<Meter>,
    /// Warnings about refused components.
    pub(super) turned_away: RateLimitedWarning,
}

impl RoleState {
    pub(super) fn new(plan: &Arc<RolePlan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            table: SessionTable::new(Arc::clone(plan)),
            queues: AHashMap::new(),
            waiting: VecDeque::new(),
            invited: VecDeque::new(),
            calls: AHashSet::new(),
            counters: RoleCounters::default(),
            meters: plan.endpoints().map(EndpointPlan::meter).collect(),
            turned_away: RateLimitedWarning::default(),
        }
    }

    pub(super) fn to(&self, id: SessionId, endpoint: usize, act: impl FnOnce(&ComponentQueue)) {
        if let Some(queue) = self.queues.get(&(id, endpoint)) {
            act(queue);
        }
    }

    pub(super) fn to_all(&self, id: SessionId, act: impl Fn(&ComponentQueue)) {
        (0..self.meters.len()).for_each(|endpoint| self.to(id, endpoint, &act));
    }

    /// Makes the queues of a session's component; that of its first endpoint is returned.
    pub(super) fn open_queues(&mut self, id: SessionId) -> Arc<ComponentQueue> {
        for endpoint in 0..self.meters.len() {
            self.queues.insert((id, endpoint), Arc::default());
        }
        self.queues.get(&(id, 0)).cloned().unwrap_or_default()
    }

    pub(super) fn remove_queues(&mut self, id: SessionId) -> Vec<(usize, Arc<ComponentQueue>)> {
        let removed = |endpoint| Some((endpoint, self.queues.remove(&(id, endpoint))?));
        (0..self.meters.len()).filter_map(removed).collect()
    }
}
