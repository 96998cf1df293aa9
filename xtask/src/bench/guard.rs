//! A guard beside HAProxy, in one run: the same server behind, the same load before, taken in turns.
//!
//! Needs `nginx`, `haproxy` and `wrk` (Debian packages of these names). Ratios count, not requests per second: what
//! else the machine does meanwhile changes both alike.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::{self, cargo};

const SERVER: u16 = 18_080;
/// What is measured, and where it listens.
const WAYS: [(&str, u16); 4] =
    [("direct", SERVER), ("haproxy tcp", 18_081), ("haproxy http", 18_082), ("guard", 18_083)];
const ROUNDS: usize = 3;
const SECONDS: &str = "3s";

/// A process that ends with the benchmark.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One measurement.
#[derive(Clone, Copy, Default)]
struct Figure {
    rate: f64,
    /// Milliseconds.
    median: f64,
    slow: f64,
}

/// Builds the release binary, starts everything, and prints rates and ratios.
pub(crate) fn run() -> Result<()> {
    for program in ["nginx", "haproxy", "wrk"] {
        if Command::new(program).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            bail!("`{program}` is not installed: `apt-get install nginx haproxy wrk`");
        }
    }
    workspace::run(&mut cargo(&["build", "--release", "--package", "referee", "--bin", "referee"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let binary = workspace::root().join(target).join("release/referee");
    let folder = std::env::temp_dir().join(format!("referee-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let result = measure(&folder, &binary);
    let _ = fs::remove_dir_all(&folder);
    result
}

fn measure(folder: &Path, binary: &Path) -> Result<()> {
    let write = |name: &str, text: String| -> Result<PathBuf> {
        let path = folder.join(name);
        fs::write(&path, text)?;
        Ok(path)
    };
    let place = folder.display();
    let nginx = write(
        "nginx.conf",
        format!(
            "worker_processes auto; pid {place}/nginx.pid; error_log stderr crit; daemon off;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; keepalive_requests 1000000000; server {{ listen 127.0.0.1:{SERVER} backlog=4096;\n\
             location / {{ default_type text/plain; return 200 \"hello, world\\n\"; }} }} }}\n"
        ),
    )?;
    let haproxy = write(
        "haproxy.cfg",
        format!(
            "global\n maxconn 8000\ndefaults\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n\
             listen t\n mode tcp\n bind 127.0.0.1:{}\n server s 127.0.0.1:{SERVER}\n\
             listen h\n mode http\n bind 127.0.0.1:{}\n server s 127.0.0.1:{SERVER}\n",
            WAYS[1].1, WAYS[2].1
        ),
    )?;
    let guard = write("guard.toml", config(WAYS[3].1))?;
    let start = |command: &mut Command| -> Result<Running> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Ok(Running(child.with_context(|| format!("cannot start {command:?}"))?))
    };
    let _nginx = start(Command::new("nginx").arg("-c").arg(nginx))?;
    wait(SERVER)?;
    let _haproxy = start(Command::new("haproxy").arg("-f").arg(haproxy))?;
    let _guard = start(Command::new(binary).arg("guard").arg(guard))?;
    for (_, port) in WAYS {
        wait(port)?;
    }
    println!("median of {ROUNDS} rounds of {SECONDS}, in turns; ratios are the guard's to HAProxy's");
    for (what, connections, headers) in [
        ("keep-alive, 1 connection", 1, None),
        ("keep-alive, 16 connections", 16, None),
        ("keep-alive, 128 connections", 128, None),
        ("a connection each, 16 clients", 16, Some("Connection: close")),
    ] {
        let mut figures = vec![Vec::new(); WAYS.len()];
        for _ in 0..ROUNDS {
            for (way, figures) in WAYS.iter().zip(&mut figures) {
                figures.push(wrk(way.1, connections, headers)?);
            }
        }
        let middle: Vec<Figure> = figures.into_iter().map(median).collect();
        println!("{what}");
        for ((name, _), figure) in WAYS.iter().zip(&middle) {
            let Figure { rate, median, slow } = figure;
            println!("  {name:<13} {rate:>9.0} requests/s   p50 {median:.3} ms   p99 {slow:.3} ms");
        }
        if let [direct, tcp, http, guard] = middle.as_slice() {
            let added = |figure: &Figure| figure.median - direct.median;
            println!(
                "  guard: {:.2} x mode tcp, {:.2} x mode http; adds {:.2} x what mode http adds at p50",
                guard.rate / tcp.rate,
                guard.rate / http.rate,
                added(guard) / added(http)
            );
        }
    }
    Ok(())
}

/// HTTP, every request and response checked.
fn config(port: u16) -> String {
    format!(
        "[log]\nlevel = \"error\"\n[[listener]]\nname = \"web\"\nlisten = \"127.0.0.1:{port}\"\n\
         upstream = \"127.0.0.1:{SERVER}\"\nprotocol = \"\"\"\n\
         protocol Web(role client, role server) {{\n rec LOOP {{\n Get(path: string) from client to server;\n\
         choice at server {{ Found(status: int) from server to client; continue LOOP; }}\n\
         or {{ Failed(status: int) from server to client; continue LOOP; }} }} }}\n\"\"\"\n\
         [listener.codec]\nkind = \"http\"\n[listener.codec.messages]\n\
         Get = {{ pattern = \"GET *\", fields = {{ path = \"target\" }} }}\n\
         Found = {{ pattern = \"2xx\", fields = {{ status = \"status\" }} }}\n\
         Failed = {{ pattern = \"*\", fields = {{ status = \"status\" }} }}\n"
    )
}

fn wait(port: u16) -> Result<()> {
    let start = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(start.elapsed() < Duration::from_secs(10), "nothing listens on port {port}");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn wrk(port: u16, connections: usize, header: Option<&str>) -> Result<Figure> {
    let mut command = Command::new("wrk");
    let threads = connections.min(2).to_string();
    command.args(["-t", &threads, "-c", &connections.to_string(), "-d", SECONDS, "--latency"]);
    if let Some(header) = header {
        command.args(["-H", header]);
    }
    let output = command.arg(format!("http://127.0.0.1:{port}/")).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // A proxy that answers with errors is quick.
    ensure!(!text.contains("Non-2xx"), "port {port} does not answer with 200:\n{text}");
    let field = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)).map(str::to_owned).with_context(|| text.clone())
    };
    Ok(Figure {
        rate: field("Requests/sec:")?.parse()?,
        median: milliseconds(&field("50%")?)?,
        slow: milliseconds(&field("99%")?)?,
    })
}

/// `12.50us`, `1.20ms`, `3.00s` in milliseconds.
fn milliseconds(text: &str) -> Result<f64> {
    for (unit, scale) in [("us", 1e-3), ("ms", 1.0), ("s", 1e3)] {
        if let Some(number) = text.strip_suffix(unit) {
            return Ok(number.parse::<f64>()? * scale);
        }
    }
    bail!("`{text}` is no time")
}

/// The middle of each column.
fn median(figures: Vec<Figure>) -> Figure {
    let middle = |column: fn(&Figure) -> f64| {
        let mut values: Vec<f64> = figures.iter().map(column).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    Figure { rate: middle(|f| f.rate), median: middle(|f| f.median), slow: middle(|f| f.slow) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds() {
        assert!((milliseconds("12.50us").unwrap() - 0.0125).abs() < 1e-9);
        assert!((milliseconds("3.00s").unwrap() - 3000.0).abs() < 1e-9);
        assert!(milliseconds("fast").is_err());
    }

    #[test]
    fn the_middle_of_each_column() {
        let figure = |rate, median| Figure { rate, median, slow: 0.0 };
        let middle = median(vec![figure(1.0, 9.0), figure(5.0, 7.0), figure(3.0, 8.0)]);
        assert_eq!((middle.rate, middle.median), (3.0, 8.0));
    }
}
