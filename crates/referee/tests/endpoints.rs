//! `docs/endpoints.md` as it is written: its files are put in a folder, its commands run, its program is compiled and run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The fenced blocks of a document: what stands behind the fence, and what is in it.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((kind.to_owned(), body.join("\n") + "\n"));
        }
    }
    blocks
}

fn referee(arguments: &[&str], folder: &Path) -> (Option<i32>, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_referee")).args(arguments).current_dir(folder).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_page_about_endpoints_runs_as_it_is_written() {
    let folder = Folder(std::env::temp_dir().join(format!("referee-endpoints-{}", std::process::id())));
    fs::create_dir_all(&folder.0).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/endpoints.md")).unwrap();
    let (mut commands, mut written) = (0, None);
    for (kind, body) in blocks(&text) {
        match kind.split_once(' ') {
            Some((_, file)) => fs::write(folder.0.join(file), &body).unwrap(),
            None if kind == "output" => written = Some(body),
            // Compiled and run by the tests of `crates/generate`, in other words.
            None if kind == "ts" || kind == "sh" => {}
            None => {
                let line = body.trim().strip_prefix("$ referee ").unwrap();
                let arguments: Vec<&str> = line.split_whitespace().collect();
                assert_eq!(referee(&arguments, &folder.0), (Some(0), String::new()), "{line}");
                commands += 1;
            }
        }
    }
    assert_eq!(commands, 2);
    let rustc = |arguments: &[&str], file: &Path| {
        let mut command = Command::new("rustc");
        command.args(["--edition", "2024"]).args(arguments).arg(file).current_dir(&folder.0);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let library = ["--crate-type", "rlib", "--crate-name", "referee_endpoint", "--cfg", "feature=\"std\""];
    rustc(&library, &root.join("crates/endpoint/src/lib.rs"));
    let extern_library = ["--extern", "referee_endpoint=libreferee_endpoint.rlib", "-D", "warnings"];
    rustc(&extern_library, Path::new("main.rs"));
    let output = Command::new(folder.0.join("main")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), written.unwrap());
}

#[test]
fn a_stale_file_is_told_of() {
    let folder = Folder(std::env::temp_dir().join(format!("referee-stale-{}", std::process::id())));
    fs::create_dir_all(&folder.0).unwrap();
    let protocol = |label: &str| format!("protocol P(role a, role b) {{ {label}() from a to b; }}");
    fs::write(folder.0.join("p.scr"), protocol("Ping")).unwrap();
    for language in ["rust", "python", "typescript"] {
        let generate = |more: &[&str]| {
            let arguments = [&["generate", language, "p.scr", "--role", "a", "-o", "p.out"], more].concat();
            referee(&arguments, &folder.0).0
        };
        fs::write(folder.0.join("p.scr"), protocol("Ping")).unwrap();
        let _ = fs::remove_file(folder.0.join("p.out"));
        assert_eq!(generate(&["--check"]), Some(1), "there is none");
        assert_eq!(generate(&[]), Some(0));
        assert_eq!(generate(&["--check"]), Some(0));
        fs::write(folder.0.join("p.scr"), protocol("Pong")).unwrap();
        assert_eq!(generate(&["--check"]), Some(1), "the protocol has changed");
    }
    let (status, error) = referee(&["generate", "python", "p.scr"], &folder.0);
    assert_eq!(status, Some(2));
    assert!(error.contains("name one role with --role: a, b"), "{error}");
    let (status, error) = referee(&["generate", "rust", "p.scr", "--role", "c"], &folder.0);
    assert_eq!(status, Some(2));
    assert!(error.contains("there is no role `c`"), "{error}");
}
