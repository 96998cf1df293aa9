//! How long it takes to read a protocol, check it and project it onto every role and every pair.
//!
//! `cargo xtask bench frontend`. CPU time. Three questions: a typical protocol, a very large one (is time linear in
//! size?), and the whole command on a small file, process start included.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints its figures or fails")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use referee::{Analysis, Language, parse};

/// As in the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Asks for one measurement of the protocol with so many messages.
const ONCE: &str = "--once";

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(ONCE) {
        return once(arguments.next().and_then(|messages| messages.parse().ok()).unwrap_or(0));
    }
    // `cargo test --benches` runs this with `--test`: only show that it works.
    let quick = std::env::args().any(|argument| argument == "--test");
    typical(quick);
    large(quick);
    command(quick);
}

/// The CPU time this process has used: a busy machine changes it little.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The median CPU time of several runs of `work`.
fn median(runs: usize, mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = cpu_time();
            work();
            cpu_time() - start
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn analyse(text: &str, language: Language) -> Analysis {
    std::hint::black_box(Analysis::of(parse(std::hint::black_box(text), language)))
}

fn texts_below(folder: &Path) -> Vec<(Language, String)> {
    let mut folders = vec![folder.to_owned()];
    let mut texts = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path)
                && let Some(language) = Language::detect(&path.to_string_lossy(), &text)
                && !path.ends_with("projections.txt")
                && path.extension().is_some_and(|extension| extension != "md" && extension != "json")
            {
                texts.push((language, text));
            }
        }
    }
    texts
}

fn typical(quick: bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = std::env::var_os("REFEREE_CORPUS").map_or(root.join("../shared/corpus"), PathBuf::from);
    let sources = [("examples", root.join("examples")), ("corpus", corpus)];
    println!("| protocols | files | bytes on average | parse + check + all projections, on average |");
    println!("|---|---|---|---|");
    for (name, folder) in sources {
        let texts = texts_below(&folder);
        if texts.is_empty() {
            println!("| {name} | not there: skipped | | |");
            continue;
        }
        let bytes: usize = texts.iter().map(|(_, text)| text.len()).sum();
        let rounds = if quick { 1 } else { 20_000 / texts.len() };
        let all = median(if quick { 1 } else { 7 }, || {
            for _ in 0..rounds {
                for (language, text) in &texts {
                    analyse(text, *language);
                }
            }
        });
        let count = texts.len();
        let each = all.as_secs_f64() * 1e3 / (count * rounds) as f64;
        println!("| {name} | {count} | {} | {each:.3} ms |", bytes / count);
    }
    println!();
}

/// A protocol of `messages` messages: three roles, choices inside loops, assertions, one after the other.
fn generate(messages: usize) -> String {
    let mut text = String::from("protocol Big(role a, role b, role c) {\n");
    for block in 0..messages / 8 {
        let _ = write!(
            text,
            "  Ask{block}(x{block}: int) from a to b where x{block} > 0;
  choice at b {{
    Yes{block}(y: int) from b to a where y == x{block};
    Tell{block}(z: string) from b to c;
  }} or {{
    No{block}() from b to a;
    Skip{block}() from b to c;
  }}
  Next{block}() from a to c;
  Done{block}() from c to b;
  Over{block}() from b to a;
"
        );
    }
    text.push_str("}\n");
    text
}

/// Each measurement is a process of its own, as when a user checks a file: memory that an earlier run has
/// warmed up would help small inputs only. The least of several, for other processes can only add to it.
fn large(quick: bool) {
    println!("| messages | bytes | parse + check + all projections | per message | time against a tenth |");
    println!("|---|---|---|---|---|");
    let mut before = None;
    for messages in if quick { vec![800] } else { vec![1_000, 10_000, 100_000] } {
        let runs = if quick { 1 } else { 15 };
        let time = (0..runs).map(|_| in_a_new_process(messages)).min().unwrap_or_default().as_secs_f64();
        let ratio = before.map_or_else(String::new, |before: f64| format!("{:.1} ×", time / before));
        before = Some(time);
        println!(
            "| {messages} | {} | {:.1} ms | {:.0} ns | {ratio} |",
            generate(messages).len(),
            time * 1e3,
            time * 1e9 / messages as f64
        );
    }
    println!();
}

fn in_a_new_process(messages: usize) -> Duration {
    let itself = std::env::current_exe().expect("the benchmark knows its own path");
    let output = Command::new(itself).args([ONCE, &messages.to_string()]).output().expect("it can be run");
    let nanoseconds = String::from_utf8_lossy(&output.stdout).trim().parse();
    Duration::from_nanos(nanoseconds.expect("it prints how long it took"))
}

/// What [`in_a_new_process`] runs.
fn once(messages: usize) {
    let text = generate(messages);
    let start = cpu_time();
    let analysis = analyse(&text, Language::Scr);
    let well_formed = analysis.is_well_formed();
    drop(analysis);
    let time = cpu_time() - start;
    assert!(well_formed);
    println!("{}", time.as_nanos());
}

fn command(quick: bool) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/smtp/smtp.scr");
    let run = |arguments: &[&str]| {
        let status = Command::new(env!("CARGO_BIN_EXE_referee"))
            .args(arguments)
            .stdout(std::process::Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()));
    };
    let file = file.to_string_lossy();
    let mut times: Vec<Duration> = (0..if quick { 1 } else { 101 })
        .map(|_| {
            let start = Instant::now();
            run(&["check", &file]);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let time = times[times.len() / 2];
    println!(
        "`referee check examples/smtp/smtp.scr`, process start included, wall time: {:.2} ms",
        time.as_secs_f64() * 1e3
    );
}
