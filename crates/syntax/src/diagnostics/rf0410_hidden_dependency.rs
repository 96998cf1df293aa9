//! RF0410: two roles whose exchange depends on a choice neither sees.

use super::{Code, Diagnostic, Example, Severity};
use crate::language::Language;
use crate::source::Span;

/// Choice that neither role sees.
pub static CODE: Code = Code {
    id: "RF0410",
    severity: Severity::Error,
    title: "choice that neither role sees",
    explanation: r#"
What two roles do with each other depends on an exchange between other roles. Not even a monitor beside each
of them could help: monitors pass on the outcome of exchanges their own role takes part in (dependency
messages), and neither role does. The protocol is not well formed in the sense of relative types.

Let one of the two roles take part in the choice itself: let the sender first tell *it* what was chosen, and
the original receiver after that. A message with the outcome that comes only after the choice is not enough:
where it has a single label, it decides nothing between the two roles.
"#,
    example: Example {
        language: Language::Gt,
        wrong: r#"p -> q (yes . r -> s <int> . end,
        no . end)
"#,
        right: r#"p -> r (yes . p -> q (yes . r -> s <int> . end),
        no . p -> q (no . end))
"#,
    },
};

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
    CODE.at(span, format!("`{sender}` chooses here not only what to send but to whom: {receivers}"))
        .help("for relative types, let every branch of a choice begin with a message to the same role")
}

pub(crate) fn hidden_dependency(found: &HiddenDependency<'_>) -> Diagnostic {
    let (p, q) = found.pair;
    let say = |what: &str| match what {
        "end" => "they have nothing more to do with each other".to_string(),
        what => format!("they go on as {}", shorten(what)),
    };
    CODE.at(
        found.exchange,
        format!(
            "what `{p}` and `{q}` do with each other depends on this exchange between `{}` and `{}`, \
             and neither takes part in it",
            found.sender, found.receiver
        ),
    )
    .related(found.left.1, format!("after `{}` {}", found.left.0, say(found.left.2)))
    .related(found.right.1, format!("after `{}` {}", found.right.0, say(found.right.2)))
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
