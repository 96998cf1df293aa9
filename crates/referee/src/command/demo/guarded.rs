//! The part of the demo that runs: a mail server, a guard before it, and two clients, all on loopback.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use referee::guard::report::{Report, VerdictReport};
use referee::guard::{Guard, Plans};

use crate::output::{BAD, GOOD, SOFT, styled};

const CONFIG: &str = include_str!("guard.toml");
/// Nothing here takes longer, and the demo ends by itself whatever happens.
const PATIENCE: Duration = Duration::from_secs(5);

const RIGHT: [&str; 6] =
    ["HELO here", "MAIL FROM:<ann@here>", "RCPT TO:<bob@there>", "DATA", "Hello, Bob!\r\n.", "QUIT"];
const WRONG: [&str; 3] = ["HELO here", "MAIL FROM:<ann@here>", "DATA"];

pub(super) fn run(out: &mut impl Write) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on loopback")?;
    let server = listener.local_addr()?.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that is cut off is what the demo is about.
            let _ = serve(stream);
        }
    });
    let environment = |name: &str| (name == "SERVER").then(|| server.clone());
    let plans = Plans::read(CONFIG, Path::new("."), &environment)
        .map_err(|refusal| anyhow::anyhow!("the embedded configuration is wrong: {}", refusal.summary()))?;
    let (tell, reports) = mpsc::channel();
    let observer = Box::new(move |report: &Report| {
        let _ = tell.send(report.clone());
    });
    let guard = Guard::start_observed(&plans, Vec::new(), Some(observer))?;
    for line in plans.in_words() {
        writeln!(out, "    {line}")?;
    }
    let addresses = guard.addresses();
    let (_, address) = addresses.first().context("the guard listens")?;

    writeln!(out, "\n    A mail that follows the protocol:\n")?;
    talk(out, address, &RIGHT)?;
    if let Ok(Report::SessionEnd(end)) = reports.recv_timeout(PATIENCE) {
        let verdict = styled(GOOD, "passed");
        writeln!(
            out,
            "    {verdict}: {} messages, byte for byte, {} violations",
            end.messages, end.violations
        )?;
    }

    writeln!(out, "\n    A client that forgets to say who the mail is for:\n")?;
    talk(out, address, &WRONG)?;
    if let Ok(Report::Verdict(verdict)) = reports.recv_timeout(PATIENCE) {
        explain(out, &verdict)?;
    }

    writeln!(out, "\n    What an operator sees at /metrics, in part:\n")?;
    let wanted = [
        "referee_sessions_opened_total",
        "referee_verdicts_total",
        "referee_bytes_total",
        "referee_decision_seconds_count",
    ];
    for line in guard.metrics().lines().filter(|line| wanted.iter().any(|name| line.starts_with(name))) {
        writeln!(out, "    {}", styled(SOFT, line))?;
    }
    Ok(())
}

fn explain(out: &mut impl Write, report: &VerdictReport) -> io::Result<()> {
    let verdict = &report.record;
    let kind = format!("{} ({})", verdict.kind, verdict.paper_rule.as_deref().unwrap_or_default());
    let state = verdict.state.as_deref().unwrap_or_default();
    writeln!(out, "    {}: {}", styled(BAD, "stopped"), verdict.message)?;
    let rule = verdict.rule.as_deref().unwrap_or_default();
    writeln!(out, "    {}", styled(SOFT, format!("{kind} in state {state}, {rule}; before it:")))?;
    for line in &report.recent {
        writeln!(out, "    {}", styled(SOFT, format!("  {line}")))?;
    }
    Ok(())
}

/// Says `lines` one after the other, each after the answer to the one before, and shows both.
fn talk(out: &mut impl Write, address: &str, lines: &[&str]) -> Result<()> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let mut answers = BufReader::new(stream.try_clone()?).lines();
    let mut stream = stream;
    let mut next = || answers.next().and_then(Result::ok);
    if let Some(greeting) = next() {
        writeln!(out, "    server  {greeting}")?;
    }
    for line in lines {
        writeln!(out, "    client  {}", line.replace("\r\n", "\n            "))?;
        stream.write_all(format!("{line}\r\n").as_bytes())?;
        match next() {
            Some(answer) => writeln!(out, "    server  {answer}")?,
            None => break,
        }
    }
    Ok(())
}

/// As much of a mail server as the demo needs.
fn serve(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let mut stream = stream;
    stream.write_all(b"220 mail.there\r\n")?;
    while let Some(line) = lines.next().transpose()? {
        let answer: &[u8] = match line.get(..4).unwrap_or_default() {
            "DATA" => b"354 go ahead\r\n",
            "QUIT" => b"221 bye\r\n",
            _ => b"250 fine\r\n",
        };
        stream.write_all(answer)?;
        if answer.starts_with(b"354") {
            while lines.next().transpose()?.is_some_and(|line| line != ".") {}
            stream.write_all(b"250 queued\r\n")?;
        }
        if answer.starts_with(b"221") {
            break;
        }
    }
    Ok(())
}
