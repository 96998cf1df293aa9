//! `cargo xtask book`: `docs/` as a site, by mdBook, in `target/book`.
//!
//! The reference is made from the program: commands from their help, the configuration from its schema, diagnostics from their
//! table. Links that lead out of the documents become plain text; every other link must lead somewhere.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace::{cargo, root, run, succeeds, target};

/// Pages of the root that are part of the book.
const ROOT_PAGES: &[&str] =
    &["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

const BOOK: &str = "\
[book]
title = \"Referee\"
language = \"en\"
src = \"src\"
[build]
build-dir = \"html\"
create-missing = false
[output.html]
default-theme = \"light\"
preferred-dark-theme = \"navy\"
[output.html.search]
limit-results = 20
";

/// Builds the book.
pub(crate) fn book() -> Result<()> {
    if !succeeds(Command::new("mdbook").arg("--version")) {
        bail!("mdBook is not installed: `cargo install mdbook`");
    }
    let folder = target().join("book");
    let source = folder.join("src");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(source.join("reference"))?;
    fs::write(folder.join("book.toml"), BOOK)?;
    copy(&root().join("docs"), &source)?;
    fs::copy(root().join("deploy/book/SUMMARY.md"), source.join("SUMMARY.md"))?;
    for page in ROOT_PAGES {
        fs::copy(root().join(page), source.join(page))?;
    }
    reference(&source)?;
    for page in pages(&source)? {
        let text = fs::read_to_string(&page)?;
        fs::write(&page, with_links_inside(&text, &page, &source))?;
    }
    run(Command::new("mdbook").arg("build").arg(&folder))?;
    let broken: Vec<String> = pages(&source)?.iter().flat_map(|page| broken_links(page)).collect();
    if !broken.is_empty() {
        bail!("links that lead nowhere:\n{}", broken.join("\n"));
    }
    println!("{}", folder.join("html/index.html").display());
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// All Markdown files under `folder`.
fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    let mut pending = vec![folder.to_path_buf()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

fn reference(source: &Path) -> Result<()> {
    run(&mut cargo(&["build", "--quiet", "--package", "referee", "--bin", "referee"]))?;
    let binary = target().join("debug/referee");
    let said = |arguments: &[&str]| -> Result<String> {
        let output = Command::new(&binary).args(arguments).stderr(Stdio::inherit()).output()?;
        String::from_utf8(output.stdout).context("the program prints text")
    };
    let page = |name: &str, text: String| fs::write(source.join("reference").join(name), text);
    page("commands.md", commands(&said)?)?;
    let schema: Value = serde_json::from_str(&said(&["guard", "--schema"])?)?;
    page("configuration.md", configuration(&schema))?;
    let mut diagnostics = "# Diagnostics\n\n`referee explain CODE` prints the same.\n".to_owned();
    for line in said(&["explain"])?.lines() {
        let Some(code) = line.split_whitespace().next().filter(|word| word.starts_with("RF")) else {
            continue;
        };
        let _ = write!(diagnostics, "\n## {code}\n\n```text\n{}```\n", said(&["explain", code])?);
    }
    page("diagnostics.md", diagnostics)?;
    let schema = said(&["check", "--schema"])?;
    page(
        "check-json.md",
        format!(
            "# The answer of `check` in JSON\n\n`referee check --schema` prints this JSON Schema.\n\n```json\n{schema}```\n"
        ),
    )?;
    Ok(())
}

fn commands(said: &dyn Fn(&[&str]) -> Result<String>) -> Result<String> {
    let mut text = format!("# Commands\n\n```text\n{}```\n", said(&["--help"])?);
    let help = said(&["--help"])?;
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        let _ = write!(text, "\n## referee {name}\n\n```text\n{}```\n", said(&[name, "--help"])?);
    }
    Ok(text)
}

/// The keys of each table of the configuration.
fn configuration(schema: &Value) -> String {
    let mut text = "# Configuration of a guard\n\nMade from `referee guard --schema`.\n".to_owned();
    table(&mut text, "The file", schema);
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        if definition["properties"].is_object() {
            table(&mut text, name, definition);
        }
    }
    text
}

fn table(text: &mut String, name: &str, schema: &Value) {
    let _ = write!(
        text,
        "\n## {name}\n\n{}\n\n| key | meaning |\n|---|---|\n",
        schema["description"].as_str().unwrap_or_default()
    );
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let meaning =
            property["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(text, "| `{key}` | {meaning} |");
    }
}

/// Where each link `](TARGET)` of `text` begins and ends.
fn links(text: &str) -> Vec<std::ops::Range<usize>> {
    let starts = text.match_indices("](").map(|(at, _)| at + 2);
    starts.filter_map(|start| Some(start..start + text.get(start..)?.find(')')?)).collect()
}

/// `text` of `page` with links to pages of the book only: those of the root are beside the others here, files are named.
fn with_links_inside(text: &str, page: &Path, source: &Path) -> String {
    let mut result = text.to_owned();
    for range in links(text).into_iter().rev() {
        let target = &text[range.clone()];
        if target.contains("://") || target.starts_with('#') || target.is_empty() {
            continue;
        }
        let (path, place) = target
            .split_once('#')
            .map_or((target, String::new()), |(path, place)| (path, format!("#{place}")));
        let name = path.trim_start_matches("../").trim_start_matches("docs/");
        let here = page.parent().unwrap_or(source);
        if here.join(path).is_file() {
            continue;
        }
        let up = "../".repeat(here.strip_prefix(source).map_or(0, |inside| inside.components().count()));
        if source.join(name).is_file() {
            result.replace_range(range, &format!("{up}{name}{place}"));
        } else {
            // From `](` to `)`, and the bracket that opens it.
            result.replace_range(range.start - 2..range.end + 1, "");
            if let Some(open) = result[..range.start - 2].rfind('[') {
                result.remove(open);
            }
        }
    }
    result
}

fn broken_links(page: &Path) -> Vec<String> {
    let Ok(text) = fs::read_to_string(page) else { return vec![page.display().to_string()] };
    let here = page.parent().unwrap_or(Path::new("."));
    let outside = |target: &&str| !target.contains("://") && !target.starts_with('#') && !target.is_empty();
    let targets = links(&text).into_iter().map(|range| &text[range]).filter(outside);
    let is_broken = |target: &&str| !here.join(target.split('#').next().unwrap_or(target)).exists();
    targets.filter(is_broken).map(|target| format!("{}: {target}", page.display())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_become_text() {
        let source = Path::new("/nowhere");
        let text = "see [the fuzzers](../fuzz/README.md) and [that](https://example.org/)";
        let rewritten = with_links_inside(text, &source.join("a.md"), source);
        assert_eq!(rewritten, "see the fuzzers and [that](https://example.org/)");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let folder = std::env::temp_dir().join(format!("referee-book-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let page = folder.join("a.md");
        fs::write(&page, "[a](a.md#x) [b](b.md)").unwrap();
        let broken = broken_links(&page);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(broken, [format!("{}: b.md", page.display())]);
    }
}
