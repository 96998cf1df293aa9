//! What `referee fix` writes: certain corrections only, once and for all.

use referee_syntax::{Document, Fix, Language, corrected, parse};

use crate::mutator::{Random, mutate, mutations};
use crate::texts::texts;

/// A certain correction leaves fewer mistakes, and correcting again changes nothing. Where the mistake was a single
/// token, what is corrected is usually what was there before.
#[test]
fn correcting_is_idempotent_and_every_correction_is_read() {
    let words = |text: &str| {
        crate::mutator::tokens(text).into_iter().map(|token| text[token].to_owned()).collect::<Vec<_>>()
    };
    let mut shown_only = 0;
    let mut random = Random::new(7);
    let (mut tried, mut put_right, mut restored) = (0, 0, 0);
    let mutations = mutations(1);
    for text in texts().iter().flat_map(|text| std::iter::repeat_n(text, mutations)) {
        let Some(mutant) = mutate(&text.text, &mut random) else { continue };
        let before = parse(&mutant.text, text.language);
        if before.is_usable() {
            assert_eq!(
                corrected(&mutant.text, text.language).text,
                mutant.text,
                "{}: nothing is wrong",
                text.name
            );
            continue;
        }
        tried += 1;
        let once = corrected(&mutant.text, text.language);
        let twice = corrected(&once.text, text.language);
        assert_eq!(once.text, twice.text, "{}: {}", text.name, mutant.what);
        assert!(twice.corrections.is_empty());
        if once.corrections.is_empty() {
            assert_eq!(once.text, mutant.text);
            let shown = before.diagnostics.iter().find_map(|found| found.fix.as_deref());
            let is_right = |fix: &&Fix| words(&fix.apply(&mutant.text)) == words(&text.text);
            if let Some(fix) = shown.filter(is_right) {
                shown_only += 1;
                println!("{}: shown only: {}: {}", text.name, mutant.what, fix.corrected_lines(&mutant.text));
            }
            continue;
        }
        let errors = |document: &Document| document.diagnostics.iter().filter(|d| d.is_error()).count();
        let after = parse(&once.text, text.language);
        assert!(errors(&after) < errors(&before), "{}: {}\n{}", text.name, mutant.what, once.text);
        put_right += 1;
        if words(&once.text) == words(&text.text) {
            restored += 1;
        } else {
            let how = once.corrections.iter().map(|made| (made.before.as_str(), made.after.as_str()));
            println!("{}: {}: {:?}", text.name, mutant.what, how.collect::<Vec<_>>());
        }
    }
    println!(
        "{tried} texts with a mistake, {put_right} put right, {restored} as before the mistake; {shown_only} others rightly, not certainly"
    );
    assert!(put_right * 4 >= tried, "only {put_right} of {tried} are put right");
    assert!(restored * 100 >= put_right * 99, "only {restored} of {put_right} are what was meant");
}

#[test]
fn several_mistakes_are_put_right_in_one_run() {
    let text = "gobal protocol P(A, B) {\n  choice at A {\n    yes() from A to B\n  } else {\n    no() form A to B;\n  };\n}\n";
    let right = "global protocol P(role A, role B) {\n  choice at A {\n    yes() from A to B;\n  } or {\n    no() from A to B;\n  }\n}\n";
    let corrected = corrected(text, Language::Scr);
    assert_eq!(corrected.text, right);
    let mut lines: Vec<usize> = corrected.corrections.iter().map(|correction| correction.line).collect();
    lines.sort_unstable();
    assert_eq!(lines, [1, 1, 3, 4, 5, 6]);
}

#[test]
fn what_is_not_certain_is_left_alone() {
    for (text, language) in [
        ("protocol P(role A, role B) {\n  m() from to B;\n}\n", Language::Scr),
        ("protocol P(role A, role B) {\n  A -> B : { a. end }\n}\n", Language::Scr),
        // What was between two words is missing: `(`, not another symbol behind them.
        ("S = !Login(uname: String).!Loginuname: String).end\n", Language::St),
        ("protocol P(role A, role B) {\n  m(int) from A to B;\n  m(intint from A to B;\n}\n", Language::Scr),
        (
            "C: A?append; {A?appendC end, A?give_up; end}\nA: C!append; {C!append; end, C!give_up; end}\n",
            Language::Kmc,
        ),
        // A bracket that is written twice need not be closed twice.
        ("A: B!a; { {B!b; end, B!c; end}\nB: A?a; {A?b; end, A?c; end}\n", Language::Kmc),
        (
            "A: {B!a; end, B!x; { {B!b; end, B!c; end}}\nB: {A?a; end, A?x; {A?b; end, A?c; end}}\n",
            Language::Kmc,
        ),
        // Without its `;` another word would come about.
        ("A: B!a; Bb; end\nB: A?a; A?b; end\n", Language::Kmc),
        // What is no type is not the payload.
        ("protocol P(role A, role B) {\n  m(A from A to B;\n}\n", Language::Scr),
        ("global protocol P(role ,Buyerrole Seller) {\n  m() from Buyer to Seller;\n}\n", Language::Scr),
        // The `)` of any branch may be missing.
        ("a -> b (x . a -> c (m . end, y . a -> c (n . end))\n", Language::Gt),
        ("S = !Login(uname: Stringend\n", Language::St),
        ("S = !Login(uname: String, pwd: String)[util.validate(].end\n", Language::St),
        // What is missing is a label, the rest of a record, a field.
        ("protocol P(role A, role B) {\n  m(x: int) from A to B(y: int) from B to A;\n}\n", Language::Scr),
        ("protocol P(role A, role B) {\n  m({ ) from A to B;\n}\n", Language::Scr),
        ("protocol P(role A, role B) {\n  m(X truncated: int) from A to B;\n}\n", Language::Scr),
        ("A: B!a; B? end\nB: A?a; A!b; end\n", Language::Kmc),
        // An operator may be any of them.
        ("rule one: never call a or call b call c in the same session\n", Language::Hml),
        ("[{\"/a\": t t >= 500]ff\n", Language::Hml),
        // `,` changes places with what it separates from nothing.
        ("S = ?Add(n: Int).!Res(a: Int)[util.check(n< , a)].end\n", Language::St),
        // `.` is no other kind of `<`.
        (".outputs\n.state graph\nq0 1 ? reset .\ninitmarking q0\n.end\n", Language::Fsm),
        // Two words may be one with a blank in it.
        ("property p { max X.([client -> s erver : Request(id)]ff and [_]X) }\n", Language::Hml),
        (
            "property p { max X.([{event: \"pay\"} when sum(x of [{event: \"pay\", amou nt: x}] in 1h) > 100]ff and [_]X) }\n",
            Language::Hml,
        ),
        (
            "property p { max X.([{event: \"pay\"} when distinct(c of [{event: \"pay\", co untry: c}] in 1h) > 2]ff and [_]X) }\n",
            Language::Hml,
        ),
        // What the brackets would hold would be a type that nobody knows, or nothing.
        ("a -> b <(int)> . end\n", Language::Gt),
        ("a -> b <{int}> . end\n", Language::Gt),
        ("a -> b <<int>> . end\n", Language::Gt),
        ("a -> b <(int, str)> . end\n", Language::Gt),
        ("S = !Get(path: String, with: token].?Page(size: Int).end\n", Language::St),
        ("protocol P(role a, role b) { m(celsius{:} float) from a to b; }\n", Language::Scr),
        ("property p { max X.([server -> client : Reply{ (id)]ff and [_]X) }\n", Language::Hml),
        // Two branches are not one after the other.
        ("A: {B?a<int>, B?b; end}\nB: {A!a<int>; end, A!b; end}\n", Language::Kmc),
        (
            "C: rec x . {S!req<int>; {S?ans<string, bool>, S?no; x}, S!bye; end}\nS: rec x . {C?req<int>; {C!ans<string, bool>; x, C!no; x}, C?bye; end}\n",
            Language::Kmc,
        ),
        ("A: B!q; {B!m, B!n; end}\nB: A?q; {A?m; end, A?n; end}\n", Language::Kmc),
        // The head of a machine is no label.
        ("A: B?\nA: B?m; end\nB: A!m; end\n", Language::Kmc),
        // The name of a type is not left out.
        ("G = a -> b (l . end)\n", Language::Gt),
        // What is declared is not changed because of its uses.
        (
            "protocol Work(role master, role worker1, role worker2) {\n  task() from master to worker1;\n  task() from master to worker3;\n  done() from worker1 to master;\n  done() from worker3 to master;\n}\n",
            Language::Scr,
        ),
        (
            "protocol Start(role client, role server, role log) {\n  hello() from client to server;\n  note() from server to log;\n  do Rest(client, server, log);\n}\naux protocol Rest(role client, role server, role log) {\n  bye() from client to server;\n  note() from server to logs;\n}\n",
            Language::Scr,
        ),
        (
            "protocol Start(role client, role server, role log) {\n  hello() from client to server;\n  note() from server to logs;\n}\n",
            Language::Scr,
        ),
        (
            "protocol P(role Alice, role B) {\n  m() from alice to B;\n  n() from B to alice;\n}\n",
            Language::Scr,
        ),
        ("protocol P(role A, role w1 as worker1) {\n  m() from A to worker2;\n}\n", Language::Scr),
    ] {
        let corrected = corrected(text, language);
        assert_eq!(corrected.text, text);
        assert!(!parse(text, language).is_usable(), "{text}");
        assert!(corrected.corrections.is_empty());
    }
}

/// A text is corrected until it can be read, or not at all.
#[test]
fn nothing_is_corrected_in_a_text_that_cannot_be_read_afterwards() {
    for body in ["m() from a to b\n  n() from to b;", "m() from a to b\n  if (x) { A() from a to b; }"] {
        let text = format!("protocol P(role a, role b) {{\n  {body}\n}}\n");
        let corrected = corrected(&text, Language::Scr);
        assert_eq!(corrected.text, text);
        assert!(corrected.corrections.is_empty());
    }
}

/// Removing the word would let what follows come all the same.
#[test]
fn an_end_that_is_not_the_end_is_not_removed() {
    for body in [
        "choice at a { stop() from a to b; end; } or { go() from a to b; }\n  result() from b to a;",
        "hello() from a to b;\n  return;\n  result() from b to a;",
        "rec Outer { start() from a to b; rec Inner { choice at a { m() from a to b; continue; } or { q() from a to b; } } }",
    ] {
        let text = format!("protocol P(role a, role b) {{\n  {body}\n}}\n");
        let document = parse(&text, Language::Scr);
        assert!(document.diagnostics.iter().all(|found| found.fix.as_ref().is_none_or(|fix| !fix.certain)));
        assert_eq!(corrected(&text, Language::Scr).text, text);
    }
    let last =
        "protocol P(role a, role b) {\n  choice at a { x() from a to b; end; } or { y() from a to b; }\n}\n";
    assert_eq!(corrected(last, Language::Scr).text, last.replace("end;", ""));
}
