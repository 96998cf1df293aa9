//! Two monitors over NATS: messages of one session, one after the other, beside a publisher and a reader that do nothing
//! else, with acknowledgements and messages of the same size: one in Rust, and `flow.go`, which does as `nats bench` does.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::bench::property;
use crate::bench::tools::{self, median};
use crate::workspace::{self, cargo};

const MESSAGES: usize = 200_000;
const ROUNDS: usize = 3;
/// What a monitor adds to the bytes of such a message: numbers, names, the values.
const ADDED: usize = 110;

struct Monitor(Child);

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn run(folder: &Path) -> Result<()> {
    let Some(server) = tools::find("nats-server", "it is a package of Debian") else { return Ok(()) };
    let plain = ["build", "--release", "--package", "referee-jetstream", "--example", "plain"];
    workspace::run(&mut cargo(&plain))?;
    let bench = nats_bench(folder);
    let (mut alone, mut monitored, mut benched) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let place = folder.join(format!("broker-{round}"));
        fs::create_dir_all(&place)?;
        let (_server, url) = property::start(&server, &place)?;
        let (size, rate) = through_monitors(&url, &place)?;
        monitored.push(rate);
        let [messages, size] = [MESSAGES, size + ADDED].map(|number| number.to_string());
        let mut plain = Command::new(property::program("examples/plain"));
        alone.push(rate_of(plain.args(["flow", &url, "FLOW", &messages, &size]))?);
        if let Some(bench) = &bench {
            benched.push(rate_of(Command::new(bench).args([&url, &messages, &size]))?);
        }
    }
    let (alone, monitored) = (median(alone), median(monitored));
    println!("over NATS, {MESSAGES} messages, each acknowledged, medians of {ROUNDS}:");
    println!("  a publisher and a reader  {alone:>8.0} messages/s");
    println!(
        "  component to component    {monitored:>8.0} messages/s: {:.2} times the rate",
        monitored / alone
    );
    if !benched.is_empty() {
        let benched = median(benched);
        println!(
            "  as `nats bench` does      {benched:>8.0} messages/s: of these {:.2} times the rate",
            monitored / benched
        );
    }
    Ok(())
}

/// What a program that prints nothing but a rate printed.
fn rate_of(command: &mut Command) -> Result<f64> {
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the plain publisher failed");
    String::from_utf8_lossy(&output.stdout).trim().parse().context("no rate")
}

/// `flow.go`, compiled with what Debian has for it.
fn nats_bench(folder: &Path) -> Option<PathBuf> {
    let go = tools::find("go", "Debian's packages golang-go and golang-github-nats-io-go-nats-dev have it")?;
    let program = folder.join("flow");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/multiparty/flow.go");
    let mut command = Command::new(go);
    command.arg("build").arg("-o").arg(&program).arg(source);
    let built = command.env("GO111MODULE", "off").env("GOPATH", "/usr/share/gocode").status();
    built.is_ok_and(|status| status.success()).then_some(program)
}

/// The size of a message, and how many arrive in a second.
fn through_monitors(url: &str, place: &Path) -> Result<(usize, f64)> {
    let ports = [free_port()?, free_port()?];
    let monitors = ["a", "b"].iter().zip(ports).map(|(role, port)| monitor(role, port, url, place));
    let _monitors: Vec<Monitor> = monitors.collect::<Result<_>>()?;
    let mut reader = connect(ports[1])?;
    // A session begins when both monitors have met.
    thread::sleep(Duration::from_secs(2));
    let mut writer = connect(ports[0])?;
    let message = |n: usize| format!("{{\"type\":\"data\",\"n\":{n},\"t\":\"{}\"}}\n", "x".repeat(60));
    let feeding = thread::spawn(move || -> std::io::Result<()> {
        for batch in (0..MESSAGES).step_by(500) {
            let text: String = (batch..MESSAGES.min(batch + 500)).map(message).collect();
            writer.write_all(text.as_bytes())?;
        }
        writer.write_all(b"{\"type\":\"stop\"}\n")
    });
    let (mut count, mut start, mut buffer) = (0, None, vec![0; 1 << 18]);
    reader.set_read_timeout(Some(Duration::from_secs(30)))?;
    while count <= MESSAGES {
        let read = reader.read(&mut buffer)?;
        ensure!(read > 0, "the session ended after {count} messages");
        start.get_or_insert_with(Instant::now);
        count += buffer[..read].iter().filter(|byte| **byte == b'\n').count();
    }
    feeding.join().map_err(|_| anyhow::anyhow!("the writer failed"))??;
    let seconds = start.map_or(1.0, |start| start.elapsed().as_secs_f64());
    Ok((message(MESSAGES / 2).len(), MESSAGES as f64 / seconds))
}

fn monitor(role: &str, port: u16, url: &str, place: &Path) -> Result<Monitor> {
    let config = place.join(format!("{role}.toml"));
    let text = format!(
        "[multiparty]\ntransport = \"nats\"\nbroker = \"{url}\"\nlimits = {{ window = 1024, buffer = \"4MiB\" }}\n\
         protocol = \"\"\"\nprotocol Flow(role a, role b) {{ rec X {{ choice at a {{ data(n: int, t: string) from a to b; \
         continue X; }} or {{ stop() from a to b; }} }} }}\n\"\"\"\n[[multiparty.role]]\nname = \"{role}\"\n\
         listen = \"127.0.0.1:{port}\"\ncodec = {{ kind = \"json\" }}\n"
    );
    fs::write(&config, text)?;
    let mut command = Command::new(property::program("referee"));
    let child = command.arg("guard").arg(&config).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(Monitor(child))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn connect(port: u16) -> Result<TcpStream> {
    let began = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return Ok(stream),
            Err(error) if began.elapsed() > Duration::from_secs(10) => return Err(error.into()),
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}
