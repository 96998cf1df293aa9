//! Every answer in `examples/known/README.md` and `docs/reading-the-answer.md` is what the command prints.
//! `REFEREE_BLESS=1 cargo test -p referee --test answers` writes them anew: read the difference.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test reads files, runs the command and fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Each document, and how many answers it has at least.
const DOCUMENTS: [(&str, usize); 2] = [("examples/known/README.md", 16), ("docs/reading-the-answer.md", 8)];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `command` prints when it is pasted into a shell: `$ referee …`.
fn answer(command: &str) -> String {
    let arguments = command.strip_prefix("$ referee ").unwrap_or_else(|| panic!("no command: {command}"));
    let output = Command::new("sh")
        .args(["-c", &format!("exec \"$0\" {arguments}"), env!("CARGO_BIN_EXE_referee")])
        .current_dir(root())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// `text` with the answers of today, and how many there are.
fn with_answers(text: &str) -> (String, usize) {
    let mut now = String::new();
    let mut count = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        now += &format!("{line}\n");
        if line == "```console" {
            let command = lines.next().unwrap();
            now += &format!("{command}\n{}```\n", answer(command));
            count += 1;
            assert!(lines.any(|line| line == "```"), "`{command}` has no end");
        }
    }
    (now, count)
}

#[test]
fn answers_are_as_written() {
    for (name, least) in DOCUMENTS {
        let path = root().join(name);
        let text = fs::read_to_string(&path).unwrap();
        let (now, count) = with_answers(&text);
        assert!(count >= least, "{name} has {count} answers");
        if std::env::var_os("REFEREE_BLESS").is_some() {
            fs::write(&path, now).unwrap();
            continue;
        }
        for (number, (written, printed)) in text.lines().zip(now.lines()).enumerate() {
            assert_eq!(written, printed, "{name}:{}", number + 1);
        }
        assert_eq!(text.lines().count(), now.lines().count(), "{name}");
    }
}
