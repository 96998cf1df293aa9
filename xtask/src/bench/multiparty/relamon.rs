//! RelaMon's own components of the authorisation protocol, in JavaScript, from a folder that is given. The client asks
//! for a password in every loop; it is wrong until the last one.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::monitors::Monitors;
use super::{LOOPS, Monitored};
use crate::bench::guard::servers::Running;

/// A role's file, the port of its component, that of its monitor, and that of the component it sends to: all fixed in
/// the sources.
const COMPONENTS: [(&str, u16, u16, u16); 3] =
    [("server", 8081, 8001, 8080), ("client", 8080, 8003, 8082), ("authorization", 8082, 8002, 8081)];

/// The loops of components whose sources say that the monitor is whom they send to. Nobody tells the authorisation
/// server what was chosen, so it begins where it has been told.
pub(super) fn direct(given: &Path, folder: &Path) -> Result<Vec<f64>> {
    for (name, _, monitor, next) in COMPONENTS {
        let path = given.join("implementations/CSA").join(name).with_extension("js");
        let source =
            fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let mut source = source.replace(&format!("localhost:{monitor}"), &format!("localhost:{next}"));
        if name == "authorization" {
            source = source.replace("state = 1", "state = 2");
        }
        fs::write(folder.join(name).with_extension("js"), source)?;
    }
    let mut components = Components::start(given, folder)?;
    let mut server = TcpStream::connect(("localhost", COMPONENTS[0].1))?;
    server.write_all(b"POST /api/alive HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")?;
    components.loops()
}

/// The loops of unmodified components.
pub(super) fn monitored(given: &Path) -> Result<Monitored> {
    let folder = given.join("implementations/CSA");
    let configurations =
        COMPONENTS.map(|(name, _, monitor, _)| (folder.join(name).with_extension("json"), monitor));
    let monitors = Monitors::start(&configurations)?;
    let mut components = Components::start(given, &folder)?;
    let loops = components.loops()?;
    let costs = monitors.costs()?;
    monitors.end()?;
    Ok(Monitored { loops, costs, idle: Vec::new() })
}

struct Components {
    _running: Vec<Running>,
    /// Of the client.
    questions: BufReader<ChildStdout>,
    answers: ChildStdin,
}

impl Components {
    /// Runs the sources in `folder`, with the modules of RelaMon at `given`.
    fn start(given: &Path, folder: &Path) -> Result<Self> {
        let (mut running, mut client) = (Vec::new(), None);
        for (name, port, ..) in COMPONENTS {
            let talks = name == "client";
            let pipe = || if talks { Stdio::piped() } else { Stdio::null() };
            let mut command = Command::new("node");
            command.arg(folder.join(name).with_extension("js")).env("NODE_PATH", given.join("node_modules"));
            let child = command.stdin(pipe()).stdout(pipe()).stderr(Stdio::null()).spawn()?;
            let mut process = Running(child);
            if let (Some(answers), Some(questions)) = (process.0.stdin.take(), process.0.stdout.take()) {
                client = Some((BufReader::new(questions), answers));
            }
            let begin = Instant::now();
            while TcpStream::connect(("localhost", port)).is_err() {
                ensure!(process.0.try_wait()?.is_none(), "`{name}.js` has ended: is `npm install` done?");
                ensure!(begin.elapsed() < Duration::from_secs(10), "`{name}.js` does not listen on {port}");
                thread::sleep(Duration::from_millis(10));
            }
            running.push(process);
        }
        let (questions, answers) = client.context("the client has no standard input and output")?;
        Ok(Self { _running: running, questions, answers })
    }

    /// Answers the client's questions. The time from one to the next is a loop; the last one ends the session.
    fn loops(&mut self) -> Result<Vec<f64>> {
        let (mut times, mut line) = (Vec::new(), String::new());
        let mut began = None;
        while times.len() < LOOPS {
            line.clear();
            let said = self.questions.read_line(&mut line)?;
            ensure!(said > 0 && !line.contains("VIOLATION"), "the client ended in loop {}", times.len());
            if !line.contains("Attempting to authorize") {
                continue;
            }
            times.extend(began.replace(Instant::now()).map(|began| began.elapsed().as_secs_f64()));
            let password: &[u8] = if times.len() == LOOPS { b"secretPassword\n" } else { b"wrong\n" };
            self.answers.write_all(password)?;
        }
        // To its end: the client says whether it was told to quit.
        line.clear();
        while self.questions.read_line(&mut line)? > 0 {}
        ensure!(line.contains("Quitting the protocol"), "the session did not end as it should: {line}");
        Ok(times)
    }
}
