//! A correction is certain only where nobody could have meant something else: a monitor would hold people to it.

use referee_syntax::{Diagnostic, Language, corrected, parse};

fn in_message(fields: &str, clause: &str) -> String {
    format!("protocol P(role A, role B) {{\n  m({fields}) from A to B{clause};\n}}\n")
}

fn errors(text: &str) -> Vec<Diagnostic> {
    let mut found = parse(text, Language::Scr).diagnostics;
    found.retain(Diagnostic::is_error);
    found
}

/// The one error of `text`, and its help.
fn only_error(text: &str) -> (String, String) {
    let found = errors(text);
    assert_eq!(found.len(), 1, "{text}\n{found:#?}");
    (found[0].message.clone(), found[0].help.clone().unwrap_or_default())
}

const FIELDS: &str = "a: bool, b: bool, c: bool, n: int, k: int, s: string";

/// `=>` is `>=` between numbers, and says that one implies the other between truth values, where `>=` is the converse.
#[test]
fn an_arrow_between_truth_values_is_not_a_comparison() {
    for (condition, right) in [
        ("a => b", "!a || b"),
        ("!a => b", "!(!a) || b"),
        ("a => (n > 0)", "!a || (n > 0)"),
        ("n > 0 => k > 0", "!(n > 0) || k > 0"),
        ("a && b => c", "!(a && b) || c"),
        ("a implies b", "!a || b"),
        ("a = > b", "!a || b"),
        ("a ==> b", "!a || b"),
    ] {
        let text = in_message(FIELDS, &format!(" where {condition}"));
        let (message, help) = only_error(&text);
        assert!(message.starts_with("conditions have no `"), "{condition}: {message}");
        assert!(help.starts_with(&format!("write `{right}`:")), "{condition}: {help}");
        assert!(errors(&text)[0].fix.is_none());
        assert_eq!(corrected(&text, Language::Scr).text, text);
        // What is shown can be read.
        assert!(errors(&text.replace(condition, right)).is_empty(), "{right}");
    }
    let text = in_message("a: bool, b: bool{a => b}", "");
    assert!(only_error(&text).1.starts_with("write `(not a) || b`:"));
    assert_eq!(corrected(&text, Language::Scr).text, text);
    assert!(errors(&text.replace("a => b", "(not a) || b")).is_empty());
    for (condition, right) in [
        ("n => 0", "n >= 0"),
        ("n => k", "n >= k"),
        ("n = > 3", "n >= 3"),
        ("size(s) => k && a", "size(s) >= k && a"),
    ] {
        let text = in_message(FIELDS, &format!(" where {condition}"));
        assert_eq!(corrected(&text, Language::Scr).text, text.replace(condition, right));
    }
    // Of an opaque type nobody knows.
    let text = format!("type T;\n{}", in_message("x: T, y: T", " where x => y"));
    assert_eq!(corrected(&text, Language::Scr).text, text);
}

/// Refinements read `&&` and `||` alike, from the left, and let `not` reach to the end. Who writes other operators is not known to
/// have meant that.
#[test]
fn what_a_refinement_reads_otherwise_than_other_languages_is_not_certain() {
    for condition in [
        "not a or b",
        "a or b and c",
        "a | b & c",
        "not a and b",
        "a or (b or b and c)",
        "not a & b",
        "-n + k > 0 and a",
        "a || n === 1 && c",
        "a || !b && c",
    ] {
        let text = in_message(&format!("n: int, k: int, a: bool, b: bool, c: bool{{{condition}}}"), "");
        let found = errors(&text);
        assert!(!found.is_empty() && found.iter().all(|d| d.fix.as_ref().is_none_or(|fix| !fix.certain)));
        assert_eq!(corrected(&text, Language::Scr).text, text, "{condition}");
    }
    for (condition, right) in [
        ("a and b", "a && b"),
        ("a and b or c", "a && b || c"),
        ("(not a) or b", "(not a) || b"),
        ("a or (b and c)", "a || (b && c)"),
        ("!a || b", "(not a) || b"),
        ("!a", "not a"),
        ("a && !b", "a && (not b)"),
        ("a and not b", "a && (not b)"),
        ("n === k", "n = k"),
    ] {
        let text = in_message(&format!("n: int, k: int, a: bool, b: bool, c: bool{{{condition}}}"), "");
        assert_eq!(
            corrected(&text, Language::Scr).text,
            text.replace(&format!("{{{condition}}}"), &format!("{{{right}}}"))
        );
    }
}

#[test]
fn data_of_a_recursion_are_a_refinement() {
    let text = |data: &str, next: &str| {
        format!(
            "protocol P(role A, role B) {{\n  rec X [{data}] {{\n    k(d: int, a: bool) from A to B;\n    continue X [{next}];\n  }}\n}}\n"
        )
    };
    for text in [
        text("n<A, B>: (m: int{not m > 5 or m > 7}) = 3", "n + d"),
        text("n<A, B>: bool = true", "not n or a"),
        text("n<A, B>: bool = true", "n or d > 3 and a"),
        text("n<A, B>: bool = not true or false", "n"),
    ] {
        assert!(!errors(&text).is_empty());
        assert_eq!(corrected(&text, Language::Scr).text, text);
    }
    let right = text("n<A, B>: bool = true", "n and a");
    assert_eq!(corrected(&right, Language::Scr).text, right.replace(" and ", " && "));
}

#[test]
fn what_not_negates_must_be_clear() {
    for (condition, right) in [
        ("not a", "!a"),
        ("a && not b", "a && !b"),
        ("not n > 3", "!(n > 3)"),
        ("n != -1 and not n == 3", "n != -1 && !(n == 3)"),
        ("not s.contains(\"x\")", "!s.contains(\"x\")"),
    ] {
        let text = in_message(FIELDS, &format!(" where {condition}"));
        let found = errors(&text);
        assert_eq!(found.len(), 1, "{condition}: {found:#?}");
        assert_eq!(corrected(&text, Language::Scr).text, text.replace(condition, right), "{condition}");
    }
    for condition in ["not a == b", "not a or b", "not a && b", "a == b & c", "a & b == c"] {
        let text = in_message(FIELDS, &format!(" where {condition}"));
        assert_eq!(errors(&text).len(), 1, "{condition}");
        assert_eq!(corrected(&text, Language::Scr).text, text, "{condition}");
    }
}

/// `typedef string Id` as in C, `type Id string` as in Go.
#[test]
fn the_name_of_a_known_type_is_not_declared() {
    let text = |declaration: &str| {
        format!("{declaration}\nprotocol P(role A, role B) {{\n  m(x: Id, n: string) from A to B;\n}}\n")
    };
    for declaration in ["type Id string;", "typedef Id string;", "typedef string Id;", "type string Id;"] {
        let text = text(declaration);
        let once = corrected(&text, Language::Scr).text;
        assert_eq!(once, text.replace(declaration, "type Id = string;"), "{declaration}");
    }
    for declaration in ["type Id Money;", "typedef Money Id;"] {
        let text = format!("type Money;\n{}", text(declaration));
        assert_eq!(only_error(&text).1, "write `type Id = Money;`");
        assert_eq!(corrected(&text, Language::Scr).text, text);
    }
}

/// Operators with a blank inside, and those of other languages, are not what a parser would make of them.
#[test]
fn operators_are_corrected_to_what_they_say() {
    for (condition, right) in [
        ("n > = k", "n >= k"),
        ("n < = k", "n <= k"),
        ("n ! = k", "n != k"),
        ("n = = k", "n == k"),
        ("a & & b", "a && b"),
        ("n × 2 > k", "n * 2 > k"),
        ("n =< k", "n <= k"),
        ("n = 1 and a", "n == 1 && a"),
    ] {
        let text = in_message(FIELDS, &format!(" where {condition}"));
        assert_eq!(errors(&text).len(), 1, "{condition}");
        assert_eq!(corrected(&text, Language::Scr).text, text.replace(condition, right));
    }
}

/// A known type is no name: `string date` is a text called `date`, `date int` a number called so.
#[test]
fn the_known_type_of_two_words_is_the_type() {
    for (fields, right) in [
        ("string date", "date: string"),
        ("date int", "date: int"),
        ("int x, string y", "x: int, y: string"),
        ("x int, y string", "x: int, y: string"),
    ] {
        let text = in_message(fields, "");
        assert_eq!(corrected(&text, Language::Scr).text, in_message(right, ""), "{fields}");
    }
    for fields in ["string int", "number date", "Money Amount"] {
        let text = in_message(fields, "");
        assert!(!errors(&text).is_empty());
        assert_eq!(corrected(&text, Language::Scr).text, text, "{fields}");
    }
}

/// Each of these was corrected for certain to something that its author did not say.
#[test]
fn what_may_have_been_meant_otherwise_is_left_to_its_author() {
    for body in [
        // The label of the message was lost.
        "choice at A { m() from A to B; | n() from A to B; }",
        "m(x: int) from A to B; else n() from A to B;",
        // What follows the choice was made a part of its last branch.
        "choice at A\n  m() from A to B;\nor\n  n() from A to B;\nz() from B to A;",
        // `>=` is the converse.
        "m(xs: list<bool>) from A to B where xs[0] => xs[1];",
        // The comparison, or the new value?
        "rec X [a<A, B>: bool = true] { m(b: bool) from A to B; continue X [a := b]; }",
        "m(a: bool, b: bool, c: bool) from A to B where a = b = c;",
        // Whoever writes `break` thinks that the other branch goes round.
        "rec X { choice at A { m() from A to B; } or { n() from A to B; break; } }",
        "connect A and B;",
        "open A to B; m() from A to B; close A to B;",
        "par { m() from A to B; } or { n() from B to A; }",
    ] {
        let text = format!("protocol P(role A, role B) {{\n{body}\n}}\n");
        assert!(!errors(&text).is_empty(), "{body}");
        assert_eq!(corrected(&text, Language::Scr).text, text, "{body}");
    }
    let text = "typedef string = Tok;\nprotocol P(role A, role B) {\n  m(x: Tok) from A to B;\n}\n";
    assert_eq!(corrected(text, Language::Scr).text, text);
    let goes_round = "protocol P(role A, role B) {\n  rec X { choice at A { m() from A to B; continue X; } or { n() from A to B; break; } }\n}\n";
    assert!(!corrected(goes_round, Language::Scr).text.contains("break"));
}

/// What people bring from papers and other tools is one error that shows the right form.
#[test]
fn notations_of_papers_are_one_error() {
    for (language, text, help) in [
        (
            Language::Kmc,
            "p -> q : { l1. end, l2. end }",
            "write `p: {q!l1; …, q!l2; …}` and `q: {p?l1; …, p?l2; …}`;",
        ),
        (Language::Kmc, "A: B⊕{l1. end, l2. end}", "write `{B!l1; …, B!l2; …}`"),
        (Language::Kmc, "A: B&{l1. end, l2. end}", "write `{B?l1; …, B?l2; …}`"),
        (Language::Kmc, "A: !B(l); end", "write `B!l; …`"),
        (Language::St, "p -> q : { l1. end, l2. end }", "write `S = +{!l1().…, !l2().…}`"),
        (Language::St, "S = ⊕{ l1. end, l2. end }", "write `+{!l1().…, !l2().…}`"),
        (Language::St, "S = µX. !l(). X", "write `rec X.( … )`"),
        (Language::St, "S = q!l(int).end", "write `!l(x: Type).…`"),
        (Language::Fsm, "p -> q : { l1. end, l2. end }", "write the states and transitions of each role"),
        (Language::Fsm, "digraph G { 0 -> 1 [label=\"B!a\"]; }", "write `.outputs A`"),
        (Language::Hml, "νX. [a] X", "write `max X.( … )`"),
        (Language::Hml, "AG (a -> AF b)", "write a fixed point"),
    ] {
        let mut found = parse(text, language).diagnostics;
        found.retain(Diagnostic::is_error);
        assert_eq!(found.len(), 1, "{text}\n{found:#?}");
        assert!(found[0].help.as_ref().is_some_and(|said| said.starts_with(help)), "{text}\n{found:#?}");
        assert_eq!(corrected(text, language).text, text);
    }
}

/// What other modules declare is not known where a text with syntax errors is read.
#[test]
fn what_an_imported_module_declares_is_not_missed_beside_a_syntax_error() {
    let text = "module pack.A;\nimport pack.B;\nprotocol P(role a, role b) {\n  do B.Q(a, b);\n  x() from a too b;\n}\n";
    assert_eq!(only_error(text).1, "did you mean `to`?");
    assert_eq!(corrected(text, Language::Scr).text, text.replace("too", "to"));
}

/// The name of a module ends where a dot is missing, also where its `;` is.
#[test]
fn the_next_declaration_is_no_part_of_the_name_of_a_module() {
    let text = "module x\nprotocol P(role a, role b) { m() from a to b; }\n";
    assert!(referee_syntax::scr::misnamed(text, "x.scr").is_none());
    let found = referee_syntax::scr::misnamed(text, "y.scr").expect("another name");
    assert_eq!(found.message, "the file of the module `x` is not called `x.scr`");
}

/// A machine that is named wrongly is one mistake, however often the others name it.
#[test]
fn a_misspelt_machine_is_one_error() {
    let text = ".name Client\n.outputs\n.state graph\nq0 Server ! m q1\nq1 Server ? n q0\n.marking q0\n.end\n\
        .name Server\n.outputs\n.state graph\nq0 Client ? m q1\nq1 Client ! n q0\n.marking q0\n.end\n";
    assert!(parse(text, Language::Fsm).is_usable());
    let misspelt =
        parse(&text.replacen("Server", "erver", 3).replacen("erver ", "Server ", 2), Language::Fsm);
    assert_eq!(misspelt.diagnostics.iter().filter(|found| found.is_error()).count(), 1, "{misspelt:#?}");
}
