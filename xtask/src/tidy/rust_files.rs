//! Rules for every Rust file: a header, a length one can read, a place in the layout, nothing unfinished.

use super::Finding;
use super::source;
use super::tree::Tree;

/// Production lines above which a file is asked to split.
const LONG: usize = 400;
/// Production lines above which it must.
const TOO_LONG: usize = 600;

/// Modules of crates with I/O that have none themselves: events and the time in, actions out. The crates that are pure as a whole
/// have a `clippy.toml`.
const PURE_MODULES: &[&str] = &[
    "crates/guard/src/multiparty/peer_message",
    "crates/guard/src/multiparty/relamon/role_adapter",
    "crates/guard/src/multiparty/retransmit",
    "crates/guard/src/multiparty/role_session",
    "crates/guard/src/multiparty/session_table",
    "crates/guard/src/multiparty/trace_context",
    "crates/guard/src/multiparty/violation",
];
/// What such a module does not use.
const IMPURE: &[&str] =
    &["Instant", "SystemTime", "tokio", "Mutex", "tracing", "fs", "io", "net", "env", "thread"];

// Both in pieces, here and in the tests, so that a plain text search finds only real uses.
const STUBS: &[&str] = &["todo", "unimplemented"];
const IGNORED: &str = concat!("#[", "ignore");

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_end(".rs").flat_map(|(path, text)| check_file(path, text)).collect()
}

fn check_file(path: &str, text: &str) -> Vec<Finding> {
    let code = source::code(text);
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        findings.push(Finding::error(path, 1, "does not open with `//!`: say what the file is and is not"));
    }
    if path.rsplit('/').next() == Some("mod.rs") {
        findings.push(Finding::error(
            path,
            0,
            "is called `mod.rs`: name it after its module, beside the folder",
        ));
    }
    findings.extend(check_length(path, &code));
    findings.extend(check_finished(path, &code));
    findings.extend(check_pure(path, &code));
    findings
}

fn check_pure(path: &str, code: &str) -> Vec<Finding> {
    let module = path.trim_end_matches(".rs");
    let is_within =
        |pure: &str| module.strip_prefix(pure).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_for_tests = is_test_file(path) || path.ends_with("/schedules.rs");
    if is_for_tests || !PURE_MODULES.iter().any(|pure| is_within(pure)) {
        return Vec::new();
    }
    let tests = source::test_modules(code);
    let lines = code.lines().enumerate().filter(|(at, _)| !tests.iter().any(|test| test.contains(at)));
    let impure = |(at, line): (usize, &str)| {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        let word = words.find(|word| IMPURE.contains(word))?;
        Some(Finding::error(
            path,
            at + 1,
            format!("`{word}` in a module without I/O and clock: its caller has them"),
        ))
    };
    lines.filter_map(impure).collect()
}

fn check_length(path: &str, code: &str) -> Option<Finding> {
    if is_test_file(path) {
        return None;
    }
    let tests: usize = source::test_modules(code).into_iter().map(|lines| lines.len()).sum();
    let lines = code.lines().count() - tests;
    let message = format!("has {lines} lines of production code: which two ideas live in it?");
    match lines {
        _ if lines > TOO_LONG => Some(Finding::error(path, 0, format!("{message} (at most {TOO_LONG})"))),
        _ if lines > LONG => Some(Finding::warning(path, 0, message)),
        _ => None,
    }
}

/// Whether the whole file is compiled for tests only.
pub(super) fn is_test_file(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

fn check_finished(path: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in STUBS {
        findings.extend(source::macro_calls(code, name).map(|at| {
            Finding::error(
                path,
                source::line_of(code, at) + 1,
                format!("`{name}!` is a stub that a user can hit"),
            )
        }));
    }
    for (at, found) in code.match_indices(IGNORED) {
        if code[at + found.len()..].trim_start().starts_with([']', '=']) {
            let message = "an ignored test: assert what happens today in `mod gaps` instead";
            findings.push(Finding::error(path, source::line_of(code, at) + 1, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::Severity;

    const HEADER: &str = "//! A file.\n";

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&Tree::from([(path, text)])).iter().map(ToString::to_string).collect()
    }

    fn assert_one(path: &str, text: &str, part: &str) {
        let messages = messages(path, text);
        assert!(messages.len() == 1 && messages[0].contains(part), "{messages:?}");
    }

    #[test]
    fn a_good_file_passes() {
        assert_eq!(messages("crates/a/src/lib.rs", "//! A file.\n\nfn f() {}\n"), Vec::<String>::new());
    }

    #[test]
    fn a_file_without_header_fails() {
        assert_one("crates/a/build.rs", "fn main() {}\n//! late\n", "build.rs:1: does not open");
    }

    #[test]
    fn modules_without_a_clock_stay_so() {
        let text = "//! A file.\nuse std::time::Instant;\n#[cfg(test)]\nmod tests {\n    use std::io;\n}\n";
        let table = "crates/guard/src/multiparty/session_table";
        assert_one(&format!("{table}/timeouts.rs"), text, "timeouts.rs:2: `Instant`");
        assert_one(&format!("{table}.rs"), text, "session_table.rs:2: `Instant`");
        assert_eq!(messages(&format!("{table}s.rs"), text), Vec::<String>::new());
        assert_eq!(messages(&format!("{table}/tests.rs"), text), Vec::<String>::new());
    }

    #[test]
    fn a_mod_rs_fails() {
        assert_one("crates/a/src/b/mod.rs", HEADER, "`mod.rs`");
    }

    #[test]
    fn six_hundred_lines_are_the_most() {
        let file = |lines: usize| HEADER.to_owned() + &"fn f() {}\n".repeat(lines - 1);
        assert_eq!(check_file("a.rs", &file(400)), []);
        assert_eq!(check_file("a.rs", &file(600))[0].severity, Severity::Warning);
        assert_one("a.rs", &file(601), "error: a.rs: has 601 lines");
    }

    #[test]
    fn tests_do_not_count() {
        let tests = "#[cfg(test)]\nmod tests {\n".to_owned() + &"fn f() {}\n".repeat(700) + "}\n";
        assert_eq!(messages("crates/a/src/lib.rs", &(HEADER.to_owned() + &tests)), Vec::<String>::new());
        let long = HEADER.to_owned() + &"fn f() {}\n".repeat(700);
        assert_eq!(messages("crates/a/tests/b.rs", &long), Vec::<String>::new());
        assert_eq!(messages("crates/a/src/b/tests.rs", &long), Vec::<String>::new());
        assert_one("crates/a/src/b/latests.rs", &long, "701 lines");
    }

    #[test]
    fn stubs_fail_where_they_stand() {
        for name in STUBS {
            let text = format!("//! A file.\n\nfn f() {{\n    std::{name}!(\"x\")\n}}\n");
            assert_one("a.rs", &text, &format!("a.rs:4: `{name}!`"));
        }
    }

    #[test]
    fn ignored_tests_fail() {
        for rest in ["]", " = \"slow\"]"] {
            let text = format!("//! A file.\n#[test]\n{IGNORED}{rest}\nfn f() {{}}\n");
            assert_one("a.rs", &text, "a.rs:3: an ignored test");
        }
    }

    #[test]
    fn mentions_are_not_uses() {
        let stub = STUBS[0];
        let text = format!(
            "//! No {stub}!() here.\n// {IGNORED}]\nconst S: &str = \"{stub}!() {IGNORED}]\";\n{IGNORED}_me] fn f() {{}}\n"
        );
        assert_eq!(messages("a.rs", &text), Vec::<String>::new());
    }
}
