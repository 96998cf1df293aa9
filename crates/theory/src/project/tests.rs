//! What only the inside can see: the limit on the size of a projection. See `tests/` for the rest.

use std::sync::Arc;

use super::{Conflict, Projection};
use crate::global::{Branch, GlobalTypeBuilder};
use crate::vocabulary::{Origin, Vocabulary};

/// Subsets can be exponentially many; past a limit the projection is refused rather than computed for ever.
#[test]
fn too_large() {
    // c receives m or n, again and again. At any n a hidden choice may start a counter; when a counter runs
    // out, c may receive o as well. What c must remember is which of the last 12 messages were n.
    let mut names = Vocabulary::new();
    let [a, b, c] = ["a", "b", "c"].map(|role| names.add_role(role));
    let [l, m, n, o] = ["l", "m", "n", "o"].map(|label| names.add_plain_message(label));
    let mut builder = GlobalTypeBuilder::new();
    let origin = Origin::NONE;
    let to = |receiver, message, next| Branch { receiver, message, next, origin };
    let start = builder.reserve();
    let again = builder.call(start, origin);
    let mut count = builder.exchange(b, vec![to(c, m, again), to(c, n, again), to(c, o, again)], origin);
    for _ in 0..11 {
        count = builder.exchange(b, vec![to(c, m, count), to(c, n, count)], origin);
    }
    let go_on = builder.exchange(b, vec![to(c, m, again), to(c, n, again)], origin);
    let begin = builder.exchange(b, vec![to(c, n, count)], origin);
    let body = builder.exchange(a, vec![to(b, l, go_on), to(b, m, begin)], origin);
    builder.define(start, "X", body, origin);
    let global = builder.finish(Arc::new(names), start).unwrap();
    let project = |max_states| Projection { max_states, ..Projection::new(&global, c) }.run();
    let error = project(1_000).expect_err("refused");
    assert_eq!((error.role, error.conflict), (c, Conflict::TooLarge));
    let machine = project(10_000).expect("defined");
    assert!((1 << 12..1 << 13).contains(&machine.state_count()), "{}", machine.state_count());
    assert_eq!(machine.minimised(global.vocabulary()).state_count(), 1 << 12);
}
