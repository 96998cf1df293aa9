//! Events that are one action per line: the paper's own form, and the logs of detectEr.
//!
//! `a?alpha` is received by `a`, `b!{ok,7}` is sent to `b`. detectEr writes `send(<0.1.0>,<0.2.0>,hello)`, and likewise
//! `recv`, `fork`, `init` and `exit`; ` delayed by N` may follow, which says how late the event was traced and not
//! when it happened, so it is not used. Blank lines and `%` comments are no events.

use bumpalo::Bump;
use referee_theory::property::{EventKind, EventView, Term};

use crate::scan::erlang::term;
use crate::scan::{Flaw, skip_blanks};

/// Whether there is an event in `line` at all.
pub(super) fn is_blank(line: &str) -> bool {
    matches!(line.as_bytes().trim_ascii_start().first(), None | Some(b'%'))
}

/// The action in `line`.
pub(super) fn action<'a>(line: &'a str, bump: &'a Bump) -> Result<EventView<'a>, Flaw> {
    let (party, end) = term(line, 0, 1, bump)?;
    if !matches!(party, Term::Atom(_) | Term::Pid(_)) {
        return Err(Flaw::new("an action starts with the name of an actor, as in `a?alpha`", 0));
    }
    let at = skip_blanks(line.as_bytes(), end);
    let kind = match line.as_bytes().get(at) {
        Some(b'?') => EventKind::Receive,
        Some(b'!') => EventKind::Send,
        _ => return Err(Flaw::new("`?` or `!` is missing", at)),
    };
    let (payload, end) = term(line, at + 1, 1, bump)?;
    ends(line, end)?;
    let event = EventView { payload, ..EventView::new(kind) };
    Ok(match kind {
        EventKind::Receive => EventView { subject: party, ..event },
        _ => EventView { object: party, ..event },
    })
}

/// Who did what `line` of detectEr's log says.
pub(super) fn subject<'a>(line: &'a str, bump: &'a Bump) -> Result<Term<'a>, Flaw> {
    let (_, start) = opening(line)?;
    term(line, start, 1, bump).map(|(subject, _)| subject)
}

/// The event in `line` of detectEr's log.
pub(super) fn detecter<'a>(line: &'a str, bump: &'a Bump) -> Result<EventView<'a>, Flaw> {
    let (kind, start) = opening(line)?;
    let (subject, end) = term(line, start, 1, bump)?;
    let mut event = EventView { subject, ..EventView::new(kind) };
    let mut at = comma(line, end)?;
    if !matches!(kind, EventKind::Receive | EventKind::Exit) {
        let (object, end) = term(line, at, 1, bump)?;
        event.object = object;
        at = comma(line, end)?;
    }
    let (payload, end) = term(line, at, 1, bump)?;
    event.payload = payload;
    if matches!(kind, EventKind::Fork | EventKind::Init) && !is_call(payload) {
        return Err(Flaw::new("a function is written `{module,function,[arguments]}`", at));
    }
    at = skip_blanks(line.as_bytes(), end);
    if line.as_bytes().get(at) != Some(&b')') {
        return Err(Flaw::new("a closing parenthesis is missing", at));
    }
    let rest = line.get(at + 1..).unwrap_or_default();
    match rest.trim_ascii_start().strip_prefix("delayed by ") {
        Some(delay) => {
            let from = line.len() - delay.len();
            let digits = delay.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return Err(Flaw::new("a number is missing", from));
            }
            ends(line, from + digits)?;
        }
        None => ends(line, at + 1)?,
    }
    Ok(event)
}

/// What kind of event the line is about, and where its first argument starts.
fn opening(line: &str) -> Result<(EventKind, usize), Flaw> {
    const KINDS: [EventKind; 5] =
        [EventKind::Send, EventKind::Receive, EventKind::Fork, EventKind::Init, EventKind::Exit];
    let start = skip_blanks(line.as_bytes(), 0);
    let rest = line.get(start..).unwrap_or_default();
    let found = KINDS.iter().find(|kind| rest.starts_with(kind.name()));
    let after = found.map_or(start, |kind| start + kind.name().len());
    match (found, line.as_bytes().get(after)) {
        (Some(kind), Some(b'(')) => Ok((*kind, after + 1)),
        _ => Err(Flaw::new("an event is `send(…)`, `recv(…)`, `fork(…)`, `init(…)` or `exit(…)`", start)),
    }
}

fn comma(line: &str, at: usize) -> Result<usize, Flaw> {
    let at = skip_blanks(line.as_bytes(), at);
    if line.as_bytes().get(at) == Some(&b',') { Ok(at + 1) } else { Err(Flaw::new("a comma is missing", at)) }
}

fn is_call(payload: Term<'_>) -> bool {
    match payload {
        Term::Tuple(parts) if parts.len() == 3 => {
            let kinds = [parts.get(0), parts.get(1), parts.get(2)];
            matches!(kinds, [Some(Term::Atom(_)), Some(Term::Atom(_)), Some(Term::List(_))])
        }
        _ => false,
    }
}

/// Nothing but blanks, a full stop or a comment may follow.
fn ends(line: &str, at: usize) -> Result<(), Flaw> {
    let at = skip_blanks(line.as_bytes(), at);
    let at = if line.as_bytes().get(at) == Some(&b'.') { skip_blanks(line.as_bytes(), at + 1) } else { at };
    match line.as_bytes().get(at) {
        None | Some(b'%' | b'\n') => Ok(()),
        Some(_) => Err(Flaw::new("something after the event", at)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(event: Result<EventView<'_>, Flaw>) -> String {
        match event {
            Ok(event) => {
                format!("{} {} {} {}", event.kind.name(), event.subject, event.object, event.payload)
            }
            Err(flaw) => format!("{flaw} at {}", flaw.at),
        }
    }

    #[test]
    fn actions_are_those_of_the_paper() {
        let bump = Bump::new();
        for (line, expected) in [
            ("a?alpha", "recv a - alpha"),
            (" b ! {ok,7} % why", "send - b {ok,7}"),
            ("a?", "a term is missing at 2"),
            ("a alpha", "`?` or `!` is missing at 2"),
            ("a?b c", "something after the event at 4"),
            ("7?b", "an action starts with the name of an actor, as in `a?alpha` at 0"),
        ] {
            assert_eq!(show(action(line, &bump)), expected, "{line}");
        }
    }

    #[test]
    fn logs_are_those_of_detecter() {
        let bump = Bump::new();
        for (line, expected) in [
            ("fork(<0.1.0>,<0.2.0>,{m,f,[1]})", "fork <0.1.0> <0.2.0> {m,f,[1]}"),
            ("init(<0.2.0>,<0.1.0>,{m,f,[]}) delayed by 12", "init <0.2.0> <0.1.0> {m,f,[]}"),
            ("exit(<0.2.0>,normal)\r", "exit <0.2.0> - normal"),
            ("send(<0.1.0>, <0.2.0>, {req, #Ref<0.1.2>})  % x", "send <0.1.0> <0.2.0> {req,#Ref<0.1.2>}"),
            ("recv(<0.2.0>,\"ab\").", "recv <0.2.0> - [97,98]"),
            ("recv(<0.2.0>)", "a comma is missing at 12"),
            ("recv(<0.2.0>,a", "a closing parenthesis is missing at 14"),
            ("recv(<0.2.0>,a) delayed by x", "a number is missing at 27"),
            ("init(<0.2.0>,<0.1.0>,x)", "a function is written `{module,function,[arguments]}` at 21"),
            ("spawn(<0.1.0>)", "an event is `send(…)`, `recv(…)`, `fork(…)`, `init(…)` or `exit(…)` at 0"),
        ] {
            assert_eq!(show(detecter(line, &bump)), expected, "{line}");
        }
        assert!(is_blank("  % comment") && is_blank(" \r") && !is_blank("a?b"));
    }
}
