//! Blocks of a `par`: RF023x.

use super::{Diagnostic, RF0209, RF0230, RF0231, RF0232, RF0233, RF0234, RF0235, RF0236, RF0237, quoted};
use crate::source::Span;

/// `label` goes from `sender` to `receiver` in two blocks of the `par` at `par`: at `span` and at `first`.
#[must_use]
pub fn label_in_two_blocks(
    span: Span,
    first: Span,
    par: Span,
    label: &str,
    (sender, receiver): (&str, &str),
) -> Diagnostic {
    let label = quoted(label);
    RF0230
        .at(span, format!("{label} goes from `{sender}` to `{receiver}` in two blocks of this `par`"))
        .label("and here again")
        .related(first, "first here")
        .related(par, "these blocks run side by side")
        .help("give them different labels: the label tells which block a message belongs to")
}

/// The jump at `span` to the recursion `name` leaves the block of the `par` at `par`.
#[must_use]
pub fn jump_out_of_block(span: Span, par: Span, name: &str) -> Diagnostic {
    RF0231
        .at(span, format!("this jump to `{name}` leaves its block, while the other blocks go on"))
        .related(par, "the blocks of this `par` run side by side")
        .help(format!("put `continue {name}` behind the `par`, or the recursion into the block"))
}

/// `variable` is bound in two blocks: at `span` and at `first`.
#[must_use]
pub fn bound_in_two_blocks(span: Span, first: Span, variable: &str) -> Diagnostic {
    RF0232
        .at(span, format!("`{variable}` is bound in two blocks of a `par`"))
        .label("and here again")
        .related(first, "first here")
        .help("give one of the fields another name: which value counts would depend on who was faster")
}

/// The block around `span` reads `variable`, which another block binds at `bound`.
#[must_use]
pub fn reads_other_block(span: Span, bound: Span, variable: &str) -> Diagnostic {
    RF0232
        .at(span, format!("`{variable}` is bound in another block of the `par`"))
        .label("whether it has a value here depends on who was faster")
        .related(bound, "bound here")
        .help("let the block read what it binds itself, or what was bound before the `par`")
}

/// The block with the number `block` of the `par` at `span` has no message.
#[must_use]
pub fn empty_block(span: Span, block: usize) -> Diagnostic {
    RF0233
        .at(span, format!("block {} of this `par` has no message", block + 1))
        .help("leave the block out, or say what happens in it")
}

/// A branch of the choice at `choice` begins with the `par` at `span`.
#[must_use]
pub fn branch_begins_with_par(span: Span, choice: Span) -> Diagnostic {
    RF0234
        .at(span, "a branch begins with this `par`: whichever block moves first would make the choice")
        .related(choice, "the choice")
        .help("begin the branch with a message of the role that decides")
}

/// A block of the `par` at `span` may come to `place`, from where it never ends, and something follows the `par`.
#[must_use]
pub fn never_joins(span: Span, place: Span) -> Diagnostic {
    RF0235
        .at(span, "what follows this `par` may never happen: one of its blocks need not end")
        .related(place, "from here the block does not come to its end")
        .help("let the block end, or put what follows into a block of its own")
}

/// A message in a block of the `par` at `par` has the time at `span`.
#[must_use]
pub fn time_in_block(span: Span, par: Span) -> Diagnostic {
    RF0236
        .at(span, "a message in a block of a `par` cannot have a time yet")
        .related(par, "the blocks run side by side")
        .help("write the time as a property")
}

/// A recursion carries data, declared at `span`, in a protocol with the `par` at `par`.
#[must_use]
pub fn data_with_par(span: Span, par: Span) -> Diagnostic {
    RF0237
        .at(span, "a protocol with a `par` cannot have recursion data yet")
        .related(par, "the `par`")
        .help("let messages carry the value, or write what depends on it as a property")
}

/// The `par` at `span` is nested in more than `limit` others, or there are too many copies of it.
#[must_use]
pub fn par_too_large(span: Span, limit: usize) -> Diagnostic {
    RF0209.at(span, format!("blocks side by side are nested more than {limit} levels deep, or are too many"))
}

/// The blocks of the `par` at `span` interleave in more than `limit` ways for `role`.
#[must_use]
pub fn too_many_interleavings(span: Span, role: &str, limit: usize) -> Diagnostic {
    RF0209
        .at(span, format!("for `{role}` the blocks of this `par` have more than {limit} states together"))
        .help("states multiply: use fewer or shorter blocks")
}
