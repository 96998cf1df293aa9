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
