//! Programs that benchmarks compare with or count by, and what running one costs.
//!
//! A program that is missing is reported and left out: a benchmark never fails because of it.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The program called `name`: from `target/bench-tools`, where `cargo install --root` may put it, or else from the
/// path. `None` if there is no such program; that has then been said.
pub(crate) fn find(name: &str, install: &str) -> Option<PathBuf> {
    let own = target().join("bench-tools/bin").join(name);
    let found = [own, PathBuf::from(name)]
        .into_iter()
        .find(|program| Command::new(program).arg("--version").output().is_ok());
    if found.is_none() {
        println!("skipped: `{name}` is not installed; {install}");
    }
    found
}

/// How cargo installs a tool where [`find`] looks for it.
pub(crate) fn by_cargo(package: &str) -> String {
    format!("install it with `cargo install --root target/bench-tools {package}`")
}

/// The directory of build results.
pub(crate) fn target() -> PathBuf {
    workspace::root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// What one run of a program cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Seconds that passed.
    pub(crate) wall: f64,
    /// Seconds of processors, user and system, of the program and those it started.
    pub(crate) processor: f64,
    /// The most memory it had, in MiB; not of those it started.
    pub(crate) peak: f64,
}

/// Runs `command` without output and measures it. Linux only: elsewhere processor time and memory are 0.
pub(crate) fn measure(command: &mut Command) -> Result<Cost> {
    let name = format!("{command:?}");
    let before = processor_time_of_children();
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    let mut peak = 0.0;
    let status = loop {
        peak = peak_memory(&child).unwrap_or(peak);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        thread::sleep(Duration::from_millis(5));
    };
    let wall = start.elapsed().as_secs_f64();
    // 1 is a violation, which a benchmark may contain.
    if !matches!(status.code(), Some(0 | 1)) {
        let mut said = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            std::io::Read::read_to_string(&mut stderr, &mut said)?;
        }
        bail!("{name} failed ({status}): {said}");
    }
    Ok(Cost { wall, processor: processor_time_of_children() - before, peak })
}

/// The middle one of some figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// In MiB, while it runs.
fn peak_memory(child: &Child) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kibibytes| kibibytes / 1024.0)
}

/// User and system time of all children that have ended, in seconds; Linux counts them in hundredths.
fn processor_time_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    // After the state, cutime and cstime are the 13th and 14th number.
    let fields: Vec<f64> = after_name.split(' ').filter_map(|field| field.parse().ok()).collect();
    fields.get(12..14).map_or(0.0, |times| times.iter().sum::<f64>() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_one_of_the_figures() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![]), 0.0);
    }

    #[test]
    fn the_processor_time_of_a_child_is_its_own() {
        let mut busy = Command::new("sh");
        busy.args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"]);
        let cost = measure(&mut busy).unwrap();
        assert!(cost.wall > 0.0);
        if cfg!(target_os = "linux") {
            assert!(cost.processor > 0.0 && cost.peak > 0.0, "{cost:?}");
        }
        assert!(measure(Command::new("sh").args(["-c", "exit 7"])).is_err());
    }
}
