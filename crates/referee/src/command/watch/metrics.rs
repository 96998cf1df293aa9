//! `--metrics ADDR`: what was counted so far, for a scraper (OpenMetrics over HTTP).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use referee::watch::{Notice, Observer, Progress};

use crate::output;

/// How long a scraper may take for its request, and for each piece of the answer.
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest request.
const MAX_REQUEST: usize = 8 << 10;
/// How many combinations of kind, role and property are told apart: names of roles may come from events.
const MAX_SERIES: usize = 1000;

/// What is scraped.
#[derive(Debug)]
pub(super) struct Metrics {
    figures: Arc<Mutex<Figures>>,
}

#[derive(Debug, Default)]
struct Figures {
    progress: Progress,
    /// Verdicts by kind, role to blame, and property.
    verdicts: BTreeMap<[String; 3], u64>,
    /// When something was last judged, in seconds since 1970.
    last: f64,
    /// How much later than its time the last event was judged.
    lag: Option<f64>,
}

impl Metrics {
    /// Answers scrapers at `address`, from a thread of its own, until the process ends.
    pub(super) fn serve(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address)
            .with_context(|| format!("cannot listen on {address} for --metrics"))?;
        output::remark(&format!("metrics: http://{}/metrics", listener.local_addr()?));
        let figures = Arc::<Mutex<Figures>>::default();
        let shared = Arc::clone(&figures);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // One scraper's trouble is not the next one's.
                let _ = answer(stream, &shared);
            }
        });
        Ok(Self { figures })
    }

    /// `observer`, with everything counted on the way to it.
    pub(super) fn observe<'a>(&self, observer: &'a mut dyn Observer) -> Counting<'a> {
        Counting { figures: Arc::clone(&self.figures), observer }
    }
}

fn lock(figures: &Mutex<Figures>) -> MutexGuard<'_, Figures> {
    figures.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts what an observer is told.
pub(super) struct Counting<'a> {
    figures: Arc<Mutex<Figures>>,
    observer: &'a mut dyn Observer,
}

impl Observer for Counting<'_> {
    fn notice(&mut self, notice: Notice) -> io::Result<()> {
        self.told_before(&notice);
        self.observer.notice(notice)
    }

    fn told_before(&mut self, notice: &Notice) {
        let series = match notice {
            Notice::Violation(report) => {
                let role = report.blame.clone().unwrap_or_default();
                [report.kind.name().to_owned(), role, String::new()]
            }
            Notice::Property(report) => {
                let kind = if report.certain { report.verdict.name() } else { "uncertain" };
                [kind.to_owned(), String::new(), report.property.name().to_string()]
            }
            Notice::Malformed(..) | Notice::Unanswered(_) => return,
        };
        lock(&self.figures).count(series);
    }

    fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        {
            let mut figures = lock(&self.figures);
            figures.progress = *progress;
            figures.last = now.as_secs_f64();
            figures.lag = progress.time.map(|time| figures.last - time as f64 / 1e9);
        }
        self.observer.progress(progress)
    }

    fn written(&mut self) -> io::Result<u64> {
        self.observer.written()
    }
}

impl Figures {
    fn count(&mut self, series: [String; 3]) {
        let has_room = self.verdicts.len() < MAX_SERIES || self.verdicts.contains_key(&series);
        let series = if has_room { series } else { ["other".to_owned(), String::new(), String::new()] };
        *self.verdicts.entry(series).or_default() += 1;
    }

    /// As OpenMetrics writes them.
    fn text(&self) -> String {
        let counts = &self.progress.counts;
        let mut out = String::new();
        let mut counter = |name: &str, help: &str, value: u64| {
            let _ = write!(
                out,
                "# TYPE referee_watch_{name} counter\n# HELP referee_watch_{name} {help}\nreferee_watch_{name}_total {value}\n"
            );
        };
        counter("events", "Events that were read.", counts.events);
        counter("read_bytes", "Bytes of the input that were read.", self.progress.bytes);
        counter("sessions", "Sessions that began.", counts.sessions);
        counter("sessions_over", "Sessions in which the protocol was over.", counts.ended);
        counter(
            "sessions_violated",
            "Sessions with a violation, and instances of properties.",
            counts.violated,
        );
        let _ = writeln!(out, "# TYPE referee_watch_not_judged counter");
        let _ = writeln!(out, "# HELP referee_watch_not_judged What could not be judged, by why.");
        for (why, value) in [
            ("unreadable", counts.malformed),
            ("session-given-up", counts.unjudged),
            ("excused", counts.excused),
            ("uncertain", counts.uncertain),
            ("no-room", counts.limited),
            ("no-answer", counts.unanswered),
        ] {
            let _ = writeln!(out, "referee_watch_not_judged_total{{reason=\"{why}\"}} {value}");
        }
        let _ = writeln!(out, "# TYPE referee_watch_verdicts counter");
        let _ = writeln!(out, "# HELP referee_watch_verdicts Verdicts, by kind, role to blame and property.");
        for ([kind, role, property], value) in &self.verdicts {
            let [kind, role, property] = [kind, role, property].map(|text| escaped(text));
            let labels = format!("kind=\"{kind}\",role=\"{role}\",property=\"{property}\"");
            let _ = writeln!(out, "referee_watch_verdicts_total{{{labels}}} {value}");
        }
        let _ = writeln!(out, "# TYPE referee_watch_last_judged_seconds gauge");
        let _ = writeln!(
            out,
            "# HELP referee_watch_last_judged_seconds When something was last judged, since 1970."
        );
        let _ = writeln!(out, "referee_watch_last_judged_seconds {:.3}", self.last);
        if let Some(lag) = self.lag {
            let _ = writeln!(out, "# TYPE referee_watch_lag_seconds gauge");
            let _ = writeln!(
                out,
                "# HELP referee_watch_lag_seconds How much later than its time the last event was judged."
            );
            let _ = writeln!(out, "referee_watch_lag_seconds {lag:.3}");
        }
        out + "# EOF\n"
    }
}

/// A label's value: a quote, a backslash and a line feed are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Answers one request.
fn answer(mut stream: TcpStream, figures: &Mutex<Figures>) -> io::Result<()> {
    stream.set_read_timeout(Some(SCRAPE_TIMEOUT))?;
    stream.set_write_timeout(Some(SCRAPE_TIMEOUT))?;
    let started = std::time::Instant::now();
    let mut request = Vec::new();
    let mut block = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut block)?;
        request.extend_from_slice(block.get(..length).unwrap_or_default());
        if length == 0 || request.len() > MAX_REQUEST || started.elapsed() > SCRAPE_TIMEOUT {
            return Ok(());
        }
    }
    let is_known = request.starts_with(b"GET /metrics ") || request.starts_with(b"GET /metrics?");
    let (status, kind, body) = match is_known {
        true => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ("200 OK", kind, lock(figures).text())
        }
        false => ("404 Not Found", "text/plain", "see /metrics\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_series_are_bounded() {
        let mut figures = Figures::default();
        figures.count(["order".into(), "a\"\\\nb".into(), String::new()]);
        assert!(figures.text().contains(
            "referee_watch_verdicts_total{kind=\"order\",role=\"a\\\"\\\\\\nb\",property=\"\"} 1\n"
        ));
        assert!(!figures.text().contains("lag") && figures.text().ends_with("# EOF\n"));
        figures.lag = Some(1.5);
        assert!(figures.text().ends_with("referee_watch_lag_seconds 1.500\n# EOF\n"));
        for number in 0..2 * MAX_SERIES {
            figures.count(["order".into(), number.to_string(), String::new()]);
        }
        assert_eq!(figures.verdicts.len(), MAX_SERIES + 1);
        assert_eq!(figures.verdicts.values().sum::<u64>(), 2 * MAX_SERIES as u64 + 1);
    }
}
