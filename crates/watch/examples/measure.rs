//! How fast events are watched, in processor time:
//!
//! `cargo run --release -p referee-watch --example measure -- PROTOCOL|PROPERTIES.hml EVENTS [THREADS]`

use std::sync::Arc;
use std::time::Instant;

use referee_monitor::property::PropertyMonitor;
use referee_pipeline::{Language, Parsed};
use referee_syntax::Content;
use referee_watch::{Input, Notice, Observer, Options, Progress, watch, watch_properties};

struct Silent;

impl Observer for Silent {
    fn notice(&mut self, _: Notice) -> std::io::Result<()> {
        Ok(())
    }

    fn progress(&mut self, _: &Progress) -> std::io::Result<()> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (protocol, events, threads) = match &arguments[..] {
        [protocol, events] => (protocol, events, 1),
        [protocol, events, threads] => (protocol, events, threads.parse()?),
        _ => return Err("usage: measure PROTOCOL EVENTS [THREADS]".into()),
    };
    let text = std::fs::read_to_string(protocol)?;
    let options = Options { threads, ..Options::default() };
    let inputs = vec![Input::file(events)];
    let (start, before, summary);
    if protocol.ends_with(".hml") {
        let Content::Properties(file) = referee_syntax::parse(&text, Language::Hml).content else {
            return Err("no properties".into());
        };
        let monitors =
            file.properties.iter().map(|property| PropertyMonitor::new(Arc::clone(property)).map(Arc::new));
        let monitors = monitors.collect::<Result<Vec<_>, _>>()?;
        (start, before) = (Instant::now(), processor_time());
        summary = watch_properties(monitors, inputs, options, &mut Silent)?;
    } else {
        let protocol = Parsed::new(&text, Language::Scr).well_formed()?.protocol(None)?;
        let monitor = Arc::new(protocol.monitorable(protocol.default_role()?)?.monitor()?);
        (start, before) = (Instant::now(), processor_time());
        summary = watch(monitor, &[], inputs, options, &mut Silent)?;
    }
    let (wall, (user, system)) = (start.elapsed().as_secs_f64(), processor_time());
    let (user, system) = (user - before.0, system - before.1);
    let counts = summary.counts;
    let per_second = |seconds: f64| counts.events as f64 / seconds / 1e6;
    let mut out = std::io::stdout();
    use std::io::Write as _;
    writeln!(
        out,
        "{} events, {} sessions, {} violations, {} malformed, {:.0} bytes/line",
        counts.events,
        counts.sessions,
        counts.violations(),
        counts.malformed,
        summary.bytes as f64 / counts.events.max(1) as f64
    )?;
    writeln!(
        out,
        "user {user:.2} s, system {system:.2} s, wall {wall:.2} s: {:.2} M events/s of processor time, {:.2} M events/s",
        per_second(user + system),
        per_second(wall)
    )?;
    Ok(())
}

/// User and system time of this process so far, in seconds; Linux counts them in hundredths.
fn processor_time() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        stat.rsplit(") ").next().unwrap_or_default().split(' ').filter_map(|f| f.parse().ok()).collect();
    // After the state, which is no number, utime and stime are the 11th and 12th.
    (fields.get(10).copied().unwrap_or(0.0) / 100.0, fields.get(11).copied().unwrap_or(0.0) / 100.0)
}
