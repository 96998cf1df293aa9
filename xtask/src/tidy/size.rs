//! What one person can hold in mind: functions that fit on a screen or two, and nothing written twice.
//!
//! Warnings as long as there are some; whoever removes the last one makes them errors ([`SEVERITY`]).

use std::collections::HashMap;

use super::rust_files::is_test_file;
use super::source;
use super::tree::Tree;
use super::{Finding, Severity};

/// Lines of the longest function, from its head to its closing brace; blank lines and comments do not count.
const MAX_FUNCTION: usize = 80;
/// Lines that two files may have in common in a row; blank lines, comments and `use` do not count.
const MAX_RUN: usize = 12;

/// What becomes of a finding.
const SEVERITY: Severity = Severity::Warning;

/// Lines with fewer letters and digits in all say nothing: closing braces, `Ok(())`.
const MIN_CONTENT: usize = 80;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let files: Vec<File<'_>> = tree
        .with_end(".rs")
        .filter(|(path, _)| path.contains("/src/") && !is_test_file(path) && !is_test_tool(path))
        .map(|(path, text)| File::new(path, text))
        .collect();
    let mut findings: Vec<Finding> = files.iter().flat_map(long_functions).collect();
    findings.extend(common_runs(&files));
    findings
}

fn finding(path: &str, line: usize, message: String) -> Finding {
    Finding { severity: SEVERITY, ..Finding::error(path, line, message) }
}

/// The papers are transcribed as they stand, however long.
fn is_test_tool(path: &str) -> bool {
    path.starts_with("crates/reference/") || path.starts_with("crates/testkit/")
}

/// A file without its unit tests.
struct File<'a> {
    path: &'a str,
    code: String,
    /// The lines that count, each with its number from 1.
    lines: Vec<(usize, &'a str)>,
}

impl<'a> File<'a> {
    fn new(path: &'a str, text: &'a str) -> Self {
        let code = source::code(text);
        let tests = source::test_modules(&code);
        let lines = text.lines().zip(code.lines()).enumerate();
        let lines = lines
            .filter(|(at, (_, code))| !code.trim().is_empty() && !tests.iter().any(|test| test.contains(at)))
            .map(|(at, (text, _))| (at + 1, text.trim()))
            .collect();
        Self { path, code, lines }
    }
}

fn long_functions(file: &File<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let code: Vec<&str> = file.code.lines().collect();
    for &(head, _) in &file.lines {
        let line = code[head - 1];
        let indent = line.len() - line.trim_start().len();
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if !words.take(8).any(|word| word == "fn") || line.trim_end().ends_with(['}', ';']) {
            continue;
        }
        let closes = |line: &str| line.trim() == "}" && line.len() - line.trim_start().len() == indent;
        let Some(length) = code[head..].iter().position(|line| closes(line)) else { continue };
        let counted = code[head - 1..=head + length].iter().filter(|line| !line.trim().is_empty()).count();
        if counted > MAX_FUNCTION {
            let message =
                format!("a function of {counted} lines (at most {MAX_FUNCTION}): give its steps names");
            findings.push(finding(file.path, head, message));
        }
    }
    findings
}

fn common_runs(files: &[File<'_>]) -> Vec<Finding> {
    let mut first: HashMap<Vec<&str>, (usize, usize)> = HashMap::new();
    let mut findings: Vec<Finding> = Vec::new();
    let mut reported: Option<(usize, usize, usize)> = None;
    for (number, file) in files.iter().enumerate() {
        let lines: Vec<_> = file.lines.iter().filter(|(_, line)| !line.starts_with("use ")).collect();
        for window in lines.windows(MAX_RUN + 1) {
            let run: Vec<&str> = window.iter().map(|(_, line)| *line).collect();
            let content = run.iter().flat_map(|line| line.chars()).filter(|c| c.is_alphanumeric()).count();
            if content < MIN_CONTENT {
                continue;
            }
            let here = window[0].0;
            let (other, there) = *first.entry(run).or_insert((number, here));
            if other == number {
                continue;
            }
            // A longer run is one finding: its windows follow each other.
            let follows = reported == Some((number, other, here.wrapping_sub(1)));
            reported = Some((number, other, here));
            if !follows {
                let message = format!(
                    "repeats more than {MAX_RUN} lines of `{}:{there}`: let one use the other",
                    files[other].path
                );
                findings.push(finding(file.path, here, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
        check(&Tree::from(files)).iter().map(ToString::to_string).collect()
    }

    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "    // why\n\n    step();\n".repeat(lines - 2))
    }

    #[test]
    fn eighty_lines_are_the_most() {
        assert!(messages([("crates/a/src/b.rs", &function(80))]).is_empty());
        let found = messages([("crates/a/src/b.rs", &function(81))]);
        assert!(
            found.len() == 1 && found[0].contains("crates/a/src/b.rs:1: a function of 81 lines"),
            "{found:?}"
        );
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function(90));
        assert!(messages([("crates/a/src/b.rs", &tests), ("crates/a/tests/b.rs", &function(90))]).is_empty());
    }

    #[test]
    fn what_is_written_twice_is_told_once() {
        let lines = |count: usize| -> String {
            (0..count).map(|n| format!("let value{n} = compute({n});\n")).collect()
        };
        let (short, long) = (lines(MAX_RUN), lines(2 * MAX_RUN));
        assert!(messages([("crates/a/src/b.rs", &short), ("crates/a/src/c.rs", &short)]).is_empty());
        let found = messages([("crates/a/src/b.rs", &long), ("crates/a/src/c.rs", &long)]);
        assert!(
            found.len() == 1 && found[0].contains("repeats more than 12 lines of `crates/a/src/b.rs:1`"),
            "{found:?}"
        );
        assert!(messages([("crates/a/src/b.rs", &(long.clone() + &long))]).is_empty());
    }
}
