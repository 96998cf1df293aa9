//! Systems of local types and automata, `.kmc` and `.fsm`: RF05xx.

use super::{
    Diagnostic, RF0501, RF0502, RF0503, RF0504, RF0505, RF0506, RF0507, RF0508, RF0509, RF0510, RF0511,
    RF0512,
};
use crate::source::Span;

/// The type of `role` at `span` was given at `first` already.
#[must_use]
pub fn role_declared_twice(span: Span, first: Span, role: &str) -> Diagnostic {
    RF0501
        .at(span, format!("role `{role}` is declared twice"))
        .label("declared again here")
        .related(first, "first declared here")
        .help("remove one of the two, or give the other role its own name")
}

/// `name` is not one of `roles`, of which there are `count`.
#[must_use]
pub fn unknown_role<'a>(span: Span, name: &str, roles: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    RF0502
        .at(span, format!("there is no role `{name}`"))
        .help(format!("give it a type: `{name}: …`, or `{name}: end` if it does nothing"))
        .suggest(name, roles)
}

/// `peer` is not the number of one of `count` machines.
#[must_use]
pub fn unknown_machine(span: Span, peer: &str, count: usize) -> Diagnostic {
    let diagnostic = RF0502.at(span, format!("there is no machine `{peer}`"));
    let significant = peer.trim_start_matches('0');
    let plain = if significant.is_empty() { "0" } else { significant };
    match plain.parse::<usize>() {
        Ok(number) if number < count && plain != peer => {
            diagnostic.help(format!("write `{number}`: machines are numbered without leading zeros"))
        }
        _ if count == 1 => diagnostic.help("the only machine of this file is `0`"),
        _ => diagnostic
            .help(format!("machines are numbered from 0 in the order of the file: here up to {}", count - 1)),
    }
}

/// The branch at `span` is `what`.
#[must_use]
pub fn branch_without_action(span: Span, what: &str) -> Diagnostic {
    RF0503
        .at(span, format!("this branch is {what}: it does not begin with an action"))
        .help("begin every branch of a choice with a message, `Peer!label;` or `Peer?label;`")
}

/// No transition mentions the state `name`; those there are begin with `states`.
#[must_use]
pub fn unknown_initial_state<'a>(
    span: Span,
    name: &str,
    states: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    RF0504
        .at(span, format!("no transition of this machine mentions the state `{name}`"))
        .label("the initial state")
        .help("name a state that occurs in the transitions")
        .suggest(name, states)
}

/// No transition mentions the state `name` that is said to be accepting; those there are begin with `states`.
#[must_use]
pub fn unknown_accepting_state<'a>(
    span: Span,
    name: &str,
    states: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    RF0512
        .at(span, format!("no transition of this machine mentions the state `{name}`"))
        .label("an accepting state")
        .help("name a state that occurs in the transitions")
        .suggest(name, states)
}

/// `.marking` should stand at `span`; the machine's first transition leaves `first_state`.
#[must_use]
pub fn missing_marking(span: Span, first_state: Option<&str>) -> Diagnostic {
    RF0505
        .at(span, "this machine does not say where it starts")
        .label("`.marking` is missing before this")
        .help(format!("add `.marking {}`", first_state.unwrap_or("q0")))
}

/// The transition at `span` is a `tau`.
#[must_use]
pub fn silent_action(span: Span) -> Diagnostic {
    RF0506.at(span, "a transition without a message").help("every transition sends (`!`) or receives (`?`)")
}

/// In one state the role can send, at `send`, and receive, at `receive`.
#[must_use]
pub fn mixed_choice(send: Span, receive: Span, role: &str) -> Diagnostic {
    let (first, second, labels) = if send <= receive {
        (send, receive, ["it can send this", "and receive this"])
    } else {
        (receive, send, ["it can receive this", "and send this"])
    };
    RF0507
        .at(second, format!("role `{role}` can both send and receive in one state"))
        .label(labels[1])
        .related(first, labels[0])
        .help("let one side decide, unless both may really speak at once")
}

/// Role `role` has the action `action` twice in one state, at `first` and at `span`.
#[must_use]
pub fn nondeterministic_choice(span: Span, first: Span, role: &str, action: &str) -> Diagnostic {
    RF0508
        .at(span, format!("role `{role}` has the action `{action}` twice in one state"))
        .label("and here again")
        .related(first, "first here")
        .help("put the choice behind the common action, or use different labels")
}

/// The word at `span` is `rec` and the variable `name` in one.
#[must_use]
pub fn no_blank_after_rec(span: Span, name: &str) -> Diagnostic {
    RF0509.at(span, format!("this is read as `rec {name}`")).help(format!("write `rec {name}`"))
}

/// The machine of `role` at `span` has no transitions.
#[must_use]
pub fn no_transitions(span: Span, role: &str) -> Diagnostic {
    RF0510
        .at(span, format!("machine `{role}` has no transitions"))
        .help("Referee accepts this; KMC cannot read it")
}

/// The state `name`, first mentioned at `span`, is never reached in the machine of `role`.
#[must_use]
pub fn unreachable_state(span: Span, name: &str, role: &str) -> Diagnostic {
    RF0511
        .at(span, format!("machine `{role}` never reaches the state `{name}`"))
        .help("check `.marking` and the targets of the transitions, or remove the state")
}
