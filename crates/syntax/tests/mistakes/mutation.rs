//! One mistake gives one error, where the mistake is: measured over mutations of texts without mistakes.

use std::collections::BTreeMap;

use referee_syntax::{Lines, parse};

use crate::mutator::{Random, mutate, mutations, seeds};
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
    let texts = texts();
    let seeds = seeds();
    let seeds = if seeds.is_empty() { vec![SEED] } else { seeds };
    let mut mutants = Vec::new();
    for seed in seeds {
        let mut random = Random::new(seed);
        for text in &texts {
            mutants.extend((0..mutations).filter_map(|_| Some((text, mutate(&text.text, &mut random)?))));
        }
    }
    for (text, mutant) in mutants {
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
    println!("| language | mutants refused | errors per mutant | first error in the line of the mistake |");
    println!("|---|---|---|---|");
    for (language, tally) in &tallies {
        let (mean, share) = (tally.mean_errors(), 100.0 * tally.share_in_place());
        println!("| {language} | {} | {mean:.3} | {share:.1} % |", tally.refused);
    }
    let all = tallies["all"];
    assert!(all.refused > 100, "only {} mutants are refused", all.refused);
    // Of a few mutants one says little.
    for (language, tally) in tallies.iter().filter(|(_, tally)| tally.refused > 100) {
        assert!(tally.mean_errors() <= 1.1, "{language}: {:.3} errors per mistake", tally.mean_errors());
        let share = tally.share_in_place();
        assert!(share >= 0.9, "{language}: {:.1} % in place", 100.0 * share);
    }
}
