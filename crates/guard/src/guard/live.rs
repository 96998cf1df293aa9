//! What a running guard shows those who look at it while it runs: [`events`](crate::events) sends it on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ahash::AHashMap;
use referee_session::Tap;
use serde_json::{Value, json};

use super::{Guard, Listening};
use crate::events::EventHub;
use crate::live_session::LiveSession;
use crate::metrics::{Count, lock};
use crate::multiparty::RoleBrief;

/// What somebody was told of sessions.
#[derive(Default)]
pub(crate) struct Known {
    /// How many messages and violations, and in which round it was there last.
    own: AHashMap<u64, ((u64, u64), u64)>,
    /// How the roles of sessions of a network stand.
    network: AHashMap<String, Vec<RoleBrief>>,
    round: u64,
}

/// A session that somebody follows.
pub(crate) enum Followed {
    Own(Arc<LiveSession>, Arc<Tap>),
    /// Of a network: what its roles keep that are here.
    Network(String, Vec<(String, Arc<Tap>)>),
}

impl Followed {
    /// Whether it is where it was at `before`, which is brought up to date. Of a network that is not known.
    pub(crate) fn is_still(&self, before: &mut (u64, u64)) -> bool {
        match self {
            Self::Own(session, _) => {
                let now = session.counts();
                std::mem::replace(before, now) == now
            }
            Self::Network(..) => false,
        }
    }

    /// What is kept of its messages: of a network, by each role that is here.
    pub(crate) fn taps(&self) -> Vec<(Option<&str>, &Tap)> {
        match self {
            Self::Own(_, tap) => vec![(None, tap)],
            Self::Network(_, taps) => taps.iter().map(|(role, tap)| (Some(&**role), &**tap)).collect(),
        }
    }
}

impl Guard {
    /// Those who look at it.
    pub(crate) fn hub(&self) -> &Arc<EventHub> {
        &self.shared.sink.hub
    }

    /// Its listeners and network, by name.
    pub(crate) fn introduce(&self) -> Value {
        let listeners = self.shared.listeners.load();
        let listener = |listening: &Arc<Listening>| {
            let version = listening.version.load();
            let socket = listening.socket.as_ref();
            json!({
                "name": listening.name,
                "address": socket.map(crate::listen::Listener::address),
                "roles": version.plan.rules.roles(),
                "policy": version.plan.rules.policy_name(),
            })
        };
        let network = self.multiparty.as_ref().map(|multiparty| {
            let roles: Vec<String> =
                multiparty.role_metrics().into_iter().map(|metrics| metrics.role).collect();
            json!({ "name": multiparty.name(), "roles": roles })
        });
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "process": std::process::id(),
            "listeners": listeners.iter().map(listener).collect::<Vec<_>>(),
            "network": network,
        })
    }

    /// Sessions, the oldest if there are more than `most`, that changed since `known` was right, and those that are gone, as JSON;
    /// and how many changed. Of those that did not change, nothing is computed.
    pub(crate) fn changes(&self, known: &mut Known, most: usize) -> (String, usize) {
        let workers = self.shared.workers();
        let each = most.div_ceil(workers.len().max(1));
        known.round += 1;
        let round = known.round;
        let (mut text, mut count) = (b"{\"sessions\":[".to_vec(), 0);
        for session in workers.iter().flat_map(|worker| worker.oldest(each)) {
            let before = known.own.get(&session.id).map(|(counts, _)| *counts);
            let counts = session.write_brief(before, &mut text);
            count += usize::from(before != Some(counts));
            known.own.insert(session.id, (counts, round));
        }
        let mut gone: Vec<String> = Vec::new();
        known.own.retain(|id, (_, last)| {
            if *last != round {
                gone.push(id.to_string());
            }
            *last == round
        });
        if let Some(multiparty) = &self.multiparty {
            let mut now = AHashMap::new();
            for (id, roles) in multiparty.brief().into_iter().take(most) {
                if known.network.get(&id) != Some(&roles) {
                    let name = multiparty.name();
                    let view =
                        json!({ "listener": name, "session": id, "network_session": id, "roles": roles });
                    if text.last() == Some(&b'}') {
                        text.push(b',');
                    }
                    text.extend_from_slice(view.to_string().as_bytes());
                    count += 1;
                }
                now.insert(id, roles);
            }
            gone.extend(known.network.keys().filter(|id| !now.contains_key(*id)).cloned());
            known.network = now;
        }
        let more = self.open_sessions().saturating_sub(known.own.len() + known.network.len());
        // INVARIANT: only JSON was written.
        let text = String::from_utf8(text).unwrap_or_default();
        (format!("{text}],\"gone\":{},\"more\":{more}}}", json!(gone)), count)
    }

    /// What was counted until now: open sessions, and begun ones, messages, verdicts and bytes since the start.
    pub(crate) fn totals(&self) -> Value {
        let listener = |listening: &Arc<Listening>| {
            let sum = |count: fn(&crate::metrics::Counters) -> &Count| -> u64 {
                listening.counters.iter().map(|counters| count(counters).get()).sum()
            };
            let versions = lock(&listening.versions);
            let rows = versions.iter().flat_map(|version| version.threads.iter());
            let messages: u64 = rows.flat_map(|row| row.iter()).map(Count::get).sum();
            let verdicts: u64 = listening
                .counters
                .iter()
                .map(|counters| lock(&counters.verdicts).values().sum::<u64>())
                .sum();
            json!({
                "name": listening.name,
                "open": listening.open.load(Ordering::Relaxed),
                "opened": sum(|counters| &counters.opened),
                "messages": messages,
                "verdicts": verdicts,
                "bytes": sum(|counters| &counters.bytes[0]) + sum(|counters| &counters.bytes[1]),
            })
        };
        let own = self.shared.listeners.load();
        let network = self.multiparty.iter().map(|multiparty| {
            let all = multiparty.role_metrics();
            let sum = |count: fn(&crate::multiparty::RoleMetrics) -> u64| all.iter().map(count).sum::<u64>();
            json!({
                "name": multiparty.name(),
                "open": sum(|metrics| metrics.open),
                "opened": sum(|metrics| metrics.begun),
                "messages": sum(|metrics| metrics.counters.messages),
                "verdicts": sum(|metrics| metrics.counters.verdicts.values().sum()),
            })
        });
        own.iter().map(listener).chain(network).collect()
    }

    /// The session `id`, to be followed.
    pub(crate) fn follow(&self, id: &str) -> Option<Followed> {
        let number = id.parse().ok();
        let own = number.and_then(|id| self.shared.workers().iter().find_map(|worker| worker.session(id)));
        if let Some(session) = own {
            let tap = session.follow();
            return Some(Followed::Own(session, tap));
        }
        let taps = self.multiparty.as_ref()?.follow(id);
        (!taps.is_empty()).then(|| Followed::Network(id.to_owned(), taps))
    }

    /// How a session stands that is followed; `None` once it is over.
    pub(crate) fn describe_followed(&self, followed: &Followed) -> Option<Value> {
        match followed {
            Followed::Own(session, _) => {
                self.shared.workers().iter().find_map(|worker| worker.describe_session(session.id))
            }
            Followed::Network(id, _) => self.multiparty.as_ref()?.describe_one(id),
        }
    }
}
