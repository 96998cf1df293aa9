//! Protocols with names that a target has another use for: keywords, names of the standard library and of the generated file itself, and names that
//! are alike once their case is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use referee_pipeline::{Language, Parsed, Projected};

use super::workbench::Workbench;
use crate::{Plan, Subject, python, rust, typescript};

/// Names of fields, recursion data, members of records, labels, roles and predicates.
const NAMES: &str = "
    abstract as async await become box break case const continue crate do dyn else enum extern false final fn for gen if impl in let link loop macro
    match mod move mut override priv pub ref return self Self static struct super trait true try type typeof unsafe unsized use virtual where while
    yield union auto raw next new recv close judge from to message error state signature admitted failure alloc eval Vec String
    Error Expect Failure Field Link Opaque Peer Session Value Members Message Some None Ok Err Option Result Box Into L i64 f64 str bool u8 usize std
    core label values drop clone EXPECTED PEERS ROLE SIGNATURES PATTERN_1 end expected peer index name other element needle ROLE_ start
    False None True and assert class def del elif except finally global import is lambda nonlocal not or pass raise with print int float bytes list
    dict set tuple len abs min max type object Exception isinstance getattr hasattr all any zip range json math re socket decimal Any Final cast
    Mapping Sequence Callable session turn fields predicates part members abort __init__ __slots__ __del__ _session _turn self_ cls property super
    arguments catch constructor debugger default delete eval export extends function get implements instanceof interface let null package private
    protected public switch then this throw var void undefined Map Set Array Object Number BigInt Promise JSON Json Uint8Array Received Connection
    JsonLines Parser Undefined WrongType Refused Violated Ended Used PredicateFailed SessionError Symbol Math Infinity NaN prototype __proto__
    hasOwnProperty toString valueOf length caller declare unknown never string number boolean symbol bigint infer keyof module namespace readonly
    require unique TextEncoder TextDecoder FinalizationRegistry dropped found value text linesOf written admitted ask settle int64 toJSON newX admitsX admits_x
    x x' X x_ xX x_x xx Xx XX x1 x_1 a_b aB A_B AB Ab 1 1a 250 größe GRÖSSE 名前 ß İ ı ñ
";

fn names() -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    NAMES.split_ascii_whitespace().filter(|name| seen.insert(*name)).collect()
}

/// The names that `text` makes a protocol of: the language has keywords, too.
fn accepted(text: impl Fn(&str) -> String) -> Vec<&'static str> {
    let is_read = |name: &&str| Parsed::new(&text(name), Language::Scr).well_formed().is_ok();
    let names: Vec<&str> = names().into_iter().filter(is_read).collect();
    assert!(names.len() > 200, "{}", names.len());
    names
}

fn projected(text: &str) -> Projected {
    let parsed = Parsed::new(text, Language::Scr).well_formed();
    parsed.unwrap_or_else(|error| panic!("{error}\n{text}")).protocol(None).unwrap()
}

fn plan(protocol: &Projected, roles: &[&str]) -> Plan {
    let machine = |role: &&str| protocol.machine(protocol.role(role).unwrap()).unwrap();
    let machines: Vec<_> = roles.iter().map(machine).collect();
    Plan::new(&Subject {
        protocol: "P",
        file: "p.scr",
        vocabulary: protocol.vocabulary(),
        machines: &machines,
        predicates: BTreeMap::new(),
        comment: &|_| Vec::new(),
        about: Vec::new(),
    })
    .unwrap()
}

/// Compiles endpoints of `text`, and runs those that need no program.
fn compiles(bench: &Workbench, text: &str, roles: &[&str], targets: &[&str]) {
    let protocol = projected(text);
    bench.write("endpoint.rs", &rust(&plan(&protocol, roles), "crate::predicates"));
    bench.write("main.rs", "mod endpoint;\nfn main() {}\n");
    bench.run("main.rs");
    bench.write("package.json", "{\"type\": \"module\"}");
    for (at, role) in targets.iter().enumerate() {
        let plan = plan(&protocol, &[role]);
        bench.write(&format!("endpoint{at}.py"), &python(&plan, "predicates"));
        bench.run_python(&format!("endpoint{at}.py"));
        bench.mypy(&format!("endpoint{at}.py"));
        bench.write(&format!("endpoint{at}.ts"), &typescript(&plan, "./predicates.js"));
        bench.run_typescript(&format!("endpoint{at}.ts"));
    }
}

/// A choice with a branch for each name.
fn choice(names: &[&str], branch: impl Fn(usize, &str) -> String) -> String {
    let branches: Vec<String> = names.iter().enumerate().map(|(at, name)| branch(at, name)).collect();
    format!("protocol P(role a, role b) {{ choice at a {{ {} }} }}", branches.join(" } or {\n"))
}

#[test]
fn any_name_may_be_a_field() {
    let bench = Workbench::new("names-fields");
    let names = accepted(|name| {
        format!("protocol P(role a, role b) {{ M({name}: int) from a to b where {name} > 0; }}")
    });
    let branch = |at: usize, name: &str| {
        format!(
            "M{at}({name}: int, other{at}: string, l: list<int>, y: float, u: unit) from a to b where {name} > 0 && {name} / 2 != {name} % 7 \
             && \"x\" + string({name}) != other{at} && size(l) >= abs({name}) && {name} in l && (other{at}.matches(\"^a\") || min({name}, 3, l[0]) == 0); \
             K{at}(z: int) from b to a where z == {name};"
        )
    };
    compiles(&bench, &choice(&names, branch), &["a", "b"], &["a", "b"]);
}

#[test]
fn any_name_may_be_recursion_data() {
    let bench = Workbench::new("names-data");
    let names = accepted(|name| {
        format!(
            "protocol P(role a, role b) {{ rec L [{name}<a, b>: int = 0] {{ M() from a to b where {name} < 3; continue L [{name} + 1]; }} }}"
        )
    });
    let branch = |at: usize, name: &str| {
        format!(
            "K{at}() from a to b; rec L{at} [{name}<a, b>: int = 0, x'<a, b>: list<int> = [0], x<a, b>: string = \"\"] {{ \
             M{at}(n: int) from a to b where {name} < n && size(x') < 7 && x != \"z\"; continue L{at} [{name} + 1, x' + [n], x + string(n)]; }}"
        )
    };
    let names: Vec<&str> = names.into_iter().filter(|name| !["x", "x'"].contains(name)).collect();
    compiles(&bench, &choice(&names, branch), &["a", "b"], &["a"]);
}

#[test]
fn any_name_may_be_a_label() {
    let bench = Workbench::new("names-labels");
    let names = accepted(|name| format!("protocol P(role a, role b) {{ {name}(x: int) from a to b; }}"));
    let branch = |at: usize, name: &str| {
        format!("{name}(x: int) from a to b where x != {at}; {name}(y: int) from b to a where y > x;")
    };
    compiles(&bench, &choice(&names, branch), &["a", "b"], &["a"]);
}

#[test]
fn any_name_may_be_a_member() {
    let bench = Workbench::new("names-members");
    let names = accepted(|name| {
        format!("protocol P(role a, role b) {{ M(r: {{{name}: int}}) from a to b where r.{name} > 0; }}")
    });
    let members: Vec<String> = names.iter().map(|name| format!("{name}: int")).collect();
    let sum: Vec<String> = names.iter().map(|name| format!("r.{name} > 0")).collect();
    let text = format!(
        "protocol P(role a, role b) {{ M(r: {{{}}}, l: list<{{deep: (int, {{deeper: list<bool>}})}}>) from a to b where {} && l[0].deep[1].deeper[0]; }}",
        members.join(", "),
        sum.join(" && ")
    );
    compiles(&bench, &text, &["a", "b"], &["a"]);
}

#[test]
fn any_name_may_be_a_role() {
    let bench = Workbench::new("names-roles");
    let names = accepted(|name| format!("protocol P(role a, role {name}) {{ M() from a to {name}; }}"));
    let names: Vec<&str> = names.into_iter().filter(|name| *name != "hub").collect();
    let roles: Vec<String> = names.iter().map(|name| format!("role {name}")).collect();
    let mut text = format!("protocol P(role hub, {}) {{\n", roles.join(", "));
    for (at, name) in names.iter().enumerate() {
        writeln!(text, "M{at}() from hub to {name};").unwrap();
    }
    text.push('}');
    let all: Vec<&str> = std::iter::once("hub").chain(names).collect();
    compiles(&bench, &text, &all, &["hub"]);
}

#[test]
fn records_are_not_taken_for_anything_else() {
    let bench = Workbench::new("names-records");
    // The name of a record is made of a label and a field.
    let parts = [
        ("Session", "error"),
        ("Json", "lines"),
        ("Predicate", "failed"),
        ("After", "M0"),
        ("Start", "event"),
        ("After", "M0Event"),
        ("Wrong", "type"),
        ("After", "M1GotM1"),
        ("Type", "error"),
        ("Type", "var"),
        ("Type", "alias"),
        ("No", "return"),
        ("Uint8", "array"),
        ("Big", "int"),
        ("Text", "decoder"),
        ("Text", "encoder"),
        ("Finalization", "registry"),
        ("Async", "generator"),
        ("Readonly", "map"),
        ("Async", "iterable"),
        ("Not", "implemented"),
        ("Runtime", "error"),
        ("Attribute", "error"),
        ("Value", "error"),
        ("Os", "error"),
        ("Broken", "pipeError"),
        ("Array", "like"),
        ("Start", "gotM1"),
        ("Ab", "c"),
        ("A", "bc"),
        ("a", "Bc"),
    ];
    let names: Vec<&str> = parts.iter().map(|(label, _)| *label).collect();
    let branch = |at: usize, label: &str| {
        let field = parts[at].1;
        format!(
            "M{at}() from a to b; {label}({field}: {{n{at}: int, deep: {{m{at}: list<int>}}}}) from b to a where {field}.n{at} > 0; M1(z: int) from b to a;"
        )
    };
    compiles(&bench, &choice(&names, branch), &["a", "b"], &["a"]);
}
