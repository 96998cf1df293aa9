//! Captured packets as what is watched: `--pcap`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use referee::capture::{Capture, CaptureCounts, CaptureError, CaptureRules};
use referee::extract::PcapSource;
use referee::session::{Options, TwoPartyRules};
use referee::watch::{EventBatch, EventDecoder, EventReader};
use referee::wire::{Table, preset};

use super::scrutiny::Scrutiny;
use crate::command::extract;
use crate::output::{self, WARN, styled};

#[derive(Args)]
pub(crate) struct Captures {
    /// Watch captured packets instead of events: pcap or pcapng, `-` is standard input (tcpdump -U -w - | …); may be repeated. The messages of
    /// each TCP connection are read by the codec of the protocol.
    #[arg(long, value_name = "FILE", requires = "server_port", requires = "protocol",
          conflicts_with_all = ["events", "events_format", "source", "nats", "follow", "all_roles", "session_key", "from", "to", "label", "payload", "time", "end"])]
    pub(super) pcap: Vec<PathBuf>,
    /// The ports that the servers listen on.
    #[arg(long, value_name = "PORT", value_delimiter = ',', requires = "pcap")]
    server_port: Vec<u16>,
    /// How bytes become messages: a codec table (docs/codecs.md). A protocol that is a preset has its own.
    #[arg(long, value_name = "FILE", requires = "pcap")]
    codec: Option<PathBuf>,
    /// The role that connects. Without it: the one called `client`, or else the first.
    #[arg(long, value_name = "ROLE", requires = "pcap")]
    client: Option<String>,
    /// What a source file with `format = "pcap"` says instead.
    #[arg(skip)]
    source: OnceLock<PcapSource>,
}

impl Captures {
    pub(super) fn are_given(&self) -> bool {
        !self.pcap.is_empty() || self.source.get().is_some()
    }

    /// Takes what the source file called `name` says, if it is one of captures.
    pub(super) fn load(&self, name: &str) -> Result<bool> {
        let text = extract::text(name)?;
        let Some(mut source) =
            PcapSource::parse(&text).with_context(|| format!("`{name}` is no source file"))?
        else {
            return Ok(false);
        };
        // Beside the source file, wherever it is.
        let beside = |codec: String| {
            let path = Path::new(name).parent().unwrap_or(Path::new("")).join(codec);
            path.display().to_string()
        };
        source.codec = source.codec.map(beside);
        Ok(self.source.set(source).is_ok())
    }

    /// The codec's table, if packets are watched.
    pub(super) fn table(&self, protocol: &Path) -> Result<Option<Table>> {
        if !self.are_given() {
            return Ok(None);
        }
        let name = protocol.to_str().and_then(|name| name.strip_prefix("preset:"));
        let codec = self.source.get().and_then(|source| source.codec.as_ref().map(PathBuf::from));
        let (text, name) = match (self.codec.as_ref().or(codec.as_ref()), name.and_then(preset::find)) {
            (Some(path), _) => {
                let name = path.display().to_string();
                (std::fs::read_to_string(path).with_context(|| format!("cannot read `{name}`"))?, name)
            }
            (None, Some(preset)) => (preset.table.to_owned(), format!("preset:{}", preset.name)),
            (None, None) => {
                bail!(
                    "how bytes become messages is not known: say so with --codec FILE, or `codec` in the source file"
                )
            }
        };
        let table = Table::parse(&text).map_err(|error| anyhow!("`{name}` is no codec table: {error}"))?;
        if table.session.is_some() {
            bail!(
                "`{name}` reads sessions that span connections, and captures are read connection by connection"
            );
        }
        Ok(Some(table))
    }

    /// What reads the captures.
    pub(super) fn reader(&self, scrutiny: &Scrutiny, join: bool) -> Result<Arc<CaptureReader>> {
        let Some(table) = scrutiny.table() else { bail!("there is no codec") };
        let roles = scrutiny.roles();
        if roles.len() != 2 {
            bail!("captures are read connection by connection, and the protocol has {} roles", roles.len());
        }
        let source = self.source.get();
        let client = match self.client.as_ref().or(source.and_then(|source| source.client.as_ref())) {
            Some(name) => name.as_str(),
            None if roles.contains(&"client") => "client",
            None => roles.first().copied().unwrap_or_default(),
        };
        let client = scrutiny.protocol().role(client)?;
        let rules =
            TwoPartyRules::compile(Arc::clone(&scrutiny.monitor), client, table).map_err(|errors| {
                let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
                anyhow!("the codec does not fit the protocol: {}", errors.join("; "))
            })?;
        let rules = Arc::new(rules.with_options(Options::default()));
        let ports = source.map_or(&self.server_port, |source| &source.server_ports);
        let mut rules = CaptureRules::new(rules, ports.clone());
        rules.join = join;
        Ok(Arc::new(CaptureReader { rules, counts: Arc::default() }))
    }
}

/// Reads captures, and counts what it could not read of them.
#[derive(Debug)]
pub(super) struct CaptureReader {
    rules: CaptureRules,
    counts: Arc<Mutex<Vec<CaptureCounts>>>,
}

impl CaptureReader {
    /// Says what was not read.
    ///
    /// # Errors
    /// If an input is no capture at all.
    pub(super) fn report(&self) -> Result<()> {
        for counts in &*self.counts.lock().unwrap_or_else(PoisonError::into_inner) {
            for (why, (count, first)) in &counts.unjudged {
                let connections = if *count == 1 { "connection was" } else { "connections were" };
                let text = format!("{count} {connections} not judged to the end: {why}; first {first}");
                output::remark(&format!("{}: {text}", styled(WARN, "warning")));
            }
            if counts.skipped.fragments > 0 {
                let text =
                    format!("{} fragments of IP packets were not put together", counts.skipped.fragments);
                output::remark(&format!("{}: {text}", styled(WARN, "warning")));
            }
            match counts.error {
                Some(CaptureError::NoCapture) => bail!("this is no capture: neither pcap nor pcapng"),
                Some(CaptureError::Damaged) => {
                    output::remark(&format!(
                        "{}: the rest of the capture cannot be read",
                        styled(WARN, "warning")
                    ));
                }
                None if counts.connections == 0 => {
                    let ports: Vec<_> = self.rules.server_ports.iter().map(u16::to_string).collect();
                    output::remark(&format!("no connection to port {} was captured", ports.join(", ")));
                }
                None => {}
            }
        }
        Ok(())
    }
}

impl EventReader for CaptureReader {
    fn start(&self, _max_record: usize) -> Box<dyn EventDecoder> {
        let capture = Capture::new(self.rules.clone());
        Box::new(CaptureDecoder { capture, counts: Arc::clone(&self.counts) })
    }
}

struct CaptureDecoder {
    capture: Capture,
    counts: Arc<Mutex<Vec<CaptureCounts>>>,
}

impl EventDecoder for CaptureDecoder {
    fn take(&mut self, bytes: &[u8], events: &mut EventBatch) {
        self.capture.take(bytes, &mut |number, event| events.push(number, event));
    }

    fn end(&mut self, events: &mut EventBatch) {
        self.capture.end(&mut |number, event| events.push(number, event));
    }
}

/// However reading ended.
impl Drop for CaptureDecoder {
    fn drop(&mut self) {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).push(self.capture.counts());
    }
}
