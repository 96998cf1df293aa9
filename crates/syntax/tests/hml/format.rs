//! Formatting: nothing but blanks changes, twice is once, and what is read is the same.

use referee_syntax::hml::{format, print};

use crate::read;
use crate::round_trip::ACCEPTED;

const UNTIDY: &str = "
% About everything.


/// Once.   \n      property once for each session {
max X.([client -> worker : Request(id, ...)  when id % 2 == 0 ][ worker -> client : Answer(id, ...) ](
  [worker -> client : Answer(id, ...)]ff   // twice: (
/* a comment
     of two lines ( */
) and
            [_]X
      )
}



property other { [a -> b : \"(\"]ff }";

const TIDY: &str = "% About everything.

/// Once.
property once for each session {
  max X.([client -> worker : Request(id, ...)  when id % 2 == 0 ][ worker -> client : Answer(id, ...) ](
      [worker -> client : Answer(id, ...)]ff   // twice: (
      /* a comment
     of two lines ( */
    ) and
    [_]X
  )
}

property other { [a -> b : \"(\"]ff }
";

#[test]
fn lines_are_indented_and_comments_stay() {
    assert_eq!(format(UNTIDY).unwrap(), TIDY);
    assert_eq!(format(TIDY).unwrap(), TIDY);
}

#[test]
fn formatting_changes_blanks_alone() {
    let without_blanks = |text: &str| text.split_whitespace().collect::<String>();
    let mut formatted = 0;
    for text in ACCEPTED.iter().copied().chain([UNTIDY]) {
        // Each text also with a line break at every blank, and indented at random.
        for (number, text) in
            [text.to_owned(), text.replace(", ", ",\n   "), text.replace(" and ", "\n\n\n and\n")]
                .iter()
                .enumerate()
        {
            let Ok(once) = format(text) else { panic!("{text}") };
            assert_eq!(format(&once).unwrap(), once, "{number}: {text}");
            assert_eq!(without_blanks(&once), without_blanks(text));
            assert_eq!(print(&read(&once)), print(&read(text)), "{text}");
            formatted += 1;
        }
    }
    assert!(formatted > 30);
}

#[test]
fn what_is_wrong_is_not_touched() {
    assert!(!format("property p { [a -> }").unwrap_err().is_empty());
}

#[test]
fn lines_of_a_rule_are_indented_but_the_first() {
    let untidy = "  rule r:\nbefore call a(x: v,\ny: w) there must be\n   result of b(x: v, y: w)\n// about the next\n\n  rule q: never call a\n property p {\n[_]ff }\n";
    let tidy = "rule r:\n  before call a(x: v,\n    y: w) there must be\n  result of b(x: v, y: w)\n// about the next\n\nrule q: never call a\nproperty p {\n  [_]ff }\n";
    assert_eq!(format(untidy).unwrap(), tidy);
    assert_eq!(format(tidy).unwrap(), tidy);
}
