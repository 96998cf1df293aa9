//! Times of messages: RF09xx.

use super::{
    Diagnostic, RF0901, RF0902, RF0903, RF0904, RF0905, RF0906, RF0907, RF0910, RF0911, RF0912, RF0913,
    quoted,
};
use crate::source::Span;

/// A constant that is 0 or negative.
#[must_use]
pub fn time_of_zero(span: Span) -> Diagnostic {
    RF0901.at(span, "this time is 0: no message could keep to it").help("leave it out, or give a longer time")
}

/// What stands for a time is none, because of `what`.
#[must_use]
pub fn not_a_time(span: Span, what: String) -> Diagnostic {
    RF0902
        .at(span, what)
        .help("write a time with its unit (`5s`, `1.5h`), or an expression over numbers: they are seconds")
}

/// `within … of LABEL` by `role`; `unseen` is such a message that the role does not see.
#[must_use]
pub fn no_beginning(span: Span, label: &str, role: &str, unseen: Option<Span>) -> Diagnostic {
    let diagnostic = match unseen {
        Some(unseen) => RF0903
            .at(
                span,
                format!(
                    "`{role}` neither sends nor receives {}, so it cannot count from there",
                    quoted(label)
                ),
            )
            .related(unseen, "this message"),
        None => RF0903.at(span, format!("{} does not come on every way to this message", quoted(label))),
    };
    diagnostic.help(format!("count from a message that `{role}` has always sent or received before"))
}

/// `role` must keep to a time that it cannot compute.
#[must_use]
pub fn unknown_time(span: Span, role: &str, unknown: &[String]) -> Diagnostic {
    let unknown: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    RF0904
        .at(span, format!("`{role}` does not know how long this is: it does not know {}", unknown.join(", ")))
        .help("send the missing values to it first")
}

/// The deadline `within` of a choice, one of whose branches begins with no message.
#[must_use]
pub fn no_first_message(span: Span, within: Span, begins: &str) -> Diagnostic {
    RF0905
        .at(span, format!("this branch begins with {begins}, which cannot have the deadline of the choice"))
        .related(within, "the deadline")
        .help("write the deadline behind the first message of each branch")
}

/// The clocks of timed automata.
#[must_use]
pub fn clocks(span: Span) -> Diagnostic {
    RF0906
        .at(span, "clocks and intervals are not read")
        .help("say how long after the message before: `within 5s`, `within 5s of Request`, `after 1s`")
}

/// A second `keyword`.
#[must_use]
pub fn two_times(span: Span, keyword: &str) -> Diagnostic {
    RF0907.at(span, format!("the message has a second `{keyword}`")).help("leave one of them out")
}

/// The `within` at `span` is over before `after`, which the message at `waits` has to wait for.
#[must_use]
pub fn too_short(span: Span, after: &str, waits: Span) -> Diagnostic {
    RF0910
        .at(span, format!("this deadline cannot be met: at least {after} must pass first"))
        .related(waits, "this message has to wait")
        .help("give a longer deadline, or a shorter `after`")
}

/// The deadline of a choice whose branches have their own.
#[must_use]
pub fn unused_deadline(span: Span) -> Diagnostic {
    RF0911
        .at(span, "this deadline never matters: the first message of every branch has its own")
        .help("remove it")
}

/// The `within` at `span` does not bound silence, because of the message at `because`, which has none.
#[must_use]
pub fn silence_allowed(span: Span, because: Span) -> Diagnostic {
    RF0912
        .at(
            span,
            "nobody is late who sends nothing: another message may be sent instead, and has no deadline",
        )
        .related(because, "this message")
        .help("give the choice a deadline: `choice at … within …`")
}

/// The `within` at `span` does not bound silence, because the message need not come.
#[must_use]
pub fn need_not_come(span: Span, message: Span) -> Diagnostic {
    RF0912
        .at(span, "nobody is late who sends nothing: the message need not come")
        .related(message, "its receiver may wait for it in vain")
        .help("remove `@\"may wait\"`, or the deadline")
}

/// `of LABEL` at `span`, where `between` always comes later.
#[must_use]
pub fn never_first(span: Span, label: &str, between: Span) -> Diagnostic {
    RF0913
        .at(
            span,
            format!("{} never begins this time: a later message to the same role always does", quoted(label)),
        )
        .related(between, "such as this one")
        .help("leave `of …` out, or count from a later message")
}
