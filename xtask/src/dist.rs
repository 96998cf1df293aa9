//! `cargo xtask dist`: what people install, in `target/dist`: the binary, manual pages, completions, a Debian package, a
//! Python wheel, a bill of materials, and checksums of all of them.
//!
//! What a tool is missing for is named at the end; the binary, its pages and the checksums need nothing but Rust.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace::{self, cargo, root, run, succeeds, target};

/// The binary without its symbols may not be larger.
const MAX_BINARY: u64 = 25_000_000;

const MUSL: &str = "x86_64-unknown-linux-musl";

/// Builds everything that can be built here.
pub(crate) fn dist() -> Result<()> {
    run(&mut cargo(&["build", "--locked", "--profile", "dist", "--package", "referee", "--bin", "referee"]))?;
    let folder = target().join("dist");
    let binary = folder.join("referee");
    let size = fs::metadata(&binary).with_context(|| format!("no `{}`", binary.display()))?.len();
    if size > MAX_BINARY {
        bail!("the binary has {size} bytes, more than {MAX_BINARY}");
    }
    println!("referee: {size} bytes");
    let mut made = vec![binary.clone()];
    documents(&binary, &folder)?;
    let mut missing = Vec::new();
    for (what, build) in [
        (
            "Debian package (`cargo install cargo-deb`)",
            debian_package as fn(&Path) -> Result<Option<PathBuf>>,
        ),
        ("Python wheel (`pip install maturin`)", wheel),
        ("bill of materials (`cargo install cargo-cyclonedx`)", bill_of_materials),
        ("static binary (`rustup target add x86_64-unknown-linux-musl`)", static_binary),
    ] {
        match build(&folder)? {
            Some(file) => made.push(file),
            None => missing.push(what),
        }
    }
    checksums(&folder, &made)?;
    made.iter().for_each(|file| println!("{}", file.display()));
    missing.iter().for_each(|what| println!("not built here: {what}"));
    Ok(())
}

/// Manual pages and completions, as packages want them.
fn documents(binary: &Path, folder: &Path) -> Result<()> {
    let man = folder.join("man");
    run(Command::new(binary).arg("man").arg("--output").arg(&man))?;
    let completions = folder.join("completions");
    fs::create_dir_all(&completions)?;
    for (shell, file) in [("bash", "referee"), ("zsh", "_referee"), ("fish", "referee.fish")] {
        let output = Command::new(binary).args(["completions", shell]).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            bail!("`referee completions {shell}` failed");
        }
        fs::write(completions.join(file), output.stdout)?;
    }
    Ok(())
}

fn debian_package(folder: &Path) -> Result<Option<PathBuf>> {
    if !succeeds(&mut cargo(&["deb", "--version"])) {
        return Ok(None);
    }
    let file = folder.join("referee.deb");
    let mut command = cargo(&["deb", "--no-build", "--package", "referee", "--profile", "dist", "--output"]);
    run(command.arg(&file))?;
    Ok(Some(file))
}

fn wheel(folder: &Path) -> Result<Option<PathBuf>> {
    if !succeeds(Command::new("maturin").arg("--version")) {
        return Ok(None);
    }
    let mut command = Command::new("maturin");
    command.args(["build", "--profile", "dist", "--out"]).arg(folder);
    run(command.current_dir(root().join("deploy/python")))?;
    let wheels = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(wheels.into_iter().find(|path| path.extension().is_some_and(|end| end == "whl")))
}

fn bill_of_materials(folder: &Path) -> Result<Option<PathBuf>> {
    if !succeeds(&mut cargo(&["cyclonedx", "--version"])) {
        return Ok(None);
    }
    let manifest = root().join("crates/referee/Cargo.toml");
    let mut command =
        cargo(&["cyclonedx", "--format", "json", "--override-filename", "referee-bom", "--manifest-path"]);
    run(command.arg(manifest))?;
    // It writes one beside every manifest.
    let file = folder.join("referee-bom.json");
    fs::copy(root().join("crates/referee/referee-bom.json"), &file)?;
    for package in workspace::packages()? {
        let _ = fs::remove_file(root().join(package.directory).join("referee-bom.json"));
    }
    Ok(Some(file))
}

fn static_binary(folder: &Path) -> Result<Option<PathBuf>> {
    if !workspace::target_is_installed(MUSL) {
        return Ok(None);
    }
    run(&mut cargo(&[
        "build",
        "--locked",
        "--profile",
        "dist",
        "--target",
        MUSL,
        "--package",
        "referee",
        "--bin",
        "referee",
    ]))?;
    let file = folder.join("referee-static");
    fs::copy(target().join(MUSL).join("dist/referee"), &file)?;
    Ok(Some(file))
}

fn checksums(folder: &Path, files: &[PathBuf]) -> Result<()> {
    let names = files.iter().filter_map(|file| file.file_name());
    let output =
        Command::new("sha256sum").args(names).current_dir(folder).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("`sha256sum` failed");
    }
    fs::write(folder.join("SHA256SUMS"), output.stdout)?;
    Ok(())
}
