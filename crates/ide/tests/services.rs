//! Every service on small texts, with `|` where the cursor is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use referee_ide::completion::{CompletionKind, completions};
use referee_ide::diagnostics::{diagnostics, fixes};
use referee_ide::folding::folds;
use referee_ide::formatting::format;
use referee_ide::hover::hover;
use referee_ide::inlay::inlay_hints;
use referee_ide::lens::{LensAction, lenses};
use referee_ide::navigation::{definition, references, rename};
use referee_ide::semantic::{TokenKind, semantic_tokens};
use referee_ide::signature::signature_help;
use referee_ide::{Location, NameKind, Workspace};
use referee_syntax::{Edit, Span};

/// A workspace with one file at whose cursor `|` is, and the place of the cursor.
fn open(path: &str, marked: &str) -> (Workspace, u32) {
    let at = marked.find('|').expect("a cursor");
    let mut workspace = Workspace::default();
    assert!(workspace.set(path, &marked.replacen('|', "", 1)));
    (workspace, u32::try_from(at).unwrap())
}

fn slices(workspace: &Workspace, places: &[Location]) -> Vec<String> {
    let show = |place: &Location| {
        let file = workspace.file(&place.path).expect("a known file");
        let line = file.text()[..place.span.start as usize].matches('\n').count() + 1;
        format!("{}:{line}:{}", place.path, file.slice(place.span))
    };
    places.iter().map(show).collect()
}

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut out = text.to_owned();
    for edit in edits.iter().rev() {
        out.replace_range(edit.span.range(), &edit.text);
    }
    out
}

fn renamed(path: &str, marked: &str, name: &str) -> String {
    let (workspace, at) = open(path, marked);
    let edits = rename(&workspace, path, at, name).expect("can be renamed");
    let [(_, edits)] = &edits[..] else { panic!("one file: {edits:?}") };
    apply(workspace.file(path).unwrap().text(), edits)
}

const LOOP: &str = "protocol P(role client, role server) {
  rec Loop {
    choice at client {
      Add(n: int) from client to server where n > 0;
      continue Loop;
    } or {
      Quit() from client to server;
    }
  }
}

protocol Q(role client, role server) {
  Add(n: int) from client to server;
}
";

#[test]
fn a_role_belongs_to_its_protocol() {
    let text = LOOP.replacen("choice at client", "choice at cli|ent", 1);
    let out = renamed("p.scr", &text, "user");
    assert_eq!(out.matches("user").count(), 4, "{out}");
    assert!(out.contains("protocol P(role user, role server)"), "{out}");
    assert!(out.contains("protocol Q(role client, role server)"), "{out}");
}

#[test]
fn a_label_belongs_to_the_protocols_that_do_one_another() {
    let text = LOOP.replacen("Add(n", "|Add(n", 1);
    let out = renamed("p.scr", &text, "Plus");
    assert_eq!(out.matches("Plus").count(), 1, "{out}");
    let joined = text.replace(
        "  Add(n: int) from client to server;\n}",
        "  Add(n: int) from client to server;\n  do P(client, server);\n}",
    );
    assert_eq!(renamed("p.scr", &joined, "Plus").matches("Plus").count(), 2);
}

#[test]
fn recursion_variables_and_fields_are_found() {
    let (workspace, at) = open("p.scr", &LOOP.replacen("continue Loop", "continue L|oop", 1));
    assert_eq!(slices(&workspace, &definition(&workspace, "p.scr", at)), ["p.scr:2:Loop"]);
    let (workspace, at) = open("p.scr", &LOOP.replacen("where n", "where n|", 1));
    assert_eq!(slices(&workspace, &definition(&workspace, "p.scr", at)), ["p.scr:4:n"]);
    assert_eq!(references(&workspace, "p.scr", at, false).len(), 1);
    assert_eq!(references(&workspace, "p.scr", at, true).len(), 2);
}

/// The inner of two loops of one name is the one that is continued.
#[test]
fn recursion_variables_may_hide_one_another() {
    let text =
        "protocol P(role a, role b) { rec X { m() from a to b; rec X { n() from a to b; continue |X; } } }";
    let (workspace, at) = open("p.scr", text);
    let found = definition(&workspace, "p.scr", at);
    assert_eq!(found[0].span.start as usize, text.rfind("rec X").unwrap() + 4);
}

#[test]
fn names_of_other_modules_are_renamed_in_every_file() {
    let mut workspace = Workspace::default();
    workspace.set(
        "/w/a/Lib.scr",
        "module a.Lib;\ntype Key = string;\naux protocol Part(role x, role y) { m(k: Key) from x to y; }\n",
    );
    workspace.set("/w/a/Main.scr", "module a.Main;\nimport a.Lib as L;\nprotocol M(role c, role s) { do L.Part(c, s); n(k: L.Key) from c to s; }\n");
    workspace
        .set("/w/a/Other.scr", "module a.Other;\naux protocol Part(role x, role y) { m() from x to y; }\n");
    let main = workspace.file("/w/a/Main.scr").unwrap().text().to_string();
    let at = u32::try_from(main.find("Part").unwrap()).unwrap();
    assert_eq!(slices(&workspace, &definition(&workspace, "/w/a/Main.scr", at)), ["/w/a/Lib.scr:3:Part"]);
    let edits = rename(&workspace, "/w/a/Main.scr", at, "Piece").unwrap();
    let paths: Vec<&str> = edits.iter().map(|(path, _)| &**path).collect();
    assert_eq!(paths, ["/w/a/Lib.scr", "/w/a/Main.scr"]);
    let out = apply(&main, &edits[1].1);
    assert!(out.contains("do L.Piece(c, s)"), "{out}");
    // From the declaration the same places are found, and labels are one session's.
    let lib = workspace.file("/w/a/Lib.scr").unwrap().text().to_string();
    let key = u32::try_from(lib.find("Key").unwrap()).unwrap();
    assert_eq!(references(&workspace, "/w/a/Lib.scr", key, true).len(), 3);
    let label = u32::try_from(lib.find("m(k").unwrap()).unwrap();
    assert_eq!(references(&workspace, "/w/a/Lib.scr", label, true).len(), 1);
    assert!(
        diagnostics(&workspace, "/w/a/Main.scr")
            .iter()
            .all(|found| found.severity != referee_pipeline::Severity::Error)
    );
    // When the other file changes, what is known of this one is forgotten.
    workspace.set("/w/a/Lib.scr", "module a.Lib;\n");
    assert!(diagnostics(&workspace, "/w/a/Main.scr").iter().any(|found| found.code == "RF0101"));
}

#[test]
fn names_that_would_collide_are_refused() {
    let (workspace, at) = open("p.scr", &LOOP.replacen("choice at client", "choice at cli|ent", 1));
    for wrong in ["server", "a b", "", "1x", "x;", "rec"] {
        assert!(rename(&workspace, "p.scr", at, wrong).is_err(), "{wrong}");
    }
    let (workspace, at) = open("p.scr", &LOOP.replacen("choice at", "cho|ice at", 1));
    assert!(rename(&workspace, "p.scr", at, "x").is_err());
}

#[test]
fn the_small_languages_have_names_too() {
    let out =
        renamed("a.kmc", "C: rec x . {S!req; |x, S!bye; end}\nS: rec x . {C?req; x, C?bye; end}\n", "again");
    assert_eq!(out, "C: rec again . {S!req; again, S!bye; end}\nS: rec x . {C?req; x, C?bye; end}\n");
    let out = renamed("a.kmc", "C: rec x . {|S!req; x}\nS: rec x . {C?req; x}\n", "Server");
    assert_eq!(out, "C: rec x . {Server!req; x}\nServer: rec x . {C?req; x}\n");
    let out = renamed("a.gt", "mu X . a -> b (l . mu Y . b -> |c <int> . Y, r . X)", "d");
    assert_eq!(out, "mu X . a -> b (l . mu Y . b -> d <int> . Y, r . X)");
    let out = renamed("a.gt", "mu X . a -> b (l . X, |r . end)", "quit");
    assert_eq!(out, "mu X . a -> b (l . X, quit . end)");
    let out = renamed("a.st", "S = rec X.(!A(n: Int)[|n > 0].&{?B(), ?C().X})", "m");
    assert_eq!(out, "S = rec X.(!A(m: Int)[m > 0].&{?B(), ?C().X})");
    let out = renamed("a.st", "S = rec |X.(!A(n: Int)[n > 0].&{?B(), ?C().X})", "Y");
    assert_eq!(out, "S = rec Y.(!A(n: Int)[n > 0].&{?B(), ?C().Y})");
    let out =
        renamed("a.hml", "property p { max X.([a -> b : Go(id)][a -> b : Go(|id)]ff and [_]X) }", "key");
    assert_eq!(out, "property p { max X.([a -> b : Go(key)][a -> b : Go(key)]ff and [_]X) }");
    let out = renamed("a.hml", "property p { max X.([a -> b : |Go(id)]ff and [_]X) }", "Run");
    assert_eq!(out, "property p { max X.([a -> b : Run(id)]ff and [_]X) }");
    let fsm = ".name A\n.outputs\n.state graph\nq0 1 ! m q1\n.marking q0\n.end\n.outputs\n.state graph\nq0 A ? m q1\n.marking q|0\n.end\n";
    let out = renamed("a.fsm", fsm, "start");
    assert_eq!(out.matches("start").count(), 2, "{out}");
    let (workspace, at) = open("a.fsm", &fsm.replace('|', "").replacen("q0 1", "q0 |1", 1));
    assert!(rename(&workspace, "a.fsm", at, "B").is_err());
    assert_eq!(
        definition(&workspace, "a.fsm", at)[0].span,
        Span::new(fsm.find(".end\n.out").unwrap() + 5, fsm.find(".end\n.out").unwrap() + 6)
    );
}

fn labels(path: &str, marked: &str) -> Vec<String> {
    let (workspace, at) = open(path, marked);
    completions(&workspace, path, at).items.into_iter().map(|item| item.label).collect()
}

#[test]
fn completion_knows_what_may_stand_where() {
    let line = |statement: &str| {
        format!(
            "import a.b;\ntype Key = int;\nexternal fn ok(int) -> bool;\nprotocol P(role client, role server) {{\n  m(first: int) from client to server;\n  rec Loop {{\n    {statement}\n  }}\n}}\n"
        )
    };
    assert_eq!(labels("p.scr", &line("n() from |")), ["client", "server"]);
    assert_eq!(labels("p.scr", &line("n() from client to se|")), ["client", "server"]);
    assert_eq!(labels("p.scr", &line("choice at |")), ["client", "server"]);
    assert_eq!(labels("p.scr", &line("continue |;")), ["Loop"]);
    assert_eq!(labels("p.scr", &line("do |")), ["P"]);
    assert_eq!(labels("p.scr", &line("do P(client, |);")), ["client", "server"]);
    assert!(labels("p.scr", &line("n(x: |) from client to server;")).starts_with(&["Key".to_owned()]));
    let conditions = labels("p.scr", &line("n(x: int) from client to server where |;"));
    assert_eq!(conditions[..3], ["x", "first", "ok"].map(str::to_owned), "{conditions:?}");
    assert!(conditions.contains(&"size".to_owned()));
    let inside = labels("p.scr", &line("n(x: int) from client to server where size(|) > 0;"));
    assert_eq!(inside[..2], ["x", "first"].map(str::to_owned));
    let statements = labels("p.scr", &line("|"));
    assert!(["choice", "rec", "continue", "m"].iter().all(|word| statements.contains(&(*word).to_owned())));
    assert_eq!(labels("p.scr", &line("n() |")), ["from"]);
    assert!(labels("p.scr", "|").contains(&"protocol".to_owned()));
    assert!(labels("p.scr", "// |\n").is_empty());
    assert_eq!(labels("a.gt", "mu X . a -> b (l . a -> | )"), ["a", "b"]);
    assert_eq!(labels("a.kmc", "A: B!|; end\nB: A?m; end"), ["m"]);
    assert!(labels("a.kmc", "A: rec x . B!m; |\nB: rec y . A?m; y").contains(&"x".to_owned()));
    assert!(!labels("a.kmc", "A: rec x . B!m; |\nB: rec y . A?m; y").contains(&"y".to_owned()));
}

#[test]
fn completion_of_statements_has_places_to_fill() {
    let (workspace, at) = open("p.scr", "protocol P(role a, role b) {\n  ch|\n}\n");
    let all = completions(&workspace, "p.scr", at);
    assert_eq!(workspace.file("p.scr").unwrap().slice(all.span), "ch");
    let choice = all.items.iter().find(|item| item.label == "choice").unwrap();
    assert!(choice.kind == CompletionKind::Snippet && choice.insert.contains("${1:role}"));
}

#[test]
fn diagnostics_have_their_fixes_as_edits() {
    let mut workspace = Workspace::default();
    let text = "protocol P(role client, role server) {\n  m() from client to sever;\n  n() from server to client;\n}\n";
    workspace.set("p.scr", text);
    let found = diagnostics(&workspace, "p.scr");
    let unknown = found.iter().find(|found| found.code == "RF0103").expect("an unknown role");
    assert!(unknown.message.contains("did you mean `server`?"), "{}", unknown.message);
    let text = "protocol P(role client, role server) {\n  m() from client to server\n}\n";
    workspace.set("p.scr", text);
    let all = fixes(&workspace, "p.scr", Span::new(0, text.len()));
    let [(_, fix)] = &all[..] else { panic!("{all:?}") };
    assert_eq!(fix.title, "insert `;`");
    workspace.set("p.scr", &apply(text, &fix.edits));
    assert!(diagnostics(&workspace, "p.scr").is_empty());
}

#[test]
fn hover_says_what_a_role_does_here_and_who_enforces() {
    let text = |marked: (&str, &str)| LOOP.replacen(marked.0, marked.1, 1);
    let (workspace, at) = open("p.scr", &text(("Add(n: int) from cl", "Add(n: int) from |cl")));
    let shown = hover(&workspace, "p.scr", at).unwrap().markdown;
    assert!(shown.contains("**role** `client`") && shown.contains("it sends `Add` to `server`"), "{shown}");
    assert!(shown.contains("rec"), "the local type: {shown}");
    let (workspace, at) = open("p.scr", &text(("Add(n", "A|dd(n")));
    let shown = hover(&workspace, "p.scr", at).unwrap().markdown;
    assert!(shown.contains("n > 0") && shown.contains("enforced by the monitor of client"), "{shown}");
    let (workspace, at) = open("p.scr", &text(("choice at", "cho|ice at")));
    assert!(hover(&workspace, "p.scr", at).unwrap().markdown.contains("chooses"));
    let (workspace, at) = open("p.scr", "protocol P(role a, role b) { m() from a to |c; n() from b to a; }");
    assert!(hover(&workspace, "p.scr", at).unwrap().markdown.contains("RF0103"));
    let (workspace, at) = open("p.scr", "protocol P(role a, role b) { m() from a to b; }\n\n|\n");
    assert!(hover(&workspace, "p.scr", at).is_none());
}

#[test]
fn outline_folds_and_tokens() {
    let (workspace, _) = open("p.scr", &format!("|{LOOP}// one\n// two\n"));
    let file = workspace.file("p.scr").unwrap();
    let names: Vec<&str> = file.index().symbols.iter().map(|symbol| &*symbol.name).collect();
    assert_eq!(names, ["P", "Q"]);
    assert_eq!(&*file.index().symbols[0].children[0].name, "Loop");
    let folded = folds(file);
    assert_eq!(folded.iter().filter(|fold| !fold.is_comment).count(), 5);
    let tokens = semantic_tokens(file);
    assert!(tokens.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
    let kind = |word: &str| {
        let found = tokens.iter().find(|token| file.slice(token.span) == word);
        found.map(|token| (token.kind, token.declares))
    };
    assert_eq!(kind("protocol"), Some((TokenKind::Keyword, false)));
    assert_eq!(kind("client"), Some((TokenKind::Name(NameKind::Role), true)));
    assert_eq!(kind("Add"), Some((TokenKind::Name(NameKind::Label), false)));
    assert_eq!(kind("int"), Some((TokenKind::BuiltinType, false)));
    assert_eq!(kind("0"), Some((TokenKind::Number, false)));
    let (workspace, _) = open("a.kmc", "|C: rec x . {S!req;\n x}\nS: rec x . {C?req; x}\n");
    let file = workspace.file("a.kmc").unwrap();
    let names: Vec<&str> = file.index().symbols.iter().map(|symbol| &*symbol.name).collect();
    assert_eq!(names, ["C", "S"]);
    assert!(!folds(file).is_empty());
}

#[test]
fn formatting_is_that_of_fmt() {
    let (workspace, _) = open("p.scr", "|protocol P(role a,role b) {\nm() from a to b;\n}\n");
    let file = workspace.file("p.scr").unwrap();
    let edits = format(file).unwrap().unwrap();
    assert_eq!(apply(file.text(), &edits), "protocol P(role a, role b) {\n  m() from a to b;\n}\n");
    let (workspace, _) = open("p.scr", "|protocol P(role a");
    assert!(format(workspace.file("p.scr").unwrap()).is_err());
    let (workspace, _) = open("a.kmc", "|A: end");
    assert_eq!(format(workspace.file("a.kmc").unwrap()).unwrap(), None);
}

#[test]
fn formatting_keeps_the_ends_of_lines() {
    let mut workspace = Workspace::default();
    let tidy = "protocol P(role a, role b) {\r\n  Go() from a to b;\r\n}\r\n";
    workspace.set("p.scr", tidy);
    assert_eq!(format(workspace.file("p.scr").unwrap()).unwrap(), Some(Vec::new()));
    let untidy = tidy.replace("  Go", "Go");
    workspace.set("p.scr", &untidy);
    let edits = format(workspace.file("p.scr").unwrap()).unwrap().unwrap();
    assert_eq!(apply(&untidy, &edits), tidy);
    assert_eq!(edits[0].span, Span::new(30, 49), "only the line that changes");
}

#[test]
fn signatures_follow_the_argument() {
    let at_call = |condition: &str| {
        let text = format!(
            "external fn ok(int, string) -> bool;\nprotocol P(role a, role b) {{\n  m(s: string) from a to b where {condition};\n}}\n"
        );
        let (workspace, at) = open("p.scr", &text);
        signature_help(workspace.file("p.scr").unwrap(), at)
    };
    let help = at_call("min(size(s), |").unwrap();
    assert_eq!((help.label.as_str(), help.active), ("min(x, y, …)", 1));
    let help = at_call("size(|s) > 0").unwrap();
    assert_eq!((help.label.as_str(), help.active), ("size(x)", 0));
    let help = at_call("ok(1, |\"a\")").unwrap();
    assert_eq!((help.label.as_str(), help.active), ("ok(int, string) -> bool", 1));
    assert_eq!(&help.label[help.parameters[1].0..help.parameters[1].1], "string");
    assert_eq!(at_call("s.startsWith(|)").unwrap().active, 1);
    assert!(at_call("s == |").is_none());
}

#[test]
fn hints_say_who_enforces() {
    let (workspace, _) = open("p.scr", &format!("|{LOOP}"));
    let hints = inlay_hints(&workspace, "p.scr", Span::new(0, LOOP.len()));
    let shown: Vec<&str> = hints.iter().map(|hint| hint.label.as_str()).collect();
    assert_eq!(shown, ["enforced by client and server"]);
}

#[test]
fn lenses_give_the_answer_and_can_be_cancelled() {
    let (workspace, _) = open("p.scr", &format!("|{LOOP}"));
    let cancel = AtomicBool::new(false);
    let all = lenses(&workspace, "p.scr", &cancel).unwrap();
    let titles: Vec<&str> = all.iter().map(|lens| lens.title.as_str()).collect();
    assert_eq!(titles[..3], ["safe for every channel size", "machine of client", "machine of server"]);
    assert_eq!(all.len(), 6);
    let unsafe_system = "|A: B!m; C!n; end\nB: A?m; C!o; end\nC: B?o; A!p; end\n";
    let (workspace, _) = open("a.kmc", unsafe_system);
    let all = lenses(&workspace, "a.kmc", &cancel).unwrap();
    assert!(all[0].title.starts_with("unsafe: "), "{}", all[0].title);
    assert_eq!(all[0].action, LensAction::ShowTrace { protocol: None::<Arc<str>> });
    cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(lenses(&workspace, "a.kmc", &cancel), None);
}

/// Whatever is typed, cut off anywhere: no service panics, and every place lies in the text.
#[test]
fn every_prefix_of_every_language_can_be_asked_about() {
    let texts = [
        ("p.scr", LOOP),
        ("a.kmc", "C: rec x . {S!req<int>; S?ans<string>; x, S!bye; end}\n-- c\nS: end"),
        ("a.gt", "mu X . client -> server ( login . client -> server <str> . X, quit . end )"),
        ("a.st", "S = rec X.(!L(n: String, a: Int)[a > 0 && f(a)].&{?W(t: String), ?R().X})"),
        ("a.fsm", ".name C\n.outputs\n.state graph\nq0 S ! hello<int> q1\n.marking q0\n.accepting q0\n.end"),
        ("a.hml", "property p for each session { max X.([c -> s : R(id, ...) when id > 3]ff and [_]X) }"),
        ("a.gt.json", "{\"type\":\"END\"}"),
    ];
    let mut asked = 0;
    for (path, text) in texts {
        for (cut, _) in text.char_indices() {
            let mut workspace = Workspace::default();
            if !workspace.set(path, &text[..cut]) {
                continue;
            }
            let file = workspace.file(path).unwrap();
            let at = u32::try_from(cut).unwrap();
            let _ = completions(&workspace, path, at);
            let _ = signature_help(file, at);
            let _ = hover(&workspace, path, at);
            let places = semantic_tokens(file).into_iter().map(|token| token.span);
            let places = places.chain(folds(file).into_iter().map(|fold| fold.span));
            let places = places.chain(diagnostics(&workspace, path).into_iter().map(|found| found.span));
            for span in places.chain(file.index().occurrences.iter().map(|found| found.span)) {
                assert!(text[..cut].get(span.range()).is_some(), "{path} {cut} {span:?}");
                asked += 1;
            }
        }
    }
    assert!(asked > 10_000, "{asked}");
}
