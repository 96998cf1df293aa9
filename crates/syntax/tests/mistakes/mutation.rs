//! One mistake gives one error, where the mistake is: measured over mutations of texts without mistakes.

use std::collections::BTreeMap;

use referee_syntax::{Lines, parse};

use crate::mutator::{Random, mutate, mutations};
use crate::texts::texts;

const SEED: u64 = 20;

/// Of each text, on every run. `REFEREE_MUTATIONS=100` measures more of them, `REFEREE_SHOW=1` shows those that fail.
const MUTATIONS: usize = 4;

#[derive(Clone, Copy, Default)]
struct Tally {
    /// Mutants that are refused.
    refused: usize,
    errors: usize,
    /// Those whose first error is on the line of the mistake.
    in_place: usize,
}

impl Tally {
    fn mean_errors(self) -> f64 {
        self.errors as f64 / self.refused.max(1) as f64
    }

    fn share_in_place(self) -> f64 {
        self.in_place as f64 / self.refused.max(1) as f64
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a measurement, which shows what it is asked to show")]
fn one_mistake_is_one_error_in_its_line() {
    let mutations = mutations(MUTATIONS);
    let shown = std::env::var("REFEREE_SHOW").is_ok();
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut random = Random::new(SEED);
    for text in texts() {
        for mutant in (0..mutations).filter_map(|_| mutate(&text.text, &mut random)) {
            let document = parse(&mutant.text, text.language);
            let errors: Vec<_> = document.diagnostics.iter().filter(|d| d.is_error()).collect();
            let Some(first) = errors.first() else { continue };
            let line = Lines::new(&mutant.text).position(first.span.start).line;
            let in_place = mutant.lines.contains(&line);
            if shown && (errors.len() > 1 || !in_place) {
                println!("{}: {}", text.name, mutant.what);
                for error in &errors {
                    let line = Lines::new(&mutant.text).position(error.span.start).line;
                    println!("    line {line}: {} {}", error.code.id, error.message);
                }
            }
            for key in [text.language.name(), "all"] {
                let tally = tallies.entry(key.to_string()).or_default();
                tally.refused += 1;
                tally.errors += errors.len();
                tally.in_place += usize::from(in_place);
            }
        }
    }
    println!("| language | mutants refused | errors per mutant | first error in the line of the mistake |");
    println!("|---|---|---|---|");
    for (language, tally) in &tallies {
        let (mean, share) = (tally.mean_errors(), 100.0 * tally.share_in_place());
        println!("| {language} | {} | {mean:.3} | {share:.1} % |", tally.refused);
    }
    let all = tallies["all"];
    assert!(all.refused > 100, "only {} mutants are refused", all.refused);
    assert!(all.mean_errors() <= 1.1, "{:.3} errors per mistake", all.mean_errors());
    assert!(all.share_in_place() >= 0.9, "{:.1} % in place", 100.0 * all.share_in_place());
}
