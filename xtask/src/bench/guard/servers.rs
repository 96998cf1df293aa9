//! What a benchmark of the guard starts: servers, HAProxy, the guard itself.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::bench::tools;
use crate::workspace::{self, cargo};

/// A process that ends with the benchmark.
pub(in crate::bench) struct Running(pub(in crate::bench) Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        // Asked first: a master that is killed leaves its workers behind.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        drop(self.0.stdin.take());
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if matches!(self.0.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The binary, and a folder for configurations that goes away afterwards.
pub(super) struct Bench {
    pub(super) referee: PathBuf,
    pub(super) folder: PathBuf,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Bench {
    /// Builds the release binary. `programs` must be installed.
    pub(super) fn new(programs: &[&str]) -> Result<Self> {
        for program in programs {
            if !installed(program) {
                bail!("`{program}` is not installed: `apt-get install {}`", programs.join(" "));
            }
        }
        // One command: what the examples need on top would have dependencies built twice.
        let what = ["--package", "referee", "--bin", "referee", "--example", "mail", "--example", "pingpong"];
        workspace::run(cargo(&["build", "--release"]).args(what))?;
        let folder = std::env::temp_dir().join(format!("referee-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        println!("load average: {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
        Ok(Self { referee: tools::target().join("release/referee"), folder })
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    /// nginx that answers `hello, world`, on a port of its own.
    pub(super) fn nginx(&self) -> Result<(Running, u16)> {
        let (port, place) = (free_port()?, self.folder.display());
        let config = self.write(
            "nginx.conf",
            &format!(
                "worker_processes auto; pid {place}/nginx.pid; error_log stderr crit; daemon off;\n\
                 events {{ worker_connections 65536; }}\n\
                 http {{ access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;\n\
                 server {{ listen 127.0.0.1:{port} backlog=4096;\n\
                 location / {{ default_type text/plain; return 200 \"hello, world\\n\"; }} }} }}\n"
            ),
        )?;
        let running = start(Command::new("nginx").arg("-c").arg(config), port)?;
        Ok((running, port))
    }

    /// HAProxy before `upstream`.
    pub(super) fn haproxy(&self, mode: &str, upstream: u16) -> Result<(Running, u16)> {
        let port = free_port()?;
        let config = self.write(
            &format!("haproxy-{port}.cfg"),
            &format!(
                "global\n maxconn 8000\ndefaults\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n\
                 listen it\n mode {mode}\n bind 127.0.0.1:{port}\n server s 127.0.0.1:{upstream}\n"
            ),
        )?;
        let running = start(Command::new("haproxy").arg("-f").arg(config), port)?;
        Ok((running, port))
    }

    /// A guard before `upstream`; `listener` says with which protocol.
    pub(super) fn guard(&self, upstream: u16, listener: &str) -> Result<(Running, u16)> {
        let port = free_port()?;
        let config = self.write(
            &format!("guard-{port}.toml"),
            &format!(
                "[log]\nlevel = \"error\"\n[[listener]]\nname = \"it\"\nlisten = \"127.0.0.1:{port}\"\n\
                 upstream = \"127.0.0.1:{upstream}\"\n{listener}"
            ),
        )?;
        let running = start(Command::new(&self.referee).arg("guard").arg(config), port)?;
        Ok((running, port))
    }
}

/// Starts a server and waits until it listens on `port`.
pub(in crate::bench) fn start(command: &mut Command, port: u16) -> Result<Running> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut running = Running(child.with_context(|| format!("cannot start {command:?}"))?);
    let begin = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(running.0.try_wait()?.is_none(), "{command:?} has ended");
        ensure!(begin.elapsed() < Duration::from_secs(10), "nothing listens on port {port}");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(running)
}

pub(super) fn installed(program: &str) -> bool {
    Command::new(program)
        .arg("-v")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// What a process holds in memory now, in KiB.
pub(super) fn resident(running: &Running) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{}/status", running.0.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
