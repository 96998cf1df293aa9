//! No text makes a parser panic, hang or point outside the text; nesting costs no stack.

use std::fmt::Write as _;

use proptest::prelude::*;
use referee_syntax::diagnostics::ALL;
use referee_syntax::{Content, Document, Language, fsm, gt, kmc, print, st};

use crate::examples::assert_places;
use crate::generate::{Choices, damaged, soup};
use crate::support::{parse, said};

const DEPTH: usize = 100_000;

fn usable(document: &Document) {
    assert!(document.is_usable(), "{}", said(document).chars().take(2000).collect::<String>());
}

#[test]
fn deep_kmc() {
    let nested =
        "A: ".to_string() + &"{B!a;end, B!b;".repeat(DEPTH) + "end" + &"}".repeat(DEPTH) + "\nB: end\n";
    let document = kmc::parse(&nested);
    usable(&document);
    let Content::System(system) = &document.content else { panic!("a system") };
    assert!(print::kmc(&system.sessions).is_ok());
    assert!(print::fsm(system.system.as_ref().expect("a system")).is_ok());
    usable(&kmc::parse(&("A: ".to_string() + &"{".repeat(DEPTH) + "end" + &"}".repeat(DEPTH))));
    let mut recursions = String::from("A: ");
    for i in 0..DEPTH {
        let _ = write!(recursions, "rec x{i} . B!a;");
    }
    usable(&kmc::parse(&(recursions + "x0 B: end")));
}

#[test]
fn deep_st() {
    let nested = "S = ".to_string() + &"&{?A(), ?B().".repeat(DEPTH) + "end" + &"}".repeat(DEPTH);
    let document = st::parse(&nested);
    usable(&document);
    let Content::Binary(protocol) = &document.content else { panic!("a session") };
    let text = print::st(protocol).expect("expressible");
    usable(&st::parse(&text));
    usable(&st::parse(&("S = ".to_string() + &"rec X.(!A().".repeat(DEPTH) + "X" + &")".repeat(DEPTH))));
}

#[test]
fn deep_gt() {
    let nested = "a -> b (l . end, k . ".repeat(DEPTH) + "end" + &")".repeat(DEPTH);
    let document = gt::parse(&nested);
    usable(&document);
    let Content::Global(protocols) = &document.content else { panic!("global") };
    let global = protocols[0].global.as_ref().expect("a global type");
    usable(&gt::parse(&print::gt(global).expect("expressible")));
    usable(&gt::parse_json(&print::gt_json(global).expect("expressible")));
    usable(&gt::parse(&("mu X . a -> b <int> . ".repeat(DEPTH) + "X")));
}

#[test]
fn deep_brackets_are_refused_in_no_time() {
    for open in ["{", "[", "(", "<", "rec x.", "mu X . ", "&{", "{\"a\":", "a -> b ("] {
        for language in Language::ALL {
            if let Some(document) = parse(language, &open.repeat(DEPTH)) {
                assert!(!document.is_usable(), "{language}: {open}");
                // A choice right within a choice, and a role declared again, is a mistake each time.
                let repeated = |code: &str| matches!(code, "RF0602" | "RF0501");
                let others = document.diagnostics.iter().filter(|d| !repeated(d.code.id)).count();
                assert!(others < 30, "{language}: {open}: a cascade");
            }
        }
    }
    let types = format!("a -> b <{}int{}> . end", "array[".repeat(DEPTH), "]".repeat(DEPTH));
    assert!(!gt::parse(&types).is_usable());
    let types = format!("A: B!a<{}int{}>;end B: end", "list<".repeat(DEPTH), ">".repeat(DEPTH));
    assert!(!kmc::parse(&types).is_usable());
}

#[test]
fn many_mistakes_take_linear_time() {
    // Each would take minutes if anything were quadratic.
    let roles: String = (0..20_000).map(|i| format!("A{i}: Z{i}!a;x{i}\n")).collect();
    assert_eq!(kmc::parse(&roles).diagnostics.len(), 40_000);
    let definitions: String = (0..DEPTH).map(|i| format!("rec x{i} . ")).collect();
    let calls: String = (0..DEPTH).map(|i| format!("B!a{i};x0, ")).collect();
    usable(&kmc::parse(&format!("A: {definitions} {{{calls} B!b;end}} B: end")));
    let line = "[[]".repeat(DEPTH);
    assert!(!st::parse(&format!("S = !A(){line}")).is_usable());
    let escapes = "[\"\\\"]".repeat(DEPTH);
    assert!(!st::parse(&format!("S = !A(){escapes}")).is_usable());
    let quotes = "\"".repeat(DEPTH + 1);
    assert!(!gt::parse_json(&quotes).is_usable());
    let states: String = (0..DEPTH).map(|i| format!("q{i} 9 ! a p{i}\n")).collect();
    assert!(!fsm::parse(&format!(".outputs .state graph {states} .marking z .end")).is_usable());
}

#[test]
fn several_mistakes_are_found_in_one_run() {
    let codes =
        |document: &Document| -> Vec<&str> { document.diagnostics.iter().map(|d| d.code.id).collect() };
    let text = "A: B!a; {B!; end, C!c; x}\nB: A?a;\nD: A?b; end end\n";
    assert_eq!(
        codes(&kmc::parse(text)),
        ["RF0004", "RF0502", "RF0105", "RF0004", "RF0004"],
        "{}",
        said(&kmc::parse(text))
    );
    let text = "S = &{?A(x Int).end, !B().X, ?A(y: Int)[y >].end, ?C(}";
    let found = st::parse(text);
    assert_eq!(
        codes(&found),
        ["RF0004", "RF0601", "RF0105", "RF0202", "RF0315", "RF0004"],
        "{}",
        said(&found)
    );
    let text = "a -> b (l . c -> c <int> . end, l . X, m end, n . a -> <int> . end)";
    let found = gt::parse(text);
    assert_eq!(
        codes(&found),
        ["RF0201", "RF0702", "RF0202", "RF0105", "RF0004", "RF0004"],
        "{}",
        said(&found)
    );
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        for language in Language::ALL {
            if let Some(document) = parse(language, &text) {
                assert_places(&document, &text);
            }
        }
    }

    #[test]
    fn any_tokens(seed in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = soup(&mut Choices::new(&seed));
        for language in Language::ALL {
            if let Some(document) = parse(language, &text) {
                assert_places(&document, &text);
            }
        }
    }

    #[test]
    fn damaged_examples(seed in prop::collection::vec(any::<u8>(), 4..20)) {
        for code in ALL {
            let text = damaged(code.example().right, &mut Choices::new(&seed));
            if let Some(document) = parse(code.example().language, &text) {
                assert_places(&document, &text);
            }
        }
    }
}
