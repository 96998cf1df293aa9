//! The golden Python endpoints: run against each other, and looked at by `mypy --strict` where it is installed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read their golden files")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn python(arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new("python3");
    command.args(arguments).current_dir(folder("golden"));
    command.env("PYTHONPATH", folder("golden")).env("MYPYPATH", folder("golden"));
    command.env("PYTHONDONTWRITEBYTECODE", "1").output().ok()
}

fn has(condition: &str) -> bool {
    python(&["-c", condition]).is_some_and(|output| output.status.success())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn python_endpoints_talk_to_each_other() {
    if !has("import sys; sys.exit(sys.version_info < (3, 11))") {
        eprintln!("skipped: there is no Python 3.11");
        return;
    }
    let output = python(&["play.py"]).unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 6);
}

#[test]
fn mypy_finds_steps_out_of_order_and_nothing_else() {
    if !has("import mypy") {
        eprintln!("skipped: mypy is not installed");
        return;
    }
    let cache = std::env::temp_dir().join(format!("referee-mypy-{}", std::process::id()));
    let cache = format!("--cache-dir={}", cache.display());
    let mypy = |files: &[String]| {
        let options = ["-m", "mypy", "--strict", "--python-version", "3.11", &cache];
        let files: Vec<&str> = options.into_iter().chain(files.iter().map(String::as_str)).collect();
        python(&files).unwrap()
    };
    let mut files: Vec<String> = std::fs::read_dir(folder("golden"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".py"))
        .collect();
    files.sort();
    let output = mypy(&files);
    assert!(output.status.success(), "{}", text(&output.stdout));
    let wrong = folder("wrong").join("order.py");
    let source = std::fs::read_to_string(&wrong).unwrap();
    let output = text(&mypy(&[wrong.display().to_string()]).stdout);
    for (number, line) in (1..).zip(source.lines()) {
        let found = output.contains(&format!("order.py:{number}: error:"));
        assert_eq!(found, line.ends_with("# error"), "{number}: {line}\n{output}");
    }
}
