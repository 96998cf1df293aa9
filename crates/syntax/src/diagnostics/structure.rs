//! The shape of protocols: recursion, choices, reachability, size: RF02xx.

use referee_theory::Action;

use super::{
    Diagnostic, RF0201, RF0202, RF0203, RF0204, RF0205, RF0206, RF0207, RF0208, RF0209, RF0216, RF0217,
    RF0218, RF0219, RF0220, RF0221, RF0222, quoted,
};
use crate::source::Span;

/// `role` sends a message to itself.
#[must_use]
pub fn self_message(span: Span, role: &str) -> Diagnostic {
    RF0201
        .at(span, format!("`{role}` sends this message to itself"))
        .help("name another role as the receiver, or leave the message out")
}

/// The action of `role` at `span` names `role` itself as the other side.
#[must_use]
pub fn self_peer(span: Span, role: &str, action: Action) -> Diagnostic {
    let what = match action {
        Action::Send => "sends to itself",
        Action::Receive => "receives from itself",
    };
    RF0201.at(span, format!("`{role}` {what}")).help("name another role here, or leave the action out")
}

/// Two branches begin with `label` to `receiver`: the second at `span`, the first at `first`.
#[must_use]
pub fn duplicate_label(span: Span, first: Span, label: &str, receiver: &str) -> Diagnostic {
    RF0202
        .at(span, format!("two branches of this choice begin with {} to `{receiver}`", quoted(label)))
        .label("and here again")
        .related(first, "first here")
        .help("give them different labels, or put the common message before the choice")
}

/// Two branches, chosen by `chooser`, begin with the same message at `first` and `span`, and then each with another role's: of `nexts`, each with
/// its sender.
#[must_use]
pub fn begin_alike(span: Span, first: Span, chooser: &str, nexts: [(Span, &str); 2]) -> Diagnostic {
    let [(one, sender), (another, other)] = nexts;
    let guesses = if sender == chooser { other } else { sender };
    RF0202
        .at(span, "two branches of this choice begin with the same message, and then differ before it is known which it is")
        .label(format!("behind this, `{guesses}` would have to know what `{chooser}` has chosen"))
        .related(first, "first here")
        .related(one, format!("`{sender}` goes on in one branch"))
        .related(another, format!("`{other}` in another: both may, and neither knows of it"))
        .help(format!("give them different labels, or let one role, such as `{chooser}`, send what tells them apart next"))
}

/// Branches, chosen by `chooser`, begin alike, and then `other` tells them apart by what it sends at `first` or at `span`.
#[must_use]
pub fn another_decides(span: Span, first: Span, chooser: &str, other: &str) -> Diagnostic {
    RF0221
        .at(span, format!("`{other}` decides between these branches: what `{chooser}` has chosen does not show"))
        .label("or with this")
        .related(first, format!("`{other}` goes on with this"))
        .help(format!(
            "put the common message before the choice, and write `choice at {other}`; or let `{chooser}` send different messages"
        ))
}

/// The message at `span` is the one at `certain` of another branch, and only this one may be waited for in vain.
#[must_use]
pub fn may_wait_in_one_branch(span: Span, certain: Span) -> Diagnostic {
    RF0222
        .at(
            span,
            "`@\"may wait\"` has no effect here: another branch begins with the same message, without it",
        )
        .related(certain, "the same message")
        .help("annotate the message in every branch that begins with it")
}

/// Two branches begin with the same message, and then one of them ends.
#[must_use]
pub fn ends_or_goes_on(span: Span, first: Span) -> Diagnostic {
    RF0202
        .at(
            span,
            "two branches of this choice begin with the same message, and nobody can tell whether more comes",
        )
        .label("behind this, one branch ends and the other goes on")
        .related(first, "first here")
        .help("give them different labels, or let both go on")
}

/// The call at `span` leads back to the definition at `definition` with nothing in between.
#[must_use]
pub fn unguarded_recursion(span: Span, definition: Span) -> Diagnostic {
    RF0203
        .at(span, "this recursion turns round without any message")
        .label("continued here")
        .related(definition, "defined here")
        .help("put a message between the definition and the jump back to it")
}

/// The definition at `span` is nested in more than `limit` others that it depends on.
#[must_use]
pub fn recursion_too_deep(span: Span, limit: u32) -> Diagnostic {
    RF0204
        .at(span, format!("more than {limit} recursions depend on one another"))
        .help("split the protocol into smaller ones")
}

/// The statement at `span` follows the jump at `jump`.
#[must_use]
pub fn unreachable(span: Span, jump: Span) -> Diagnostic {
    RF0205
        .at(span, "this can never be reached")
        .related(jump, "the protocol jumps back here")
        .help("move it before the jump, or remove it")
}

/// The statement at `span` follows the loop at `endless`, which is never left.
#[must_use]
pub fn unreachable_behind_loop(span: Span, endless: Span) -> Diagnostic {
    RF0205.at(span, "this can never be reached").related(endless, "this never comes to an end").help(
        "let a branch of the loop end without `continue`; what runs beside the loop is a protocol of its own",
    )
}

/// A branch of the choice at `choice` begins with a message of `found`, not of `chooser`.
#[must_use]
pub fn wrong_chooser(span: Span, choice: Span, found: &str, chooser: &str) -> Diagnostic {
    RF0206
        .at(span, format!("this branch begins with a message of `{found}`, but the choice is `{chooser}`'s"))
        .label(format!("sent by `{found}`"))
        .related(choice, format!("`{chooser}` decides here"))
        .help(format!("begin the branch with a message from `{chooser}`"))
}

/// A branch of the choice at `span` has no first message.
#[must_use]
pub fn empty_branch(span: Span, chooser: &str) -> Diagnostic {
    RF0207
        .at(span, "a branch of this choice begins with no message")
        .help(format!("begin every branch with a message from `{chooser}`, for example `Stop()`"))
}

/// `name` is done again at `span` while something is left to do after it.
#[must_use]
pub fn not_tail_recursive(span: Span, name: &str) -> Diagnostic {
    RF0208
        .at(span, format!("`{name}` starts itself again here, and more follows afterwards"))
        .label("not supported, because each round would leave unfinished business")
        .help("make the recursive `do` the last statement on its path")
}

/// The protocol declared at `span` has more than `limit` steps.
#[must_use]
pub fn too_large(span: Span, limit: usize) -> Diagnostic {
    RF0209
        .at(span, format!("written out, this protocol has more than {limit} steps"))
        .help("replace repeated `do`s by `rec` and `continue`")
}

/// The protocols up to the one declared at `span` have together more than `limit` steps.
#[must_use]
pub fn together_too_large(span: Span, limit: usize) -> Diagnostic {
    RF0209
        .at(span, format!("written out, the protocols up to this one have more than {limit} steps together"))
        .help("replace repeated `do`s by `rec` and `continue`, or split the file")
}

/// The protocol declared at `span` has more than `limit` roles.
#[must_use]
pub fn too_many_roles(span: Span, limit: usize) -> Diagnostic {
    RF0209
        .at(span, format!("this protocol has more than {limit} roles"))
        .help("split it into protocols between fewer roles")
}

/// The machine of `role` would have more than a million states.
#[must_use]
pub fn projection_too_large(span: Span, role: &str) -> Diagnostic {
    RF0209
        .at(span, format!("the machine of `{role}` would have more than a million states"))
        .help(format!("tell `{role}` the outcome of choices earlier"))
}

/// The property with the variable at `span` has more than `limit` of them.
#[must_use]
pub fn too_many_variables(span: Span, limit: usize) -> Diagnostic {
    RF0209
        .at(span, format!("this property has more than {limit} data variables"))
        .help("split it into several properties")
}

/// `keyword` at `span` has no effect.
#[must_use]
pub fn connections_not_monitored(span: Span, keyword: &str) -> Diagnostic {
    RF0216.at(span, format!("`{keyword}` has no effect on the machines of the roles"))
}

/// The statement at `span` connects `left` and `right`, which that at `first` has connected.
#[must_use]
pub fn connected_twice(span: Span, first: Span, left: &str, right: &str) -> Diagnostic {
    let diagnostic = RF0219.at(span, format!("`{left}` and `{right}` may be connected already"));
    let diagnostic = if first == span {
        diagnostic.related(first, "this is done more than once")
    } else {
        diagnostic.related(first, "they are connected here")
    };
    diagnostic.help(format!("connect once, or `disconnect {left} and {right};` before"))
}

/// The statement at `span` needs `left` and `right` connected; some ways to it lead through `somewhere`, where they are connected.
#[must_use]
pub fn not_connected(span: Span, somewhere: Option<Span>, left: &str, right: &str) -> Diagnostic {
    match somewhere {
        Some(place) => RF0220
            .at(span, format!("`{left}` and `{right}` are not connected on every way that leads here"))
            .related(place, "they are connected here, but not on the other ways")
            .help("connect them on every way, or before the ways part"),
        None => RF0220.at(span, format!("`{left}` and `{right}` are not connected")).help(format!(
            "write `connect {left} to {right};` before, or remove `explicit`: then all roles are connected"
        )),
    }
}

/// The module `name` is not loaded.
#[must_use]
pub fn import_ignored(span: Span, name: &str) -> Diagnostic {
    RF0217.at(span, format!("`{name}` is not loaded")).help("copy the protocols you need into this file")
}

/// The statement at `span` follows the choice or recursion at `block`.
#[must_use]
pub fn statement_after_block(span: Span, block: Span) -> Diagnostic {
    RF0218
        .at(span, "with nested protocols, nothing may follow a choice or a recursion")
        .related(block, "this must be the last statement")
        .help("move it into the branches")
}
