//! What the targets share: what every language asserts of a text, and monitors with bytes to drive them.

mod monitors;

pub use monitors::{Bytes, PROTOCOLS, is_compressed, monitors};

use referee_syntax::{Analysis, Content, Language, Lines, hml, parse, print, scr};

/// No panic, no hang; every place lies inside the text; what can be printed is read back without errors.
pub fn read(data: &[u8], language: Language) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let analysis = Analysis::of(parse(text, language));
    let lines = Lines::new(text);
    for diagnostic in &analysis.diagnostics {
        let spans = diagnostic.related.iter().map(|(span, _)| *span).chain([diagnostic.span]);
        for span in spans {
            assert!(span.start <= span.end, "{}: {span:?}", diagnostic.code.id);
            assert!(text.get(span.range()).is_some(), "{}: {span:?}", diagnostic.code.id);
            let _ = lines.position(span.end);
        }
    }
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
