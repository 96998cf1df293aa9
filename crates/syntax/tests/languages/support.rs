//! Reading texts of any language, and finding the corpus.

use std::path::{Path, PathBuf};

use referee_syntax::{Document, Language};

/// Reads `text` as `language`; `None` for the language that is tested elsewhere.
pub(crate) fn parse(language: Language, text: &str) -> Option<Document> {
    (language != Language::Scr).then(|| referee_syntax::parse(text, language))
}

/// The codes of the errors, in the order of the text.
pub(crate) fn errors(document: &Document) -> Vec<&'static str> {
    document.diagnostics.iter().filter(|d| d.is_error()).map(|d| d.code.id).collect()
}

/// Everything that was said, for failure messages.
pub(crate) fn said(document: &Document) -> String {
    let lines = document
        .diagnostics
        .iter()
        .map(|d| format!("  {} at {}..{}: {}", d.code.id, d.span.start, d.span.end, d.message));
    lines.collect::<Vec<_>>().join("\n")
}

/// The corpus of the original tools' inputs: `$REFEREE_CORPUS`, or `../shared/corpus` beside the workspace.
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "tests may be told where the corpus is")]
pub(crate) fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let place = std::env::var("REFEREE_CORPUS").map_or(beside, PathBuf::from);
    if place.is_dir() {
        return Some(place);
    }
    println!("skipped: no corpus at {} (set REFEREE_CORPUS)", place.display());
    None
}

/// The files under `folder` whose names end in `extension`, with their texts, sorted.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("a readable folder");
        for path in entries.map(|entry| entry.expect("a readable entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                let text = read(&path);
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

#[expect(clippy::disallowed_methods, reason = "tests read the corpus")]
pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a readable file")
}
