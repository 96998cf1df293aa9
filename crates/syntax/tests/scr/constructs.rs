//! Every construct of Scribble's and nuScr's languages that Referee reads, each with the machine that it must give. The rows of
//! `docs/compatibility.md` name the constructs.

use referee_syntax::scr::{self, Loader, ModuleFile};
use referee_syntax::{Content, Document, Language, parse};

/// The machine of role `a` in the protocol `P`, `0 b!M 1, 1 b?K 0`; or what is wrong with it.
fn machine(document: &Document) -> String {
    let errors: Vec<&str> =
        document.diagnostics.iter().filter(|d| d.is_error()).map(|d| &*d.message).collect();
    if !errors.is_empty() {
        return errors.join("; ");
    }
    let Content::Global(protocols) = &document.content else { panic!("not global") };
    let protocol = protocols.iter().find(|protocol| protocol.name.as_deref() == Some("P")).expect("P");
    let global = protocol.global.as_ref().expect("no errors");
    let vocabulary = global.vocabulary();
    let machine = global.project(vocabulary.find_role("a").expect("role a")).expect("a projection");
    let mut steps = Vec::new();
    for state in machine.states() {
        for t in machine.transitions(state) {
            let (peer, label) = (vocabulary.role_name(t.peer), vocabulary.label_of(t.message));
            let types: Vec<String> =
                vocabulary.spec(t.message).fields.iter().map(|field| field.ty.to_string()).collect();
            let payload = if types.is_empty() { String::new() } else { format!("({})", types.join(",")) };
            steps.push(format!("{} {peer}{}{label}{payload} {}", state.0, t.action.symbol(), t.target.0));
        }
    }
    steps.join(", ")
}

/// A construct, a text with it, and the machine of `a`.
const CONSTRUCTS: [(&str, &str, &str); 68] = [
    ("message", "protocol P(role a, role b) { M() from a to b; }", "0 b!M 1"),
    ("empty operator", "protocol P(role a, role b) { (int) from a to b; }", "0 b!(int) 1"),
    (
        "payload types",
        "protocol P(role a, role b) { M(int, string, bool) from a to b; }",
        "0 b!M(int,string,bool) 1",
    ),
    (
        "payload names",
        "protocol P(role a, role b) { M(x: int, y: string) from b to a; }",
        "0 b?M(int,string) 1",
    ),
    ("multicast", "protocol P(role a, role b, role c) { M() from a to b, c; }", "0 b!M 1, 1 c!M 2"),
    ("sequence", "protocol P(role a, role b) { M() from a to b; K() from b to a; }", "0 b!M 1, 1 b?K 2"),
    ("global protocol", "global protocol P(role a, role b) { M() from a to b; }", "0 b!M 1"),
    (
        "choice",
        "protocol P(role a, role b) { choice at a { L() from a to b; } or { R() from a to b; } }",
        "0 b!L 1, 0 b!R 1",
    ),
    (
        "statement after a choice",
        "protocol P(role a, role b) { choice at b { L() from b to a; } or { R() from b to a; } E() from a to b; }",
        "0 b?L 1, 0 b?R 1, 1 b!E 2",
    ),
    (
        "blocks side by side",
        "protocol P(role a, role b) { par { M() from a to b; } and { K() from b to a; } E() from a to b; }",
        "0 b!M 1, 0 b?K 2, 1 b?K 3, 2 b!M 3, 3 b!E 4",
    ),
    (
        "one block",
        "protocol P(role a, role b) { par { M() from a to b; } K() from b to a; }",
        "0 b!M 1, 1 b?K 2",
    ),
    ("recursion", "protocol P(role a, role b) { rec X { M() from a to b; continue X; } }", "0 b!M 0"),
    (
        "statement after a recursion",
        "protocol P(role a, role b) { rec X { choice at a { M() from a to b; continue X; } or { S() from a to b; } } E() from b to a; }",
        "0 b!M 0, 0 b!S 1, 1 b?E 2",
    ),
    (
        "recursion in a recursion",
        "protocol P(role a, role b) { rec X { M() from a to b; rec Y { choice at b { K() from b to a; continue Y; } or { L() from b to a; continue X; } } } }",
        "0 b!M 1, 1 b?K 1, 1 b?L 0",
    ),
    (
        "branch that begins with a recursion",
        "protocol P(role a, role b) { choice at a { rec X { M() from a to b; continue X; } } or { S() from a to b; } }",
        "0 b!M 1, 0 b!S 2, 1 b!M 1",
    ),
    (
        "branch that begins with continue",
        "protocol P(role a, role b) { rec X { M() from a to b; choice at a { continue X; } or { L() from a to b; } } }",
        "0 b!M 1, 1 b!M 1, 1 b!L 2",
    ),
    (
        "do",
        "aux protocol Q(role x, role y) { M() from x to y; } protocol P(role a, role b) { do Q(b, a); K() from a to b; }",
        "0 b?M 1, 1 b!K 2",
    ),
    ("recursive do", "protocol P(role a, role b) { M() from a to b; do P(b, a); }", "0 b!M 1, 1 b?M 0"),
    (
        "aux",
        "aux global protocol Q(role a, role b) { M() from a to b; } protocol P(role a, role b) { do Q(a, b); }",
        "0 b!M 1",
    ),
    (
        "type parameter",
        "aux protocol Q<type T>(role a, role b) { M(T) from a to b; } protocol P(role a, role b) { do Q<int>(a, b); }",
        "0 b!M(int) 1",
    ),
    (
        "data parameter",
        "aux protocol Q<data T>(role a, role b) { M(T) from a to b; } protocol P(role a, role b) { do Q<int>(a, b); }",
        "0 b!M(int) 1",
    ),
    (
        "sig parameter",
        "aux protocol Q<sig S>(role a, role b) { S from a to b; } protocol P(role a, role b) { do Q<K(int)>(a, b); }",
        "0 b!K(int) 1",
    ),
    (
        "type declaration",
        "type <java> \"java.lang.Integer\" from \"rt.jar\" as Integer; protocol P(role a, role b) { M(Integer) from a to b; }",
        "0 b!M(int) 1",
    ),
    (
        "data declaration",
        "data <java> \"java.lang.String\" from \"rt.jar\" as String; protocol P(role a, role b) { M(String) from a to b; }",
        "0 b!M(string) 1",
    ),
    (
        "foreign type",
        "data <java> \"a.B\" from \"a/B.java\" as B; protocol P(role a, role b) { M(B) from a to b; }",
        "0 b!M(B) 1",
    ),
    (
        "sig declaration",
        "sig <java> \"a.M\" from \"a/M.java\" as M; protocol P(role a, role b) { M from a to b; }",
        "0 b!M 1",
    ),
    ("module name", "module a.b.C; protocol P(role a, role b) { M() from a to b; }", "0 b!M 1"),
    (
        "own module's name",
        "module x.C; aux protocol Q(role a, role b) { M() from a to b; } protocol P(role a, role b) { do x.C.Q(a, b); }",
        "0 b!M 1",
    ),
    ("role renamed", "protocol P(role x as a, role b) { M() from a to b; }", "0 b!M 1"),
    (
        "explicit",
        "explicit global protocol P(role a, role b) { connect b to a; M() from a to b; disconnect a and b; }",
        "0 b? 1, 1 b!M 2",
    ),
    (
        "optional connection",
        "explicit global protocol P(role b, role c, role a) { connect b to c; choice at b { Go() from b to c; connect b to a; M() from b to a; } or { No() from b to c; } }",
        "0 b? 1, 1 b?M 2",
    ),
    (
        "connect with a message",
        "explicit global protocol P(role b, role c, role a) { connect b to c; choice at b { Go() from b to c; M() connect b to a; } or { No() from b to c; } }",
        "0 b?M 1",
    ),
    (
        "nondeterministic choice",
        "protocol P(role a, role b) { choice at a { M() from a to b; L() from a to b; } or { M() from a to b; R() from a to b; } }",
        "0 b!M 1, 1 b!L 2, 1 b!R 2",
    ),
    (
        "nested protocols",
        "(*# NestedProtocols #*) nested protocol Q(role x, role y) { M() from x to y; } global protocol P(role a, role b) { a calls Q(a, b); K() from a to b; }",
        "0 b!invite_Q_y 1, 1 b!K 2",
    ),
    (
        "refinement",
        "(*# RefinementTypes #*) protocol P(role a, role b) { M(x: int{x > 0}) from a to b; }",
        "0 b!M(int) 1",
    ),
    ("annotation", "protocol P(role a, role b) { M(x: int) from a to b; @\"x > 0\" }", "0 b!M(int) 1"),
    (
        "recursion data",
        "(*# RefinementTypes #*) protocol P(role a, role b) { rec X [n<a>: int = 0] { M(x: int{x = n}) from a to b; continue X [n + 1]; } }",
        "0 b!M(int) 0",
    ),
    (
        "refined recursion data",
        "(*# RefinementTypes #*) protocol P(role a, role b) { rec X [n<a>: (m: int{m >= 0}) = 0] { M() from a to b; continue X [n + 1]; } }",
        "0 b!M 0",
    ),
    ("empty message", "protocol P(role a, role b) { () from a to b; }", "0 b! 1"),
    ("message without parentheses", "protocol P(role a, role b) { M from a to b; }", "0 b!M 1"),
    (
        "names that begin with digits",
        "protocol P(role a, role 2b) { 200() from a to 2b; rec 1 { 7() from 2b to a; continue 1; } }",
        "0 2b!200 1, 1 2b?7 1",
    ),
    (
        "underscores in names",
        "protocol P(role a, role _b_) { _m() from a to _b_; __() from _b_ to a; }",
        "0 _b_!_m 1, 1 _b_?__ 2",
    ),
    ("primes in names", "protocol P(role a, role b') { M'(x': int) from a to b'; }", "0 b'!M'(int) 1"),
    (
        "comments",
        "// one\n/* two */ protocol P(role a, role b) { (* three (* nested *) *) M() from a to b; (*) to the end of the line\n }",
        "0 b!M 1",
    ),
    ("form feed", "protocol P(role a, role b) {\u{c} M() from a to b; }", "0 b!M 1"),
    ("choice with one branch", "protocol P(role a, role b) { choice at a { M() from a to b; } }", "0 b!M 1"),
    ("empty protocol", "protocol P(role a, role b) { }", ""),
    (
        "empty lists of parameters",
        "aux protocol Q<>(role x, role y) { M() from x to y; } protocol P(role a, role b) { do Q<>(a, b); }",
        "0 b!M 1",
    ),
    (
        "several parameters",
        "aux protocol Q<type T, sig S>(role x, role y) { M(T) from x to y; S from y to x; } protocol P(role a, role b) { do Q<int, K(string)>(a, b); }",
        "0 b!M(int) 1, 1 b?K(string) 2",
    ),
    (
        "parameters passed on",
        "aux protocol R<sig S, type T>(role x, role y) { S from x to y; M(T) from x to y; } aux protocol Q<type U, sig V>(role x, role y) { do R<V, U>(x, y); } protocol P(role a, role b) { do Q<int, K()>(a, b); }",
        "0 b!K 1, 1 b!M(int) 2",
    ),
    (
        "parameters renamed",
        "aux protocol Q<type T as U, sig S as R>(role x, role y) { M(U) from x to y; R from x to y; } protocol P(role a, role b) { do Q<int, K()>(a as x, b as y); }",
        "0 b!M(int) 1, 1 b!K 2",
    ),
    (
        "delegation",
        "aux protocol Q(role x, role y) { M() from x to y; } protocol P(role a, role b) { M(Q@x) from a to b; }",
        "0 b!M(Q@x) 1",
    ),
    (
        "own module's type",
        "module x.C; data <java> \"a.B\" from \"a/B.java\" as T; protocol P(role a, role b) { M(x.C.T) from a to b; }",
        "0 b!M(T) 1",
    ),
    (
        "aux explicit",
        "aux explicit global protocol Q(role x, role y) { M() connect x to y; } explicit global protocol P(role a, role b) { do Q(a, b); }",
        "0 b!M 1",
    ),
    (
        "wrap",
        "explicit global protocol P(role a, role b) { connect a to b; wrap a to b; M() from a to b; disconnect a and b; }",
        "0 b! 1, 1 b!M 2",
    ),
    ("global alone", "global P(role a, role b) { M() from a to b; }", "0 b!M 1"),
    ("annotated protocol", "protocol P(role a, role b) @\"a note\" { M() from a to b; }", "0 b!M 1"),
    (
        "annotated do",
        "aux protocol Q(role x, role y) { M() from x to y; } protocol P(role a, role b) { do Q(a, b); @\"a note\" }",
        "0 b!M 1",
    ),
    (
        "pragma with a value",
        "(*# RefinementTypes, Verbose: yes #*) protocol P(role a, role b) { M() from a to b; }",
        "0 b!M 1",
    ),
    (
        "no recursion data",
        "protocol P(role a, role b) { rec X [] { M() from a to b; continue X []; } }",
        "0 b!M 0",
    ),
    (
        "several recursion data",
        "protocol P(role a, role b) { rec X [n<a>: int = 0, m<a, b>: bool = true] { M(x: int{x = n && m}) from a to b; continue X [n + 1, not m]; } }",
        "0 b!M(int) 0",
    ),
    (
        "recursion data with a name",
        "protocol P(role a, role b) { rec X [n<a>: m: int{m >= 0} = 0] { M() from a to b; continue X [n + 1]; } }",
        "0 b!M 0",
    ),
    (
        "operators of refinements",
        "(*# RefinementTypes #*) protocol P(role a, role b) { M(x: int{not (x = 1) && x <> -2 || x + 1 <= 5 - x}, s: string{len(s) > 0 && s <> \"no\"}) from a to b; }",
        "0 b!M(int,string) 1",
    ),
    (
        "literals of refinements",
        "(*# RefinementTypes #*) protocol P(role a, role b) { M(x: bool{x = true || x = false}, n: int{n <> 12}, s: string{s = \"one\"}) from a to b; }",
        "0 b!M(bool,int,string) 1",
    ),
    ("no pragmas", "(*# #*) protocol P(role a, role b) { M() from a to b; }", "0 b!M 1"),
    (
        "empty recursion",
        "protocol P(role a, role b) { M() from a to b; rec X { } K() from b to a; }",
        "0 b!M 1, 1 b?K 2",
    ),
    (
        "nested protocol in a protocol",
        "(*# NestedProtocols #*) global protocol P(role a, role b) { nested protocol Q(role x; new role z) { M() from x to z; } a calls Q(a); b calls Q(b); K() from b to a; }",
        "0 b?K 1",
    ),
    (
        "new roles",
        "(*# NestedProtocols #*) nested protocol Q(role x, role y; new role z) { M() from x to z; K() from z to y; } global protocol P(role a, role b) { a calls Q(a, b); }",
        "0 b!invite_Q_y 1",
    ),
];

#[test]
fn every_construct_gives_its_machine() {
    let found = |(construct, text, _): &(_, &str, _)| (*construct, machine(&parse(text, Language::Scr)));
    let found: Vec<(&str, String)> = CONSTRUCTS.iter().map(found).collect();
    let wrong = found.iter().zip(CONSTRUCTS).filter(|((_, found), (.., expected))| found != expected);
    assert_eq!(wrong.collect::<Vec<_>>(), []);
}

/// The modules of a file system that is a list.
struct Listed(&'static [(&'static str, &'static str)]);

impl Loader for Listed {
    fn load(&mut self, name: &str) -> Result<ModuleFile, String> {
        let found = self.0.iter().find(|(known, _)| *known == name).ok_or("there is no such file")?;
        Ok(ModuleFile { file: format!("{name}.scr"), text: found.1.to_owned() })
    }
}

const LIBRARY: &[(&str, &str)] = &[
    (
        "pay.Card",
        "module pay.Card; import pay.Types; aux global protocol Pay(role p, role q) { Card(pay.Types.Number) from p to q; do Bye(p, q); } aux global protocol Bye(role p, role q) { Bye() from q to p; }",
    ),
    ("pay.Types", "module pay.Types; type Number = int;"),
    ("one.A", "module one.A; import one.B;"),
    ("one.B", "module one.B; import one.A;"),
    ("mis.Named", "module other.Name;"),
    ("no.Name", "protocol P(role a, role b) { M() from a to b; }"),
    ("bad.Text", "module bad.Text; protocol {"),
    ("bad.Slip", "module bad.Slip; aux protocol Q(role a, role b) { M() from a to b }"),
    (
        "loops.Endless",
        "module loops.Endless; aux protocol L(role a, role b) { rec X { M() from a to b; continue X; } }",
    ),
];

#[test]
fn imported_protocols_are_done() {
    for (import, call) in [
        ("import pay.Card;", "pay.Card.Pay"),
        ("import pay.Card;", "Card.Pay"),
        ("import pay.Card as C;", "C.Pay"),
        ("import pay.Card as C;", "pay.Card.Pay"),
    ] {
        let text = format!("module m.Main; {import} protocol P(role a, role b) {{ do {call}(a, b); }}");
        let (document, _) = scr::load(&text, &mut Listed(LIBRARY));
        assert_eq!(machine(&document), "0 b!Card(int) 1, 1 b?Bye 2", "{text}");
    }
}

/// The codes that `text` gets, each with the file that it is about.
fn said(text: &str) -> Vec<(String, &'static str)> {
    let (document, texts) = scr::load(text, &mut Listed(LIBRARY));
    let file = |offset: u32| {
        let index = texts.files.partition_point(|(start, _)| *start <= offset);
        index.checked_sub(1).map_or("main".to_owned(), |index| texts.files[index].1.to_string())
    };
    document.diagnostics.iter().map(|d| (file(d.span.start), d.code.id)).collect()
}

#[test]
fn what_is_wrong_with_imports_is_said_where_it_is() {
    let rest = "protocol P(role a, role b) { M() from a to b; }";
    for (imports, expected) in [
        ("import pay.Card;", vec![]),
        ("import not.There;", vec![("main", "RF0120")]),
        ("import mis.Named;", vec![("main", "RF0120")]),
        ("import no.Name;", vec![("main", "RF0120")]),
        ("import pay.Types; import pay.Types;", vec![("main", "RF0122")]),
        ("import one.A;", vec![("one.B.scr", "RF0121")]),
        ("module m.Main; import m.Main;", vec![("main", "RF0121")]),
        ("import bad.Text;", vec![("bad.Text.scr", "RF0004")]),
    ] {
        let found = said(&format!("{imports} {rest}"));
        let found: Vec<(&str, &str)> = found.iter().map(|(file, code)| (file.as_str(), *code)).collect();
        assert_eq!(found, expected, "{imports}");
    }
    // A module that is not there is one mistake, however often it is used.
    for import in ["import not.There;", "import not.There as There;"] {
        let text =
            format!("{import} protocol P(role a, role b) {{ do There.Q(a, b); do not.There.R(a, b); }}");
        assert_eq!(said(&text), [("main".to_owned(), "RF0120")], "{import}");
    }
    // What is there and cannot be read is not looked for elsewhere.
    struct Folder;
    impl Loader for Folder {
        fn load(&mut self, _: &str) -> Result<ModuleFile, String> {
            Err("`a/B.scr`: this is a folder, not a file".to_owned())
        }
    }
    for (loader, expected) in [
        (
            &mut Folder as &mut dyn Loader,
            "put a file there that can be read and declares `module a.B;`, or correct the name",
        ),
        (&mut Listed(&[]), "correct the name, or say with `--import-path` where its packages are"),
    ] {
        let (document, _) = scr::load(&format!("import a.B; {rest}"), loader);
        assert_eq!(document.diagnostics[0].help.as_deref(), Some(expected));
    }
    // What is imported is done with the names of its own file.
    let unknown = said("import pay.Card; protocol P(role a, role b) { do Pay(a, b); }");
    assert_eq!(unknown, [("main".to_owned(), "RF0101")]);
    let endless =
        said("import loops.Endless; protocol P(role a, role b) { do Endless.L(a, b); K() from a to b; }");
    assert_eq!(endless, [("main".to_owned(), "RF0205")]);
}

/// A syntax error of an imported text comes with its correction, as if the text were read alone; places are those of all texts.
#[test]
fn imported_texts_are_corrected_as_others() {
    for main in ["import bad.Slip;", "import pay.Card; import bad.Slip; import bad.Text;"] {
        let text = format!("{main} protocol P(role a, role b) {{ do bad.Slip.Q(a, b); }}");
        let (mut document, texts) = scr::load(&text, &mut Listed(LIBRARY));
        scr::correct_imported(&mut document, &texts);
        let slip = document.diagnostics.iter().find(|found| found.fix.is_some()).expect("a correction");
        assert_eq!(slip.message, "`;` is missing behind `b`");
        let corrected = slip.fix.as_ref().map(|fix| fix.apply(&texts.text)).unwrap_or_default();
        assert!(
            corrected.contains("module bad.Slip; aux protocol Q(role a, role b) { M() from a to b; }"),
            "{corrected}"
        );
        let spans: Vec<_> = document.diagnostics.iter().map(|found| found.span.start).collect();
        assert!(spans.is_sorted(), "{spans:?}");
    }
}

/// What one of the tools reads, or read once, and Referee does not.
#[test]
fn what_is_not_read_is_one_error() {
    let statement = |text: &str| {
        format!(
            "aux protocol Q(role x, role y) {{ K() from x to y; }} protocol P(role a, role b) {{ M() from a to b; {text} }}"
        )
    };
    for (text, expected) in [
        (
            "module m.P; from a.b import Q; protocol P(role a, role b) { M() from a to b; }".to_owned(),
            "RF0004",
        ),
        ("local protocol P at a(role a, role b) { M() to b; }".to_owned(), "RF0004"),
        (statement("do s: Q(a, b);"), "RF0004"),
        (statement("interruptible { K() from a to b; } with { S() by b; }"), "RF0004"),
        (statement("rec X { K() from a to b; continue X with { L() from b to a; }; }"), "RF0004"),
        (statement("choice at a { } or { K() from a to b; }"), "RF0207"),
    ] {
        let found = referee_syntax::Analysis::of(parse(&text, Language::Scr)).diagnostics;
        let errors: Vec<&str> = found.iter().filter(|d| d.is_error()).map(|d| d.code.id).collect();
        assert_eq!(errors, [expected], "{text}");
        assert!(found.iter().all(|d| !d.is_error() || d.help.is_some()), "{text}");
    }
}

/// A type that looks built in and is not is probably misspelt.
#[test]
fn unknown_types_are_told() {
    for (ty, expected) in [
        ("number", Some("did you mean `float`? if not, declare it: `type number;`")),
        ("strng", Some("did you mean `string`? if not, declare it: `type strng;`")),
        ("date", Some("declare it: `type date;`, or correct its name")),
        ("BOOL", Some("did you mean `bool`? if not, declare it: `type BOOL;`")),
        ("Quote", None),
        ("int", None),
        // A number is no type, unless it is declared as one: names may begin with digits.
        ("x: 5", Some("write the type, and the value as a condition: `x: int` … `where x == 5`")),
        ("2.5", Some("write the type, and the value as a condition: `x: float` … `where x == 2.5`")),
        ("3D", None),
    ] {
        let text = format!("protocol P(role a, role b) {{ M({ty}) from a to b; }}");
        let document = parse(&text, Language::Scr);
        let said = document.diagnostics.iter().find(|d| d.code.id == "RF0106").and_then(|d| d.help.clone());
        assert_eq!(said.as_deref(), expected, "{ty}");
    }
    let declared = parse("type 5; protocol P(role a, role b) { M(x: 5) from a to b; }", Language::Scr);
    assert!(declared.diagnostics.is_empty());
}

/// Every row of the table names a construct of the list above, or a test beside it.
#[test]
fn every_row_of_the_table_has_a_test() {
    let page = include_str!("../../../../docs/compatibility.md");
    let sources = [
        include_str!("alike.rs"),
        include_str!("constructs.rs"),
        include_str!("meaning.rs"),
        include_str!("qualified.rs"),
        include_str!("../nuscr.rs"),
        include_str!("../../../pipeline/tests/stages.rs"),
        include_str!("../../../referee/tests/fairness.rs"),
    ];
    let mut rows = 0;
    for line in page.lines().filter(|line| line.starts_with('|')).skip(2) {
        let Some(test) = line.trim_end_matches('|').rsplit('|').next().map(str::trim) else { continue };
        if test.starts_with("---") || test == "test" {
            continue;
        }
        rows += 1;
        for name in test.trim_matches('`').split("`, `") {
            let is_construct = CONSTRUCTS.iter().any(|(construct, ..)| *construct == name);
            let is_test = sources.iter().any(|source| source.contains(&format!("fn {name}()")));
            assert!(is_construct || is_test, "`{name}` is neither a construct nor a test: {line}");
        }
    }
    assert!(rows >= 60, "{rows} rows");
    let names = CONSTRUCTS.iter().map(|(construct, ..)| *construct);
    let unnamed: Vec<&str> = names.filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert_eq!(unnamed, [""; 0], "constructs that no row names");
}
