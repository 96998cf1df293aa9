//! Monitors from text, and events in one line.

use std::sync::Arc;

use referee_monitor::{Event, FieldValue, Kind, Monitor, Payload, Registry, Session, Verdict};
use referee_syntax::{Content, Language};
use referee_theory::{Machine, Vocabulary};

/// The protocol of the design, with a counter instead of predicates.
pub(crate) const AUTH: &str = r#"
type Token = string;
protocol Auth(role client, role server) {
  rec LOGIN {
    Auth(uname: string, pwd: string) from client to server where uname.matches("^[a-z]+$");
    choice at server {
      Succ(tok: Token) from server to client;
      rec SESSION {
        choice at client {
          Get(resource: string, reqTok: Token) from client to server where reqTok == tok;
          choice at server { Res(content: string) from server to client; continue SESSION; }
          or { Timeout() from server to client; continue LOGIN; }
        } or { Rvk(rvkTok: Token) from client to server where rvkTok == tok; }
      }
    } or { Fail(code: int) from server to client where code > 0 && code < 600; continue LOGIN; }
  }
}
"#;

/// The machine of `role` in the only protocol of `text`.
pub(crate) fn machine(text: &str, role: &str) -> (Machine, Arc<Vocabulary>) {
    let document = referee_syntax::parse(text, Language::Scr);
    let said: Vec<_> = document.diagnostics.iter().filter(|d| d.is_error()).collect();
    assert!(said.is_empty(), "{said:?}");
    let Content::Global(protocols) = document.content else { panic!("not a global protocol") };
    let global = protocols[0].global.as_ref().unwrap();
    let role = global.vocabulary().find_role(role).unwrap();
    (global.project(role).unwrap(), Arc::clone(global.vocabulary()))
}

/// The monitor of `role`, without predicates.
pub(crate) fn monitor(text: &str, role: &str) -> Monitor {
    let (machine, vocabulary) = machine(text, role);
    Monitor::synthesise(&machine, &vocabulary, &Registry::new()).unwrap()
}

/// The event `label(values)` between the roles called `from` and `to`.
pub(crate) fn event<'a>(
    monitor: &Monitor,
    (from, to): (&str, &str),
    label: &'a str,
    values: &'a [FieldValue<'a>],
) -> Event<'a> {
    Event::new(monitor.party(from), monitor.party(to), label, Payload::Positional(values))
}

/// Steps over `label(values)` sent by `from` in a session of client and server.
pub(crate) fn send(
    monitor: &Monitor,
    session: &mut Session,
    from: &str,
    label: &str,
    values: &[FieldValue<'_>],
) -> Verdict {
    let to = if from == "client" { "server" } else { "client" };
    monitor.step(session, &event(monitor, (from, to), label, values))
}

/// The kind of a violation.
pub(crate) fn kind(verdict: Verdict) -> Kind {
    let Verdict::Violation(violation) = verdict else { panic!("{verdict:?} is no violation") };
    violation.kind
}

/// Shorthand for a string.
pub(crate) fn s(text: &str) -> FieldValue<'_> {
    FieldValue::Str(text)
}
