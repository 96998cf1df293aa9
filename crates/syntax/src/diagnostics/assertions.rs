//! Assertions and recursion data: RF03xx.

use super::{
    Diagnostic, RF0301, RF0302, RF0303, RF0304, RF0305, RF0306, RF0307, RF0308, RF0309, RF0310, RF0311,
    RF0312, RF0313, RF0314, RF0315, RF0316, RF0317, RF0318, RF0319, RF0320, RF0321, RF0322, quoted,
};
use crate::expr::SyntaxError;
use crate::source::Span;

/// `what` is wrong with the types at `span`.
#[must_use]
pub fn type_mismatch(span: Span, what: String, fix: Option<&str>) -> Diagnostic {
    let diagnostic = RF0301.at(span, what);
    match fix {
        Some(replacement) => diagnostic.help(format!("write `{replacement}`")),
        None => diagnostic.help("use operands of matching types"),
    }
}

/// `a < b < c` compares what `a < b` says with `c`: `what` is wrong there.
#[must_use]
pub fn chained_comparison(span: Span, what: String) -> Diagnostic {
    RF0301.at(span, what).help("write two comparisons, joined by `&&`: `a < b && b < c`")
}

/// `name` is not bound; `bound` are.
#[must_use]
pub fn unknown_variable<'a>(span: Span, name: &str, bound: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    RF0302
        .at(span, format!("no message before this binds `{name}`"))
        .help("use a payload field of this message or of an earlier one")
        .suggest(name, bound)
}

/// `name` is bound nowhere but by a recursion, and this is outside it.
#[must_use]
pub fn data_of_recursion(span: Span, name: &str) -> Diagnostic {
    RF0302
        .at(span, format!("no message before this binds `{name}`"))
        .label("data of a recursion are known in its body only")
        .help("send the value in a message of the recursion, and use the field of that message")
}

/// `name` is neither built in nor declared; `known` are.
#[must_use]
pub fn unknown_function<'a>(span: Span, name: &str, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let missing = RF0303.at(span, format!("there is no function `{name}`"));
    let (object, method) = name.rsplit_once('.').unwrap_or(("…", name));
    match method {
        "not" => missing.help("write `!( … )`"),
        "len" | "length" | "strlen" | "count" => missing.help(format!("write `size({object})`")),
        // Predicates answer yes or no.
        "toUpperCase" | "toLowerCase" | "upper" | "lower" | "trim" | "strip" | "substring" | "substr" | "slice"
        | "split" | "replace" | "charAt" | "indexOf" | "concat" | "join" | "format" | "reverse" => missing.help(
            "no function makes texts of others; compare with `==`, or search with `startsWith`, `endsWith`, `contains` or `matches`",
        ),
        _ => missing.help(format!("declare it: `external fn {name}(…) -> bool;`")).suggest(name, known),
    }
}

/// `what` is wrong with the number of arguments at `span`.
#[must_use]
pub fn wrong_number_of_arguments(span: Span, what: String) -> Diagnostic {
    RF0304.at(span, what).help("give exactly the arguments the function takes")
}

/// `what` is wrong at `span`.
#[must_use]
pub fn not_boolean(span: Span, what: String) -> Diagnostic {
    RF0305.at(span, what).help("compare it with something, for example `… != 0`")
}

/// `what` is wrong with the pattern at `span`.
#[must_use]
pub fn bad_pattern(span: Span, what: String) -> Diagnostic {
    RF0306.at(span, what).help("write a regular expression as a string constant, such as `\"[a-z]+\"`")
}

/// `what` is wrong at `span`; `fields` exist.
#[must_use]
pub fn unknown_field<'a>(
    span: Span,
    what: String,
    name: &str,
    fields: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let unknown = RF0307.at(span, what);
    match name {
        "size" | "length" | "len" | "count" => {
            unknown.help("write `size(…)` of a text or a list").suggest(name, fields)
        }
        _ => unknown.help("use one of the record's fields").suggest(name, fields),
    }
}

/// `name` is bound with type `left` at one place and `right` at another.
#[must_use]
pub fn ambiguous_variable(span: Span, name: &str, left: (Span, String), right: (Span, String)) -> Diagnostic {
    RF0308
        .at(span, format!("`{name}` is `{}` or `{}` here, depending on the way taken", left.1, right.1))
        .related(left.0, format!("`{}` here", left.1))
        .related(right.0, format!("`{}` here", right.1))
        .help("give the two fields different names")
}

/// `name` is bound at `bound`, but not on every way to `span`.
#[must_use]
pub fn maybe_unbound(span: Span, name: &str, bound: Span) -> Diagnostic {
    RF0309
        .at(span, format!("`{name}` is not bound on every way to this assertion"))
        .related(bound, "bound here, in only some of the branches")
        .help("move the assertion to where the variable is always bound")
}

/// Neither `sender` nor `receiver` knows all variables; each lacks what is listed beside it.
#[must_use]
pub fn nobody_can_check(span: Span, sender: (&str, &[String]), receiver: (&str, &[String])) -> Diagnostic {
    let list = |names: &[String]| names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    RF0310
        .at(span, "nobody can check this assertion")
        .label(format!(
            "`{}` does not know {}; `{}` does not know {}",
            sender.0,
            list(sender.1),
            receiver.0,
            list(receiver.1)
        ))
        .help("send the missing values to one of them first")
}

/// The pragma `pragma` asks `role` to check the refinement at `span`, which uses what it does not know.
#[must_use]
pub fn must_check(span: Span, pragma: &str, role: &str) -> Diagnostic {
    RF0310
        .at(span, format!("`{role}` cannot check this: it does not know all its variables"))
        .label(format!("`{pragma}` asks for it"))
        .help(format!("send the missing values to `{role}` first, or leave the pragma out"))
}

/// `role` carries recursion data whose next value needs what it does not know.
#[must_use]
pub fn cannot_compute(span: Span, role: &str, unknown: &[String]) -> Diagnostic {
    let unknown: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    RF0310
        .at(span, format!("`{role}` cannot compute this value: it does not know {}", unknown.join(", ")))
        .help("send the missing values to it first, or do not list it among the roles that carry the data")
}

/// `signature` must be supplied to monitors.
#[must_use]
pub fn external_predicate(span: Span, signature: &str) -> Diagnostic {
    RF0311.at(span, format!("monitors must be given the predicate `{signature}`"))
}

/// `expected` values are needed, `found` are given.
#[must_use]
pub fn wrong_number_of_values(span: Span, definition: Span, expected: usize, found: usize) -> Diagnostic {
    RF0312
        .at(span, format!("this recursion carries {expected} values, but {found} are given"))
        .related(definition, "defined here")
        .help("give one value for each variable, or leave the brackets out")
}

/// A value of type `found` where `expected` is declared.
#[must_use]
pub fn wrong_type_of_value(span: Span, definition: Span, expected: &str, found: &str) -> Diagnostic {
    let help = match found {
        "bool" => "write only the new value: in the brackets `=` compares",
        _ => "give a value of the declared type",
    };
    RF0312
        .at(span, format!("this value is `{found}`, but the recursion carries `{expected}`"))
        .related(definition, "declared here")
        .help(help)
}

/// The initial values of recursion data do not satisfy `refinement`, or it has no value then, for the reason given.
#[must_use]
pub fn wrong_initial_value(span: Span, refinement: &str, why: Option<&str>) -> Diagnostic {
    let message = match why {
        None => format!("`{refinement}` does not hold when the recursion is entered"),
        Some(why) => format!("`{refinement}` has no value when the recursion is entered: {why}"),
    };
    RF0312.at(span, message).help("change the initial value, or what must hold of it")
}

/// `name` is recursion data, declared at `declared`, and would be hidden here.
#[must_use]
pub fn hidden_data(span: Span, declared: Span, name: &str) -> Diagnostic {
    RF0316
        .at(span, format!("`{name}` is recursion data already"))
        .label("this would hide it")
        .related(declared, "declared here")
        .help("give one of the two another name")
}

/// A refinement of recursion data mentions `name`, which would be a field of the message at `span`.
#[must_use]
pub fn captured(span: Span, refinement: Span, name: &str) -> Diagnostic {
    RF0316
        .at(span, format!("`{name}` has two meanings when this message is checked"))
        .label(format!("this binds `{name}`"))
        .related(refinement, format!("this means the `{name}` from before"))
        .help("give the field another name")
}

/// `role` carries `variable`, but cannot know its value once it has passed the message at `after`.
#[must_use]
pub fn cannot_follow(
    span: Span,
    after: Option<Span>,
    role: &str,
    variable: &str,
    too_large: bool,
) -> Diagnostic {
    if too_large {
        return RF0317
            .at(span, format!("whether `{role}` can follow `{variable}` takes too long to find out"))
            .help(format!(
                "leave `{role}` out of the angle brackets, or tell it the outcome of choices earlier"
            ));
    }
    let diagnostic = RF0317.at(span, format!("`{role}` cannot know the value of `{variable}`")).help(format!(
        "leave `{role}` out of the angle brackets, or let it take part in every round that changes `{variable}`"
    ));
    match after {
        Some(after) => diagnostic.related(
            after,
            format!("after this message `{variable}` changes in a way that `{role}` does not see"),
        ),
        None => diagnostic,
    }
}

/// `refinement` cannot hold, given what was asserted before.
#[must_use]
pub fn unsatisfiable(span: Span, refinement: &str) -> Diagnostic {
    RF0319
        .at(span, format!("`{refinement}` can never hold here"))
        .label("so this message can never be sent")
        .help("weaken it, or what was asserted before")
}

/// `role` may have no message that it is allowed to send at `span`.
#[must_use]
pub fn may_be_stuck(span: Span, role: &str) -> Diagnostic {
    RF0320
        .at(span, format!("`{role}` may be stuck: for some values no message is allowed here"))
        .help("cover all values: add a branch, or weaken a refinement")
}

/// `what` the pragmas ask for is not decided.
#[must_use]
pub fn not_decided(span: Span, what: &str) -> Diagnostic {
    RF0321.at(span, format!("not decided: {what}"))
}

/// A branch begins with the jump at `span`, which changes recursion data.
#[must_use]
pub fn data_before_choice(span: Span) -> Diagnostic {
    RF0318
        .at(span, "a branch cannot begin with a `continue` that changes recursion data")
        .label(
            "not supported, because the value would depend on which branch is taken before anything is sent",
        )
        .help("begin the branch with a message")
}

/// `name` is used at `first` already.
#[must_use]
pub fn duplicate_field(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0313
        .at(span, format!("two fields of this payload are called `{name}`"))
        .related(first, "first here")
        .help("rename one of them")
}

/// `name` is declared at `first` already.
#[must_use]
pub fn duplicate_external(span: Span, first: Span, name: &str) -> Diagnostic {
    RF0314
        .at(span, format!("the external predicate `{name}` is declared twice"))
        .related(first, "first declared here")
        .help("keep one of them")
}

/// What the expression parser found.
#[must_use]
pub fn assertion_syntax(error: &SyntaxError) -> Diagnostic {
    let span = Span { start: error.place.start, end: error.place.end };
    let message = error.to_string();
    // What to write is the help.
    if let Some((wrong, right)) = message.split_once(": write ") {
        return RF0315.at(span, wrong).help(format!("write {right}"));
    }
    let diagnostic = RF0315.at(span, &message);
    match message.as_str() {
        "a string without its closing quote" => {
            diagnostic.help("close it with the quotation mark it begins with, on the same line")
        }
        unquoted if unquoted.contains("found `'") => {
            diagnostic.help("a text stands in double quotation marks here: `\"…\"`")
        }
        _ => diagnostic.help("see `referee explain RF0315` for what an assertion may contain"),
    }
}

/// The sender of the message at `span` answers for `condition`, which the refinement at `refinement` asks, and has no say in it.
#[must_use]
pub fn answers_for_others(
    span: Span,
    refinement: Span,
    (sender, label): (&str, &str),
    condition: &str,
) -> Diagnostic {
    RF0322
        .at(span, format!("`{sender}` answers for `{condition}` with {}, and can do nothing about it", quoted(label)))
        .label(format!("where `{condition}` does not hold, `{sender}` is blamed for this message"))
        .related(refinement, "this is asked here, behind that message")
        .help(format!(
            "add `where {condition}` to the message that settles the value, so that its sender answers for it; or let `{sender}` choose another message"
        ))
}
