//! The stages, by what each of them refuses and keeps.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use referee_monitor::{Argument, Event, FieldValue, Payload, Verdict};
use referee_pipeline::{Language, Loader as _, NoProtocol, Packages, Parsed, ReadOnce, Source, SubjectKind};
use referee_theory::Origin;
use referee_theory::expr::Value;

const TWO: &str = "aux protocol Part(role a, role b) { P() from a to b; }
    protocol First(role a, role b) { Hello(n: int) from a to b where n > 0; }
    protocol Second(role a, role b, role c) { M() from a to b; N() from b to c; }";

#[test]
fn an_error_anywhere_stops_at_the_first_stage() {
    // Well typed, but two roles depend on a choice of which neither hears.
    let unheard = "a -> b (l . c -> d (m . end), r . c -> d (n . end))";
    let parsed = Parsed::of(Source::new("x.gt", unheard), None).unwrap();
    assert!(parsed.document().is_usable());
    let error = parsed.well_formed().unwrap_err();
    assert!(error.to_string().starts_with("x.gt:1:1: RF0410: "), "{error}");
    let two = Parsed::new("protocol P(role a) { M() from a to b; N() from a to c; }", Language::Scr);
    let error = two.well_formed().unwrap_err();
    assert!(error.to_string().ends_with(" more)"), "{error}");
    assert!(!error.analysed().analysis().is_well_formed());
}

/// A module is looked for in a file that is called after it.
#[test]
fn a_module_in_a_file_of_another_name_is_told() {
    let said = |file: &str, text: &str| {
        let parsed = Parsed::of(Source::new(file, text), Some(Language::Scr)).unwrap();
        parsed.document().diagnostics.iter().filter(|found| found.code.id == "RF0126").count()
    };
    let of = |name: &str| {
        format!(
            "// A module.\n(*# RefinementTypes #*) module {name};\nprotocol P(role a, role b) {{ M() from a to b; }}"
        )
    };
    assert_eq!(said("games/Ping.scr", &of("games.Ping")), 0);
    assert_eq!(said("Ping.scr", &of("games . Ping")), 0);
    assert_eq!(said("games/Ping.scr", &of("games.Pong")), 1);
    assert_eq!(said("games\\Ping.scr", &of("Pong")), 1);
    // nuScr does not ask for it, and a text without a file has no name.
    assert_eq!(said("games/Ping.nuscr", &of("games.Pong")) + said("-", &of("games.Pong")), 0);
    assert_eq!(said("Ping.scr", "protocol P(role module, role b) { Pong() from module to b; }"), 0);
}

/// A folder of files that import one another: each is read once, wherever it is imported, and whether it is there or not.
#[test]
fn each_module_is_read_once() {
    let files = [
        (
            "shop/pay/Main.scr",
            "module pay.Main; import pay.Lib; import ext.Far; protocol P(role a, role b) { do Lib.Q(a, b); }",
        ),
        (
            "shop/pay/Other.scr",
            "module pay.Other; import pay.Lib; import pay.Main; import not.There; protocol P(role a, role b) { do Lib.Q(a, b); }",
        ),
        (
            "shop/pay/Lib.scr",
            "module pay.Lib; import ext.Far; aux protocol Q(role a, role b) { do Far.R(a, b); }",
        ),
        ("lib/ext/Far.nuscr", "module ext.Far; aux protocol R(role a, role b) { M() from a to b; }"),
    ];
    let mut reads: Vec<PathBuf> = Vec::new();
    let mut once = ReadOnce::default();
    let mut found = Vec::new();
    for (path, text) in &files[..2] {
        assert!(once.get(Path::new(path)).is_none_or(|known| *known == **text));
        once.put(Path::new(path), text);
        let mut read = |path: &Path| {
            once.read(path, |path| {
                reads.push(path.strip_prefix(".").unwrap_or(path).to_owned());
                let known = files
                    .iter()
                    .find(|(known, _)| Path::new(known) == path.strip_prefix(".").unwrap_or(path));
                Ok(known.map(|(_, text)| Arc::from(*text)))
            })
        };
        let mut packages = Packages::new(Path::new(path), text, &["./lib".into()], &mut read);
        let parsed = Parsed::load(Source::new(path, text), None, &mut packages).unwrap();
        found.push(parsed.document().diagnostics.iter().map(|found| found.code.id).collect::<Vec<_>>());
    }
    assert_eq!(found, [vec![], vec!["RF0120"]]);
    let count = reads.len();
    reads.sort();
    reads.dedup();
    assert_eq!(reads.len(), count, "{reads:?}");
    assert!(reads.contains(&PathBuf::from("lib/ext/Far.nuscr")), "{reads:?}");
}

/// What stands for a folder above is no name of a module.
#[test]
fn modules_are_below_their_roots() {
    let mut asked = Vec::new();
    let mut read = |path: &Path| {
        asked.push(path.to_owned());
        Ok(None)
    };
    let mut packages = Packages::new(Path::new("a/Main.scr"), "", &[], &mut read);
    for name in ["", ".", "..", "/etc.passwd", "a/../../b"] {
        assert!(packages.load(name).is_err());
    }
    assert!(
        asked.iter().all(|path| path.starts_with("a") && !path.to_string_lossy().contains("..")),
        "{asked:?}"
    );
}

#[test]
fn the_language_is_told_or_seen() {
    let source = Source::new("a.scr", "\u{feff}protocol P(role a, role b) { }");
    assert_eq!(source.text(), "protocol P(role a, role b) { }");
    assert_eq!(Parsed::of(source, None).unwrap().document().language, Language::Scr);
    let error = Parsed::of(Source::new("notes", "hello"), None).unwrap_err();
    assert_eq!(error.to_string(), "cannot tell what language `notes` is written in");
}

#[test]
fn a_protocol_is_chosen_by_name() {
    let text = Parsed::new(TWO, Language::Scr).well_formed().unwrap();
    let names: Vec<_> = text.protocols().map(|protocol| protocol.name().unwrap().to_owned()).collect();
    assert_eq!(names, ["First", "Second"]);
    assert_eq!(text.protocol(None).unwrap().name(), Some("First"));
    assert_eq!(text.protocol(Some("Part")).unwrap().machines().len(), 2);
    let error = text.protocol(Some("Third")).unwrap_err();
    assert_eq!(error.to_string(), "there is no protocol `Third`; there are Part, First, Second");
    let properties = Parsed::new("property p { [a -> b : M]ff }", Language::Hml).well_formed().unwrap();
    assert_eq!(properties.protocol(None).unwrap_err(), NoProtocol::Properties);
    assert_eq!(properties.properties().map(<[_]>::len), Some(1));
    assert!(text.properties().is_none());
}

#[test]
fn roles_are_named_or_clear() {
    let text = Parsed::new(TWO, Language::Scr).well_formed().unwrap();
    let (first, second) = (text.protocol(None).unwrap(), text.protocol(Some("Second")).unwrap());
    assert_eq!(first.default_role(), first.role("a").map_err(|_| unreachable!()));
    assert_eq!(second.default_role().unwrap_err().known, ["a", "b", "c"]);
    assert_eq!(second.role("x").unwrap_err().to_string(), "there is no role `x`; the roles are a, b, c");
    let st = Parsed::new("S = !A(n: Int).?B()", Language::St).well_formed().unwrap().protocol(None).unwrap();
    assert_eq!(st.kind(), SubjectKind::Binary { process: st.default_role().unwrap() });
}

#[test]
fn a_role_without_projection_has_no_monitor_and_says_why() {
    let text = "protocol P(role a, role b, role c) { choice at a { L() from a to b; X() from c to b; } \
                or { R() from a to b; Y() from c to b; } }";
    let protocol = Parsed::new(text, Language::Scr).well_formed().unwrap().protocol(None).unwrap();
    let c = protocol.role("c").unwrap();
    assert!(protocol.monitorable(c).unwrap_err().to_string().contains("`c` cannot know what to do"));
    assert!(protocol.system().is_none());
    assert!(protocol.monitorable(protocol.role("a").unwrap()).unwrap().monitor().is_ok());
    assert_eq!(protocol.relative_types().unwrap().len(), 3);
    assert_eq!(protocol.location(Origin::NONE), None);
}

#[test]
fn predicates_are_declared_by_the_protocol_and_defined_by_the_program() {
    let text = "external fn even(int) -> bool;
        protocol P(role a, role b) { M(n: int) from a to b where even(n); }";
    let protocol = Parsed::new(text, Language::Scr).well_formed().unwrap().protocol(None).unwrap();
    let mut monitorable = protocol.monitorable(protocol.role("a").unwrap()).unwrap();
    assert_eq!(monitorable.monitor().unwrap_err().only_missing().unwrap(), ["`even(int): bool`"]);
    let signature = protocol.registry().declared("even").unwrap().clone();
    let even = |arguments: &[Argument<'_>]| match arguments {
        [Argument::Int(n)] => Ok(Value::Bool(n % 2 == 0)),
        _ => Ok(Value::Bool(false)),
    };
    monitorable.registry_mut().register("even", signature, even);
    let monitor = monitorable.monitor().unwrap();
    let (a, b) = (monitor.party("a"), monitor.party("b"));
    let event = |n: &'static [FieldValue<'static>]| Event::new(a, b, "M", Payload::Positional(n));
    let step = |n| monitor.step(&mut monitor.session(), &event(n));
    assert_eq!(step(&[FieldValue::Int(2)]), Verdict::Forward);
    assert!(matches!(step(&[FieldValue::Int(3)]), Verdict::Violation(_)));
}

/// Modules are looked for once a text can be read: until then nothing is wrong with its imports.
#[test]
fn imports_of_a_text_with_syntax_errors_are_not_called_missing() {
    struct Empty;
    impl referee_pipeline::Loader for Empty {
        fn load(&mut self, _: &str) -> Result<referee_pipeline::ModuleFile, String> {
            Err("there is no such file".to_owned())
        }
    }
    let said = |text: &str| {
        let parsed = Parsed::load(Source::new("P.scr", text), None, &mut Empty).unwrap();
        parsed.document().diagnostics.iter().map(|found| found.code.id).collect::<Vec<_>>()
    };
    let text = "module a.P; import b.Q; protocol P(role a, role b) { M() from a to b; }";
    assert_eq!(said(text), ["RF0120"]);
    assert_eq!(said(&text.replace("b; }", "b }")), ["RF0004"]);
}
