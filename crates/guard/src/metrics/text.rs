//! Counters as OpenMetrics text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::{Count, Counters, DECISION_BOUNDS, MessageCounters, lock};

/// A listener's counters.
pub(crate) struct Scope<'a> {
    pub(crate) listener: &'a str,
    pub(crate) roles: [String; 2],
    pub(crate) open: u64,
    pub(crate) threads: &'a [Arc<Counters>],
    pub(crate) messages: Vec<Arc<MessageCounters>>,
}

/// A label value, escaped.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}\n# HELP {name} {help}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (i, (key, text)) in labels.iter().enumerate() {
            let _ = write!(self.0, "{}{key}={}", if i == 0 { '{' } else { ',' }, quoted(text));
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }
}

fn sum(scope: &Scope<'_>, count: impl Fn(&Counters) -> &Count) -> u64 {
    scope.threads.iter().fold(0, |all, counters| all.wrapping_add(count(counters).get()))
}

/// The page that `/metrics` shows. `reloads` are those that worked and those that did not.
pub(crate) fn open_metrics(scopes: &[Scope<'_>], reloads: [u64; 2], journal_errors: u64) -> String {
    let mut page = Page(String::new());
    page.family("referee_sessions_open", "gauge", "Open sessions.");
    for scope in scopes {
        page.sample("referee_sessions_open", &[("listener", scope.listener)], scope.open);
    }
    page.family("referee_sessions_opened", "counter", "Sessions that were begun.");
    for scope in scopes {
        let opened = sum(scope, |counters| &counters.opened);
        page.sample("referee_sessions_opened_total", &[("listener", scope.listener)], opened);
    }
    for (name, help, which) in [
        ("referee_sessions_closed", "Sessions that ended, by reason.", true),
        ("referee_connections_refused", "Connections that were refused, by reason.", false),
    ] {
        page.family(name, "counter", help);
        for scope in scopes {
            let mut all: BTreeMap<&str, u64> = BTreeMap::new();
            for counters in scope.threads {
                for (why, count) in lock(if which { &counters.closed } else { &counters.refused }).iter() {
                    *all.entry(why).or_default() += count;
                }
            }
            for (why, count) in all {
                page.sample(&format!("{name}_total"), &[("listener", scope.listener), ("why", why)], count);
            }
        }
    }
    page.family("referee_sessions_unchecked", "counter", "Sessions passed on without being looked at.");
    for scope in scopes {
        let unchecked = sum(scope, |counters| &counters.unchecked);
        page.sample("referee_sessions_unchecked_total", &[("listener", scope.listener)], unchecked);
    }
    page.family("referee_messages", "counter", "Messages, by sender and label.");
    for scope in scopes {
        let mut all: BTreeMap<(usize, &str), u64> = BTreeMap::new();
        for version in &scope.messages {
            for row in &version.threads {
                for ((sender, label), count) in version.labels.iter().zip(row) {
                    *all.entry((*sender, label)).or_default() += count.get();
                }
            }
        }
        for ((sender, label), count) in all {
            let role = scope.roles.get(sender).map_or("", |role| role);
            let labels = [("listener", scope.listener), ("role", role), ("label", label)];
            page.sample("referee_messages_total", &labels, count);
        }
    }
    page.family("referee_verdicts", "counter", "Violations and faults, by role, kind and label.");
    for scope in scopes {
        let mut all: BTreeMap<(String, String, String), u64> = BTreeMap::new();
        for counters in scope.threads {
            for (key, count) in lock(&counters.verdicts).iter() {
                *all.entry(key.clone()).or_default() += count;
            }
        }
        for ((role, kind, label), count) in &all {
            let labels = [("listener", scope.listener), ("role", role), ("kind", kind), ("label", label)];
            page.sample("referee_verdicts_total", &labels, count);
        }
    }
    page.family("referee_bytes", "counter", "Bytes passed on, by sender.");
    for scope in scopes {
        for (side, role) in scope.roles.iter().enumerate() {
            let bytes = scope.threads.iter().filter_map(|c| c.bytes.get(side)).map(Count::get).sum::<u64>();
            page.sample("referee_bytes_total", &[("listener", scope.listener), ("role", role)], bytes);
        }
    }
    page.family("referee_buffered_bytes", "gauge", "Bytes held by sessions.");
    for scope in scopes {
        let buffered = sum(scope, |counters| &counters.buffered);
        page.sample("referee_buffered_bytes", &[("listener", scope.listener)], buffered);
    }
    page.family("referee_decision_seconds", "histogram", "Time to decode and judge a message.");
    for scope in scopes {
        let mut below = 0;
        for bucket in 0..=DECISION_BOUNDS.len() {
            below +=
                scope.threads.iter().filter_map(|c| c.decisions.get(bucket)).map(Count::get).sum::<u64>();
            let bound = DECISION_BOUNDS.get(bucket).map(|bound| (*bound as f64 / 1e9).to_string());
            let bound = bound.as_deref().unwrap_or("+Inf");
            page.sample(
                "referee_decision_seconds_bucket",
                &[("listener", scope.listener), ("le", bound)],
                below,
            );
        }
        page.sample("referee_decision_seconds_count", &[("listener", scope.listener)], below);
        let total = sum(scope, |counters| &counters.decision_time) as f64 / 1e9;
        page.sample("referee_decision_seconds_sum", &[("listener", scope.listener)], total);
    }
    page.family("referee_reloads", "counter", "Reloads of the configuration, by result.");
    for (result, count) in ["ok", "refused"].into_iter().zip(reloads) {
        page.sample("referee_reloads_total", &[("result", result)], count);
    }
    page.family("referee_journal_errors", "counter", "Records that could not be written.");
    page.sample("referee_journal_errors_total", &[], journal_errors);
    page.0.push_str("# EOF\n");
    page.0
}
