//! How the sessions of a network stand in this process, for who looks at them from outside.

use std::collections::BTreeMap;
use std::sync::Arc;

use referee_session::Tap;
use serde_json::{Value, json};

use super::Runtime;
use crate::metrics::lock;
use crate::multiparty::peer_message::SessionId;
use crate::multiparty::role_session::RoleBrief;

impl Runtime {
    /// The state of at most `most` sessions, for `/sessions`.
    pub(crate) fn describe(&self, most: usize) -> Vec<Value> {
        let now = self.started.elapsed();
        let links = self.transport.get().map_or(Value::Null, |transport| transport.describe());
        let mut all: BTreeMap<SessionId, serde_json::Map<String, Value>> = BTreeMap::new();
        for slot in lock(&self.slots).iter() {
            for (id, view) in slot.table.describe(most, now) {
                all.entry(id).or_default().insert(slot.plan.name.clone(), view);
            }
        }
        let session = |(id, roles): (SessionId, serde_json::Map<String, Value>)| json!({ "protocol": self.name, "session": id.to_string(), "network_session": id.to_string(), "roles": roles, "links": links });
        all.into_iter().take(most).map(session).collect()
    }

    /// What a list shows of each session: its number and the roles that are here, in the order of numbers.
    pub(crate) fn brief(&self) -> Vec<(String, Vec<RoleBrief>)> {
        let mut all: BTreeMap<SessionId, Vec<RoleBrief>> = BTreeMap::new();
        for slot in lock(&self.slots).iter() {
            for (id, brief) in slot.table.brief() {
                all.entry(id).or_default().push(brief);
            }
        }
        all.into_iter().map(|(id, roles)| (id.to_string(), roles)).collect()
    }

    /// What the roles of session `id` keep from now on for who follows it. Empty if it is not under way.
    pub(crate) fn follow(&self, id: &str) -> Vec<(String, Arc<Tap>)> {
        let Some(id) = parse(id) else { return Vec::new() };
        let mut slots = lock(&self.slots);
        slots.iter_mut().filter_map(|slot| Some((slot.plan.name.clone(), slot.table.follow(id)?))).collect()
    }

    /// How the roles of session `id` stand.
    pub(crate) fn describe_one(&self, id: &str) -> Option<Value> {
        let (number, now) = (parse(id)?, self.started.elapsed());
        let mut roles = serde_json::Map::new();
        for slot in lock(&self.slots).iter() {
            if let Some(view) = slot.table.describe_one(number, now) {
                roles.insert(slot.plan.name.clone(), view);
            }
        }
        let view = json!({ "protocol": self.name, "session": id, "network_session": id, "roles": roles });
        (!roles.is_empty()).then_some(view)
    }
}

fn parse(id: &str) -> Option<SessionId> {
    u128::from_str_radix(id, 16).ok().map(SessionId)
}
