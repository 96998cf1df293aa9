//! `referee extract`: the events in a log of any kind, as lines of JSON; what matched what, and what matched nothing.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::extract::{
    EventStream, Extracted, Found, PcapSource, READY_MADE, Shapes, Source, guess, ready_made,
};
use referee::watch::options::MAX_LINE;
use referee::watch::{EventBatch, EventDecoder, EventReader, visible};

use crate::Outcome;
use crate::output::{self, SOFT, STRONG, WARN, styled};

/// Extract events from a log: prints them as lines of JSON, and says which lines matched nothing.
///
/// A source file says how lines become events (docs/sources.md); `preset:NAME` is one that comes with Referee. With --guess, proposes a
/// source file for the log instead.
#[derive(Args)]
pub(crate) struct Arguments {
    /// How lines become events: a TOML file, or preset:NAME.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["guess", "list"])]
    source: Option<String>,
    /// Propose a source file for the log.
    #[arg(long, conflicts_with = "source")]
    guess: bool,
    /// List the sources that come with Referee.
    #[arg(long)]
    list: bool,
    /// Logs; `-` is standard input.
    #[arg(value_name = "LOG", default_value = "-")]
    logs: Vec<PathBuf>,
}

/// How many shapes of lines are shown.
const SHAPES_SHOWN: usize = 10;
/// How many lines are looked at to guess.
const LINES_TO_GUESS: usize = 10_000;

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.list {
        let names: String = READY_MADE.iter().map(|(name, _)| format!("preset:{name}\n")).collect();
        output::print(&names)?;
        return Ok(Outcome::Holds);
    }
    if arguments.guess {
        let mut lines = Vec::new();
        each_line(&arguments.logs, |line| {
            lines.push(line.to_owned());
            Ok(lines.len() < LINES_TO_GUESS)
        })?;
        output::print(&guess(lines.iter().map(String::as_str)))?;
        return Ok(Outcome::Holds);
    }
    let source = Arc::new(load(arguments.source.as_deref().unwrap_or_default())?);
    let mut out = io::BufWriter::new(io::stdout());
    let mut shapes = Shapes::default();
    let mut counts = vec![(0_u64, 0_u64); source.rules().len()];
    let (mut records, mut lost, mut unmatched) = (0_u64, 0_u64, 0_u64);
    let mut failure = None;
    let mut give = |found: Found<'_>| match found.extracted {
        Extracted::Event(rule) => {
            counts[rule].0 += 1;
            if let Err(error) = writeln!(out, "{}", found.event) {
                failure.get_or_insert(error);
            }
        }
        Extracted::Unreadable(rule) => counts[rule].1 += 1,
        Extracted::Lost => lost += 1,
        Extracted::Unmatched if found.record.trim().is_empty() => {}
        Extracted::Unmatched => {
            unmatched += 1;
            shapes.count(found.record);
        }
    };
    for path in &arguments.logs {
        let name = path.display();
        let mut reader = open(path)?;
        let mut stream = EventStream::new(Arc::clone(&source), MAX_LINE, now());
        let mut block = vec![0; 1 << 16];
        loop {
            let length = reader.read(&mut block).with_context(|| format!("cannot read `{name}`"))?;
            if length == 0 {
                break;
            }
            stream.take(block.get(..length).unwrap_or_default(), &mut give);
        }
        stream.end(&mut give);
        records += stream.records();
        remark_on_times(&name.to_string(), stream.assumed());
    }
    if let Some(error) = failure {
        return Err(error.into());
    }
    out.flush()?;
    let events: u64 = counts.iter().map(|(events, _)| events).sum();
    let unreadable: u64 = lost + counts.iter().map(|(_, unreadable)| unreadable).sum::<u64>();
    output::remark(&styled(STRONG, format!("{records} lines: {events} events, {unmatched} matched nothing")));
    if lost > 0 {
        output::remark(&format!("  {lost} could not be read at all"));
    }
    for (number, (rule, (events, unreadable))) in source.rules().iter().zip(&counts).enumerate() {
        let more = if *unreadable > 0 {
            format!(", {unreadable} with parts that could not be read")
        } else {
            String::new()
        };
        output::remark(&format!("  [[event]] {} `{}`: {events}{more}", number + 1, visible(rule.name())));
    }
    let (ranked, _) = shapes.ranked();
    for (_, count, line) in ranked.iter().take(SHAPES_SHOWN) {
        output::remark(&styled(SOFT, format!("  {count} like: {}", visible(line))));
    }
    Ok(if events == 0 || unreadable > 0 { Outcome::NoAnswer } else { Outcome::Holds })
}

fn each_line(logs: &[PathBuf], mut look: impl FnMut(&str) -> io::Result<bool>) -> Result<()> {
    for path in logs {
        let name = path.display();
        let reader = open(path)?;
        for line in reader.split(b'\n') {
            let line = line.with_context(|| format!("cannot read `{name}`"))?;
            if !look(&String::from_utf8_lossy(&line))? {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = std::fs::File::open(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
}

/// The source called `name`: a file, or one that comes with Referee.
pub(crate) fn load(name: &str) -> Result<Source> {
    let text = text(name)?;
    if PcapSource::parse(&text).is_ok_and(|source| source.is_some()) {
        bail!("`{name}` reads captures, which need a protocol: referee watch --source {name} --protocol …");
    }
    Source::parse(&text).with_context(|| format!("`{name}` is no source file"))
}

/// Says what was taken for granted of times: a year, a zone.
fn remark_on_times(name: &str, assumed: (bool, bool)) {
    let assumed = match assumed {
        (false, false) => return,
        (true, false) => {
            "times have no year: the latest that is not in the future was taken (`year` in the source file says another)"
        }
        (false, true) => "times have no zone: UTC was taken (`zone` in the source file says another)",
        (true, true) => {
            "times have no year and no zone: the latest year that is not in the future was taken, and UTC (`year` and `zone` in the source \
             file say others)"
        }
    };
    output::remark(&format!("{}: {}: {assumed}", styled(WARN, "warning"), visible(name)));
}

/// The text of the source called `name`.
pub(crate) fn text(name: &str) -> Result<String> {
    Ok(match name.strip_prefix("preset:") {
        Some(preset) => match ready_made(preset) {
            Some(text) => text.to_owned(),
            None => {
                let known: Vec<_> = READY_MADE.iter().map(|(name, _)| *name).collect();
                bail!("there is no source `{preset}`: {}", known.join(", "));
            }
        },
        None => std::fs::read_to_string(name).with_context(|| format!("cannot read `{name}`"))?,
    })
}

/// Nanoseconds since 1970.
fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.ok().and_then(|now| i64::try_from(now.as_nanos()).ok()).unwrap_or_default()
}

/// A source as what `watch` reads logs with. Counts what no rule is about.
#[derive(Debug)]
pub(crate) struct SourceReader {
    name: String,
    source: Arc<Source>,
    seen: Arc<Seen>,
}

/// What its logs had.
#[derive(Debug, Default)]
struct Seen {
    unmatched: AtomicU64,
    lacks_year: AtomicBool,
    lacks_zone: AtomicBool,
}

impl SourceReader {
    pub(crate) fn load(name: &str) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { name: name.to_owned(), source: Arc::new(load(name)?), seen: Arc::default() }))
    }

    /// How many lines no rule is about.
    pub(crate) fn unmatched(&self) -> u64 {
        self.seen.unmatched.load(Ordering::Relaxed)
    }

    /// Says what was taken for granted of times.
    pub(crate) fn remark_on_times(&self) {
        let assumed = (&self.seen.lacks_year, &self.seen.lacks_zone);
        remark_on_times(&self.name, (assumed.0.load(Ordering::Relaxed), assumed.1.load(Ordering::Relaxed)));
    }
}

impl EventReader for SourceReader {
    fn start(&self, max_record: usize) -> Box<dyn EventDecoder> {
        let stream = EventStream::new(Arc::clone(&self.source), max_record, now());
        Box::new(SourceDecoder { stream, seen: Arc::clone(&self.seen) })
    }
}

/// One log that is read by a source.
struct SourceDecoder {
    stream: EventStream,
    seen: Arc<Seen>,
}

impl SourceDecoder {
    fn give<'a>(seen: &'a Seen, events: &'a mut EventBatch) -> impl FnMut(Found<'_>) + 'a {
        |found| match found.extracted {
            Extracted::Unmatched if found.record.trim().is_empty() => {}
            Extracted::Unmatched => {
                seen.unmatched.fetch_add(1, Ordering::Relaxed);
            }
            _ => events.push(found.number, found.event),
        }
    }
}

impl EventDecoder for SourceDecoder {
    fn take(&mut self, bytes: &[u8], events: &mut EventBatch) {
        self.stream.take(bytes, &mut Self::give(&self.seen, events));
        let (year, zone) = self.stream.assumed();
        self.seen.lacks_year.fetch_or(year, Ordering::Relaxed);
        self.seen.lacks_zone.fetch_or(zone, Ordering::Relaxed);
    }

    fn end(&mut self, events: &mut EventBatch) {
        self.stream.end(&mut Self::give(&self.seen, events));
        let (year, zone) = self.stream.assumed();
        self.seen.lacks_year.fetch_or(year, Ordering::Relaxed);
        self.seen.lacks_zone.fetch_or(zone, Ordering::Relaxed);
    }

    fn pending(&self) -> u64 {
        self.stream.pending()
    }

    fn records(&self) -> u64 {
        self.stream.records()
    }

    fn resume(&mut self, beginning: &[u8], records: u64) {
        self.stream.resume(beginning, records);
    }
}
