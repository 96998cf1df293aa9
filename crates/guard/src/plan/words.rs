//! A listener in plain words: the line that a guard says when it starts.

use referee_monitor::Policy;
use referee_session::{Deadlines, Properties};

use super::{Plan, Upstream};
use crate::config::Scrutiny;

impl Plan {
    pub(super) fn in_words(&self) -> String {
        let upstream = match &self.upstream {
            Upstream::Address(address) => format!("goes on to {address}"),
            Upstream::Command(command) => format!("is answered by `{}`", command.join(" ")),
        };
        let from = match self.listen.as_str() {
            "stdio" => "what comes from standard input".to_owned(),
            place => format!("what connects to {place}"),
        };
        let [client, server] = self.rules.roles();
        let judged = match self.scrutiny {
            Scrutiny::Client => format!("{client}'s part"),
            Scrutiny::Server => format!("{server}'s part"),
            Scrutiny::Both => "both parts".to_owned(),
        };
        let options = self.rules.options();
        let consequence = match (options.policy, &options.refusals) {
            (_, Some(refusals)) => refused(refusals.names(&self.rules)),
            (Policy::Halt, _) => "the first wrong message is stopped and both sides are closed".to_owned(),
            (Policy::Drop, _) => "wrong messages are not passed on".to_owned(),
            (Policy::Observe, _) => "everything is passed on and what is wrong is reported".to_owned(),
        };
        let tls = match (&self.tls, self.has_client_ca, &self.upstream_tls) {
            (None, _, None) => "",
            (Some(_), true, None) => " (TLS with certificates from clients)",
            (Some(_), false, None) => " (TLS with clients)",
            (None, _, Some(_)) => " (TLS with the server)",
            (Some(_), true, Some(_)) => " (TLS with certificates from clients, and TLS with the server)",
            (Some(_), false, Some(_)) => " (TLS with clients and with the server)",
        };
        let properties = match options.properties.as_ref().map_or(0, Properties::count) {
            0 => String::new(),
            1 => ", and 1 property".to_owned(),
            count => format!(", and {count} properties"),
        };
        let pipelining = match options.pipelining {
            [false, false] => "nobody may send before its turn".to_owned(),
            [true, false] => format!("{client} may send before its turn (pipelining)"),
            [false, true] => format!("{server} may send before its turn (pipelining)"),
            [true, true] => "both may send before their turn (pipelining)".to_owned(),
        };
        let times = match options.deadlines {
            _ if !self.rules.is_timed() => String::new(),
            Deadlines::Enforce => format!("; deadlines are enforced (tolerance {})", self.tolerance),
            _ => format!("; deadlines are reported (tolerance {})", self.tolerance),
        };
        format!(
            "{}: {} as {client} {upstream} as {server}{tls}; {judged} of protocol {} checked{properties}; \
             {consequence}; {pipelining}{times}",
            self.name, from, self.protocol.name,
        )
    }
}

/// What becomes of wrong requests that can be refused everywhere, of those that can in some states, and of other messages.
fn refused([always, sometimes]: [Vec<&str>; 2]) -> String {
    let list = |names: Vec<&str>| format!("`{}`", names.join("`, `"));
    let mut refused = Vec::new();
    if !always.is_empty() {
        refused.push(list(always));
    }
    if !sometimes.is_empty() {
        refused.push(format!("{} where the protocol can go on", list(sometimes)));
    }
    format!(
        "wrong requests are refused ({}); at any other wrong message both sides are closed",
        refused.join(", ")
    )
}
