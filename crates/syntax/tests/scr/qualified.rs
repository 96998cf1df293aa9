//! Names of other modules, names in any script, and pragmas that change what names mean.

use referee_syntax::scr::{Loader, ModuleFile, load};
use referee_syntax::{Document, Language, parse};

/// One other module, `pk.H`.
struct One;

impl Loader for One {
    fn load(&mut self, name: &str) -> Result<ModuleFile, String> {
        let text = "module pk.H; type <java> \"x.T\" from \"x\" as T; sig <java> \"x.M\" from \"x\" as M;
            aux global protocol Q<type S>(role a, role b) { m(S) from b to a; }
            aux global protocol R<sig S>(role a, role b) { S from b to a; }";
        if name != "pk.H" {
            return Err("not found".to_owned());
        }
        Ok(ModuleFile { file: "pk/H.scr".to_owned(), text: text.to_owned() })
    }
}

fn codes(document: &Document) -> Vec<&'static str> {
    document.diagnostics.iter().map(|found| found.code.id).collect()
}

fn said(head: &str, body: &str) -> Vec<&'static str> {
    codes(&load(&format!("{head} protocol P(role a, role b) {{ {body} }}"), &mut One).0)
}

#[test]
fn arguments_may_come_from_other_modules() {
    let head = "module main; import pk.H;";
    assert_eq!(said(head, "do pk.H.Q<pk.H.T>(a, b);"), [""; 0]);
    assert_eq!(said(head, "do pk.H.R<pk.H.M>(a, b);"), [""; 0]);
    assert_eq!(said(head, "do pk.H.R<pk.H.T>(a, b);"), ["RF0119"]);
}

#[test]
fn types_that_the_named_module_lacks_are_told() {
    let head = "module main; import pk.H;";
    assert_eq!(said(head, "m(pk.H.T) from a to b;"), [""; 0]);
    assert_eq!(said(head, "m(pk.H.Nope) from a to b;"), ["RF0106"]);
    assert_eq!(said("module main;", "m(foo.bar.int) from a to b;"), ["RF0106"]);
    // Of a module that was not read nothing is known.
    let text = "module main; import pk.H; protocol P(role a, role b) { m(pk.H.Nope) from a to b; }";
    assert_eq!(codes(&parse(text, Language::Scr)), ["RF0217"]);
}

#[test]
fn names_of_any_script_are_names_in_conditions() {
    for body in ["M(größe: int{größe > 0}) from a to b;", "M(имя: string) from a to b where size(имя) > 0;"]
    {
        assert_eq!(said("", body), [""; 0], "{body}");
    }
}

#[test]
fn crash_branches_are_refused() {
    let body = "choice at a { m() from a to b; } or { crash from a to b; }";
    assert_eq!(said("(*# ErrorHandlingCrashBranch #*)", body), ["RF0124"]);
    assert_eq!(said("(*# MixedStateChoice #*)", body), ["RF0124"]);
}

/// Two modules whose names end alike, each with a protocol `Q`.
struct Two;

impl Loader for Two {
    fn load(&mut self, name: &str) -> Result<ModuleFile, String> {
        let text = format!("module {name}; aux global protocol Q(role a, role b) {{ m() from a to b; }}");
        Ok(ModuleFile { file: format!("{name}.scr"), text })
    }
}

#[test]
fn one_name_means_one_module() {
    let said = |head: &str, called: &str| {
        codes(&load(&format!("{head} protocol P(role a, role b) {{ do {called}(a, b); }}"), &mut Two).0)
    };
    let both = "module main.P; import p.X; import q.X;";
    assert_eq!(said(both, "p.X.Q"), [""; 0]);
    assert_eq!(said(both, "X.Q"), ["RF0101"]);
    assert_eq!(said("module main.P; import p.X; import q.X as Y;", "X.Q"), [""; 0]);
    assert_eq!(said("module main.P; import p.X as Y; import q.X as Z;", "Y.Q"), [""; 0]);
    assert_eq!(said("module main.P; import p.X as Y; import q.X as Y;", "p.X.Q"), ["RF0125"]);
    assert_eq!(said("module main.P; import p.X as P;", "p.X.Q"), ["RF0125"]);
}

/// A short name that two modules may have is refused whatever it names: Scribble's types and messages are declared.
#[test]
fn what_two_modules_may_mean_is_refused() {
    struct Both;
    impl Loader for Both {
        fn load(&mut self, name: &str) -> Result<ModuleFile, String> {
            let text = format!(
                "module {name}; type <java> \"{name}.T\" from \"x\" as T; sig <java> \"{name}.M\" from \"x\" as M;
                 aux global protocol R<sig S>(role a, role b) {{ S from a to b; }}"
            );
            Ok(ModuleFile { file: format!("{name}.scr"), text })
        }
    }
    let said = |head: &str, body: &str| {
        codes(&load(&format!("{head} protocol P(role a, role b) {{ {body} }}"), &mut Both).0)
    };
    for body in [
        "m(X.T) from a to b;",
        "m(list<X.T>) from a to b;",
        "X.M from a to b;",
        "do p.X.R<X.M>(a, b);",
        "do X.R<p.X.M>(a, b);",
        "m(X.R@a) from a to b;",
    ] {
        assert_eq!(said("module main.P; import p.X; import q.X;", body), ["RF0101"], "{body}");
        // One's own module has a short name, too.
        assert_eq!(said("module main.X; import p.X;", body), ["RF0101"], "{body}");
        // Imported twice is one module.
        let twice = said("module main.P; import p.X; import p.X;", &body.replace("X.R@a", "p.X.R@a"));
        assert_eq!(twice, ["RF0122"], "{body}");
    }
    let both = "module main.P; import p.X; import q.X;";
    assert_eq!(said(both, "p.X.M from a to b; m(q.X.T) from a to b;"), [""; 0]);
    // On the wire a message is known by its label alone.
    assert_eq!(said(both, "p.X.M from a to b; q.X.M from b to a;"), ["RF0109"]);
    assert_eq!(said(both, "p.X.M from a to b; do p.X.R<q.X.M>(b, a);"), ["RF0109"]);
    assert_eq!(said(both, "p.X.M from a to b; do q.X.R<p.X.M>(b, a);"), [""; 0]);
}

/// Scribble's `L.Msg from a to b;` sends a message that another module declares.
#[test]
fn messages_of_other_modules_are_sent() {
    let head = "module main; import pk.H;";
    assert_eq!(said(head, "pk.H.M from a to b;"), [""; 0]);
    assert_eq!(said(head, "H.M from a to b; H.M connect b to a;"), [""; 0]);
    assert_eq!(said(head, "H.Nope from a to b;"), ["RF0119"]);
    assert_eq!(said(head, "other.M from a to b;"), ["RF0119"]);
    // A label belongs to no module.
    assert_eq!(said(head, "pk.H.M() from a to b;"), ["RF0119"]);
    assert_eq!(said(head, "pk.H.M(int) from a to b; k() from a to b;"), ["RF0119"]);
    // Of a module that was not read nothing is known.
    let text = "module main; import pk.H; protocol P(role a, role b) { pk.H.M from a to b; }";
    assert_eq!(codes(&parse(text, Language::Scr)), ["RF0217"]);
}

#[test]
fn a_name_is_a_type_or_a_message() {
    let head = "type <java> \"x.S\" from \"x\" as S; sig <java> \"x.S\" from \"x\" as S;";
    assert_eq!(said(head, "m(S) from a to b;"), ["RF0109"]);
}

#[test]
fn what_is_handed_over_is_declared() {
    let head = "aux protocol Q(role x, role y) { m() from x to y; }";
    assert_eq!(said(head, "m(Q@x) from a to b;"), [""; 0]);
    assert_eq!(said(head, "m(Nope@x) from a to b;"), ["RF0101"]);
    assert_eq!(said(head, "m(Q@nobody) from a to b;"), ["RF0103"]);
}

/// What is misspelt behind the name of another module is looked for there.
#[test]
fn misspelt_names_of_other_modules_have_suggestions() {
    let help = |body: &str| {
        let text = format!("module main; import pk.H; protocol P(role a, role b) {{ {body} }}");
        let found = load(&text, &mut One).0.diagnostics;
        assert_eq!(found.len(), 1, "{body}");
        found[0].help.clone().unwrap_or_default()
    };
    assert_eq!(help("do H.Qq(a, b);"), "did you mean `H.Q`?");
    assert_eq!(help("do pk.H.Something(a, b);"), "declare `Something` in `pk.H`, or correct its name");
    assert_eq!(help("H.Mm from a to b;"), "did you mean `H.M`?");
    assert_eq!(help("m(H.Tt) from a to b;"), "did you mean `H.T`? if not, declare it in `H`: `type Tt;`");
    assert_eq!(
        help("m(H.Something) from a to b;"),
        "declare it in `H`: `type Something;`, or correct its name"
    );
    // A recursion of another name.
    assert_eq!(
        help("rec Loop { m() from a to b; continue Again; }"),
        "a recursion variable can be used only inside its own definition: here `Loop`"
    );
}
