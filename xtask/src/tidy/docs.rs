//! Documents name what exists: every crate in ARCHITECTURE.md, what holds each invariant there, and every function of its walk; every
//! path in backticks, every link.

use super::Finding;
use super::tree::Tree;
use crate::workspace::Package;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// The section that lists functions.
const WALK: &str = "## One message through the guard";

/// Text in backticks that begins so is a path of this repository.
const PATHS: &[&str] = &["crates/", "docs/", "examples/", "xtask/", "fuzz/", "tests/"];

pub(super) fn check(tree: &Tree, packages: &[Package]) -> Vec<Finding> {
    let mut findings = check_crates(tree, packages);
    findings.extend(check_invariants(tree.text(ARCHITECTURE).unwrap_or_default()));
    findings.extend(check_walk(tree));
    for (path, text) in tree.with_end(".md").filter(|(path, _)| is_checked(path)) {
        for (line, text) in prose(text) {
            findings.extend(check_paths(tree, path, line, text));
            findings.extend(check_links(tree, path, line, text));
        }
    }
    findings
}

/// The changelog speaks of the past, where other paths existed.
fn is_checked(path: &str) -> bool {
    matches!(path, "README.md" | ARCHITECTURE | "CONTRIBUTING.md") || path.starts_with("docs/")
}

fn check_crates(tree: &Tree, packages: &[Package]) -> Vec<Finding> {
    let Some(text) = tree.text(ARCHITECTURE) else {
        return vec![Finding::error(ARCHITECTURE, 0, "does not exist")];
    };
    let named: Vec<&str> =
        prose(text).flat_map(|(_, line)| code_spans(line)).map(|span| span.trim_end_matches('/')).collect();
    packages
        .iter()
        .filter(|package| !named.contains(&package.directory.as_str()))
        .map(|package| Finding::error(ARCHITECTURE, 0, format!("does not name `{}`", package.directory)))
        .collect()
}

/// In the walk, a name after a Rust file, up to the next file, is a function of that file.
fn check_walk(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_walk = false;
    let mut file = None;
    for (line, text) in prose(tree.text(ARCHITECTURE).unwrap_or_default()) {
        if text.starts_with("## ") {
            is_walk = text == WALK;
        }
        for span in code_spans(text).filter(|_| is_walk) {
            if is_path(span) {
                file = tree.text(span).map(|text| (span, text));
            } else if let Some((path, text)) = file
                && span.chars().all(is_snake_case)
                && !defines(text, span)
            {
                let message = format!("there is no function `{span}` in `{path}`");
                findings.push(Finding::error(ARCHITECTURE, line, message));
            }
        }
    }
    findings
}

fn is_snake_case(c: char) -> bool {
    c.is_ascii_lowercase() || c == '_'
}

/// Whether `rust` defines the function `name`.
fn defines(rust: &str, name: &str) -> bool {
    let after = rust.split("fn ").skip(1);
    after.filter_map(|rest| rest.strip_prefix(name)).any(|rest| rest.starts_with(['(', '<']))
}

/// An invariant that no test, lint or type holds is a wish.
fn check_invariants(architecture: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut line = 1;
    for paragraph in architecture.split("\n\n") {
        if paragraph.trim_start().starts_with("**Invariant:**") && !paragraph.contains("Held by:") {
            let message = "an invariant without `Held by:`: name the test, lint or type";
            findings.push(Finding::error(ARCHITECTURE, line, message));
        }
        line += paragraph.matches('\n').count() + 2;
    }
    findings
}

fn check_paths(tree: &Tree, path: &str, line: usize, text: &str) -> Vec<Finding> {
    code_spans(text)
        .filter(|span| is_path(span))
        .filter(|span| !tree.contains(span.split(':').next().unwrap_or(span)))
        .map(|span| Finding::error(path, line, format!("`{span}` does not exist")))
        .collect()
}

/// Whether `span` names one path, rather than a pattern or a command.
fn is_path(span: &str) -> bool {
    PATHS.iter().any(|start| span.starts_with(start))
        && !span.contains(|c: char| c.is_whitespace() || "<>{}*…".contains(c))
}

fn check_links(tree: &Tree, path: &str, line: usize, text: &str) -> Vec<Finding> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .map(|target| target.split('#').next().unwrap_or(target))
        .filter(|target| !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:"))
        .filter(|target| !tree.contains(&resolve(path, target)))
        .map(|target| Finding::error(path, line, format!("links to `{target}`, which does not exist")))
        .collect()
}

/// The path that `target`, linked from the document `from`, stands for.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The lines of `markdown` outside fenced blocks, with their numbers from 1.
fn prose(markdown: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    markdown.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

/// What stands between backticks in `line`.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(files: [(&str, &str); 3]) -> Vec<String> {
        check(&Tree::from(files), &[]).iter().map(ToString::to_string).collect()
    }

    fn in_readme(text: &str) -> Vec<String> {
        messages([("ARCHITECTURE.md", ""), ("README.md", text), ("docs/adr/0001-a.md", "")])
    }

    #[test]
    fn a_crate_must_be_named_in_the_architecture() {
        let package = |name: &str| Package {
            name: name.to_owned(),
            directory: format!("crates/{name}"),
            dependencies: Vec::new(),
            benches: Vec::new(),
        };
        let tree = Tree::from([("ARCHITECTURE.md", "`crates/a`: a, `crates/bee`\n"), ("crates/a/x", "")]);
        let findings = check_crates(&tree, &[package("a"), package("b")]);
        assert_eq!(findings, [Finding::error("ARCHITECTURE.md", 0, "does not name `crates/b`")]);
    }

    #[test]
    fn an_invariant_must_say_what_holds_it() {
        let text = "# A\n\n**Invariant:** held.\nHeld by: `x`.\n\n**Invariant:** wished\nfor.\n\ntext";
        assert_eq!(check_invariants(text).iter().map(|finding| finding.line).collect::<Vec<_>>(), [6]);
    }

    #[test]
    fn the_walk_names_functions_that_exist() {
        let walk = "# A\n`crates/a/src/b.rs` `gone`\n\n## One message through the guard\n\n1. `crates/a/src/b.rs` `there`, `A`, then `generic`\n\
                    2. and `gone`\n\n## Next\n`gone`\n";
        let rust = "fn there() {}\npub(crate) async fn generic<T>() {}\nfn gone_not() {}\n";
        let tree = Tree::from([("ARCHITECTURE.md", walk), ("crates/a/src/b.rs", rust)]);
        let message = "there is no function `gone` in `crates/a/src/b.rs`";
        assert_eq!(check_walk(&tree), [Finding::error("ARCHITECTURE.md", 7, message)]);
    }

    #[test]
    fn without_an_architecture_tidy_fails() {
        assert!(check(&Tree::default(), &[])[0].message.contains("does not exist"));
    }

    #[test]
    fn a_path_that_does_not_exist_fails() {
        assert_eq!(
            in_readme("a\n\nsee `docs/gone.md`\n"),
            ["error: README.md:3: `docs/gone.md` does not exist"]
        );
    }

    #[test]
    fn paths_patterns_and_commands_that_pass() {
        let text = "`docs/adr/`, `docs/adr/0001-a.md:12`, `docs/adr/NNNN-<name>.md`, `crates/*/tests`, \
                    `a/b`, `docs/gone.md --now`\n```\n`docs/gone.md`\n```\n";
        assert_eq!(in_readme(text), Vec::<String>::new());
    }

    #[test]
    fn the_text_after_a_fence_is_read_again() {
        assert_eq!(in_readme("```\n```\n`docs/gone.md`").len(), 1);
    }

    #[test]
    fn a_dead_link_fails() {
        let messages = in_readme("[a](docs/adr/0001-a.md#x) [b](https://example.org) [c](docs/b.md) [d](#e)");
        assert_eq!(messages, ["error: README.md:1: links to `docs/b.md`, which does not exist"]);
    }

    #[test]
    fn links_start_from_their_document() {
        let adr = "[a](../../README.md) [b](0001-a.md) [c](0002-b.md)";
        let messages = messages([("ARCHITECTURE.md", ""), ("README.md", ""), ("docs/adr/0001-a.md", adr)]);
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].contains("`0002-b.md`"));
    }

    #[test]
    fn the_changelog_may_name_what_is_gone() {
        let messages =
            messages([("ARCHITECTURE.md", ""), ("README.md", ""), ("CHANGELOG.md", "`docs/gone.md`")]);
        assert_eq!(messages, Vec::<String>::new());
    }
}
