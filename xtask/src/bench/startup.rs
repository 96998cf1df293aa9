//! How long a user waits for the smallest answer: `referee --version`, process start included.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::workspace::{self, cargo};

const WARM_UP: usize = 20;
const RUNS: usize = 500;

/// Builds the release binary, runs it many times and prints the distribution.
pub(crate) fn run() -> Result<()> {
    workspace::run(&mut cargo(&["build", "--release", "--package", "referee", "--bin", "referee"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let directory = workspace::root().join(target).join("release");
    let binary = directory.join("referee").with_extension(std::env::consts::EXE_EXTENSION);
    let mut times = Vec::with_capacity(RUNS);
    for run in 0..WARM_UP + RUNS {
        let start = Instant::now();
        let output = Command::new(&binary)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot start `{}`", binary.display()))?;
        let time = start.elapsed();
        // Without this, a binary that does nothing would give a fine figure.
        ensure!(
            output.status.success() && output.stdout.starts_with(b"referee "),
            "`referee --version` does not print its version: there is nothing to measure"
        );
        if run >= WARM_UP {
            times.push(time);
        }
    }
    times.sort_unstable();
    let show = |percent| milliseconds(quantile(&times, percent));
    println!("startup: {RUNS} runs, median {}, 95 % {}, 99 % {}", show(50), show(95), show(99));
    Ok(())
}

/// The least time that at least `percent` of the sorted `times` do not exceed.
fn quantile(times: &[Duration], percent: usize) -> Duration {
    let rank = (times.len() * percent).div_ceil(100);
    times.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_measured_times() {
        let times: Vec<_> = (1..=100).map(Duration::from_millis).collect();
        assert_eq!(quantile(&times, 50), Duration::from_millis(50));
        assert_eq!(quantile(&times, 99), Duration::from_millis(99));
        assert_eq!(quantile(&times[..1], 50), Duration::from_millis(1));
    }
}
