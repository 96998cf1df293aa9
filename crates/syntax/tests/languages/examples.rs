//! The example of every code does what it says.

use referee_syntax::diagnostics::ALL;
use referee_syntax::{Analysis, Diagnostic, Document, Severity};

use crate::support::{parse, said};

#[test]
fn the_wrong_example_triggers_its_code_and_the_right_one_no_error() {
    let mut tried = 0;
    for code in ALL {
        let analysed = |text| {
            parse(code.example().language, text).map(|mut document| {
                document.diagnostics = Analysis::of(document.clone()).diagnostics;
                document
            })
        };
        let Some(wrong) = analysed(code.example().wrong) else { continue };
        let Some(right) = analysed(code.example().right) else { continue };
        tried += 1;
        let found = wrong.diagnostics.iter().any(|d| d.code.id == code.id);
        assert!(found, "{}: the wrong example gives\n{}", code.id, said(&wrong));
        let is_other = |d: &Diagnostic| d.code.id != code.id && d.code.severity != Severity::Note;
        let others = wrong.diagnostics.iter().any(is_other);
        assert!(!others, "{}: the wrong example also gives\n{}", code.id, said(&wrong));
        assert!(right.is_usable(), "{}: the right example gives\n{}", code.id, said(&right));
        let still = right.diagnostics.iter().any(|d| d.code.id == code.id);
        assert!(!still, "{}: the right example still has it", code.id);
        assert_eq!(wrong.is_usable(), code.severity != Severity::Error, "{}", code.id);
    }
    let mine = ALL.iter().filter(|code| ("RF0500".."RF0800").contains(&code.id)).count();
    assert!(tried >= mine && mine >= 20, "{tried} examples tried, {mine} codes in 05xx to 07xx");
}

#[test]
fn codes_are_ascending_and_places_lie_within_the_text() {
    assert!(ALL.windows(2).all(|pair| pair[0].id < pair[1].id));
    for code in ALL {
        for text in [code.example().wrong, code.example().right] {
            if let Some(document) = parse(code.example().language, text) {
                assert_places(&document, text);
            }
        }
    }
}

/// Every place of every diagnostic is within `text`, on character boundaries.
pub(crate) fn assert_places(document: &Document, text: &str) {
    for diagnostic in &document.diagnostics {
        let related = diagnostic.related.iter().map(|(span, _)| *span);
        for span in related.chain([diagnostic.span]) {
            assert!(text.get(span.range()).is_some(), "{span:?} of {}", diagnostic.message);
        }
    }
}
