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
        let [client, server] = self.rules.roles();
        let judged = match self.scrutiny {
            Scrutiny::Client => format!("{client}'s part"),
            Scrutiny::Server => format!("{server}'s part"),
            Scrutiny::Both => "both parts".to_owned(),
        };
        let options = self.rules.options();
        let consequence = match options.policy {
            Policy::Halt => "the first wrong message is stopped and both sides are closed",
            Policy::Drop => "wrong messages are not passed on",
            Policy::Observe => "everything is passed on and what is wrong is reported",
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
            "{}: what connects to {} as {client} {upstream} as {server}{tls}; {judged} of protocol {} checked{properties}; \
             {consequence}; {pipelining}{times}",
            self.name, self.listen, self.protocol.name,
        )
    }
}
