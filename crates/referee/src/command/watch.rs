//! `referee watch`: does what was recorded follow the protocol, or have the properties, and who broke it where not?

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use referee::Language;
use referee::functions::{Functions, Limits};
use referee::watch::options::{ENDED_SESSIONS, LONGEST_LINE, MAX_INSTANCES, MAX_LINE, MAX_ORDERS};
use referee::watch::{
    Checkpoint, EventReader, EventsFormat, Input, MergeMode, Notice, Observer, Options, SessionEnds, Summary,
    WatchError, watch, watch_properties,
};

mod alerts;
mod captures;
mod continuing;
mod documents;
mod journal;
mod metrics;
mod nats;
mod pointers;
pub(crate) mod property;
mod report;
mod scrutiny;
mod sources;
mod summary;

use alerts::Alerts;
use metrics::Metrics;
pub(crate) use pointers::Pointers;
use report::Reporter;
use scrutiny::Scrutiny;
use sources::Sources;

use crate::Outcome;
use crate::input;
use crate::output;

/// Watch recorded events: who broke the protocol, and where? Or: which properties are violated?
///
/// Every session (by the key `session`) is followed by a monitor for the role under scrutiny; both sides are
/// checked. Prints each session's first violation: who is to blame, what came and what was expected. An event
/// is a JSON object on a line of its own:
///
/// {"session":"42","from":"client","to":"server","label":"Auth","payload":{"uname":"bob"},"time":"…"}
///
/// and {"session":"42","end":"client"} says that a side has ended. A session that is not over when the input
/// ends is nobody's fault. Files may be compressed with gzip or zstd.
///
/// With --property, each session (or key, or process, if the property says so) gets an instance of each property, and
/// the first event that violates it, or satisfies it, is reported.
///
/// With --nats, events are the messages of a JetStream stream, which workers with the same --durable share by key;
/// a worker goes on until Ctrl-C or SIGTERM.
#[derive(Args)]
#[command(group(clap::ArgGroup::new("what").args(["protocol", "property"]).required(true)))]
pub(crate) struct Arguments {
    /// The protocol that the events should follow: a file, or preset:NAME.
    #[arg(long, value_name = "FILE")]
    protocol: Option<PathBuf>,
    /// Properties and rules that the events should follow, instead of a protocol; may be repeated. `--rules` is the same.
    #[arg(long, visible_alias = "rules", value_name = "FILE", conflicts_with_all = ["protocol", "role", "protocol_name", "role_name", "functions"])]
    property: Vec<PathBuf>,
    /// Keep at most N submonitors and keys of properties; what would need more gets the verdict `resource-limit`.
    /// From 65,536 on they are spread over 64 parts by key, each with its share: a single key has N/64.
    #[arg(long, value_name = "N", default_value_t = MAX_INSTANCES as u32,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_instances: u32,
    /// The role under scrutiny. Without it, of two roles: the one that is declared first.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Judge every role, one after the other; a verdict says whose monitor found it (`role`).
    #[arg(long, conflicts_with_all = ["role", "property", "follow", "nats"])]
    all_roles: bool,
    /// Which protocol, where the file has several. Without it: the first.
    #[arg(long, value_name = "NAME")]
    protocol_name: Option<String>,
    /// The language of the protocol, where the extension does not tell: scr, nuscr, st, gt, gt.json, kmc, fsm.
    #[arg(long, value_name = "LANGUAGE", value_parser = input::parse_language)]
    language: Option<Language>,
    #[command(flatten)]
    imports: input::Imports,
    /// What events call the roles, where that is not their names: --role-name process=client,environment=server.
    #[arg(long, value_name = "ROLE=NAME", value_delimiter = ',')]
    role_name: Vec<String>,
    /// A WebAssembly module with the external functions that the protocol's assertions call; may be repeated.
    #[arg(long, value_name = "WASM")]
    functions: Vec<PathBuf>,
    /// How many units of fuel, about one for each instruction, a call of a function may take.
    #[arg(long, value_name = "N", default_value_t = Limits::default().fuel)]
    functions_fuel: u64,
    /// How many bytes of memory a module of functions may use.
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().memory as u32)]
    functions_memory: u32,
    /// Files with events, merged by time if they have times, else one after the other; `-` is standard input.
    #[arg(value_name = "EVENTS", default_value = "-")]
    events: Vec<PathBuf>,
    /// Watch the records of the journal that a guard writes to FOLDER (`referee journal`), each of which is an event: verdicts, ends of
    /// sessions, and the messages if they are recorded. A folder of such folders (`referee mcp --journal`) is read as well.
    #[arg(long, value_name = "FOLDER", requires = "property", conflicts_with_all = ["events", "events_format", "source", "follow", "nats", "pcap"])]
    journal: Option<PathBuf>,
    /// In which form events come.
    #[arg(long, value_enum, default_value_t = Form::Jsonl)]
    events_format: Form,
    /// How lines of a log of another kind become events: a TOML file (docs/sources.md), or preset:NAME (`referee extract
    /// --list`). LOG=FILE says so of one of the inputs, and may be repeated: the others are read by the source that names none, or as events.
    #[arg(long, value_name = "[LOG=]FILE", conflicts_with_all = ["events_format", "session_key", "from", "to", "label", "payload", "time", "end", "nats"])]
    source: Vec<String>,
    /// Text for people, one line of JSON for each violation, or one document of SARIF.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write what it all came to as a JSON document, `-` for standard error.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Report every violation, not only the first of each session.
    #[arg(long)]
    all: bool,
    /// Show the last events of the session with each violation; for a property, the derivation of the verdict.
    #[arg(long)]
    explain: bool,
    /// Write the violations to this file, each with the events before it, as a page to step through them in a browser.
    #[arg(long, value_name = "FILE", conflicts_with = "property")]
    export_html: Option<PathBuf>,
    /// What cannot be read or judged makes the input wrong (exit status 2).
    #[arg(long)]
    strict: bool,
    /// What cannot be read or judged does not change the exit status (otherwise it is 3).
    #[arg(long, conflicts_with = "strict")]
    lenient: bool,
    /// Sessions may have begun before the first event: each starts in every state, and nobody is blamed for what was
    /// not seen.
    #[arg(long, conflicts_with = "property")]
    join: bool,
    #[command(flatten)]
    pointers: Pointers,
    /// Keep at most N sessions that are not over; the longest idle are dropped, and no longer judged.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    idle_sessions: Option<u32>,
    /// Remember N sessions after their end, so that a message that still comes is not taken for a new session.
    #[arg(long, value_name = "N", default_value_t = ENDED_SESSIONS as u32)]
    ended_sessions: u32,
    /// What ends a session whose key is used again: a time without an event (5m), or the label of an event; may be repeated.
    #[arg(long, value_name = "DURATION|LABEL", conflicts_with = "property")]
    session_ends: Vec<String>,
    /// Merge the inputs by the times of their events: the default where the first event of every input has one.
    #[arg(long, conflicts_with_all = ["no_merge", "nats", "checkpoint"])]
    merge: bool,
    /// Read one input after the other, whatever their times.
    #[arg(long)]
    no_merge: bool,
    /// How far the clocks of the inputs may differ, which are merged then: a violation is reported only if there is one in every order that
    /// the times allow. Without it, only times that are not written exactly enough leave an order open.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration,
          conflicts_with_all = ["no_merge", "nats", "checkpoint", "property", "session_ends", "tolerance", "pcap"])]
    skew: Option<Duration>,
    /// How many sets of events that can come first are followed, of events whose order is not known; beyond, they are not judged.
    #[arg(long, value_name = "N", default_value_t = MAX_ORDERS as u32, value_parser = clap::value_parser!(u32).range(1..))]
    max_orders: u32,
    /// Put events in the order of their times, if they are at most this late: 5s, 200ms, 1m.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    reorder: Option<Duration>,
    /// What time it was at the end of the input: what was expected by then and did not come is reported. RFC 3339, or a number.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<i64>,
    /// As --until with the present time.
    #[arg(long, conflicts_with = "until")]
    now: bool,
    /// How far, at most, the time of an event in the log may be from when its sender sent it or its receiver got it: deadlines of the
    /// protocol are longer by that, in either direction.
    #[arg(long, value_name = "DURATION", conflicts_with = "property", value_parser = parse_duration)]
    tolerance: Option<Duration>,
    /// Lines that are longer are no events.
    #[arg(long, value_name = "BYTES", default_value_t = MAX_LINE as u32,
          value_parser = clap::value_parser!(u32).range(1..=LONGEST_LINE as i64))]
    max_line: u32,
    /// How many threads work. Without it: as many as there are processors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Go on with what is appended to the files, until Ctrl-C.
    #[arg(long)]
    follow: bool,
    /// Keep in FILE what was read and told, so that after a crash or a stop the same command goes on where it was: nothing is lost, and
    /// nothing told twice.
    #[arg(long, value_name = "FILE", requires = "follow", conflicts_with_all = ["nats", "pcap", "until", "now", "export_html"])]
    checkpoint: Option<PathBuf>,
    /// Answer scrapers at this address with what was counted so far (OpenMetrics, at /metrics).
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    #[command(flatten)]
    alerts: alerts::AlertArguments,
    #[command(flatten)]
    captures: captures::Captures,
    #[command(flatten)]
    broker: nats::Broker,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum Form {
    /// One JSON object per line.
    Jsonl,
    /// Comma-separated values with a header.
    Csv,
    /// One plain action per line, for properties: a?alpha, b!{ok,7}.
    Actions,
    /// The log of detectEr, for properties: send(<0.1.0>,<0.2.0>,hello).
    Detecter,
}

impl From<Form> for EventsFormat {
    fn from(form: Form) -> Self {
        match form {
            Form::Jsonl => Self::JsonLines,
            Form::Csv => Self::Csv,
            Form::Actions => Self::Actions,
            Form::Detecter => Self::Detecter,
        }
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Text,
    Json,
    /// SARIF 2.1.0, for continuous integration.
    Sarif,
}

/// So many events before a violation a page has.
const EXPORTED_HISTORY: usize = 1_000;

/// How many events of a session `--explain` shows.
const HISTORY: usize = 10;
/// How many events of an instance are kept for the derivation of a verdict.
const PROPERTY_HISTORY: usize = 1 << 16;

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let specifications = arguments.protocol.iter().chain(&arguments.property);
    if specifications.chain(arguments.inputs()).filter(|path| path.as_os_str() == "-").count() > 1 {
        bail!("standard input can be read once only");
    }
    if arguments.all_roles && arguments.events.iter().any(|path| path.as_os_str() == "-") {
        bail!("standard input can be read once only: --all-roles needs files");
    }
    let lines = matches!(arguments.events_format, Form::Actions | Form::Detecter);
    if lines && arguments.property.is_empty() {
        bail!("plain actions and logs of detectEr have no roles and labels: watch them with --property");
    }
    if lines && arguments.reorder.is_some() {
        bail!("there are no times in these events: --reorder cannot be used");
    }
    arguments.broker.check(arguments)?;
    // Sessions are small and many: huge pages cost more memory than they save time.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let stop = Arc::new(AtomicBool::new(false));
    let metrics = arguments.metrics.map(Metrics::serve).transpose()?;
    let metrics = metrics.as_ref();
    let sources = arguments.sources()?;
    let mut options = arguments.options(Arc::clone(&stop));
    options.checkpoint = arguments.checkpoint(&options)?;
    let told = options.checkpoint.as_ref().map(|checkpoint| checkpoint.told().notices);
    let alerts = arguments.alerts.start(arguments.checkpoint.as_deref(), told)?;
    let sinks = (metrics, alerts.as_ref());
    options.source = sources.general.clone().map(|source| source as Arc<dyn EventReader>);
    let mut captures = None;
    let summary = if arguments.property.is_empty() {
        let Some(scrutinies) = Scrutiny::all(arguments)? else { return Ok(Outcome::WrongInput) };
        if let (true, Some(scrutiny)) = (arguments.captures.are_given(), scrutinies.first()) {
            let reader = arguments.captures.reader(scrutiny, arguments.join)?;
            options.source = Some(Arc::clone(&reader) as Arc<dyn EventReader>);
            captures = Some(reader);
        }
        let mut total = Summary::default();
        for scrutiny in &scrutinies {
            if arguments.all_roles && arguments.format == Format::Text {
                output::print(&format!(
                    "{}\n",
                    output::styled(output::STRONG, format!("role {}", scrutiny.role()))
                ))?;
            }
            if arguments.skew.is_some() && scrutiny.calls.is_some() {
                bail!(
                    "the protocol opens sub-sessions, which are judged in one order only: leave out --skew"
                );
            }
            if arguments.skew.is_some() && scrutiny.monitor.is_timed() {
                bail!(
                    "the protocol has deadlines, and a difference of two clocks is no duration: leave out --skew, and say with --tolerance \
                     how far each clock may be off"
                );
            }
            let judge = |inputs: Vec<Input>, mut options: Options, observer: &mut dyn Observer| {
                options.calls = scrutiny.calls.clone();
                watch(Arc::clone(&scrutiny.monitor), &scrutiny.aliases, inputs, options, observer)
            };
            total.absorb(arguments.judge(Some(scrutiny), sinks, (options.clone(), &sources), &judge)?);
        }
        total
    } else {
        let Some(properties) = property::load(&arguments.property, arguments.language)? else {
            return Ok(Outcome::WrongInput);
        };
        let monitors = property::monitors(&properties)?;
        if let Some(timed) = properties.iter().find(|property| lines && property.is_timed()) {
            bail!("property `{}` speaks of time, and there are no times in these events", timed.name());
        }
        let judge = |inputs: Vec<Input>, options: Options, observer: &mut dyn Observer| {
            watch_properties(monitors.clone(), inputs, options, observer)
        };
        arguments.judge(None, sinks, (options, &sources), &judge)?
    };
    if let Some(alerts) = alerts {
        alerts.finish();
    }
    if let Some(captures) = captures {
        captures.report()?;
    }
    sources.remark_on_times();
    if sources.unmatched() > 0 {
        output::remark(&format!(
            "{} lines match nothing in the source; `referee extract --source …` shows what they look like",
            sources.unmatched()
        ));
    }
    if let Some(path) = &arguments.summary {
        let document = format!("{}\n", documents::summary(&summary));
        if path.as_os_str() == "-" {
            output::remark(document.trim_end());
        } else {
            std::fs::write(path, document).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
    }
    Ok(outcome(arguments, &summary, lines, &stop))
}

/// What the command comes to.
fn outcome(arguments: &Arguments, summary: &Summary, lines: bool, stop: &AtomicBool) -> Outcome {
    // A worker of a group may have had nothing to do. Events that concern nobody, or no key, are nothing either.
    let counts = &summary.counts;
    let nothing = counts.events == 0 || counts.ignored == counts.events && counts.sessions == 0 && !lines;
    let nothing = nothing && !arguments.broker.is_given();
    let is_behind = arguments.broker.until_end && summary.held > 0;
    let incomplete = summary.counts.is_incomplete() || nothing || summary.is_blind || is_behind;
    match summary.counts {
        counts if counts.unanswered > 0 => Outcome::WrongInput,
        counts if counts.violations() > 0 => Outcome::Violated,
        _ if incomplete && arguments.strict => Outcome::WrongInput,
        _ if incomplete && !arguments.lenient => Outcome::NoAnswer,
        _ if stop.load(Ordering::Relaxed) && !arguments.follow && !arguments.broker.is_given() => {
            output::remark("stopped: the rest of the input was not read");
            Outcome::NoAnswer
        }
        _ => Outcome::Holds,
    }
}

/// Watches inputs.
type Judge<'a> = dyn Fn(Vec<Input>, Options, &mut dyn Observer) -> Result<Summary, WatchError> + Sync + 'a;

impl Arguments {
    /// Judges the events and tells what comes of it.
    fn judge(
        &self,
        scrutiny: Option<&Scrutiny>,
        (metrics, alerts): (Option<&Metrics>, Option<&Alerts>),
        (options, sources): (Options, &Sources),
        judge: &Judge<'_>,
    ) -> Result<Summary> {
        handle_ctrl_c(&options.stop);
        let checkpoint = options.checkpoint.clone();
        let mut reporter = Reporter::new(self, scrutiny, checkpoint.as_deref());
        let render = |notice: &Notice| report::json(notice, scrutiny);
        let watch = |observer: &mut dyn Observer| -> Result<Summary> {
            if self.broker.is_given() {
                return self.broker.judge(self, &options, judge, &render, observer);
            }
            let input = |path: &PathBuf| match path.as_os_str() == "-" {
                true => sources.apply(path, Input::live("-", io::stdin())),
                false => sources.apply(path, Input::file(path)),
            };
            let inputs = match &self.journal {
                Some(folder) => vec![journal::input(folder)?],
                None => self.inputs().iter().map(input).collect(),
            };
            Ok(judge(inputs, options.clone(), observer)?)
        };
        let summary = {
            let mut counting;
            let observer: &mut dyn Observer = match metrics {
                Some(metrics) => {
                    counting = metrics.observe(&mut reporter);
                    &mut counting
                }
                None => &mut reporter,
            };
            match alerts {
                Some(alerts) => watch(&mut alerts.observe(observer, &render)),
                None => watch(observer),
            }
        };
        reporter.finish(summary)
    }

    /// The checkpoint to go on with, if there is to be one.
    fn checkpoint(&self, options: &Options) -> Result<Option<Arc<Checkpoint>>> {
        let Some(path) = &self.checkpoint else { return Ok(None) };
        if self.format == Format::Sarif {
            bail!("one document at the end cannot be continued: --checkpoint needs --format text or json");
        }
        if let Some(stream) =
            self.events.iter().find(|path| path.as_os_str() == "-" || path.exists() && !path.is_file())
        {
            bail!(
                "`{}` cannot be read again from where it was left: --checkpoint needs files",
                stream.display()
            );
        }
        let judged = nats::specification(self, options)?;
        let source = Sources::texts(&self.source, &self.events)?;
        let read = (judged, &self.events, options.reorder, source, self.explain);
        let specification = nats::hash(format!("{read:?}").as_bytes());
        let checkpoint = Checkpoint::open(path, specification, self.events.len());
        let checkpoint = checkpoint.with_context(|| format!("cannot go on with `{}`", path.display()))?;
        Ok(Some(Arc::new(checkpoint)))
    }

    /// Whether the events of several inputs may have come in several orders.
    fn has_orders(&self) -> bool {
        self.events.len() > 1 && self.session_ends.is_empty() && self.property.is_empty()
    }

    /// What is read.
    fn inputs(&self) -> &[PathBuf] {
        if self.captures.pcap.is_empty() { &self.events } else { &self.captures.pcap }
    }

    /// What reads lines of another kind; nothing, if the source file is one of captures.
    fn sources(&self) -> Result<Sources> {
        let is_one_of_captures = match &*self.source {
            [only] => Path::new(only).exists() && self.captures.load(only)?,
            _ => false,
        };
        if !is_one_of_captures {
            return Sources::load(&self.source, &self.events);
        }
        if self.follow || self.all_roles || !self.property.is_empty() {
            bail!("captures are watched with --protocol, one role at a time, to their end");
        }
        Ok(Sources::default())
    }

    fn options(&self, stop: Arc<AtomicBool>) -> Options {
        let threads = self.threads.map_or_else(
            || std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            usize::from,
        );
        Options {
            format: self.events_format.into(),
            shape: self.pointers.shape(),
            threads,
            idle_sessions: self.idle_sessions.map(|limit| limit as usize),
            ended_sessions: self.ended_sessions as usize,
            reorder: self.reorder,
            tolerance: self.tolerance.unwrap_or_default(),
            until: if self.now { Some(now()) } else { self.until },
            skew: self.skew.or_else(|| self.has_orders().then_some(Duration::ZERO)),
            max_orders: self.max_orders as usize,
            merge: match (self.merge || self.skew.is_some(), self.no_merge) {
                (true, _) => MergeMode::Always,
                (false, true) => MergeMode::Never,
                (false, false) => MergeMode::IfTimed,
            },
            session_ends: SessionEnds {
                idle: self.session_ends.iter().filter_map(|text| parse_duration(text).ok()).min(),
                labels: self
                    .session_ends
                    .iter()
                    .filter(|text| parse_duration(text).is_err())
                    .cloned()
                    .collect(),
            },
            join: self.join,
            all: self.all,
            history: match (self.explain, self.property.is_empty()) {
                _ if self.export_html.is_some() => EXPORTED_HISTORY,
                (false, _) => 0,
                (true, true) => HISTORY,
                (true, false) => PROPERTY_HISTORY,
            },
            max_instances: self.max_instances as usize,
            replay: self.journal.is_some(),
            max_line: self.max_line as usize,
            follow: self.follow,
            clock: self.reorder.is_some(),
            stop,
            ..Options::default()
        }
    }

    /// How many bytes there are to read, if that is known.
    fn size(&self) -> Option<u64> {
        if self.follow || self.broker.is_given() {
            return None;
        }
        let size = |path: &PathBuf| {
            let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
            (path.as_os_str() != "-").then_some(metadata.len())
        };
        self.inputs().iter().map(size).sum()
    }

    /// The modules of functions.
    fn modules(&self) -> Result<Vec<Functions>> {
        let limits = Limits { fuel: self.functions_fuel, memory: self.functions_memory as usize };
        let load = |path: &PathBuf| {
            let name = path.display().to_string();
            let wasm = std::fs::read(path).with_context(|| format!("cannot read `{name}`"))?;
            Ok(Functions::load(&name, &wasm, limits)?)
        };
        self.functions.iter().map(load).collect()
    }

    fn wants_progress(&self) -> bool {
        io::stderr().is_terminal()
    }
}

/// Makes Ctrl-C and SIGTERM end the input instead of the process; a second one ends the process.
fn handle_ctrl_c(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    // Workers of a group hear of the first signal by themselves as well: it is not the second.
    let is_second = AtomicBool::new(false);
    let handler = move || {
        stop.store(true, Ordering::Relaxed);
        if is_second.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    // Without a handler, Ctrl-C ends the process as usual.
    let _ = ctrlc::set_handler(handler);
}

/// `5s`, `200ms`, `1.5m`, `2h`; a number alone is seconds. Not `humantime`: it takes neither fractions nor bare numbers.
/// The present time, in nanoseconds since 1970.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn parse_time(text: &str) -> Result<i64, String> {
    use referee::theory::time;
    time::read(text).ok_or_else(|| format!("`{text}` is no time; write {}", time::FORMATS))
}

pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("there is no unit of time `{unit}`; known are ms, s, m, h")),
    };
    let seconds: f64 = number.trim().parse().map_err(|_| format!("`{text}` is no duration; try 5s"))?;
    Duration::try_from_secs_f64(seconds * scale).map_err(|_| format!("`{text}` is no duration; try 5s"))
}
