//! Every file of the corpus that can be parsed can be formatted.

use std::path::{Path, PathBuf};

use referee_syntax::scr;

use crate::format::check_formatted;

/// The files of the corpus; none, with a word about it, when there is no corpus here.
pub(crate) fn files(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = std::env::var_os("REFEREE_CORPUS").map_or(workspace.join("../shared/corpus"), PathBuf::from);
    let mut found = Vec::new();
    let mut folders = vec![corpus.join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| extensions.iter().any(|known| e == *known)) {
                found.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        println!("skipped: no corpus at {} (set REFEREE_CORPUS)", corpus.display());
    }
    found
}

#[test]
fn every_nuscr_file_is_formatted() {
    let files = files("nuscr", &["nuscr", "scr"]);
    let mut formatted = 0;
    for path in &files {
        let text = std::fs::read_to_string(path).expect("a readable file");
        if scr::format(&text).is_ok() {
            check_formatted(&text);
            formatted += 1;
        }
    }
    assert!(formatted * 10 >= files.len() * 8, "{formatted} of {}", files.len());
}
