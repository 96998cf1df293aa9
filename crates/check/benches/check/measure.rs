//! Processor time and memory of this process and of those it ran.

/// Processor time.
#[derive(Clone, Copy)]
pub(crate) struct Cpu {
    /// Of this process.
    pub(crate) own: f64,
    /// Of processes it waited for.
    pub(crate) children: f64,
}

impl Cpu {
    /// Until now. Other processes are counted in hundredths of a second, this one exactly.
    pub(crate) fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
        let exact = threads().unwrap_or((ticks(11) + ticks(12)) / 100.0);
        Self { own: exact, children: (ticks(13) + ticks(14)) / 100.0 }
    }
}

/// Of the threads that run now, in seconds. The work that is measured by this runs in one.
fn threads() -> Option<f64> {
    let mut nanoseconds = 0_u64;
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(nanoseconds as f64 / 1e9)
}

/// The middle one of some figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// The result of `work`, and the CPU-seconds one run of it took. Short work is repeated.
pub(crate) fn timed<T>(mut work: impl FnMut() -> T) -> (T, f64) {
    const ENOUGH: f64 = 0.5;
    let before = Cpu::now().own;
    let mut runs = 1;
    let mut result = work();
    while Cpu::now().own - before < ENOUGH {
        result = work();
        runs += 1;
    }
    let spent = Cpu::now().own - before;
    (result, spent / f64::from(runs))
}

/// The result of `work`, and the CPU-seconds of one run, however short.
pub(crate) fn once<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = Cpu::now().own;
    let result = work();
    (result, Cpu::now().own - before)
}

/// The most memory this process has had, in bytes.
pub(crate) fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|f| f.parse::<usize>().ok()).unwrap_or(0) * 1024
}
