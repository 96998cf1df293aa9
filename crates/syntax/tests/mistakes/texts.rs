//! Texts without mistakes: the examples, and the inputs of the original tools where they are at hand.

use std::path::{Path, PathBuf};

use referee_syntax::{Language, parse};

/// A text that is read without errors.
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) language: Language,
    pub(crate) text: String,
}

/// Longer texts would only repeat what shorter ones show.
const LONGEST: usize = 20_000;

/// Every example, and every file of the corpus, that is read without errors.
pub(crate) fn texts() -> Vec<Text> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts = Vec::new();
    for folder in [Some(workspace.join("examples")), corpus(&workspace)].into_iter().flatten() {
        for path in files(folder) {
            let name = path.display().to_string();
            let Ok(text) = read(&path) else { continue };
            if text.len() > LONGEST {
                continue;
            }
            let Some(language) = Language::detect(&name, &text) else { continue };
            if parse(&text, language).is_usable() {
                texts.push(Text { name, language, text });
            }
        }
    }
    texts
}

#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "tests may be told where the corpus is")]
fn corpus(workspace: &Path) -> Option<PathBuf> {
    let beside = workspace.join("../shared/corpus");
    let place = std::env::var("REFEREE_CORPUS").map_or(beside, PathBuf::from);
    if place.is_dir() {
        return Some(place);
    }
    println!("skipped: no corpus at {} (set REFEREE_CORPUS)", place.display());
    None
}

fn files(folder: PathBuf) -> Vec<PathBuf> {
    const EXTENSIONS: [&str; 8] = ["scr", "nuscr", "st", "gt", "kmc", "fsm", "hml", "txt"];
    let mut found = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("a readable folder");
        for path in entries.map(|entry| entry.expect("a readable entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| EXTENSIONS.iter().any(|known| e == *known)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[expect(clippy::disallowed_methods, reason = "tests read the corpus")]
fn read(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}
