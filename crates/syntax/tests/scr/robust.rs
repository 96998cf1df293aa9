//! Every text gets an answer, soon, and the answer points into the text.

use proptest::prelude::*;
use referee_syntax::scr::{self, parse_module};
use referee_syntax::{Content, Language, parse, print};

use crate::format::check_formatted;
use crate::generate::{damaged, soup, text};

/// Reads `text` all the way; if it can be formatted, checks that too.
fn answers(text: &str) {
    let document = parse(text, Language::Scr);
    for diagnostic in &document.diagnostics {
        let related = diagnostic.related.iter().map(|(span, _)| *span);
        for span in related.chain([diagnostic.span]) {
            let is_place = span.start <= span.end && text.get(span.range()).is_some();
            assert!(is_place, "{} {span:?}: {}\n{text}", diagnostic.code.id, diagnostic.message);
        }
    }
    let (module, _) = parse_module(text);
    let statements = module.statements.iter().map(|statement| statement.span);
    for span in statements.chain(module.comments).chain(module.items.iter().map(|item| item.span)) {
        assert!(span.start <= span.end && text.get(span.range()).is_some(), "{span:?}\n{text}");
    }
    if scr::format(text).is_ok() {
        check_formatted(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn right_texts_are_formatted_once_and_for_all(text in text()) {
        check_formatted(&text);
        answers(&text);
    }

    #[test]
    fn every_sequence_of_words_has_an_answer(text in soup()) {
        answers(&text);
    }

    #[test]
    fn every_text_has_an_answer(text in any::<String>()) {
        answers(&text);
    }

    #[test]
    fn all_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        answers(&String::from_utf8_lossy(&bytes));
    }
}

proptest! {
    // Each is corrected in all ways that come to mind.
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn damaged_texts_have_an_answer(text in damaged()) {
        answers(&text);
    }
}

/// Deep enough to overflow a stack of 2 MiB by recursion, and quick enough for every run.
const MANY: usize = 25_000;

/// `text` is parsed, formatted, and its first protocol printed. Whether the syntax is right.
fn survives(text: &str) -> bool {
    let document = parse(text, Language::Scr);
    if let Content::Global(protocols) = &document.content
        && let Some(protocol) = protocols.first()
        && let Some(global) = &protocol.global
    {
        assert!(print::scr("P", global, &protocol.externals).is_ok());
    }
    match scr::format(text) {
        Ok(once) => scr::format(&once).is_ok_and(|twice| once == twice),
        Err(errors) => {
            assert!(errors.len() <= 200, "{} errors", errors.len());
            false
        }
    }
}

fn body(statements: &str) -> String {
    format!("protocol P(role a, role b) {{ {statements} }}")
}

fn nested(open: &str, close: &str) -> String {
    body(&format!("{} m() from a to b; {}", open.repeat(MANY), close.repeat(MANY)))
}

#[test]
fn long_texts_are_no_problem() {
    assert!(survives(&body(&"m(x: int) from a to b where x > 0; // c\n".repeat(MANY))));
    assert!(survives(&body(&"choice at a { l() from a to b; } or { r() from a to b; }\n".repeat(MANY / 2))));
    let numbered = |text: &str| (0..MANY).map(|i| text.replace('#', &i.to_string())).collect::<String>();
    assert!(survives(&numbered("protocol P#(role a, role b) { m() from a to b; }\n")));
    assert!(survives(&numbered("nested protocol P#(role a, role b) { m() from a to b; }\n")));
    assert!(survives(&numbered("type T# = int;")));
    let loops = "rec X# { choice at a { l() from a to b; continue X#; } or { r() from a to b; } }\n";
    assert!(survives(&body(&numbered(loops))));
}

#[test]
fn deep_texts_are_no_problem() {
    assert!(survives(&nested("l() from a to b; choice at a {", "} or { r() from a to b; }")));
    assert!(survives(&nested("choice at a {", "} or { r() from a to b; }")));
    assert!(survives(&nested("m() from a to b; rec X {", "}")));
    assert!(survives(&nested("rec X {", "}")));
    assert!(survives(&nested("choice at a { rec X {", "} } or { r() from a to b; }")));
    assert!(survives(&nested(
        "rec X { choice at a { l() from a to b; continue X; } or { m() from a to b;",
        "} }"
    )));
}

#[test]
fn a_megabyte_of_anything_is_no_problem() {
    let megabyte = |part: &str| part.repeat((1 << 20) / part.len());
    for part in [
        "{", "}", "(", "(* ", "/* c */ ", "§", "§ ", "\"", "\" ", "a", "a ", "global ", "(*# A,", "-", "//\n",
    ] {
        survives(&megabyte(part));
        survives(&body(&megabyte(part)));
        survives(&format!("protocol P(role a, role b) {{ m({}", megabyte(part)));
        survives(&format!("protocol P(role a, role b) {{ m() from a to b where {}", megabyte(part)));
    }
    survives(&body(&megabyte("m() from a to b; nested protocol P(role a, role b) {")));
    survives(&body(&megabyte("nested protocol P(role a, role b) {")));
    survives(&body(&megabyte("m() from a to b where '''")));
    survives(&body(&megabyte("m() from a to b where (((((")));
}

#[test]
fn chains_of_protocols_are_written_out_within_limits() {
    let chain = |length: usize| {
        let links = (0..length)
            .map(|i| format!("protocol P{i}(role a, role b) {{ m() from a to b; do P{}(a, b); }}", i + 1));
        links.collect::<String>() + &format!("protocol P{length}(role a, role b) {{ m() from a to b; }}")
    };
    assert!(parse(&chain(500), Language::Scr).is_usable());
    let long = parse(&chain(20_000), Language::Scr);
    assert!(long.diagnostics.iter().any(|diagnostic| diagnostic.code.id == "RF0209"));
}

/// What is too large makes everything too large that does it: one mistake, one error, at the first of them.
#[test]
fn a_protocol_that_is_too_large_is_one_mistake() {
    let double =
        |i: usize| format!("aux protocol P{i}(role a, role b) {{ do P{0}(a, b); do P{0}(a, b); }}", i + 1);
    let text =
        (0..24).map(double).collect::<String>() + "aux protocol P24(role a, role b) { m() from a to b; }";
    let found = parse(&text, Language::Scr).diagnostics;
    let errors: Vec<_> = found.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    let [error] = errors[..] else { panic!("{errors:?}") };
    assert_eq!((error.code.id, error.span.start), ("RF0209", 0), "{error:?}");
}

#[test]
fn one_mistake_is_one_diagnostic() {
    for (statement, code) in [
        ("m(x: int) from a to b where x = 1 && y;", "RF0315"),
        ("m(x: int) from a to b where 'abc;\n", "RF0315"),
        ("m(x: int{x > }) from a to b;", "RF0315"),
        ("m(x: int{x 1}) from a to b;", "RF0004"),
        ("m(x: {y: int 1}) from a to b;", "RF0004"),
        ("m() frm a to b where !x;", "RF0004"),
        ("do Q(a, b) @\"abc\n;", "RF0004"),
    ] {
        let text = body(&format!("{statement} n() from a to b;"));
        let document = parse(&text, Language::Scr);
        let codes: Vec<_> = document.diagnostics.iter().map(|diagnostic| diagnostic.code.id).collect();
        assert_eq!(codes, [code], "{text}");
    }
}

#[test]
fn roles_are_counted() {
    let roles: Vec<String> = (0..70_000).map(|i| format!("role a{i}")).collect();
    let text = format!("protocol P({}) {{ m() from a0 to a69999; }}", roles.join(", "));
    assert!(!parse(&text, Language::Scr).is_usable());
}
