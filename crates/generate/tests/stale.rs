//! The golden endpoints are what would be generated today. `REFEREE_BLESS=1` writes them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read their golden files")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use referee_generate::{Plan, Subject, Unsupported, python, rust, same_code, typescript};
use referee_pipeline::{Language, Parsed, Projected, Source};
use referee_theory::Machine;
use referee_theory::expr::Signature;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn project(name: &str, text: &str) -> Projected {
    let parsed = Parsed::of(Source::new(name, text), None).unwrap();
    parsed.well_formed().unwrap_or_else(|error| panic!("{error}")).protocol(None).unwrap()
}

fn plan(protocol: &Projected, roles: &[&str]) -> Result<Plan, Unsupported> {
    let machines: Vec<&Machine> =
        roles.iter().map(|role| protocol.machine(protocol.role(role).unwrap()).unwrap()).collect();
    let file = Path::new(protocol.source().name()).file_name().unwrap().to_string_lossy().into_owned();
    let predicates: BTreeMap<Arc<str>, Signature> = protocol
        .externals()
        .iter()
        .map(|external| {
            let (parameters, result) = (external.parameters.clone().into(), external.result.clone());
            (Arc::from(&*external.name), Signature { parameters, result })
        })
        .collect();
    Plan::new(&Subject {
        protocol: protocol.name().unwrap_or(&file),
        file: &file,
        vocabulary: protocol.vocabulary(),
        machines: &machines,
        predicates,
        comment: &|origin| protocol.comment(origin),
        about: protocol.about(),
    })
}

/// The Rust endpoints of `roles`, and the Python and TypeScript endpoints of each with the name of its file.
fn generate(protocol: &Projected, name: &str, roles: &[&str]) -> Result<Vec<(String, String)>, Unsupported> {
    let mut files = vec![(format!("{name}.rs"), rust(&plan(protocol, roles)?, "crate::predicates"))];
    for role in roles {
        let file = if roles.len() == 1 { name.to_owned() } else { format!("{name}_{}", role.to_lowercase()) };
        let plan = plan(protocol, &[role])?;
        files.push((format!("{file}.ts"), typescript(&plan, "./predicates.js")));
        files.push((format!("{file}.py"), python(&plan, "predicates")));
    }
    Ok(files)
}

#[test]
fn the_golden_endpoints_are_what_is_generated() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let cases: [(&str, PathBuf, &[&str]); 9] = [
        ("auth_client", examples.join("auth/auth-plain.scr"), &["client"]),
        ("auth", examples.join("auth/auth-plain.scr"), &["client", "server"]),
        ("game", examples.join("game/game.scr"), &["player", "server"]),
        ("rounds", examples.join("rounds/rounds.scr"), &["host", "player"]),
        ("smtp_client", examples.join("smtp/smtp.scr"), &["client"]),
        ("auth3", examples.join("auth3/authorization.gt"), &["s", "c", "a"]),
        ("relay", folder().join("relay.kmc"), &["A", "B", "C"]),
        ("shop", folder().join("shop.scr"), &["customer", "shop"]),
        ("timed", folder().join("timed.scr"), &["client", "server"]),
    ];
    let mut stale = Vec::new();
    for (name, file, roles) in cases {
        let text = std::fs::read_to_string(&file).unwrap();
        for (file, generated) in generate(&project(&file.display().to_string(), &text), name, roles).unwrap()
        {
            let golden = folder().join(&file);
            if std::env::var_os("REFEREE_BLESS").is_some() {
                std::fs::write(&golden, &generated).unwrap();
            }
            let found = std::fs::read_to_string(&golden).unwrap_or_default();
            if !same_code(&found, &generated) {
                stale.push(file);
            }
        }
    }
    assert!(stale.is_empty(), "stale: {stale:?}; REFEREE_BLESS=1 writes them again");
}

#[test]
fn what_formatters_move_does_not_make_a_file_stale() {
    assert!(same_code("f(a, b)\n", "f(\n    a,\n    b,\n)"));
    assert!(same_code("x => f((a)),", "x => {\n    f(a)\n}"));
    assert!(!same_code("f(a, b)", "f(b, a)"));
}

#[test]
fn what_has_no_endpoint_is_refused_with_its_reason() {
    let refused = |text: &str, language: Language, role: &str| {
        let parsed = Parsed::with_language(Source::new("p", text), language);
        let protocol = parsed.well_formed().unwrap_or_else(|error| panic!("{error}")).protocol(None).unwrap();
        plan(&protocol, &[role]).err().unwrap()
    };
    let mixed = refused("A: {B!x; end, B?y; end}\nB: {A?x; end, A!y; end}", Language::Kmc, "A");
    assert!(matches!(mixed, Unsupported::Mixed { .. }), "{mixed}");
    let pattern = "protocol P(role a, role b) { M(s: string) from a to b where s.matches(\"\\\\bx\"); }";
    let pattern = refused(pattern, Language::Scr, "a");
    assert!(matches!(pattern, Unsupported::Pattern { .. }), "{pattern}");
}
