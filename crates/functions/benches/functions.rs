//! `cargo xtask bench functions`: what a call of a function in a module costs.

use std::hint::black_box;
use std::sync::Arc;

use criterion::Criterion;
use referee_functions::{Functions, Limits};
use referee_monitor::{Argument, Predicate};
use referee_theory::Type;
use referee_theory::expr::Signature;

/// The functions of `examples/auth`.
const WASM: &[u8] = include_bytes!("../../../examples/auth/auth.wasm");

fn predicate(name: &str, parameters: &[Type]) -> Arc<dyn Predicate> {
    let signature = Signature { parameters: parameters.into(), result: Type::Bool };
    let functions = Functions::load("auth.wasm", WASM, Limits::default());
    match functions.and_then(|functions| functions.predicate(name, &signature)) {
        Ok(Some(predicate)) => predicate,
        other => unreachable!("{}", other.err().map(|error| error.to_string()).unwrap_or_default()),
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let name = predicate("validName", &[Type::String]);
    criterion.bench_function("a string of 3 bytes, read", |bencher| {
        bencher.iter(|| name.call(black_box(&[Argument::Text("bob")])));
    });
    let token = predicate("validToken", &[Type::String, Type::String]);
    criterion.bench_function("two strings, compared", |bencher| {
        bencher.iter(|| token.call(black_box(&[Argument::Text("bob-a7c1e5f0"), Argument::Text("bob")])));
    });
    criterion.final_summary();
}
