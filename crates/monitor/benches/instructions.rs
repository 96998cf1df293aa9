//! How many instructions one step takes, counted by valgrind: `cargo xtask bench monitor`, after the times.
//!
//! Each benchmark steps over a thousand requests and their replies, so a figure divided by two thousand is that of one
//! step, with the loop around it. A limit that is exceeded makes the run fail.

#![allow(
    missing_docs,
    unused_qualifications,
    unreachable_pub,
    clippy::disallowed_types,
    reason = "what the macros of gungraun expand to"
)]

mod protocols;

use std::hint::black_box;

use gungraun::{
    Callgrind, CallgrindMetrics, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use protocols::{Asserts, calculator};
use referee_monitor::{Event, FieldValue, Monitor, Payload, Verdict};
use referee_theory::Type;

/// How many requests and replies.
const PAIRS: u64 = 1000;

/// What one event may take: 150 instructions for a label and a scalar.
fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    let limit = (gungraun::EventKind::Ir, 2 * PAIRS * instructions);
    config.tool(
        Callgrind::default().format([CallgrindMetrics::from(gungraun::EventKind::Ir)]).hard_limits([limit]),
    );
    config
}

#[library_benchmark]
#[bench::label_and_int(args = (calculator(&Type::Int, Asserts::Nothing)), config = at_most(150))]
#[bench::own_int_comparison(args = (calculator(&Type::Int, Asserts::Own)), config = at_most(250))]
#[bench::kept_int_comparison(args = (calculator(&Type::Int, Asserts::Kept)), config = at_most(350))]
fn step(monitor: Monitor) -> (Monitor, bool) {
    let (p, e) = (monitor.party("client"), monitor.party("server"));
    let values = [FieldValue::Int(7)];
    let mut session = monitor.session();
    let mut fine = true;
    let add = Event::new(p, e, "Add", Payload::Positional(&values));
    let sum = Event::new(e, p, "Sum", Payload::Positional(&values));
    for _ in 0..PAIRS {
        fine &= monitor.step(&mut session, black_box(&add)) == Verdict::Forward;
        fine &= monitor.step(&mut session, black_box(&sum)) == Verdict::Forward;
    }
    (monitor, black_box(fine))
}

library_benchmark_group!(name = steps; benchmarks = step);
main!(library_benchmark_groups = steps);
