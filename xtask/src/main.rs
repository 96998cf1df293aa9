//! Development tasks, run as `cargo xtask TASK`.
//!
//! `ci` is everything a change must pass, `tidy` the rules no compiler knows, `bench` the figures of
//! `docs/benchmarks.md`, `dist` what people install, `book` the documents as a site. This crate depends on none of Referee's own, so that it builds when they do not.
//!
//! Reading order: [`ci`], [`tidy`], [`mod@bench`], [`mod@dist`], [`mod@book`]; [`workspace`] is how they see cargo.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a development tool talks to the terminal")]

mod bench;
mod book;
mod ci;
mod dist;
mod tidy;
mod workspace;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  ci [STEP…]     everything a change must pass, in order; only the named steps if any are given
  ci --list      the steps
  tidy           dependency edges, file headers and sizes, documents, laws
  bench [NAME]   run a benchmark; without a name, list them
  dist           what people install, into target/dist
  book           the documents as a site, into target/book
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["ci", steps @ ..] => ci::run(steps),
        ["tidy"] => tidy::run().map(|()| ExitCode::SUCCESS),
        ["bench"] => bench::list().map(|()| ExitCode::SUCCESS),
        ["bench", name] => bench::run(name).map(|()| ExitCode::SUCCESS),
        ["dist"] => dist::dist().map(|()| ExitCode::SUCCESS),
        ["book"] => book::book().map(|()| ExitCode::SUCCESS),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprint!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}
