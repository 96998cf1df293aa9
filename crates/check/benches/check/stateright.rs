//! The same system in the checkers that are known best, one after the other: SPIN with its ways to save memory, and
//! Stateright, a package of its own (`benches/stateright`) that no other build sees.

use std::path::Path;
use std::process::Command;

use referee_check::generate::pipeline;

use crate::report::{Table, count};
use crate::spin::{Run, verifier, version};

const STAGES: usize = 7;

pub(crate) fn peers() -> Table {
    let mut table = Table::new(&[
        "checker",
        "states",
        "CPU-s",
        "million states per CPU-s",
        "bytes per state at the peak",
    ]);
    let mut row = |name: &str, found: Result<Run, String>| match found {
        Ok(Run { states, cpu, bytes }) => table.row([
            name.to_owned(),
            count(states),
            format!("{cpu:.2}"),
            format!("{:.2}", states as f64 / cpu / 1e6),
            format!("{:.0}", bytes / states as f64),
        ]),
        Err(error) => table.row([name.to_owned(), error, String::new(), String::new(), String::new()]),
    };
    row("Referee, exploration", ours("plain"));
    row("Referee, every property", ours("all"));
    let system = pipeline(STAGES, 2);
    let variants: [(&str, bool, &[&str]); 6] = [
        ("SPIN", false, &[]),
        ("SPIN, COLLAPSE", false, &["-DCOLLAPSE"]),
        ("SPIN, HC4 (may lose states)", false, &["-DHC4"]),
        ("SPIN, minimised automaton", false, &["-DMA=64"]),
        ("SPIN, partial-order reduction", true, &[]),
        ("SPIN, partial-order reduction and COLLAPSE", true, &["-DCOLLAPSE"]),
    ];
    for (name, reduced, flags) in variants.into_iter().filter(|_| version().is_some()) {
        row(name, verifier(&system, 1, reduced, flags).and_then(|verifier| verifier.run()));
    }
    row("Stateright, breadth first, one thread", stateright());
    table.remark(
        "`pipeline --stages 7 --labels 2 --bound 1`, one thread each, one after the other in one run. SPIN and Stateright look for \
         deadlocks only, or nothing. SPIN's memory is what it reports, 458 MB of it for its stack (`-m10000000`), that of the others the most that was resident.",
    );
    table
}

fn ours(what: &str) -> Result<Run, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    measured(Command::new(this).args(["rate-one", what, "1", &STAGES.to_string()]))
}

/// A program that prints states, transitions, the most bytes resident, and CPU-seconds.
fn measured(command: &mut Command) -> Result<Run, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match figures[..] {
        [states, _, bytes, cpu, ..] => Ok(Run { states: states as usize, cpu, bytes }),
        _ => Err("not built or not run".to_owned()),
    }
}

fn stateright() -> Result<Run, String> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/stateright/Cargo.toml");
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/stateright");
    let build = ["build", "--release", "--quiet", "--manifest-path", manifest, "--target-dir", target];
    // The compiler that built this program: the one on the path may be another one, chosen by where it is called.
    let cargo = Path::new(env!("CARGO"));
    let mut command = Command::new(cargo);
    command.args(build).env("RUSTC", cargo.with_file_name("rustc"));
    let built = command.status().map_err(|error| error.to_string())?;
    if !built.success() {
        return Err("not built".to_owned());
    }
    measured(Command::new(format!("{target}/release/referee-stateright")).arg(STAGES.to_string()))
}
