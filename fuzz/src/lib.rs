//! What the targets share: what every language asserts of a text, and monitors with bytes to drive them.

mod corpus;
mod imports;
mod monitors;

pub use corpus::mutate;
pub use imports::imports;
pub use monitors::{Bytes, PROTOCOLS, is_compressed, monitors};

use referee_syntax::{Analysis, Content, Diagnostic, Language, Lines, fsm, gt, hml, kmc, parse, print, scr, st};

/// No panic, no hang; every place lies inside the text; what can be printed is read back without errors.
pub fn read(data: &[u8], language: Language) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let analysis = Analysis::of(parse(text, language));
    places_lie_inside(text, &analysis.diagnostics);
    if !analysis.is_well_formed() {
        return;
    }
    let printed = match &analysis.document.content {
        Content::Global(protocols) => match (language, protocols.first().and_then(|p| p.global.as_ref())) {
            (Language::Gt, Some(global)) => print::gt(global).ok(),
            (Language::GtJson, Some(global)) => print::gt_json(global).ok(),
            (Language::Scr, _) => scr::format(text).ok(),
            _ => None,
        },
        Content::Binary(binary) => print::st(binary).ok(),
        Content::System(local) => match (language, &local.system) {
            (Language::Fsm, Some(system)) => print::fsm(system).ok(),
            (_, Some(_)) => print::kmc(&local.sessions).ok(),
            _ => None,
        },
        Content::Properties(file) => Some(hml::print(&file.properties)),
    };
    if let Some(printed) = printed {
        let again = parse(&printed, language);
        assert!(again.is_usable(), "printed as\n{printed}\n{:?}", again.diagnostics);
        if language == Language::Scr {
            assert_eq!(scr::format(&printed).ok().as_deref(), Some(printed.as_str()), "not idempotent");
        }
        if let Content::Properties(file) = &again.content {
            assert_eq!(hml::print(&file.properties), printed, "not idempotent");
        }
    }
}

/// No panic and no hang of the parser that the first byte chooses; every place lies inside the text.
pub fn bare(data: &[u8]) {
    let Some((&language, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let document = match language % 7 {
        0 => scr::parse(text),
        1 => st::parse(text),
        2 => gt::parse(text),
        3 => gt::parse_json(text),
        4 => kmc::parse(text),
        5 => fsm::parse(text),
        _ => hml::parse(text),
    };
    places_lie_inside(text, &document.diagnostics);
}

fn places_lie_inside(text: &str, diagnostics: &[Diagnostic]) {
    let lines = Lines::new(text);
    for diagnostic in diagnostics {
        let spans = diagnostic.related.iter().map(|(span, _)| *span).chain([diagnostic.span]);
        for span in spans {
            assert!(span.start <= span.end, "{}: {span:?}", diagnostic.code.id);
            assert!(text.get(span.range()).is_some(), "{}: {span:?}", diagnostic.code.id);
            let _ = lines.position(span.end);
        }
    }
}
