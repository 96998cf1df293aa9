//! What cargo knows about this workspace, and how to call it.
//!
//! Nothing here judges: [`crate::tidy`] and [`crate::ci`] do.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A package of the workspace.
#[derive(Debug)]
pub(crate) struct Package {
    /// Its name, for instance `referee-theory`.
    pub(crate) name: String,
    /// Its directory, relative to the root of the repository.
    pub(crate) directory: String,
    /// Its dependencies on packages of this repository.
    pub(crate) dependencies: Vec<Dependency>,
    /// The names of its benchmark targets.
    pub(crate) benches: Vec<String>,
}

/// A dependency on another package of this repository.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Whether only tests, examples and benchmarks see it.
    pub(crate) dev: bool,
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run`; the compiled-in value serves a direct call of the binary.
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A cargo command in the root, without standard input.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs `command` with its output on ours.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = command_line(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Whether `command` runs and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Whether the compiler can build for `target`.
pub(crate) fn target_is_installed(target: &str) -> bool {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).args(["--print", "target-libdir", "--target", target]).output();
    output.is_ok_and(|output| {
        output.status.success() && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
    })
}

/// What a user would type to get `command`.
fn command_line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or(command.get_program());
    let variables = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={:?}", name.to_string_lossy(), value?.to_string_lossy()))
    });
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    let words = variables.chain([program.to_string_lossy().into_owned()]).chain(arguments);
    words.collect::<Vec<_>>().join(" ")
}

/// The packages of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>> {
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start `cargo metadata`")?;
    if !output.status.success() {
        bail!("`cargo metadata` failed ({})", output.status);
    }
    let metadata = serde_json::from_slice(&output.stdout).context("`cargo metadata` printed no JSON")?;
    parse(&metadata)
}

/// The packages in what `cargo metadata` printed.
pub(crate) fn parse(metadata: &Value) -> Result<Vec<Package>> {
    let root = metadata["workspace_root"].as_str().context("`cargo metadata` names no workspace root")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    packages.iter().map(|package| parse_package(package, root)).collect()
}

fn parse_package(package: &Value, root: &str) -> Result<Package> {
    let name = package["name"].as_str().context("a package without a name")?;
    let manifest = package["manifest_path"].as_str().context("a package without a manifest")?;
    let directory = Path::new(manifest)
        .parent()
        .and_then(|directory| directory.strip_prefix(root).ok())
        .with_context(|| format!("`{manifest}` is outside the workspace"))?;
    let dependencies = items(package, "dependencies").filter(|dependency| dependency["path"].is_string());
    let benches = items(package, "targets")
        .filter(|target| items(target, "kind").any(|kind| kind.as_str() == Some("bench")));
    Ok(Package {
        name: name.to_owned(),
        directory: directory.to_string_lossy().replace('\\', "/"),
        dependencies: dependencies
            .filter_map(|dependency| {
                let name = dependency["name"].as_str()?.to_owned();
                Some(Dependency { name, dev: dependency["kind"].as_str() == Some("dev") })
            })
            .collect(),
        benches: benches.filter_map(|target| Some(target["name"].as_str()?.to_owned())).collect(),
    })
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value[key].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_carry_local_dependencies_by_kind() {
        let metadata = serde_json::json!({
            "workspace_root": "/r",
            "packages": [{
                "name": "referee-a",
                "manifest_path": "/r/crates/a/Cargo.toml",
                "dependencies": [
                    { "name": "serde", "kind": null },
                    { "name": "referee-b", "kind": null, "path": "/r/crates/b" },
                    { "name": "referee-c", "kind": "dev", "path": "/r/crates/c" },
                    { "name": "referee-d", "kind": "build", "path": "/r/crates/d" },
                ],
                "targets": [
                    { "name": "referee_a", "kind": ["lib"] },
                    { "name": "speed", "kind": ["bench"] },
                ],
            }],
        });
        let packages = parse(&metadata).unwrap();
        assert_eq!(packages[0].directory, "crates/a");
        assert_eq!(packages[0].benches, ["speed"]);
        let edges: Vec<_> = packages[0].dependencies.iter().map(|d| (d.name.as_str(), d.dev)).collect();
        assert_eq!(edges, [("referee-b", false), ("referee-c", true), ("referee-d", false)]);
    }

    #[test]
    fn this_workspace_is_read() {
        let packages = packages().unwrap();
        assert!(packages.iter().any(|package| package.name == "xtask" && package.directory == "xtask"));
    }
}
