//! The same systems in SPIN, written as Promela by our generator, in the same run.
//!
//! Reductions off for both, then on for both. Without them the number of states must be the same. Where our
//! reduction is not justified for a system, the checker explores everything after all, and that counts.

use std::path::{Path, PathBuf};
use std::process::Command;

use referee_check::generate::{exchange, philosophers, pipeline, ring, star};
use referee_check::{Model, Reduction, Semantics, examine_bound, explore_bound, promela};
use referee_theory::System;

use crate::measure::{Cpu, timed};
use crate::report::{Table, count, seconds};

/// With fewer states it is the start of the process that is measured.
const ENOUGH: usize = 100_000;

pub(crate) fn spin() -> Table {
    let heads = ["system", "reductions", "SPIN: states", "CPU-s", "Referee: states", "CPU-s", "per state"];
    let mut table = Table::new(&heads);
    let Some(version) = version() else {
        table.remark("Skipped: there is no `spin` or no `gcc` on this machine (`apt-get install spin gcc`).");
        return table;
    };
    let systems: [(&str, System, u32); 5] = [
        ("pipeline --stages 7 --labels 2", pipeline(7, 2), 1),
        ("exchange --n 2 --k 3 --m 2", exchange(2, 3, 2), 3),
        ("ring --roles 10 --tokens 5 --labels 2", ring(10, 5, 2), 1),
        ("star --clients 9 --answers 2", star(9, 2), 1),
        // Forks take whoever asks first: there is little to reduce, for either.
        ("philosophers --count 7", philosophers(7, false), 1),
    ];
    for (name, system, k) in &systems {
        let model = Model::new(system, Semantics::PeerToPeer);
        for (reduced, reduction) in [(false, Reduction::None), (true, Reduction::Sound)] {
            let (mut ours, mut our_time) = timed(|| explore_bound(&model, *k, reduction, 1));
            if reduced && !justified(&model, *k) {
                let (all, more) = timed(|| explore_bound(&model, *k, Reduction::None, 1));
                (ours, our_time) = (all, our_time + more);
            }
            let cells = match verifier(system, *k, reduced, &[]).and_then(|verifier| verifier.run()) {
                Ok(Run { states, cpu: time, .. }) => {
                    assert!(
                        reduced || states == ours.states,
                        "{name}: SPIN has {states}, we {}",
                        ours.states
                    );
                    let per_state = (time / states as f64) / (our_time / ours.states as f64);
                    let told = states.min(ours.states) >= ENOUGH;
                    let factor = if told { format!("{per_state:.1} times as fast") } else { String::new() };
                    [count(states), seconds(time), factor]
                }
                Err(error) => [error, String::new(), String::new()],
            };
            let [states, time, factor] = cells;
            table.row([
                format!("`{name} --bound {k}`"),
                if reduced { "on" } else { "off" }.to_owned(),
                states,
                time,
                count(ours.states),
                seconds(our_time),
                factor,
            ]);
        }
    }
    table.remark(format!(
        "{version}, compiled with `gcc -O3 -DSAFETY -DNOFAIR -DXUSAFE` (and `-DNOREDUCE`), run with `-w24 -m10000000`. \
         `referee generate SYSTEM --language promela` prints the text. SPIN looks for deadlocks as it goes; ours is the \
         exploration, its edges kept for the properties. With fewer than 100,000 states SPIN's time is that of its start."
    ));
    table
}

/// Whether the reduced graph has what Theorem 6 asks for.
fn justified(model: &Model, k: u32) -> bool {
    let reduced = examine_bound(model, k, Reduction::Sound);
    reduced.obi == Some(true) && reduced.cibi == Some(true)
}

pub(crate) fn version() -> Option<String> {
    let output = Command::new("spin").arg("-V").output().ok()?;
    Command::new("gcc").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).split(" --").next().unwrap_or("SPIN").trim().to_owned())
}

/// A compiled verifier in a folder of its own.
pub(crate) struct Verifier {
    folder: PathBuf,
}

/// SPIN's verifier for `system`, its partial-order reduction on if `reduced`, compiled with `more` flags.
pub(crate) fn verifier(
    system: &System,
    bound: u32,
    reduced: bool,
    more: &[&str],
) -> Result<Verifier, String> {
    let folder = std::env::temp_dir().join(format!("referee-spin-{}", std::process::id()));
    let verifier = Verifier { folder };
    std::fs::create_dir_all(&verifier.folder).map_err(|error| error.to_string())?;
    let model = verifier.folder.join("model.pml");
    std::fs::write(model, promela::promela(system, bound)).map_err(|error| error.to_string())?;
    call(&verifier.folder, "spin", &["-a", "model.pml"])?;
    let mut flags =
        vec!["-O3", "-DSAFETY", "-DNOFAIR", "-DXUSAFE", "-DMEMLIM=12000", "-w", "-o", "pan", "pan.c"];
    if !reduced {
        flags.push("-DNOREDUCE");
    }
    flags.extend(more);
    call(&verifier.folder, "gcc", &flags)?;
    Ok(verifier)
}

/// What a verifier found.
pub(crate) struct Run {
    pub(crate) states: usize,
    pub(crate) cpu: f64,
    /// The most memory it says it used.
    pub(crate) bytes: f64,
}

impl Verifier {
    pub(crate) fn run(&self) -> Result<Run, String> {
        let before = Cpu::now().children;
        let text = call(&self.folder, "./pan", &["-w24", "-m10000000", "-n"])?;
        let cpu = Cpu::now().children - before;
        let number = |what: &str| {
            let line = text.lines().find(|line| line.contains(what))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        let states = number("states, stored").ok_or("no number of states")? as usize;
        Ok(Run { states, cpu, bytes: number("total actual memory usage").unwrap_or(0.0) * 1e6 })
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        // A folder of temporary files that cannot be removed harms nobody.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn call(folder: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("`{program}`: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("`{program}` failed")) }
}
