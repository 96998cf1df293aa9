//! A guard that is started instead of a server program: its own standard input and output are the client's side, the program it
//! starts is the server. Clients of language servers, debug adapters and MCP servers start a command and talk to it like that.
//!
//! It is as if it were not there: the program's standard error is the process's own, signals go on to the program, and the
//! program's exit status becomes the process's.

mod streams;

use std::io::{self, IsTerminal as _};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

pub(crate) use streams::Stdio;

use crate::connection::{self, Failure};
use crate::guard::Guard;
use crate::metrics::lock;
use crate::plan::{Plans, Upstream};
use crate::report::{EndReason, Report};
use crate::stream::{Program, Stream};

/// How long a program whose session is over may take to end before it is asked to by a signal, and then before it is killed; and how long
/// its session may take to end when the program has.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The signals that go on to the program.
const FORWARDED: [Signal; 6] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// How a guard on standard input and output ended.
#[derive(Debug)]
pub struct StdioOutcome {
    /// Of the program, where there is one.
    pub status: Option<ExitStatus>,
    /// Why the session ended.
    pub why: EndReason,
    /// What the guard ended the session for, or why it could not begin.
    pub message: Option<String>,
}

impl StdioOutcome {
    /// Whether the session did not end by its sides, but by the guard.
    #[must_use]
    pub fn is_by_guard(&self) -> bool {
        is_by_guard(self.why)
    }
}

fn is_by_guard(why: EndReason) -> bool {
    use EndReason::{Closed, Drained, Over, Reset, Unanswered};
    !matches!(why, Over | Closed | Unanswered | Reset | Drained)
}

/// Guards the one session between this process's standard input and output and the server of `plans`.
///
/// # Errors
/// The standard streams cannot be taken, the journal cannot be opened, or the system gives no thread.
pub fn run(plans: &Plans) -> io::Result<StdioOutcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(plans))
}

async fn serve(plans: &Plans) -> io::Result<StdioOutcome> {
    let last = Arc::new(Mutex::new(None));
    let said = Arc::clone(&last);
    // The first says what was wrong: what follows may follow from it.
    let observer = move |report: &Report| {
        let message = match report {
            Report::Verdict(verdict) => Some(verdict.record.message.clone()),
            Report::SessionEnd(end) => end.detail.clone(),
            Report::Message(_) => None,
        };
        let mut said = lock(&said);
        *said = said.take().or(message);
    };
    let guard = Guard::start_observed(plans, Vec::new(), Some(Box::new(observer)))?;
    let (thread, listening) = guard.stdio().ok_or_else(|| io::Error::other("no listener is on `stdio`"))?;
    let mut signals = forwarded_signals()?;
    let (client, writer) = Stdio::take()?;
    let plan = Arc::clone(&listening.version.load().plan);
    let mut child = None;
    let server = match &plan.upstream {
        Upstream::Address(_) => connection::connect(&plan, &connection::STDIO).await,
        Upstream::Command(command) => {
            let started = Program::start(command).map_err(Failure::new(EndReason::Upstream));
            started.map(|mut program| {
                child = program.take_child();
                Stream::Program(Box::new(program))
            })
        }
    };
    let mut session = Box::pin(connection::carry_stdio(thread, listening, Stream::Stdio(client), server));
    let mut has_exited = false;
    let why = loop {
        let exited = async {
            match child.as_mut().filter(|_| !has_exited) {
                Some(child) => child.wait().await.map(drop),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            why = &mut session => break why,
            Some(signal) = signals.recv() => forward(signal, child.as_ref(), &guard),
            _ = exited => {
                has_exited = true;
                let guard = &guard;
                // Another program may still have its output; the session waits for that no longer than for a client.
                if let Ok(why) = timeout(EXIT_TIMEOUT, &mut session).await {
                    break why;
                }
                guard.drain();
            }
        }
    };
    drop(session);
    let status = match child {
        Some(child) => Some(exit(child, why, &mut signals, &guard).await?),
        None => None,
    };
    guard.halt();
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    let message = lock(&last).take();
    Ok(StdioOutcome { status, why, message })
}

/// The signals that come for the program, as they come.
fn forwarded_signals() -> io::Result<mpsc::UnboundedReceiver<Signal>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    // What is typed at a terminal comes to the program by itself.
    let is_typed = |signal| matches!(signal, Signal::INT | Signal::QUIT);
    let at_terminal = io::stderr().is_terminal();
    for number in FORWARDED {
        let mut received = signal(SignalKind::from_raw(number.as_raw()))?;
        let sender = sender.clone();
        tokio::spawn(async move {
            while received.recv().await.is_some() {
                if !(at_terminal && is_typed(number)) && sender.send(number).is_err() {
                    break;
                }
            }
        });
    }
    Ok(receiver)
}

/// Passes `signal` on to the program; without one, the session is closed.
fn forward(signal: Signal, child: Option<&Child>, guard: &Guard) {
    match child {
        // It is not waited for yet, so the number is still its own.
        Some(child) => {
            let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).unwrap_or_default()));
            if let Some(pid) = pid {
                let _ = kill_process(pid, signal);
            }
        }
        None if matches!(signal, Signal::USR1 | Signal::USR2) => {}
        None => guard.drain(),
    }
}

/// Waits for the end of the program, whose session ended because of `why`. Its standard input is closed: if the guard has done that, it does
/// not wait for ever.
async fn exit(
    mut child: Child,
    why: EndReason,
    signals: &mut mpsc::UnboundedReceiver<Signal>,
    guard: &Guard,
) -> io::Result<ExitStatus> {
    let mut patience = is_by_guard(why).then_some(Signal::TERM);
    loop {
        let late = async {
            match patience {
                Some(signal) => {
                    sleep(EXIT_TIMEOUT).await;
                    signal
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            status = child.wait() => return status,
            Some(signal) = signals.recv() => forward(signal, Some(&child), guard),
            signal = late => {
                forward(signal, Some(&child), guard);
                patience = Some(Signal::KILL);
            }
        }
    }
}
