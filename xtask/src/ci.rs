//! `cargo xtask ci`: everything a change must pass, in order of how soon it can fail.
//!
//! A step passes, fails, or says why it cannot run here. The first failure ends the run. The last line on
//! standard output is for scripts: `ci: ok, …` or `ci: failed at STEP, …`.

mod wasm;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::tidy;
use crate::workspace::{self, cargo};

struct Step {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<Outcome>,
}

/// How a step that did not fail ended.
enum Outcome {
    Passed,
    /// It cannot run here, and this is why.
    Skipped(String),
}

const STEPS: &[Step] = &[
    Step { name: "fmt", what: "the code is formatted", run: fmt },
    Step { name: "clippy", what: "no lint fires", run: clippy },
    Step { name: "tidy", what: "the rules no compiler knows", run: tidy },
    Step { name: "deny", what: "licences, sources and versions of dependencies", run: deny },
    Step { name: "tests", what: "unit and integration tests, laws and golden files", run: tests },
    Step { name: "doctests", what: "the examples in the documentation run", run: doctests },
    Step { name: "doc", what: "the documentation builds without warnings", run: doc },
    Step {
        name: "wasm",
        what: "the pure crates build for WebAssembly, and answer in Node as they do here",
        run: wasm::run,
    },
    Step { name: "benches", what: "the benchmarks compile", run: benches },
    Step { name: "peers", what: "guards between real servers and clients", run: peers },
];

/// Runs the steps named in `arguments`, or all of them.
pub(crate) fn run(arguments: &[&str]) -> Result<ExitCode> {
    if arguments == ["--list"] {
        for step in STEPS {
            println!("{:<9} {}", step.name, step.what);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let steps = select(arguments)?;
    let mut lines = Vec::new();
    let mut failure = None;
    let start = Instant::now();
    for step in steps {
        if failure.is_some() {
            lines.push(Line { name: step.name, state: State::NotRun });
            continue;
        }
        println!("\n── {}: {}", step.name, step.what);
        let began = Instant::now();
        let state = match (step.run)() {
            Ok(Outcome::Passed) => State::Passed(began.elapsed()),
            Ok(Outcome::Skipped(reason)) => State::Skipped(reason),
            Err(error) => {
                failure = Some((step.name, error));
                State::Failed(began.elapsed())
            }
        };
        println!("── {}: {state}", step.name);
        lines.push(Line { name: step.name, state });
    }
    println!("\n{}", table(&lines));
    if let Some((name, error)) = &failure {
        println!("{name} failed: {error:#}\nrun it alone with `cargo xtask ci {name}`");
    }
    println!("{}", last_line(&lines, start.elapsed()));
    Ok(if failure.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The steps named, in the order in which they always run.
fn select(names: &[&str]) -> Result<Vec<&'static Step>> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        bail!("there is no step `{unknown}`; the steps are {}", known.join(", "));
    }
    Ok(STEPS.iter().filter(|step| names.is_empty() || names.contains(&step.name)).collect())
}

struct Line {
    name: &'static str,
    state: State,
}

enum State {
    Passed(Duration),
    Skipped(String),
    Failed(Duration),
    NotRun,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Passed(time) => write!(f, "ok       {:>6.1} s", time.as_secs_f64()),
            Self::Skipped(reason) => write!(f, "skipped           ({reason})"),
            Self::Failed(time) => write!(f, "FAILED   {:>6.1} s", time.as_secs_f64()),
            Self::NotRun => f.write_str("not run"),
        }
    }
}

fn table(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("{:<9} {}\n", line.name, line.state)).collect()
}

/// One line for scripts.
fn last_line(lines: &[Line], time: Duration) -> String {
    let count = |matches: fn(&State) -> bool| lines.iter().filter(|line| matches(&line.state)).count();
    let passed = count(|state| matches!(state, State::Passed(_)));
    let skipped = count(|state| matches!(state, State::Skipped(_)));
    let failed = lines.iter().find(|line| matches!(line.state, State::Failed(_)));
    let verdict = failed.map_or("ok".to_owned(), |line| format!("failed at {}", line.name));
    format!("ci: {verdict}, {passed} passed, {skipped} skipped, {:.1} s", time.as_secs_f64())
}

/// Runs `command`; the step passes when it succeeds.
fn pass(command: &mut Command) -> Result<Outcome> {
    workspace::run(command).map(|()| Outcome::Passed)
}

fn fmt() -> Result<Outcome> {
    need_component("fmt", "rustfmt")?;
    pass(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Result<Outcome> {
    need_component("clippy", "clippy")?;
    pass(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn need_component(subcommand: &str, component: &str) -> Result<()> {
    if !workspace::succeeds(&mut cargo(&[subcommand, "--version"])) {
        bail!("`cargo {subcommand}` is not installed: `rustup component add {component}`");
    }
    Ok(())
}

fn tidy() -> Result<Outcome> {
    tidy::run().map(|()| Outcome::Passed)
}

fn deny() -> Result<Outcome> {
    if !workspace::succeeds(&mut cargo(&["deny", "--version"])) {
        return Ok(Outcome::Skipped("not installed: `cargo install cargo-deny`".to_owned()));
    }
    pass(&mut cargo(&["deny", "--log-level", "error", "check", "licenses", "bans", "sources"]))
}

fn tests() -> Result<Outcome> {
    if workspace::succeeds(&mut cargo(&["nextest", "--version"])) {
        return pass(&mut cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]));
    }
    pass(&mut cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]))
}

fn doctests() -> Result<Outcome> {
    pass(&mut cargo(&["test", "--workspace", "--doc", "--no-fail-fast"]))
}

fn doc() -> Result<Outcome> {
    pass(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn benches() -> Result<Outcome> {
    let packages = workspace::packages()?;
    let benches: Vec<_> = packages.iter().flat_map(|package| &package.benches).collect();
    if benches.is_empty() {
        return Ok(Outcome::Skipped("there are no benchmark targets yet".to_owned()));
    }
    // The test profile shares its dependencies with the tests; the figures come from `cargo xtask bench`.
    let mut arguments = vec!["bench", "--workspace", "--no-run", "--profile", "test"];
    for bench in benches {
        arguments.extend(["--bench", bench]);
    }
    pass(&mut cargo(&arguments))
}

/// The exit status with which `tests/peers/run` says that nothing could be tested.
const NOTHING_RAN: i32 = 77;

fn peers() -> Result<Outcome> {
    let script = |name: &str| workspace::root().join("tests/peers").join(name);
    if !workspace::succeeds(Command::new("bash").arg("--version")) {
        return Ok(Outcome::Skipped("there is no bash".to_owned()));
    }
    // The test profile shares what the tests have built.
    workspace::run(&mut cargo(&["build", "--profile", "test", "--package", "referee", "--bin", "referee"]))?;
    workspace::run(&mut Command::new(script("install")))?;
    let status = Command::new(script("run")).status()?;
    match status.code() {
        Some(0) => Ok(Outcome::Passed),
        Some(NOTHING_RAN) => Ok(Outcome::Skipped("no peers: see `tests/peers/install`".to_owned())),
        _ => bail!("`tests/peers/run` failed ({status})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Vec<&'static str> {
        select(arguments).unwrap().iter().map(|step| step.name).collect()
    }

    #[test]
    fn no_names_select_every_step() {
        assert_eq!(names(&[]).len(), STEPS.len());
    }

    #[test]
    fn named_steps_run_in_their_own_order() {
        assert_eq!(names(&["tests", "fmt"]), ["fmt", "tests"]);
    }

    #[test]
    fn an_unknown_step_is_named() {
        let error = select(&["fmt", "tetss"]).err().unwrap().to_string();
        assert!(error.contains("`tetss`") && error.contains("tests"), "{error}");
    }

    #[test]
    fn the_last_line_counts_what_passed() {
        let lines = [
            Line { name: "fmt", state: State::Passed(Duration::from_millis(500)) },
            Line { name: "wasm", state: State::Skipped("no target".to_owned()) },
        ];
        assert_eq!(last_line(&lines, Duration::from_millis(1500)), "ci: ok, 1 passed, 1 skipped, 1.5 s");
    }

    #[test]
    fn the_last_line_names_the_failure() {
        let lines = [
            Line { name: "fmt", state: State::Passed(Duration::ZERO) },
            Line { name: "clippy", state: State::Failed(Duration::ZERO) },
            Line { name: "tidy", state: State::NotRun },
        ];
        let line = last_line(&lines, Duration::ZERO);
        assert_eq!(line, "ci: failed at clippy, 1 passed, 0 skipped, 0.0 s");
        assert!(table(&lines).contains("tidy      not run\n"));
    }
}
