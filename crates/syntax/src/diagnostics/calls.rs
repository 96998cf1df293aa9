//! Keyed sub-sessions: RF024x and RF025x.

use super::{
    Diagnostic, RF0240, RF0241, RF0242, RF0243, RF0244, RF0245, RF0246, RF0247, RF0248, RF0249, RF0250,
    RF0251, quoted,
};
use crate::source::Span;

/// The message `label` at `span` lacks the key `field`, of type `ty`, that is declared at `key`.
#[must_use]
pub fn without_key(span: Span, key: Span, label: &str, field: &str, ty: &str) -> Diagnostic {
    RF0240
        .at(span, format!("{} does not say to which call it belongs", quoted(label)))
        .label(format!("it has no field `{field}: {ty}`"))
        .related(key, "the key")
        .help(format!("give it the field `{field}: {ty}`: every message of a call has the key"))
}

/// The type `ty` at `span` is none of a key.
#[must_use]
pub fn not_a_key(span: Span, ty: &str) -> Diagnostic {
    RF0240
        .at(span, format!("`{ty}` cannot be the type of a key"))
        .help("a key is an `int`, a `float` or a `string`; one that may be a number or a text has a type of its own: `type Id;`")
}

/// `label` goes from `sender` to `receiver` in two of parent and sub-sessions: at `span` and at `first`.
#[must_use]
pub fn label_of_call(
    span: Span,
    first: (Span, &str),
    label: &str,
    (sender, receiver): (&str, &str),
    sub: &str,
) -> Diagnostic {
    RF0241
        .at(span, format!("{} from `{sender}` to `{receiver}` is a message of `{sub}`, too", quoted(label)))
        .related(first.0, first.1)
        .help("give one of them another label: the label tells to which protocol a message belongs")
}

/// The statement at `span` opens or closes something in a protocol that runs by key, declared at `header`.
#[must_use]
pub fn opens_in_call(span: Span, header: Span) -> Diagnostic {
    RF0242
        .at(span, "a sub-session cannot open or close others")
        .related(header, "this protocol runs once for each value of a key")
        .help("open both in the protocol around them")
}

/// `sub`, opened at `open`, is open on some ways to `span` and not on others.
#[must_use]
pub fn open_on_some_ways(span: Span, open: Span, sub: &str) -> Diagnostic {
    RF0243
        .at(span, format!("`{sub}` is open on one way that leads here, and not on another"))
        .label("whether a call may begin here depends on how the protocol came here")
        .related(open, "opened here")
        .help("open and close it before the ways part, or behind the place where they meet")
}

/// A branch of the choice at `choice` begins with the `open` or `close` at `span`.
#[must_use]
pub fn mark_begins_branch(span: Span, choice: Span) -> Diagnostic {
    RF0243
        .at(span, "a branch begins here: nobody has said yet which branch it is")
        .related(choice, "the choice")
        .help("put it behind the first message of the branch")
}

/// The `open` or `close` at `span` stands in a block of a `par`.
#[must_use]
pub fn mark_in_block(span: Span) -> Diagnostic {
    RF0243
        .at(span, "sub-sessions are not opened or closed in a block of a `par`")
        .help("put it before the `par`, or behind it: what is open is so for all blocks")
}

/// Before the `open` of `sub` at `span` stands the message at `message`, in which `opener` takes no part.
#[must_use]
pub fn opener_absent(span: Span, message: Span, opener: &str, sub: &str) -> Diagnostic {
    RF0244
        .at(span, format!("`{opener}` begins the calls of `{sub}`, and does not learn that it is open"))
        .related(message, format!("`{opener}` takes no part in the message before"))
        .help(format!("let `{opener}` send or receive the message before `open`"))
}

/// Behind the `close` of `sub` at `span` comes the message at `next`, which `opener` does not send, or none.
#[must_use]
pub fn closes_without_opener(span: Span, next: Option<Span>, opener: &str, sub: &str) -> Diagnostic {
    let diagnostic = RF0244
        .at(span, format!("`{opener}` begins the calls of `{sub}`, so it must say that it begins no more"))
        .help(format!(
            "let a message from `{opener}` follow, one that is in no `par`: a call could cross any other"
        ));
    match next {
        Some(next) => diagnostic.related(next, "this follows"),
        None => diagnostic.label("no message follows"),
    }
}

/// The `close` of `sub` at `span` may wait for ever: a call can come to `place`, from where it does not end.
#[must_use]
pub fn close_waits(span: Span, place: Span, sub: &str) -> Diagnostic {
    RF0245
        .at(span, format!("this may wait for ever: a call of `{sub}` need not end"))
        .related(place, "from here a call does not come to its end")
        .help("let the call end, or do not close it: at its own end the protocol does not wait for calls")
}

/// The `open` of `sub` at `span` stands where it is open, or is being closed.
#[must_use]
pub fn opened_twice(span: Span, first: Span, sub: &str, closing: bool) -> Diagnostic {
    let (what, label, help) = match closing {
        true => (
            "is closed and opened again without a message in between",
            "the same call could be of the time before or of the time after",
            "put a message between `close` and `open`, or leave both out",
        ),
        false => ("is open already", "opened again", "leave this out, or close it before"),
    };
    RF0246.at(span, format!("`{sub}` {what}")).label(label).related(first, "opened here").help(help)
}

/// The `close` of `sub` at `span` stands where it is not open.
#[must_use]
pub fn closed_while_closed(span: Span, sub: &str) -> Diagnostic {
    RF0246.at(span, format!("`{sub}` is not open here")).help("leave this out, or open it before")
}

/// `interrupted by` at `span` behind a protocol without a key.
#[must_use]
pub fn interrupted_without_key(span: Span) -> Diagnostic {
    RF0247
        .at(span, "only a protocol that runs once for each value of a key can be interrupted")
        .help("write the key behind the roles, such as `per id: string`, or leave this out")
}

/// `interrupted by` at `span` of the protocol `name`, which does not have two roles.
#[must_use]
pub fn two_roles(span: Span, header: Span, name: &str) -> Diagnostic {
    RF0247
        .at(span, format!("`{name}` does not have two roles: who is told of the interruption is not clear"))
        .related(header, "its roles")
        .help("only sub-sessions of two roles can be interrupted")
}

/// The interrupting message `label` is at `span` an ordinary message of the protocol.
#[must_use]
pub fn interrupts_and_goes_on(span: Span, interrupt: Span, label: &str) -> Diagnostic {
    RF0247
        .at(span, format!("{} is a message of the call, and interrupts it", quoted(label)))
        .related(interrupt, "here it interrupts")
        .help("give one of them another label")
}

/// The message `label`, which begins a call at `first`, comes again at `span`.
#[must_use]
pub fn begins_again(span: Span, first: Span, label: &str) -> Diagnostic {
    RF0248
        .at(span, format!("{} begins a call, and comes again within it", quoted(label)))
        .related(first, "here it begins the call")
        .help("give the first message of a call a label of its own: it tells that a call begins")
}

/// The protocol `name` at `header` runs by key and does not begin with a message.
#[must_use]
pub fn begins_without_message(header: Span, name: &str) -> Diagnostic {
    RF0248
        .at(header, format!("a call of `{name}` does not begin with a message"))
        .help("begin it with a message, or a choice of one role, that no loop comes back to")
}

/// `name` at `span` is opened or closed, and its declaration at `header` has no key.
#[must_use]
pub fn not_keyed(span: Span, header: Span, name: &str) -> Diagnostic {
    RF0249
        .at(span, format!("`{name}` has no key: what would tell its calls apart?"))
        .related(header, "its declaration")
        .help("write the key behind its roles, such as `per id: string`, or `do` it")
}

/// `name`, declared at `header`, runs by key, and is used at `span` as it cannot be.
#[must_use]
pub fn runs_by_key(span: Span, header: Span, name: &str) -> Diagnostic {
    RF0249
        .at(span, format!("`{name}` runs once for each value of its key"))
        .related(header, "its declaration")
        .help("`open` it; it has no parameters in angle brackets, no `new` roles, and stands beside no nested protocols")
}

/// A message of a protocol with sub-sessions, or of one, has the time at `span`.
#[must_use]
pub fn time_with_calls(span: Span) -> Diagnostic {
    RF0250
        .at(span, "messages of sub-sessions, and beside them, cannot have a time yet")
        .help("write the time as a property")
}

/// The protocol `name` at `header` opens sub-sessions, and does not have two roles, the same as they have.
#[must_use]
pub fn no_monitors(header: Span, open: Span, name: &str) -> Diagnostic {
    RF0251
        .at(header, format!("`{name}` can be checked, and not watched or guarded"))
        .related(open, "with sub-sessions there are monitors between two roles only")
}
