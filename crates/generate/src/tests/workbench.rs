//! Compiles and runs programs over generated endpoints, without cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with the compiled endpoint crate, removed at the end.
pub(super) struct Workbench {
    folder: PathBuf,
}

fn rustc() -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--edition", "2024", "--color", "never"]);
    command
}

impl Workbench {
    pub(super) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("referee-generate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let bench = Self { folder };
        let output = rustc()
            .args(["--crate-type", "rlib", "--crate-name", "referee_endpoint", "--cfg", "feature=\"std\""])
            .args(["--cap-lints", "allow", "-o"])
            .arg(bench.path("libreferee_endpoint.rlib"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../endpoint/src/lib.rs"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        bench
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// What `rustc` says about the program in `file`.
    pub(super) fn compile(&self, file: &str, arguments: &[&str]) -> Output {
        let mut library = std::ffi::OsString::from("referee_endpoint=");
        library.push(self.path("libreferee_endpoint.rlib"));
        let mut command = rustc();
        command.arg("--extern").arg(library).args(arguments).arg("-o").arg(self.path("program"));
        command.arg(self.path(file)).output().unwrap()
    }

    /// What the program in `file` prints.
    pub(super) fn run(&self, file: &str) -> String {
        let compiled = self.compile(file, &[]);
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let output = Command::new(self.path("program")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the Python program in `file` prints; nothing if there is no Python 3.11 or newer.
    pub(super) fn run_python(&self, file: &str) -> Option<String> {
        let recent = ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"];
        if !Command::new("python3").args(recent).status().is_ok_and(|status| status.success()) {
            return None;
        }
        let output = Command::new("python3").arg(file).current_dir(&self.folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap())
    }
}

impl Workbench {
    /// Fails if `mypy --strict`, where it is installed, has something to say about `file`.
    pub(super) fn mypy(&self, file: &str) {
        let options = ["-m", "mypy", "--strict", "--python-version", "3.11", file];
        let Ok(output) = Command::new("python3").args(options).current_dir(&self.folder).output() else {
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let is_missing = String::from_utf8_lossy(&output.stderr).contains("No module named mypy");
        assert!(output.status.success() || is_missing, "{text}");
    }

    /// What the program in the TypeScript module `file` prints, once `tsc --strict` has nothing to say; nothing without `tsc` and Node.
    pub(super) fn run_typescript(&self, file: &str) -> Option<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let installed = root.join("target/peers/textmate/node_modules/.bin/tsc");
        let tsc = if installed.exists() { installed } else { PathBuf::from("tsc") };
        let options = ["--strict", "--target", "es2022", "--module", "nodenext", "--outDir", "js"];
        let compiled = Command::new(tsc).args(options).arg(file).current_dir(&self.folder).output().ok()?;
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stdout));
        let script = self.path("js").join(file).with_extension("js");
        let output = Command::new("node").arg(script).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap())
    }
}

impl Drop for Workbench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
