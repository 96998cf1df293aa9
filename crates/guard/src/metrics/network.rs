//! What the monitors of a protocol of several parties have counted, as OpenMetrics.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::text::counter;
use crate::multiparty::RoleMetrics;

type Single = (&'static str, &'static str, fn(&RoleMetrics) -> u64);

const COUNTERS: [Single; 5] = [
    ("referee_multiparty_sessions_begun", "Sessions a role took part in", |metrics| metrics.begun),
    ("referee_multiparty_messages", "Messages of components", |metrics| metrics.counters.messages),
    ("referee_multiparty_peer_messages_sent", "Messages to other monitors", |metrics| {
        metrics.counters.peer_messages_out
    }),
    ("referee_multiparty_peer_messages_received", "Messages from other monitors", |metrics| {
        metrics.counters.peer_messages_in
    }),
    (
        "referee_multiparty_peer_messages_unmatched",
        "Messages from other monitors that belong to no open session",
        |metrics| metrics.unmatched,
    ),
];

pub(super) fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    protocol: &str,
    role_metrics: &[RoleMetrics],
) -> fmt::Result {
    let (name, help) = ("referee_multiparty_sessions_open", "Open sessions of a role");
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for metrics in role_metrics {
        let labels = [("protocol", protocol), ("role", metrics.role.as_str())];
        family.encode_family(&labels)?.encode_gauge(&metrics.open)?;
    }
    let (name, help) = (
        "referee_multiparty_link_connected",
        "Whether the monitor of another role is reached from that of a role",
    );
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for metrics in role_metrics {
        for (peer, connected) in &metrics.links {
            let labels = [("protocol", protocol), ("role", &*metrics.role), ("peer", peer)];
            family.encode_family(&labels)?.encode_gauge(&u64::from(*connected))?;
        }
    }
    for (name, help, value) in COUNTERS {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for metrics in role_metrics {
            counter(&mut family, &[("protocol", protocol), ("role", &metrics.role)], value(metrics))?;
        }
    }
    let (name, help) = ("referee_multiparty_sessions_closed", "Sessions that ended at a role, by reason");
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for metrics in role_metrics {
        for (why, count) in &metrics.counters.ended {
            counter(
                &mut family,
                &[("protocol", protocol), ("role", &metrics.role), ("why", why.name())],
                *count,
            )?;
        }
    }
    let (name, help) = ("referee_multiparty_verdicts", "Violations and faults, by who is to blame");
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for metrics in role_metrics {
        for ((blame, kind), count) in &metrics.counters.verdicts {
            let labels = [("protocol", protocol), ("role", &*metrics.role), ("blame", blame), ("kind", kind)];
            counter(&mut family, &labels, *count)?;
        }
    }
    Ok(())
}
