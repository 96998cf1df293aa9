//! What one step of a monitor costs: times by criterion, rates over many sessions, instructions by valgrind.

use anyhow::Result;

use super::tools;
use crate::workspace::{self, cargo};

const PACKAGE: &str = "referee-monitor";

pub(crate) fn run() -> Result<()> {
    workspace::run(&mut cargo(&["bench", "--package", PACKAGE, "--bench", "monitor"]))?;
    workspace::run(&mut cargo(&["run", "--release", "--package", PACKAGE, "--example", "rate"]))?;
    let runner = tools::find("gungraun-runner", &tools::by_cargo("gungraun-runner --version 0.20.0"));
    let valgrind = tools::find("valgrind", "it is a package of every distribution");
    let (Some(runner), Some(_)) = (runner, valgrind) else {
        println!("so instructions were not counted");
        return Ok(());
    };
    let mut bench = cargo(&["bench", "--package", PACKAGE, "--bench", "monitor-instructions"]);
    workspace::run(bench.env("GUNGRAUN_RUNNER", runner))
}
