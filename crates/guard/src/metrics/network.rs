//! What the monitors of a protocol of several parties have counted, as OpenMetrics.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::text::counter;
use crate::multiparty::Tally;

type Single = (&'static str, &'static str, fn(&Tally) -> u64);

const COUNTERS: [Single; 5] = [
    ("referee_multiparty_sessions_begun", "Sessions a role took part in", |tally| tally.begun),
    ("referee_multiparty_messages", "Messages of components", |tally| tally.counts.messages),
    ("referee_multiparty_letters_sent", "Letters to other monitors", |tally| tally.counts.letters_out),
    ("referee_multiparty_letters_received", "Letters from other monitors", |tally| tally.counts.letters_in),
    ("referee_multiparty_letters_stray", "Letters of sessions that are over", |tally| tally.strays),
];

pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, protocol: &str, tallies: &[Tally]) -> fmt::Result {
    let (name, help) = ("referee_multiparty_sessions_open", "Open sessions of a role");
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for tally in tallies {
        let labels = [("protocol", protocol), ("role", tally.role.as_str())];
        family.encode_family(&labels)?.encode_gauge(&tally.open)?;
    }
    let (name, help) = (
        "referee_multiparty_link_connected",
        "Whether the monitor of another role is reached from that of a role",
    );
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for tally in tallies {
        for (peer, connected) in &tally.links {
            let labels = [("protocol", protocol), ("role", &*tally.role), ("peer", peer)];
            family.encode_family(&labels)?.encode_gauge(&u64::from(*connected))?;
        }
    }
    for (name, help, value) in COUNTERS {
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for tally in tallies {
            counter(&mut family, &[("protocol", protocol), ("role", &tally.role)], value(tally))?;
        }
    }
    let (name, help) = ("referee_multiparty_sessions_closed", "Sessions that ended at a role, by reason");
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for tally in tallies {
        for (why, count) in &tally.counts.ended {
            counter(&mut family, &[("protocol", protocol), ("role", &tally.role), ("why", why)], *count)?;
        }
    }
    let (name, help) = ("referee_multiparty_verdicts", "Violations and faults, by who is to blame");
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for tally in tallies {
        for ((blame, kind), count) in &tally.counts.verdicts {
            let labels = [("protocol", protocol), ("role", &*tally.role), ("blame", blame), ("kind", kind)];
            counter(&mut family, &labels, *count)?;
        }
    }
    Ok(())
}
