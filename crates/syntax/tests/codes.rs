//! Every diagnostic's example triggers it, and the corrected example is clean.

use referee_syntax::diagnostics::ALL;
use referee_syntax::scr::{self, Loader, ModuleFile};
use referee_syntax::{Analysis, Diagnostic, Language, Severity, parse};

/// There are no other files.
struct Alone;

impl Loader for Alone {
    fn load(&mut self, _: &str) -> Result<ModuleFile, String> {
        Err("there are no other files here".to_owned())
    }
}

/// What is said about `text`, the example of `code`.
fn said(code: &str, text: &str, language: Language) -> Vec<Diagnostic> {
    let document = if (code, language) == ("RF0217", Language::Scr) || language != Language::Scr {
        parse(text, language)
    } else {
        scr::load(text, &mut Alone).0
    };
    let mut found = Analysis::of(document).diagnostics;
    found.extend(scr::misnamed(text, "games/Ping.scr").filter(|_| code == "RF0126"));
    found
}

#[test]
fn every_example_triggers_its_code_and_its_correction_does_not() {
    let mut wrong = Vec::new();
    for code in ALL {
        let found = said(code.id, code.example().wrong, code.example().language);
        if !found.iter().any(|diagnostic| diagnostic.code.id == code.id) {
            let ids: Vec<_> = found.iter().map(|d| format!("{}: {}", d.code.id, d.message)).collect();
            wrong.push(format!("{}: `wrong` gives {ids:?}", code.id));
        }
        let found = said(code.id, code.example().right, code.example().language);
        for diagnostic in found {
            if diagnostic.code.id == code.id || diagnostic.is_error() {
                wrong.push(format!(
                    "{}: `right` gives {}: {}",
                    code.id, diagnostic.code.id, diagnostic.message
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn codes_are_listed_in_order_and_explained() {
    assert!(ALL.len() >= 40, "{} codes", ALL.len());
    assert!(ALL.is_sorted_by(|a, b| a.id < b.id));
    for code in ALL {
        assert!(code.explanation().trim().len() > 60, "{} is not explained", code.id);
        assert!(code.title.starts_with(|c: char| c.is_lowercase()), "{}", code.id);
    }
}

#[test]
fn errors_of_examples_point_into_the_text() {
    for code in ALL {
        let text = code.example().wrong;
        for diagnostic in said(code.id, text, code.example().language) {
            let spans = diagnostic.related.iter().map(|(span, _)| *span).chain([diagnostic.span]);
            for span in spans {
                assert!(span.start <= span.end && text.get(span.range()).is_some(), "{} {span:?}", code.id);
            }
            let needs_help = diagnostic.code.severity == Severity::Error;
            assert!(!needs_help || diagnostic.help.is_some() || diagnostic.label.is_some(), "{}", code.id);
        }
    }
}

#[test]
fn every_page_has_its_code_its_title_and_two_examples_of_one_language() {
    for code in ALL {
        let page = code.page;
        assert!(page.starts_with(&format!("# {}: {}\n\n", code.id, code.title)), "{}", code.id);
        let fence = format!("```{}\n", code.example().language.name());
        assert_eq!(page.matches(&fence).count(), 2, "{}", code.id);
        assert_eq!(page.matches("```").count(), 4, "{}", code.id);
        let example = code.example();
        assert!(!example.wrong.trim().is_empty() && !example.right.trim().is_empty(), "{}", code.id);
    }
}
