//! What is said about a mistake, given the correction that puts it right.

use super::Scene;
use super::candidate::{Candidate, Kind, PLACEHOLDER, opening};
use super::pieces::PieceKind;
use crate::diagnostics::{Diagnostic, RF0004, suggest};
use crate::language::Language;
use crate::source::{Span, narrow};

/// The message for the mistake that `candidate` corrects; `error` is what the parser said about it.
pub(super) fn of(scene: &Scene<'_>, candidate: &Candidate, error: &Diagnostic) -> Diagnostic {
    // A comment or a string without its end is said best by the parser.
    if matches!(error.code.id, "RF0002" | "RF0003") {
        return error.clone();
    }
    let mut diagnostic = said(scene, &candidate.kind, error);
    if error.code.id != "RF0001" || diagnostic.span.start == error.span.start {
        diagnostic.code = error.code;
    }
    diagnostic
}

fn said(scene: &Scene<'_>, kind: &Kind, error: &Diagnostic) -> Diagnostic {
    let at_error =
        |span: Span| error.span.start <= span.start && span.end <= error.span.end.max(error.span.start + 1);
    match kind {
        Kind::Slip { span, message, help, .. } => RF0004.at(*span, message).help(help),
        Kind::Insert { before, text } if *text == PLACEHOLDER => missing_name(scene, *before, error),
        Kind::Insert { before, text } => missing(scene, *before, text),
        Kind::Delete { piece } => {
            let (span, word) = (scene.span(*piece), scene.word(*piece));
            // A character that is nowhere right keeps its own words.
            if at_error(span) && error.code.id == "RF0001" {
                return error.clone();
            }
            let message = if scene.is_repeated(*piece) {
                format!("`{word}` is written twice")
            } else if word == ";" && *piece > 0 && scene.word(piece - 1) == "}" {
                String::from("there is no `;` behind a `}`")
            } else {
                format!("`{word}` does not belong here")
            };
            RF0004.at(span, message).label("remove it")
        }
        Kind::Replace { piece, text } if *text == PLACEHOLDER => {
            let (span, word) = (scene.span(*piece), scene.word(*piece));
            if at_error(span) {
                return error.clone();
            }
            RF0004.at(span, format!("expected a name, found `{word}`")).label("expected a name")
        }
        Kind::Replace { piece, text } => replaced(scene, *piece, text),
        Kind::Swap { piece } => {
            let (left, right) = (scene.word(*piece), scene.word(piece + 1));
            RF0004
                .at(
                    scene.span(*piece).to(scene.span(piece + 1)),
                    format!("`{right}` belongs before `{left}`"),
                )
                .help("put them the other way round")
        }
    }
}

fn missing(scene: &Scene<'_>, before: usize, text: &str) -> Diagnostic {
    let gap = scene.gap(before, text);
    let place = match (before.checked_sub(1).map(|piece| scene.word(piece)), scene.word(before)) {
        (Some(previous), _) if gap.start as usize == scene.end_before(before) => {
            format!("behind `{previous}`")
        }
        (_, "") => String::from("at the end of the text"),
        (_, next) => format!("before `{next}`"),
    };
    let diagnostic =
        RF0004.at(gap, format!("`{text}` is missing {place}")).label(format!("`{text}` is missing here"));
    match opening(scene, before, text) {
        Some(open) => diagnostic.related(Span::new(open.start, open.end), "to close this"),
        None => diagnostic,
    }
}

fn missing_name(scene: &Scene<'_>, before: usize, error: &Diagnostic) -> Diagnostic {
    let gap = scene.gap(before, PLACEHOLDER);
    let ends_line = scene.pieces.get(before).is_some_and(|next| gap.start < narrow(next.range.start));
    if ends_line && error.span == gap {
        return error.clone();
    }
    if ends_line && let Some(previous) = before.checked_sub(1).map(|piece| scene.word(piece)) {
        return RF0004
            .at(gap, format!("a name is missing behind `{previous}`"))
            .label("a name is missing here");
    }
    if before == scene.at {
        return Diagnostic {
            span: if scene.word(before).is_empty() { gap } else { error.span },
            ..error.clone()
        };
    }
    let next = scene.word(before);
    RF0004
        .at(scene.span(before), format!("a name is missing before `{next}`"))
        .label("a name is missing here")
}

fn replaced(scene: &Scene<'_>, piece: usize, text: &str) -> Diagnostic {
    let (span, word) = (scene.span(piece), scene.word(piece));
    let is_word = scene.pieces[piece].kind == PieceKind::Word;
    if is_word && word.eq_ignore_ascii_case(text) {
        return RF0004
            .at(span, format!("keywords are written in small letters, not `{word}`"))
            .help(format!("write `{text}`"));
    }
    if is_word && suggest::closest(word, [text]).is_some() {
        return RF0004
            .at(span, format!("there is no keyword `{word}`"))
            .help(format!("did you mean `{text}`?"));
    }
    let said = match (scene.language, text, word) {
        (Language::Scr, ";", "," | "." | ":") => format!("a statement ends with `;`, not with `{word}`"),
        (Language::Scr, ",", ";") => String::from("here `,` separates one from the next, not `;`"),
        (Language::Kmc, ";", "." | "->" | ",") => format!("behind an action stands `;`, not `{word}`"),
        (Language::Gt | Language::St, ".", ";") => String::from("what follows stands behind `.`, not `;`"),
        (_, "&&", "and") => String::from("in conditions, `and` is written `&&`"),
        (_, "||", "or") => String::from("in conditions, `or` is written `||`"),
        _ => format!("expected `{text}`, found `{word}`"),
    };
    RF0004.at(span, said).label(format!("write `{text}`"))
}
