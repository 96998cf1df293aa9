//! A session under way, as the rest of the guard sees it: what `/sessions` shows, and what makes reports of its verdicts.

use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use referee_session::{Engine as _, RecordedMessage, SessionVerdict, Tap, TwoParty};
use referee_verdict::json_value;
use referee_wire::Sender;
use serde_json::{Value, json};

use crate::driver::Gauges;
use crate::metrics::{Counters, lock};
use crate::plan::Plan;
use crate::report::{EndReason, EndRecord, MessageRecord, Report, VerdictClass, VerdictReport, timestamp};

/// What its driver knows of the end of a session.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// Bytes that went on, from the client and from the server.
    pub(crate) bytes: [u64; 2],
    /// Bytes of either side that did not.
    pub(crate) discarded: u64,
    pub(crate) detail: Option<String>,
}

/// A session under way.
pub(crate) struct LiveSession {
    pub(crate) id: u64,
    pub(crate) source: String,
    pub(crate) plan: Arc<Plan>,
    pub(crate) engine: Arc<Mutex<TwoParty>>,
    pub(crate) gauges: Arc<Gauges>,
    counters: Arc<Counters>,
    began: Instant,
}

impl LiveSession {
    pub(crate) fn new(
        id: u64,
        source: String,
        plan: &Arc<Plan>,
        engine: TwoParty,
        counters: &Arc<Counters>,
    ) -> Self {
        Self {
            id,
            source,
            plan: Arc::clone(plan),
            engine: Arc::new(Mutex::new(engine)),
            gauges: Arc::default(),
            counters: Arc::clone(counters),
            began: Instant::now(),
        }
    }

    /// The reports of `verdicts`, which were given now.
    pub(crate) fn reports(&self, verdicts: Vec<SessionVerdict>) -> Vec<Report> {
        let messages = match self.plan.rules.options().record {
            true => lock(&self.engine).take_messages(),
            false => Vec::new(),
        };
        self.recorded(messages).chain(verdicts.into_iter().map(|verdict| self.report(verdict))).collect()
    }

    fn recorded(&self, messages: Vec<RecordedMessage>) -> impl Iterator<Item = Report> {
        let time = if messages.is_empty() { String::new() } else { timestamp(SystemTime::now()) };
        messages.into_iter().map(move |message| {
            Report::Message(Box::new(MessageRecord {
                listener: self.plan.name.clone(),
                time: time.clone(),
                session: message.session.map_or_else(|| self.id.to_string(), |number| number.to_string()),
                from: message.from,
                to: message.to,
                label: message.label,
                payload: json_value(&message.payload),
                forwarded: message.forwarded,
            }))
        })
    }

    fn report(&self, verdict: SessionVerdict) -> Report {
        let SessionVerdict { mut record, origin, recent } = verdict;
        record.time = Some(timestamp(SystemTime::now()));
        record.session = Some(self.id.to_string());
        record.source = Some(self.source.clone());
        record.rule = self.plan.protocol.location(origin);
        let kind = match record.verdict {
            VerdictClass::Violation | VerdictClass::Fault => &record.kind,
            class => class.name(),
        };
        let got = record.got.as_deref().unwrap_or_default();
        // What a peer sends is no label of a metric.
        let is_known = self.plan.rules.codec().messages().iter().any(|known| *known.name == *got);
        let label = if is_known || got.is_empty() { got } else { "?" };
        self.counters.note_verdict(record.blame.as_deref().unwrap_or_default(), kind, label);
        Report::Verdict(Box::new(VerdictReport {
            listener: self.plan.name.clone(),
            record,
            policy: self.plan.rules.policy_name().to_owned(),
            recent,
        }))
    }

    /// The report of its end, and those that were not emitted before.
    pub(crate) fn end(
        &self,
        why: EndReason,
        End { bytes: [bytes_from_client, bytes_from_server], discarded, detail }: End,
    ) -> (EndRecord, Vec<Report>) {
        let mut engine = lock(&self.engine);
        let (messages, verdicts) = (engine.take_messages(), engine.take_reports());
        let reports = self.recorded(messages).chain(verdicts.into_iter().map(|verdict| self.report(verdict)));
        let reports = reports.collect();
        let record = EndRecord {
            time: timestamp(SystemTime::now()),
            listener: self.plan.name.clone(),
            session: Some(self.id.to_string()),
            network_session: None,
            traceparent: None,
            parent_span: None,
            source: self.source.clone(),
            why,
            detail: detail.or(engine.note().map(str::to_owned)),
            unchecked: !engine.is_inspecting(),
            messages: engine.judged(),
            violations: engine.violations(),
            bytes_from_client,
            bytes_from_server,
            bytes_discarded: discarded,
            milliseconds: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        (record, reports)
    }

    /// Appends what a list shows of it, as JSON, unless it had so many messages and violations `before` already; to who has not
    /// heard of it, also what never changes. How many it has now.
    pub(crate) fn write_brief(&self, before: Option<(u64, u64)>, out: &mut Vec<u8>) -> (u64, u64) {
        let engine = lock(&self.engine);
        let counts = (engine.judged(), engine.violations());
        if before == Some(counts) {
            return counts;
        }
        let brief = serde_json::to_vec(&engine.brief()).unwrap_or_default();
        drop(engine);
        if out.last() == Some(&b'}') {
            out.push(b',');
        }
        // Twice a second, for each session that went on: no tree of values is made.
        let _ = write!(out, "{{\"session\":\"{}\"", self.id);
        if before.is_none() {
            let milliseconds = self.began.elapsed().as_millis();
            let [name, source] =
                [&self.plan.name, &self.source].map(|text| serde_json::to_string(text).unwrap_or_default());
            let _ = write!(out, ",\"listener\":{name},\"source\":{source},\"milliseconds\":{milliseconds}");
        }
        out.push(b',');
        out.extend_from_slice(brief.get(1..).unwrap_or_default());
        counts
    }

    /// How many messages and violations it has.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let engine = lock(&self.engine);
        (engine.judged(), engine.violations())
    }

    /// What it keeps from now on for who follows it.
    pub(crate) fn follow(&self) -> Arc<Tap> {
        lock(&self.engine).follow()
    }

    /// How it stands, for `/sessions`.
    pub(crate) fn describe(&self) -> Value {
        let view = lock(&self.engine).view();
        let mut value = serde_json::to_value(view).unwrap_or_default();
        if let Value::Object(fields) = &mut value {
            fields.insert("listener".to_owned(), self.plan.name.clone().into());
            fields.insert("session".to_owned(), self.id.to_string().into());
            fields.insert("source".to_owned(), self.source.clone().into());
        }
        value
    }

    /// How it stands, with what its driver holds, and since when nothing has come.
    pub(crate) fn describe_fully(&self) -> Value {
        let mut value = self.describe();
        let milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Value::Object(fields) = &mut value {
            let queues = Sender::BOTH.map(|sender| {
                let [undecided, unsent] = self.gauges.queues(sender);
                let role = &self.plan.rules.roles()[sender.index()];
                json!({ "role": role, "undecided_bytes": undecided, "unsent_bytes": unsent })
            });
            fields.insert("queues".to_owned(), queues.to_vec().into());
            fields.insert("policy".to_owned(), self.plan.rules.policy_name().into());
            fields.insert("milliseconds".to_owned(), milliseconds.into());
            let idle = milliseconds.saturating_sub(self.gauges.last_activity());
            fields.insert("idle_milliseconds".to_owned(), idle.into());
        }
        value
    }
}
