//! What a configuration means for a guard that is started instead of a server program.

use std::time::SystemTime;

use referee_wire::locate;
use toml::Spanned;

use super::{Config, Listener, Problem, Time};
use crate::report::timestamp;

impl Listener {
    /// Whether its client is at standard input and output.
    pub(crate) fn is_stdio(&self) -> bool {
        self.listen.get_ref() == "stdio"
    }
}

impl Config {
    /// Its one listener is on standard input and output, with the program `command` as the server, if there is one.
    pub(crate) fn put_on_stdio(&mut self, text: &str, command: &[String]) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let elsewhere = [
            ("admin", self.admin.is_some()),
            ("takeover", self.takeover.is_some()),
            ("multiparty", self.multiparty.is_some()),
        ];
        for (key, _) in elsewhere.iter().filter(|(_, is_there)| *is_there) {
            let message = format!("`{key}` is for guards that listen; with `--stdio` there is one session");
            problems.push(Problem::new(message, locate(text, [*key]).unwrap_or(0..0)));
        }
        for listener in self.listeners.iter().skip(1) {
            let message = "with `--stdio` there is one session, so one listener";
            problems.push(Problem::new(message, listener.span()));
        }
        let Some(listener) = self.listeners.first_mut() else { return Err(problems) };
        let span = listener.span();
        let listener = listener.get_mut();
        if !listener.is_stdio() {
            let problem = Problem::new("with `--stdio` nothing else is listened to", listener.listen.span());
            problems.push(problem.with_help("listen = \"stdio\""));
        }
        if listener.tls.is_some() {
            problems.push(Problem::new("there is no TLS on standard input and output", span.clone()));
        }
        if !command.is_empty() {
            listener.upstream = None;
            listener.command = Some(Spanned::new(span, command.to_vec()));
        }
        // A client may keep a program that it has started for as long as it likes.
        if locate(text, ["listener", "0", "limits", "idle"]).is_none() {
            listener.limits.idle = Time(None);
        }
        // Several of these may run at a time.
        if let Some(journal) = &mut self.journal {
            let began = timestamp(SystemTime::now()).replace(':', "");
            journal.folder.push(format!("{began}-{}", std::process::id()));
        }
        self.threads = Some(Spanned::new(0..0, 1));
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}
