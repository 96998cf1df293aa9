//! A monitor inside a program, and what it costs there.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use referee::monitor::{Event, FieldValue, Monitor, Party, Payload, Session, Verdict};
use referee::{Language, Parsed};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// One run of the protocol, seen by `role`, which this program plays.
pub(crate) struct Monitored {
    monitor: Monitor,
    session: Session,
    own: Party,
    peer: Party,
}

impl Monitored {
    pub(crate) fn new(protocol: &str, role: &str, peer: &str) -> Result<Self> {
        let protocol = Parsed::new(protocol, Language::Scr).well_formed()?.protocol(None)?;
        let monitor = protocol.monitorable(protocol.role(role)?)?.monitor()?;
        let session = monitor.session();
        Ok(Self { own: monitor.party(role), peer: monitor.party(peer), monitor, session })
    }

    /// This side is about to send `label`.
    pub(crate) fn sends(&mut self, label: &str, fields: &[FieldValue<'_>]) -> Result<()> {
        self.sees(&Event::new(self.own, self.peer, label, Payload::Positional(fields)))
    }

    /// The other side has sent `label`.
    pub(crate) fn receives(&mut self, label: &str, fields: &[FieldValue<'_>]) -> Result<()> {
        self.sees(&Event::new(self.peer, self.own, label, Payload::Positional(fields)))
    }

    fn sees(&mut self, event: &Event<'_>) -> Result<()> {
        match self.monitor.step(&mut self.session, event) {
            Verdict::Forward => Ok(()),
            Verdict::Violation(violation) => {
                Err(self.monitor.explain(&self.session, &violation, event).to_string().into())
            }
            other => Err(format!("the monitor cannot judge: {other:?}").into()),
        }
    }
}

/// Times of the same exchange with a monitor and without one, taken in turns.
#[derive(Default)]
pub(crate) struct Times {
    with: Vec<Duration>,
    without: Vec<Duration>,
}

impl Times {
    pub(crate) fn add(&mut self, monitored: bool, time: Duration) {
        if monitored { &mut self.with } else { &mut self.without }.push(time);
    }

    /// The medians, and `alone`: what the monitor needs for one exchange when nothing else runs.
    pub(crate) fn print(self, what: &str, alone: Duration) {
        let [with, without] = [self.with, self.without].map(|mut times| {
            times.sort_unstable();
            times.get(times.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1e6
        });
        let alone = alone.as_secs_f64() * 1e6;
        println!(
            "{what}: {without:.1} µs, with a monitor inside {with:.1} µs ({:+.2} %); the monitor's steps alone: {alone:.3} µs ({:.3} %)",
            (with / without - 1.0) * 100.0,
            alone / without * 100.0
        );
    }
}

/// How long `exchange` takes, of many.
pub(crate) fn alone(mut exchange: impl FnMut() -> Result<()>) -> Result<Duration> {
    const TIMES: u32 = 100_000;
    let start = Instant::now();
    for _ in 0..TIMES {
        black_box(exchange())?;
    }
    Ok(start.elapsed() / TIMES)
}
