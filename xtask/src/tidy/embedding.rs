//! A program with a monitor inside compiles the monitor, not the rest of Referee: what `referee` without its default
//! features brings along, as cargo resolves it.

use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::Finding;
use crate::workspace::cargo;

/// What an embedded monitor must not bring: the checker and its threads, the network, the command line.
const FORBIDDEN: &[&str] =
    &["referee-check", "referee-guard", "referee-wire", "referee-watch", "rayon", "tokio", "clap", "wasmi"];

const MANIFEST: &str = "crates/referee/Cargo.toml";

/// Asks cargo what an embedder compiles, and checks it.
pub(super) fn check() -> Result<Vec<Finding>> {
    let arguments = ["tree", "-p", "referee", "--no-default-features", "-e", "normal", "--prefix", "none"];
    let output = cargo(&arguments).stderr(Stdio::inherit()).output().context("cannot start `cargo tree`")?;
    if !output.status.success() {
        bail!("`cargo tree` failed ({})", output.status);
    }
    Ok(judge(&String::from_utf8_lossy(&output.stdout)))
}

/// `tree` has a line for each crate: its name, its version, and more.
fn judge(tree: &str) -> Vec<Finding> {
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let mut findings: Vec<_> = FORBIDDEN
        .iter()
        .filter(|name| names.contains(name))
        .map(|name| {
            let message = format!("without default features `referee` must not bring `{name}`");
            Finding::error(MANIFEST, 0, message)
        })
        .collect();
    if !names.contains(&"referee-monitor") {
        findings.push(Finding::error(MANIFEST, 0, "without default features `referee` has no monitor"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn the_checker_is_noticed() {
        assert!(judge("referee v0.1.0 (/r)\nreferee-monitor v0.1.0 (/r)\nserde v1.0.0\n").is_empty());
        let findings = judge("referee v0.1.0 (/r)\nreferee-monitor v0.1.0\nrayon v1.11.0\n");
        assert!(findings[0].message.contains("`rayon`"));
        assert!(judge("referee v0.1.0\n")[0].message.contains("no monitor"));
    }
}
