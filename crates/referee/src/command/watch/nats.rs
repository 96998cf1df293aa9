//! Events from NATS JetStream.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::jetstream::{self, Calls, Settings};
use referee::watch::partitions::MOST_PARTITIONS;
use referee::watch::{Notice, Observer, Options, Summary};
use serde_json::Value;

use super::{Arguments, Form, Judge, parse_duration};
use crate::output;

/// Where events come from, if not from files.
#[derive(Args)]
pub(crate) struct Broker {
    /// Watch a stream of NATS JetStream at URL (nats://user:password@host:4222) instead of files.
    #[arg(long, value_name = "URL", requires_all = ["stream", "durable"],
          conflicts_with_all = ["events", "follow", "until", "now"])]
    nats: Option<String>,
    /// The stream with the events; each message is one.
    #[arg(long, value_name = "NAME", requires = "nats")]
    stream: Option<String>,
    /// The name of the group of workers that share the stream, and of what is kept for it.
    #[arg(long, value_name = "NAME", requires = "nats")]
    durable: Option<String>,
    /// How many partitions a new group has: as many workers can share the work. Without it: 16.
    #[arg(long, value_name = "N", requires = "nats",
          value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_PARTITIONS)))]
    partitions: Option<u16>,
    /// The subjects of one partition, where subjects tell: events.{partition}.>. Without it, workers partition by key.
    #[arg(long, value_name = "SUBJECT", requires = "nats")]
    subjects: Option<String>,
    /// How long after a worker's last sign of life others take over. Without it, in a new group: 10s.
    #[arg(long, value_name = "DURATION", requires = "nats", value_parser = parse_duration)]
    lease: Option<Duration>,
    /// End when the group has judged all that is in the stream now.
    #[arg(long, requires = "nats")]
    pub(super) until_end: bool,
}

/// A lease that is shorter is missed by busy machines.
const SHORTEST_LEASE: Duration = Duration::from_millis(500);

impl Broker {
    pub(super) fn is_given(&self) -> bool {
        self.nats.is_some()
    }

    /// Whether it goes with the other arguments.
    pub(super) fn check(&self, arguments: &Arguments) -> Result<()> {
        if self.is_given() && arguments.events_format == Form::Csv {
            bail!("rows of CSV mean nothing without their header: events from NATS cannot be CSV");
        }
        if self.lease.is_some_and(|lease| lease < SHORTEST_LEASE) {
            bail!("a lease (--lease) of less than {SHORTEST_LEASE:?} would be missed now and then");
        }
        Ok(())
    }

    /// Works in the group.
    pub(super) fn judge(
        &self,
        arguments: &Arguments,
        options: &Options,
        judge: &Judge<'_>,
        render: &(dyn Fn(&Notice) -> Option<Value> + Sync),
        observer: &mut dyn Observer,
    ) -> Result<Summary> {
        let settings = Settings {
            url: self.nats.clone().unwrap_or_default(),
            stream: self.stream.clone().unwrap_or_default(),
            durable: self.durable.clone().unwrap_or_default(),
            partitions: self.partitions,
            subjects: self.subjects.clone(),
            lease: self.lease,
            until_end: self.until_end,
            specification: specification(arguments, options)?,
        };
        let render = |notice: &Notice| render(notice).map(|verdict| verdict.to_string());
        let calls = Calls {
            judge: &|input, options, observer| judge(vec![input], options, observer),
            render: &render,
            remark: &|text| output::remark(text),
        };
        Ok(jetstream::run(&settings, options, calls, observer)?)
    }
}

/// A number that is another when verdicts may be others.
pub(super) fn specification(arguments: &Arguments, options: &Options) -> Result<u64> {
    let mut text = Vec::new();
    for path in arguments.protocol.iter().chain(&arguments.property).chain(&arguments.functions) {
        text.extend(std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?);
        text.push(0);
    }
    let choices =
        (&arguments.role, &arguments.protocol_name, &arguments.role_name, arguments.all, arguments.join);
    let choices = (choices, &arguments.session_ends, arguments.tolerance);
    let limits = (options.idle_sessions, options.ended_sessions, options.max_instances, options.max_line);
    let functions = (arguments.functions_fuel, arguments.functions_memory);
    let form = (&options.format, &options.shape, options.reorder.filter(|_| arguments.broker.is_given()));
    text.extend(format!("{choices:?}{limits:?}{functions:?}{form:?}").bytes());
    Ok(hash(&text))
}

/// FNV-1a: the same for every build.
pub(super) fn hash(text: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
