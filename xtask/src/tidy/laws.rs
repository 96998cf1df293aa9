//! Every claim in `docs/theory.md` has its test, and every law test its claim.
//!
//! A row's status is `holds` (the test asserts it), `gap` (the test asserts what happens instead) or
//! `planned` (there is no test yet). A planned row may already say where the test will be.

use super::Finding;
use super::tree::Tree;

const THEORY: &str = "docs/theory.md";
const STATUSES: &[&str] = &["holds", "gap", "planned"];

/// A row of the table of claims.
struct Claim<'a> {
    line: usize,
    name: &'a str,
    /// Where its law test is, or will be.
    tests: Vec<&'a str>,
    status: &'a str,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(THEORY) else {
        return vec![Finding::error(THEORY, 0, "does not exist")];
    };
    let claims = claims(text);
    if claims.is_empty() {
        return vec![Finding::error(THEORY, 0, "has no table with the columns `Law test` and `Status`")];
    }
    let mut findings: Vec<_> = claims.iter().filter_map(|claim| check_claim(tree, claim)).collect();
    findings.extend(check_files(tree, &claims));
    findings
}

fn claims(markdown: &str) -> Vec<Claim<'_>> {
    let mut claims = Vec::new();
    // The positions of the columns of the table that the line is in.
    let mut columns = None;
    for (index, line) in markdown.lines().enumerate() {
        let Some(cells) = cells(line) else {
            columns = None;
            continue;
        };
        let Some((test, status)) = columns else {
            let find = |title: &str| cells.iter().position(|cell| cell.eq_ignore_ascii_case(title));
            columns = find("law test").zip(find("status"));
            continue;
        };
        if cells.iter().all(|cell| cell.chars().all(|c| c == '-' || c == ':')) {
            continue;
        }
        let cell = |column: usize| cells.get(column).copied().unwrap_or_default();
        let tests = cell(test).split([',', ' ']).map(|word| word.trim_matches('`'));
        claims.push(Claim {
            line: index + 1,
            name: cell(0),
            tests: tests.filter(|word| word.ends_with(".rs")).collect(),
            status: cell(status),
        });
    }
    claims
}

/// The cells of a line of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let line = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(line.split('|').map(str::trim).collect())
}

fn check_claim(tree: &Tree, claim: &Claim<'_>) -> Option<Finding> {
    let name = claim.name;
    let problem = if !STATUSES.contains(&claim.status) {
        format!("has the status `{}`: it must be one of {}", claim.status, STATUSES.join(", "))
    } else if claim.status == "planned" {
        let test = claim.tests.iter().find(|test| tree.contains(test))?;
        format!("is `planned`, but `{test}` exists: does it hold, or is there a gap?")
    } else if claim.tests.is_empty() {
        format!("`{}` names no law test", claim.status)
    } else {
        let test = claim.tests.iter().find(|test| !tree.contains(test))?;
        format!("names `{test}`, which does not exist")
    };
    Some(Finding::error(THEORY, claim.line, format!("“{name}” {problem}")))
}

/// Every `tests/laws/….rs` has a row and is compiled by the `main.rs` beside it.
fn check_files(tree: &Tree, claims: &[Claim<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.with_end(".rs") {
        let Some((directory, file)) = path.rsplit_once('/') else { continue };
        if !directory.ends_with("/tests/laws") || file == "main.rs" {
            continue;
        }
        if !claims.iter().any(|claim| claim.tests.contains(&path)) {
            findings.push(Finding::error(path, 0, format!("no row of `{THEORY}` names this law")));
        }
        let declaration = format!("mod {};", file.trim_end_matches(".rs"));
        let main = tree.text(&format!("{directory}/main.rs")).unwrap_or_default();
        if !main.lines().any(|line| line.trim() == declaration) {
            let message = format!("never runs: `{directory}/main.rs` does not say `{declaration}`");
            findings.push(Finding::error(path, 0, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# Claims\n\n| Claim | Law test | Status |\n|---|:--|---|\n";
    const DUAL: &str = "crates/theory/tests/laws/dual.rs";
    const MAIN: &str = "crates/theory/tests/laws/main.rs";

    fn messages(rows: &str, main: &str, files: &[&str]) -> Vec<String> {
        let text = format!("{HEAD}{rows}");
        let other = files.first().copied().unwrap_or("x");
        let tree = Tree::from([(THEORY, text.as_str()), (MAIN, main), (other, "")]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    fn assert_one(messages: &[String], part: &str) {
        assert!(messages.len() == 1 && messages[0].contains(part), "{messages:?}");
    }

    #[test]
    fn a_law_with_its_test_passes() {
        let row = format!("| dual | `{DUAL}` | holds |\n");
        assert_eq!(messages(&row, "//! Laws.\nmod dual;\n", &[DUAL]), Vec::<String>::new());
    }

    #[test]
    fn a_planned_law_needs_no_test() {
        let rows = format!("| dual | {DUAL} | planned |\n| other | | planned |\n");
        assert_eq!(messages(&rows, "", &[]), Vec::<String>::new());
    }

    #[test]
    fn a_law_whose_test_is_gone_fails() {
        let row = format!("| dual | `{DUAL}` | holds |\n");
        assert_one(
            &messages(&row, "mod dual;", &[]),
            "theory.md:5: “dual” names `crates/theory/tests/laws/dual.rs`",
        );
    }

    #[test]
    fn a_law_without_a_test_fails() {
        assert_one(&messages("| dual | | gap |\n", "", &[]), "names no law test");
    }

    #[test]
    fn a_planned_law_with_a_test_fails() {
        let row = format!("| dual | {DUAL} | planned |\n");
        assert_one(&messages(&row, "mod dual;", &[DUAL]), "is `planned`, but");
    }

    #[test]
    fn an_unknown_status_fails() {
        assert_one(&messages("| dual | | soon |\n", "", &[]), "has the status `soon`");
    }

    #[test]
    fn a_law_test_without_a_row_fails() {
        assert_one(&messages("| other | | planned |\n", "mod dual;", &[DUAL]), "no row of");
    }

    #[test]
    fn a_law_test_that_never_runs_fails() {
        let row = format!("| dual | `{DUAL}` | holds |\n");
        assert_one(&messages(&row, "// mod dual;\n", &[DUAL]), "never runs");
    }

    #[test]
    fn a_document_without_claims_fails() {
        let tree = Tree::from([(THEORY, "| Claim | Status |\n|---|---|\n| a | holds |\n")]);
        assert!(check(&tree)[0].message.contains("has no table"));
        assert!(check(&Tree::default())[0].message.contains("does not exist"));
    }
}
