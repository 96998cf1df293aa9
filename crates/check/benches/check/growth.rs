//! Does time grow with the graph? Families whose graph about doubles from row to row, up to more than
//! fifty million transitions; everything is asked of each.

use referee_check::generate::exchange;
use referee_check::{Options, Reduction, check};

use crate::measure::{once, timed};
use crate::report::{Table, count};

pub(crate) fn growth() -> Table {
    let heads = ["reduction", "exchange", "transitions", "CPU-s", "ns per transition", "for twice the graph"];
    let mut table = Table::new(&heads);
    let full = [10, 12, 14, 17, 20, 24, 29, 34].map(|k| ([1, k, 2], k));
    let sound = [10, 12, 14, 16, 19, 22, 26, 30].map(|n| ([n, 3, 1], 3));
    for (reduction, name, systems) in [(Reduction::None, "none", full), (Reduction::Sound, "sound", sound)] {
        let mut before: Option<(usize, f64)> = None;
        for ([n, k, m], bound) in systems {
            let system = exchange(n, k, m);
            let options = Options { reduction, ..Options::exactly(bound as u32) };
            let run = || check(&system, &options, None, &mut ());
            let small = before.is_none_or(|(_, spent)| spent < 0.5);
            let (report, spent) = if small { timed(run) } else { once(run) };
            let transitions = report.bounds[0].transitions;
            // What the time would have grown by had the graph exactly doubled.
            let doubled = before.map_or(String::new(), |(fewer, less)| {
                let exponent = (spent / less).ln() / (transitions as f64 / fewer as f64).ln();
                format!("{:.2} times the time", 2_f64.powf(exponent))
            });
            table.row([
                name.to_owned(),
                format!("n={n} k={k} m={m}"),
                count(transitions),
                format!("{spent:.3}"),
                format!("{:.0}", spent * 1e9 / transitions as f64),
                doubled,
            ]);
            before = Some((transitions, spent));
        }
    }
    table.remark("Goal: at most 2.3 times the time for twice the graph.");
    table
}
