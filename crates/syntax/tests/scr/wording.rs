//! How mistakes are worded, where an earlier wording was wrong or of no use.

use referee_syntax::{Analysis, Diagnostic, Language, parse};

fn said(text: &str, language: Language) -> Vec<Diagnostic> {
    Analysis::of(parse(text, language)).diagnostics
}

/// Code and help of what is said of a message with the condition `condition`.
fn of_condition(condition: &str) -> Vec<(&'static str, Option<String>)> {
    let text = format!("protocol P(role a, role b) {{ M(s: string, n: int) from a to b{condition}; }}");
    said(&text, Language::Scr).into_iter().map(|d| (d.code.id, d.help)).collect()
}

/// What other languages call `size` is told; nuScr's refinements have `len`.
#[test]
fn lengths_are_sizes() {
    let help = |object: &str| vec![("RF0303", Some(format!("write `size({object})`")))];
    for (condition, expected) in [
        (" where size(s) > 0", vec![]),
        (" where s.size() > 0", vec![]),
        (" where len(s) > 0", help("…")),
        (" where s.length() > 0", help("s")),
        (" where s.len() > 0", help("s")),
        (" where strlen(s) > 0", help("…")),
        // It could be a predicate of one's own.
        (
            " where width(s) > 0",
            vec![("RF0303", Some("declare it: `external fn width(…) -> bool;`".to_owned()))],
        ),
    ] {
        assert_eq!(of_condition(condition), expected, "{condition}");
    }
    let refined = "protocol P(role a, role b) { M(s: string{len(s) > 0}) from a to b; }";
    assert_eq!(said(refined, Language::Scr).len(), 0);
}

/// One parameter, two parameters; one is given, two are.
#[test]
fn numbers_are_singular_and_plural() {
    let declared = "aux protocol One<type T>(role x, role y) { M(T) from x to y; }
        aux protocol Two<type T, sig S>(role x, role y) { M(T) from x to y; S from x to y; }
        aux protocol None(role x, role y) { M() from x to y; }";
    for (call, expected) in [
        ("do One(a, b);", "`One` takes 1 parameter in angle brackets, but 0 are given"),
        ("do One<int, int>(a, b);", "`One` takes 1 parameter in angle brackets, but 2 are given"),
        ("do Two<int>(a, b);", "`Two` takes 2 parameters in angle brackets, but 1 is given"),
        ("do None<int>(a, b);", "`None` takes 0 parameters in angle brackets, but 1 is given"),
        ("do None(a);", "`None` takes 2 roles, but 1 is given"),
    ] {
        let text = format!("{declared} protocol P(role a, role b) {{ {call} }}");
        let found: Vec<String> = said(&text, Language::Scr)
            .into_iter()
            .filter(|d| d.code.id == "RF0107")
            .map(|d| d.message)
            .collect();
        assert_eq!(found, [expected], "{call}");
    }
}

/// What is nested too deep is told once, with advice that the language can follow: formulas and types of other languages than
/// `.scr` cannot be declared.
#[test]
fn depth_is_told_with_advice_for_every_language() {
    let formula = format!("[a?b]{}ff{}", "(".repeat(200), ")".repeat(200));
    let scr = format!(
        "protocol P(role a, role b) {{ M({}int{}) from a to b; }}",
        "list<".repeat(200),
        ">".repeat(200)
    );
    let gt = format!("a -> b <{}int{}> . end", "array[".repeat(200), "]".repeat(200));
    for (text, language) in [(formula, Language::Hml), (scr, Language::Scr), (gt, Language::Gt)] {
        let found: Vec<Diagnostic> =
            said(&text, language).into_iter().filter(|d| d.code.id == "RF0005").collect();
        let [deep] = &found[..] else { panic!("{language:?}: {found:?}") };
        assert!(deep.message.starts_with("nested deeper than 1"), "{}", deep.message);
        assert_eq!(
            deep.help.as_deref(),
            Some("split it, or give the inner part a name of its own"),
            "{language:?}"
        );
    }
}
