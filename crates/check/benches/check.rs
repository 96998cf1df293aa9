//! The figures of the checker: `cargo xtask bench check` runs every part and writes its table into
//! `docs/benchmarks.md`; `cargo bench -p referee-check --bench check -- PART` runs one part of [`PARTS`].
//!
//! CPU time is read from `/proc`, so that a busy machine does not change it much.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark measures, runs other programs, prints and writes its tables"
)]

#[path = "check/families.rs"]
mod families;
#[path = "check/growth.rs"]
mod growth;
#[path = "check/measure.rs"]
mod measure;
#[path = "check/rate.rs"]
mod rate;
#[path = "check/report.rs"]
mod report;
#[path = "check/spin.rs"]
mod spin;
#[path = "check/stateright.rs"]
mod stateright;
#[path = "check/symmetry.rs"]
mod symmetry;

use report::Table;

/// As in the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Each part makes one table.
type Part = (&'static str, fn() -> Table);

const PARTS: [Part; 7] = [
    ("points", families::points),
    ("families", families::families),
    ("rate", rate::rate),
    ("growth", growth::growth),
    ("symmetry", symmetry::symmetry),
    ("spin", spin::spin),
    ("peers", stateright::peers),
];

fn main() -> std::io::Result<()> {
    // Cargo adds flags of its own; `--test` only asks whether this works.
    let flags = || std::env::args().skip(1).filter(|argument| argument.starts_with("--"));
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if flags().any(|flag| flag == "--test") {
        print!("{}", families::smallest().to_markdown());
        return Ok(());
    }
    if let Some((first, rest)) = words.split_first()
        && first == "growth-one"
    {
        let _ = growth::one(rest);
        return Ok(());
    }
    if let Some((first, rest)) = words.split_first()
        && first == "rate-one"
    {
        let _ = rate::one(rest);
        return Ok(());
    }
    for (name, run) in PARTS {
        if words.is_empty() || words.iter().any(|word| word == name) {
            println!("{name}");
            report::write(name, &run().to_markdown())?;
        }
    }
    Ok(())
}
