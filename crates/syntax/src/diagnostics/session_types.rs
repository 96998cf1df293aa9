//! Session types, `.st`: RF06xx.

use referee_theory::Action;

use super::{Diagnostic, RF0601, RF0602, RF0603, RF0604};
use crate::source::Span;

/// The branch at `span` does `action`, which the `&` or `+` at `symbol` does not allow.
#[must_use]
pub fn branch_direction(span: Span, symbol: Span, action: Action) -> Diagnostic {
    let (message, choice, help) = match action {
        Action::Send => {
            ("a branch of `&` cannot send", "`&` receives", "begin the branch with `?`, or use `+`")
        }
        Action::Receive => {
            ("a branch of `+` cannot receive", "`+` sends", "begin the branch with `!`, or use `&`")
        }
    };
    RF0601.at(span, message).related(symbol, choice).help(help)
}

/// The branch at `span` is `what`.
#[must_use]
pub fn branch_without_message(span: Span, what: &str) -> Diagnostic {
    RF0602
        .at(span, format!("this branch is {what}: it does not begin with a message"))
        .help("begin every branch with a message: `?Label()` in `&`, `!Label()` in `+`")
}

/// The assertion at `span` is not closed on its line.
#[must_use]
pub fn unclosed_assertion(span: Span) -> Diagnostic {
    RF0603.at(span, "this assertion is never closed").help("close it with `]` on the same line")
}

/// The message `label`, whose payload is at `span`, has `count` fields.
#[must_use]
pub fn many_fields(span: Span, label: &str, count: usize) -> Diagnostic {
    RF0604
        .at(span, format!("`{label}` has {count} fields: STMonitor forgets the order of more than four"))
        .help("Referee keeps it; split the message if STMonitor is to read this file")
}
