//! Which crate may depend on which: one table, checked against what cargo reports.
//!
//! Dependencies point one way, from the binary towards `referee-theory`. The slow reference and the test
//! tools are seen by tests only, so that nothing a user runs can reach them.

use super::Finding;
use super::tree::Tree;
use crate::workspace::Package;

/// What one crate may depend on within the workspace.
struct Rule {
    name: &'static str,
    /// Whether it must stay free of I/O, clock and environment, and build for WebAssembly.
    pure: bool,
    /// What the crate itself may use.
    uses: &'static [&'static str],
    /// What its tests may use besides.
    tests_use: &'static [&'static str],
}

const THEORY: &str = "referee-theory";
const SYNTAX: &str = "referee-syntax";
const DRAW: &str = "referee-draw";
const CHECK: &str = "referee-check";
const MONITOR: &str = "referee-monitor";
const PIPELINE: &str = "referee-pipeline";
const IDE: &str = "referee-ide";
const LSP: &str = "referee-lsp";
const STUDIO: &str = "referee-studio";
const FUNCTIONS: &str = "referee-functions";
const WATCH: &str = "referee-watch";
const EXTRACT: &str = "referee-extract";
const CAPTURE: &str = "referee-capture";
const ENDPOINT: &str = "referee-endpoint";
const GENERATE: &str = "referee-generate";
const PROBE: &str = "referee-probe";
const JETSTREAM: &str = "referee-jetstream";
const SESSION: &str = "referee-session";
const VERDICT: &str = "referee-verdict";
const WIRE: &str = "referee-wire";
const GUARD: &str = "referee-guard";
const FACADE: &str = "referee";
const REFERENCE: &str = "referee-reference";
const TESTKIT: &str = "referee-testkit";

/// What the tests of any crate may use.
const TEST_TOOLS: &[&str] = &[REFERENCE, TESTKIT];

/// A row may stand here before its crate exists.
const RULES: &[Rule] = &[
    Rule { name: THEORY, pure: true, uses: &[], tests_use: &[] },
    Rule { name: DRAW, pure: true, uses: &[], tests_use: &[] },
    Rule { name: SYNTAX, pure: true, uses: &[THEORY, DRAW], tests_use: &[] },
    Rule { name: CHECK, pure: true, uses: &[THEORY], tests_use: &[SYNTAX] },
    Rule { name: MONITOR, pure: true, uses: &[THEORY, CHECK], tests_use: &[SYNTAX] },
    Rule { name: PIPELINE, pure: true, uses: &[THEORY, SYNTAX, CHECK, MONITOR], tests_use: &[] },
    Rule { name: IDE, pure: true, uses: &[THEORY, SYNTAX, CHECK, PIPELINE], tests_use: &[] },
    Rule { name: LSP, pure: false, uses: &[SYNTAX, PIPELINE, IDE], tests_use: &[] },
    Rule { name: STUDIO, pure: false, uses: &[], tests_use: &[] },
    Rule { name: WIRE, pure: true, uses: &[THEORY, MONITOR], tests_use: &[SYNTAX] },
    Rule { name: VERDICT, pure: true, uses: &[THEORY, MONITOR], tests_use: &[] },
    Rule {
        name: SESSION,
        pure: true,
        uses: &[THEORY, MONITOR, VERDICT, WIRE],
        tests_use: &[SYNTAX, PIPELINE, WATCH],
    },
    Rule { name: ENDPOINT, pure: false, uses: &[], tests_use: &[] },
    Rule {
        name: GENERATE,
        pure: true,
        uses: &[THEORY, MONITOR],
        tests_use: &[SYNTAX, CHECK, PIPELINE, ENDPOINT],
    },
    Rule {
        name: PROBE,
        pure: true,
        uses: &[THEORY, MONITOR, VERDICT, WIRE, SESSION],
        tests_use: &[SYNTAX, PIPELINE],
    },
    Rule { name: EXTRACT, pure: true, uses: &[], tests_use: &[] },
    Rule { name: CAPTURE, pure: true, uses: &[MONITOR, SESSION, WIRE], tests_use: &[SYNTAX] },
    Rule { name: FUNCTIONS, pure: false, uses: &[THEORY, MONITOR], tests_use: &[SYNTAX] },
    Rule { name: WATCH, pure: false, uses: &[THEORY, MONITOR], tests_use: &[SYNTAX, PIPELINE, REFERENCE] },
    Rule { name: JETSTREAM, pure: false, uses: &[WATCH], tests_use: &[] },
    Rule {
        name: GUARD,
        pure: false,
        uses: &[THEORY, SYNTAX, CHECK, MONITOR, PIPELINE, VERDICT, SESSION, FUNCTIONS, WIRE],
        tests_use: &[],
    },
    Rule {
        name: FACADE,
        pure: false,
        uses: &[
            THEORY, SYNTAX, DRAW, CHECK, MONITOR, PIPELINE, VERDICT, FUNCTIONS, EXTRACT, CAPTURE, SESSION,
            GENERATE, PROBE, WATCH, JETSTREAM, WIRE, GUARD, IDE, LSP, STUDIO,
        ],
        tests_use: &[],
    },
    // Its exports are `extern` functions with a buffer between them, so it is not listed as pure: it has a state.
    Rule { name: "referee-wasm", pure: false, uses: &[FACADE, IDE], tests_use: &[] },
    Rule { name: REFERENCE, pure: false, uses: &[THEORY], tests_use: &[] },
    Rule { name: TESTKIT, pure: false, uses: &[THEORY, SYNTAX, REFERENCE], tests_use: &[] },
    Rule { name: "xtask", pure: false, uses: &[], tests_use: &[] },
];

/// The file that holds [`RULES`], for messages.
const HERE: &str = "xtask/src/tidy/edges.rs";

/// Whether the package called `name` must stay free of I/O.
pub(crate) fn is_pure(name: &str) -> bool {
    RULES.iter().any(|rule| rule.name == name && rule.pure)
}

pub(super) fn check(packages: &[Package], tree: &Tree) -> Vec<Finding> {
    packages.iter().flat_map(|package| check_package(package, tree)).collect()
}

fn check_package(package: &Package, tree: &Tree) -> Vec<Finding> {
    let manifest = format!("{}/Cargo.toml", package.directory);
    let Some(rule) = RULES.iter().find(|rule| rule.name == package.name) else {
        let message = format!("`{}` has no row in `{HERE}`: say there what it may depend on", package.name);
        return vec![Finding::error(&manifest, 0, message)];
    };
    let mut findings: Vec<_> = package
        .dependencies
        .iter()
        .filter_map(|dependency| {
            let name = dependency.name.as_str();
            let in_crate = rule.uses.contains(&name);
            let in_tests = in_crate || rule.tests_use.contains(&name) || TEST_TOOLS.contains(&name);
            let problem = match (dependency.dev, in_crate, in_tests) {
                (false, true, _) | (true, _, true) => return None,
                (false, false, true) => "may depend on it for tests only, under [dev-dependencies]",
                (_, _, false) => "may not depend on it",
            };
            Some(Finding::error(
                &manifest,
                0,
                format!("`{name}`: `{}` {problem} (see `{HERE}`)", package.name),
            ))
        })
        .collect();
    let lints = format!("{}/clippy.toml", package.directory);
    if rule.pure && !tree.text(&lints).is_some_and(|text| text.contains("disallowed-methods")) {
        findings.push(Finding::error(
            &lints,
            0,
            format!("`{}` is pure: its own clippy.toml must disallow files, network, clock", package.name),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn messages(name: &str, dependencies: &[(&str, bool)]) -> Vec<String> {
        let package = Package {
            name: name.to_owned(),
            directory: "crates/x".to_owned(),
            dependencies: dependencies
                .iter()
                .map(|&(name, dev)| Dependency { name: name.to_owned(), dev })
                .collect(),
            benches: Vec::new(),
        };
        let tree = Tree::from([("crates/x/clippy.toml", "disallowed-methods = []")]);
        check(&[package], &tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn allowed_edges_pass() {
        let none: Vec<String> = Vec::new();
        assert_eq!(messages(SYNTAX, &[(THEORY, false), (DRAW, false), (TESTKIT, true)]), none);
        assert_eq!(messages(CHECK, &[(THEORY, false), (SYNTAX, true), (REFERENCE, true)]), none);
        assert_eq!(messages(TESTKIT, &[(REFERENCE, false)]), none);
    }

    #[test]
    fn an_edge_the_wrong_way_fails_in_tests_too() {
        assert!(messages(THEORY, &[(CHECK, false)])[0].contains("may not depend"));
        assert!(messages(THEORY, &[(CHECK, true)])[0].contains("may not depend"));
    }

    #[test]
    fn only_tests_reach_the_reference() {
        for name in [THEORY, SYNTAX, DRAW, CHECK, MONITOR, WATCH, "referee"] {
            for tool in TEST_TOOLS {
                assert!(messages(name, &[(tool, false)])[0].contains("for tests only"), "{name} {tool}");
                assert!(messages(name, &[(tool, true)]).is_empty(), "{name} {tool}");
            }
        }
    }

    #[test]
    fn a_crate_without_a_row_fails() {
        assert!(messages("referee-new", &[])[0].contains("has no row"));
    }

    #[test]
    fn a_pure_crate_without_its_lints_fails() {
        let package = Package {
            name: THEORY.to_owned(),
            directory: "crates/theory".to_owned(),
            dependencies: Vec::new(),
            benches: Vec::new(),
        };
        let findings = check(&[package], &Tree::from([("crates/theory/clippy.toml", "# nothing")]));
        assert!(findings[0].message.contains("is pure"));
    }

    #[test]
    fn the_table_has_no_cycle() {
        let mut done: Vec<&str> = Vec::new();
        while let Some(next) = RULES
            .iter()
            .find(|rule| !done.contains(&rule.name) && rule.uses.iter().all(|used| done.contains(used)))
        {
            done.push(next.name);
        }
        assert_eq!(done.len(), RULES.len(), "only {done:?} can be put in order");
    }
}
