//! A system of more than ten million configurations, unreduced: states per second, bytes per state, threads.

use referee_check::{Model, Options, Reduction, Semantics, check, examine_bound, explore_bound, generate};

use crate::measure::{median, once, peak_bytes, reset_peak};
use crate::report::{Table, count};

pub(crate) fn rate() -> Table {
    let mut table = Table::new(&["what", "goal", "figure"]);
    let system = generate::pipeline(7, 2);
    let model = Model::new(&system, Semantics::PeerToPeer);
    reset_peak();
    let (report, spent) = once(|| explore_bound(&model, 1, Reduction::None, 1));
    let states = report.states;
    let peak = peak_bytes();
    table.row([
        "configurations, transitions".to_owned(),
        "at least 10 million".to_owned(),
        format!("{}, {}", count(states), count(report.transitions)),
    ]);
    table.row([
        "states per CPU-second, one thread".to_owned(),
        "at least 1.5 million".to_owned(),
        format!("{:.2} million ({spent:.2} CPU-s)", states as f64 / spent / 1e6),
    ]);
    table.row([
        "bytes per state, transitions included: at the end, at the peak".to_owned(),
        "at most 64".to_owned(),
        format!("{}, {}", report.memory / states, peak / states),
    ]);
    let (_, all) = once(|| examine_bound(&model, 1, Reduction::None));
    table.row([
        "the same with every property".to_owned(),
        String::new(),
        format!("{all:.2} CPU-s, {} bytes per state at the peak", peak_bytes() / states),
    ]);
    let wall = |threads| {
        let started = std::time::Instant::now();
        let options = Options { reduction: Reduction::None, threads, ..Options::exactly(1) };
        let _ = check(&system, &options, None, &mut ());
        started.elapsed().as_secs_f64()
    };
    // Alternately, so that what else the machine does falls to both.
    let (ones, twos): (Vec<f64>, Vec<f64>) = (0..3).map(|_| (wall(1), wall(2))).unzip();
    let (one, two) = (median(ones), median(twos));
    table.row([
        "wall time of everything, one and two threads (the middle of three)".to_owned(),
        String::new(),
        format!("{one:.2} s, {two:.2} s: {:.2} times as fast", one / two),
    ]);
    table
}
