//! Projections and relative projections that are undefined: RF04xx.

use super::{Code, Diagnostic, RF0410, RF0411, RF0412, quoted};
use crate::source::Span;

/// A choice that a role does not see: its place, who decides, and what leads to either branch.
pub(crate) struct UnseenChoice {
    pub(crate) chooser: String,
    pub(crate) left: Span,
    pub(crate) right: Span,
}

/// A role behaves differently after branches it cannot tell apart: `role` does `left` in one and `right` in
/// the other, each with its place where it has one.
pub(crate) fn undecided(
    code: &'static Code,
    span: Span,
    role: &str,
    left: (Option<Span>, String),
    right: (Option<Span>, String),
    choice: Option<UnseenChoice>,
) -> Diagnostic {
    let message =
        format!("`{role}` cannot know what to do: {} in one branch, {} in another", left.1, right.1);
    let mut diagnostic = code.at(span, message);
    let informer = match choice {
        Some(UnseenChoice { chooser, left: first, right: second }) => {
            diagnostic = diagnostic
                .label(format!("`{role}` does not see this choice of `{chooser}`"))
                .related(first, format!("in this branch `{role}` {}", left.1))
                .related(second, format!("in this branch `{role}` {}", right.1));
            format!("`{chooser}`")
        }
        None => {
            for (place, what) in [left, right] {
                if let Some(place) = place {
                    diagnostic = diagnostic.related(place, what);
                }
            }
            "the role that decides".to_owned()
        }
    };
    diagnostic.help(format!(
        "let each branch begin for `{role}` with another message, all of them from {informer} or all from one role \
         that knows the outcome"
    ))
}

/// What is known about an undefined relative projection.
pub(crate) struct HiddenDependency<'a> {
    pub(crate) pair: (&'a str, &'a str),
    pub(crate) exchange: Span,
    pub(crate) sender: &'a str,
    pub(crate) receiver: &'a str,
    pub(crate) left: (&'a str, Span, &'a str),
    pub(crate) right: (&'a str, Span, &'a str),
}

/// The exchange is a choice between several receivers.
pub(crate) fn several_receivers(span: Span, sender: &str, receivers: &[&str]) -> Diagnostic {
    let receivers: Vec<String> = receivers.iter().map(|receiver| format!("`{receiver}`")).collect();
    let receivers = receivers.join(", ");
    RF0410
        .at(span, format!("`{sender}` chooses here not only what to send but to whom: {receivers}"))
        .help("for relative types, let every branch of a choice begin with a message to the same role")
}

/// A protocol with a `par` has no relative types.
pub(crate) fn par_has_none(span: Span) -> Diagnostic {
    RF0410
        .at(span, "a `par` has no relative types: the monitors of a network follow one sequence for each pair of roles")
        .help("a guard between two roles, and `watch`, follow it all the same")
}

pub(crate) fn hidden_dependency(found: &HiddenDependency<'_>) -> Diagnostic {
    let (p, q) = found.pair;
    let say = |what: &str| match what {
        "end" => "they have nothing more to do with each other".to_string(),
        what => format!("they go on as {}", shorten(what)),
    };
    RF0410.at(
        found.exchange,
        format!(
            "what `{p}` and `{q}` do with each other depends on this exchange between `{}` and `{}`, \
             and neither takes part in it",
            found.sender, found.receiver
        ),
    )
    .related(found.left.1, format!("after {} {}", quoted(found.left.0), say(found.left.2)))
    .related(found.right.1, format!("after {} {}", quoted(found.right.0), say(found.right.2)))
    .help(format!(
        "let one of them take part in the choice: let `{}` tell `{p}` or `{q}` first which way it goes, and `{}` \
         after that",
        found.sender, found.receiver
    ))
}

/// Long types are not worth reading in a message.
fn shorten(text: &str) -> String {
    const LIMIT: usize = 80;
    if text.chars().count() <= LIMIT {
        return format!("`{text}`");
    }
    let cut: String = text.chars().take(LIMIT).collect();
    format!("`{cut}…`")
}

/// `role` has no projection for the reason `why`, but all relative projections are defined, and there are monitors.
#[must_use]
pub fn relative_only(why: Diagnostic, role: &str) -> Diagnostic {
    let message = format!("this protocol needs monitors that pass on outcomes: {}", why.message);
    let help =
        format!("without monitors `{role}` can hang: send it a message in both branches, or deploy monitors");
    Diagnostic { code: &RF0411, message, help: Some(help), ..why }
}

/// `role` has no projection for the reason `why`, but monitors could pass on outcomes; whether the language of the text takes
/// them for granted, `monitored` tells.
#[must_use]
pub fn can_hang(why: Diagnostic, role: &str, monitored: bool) -> Diagnostic {
    let option = if monitored { "without `--require-projection`" } else { "with `--with-monitors`" };
    why.help(format!(
        "without monitors `{role}` can hang: send it a message in both branches, or deploy monitors and check {option}"
    ))
}

/// Some pair has no relative type, for the reason `why`.
#[must_use]
pub fn projection_only(why: Diagnostic) -> Diagnostic {
    let message = format!("no relative types: {}", why.message);
    Diagnostic { code: &RF0412, message, ..why }
}
