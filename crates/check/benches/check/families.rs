//! The points that were measured for KMC, and every family of `referee generate`.

use referee_check::generate::{RandomShape, exchange, philosophers, pipeline, random, ring, star};
use referee_check::{Options, Reduction, Report, check};
use referee_theory::System;

use crate::measure::{once, timed};
use crate::report::{Table, count, seconds};

/// What `--test` runs.
pub(crate) fn smallest() -> Table {
    let mut table = Table::new(&["system", "verdict"]);
    let report = check(&exchange(1, 2, 1), &Options::default(), None, &mut ());
    table.row(["exchange n=1 k=2 m=1".to_owned(), answer(&report)]);
    table
}

/// The exchange family where figures are asked for; the search for the least bound is included.
pub(crate) fn points() -> Table {
    let heads = ["exchange", "states, transitions", "goal", "sound", "paper", "KMC"];
    let mut table = Table::new(&heads);
    let points = [
        ([1, 10, 10], "under 0.05 CPU-s", "36 CPU-s"),
        ([1, 50, 5], "under 0.05 CPU-s", "155 CPU-s"),
        ([9, 2, 1], "under 0.05 CPU-s", "495 CPU-s"),
        ([1, 100, 26], "under 1 CPU-s", ""),
        ([10, 2, 1], "under 1 CPU-s", ""),
        ([20, 3, 1], "finishes", ""),
    ];
    for ([n, k, m], goal, kmc) in points {
        let system = exchange(n, k, m);
        let run = |reduction| {
            let options = Options { max_k: k as u32, reduction, ..Options::default() };
            timed(|| check(&system, &options, None, &mut ()))
        };
        let (mut report, sound) = run(Reduction::Sound);
        // Algorithm 1's lists of pending sets take too much memory for millions of configurations.
        let paper = (n < 20).then(|| {
            let (with_paper, spent) = run(Reduction::Paper);
            report = with_paper;
            format!("{} CPU-s", seconds(spent))
        });
        let last = report.bounds.last().map_or((0, 0), |bound| (bound.states, bound.transitions));
        table.row([
            format!("n={n} k={k} m={m}"),
            format!("{}, {}", count(last.0), count(last.1)),
            goal.to_owned(),
            format!("{} CPU-s", seconds(sound)),
            paper.unwrap_or_default(),
            kmc.to_owned(),
        ]);
    }
    table
}

/// Systems that are hard in different ways, with and without the sound reduction.
pub(crate) fn families() -> Table {
    let heads = ["system", "k", "verdict", "sound: states", "CPU-s", "none: states", "CPU-s", "states left"];
    let mut table = Table::new(&heads);
    let shape = |roles, states| RandomShape { roles, states, labels: 2, branches: 2 };
    let systems: [(&str, System, u32); 12] = [
        ("exchange --n 2 --k 3 --m 2", exchange(2, 3, 2), 3),
        ("exchange --n 1 --k 6 --m 3", exchange(1, 6, 3), 6),
        ("ring --roles 9 --tokens 4 --labels 2", ring(9, 4, 2), 1),
        ("ring --roles 12 --tokens 1 --labels 3", ring(12, 1, 3), 1),
        ("pipeline --stages 5 --labels 2", pipeline(5, 2), 1),
        ("pipeline --stages 3 --labels 3", pipeline(3, 3), 2),
        ("star --clients 9 --answers 3", star(9, 3), 1),
        ("philosophers --count 5", philosophers(5, false), 1),
        ("philosophers --count 5 --polite", philosophers(5, true), 1),
        ("random --roles 6 --states 6 --seed 21", random(shape(6, 6), 21), 2),
        ("random --roles 7 --states 4 --seed 23", random(shape(7, 4), 23), 2),
        ("random --roles 8 --states 8 --seed 43", random(shape(8, 8), 43), 2),
    ];
    for (name, system, k) in systems {
        let run = |reduction| {
            let options = Options { reduction, witness_states: 0, ..Options::exactly(k) };
            once(|| check(&system, &options, None, &mut ()))
        };
        let (sound, sound_time) = run(Reduction::Sound);
        let (full, full_time) = run(Reduction::None);
        let (few, many) = (sound.bounds[0].states, full.bounds[0].states);
        table.row([
            format!("`{name}`"),
            k.to_string(),
            answer(&sound),
            count(few),
            seconds(sound_time),
            count(many),
            seconds(full_time),
            format!("{:.2} %", 100.0 * few as f64 / many as f64),
        ]);
    }
    table.remark(
        "Where the receptions of a state race, as a fork's do, the reduction is not justified: everything is explored.",
    );
    table
}

fn answer(report: &Report) -> String {
    let bound = report.least_k().map_or(String::new(), |k| format!(", k = {k}"));
    format!("{}{bound}", report.verdict.name())
}
