//! `referee mock`: stand in for a server that does not exist yet.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use referee::probe::{Mock, MockEnd, Options, Peer as _};
use referee::wire::Sender;

use super::play::{Link, Side, Subject};
use super::watch::parse_duration;
use crate::Outcome;
use crate::output;

/// How many clients are answered at the same time.
const MAX_CLIENTS: usize = 256;

/// Stand in for a server: answer whoever connects as the protocol allows.
///
/// Which answer it gives, and with which values, is decided by the seed, and by the examples of --data. What clients do wrong is
/// printed. Exit status: 1 if a client broke the protocol. See docs/probe.md.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    subject: Subject,
    /// Where to listen: 127.0.0.1:0 takes a free port, which is printed.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: String,
    /// Decides which answers are given: the first connection has this seed, the next one more.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// End after so many connections.
    #[arg(long, value_name = "N")]
    sessions: Option<usize>,
    /// How long a client may say nothing.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
    timeout: Duration,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let Some(side) = arguments.subject.side(Sender::Server, &[], None)? else {
        return Ok(Outcome::WrongInput);
    };
    let cannot = || format!("cannot listen on `{}`", arguments.listen);
    let listener = TcpListener::bind(&arguments.listen).with_context(cannot)?;
    let address = listener.local_addr().with_context(cannot)?;
    output::print(&format!("{} listens on {address}\n", side.player.role()))?;
    let options = Options { timeout: arguments.timeout, ..Options::default() };
    let mock = Arc::new(Mock::new(&side.player, options));
    let violated = Arc::new(AtomicBool::new(false));
    let side = Arc::new(side);
    let clients = Arc::new(AtomicUsize::new(0));
    let mut threads = Vec::new();
    for (number, stream) in listener.incoming().enumerate().take(arguments.sessions.unwrap_or(usize::MAX)) {
        let Ok(stream) = stream else { bail!("cannot accept connections any more") };
        if clients.fetch_add(1, Ordering::Relaxed) >= MAX_CLIENTS {
            clients.fetch_sub(1, Ordering::Relaxed);
            output::remark(&format!("session {number}: refused, {MAX_CLIENTS} are open"));
            continue;
        }
        let seed = arguments.seed.wrapping_add(number as u64);
        let (mock, side, violated, clients) =
            (Arc::clone(&mock), Arc::clone(&side), Arc::clone(&violated), Arc::clone(&clients));
        threads.push(thread::spawn(move || {
            if let Ok(mut link) = Link::accepted(stream, side.is_websocket()) {
                let (_, end) = mock.serve(&mut link, seed);
                link.close();
                tell(number, &end, &side, &violated);
            }
            clients.fetch_sub(1, Ordering::Relaxed);
        }));
        threads.retain(|thread| !thread.is_finished());
    }
    for thread in threads {
        let _ = thread.join();
    }
    Ok(if violated.load(Ordering::Relaxed) { Outcome::Violated } else { Outcome::Holds })
}

/// Says how a session ended, where it is worth saying.
fn tell(number: usize, end: &MockEnd, side: &Side, violated: &AtomicBool) {
    let line = match end {
        MockEnd::Over | MockEnd::Left => return,
        MockEnd::Limit(reason) => (*reason).to_owned(),
        MockEnd::NotJudged(reason) => format!("not judged: {reason}"),
        MockEnd::Stuck(reason) => reason.clone(),
        MockEnd::Deviation(deviation) => {
            violated.store(true, Ordering::Relaxed);
            let place =
                side.location(deviation.origin).map(|place| format!(" ({place})")).unwrap_or_default();
            format!("{}{place}", deviation.record.message)
        }
    };
    output::remark(&format!("session {number}: {line}"));
}
