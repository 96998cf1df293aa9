//! What can be folded: bracketed text and comments of several lines.

use referee_syntax::Span;
use referee_syntax::lexemes::LexemeKind;

use crate::workspace::File;

/// A range that can be folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// From the opening bracket to the closing one, or the whole comment.
    pub span: Span,
    /// Whether it is a comment.
    pub is_comment: bool,
}

/// The ranges of `file` that can be folded, those outside before those inside.
#[must_use]
pub fn folds(file: &File) -> Vec<Fold> {
    let mut folds = Vec::new();
    let mut open: Vec<(char, Span)> = Vec::new();
    let spans_lines = |span: Span| file.slice(span).contains('\n');
    for lexeme in file.lexemes() {
        match (lexeme.kind, file.slice(lexeme.span)) {
            (LexemeKind::Comment, text) if text.contains('\n') => {
                folds.push(Fold { span: lexeme.span, is_comment: true });
            }
            (LexemeKind::Symbol, "{") => open.push(('}', lexeme.span)),
            (LexemeKind::Symbol, "(") => open.push((')', lexeme.span)),
            (LexemeKind::Symbol, closing @ ("}" | ")")) => {
                // A bracket that is not closed folds nothing.
                let matching = open.iter().rposition(|(wanted, _)| closing.starts_with(*wanted));
                if let Some(at) = matching {
                    let span = open[at].1.to(lexeme.span);
                    open.truncate(at);
                    if spans_lines(span) {
                        folds.push(Fold { span, is_comment: false });
                    }
                }
            }
            _ => {}
        }
    }
    for machine in &file.index().symbols {
        let is_listed = folds.iter().any(|fold| fold.span.end == machine.span.end);
        if !is_listed && spans_lines(machine.span) {
            folds.push(Fold { span: machine.span, is_comment: false });
        }
    }
    folds.sort_by_key(|fold| (fold.span.start, std::cmp::Reverse(fold.span.end)));
    folds
}
