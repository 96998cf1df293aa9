//! `Options::max_memory` holds of the whole process, whatever the reduction and the number of threads: at no time is more resident
//! than that and a constant for the process itself. Only Linux tells what a process had at most.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test"
)]

use std::process::Command;
use std::sync::Arc;

use referee_check::{Options, Reduction, Stop, check, generate};
use referee_testkit::corpus::read_types;
use referee_theory::{MachineBuilder, System};

/// As in the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The process itself, and what is not counted, in bytes (`docs/limits.md`): threads keep what they have freed.
fn beside(threads: usize) -> usize {
    if threads == 1 { 32 << 20 } else { 64 << 20 }
}

/// Names the case that a process is started for.
const CASE: &str = "REFEREE_MEMORY_CASE";

/// Large ones, of which exploration exceeds the limit, and some that fit, of which every property is asked.
fn systems() -> [(&'static str, System, Reduction); 6] {
    let (full, sound) = (Reduction::None, Reduction::Sound);
    [
        ("pipeline", generate::pipeline(7, 2), full),
        ("pipeline of more than a word", generate::pipeline(12, 3), full),
        ("philosophers", generate::philosophers(6, false), sound),
        ("philosophers, unreduced", generate::philosophers(5, true), full),
        ("exchange", generate::exchange(6, 1, 7), sound),
        ("philosophers, Algorithm 1", generate::philosophers(8, false), Reduction::Paper),
    ]
}

/// The most that this process ever had resident, in bytes.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? << 10)
}

/// Runs one case: MiB, number of the system, threads.
fn one(case: &str) {
    let [mib, number, threads] =
        case.split(',').map(|word| word.parse().unwrap()).collect::<Vec<usize>>()[..]
    else {
        panic!("{case}")
    };
    let (name, system, reduction) = systems().into_iter().nth(number).unwrap();
    let max_memory = mib << 20;
    let symmetry_from = usize::MAX;
    let stable = reduction == Reduction::None;
    let options = Options { reduction, threads, max_memory, symmetry_from, stable, ..Options::exactly(1) };
    let limit = check(&system, &options, None, &mut ()).limit.map(|(stop, _)| stop);
    let Some(resident) = peak() else { return };
    println!("{mib} MiB, {name}, {threads} threads: {} KiB, limit: {limit:?}", resident >> 10);
    assert!(limit.is_none_or(|stop| stop == Stop::Memory), "{name}: {limit:?}");
    assert!(resident <= max_memory + beside(threads), "{name} with {mib} MiB: {resident}");
}

/// Machines count: this one has one step, written many times.
#[test]
fn a_model_that_is_too_large_is_a_reason() {
    let system = read_types("A: B!a; end  B: A?a; end").unwrap();
    let vocabulary = Arc::clone(system.vocabulary());
    let (a, b) = (system.machines()[0].clone(), system.machines()[1].clone());
    let step = a.all_transitions()[0];
    let mut builder = MachineBuilder::with_states_of(a.role(), &a);
    (0..400_000).for_each(|_| builder.add_transition(a.initial(), step));
    let system = System::new(vocabulary, [builder.finish(), b]);
    let limit = |mib: usize| {
        let options = Options { max_memory: mib << 20, ..Options::default() };
        check(&system, &options, None, &mut ()).limit.map(|(stop, _)| stop)
    };
    assert_eq!((limit(8), limit(64)), (Some(Stop::Memory), None));
}

/// Each case in a process of its own, so that peaks do not mix.
#[test]
fn the_limit_holds_of_the_process() {
    if let Ok(case) = std::env::var(CASE) {
        return one(&case);
    }
    for mib in [25, 70] {
        for (number, threads) in (0..systems().len()).flat_map(|number| [(number, 1), (number, 2)]) {
            let case = format!("{mib},{number},{threads}");
            let this = std::env::current_exe().unwrap();
            let arguments = ["--exact", "the_limit_holds_of_the_process", "--nocapture"];
            let output = Command::new(this).args(arguments).env(CASE, &case).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.lines().filter(|line| line.contains("MiB")).for_each(|line| println!("{line}"));
            assert!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
