//! Three monitors on RelaMon's wire, each a process of its own, and what they cost.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::bench::guard::servers::{Running, start};
use crate::bench::tools;

/// The roles s, c and a, in the order in which everything here is.
pub(super) const NAMES: [&str; 3] = ["server", "client", "authorizer"];
/// A monitor ends two seconds after its part is over.
const ENDING: Duration = Duration::from_secs(10);
/// How long is looked at monitors that wait.
const WAITING: Duration = Duration::from_secs(2);

/// What a monitor cost from one moment to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// Seconds of a processor.
    pub(super) processor: f64,
    /// The most memory it had, in MiB.
    pub(super) peak: f64,
}

/// The monitors of s, c and a.
pub(super) struct Monitors(Vec<(Running, f64)>);

impl Monitors {
    /// Starts one for each configuration, which says that it listens on the port beside it.
    pub(super) fn start(configurations: &[(PathBuf, u16)]) -> Result<Self> {
        let referee = tools::target().join("release/referee").with_extension(std::env::consts::EXE_EXTENSION);
        let mut monitors = Vec::new();
        for (file, port) in configurations {
            let running = start(
                Command::new(&referee)
                    .args(["guard", "--dependencies", "deliver-once", "--relamon"])
                    .arg(file),
                *port,
            )?;
            let spent = processor_time(running.0.id())?;
            monitors.push((running, spent));
        }
        Ok(Self(monitors))
    }

    /// What each has cost since it was started.
    pub(super) fn costs(&self) -> Result<Vec<Cost>> {
        let cost = |(running, before): &(Running, f64)| {
            let id = running.0.id();
            Ok(Cost { processor: processor_time(id)? - before, peak: peak(id)? })
        };
        self.0.iter().map(cost).collect()
    }

    /// Processor time of each in a second in which nothing happens.
    pub(super) fn idle(&self) -> Result<Vec<f64>> {
        let all =
            || self.0.iter().map(|(running, _)| processor_time(running.0.id())).collect::<Result<Vec<_>>>();
        // What belongs to the last message is over by then.
        thread::sleep(WAITING / 4);
        let (before, began) = (all()?, Instant::now());
        thread::sleep(WAITING);
        let (after, lasted) = (all()?, began.elapsed().as_secs_f64());
        Ok(before.iter().zip(after).map(|(before, after)| (after - before) / lasted).collect())
    }

    /// Waits until all have ended; there was no alarm.
    pub(super) fn end(self) -> Result<()> {
        let deadline = Instant::now() + ENDING;
        for ((mut running, _), name) in self.0.into_iter().zip(NAMES) {
            let status = loop {
                if let Some(status) = running.0.try_wait()? {
                    break status;
                }
                ensure!(Instant::now() < deadline, "the monitor of the {name} does not end");
                thread::sleep(Duration::from_millis(20));
            };
            ensure!(status.success(), "the monitor of the {name} raised an alarm ({status})");
        }
        Ok(())
    }
}

/// Seconds that all threads of a process have had on processors.
fn processor_time(process: u32) -> Result<f64> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir(format!("/proc/{process}/task")).context("a monitor has ended too early")? {
        let text = fs::read_to_string(thread?.path().join("schedstat")).context("this needs Linux")?;
        nanoseconds += text.split(' ').next().unwrap_or_default().parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

fn peak(process: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}
