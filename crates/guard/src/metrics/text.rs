//! Counters as OpenMetrics text: a snapshot of them, encoded by `prometheus-client`.
//!
//! Only what is asked for is its: counting itself stays a load and a store by one thread, where its counters are atomic
//! additions that all threads share.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::{Count, Counters, DECISION_BOUNDS, MessageCounters, lock, network};
use crate::multiparty::RoleMetrics;

/// A listener's counters.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) listener: String,
    pub(crate) roles: [String; 2],
    pub(crate) open: u64,
    pub(crate) threads: Vec<Arc<Counters>>,
    pub(crate) messages: Vec<Arc<MessageCounters>>,
}

/// All that was counted.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) scopes: Vec<Scope>,
    /// A protocol of several parties, and its roles here.
    pub(crate) network: Option<(String, Vec<RoleMetrics>)>,
    /// Those that worked and those that did not.
    pub(crate) reloads: [u64; 2],
    /// Attempts to write the journal that failed, and reports that were lost.
    pub(crate) journal_errors: u64,
    pub(crate) reports_dropped: u64,
}

impl Snapshot {
    /// The page that `/metrics` shows.
    pub(crate) fn open_metrics(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut page = String::new();
        // Writing to a string does not fail.
        let _ = text::encode(&mut page, &registry);
        page
    }
}

impl Scope {
    fn sum(&self, count: impl Fn(&Counters) -> &Count) -> u64 {
        self.threads.iter().fold(0, |all, counters| all.wrapping_add(count(counters).get()))
    }

    /// The reasons that `which` counts, and how often.
    fn reasons<T: Copy + Ord>(&self, which: fn(&Counters) -> &super::Reasons<T>) -> BTreeMap<T, u64> {
        let mut all = BTreeMap::new();
        for counters in &self.threads {
            for (why, count) in lock(which(counters)).iter() {
                *all.entry(*why).or_default() += count;
            }
        }
        all
    }

    /// Writes what `which` counts of each sender.
    fn by_sender(&self, family: &mut MetricEncoder<'_>, which: fn(&Counters) -> &[Count; 2]) -> fmt::Result {
        self.roles.iter().enumerate().try_for_each(|(side, role)| {
            let bytes = self.threads.iter().filter_map(|c| which(c).get(side)).map(Count::get).sum();
            counter(family, &[("listener", &self.listener), ("role", role)], bytes)
        })
    }

    /// By sender and label, all versions of the protocol together.
    fn messages(&self) -> BTreeMap<(usize, &str), u64> {
        let mut all = BTreeMap::new();
        for version in &self.messages {
            for row in &version.threads {
                for ((sender, label), count) in version.labels.iter().zip(row) {
                    *all.entry((*sender, &**label)).or_default() += count.get();
                }
            }
        }
        all
    }

    fn verdicts(&self) -> BTreeMap<(String, String, String), u64> {
        let mut all = BTreeMap::new();
        for counters in &self.threads {
            for (key, count) in lock(&counters.verdicts).iter() {
                *all.entry(key.clone()).or_default() += count;
            }
        }
        all
    }
}

pub(super) fn counter(family: &mut MetricEncoder<'_>, labels: &[(&str, &str)], value: u64) -> fmt::Result {
    if labels.is_empty() {
        return family.encode_counter::<NoLabelSet, u64, u64>(&value, None);
    }
    family.encode_family(&labels)?.encode_counter::<NoLabelSet, u64, u64>(&value, None)
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut gauge = |name, help, value: fn(&Scope) -> u64| {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for scope in &self.scopes {
                family.encode_family(&[("listener", &*scope.listener)])?.encode_gauge(&value(scope))?;
            }
            Ok(())
        };
        gauge("referee_sessions_open", "Open sessions", |scope| scope.open)?;
        gauge("referee_buffered_bytes", "Bytes held by sessions", |scope| scope.sum(|c| &c.buffered))?;

        let mut each = |name, help, write: &dyn Fn(&mut MetricEncoder<'_>, &Scope) -> fmt::Result| {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            self.scopes.iter().try_for_each(|scope| write(&mut family, scope))
        };
        each("referee_sessions_opened", "Sessions that were begun", &|family, scope| {
            counter(family, &[("listener", &scope.listener)], scope.sum(|c| &c.opened))
        })?;
        each("referee_sessions_closed", "Sessions that ended, by reason", &|family, scope| {
            scope.reasons(|c| &c.closed).into_iter().try_for_each(|(why, count)| {
                counter(family, &[("listener", &scope.listener), ("why", why.name())], count)
            })
        })?;
        each("referee_connections_refused", "Connections that were refused, by reason", &|family, scope| {
            scope.reasons(|c| &c.refused).into_iter().try_for_each(|(why, count)| {
                counter(family, &[("listener", &scope.listener), ("why", why)], count)
            })
        })?;
        each(
            "referee_sessions_unchecked",
            "Sessions passed on without being looked at",
            &|family, scope| counter(family, &[("listener", &scope.listener)], scope.sum(|c| &c.unchecked)),
        )?;
        each("referee_messages", "Messages, by sender and label", &|family, scope| {
            scope.messages().into_iter().try_for_each(|((sender, label), count)| {
                let role = scope.roles.get(sender).map_or("", |role| role);
                counter(family, &[("listener", &scope.listener), ("role", role), ("label", label)], count)
            })
        })?;
        each("referee_verdicts", "Violations and faults, by role, kind and label", &|family, scope| {
            scope.verdicts().into_iter().try_for_each(|((role, kind, label), count)| {
                let labels =
                    [("listener", &*scope.listener), ("role", &role), ("kind", &kind), ("label", &label)];
                counter(family, &labels, count)
            })
        })?;
        each("referee_bytes", "Bytes passed on, by sender", &|family, scope| {
            scope.by_sender(family, |counters| &counters.bytes)
        })?;
        each("referee_discarded_bytes", "Bytes not passed on, by sender", &|family, scope| {
            scope.by_sender(family, |counters| &counters.discarded)
        })?;

        self.encode_decisions(&mut encoder)?;
        if let Some((protocol, role_metrics)) = &self.network {
            network::encode(&mut encoder, protocol, role_metrics)?;
        }
        self.encode_process(&mut encoder)
    }
}

impl Snapshot {
    fn encode_decisions(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Time to decode and judge a message";
        let mut family =
            encoder.encode_descriptor("referee_decision_seconds", help, None, MetricType::Histogram)?;
        for scope in &self.scopes {
            let count =
                |bucket| scope.threads.iter().filter_map(|c| c.decisions.get(bucket)).map(Count::get).sum();
            let bounds = DECISION_BOUNDS.iter().map(|bound| *bound as f64 / 1e9).chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = bounds.zip((0..).map(count)).collect();
            let total = buckets.iter().map(|(_, count)| count).sum();
            let seconds = scope.sum(|c| &c.decision_time) as f64 / 1e9;
            family
                .encode_family(&[("listener", &*scope.listener)])?
                .encode_histogram::<NoLabelSet>(seconds, total, &buckets, None)?;
        }

        Ok(())
    }

    /// What is counted of the process.
    fn encode_process(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Reloads of the configuration, by result";
        let mut family = encoder.encode_descriptor("referee_reloads", help, None, MetricType::Counter)?;
        for (result, count) in ["ok", "refused"].into_iter().zip(self.reloads) {
            counter(&mut family, &[("result", result)], count)?;
        }
        let help = "Attempts to write the journal that failed, and were repeated";
        let mut family =
            encoder.encode_descriptor("referee_journal_errors", help, None, MetricType::Counter)?;
        counter(&mut family, &[], self.journal_errors)?;
        let help = "Reports that were neither written nor logged";
        let mut family =
            encoder.encode_descriptor("referee_reports_dropped", help, None, MetricType::Counter)?;
        counter(&mut family, &[], self.reports_dropped)
    }
}
