//! Multiparty monitors: in one process (a benchmark of `referee-monitor`), and the authorisation protocol over HTTP
//! through three monitors on RelaMon's wire, beside the same components talking to each other directly; and messages
//! over NATS.
//!
//! Light components cost next to nothing, so that what is seen is the monitors. With `RELAMON` set to a folder that has
//! RelaMon and its `node_modules`, its own components in JavaScript are run too.

mod broker;
mod light;
mod monitors;
mod relamon;

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use super::tools::{self, median};
use crate::workspace::{self, cargo};
use monitors::{Cost, NAMES};

/// Direct and monitored, alternately.
const ROUNDS: usize = 5;
/// Of each round and side; ten thousand monitored ones in all.
const LOOPS: usize = 2000;
/// Loops of the beginning that do not count.
const WARM_UP: usize = 100;

/// What one run through monitors showed.
struct Monitored {
    /// Seconds of each loop.
    loops: Vec<f64>,
    costs: Vec<Cost>,
    /// Processor time of each monitor for each second in which nothing happened, if that was looked at.
    idle: Vec<f64>,
}

pub(super) fn run() -> Result<()> {
    let bench = ["bench", "--package", "referee-monitor", "--bench", "multiparty"];
    workspace::run(&mut cargo(&bench))?;
    workspace::run(&mut cargo(&["build", "--release", "--package", "referee", "--bin", "referee"]))?;
    println!("load average: {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    let folder = tools::target().join("bench-multiparty");
    fs::create_dir_all(&folder)?;
    let result = compare("light components", &light::direct, &|| light::monitored(&folder))
        .and_then(|()| relamon_components(&folder))
        .and_then(|()| broker::run(&folder));
    fs::remove_dir_all(&folder)?;
    result
}

fn relamon_components(folder: &std::path::Path) -> Result<()> {
    let Some(given) = env::var_os("RELAMON").map(PathBuf::from) else {
        println!("skipped: RelaMon's own components; set `RELAMON` to its folder, after `npm install` there");
        return Ok(());
    };
    if tools::find("node", "it is a package of every distribution").is_none() {
        return Ok(());
    }
    let direct = || relamon::direct(&given, folder);
    compare("RelaMon's components", &direct, &|| relamon::monitored(&given))
}

/// Runs both alternately and says how they compare. A false alarm is an error of `monitored`.
fn compare(
    what: &str,
    direct: &dyn Fn() -> Result<Vec<f64>>,
    monitored: &dyn Fn() -> Result<Monitored>,
) -> Result<()> {
    let (mut ratios, mut alone, mut through) = (Vec::new(), Vec::new(), Vec::new());
    let mut runs = Vec::new();
    for _ in 0..ROUNDS {
        let direct = steady(&direct()?);
        let run = monitored()?;
        let monitored = steady(&run.loops);
        ratios.push(quantile(&monitored, 50) / quantile(&direct, 50));
        alone.extend(direct);
        through.extend(monitored);
        runs.push(run);
    }
    println!("{what}: {} loops through three monitors, no false alarm", ROUNDS * LOOPS);
    for (side, loops) in [("directly", &alone), ("through monitors", &through)] {
        let show = |percent| quantile(loops, percent) * 1e3;
        println!("  a loop {side}: p50 {:.3} ms, p95 {:.3} ms, p99 {:.3} ms", show(50), show(95), show(99));
    }
    let (least, most) = ratios.iter().fold((f64::MAX, 0.0_f64), |(a, b), r| (a.min(*r), b.max(*r)));
    println!("  p50 is {:.2} times that of direct loops ({least:.2} to {most:.2})", median(ratios.clone()));
    for (index, name) in NAMES.iter().enumerate() {
        let of = |figure: fn(&Cost) -> f64| {
            median(runs.iter().filter_map(|run| run.costs.get(index)).map(figure).collect())
        };
        print!(
            "  monitor of the {name}: {:.3} ms of processor time per loop, {:.1} MiB resident at most",
            of(|cost| cost.processor) / LOOPS as f64 * 1e3,
            of(|cost| cost.peak)
        );
        let idle: Vec<f64> = runs.iter().filter_map(|run| run.idle.get(index)).copied().collect();
        match idle.is_empty() {
            true => println!(),
            false => println!(", {:.3} ms per second of waiting", median(idle) * 1e3),
        }
    }
    Ok(())
}

fn steady(loops: &[f64]) -> Vec<f64> {
    loops.iter().skip(WARM_UP).copied().collect()
}

/// The least figure that at least `percent` of them do not exceed.
fn quantile(figures: &[f64], percent: usize) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}
