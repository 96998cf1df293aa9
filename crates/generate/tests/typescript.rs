//! The golden TypeScript endpoints: compiled by `tsc --strict`, where it is installed, and run against each other in Node.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read their golden files")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A folder with the golden endpoints and the wrong programs, as a package of modules.
struct Package(PathBuf);

impl Package {
    fn new(name: &str) -> Self {
        let package = Self(std::env::temp_dir().join(format!("referee-{name}-{}", std::process::id())));
        for part in ["golden", "wrong"] {
            std::fs::create_dir_all(package.0.join(part)).unwrap();
            for entry in std::fs::read_dir(folder(part)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|extension| extension == "ts") {
                    std::fs::copy(&path, package.0.join(part).join(path.file_name().unwrap())).unwrap();
                }
            }
        }
        std::fs::write(package.0.join("package.json"), "{\"type\": \"module\"}").unwrap();
        package
    }

    /// The modules in `part`.
    fn modules(&self, part: &str) -> Vec<PathBuf> {
        std::fs::read_dir(self.0.join(part)).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// What `tsc --strict` says about `files`; nothing without it.
    fn compile(&self, files: &[PathBuf]) -> Option<Output> {
        let installed = folder("../../../target/peers/textmate/node_modules/.bin/tsc");
        let tsc = if installed.exists() { installed } else { PathBuf::from("tsc") };
        let options =
            ["--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext"];
        let mut command = Command::new(tsc);
        command.args(options).args(["--outDir", "js"]).args(files).current_dir(&self.0).output().ok()
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn typescript_endpoints_talk_to_each_other() {
    let package = Package::new("typescript");
    let Some(compiled) = package.compile(&package.modules("golden")) else {
        eprintln!("skipped: there is no tsc");
        return;
    };
    assert!(compiled.status.success(), "{}", text(&compiled.stdout));
    let Ok(output) = Command::new("node").arg("js/play.js").current_dir(&package.0).output() else {
        eprintln!("skipped: there is no Node");
        return;
    };
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 7);
}

#[test]
fn tsc_finds_steps_out_of_order_and_nothing_else() {
    let package = Package::new("typescript-wrong");
    let Some(compiled) = package.compile(&package.modules("wrong")) else {
        eprintln!("skipped: there is no tsc");
        return;
    };
    let output = text(&compiled.stdout);
    let source = std::fs::read_to_string(folder("wrong").join("order.ts")).unwrap();
    for (number, line) in (1..).zip(source.lines()) {
        let found = output.contains(&format!("order.ts({number},"));
        assert_eq!(found, line.contains("// error"), "{number}: {line}\n{output}");
    }
    assert!(!output.contains("golden/"), "{output}");
}
