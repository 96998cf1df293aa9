//! What a keystroke costs in a protocol of 2,000 lines: CPU time of each service, after a change in the middle.
//!
//! `cargo bench -p referee-ide --bench keystroke`. Under `--once`, one keystroke and nothing else, for counting instructions.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints its figures or fails")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use referee_ide::completion::completions;
use referee_ide::diagnostics::diagnostics;
use referee_ide::semantic::semantic_tokens;
use referee_ide::{Workspace, folding, signature};

const PATH: &str = "big.scr";

fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// A protocol of so many lines: choices, loops, assertions.
fn generate(lines: usize) -> String {
    let mut text = String::from("type Token = string;\n\nprotocol Big(role a, role b, role c) {\n");
    for block in 0..lines / 10 {
        let _ = write!(
            text,
            "  Ask{block}(x{block}: int, t{block}: Token) from a to b where x{block} > 0;\n  choice at b {{\n    \
             Yes{block}(y: int) from b to a where y == x{block};\n    Tell{block}(z: string) from b to c;\n  }} or \
             {{\n    No{block}() from b to a;\n    Skip{block}() from b to c;\n  }}\n  Next{block}() from a to c;\n  \
             Done{block}() from c to b;\n"
        );
    }
    text.push_str("}\n");
    text
}

/// The text with one more character in its middle, every time another.
fn typed(text: &str, number: usize) -> (String, u32) {
    let at = text[..text.len() / 2].rfind(" from ").expect("a message") + 6;
    let letter = char::from(b'a' + u8::try_from(number % 26).unwrap_or(0));
    (format!("{}{letter}{}", &text[..at], &text[at..]), u32::try_from(at + 1).expect("a small text"))
}

fn keystroke(workspace: &mut Workspace, text: &str, number: usize) {
    let (text, at) = typed(text, number);
    workspace.set(PATH, &text);
    let file = workspace.file(PATH).expect("it was set");
    black_box(completions(workspace, PATH, at));
    black_box(semantic_tokens(file));
    black_box(signature::signature_help(file, at));
}

fn main() {
    let text = generate(2_000);
    let mut workspace = Workspace::default();
    if std::env::args().any(|argument| argument == "--once") {
        return keystroke(&mut workspace, &text, 0);
    }
    let runs = if std::env::args().any(|argument| argument == "--test") { 1 } else { 51 };
    let mut measure = |name: &str, work: &mut dyn FnMut(&mut Workspace, usize)| {
        let mut times: Vec<Duration> = (0..runs)
            .map(|number| {
                let start = cpu_time();
                work(&mut workspace, number);
                cpu_time() - start
            })
            .collect();
        times.sort_unstable();
        println!("| {name} | {:.2} ms |", times[times.len() / 2].as_secs_f64() * 1e3);
    };
    println!("{} lines, {} bytes\n\n| | CPU time, median |\n|---|---|", text.lines().count(), text.len());
    measure("change, completion, semantic tokens, signature", &mut |workspace, number| {
        keystroke(workspace, &text, number);
    });
    measure("change and outline", &mut |workspace, number| {
        workspace.set(PATH, &typed(&text, number).0);
        black_box(&workspace.file(PATH).expect("it was set").index().symbols);
    });
    measure("folding", &mut |workspace, _| {
        black_box(folding::folds(workspace.file(PATH).expect("it was set")));
    });
    measure("diagnostics of a text with a mistake (worker)", &mut |workspace, number| {
        workspace.set(PATH, &typed(&text, number).0);
        black_box(diagnostics(workspace, PATH));
    });
    measure("diagnostics of a text without (worker)", &mut |workspace, _| {
        workspace.set(PATH, &text);
        black_box(diagnostics(workspace, PATH));
    });
}
