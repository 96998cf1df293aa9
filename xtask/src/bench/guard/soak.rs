//! Ten minutes at full load: memory stays where it is.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::http::LISTENER;
use super::servers::{Bench, resident};

const SECONDS: u64 = 600;
/// When everything that is allocated once has been.
const WARM: Duration = Duration::from_secs(60);

pub(crate) fn run() -> Result<()> {
    let bench = Bench::new(&["nginx", "wrk"])?;
    let (_nginx, server) = bench.nginx()?;
    let (guard, port) = bench.guard(server, LISTENER)?;
    let mut load = Command::new("wrk");
    load.args(["-t", "2", "-c", "64", "-d", &format!("{SECONDS}s")]).arg(format!("http://127.0.0.1:{port}/"));
    let mut load = load.stdout(Stdio::piped()).spawn()?;
    let begin = Instant::now();
    let mut samples = Vec::new();
    while load.try_wait()?.is_none() {
        samples.push((begin.elapsed(), resident(&guard)? / 1024.0));
        std::thread::sleep(Duration::from_secs(5));
    }
    let output = load.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success() && !text.contains("Non-2xx"), "the load was not served:\n{text}");
    let warm: Vec<f64> =
        samples.iter().filter(|(time, _)| *time >= WARM).map(|(_, memory)| *memory).collect();
    let (first, most) = (warm.first().copied().unwrap_or_default(), warm.iter().copied().fold(0.0, f64::max));
    print!("{text}");
    println!("memory: {first:.1} MiB after a minute, at most {most:.1} MiB in the nine after it");
    ensure!(most <= first * 1.1 + 1.0, "it grows");
    Ok(())
}
