//! The step `wasm`: the pure crates build for WebAssembly, and in Node they answer as they do natively.
//!
//! Where rustup has the target, its compiler is used; otherwise that of Debian's `rustc-web`, unpacked below `target/`: installed,
//! it would conflict with rustup's. Its libraries are then built from source, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::Outcome;
use crate::tidy::edges;
use crate::workspace::{self, cargo};

const TARGET: &str = "wasm32-unknown-unknown";

/// Who is asked for the module's answers, natively.
const NATIVE: &str = "answers";

/// The texts that both are asked about: those of `examples/` with these names.
const EXTENSIONS: [&str; 6] = ["scr", "hml", "st", "gt", "kmc", "fsm"];

pub(super) fn run() -> Result<Outcome> {
    let folder = workspace::target().join("wasm");
    let mut build = cargo(&["build", "--target", TARGET, "--target-dir"]);
    build.arg(&folder).env("CARGO_PROFILE_DEV_DEBUG", "0");
    if !workspace::target_is_installed(TARGET) {
        match debian(&folder)? {
            Ok(compiler) => compiler.used_by(&mut build),
            Err(why) => return Ok(Outcome::Skipped(format!("no `rustup target add {TARGET}`; {why}"))),
        }
    }
    build.args(["--package", "referee-wasm"]);
    let packages = workspace::packages()?;
    for package in packages.iter().filter(|package| edges::is_pure(&package.name)) {
        build.args(["--package", &package.name]);
    }
    workspace::run(&mut build)?;
    let module = folder.join(TARGET).join("debug/referee_wasm.wasm");
    if !workspace::succeeds(Command::new("node").arg("--version")) {
        return Ok(Outcome::Skipped("built, but there is no node to run it".to_owned()));
    }
    // The whole workspace: what the tests have built is not built again.
    workspace::run(&mut cargo(&["build", "--profile", "test", "--workspace", "--example", NATIVE]))?;
    let files = examples()?;
    let native = said(
        Command::new(workspace::target().join("debug/examples").join(NATIVE)).args(&files),
        &folder.join("native.txt"),
    )?;
    let in_node = said(
        Command::new("node").arg("crates/wasm/answers.mjs").arg(module).args(&files),
        &folder.join("node.txt"),
    )?;
    if let Some(at) = native.lines().zip(in_node.lines()).position(|(native, node)| native != node) {
        bail!("line {} of `native.txt` and `node.txt` in `{}` differ", at + 1, folder.display());
    }
    if native.len() != in_node.len() || files.iter().any(|file| !native.contains(file.as_str())) {
        bail!("the answers in `{}` are not about all files", folder.display());
    }
    println!("{} files: {} bytes of answers are the same in Node", files.len(), native.len());
    Ok(Outcome::Passed)
}

/// What `command` prints, kept in `file`.
fn said(command: &mut Command, file: &Path) -> Result<String> {
    let output =
        command.current_dir(workspace::root()).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {command:?}"))?;
    fs::write(file, &output.stdout)?;
    if !output.status.success() {
        bail!("{} failed ({})", command.get_program().to_string_lossy(), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The protocols and properties of the examples.
fn examples() -> Result<Vec<String>> {
    let root = workspace::root();
    let mut found = Vec::new();
    let mut folders = vec![root.join("examples")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if path.is_dir() {
                folders.push(path);
            } else if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) {
                found.push(path.strip_prefix(&root)?.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Debian's compiler, unpacked.
struct Compiler {
    root: PathBuf,
    /// Where rustup has `rust-lld`.
    linker: PathBuf,
}

impl Compiler {
    fn used_by(&self, build: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths([self.linker.clone()].into_iter().chain(std::env::split_paths(&path)));
        build
            .args(["-Z", "build-std=std,panic_abort", "-Z", "build-std-features="])
            .env("RUSTC", self.root.join("usr/bin/rustc"))
            .env(
                "LD_LIBRARY_PATH",
                self.root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH)),
            )
            .env("RUSTC_BOOTSTRAP", "1")
            .env("PATH", path.unwrap_or_default());
    }
}

/// Debian's compiler below `folder`; otherwise why there is none.
fn debian(folder: &Path) -> Result<Result<Compiler, String>> {
    let Some(linker) = rustup_linker() else { return Ok(Err("no `rust-lld` of rustup".to_owned())) };
    let root = folder.join("rustc");
    if !root.is_dir() {
        let partial = folder.join("rustc.partial");
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir_all(&partial)?;
        if let Err(why) = unpack(&partial) {
            return Ok(Err(format!("no rustc-web of Debian ({why:#})")));
        }
        fs::rename(&partial, &root)?;
    }
    Ok(Ok(Compiler { root, linker }))
}

/// The folder of `rust-lld`.
fn rustup_linker() -> Option<PathBuf> {
    let said = Command::new("rustc").args(["--print", "target-libdir"]).output().ok()?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&said.stdout).trim());
    let folder = libraries.parent()?.join("bin");
    folder.join("rust-lld").is_file().then_some(folder)
}

/// Downloads the packages and unpacks them into `folder`, without what is not needed.
fn unpack(folder: &Path) -> Result<()> {
    let named = ["rustc-web", "rust-web-src", "libstd-rust-web-dev"];
    let listed = Command::new("apt-cache").args(["depends", "--recurse", "--important"]).args(named).output();
    let listed = listed.context("there is no apt-cache")?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let is_library = |name: &&str| name.starts_with("libstd-rust-web-1") || name.starts_with("libllvm");
    let mut wanted: Vec<&str> = listed.lines().filter(is_library).chain(named).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let quiet = |command: &mut Command| {
        println!("$ {command:?}");
        let output = command.current_dir(folder).stdin(Stdio::null()).output()?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or("it failed"));
        }
        Ok(())
    };
    quiet(Command::new("apt-get").args(["-qq", "download"]).args(&wanted))?;
    for entry in fs::read_dir(folder)? {
        let package = entry?.path();
        quiet(Command::new("dpkg").arg("-x").arg(&package).arg("."))?;
        fs::remove_file(package)?;
    }
    for entry in fs::read_dir(folder.join("usr/src"))? {
        for unused in ["src", "compiler"] {
            let _ =
                fs::remove_dir_all(entry.as_ref().map_or(PathBuf::new(), fs::DirEntry::path).join(unused));
        }
    }
    Ok(())
}
