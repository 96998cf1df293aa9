//! A system of more than ten million configurations, unreduced: states per second, bytes per state, threads. Each
//! figure is of a process of its own, so that peaks do not mix; all in one run.

use std::process::{Command, Output, Stdio};

use referee_check::{Model, Options, Reduction, Semantics, check, explore_bound, generate};

use crate::measure::{Cpu, median, peak_bytes};
use crate::report::{Table, count};

/// How often each is measured; the middle one counts.
const RUNS: usize = 3;

/// What one process found out.
struct Run {
    states: usize,
    transitions: usize,
    peak: usize,
    cpu: f64,
    wall: f64,
}

pub(crate) fn rate() -> Table {
    let mut table = Table::new(&["what", "goal", "figure"]);
    // Alternately, so that what else the machine does falls to all.
    let mut runs: [Vec<Run>; 4] = [const { Vec::new() }; 4];
    for _ in 0..RUNS {
        for (at, (what, threads)) in
            [("plain", "1"), ("all", "1"), ("plain", "2"), ("all", "2")].into_iter().enumerate()
        {
            runs[at].extend(apart(&[what, threads, "7"]));
        }
    }
    let twins: Vec<f64> = (0..RUNS).filter_map(|_| at_once()).collect();
    let [plain, all, plain_two, all_two] = &runs;
    let (Some(first), false) = (plain.first(), runs.iter().any(Vec::is_empty)) else { return table };
    let cpu = |runs: &[Run]| median(runs.iter().map(|run| run.cpu).collect());
    let wall = |runs: &[Run]| median(runs.iter().map(|run| run.wall).collect());
    let peak = |runs: &[Run]| runs.iter().map(|run| run.peak / run.states).max().unwrap_or(0);
    let speed = |runs: &[Run]| {
        format!("{:.2} million ({:.2} CPU-s)", first.states as f64 / cpu(runs) / 1e6, cpu(runs))
    };
    table.row([
        "configurations, transitions".to_owned(),
        "at least 10 million".to_owned(),
        format!("{}, {}", count(first.states), count(first.transitions)),
    ]);
    table.row([
        "states per CPU-second, exploration alone".to_owned(),
        "at least 1.5 million".to_owned(),
        speed(plain),
    ]);
    table.row(["the same with every property".to_owned(), "at least 1.06 million".to_owned(), speed(all)]);
    table.row([
        "CPU time with every property over exploration alone".to_owned(),
        "at most 1.3".to_owned(),
        format!("{:.2}", cpu(all) / cpu(plain)),
    ]);
    table.row([
        "bytes per state at the peak, exploration alone: one thread, two".to_owned(),
        "at most 20".to_owned(),
        format!("{}, {}", peak(plain), peak(plain_two)),
    ]);
    table.row([
        "the same with every property".to_owned(),
        "at most 40".to_owned(),
        format!("{}, {}", peak(all), peak(all_two)),
    ]);
    for (what, one, two) in [("exploration alone", plain, plain_two), ("every property", all, all_two)] {
        table.row([
            format!("two threads, {what}: wall time, CPU time"),
            "1.7 times as fast".to_owned(),
            format!(
                "{:.2} s, {:.2} s: {:.2} times as fast; {:.2} times the CPU time",
                wall(one),
                wall(two),
                wall(one) / wall(two),
                cpu(two) / cpu(one)
            ),
        ]);
    }
    table.row([
        "two processes at once, one thread each, exploration alone, for comparison".to_owned(),
        String::new(),
        format!("as much as one in {:.2} times its wall time", median(twins) / wall(plain)),
    ]);
    table
}

/// What `rate-one` with `arguments` is started by.
fn process(arguments: &[&str]) -> Option<Command> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.arg("rate-one").args(arguments);
    Some(command)
}

/// Runs [`one`] in a process of its own.
fn apart(arguments: &[&str]) -> Option<Run> {
    read(process(arguments)?.output().ok()?)
}

/// The wall time of two that share nothing but the machine, the longer of both.
fn at_once() -> Option<f64> {
    let start = || process(&["plain", "1", "7"])?.stdout(Stdio::piped()).spawn().ok();
    let (one, other) = (start()?, start()?);
    let [one, other] = [one, other].map(|child| Some(read(child.wait_with_output().ok()?)?.wall));
    Some(one?.max(other?))
}

fn read(output: Output) -> Option<Run> {
    let text = String::from_utf8(output.stdout).ok()?;
    let mut words = text.split_whitespace();
    let mut number = || words.next()?.parse::<f64>().ok();
    Some(Run {
        states: number()? as usize,
        transitions: number()? as usize,
        peak: number()? as usize,
        cpu: number()?,
        wall: number()?,
    })
}

/// What `rate-one plain|all THREADS STAGES [ROLES]` does: a pipeline, and beside it, if it is given, a ring of so many roles
/// with one token.
pub(crate) fn one(arguments: &[String]) -> Option<()> {
    let threads = arguments.get(1)?.parse().ok()?;
    let mut system = generate::pipeline(arguments.get(2)?.parse().ok()?, 2);
    if let Some(roles) = arguments.get(3) {
        system = generate::beside(&system, &generate::ring(roles.parse().ok()?, 1, 1));
    }
    let model = Model::new(&system, Semantics::PeerToPeer);
    let (before, started) = (Cpu::now().own, std::time::Instant::now());
    let report = if arguments.first()? == "plain" {
        explore_bound(&model, 1, Reduction::None, threads)
    } else {
        let options = Options { reduction: Reduction::None, threads, ..Options::exactly(1) };
        check(&system, &options, None, &mut ()).bounds.pop()?
    };
    let (cpu, wall) = (Cpu::now().own - before, started.elapsed().as_secs_f64());
    println!("{} {} {} {cpu} {wall}", report.states, report.transitions, peak_bytes());
    Some(())
}
