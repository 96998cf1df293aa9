//! What a message of a call costs, with ten calls in flight and with a million: `cargo bench -p referee-monitor --bench keyed`.
//!
//! Each round finishes a random call and opens it again: two messages.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion};
use referee_monitor::{Key, KeyLimits, KeyedMonitor, Monitor, Payload, Registry, Side, Stage, SubProtocol};
use referee_theory::{Action, MachineBuilder, Origin, Transition, Vocabulary};

/// The monitor of messages that follow one another: who sends, and the label.
#[expect(clippy::expect_used, reason = "a benchmark of what is right")]
fn monitor(steps: &[(Action, &str)]) -> Arc<Monitor> {
    let mut vocabulary = Vocabulary::new();
    let (client, server) = (vocabulary.add_role("client"), vocabulary.add_role("server"));
    let mut machine = MachineBuilder::new(client);
    let mut source = machine.add_state();
    for (action, label) in steps {
        let (message, target) = (vocabulary.add_plain_message(label), machine.add_state());
        let step = Transition { action: *action, peer: server, message, target, origin: Origin::NONE };
        machine.add_transition(source, step);
        source = target;
    }
    Arc::new(
        Monitor::synthesise(&machine.finish(), &Arc::new(vocabulary), &Registry::new()).expect("a monitor"),
    )
}

fn calls(criterion: &mut Criterion) {
    let call = monitor(&[(Action::Send, "Request"), (Action::Receive, "Result")]);
    let sub = SubProtocol::new(("Call", "id"), call, Side::Process, None, vec![Stage::Open, Stage::Ended]);
    let limits = KeyLimits { inflight: usize::MAX, ended: 1024 };
    let monitor = KeyedMonitor::new(monitor(&[(Action::Send, "Bye")]), vec![sub], limits);
    let mut group = criterion.benchmark_group("call");
    for count in [10_i64, 1_000_000] {
        let mut session = monitor.session();
        let nothing = || Payload::Positional(&[]);
        for key in 0..count {
            monitor.judge(&mut session, Side::Process, "Request", Some(&Key::from(key)), nothing());
        }
        let mut random = 1_u64;
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let key = Key::from(i64::try_from(random >> 33).unwrap_or(0) % count);
                black_box(monitor.judge(&mut session, Side::Environment, "Result", Some(&key), nothing()));
                black_box(monitor.judge(&mut session, Side::Process, "Request", Some(&key), nothing()));
            });
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    calls(&mut criterion);
    criterion.final_summary();
}
