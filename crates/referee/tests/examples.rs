//! Every example in `examples/` is well formed, and its projections are as recorded beside it.
//! `REFEREE_BLESS=1 cargo test -p referee --test examples` records them anew: read the difference.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test reads files and fails by panicking"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use referee::{Analysis, Content, Language, parse, view};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}

/// The protocol files of an example.
fn protocols(example: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(example).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| {
        path.extension().and_then(|e| e.to_str()).is_some_and(|e| Language::from_name(e).is_some())
    });
    found.sort();
    found
}

/// Machines and relative types, as people see them.
fn projections(analysis: &Analysis) -> String {
    let mut text = String::new();
    for protocol in &analysis.protocols {
        let vocabulary = protocol.global.vocabulary();
        let _ = writeln!(text, "protocol {}\n", protocol.name.as_deref().unwrap_or("-"));
        for role in vocabulary.roles() {
            match protocol.global.project(role) {
                Ok(machine) => {
                    let _ = writeln!(text, "{}", view::local::text(&machine, vocabulary).unwrap());
                    let _ = writeln!(text, "{}", view::machine::table(&machine, vocabulary));
                }
                Err(error) => {
                    let _ = writeln!(text, "{}: {:?}\n", vocabulary.role_name(role), error.conflict);
                }
            }
        }
        let participants = protocol.global.participants();
        for (i, &p) in participants.iter().enumerate() {
            for &q in &participants[i + 1..] {
                let names = (vocabulary.role_name(p), vocabulary.role_name(q));
                let relative = protocol.global.relative(p, q);
                let relative = relative.map_or_else(|_| "undefined".into(), |relative| relative.to_text());
                let _ = writeln!(text, "({}, {}) = {relative}", names.0, names.1);
            }
        }
    }
    if let Content::System(local) = &analysis.document.content {
        for machine in local.system.as_ref().unwrap().machines() {
            let _ = writeln!(text, "{}", view::machine::table(machine, &local.vocabulary));
        }
    }
    text
}

#[test]
fn examples_have_the_projections_recorded_beside_them() {
    let examples = examples();
    assert!(examples.len() >= 9, "only {} examples", examples.len());
    for example in examples {
        let files = protocols(&example);
        assert!(!files.is_empty(), "{} holds no protocol", example.display());
        let mut text = String::new();
        for file in files {
            let source = fs::read_to_string(&file).unwrap();
            let name = file.file_name().unwrap().to_str().unwrap();
            let analysis = Analysis::of(parse(&source, Language::detect(name, &source).unwrap()));
            assert!(analysis.is_well_formed(), "{}: {:?}", file.display(), analysis.diagnostics);
            text += &projections(&analysis);
        }
        let recorded = example.join("projections.txt");
        if std::env::var_os("REFEREE_BLESS").is_some() {
            fs::write(&recorded, &text).unwrap();
        }
        let expected = fs::read_to_string(&recorded).unwrap_or_default();
        assert!(expected == text, "{} differs from:\n{text}", recorded.display());
    }
}
