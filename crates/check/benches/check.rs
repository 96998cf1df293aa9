//! The figures of the checker: `cargo xtask bench check`. Words after `cargo bench -p referee-check --bench check --`
//! choose a part: `kmc`, `big`, `rate [STAGES LABELS K THREADS]`, `promela [STAGES LABELS K]`.
//!
//! CPU time is read from `/proc`, so that a busy machine does not change it.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an example measures and prints"
)]

use referee_check::{Model, Options, Reduction, Semantics, check, examine_bound, explore_bound, generate};
use referee_theory::System;

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|f| f.parse::<usize>().ok()).unwrap_or(0) * 1024
}

fn point(name: &str, system: &System, max_k: u32, repeat: usize) {
    for reduction in [Reduction::Sound, Reduction::Paper] {
        let before = cpu_seconds();
        let mut report = None;
        for _ in 0..repeat {
            report = Some(check(system, &Options { max_k, reduction, ..Options::default() }, None, &mut ()));
        }
        let spent = (cpu_seconds() - before) / repeat as f64;
        if let Some(report) = report {
            let last = report.bounds.last().map_or((0, 0), |bound| (bound.states, bound.transitions));
            println!(
                "{name} {reduction:?}: {} k={:?} {last:?} {spent:.4} CPU-s",
                report.verdict.name(),
                report.least_k()
            );
        }
    }
}

fn main() {
    // Cargo adds flags of its own; `--test` only asks whether this works.
    let flags = || std::env::args().skip(1).filter(|argument| argument.starts_with("--"));
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if flags().any(|flag| flag == "--test") {
        return point("exchange n=1 k=2 m=1", &generate::exchange(1, 2, 1), 2, 1);
    }
    let number =
        |at: usize, default: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(default);
    let only = words.first();
    let wants = |name: &str| only.is_none_or(|only| only == name);
    if wants("kmc") {
        point("exchange n=1 k=10 m=10", &generate::exchange(1, 10, 10), 10, 10);
        point("exchange n=1 k=50 m=5", &generate::exchange(1, 50, 5), 50, 3);
        point("exchange n=9 k=2 m=1", &generate::exchange(9, 2, 1), 10, 10);
        point("exchange n=1 k=100 m=26", &generate::exchange(1, 100, 26), 100, 1);
        point("exchange n=10 k=2 m=1", &generate::exchange(10, 2, 1), 10, 3);
    }
    if wants("big") {
        let system = generate::exchange(20, 3, 1);
        let before = cpu_seconds();
        let report = check(&system, &Options { max_k: 3, ..Options::default() }, None, &mut ());
        println!(
            "exchange n=20 k=3 m=1: {} {:?} {:.2} CPU-s",
            report.verdict.name(),
            report.bounds,
            cpu_seconds() - before
        );
    }
    if only.is_some_and(|only| only == "promela") {
        let system = generate::pipeline(number(1, 7), number(2, 2));
        println!("{}", referee_check::promela::promela(&system, number(3, 1) as u32));
    }
    if wants("rate") {
        let (stages, labels, k) = (number(1, 8), number(2, 2), number(3, 1) as u32);
        let threads = number(4, 1);
        let model = Model::new(&generate::pipeline(stages, labels), Semantics::PeerToPeer);
        let started = std::time::Instant::now();
        let before = cpu_seconds();
        let report = explore_bound(&model, k, Reduction::None, threads);
        let spent = cpu_seconds() - before;
        println!("{threads} thread(s): {:.2} s", started.elapsed().as_secs_f64());
        let (states, transitions) = (report.states, report.transitions);
        println!(
            "pipeline {stages} {labels} k={k}: {states} states {transitions} transitions {spent:.2} CPU-s, {:.2} M/s, {} B/state kept, {} B/state peak",
            states as f64 / spent / 1e6,
            report.memory / states,
            peak_bytes() / states
        );
        let report = examine_bound(&model, k, Reduction::None);
        println!(
            "with properties: {:.2} CPU-s, {} B/state peak; {report:?}",
            cpu_seconds() - before - spent,
            peak_bytes() / states
        );
    }
}
