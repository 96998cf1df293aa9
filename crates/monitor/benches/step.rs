//! `cargo xtask bench monitor`: what one step costs.
//!
//! Two events are measured together, a request and its reply, and the time is given for each. The rate over
//! a million sessions is printed by the example `rate`, which needs no statistics but memory.

mod protocols;

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use protocols::{Asserts, calculator};
use referee_monitor::{Event, FieldValue, Party, Payload};
use referee_theory::Type;

fn step(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("step");
    group.throughput(Throughput::Elements(2));
    let int = [FieldValue::Int(7)];
    let text = [FieldValue::Str("a7c1e5f0-token")];
    let cases = [
        ("label and int", Type::Int, Asserts::Nothing, &int),
        ("own int comparison", Type::Int, Asserts::Own, &int),
        ("kept int comparison", Type::Int, Asserts::Kept, &int),
        ("kept string comparison", Type::String, Asserts::Kept, &text),
    ];
    for (name, ty, asserts, values) in cases {
        let monitor = calculator(&ty, asserts);
        let mut session = monitor.session();
        group.bench_function(name, |bencher| {
            let (p, e) = (monitor.party("client"), monitor.party("server"));
            bencher.iter(|| {
                let add = Event::new(black_box(p), e, black_box("Add"), Payload::Positional(values));
                let sum = Event::new(black_box(e), p, black_box("Sum"), Payload::Positional(values));
                (monitor.step(&mut session, &add), monitor.step(&mut session, &sum))
            });
        });
        group.bench_function(format!("{name}, interned"), |bencher| {
            let out = (monitor.channel(Party::Process, Party::Environment), monitor.label("Add"));
            let back = (monitor.channel(Party::Environment, Party::Process), monitor.label("Sum"));
            bencher.iter(|| {
                let values = Payload::Positional(black_box(values));
                let (out, back) = (black_box(out), black_box(back));
                let first = monitor.step_interned(&mut session, out.0, out.1, values);
                (first, monitor.step_interned(&mut session, back.0, back.1, values))
            });
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    step(&mut criterion);
    criterion.final_summary();
}
