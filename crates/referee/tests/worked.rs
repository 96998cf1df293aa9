//! The worked examples of `docs/watch.md` print what is written there.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test reads files and runs the command"
)]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn worked_examples_print_what_is_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/watch.md")).unwrap();
    let section = text.split("\n## ").find(|section| section.starts_with("From a raw log")).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_referee")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut findings = 0;
    for block in section.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        for part in block.strip_prefix("$ ").unwrap().split("\n$ ") {
            let (line, written) = part.split_once('\n').unwrap();
            let mut command = Command::new("bash");
            command.args(["-c", line]).current_dir(root.join("examples/logs")).env("PATH", &path);
            let output = command.output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            assert_eq!(printed.trim_end(), written.trim_end(), "$ {line}");
            let status = output.status.code().unwrap();
            assert_eq!(status, i32::from(line.starts_with("referee")), "$ {line}");
            findings += status;
        }
    }
    assert_eq!(findings, 6);
}
