//! Every trace in `examples/` is judged as recorded beside it: `bad-token.jsonl` has `bad-token.txt`, whose
//! first line says what the trace is about, whose second line is the command, and whose rest is what it prints,
//! followed by its exit status. A `good-*.txt` without a trace records another command. `examples/logs` is the
//! business of `tests/worked.rs`.
//! `REFEREE_BLESS=1 cargo test -p referee --test traces` records anew: read the difference.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is recorded.
fn records() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let folders = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && !path.ends_with("logs"));
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let of_command = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.ends_with(".jsonl")
            || name.ends_with(".txt") && (name.starts_with("good-") || name.starts_with("bad-"))
    };
    let mut found: Vec<PathBuf> = files.filter(of_command).map(|path| path.with_extension("txt")).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn traces_are_judged_as_recorded_beside_them() {
    let records = records();
    assert!(records.len() >= 34, "only {} records", records.len());
    for recorded in records {
        let text =
            fs::read_to_string(&recorded).unwrap_or_else(|error| panic!("{}: {error}", recorded.display()));
        let mut lines = text.lines();
        let about = lines.next().unwrap();
        assert!(about.starts_with("# "), "{}: the first line says why", recorded.display());
        let command = lines.next().unwrap();
        let arguments = command.strip_prefix("$ referee ").unwrap().split(' ');
        let output = Command::new(env!("CARGO_BIN_EXE_referee"))
            .args(arguments)
            .current_dir(recorded.parent().unwrap())
            .output()
            .unwrap();
        let status = output.status.code().unwrap();
        let bad = recorded.file_name().unwrap().to_str().unwrap().starts_with("bad-");
        assert_eq!(status != 0, bad, "{}: {}", recorded.display(), String::from_utf8_lossy(&output.stderr));
        let found = format!(
            "{about}\n{command}\n{}{}exit status {status}\n",
            String::from_utf8_lossy(&output.stderr),
            String::from_utf8_lossy(&output.stdout)
        );
        if std::env::var_os("REFEREE_BLESS").is_some() {
            fs::write(&recorded, &found).unwrap();
        }
        let expected = fs::read_to_string(&recorded).unwrap();
        assert!(expected == found, "{} differs from:\n{found}", recorded.display());
    }
}
