//! What is overwritten, and whose event it was.

use super::*;
use crate::decode::fields::Scanner;
use crate::shape::{Pointer, Shape};

fn look(line: &str) -> Salvaged {
    let tree = Tree::new(&Shape::default());
    salvage(line, &tree, Reads { members: &BTreeSet::new(), time: false })
}

/// Whether the line is an event after what nobody reads was overwritten.
fn is_read(line: &str) -> bool {
    let tree = Tree::new(&Shape::default());
    let salvaged = look(line);
    assert_eq!(salvaged.line.len(), line.len(), "{line}");
    Scanner::new(&tree).line(salvaged.line.as_bytes(), 0).is_ok()
}

#[test]
fn what_nobody_reads_may_hold_anything() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for value in
        ["\"x\u{1a}\"", "\"\\xff\"", "NaN", "01", &deep, "\"\\ud800\"", "{\"a\":1,,}", "x", "\"\u{1}\""]
    {
        let line = format!("{{\"ua\":{value},\"session\":\"s\",\"from\":\"a\",\"label\":\"N\"}}");
        assert!(is_read(&line), "{line}");
        let line = format!(
            "{{\"session\":\"s\",\"from\":\"a\",\"label\":\"N\",\"time\":{value},\"u\u{1a}\":{value}}}"
        );
        assert!(is_read(&line), "{line}");
        let read = format!("{{\"session\":\"s\",\"from\":\"a\",\"label\":{value}}}");
        let still = is_read(&read) && value != "\"\\ud800\"";
        assert!(!still, "{read}");
        assert_eq!(look(&read).session, Session::Key("s".to_owned()), "{read}");
    }
}

#[test]
fn the_session_is_known_where_it_is_written_once() {
    let key = |text: &str| Session::Key(text.to_owned());
    for (line, session) in [
        ("{\"session\":\"s\",\"from\":\"a\",\"la", key("s")),
        ("{\"session\":7,\"from\":}", key("7")),
        ("{\"session\":\"\\u0041\",\"from\":\"\u{1a}\"}", key("A")),
        ("{\"session\":\"s\",\"session\":\"t\",\"label\":\"\u{1a}\"}", Session::Unknown),
        ("{\"session\":\"s\u{1a}\",\"label\":\"N\"}", Session::Unknown),
        ("{\"session\":[1],\"label\":\"N\"}", Session::Unknown),
        ("{\"from\":\"a\",\"label\":\"\u{1a}\"}", key("")),
        ("{\"from\":\"a\",\"label\":\"N", Session::Unknown),
        ("Server started", Session::Unknown),
    ] {
        assert_eq!(look(line).session, session, "{line}");
    }
}

#[test]
fn parts_deeper_in_the_line_are_found_and_their_neighbours_are_not_read() {
    let pointer = |text: &str| Pointer::parse(text).unwrap();
    let shape = Shape { session: pointer("/c/id"), label: pointer("/m/k"), ..Shape::default() };
    let tree = Tree::new(&shape);
    let line = "{\"c\":{\"ip\":\"\u{1a}\",\"id\":\"s\"},\"m\":{\"k\":\"N\",\"z\":NaN},\"from\":\"a\"}";
    let salvaged = salvage(line, &tree, Reads { members: &BTreeSet::new(), time: true });
    assert_eq!(salvaged.session, Session::Key("s".to_owned()));
    assert!(Scanner::new(&tree).line(salvaged.line.as_bytes(), 0).is_ok(), "{}", salvaged.line);
    assert!(!look("{\"level\":\"info\",\"x\":\u{1a}}").has_parts);
}

#[test]
fn bytes_that_are_not_utf8_keep_their_places() {
    let mut bytes = b"a\xffb\xf0\x9fc\xc3\xa9".to_vec();
    mask_invalid(&mut bytes);
    assert_eq!(bytes, b"a\x1ab\x1a\x1ac\xc3\xa9");
}
