//! Modules as users write them, right and wrong: what is passed, what is refused, what is bounded.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests throughout")]

use std::path::Path;
use std::sync::Arc;

use referee_functions::{Functions, FunctionsError, Limits, NoMonitor, synthesise};
use referee_monitor::{Argument, Event, FaultKind, FieldValue, Payload, Predicate, Registry, Verdict};
use referee_theory::expr::{Signature, Value};
use referee_theory::{Machine, Type, Vocabulary};

fn load(text: &str) -> Result<Functions, FunctionsError> {
    Functions::load("m.wasm", &wat::parse_str(text).unwrap(), Limits::default())
}

fn signature(parameters: &[Type], result: Type) -> Signature {
    Signature { parameters: parameters.into(), result }
}

fn predicate(text: &str, name: &str, parameters: &[Type], result: Type) -> Arc<dyn Predicate> {
    load(text).unwrap().predicate(name, &signature(parameters, result)).unwrap().unwrap()
}

/// Why `name` of the module cannot be used.
fn refused(text: &str, name: &str, parameters: &[Type], result: Type) -> String {
    let error = load(text).and_then(|functions| functions.predicate(name, &signature(parameters, result)));
    match error {
        Err(error) => error.to_string(),
        Ok(_) => panic!("not refused"),
    }
}

/// A module with a bump allocator and these functions.
fn with_alloc(functions: &str) -> String {
    format!(
        r#"(module (memory (export "memory") 1) (global $next (mut i32) (i32.const 1024))
          (func $alloc (export "alloc") (param i32) (result i32)
            (local $start i32)
            (local.set $start (global.get $next))
            (global.set $next (i32.add (local.get $start) (local.get 0)))
            (loop $grow
              (if (i32.gt_u (global.get $next) (i32.mul (memory.size) (i32.const 65536)))
                (then (drop (memory.grow (i32.const 1))) (br $grow))))
            (local.get $start))
          {functions})"#
    )
}

/// `EXAMPLES/auth/auth.wasm` is what `auth.wat` says.
#[test]
fn the_example_is_assembled_from_its_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/auth");
    let assembled = wat::parse_file(folder.join("auth.wat")).unwrap();
    if std::env::var_os("REFEREE_BLESS").is_some() {
        std::fs::write(folder.join("auth.wasm"), &assembled).unwrap();
    }
    assert!(std::fs::read(folder.join("auth.wasm")).unwrap() == assembled, "assemble auth.wat anew");
    let functions = Functions::load("auth.wasm", &assembled, Limits::default()).unwrap();
    let find = |name, parameters: &[Type]| {
        functions.predicate(name, &signature(parameters, Type::Bool)).unwrap().unwrap()
    };
    let name = find("validName", &[Type::String]);
    for (text, valid) in
        [("bob", true), ("", false), ("Bob", false), ("bob1", false), ("{", false), ("`", false)]
    {
        assert_eq!(name.call(&[Argument::Text(text)]), Ok(Value::Bool(valid)), "{text}");
    }
    let token = find("validToken", &[Type::String, Type::String]);
    for (text, valid) in [("bob-1", true), ("bob-", true), ("bob", false), ("bobby", false), ("eve-1", false)]
    {
        let args = [Argument::Text(text), Argument::Text("bob")];
        assert_eq!(token.call(&args), Ok(Value::Bool(valid)), "{text}");
    }
    // More than there was room for, and then less again.
    let long = "b".repeat(1 << 18);
    assert_eq!(name.call(&[Argument::Text(&long)]), Ok(Value::Bool(true)));
    assert_eq!(name.call(&[Argument::Text("bob")]), Ok(Value::Bool(true)));
}

#[test]
fn every_type_is_passed_and_returned() {
    let text = with_alloc(
        r#"(func (export "not") (param i32) (result i32) (i32.eqz (local.get 0)))
           (func (export "next") (param i64) (result i64) (i64.add (local.get 0) (i64.const 1)))
           (func (export "half") (param f64) (result f64) (f64.mul (local.get 0) (f64.const 0.5)))
           (func (export "tail") (param i32 i32) (result i64)
             (i64.or (i64.shl (i64.extend_i32_u (i32.add (local.get 0) (i32.const 1))) (i64.const 32))
                     (i64.extend_i32_u (i32.sub (local.get 1) (i32.const 1)))))
           (func (export "util_all") (param i32 i64 i32 i32 f64) (result i64)
             (i64.add (i64.extend_i32_s (local.get 0))
               (i64.add (local.get 1)
                 (i64.add (i64.extend_i32_u (local.get 3)) (i64.trunc_f64_s (local.get 4))))))"#,
    );
    let call = |name: &str, ty: Type, arg: Argument<'_>| {
        predicate(&text, name, std::slice::from_ref(&ty), ty.clone()).call(&[arg]).unwrap()
    };
    assert_eq!(call("not", Type::Bool, Argument::Bool(true)), Value::Bool(false));
    assert_eq!(call("next", Type::Int, Argument::Int(-1)), Value::Int(0));
    assert_eq!(call("half", Type::Float, Argument::Float(3.0)), Value::Float(1.5));
    assert_eq!(call("tail", Type::String, Argument::Text("xyz")), Value::string("yz"));
    assert_eq!(call("tail", Type::Bytes, Argument::Bytes(&[1, 2, 3])), Value::Bytes([2, 3].into()));
    let opaque = Type::Opaque("Date".into());
    assert_eq!(call("tail", opaque, Argument::Text("now")), Value::Opaque("ow".into()));
    // A dot may be an underscore.
    let all = predicate(&text, "util.all", &[Type::Bool, Type::Int, Type::String, Type::Float], Type::Int);
    let args = [Argument::Bool(true), Argument::Int(10), Argument::Text("abc"), Argument::Float(100.0)];
    assert_eq!(all.call(&args), Ok(Value::Int(114)));
}

#[test]
fn what_is_no_module_or_wants_something_is_refused() {
    let error = |wasm: &[u8]| Functions::load("m.wasm", wasm, Limits::default()).unwrap_err().to_string();
    assert!(error(b"(module)").contains("is not a WebAssembly module; text (WAT) has to be assembled"));
    assert!(error(b"").contains("not a WebAssembly module"));
    assert!(error(b"\0asm\x01\0\0\0\xff\xff").contains("not a valid WebAssembly module"));
    let text = r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#;
    assert!(load(text).unwrap_err().to_string().contains("it imports `wasi_snapshot_preview1.fd_write`"));
    let text = "(module (func $f unreachable) (start $f))";
    assert!(load(text).unwrap_err().to_string().contains("it does not start: gave up"));
    let text = "(module (memory 1000))";
    assert!(load(text).unwrap_err().to_string().contains("it does not start"));
}

#[test]
fn another_signature_is_refused_with_both() {
    let text = r#"(module (func (export "f") (param i64) (result i32) (i32.const 1)) (global (export "g") i32 (i32.const 1)))"#;
    assert_eq!(
        refused(text, "f", &[Type::String], Type::Bool),
        "the functions of `m.wasm` cannot be used: `f(string): bool` has to be (i32, i32) -> i32 there, but it is \
         (i64) -> i32"
    );
    assert!(refused(text, "g", &[], Type::Bool).contains("but it is no function"));
    let list = Type::List(Arc::new(Type::Int));
    assert!(refused(text, "f", &[list], Type::Bool).contains("passes a value of type"));
    assert!(load(text).unwrap().predicate("h", &signature(&[], Type::Bool)).unwrap().is_none());
    let text = r#"(module (func (export "f") (param i32 i32) (result i32) (i32.const 1)))"#;
    assert!(refused(text, "f", &[Type::String], Type::Bool).contains("does not export its memory"));
    let text = r#"(module (memory (export "memory") 1) (func (export "f") (param i32 i32) (result i32) (i32.const 1)))"#;
    assert!(refused(text, "f", &[Type::String], Type::Bool).contains("exports no function `alloc`"));
}

#[test]
fn whatever_a_function_does_is_bounded() {
    let text = with_alloc(
        r#"(func (export "loop") (param i32 i32) (result i32) (loop $again (br $again)) (i32.const 1))
           (func (export "trap") (param i32 i32) (result i32) unreachable)
           (func $deep (export "deep") (param i32 i32) (result i32) (call $deep (local.get 0) (local.get 1)))
           (func (export "eat") (param i32 i32) (result i32) (memory.grow (i32.const 1000)))
           (func (export "outside") (param i32 i32) (result i32) (i32.load (i32.const 0x7fffffff)))
           (func (export "far") (param i32 i32) (result i64) (i64.const 0x7fffffff00000001))
           (func (export "latin") (param i32 i32) (result i64)
             (i32.store8 (i32.const 8) (i32.const 0xff)) (i64.const 0x0000000800000001))
           (func (export "size") (param i32 i32) (result i32) (i32.eq (local.get 1) (i32.const 3)))"#,
    );
    let functions = load(&text).unwrap();
    let call = |name: &str, result: Type, argument: &str| {
        let found = functions.predicate(name, &signature(&[Type::String], result)).unwrap().unwrap();
        found.call(&[Argument::Text(argument)])
    };
    let error = |name: &str, result: Type| call(name, result, "bob").unwrap_err();
    assert_eq!(error("loop", Type::Bool), "m.wasm: it did not come to an end within 10000000 units of fuel");
    assert_eq!(error("trap", Type::Bool), "m.wasm: it gave up (`unreachable`, as after a panic)");
    assert!(error("deep", Type::Bool).contains("stack"), "{}", error("deep", Type::Bool));
    assert_eq!(error("eat", Type::Bool), "m.wasm: it needs more than 16777216 bytes of memory");
    assert!(error("outside", Type::Bool).contains("out of bounds"));
    assert_eq!(error("far", Type::String), "m.wasm: its answer lies outside its memory");
    assert_eq!(error("latin", Type::String), "m.wasm: its answer is not UTF-8");
    // Nothing of this is left behind.
    assert_eq!(call("size", Type::Bool, "bob"), Ok(Value::Bool(true)));
    let huge = "b".repeat(17 << 20);
    let why = call("size", Type::Bool, &huge).unwrap_err();
    assert_eq!(why, "m.wasm: arguments of 17825792 bytes do not fit into its 16777216 bytes");
    // Room for the arguments is made in doubles, and nothing is freed: what fits into a new instance fits.
    for megabytes in [1, 5, 7, 15, 1, 12] {
        let long = "b".repeat(megabytes << 20);
        assert_eq!(call("size", Type::Bool, &long), Ok(Value::Bool(false)), "{megabytes} MiB");
    }
}

#[test]
fn an_allocator_that_does_not_work_is_named() {
    let with = |body: &str| {
        format!(
            r#"(module (memory (export "memory") 1) (func (export "alloc") (param i32) (result i32) {body})
              (func (export "f") (param i32 i32) (result i32) (i32.const 1)))"#
        )
    };
    let error = |body: &str| {
        let found = predicate(&with(body), "f", &[Type::String], Type::Bool);
        found.call(&[Argument::Text("bob")]).unwrap_err()
    };
    assert_eq!(error("(i32.const 0)"), "m.wasm: `alloc` gave no memory for 256 bytes");
    assert_eq!(
        error("(i32.const -8)"),
        "m.wasm: `alloc` gave 256 bytes at 4294967288, outside its memory of 65536"
    );
    assert_eq!(error("unreachable"), "m.wasm: `alloc` gave up (`unreachable`, as after a panic)");
}

const PROTOCOL: &str = "external fn good(string, int) -> bool;
    protocol P(role client, role server) {
        Ask(name: string, n: int) from client to server where good(name, n);
        Reply() from server to client;
    }";

fn machine() -> (Machine, Arc<Vocabulary>) {
    let document = referee_syntax::parse(PROTOCOL, referee_syntax::Language::Scr);
    let referee_syntax::Content::Global(protocols) = document.content else { panic!() };
    let global = protocols[0].global.as_ref().unwrap();
    (
        global.project(global.vocabulary().find_role("client").unwrap()).unwrap(),
        Arc::clone(global.vocabulary()),
    )
}

/// `good(name, n)`: the length of `name` is `n`; traps if `n` is negative.
fn good() -> Functions {
    let body = r#"(func (export "good") (param i32 i32 i64) (result i32)
        (if (i64.lt_s (local.get 2) (i64.const 0)) (then unreachable))
        (i64.eq (i64.extend_i32_u (local.get 1)) (local.get 2)))"#;
    load(&with_alloc(body)).unwrap()
}

#[test]
fn a_monitor_takes_what_is_missing_from_modules() {
    let (machine, vocabulary) = machine();
    let mut registry = Registry::new();
    let Err(NoMonitor::Synthesis(_)) = synthesise(&machine, &vocabulary, &registry, &[]) else { panic!() };
    let other = load(r#"(module (func (export "other") (result i32) (i32.const 1)))"#).unwrap();
    let Err(NoMonitor::Synthesis(_)) = synthesise(&machine, &vocabulary, &registry, &[other]) else {
        panic!()
    };
    registry.declare("good", signature(&[Type::String, Type::Int], Type::Bool));
    let monitor = synthesise(&machine, &vocabulary, &registry, &[good()]).unwrap();
    let (client, server) = (monitor.party("client"), monitor.party("server"));
    let step = |name, n| {
        let values = [FieldValue::Str(name), FieldValue::Int(n)];
        monitor.step(&mut monitor.session(), &Event::new(client, server, "Ask", Payload::Positional(&values)))
    };
    assert_eq!(step("bob", 3), Verdict::Forward);
    assert!(matches!(step("bob", 4), Verdict::Violation(_)));
    // A trap is nobody's fault but the module's.
    let Verdict::Fault(fault) = step("bob", -1) else { panic!() };
    assert_eq!(fault.kind, FaultKind::Predicate);
    assert_eq!(step("bob", 3), Verdict::Forward);

    let twice = synthesise(&machine, &vocabulary, &registry, &[good(), good()]);
    assert!(matches!(&twice, Err(NoMonitor::Functions(_))));
    assert!(twice.unwrap_err().to_string().contains("`good` is also defined by `m.wasm`"));
}

#[test]
fn calls_from_several_threads_do_not_meet() {
    let (machine, vocabulary) = machine();
    let monitor = synthesise(&machine, &vocabulary, &Registry::new(), &[good()]).unwrap();
    let (client, server) = (monitor.party("client"), monitor.party("server"));
    std::thread::scope(|scope| {
        for thread in 1..=4_usize {
            let monitor = &monitor;
            scope.spawn(move || {
                for round in 0..200 {
                    let name = "x".repeat(thread * 50 + round);
                    let values = [FieldValue::Str(&name), FieldValue::Int(name.len() as i64)];
                    let event = Event::new(client, server, "Ask", Payload::Positional(&values));
                    assert_eq!(monitor.step(&mut monitor.session(), &event), Verdict::Forward);
                }
            });
        }
    });
}
