//! What the broker keeps of a group: what it is, who owns which partition and how far that one is, and the verdicts.
//!
//! Everything that two workers might write at once is written with the revision it is to replace, so that one of them
//! fails.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::kv::{CreateErrorKind, Store, UpdateErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, LastRawMessageErrorKind, RawMessageErrorKind, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt as _;
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};

use crate::error::GroupError;
use crate::settings::{LEASE, PARTITION, PARTITIONS, Settings};

/// The number of the last event whose verdicts are all in this message or before it.
const THROUGH: &str = "Referee-Through";
/// The event of the first verdict that is not in this message or before it, and its place among those found with this event.
const NEXT: &str = "Referee-Next";
/// How many violations the verdicts of the partition have, up to and with this message, and how many of them are consequences.
const FOUND: &str = "Referee-Found";

/// A group, as one worker sees it.
#[derive(Clone)]
pub(crate) struct Group {
    pub(crate) client: Client,
    context: Context,
    pub(crate) events: Stream,
    verdicts: Stream,
    state: Store,
    pub(crate) members: Store,
    pub(crate) name: String,
    pub(crate) charter: Charter,
}

/// What all workers of a group agree on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Charter {
    stream: String,
    pub(crate) partitions: u16,
    pub(crate) subjects: Option<String>,
    specification: String,
    /// The first event.
    pub(crate) from: u64,
    /// In milliseconds.
    lease: u64,
}

impl Charter {
    /// The subjects of partition `number`, if subjects tell partitions.
    pub(crate) fn subject(&self, number: u16) -> Option<String> {
        Some(self.subjects.as_ref()?.replace(PARTITION, &number.to_string()))
    }

    /// How long after a worker's last sign of life others take over.
    pub(crate) fn lease(&self) -> Duration {
        Duration::from_millis(self.lease)
    }
}

/// What is recorded of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Partition {
    pub(crate) owner: Option<String>,
    /// The last event that is done with, verdicts included.
    pub(crate) position: Option<u64>,
}

/// A verdict: the event with which it was found, and its place among the verdicts of the partition that were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VerdictNumber {
    pub(crate) message: u64,
    pub(crate) place: u64,
}

impl VerdictNumber {
    /// The first behind the event `through`; without one, the first of all.
    pub(crate) fn after(through: Option<u64>) -> Self {
        Self { message: through.map_or(0, |through| through.saturating_add(1)), place: 0 }
    }

    fn header(self) -> String {
        format!("{} {}", self.message, self.place)
    }

    fn parse(text: &str) -> Option<Self> {
        let (message, place) = text.split_once(' ')?;
        Some(Self { message: message.parse().ok()?, place: place.parse().ok()? })
    }
}

/// A partition's last message in the stream of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LastVerdicts {
    /// Its number in that stream; 0 if there is none.
    pub(crate) sequence: u64,
    /// All verdicts before this one are out.
    pub(crate) out: VerdictNumber,
    /// What the partition's verdicts come to, this message included; `None` if a version that did not count wrote some of them.
    pub(crate) found: Option<Found>,
}

/// Violations, and how many of them came after the first of their session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) violations: u64,
    pub(crate) consequences: u64,
}

impl Found {
    /// Those of `lines` besides.
    pub(crate) fn and(self, lines: &[u8]) -> Self {
        let (violations, consequences) = count_violations(lines);
        Self { violations: self.violations + violations, consequences: self.consequences + consequences }
    }

    fn header(self) -> String {
        format!("{} {}", self.violations, self.consequences)
    }

    fn parse(text: &str) -> Option<Self> {
        let (violations, consequences) = text.split_once(' ')?;
        Some(Self { violations: violations.parse().ok()?, consequences: consequences.parse().ok()? })
    }
}

impl LastVerdicts {
    /// What a partition without verdicts has.
    const NONE: Self = Self {
        sequence: 0,
        out: VerdictNumber { message: 0, place: 0 },
        found: Some(Found { violations: 0, consequences: 0 }),
    };
}

/// Whether something that only one can do was done.
pub(crate) enum Attempt<T> {
    Done(T),
    /// Another was first.
    Beaten,
}

impl Group {
    /// Connects, and makes what is not there yet.
    pub(crate) async fn open(settings: &Settings) -> Result<Self, GroupError> {
        let name = &settings.durable;
        let plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        if !plain(name) {
            let why = "the name of a group (--durable) is made of letters, digits, `-` and `_`";
            return Err(GroupError::Settings(why.to_owned()));
        }
        if let Some(subjects) = &settings.subjects
            && !subjects.split('.').any(|token| token == PARTITION)
        {
            let why = format!(
                "--subjects must have `{PARTITION}` as one of its tokens, as in `events.{PARTITION}.>`: `{subjects}`"
            );
            return Err(GroupError::Settings(why));
        }
        let client = ConnectOptions::new()
            .name(format!("referee {name}"))
            .connect(&settings.url)
            .await
            .map_err(|error| {
                GroupError::broker(format!("connect to `{}`", without_password(&settings.url)))(error.into())
            })?;
        let context = jetstream::new(client.clone());
        let broker = |doing: String| move |error: async_nats::Error| GroupError::broker(doing)(error);
        let events = context
            .get_stream(&settings.stream)
            .await
            .map_err(|error| broker(format!("find the stream `{}`", settings.stream))(error.into()))?;
        let num_replicas = events.cached_info().config.num_replicas;
        let state = store(&context, &format!("referee-{name}"), Duration::ZERO, num_replicas).await?;
        let charter = charter(settings, &state, events.cached_info().state.first_sequence.max(1)).await?;
        let members =
            store(&context, &format!("referee-{name}-members"), charter.lease(), num_replicas).await?;
        let verdicts = context
            .get_or_create_stream(stream::Config {
                name: format!("referee-{name}-verdicts"),
                description: Some(format!(
                    "Verdicts of Referee's group {name} about the stream {}.",
                    settings.stream
                )),
                subjects: vec![format!("referee.{name}.verdicts.*")],
                num_replicas,
                ..stream::Config::default()
            })
            .await
            .map_err(|error| broker("make the stream of verdicts".to_owned())(error.into()))?;
        Ok(Self { client, context, events, verdicts, state, members, name: name.clone(), charter })
    }

    /// The number of the last event of each partition; 0 if it has none.
    pub(crate) async fn last_events(&self) -> Result<Vec<u64>, GroupError> {
        let failed = |error: async_nats::Error| GroupError::broker("look at the stream")(error);
        if self.charter.subjects.is_none() {
            let info = self.events.get_info().await.map_err(|error| failed(error.into()))?;
            return Ok(vec![info.state.last_sequence; usize::from(self.charter.partitions)]);
        }
        let last = async |number: u16| {
            let config = pull::Config {
                deliver_policy: DeliverPolicy::Last,
                ack_policy: AckPolicy::None,
                filter_subject: self.charter.subject(number).unwrap_or_default(),
                ..pull::Config::default()
            };
            let consumer = self.events.create_consumer(config).await.map_err(|error| failed(error.into()))?;
            let mut one =
                consumer.fetch().max_messages(1).messages().await.map_err(|error| failed(error.into()))?;
            match one.next().await {
                None => Ok(0),
                Some(message) => Ok(message.map_err(failed)?.info().map_err(failed)?.stream_sequence),
            }
        };
        try_join_all((0..self.charter.partitions).map(last)).await
    }

    /// What is recorded of partition `number`, and the revision; 0 if nothing is.
    pub(crate) async fn partition(&self, number: u16) -> Result<(Partition, u64), GroupError> {
        let entry = self.state.entry(key(number)).await;
        match entry.map_err(|error| GroupError::broker("read the state of the group")(error.into()))? {
            None => Ok((Partition::default(), 0)),
            Some(entry) => Ok((parse(&entry.value)?, entry.revision)),
        }
    }

    /// Records `partition` in the place of `revision`; the new revision.
    pub(crate) async fn record(
        &self,
        number: u16,
        partition: &Partition,
        revision: u64,
    ) -> Result<Attempt<u64>, GroupError> {
        match self.state.update(key(number), json(partition)?.into(), revision).await {
            Ok(revision) => Ok(Attempt::Done(revision)),
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(Attempt::Beaten),
            Err(error) => Err(GroupError::broker("record the state of the group")(error.into())),
        }
    }

    /// The last verdicts of a partition that are out.
    pub(crate) async fn last_verdicts(&self, number: u16) -> Result<LastVerdicts, GroupError> {
        match self.verdicts.get_last_raw_message_by_subject(&self.subject(number)).await {
            Ok(message) => {
                let through = message.headers.get(THROUGH).and_then(|through| through.as_str().parse().ok());
                let next = message.headers.get(NEXT).and_then(|next| VerdictNumber::parse(next.as_str()));
                // Versions that did not split the verdicts found with one event wrote no more than the last one.
                let out = next.unwrap_or_else(|| VerdictNumber::after(through));
                let found = message.headers.get(FOUND).and_then(|found| Found::parse(found.as_str()));
                Ok(LastVerdicts { sequence: message.sequence, out, found })
            }
            Err(error) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => {
                Ok(LastVerdicts::NONE)
            }
            Err(error) => Err(GroupError::broker("read the last verdict")(error.into())),
        }
    }

    /// Publishes verdicts of a partition, if the last ones are `last`; what are the last ones then.
    pub(crate) async fn publish(
        &self,
        number: u16,
        lines: String,
        out: VerdictNumber,
        last: LastVerdicts,
    ) -> Result<Attempt<LastVerdicts>, GroupError> {
        let found = last.found.map(|found| found.and(lines.as_bytes()));
        let mut message = PublishMessage::build()
            .payload(lines.into())
            .header(THROUGH, out.message.saturating_sub(1).to_string().as_str())
            .header(NEXT, out.header().as_str())
            .expected_last_subject_sequence(last.sequence);
        if let Some(found) = found {
            message = message.header(FOUND, found.header().as_str());
        }
        let acknowledged = match self.context.send_publish(self.subject(number), message).await {
            Ok(acknowledged) => acknowledged.await,
            Err(error) => Err(error),
        };
        match acknowledged {
            Ok(acknowledged) => {
                Ok(Attempt::Done(LastVerdicts { sequence: acknowledged.sequence, out, found }))
            }
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(Attempt::Beaten),
            Err(error) => Err(GroupError::broker("publish a verdict")(error.into())),
        }
    }

    /// How many violations all workers have found since the group began, and how many of them after the first of their session.
    pub(crate) async fn found(&self) -> Result<(u64, u64), GroupError> {
        // Each partition's last message says what they come to.
        let last =
            try_join_all((0..self.charter.partitions).map(|number| self.last_verdicts(number))).await?;
        let found: Option<Vec<Found>> = last.iter().map(|last| last.found).collect();
        match found {
            Some(found) => Ok(found.iter().fold((0, 0), |(violations, consequences), found| {
                (violations + found.violations, consequences + found.consequences)
            })),
            None => self.recount().await,
        }
    }

    /// As [`found`](Self::found), where a version of Referee that did not count has written some of the verdicts.
    async fn recount(&self) -> Result<(u64, u64), GroupError> {
        let failed = |error| GroupError::broker("read the verdicts of the group")(error);
        let state = self.verdicts.get_info().await.map_err(|error| failed(error.into()))?.state;
        let (mut all, mut later) = (0, 0);
        // An empty stream begins with 0, which is no message.
        for sequence in state.first_sequence.max(1)..=state.last_sequence {
            let message = match self.verdicts.get_raw_message(sequence).await {
                Ok(message) => message,
                Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => continue,
                Err(error) => return Err(failed(error.into())),
            };
            let (violations, consequences) = count_violations(&message.payload);
            all += violations;
            later += consequences;
        }
        Ok((all, later))
    }

    /// How many bytes of verdicts fit into a message.
    pub(crate) fn room(&self) -> usize {
        const HEADERS: usize = 1024;
        self.client.server_info().max_payload.saturating_sub(HEADERS).max(HEADERS)
    }

    fn subject(&self, number: u16) -> String {
        format!("referee.{}.verdicts.{number}", self.name)
    }
}

fn key(number: u16) -> String {
    format!("partition.{number}")
}

fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, GroupError> {
    let why = |error| GroupError::Settings(format!("the state of the group is not Referee's: {error}"));
    serde_json::from_slice(bytes).map_err(why)
}

fn json<T: Serialize>(value: &T) -> Result<Vec<u8>, GroupError> {
    serde_json::to_vec(value).map_err(|error| GroupError::Settings(error.to_string()))
}

/// The bucket called `bucket`. It is made as a stream, because older servers say less about the account than the client's
/// own function wants to know.
async fn store(
    context: &Context,
    bucket: &str,
    max_age: Duration,
    num_replicas: usize,
) -> Result<Store, GroupError> {
    const DUPLICATES: Duration = Duration::from_secs(120);
    let stream = stream::Config {
        name: format!("KV_{bucket}"),
        subjects: vec![format!("$KV.{bucket}.>")],
        max_messages_per_subject: 1,
        max_age,
        discard: stream::DiscardPolicy::New,
        duplicate_window: if max_age.is_zero() { DUPLICATES } else { max_age.min(DUPLICATES) },
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        num_replicas,
        ..stream::Config::default()
    };
    let failed = |error: async_nats::Error| GroupError::broker(format!("make the bucket `{bucket}`"))(error);
    context.get_or_create_stream(stream).await.map_err(|error| failed(error.into()))?;
    context.get_key_value(bucket).await.map_err(|error| failed(error.into()))
}

/// The charter of the group: that of the first worker.
async fn charter(settings: &Settings, state: &Store, first: u64) -> Result<Charter, GroupError> {
    const KEY: &str = "charter";
    let own = Charter {
        stream: settings.stream.clone(),
        partitions: settings.partitions.unwrap_or(PARTITIONS),
        subjects: settings.subjects.clone(),
        specification: format!("{:016x}", settings.specification),
        from: first,
        lease: settings.lease.unwrap_or(LEASE).as_millis() as u64,
    };
    match state.create(KEY, json(&own)?.into()).await {
        Ok(_) => return Ok(own),
        Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {}
        Err(error) => return Err(GroupError::broker("found the group")(error.into())),
    }
    let found = state
        .get(KEY)
        .await
        .map_err(|error| GroupError::broker("read the state of the group")(error.into()))?;
    let found: Charter = parse(&found.unwrap_or_default())?;
    let differs = |what: &str| {
        Err(GroupError::Settings(format!(
            "the group `{}` exists with {what}; give the same, or another name with --durable",
            settings.durable
        )))
    };
    if found.stream != own.stream {
        return differs(&format!("the stream `{}`", found.stream));
    }
    if found.partitions != own.partitions && settings.partitions.is_some() {
        return differs(&format!("{} partitions", found.partitions));
    }
    if found.subjects != own.subjects {
        return differs(&match &found.subjects {
            Some(subjects) => format!("partitions by subject, `{subjects}`"),
            None => "partitions by key, not by subject".to_owned(),
        });
    }
    if found.lease != own.lease && settings.lease.is_some() {
        return differs(&format!("a lease of {} ms", found.lease));
    }
    if found.specification != own.specification {
        return differs("another protocol or property, or options that change verdicts");
    }
    Ok(found)
}

/// A URL as it may be shown.
fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}://…{}", &url[..scheme], &url[at..]),
        _ => url.to_owned(),
    }
}

/// How many of these lines are violations, and how many of them consequences. A quote in a text is escaped, so that the keys are
/// those of the record itself. What is not certain is no violation.
fn count_violations(lines: &[u8]) -> (u64, u64) {
    let text = String::from_utf8_lossy(lines);
    let is_violation =
        |line: &&str| line.contains("\"verdict\":\"violation\"") && !line.contains("\"certain\":false");
    let violations = text.lines().filter(is_violation);
    violations.fold((0, 0), |(all, later), line| {
        (all + 1, later + u64::from(line.contains("\"consequence\":true")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_carried_on() {
        let lines = b"{\"verdict\":\"violation\",\"consequence\":false}\n{\"verdict\":\"violation\",\"consequence\":true}\n";
        let found = Found { violations: 5, consequences: 1 }.and(lines);
        assert_eq!(found, Found { violations: 7, consequences: 2 });
        assert_eq!(Found::parse(&found.header()), Some(found));
        assert_eq!((Found::parse("7"), Found::parse("7 x")), (None, None));
        let number = VerdictNumber { message: 8, place: 2 };
        assert_eq!(VerdictNumber::parse(&number.header()), Some(number));
    }
}
