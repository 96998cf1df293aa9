//! Reads `.scr` and `.nuscr` files once, then parses and analyses those without mistakes `N` times: what `docs/benchmarks.md` counts the
//! instructions of.
//!
//! `front-end N parse|analyse FOLDER…`

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads files and prints what it read"
)]

use std::hint::black_box;
use std::path::PathBuf;

use referee_syntax::{Analysis, Language, parse};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let times: usize = arguments.next().and_then(|times| times.parse().ok()).unwrap_or(1);
    let analyses = arguments.next().as_deref() == Some("analyse");
    let mut folders: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "scr" || extension == "nuscr") {
                texts.extend(std::fs::read_to_string(path));
            }
        }
    }
    texts.retain(|text| Analysis::of(parse(text, Language::Scr)).diagnostics.iter().all(|d| !d.is_error()));
    for text in texts.iter().flat_map(|text| std::iter::repeat_n(text, times)) {
        let document = parse(black_box(text), Language::Scr);
        if analyses {
            black_box(Analysis::of(document));
        } else {
            black_box(document);
        }
    }
    println!("{} texts, {times} times", texts.len());
}
