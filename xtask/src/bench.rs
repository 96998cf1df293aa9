//! `cargo xtask bench`: the benchmarks behind `docs/benchmarks.md`, by name.
//!
//! What can be measured from outside runs here. What needs Referee's crates is a benchmark target of one
//! of them, so that this crate depends on none; the registry only knows where it lives.

mod guard;
mod monitor;
mod multiparty;
mod property;
mod startup;
mod time;
mod tools;
mod watch;

use anyhow::{Result, bail};

use crate::workspace::{self, Package, cargo};

struct Benchmark {
    name: &'static str,
    what: &'static str,
    runner: Runner,
}

enum Runner {
    /// A function of this crate.
    Here(fn() -> Result<()>),
    /// The benchmark target called like the benchmark, in this package.
    Target { package: &'static str },
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "startup",
        what: "wall time of `referee --version`, process start included",
        runner: Runner::Here(startup::run),
    },
    Benchmark {
        name: "frontend",
        what: "parse, check and project: a typical protocol, and growth with size",
        runner: Runner::Target { package: "referee" },
    },
    Benchmark {
        name: "check",
        what: "compatibility: KMC's points, all families, states per second, bytes per state, growth, beside SPIN; writes its tables",
        runner: Runner::Target { package: "referee-check" },
    },
    Benchmark {
        name: "monitor",
        what: "one step of a session monitor: time, rate over many sessions, instructions",
        runner: Runner::Here(monitor::run),
    },
    Benchmark {
        name: "endpoints",
        what: "messages per second of generated endpoints, beside channels written by hand and other crates with session types",
        runner: Runner::Target { package: "referee-endpoint" },
    },
    Benchmark {
        name: "functions",
        what: "one call of an external function in a WebAssembly module",
        runner: Runner::Target { package: "referee-functions" },
    },
    Benchmark {
        name: "watch",
        what: "recorded events per second, threads, memory; beside Python, jq and RTLola",
        runner: Runner::Here(watch::run),
    },
    Benchmark {
        name: "multiparty",
        what: "a network of multiparty monitors: messages per second and memory in one process; loops over HTTP, beside direct ones",
        runner: Runner::Here(multiparty::run),
    },
    Benchmark {
        name: "property",
        what: "property monitors: decoded events, JSON lines, detectEr's log, many keys, a thousand properties; JetStream beside a consumer that counts",
        runner: Runner::Here(property::run),
    },
    Benchmark {
        name: "time",
        what: "properties that speak of time: more than ten failures in 60 seconds, no reply within five, beside a recount",
        runner: Runner::Here(time::run),
    },
    Benchmark {
        name: "guard",
        what: "HTTP, Redis and SMTP through a guard, beside HAProxy: rates, latencies and their ratios",
        runner: Runner::Here(guard::run),
    },
    Benchmark { name: "mail", what: "the part of `guard` about SMTP", runner: Runner::Here(guard::mail) },
    Benchmark {
        name: "idle",
        what: "twenty thousand idle sessions of a guard: memory of each",
        runner: Runner::Here(guard::idle),
    },
    Benchmark {
        name: "soak",
        what: "a guard at full load for ten minutes: memory over time",
        runner: Runner::Here(guard::soak),
    },
];

impl Benchmark {
    fn exists(&self, packages: &[Package]) -> bool {
        match self.runner {
            Runner::Here(_) => true,
            Runner::Target { package: owner } => packages
                .iter()
                .any(|package| package.name == owner && package.benches.iter().any(|name| name == self.name)),
        }
    }
}

/// Prints every benchmark and whether it can run.
pub(crate) fn list() -> Result<()> {
    let packages = workspace::packages()?;
    for benchmark in BENCHMARKS {
        let note = if benchmark.exists(&packages) { "" } else { " (planned)" };
        println!("{:<10} {}{note}", benchmark.name, benchmark.what);
    }
    Ok(())
}

/// Runs the benchmark called `name`.
pub(crate) fn run(name: &str) -> Result<()> {
    let Some(benchmark) = BENCHMARKS.iter().find(|benchmark| benchmark.name == name) else {
        let known: Vec<_> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
        bail!("there is no benchmark `{name}`; there are {}", known.join(", "));
    };
    match benchmark.runner {
        Runner::Here(run) => run(),
        Runner::Target { package } if benchmark.exists(&workspace::packages()?) => {
            workspace::run(&mut cargo(&["bench", "--package", package, "--bench", name]))
        }
        Runner::Target { package } => {
            bail!("`{name}` is planned: `{package}` has no such benchmark target yet")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(benches: &[&str]) -> Package {
        Package {
            name: "referee".to_owned(),
            directory: "crates/referee".to_owned(),
            dependencies: Vec::new(),
            benches: benches.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn a_target_exists_once_its_package_has_it() {
        let frontend = BENCHMARKS.iter().find(|benchmark| benchmark.name == "frontend").unwrap();
        assert!(!frontend.exists(&[package(&[])]));
        assert!(!frontend.exists(&[package(&["other"])]));
        assert!(frontend.exists(&[package(&["frontend"])]));
    }

    #[test]
    fn an_unknown_benchmark_is_named() {
        let error = run("fronted").unwrap_err().to_string();
        assert!(error.contains("`fronted`") && error.contains("frontend"), "{error}");
    }
}
