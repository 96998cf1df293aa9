//! Does time grow with the graph? Families whose graph about doubles from row to row, up to more than
//! fifty million transitions; everything is asked of each. Each run has a process of its own and is the second
//! one there, in memory that the first has taken from the system and keeps. What a first run pays for memory is the
//! system's: on a virtual machine that hands free memory back to its host, the same run took from 0.03 to 1.3 s for it.

use std::process::Command;

use referee_check::generate::exchange;
use referee_check::{Options, Reduction, check};

use crate::measure::{median, once};
use crate::report::{Table, count};

/// How often each graph is explored; the middle time counts.
const RUNS: usize = 3;
/// At most this much more time for twice the graph.
const GOAL: f64 = 2.3;

pub(crate) fn growth() -> Table {
    let heads = ["reduction", "exchange", "transitions", "CPU-s", "ns per transition", "for twice the graph"];
    let mut table = Table::new(&heads);
    let full = [10, 12, 14, 17, 20, 24, 29, 34].map(|k| [1, k, 2]);
    let sound = [10, 12, 14, 16, 19, 22, 26, 30].map(|n| [n, 3, 1]);
    let (mut steps, mut above) = (0, 0);
    for (reduction, systems) in [("none", full), ("sound", sound)] {
        let mut before: Option<(usize, f64)> = None;
        for [n, k, m] in systems {
            let runs: Vec<(usize, f64)> = (0..RUNS)
                .filter_map(|_| apart(&[reduction.to_owned(), n.to_string(), k.to_string(), m.to_string()]))
                .collect();
            let Some(&(transitions, _)) = runs.first() else { continue };
            let spent = median(runs.into_iter().map(|(_, spent)| spent).collect());
            // What the time would have grown by had the graph exactly doubled.
            let doubled = before.map(|(fewer, less)| {
                let exponent = (spent / less).ln() / (transitions as f64 / fewer as f64).ln();
                2_f64.powf(exponent)
            });
            steps += usize::from(doubled.is_some());
            above += usize::from(doubled.is_some_and(|factor| factor > GOAL));
            table.row([
                reduction.to_owned(),
                format!("n={n} k={k} m={m}"),
                count(transitions),
                format!("{spent:.3}"),
                format!("{:.0}", spent * 1e9 / transitions as f64),
                doubled.map_or(String::new(), |factor| format!("{factor:.2} times the time")),
            ]);
            before = Some((transitions, spent));
        }
    }
    table.remark(format!(
        "Goal: at most {GOAL} times the time for twice the graph; {above} of {steps} steps are above it. \
         The middle of {RUNS} runs, each in a process of its own."
    ));
    table
}

/// Runs [`one`] in a process of its own: transitions and CPU-seconds.
fn apart(arguments: &[String]) -> Option<(usize, f64)> {
    let output = Command::new(std::env::current_exe().ok()?)
        .arg("growth-one")
        .args(arguments)
        .env("MIMALLOC_PURGE_DELAY", "-1")
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (transitions, spent) = text.trim().split_once(' ')?;
    Some((transitions.parse().ok()?, spent.parse().ok()?))
}

/// What `growth-one REDUCTION N K M` does.
pub(crate) fn one(arguments: &[String]) -> Option<()> {
    let reduction = if arguments.first()? == "none" { Reduction::None } else { Reduction::Sound };
    let number = |at: usize| arguments.get(at)?.parse::<usize>().ok();
    let (n, k, m) = (number(1)?, number(2)?, number(3)?);
    let system = exchange(n, k, m);
    let options = Options { reduction, ..Options::exactly(k as u32) };
    let _ = check(&system, &options, None, &mut ());
    let (report, spent) = once(|| check(&system, &options, None, &mut ()));
    println!("{} {spent}", report.bounds.first()?.transitions);
    Some(())
}
