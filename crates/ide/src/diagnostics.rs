//! What is wrong with a file, with corrections as edits.

use std::sync::Arc;

use referee_pipeline::{Diagnostic, Severity};
use referee_syntax::{Edit, Span};

use crate::workspace::{Location, Workspace};

/// Something to say about a place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiagnostic {
    /// `RF0103`.
    pub code: &'static str,
    /// A few words.
    pub title: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub span: Span,
    /// What is wrong and what to do.
    pub message: String,
    /// Other places that matter, each with what to say there.
    pub related: Vec<(Location, String)>,
    /// What to write instead.
    pub fix: Option<FileFix>,
}

/// A correction of one mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFix {
    /// What it does, in a few words.
    pub title: String,
    /// The changes, in the order of the text.
    pub edits: Vec<Edit>,
    /// Whether nothing else can have been meant.
    pub certain: bool,
}

/// What is wrong with the file at `path`, in the order of its text. What is wrong with files that it imports is said there.
#[must_use]
pub fn diagnostics(workspace: &Workspace, path: &str) -> Vec<FileDiagnostic> {
    let (Some(file), Some(analysed)) = (workspace.file(path), workspace.analysed(path)) else {
        return Vec::new();
    };
    let source = analysed.source();
    let length = file.text().len();
    let own = analysed.diagnostics().iter().filter(|found| found.span.start as usize <= length);
    own.map(|found| FileDiagnostic {
        code: found.code.id,
        title: found.code.title,
        severity: found.code.severity,
        span: within(found.span, length),
        message: message(found),
        related: found
            .related
            .iter()
            .map(|(span, text)| {
                let part = source.file(span.start);
                let span =
                    Span { start: span.start - part.start, end: span.end.max(span.start) - part.start };
                (Location { path: part.name.into(), span }, text.clone())
            })
            .collect(),
        fix: found.fix.as_ref().map(|fix| FileFix {
            title: title(file.text(), &fix.edits),
            edits: fix.edits.clone(),
            certain: fix.certain,
        }),
    })
    .collect()
}

/// The corrections of the file at `path` that touch `span`, each with its diagnostic.
#[must_use]
pub fn fixes(workspace: &Workspace, path: &str, span: Span) -> Vec<(FileDiagnostic, FileFix)> {
    let touches = |found: &FileDiagnostic| found.span.start <= span.end && span.start <= found.span.end;
    let all = diagnostics(workspace, path).into_iter().filter(touches);
    all.filter_map(|found| {
        let fix = found.fix.clone()?;
        Some((found, fix))
    })
    .collect()
}

fn within(span: Span, length: usize) -> Span {
    Span::new(span.start as usize, (span.end as usize).min(length))
}

fn message(found: &Diagnostic) -> String {
    let mut text = found.message.clone();
    for more in [&found.label, &found.help].into_iter().flatten() {
        text.push('\n');
        text.push_str(more);
    }
    text
}

fn title(text: &Arc<str>, edits: &[Edit]) -> String {
    let old = |edit: &Edit| text.get(edit.span.range()).unwrap_or_default().trim().to_owned();
    let shown = |text: &str| !text.is_empty() && text.len() <= 40 && !text.contains('\n');
    match edits {
        [only] => match (old(only), only.text.trim()) {
            (old, new) if old.is_empty() && shown(new) => format!("insert `{new}`"),
            (old, "") if shown(&old) => format!("remove `{old}`"),
            (old, new) if shown(&old) && shown(new) => format!("replace `{old}` with `{new}`"),
            _ => "correct this".to_owned(),
        },
        _ => "correct this".to_owned(),
    }
}
